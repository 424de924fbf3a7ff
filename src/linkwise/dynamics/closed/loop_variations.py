"""What small changes of a motion do to a loop: to the rates at which it comes apart, and to the forces it transmits.

Everything is seen from frame a of the loop, in its axes at its origin (math notes on closed chains 2.6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ... import arrays
from ...arrays import Array
from ...model.loops import AT_FRAME_B, TRANSMITTED
from ...spatial import Transform, cross_force, cross_motion
from ..linearized.coupled import bent_columns
from ..linearized.variations import JointVariation, Motion
from ..links import at_rest
from .closures import TURNING_MOMENTS, Closure


@dataclass(frozen=True, eq=False)
class Point:
    """How a point fixed on a body moves, in axes fixed on it, and what δq and δβ change of that."""

    V: Array  # (..., 6, 1)
    A: Array
    J: Array  # (..., 6, nv): its displacement per δq, its ϑ = δ°V per δβ
    theta_q: Array
    lambda_v: Array  # of λ = δ°A + V × ϑ
    lambda_q: Array


def point(
    m: Motion, variations: Sequence[JointVariation], body: int, reach: Transform, base: Array, like: Array
) -> Point:
    """The point that ``reach`` = φ(body, point) leads to; ``base`` is the acceleration of the world (−1)."""
    links = m.links
    none = arrays.zeros((6, links.nv), like=like)
    if body < 0:
        return Point(at_rest(links.q), reach.T @ base, none, none, none, none)
    zero = [arrays.zeros((6, r), like=like) for r in links.sizes]
    J, theta_q, lambda_v, lambda_q = list(zero), list(zero), list(zero), list(zero)
    X = reach
    for k in links.tree.path(body)[::-1]:
        x = variations[k]
        J[k], theta_q[k] = X.T @ links.H[k].mT, X.T @ x.vartheta_q
        lambda_v[k], lambda_q[k] = X.T @ x.lambda_v, X.T @ x.lambda_q
        X = links.phi[k].compose(X)
    if links.lift is not None:
        for k, row in links.slope_rates(m.rates.beta).items():  # ϑ of couplings that are not linear: JẊδq
            for l, slope in row.items():
                theta_q[l] = theta_q[l] + J[k] * slope
        lambda_v, lambda_q = bent_columns(m, J, lambda_v, lambda_q)
    columns = (links.join_columns(x, 6) for x in (J, theta_q, lambda_v, lambda_q))
    return Point(reach.T @ m.rates.V[body], reach.T @ m.alpha[body], *columns)


@dataclass(frozen=True, eq=False)
class LoopVariation:
    """What δq and δβ change of one loop."""

    closure: Closure
    a: Point
    b: Point

    @property
    def D(self) -> Array:
        """The displacement of b against a per δq, (..., 6, nv)."""
        return self.b.J - self.a.J

    def velocity_by_q(self) -> Array:
        """∂(Gβ)/∂q, (..., m, nv)."""
        a, b, D = self.a, self.b, self.D
        change = b.theta_q + cross_motion(D, b.V) - a.theta_q
        return self.closure.W.mT @ change + self.closure.moved_rows(D, b.V - a.V)

    def acceleration_by_v(self) -> Array:
        """c_v, (..., m, nv)."""
        a, b = self.a, self.b
        dA = (b.lambda_v - cross_motion(b.V, b.J)) - (a.lambda_v - cross_motion(a.V, a.J))
        dA = dA - cross_motion(a.J, b.V) - cross_motion(a.V, b.J)
        return self.closure.W.mT @ dA + self.closure.turning_change(b.V - a.V, b.J - a.J, None)

    def acceleration_by_q(self) -> Array:
        """c_q, (..., m, nv)."""
        a, b, D = self.a, self.b, self.D
        dV_b = b.theta_q + cross_motion(D, b.V)
        dA_b = b.lambda_q - cross_motion(b.V, b.theta_q) + cross_motion(D, b.A)
        dA_a = a.lambda_q - cross_motion(a.V, a.theta_q)
        dA = dA_b - dA_a - cross_motion(a.theta_q, b.V) - cross_motion(a.V, dV_b)
        c = self.closure.W.mT @ dA + self.closure.moved_rows(D, b.A - a.A - cross_motion(a.V, b.V))
        return c + self.closure.turning_change(b.V - a.V, dV_b - a.theta_q, D)

    def forces_by_q(self, lam: Array) -> Array:
        """−∂(G*λ)/∂q beyond what forces fixed in body axes do, (..., nv, nv), for λ (..., m, 1).

        But for G*x with any x, which P takes to zero: where a is on the world, forces Wx on b are such.
        """
        D, kind = self.D, self.closure.loop.kind
        turned = cross_force(D, self.closure.W @ lam)
        if self.closure.bodies[0] < 0 and kind not in AT_FRAME_B and kind not in TURNING_MOMENTS:
            rows = [0.0 * turned[..., i : i + 1, :] if i in TRANSMITTED[kind] else turned[..., i : i + 1, :] for i in range(6)]
            turned = arrays.concatenate(rows, axis=-2)
        return self.b.J.mT @ turned - D.mT @ self.closure.moved_forces(D, lam)


def loop_variations(
    m: Motion, variations: Sequence[JointVariation], loops: Sequence[Closure], base: Array, like: Array
) -> list[LoopVariation]:
    """Those of every loop at a motion of a world that accelerates by ``base``."""
    return [LoopVariation(x, *(point(m, variations, k, r, base, like) for k, r in zip(x.bodies, x.reach))) for x in loops]
