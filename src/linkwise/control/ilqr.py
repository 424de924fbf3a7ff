"""Trajectory optimisation by sweeps: iLQR and DDP, feasible at every iteration.

Backward, the cost to go is expanded to second order about the trajectory, and its minimiser over δu is δu = αk + Kδx;
forward, the robot itself is rolled out under it, for several α at once, and the first α that lowers the cost enough is
taken. Mayne's DDP (Int. J. Control 3, 1966) keeps the second derivatives of the dynamics and converges quadratically;
iLQR (Li and Todorov 2004) leaves them out. Regularisation and limits follow Tassa, Erez and Todorov (IROS 2012) and
Tassa, Mansard and Todorov (ICRA 2014).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from .. import inputs
from ..arguments import number, numbers, shown, unmasked, whole
from ..errors import InputError
from ..robot.dispatch import default_target
from ..robot.robot import Robot
from .backward import BackwardSweep, Policy
from .lqr import TVLQR
from .rollouts import Rollouts
from .steps import Steps

ALPHAS = 0.5 ** np.arange(12)
FIRST = 8  # of them are tried at once, as many as a vector has room for; then the rest
ENOUGH = 1e-4  # of the expected decrease, for a step to be taken
LOWEST, HIGHEST, FACTOR = 1e-8, 1e10, 4.0  # regularisation: below LOWEST it is zero, above HIGHEST nothing helps


@dataclass(frozen=True, eq=False)
class OptimizedMotion:
    """A trajectory that ILQR or DDP found, and how.

    t (N+1,), q (N+1, nq), v (N+1, nv), u (N, m), tau (N, nv), feedback gains K (N, m, 2nv) with u + K δx. ``costs`` and
    ``gradients`` (largest |∂cost/∂u| that limits leave free) have one entry per iteration, the start first.
    """

    robot: Robot
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    u: np.ndarray
    tau: np.ndarray
    K: np.ndarray
    costs: list[float]
    gradients: list[float]
    converged: bool
    reason: str
    steps: Steps = field(repr=False)

    @property
    def cost(self) -> float:
        return self.costs[-1]

    @property
    def iterations(self) -> int:
        return len(self.costs) - 1

    def report(self) -> str:
        """What happened, in a line."""
        verdict = "converged" if self.converged else "stopped"
        return (
            f"{verdict} after {self.iterations} iterations ({self.reason}): cost {self.costs[0]:.6g} → {self.cost:.6g},"
            f" largest gradient {self.gradients[-1]:.2g}"
        )

    def controller(self, *, then: Any = None) -> TVLQR:
        """The motion as a law, with the gains of the last backward sweep; ``then`` is the law after its end."""
        S = self.steps.selection
        return TVLQR(self.robot, self.q, self.v, self.u, -self.K, None, S, self.steps.step, then)


@dataclass(frozen=True, eq=False)
class ILQR:
    """Minimises a cost over inputs u (N, m): Gauss–Newton in the dynamics, one Riccati sweep per iteration.

    ``cost`` is a :class:`QuadraticCost` or has its two methods; ``step`` [s] and ``method`` ("semi_implicit_euler",
    "midpoint" or "runge_kutta_4") are the dynamics; ``actuated`` names the driven joints; ``limits`` (lower, upper)
    bound the inputs, each a number or m. It ends when the largest gradient is below ``tolerance``, or when an iteration
    lowers the cost by less than a thousandth of ``tolerance`` of it; that counts as converged only where the gradient
    is below √tolerance.
    """

    robot: Robot
    cost: Any
    step: float
    _: KW_ONLY
    method: str = "semi_implicit_euler"
    actuated: Iterable[str] | None = None
    limits: Any = None
    iterations: int = 200
    tolerance: float = 1e-7
    second_order = False

    def solve(self, q0: Any, v0: Any = None, u0: Any = None) -> OptimizedMotion:
        """The best motion from (q0, v0), started from inputs ``u0`` (N, m)."""
        robot = self.robot
        steps = Steps(robot, self.step, method=self.method, actuated=self.actuated)
        q0 = inputs.configuration(robot, q0)
        v0 = inputs.vector(np.zeros(robot.nv) if v0 is None else v0, robot.nv, "v0", robot)
        u = numbers(u0, "u0")
        whole(self.iterations, "iterations")
        number(self.tolerance, "tolerance", above=0.0)
        if not (hasattr(self.cost, "value") and hasattr(self.cost, "expand")):
            raise InputError(f"a cost is a QuadraticCost, or has its methods value and expand, got {shown(self.cost)}")
        if q0.ndim != 1 or v0.ndim != 1:
            raise InputError(f"a motion starts from one state, got q0 {q0.shape} and v0 {v0.shape}")
        if u.ndim != 2 or u.shape[1] != steps.inputs or not len(u):
            raise InputError(f"u0 must have shape (steps, {steps.inputs}), the start for the inputs, got {u.shape}")
        return _Search(self, steps, q0, v0, self._bounds(steps.inputs)).run(u)

    def _bounds(self, m: int) -> tuple[np.ndarray, np.ndarray]:
        unmasked(self.limits, "limits")
        try:
            lower, upper = (-np.inf, np.inf) if self.limits is None else self.limits
            lower, upper = (np.broadcast_to(np.asarray(x, dtype=float), (m,)) for x in (lower, upper))
        except (TypeError, ValueError):
            raise InputError(f"limits must be (lower, upper), each one number or {m}, got {self.limits!r}") from None
        if not (lower < upper).all():
            raise InputError(f"limits must have lower < upper, got {self.limits}")
        return lower, upper


@dataclass(frozen=True, eq=False)
class DDP(ILQR):
    """ILQR with the second derivatives of the dynamics, so that it converges quadratically (semi-implicit steps).

    Far from the optimum, where they leave the model not convex, an iteration does without them.
    """

    second_order = True


class _Search:
    """One solve: the trajectory as it stands, and the regularisation."""

    def __init__(
        self, problem: ILQR, steps: Steps, q0: np.ndarray, v0: np.ndarray, bounds: tuple[np.ndarray, np.ndarray]
    ) -> None:
        self.problem, self.steps, self.q0, self.v0, self.bounds = problem, steps, q0, v0, bounds
        self.rollouts = Rollouts(steps, bounds)
        self.mu, self.growth = 0.0, 1.0

    def run(self, u: np.ndarray) -> OptimizedMotion:
        problem = self.problem
        u = np.clip(u, *self.bounds)
        compiled = default_target() == "cpu"
        self.backward = BackwardSweep(self.steps, len(u), self.bounds, problem.second_order, compiled)
        with np.errstate(over="ignore", invalid="ignore"):  # said below
            q, v = self.rollouts.plain(self.q0, self.v0, u)
            first = float(problem.cost.value(q, v, u, self.steps))
        costs: list[float] = [first]
        gradients: list[float] = []
        if not np.isfinite(costs[0]):
            raise InputError("the inputs u0 lead to a motion without bounds; start from smaller ones or smaller steps")
        reason, converged = "as many as allowed", False
        while True:
            sweep = self._backward(q, v, u)
            if sweep is None:
                reason = "no regularisation makes the model convex"
                break
            gradients.append(sweep.gradient)
            if sweep.gradient < problem.tolerance:
                reason, converged = "the gradient vanishes", True
                break
            if len(costs) > problem.iterations:
                break
            found = self._forward(q, v, u, sweep, costs[-1])
            if found is None:
                if self._stiffer():
                    gradients.pop()
                    continue
                reason = "no step lowers the cost"
                break
            fell = costs[-1] - found[3]
            q, v, u = found[:3]
            costs.append(found[3])
            self._softer()
            if fell < problem.tolerance * 1e-3 * abs(costs[-1]):
                last = self._backward(q, v, u)
                sweep = sweep if last is None else last
                gradients.append(sweep.gradient)
                converged = bool(sweep.gradient < np.sqrt(problem.tolerance))
                reason = "the cost no longer falls" + ("" if converged else ", but its gradient has not vanished")
                break
        K = np.zeros((len(u), u.shape[1], 2 * problem.robot.nv)) if sweep is None else sweep.K
        gradients = gradients or [float("nan")]
        tau = self.steps.forces(u)
        t = self.steps.step * np.arange(len(q))
        return OptimizedMotion(problem.robot, t, q, v, u, tau, K, costs, gradients, converged, reason, self.steps)

    # --- backward ------------------------------------------------------------------------------------

    def _backward(self, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> Policy | None:
        """First derivatives along the whole trajectory at once, then the sweep, stiffer until it goes through."""
        second_order = self.problem.second_order
        cost = self.problem.cost.expand(q, v, u, self.steps, exact=second_order)
        self.backward.read(self.steps.changes(q[:-1], v[:-1], u), cost)
        while True:
            for exact in (True, False) if second_order else (False,):
                found = self.backward.run(q, v, u, self.mu, exact)
                if found is not None:
                    return found
            if not self._stiffer():
                return None

    # --- forward -------------------------------------------------------------------------------------

    def _forward(self, q: np.ndarray, v: np.ndarray, u: np.ndarray, policy: Policy, cost: float) -> Any:
        """The rollout with the largest α that lowers the cost enough, many α at once; None where there is none."""
        for alphas in (ALPHAS[:FIRST], ALPHAS[FIRST:]):
            Q, V, U = self.rollouts(q, v, u, policy.k, policy.K, alphas)
            with np.errstate(all="ignore"):
                costs = self.problem.cost.value(Q, V, U, self.steps)
            promised = -(alphas * policy.slope + 0.5 * alphas**2 * policy.bend)
            good = np.isfinite(costs) & (costs < cost) & (cost - costs >= ENOUGH * np.abs(promised))
            if good.any():
                j = int(good.argmax())
                return Q[j], V[j], U[j], float(costs[j])
        return None

    # --- regularisation ------------------------------------------------------------------------------

    def _stiffer(self) -> bool:
        self.growth = max(FACTOR, self.growth * FACTOR)
        self.mu = max(LOWEST * 100, self.mu * self.growth)
        return self.mu <= HIGHEST

    def _softer(self) -> None:
        self.growth = min(1.0 / FACTOR, self.growth / FACTOR)
        self.mu = self.mu * self.growth if self.mu * self.growth > LOWEST else 0.0
