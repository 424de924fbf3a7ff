"""Linearised dynamics where joints are coupled: the tree's algorithms along the lifted direction, and what bends there.

Joint space moves the tree by θ̇ = Xβ, so that a change (δq, δβ, δβ̇) moves it by

    δθ = Xδq,    δθ̇ = Xδβ + Ẋδq,    δθ̈ = Xδβ̇ + 2Ẋδβ + Ẍδq,        δT = X*δT_tree + 𝒦δq

with Ẋ, Ẍ the rates of X along the motion and 𝒦 = Σ T_k ∂²g_k the geometric stiffness of the couplings (math notes 1.4
of closed chains). All three vanish where couplings are linear. Without couplings X is the identity.
"""

from __future__ import annotations

from typing import Any

from ...arrays import Array
from ..coupled_links import Lift, Slopes, adjoint_times, times
from .inverse import adjoint_1, algorithm_1, algorithm_2
from .over_nodes import over_nodes
from .variations import Motion, Moving


def _bends(m: Moving) -> tuple[Slopes, Slopes]:
    """Ẋ and Ẍ along the motion; nothing where X is constant."""
    lift = m.links.lift
    if not isinstance(lift, Lift):
        return {}, {}
    return lift.slope_rates(m.rates.beta), lift.slope_accelerations(m.rates.beta, m.beta_dot)


def _plus(x: list[Array], y: list[Any]) -> list[Array]:
    return [a + b for a, b in zip(x, y)]


def inverse_change(m: Motion, dq: Array, dv: Array, da: Array | None) -> Array:
    """δT, (..., nv, w), along the columns of joint-space matrices (..., nv, w) (LD Algorithm 1)."""
    split, width = m.links.split_rows, dq.shape[-1]
    return _change(m, split(dq), split(dv), None if da is None else split(da), width)


def _change(m: Motion, dq: list[Array], dv: list[Array], da: list[Array] | None, width: int) -> Array:
    first, second = _bends(m)
    if not first:
        return m.links.join_rows(algorithm_1(m, dq, dv, da), width)
    moved = _plus(dv, times(first, dq))
    swept = [x + y for x, y in zip(times(first, [2.0 * x for x in dv]), times(second, dq))]
    dT = algorithm_1(m, dq, moved, _plus([0.0 * x for x in dq] if da is None else da, swept))
    return m.links.join_rows(_plus(dT, m.links.lift.stiffness_times(m.T, dq)), width)


def inverse_gradient(m: Motion, weights: Array) -> tuple[Array, Array, Array]:
    """The gradients (..., nv, w) of weights* T in q, v and a, for the columns of weights (..., nv, w)."""
    links, width = m.links, weights.shape[-1]
    w = links.split_rows(weights)
    gq, gv, ga = adjoint_1(m, w)
    first, second = _bends(m)
    if first:
        gq = _plus(_plus(gq, adjoint_times(first, gv)), adjoint_times(second, ga))
        gq = _plus(gq, links.lift.stiffness_times(m.T, w))
        gv = _plus(gv, adjoint_times(first, [2.0 * x for x in ga]))
    return links.join_rows(gq, width), links.join_rows(gv, width), links.join_rows(ga, width)


def inverse_matrices(m: Motion) -> tuple[Array, Array, Array]:
    """(𝓜, A_D, B_D), each (..., nv, nv) (LD Algorithm 2), over the nodes that coupled bodies make."""
    if m.links.lift is None:
        return algorithm_2(m)
    over = over_nodes(m)
    return algorithm_2(over.motion, over.variations, script_F=over.script_F)


def bent_columns(m: Moving, J: list[Array], dv: list[Array], dq: list[Array]) -> tuple[list[Array], list[Array]]:
    """The derivatives (dv, dq) of a frame's acceleration by all joints, with what Ẋ and Ẍ add: 2JẊ and A_vẊ + JẌ."""
    first, second = _bends(m)
    dv, dq, slopes = list(dv), list(dq), list(dv)
    for k, row in first.items():
        for l, x in row.items():
            dv[l] = dv[l] + J[k] * (2.0 * x)
            dq[l] = dq[l] + slopes[k] * x
    for k, row in second.items():
        for l, x in row.items():
            dq[l] = dq[l] + J[k] * x
    return dv, dq
