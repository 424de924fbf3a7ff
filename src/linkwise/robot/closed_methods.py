"""Embedded or cut: which way a closed robot's loops are solved unless one is named, and why, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..codegen.thresholds import MOST_BODIES
from ..dynamics.closed import projection
from ..dynamics.closed.locality import MOST_FREEDOMS, MOST_ROWS, Group, refusal
from ..dynamics.forward.methods import FORWARD_METHODS
from ..errors import NotAdmittedError

METHODS = ("cut", "embedded", *FORWARD_METHODS)


def refuse_scan(robot: Any, method: str) -> None:
    """Refuse a method of O(log n) steps where loops are eliminated by sweeps, which take O(n)."""
    if method == "scan":
        raise NotAdmittedError(
            f"robot {robot.name!r} has loops, and what they ask is found by sweeps: of the O(log n) steps of a scan"
            ' nothing would be left. Leave method="scan" out; robot.opened has it for the tree that is left when the'
            " loops are cut"
        )


def refuse_unfit(robot: Any, found: Sequence[Group]) -> None:
    """Refuse loops that cannot be embedded, with the reason."""
    for group in found:
        why = refusal(robot, group)
        if why is not None:
            raise NotAdmittedError(f'robot {robot.name!r}: {why}; method="cut" takes any loops')


def choice(robot: Any, found: Sequence[Group]) -> tuple[str, str]:
    """("embedded" or "cut", why): embedded where every group is one that the user says follows, and small.

    That rows keep their rank at all states cannot be told from a structure; where it is lost, cut loops still have
    unique accelerations, and embedded ones are refused. So it is the user's word, ``dependent``, that embeds unasked.
    """
    if not found:
        return "cut", "no loop holds for good"
    for group in found:
        why = refusal(robot, group)
        if why is not None:
            return "cut", why
        if group.dependent is None:
            return "cut", (
                f"nothing says that loop {group.named} keeps its rank at every configuration;"
                ' lw.Loop(…, dependent=[…]) does, and method="embedded" takes it where it has'
            )
        if group.freedoms > MOST_FREEDOMS:
            return "cut", f"loop {group.named} leaves {group.freedoms} rates, more than {MOST_FREEDOMS}, to one node"
        if group.rank > MOST_ROWS:
            return "cut", f"loops {group.named} stop {group.rank} rates, more than {MOST_ROWS}, of one node"
    return "embedded", "all loops name the joints that follow"


# --- in words --------------------------------------------------------------------------------------------------------


def explanation(robot: Any, q: np.ndarray | None = None, costs: bool = True) -> str:
    """What the loops of a robot are, which way is taken and why; ``costs`` by tracing both ways."""
    chosen, why = choice(robot, robot.loop_groups)
    lines = [f"{robot.name}: {len(robot.loops)} loops; forward dynamics {chosen}: {why}"]
    for group in robot.loop_groups:
        lines += _of_group(robot, group)
    lines += [f"  loop {x.name!r} is soft: a spring and a damper" for x in robot.soft_loops]
    if costs:
        lines += _costs(robot)
    if q is not None:
        lines += _at(robot, q)
    return "\n".join(lines)


def _of_group(robot: Any, group: Group) -> list[str]:
    bodies = ", ".join(robot.bodies[k].name for k in group.members)
    outer = "the world" if group.outer < 0 else robot.bodies[group.outer].name
    lines = [f"  {bodies} on {outer}: {len(group.columns)} joint rates, {max(group.freedoms, 0)} left by structure"]
    for loop, rows in zip(group.loops, group.rows):
        said = f"    loop {loop.name!r}, {loop.kind}: stops {loop.size}"
        if group.dependent is None and len(rows) < loop.size:
            said += f", of which {len(rows)} count among the motions of its joints"
        lines.append(said)
    if group.dependent is None:
        lines.append(
            "    no joint is chosen to follow: an orthonormal basis of what is left is worked out at each state"
        )
    else:
        names = [n for x in group.loops for n in x.dependent or ()]
        lines.append(f"    {', '.join(dict.fromkeys(names))} follow the others")
    why = refusal(robot, group)
    return lines if why is None else [*lines, f"    not embedded: {why}"]


def _costs(robot: Any) -> list[str]:
    if not robot.loop_groups or len(robot.bodies) > MOST_BODIES:
        return []
    fit = all(refusal(robot, g) is None for g in robot.loop_groups)
    ways = ("cut", "embedded") if fit else ("cut",)
    found = {way: robot.compile("forward_dynamics", method=way, rolled=False).operations.total for way in ways}
    return ["  operations: " + ", ".join(f"{n} {way}" for way, n in found.items())]


def _at(robot: Any, q: np.ndarray) -> list[str]:
    """The rank of the loops at a configuration, and those that add nothing to the ones before them."""
    loops = robot.rigid_loops
    ranks = [int(projection.rank(robot, q, loops[: i + 1])) for i in range(len(loops))]
    rows = sum(x.size for x in loops)
    lines = [
        f"  at this configuration: rank {ranks[-1] if ranks else 0} of {rows} rows, {int(robot.mobility(q))} freedoms"
    ]
    for i, loop in enumerate(loops):
        added = ranks[i] - (ranks[i - 1] if i else 0)
        if added < loop.size:
            lines.append(f"    loop {loop.name!r} adds {added} of {loop.size} to what the loops before it stop")
    return lines
