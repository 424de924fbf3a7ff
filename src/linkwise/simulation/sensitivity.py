"""How a motion changes with the inertial parameters of its robot."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import inputs
from ..arguments import one_of, shown
from ..errors import InputError
from ..robot.calls import refuse_other_than_robot
from ..robot.robot import Robot
from .simulate import simulate
from .step_derivatives import linearized_step
from .steps import EXPLICIT
from .trajectory import Trajectory


class TrajectorySensitivity(NamedTuple):
    """A motion, every step kept, and its derivatives with respect to inertial parameters.

    dq (tangent at q) and dv, each (..., steps + 1, nv, parameters).
    """

    motion: Trajectory
    dq: np.ndarray
    dv: np.ndarray


def trajectory_sensitivity(
    robot: Robot,
    q0: Any,
    v0: Any = None,
    tau: Any = None,
    *,
    step: float = 1e-3,
    method: str = "semi_implicit_euler",
    columns: Any = None,
) -> TrajectorySensitivity:
    """The motion of :func:`linkwise.simulate` under joint forces, and its exact derivatives in inertial parameters.

    q0 (..., nq), v0 (..., nv; default at rest), ``tau`` (..., steps, nv) [N m, N], one row per step of ``step`` [s] by
    ``method`` "semi_implicit_euler", "midpoint" or "runge_kutta_4"; ``columns`` picks entries of
    ``robot.inertial_parameters.ravel()`` (default: all). Loops are closed by projection after each step, and
    derivatives are off by what steps open them by (h by semi-implicit Euler, h² by midpoint, h⁴ by Runge–Kutta); soft
    loops are refused.
    """
    refuse_other_than_robot(robot, "trajectory_sensitivity")
    one_of(method, EXPLICIT, "step with derivatives")
    picked = _picked(columns, 10 * len(robot.bodies))
    table = inputs.vector(np.zeros(robot.nv) if tau is None else tau, robot.nv, "tau", robot)
    if table.ndim < 2:
        raise InputError(f"tau must have shape (..., steps, {robot.nv}), got {table.shape}")
    closing = "projection" if robot.loops else None  # which linearized_step differentiates
    options: dict[str, Any] = {"step": step, "method": method, "closing": closing}
    motion = simulate(robot, q0, v0, tau=table, check=False, progress=False, **options)
    q, v, applied = motion.q[..., :-1, :], motion.v[..., :-1, :], motion.tau[..., :-1, :]
    by_parameters = lambda q, v, tau: robot.forward_dynamics_sensitivity(q, v, tau)[..., picked]
    none = np.zeros((robot.nv, len(picked)), q.dtype)
    maps = linearized_step(robot, method, q, v, applied, q.dtype.type(motion.settings.step), none, by_parameters)
    n = robot.nv
    x = np.zeros((*motion.batch, len(motion), 2 * n, len(picked)), q.dtype)
    for i in range(len(motion) - 1):  # δx' = A δx + B δπ
        A, B = maps[..., i, :, : 2 * n], maps[..., i, :, 2 * n :]
        x[..., i + 1, :, :] = A @ x[..., i, :, :] + B
    return TrajectorySensitivity(motion, x[..., :n, :], x[..., n:, :])


def _picked(columns: Any, count: int) -> np.ndarray:
    """Indices of parameters, or an error that names those that are none."""
    if columns is None:
        return np.arange(count)
    try:
        picked = np.asarray(columns)
    except ValueError:  # rows of different lengths
        picked = np.zeros(())
    if picked.size == 0:
        return np.zeros(0, dtype=int)
    if picked.ndim != 1 or picked.dtype.kind not in "iu" or picked.min() < -count or picked.max() >= count:
        raise InputError(f"columns are indices of the {count} inertial parameters, got {shown(columns)}")
    return picked
