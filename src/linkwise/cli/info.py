"""``linkwise info``: what a robot is made of."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ClosureError
from .arguments import add_robot, robot_of
from .command import Command, Output, number

if TYPE_CHECKING:
    from ..model.loops import Loop
    from ..model.parts import Joint
    from ..robot.robot import Robot

EXAMPLES = """examples:
  linkwise info panda
  linkwise info my_arm.urdf --floating
  linkwise info humanoid.xml --json | jq '.joints[].name'
"""


def run(arguments: argparse.Namespace, out: Output) -> None:
    from ..robot.closed import ClosedRobot
    from ..robot.closed_methods import choice

    robot = robot_of(arguments)
    out.give(**describe(robot))
    gravity = ", ".join(f"{x:g}" for x in robot.gravity)
    out.say(
        f"{robot.name}: {len(robot.bodies)} bodies, {robot.nv} degrees of freedom (nq = {robot.nq}),"
        f" {robot.total_mass:.4g} kg, gravity ({gravity}) m/s²"
    )
    out.say()
    for line in tree(robot):
        out.say(line)
    out.say()
    out.table(joint_rows(robot), right=range(2, 11))
    if robot.loops:
        out.say()
        out.say(f"{left_over(robot)}:")
        out.table(loop_rows(robot))
    if isinstance(robot, ClosedRobot):
        way, why = choice(robot, robot.loop_groups)
        out.say(f"Forward dynamics {way}: {why}")
    hint = floating_hint(robot)
    out.give(hint=hint)
    if hint:
        out.say()
        out.say(hint)
    if robot.notes:
        out.say()
        out.say("Notes")
        for note in robot.notes:
            out.say(f"  {note}")


# --- for people --------------------------------------------------------------------------------------


def tree(robot: Robot) -> list[str]:
    """The tree of bodies, one line each, with the frames added on them."""
    frames: dict[str | None, list[str]] = {}
    for f in robot.extra_frames:
        frames.setdefault(f.body, []).append(f.name)
    base = f", base {robot.base_name!r} of {robot.base.mass:.4g} kg" if robot.base.mass else ""
    lines = [f"world{base}{_frames(frames.get(None))}"]
    roots = [i for i, p in enumerate(robot.parents) if p < 0]
    waiting = [(i, "", i == roots[-1]) for i in reversed(roots)]
    while waiting:
        i, indent, last = waiting.pop()
        body = robot.bodies[i]
        branch = "└─ " if last else "├─ "
        held = f"({body.joint.name}, {body.joint.kind.kind})"
        lines.append(f"{indent}{branch}{body.name} {held} {body.inertia.mass:.4g} kg{_frames(frames.get(body.name))}")
        children = robot.children[i]
        inner = indent + ("   " if last else "│  ")
        waiting += [(c, inner, c == children[-1]) for c in reversed(children)]
    return lines


def _frames(names: list[str] | None) -> str:
    return f"  [{', '.join(names)}]" if names else ""


def joint_rows(robot: Robot) -> list[tuple[str, ...]]:
    """The joints as a table; one row per degree of freedom."""
    heading = (
        "joint",
        "kind",
        "q",
        "v",
        "lower",
        "upper",
        "speed",
        "effort",
        "stiffness",
        "damping",
        "friction",
        "rotor",
    )
    rows: list[tuple[str, ...]] = [heading]
    for joint, a, b in zip(robot.joints, robot.q_slices, robot.v_slices):
        reflected = "–" if joint.rotor is None else number(joint.rotor.reflected)
        if a.start == a.stop and joint.kind.nq:
            rows.append((joint.name, joint.kind.kind, "follows", *_own(joint), reflected))
            continue
        for k in range(joint.kind.nv):
            first = k == 0
            rows.append(
                (
                    joint.name if first else "",
                    joint.kind.kind if first else "",
                    _span(a) if first else "",
                    str(b.start + k),
                    *(number(x[b][k]) for x in _bounds(robot)),
                    *(number(x[b][k]) for x in (robot.stiffness, robot.damping, robot.friction)),
                    reflected,
                )
            )
    return rows


_OF_LEGS = re.compile(r"leg|foot|feet|ankle|knee|thigh|calf|shank|hip|sole", re.IGNORECASE)


def floating_hint(robot: Robot) -> str | None:
    """What to try where a robot with legs stands with its base bolted to the world."""
    roots = [i for i, p in enumerate(robot.parents) if p < 0]
    if any(robot.joints[i].kind.nv == 6 for i in roots):
        return None
    legs = sum(any(_OF_LEGS.search(name) for name in _names_from(robot, i)) for i in roots)
    if legs < 2:
        return None
    return f"{legs} of its branches look like legs, and its base is fixed: --floating lets it move"


def _names_from(robot: Robot, root: int) -> list[str]:
    """The names of a branch's bodies, joints and frames."""
    found, waiting = [], [root]
    while waiting:
        i = waiting.pop()
        found += [robot.bodies[i].name, robot.joints[i].name]
        waiting += robot.children[i]
    held = set(found)
    return [*found, *(f.name for f in robot.extra_frames if f.body in held)]


def left_over(robot: Robot) -> str:
    """What the loops leave of the tree's freedom, where they are closed next to neutral."""
    from ..robot.closed import ClosedRobot

    assert isinstance(robot, ClosedRobot)
    try:
        left = robot.mobility(robot.closed_configuration(robot.neutral()))
    except ClosureError:
        return "Loops, which do not close next to neutral"
    return f"Loops, which leave {left} of {robot.nv} degrees of freedom"


def loop_rows(robot: Robot) -> list[tuple[str, ...]]:
    """The loops as a table."""
    rows: list[tuple[str, ...]] = [("loop", "kind", "frame a", "frame b", "stops", "is")]
    for loop in robot.loops:
        rows.append((loop.name, loop.kind, *_ends(loop), str(loop.size), "soft" if loop.soft else "rigid"))
    return rows


def _ends(loop: Loop) -> tuple[str, str]:
    return str(loop.frame_a), str(loop.frame_b)


def _own(joint: Joint) -> tuple[str, ...]:
    """What a joint that follows others has of its own."""
    bounds = (x[0] for x in joint.limits.arrays(1))
    return (
        "–",
        *map(number, bounds),
        *(number(float(np.ravel(x)[0])) for x in (joint.stiffness, joint.damping, joint.friction)),
    )


def _bounds(robot: Robot) -> tuple[np.ndarray, ...]:
    return robot.lower_limits, robot.upper_limits, robot.velocity_limits, robot.effort_limits


def _span(where: slice) -> str:
    return str(where.start) if where.stop - where.start == 1 else f"{where.start}–{where.stop - 1}"


# --- for programs ------------------------------------------------------------------------------------


def describe(robot: Robot) -> dict[str, Any]:
    """The robot as plain data; a limit of null is none."""
    return {
        "name": robot.name,
        "nq": robot.nq,
        "nv": robot.nv,
        "mass": robot.total_mass,
        "gravity": robot.gravity,
        "base": {"name": robot.base_name, "mass": robot.base.mass},
        "bodies": [
            {
                "name": b.name,
                "parent": b.parent,
                "joint": b.joint.name,
                "mass": b.inertia.mass,
                "center_of_mass": b.inertia.com,
                "inertia": b.inertia.tensor,
            }
            for b in robot.bodies
        ],
        "joints": [_joint(robot, i) for i in range(len(robot.joints))],
        "frames": [{"name": f.name, "body": f.body} for f in robot.frames],
        "tips": list(robot.tips),
        "loops": [{"name": x.name, "kind": x.kind, "frames": list(_ends(x)), "stops": x.size} for x in robot.loops],
        "notes": list(robot.notes),
    }


def _joint(robot: Robot, i: int) -> dict[str, Any]:
    joint, a, b = robot.joints[i], robot.q_slices[i], robot.v_slices[i]
    mimic = joint.mimic and {k: getattr(joint.mimic, k) for k in ("joint", "multiplier", "offset")}
    bounds = dict(zip(("lower", "upper", "velocity", "effort"), joint.limits.arrays(joint.kind.nv)))
    return {
        "name": joint.name,
        "kind": joint.kind.kind,
        "axis": getattr(joint.kind, "axis", None),
        "q": [a.start, a.stop],
        "v": [b.start, b.stop],
        **bounds,
        "stiffness": np.broadcast_to(np.asarray(joint.stiffness, float), (joint.kind.nv,)),
        "rest": joint.rest,
        "damping": np.broadcast_to(np.asarray(joint.damping, float), (joint.kind.nv,)),
        "damping_acts": joint.damping_acts,
        "friction": np.broadcast_to(np.asarray(joint.friction, float), (joint.kind.nv,)),
        "rotor": None if joint.rotor is None else joint.rotor.reflected,
        "mimic": mimic,
        "follows": list(robot.dependents[i].independents) if i in robot.dependents else None,
    }


COMMAND = Command("info", "show what a robot is made of: tree, masses, joints, notes", add_robot, run, EXAMPLES)
