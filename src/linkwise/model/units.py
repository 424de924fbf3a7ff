"""The units of a robot's numbers: of each entry of q, of v, and of joint forces."""

from __future__ import annotations

import numpy as np

from ..arrays import as_numpy
from .joints.kinds import Free, JointKind, Spherical
from .joints.modal import Modal
from .model import Model

NONE = "–"  # quaternions and modal coordinates
_RATES = {"rad": "rad/s", "m": "m/s", NONE: "1/s"}
_FORCES = {"rad": "N m", "m": "N", NONE: NONE}


def position_units(model: Model) -> tuple[str, ...]:
    """Of each entry of q: "rad", "m", or "–" for quaternions and modes."""
    return tuple(unit for joint, _, _ in model.coordinates for unit in _of_positions(joint.kind))


def velocity_units(model: Model) -> tuple[str, ...]:
    """Of each entry of v: "rad/s", "m/s", or "1/s" for modes."""
    return tuple(_RATES[unit] for joint, _, _ in model.coordinates for unit in _of_freedoms(joint.kind))


def force_units(model: Model) -> tuple[str, ...]:
    """Of each entry of τ: "N m", "N", or "–" for modes."""
    return tuple(_FORCES[unit] for joint, _, _ in model.coordinates for unit in _of_freedoms(joint.kind))


def velocity_of_position(model: Model) -> tuple[int | None, ...]:
    """For each entry of q the entry of v that moves it, or turns about its axis; None where no single one does."""
    out: list[int | None] = []
    for joint, _, where in model.coordinates:
        kind, first = joint.kind, where.start
        if kind.nq == kind.nv:
            out += range(first, where.stop)
        elif isinstance(kind, Spherical):  # a quaternion x, y, z, w
            out += [first, first + 1, first + 2, None]
        elif isinstance(kind, Free):  # the place, then a quaternion; v has the turning first
            out += [first + 3, first + 4, first + 5, first, first + 1, first + 2, None]
        else:  # a pose that several velocities change together
            out += [None] * kind.nq
    return tuple(out)


def _of_freedoms(kind: JointKind) -> list[str]:
    """What each of a joint's velocities is the rate of."""
    if isinstance(kind, Modal):
        return [NONE] * kind.nv
    columns = as_numpy(kind.map(kind.neutral()))
    return ["rad" if np.abs(columns[:3, k]).max() > 0 else "m" for k in range(kind.nv)]


def _of_positions(kind: JointKind) -> list[str]:
    if kind.nq == kind.nv:
        return _of_freedoms(kind)
    return (["m"] * 3 if kind.nq == 7 else []) + [NONE] * 4
