"""Array-likes: the few operations whose spelling differs between NumPy, JAX, CuPy and symbols.

Everything in linkwise is written over arrays with leading batch dimensions. NumPy arrays may hold
floats, complex numbers (complex-step derivatives) or objects (symbolic scalars, which bring their own
``sin``, ``cos`` and ``sqrt`` methods; NumPy calls those). JAX and CuPy are recognised by their type's
module, so neither is imported here.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias, TypeGuard, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt

from . import tolerances
from .errors import SingularError
from .tolerances import PIVOT_ROUNDINGS

C = TypeVar("C")


class Array(Protocol):
    """What an algorithm may ask of an array: what those of NumPy, JAX and CuPy and arrays of symbols share.

    Entries are not assigned through it, as JAX has no such thing, and it says nothing of ``__array__``: NumPy's own
    functions are for what is known to be NumPy's, the functions of this module for all kinds. (What the other operand
    is stays open: every kind meets numbers, NumPy's constants and its own.)
    """

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def dtype(self) -> Any: ...  # NumPy's dtypes, also in JAX and CuPy
    @property
    def T(self) -> Array: ...
    @property
    def mT(self) -> Array: ...
    @property
    def real(self) -> Array: ...
    @property
    def imag(self) -> Array: ...
    def __len__(self) -> int: ...
    def __getitem__(self, key: Any, /) -> Array: ...
    def __neg__(self) -> Array: ...
    def __add__(self, other: Any, /) -> Array: ...
    def __radd__(self, other: Any, /) -> Array: ...
    def __sub__(self, other: Any, /) -> Array: ...
    def __rsub__(self, other: Any, /) -> Array: ...
    def __mul__(self, other: Any, /) -> Array: ...
    def __rmul__(self, other: Any, /) -> Array: ...
    def __truediv__(self, other: Any, /) -> Array: ...
    def __rtruediv__(self, other: Any, /) -> Array: ...
    def __pow__(self, other: Any, /) -> Array: ...
    def __matmul__(self, other: Any, /) -> Array: ...
    def __rmatmul__(self, other: Any, /) -> Array: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...
    def swapaxes(self, axis1: int, axis2: int, /) -> Array: ...
    def reshape(self, shape: tuple[int, ...], /) -> Array: ...
    def sum(self, axis: int | tuple[int, ...], *, keepdims: bool = ...) -> Array: ...
    def astype(self, dtype: Any) -> Array: ...


class LinearAlgebra(Protocol):
    """Their functions of matrices."""

    def cholesky(self, x: Array, /) -> Array: ...
    def inv(self, x: Array, /) -> Array: ...
    def solve(self, x: Array, b: Array, /) -> Array: ...


class Namespace(Protocol):
    """The functions of the modules numpy, jax.numpy and cupy that algorithms use beside those of this module."""

    @property
    def linalg(self) -> LinearAlgebra: ...
    def abs(self, x: Array, /) -> Array: ...
    def arctan(self, x: Array, /) -> Array: ...
    def arctan2(self, y: Array, x: Array, /) -> Array: ...
    def asarray(self, x: ArrayLike, /) -> Array: ...
    def broadcast_arrays(self, *items: Array | float) -> Sequence[Array]: ...
    def broadcast_to(self, x: Array, /, shape: tuple[int, ...]) -> Array: ...
    def concatenate(self, items: Sequence[Array], /, axis: int) -> Array: ...
    def eye(self, n: int, /, *, dtype: Any) -> Array: ...
    def isfinite(self, x: Array, /) -> Any: ...  # truths, as comparisons give them
    def moveaxis(self, x: Array, /, source: int | tuple[int, ...], destination: int | tuple[int, ...]) -> Array: ...
    def stack(self, items: Sequence[Array], /, axis: int) -> Array: ...
    def swapaxes(self, x: Array, /, axis1: int, axis2: int) -> Array: ...
    def where(self, condition: Array, yes: ArrayLike, no: ArrayLike, /) -> Array: ...
    def zeros(self, shape: tuple[int, ...], /, dtype: Any = ...) -> Array: ...


# What public calls take: numbers, lists of them, and arrays of every kind.
ArrayLike: TypeAlias = npt.ArrayLike | Array
# What public calls give: an array of the kind of their arguments, NumPy's where those are NumPy's, numbers or lists. Of
# NumPy's arrays a type checker knows all; JAX's and CuPy's are the Any beside them.
SameKind: TypeAlias = np.ndarray | Any

_NUMPY = cast(Namespace, np)  # (its functions do not take every Array; namespace() chooses it for those that fit)


def namespace(*arrays: ArrayLike) -> Namespace:
    """The module (numpy, jax.numpy or cupy) whose functions fit these arrays."""
    for x in arrays:
        if isinstance(x, (np.ndarray, float, int, np.generic)):
            continue
        root = type(x).__module__.partition(".")[0]
        if root in ("jax", "jaxlib"):
            return cast(Namespace, sys.modules["jax.numpy"])
        if root == "cupy":
            return cast(Namespace, sys.modules["cupy"])
    return _NUMPY


def is_numpy(x: ArrayLike, /, *others: ArrayLike) -> TypeGuard[np.ndarray]:
    """Whether these are NumPy's own (arrays of symbols, and numbers, too)."""
    return namespace(x, *others) is _NUMPY


def is_symbolic(x: Any) -> TypeGuard[np.ndarray]:
    """Whether ``x`` holds symbolic scalars, so that every operation counts."""
    return getattr(x, "dtype", None) == np.dtype(object) or hasattr(x, "require_positive")


def is_eager(x: Any) -> TypeGuard[np.ndarray]:
    """Whether the values of ``x`` can be looked at now (NumPy numbers, not symbols or tracers)."""
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype != object


def as_numpy(x: ArrayLike) -> np.ndarray:
    """What is known to be NumPy's, or a number or list of them, as a NumPy array; symbols are its objects."""
    return x if isinstance(x, np.ndarray) else np.asarray(cast(npt.ArrayLike, x))


@overload
def transpose(x: np.ndarray) -> np.ndarray: ...
@overload
def transpose(x: Array) -> Array: ...
def transpose(x: Array) -> Array:
    """The adjoint x* of the last two axes."""
    return x.swapaxes(-1, -2)


def times(matrix: Array, x: Array) -> Array:
    """A matrix times columns (..., n, m). In JAX one column is a sum of products, which XLA makes part of what is
    around it; a product of matrices it would make by itself, with copies of them before."""
    if x.shape[-1] != 1 or is_numpy(matrix, x):
        return matrix @ x
    return (matrix * transpose(x)).sum(axis=-1, keepdims=True)


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
        function: Callable[[Array], Array] = getattr(namespace(x), name)
        return function(x)
    return by_entry(lambda a: getattr(a, name)() if hasattr(a, name) else getattr(math, name)(a), x)


def less(x: Array, bound: Any) -> Array:
    """x < bound, for :func:`where`."""
    if not is_symbolic(x):
        truths: Array = x < bound
        return truths
    return by_entry(lambda a, b: a.less(b) if hasattr(a, "less") else float(a < b), x, bound)


def where(condition: Array, yes: Any, no: Any) -> Array:
    """``yes`` where the condition holds, otherwise ``no``, entry by entry; both are computed."""
    if not is_symbolic(condition):
        return namespace(condition, yes, no).where(condition, yes, no)
    return by_entry(lambda c, a, b: c.select(a, b) if hasattr(c, "select") else (a if c else b), condition, yes, no)


def arctan2(y: Array, x: Array) -> Array:
    """The angle of the point (x, y)."""
    if not is_symbolic(y):
        arctan2 = namespace(y).arctan2
        if np.iscomplexobj(y) or np.iscomplexobj(x):  # complex steps: the imaginary part is the derivative
            return arctan2(y.real, x.real) + 1j * (x.real * y.imag - y.real * x.imag) / (x.real**2 + y.real**2)
        return arctan2(y, x)
    return by_entry(lambda a, b: a.arctan2(b), y, x)


def by_entry(function: Callable[..., Any], *items: Any) -> np.ndarray:
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
        elif not value > tolerances.roundings(roundings, float) * against:
            raise SingularError('a matrix that is to be inverted is singular in every state; target="numpy" says which')


def square_length(x: Array) -> Array:
    """x · x over the last axis, (...), an array also where x is one symbolic vector."""
    total = (x * x).sum(axis=-1)
    return np.asarray(total, dtype=object) if is_symbolic(x) else total


def precision(like: Array) -> Any:
    """The precision in which a robot's constants meet ``like``: float32 follows float32; all else (symbols and complex
    numbers too) meets float64."""
    return np.float32 if like.dtype == np.float32 else np.float64


def constant(x: C, like: Array) -> C:
    """Constants of a robot (an array, or what has a ``cast``) in the precision of ``like``."""
    if precision(like) is np.float64:
        return x
    held: Any = x
    single: C = held.cast(np.float32) if hasattr(held, "cast") else held.astype(np.float32)
    return single


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


def total(items: Iterable[Array]) -> Array:
    """The sum of arrays, of which there is at least one."""
    added: Any = sum(items)
    out: Array = added
    return out


def matrix(rows: Sequence[Sequence[Array | float]]) -> Array:
    """A (..., m, n) array from m rows of n scalars-like, each a number or a (...) array."""
    entries = [x for row in rows for x in row]
    shape, dtype = _alike(entries)
    if dtype is None:
        if not is_numpy(*entries):
            xp = namespace(*entries)
            flat = xp.stack(xp.broadcast_arrays(*entries), axis=-1)
            return flat.reshape((*flat.shape[:-1], len(rows), len(rows[0])))
        dtype = np.result_type(*(x if isinstance(x, (int, float)) else np.asarray(x) for x in entries))
        shape = np.broadcast_shapes(*(np.shape(x) for x in entries))
    out = np.empty((*shape, len(rows), len(rows[0])), dtype=dtype)
    for i, row in enumerate(rows):
        for j, x in enumerate(row):
            out[..., i, j] = x
    return out


def _alike(entries: Sequence[Any]) -> tuple[tuple[int, ...], Any]:
    """The shape and dtype of entries of which all that are no plain floats are NumPy's arrays alike; else ((), None).

    What is asked for so often is not to go through NumPy's rules, which take longer than the arithmetic.
    """
    first = None
    for x in entries:
        if type(x) is np.ndarray:
            if first is None:
                first = x
            elif x.dtype is not first.dtype or x.shape != first.shape:
                return (), None
        elif type(x) is not float:
            return (), None
    return (first.shape, first.dtype) if first is not None and first.dtype.kind in "fcO" else ((), None)


def column(entries: Sequence[Array | float]) -> Array:
    """A (..., m, 1) column from m scalars-like."""
    return matrix([[x] for x in entries])


def concatenate(items: Sequence[Array], axis: int) -> Array:
    """Concatenate along ``axis`` (negative) after broadcasting all the axes before the last two."""
    batch = items[0].shape[:-2]
    if all(type(x) is np.ndarray and x.shape[:-2] == batch for x in items):
        return _NUMPY.concatenate(items, axis=axis)
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
    dtype = np.result_type(_constant_dtype(like), *(x.dtype for x in blocks.values()))
    if not is_numpy(like, *blocks.values()):
        return _beside(blocks, heights, widths, lambda *shape: xp.zeros((*batch, *shape), dtype=dtype))
    tops = np.concatenate(([0], np.cumsum(heights))).astype(int)
    lefts = np.concatenate(([0], np.cumsum(widths))).astype(int)
    out = np.zeros((*batch, int(tops[-1]), int(lefts[-1])), dtype=dtype)
    for (i, j), x in blocks.items():
        out[..., tops[i] : tops[i + 1], lefts[j] : lefts[j + 1]] = x
    return out


def _beside(
    blocks: dict[tuple[int, int], Array], heights: Sequence[int], widths: Sequence[int], zeros: Callable[..., Array]
) -> Array:
    """The same without writing into anything: blocks and runs of zeros beside each other, then rows of them."""
    rows = []
    for i, height in enumerate(heights):
        row, empty = [], 0
        for j, width in enumerate(widths):
            if (i, j) not in blocks:
                empty += width
                continue
            row += [zeros(height, empty)] * (empty > 0) + [blocks[i, j]]
            empty = 0
        rows.append(concatenate([*row, *[zeros(height, empty)] * (empty > 0 or not row)], axis=-1))
    return concatenate(rows, axis=-2)


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


def lower_triangle(x: Array) -> Array:
    """The entries of a matrix (..., n, n) on and below its diagonal, row by row, (..., n (n + 1) / 2)."""
    return x[(..., *np.tril_indices(x.shape[-1]))]


def is_extended(x: Array) -> bool:
    """Whether ``x`` holds NumPy's long doubles, which numpy.linalg does not take."""
    return is_numpy(x) and np.dtype(x.dtype).char in "gG"


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
        inverted: Array = inverse_by_ldl(symmetric(transpose(x) @ x)) @ transpose(x)
        return inverted
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
            require_above(d, x[..., j, j] if j else 0.0, PIVOT_ROUNDINGS, [d])
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
            s: Array | float = 0.0
            for k in range(j, i):
                s = s - lower[..., i, k] * unit[..., k, j]
            unit[..., i, j] = s
    rows = [unit[..., i, :] / np.asarray(d, dtype=x.dtype)[..., None] for i, d in enumerate(pivots)]
    scaled = np.stack(rows, axis=-2)
    return symmetric(transpose(unit) @ scaled)


def solver_spd(x: Array) -> Callable[[Array], Array]:
    """b (..., r, m) ↦ x⁻¹b for a symmetric positive definite x (..., r, r), which may be ill-conditioned."""
    if not (is_symbolic(x) or is_extended(x)):
        return lambda b: namespace(x, b).linalg.solve(x, b)
    lower, pivots = _ldl(x)
    r = x.shape[-1]
    shares = [1.0 / np.asarray(d, dtype=x.dtype)[..., None] for d in pivots]

    def solve(b: Array) -> Array:
        y: list[Array] = []
        for i in range(r):
            y.append(b[..., i, :] - sum(lower[..., i, j, None] * y[j] for j in range(i)))
        z: list[Array] = [share * row for share, row in zip(shares, y)]
        for i in reversed(range(r)):
            z[i] = z[i] - sum(lower[..., j, i, None] * z[j] for j in range(i + 1, r))
        return stack(z, axis=-2) if z else b

    return solve


def cholesky(x: Array) -> Array:
    """Lower triangular L with x = L L*, where * transposes and never conjugates (complex-step derivatives)."""
    if x.shape[-1] == 0:
        return x
    if x.shape[-1] == 1:
        return sqrt(x)
    if is_symbolic(x) or is_extended(x) or (is_numpy(x) and np.iscomplexobj(x)):
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
