"""Changes of a closed robot's accelerations along one direction, and gradients: by elimination, no matrix formed.

    δβ̇ = P(δT − A_Dδβ − B̂δq) − Z*(c_vδβ + c_qδq)          (:mod:`.linearized`)

solves 𝓜δβ̇ − G*δλ = δT − A_Dδβ − B̂δq and Gδβ̇ = −(c_vδβ + c_qδq), which :mod:`.elimination` does in O(n), and
A_Dδβ + B_Dδq is Algorithm 1's of the Linearized dynamics paper. Of w·β̇ the gradients follow from one solution for
forces w, whose motion is u = Pw and whose λ is −Zw: u, −A_D*u + c_v*λ and −B̂*u + c_q*λ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ... import arrays
from ...arrays import Array
from ...model.loops import Loop
from ...model.model import Model
from ..inverse import split_forces
from ..linearized import coupled
from ..linearized.inverse import like
from ..linearized.variations import Motion, joint_variations, velocity_terms
from ..links import base_acceleration, evaluate
from ..referred_links import own_frames
from .closures import closures
from .elimination import Elimination
from .equations import forward_dynamics
from .linearized import State
from .loop_variations import LoopVariation, loop_variations
from .soft import with_springs


@dataclass(frozen=True, eq=False)
class _Moved:
    """A closed robot's motion, its equations solved, and what changes of it do to its loops."""

    motion: Motion
    solved: Elimination
    rigid: list[LoopVariation]
    soft: list[LoopVariation]
    lam: list[Array]  # (..., size, 1) of every rigid loop

    def rates(self, x: Array) -> Array:
        """c_v x."""
        return _stacked([c.acceleration_by_v() @ x for c in self.rigid], x)

    def places(self, x: Array) -> Array:
        """c_q x."""
        return _stacked([c.acceleration_by_q() @ x for c in self.rigid], x)


def _stacked(rows: list[Array], like: Array) -> Array:
    return arrays.concatenate(rows, axis=-2) if rows else arrays.zeros((0, like.shape[-1]), like=like)


def _moved(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    external: Array | None,
    loops: Sequence[Loop],
    soft: Sequence[Loop],
) -> _Moved:
    f = with_springs(model, q, v, external, soft)
    a, lam, solved = forward_dynamics(model, q, v, tau, f, loops)
    rates = velocity_terms(model, own_frames(evaluate(model, q)), v)
    yielding = closures(model, rates.links, soft)
    m, parts = State(model, rates, tau, split_forces(f), solved.loops, yielding).moving(a, lam[..., None])
    base = base_acceleration(model, q)
    changes = loop_variations(m, joint_variations(m), [*solved.loops, *yielding], base, like(m))
    return _Moved(m, solved, changes[: len(parts)], changes[len(parts) :], parts)


def forward_change(
    model: Model,
    state: tuple[Array, Array, Array],
    along: tuple[Array, Array, Array],
    external: Array | None,
    loops: Sequence[Loop],
    soft: Sequence[Loop],
) -> Array:
    """δβ̇ (..., nv) of a state (q, v, τ) along (δq, δv, δτ)."""
    x = _moved(model, *state, external, loops, soft)
    dq, dv, dtau = (d[..., None] for d in along)
    rho = coupled.inverse_change(x.motion, dq, dv, None)
    for change, lam in zip(x.rigid, x.lam):
        rho = rho + change.forces_by_q(lam) @ dq
    for change in x.soft:
        A, B = change.softness()
        rho = rho + A @ dv + B @ dq
    return x.solved.solve(dtau - rho, -(x.rates(dv) + x.places(dq)))[0][..., 0]


def forward_gradient(
    model: Model,
    state: tuple[Array, Array, Array],
    weights: Array,
    external: Array | None,
    loops: Sequence[Loop],
    soft: Sequence[Loop],
) -> tuple[Array, Array, Array]:
    """The gradients (..., nv) of w·β̇ in q, v and τ."""
    x = _moved(model, *state, external, loops, soft)
    u, lam = x.solved.solve(weights[..., None], None)
    by_q, by_v, _ = coupled.inverse_gradient(x.motion, u)
    for change, own in zip(x.rigid, x.lam):
        by_q = by_q + change.forces_by_q(own).mT @ u
    for change in x.soft:
        A, B = change.softness()
        by_v, by_q = by_v + A.mT @ u, by_q + B.mT @ u
    dq, dv, start = -by_q, -by_v, 0
    for change in x.rigid:
        size = change.closure.loop.size
        own = lam[..., start : start + size, :]
        start += size
        dv = dv + change.acceleration_by_v().mT @ own
        dq = dq + change.acceleration_by_q().mT @ own
    return dq[..., 0], dv[..., 0], u[..., 0]
