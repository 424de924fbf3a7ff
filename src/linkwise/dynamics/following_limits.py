"""Limits of joints that follow others by any relation, lower ≤ g(q) ≤ upper, as the joints that they follow feel them.

A constant ratio to one joint makes them limits of that joint (:func:`.model.couplings.reflected_limits`). All others
are linearised where the robot is, g(q + dq) ≈ g(q) + g′dq, anew at every step. One that a step would cross it goes to,
and no further along g′; what the bend of g leaves beyond comes back by Newton's method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import Array
from ..model.couplings import Coupling
from ..model.model import Model

TO = 1e-9  # [rad or m] to which these limits are held
_CORRECTIONS = 4  # of Newton's method, back to a limit that the bend of g has led across


@dataclass(frozen=True, eq=False)
class FollowingLimit:
    """The limits of a joint, and the entries of q and v of those that it follows."""

    coupling: Coupling
    of_q: tuple[int, ...]
    of_v: tuple[int, ...]
    low: float
    high: float

    @property
    def ends(self) -> list[tuple[float, float]]:
        """(sign, limit) of those that there are: −1 of the lower one, 1 of the upper one."""
        return [(sign, end) for sign, end in ((-1.0, self.low), (1.0, self.high)) if np.isfinite(end)]

    def position(self, q: Array) -> Array:
        """g(q), (...)."""
        found: Array = self.coupling.relation([q[..., i] for i in self.of_q])[0]
        return found

    def slopes(self, q: Array) -> list[Any]:
        """∂g/∂q along each of ``of_v``; constant ones are numbers."""
        first = self.coupling.relation.derivatives[0]
        at = [q[..., i] for i in self.of_q]
        return [first[i,](at)[0] for i in range(len(at))]

    def reached(self, q: np.ndarray) -> np.ndarray:
        """Whether the joint is at a limit, or beyond it, (...)."""
        x = np.asarray(self.position(q))
        at: np.ndarray = (x <= self.low + TO) | (x >= self.high - TO)
        return at

    def kept(self, q: np.ndarray) -> np.ndarray:
        """Whether the joint is within its limits, (...); not where the relation has no value."""
        x = np.asarray(self.position(q))
        inside: np.ndarray = (x >= self.low - TO) & (x <= self.high + TO)
        return inside


def following_limits(model: Model, *, bent: bool) -> list[FollowingLimit]:
    """Those of all joints that follow others and have a limit; if ``bent``, of those without a ratio to one joint."""
    out = []
    for k, c in model.dependents.items():
        joint = model.joints[k]
        if joint.kind.nv != 1 or (bent and c.ratio):
            continue
        low, high = (float(x[0]) for x in joint.limits.arrays(1)[:2])
        followed = [model.joint_index[n] for n in c.independents]
        if np.isfinite(low) or np.isfinite(high):
            of_q, of_v = (tuple(s[j].start for j in followed) for s in (model.q_slices, model.v_slices))
            out.append(FollowingLimit(c, of_q, of_v, low, high))
    return out


def blocked(limits: list[FollowingLimit], q: Array, dq: Array, free: Array) -> tuple[list[Array], Array]:
    """(directions (nv,), orthonormal or zero; the move (nv,) along them that leads to the limits).

    They are g′ of what a step dq would take beyond a limit, g(q) + g′dq; entries of v that are not ``free`` are out.
    """
    out: list[Array] = []
    fixed = 0.0 * dq
    for limit in limits:
        entries: list[Any] = [0.0 * dq[..., 0]] * dq.shape[-1]
        for j, slope in zip(limit.of_v, limit.slopes(q)):
            entries[j] = slope + entries[j]
        slope = arrays.stack(entries) * free
        x = limit.position(q)
        ahead, lacks, crosses = x + slope[None, :] @ dq, 0.0 * x, 0.0 * x
        for sign, end in limit.ends:
            beyond = arrays.less(-sign * ahead, -sign * end)
            crosses, lacks = arrays.where(beyond, 1.0, crosses), arrays.where(beyond, end - x, lacks)
        along = without(slope, out)
        squared = arrays.square_length(along)
        fixed = fixed + along * ((lacks - crosses * (slope[None, :] @ fixed)) / (squared + 1e-12))
        out.append(along * (crosses / arrays.sqrt(squared + 1e-300)))
    return out, fixed


def without(x: Array, directions: list[Array]) -> Array:
    """x (..., nv) less what it has along these directions."""
    for u in directions:
        x = x - (x @ u[:, None]) * u
    return x


def brought_back(limits: list[FollowingLimit], q: Array, corrections: int = _CORRECTIONS) -> Array:
    """q (..., nq) with every joint that is beyond such a limit taken back to it, by Newton's method along g′."""
    for _ in range(corrections if limits else 0):
        for limit in limits:
            x, slopes = limit.position(q), limit.slopes(q)
            over = 0.0 * x
            for sign, end in limit.ends:
                over = arrays.where(arrays.less(-sign * x, -sign * end), x - end, over)
            share = over / (sum(s * s for s in slopes) + 1e-12)
            moved = {i: q[..., i] - s * share for i, s in zip(limit.of_q, slopes)}
            q = arrays.stack([moved.get(i, q[..., i]) for i in range(q.shape[-1])], axis=-1)
    return q


def or_as_before(limits: list[FollowingLimit], q: Array, before: Array) -> Array:
    """q, but for the joints whose follower is beyond its limits all the same: these stay where they were before."""
    for limit in limits:
        x = limit.position(q)
        inside: Any = 1.0
        for sign, end in limit.ends:  # a relation without a value is not within
            inside = arrays.where(arrays.less(sign * x, TO + sign * end), inside, 0.0)
        stays = {i: arrays.where(arrays.less(inside, 0.5), before[..., i], q[..., i]) for i in limit.of_q}
        q = arrays.stack([stays.get(i, q[..., i]) for i in range(q.shape[-1])], axis=-1)
    return q
