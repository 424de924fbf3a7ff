"""Arrays of symbols that NumPy's functions can be traced through, by NumPy's own protocols.

A user's function gets its vectors as :class:`Symbols`. NumPy hands its ufuncs and functions on them over to
:func:`apply` and :func:`call`; what they give is again :class:`Symbols`. What the tables there do not have is an
:class:`UntraceableError`, never another number.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import UntraceableError
from .elementwise import choose, entry_of, is_true
from .products import matrix_product
from .scalar import Number, Scalar, Truth, number

# On object arrays NumPy does these itself, quicker: symbols have the operators.
_OPERATORS = frozenset({np.add, np.subtract, np.multiply, np.negative, np.positive, np.matmul}) | {
    getattr(np, name) for name in ("vecdot", "matvec", "vecmat") if hasattr(np, name)
}
_TRUTHS = frozenset(
    """less less_equal greater greater_equal equal not_equal logical_and logical_or logical_xor logical_not isnan isinf
    isfinite signbit bitwise_and bitwise_or bitwise_xor invert""".split()  # noqa: SIM905
)
_EMPTY = {"add": 0.0, "multiply": 1.0, "logical_and": True, "logical_or": False, "logical_xor": False}


class Symbols(np.ndarray):
    """An object array of symbols and numbers, as the functions of users get it."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return apply(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return call(function, args, options)

    def __getitem__(self, index: Any) -> Any:
        if _depends_on_symbols(index):
            raise UntraceableError(
                "which entries a mask or index of symbols selects is not known; choose with np.where(mask, yes, no)"
            )
        return super().__getitem__(_of_numbers(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        if not _depends_on_symbols(index):
            super().__setitem__(_of_numbers(index), value)
            return
        mask = np.asarray(index, dtype=object)
        if isinstance(index, tuple) or np.ndim(value) or not all(isinstance(x, (Truth, bool)) for x in mask.flat):
            raise UntraceableError(
                "entries that a mask of symbols selects can only be set to one number; use np.where(mask, yes, no)"
            )
        mask = mask.reshape(mask.shape + (1,) * (self.ndim - mask.ndim))
        super().__setitem__(..., by_entry(choose, mask, value, self))

    def astype(self, dtype: Any, *args: Any, **options: Any) -> Any:
        """Symbols are numbers of the precision that the compiled code runs in: only "float" and "bool" can be asked."""
        wanted = np.dtype(dtype)
        if wanted in (np.dtype(float), np.dtype(object)):
            return by_entry(number, self).view(Symbols)
        if wanted == np.dtype(bool):
            return _settled(by_entry(is_true, self))
        return numbers_of(self, f"astype({wanted.name})").astype(wanted)


# --- ufuncs --------------------------------------------------------------------------------------------


def apply(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A ufunc on symbols (NumPy's ``__array_ufunc__``)."""
    if not options and ufunc in _OPERATORS and method == "__call__":
        found = (matrix_product if ufunc is np.matmul else ufunc)(*map(as_objects, inputs))
        return found.view(Symbols) if isinstance(found, np.ndarray) and _are_wanted(inputs) else found
    out = options.pop("out", (None,))[0]
    _refuse_precision(ufunc, options)
    plain = [as_objects(x) for x in inputs]
    result = _METHODS.get(method, _no_such_method)(ufunc, plain, options)
    if ufunc.nout > 1:
        return tuple(as_symbols(x) for x in result)
    result = _settled(result) if ufunc.__name__ in _TRUTHS else result
    if out is None:
        return as_symbols(result)
    out[...] = result
    return out


def _are_wanted(inputs: tuple[Any, ...]) -> bool:
    """Whether a result is for a user's function; linkwise's own code has plain object arrays, which are quicker."""
    from .creation import is_tracing

    return is_tracing() or any(isinstance(x, Symbols) for x in inputs)


def _refuse_precision(ufunc: np.ufunc, options: dict[str, Any]) -> None:
    for name in ("casting", "order", "subok"):
        options.pop(name, None)
    if options.pop("where", True) is not True:
        raise UntraceableError(f"np.{ufunc.__name__}(…, where=mask) cannot be traced; use np.where(mask, yes, no)")
    dtype = options.pop("dtype", None)
    own = bool if ufunc.__name__ in _TRUTHS else float
    if dtype is not None and np.dtype(dtype) not in (np.dtype(own), np.dtype(object)):
        raise UntraceableError(
            f"np.{ufunc.__name__}(…, dtype={np.dtype(dtype).name}) cannot be traced; leave dtype out"
        )


def _called(ufunc: np.ufunc, plain: list[Any], options: dict[str, Any]) -> Any:
    if ufunc is np.matmul:
        if options:
            raise UntraceableError(f"np.matmul(…, {next(iter(options))}=…) cannot be traced; move the axes before")
        return matrix_product(*plain)
    if ufunc in _OPERATORS or _is_python_function(ufunc):
        return ufunc(*plain, **options)
    return np.frompyfunc(_entry(ufunc), ufunc.nin, ufunc.nout)(*plain)


def _reduced(ufunc: np.ufunc, plain: list[Any], options: dict[str, Any]) -> Any:
    x, axis = np.asarray(plain[0], dtype=object), options.get("axis", 0)
    axes = tuple(range(x.ndim)) if axis is None else _normalized(axis, x.ndim)
    kept = [i for i in range(x.ndim) if i not in axes]
    rows = x.transpose(*kept, *axes).reshape(*(x.shape[i] for i in kept), -1)
    parts = [rows[..., i] for i in range(rows.shape[-1])]
    initial = options.get("initial", np._NoValue)
    if initial is not np._NoValue and initial is not None:
        parts.insert(0, np.full(rows.shape[:-1], initial, dtype=object))
    if not parts:
        if ufunc.__name__ not in _EMPTY:
            raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
        parts = [np.full(rows.shape[:-1], _EMPTY[ufunc.__name__], dtype=object)]
    *_, total = _accumulation(ufunc, parts)
    if options.get("keepdims"):
        total = np.asarray(total, dtype=object).reshape([1 if i in axes else n for i, n in enumerate(x.shape)])
    return total


def _accumulated(ufunc: np.ufunc, plain: list[Any], options: dict[str, Any]) -> Any:
    x = np.asarray(plain[0], dtype=object)
    (axis,) = _normalized(options.get("axis", 0), x.ndim)
    parts = [np.take(x, i, axis=axis) for i in range(x.shape[axis])]
    out = np.empty(x.shape, dtype=object)
    for i, total in enumerate(_accumulation(ufunc, parts)):
        out[(slice(None),) * axis + (i, ...)] = total
    return out


def _accumulation(ufunc: np.ufunc, parts: list[Any]) -> Iterator[Any]:
    """The first part, and what each further one makes of it. Truth values are counted where they are added."""
    first = (
        is_true if ufunc.__name__.startswith("logical") else number if ufunc.__name__ in ("add", "multiply") else None
    )
    together = np.frompyfunc(_entry(ufunc), 2, 1)
    return itertools.accumulate(parts if first is None else [by_entry(first, x) for x in parts], together)


def _outer(ufunc: np.ufunc, plain: list[Any], options: dict[str, Any]) -> Any:
    a, b = (np.asarray(x) for x in plain)
    return _called(ufunc, [a.reshape(a.shape + (1,) * b.ndim), b], options)


def _no_such_method(ufunc: np.ufunc, plain: list[Any], options: dict[str, Any]) -> Any:
    raise UntraceableError(f"this method of np.{ufunc.__name__} cannot be traced")


_METHODS = {"__call__": _called, "reduce": _reduced, "accumulate": _accumulated, "outer": _outer}


def _entry(ufunc: np.ufunc) -> Any:
    found = entry_of(ufunc)
    if found is None:
        raise UntraceableError(f"{ufunc.__name__} cannot be traced")
    return found


def _is_python_function(ufunc: np.ufunc) -> bool:
    """Whether it was made by np.frompyfunc, so that it takes symbols as they are."""
    return getattr(np, ufunc.__name__, None) is not ufunc and all(set(t) <= set("O->") for t in ufunc.types)


# --- functions -----------------------------------------------------------------------------------------


def call(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """One of NumPy's functions on symbols (NumPy's ``__array_function__``)."""
    from .functions import AS_NUMPY_DOES, FUNCTIONS, SUMS_OF_PRODUCTS  # these are written with arrays

    name = function_name(function)
    has_symbols = any(isinstance(x, Scalar) for x in _entries((args, options)))
    if name in FUNCTIONS and has_symbols:
        return as_symbols(FUNCTIONS[name](*args, **options))
    if name in AS_NUMPY_DOES:
        if name in SUMS_OF_PRODUCTS:
            _refuse_what_has_no_product(name, args)
        given, named = _arrays(args), _arrays(options)
        like = np.empty(0, dtype=object).view(Symbols)
        return as_symbols(np.ndarray.__array_function__(like, function, (Symbols,), given, named))
    if has_symbols:
        raise UntraceableError(f"{name} cannot be traced")
    return function(*_numbers(args), **_numbers(options))


def _refuse_what_has_no_product(name: str, args: tuple[Any, ...]) -> None:
    """(NumPy goes on after a product that fails, and what comes of it says nothing.)"""
    for x in _entries([x for x in args if not isinstance(x, str)]):  # that of np.einsum
        if not (isinstance(x, (Scalar, *Number, np.bool_)) or (isinstance(x, np.ndarray) and x.dtype.kind in "fiub")):
            what = f"an array of {x.dtype}" if isinstance(x, np.ndarray) else type(x).__name__
            raise UntraceableError(f"{name} takes symbols and real numbers, got {what}")


def function_name(function: Any) -> str:
    """As users write it: np.linalg.norm."""
    return f"{function.__module__}.{function.__name__}".replace("numpy", "np", 1)


def _arrays(x: Any) -> Any:
    """Arguments with symbols as arrays without axes, which NumPy's own code understands."""
    if isinstance(x, Scalar):
        return as_objects(x).view(Symbols)
    if isinstance(x, (list, tuple)):
        return type(x)(map(_arrays, x))
    return {k: _arrays(v) for k, v in x.items()} if isinstance(x, dict) else x


def _entries(x: Any) -> Iterator[Any]:
    """Every single thing in arguments."""
    parts = x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else None
    if parts is not None:
        for part in parts:
            yield from _entries(part)
    elif isinstance(x, np.ndarray) and x.dtype == object:
        yield from x.flat
    else:
        yield x


def _numbers(x: Any) -> Any:
    """Arguments without symbols, with arrays of floats."""
    if isinstance(x, np.ndarray):
        return x.view(np.ndarray).astype(float) if x.dtype == object else x
    if isinstance(x, (list, tuple)):
        return type(x)(map(_numbers, x))
    return {k: _numbers(v) for k, v in x.items()} if isinstance(x, dict) else x


# --- entries -------------------------------------------------------------------------------------------


def by_entry(function: Any, *items: Any) -> np.ndarray:
    """A function of entries on anything that broadcasts, as an object array."""
    found = np.frompyfunc(function, len(items), 1)(*(as_objects(x) for x in items))
    return np.asarray(found, dtype=object)


def as_objects(x: Any) -> Any:
    """A symbol or an array of symbols as a plain object array; anything else as it is.

    But long doubles as Python's numbers: NumPy asks symbols for their products, and those ask NumPy.
    """
    if isinstance(x, Scalar):
        out = np.empty((), dtype=object)
        out[()] = x
        return out
    if isinstance(x, (np.longdouble, np.clongdouble)):
        return complex(x) if isinstance(x, np.clongdouble) else float(x)
    return x.view(np.ndarray) if isinstance(x, Symbols) else x


def as_symbols(x: Any) -> Any:
    """Object arrays in a result as symbols."""
    if isinstance(x, np.ndarray):
        return x.view(Symbols) if x.dtype == object else x
    return type(x)(map(as_symbols, x)) if type(x) in (list, tuple) else x


def numbers_of(x: Any, what: str) -> np.ndarray:
    """An array that holds numbers alone, as floats; ``what`` says for what no symbols will do."""
    objects = np.asarray(as_objects(x), dtype=object)
    if any(isinstance(v, Scalar) for v in objects.flat):
        raise UntraceableError(f"{what} cannot be traced on symbols")
    return objects.astype(float)


def _settled(x: Any) -> Any:
    """Truth values that are all known as a plain array of them, which can be a mask."""
    is_open = isinstance(x, Scalar) or (isinstance(x, np.ndarray) and any(isinstance(v, Scalar) for v in x.flat))
    return x if is_open or not isinstance(x, np.ndarray) else x.astype(bool)


_PLAIN_INDICES = frozenset({int, slice, type(...), type(None)})


def _depends_on_symbols(index: Any) -> bool:
    if type(index) in _PLAIN_INDICES:
        return False
    if isinstance(index, Scalar):
        return True
    if isinstance(index, Symbols):
        return any(isinstance(v, Scalar) for v in index.flat)
    return isinstance(index, (tuple, list)) and any(
        type(x) not in _PLAIN_INDICES and _depends_on_symbols(x) for x in index
    )


def _of_numbers(index: Any) -> Any:
    """An index of known whole numbers that happen to stand among symbols."""
    return np.array(index.tolist()) if isinstance(index, Symbols) else index


def _normalized(axis: Any, ndim: int) -> tuple[int, ...]:
    return tuple(range(ndim)[i] for i in ((axis,) if np.ndim(axis) == 0 else axis))
