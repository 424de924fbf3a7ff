"""Systems of linear equations in symbols: elimination with partial pivoting, as LAPACK does it, by choices of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError
from .array import as_objects
from .elementwise import choose
from .scalar import Scalar


def solve(a: Any, b: Any) -> np.ndarray:
    """np.linalg.solve: x with a x = b, for a (..., n, n) and b (n,) or (..., n, m)."""
    a, b = (np.asarray(as_objects(x), dtype=object) for x in (a, b))
    _check_square(a)
    if b.ndim == 1:
        return _each(lambda m, c: _solved(m, c)[..., 0], a, np.broadcast_to(b[:, None], (*a.shape[:-2], len(b), 1)))
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return _each(_solved, np.broadcast_to(a, batch + a.shape[-2:]), np.broadcast_to(b, batch + b.shape[-2:]))


def inv(a: Any) -> np.ndarray:
    """np.linalg.inv, (..., n, n)."""
    a = np.asarray(as_objects(a), dtype=object)
    _check_square(a)
    return solve(a, np.eye(a.shape[-1]))


def det(a: Any) -> Any:
    """np.linalg.det of (..., n, n)."""
    a = np.asarray(as_objects(a), dtype=object)
    _check_square(a)
    found = _each(_determinant, a)
    return found[()] if found.ndim == 0 else found


def _check_square(a: np.ndarray) -> None:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise InputError(f"a matrix to be inverted must be square, got {a.shape}")


def _each(function: Any, *matrices: np.ndarray) -> np.ndarray:
    """A function of matrices on stacks of them."""
    batch = matrices[0].shape[:-2]
    found = [np.asarray(function(*(m[i] for m in matrices)), dtype=object) for i in np.ndindex(batch)]
    shape = found[0].shape if found else matrices[-1].shape[-2:]
    out = np.empty((*batch, *shape), dtype=object)
    for i, x in zip(np.ndindex(batch), found):
        out[i] = x
    return out


def _determinant(a: np.ndarray) -> Any:
    upper, sign = _eliminated(a, np.zeros((len(a), 0)))
    total = sign
    for k in range(len(a)):
        total = total * upper[k][k]
    return total


def _solved(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    n = len(a)
    rows, _ = _eliminated(a, b)
    x: list[Any] = [None] * n
    for k in reversed(range(n)):
        right = rows[k][n:]
        for j in range(k + 1, n):
            right = right - rows[k][j] * x[j]
        x[k] = right * _reciprocal(rows[k][k])
    return np.stack(x) if n else b


def _eliminated(a: np.ndarray, b: np.ndarray) -> tuple[list[np.ndarray], Any]:
    """The rows of [a | b] with zeros below the diagonal, and the sign of the exchanges that this took."""
    n = len(a)
    rows = [np.concatenate([p, q]) for p, q in zip(a, np.asarray(b, dtype=object))]
    sign: Any = 1.0
    for k in range(n):
        for i in range(k + 1, n):  # the largest entry of the column comes to the top
            swap = abs(rows[k][k]) < abs(rows[i][k])
            top, below = rows[k], rows[i]
            exchange = np.frompyfunc(lambda x, y: choose(swap, x, y), 2, 1)  # noqa: B023
            rows[k], rows[i] = exchange(below, top), exchange(top, below)
            sign = choose(swap, -sign, sign)
        pivot = _reciprocal(rows[k][k])
        for i in range(k + 1, n):
            factor = rows[i][k] * pivot
            rows[i] = np.concatenate([rows[i][: k + 1], rows[i][k + 1 :] - factor * rows[k][k + 1 :]])
    return rows, sign


def _reciprocal(x: Any) -> Any:
    """1/x; infinite, as NumPy's would be, where a matrix of numbers is singular."""
    return 1.0 / x if isinstance(x, Scalar) or x else float("inf")
