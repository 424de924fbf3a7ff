"""When a matrix counts as singular: one criterion, relative, the same on every target.

A symmetric, positive definite X with diagonal entries of the size c_j counts as singular where

    Σ_j c_j (X⁻¹)_jj ≥ 1 / (n ε),        or where an entry (X⁻¹)_jj is not positive,

with ε the rounding of the precision it is computed in. The sum is that of the inverse eigenvalues of X scaled by c, so
that the verdict hangs on no units, and 1 / (c_j (X⁻¹)_jj) is what the other rows leave of X_jj. Of one number it says
X ≤ n ε c. By default c_j = X_jj. ``n`` says by how many roundings the entries of X may be off
(:mod:`linkwise.tolerances`). For an X of no particular symmetry the sum is Σ_ij |X_ij (X⁻¹)_ji|, on which no units
bear either: X_ij (X⁻¹)_ji = ∂ log det X / ∂ log X_ij, so that beyond the bound n roundings of the entries of X are as
much as all of its determinant.

NumPy raises where it holds, JAX gives NaN, and programs have guards: compiled methods then ask NumPy, kernels and
source text give NaN for that state.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import arrays, tolerances
from .arrays import Array
from .tolerances import OPERATIONAL_ROUNDINGS, PIVOT_ROUNDINGS


def inverse(x: Array, sizes: Any = None, roundings: int = PIVOT_ROUNDINGS) -> tuple[Array, Any]:
    """(X⁻¹, whether X counts as singular) of a symmetric X (..., r, r); ``sizes`` (..., r) are the c_j.

    On symbols the second is False, and the program guards against the states where it would be true. X that are not
    finite do not count: their inverses are not either.
    """
    r = x.shape[-1]
    if r == 0:
        return x, False
    if arrays.is_symbolic(x):
        return _guarded(x, sizes, roundings), False
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        y = _inverted(x)
        diagonal, size = _diagonal(y), _diagonal(x) if sizes is None else sizes
        total = (size * diagonal).sum(axis=-1)
        if np.iscomplexobj(total):
            diagonal, total = diagonal.real, total.real
        limit = tolerances.roundings(roundings, x.dtype)
        xp = arrays.namespace(x)
        singular = (~(total * limit < 1.0) | (diagonal <= 0.0).any(axis=-1)) & xp.isfinite(x).all(axis=(-2, -1))
    return y, singular


def general_inverse(x: Array, roundings: int = OPERATIONAL_ROUNDINGS) -> tuple[Array, Any]:
    """(X⁻¹, whether X counts as singular) of numbers X (..., r, r) of no particular symmetry."""
    if x.shape[-1] == 0:
        return x, False
    xp = arrays.namespace(x)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        y = _inverted_in_general(x)
        total = xp.abs(x * y.mT).sum(axis=(-2, -1))
        singular = ~(total * tolerances.roundings(roundings, x.dtype) < 1.0) & xp.isfinite(x).all(axis=(-2, -1))
    return y, singular


def _inverted_in_general(x: Array) -> Array:
    try:
        return arrays.inverse(x)
    except np.linalg.LinAlgError:  # exactly singular, in some state
        return x * np.nan if x.ndim == 2 else arrays.stack([_inverted_in_general(x[i]) for i in range(len(x))], axis=0)


def _diagonal(x: Array) -> Array:
    return arrays.stack([x[..., i, i] for i in range(x.shape[-1])])


def _inverted(x: Array) -> Array:
    try:
        return arrays.inverse_spd(x)
    except np.linalg.LinAlgError:  # exactly singular, in some state
        return arrays.inverse_by_ldl(x)


def _guarded(x: Array, sizes: Any, roundings: int) -> Array:
    y = arrays.inverse_spd(x)
    r = x.shape[-1]
    on = [y[..., i, j] for i in range(r) for j in range(i + 1)]
    if r == 1:
        if sizes is not None:  # for roots as well, which are taken of X
            arrays.require_above(x[..., 0, 0], sizes[..., 0], roundings, [*on, x[..., 0, 0]])
        return y
    total = ((_diagonal(x) if sizes is None else sizes) * _diagonal(y)).sum(axis=-1)
    arrays.require_above(1.0, total, roundings, on)
    for i in range(r):  # a sum of large numbers of either sign may be small
        arrays.require_above(y[..., i, i], 0.0, 0, on)
    return y


def not_a_number_where(singular: Any, x: Array) -> Array:
    """x (..., r, r) with NaN where X counts as singular: what arrays that cannot be looked at (JAX) are given."""
    if singular is False or arrays.is_eager(x):
        return x
    return arrays.namespace(x).where(singular[..., None, None], np.nan, x)
