"""Explicit steps of a state (q, w), each written once, over anything that can be added, scaled and moved.

The same lines run on arrays, are traced and compiled (:mod:`.steppers`), and carry derivatives with them
(:mod:`.step_derivatives`). q lies on the configuration manifold, w are rates and what else is integrated beside it.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol


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


class Stage(NamedTuple):
    """Where a stage of :func:`runge_kutta_4` starts and when, as parts of the step."""

    time: float
    last: float  # how far it goes along the last stage's velocity, and its rate
    first: float = 0.0  # and along the first stage's velocity
    from_second: bool = False  # from the configuration of the second stage, and not from the start of the step


RUNGE_KUTTA_4 = (Stage(0.0, 0.0), Stage(0.5, 0.5), Stage(0.5, 0.5), Stage(1.0, 1.0, -0.5, from_second=True))


def runge_kutta_4(s: Flow, t: Any, q: Any, w: Any, h: Any) -> tuple[Any, Any]:
    """The classical fourth-order step; on the manifold its commutator-free form, which needs ⊕ alone.

    Stage 4 starts from stage 2, and q moves by two exponentials; where ⊕ is addition this is the classical step.
    """
    found = [s.derivative(t, q, w)]
    q2 = q
    for x in RUNGE_KUTTA_4[1:]:
        v, a = found[-1]
        along = x.last * v if not x.first else v + x.first * found[0][0]
        at = s.moved(q2 if x.from_second else q, h * along)
        q2 = at if len(found) == 1 else q2
        found.append(s.derivative(t + x.time * h, at, w + h * (x.last * a)))
    (v1, a1), (v2, a2), (v3, a3), (v4, a4) = found
    return runge_kutta_end(s, q, w, h, (v1, a1), (v2 + v3, a2 + a3), (v4, a4))


def runge_kutta_end(s: Flow, q: Any, w: Any, h: Any, first: Any, middle: Any, last: Any) -> tuple[Any, Any]:
    """Where the fourth-order step leads, from (v, ẇ) of its first stage, of the two in the middle added up, and of its
    last."""
    (v1, a1), (v, a), (v4, a4) = first, middle, last
    q = s.moved(q, h / 12.0 * (3.0 * v1 + 2.0 * v - v4))
    q = s.moved(q, h / 12.0 * (3.0 * v4 + 2.0 * v - v1))
    return q, w + h / 6.0 * (a1 + 2.0 * a + a4)


EXPLICIT = {"semi_implicit_euler": semi_implicit_euler, "midpoint": midpoint, "runge_kutta_4": runge_kutta_4}
