"""A = QR by Householder's reflections, over any kind of array: no rows or columns are exchanged, and none need be.

Of a matrix G of full row rank, A = G* gives an orthonormal basis of the motions that G stops not, the last columns of
Q, and the shortest y with Gy = b. Of a matrix A of full column rank the same factors solve Ay = b by least squares.
Neither has a choice that hangs on numbers (the sign of a reflection is one of two values), so that the same steps run
on numbers, symbols and JAX arrays. Unlike (AA*)⁻¹, they lose no digits twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import arrays, tolerances
from ...arrays import Array
from ...errors import SingularError
from ...tolerances import OPERATIONAL_ROUNDINGS

Reflection = tuple[Array, Array]  # u and 2/u*u of I − (2/u*u) uu*


@dataclass(frozen=True, eq=False)
class Reflected:
    """Q and R of a matrix A (..., n, m) with n ≥ m: A = Q[R; 0]."""

    height: int
    turns: list[Reflection | None]  # of rows j and below, one for each column j; None is the identity
    R: list[list[Array]]  # R[j][i] (..., 1, 1), rows i ≤ j of column j
    like: Array

    @property
    def width(self) -> int:
        return len(self.R)

    def times(self, Y: Array) -> Array:
        """QY, (..., n, c)."""
        for j in reversed(range(self.width)):
            Y = _turned(self.turns[j], Y, j)
        return Y

    def adjoint_times(self, Y: Array) -> Array:
        """Q*Y, (..., n, c)."""
        for j in range(self.width):
            Y = _turned(self.turns[j], Y, j)
        return Y

    @property
    def complement(self) -> Array:
        """(..., n, n − m), orthonormal, with A*X = 0."""
        n, m = self.height, self.width
        return self.times(arrays.eye(n, like=self.like)[:, m:])

    def shortest(self, b: Array) -> Array:
        """The shortest y (..., n, c) with A*y = b (..., m, c)."""
        rows: list[Array] = []
        for j, column in enumerate(self.R):
            known = b[..., j : j + 1, :]
            for i in range(j):
                known = known - column[i] * rows[i]
            rows.append(known / column[j])
        below = arrays.zeros((self.height - self.width, b.shape[-1]), like=self.like)
        return self.times(arrays.concatenate([*rows, below], axis=-2))

    def nearest(self, b: Array) -> tuple[Array, Array]:
        """(y (..., m, c), what is left over (..., n − m, c)) with Ay as near to b (..., n, c) as can be."""
        turned = self.adjoint_times(b)
        rows: dict[int, Array] = {}
        for i in reversed(range(self.width)):
            known = turned[..., i : i + 1, :]
            for j in range(i + 1, self.width):
                known = known - self.R[j][i] * rows[j]
            rows[i] = known / self.R[i][i]
        if not rows:
            return arrays.zeros((0, b.shape[-1]), like=self.like), turned
        return arrays.concatenate([rows[i] for i in range(self.width)], axis=-2), turned[..., self.width :, :]


def reflected(A: Array, like: Array, names: Sequence[str], advice: str) -> Reflected:
    """The factors of A (..., n, m), n ≥ m, m the number of ``names``.

    An error names the first column that the others before it leave nothing of, and ends with ``advice``; programs have
    guards there.
    """
    n, m = A.shape[-2:]
    turns: list[Reflection | None] = []
    R: list[list[Array]] = []
    for j in range(m):
        whole = A[..., :, j : j + 1]
        column = whole
        for i, turn in enumerate(turns):
            column = _turned(turn, column, i)
        x = column[..., j:, :]
        turn, pivot = _reflection(x)
        pivot = _regular(pivot, turn, whole, names[j], advice)
        turns.append(turn)
        R.append([*(column[..., i : i + 1, :] for i in range(j)), pivot])
    return Reflected(n, turns, R, like)


def _reflection(x: Array) -> tuple[Reflection | None, Array]:
    """The reflection that takes x (..., n, 1) to a multiple of the first axis, and the multiple (..., 1, 1)."""
    first, rest = x[..., :1, :], x[..., 1:, :]
    if rest.shape[-2] == 0 or _is_nothing(rest):
        return None, first
    length = arrays.sqrt(x.mT @ x)
    away = arrays.where(arrays.less(_real(first), 0.0), -length, length)  # of the sign of x₁: nothing cancels
    u = arrays.concatenate([first + away, rest], axis=-2)
    with np.errstate(divide="ignore"):  # a column of zeros is refused
        return (u, 1.0 / (length * length + away * first)), -away


def _turned(turn: Reflection | None, Y: Array, j: int) -> Array:
    """Y (..., n, c) with its rows from j on reflected."""
    if turn is None:
        return Y
    u, share = turn
    below = Y[..., j:, :]
    moved = below - u @ (share * (u.mT @ below))
    return moved if j == 0 else arrays.concatenate([Y[..., :j, :], moved], axis=-2)


def _regular(pivot: Array, turn: Reflection | None, whole: Array, name: str, advice: str) -> Array:
    """The pivot, or an error where it is a rounding of the column that it is left of (NaN passes through as NaN)."""
    squares = whole.mT @ whole
    if arrays.is_symbolic(pivot):
        own, size = (arrays.sqrt(x) for x in (pivot * pivot, squares))
        on = [pivot, -pivot, pivot if turn is None else turn[1]]  # programs have one of x and −x
        arrays.require_above(own[..., 0, 0], size[..., 0, 0], OPERATIONAL_ROUNDINGS, [x[..., 0, 0] for x in on])
        return pivot
    xp = arrays.namespace(pivot)
    own, size = xp.abs(_real(pivot)), arrays.sqrt(xp.abs(_real(squares)))
    lost = own <= tolerances.roundings(OPERATIONAL_ROUNDINGS, own.dtype) * size
    if arrays.is_eager(pivot):
        if np.any(lost):
            raise SingularError(f"{name}: {advice}")
        return pivot
    return xp.where(lost, np.nan, pivot)


def _real(x: Array) -> Any:
    return x.real if not arrays.is_symbolic(x) and np.iscomplexobj(x) else x


def _is_nothing(x: Array) -> bool:
    """Whether all entries are known to be zero: numbers among symbols."""
    return arrays.is_symbolic(x) and all(isinstance(e, (int, float)) and e == 0 for e in np.asarray(x).flat)
