"""Functions that remember: what a user's function keeps from one call to the next.

A program computes the same from the same inputs, so a law with an integral, a counter, a list of what it saw or a
stream of random numbers cannot be one. Tracing calls a function once; what it changed by that, in itself or around it,
is found here, put back as it was, and named. What cannot be put back (a generator, a file) is refused beforehand.
"""

from __future__ import annotations

import functools
import io
import random
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...errors import UntraceableError

_WITHOUT_MEMORY = {"linkwise", "numpy", "scipy", "jax", "builtins", "functools", "collections"}
_SPENT_BY_USE = (types.GeneratorType, io.IOBase)  # and what itertools makes


@contextmanager
def refusing_memory(function: Callable[..., Any]) -> Iterator[None]:
    """While a function is traced: what it changes is put back, and :class:`UntraceableError` names it."""
    kept = _Kept(function)
    if kept.spent_by_use:
        _refuse(kept.spent_by_use)
    try:
        yield
    finally:
        changed = kept.put_back()
    if changed:
        _refuse(changed)


def _refuse(names: list[str]) -> None:
    said = ", ".join(dict.fromkeys(names))
    raise UntraceableError(f"it keeps something from call to call ({said}), and a program knows its inputs alone")


class _Kept:
    """Everything that a function can change and a copy of it, found by walking what the function holds and reads."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.spent_by_use: list[str] = []
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
        if isinstance(x, (types.ModuleType, types.BuiltinFunctionType)):
            return
        if isinstance(x, types.FunctionType):
            self._function(x)
        elif isinstance(x, types.MethodType):
            self._see(x.__func__, name)
            self._see(x.__self__, "self")
        elif isinstance(x, functools.partial):
            for part in (x.func, *x.args, *x.keywords.values()):
                self._see(part, name)
        elif isinstance(x, dict):
            self._dictionary(x, name)
        elif isinstance(x, (list, set, deque)):
            self._container(x, name)
        elif isinstance(x, (tuple, frozenset)):
            for item in x:
                self._see(item, name)
        elif isinstance(x, np.ndarray):
            self._array(x, name)
        elif isinstance(x, (np.random.Generator, np.random.RandomState)):
            self._numpys_stream(x, name)
        elif isinstance(x, random.Random):
            self._pythons_stream(x, name)
        elif isinstance(x, _SPENT_BY_USE) or _package(type(x)) == "itertools":
            if not self._within_a_library:
                self.spent_by_use.append(name)
        else:
            self._object(x, name)

    # --- functions and objects -----------------------------------------------------------------------

    def _function(self, f: types.FunctionType) -> None:
        if _package(f) in _WITHOUT_MEMORY:
            return
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
            self._cell(cell, name)
        for value in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()):
            self._see(value, "a default")
        if _is_installed(_package(f)):  # its globals are the library's affair
            return
        for code in _nested(f.__code__):
            for name in code.co_names:
                if name in f.__globals__:
                    self._entry(f.__globals__, name, name)

    def _object(self, x: Any, name: str) -> None:
        """An object or a class: its fields, and of a class of the user's own what stands in it."""
        self._see(getattr(x, "__wrapped__", None), name)
        kind = x if isinstance(x, type) else type(x)
        if _package(kind) in _WITHOUT_MEMORY:
            return
        self._within_a_library |= _is_installed(_package(kind))
        for base in kind.__mro__:
            for key, value in [] if _is_installed(_package(base)) else list(vars(base).items()):
                if isinstance(value, types.MemberDescriptorType) and not isinstance(x, type):
                    self._attribute(x, key, f"{name}.{key}")  # one of __slots__
                elif not key.startswith("__") or key == "__call__":
                    self._attribute(base, key, f"{base.__name__}.{key}")
        if not isinstance(x, type) and isinstance(getattr(x, "__dict__", None), dict):
            self._dictionary(vars(x), name)

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

    def _dictionary(self, x: dict[Any, Any], name: str) -> None:
        before = dict(x)

        def back() -> None:
            x.clear()
            x.update(before)

        shown = f"{name}.{{}}" if all(isinstance(key, str) for key in before) else f"{name}[{{}}]"
        self._keep(name, lambda: x.keys() == before.keys(), back)
        for key in before:
            self._entry(x, key, shown.format(key))

    def _entry(self, x: dict[Any, Any], key: Any, name: str) -> None:
        before = x[key]
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

    # --- numbers -----------------------------------------------------------------------------------------

    def _array(self, x: np.ndarray, name: str) -> None:
        if not x.flags.writeable:
            return
        before = x.copy()
        if x.dtype == object:
            same = lambda: all(a is b for a, b in zip(x.flat, before.flat))
        else:
            same = lambda: x.tobytes() == before.tobytes()
        self._keep(name, same, lambda: x.__setitem__(..., before))

    def _numpys_stream(self, x: Any, name: str) -> None:
        source = getattr(x, "bit_generator", None) or x._bit_generator
        before = source.state
        self._keep(name, lambda: repr(source.state) == repr(before), lambda: setattr(source, "state", before))

    def _pythons_stream(self, x: random.Random, name: str) -> None:
        before = x.getstate()
        self._keep(name, lambda: x.getstate() == before, lambda: x.setstate(before))


def _package(x: Any) -> str:
    return str(getattr(x, "__module__", None) or "").partition(".")[0]


@functools.cache
def _is_installed(package: str) -> bool:
    """Whether a package is part of Python or was installed, and not the user's own."""
    if package == "__main__":  # a worker's own program is, it may be, and functions of the user's are sent to it
        return False
    if package in sys.stdlib_module_names:
        return True
    place = getattr(sys.modules.get(package), "__file__", None) or ""
    return package in _WITHOUT_MEMORY or "site-packages" in place or "dist-packages" in place


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)
