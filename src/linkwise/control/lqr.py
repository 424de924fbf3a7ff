"""Linear-quadratic regulators on the linearised models: about a state, and along a trajectory.

δẋ = Aδx + Bδu of ``robot.linearize_forward(…).state_space()`` (Linearized dynamics paper §4), δx = [q ⊖ q̄; v − v̄], so
that floating bases and ball joints need no coordinates of their own. Robots with joints that nothing drives are
handled with a selection matrix S, τ = τ̄ + S δu.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays, inputs
from ..arguments import numbers
from ..arrays import Array, SameKind
from ..errors import InputError, NotAdmittedError, SingularError
from ..extras import require
from ..robot.calls import refuse_other_than_robot
from ..robot.robot import Robot
from ..simulation.closing import refuse_open
from .law import Law, made_by, selection, state, weight_matrix
from .steps import Steps
from .tracking import times


def _riccati_solvers() -> Any:
    return require("scipy.linalg", "control", "LQR, whose Riccati equations SciPy solves,")


@made_by("LQR.about(robot, q)")
@dataclass(frozen=True, eq=False)
class LQR(Law):
    """τ = τ̄ − S K [q ⊖ q̄; v − v̄]. Make one with :meth:`about`.

    K (m, 2nv) is the gain, P (2nv, 2nv) the cost to go δx*Pδx, A and B the model, ``step`` [s] or None (continuous).
    """

    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    K: np.ndarray
    P: np.ndarray
    A: np.ndarray
    B: np.ndarray
    S: np.ndarray
    step: float | None = None
    directions: np.ndarray | None = None  # (2nv, 2f) of the f ways in which a robot with loops can move; None: all

    @staticmethod
    def about(
        robot: Robot,
        q: Any,
        *,
        v: Any = None,
        tau: Any = None,
        state: Any = 1.0,
        control: Any = 1.0,
        step: float | None = None,
        actuated: Iterable[str] | None = None,
    ) -> LQR:
        """The regulator that minimises ∫ δx*Qδx + δu*Rδu about a state (or the sum over steps, with ``step``).

        ``v`` is zero and ``tau`` what keeps v̇ = 0 unless given, as at a point of a trajectory. ``state`` Q (2nv) and
        ``control`` R (m) are numbers, diagonals or matrices; ``actuated`` names the driven joints (default:
        :func:`driven_joints`).
        """
        refuse_other_than_robot(robot, "LQR")
        q = numbers(inputs.configuration(robot, q), "q")
        v = numbers(inputs.vector(np.zeros(robot.nv) if v is None else v, robot.nv, "v", robot), "v")
        if q.ndim != 1 or v.ndim != 1:
            raise InputError(f"LQR is about one state, got q {q.shape} and v {v.shape}")
        _refuse_infinite(q=q, v=v)
        S = selection(robot, actuated)
        directions = closed_directions(robot, q, v)
        tau = _holding(robot, q, v, S) if tau is None else numbers(inputs.vector(tau, robot.nv, "tau", robot), "tau")
        _refuse_infinite(tau=tau)
        model = robot.linearize_forward(q, v, tau).state_space(step)
        A, B = model.A, model.B @ S
        Q = weight_matrix(state, 2 * robot.nv, "state", definite=False)
        R = weight_matrix(control, S.shape[1], "control", definite=True)
        if directions is None:
            P, K = _solved(f"robot {robot.name!r}", A, B, Q, R, step)
            return LQR(robot, q, v, tau, K, P, A, B, S, step)
        Z = directions
        P, K = _solved(f"robot {robot.name!r}", Z.T @ A @ Z, Z.T @ B, Z.T @ Q @ Z, R, step)
        return LQR(robot, q, v, tau, K @ Z.T, Z @ P @ Z.T, A, B, S, step, Z)

    def error(self, q: Any, v: Any) -> SameKind:
        """δx, (..., 2nv)."""
        q, v = state(self.robot, q, v)
        e = self.robot.difference(self.q, q)
        return arrays.namespace(e).concatenate([e, v - self.v + 0.0 * e], axis=-1)

    def forces(self, t: Any, q: Array, v: Array) -> SameKind:
        return self.tau - times(self.S @ self.K, self.error(q, v))

    def lyapunov(self, t: Any, q: Any, v: Any) -> SameKind:
        """δx*Pδx, (...): falls near the state, as far as the linear model holds."""
        x = self.error(q, v)
        return (times(self.P, x) * x).sum(axis=-1)

    @property
    def poles(self) -> SameKind:
        """Eigenvalues of A − BK, in the directions that loops leave."""
        closed = self.A - self.B @ self.K
        Z = self.directions
        return np.linalg.eigvals(closed if Z is None else Z.T @ closed @ Z)


def closed_directions(robot: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray | None:
    """An orthonormal basis (2nv, 2f) of the changes [δq; δv] that keep a robot's loops closed; None without loops."""
    if not robot.loops:
        return None
    if np.any(v):
        raise NotAdmittedError(
            f"LQR of robot {robot.name!r}, which has loops, is about states at rest: elsewhere the directions that keep"
            " its loops closed change along the motion; use TVLQR"
        )
    refuse_open(robot, q[None], v[None], {})
    basis, _, _ = np.linalg.svd(robot.linearize_projection(q, v))
    return np.asarray(basis[:, : 2 * robot.mobility(q)])


def _refuse_infinite(**named: np.ndarray) -> None:
    for name, x in named.items():
        if not np.isfinite(x).all():
            raise InputError(f"{name} has entries that are not finite: there is no model about it")


def _holding(robot: Any, q: np.ndarray, v: np.ndarray, S: np.ndarray) -> SameKind:
    """The forces for which v̇ = 0; an error where they are asked of a joint that nothing drives."""
    if robot.loops:  # what they carry, nothing needs to hold
        driven = [j.name for j, where in zip(robot.joints, robot.v_slices) if S[where].any()]
        return robot.inverse_dynamics(q, v, np.zeros(robot.nv), actuated=driven)
    tau = robot.bias_force(q, v)
    left = tau - S @ (S.T @ tau)
    worst = int(np.abs(left).argmax())
    if np.abs(left[worst]) > 1e-8 * max(1.0, np.abs(tau).max()):
        joint = next(j.name for j, where in zip(robot.joints, robot.v_slices) if where.start <= worst < where.stop)
        raise InputError(
            f"nothing drives joint {joint!r}, and it needs {left[worst]:.3g} to hold this state: it is no equilibrium."
            " Choose another state, drive the joint (actuated=[…]), or pass the tau of a motion"
        )
    return tau


def lqr_gain(model: Any, *, state: Any = 1.0, control: Any = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """(K, P) of the regulator u = −Kx of a linear model that minimises ∫ x*Qx + u*Ru (or the sum over its steps).

    ``model`` is a ``StateSpace`` as ``robot.linearize_forward(…).state_space()`` gives it, with actuators or not, or
    any other with A (n, n), B (n, m) and ``step``; ``state`` Q (n) and ``control`` R (m) are numbers, diagonals or
    matrices.
    """
    A, B = (numbers(getattr(model, x, None), f"{x} of the model") for x in "AB")
    if A.ndim != 2 or B.ndim != 2 or A.shape[0] != A.shape[1] or A.shape[0] != B.shape[0]:
        raise InputError(f"a model has A of shape (n, n) and B of shape (n, m), got {A.shape} and {B.shape}")
    _refuse_infinite(A=A, B=B)
    Q = weight_matrix(state, len(A), "state", definite=False)
    R = weight_matrix(control, B.shape[1], "control", definite=True)
    P, K = _solved("the model", A, B, Q, R, getattr(model, "step", None))
    return K, P


def _solved(
    what: str, A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray, step: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """P of the algebraic Riccati equation, and the gain."""
    linalg = _riccati_solvers()
    try:
        if step is None:
            P = linalg.solve_continuous_are(A, B, Q, R)
            K = np.linalg.solve(R, B.T @ P)
        else:
            P = linalg.solve_discrete_are(A, B, Q, R)
            K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        poles = np.linalg.eigvals(A - B @ K)
        stable = bool((poles.real < 0).all() if step is None else (np.abs(poles) < 1).all())
    except (np.linalg.LinAlgError, ValueError):
        stable = False
    if not stable:
        raise NotAdmittedError(
            f"no gain stabilises {what} here: the driven joints do not reach a motion that grows or stays"
            " (drive more joints), or the state weight does not see it (make it positive)"
        )
    return P, K


def riccati_sweep(
    A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray, terminal: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """K (..., N, m, n) and P (..., N+1, n, n) that minimise Σ x*Qx + u*Ru + x_N*Q_f x_N under x' = Ax + Bu.

    P ← Q + A*P(A − BK),  K = (R + B*PB)⁻¹B*PA, from the end to the start; A (..., N, n, n), B (..., N, n, m).
    """
    A, B, Q, R, terminal = _fitting(A, B, Q, R, terminal)
    P = [np.broadcast_to(terminal, (*A.shape[:-3], *A.shape[-2:]))]
    K = []
    for i in reversed(range(A.shape[-3])):
        a, b = A[..., i, :, :], B[..., i, :, :]
        PB = P[-1] @ b
        try:
            K.append(np.linalg.solve(R + arrays.transpose(b) @ PB, arrays.transpose(PB) @ a))
        except np.linalg.LinAlgError:
            raise SingularError(f"R + B*PB is singular at step {i}; make R positive definite") from None
        P.append(arrays.as_numpy(arrays.symmetric(Q + arrays.transpose(a) @ P[-1] @ (a - b @ K[-1]))))
    return np.stack(K[::-1], axis=-3), np.stack(P[::-1], axis=-3)


def _fitting(A: Any, B: Any, Q: Any, R: Any, terminal: Any) -> list[np.ndarray]:
    """The matrices of a sweep as arrays whose shapes fit together; single numbers stand for multiples of 1."""
    named = {"A": A, "B": B, "Q": Q, "R": R, "terminal": terminal}
    found = {name: numbers(x, name) for name, x in named.items()}
    A, B = found["A"], found["B"]
    if A.ndim < 3 or B.ndim < 3 or A.shape[-1] != A.shape[-2] or A.shape[:-1] != B.shape[:-1] or not A.shape[-3]:
        raise InputError(f"A must have shape (..., N, n, n) and B (..., N, n, m), got {A.shape} and {B.shape}")
    for name, n in (("Q", A.shape[-1]), ("R", B.shape[-1]), ("terminal", A.shape[-1])):
        x = found[name] = found[name] * np.eye(n) if found[name].ndim == 0 else found[name]
        if x.shape[-2:] != (n, n) or not _spreads(x.shape[:-2], A.shape[:-3]):
            raise InputError(f"{name} must have shape (..., {n}, {n}), got {x.shape}")
    return list(found.values())


def _spreads(shape: tuple[int, ...], batch: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, batch) == batch
    except ValueError:
        return False


@made_by("TVLQR.along(robot, q, v, u, step)")
@dataclass(frozen=True, eq=False)
class TVLQR(Law):
    """τ = S(ū_k − K_k δx) along a trajectory of steps, δx from states interpolated between samples.

    q (N+1, nq), v (N+1, nv), u (N, m), K (N, m, 2nv), P (N+1, 2nv, 2nv). Make one with :meth:`along`. After the end it
    goes on as ``then``, a law, or with the last gain about the last state. It looks up the time, so it runs as NumPy.
    """

    q: np.ndarray
    v: np.ndarray
    u: np.ndarray
    K: np.ndarray
    P: np.ndarray | None
    S: np.ndarray
    step: float
    then: Any = None

    @staticmethod
    def along(
        robot: Robot,
        q: Any,
        v: Any,
        u: Any,
        step: float,
        *,
        state: Any = 1.0,
        control: Any = 1.0,
        terminal: Any = 1.0,
        method: str = "semi_implicit_euler",
        actuated: Iterable[str] | None = None,
        then: Any = None,
    ) -> TVLQR:
        """The regulator that minimises Σ δx*Qδx + δu*Rδu + δx_N*Q_f δx_N along a trajectory.

        ``u`` (N, m) are the inputs of the ``actuated`` joints that made it, with steps of ``method``.
        """
        steps = Steps(robot, step, method=method, actuated=actuated)
        q, v = inputs.configuration(robot, q), inputs.vector(v, robot.nv, "v", robot)
        u = numbers(u, "u")
        if u.ndim != 2 or u.shape[1] != steps.inputs or len(u) < 1:
            raise InputError(f"u must have shape (N, {steps.inputs}), one row per step, got {u.shape}")
        if q.shape != (len(u) + 1, robot.nq) or v.shape != (len(u) + 1, robot.nv):
            raise InputError(f"{len(u)} steps need q and v of {len(u) + 1} rows, got {q.shape} and {v.shape}")
        _refuse_infinite(q=q, v=v, u=u)
        A, B = steps.linearize(q[:-1], v[:-1], u)
        Q = weight_matrix(state, 2 * robot.nv, "state", definite=False)
        R = weight_matrix(control, steps.inputs, "control", definite=True)
        K, P = riccati_sweep(A, B, Q, R, weight_matrix(terminal, 2 * robot.nv, "terminal", definite=False))
        return TVLQR(robot, q, v, u, K, P, steps.selection, step, then)

    def forces(self, t: Any, q: Array, v: Array) -> SameKind:
        k = int(np.floor(t / self.step + 1e-9))
        if k >= len(self.u) and self.then is not None:
            return self.then(t, q, v)
        x = self._error(t, k, q, v)
        k = min(max(k, 0), len(self.u) - 1)
        return times(self.S, self.u[k] - times(self.K[k], x))

    def _error(self, t: float, k: int, q: Array, v: Array) -> SameKind:
        if k >= len(self.u):
            q_nominal, v_nominal = self.q[-1], self.v[-1]
        else:
            part = t / self.step - k
            q_nominal = self.robot.integrate(self.q[k], part * self.robot.difference(self.q[k], self.q[k + 1]))
            v_nominal = self.v[k] + part * (self.v[k + 1] - self.v[k])
        return np.concatenate([self.robot.difference(q_nominal, q), v - v_nominal], axis=-1)
