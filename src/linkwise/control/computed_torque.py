"""Computed torque: feedback linearisation, the law that the others are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import numbers, shown
from ..arrays import Array, SameKind
from ..errors import InputError
from .law import state
from .tracking import Tracking, TrackingLaw


@dataclass(frozen=True, eq=False)
class ComputedTorque(TrackingLaw):
    """τ = 𝓜(q)(a_r − Kp e − Kd ε̇) + C(q, v)v + g(q): all dynamics cancelled, one Newton–Euler run.

    Errors obey ε̈ + Kd ε̇ + Kp e = 0, each on its own; gains are Kp [1/s²] and Kd [1/s], and Kd = 2√Kp is critically
    damped. ½ε̇*ε̇ + ½e*Kp e falls at the rate ε̇*Kd ε̇ (feedback linearisation; not part of the passive family).
    """

    def forces(self, t: Any, q: Array, v: Array) -> SameKind:
        x = self.errors(t, q, v)
        return self.robot.inverse_dynamics(q, v, x.a_ref - x.pull(self.Kp) - self.Kd * x.rate)

    def lyapunov(self, t: Any, q: Any, v: Any) -> SameKind:
        """½ε̇*ε̇ + ½e*Kp e, (...)."""
        return error_energy(self.errors(t, *state(self.robot, q, v)), self.Kp)

    def lyapunov_rate(self, t: Any, q: Any, v: Any) -> SameKind:
        """−ε̇*Kd ε̇, (...)."""
        return -error_dissipation(self.errors(t, *state(self.robot, q, v)), self.Kd)


def error_energy(x: Tracking, Kp: Any) -> SameKind:
    """½ε̇*ε̇ + ½e*Kp e, (...), of errors that obey ε̈ + Kd ε̇ + Kp e = 0."""
    return 0.5 * (x.rate * x.rate).sum(axis=-1) + x.potential(Kp)


def error_dissipation(x: Tracking, Kd: Any) -> SameKind:
    """ε̇*Kd ε̇, (...): how fast that energy falls."""
    return (Kd * x.rate * x.rate).sum(axis=-1)


def critical_damping(Kp: Any) -> np.ndarray:
    """Kd = 2√Kp."""
    gains = numbers(Kp, "Kp")
    if not (gains >= 0).all():
        raise InputError(f"Kp must be zero or more, got {shown(Kp)}")
    Kd: np.ndarray = 2.0 * np.sqrt(gains)
    return Kd
