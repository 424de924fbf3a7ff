"""One step of a robot as a map x → x', with exact first and second derivatives in tangent coordinates.

States are (q, v), changes of states δx = [δq; δv] (2nv), inputs u (m) with τ = S u. Derivatives along a whole
trajectory come from one batched call of the linearised forward dynamics (Linearized dynamics paper §4).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .. import arrays
from ..arguments import number, numbers, one_of
from ..dynamics.springs import taken_at_end
from ..dynamics.tangent import commutes, step_maps, transport, turning, turning_maps
from ..errors import InputError, NotAdmittedError
from ..properties import cached_property
from ..robot.dispatch import default_target
from ..robot.robot import Robot
from ..simulation.closing import chosen
from ..simulation.simulate import simulate
from ..simulation.step_derivatives import at_end, held_step, linearized_step, order_at_end
from ..simulation.steps import EXPLICIT
from ..simulation.system import come_along
from ..simulation.trajectory import Trajectory
from ..values import ByValue
from .law import selection
from .tracking import times


@dataclass(frozen=True, eq=False)
class Steps(ByValue):
    """Steps of ``step`` [s], inputs held, for the ``actuated`` joints.

    ``method`` is "semi_implicit_euler", "midpoint" or "runge_kutta_4", as :func:`linkwise.simulate` makes them: springs
    and dampers of the robot that are not slow are taken where steps end.
    """

    robot: Robot
    step: float
    _: KW_ONLY
    method: str = "semi_implicit_euler"
    actuated: Iterable[str] | None = None
    selection: Any = field(init=False, repr=False)  # S (nv, m)

    def __post_init__(self) -> None:
        number(self.step, "the step", above=0.0)
        one_of(self.method, EXPLICIT, "step")
        object.__setattr__(self, "selection", selection(self.robot, self.actuated))

    @property
    def inputs(self) -> int:
        """m, how many inputs there are."""
        m: int = self.selection.shape[1]
        return m

    def forces(self, u: np.ndarray) -> np.ndarray:
        """τ = S u, (..., nv)."""
        tau: np.ndarray = u @ self.selection.T
        return tau

    @property
    def _closing(self) -> str | None:
        """What keeps loops closed: the projection, which derivatives of steps are of."""
        return "projection" if self.robot.loops else None

    @cached_property
    def _run(self) -> Any:
        def step(robot: Robot, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return self.moved(robot, robot, q, v, u, self.step)

        from ..codegen.pipeline import compile_function

        return compile_function(step, self.robot, target=default_target(), sizes={"u": self.inputs})

    def moved(self, robot: Robot, dynamics: Robot, q: Any, v: Any, u: Any, h: Any) -> tuple[Any, Any]:
        """(q', v') after a step of h; ``dynamics`` is the robot, in any frames, whose forward dynamics it is."""
        closing = chosen(self.robot, self._closing, None, self.method, "joint", self.step, adaptive=False)
        held = _Held(robot, dynamics, times(self.selection, u))
        move = held_step(self.robot, self.method, self.step)
        after: tuple[Any, Any] = closing.after_step(robot, *move(held, 0.0, q, v, h), q)
        return after

    def __call__(self, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(q', v') after one step."""
        q_after, v_after = self._run(q, v, u)
        return q_after, v_after

    def rollout(self, q0: Any, v0: Any, u: Any) -> Trajectory:
        """The motion from q0 (..., nq), v0 (..., nv) under inputs u (..., N, m), every step kept."""
        given = numbers(u, "u")
        if given.ndim < 2 or given.shape[-1] != self.inputs:
            raise InputError(f"u must have shape (..., steps, {self.inputs}), one row per step, got {given.shape}")
        tau = self.forces(given)
        options: dict[str, Any] = {"step": self.step, "method": self.method, "check": False, "progress": False}
        return simulate(self.robot, q0, v0, tau=tau, closing=self._closing, **options)

    def error(self, q: np.ndarray, v: np.ndarray, q_nominal: np.ndarray, v_nominal: np.ndarray) -> np.ndarray:
        """δx = [q ⊖ q̄; v − v̄], (..., 2nv)."""
        e = q - q_nominal if self._commutes else self.robot.difference(q_nominal, q)
        return np.concatenate([e, v - v_nominal], axis=-1)

    @cached_property
    def _commutes(self) -> bool:
        return commutes(self.robot)

    # --- derivatives -----------------------------------------------------------------------------------

    def linearize(self, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A (..., 2nv, 2nv) and B (..., 2nv, m) with δx' = A δx + B δu."""
        n = self.robot.nv
        both = linearized_step(self.robot, self.method, q, v, self.forces(u), self.step, self.selection)
        return both[..., : 2 * n], both[..., 2 * n :]

    @cached_property
    def is_semi_implicit(self) -> bool:
        """Whether δq' = Yδq + hZδv' with Y and Z of hv' alone, so that changes of δv' tell all."""
        return self.method == "semi_implicit_euler" and not self.robot.loops and not self.order

    @cached_property
    def order(self) -> int:
        """That of steps which take springs and dampers where they end; 0 where they are explicit."""
        return order_at_end(self.robot, self.method, self.step)

    @cached_property
    def turning(self) -> list[slice]:
        """The velocities of joints for which Y and Z are not 1."""
        return turning(self.robot) if self.is_semi_implicit else []

    def changes(self, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> StepChanges:
        """What :meth:`linearize` gives, in as few numbers as tell it."""
        if not self.is_semi_implicit:
            return StepChanges(np.concatenate(self.linearize(q, v, u), axis=-1), [])
        h, n, tau = self.step, self.robot.nv, self.forces(u)
        model = self.robot.linearize_forward(q, v, tau)
        W = np.concatenate([model.dq, model.dv, model.Minv @ self.selection], axis=-1)
        W *= h
        W[..., n : 2 * n] += np.eye(n)
        if not self.turning:
            return StepChanges(W, [])
        v_after = v + h * self.robot.forward_dynamics(q, v, tau)
        return StepChanges(W, turning_maps(self.robot, h * v_after))

    def curvature(self, q: np.ndarray, v: np.ndarray, u: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The second derivative of weights · δx' in (δx, δu), (..., 2nv + m, 2nv + m), for semi-implicit steps.

        That of the acceleration comes from ``robot.forward_dynamics_hvp`` along all directions at once; joints with
        quaternions add what the composition q ⊕ hv' curves.
        """
        if self.method != "semi_implicit_euler":
            raise NotAdmittedError(
                f'second derivatives are those of "semi_implicit_euler"; {self.method!r} is for ILQR'
            )
        n, h, D = self.robot.nv, self.step, 2 * self.robot.nv + self.inputs
        moves = at_end(self.robot, h) if self.order else self.robot
        w_q, w_v = weights[..., :n], weights[..., n:]
        group = not self._commutes
        tau, eye = self.forces(u), np.eye(D)
        if group:
            dv_after = np.concatenate(self.linearize(q, v, u), axis=-1)[..., n:, :]
            hv = h * (v + h * moves.forward_dynamics(q, v, tau))
            Y, Z = map(arrays.as_numpy, step_maps(self.robot, hv))
            on_a = h * (w_v + h * times(arrays.transpose(Z), w_q))
        else:
            on_a = h * (w_v + h * w_q)
        along = [eye[:, :n], eye[:, n : 2 * n], eye[:, 2 * n :] @ self.selection.T]
        found = moves.forward_dynamics_hvp(*(x[..., None, :] for x in (q, v, tau, on_a)), *along)
        H = np.concatenate([found.dq, found.dv, found.dtau @ self.selection], axis=-1)
        if group:
            H = H + self._composed(w_q, hv, Y, Z, h * dv_after)
        symmetric: np.ndarray = 0.5 * (H + arrays.transpose(H))
        return symmetric

    def _composed(self, w: np.ndarray, hv: np.ndarray, Y: np.ndarray, Z: np.ndarray, change: np.ndarray) -> np.ndarray:
        """The curvature of log(exp(Yξ) exp(Zδ + ½∂Z[δ]δ)) = Yξ + Zδ + ½[Yξ, Zδ] + ½∂Z[δ]δ + …, weighed by w.

        ``change`` (..., nv, D) is δ as it depends on (δx, δu); ξ is the first part of δx.
        """
        n, D = self.robot.nv, change.shape[-1]
        basis = np.eye(n)
        bracket = -(w[..., None, None, :] @ transport(self.robot, basis))[..., 0, :]  # (a, b): w · [e_a, e_b]
        xi = np.broadcast_to(np.eye(n, D), change.shape)
        mixed = arrays.transpose(Y @ xi) @ bracket @ (Z @ change)
        turned = weighted_derivative(self.robot, hv, w)
        curved: np.ndarray = 0.5 * (mixed + arrays.transpose(mixed)) + arrays.transpose(change) @ turned @ change
        return curved


class StepChanges(NamedTuple):
    """δv' = W(δx, δu), (..., nv, 2nv + m), and (Y, Z) of :attr:`Steps.turning`, (..., r, r), for semi-implicit steps;
    δx' = W(δx, δu), (..., 2nv, 2nv + m), for others."""

    W: np.ndarray
    turns: list[tuple[Any, Any]]


@dataclass(frozen=True, eq=False)
class _Held:
    """A robot under joint forces that stay, as steps see it; ``dynamics`` is the same in any frames."""

    robot: Robot
    dynamics: Robot
    tau: np.ndarray

    def derivative(self, t: Any, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return v, self.dynamics.forward_dynamics(q, v, self.tau)

    def accelerated_at_end(self, q: np.ndarray, v: np.ndarray, h: Any) -> np.ndarray:
        none = np.zeros(self.robot.nv)
        found: np.ndarray = taken_at_end(self.robot, h, none, none).forward_dynamics(q, v, self.tau)
        return found

    def velocity(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return v

    def moved(self, q: np.ndarray, d: np.ndarray) -> np.ndarray:
        return self.robot.integrate(q, d)

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        return self.robot.difference(q0, q1)

    def gone(self, line: Any, v: np.ndarray, h: Any) -> Any:
        return line + h * v

    def come(self, q0: np.ndarray, q1: np.ndarray, line: Any) -> np.ndarray:
        found: np.ndarray = come_along(self.robot, q0, q1, line)
        return found

    def breaks(self, before: Any, after: Any) -> None:
        """Springs and dampers never do."""


def weighted_derivative(robot: Robot, d: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The symmetric part of (a, b): w · ∂Z(d)[e_a]e_b, (..., nv, nv), by complex steps."""
    basis = 1e-30j * np.eye(robot.nv)
    dZ = step_maps(robot, d[..., None, :] + basis)[1].imag / 1e-30  # (..., a, nv, b)
    out = (w[..., None, None, :] @ dZ)[..., 0, :]
    symmetric: np.ndarray = 0.5 * (out + arrays.transpose(out))
    return symmetric
