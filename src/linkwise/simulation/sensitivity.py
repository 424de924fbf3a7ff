"""How a motion changes with the inertial parameters of its robot, or with where its joints are placed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import inputs
from ..arguments import one_of, shown
from ..array_kinds import refuse_all_but_numpy
from ..errors import InputError
from ..robot.calls import refuse_other_than_robot
from ..robot.linearized import SENSITIVITIES
from ..robot.robot import Robot
from .simulate import simulate
from .step_derivatives import linearized_step
from .steps import EXPLICIT
from .trajectory import Trajectory


class TrajectorySensitivity(NamedTuple):
    """A motion, every step kept, and its derivatives with respect to parameters.

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
    of: str = "inertial",
) -> TrajectorySensitivity:
    """The motion of :func:`linkwise.simulate` under joint forces, and its exact derivatives in inertial parameters.

    q0 (..., nq), v0 (..., nv; default at rest), ``tau`` (..., steps, nv) [N m, N], one row per step of ``step`` [s] by
    ``method`` "semi_implicit_euler", "midpoint" or "runge_kutta_4"; ``columns`` picks entries of
    ``robot.inertial_parameters.ravel()`` (default: all). Loops are closed by projection after each step, and
    derivatives are off by what steps open them by (h by semi-implicit Euler, h² by midpoint, h⁴ by Runge–Kutta); soft
    loops are refused. ``of="placements"`` are derivatives in where the joints are placed, six numbers a joint as
    :meth:`Robot.with_placements` takes them; ``columns`` then picks of these. Robots with loops refuse it.
    """
    refuse_other_than_robot(robot, "trajectory_sensitivity")
    refuse_all_but_numpy(q0=q0, v0=v0, tau=tau)
    one_of(method, EXPLICIT, "step with derivatives")
    one_of(of, SENSITIVITIES, "sort of parameters")
    picked = _picked(columns, (10 if of == "inertial" else 6) * len(robot.bodies), of)
    table = inputs.vector(np.zeros(robot.nv) if tau is None else tau, robot.nv, "tau", robot)
    if table.ndim < 2:
        raise InputError(f"tau must have shape (..., steps, {robot.nv}), got {table.shape}")
    closing = "projection" if robot.loops else None  # which linearized_step differentiates
    options: dict[str, Any] = {"step": step, "method": method, "closing": closing}
    motion = simulate(robot, q0, v0, tau=table, check=False, progress=False, **options)
    q, v, applied = motion.q[..., :-1, :], motion.v[..., :-1, :], motion.tau[..., :-1, :]
    by_parameters = lambda own, q, v, tau: own.forward_dynamics_sensitivity(q, v, tau, of=of)[..., picked]
    none = np.zeros((robot.nv, len(picked)), q.dtype)
    maps = linearized_step(robot, method, q, v, applied, q.dtype.type(motion.settings.step), none, by_parameters)
    n = robot.nv
    x = np.zeros((*motion.batch, len(motion), 2 * n, len(picked)), q.dtype)
    for i in range(len(motion) - 1):  # δx' = A δx + B δπ
        A, B = maps[..., i, :, : 2 * n], maps[..., i, :, 2 * n :]
        x[..., i + 1, :, :] = A @ x[..., i, :, :] + B
    return TrajectorySensitivity(motion, x[..., :n, :], x[..., n:, :])


def _picked(columns: Any, count: int, of: str) -> np.ndarray:
    """Indices of parameters, or an error that names those that are none."""
    if columns is None:
        return np.arange(count)
    try:
        picked = np.asarray(columns)
    except ValueError:  # rows of different lengths
        picked = np.zeros(())
    if picked.size == 0:
        return np.zeros(0, dtype=int)
    kind = "inertial parameters" if of == "inertial" else "numbers that place the joints"
    if picked.ndim != 1 or picked.dtype.kind not in "iu" or picked.min() < -count or picked.max() >= count:
        raise InputError(f"columns are indices of the {count} {kind}, got {shown(columns)}")
    return picked
