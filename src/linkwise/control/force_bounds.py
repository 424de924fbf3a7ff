"""Bounds on joint forces that keep what a law promises: damping is scaled as a whole, never cut off joint by joint.

Cut off joint by joint, T = m ε no longer pulls along ε, and ν*ε may be positive: the energy may grow (DD §8 leaves it
open). Scaled, T = T₀ + s m ε with the largest s ≤ 1 that respects all bounds, the power ν*ε becomes sν*ε, and what fell
still falls, only slower.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import arrays
from ..arguments import numbers
from ..arrays import Array
from ..errors import InputError
from ..robot.robot import Robot


def force_bounds(robot: Robot, bounds: Any) -> np.ndarray | None:
    """Bounds (nv,) [N m, N] on |τ|: one number or nv of them, the robot's effort limits for True, None for none."""
    if bounds is None or bounds is False:
        return None
    given = robot.effort_limits if bounds is True else numbers(bounds, "bounds")
    try:
        out = np.broadcast_to(given, (robot.nv,)).astype(float)
    except ValueError:
        raise InputError(f"bounds must be one number, {robot.nv}, or True, got shape {np.shape(bounds)}") from None
    if np.isnan(out).any() or (out <= 0).any():
        raise InputError(f"bounds on joint forces must be positive, got {out.tolist()}")
    if np.isinf(out).all():
        raise InputError(
            f"no joint of robot {robot.name!r} has an effort limit; give bounds as numbers, or leave them out"
        )
    return out


def room(bounds: np.ndarray, held: Array, wanted: Array) -> Any:
    """The largest s in [0, 1] with |held + s wanted| ≤ bounds, (...); zero where what is held leaves no room."""
    out: Any = 1.0 + 0.0 * held[..., 0]
    for k in np.flatnonzero(np.isfinite(bounds)):
        force = wanted[..., k]
        away = arrays.less(force, 0.0)
        size = arrays.where(away, -force, force)
        left = bounds[k] - arrays.where(away, -held[..., k], held[..., k])
        left = arrays.where(arrays.less(left, 0.0), 0.0 * left, left)
        tight = arrays.less(left, out * size)
        out = arrays.where(tight, left / arrays.where(tight, size, 1.0 + 0.0 * size), out)
    return out
