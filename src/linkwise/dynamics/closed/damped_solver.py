"""X⁺b of compliances X of loops, which may be redundant.

Pivots of X that vanish get (d + 2e)/(d + e)² in place of 1/d, with e some share of the robot's compliance: 1/d but for
(e/d)² where d counts, and finite where it does not. Forces in such directions move nothing. It is what X + e gives
after one correction, without the second solution that one would take.
"""

from __future__ import annotations

from collections.abc import Callable

from ... import arrays
from ...arrays import Array


def damped_solver(X: Array, e: Array) -> Callable[[Array], Array]:
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
