"""Exact derivatives of steps under joint forces that are held, in tangent coordinates.

:class:`Varied` carries a quantity and its change with whatever it is differentiated by (states, inputs, parameters)
through the steps of :mod:`.steps` and :mod:`.implicit`; ``accelerate`` says how the acceleration changes. Which of the
two are made is decided as :func:`linkwise.simulate` does: springs and dampers of the robot that are not slow are taken
where steps end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array, SameKind
from ..dynamics.springs import taken_at_end
from ..dynamics.tangent import commutes, step_maps
from ..robot.robot import Robot
from .implicit import extrapolated, plain_part
from .joint_forces import PassiveForces
from .steppers import Task
from .steps import EXPLICIT


@dataclass(frozen=True, eq=False)
class Varied:
    """A vector (..., n), or a configuration (..., nq), and its change with m numbers, (..., n or nv, m)."""

    value: Array
    change: Array

    __array_ufunc__ = None  # so that a NumPy number times it comes here

    def __add__(self, other: Varied) -> Varied:
        return Varied(self.value + other.value, self.change + other.change)

    def __radd__(self, other: float) -> Varied:
        assert other == 0.0  # where a sum starts
        return self

    def __sub__(self, other: Varied) -> Varied:
        return Varied(self.value - other.value, self.change - other.change)

    def __rmul__(self, factor: float) -> Varied:
        return Varied(factor * self.value, factor * self.change)


Accelerate = Callable[[Robot, Varied, Varied], Varied]  # (robot, q, v) → a


def order_at_end(robot: Robot, method: str, step: float) -> int:
    """The order of steps under held forces that take what resists where they end, 0 where they are explicit."""
    return Task(robot, method, float(step), PassiveForces()).order


def at_end(robot: Robot, h: float) -> Any:
    """The robot whose accelerations have its springs and dampers as they are after h; kept, with its code, by robot."""
    key = ("at_end", float(h))
    found = robot._code.get(key)
    if found is None:
        none = np.zeros(robot.nv)
        found = taken_at_end(robot, float(h), none, none)
        robot._code.keep(key, found)
    return found


def held_step(robot: Robot, method: str, step: float) -> Callable[..., tuple[Any, Any]]:
    """The step (flow, t, q, v, h) → (q', v') that simulations make under held forces."""
    order = order_at_end(robot, method, step)
    return extrapolated(order, plain_part) if order else EXPLICIT[method]


@dataclass(frozen=True, eq=False)
class VariedFlow:
    """Joint coordinates and their changes, as steps see them."""

    robot: Robot
    accelerate: Accelerate

    def derivative(self, t: Any, q: Varied, v: Varied) -> tuple[Varied, Varied]:
        return v, self.accelerate(self.robot, q, v)

    def accelerated_at_end(self, q: Varied, v: Varied, h: float) -> Varied:
        return self.accelerate(at_end(self.robot, h), q, v)

    def velocity(self, q: Varied, v: Varied) -> Varied:
        return v

    def moved(self, q: Varied, d: Varied) -> Varied:
        """q ⊕ d; where joints do not commute, δ(q ⊕ d) = Yδq + Zδd."""
        value = self.robot.integrate(q.value, d.value)
        if commutes(self.robot):
            return Varied(value, q.change + d.change)
        Y, Z = step_maps(self.robot, d.value)
        return Varied(value, Y @ q.change + Z @ d.change)

    def difference(self, q0: Varied, q1: Varied) -> Varied:
        """d with q0 ⊕ d = q1, and so δd = Z⁻¹(δq1 − Yδq0)."""
        value = self.robot.difference(q0.value, q1.value)
        if commutes(self.robot):
            return Varied(value, q1.change - q0.change)
        Y, Z = step_maps(self.robot, value)
        return Varied(value, np.linalg.solve(np.asarray(Z), np.asarray(q1.change - Y @ q0.change)))

    def gone(self, line: Any, v: Varied, h: float) -> None:
        """Not asked for: in derivatives the digits that rounding takes from differences of positions do not count."""

    def come(self, q0: Varied, q1: Varied, line: None) -> Varied:
        return self.difference(q0, q1)

    def breaks(self, before: Any, after: Any) -> None:
        """Springs and dampers never do."""


def linearized_step(
    robot: Robot, method: str, q: Array, v: Array, tau: Array, step: float, forces: Array, accelerations: Any = None
) -> SameKind:
    """(..., 2nv, 2nv + m): how [δq'; δv'] after a step depends on [δq; δv] and on m other numbers.

    The m numbers change the joint forces by ``forces`` (nv, m), and the accelerations by what
    ``accelerations(robot, q, v, tau)`` (..., nv, m) gives beside. States (..., n) along a trajectory go in at once.
    Of robots with loops these are the derivatives with the projection that follows the step, exact but for what the
    step had opened them by (h² by semi-implicit Euler).
    """
    n, m = robot.nv, forces.shape[-1]
    eye = np.eye(2 * n + m, dtype=q.dtype)
    start = np.broadcast_to(eye[: 2 * n], (*q.shape[:-1], 2 * n, 2 * n + m))
    on_tau = (forces @ eye[2 * n :]).astype(q.dtype)

    def accelerate(own: Robot, q: Varied, v: Varied) -> Varied:
        model = own.linearize_forward(q.value, v.value, tau)
        value = own.forward_dynamics(q.value, v.value, tau)
        change = model.dq @ q.change + model.dv @ v.change + model.Minv @ on_tau
        if accelerations is not None:
            change = change + accelerations(own, q.value, v.value, tau) @ eye[2 * n :]
        return Varied(value, change)

    flow = VariedFlow(robot, accelerate)
    move = held_step(robot, method, step)
    q_after, v_after = move(flow, 0.0, Varied(q, start[..., :n, :]), Varied(v, start[..., n:, :]), step)
    change = np.concatenate([q_after.change, v_after.change], axis=-2)
    return change if not robot.loops else _closed(robot, q_after.value, v_after.value) @ change


def _closed(robot: Any, q: Array, v: Array) -> Array:
    """What the projection after a step leaves of changes, (..., 2nv, 2nv)."""
    q = robot.integrate(q, robot.closing_step(q))
    out: Array = robot.linearize_projection(q, robot.closed_velocity(q, v))
    return out
