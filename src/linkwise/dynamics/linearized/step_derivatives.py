"""Exact derivatives of the explicit steps of a simulation, in tangent coordinates.

A step is a chain of accelerations a(q, v, …) and moves q ⊕ d. :class:`Varied` carries a quantity and its change with
whatever it is differentiated by (states, inputs, parameters) through the same chain; ``accelerate`` says how a changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...arrays import Array
from ..tangent import commutes, step_maps

if TYPE_CHECKING:
    from ...robot.robot import Robot


@dataclass(frozen=True, eq=False)
class Varied:
    """A vector (..., n), or a configuration (..., nq), and its change with m numbers, (..., n or nv, m)."""

    value: Array
    change: Array

    def __add__(self, other: Varied) -> Varied:
        return Varied(self.value + other.value, self.change + other.change)

    def __rmul__(self, factor: float) -> Varied:
        return Varied(factor * self.value, factor * self.change)


Accelerate = Callable[[Varied, Varied], Varied]  # (q, v) → a


def moved(robot: Robot, q: Varied, d: Varied) -> Varied:
    """q ⊕ d; where joints do not commute, δ(q ⊕ d) = Yδq + Zδd."""
    value = robot.integrate(q.value, d.value)
    if commutes(robot):
        return Varied(value, q.change + d.change)
    Y, Z = step_maps(robot, d.value)
    return Varied(value, Y @ q.change + Z @ d.change)


def semi_implicit(robot: Robot, accelerate: Accelerate, q: Varied, v: Varied, h: float) -> tuple[Varied, Varied]:
    """v ← v + h a(q, v), then q ← q ⊕ h v."""
    v = v + h * accelerate(q, v)
    return moved(robot, q, h * v), v


def rk4(robot: Robot, accelerate: Accelerate, q: Varied, v1: Varied, h: float) -> tuple[Varied, Varied]:
    """As :func:`linkwise.simulation.diagonal_motion.runge_kutta_4`."""
    a1 = accelerate(q, v1)
    q2, v2 = moved(robot, q, 0.5 * h * v1), v1 + 0.5 * h * a1
    a2 = accelerate(q2, v2)
    q3, v3 = moved(robot, q, 0.5 * h * v2), v1 + 0.5 * h * a2
    a3 = accelerate(q3, v3)
    q4, v4 = moved(robot, q2, h * (v3 + -0.5 * v1)), v1 + h * a3
    a4 = accelerate(q4, v4)
    middle = 2.0 * (v2 + v3)
    q = moved(robot, q, h / 12.0 * (3.0 * v1 + middle + -1.0 * v4))
    q = moved(robot, q, h / 12.0 * (3.0 * v4 + middle + -1.0 * v1))
    return q, v1 + h / 6.0 * (a1 + 2.0 * (a2 + a3) + a4)


STEPS = {"semi_implicit": semi_implicit, "rk4": rk4}
