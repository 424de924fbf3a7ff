"""A slider for every way a robot can be posed, and configurations from where the sliders stand.

Joints with as many positions as velocities have a slider per position; the others (with quaternions) a slider per
velocity, whose values lead from the neutral configuration in unit time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import as_numpy
from ..model.parts import Joint
from ..model.units import velocity_units
from ..robot.robot import Robot
from . import style
from .motion import velocity_names


@dataclass(frozen=True)
class Slider:
    """A slider: its name with its unit, its ends, and the joint it belongs to."""

    name: str
    low: float
    high: float
    joint: int


def sliders(robot: Robot, size: float) -> list[Slider]:
    """One per entry of v; limits of the joint where it has them, otherwise half a turn or ``size`` [m] each way."""
    out = []
    units = {"rad/s": "rad", "m/s": "m"}  # where a slider leads in unit time
    names = [f"{n} [{units.get(u, '–')}]" for n, u in zip(style.shorter(velocity_names(robot)), velocity_units(robot))]
    for joint, _, where in robot.coordinates:
        i = robot.joint(joint.name)
        lower, upper, _, _ = joint.limits.arrays(joint.kind.nv)
        for k, (name, column) in enumerate(zip(names[where], as_numpy(joint.kind.map(joint.kind.neutral())).T)):
            reach = np.pi if np.linalg.norm(column[:3]) > 0 else size
            low, high = (lower[k], upper[k]) if _is_plain(joint) else (-np.inf, np.inf)
            low, high = _finite(float(low), float(high), float(reach))
            out.append(Slider(name, low, high, i))
    return out


def _finite(low: float, high: float, reach: float) -> tuple[float, float]:
    if not np.isfinite(low):
        low = -reach if not np.isfinite(high) else min(-reach, high - reach)
    if not np.isfinite(high):
        high = max(reach, low + reach)
    return low, high if high > low else low + 1e-6


def _is_plain(joint: Joint) -> bool:
    return joint.kind.nq == joint.kind.nv


def slider_values(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Where the sliders stand (nv,) at a configuration (nq,)."""
    parts = []
    for joint, where, _ in robot.coordinates:
        own = q[where]
        parts.append(own if _is_plain(joint) else joint.kind.difference(joint.kind.neutral(), own))
    return np.concatenate([*parts, np.zeros(0)])


def from_slider_values(robot: Robot, x: np.ndarray) -> np.ndarray:
    """The configuration (nq,) for sliders at x (nv,)."""
    parts = []
    for joint, _, where in robot.coordinates:
        own = np.asarray(x[where], float)
        parts.append(own if _is_plain(joint) else joint.kind.integrate(joint.kind.neutral(), own))
    return np.concatenate([*parts, np.zeros(0)])
