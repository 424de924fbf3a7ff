"""What small changes of a motion do to a loop: to the rates at which it comes apart, and to the forces it transmits.

Everything is seen from frame a of the loop, in its axes at its origin (math notes on closed chains 2.6).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ... import arrays
from ...arrays import Array
from ...model.loops import AT_FRAME_B, TRANSMITTED
from ...spatial import Transform, cross_force, cross_motion, cross_motion_matrix
from ..linearized.coupled import bent_columns
from ..linearized.variations import JointVariation, Motion
from ..links import Links, at_rest
from .closures import Closure, inward_reaches
from .elimination import common_ancestor
from .loop_errors import TURNING_MOMENTS, error_change


@dataclass(frozen=True, eq=False)
class Point:
    """How a point fixed on a body moves, in axes fixed on it, and what δq and δβ change of that."""

    V: Array  # (..., 6, 1)
    A: Array
    J: Array  # (..., 6, nv): its displacement per δq, its ϑ = δ°V per δβ
    D: Array  # the same, and what follows, of the joints outboard of a body
    theta_q: Array
    lambda_v: Array  # of λ = δ°A + V × ϑ
    lambda_q: Array


def point(
    m: Motion,
    variations: Sequence[JointVariation],
    body: int,
    reach: Any,
    base: Array,
    like: Array,
    outboard_of: int = -1,
    inward: Iterable[tuple[int, Any]] | None = None,
) -> Point:
    """The point that ``reach`` = φ(body, point) leads to; ``base`` is the acceleration of the world (−1).

    ``inward`` is φ(k, point) of every body k from there to the root, where it is known.
    """
    links = m.links
    none = arrays.zeros((6, links.nv), like=like)
    if body < 0:
        return Point(at_rest(links.q), reach.T @ base, none, none, none, none, none)
    zero = [arrays.zeros((6, r), like=like) for r in links.sizes]
    J, D, theta_q, lambda_v, lambda_q = (list(zero) for _ in range(5))
    moving = True
    for k, X in _composed(links, body, reach) if inward is None else inward:
        moving = moving and k != outboard_of
        J[k] = X.T @ links.H[k].mT
        if moving:
            x = variations[k]
            D[k], theta_q[k], lambda_q[k] = J[k], X.T @ x.vartheta_q, X.T @ x.lambda_q
            own = links.sizes[k] == 1 and x.partials is None  # Ḣ* = Ψ̇
            lambda_v[k] = 2.0 * theta_q[k] if own else X.T @ x.lambda_v
    if links.lift is not None:
        for k, row in links.slope_rates(m.rates.beta).items():  # ϑ of couplings that are not linear: JẊδq
            for l, slope in row.items():
                theta_q[l] = theta_q[l] + D[k] * slope
        lambda_v, lambda_q = bent_columns(m, D, lambda_v, lambda_q)
    columns = (links.join_columns(x, 6) for x in (J, D, theta_q, lambda_v, lambda_q))
    return Point(reach.T @ m.rates.V[body], reach.T @ m.alpha[body], *columns)


def _composed(links: Links, body: int, reach: Transform) -> Iterator[tuple[int, Transform]]:
    """φ(k, point) of every body k from the one that carries the point to the root."""
    X = reach
    for k in links.tree.path(body)[::-1]:
        yield k, X
        X = links.phi[k].compose(X)


def loop_jacobian(links: Links, loop: Closure) -> Array:
    """G = W*D of a loop, (..., m, nv), row by row the motions of all joints that it stops."""
    meet = common_ancestor(links, *loop.bodies)
    columns = [arrays.zeros((6, r), like=links.q) for r in links.sizes]
    for side in (0, 1):
        for k, X in inward_reaches(links, loop, side):
            if k == meet:
                break
            J = X.T @ links.H[k].mT
            columns[k] = J if side else -J
    return loop.W.mT @ links.join_columns(columns, 6)


@dataclass(frozen=True, eq=False)
class LoopVariation:
    """What δq and δβ change of one loop."""

    closure: Closure
    a: Point
    b: Point

    @property
    def D(self) -> Array:
        """The displacement of b against a per δq, (..., 6, nv): joints inboard of both move them together."""
        return self.b.D - self.a.D

    def velocity_by_q(self) -> Array:
        """∂(Gβ)/∂q, (..., m, nv)."""
        a, b, D = self.a, self.b, self.D
        change = b.theta_q + cross_motion(D, b.V) - a.theta_q
        return self.closure.W.mT @ change + self.closure.moved_rows(D, b.V - a.V)

    def acceleration_by_v(self) -> Array:
        """c_v, (..., m, nv)."""
        a, b = self.a, self.b
        dA = b.lambda_v - a.lambda_v - cross_motion(a.V + b.V, self.D)
        return self.closure.W.mT @ dA + self.closure.turning_change(b.V - a.V, self.D, None)

    def acceleration_by_q(self) -> Array:
        """c_q, (..., m, nv)."""
        a, b, D = self.a, self.b, self.D
        turned = b.theta_q - a.theta_q
        # V_a × (V_b × D) − A_b × D
        swept = cross_motion_matrix(a.V) @ cross_motion_matrix(b.V) - cross_motion_matrix(b.A)
        dA = b.lambda_q - a.lambda_q - cross_motion(a.V + b.V, turned) + swept @ D
        c = self.closure.W.mT @ dA + self.closure.moved_rows(D, b.A - a.A - cross_motion(a.V, b.V))
        return c + self.closure.turning_change(b.V - a.V, turned + cross_motion(D, b.V), D)

    def forces_by_q(self, lam: Array) -> Array:
        """−∂(G*λ)/∂q beyond what forces fixed in body axes do, (..., nv, nv), for λ (..., m, 1).

        Of rigid loops but for G*x with any x, which P takes to zero: forces Wx that turn with a count as well on a as
        on b.
        """
        a, b, F = self.a, self.b, self.closure.W @ lam
        by_b, by_a = cross_force(b.D, F), cross_force(a.D, F)
        out = -(self.D.mT @ self.closure.moved_forces(self.D, lam))
        loop = self.closure.loop
        kind = loop.kind
        if loop.soft or kind in AT_FRAME_B or kind in TURNING_MOMENTS:
            return out + b.J.mT @ (by_b - by_a)
        held = TRANSMITTED[kind]
        if self.closure.bodies[0] < 0:
            by_b = _without(held, by_b)
        moved = _without([i for i in range(6) if i not in held], by_a)
        return out + b.J.mT @ (by_b - _without(held, by_a)) - a.J.mT @ moved

    def softness(self) -> tuple[Array, Array]:
        """−∂(G*λ)/∂β and −∂(G*λ)/∂q, each (..., nv, nv), of a soft loop's λ = −(kg + dGβ); the latter beyond what
        forces fixed in body axes do."""
        x, D = self.closure, self.D
        loop = x.loop
        G = x.W.mT @ D
        lam, yielding = 0.0 * x.error[..., :, None], 0.0 * G
        if loop.stiffness:
            lam = lam - loop.stiffness * x.error[..., :, None]
            yielding = yielding + loop.stiffness * error_change(loop, x.E, x.d, D)
        if loop.damping:
            lam = lam - loop.damping * (x.W.mT @ (self.b.V - self.a.V))
            yielding = yielding + loop.damping * self.velocity_by_q()
        return G.mT @ ((loop.damping or 0.0) * G), G.mT @ yielding + self.forces_by_q(lam)


def _without(rows: Sequence[int], X: Array) -> Array:
    """X (..., 6, n) with zeros in these rows."""
    kept = [X[..., i : i + 1, :] for i in range(6)]
    return arrays.concatenate([0.0 * x if i in rows else x for i, x in enumerate(kept)], axis=-2)


def loop_variations(
    m: Motion, variations: Sequence[JointVariation], loops: Sequence[Closure], base: Array, like: Array
) -> list[LoopVariation]:
    """Those of every loop at a motion of a world that accelerates by ``base``."""
    out = []
    for x in loops:
        meet = common_ancestor(m.links, *x.bodies)
        ways = [inward_reaches(m.links, x, side) for side in (0, 1)]
        a, b = (point(m, variations, k, r, base, like, meet, way) for k, r, way in zip(x.bodies, x.reach, ways))
        out.append(LoopVariation(x, a, b))
    return out
