"""How a closed robot answers to forces and to what its loops ask, as matrices: P, Z and X⁺.

    P = 𝓜⁻¹ − YZ,    Z = X⁺Y*,    Y = 𝓜⁻¹G*,    X = GY

so that y = PT + Z*b and λ = −ZT + X⁺b solve 𝓜y − G*λ = T and Gy = b (math notes on closed chains 2.2, 2.6).
:mod:`.elimination` solves the same equations in O(n) for a few columns; where matrices are asked for, products with P
and Z take fewer operations.

Loops may be redundant. Pivots of X that vanish get (d + 2e)/(d + e)² in place of 1/d, with e some share of the robot's
compliance: 1/d but for (e/d)² where d counts, and finite where it does not. Forces in such directions move nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ... import arrays
from ...arrays import Array
from ...model.loops import Loop
from ...model.model import Model
from ...tolerances import ACCELERATION_DAMPING
from ..linearized.forward import joint_space_factors
from ..links import Links
from .scales import damping


@dataclass(frozen=True, eq=False)
class CutMatrices:
    """P (..., n, n), Z (..., m, n) and b ↦ X⁺b."""

    P: Array
    Z: Array
    solve: Callable[[Array], Array]


def cut_by_factors(model: Model, loops: Sequence[Loop], links: Links, mass: Array, G: Array) -> CutMatrices:
    """From 𝓜 (..., n, n) of single bodies: with 𝓜⁻¹ = W*D⁻¹W, X = (WG*)*D⁻¹(WG*)."""
    W, D_inverse = joint_space_factors(links, mass)
    half = W @ arrays.transpose(G)
    weighted = D_inverse[..., :, None] * half
    X = arrays.symmetric(arrays.transpose(half) @ weighted)
    inverse = arrays.symmetric(arrays.transpose(W) @ (D_inverse[..., :, None] * W))
    return _cut(model, loops, inverse, arrays.transpose(W) @ weighted, X)


def cut_by_inverse(model: Model, loops: Sequence[Loop], inverse: Array, G: Array) -> CutMatrices:
    """From 𝓜⁻¹ (..., n, n)."""
    Y = inverse @ arrays.transpose(G)
    return _cut(model, loops, inverse, Y, arrays.symmetric(G @ Y))


def _cut(model: Model, loops: Sequence[Loop], inverse: Array, Y: Array, X: Array) -> CutMatrices:
    if not loops:
        return CutMatrices(inverse, arrays.transpose(Y), lambda b: b)
    share = damping(model, loops, X, ACCELERATION_DAMPING)
    solve = _damped_solver(X, arrays.concatenate(share, axis=-1))
    Z = solve(arrays.transpose(Y))
    return CutMatrices(inverse - arrays.symmetric(Y @ Z), Z, solve)


def _damped_solver(X: Array, e: Array) -> Callable[[Array], Array]:
    """b (..., m, c) ↦ X⁺b by X = LDL*, with e (m,) what pivots are damped by."""
    n = X.shape[-1]
    columns: list[Array] = []  # of L, below the diagonal
    shares: list[Array] = []  # 1/d, damped
    left = X
    for i in range(n):
        d, w = left[..., :1, :1], left[..., 1:, :1]
        damped = d + e[..., i]
        shares.append((damped + e[..., i]) / (damped * damped))
        columns.append(w * shares[i])
        left = left[..., 1:, 1:] - arrays.symmetric(columns[i] @ w.mT)

    def solve(b: Array) -> Array:
        down, rest = [], b
        for l in columns:
            first, rest = rest[..., :1, :], rest[..., 1:, :]
            down.append(first)
            rest = rest - l @ first
        up = b[..., :0, :]
        for l, share, y in zip(reversed(columns), reversed(shares), reversed(down)):
            up = arrays.concatenate([share * y - arrays.transpose(l) @ up, up], axis=-2)
        return up

    return solve
