"""M̂ = ½(Ṁ − Q[MV]): how a body's inertia answers to its motion, and its sums over what is outboard of a joint.

    Ṁ = S[V]M − MṼ,    M̂ = [[A, 0], [−p̃, 0]],    A = −ω̃(½Tr(J)I − J) − h̃ũ,    p = m u + ω × h

(Linearized dynamics paper (2.6)–(2.8), Algorithm 1, with the sign corrected.) M̂V = S[V]MV, and 𝓜̇ − 2C is skew for the
Coriolis matrix C that is made with it. Half of M̂ is zero, and stays so when it is carried inward.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import arrays
from ..aggregates import Members, through_port
from ..arrays import Array
from ..spatial import RigidInertia, Transform, cross, skew
from .links import Links


@dataclass(frozen=True, eq=False)
class InertiaRate:
    """M̂ and sums of it under φ·φ*: [[A, 0], [−p̃, 0]] (LD (2.8), Algorithm 1, corrected)."""

    A: Array  # (..., 3, 3)
    p: Array  # (..., 3), the linear momentum

    @property
    def columns(self) -> Array:
        """The left half, (..., 6, 3); the right one is zero."""
        return arrays.concatenate([self.A, -skew(self.p)], axis=-2)

    @property
    def matrix(self) -> Array:
        """(..., 6, 6), not symmetric."""
        left = self.columns
        return arrays.concatenate([left, left * 0.0], axis=-1)

    def __matmul__(self, X: Array) -> Array:
        w = X[..., :3, :]
        return arrays.concatenate([self.A @ w, cross(w, self.p[..., :, None])], axis=-2)

    def adjoint_times(self, X: Array) -> Array:
        """M̂* X; its lower half is zero."""
        moment = arrays.transpose(self.A) @ X[..., :3, :] + cross(self.p[..., :, None], X[..., 3:, :])
        return arrays.concatenate([moment, moment * 0.0], axis=-2)

    def __add__(self, other: Any) -> InertiaRate:
        if isinstance(other, InertiaRate):
            return InertiaRate(self.A + other.A, self.p + other.p)
        return self if isinstance(other, int) and other == 0 else NotImplemented

    __radd__ = __add__

    def moved(self, phi: Transform) -> InertiaRate:
        """φ M̂ φ*."""
        p = (phi.R @ self.p[..., None])[..., 0]
        return InertiaRate(phi.R @ self.A @ arrays.transpose(phi.R) - skew(phi.l) @ skew(p), p)

    def with_rotors(self, momentum: Any) -> InertiaRate:
        """M̂ less ½Q[h] of the momentum h (..., 3, 1) of rotors on the body, a pure moment; 0 where there is none."""
        return self if isinstance(momentum, int) else InertiaRate(self.A - 0.5 * skew(momentum[..., 0]), self.p)


def inertia_rate(M: RigidInertia, V: Array) -> InertiaRate:
    """M̂ of a body that moves with V (..., 6, 1)."""
    w, u = V[..., :3, 0], V[..., 3:, 0]
    J, h = M.J, M.h
    trace = J[..., 0:1, 0:1] + J[..., 1:2, 1:2] + J[..., 2:3, 2:3]
    second_moment = 0.5 * trace * arrays.eye(3, like=V) - J
    m = arrays.namespace(V).asarray(M.m)[..., None]
    p = m * u + cross(w[..., None], h[..., None])[..., 0]
    return InertiaRate(-(skew(w) @ second_moment) - skew(h) @ skew(u), p)


def composite_rates(links: Links, M_hat: list[InertiaRate]) -> list[InertiaRate]:
    """R̂(k) = Σ φR̂φ* + M̂(k) (LD (3.7), corrected)."""

    def step(gathered: Any, phi: Any, own: Any) -> Any:
        total = gathered + own
        return moved(phi, total), total

    return links.tree.inward(step, 0, links.phi, M_hat)


def moved(phi: Any, total: Any) -> Any:
    """φ M̂ φ*, whatever stands for φ."""
    if isinstance(phi, Transform):
        return total.moved(phi)
    return through_port(phi, lambda inner: _moved_inside(inner, total))


def _moved_inside(phi: Any, total: Any) -> Any:
    if isinstance(total, Members):
        return phi.gathered(total.parts, lambda one, x: x.moved(one))
    return total.moved(phi)
