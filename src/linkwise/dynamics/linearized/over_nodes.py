"""Linearised motion over nodes: what Algorithms 2 and 6 ask of bodies, for bodies that move as one.

Joint space moves the bodies of a node by δθ = Xδq, δθ̇ = Xδβ + Ẋδq and δθ̈ = Xδβ̇ + 2Ẋδβ + Ẍδq (:mod:`.coupled`), and
each body by its parent's motion and its own joint's columns (:mod:`.variations`), so that those of a node are

    ϑ_q = 𝔸*[Ψ̇X + H*Ẋ],   λ_v = 𝔸*[(Ḣ* + Ψ̇)X + 2H*Ẋ],   λ_q = 𝔸*[Ψ̈X + (Ḣ* + Ψ̇)Ẋ + H*Ẍ]

A force f(k) that turns with its joint, 𝓕 = S[H*X]f, acts on all that is inboard of k, members of the node included.
What joints ask by themselves (springs, dampers, rotors, maps that turn in their bodies, the stiffness 𝒦 of couplings)
adds up to K and d over β, as if it were a spring and a damper of the node. (Math notes of closed chains 1.4, 5.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ... import arrays
from ...arrays import Array
from ...spatial import cross_force
from ..coupled_links import Lift, Slopes, times
from ..referred_links import own_frames
from .variations import JointVariation, Motion, joint_variations


@dataclass(frozen=True, eq=False)
class NodeMotion:
    """A motion over nodes, the columns of each, and 𝓕."""

    motion: Motion
    variations: list[JointVariation]
    script_F: list[Array]  # (..., 6m, r)


def over_nodes(m: Motion) -> NodeMotion:
    """The motion of all bodies as one of the nodes that they make."""
    nodes, rates = m.links.nodes, m.rates
    gathering = nodes.gathering
    assert gathering is not None
    lift = m.links.lift
    first: Slopes = lift.slope_rates(rates.beta) if isinstance(lift, Lift) else {}
    second: Slopes = lift.slope_accelerations(rates.beta, m.beta_dot) if isinstance(lift, Lift) else {}
    X = gathering.joint_columns(m.links.q)
    columns = _Columns(X, times(first, X), times(second, X))
    bodies = joint_variations(m)
    moved = [columns.moved(k, H.mT, x) for k, (H, x) in enumerate(zip(m.links.H, bodies))]
    vartheta_q, lambda_v, lambda_q = (gathering.spread([x[i] for x in moved]) for i in range(3))
    variations = [JointVariation(*x) for x in zip(vartheta_q, lambda_v, lambda_q)]
    forces = [_turned(m, k, X[k]) for k in range(len(X))]
    script_F = gathering.stacked(forces)
    alone = {held[0] for held, inside in zip(gathering.members, gathering.inside) if inside is None}
    own = [columns.asked(m, k, bodies[k], None if k in alone else forces[k]) for k in range(len(X))]
    if isinstance(lift, Lift) and first:
        bent = lift.stiffness_times(m.T, X)
        own = [(K if isinstance(y, int) else K + x.mT @ y, d) for (K, d), x, y in zip(own, X, bent)]
    K = [arrays.total(own[k][0] for k in held) for held in gathering.members]
    d = [arrays.total(own[k][1] for k in held) for held in gathering.members]
    K = [x if held[0] in alone else x + H @ F for x, held, H, F in zip(K, gathering.members, nodes.H, script_F)]
    over = replace(
        rates,
        placed=own_frames(nodes),
        M_hat=gathering.diagonal(rates.M_hat),
        turning=[rates.turning[held[0]] if held[0] in alone else None for held in gathering.members],
        softness=list(zip(K, d)),
    )
    return NodeMotion(replace(m, rates=over), variations, script_F)


def _turned(m: Motion, k: int, X: Array) -> Array:
    """𝓕 = S[H*X]f of one body."""
    return cross_force(m.links.H[k].mT @ X, m.f[k])


@dataclass(frozen=True, eq=False)
class _Columns:
    """X, Ẋ and Ẍ of every body's joint; Ẋ and Ẍ are 0 where X is constant."""

    X: list[Array]
    X_dot: list[Any]
    X_ddot: list[Any]

    def moved(self, k: int, H_star: Array, x: JointVariation) -> tuple[Array, Array, Array]:
        """ϑ per δq, λ per δβ and λ per δq that a joint gives its own body."""
        X, X_dot, X_ddot = self.X[k], self.X_dot[k], self.X_ddot[k]
        vartheta, by_rate, by_place = x.vartheta_q @ X, x.lambda_v @ X, x.lambda_q @ X
        if isinstance(X_dot, int):
            return vartheta, by_rate, by_place
        swept = H_star @ X_dot
        more = x.lambda_v @ X_dot + H_star @ X_ddot
        return vartheta + swept, by_rate + 2.0 * swept, by_place + more

    def asked(self, m: Motion, k: int, x: JointVariation, script_F: Array | None) -> tuple[Array, Array]:
        """(K, d) over β of what a joint asks by itself, (..., r, r) each; less H𝓕, which is no force of its own, of a
        body that is a node with others."""
        X, X_dot, X_ddot = self.X[k], self.X_dot[k], self.X_ddot[k]
        damped: list[Any] = [arrays.zeros(X.shape[-2:], like=m.links.q)]
        stiff: list[Any] = damped[:] if script_F is None else [-(m.links.H[k] @ script_F)]
        if x.partials is not None:
            stiff.append(arrays.concatenate([d.mT @ m.f[k] for d in x.partials], axis=-1) @ X)
        Gamma, (K, d) = m.links.Gamma[k], m.rates.softness[k] or (None, None)
        if K is not None:
            stiff.append(K @ X)
        if d is not None:
            damped.append(d @ X)
        if not isinstance(X_dot, int):
            if d is not None:
                stiff.append(d @ X_dot)
            if Gamma is not None:
                stiff.append(Gamma @ X_ddot)
                damped.append(Gamma @ (2.0 * X_dot))
        return X.mT @ arrays.total(stiff), X.mT @ arrays.total(damped)
