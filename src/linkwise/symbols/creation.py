"""NumPy's functions that make arrays, while a user's function is traced.

NumPy's protocols leave these out: ``np.array([q[0], 1.0])`` gives a plain object array, which no later function of
NumPy hands over, and ``np.zeros(3)`` gives an array that cannot take symbols. So for the time of a trace, and in the
thread that traces, the names in the module numpy give arrays of symbols where symbols are in them or may come to be.
"""

from __future__ import annotations

import copy
import dis
import functools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from types import CodeType
from typing import Any

import numpy as np

from .array import Symbols
from .scalar import Number, Scalar

_NOT_THE_USERS = ("linkwise", "numpy", "scipy")
_OWN = __name__.rpartition(".")[0]  # the symbols themselves are made of plain object arrays


def _caller(name: str) -> str | None:
    """The package whose code calls the function of this name that is replaced here; None where it is no Python code.

    Compiled extensions (``numpy.random``) have no frame of their own. What they are given they fill as floats.
    """
    frame = sys._getframe(2)
    if not _calls(frame.f_code, frame.f_lasti, name):
        return None
    return str(frame.f_globals.get("__package__") or "")


@functools.lru_cache(maxsize=4096)
def _calls(code: CodeType, at: int, name: str) -> bool:
    """Whether the instruction at this place calls what was just loaded under a name, such as ``np.zeros``.

    The name is the last that is loaded from where the text of the call begins.
    """
    places = list(code.co_positions())
    called, begins = None, places[at // 2][0::2]
    for instruction in dis.get_instructions(code):
        if instruction.offset >= at:
            break
        if instruction.opname.startswith("LOAD_") and places[instruction.offset // 2][0::2] == begins:
            called = instruction.argval
    return called == name


def _from_others(function: Callable[..., Any]) -> Callable[..., Any]:
    """np.array and its like: symbols among the entries make an array of symbols."""

    @functools.wraps(function)
    def make(x: Any, dtype: Any = None, *args: Any, **options: Any) -> Any:
        if not is_tracing() or (dtype is not None and np.dtype(dtype) not in _FLOATS):
            return function(x, dtype, *args, **options)
        if _caller(function.__name__) in (None, _OWN):
            return function(x, dtype, *args, **options)
        found = function(x, None, *args, **options)
        if found.dtype == object and all(isinstance(v, (Scalar, *Number)) for v in found.flat):
            return found.view(Symbols) if dtype is None else found.view(Symbols).astype(dtype)
        return found if dtype is None else function(x, dtype, *args, **options)

    return make


def _new(function: Callable[..., Any]) -> Callable[..., Any]:
    """np.zeros and its like: arrays that can take symbols, where the user's own code asks for floats."""

    @functools.wraps(function)
    def make(*args: Any, **options: Any) -> Any:
        found = function(*args, **options)
        if not is_tracing() or found.dtype not in _FLOATS:
            return found
        caller = _caller(function.__name__)
        if caller in (None, _OWN):
            return found
        is_users = caller.partition(".")[0] not in _NOT_THE_USERS
        return found.astype(object).view(Symbols) if is_users or found.dtype == object else found

    return make


_FLOATS = (np.dtype(float), np.dtype(object))
_ORIGINAL = {
    **{name: (getattr(np, name), _from_others) for name in ("array", "asarray", "asanyarray", "ascontiguousarray")},
    **{name: (getattr(np, name), _new) for name in ("zeros", "ones", "empty", "full", "eye", "identity")},
}
_KEEPING = {name: keeping(function) for name, (function, keeping) in _ORIGINAL.items()}

_lock, _tracing = threading.Lock(), threading.local()
_traces = 0  # how many run now


@contextmanager
def arrays_take_symbols() -> Iterator[None]:
    """The time of a trace."""
    before = is_tracing()
    _count(1)
    _tracing.now, _tracing.depth = True, _depth() + 1
    try:
        yield
    finally:
        _tracing.now, _tracing.depth = before, _depth() - 1
        _count(-1)


def by_plain_arrays(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """A function of linkwise, which takes plain object arrays of symbols as they are, called by what is traced.

    It runs so in half the time, and what it gives are arrays of symbols again.
    """
    if not is_tracing():
        return function(*args, **options)
    _tracing.now = False
    try:
        found = function(*map(_plain, args), **{name: _plain(x) for name, x in options.items()})
    finally:
        _tracing.now = True
    return _with_symbols(found)


def _plain(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, Symbols) else x


def _with_symbols(x: Any) -> Any:
    """The object arrays of a result, of whatever shape it is, as arrays of symbols."""
    if isinstance(x, np.ndarray):
        return x.view(Symbols) if x.dtype == object else x
    if isinstance(x, dict):
        return {name: _with_symbols(value) for name, value in x.items()}
    if isinstance(x, (tuple, list)):
        parts = map(_with_symbols, x)
        out = type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
        getattr(out, "__dict__", {}).update(getattr(x, "__dict__", {}))  # with what else it knows
        return out
    if is_dataclass(x) and not isinstance(x, type):
        part = copy.copy(x)  # with what else it knows
        for field in fields(x):
            object.__setattr__(part, field.name, _with_symbols(getattr(x, field.name)))
        return part
    return x


def is_tracing() -> bool:
    """Whether this thread traces a user's function."""
    return getattr(_tracing, "now", False)


def _depth() -> int:
    """How many traces of this thread run, one within the other."""
    return getattr(_tracing, "depth", 0)


def _count(change: int) -> None:
    """Another trace begins or ends: the first puts NumPy's functions aside, the last puts them back."""
    global _traces
    with _lock:
        _traces += change
        for name, (function, _) in _ORIGINAL.items():
            setattr(np, name, _KEEPING[name] if _traces else function)


def _forget_other_threads() -> None:
    """In a forked child, which has none of them: their traces never end, nor does one let go of the lock."""
    global _lock, _traces
    _lock, _traces = threading.Lock(), 0
    _count(_depth())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_other_threads)
