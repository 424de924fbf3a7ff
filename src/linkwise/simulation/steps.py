"""Explicit steps of a state (q, w), each written once, over anything that can be added, scaled and moved.

The same lines run on arrays, are traced and compiled (:mod:`.steppers`), and carry derivatives with them
(:mod:`.step_derivatives`). q lies on the configuration manifold, w are rates and what else is integrated beside it.
"""

from __future__ import annotations

from typing import Any, Protocol


class Flow(Protocol):
    """What a step asks of the system that it moves."""

    def derivative(self, t: Any, q: Any, w: Any) -> tuple[Any, Any]:
        """(v, ẇ): the velocity that moves q, and the rate of w."""
        ...

    def velocity(self, q: Any, w: Any) -> Any:
        """The velocity v alone."""
        ...

    def moved(self, q: Any, d: Any) -> Any:
        """q ⊕ d."""
        ...


def semi_implicit_euler(s: Flow, t: Any, q: Any, w: Any, h: Any) -> tuple[Any, Any]:
    """w ← w + hẇ(q, w), then q ← q ⊕ h v(q, w): first order, one evaluation."""
    _, w_dot = s.derivative(t, q, w)
    w = w + h * w_dot
    return s.moved(q, h * s.velocity(q, w)), w


def midpoint(s: Flow, t: Any, q: Any, w: Any, h: Any) -> tuple[Any, Any]:
    """The explicit midpoint rule: second order, two evaluations."""
    v, w_dot = s.derivative(t, q, w)
    v, w_dot = s.derivative(t + 0.5 * h, s.moved(q, 0.5 * h * v), w + 0.5 * h * w_dot)
    return s.moved(q, h * v), w + h * w_dot


def runge_kutta_4(s: Flow, t: Any, q: Any, w: Any, h: Any) -> tuple[Any, Any]:
    """The classical fourth-order step; on the manifold its commutator-free form, which needs ⊕ alone.

    Stage 4 starts from stage 2, and q moves by two exponentials; where ⊕ is addition this is the classical step.
    """
    v1, a1 = s.derivative(t, q, w)
    q2 = s.moved(q, 0.5 * h * v1)
    v2, a2 = s.derivative(t + 0.5 * h, q2, w + 0.5 * h * a1)
    v3, a3 = s.derivative(t + 0.5 * h, s.moved(q, 0.5 * h * v2), w + 0.5 * h * a2)
    v4, a4 = s.derivative(t + h, s.moved(q2, h * (v3 - 0.5 * v1)), w + h * a3)
    q = s.moved(q, h / 12.0 * (3.0 * v1 + 2.0 * (v2 + v3) - v4))
    q = s.moved(q, h / 12.0 * (3.0 * v4 + 2.0 * (v2 + v3) - v1))
    return q, w + h / 6.0 * (a1 + 2.0 * (a2 + a3) + a4)


EXPLICIT = {"semi_implicit_euler": semi_implicit_euler, "midpoint": midpoint, "runge_kutta_4": runge_kutta_4}
