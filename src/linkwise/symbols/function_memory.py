"""Functions that remember, or ask the world: what a program, which knows its inputs alone, cannot be made of.

A program computes the same from the same inputs, so a law with an integral, a counter, a list of what it saw or a
stream of random numbers cannot be one. Tracing calls a function once; what it changed by that, in itself or around it,
is found here, put back as it was, and named. What cannot be put back (a generator, a file), and what has another answer
at every call (a clock, a stream of random numbers that is made anew) is refused beforehand.
"""

from __future__ import annotations

import array
import contextlib
import datetime
import functools
import io
import os
import random
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from ..errors import UntraceableError
from .scalar import OtherProgramError
from .users_code import (
    gets_a_constant,
    is_installed,
    is_worked_out,
    module_of,
    nested,
    package_of,
    read_outside,
    unwrapped,
)

_WITHOUT_MEMORY = {"linkwise", "numpy", "scipy", "jax"}
_ANEW = ("time", "secrets", "uuid", "numpy.random")  # modules of what has another answer at every call
_DATES = (datetime, datetime.datetime, datetime.date)
_SEEDED = (random.Random, np.random.RandomState, np.random.default_rng)  # the same at every call if their seed is
_STREAMS = (np.random.Generator, np.random.RandomState)
_NOW = {"now", "utcnow", "today"}  # what asks these for the time


@contextmanager
def refusing_memory(function: Callable[..., Any]) -> Iterator[None]:
    """While a function is traced: what it changes is put back, and :class:`UntraceableError` names it."""
    kept = _Kept(function)
    if kept.spent_by_use:
        _refuse(kept.spent_by_use)
    if kept.asked_anew:
        said = ", ".join(dict.fromkeys(kept.asked_anew))
        raise UntraceableError(f"it uses {said}, of which a call may give something else than the one before")
    changed: list[str] = []
    try:
        yield
    except OtherProgramError:  # of something that it keeps
        changed = kept.put_back()
        if not changed:
            raise
    finally:
        changed = changed or kept.put_back()
    if changed:
        _refuse(changed)


def _refuse(names: list[str]) -> None:
    said = ", ".join(dict.fromkeys(names))
    raise UntraceableError(f"it keeps something from call to call ({said}), and a program knows its inputs alone")


class _Kept:
    """Everything that a function can change and a copy of it, found by walking what the function holds and reads."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.spent_by_use: list[str] = []
        self.asked_anew: list[str] = []
        self._restore: list[tuple[str, Callable[[], bool], Callable[[], Any]]] = []
        self._seen: dict[int, Any] = {}  # by identity; the objects are kept, so that none is taken for another
        self._ahead: list[tuple[Any, str, bool]] = []
        self._within_a_library = False  # whether what is walked is held by an object that some library made
        self._numpys_stream(np.random.mtrand._rand, "np.random")
        before = random.getstate()
        self._keep("random", lambda: random.getstate() == before, lambda: random.setstate(before))
        self._see(function, getattr(function, "__name__", type(function).__name__))
        while self._ahead:
            x, name, self._within_a_library = self._ahead.pop()
            self._walk(x, name)

    def put_back(self) -> list[str]:
        """The names of what has changed, as it was again."""
        changed = [(name, back) for name, same, back in self._restore if not same()]
        for _, back in changed:
            back()
        return [name for name, _ in changed]

    def _keep(self, name: str, same: Callable[[], bool], back: Callable[[], Any]) -> None:
        self._restore.append((name, same, back))

    def _see(self, x: Any, name: str) -> None:
        if id(x) not in self._seen:
            self._seen[id(x)] = x
            self._ahead.append((x, name, self._within_a_library))

    def _walk(self, x: Any, name: str) -> None:
        if isinstance(x, types.ModuleType):
            if not is_installed(x):
                self._dictionary(vars(x), name)
        elif isinstance(x, types.FunctionType):
            self._function(x)
        elif isinstance(x, (types.MethodType, types.BuiltinFunctionType)) or _is_of_cython(x):
            self._see(getattr(x, "__func__", None), name)
            self._see(getattr(x, "__self__", None), "self" if isinstance(x, types.MethodType) else name)
        elif isinstance(x, functools.partial):
            for part in (x.func, *x.args, *x.keywords.values()):
                self._see(part, name)
        elif isinstance(x, dict):
            self._dictionary(x, name)
            self._fields(x, name)
        elif isinstance(x, (list, set, deque)):
            self._container(x, name)
            self._fields(x, name)
        elif isinstance(x, (tuple, frozenset)):
            for item in x:
                self._see(item, name)
        elif isinstance(x, np.ndarray):
            self._array(x, name)
        elif isinstance(x, _STREAMS):
            self._numpys_stream(x, name)
        elif isinstance(x, random.SystemRandom):
            self.asked_anew.append(name)
        elif isinstance(x, random.Random):
            self._pythons_stream(x, name)
        elif isinstance(x, ContextVar):
            self._context(x, name)
        elif isinstance(x, weakref.ref):
            self._see(x(), name)
        elif isinstance(x, (types.CellType, np.generic, *_PLAIN)):
            return
        elif _is_spent_by_use(x):
            if not self._within_a_library:
                self.spent_by_use.append(name)
        elif _is_memory(x):
            self._bytes(x, name)
        else:
            self._object(x, name)

    # --- functions and objects -----------------------------------------------------------------------

    def _function(self, f: types.FunctionType) -> None:
        if package_of(f) in _WITHOUT_MEMORY:
            self._functions_among(_closed_over(f))
            return
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
            self._cell(cell, name)
        for value in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()):
            self._see(value, "a default")
        self._dictionary(vars(f), f.__name__)
        if is_installed(f):  # its globals are the library's affair
            return
        for code in nested(f.__code__):
            for name in code.co_names:
                self._entry(f.__globals__, name, name)
        reads = read_outside(f)
        asks_the_time = any(_NOW & {*code.co_names} for code in nested(f.__code__))
        self.asked_anew += [
            name
            for name, x in reads.items()
            if (_is_anew(x) and not (any(x is kind for kind in _SEEDED) and gets_a_constant(f, name)))
            or (asks_the_time and any(x is kind for kind in _DATES))
        ]
        for name, x in reads.items():
            if isinstance(x, types.ModuleType):
                self._see(x, name)

    def _functions_among(self, held: Mapping[str, Any]) -> None:
        """What is called of what something without memory holds: a law of linkwise has none, its reference may."""
        for name, value in held.items():
            if callable(value):
                self._see(value, name)

    def _object(self, x: Any, name: str) -> None:
        """An object or a class: its fields, and of a class of the user's own what stands in it."""
        for _, part in unwrapped(x):
            if part is not x:  # a property, a static method
                self._see(part, name)
        kind = x if isinstance(x, type) else type(x)
        if is_installed(kind):  # (a class of the user's own may make up attributes, or raise anything)
            self._see(getattr(x, "__wrapped__", None), name)
            self._see(getattr(x, "pyfunc", None), name)  # what np.vectorize calls
        if package_of(kind) in _WITHOUT_MEMORY:
            self._functions_among(getattr(x, "__dict__", {}))
            return
        self._within_a_library |= is_installed(kind)
        for base in kind.__mro__:
            if not is_installed(base):
                self._class(base, x, name)
        self._fields(x, name)

    def _class(self, base: type, x: Any, name: str) -> None:
        """What stands in a class of the user's own, and the slots of an object of it."""
        before = {*vars(base)}
        for key, value in list(vars(base).items()):
            if isinstance(value, types.MemberDescriptorType) and not isinstance(x, type):
                self._attribute(x, key, f"{name}.{key}")  # one of __slots__
            elif not key.startswith("__") or key == "__call__":
                self._attribute(base, key, f"{base.__name__}.{key}")

        def new() -> list[str]:
            return [key for key in vars(base).keys() - before if not key.startswith("__")]

        def back() -> None:
            for key in new():
                delattr(base, key)

        self._keep(base.__name__, lambda: not new(), back)

    def _fields(self, x: Any, name: str) -> None:
        if not isinstance(x, type) and isinstance(getattr(x, "__dict__", None), dict):
            self._dictionary(vars(x), name, type(x))

    def _attribute(self, x: Any, key: str, name: str) -> None:
        missing = object()

        def read() -> Any:
            return vars(x).get(key, missing) if isinstance(x, type) else getattr(x, key, missing)

        before = read()
        if before is missing:
            self._keep(name, lambda: read() is missing, lambda: delattr(x, key))
            return
        self._keep(name, lambda: read() is before, lambda: setattr(x, key, before))
        self._see(before, name)

    def _cell(self, cell: types.CellType, name: str) -> None:
        try:
            before = cell.cell_contents
        except ValueError:  # not filled yet
            return
        self._keep(name, lambda: cell.cell_contents is before, lambda: setattr(cell, "cell_contents", before))
        self._see(before, name)

    # --- what holds others -----------------------------------------------------------------------------

    def _dictionary(self, x: dict[Any, Any], name: str, kind: type = object) -> None:
        """A dictionary; of an object of this ``kind``, but for what its properties work out from the rest."""
        before = dict(x)

        def back() -> None:
            for key in x.keys() - before.keys():
                del x[key]
            x.update(before)

        def same() -> bool:
            new = x.keys() - before.keys()
            for key in [key for key in new if is_worked_out(kind, key) and not _is_number(x[key])]:
                del x[key]  # which may hold symbols; it is worked out again
            return not any(not is_worked_out(kind, key) for key in new) and x.keys() >= before.keys()

        shown = f"{name}.{{}}" if all(isinstance(key, str) for key in before) else f"{name}[{{}}]"
        self._keep(name, same, back)
        for key in before:
            self._entry(x, key, shown.format(key))

    def _entry(self, x: dict[Any, Any], key: Any, name: str) -> None:
        missing = object()
        before = x.get(key, missing)
        if before is missing:
            self._keep(name, lambda: key not in x, lambda: x.pop(key))
            return
        self._keep(name, lambda: x.get(key) is before, lambda: x.__setitem__(key, before))
        self._see(before, name)

    def _container(self, x: Any, name: str) -> None:
        before = list(x)

        def back() -> None:
            x.clear()
            (x.update if isinstance(x, set) else x.extend)(before)

        self._keep(name, lambda: len(x) == len(before) and all(a is b for a, b in zip(x, before)), back)
        for item in before:
            self._see(item, name)

    def _context(self, x: ContextVar[Any], name: str) -> None:
        missing = object()
        before = x.get(missing)
        if before is missing:
            self.spent_by_use.append(name)
            return
        self._keep(name, lambda: x.get(missing) is before, lambda: x.set(before))
        self._see(before, name)

    # --- numbers -----------------------------------------------------------------------------------------

    def _array(self, x: np.ndarray, name: str) -> None:
        if not x.flags.writeable:
            return
        before = x.copy()
        if x.dtype == object:
            same = lambda: all(a is b for a, b in zip(x.flat, before.flat))
            for item in x.flat:
                self._see(item, name)
        else:
            same = lambda: x.tobytes() == before.tobytes()
        self._keep(name, same, lambda: x.__setitem__(..., before))

    def _bytes(self, x: Any, name: str) -> None:
        before = memoryview(x).tobytes()

        def back() -> None:
            if isinstance(x, array.array):
                del x[:]
                x.frombytes(before)
            elif isinstance(x, bytearray):
                x[:] = before
            else:
                memoryview(x).cast("B")[:] = before

        self._keep(name, lambda: memoryview(x).tobytes() == before, back)

    def _numpys_stream(self, x: Any, name: str) -> None:
        source = getattr(x, "bit_generator", None) or x._bit_generator
        before = source.state
        self._keep(name, lambda: repr(source.state) == repr(before), lambda: setattr(source, "state", before))

    def _pythons_stream(self, x: random.Random, name: str) -> None:
        before = x.getstate()
        self._keep(name, lambda: x.getstate() == before, lambda: x.setstate(before))


def _closed_over(f: types.FunctionType) -> dict[str, Any]:
    """What a function's closure holds, by name."""
    found = {}
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
        with contextlib.suppress(ValueError):  # not filled yet
            found[name] = cell.cell_contents
    return found


# --- kinds of things ----------------------------------------------------------------------------------------

_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, slice)


def _is_number(x: Any) -> bool:
    """Whether it is a number, an array of them, or a word."""
    return isinstance(x, (np.generic, *_PLAIN)) or (isinstance(x, np.ndarray) and x.dtype != object)


def _is_spent_by_use(x: Any) -> bool:
    """Whether it is a file, or an iterator that is not written in Python, which does not show where it is."""
    return isinstance(x, io.IOBase) or (isinstance(x, Iterator) and not hasattr(x, "__dict__"))


def _is_memory(x: Any) -> bool:
    """Whether others can write into its bytes."""
    with contextlib.suppress(TypeError):
        return not memoryview(x).readonly
    return False


def _is_of_cython(x: Any) -> bool:
    """Whether it is a function that Cython compiled, whose attributes are made anew when they are read."""
    return type(x).__module__.startswith("_cython_")


def _is_anew(x: Any) -> bool:
    """Whether it is a function, a class or a module of what has another answer at every call."""
    if any(x is known for known in (os.urandom, random.Random, random.SystemRandom)):
        return True
    if not (isinstance(x, types.ModuleType) or callable(x)) or isinstance(getattr(x, "__self__", None), _STREAMS):
        return False  # (what streams give shows in their states)
    module = module_of(x)
    return any(module == name or module.startswith(f"{name}.") for name in _ANEW)
