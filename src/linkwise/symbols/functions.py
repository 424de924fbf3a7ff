"""NumPy's functions of arrays on symbols.

Most are right as NumPy has them, since they only move entries or end in ufuncs (:data:`AS_NUMPY_DOES`). Those that look
at the kind of their numbers, or at their values, are written here (:data:`FUNCTIONS`). All others cannot be traced.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import UntraceableError
from . import linear_systems
from .array import Symbols, as_objects, as_symbols, by_entry, numbers_of
from .elementwise import choose

# What only moves entries, or ends in functions of single numbers: NumPy's own code.
AS_NUMPY_DOES = frozenset(
    f"np.{name}"
    for name in """
    stack concatenate concat hstack vstack dstack column_stack block append insert delete resize pad
    reshape ravel transpose permute_dims matrix_transpose swapaxes moveaxis rollaxis expand_dims squeeze
    broadcast_to broadcast_arrays atleast_1d atleast_2d atleast_3d tile repeat roll flip fliplr flipud rot90
    split array_split hsplit vsplit dsplit take take_along_axis diag diagonal diagflat tril triu meshgrid
    zeros_like ones_like full_like empty_like copy shape size ndim fill_diagonal copyto
    result_type iscomplexobj isrealobj shares_memory may_share_memory array_repr array_str array2string
    dot vdot inner outer tensordot kron einsum cross trace matvec vecmat vecdot
    sum prod mean var std average cumsum cumprod cumulative_sum cumulative_prod diff ediff1d trapezoid
    max min amax amin ptp any all clip sinc polyval convolve correlate vander angle
    isneginf isposinf linalg.multi_dot linalg.matrix_power linalg.trace linalg.diagonal linalg.outer linalg.cross
    linalg.matmul linalg.tensordot linalg.matrix_transpose linalg.vecdot
    """.split()  # noqa: SIM905
)
# Those of them that multiply entries within one loop of NumPy's, which does not look whether it could.
SUMS_OF_PRODUCTS = frozenset(
    f"np.{name}"
    for name in "dot vdot inner tensordot einsum convolve correlate linalg.multi_dot linalg.tensordot".split()  # noqa: SIM905
)


def _plain(x: Any) -> np.ndarray:
    return np.asarray(as_objects(x), dtype=object)


def _where(condition: Any, *branches: Any) -> Any:
    if len(branches) != 2:
        raise UntraceableError(
            "np.where(mask) asks which entries are true, which is not known; use np.where(mask, yes, no)"
        )
    found = by_entry(choose, condition, *branches)
    return found[()] if found.ndim == 0 else found


def _select(conditions: Any, choices: Any, default: Any = 0) -> Any:
    total = default
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        total = _where(condition, choice, total)
    return total


def _piecewise(x: Any, conditions: Any, functions: Any, *args: Any, **options: Any) -> Any:
    """Every function is asked for every x; later conditions come before earlier ones."""
    conditions = list(conditions) if isinstance(conditions, (list, tuple)) else [conditions]
    if len(functions) == len(conditions) + 1:
        any_of = conditions[0]
        for condition in conditions[1:]:
            any_of = np.logical_or(any_of, condition)
        conditions.append(np.logical_not(any_of))
    total: Any = np.zeros_like(x)
    for condition, function in zip(conditions, functions, strict=True):
        value = function(as_symbols(_plain(x)), *args, **options) if callable(function) else function
        total = _where(condition, value, total)
    return total


def _interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Between the last point that is not beyond x and the next, as NumPy finds it by bisection."""
    if period is not None:
        raise UntraceableError("np.interp(…, period=…) cannot be traced; use np.mod of the angles")
    at, values = numbers_of(xp, "np.interp at points that are symbols"), _plain(fp)
    if at.ndim != 1 or at.shape != values.shape or not (np.diff(at) > 0).all():
        raise UntraceableError("np.interp is traced for points in increasing order alone, with one value each")

    def one(v: Any) -> Any:
        total = values[0] if left is None else left
        for i, low in enumerate(at[:-1]):
            slope = (values[i + 1] - values[i]) * (1.0 / (at[i + 1] - low))
            total = choose(v >= float(low), slope * (v - float(low)) + values[i], total)
        total = choose(v >= float(at[-1]), values[-1], total)
        total = total if right is None else choose(v > float(at[-1]), right, total)
        return choose(v != v, v, total)

    return _unwrapped(by_entry(one, x))


def _round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    factor = 10.0 ** abs(int(decimals))
    if decimals == 0:
        return np.rint(as_symbols(_plain(a)), out=out)
    first, last = (np.multiply, np.divide) if decimals > 0 else (np.divide, np.multiply)
    return last(np.rint(first(as_symbols(_plain(a)), factor)), factor, out=out)


def _nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    if posinf is None or neginf is None:
        raise UntraceableError("the largest number depends on the precision; give np.nan_to_num posinf= and neginf=")

    def one(v: Any) -> Any:
        return choose(v != v, nan, choose(v == math.inf, posinf, choose(v == -math.inf, neginf, v)))

    return _unwrapped(by_entry(one, x))


def _isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    def one(x: Any, y: Any) -> Any:
        near = (abs(x - y) <= atol + rtol * abs(y)) & (abs(y) < math.inf)
        same = near | (x == y)
        return same | ((x != x) & (y != y)) if equal_nan else same

    return _unwrapped(by_entry(one, a, b))


def _array_equal(a: Any, b: Any, equal_nan: bool = False) -> Any:
    if np.shape(a) != np.shape(b):
        return False
    same = np.equal(as_symbols(_plain(a)), b)
    if equal_nan:
        same = same | (np.isnan(a) & np.isnan(b))
    return np.all(same)


def _without_nan(function: Callable[..., Any], instead: float) -> Callable[..., Any]:
    def of(a: Any, *args: Any, **options: Any) -> Any:
        return function(by_entry(lambda v: choose(v != v, instead, v), a).view(Symbols), *args, **options)

    return of


def _nanmean(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    count = np.sum(~np.isnan(as_symbols(_plain(a))), axis=axis, keepdims=keepdims)
    return np.divide(_without_nan(np.sum, 0.0)(a, axis=axis, keepdims=keepdims), count)


def _unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: float = 2.0 * math.pi) -> Any:
    half = period / 2.0
    jumps = np.diff(as_symbols(_plain(p)), axis=axis)
    small = np.mod(jumps + half, period) - half
    small = np.where((small == -half) & (jumps > 0.0), half, small)
    changes = np.where(np.abs(jumps) < max(half, discont or 0.0), 0.0, small - jumps)
    first = np.zeros_like(np.take(p, [0], axis=axis))
    return p + np.concatenate([first, np.cumsum(changes, axis=axis)], axis=axis)


def _linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, axis: int = 0, **options: Any) -> Any:
    if options:
        raise UntraceableError(f"np.linspace(…, {next(iter(options))}=…) cannot be traced")
    parts = num - 1 if endpoint else num
    start, stop = (_plain(x).view(Symbols) for x in (start, stop))
    points = [start + (stop - start) * (i / parts) if i else start + 0.0 * stop for i in range(num)]
    if endpoint and num > 1:
        points[-1] = stop + 0.0 * start
    return np.stack([np.asarray(as_objects(p), dtype=object) for p in points], axis=axis)


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x = as_symbols(_plain(x))
    if axis is None and ord is None:
        flat = x.ravel()
        total = np.sqrt(np.sum(flat * flat))
        return np.reshape(total, (1,) * x.ndim) if keepdims else total
    axis = tuple(range(x.ndim)) if axis is None else axis
    axes = (axis,) if np.ndim(axis) == 0 else tuple(axis)
    if len(axes) == 1:
        return _size(x, 2 if ord is None else ord, axes, keepdims)
    if len(axes) == 2 and ord not in (None, "fro"):
        return _matrix_norm(np.abs(x), ord, axes, keepdims)
    return _size(x, 2, axes, keepdims)


def _vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    axes = tuple(range(np.ndim(x))) if axis is None else (axis,) if np.ndim(axis) == 0 else tuple(axis)
    return _size(as_symbols(_plain(x)), ord, axes, keepdims)


def _size(x: Any, ord: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    """The norm of a vector, over one axis or several taken as one."""
    if ord == 2:
        return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))
    sizes = np.abs(x)
    if ord in (math.inf, -math.inf):
        return (np.max if ord > 0 else np.min)(sizes, axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.sum(sizes != 0.0, axis=axis, keepdims=keepdims)
    if ord == 1:
        return np.sum(sizes, axis=axis, keepdims=keepdims)
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    return np.power(np.sum(np.power(sizes, ord), axis=axis, keepdims=keepdims), 1.0 / ord)


def _matrix_norm(sizes: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if ord not in (1, -1, math.inf, -math.inf):
        raise UntraceableError(
            f"np.linalg.norm(…, ord={ord!r}) of a matrix needs its singular values and cannot be traced"
        )
    sums, others = axes if abs(ord) == 1 else axes[::-1]
    totals = np.sum(sizes, axis=sums, keepdims=True)
    found = (np.max if ord > 0 else np.min)(totals, axis=others, keepdims=True)
    return found if keepdims else np.squeeze(found, axis=axes)


def _cholesky(a: Any, *, upper: bool = False) -> Any:
    from ..arrays import cholesky, transpose

    lower = cholesky(_plain(a))
    return transpose(lower) if upper else lower


def _unwrapped(x: np.ndarray) -> Any:
    """A single entry as itself."""
    return x[()] if x.ndim == 0 else x


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "np.where": _where,
    "np.select": _select,
    "np.piecewise": _piecewise,
    "np.interp": _interp,
    "np.round": _round,
    "np.around": _round,
    "np.fix": lambda x, out=None: np.trunc(x, out=out),
    "np.nan_to_num": _nan_to_num,
    "np.isclose": _isclose,
    "np.allclose": lambda *args, **options: np.all(as_symbols(_isclose(*args, **options))),
    "np.array_equal": _array_equal,
    "np.count_nonzero": lambda a, axis=None, keepdims=False: np.sum(
        as_symbols(_plain(a)) != 0, axis, keepdims=keepdims
    ),
    "np.nansum": _without_nan(np.sum, 0.0),
    "np.nanprod": _without_nan(np.prod, 1.0),
    "np.nanmean": _nanmean,
    "np.nanmax": lambda a, axis=None, keepdims=False: np.fmax.reduce(as_symbols(_plain(a)), axis, keepdims=keepdims),
    "np.nanmin": lambda a, axis=None, keepdims=False: np.fmin.reduce(as_symbols(_plain(a)), axis, keepdims=keepdims),
    "np.unwrap": _unwrap,
    "np.linspace": _linspace,
    "np.real": _plain,
    "np.imag": lambda x: np.zeros(np.shape(x)),
    "np.linalg.norm": _norm,
    "np.linalg.vector_norm": _vector_norm,
    "np.linalg.solve": linear_systems.solve,
    "np.linalg.inv": linear_systems.inv,
    "np.linalg.det": linear_systems.det,
    "np.linalg.cholesky": _cholesky,
}
