"""Functions that remember: what a user's function keeps from one call to the next.

A program computes the same from the same inputs, so a law with an integral, a counter, a list of what it saw or a
stream of random numbers cannot be one. Tracing calls a function once; what it changed by that, in itself or around it,
is found here, put back as it was, and named.
"""

from __future__ import annotations

import functools
import random
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...errors import UntraceableError

_LIBRARIES = {"linkwise", "numpy", "scipy", "jax", "builtins", "functools", "collections"}


@contextmanager
def refusing_memory(function: Callable[..., Any]) -> Iterator[None]:
    """While a function is traced: what it changes is put back, and :class:`UntraceableError` names it."""
    kept = _Kept(function)
    try:
        yield
    finally:
        changed = kept.put_back()
    if changed:
        raise UntraceableError(
            f"it keeps something from one call to the next ({', '.join(changed)}), and a program knows its inputs alone"
        )


class _Kept:
    """Everything that a function can change and a copy of it, found by walking what the function holds and reads."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._restore: list[tuple[str, Callable[[], bool]]] = []
        self._seen: dict[int, Any] = {}  # by identity; the objects are kept, so that none is taken for another
        self._walk(function, getattr(function, "__name__", type(function).__name__))
        self._numpys_stream(np.random.mtrand._rand, "np.random")
        before = random.getstate()
        self._keep("random", lambda: random.getstate() == before, lambda: random.setstate(before))

    def put_back(self) -> list[str]:
        """The names of what has changed, as it was again."""
        return [name for name, restore in self._restore if restore()]

    def _keep(self, name: str, same: Callable[[], bool], back: Callable[[], Any]) -> None:
        def restore() -> bool:
            if same():
                return False
            back()
            return True

        self._restore.append((name, restore))

    def _walk(self, x: Any, name: str) -> None:
        if id(x) in self._seen or isinstance(x, (type, types.ModuleType, types.BuiltinFunctionType)):
            return
        self._seen[id(x)] = x
        if isinstance(x, types.FunctionType):
            self._function(x)
        elif isinstance(x, types.MethodType):
            self._walk(x.__func__, name)
            self._walk(x.__self__, "self")
        elif isinstance(x, functools.partial):
            for part in (x.func, *x.args, *x.keywords.values()):
                self._walk(part, name)
        elif isinstance(x, dict):
            self._dictionary(x, name)
        elif isinstance(x, (list, set)):
            self._container(x, name)
        elif isinstance(x, tuple):
            for item in x:
                self._walk(item, name)
        elif isinstance(x, np.ndarray):
            self._array(x, name)
        elif isinstance(x, (np.random.Generator, np.random.RandomState)):
            self._numpys_stream(x, name)
        elif type(x).__module__.partition(".")[0] not in _LIBRARIES:
            if callable(x):
                self._walk(type(x).__call__, name)
            if hasattr(x, "__dict__"):
                self._dictionary(vars(x), name)

    def _function(self, f: types.FunctionType) -> None:
        if (f.__module__ or "").partition(".")[0] in _LIBRARIES:
            return
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
            self._cell(cell, name)
        for value in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()):
            self._walk(value, "a default")
        for code in _nested(f.__code__):
            for name in code.co_names:
                if name in f.__globals__:
                    self._entry(f.__globals__, name, name)

    def _cell(self, cell: types.CellType, name: str) -> None:
        try:
            before = cell.cell_contents
        except ValueError:  # not filled yet
            return
        self._keep(name, lambda: cell.cell_contents is before, lambda: setattr(cell, "cell_contents", before))
        self._walk(before, name)

    def _entry(self, x: dict[Any, Any], key: Any, name: str) -> None:
        before = x[key]
        self._keep(name, lambda: x.get(key) is before, lambda: x.__setitem__(key, before))
        self._walk(before, name)

    def _dictionary(self, x: dict[Any, Any], name: str) -> None:
        before = dict(x)

        def back() -> None:
            x.clear()
            x.update(before)

        shown = f"{name}.{{}}" if all(isinstance(key, str) for key in before) else f"{name}[{{}}]"
        self._keep(name, lambda: x.keys() == before.keys(), back)
        for key in before:
            self._entry(x, key, shown.format(key))

    def _container(self, x: Any, name: str) -> None:
        before = list(x)

        def back() -> None:
            x.clear()
            (x.extend if isinstance(x, list) else x.update)(before)

        self._keep(name, lambda: len(x) == len(before) and all(a is b for a, b in zip(x, before)), back)
        for item in before:
            self._walk(item, name)

    def _array(self, x: np.ndarray, name: str) -> None:
        if not x.flags.writeable:
            return
        before = x.copy()
        self._keep(name, lambda: x.tobytes() == before.tobytes(), lambda: x.__setitem__(..., before))

    def _numpys_stream(self, x: Any, name: str) -> None:
        source = getattr(x, "bit_generator", None) or x._bit_generator
        before = source.state
        self._keep(name, lambda: repr(source.state) == repr(before), lambda: setattr(source, "state", before))


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)
