"""A robot under a law: the motion, the joint forces and, where the law has one, its Lyapunov function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError
from ..robot.dispatch import default_target
from ..robot.robot import Robot
from ..simulation.diagonal_motion import rate_coordinates, runge_kutta_4
from .law import state


@dataclass(frozen=True, eq=False)
class ClosedLoop:
    """t (steps+1,), q (steps+1, ..., nq), v and tau (steps+1, ..., nv), lyapunov (steps+1, ...) or None."""

    t: Array
    q: Array
    v: Array
    tau: Array
    lyapunov: Array | None


def closed_loop(
    robot: Robot,
    controller: Callable[[float, Array, Array], Any],
    q0: Any,
    v0: Any = None,
    duration: float = 1.0,
    step: float = 1e-3,
    hold: bool = False,
) -> ClosedLoop:
    """The motion from q0 (..., nq), v0 (..., nv; default at rest) under ``controller(t, q, v)``, by Runge–Kutta steps.

    The law is asked at every stage, as if it were continuous, or with ``hold`` once at the start of each step.
    ``robot`` may be another one than the law believes in.
    """
    if not (np.isfinite(step) and step > 0 and np.isfinite(duration) and duration > 0):
        raise InputError(f"step and duration must be positive, got step={step}, duration={duration}")
    q, v = state(robot, q0, np.zeros(robot.nv) if v0 is None else v0)
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    q, v = np.broadcast_to(q, (*batch, robot.nq)), np.broadcast_to(v, (*batch, robot.nv))
    rates = rate_coordinates(robot, "joint", compiled=default_target() == "cpu")
    times = step * np.arange(max(1, round(duration / step)) + 1)
    kept = []
    for i, t in enumerate(times):
        tau = _fitting(controller(t, q, v), v)
        kept.append((q, v, tau))
        if i + 1 < len(times):
            held = tau
            force = (lambda t, q, v, held=held: held) if hold else controller
            q, v = runge_kutta_4(robot, rates, t, q, v, force, step)
            if not np.isfinite(v).all():
                raise InputError(f"the closed loop left all bounds at t = {t + step:g} s; lower the gains or the step")
    Q, V, T = (np.stack(x) for x in zip(*kept))
    lyapunov = getattr(controller, "lyapunov", None)
    along = None if lyapunov is None else np.stack([lyapunov(t, q, v) for t, q, v in zip(times, Q, V)])
    return ClosedLoop(times, Q, V, T, along)


def _fitting(tau: Any, v: Array) -> Array:
    """What a controller gave, one force per joint and state, or an error that says what it should give."""
    found = np.asarray(tau)
    try:
        return np.broadcast_to(found, v.shape)
    except ValueError:
        raise InputError(f"the controller must give joint forces of shape {v.shape}, got {found.shape}") from None
