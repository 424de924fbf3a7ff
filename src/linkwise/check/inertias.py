"""Inertias that can hardly be meant, and joints that no inertia resists."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..model.loose_joints import loose_joints
from ..robot.robot import Robot
from .findings import PASSED, WARNED, Finding

_SPREAD = 3.0  # radius of gyration over the size of a body from which on it is odd
_RATIO = 1e4  # mass of a body over that of what carries it from which on it is odd


def look(robot: Robot) -> Iterator[Finding]:
    """Warnings about odd inertias, or one line that there are none."""
    found = [*_impossible(robot), *_spread_out(robot), *_uneven(robot), *_loose(robot)]
    yield from found or [Finding("inertias", PASSED, f"{len(robot.bodies)} bodies, {robot.total_mass:.4g} kg")]


def _impossible(robot: Robot) -> Iterator[Finding]:
    for b in robot.bodies:
        excess = b.inertia.excess()
        if excess > 0:
            moments = ", ".join(f"{x:.4g}" for x in np.linalg.eigvalsh(b.inertia.tensor))
            yield Finding("inertias", WARNED, f"body {b.name!r}: no real body has the principal moments ({moments})")
        elif b.inertia.mass == 0 and b.inertia.tensor.any():
            yield Finding("inertias", WARNED, f"body {b.name!r} has an inertia tensor but no mass")


def _spread_out(robot: Robot) -> Iterator[Finding]:
    """A tensor much too large for the body's size is often one left as a placeholder."""
    for i, b in enumerate(robot.bodies):
        if b.inertia.mass == 0:
            continue
        # A link may well reach back to the joint before its own.
        places = [b.joint.placement.l, b.inertia.com, *(robot.joints[c].placement.l for c in robot.children[i])]
        places += [f.pose.l for f in robot.extra_frames if f.body == b.name]
        size = max(float(np.linalg.norm(x)) for x in places)
        radius = float(np.sqrt(np.trace(b.inertia.tensor) / 2 / b.inertia.mass))
        if size > 0 and radius > _SPREAD * size and radius > 0.1:
            yield Finding(
                "inertias",
                WARNED,
                f"body {b.name!r}: its inertia is that of {b.inertia.mass:.4g} kg spread over {radius:.3g} m,"
                f" but nothing on it is farther than {size:.3g} m from its joint",
            )


def _uneven(robot: Robot) -> Iterator[Finding]:
    for b in robot.bodies:
        if b.parent is None:
            continue
        carrier = robot.bodies[robot.body(b.parent)].inertia.mass
        if carrier > 0 and b.inertia.mass > _RATIO * carrier:
            ratio = b.inertia.mass / carrier
            yield Finding("inertias", WARNED, f"body {b.name!r} weighs {ratio:.2g} times as much as {b.parent!r}")


def _loose(robot: Robot) -> Iterator[Finding]:
    for i in loose_joints(robot):
        if robot.joints[i].rotor is None:
            name = robot.joints[i].name
            yield Finding("loose joints", WARNED, f"no inertia resists joint {name!r}; forward dynamics will fail")
