"""Exact derivatives of the explicit steps, in tangent coordinates.

:class:`Varied` carries a quantity and its change with whatever it is differentiated by (states, inputs, parameters)
through the steps of :mod:`.steps`; ``accelerate`` says how the acceleration changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array, SameKind
from ..dynamics.tangent import commutes, step_maps
from ..robot.robot import Robot
from .steps import EXPLICIT


@dataclass(frozen=True, eq=False)
class Varied:
    """A vector (..., n), or a configuration (..., nq), and its change with m numbers, (..., n or nv, m)."""

    value: Array
    change: Array

    __array_ufunc__ = None  # so that a NumPy number times it comes here

    def __add__(self, other: Varied) -> Varied:
        return Varied(self.value + other.value, self.change + other.change)

    def __sub__(self, other: Varied) -> Varied:
        return Varied(self.value - other.value, self.change - other.change)

    def __rmul__(self, factor: float) -> Varied:
        return Varied(factor * self.value, factor * self.change)


Accelerate = Callable[[Varied, Varied], Varied]  # (q, v) → a


@dataclass(frozen=True, eq=False)
class VariedFlow:
    """Joint coordinates and their changes, as steps see them."""

    robot: Robot
    accelerate: Accelerate

    def derivative(self, t: Any, q: Varied, v: Varied) -> tuple[Varied, Varied]:
        return v, self.accelerate(q, v)

    def velocity(self, q: Varied, v: Varied) -> Varied:
        return v

    def moved(self, q: Varied, d: Varied) -> Varied:
        """q ⊕ d; where joints do not commute, δ(q ⊕ d) = Yδq + Zδd."""
        value = self.robot.integrate(q.value, d.value)
        if commutes(self.robot):
            return Varied(value, q.change + d.change)
        Y, Z = step_maps(self.robot, d.value)
        return Varied(value, Y @ q.change + Z @ d.change)


def linearized_step(
    robot: Robot, method: str, q: Array, v: Array, tau: Array, step: float, forces: Array, accelerations: Any = None
) -> SameKind:
    """(..., 2nv, 2nv + m): how [δq'; δv'] after a step depends on [δq; δv] and on m other numbers.

    The m numbers change the joint forces by ``forces`` (nv, m), and the accelerations by what
    ``accelerations(q, v, tau)`` (..., nv, m) gives beside. States (..., n) along a trajectory go in at once. Of robots
    with loops these are the derivatives with the projection that follows the step, exact but for what the step had
    opened them by (h² by semi-implicit Euler).
    """
    n, m = robot.nv, forces.shape[-1]
    eye = np.eye(2 * n + m, dtype=q.dtype)
    start = np.broadcast_to(eye[: 2 * n], (*q.shape[:-1], 2 * n, 2 * n + m))
    on_tau = (forces @ eye[2 * n :]).astype(q.dtype)

    def accelerate(q: Varied, v: Varied) -> Varied:
        model = robot.linearize_forward(q.value, v.value, tau)
        value = robot.forward_dynamics(q.value, v.value, tau)
        change = model.dq @ q.change + model.dv @ v.change + model.Minv @ on_tau
        if accelerations is not None:
            change = change + accelerations(q.value, v.value, tau) @ eye[2 * n :]
        return Varied(value, change)

    flow = VariedFlow(robot, accelerate)
    q_after, v_after = EXPLICIT[method](flow, 0.0, Varied(q, start[..., :n, :]), Varied(v, start[..., n:, :]), step)
    change = np.concatenate([q_after.change, v_after.change], axis=-2)
    return change if not robot.loops else _closed(robot, q_after.value, v_after.value) @ change


def _closed(robot: Any, q: Array, v: Array) -> Array:
    """What the projection after a step leaves of changes, (..., 2nv, 2nv)."""
    q = robot.integrate(q, robot.closing_step(q))
    out: Array = robot.linearize_projection(q, robot.closed_velocity(q, v))
    return out
