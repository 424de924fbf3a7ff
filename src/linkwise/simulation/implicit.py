"""Steps that take springs, dampers, friction and stops where a step ends, so that no stiffness of theirs can upset it.

A step of h takes the joint forces that resist as they are at its end, linearised: with d and k the slopes by which a
force falls with the velocity and the position of its own joint,

    (𝓜 + hd + h²k) β̇ = T(q, β) − hkβ − 𝓒,    β' = β + hβ̇,    q' = q ⊕ hβ'

which is the articulated-body algorithm with D + hd + h²k in place of D (math notes on flexible joints, 5.5): one pass,
in O(n), of first order, stable for any d and k that are not negative. Where T falls as d and k say it is the implicit
step; they need not be its derivatives, as what they miss is taken where the step starts.

Steps of higher order are made of these (Hairer, Wanner, Solving Ordinary Differential Equations II, IV.9): the same
interval in 1, 2, … parts, extrapolated. The first terms of their errors, as powers of h, cancel whatever d and k are,
so that the order does not depend on them; and as every part is implicit, so is the whole: of a mode that is damped
beyond all bounds nothing is left after a step.

Energies are what the forces do that acted, along the mean velocity: ½β'𝓜β' − ½β𝓜β = h(𝓜β̇)·½(β + β') holds for any h,
so that what a stiff damper takes within one step is in the account.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import arrays
from ..arrays import Array, SameKind
from ..dynamics import springs
from .system import System

PARTS = {"semi_implicit_euler": 1, "midpoint": 2, "runge_kutta_4": 4}  # lines of 1, 2, … parts; also the order


class Slopes(NamedTuple):
    """How forces fall with the velocities (d) and the positions (k) of their own joints, (..., nv) or (nv,) each."""

    damping: Any
    stiffness: Any

    def at_end(self, h: Any, change: Array, after: Array) -> Any:
        """What a force has fallen by at the end of a step of h that changes v by ``change``, to ``after``."""
        return self.damping * change + h * self.stiffness * after


class Part(NamedTuple):
    """One part of a step: how long it is and where it starts, as shares of the step, and what becomes of its end."""

    length: float
    start: float
    begins_step: bool
    begins_line: bool
    weight: float  # of its end in the result, where it ends a line
    ends_step: bool


@lru_cache(maxsize=8)
def parts(order: int) -> tuple[Part, ...]:
    """The parts of a step of this order: lines of 1, 2, …, each from the start of the step."""
    weights = extrapolation(order)
    return tuple(
        Part(1.0 / n, i / n, n == 1 and i == 0, i == 0, weights[n - 1] if i == n - 1 else 0.0, n == order == i + 1)
        for n in range(1, order + 1)
        for i in range(n)
    )


def extrapolation(order: int) -> list[float]:
    """The weights by which ends of lines of 1, 2, … parts lose the first order − 1 terms of their errors."""
    numbers = range(1, order + 1)
    return [float(np.prod([n / (n - m) for m in numbers if m != n])) for n in numbers]


# --- one part -----------------------------------------------------------------------------------------------


def part_of_step(s: System, t: Any, q: Array, w: Array, h: Any) -> tuple[SameKind, SameKind]:
    """(q', w') after h: the implicit step of first order."""
    if s.start is not None and q is not s.start:
        q, w = s.closing.at_stage(s.robot, q, w, s.start, s.target)
    v = s.rates(w)
    tau, external = s.applied(t + h, q, v)
    own, hit = s.passive.resistance_slopes(v), s.passive.stop_slopes(s.robot, q, v)
    law = Slopes(0.0, 0.0) if s.slopes is None else Slopes(*s.slopes)
    resistance, stops = s.passive.resistance(v), s.passive.stops(s.robot, q, v)
    d = own + hit[0] + law.damping
    k = hit[1] + law.stiffness
    total = tau + resistance + stops - h * k * v
    if external is not None:
        total = total + external
    a = s.acceleration(s.taken_at_end(h, d + 0.0 * v, k + 0.0 * v), q, v, total)
    change = h * a
    after, mean = v + change, v + 0.5 * change
    moved = s.moved(q, h * after)
    if not s.exchanges:
        return moved, after
    dissipated = _power(resistance - own * change, mean)
    if springs.any_dampers(s.robot):
        dissipated = dissipated - springs.dissipation(s.robot, q, after, mean)
    if any(x.damping for x in s.robot.loops):
        closed: Any = s.robot
        dissipated = dissipated - closed.damper_power(q, v, target=s.target)
    powers = [
        _power(tau - law.at_end(h, change, after), mean),
        -dissipated,
        -_power(stops - Slopes(*hit).at_end(h, change, after), mean),
        0.0 * v[..., 0] if external is None else _power(external, mean),
    ]
    exchanged = w[..., s.robot.nv :] + h * arrays.stack([_array(p, v) for p in powers])
    return moved, np.concatenate([after, exchanged], axis=-1)


def plain_part(s: Any, t: Any, q: Any, v: Any, h: Any) -> tuple[Any, Any]:
    """(q', v') after h where the robot's own springs and dampers alone resist, and no energies are kept beside."""
    after = v + h * s.accelerated_at_end(q, v, h)
    return s.moved(q, h * after), after


def _power(force: Array, v: Array) -> Any:
    return (force * v).sum(axis=-1)


def _array(x: Any, like: Array) -> SameKind:
    return np.asarray(x, dtype=object) if arrays.is_symbolic(like) else x


# --- steps of higher order -------------------------------------------------------------------------------------


class Sums(NamedTuple):
    """What the parts of a step have given: how far the ends of lines are from its start, weighed, (..., nv) on the
    manifold and (..., n); and whether forces broke off within it, (..., 1), or None where they cannot."""

    q: Any = 0.0
    w: Any = 0.0
    broken: Any = None

    def plus(self, s: Any, start: tuple[Any, Any], here: tuple[Any, Any], end: tuple[Any, Any], weight: Any) -> Sums:
        """These and another part, from ``here`` to ``end``."""
        if isinstance(weight, float) and weight == 0.0:
            q, w = self.q, self.w
        else:
            q = self.q + weight * s.difference(start[0], end[0])
            w = self.w + weight * (end[1] - start[1])
        broken = s.breaks(here, end)
        return Sums(q, w, broken if self.broken is None else self.broken + broken)

    def applied(self, s: Any, start: tuple[Any, Any], end: tuple[Any, Any]) -> tuple[Any, Any]:
        """Where the step leads: extrapolated; or, where a force broke off and has no expansion in h, the ``end`` of the
        last line, of the most parts."""
        found = s.moved(start[0], self.q), start[1] + self.w
        if self.broken is None:
            return found
        smooth = arrays.less(self.broken, 0.5)
        return arrays.where(smooth, found[0], end[0]), arrays.where(smooth, found[1], end[1])


def extrapolated(order: int, part: Callable[..., Any] = part_of_step) -> Callable[..., tuple[Any, Any]]:
    """The step of this order, as those of :mod:`.steps`; ``part`` makes its parts."""

    def step(s: Any, t: Any, q: Any, w: Any, h: Any) -> tuple[Any, Any]:
        start, end, sums = (q, w), (q, w), Sums()
        for p in parts(order):
            here = start if p.begins_line else end
            end = part(s, t + h * p.start, *here, h * p.length)
            if order > 1:
                sums = sums.plus(s, start, here, end, p.weight)
        return end if order == 1 else sums.applied(s, start, end)

    return step
