"""Steps that take springs, dampers, friction and stops where a step ends, so that no stiffness of theirs can upset it.

A step of h takes the joint forces that resist as they are at its end, linearised: with d and k the slopes by which a
force falls with the velocity and the position of its own joint,

    (𝓜 + hd + h²k) β̇ = T(q, β) − hkβ − 𝓒,    β' = β + hβ̇,    q' = q ⊕ hβ'

which is the articulated-body algorithm with D + hd + h²k in place of D (math notes on flexible joints, 5.5): one pass,
in O(n), of first order, stable for any d and k that are not negative. Where T falls as d and k say it is the implicit
step; they need not be its derivatives, as what they miss is taken where the step starts.

Steps of higher order are made of these (Hairer, Wanner, Solving Ordinary Differential Equations II, IV.9): the same
interval in lines of 1, 2, … parts, extrapolated. The first terms of their errors, as powers of h, cancel whatever d and
k are, so that the order does not depend on them; and as every part is implicit, so is the whole: of a mode that is
damped beyond all bounds nothing is left after a step. Which values of the lines are extrapolated decides what becomes
of vibrations without a damper (:func:`weights`): none grows, whatever its frequency.

Energies are what the forces do that acted, along the mean velocity: ½β'𝓜β' − ½β𝓜β = h(𝓜β̇)·½(β + β') holds for any h,
so that what a stiff damper takes within one step is in the account.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .. import arrays
from ..arrays import Array, SameKind
from ..dynamics import springs
from .system import System

PARTS = {"semi_implicit_euler": 1, "midpoint": 2, "runge_kutta_4": 4}  # the order that extrapolation gives steps
LINES = {1: (1,), 2: (1, 2), 4: (1, 2, 3, 4, 7)}  # into how many parts the lines of a step of this order are cut


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
    begins_line: bool
    weight: float  # of its end in the result


@lru_cache(maxsize=8)
def parts(order: int) -> tuple[Part, ...]:
    """The parts of a step of this order, line by line, each from the start of the step; the last ends with the step."""
    counted = weights(order)
    of_line = {n: max(i for m, i in counted if m == n) for n in LINES[order]}
    of_line[LINES[order][-1]] = LINES[order][-1]  # where forces break off, its end is the result
    return tuple(
        Part(1.0 / n, i / n, i == 0, counted.get((n, i + 1), 0.0)) for n, last in of_line.items() for i in range(last)
    )


@lru_cache(maxsize=8)
def weights(order: int) -> dict[tuple[int, int], float]:
    """{(n, i): the weight of what the line of n parts has reached after i of them}; values at the start have none.

    Of ẏ = λy these values are (1 − z/n)⁻ⁱ, z = hλ. At orders 1 and 2 the ends of the lines are extrapolated to
    x = 1/n → 0. At order 4 that would let vibrations grow: with lines of 1 to 4 parts |R(iy)| = 1 + y⁶/45 − …, above
    one up to y = 1.5, and no other four lines are better. What the lines have reached after n − 1 parts,
    y(h − hx) + hx e₁(h − hx) + …, is a series in x with y(h) at x = 0 as well. Its terms of hᵐ have powers of x up to
    the m-th, so that five lines make it of order 4, the first of which is the start itself. That one's weight goes to
    the first parts, by the divided difference of 1/(1 − zx) over x = 0 and all 1/n, which is z⁵/Π(1 − z/n), so that
    nothing is left of z → ∞. A seventh of the last line's fifth difference, likewise of z⁵, keeps the account of
    energies, Σw|y|², within 0.3 % of |R|² for all that dies away (1.1 % without). The polynomial of 1 − |R(iy)|² then
    has no negative coefficient: no vibration grows.
    """
    lines = LINES[order]
    at_limit = {n: prod((Fraction(n, n - m) for m in lines if m != n), start=Fraction(1)) for n in lines}
    if order < 4:
        return {(n, n): float(w) for n, w in at_limit.items()}
    x = {0: Fraction(0)} | {n: Fraction(1, n) for n in lines}
    divided = {n: 1 / prod((x[n] - x[m] for m in x if m != n), start=Fraction(1)) for n in x}
    found = {(n, 1): -at_limit[1] / divided[0] * divided[n] for n in lines}
    for n in lines[1:]:
        found[n, n - 1] = found.get((n, n - 1), Fraction(0)) + at_limit[n]
    last = lines[-1]
    for i, binomial in enumerate((1, -5, 10, -10, 5, -1), start=1):
        found[last, i] = found.get((last, i), Fraction(0)) + Fraction(binomial, 7)
    return {where: float(w) for where, w in found.items()}


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
    """What the parts of a step have given: how far their ends are from its start, weighed, (..., nv) on the
    manifold and (..., n); and whether forces broke off within it, (..., 1), or None where they cannot."""

    q: Any = 0.0
    w: Any = 0.0
    broken: Any = None

    def plus(
        self, s: Any, start: tuple[Any, Any], here: tuple[Any, Any], end: tuple[Any, Any], weight: Any, line: Any
    ) -> Sums:
        """These and another part, from ``here`` to ``end``; ``line`` is how far the parts of its line have come."""
        if isinstance(weight, float) and weight == 0.0:
            q, w = self.q, self.w
        else:
            q = self.q + weight * s.come(start[0], end[0], line)
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
        line: Any = 0.0
        for p in parts(order):
            here = start if p.begins_line else end
            end = part(s, t + h * p.start, *here, h * p.length)
            if order > 1:
                line = s.gone(0.0 if p.begins_line else line, end[1], h * p.length)
                sums = sums.plus(s, start, here, end, p.weight, line)
        return end if order == 1 else sums.applied(s, start, end)

    return step
