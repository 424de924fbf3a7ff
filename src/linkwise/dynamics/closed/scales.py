"""In which units forces of loops are compared: moments by a length of the robot, compliances by its mean mass.

Where loops are redundant, their forces are not unique, and which ones are of least norm depends on units (math notes on
closed chains 2.4). Here a moment counts as a force at the length ℓ of :func:`typical_length`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import arrays
from ...arrays import Array
from ...model.loops import TRANSMITTED, Loop
from ...model.model import Model
from ...tolerances import DAMPED_ROUNDINGS, roundings


def typical_length(model: Model) -> Any:
    """The root mean square of the distances between neighbouring joints [m], or 1 where all coincide."""
    offsets = [arrays.as_numpy(c.placement.l) for c in model.constants()]
    total = sum(sum(x * x for x in l) for l in offsets)
    if not hasattr(total, "sqrt") and not total > 0:
        return 1.0
    return arrays.sqrt(np.asarray(total / len(offsets)))[()]


def typical_mass(model: Model) -> Any:
    """The mean mass of the bodies [kg], or 1 where they have none."""
    total = sum(c.M.m[()] for c in model.constants())
    return 1.0 if not hasattr(total, "sqrt") and not total > 0 else total / len(model.bodies)


def is_turning(loop: Loop) -> list[bool]:
    """By row of a loop, whether it stops a turn (and transmits a moment)."""
    if loop.kind == "constrains":
        turns = np.abs(loop.constrains[:, :3]).max(axis=1) > np.abs(loop.constrains[:, 3:]).max(axis=1)
        return [bool(x) for x in turns]
    return [i < 3 for i in TRANSMITTED[loop.kind]]


def force_scales(model: Model, loops: Sequence[Loop]) -> np.ndarray:
    """By row of λ, what one unit of force is worth: a moment counts by a typical length of the robot [m]."""
    length = typical_length(model)
    return np.array([length if turn else 1.0 for loop in loops for turn in is_turning(loop)])


def damping(model: Model, loops: Sequence[Loop], like: Array, least: float) -> list[Array]:
    """The diagonal of E, (m,) by loop: ε/mass along forces, ε/(mass·length²) about moments.

    ε is ``least``, or in single precision what is well above roundings.
    """
    share = max(least, roundings(DAMPED_ROUNDINGS, arrays.precision(like))) / typical_mass(model)
    length = typical_length(model)
    out: list[Array] = []
    for loop in loops:
        row = np.array([share / (length * length) if turn else share for turn in is_turning(loop)])
        out.append(row if arrays.is_symbolic(row) else arrays.constant(row, like=like))
    return out
