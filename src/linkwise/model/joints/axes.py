"""Axes of joints: unit vectors, rotations that take them to each other, and whether the columns of a map commute."""

from __future__ import annotations

from math import hypot
from typing import Any

import numpy as np

from ... import arrays, tolerances
from ...errors import ModelError
from ...spatial import cross_motion
from ..inertia import as_vector

_NAMED_AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1), "-x": (-1, 0, 0), "-y": (0, -1, 0), "-z": (0, 0, -1)}


def unit_axis(axis: Any, what: str = "the joint axis") -> np.ndarray:
    """A unit vector from "x", "-z", … or three numbers."""
    if isinstance(axis, str):
        if axis not in _NAMED_AXES:
            raise ModelError(f"{what} must be one of {', '.join(_NAMED_AXES)} or three numbers, got {axis!r}")
        axis = _NAMED_AXES[axis]
    vector = as_vector(axis, what, most=np.inf)
    largest = float(np.abs(vector).max())
    if largest > 1e100:  # its square would be too large; only the direction counts
        vector = vector / largest
    length = float(np.linalg.norm(vector))
    if length < 1e-12:
        size = "zero" if largest == 0 else f"about {largest:.0e} long, too short for a direction"
        raise ModelError(f"{what} is {size}; give it length 1")
    # Leave vectors that are unit to rounding untouched, so that no last digit changes.
    unit = vector if abs(length - 1.0) < 1e-15 else vector / length
    unit = np.array(unit)
    unit.setflags(write=False)
    return unit


def columns_commute(H: np.ndarray) -> bool:
    """Whether all brackets h_i × h_j of the columns of a joint map are zero.

    Against what they are made of, |ω_i||ω_j| and |ω_i||v_j| + |v_i||ω_j|: columns may be in any units.
    """
    turn, move = np.linalg.norm(H[:3], axis=0), np.linalg.norm(H[3:], axis=0)
    for i in range(1, H.shape[1]):
        bracket = np.linalg.norm(arrays.as_numpy(cross_motion(H[:, [i]], H[:, :i])).reshape(2, 3, i), axis=1)
        size = np.stack([turn[i] * turn[:i], turn[i] * move[:i] + move[i] * turn[:i]])
        if (bracket > tolerances.BRACKETS * size).any():
            return False
    return True


def turn_from_z(n: np.ndarray) -> np.ndarray:
    """The smallest rotation that takes z to the unit vector n (about x where n = −z)."""
    a, b, c = map(float, n)
    across = hypot(a, b)
    if c < 0 and across == 0.0:
        return np.diag([1.0, -1.0, -1.0])
    if c < 0:  # 1/(1 + c) = (1 − c)/(a² + b²), of which near −z the left has no digits and the right has all
        x, y = a / across, b / across
        return np.array(
            [[1 - (1 - c) * x * x, (c - 1) * x * y, a], [(c - 1) * x * y, 1 - (1 - c) * y * y, b], [-a, -b, c]]
        )
    k = 1.0 / (1.0 + c)
    return np.array([[1 - k * a * a, -k * a * b, a], [-k * a * b, 1 - k * b * b, b], [-a, -b, c]])
