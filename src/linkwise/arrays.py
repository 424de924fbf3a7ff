"""Array-likes: the few operations whose spelling differs between NumPy, JAX, CuPy and symbols.

Everything in linkwise is written over arrays with leading batch dimensions. NumPy arrays may hold
floats, complex numbers (complex-step derivatives) or objects (symbolic scalars, which bring their own
``sin``, ``cos`` and ``sqrt`` methods; NumPy calls those). JAX and CuPy are recognised by their type's
module, so neither is imported here.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import SingularError

_PIVOT_ROUNDINGS = 16  # by which a pivot may be off, of the size of the entry that elimination began with

Array = Any  # numpy.ndarray, jax.Array, cupy.ndarray, or an object array of symbolic scalars


def namespace(*arrays: Array) -> Any:
    """The module (numpy, jax.numpy or cupy) whose functions fit these arrays."""
    for x in arrays:
        if isinstance(x, (np.ndarray, float, int, np.generic)):
            continue
        root = type(x).__module__.partition(".")[0]
        if root in ("jax", "jaxlib"):
            return sys.modules["jax.numpy"]
        if root == "cupy":
            return sys.modules["cupy"]
    return np


def is_symbolic(x: Array) -> bool:
    """Whether ``x`` holds symbolic scalars, so that every operation counts."""
    return getattr(x, "dtype", None) == np.dtype(object) or hasattr(x, "require_positive")


def is_eager(x: Array) -> bool:
    """Whether the values of ``x`` can be looked at now (NumPy numbers, not symbols or tracers)."""
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype != object


def transpose(x: Array) -> Array:
    """The adjoint x* of the last two axes."""
    return x.swapaxes(-1, -2)


def sin(x: Array) -> Array:
    return _function("sin", x)


def cos(x: Array) -> Array:
    return _function("cos", x)


def sqrt(x: Array) -> Array:
    return _function("sqrt", x)


def log(x: Array) -> Array:
    return _function("log", x)


def _function(name: str, x: Array) -> Array:
    """A function of one number, entry by entry; symbols bring their own, and may stand beside plain numbers."""
    if not is_symbolic(x):
        return getattr(namespace(x), name)(x)
    return _by_entry(lambda a: getattr(a, name)() if hasattr(a, name) else getattr(math, name)(a), x)


def less(x: Array, bound: Any) -> Array:
    """x < bound, for :func:`where`."""
    if not is_symbolic(x):
        return x < bound
    return _by_entry(lambda a, b: a.less(b) if hasattr(a, "less") else float(a < b), x, bound)


def where(condition: Array, yes: Any, no: Any) -> Array:
    """``yes`` where the condition holds, otherwise ``no``, entry by entry; both are computed."""
    if not is_symbolic(condition):
        return namespace(condition, yes, no).where(condition, yes, no)
    return _by_entry(lambda c, a, b: c.select(a, b) if hasattr(c, "select") else (a if c else b), condition, yes, no)


def arctan2(y: Array, x: Array) -> Array:
    """The angle of the point (x, y)."""
    if not is_symbolic(y):
        if np.iscomplexobj(y) or np.iscomplexobj(x):  # complex steps: the imaginary part is the derivative
            return np.arctan2(y.real, x.real) + 1j * (x.real * y.imag - y.real * x.imag) / (x.real**2 + y.real**2)
        return namespace(y).arctan2(y, x)
    return _by_entry(lambda a, b: a.arctan2(b), y, x)


def _by_entry(function: Any, *items: Any) -> np.ndarray:
    """A function of scalars on object arrays, as an object array even where there is only one entry."""
    return np.asarray(np.frompyfunc(function, len(items), 1)(*items), dtype=object)


def require_positive(x: Array, always: bool = False) -> None:
    """On symbols: have the compiled program report states where an entry of x is not positive.

    ``always`` says even where no result depends on x.
    """
    if is_symbolic(x):
        for entry in np.asarray(x, dtype=object).flat:
            if hasattr(entry, "require_positive"):
                entry.require_positive(always)


def require_above(x: Any, size: Any, roundings: int, on: Sequence[Any]) -> None:
    """On symbols: have the compiled program report states where x ≤ roundings · ε · size, ε that of its precision.

    It does so where a result depends on one of ``on``. Numbers are compared at once.
    """
    shape = np.broadcast_shapes(np.shape(x), np.shape(size), np.shape(on[0]))
    values, sizes, *nodes = (np.broadcast_to(np.asarray(a, dtype=object), shape) for a in (x, size, *on))
    for index in np.ndindex(shape):
        value, against = values[index], sizes[index]
        graph = getattr(value, "graph", None) or getattr(against, "graph", None)
        if graph is not None:
            graph.require_above(value, against, roundings, tuple(x[index] for x in nodes))
        elif not value > roundings * np.finfo(float).eps * against:
            raise SingularError('a matrix that is to be inverted is singular in every state; target="numpy" says which')


def square_length(x: Array) -> Array:
    """x · x over the last axis, (...), an array also where x is one symbolic vector."""
    total = (x * x).sum(axis=-1)
    return np.asarray(total, dtype=object) if is_symbolic(total) else total


def precision(like: Array) -> Any:
    """The precision in which a robot's constants meet ``like``: float32 follows float32; all else (symbols and complex
    numbers too) meets float64."""
    return np.float32 if like.dtype == np.float32 else np.float64


def constant(x: Any, like: Array) -> Any:
    """Constants of a robot (an array, or what has a ``cast``) in the precision of ``like``."""
    if precision(like) is np.float64:
        return x
    return x.cast(np.float32) if hasattr(x, "cast") else x.astype(np.float32)


def eye(n: int, like: Array) -> Array:
    """The n×n identity, of the kind and precision of ``like``."""
    xp = namespace(like)
    return xp.eye(n, dtype=_constant_dtype(like))


def zeros(shape: tuple[int, ...], like: Array) -> Array:
    """Zeros of the kind and precision of ``like``."""
    return namespace(like).zeros(shape, dtype=_constant_dtype(like))


def _constant_dtype(like: Array) -> Any:
    dtype = getattr(like, "dtype", np.dtype(float))
    return np.dtype(float) if dtype == np.dtype(object) else dtype


def stack(items: Sequence[Array], axis: int = -1) -> Array:
    """Stack along a new axis after broadcasting the items against each other."""
    xp = namespace(*items)
    return xp.stack(xp.broadcast_arrays(*items), axis=axis)


def matrix(rows: Sequence[Sequence[Array]]) -> Array:
    """A (..., m, n) array from m rows of n scalars-like, each a number or a (...) array."""
    entries = [x for row in rows for x in row]
    xp = namespace(*entries)
    if xp is not np:
        flat = xp.stack(xp.broadcast_arrays(*entries), axis=-1)
        return flat.reshape((*flat.shape[:-1], len(rows), len(rows[0])))
    dtype = np.result_type(*(x if isinstance(x, (int, float)) else np.asarray(x) for x in entries))
    shape = np.broadcast_shapes(*(np.shape(x) for x in entries))
    out = np.empty((*shape, len(rows), len(rows[0])), dtype=dtype)
    for i, row in enumerate(rows):
        for j, x in enumerate(row):
            out[..., i, j] = x
    return out


def column(entries: Sequence[Array]) -> Array:
    """A (..., m, 1) column from m scalars-like."""
    return matrix([[x] for x in entries])


def concatenate(items: Sequence[Array], axis: int) -> Array:
    """Concatenate along ``axis`` (negative) after broadcasting all the axes before the last two."""
    xp = namespace(*items)
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in items))
    return xp.concatenate([xp.broadcast_to(x, batch + x.shape[-2:]) for x in items], axis=axis)


def block(rows: Sequence[Sequence[Array]]) -> Array:
    """A matrix from a grid of (..., m, n) blocks."""
    return concatenate([concatenate(row, axis=-1) for row in rows], axis=-2)


def from_blocks(
    blocks: dict[tuple[int, int], Array], heights: Sequence[int], widths: Sequence[int], like: Array
) -> Array:
    """A (..., Σheights, Σwidths) matrix from its non-zero blocks, keyed by (block row, block column)."""
    xp = namespace(like, *blocks.values())
    batch = np.broadcast_shapes(like.shape[:-1], *(x.shape[:-2] for x in blocks.values()))
    tops = np.concatenate(([0], np.cumsum(heights))).astype(int)
    lefts = np.concatenate(([0], np.cumsum(widths))).astype(int)
    shape = (*batch, int(tops[-1]), int(lefts[-1]))
    dtype = np.result_type(_constant_dtype(like), *(x.dtype for x in blocks.values()))
    out = xp.zeros(shape, dtype=dtype)
    for (i, j), x in blocks.items():
        where = (..., slice(tops[i], tops[i + 1]), slice(lefts[j], lefts[j + 1]))
        if xp is np:
            out[where] = x
        else:
            out = out.at[where].set(x) if hasattr(out, "at") else _assign(out, where, x)
    return out


def _assign(out: Array, where: Any, x: Array) -> Array:
    out[where] = x
    return out


def symmetric(x: Array) -> Array:
    """A matrix known to be symmetric, made exactly so.

    On symbols the lower triangle is mirrored, so that nothing is computed twice.
    """
    if not is_symbolic(x):
        return 0.5 * (x + transpose(x))
    out = x.copy()
    for i in range(x.shape[-1]):
        for j in range(i):
            out[..., j, i] = out[..., i, j]
    return out


def is_extended(x: Array) -> bool:
    """Whether ``x`` holds NumPy's long doubles, which numpy.linalg does not take."""
    return namespace(x) is np and np.dtype(x.dtype).char in "gG"


def inverse_spd(x: Array) -> Array:
    """The inverse of a small symmetric positive definite matrix (..., r, r)."""
    r = x.shape[-1]
    if r == 0:
        return x
    if r == 1:
        if is_symbolic(x):
            require_above(x[..., 0, 0], 0.0, 0, [x[..., 0, 0]])
        return 1.0 / x
    if is_symbolic(x) or is_extended(x):
        return inverse_by_ldl(x)
    return symmetric(namespace(x).linalg.inv(x))


def inverse(x: Array) -> Array:
    """The inverse of a small matrix (..., r, r) of no particular symmetry."""
    if x.shape[-1] <= 1:
        return inverse_spd(x)
    if is_symbolic(x):  # no pivoting on symbols: X⁻¹ = (X*X)⁻¹X* needs none
        return inverse_by_ldl(symmetric(transpose(x) @ x)) @ transpose(x)
    return namespace(x).linalg.inv(x)


def _ldl(x: Array) -> tuple[Array, list[Array]]:
    """Unit lower L and pivots d with x = L diag(d) L*, in scalar operations."""
    r = x.shape[-1]
    lower = np.zeros(x.shape, dtype=x.dtype)
    pivots: list[Array] = []
    for j in range(r):
        lower[..., j, j] = 1.0
        d = x[..., j, j]
        for k in range(j):
            d = d - lower[..., j, k] * lower[..., j, k] * pivots[k]
        if is_symbolic(x):
            require_above(d, x[..., j, j] if j else 0.0, _PIVOT_ROUNDINGS, [d])
        pivots.append(d)
        for i in range(j + 1, r):
            s = x[..., i, j]
            for k in range(j):
                s = s - lower[..., i, k] * (lower[..., j, k] * pivots[k])
            lower[..., i, j] = s / d
    return lower, pivots


def inverse_by_ldl(x: Array) -> Array:
    """The inverse of a symmetric matrix (..., r, r) in scalar operations; infinite or NaN where a pivot is zero."""
    r = x.shape[-1]
    lower, pivots = _ldl(x)
    unit = np.zeros(x.shape, dtype=x.dtype)  # L⁻¹, unit lower triangular
    for j in range(r):
        unit[..., j, j] = 1.0
        for i in range(j + 1, r):
            s = 0.0
            for k in range(j, i):
                s = s - lower[..., i, k] * unit[..., k, j]
            unit[..., i, j] = s
    rows = [unit[..., i, :] / np.asarray(d, dtype=x.dtype)[..., None] for i, d in enumerate(pivots)]
    scaled = np.stack(rows, axis=-2)
    return symmetric(transpose(unit) @ scaled)


def cholesky(x: Array) -> Array:
    """Lower triangular L with x = L L*, where * transposes and never conjugates (complex-step derivatives)."""
    if x.shape[-1] == 0:
        return x
    if x.shape[-1] == 1:
        return sqrt(x)
    if is_symbolic(x) or is_extended(x) or (namespace(x) is np and np.iscomplexobj(x)):
        lower, pivots = _ldl(x)
        roots = stack([sqrt(np.asarray(d, dtype=x.dtype)) for d in pivots])
        return lower * roots[..., None, :]
    return namespace(x).linalg.cholesky(x)


def solve_lower(lower: Array, b: Array) -> Array:
    """x with L x = b for a lower triangular L (..., n, n) and b (..., n, m), by forward substitution."""
    rows: list[Array] = []
    for i in range(lower.shape[-1]):
        s = b[..., i : i + 1, :]
        if i:
            s = s - lower[..., i : i + 1, :i] @ concatenate(rows, axis=-2)
        rows.append(s / lower[..., i : i + 1, i : i + 1])
    return concatenate(rows, axis=-2) if rows else b
