"""What a user's function is made of, so that it can be compared with one of another process.

Its parts are its code, the values in its closure, its defaults, the data it reads from globals and modules, and what
the functions that it calls are made of in turn; of an object that is called, its fields. Each part has a name and a
digest. Functions of libraries go by their names. What cannot be taken apart (a file, a generator, a lock) is listed.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_LIBRARIES = {"linkwise", "numpy", "scipy", "jax", *sys.stdlib_module_names} - {"__main__"}
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))
_NAMED = (types.BuiltinFunctionType, np.ufunc, type)
_SHOWN = 24  # characters of a value that is written out, so that a message can say what it was


@dataclass
class MadeOf:
    """Parts, name → digest (or the value itself where it is short), and the names of what cannot be compared."""

    parts: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)


def made_of(function: Callable[..., Any]) -> MadeOf:
    """The parts of a function or of an object that is called."""
    found = MadeOf()
    _Taking(found).function(function, "")
    return found


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The names of parts that differ, with their values where these are short."""
    return [_difference(name, before.get(name), now.get(name)) for name in sorted({*before, *now})
            if before.get(name) != now.get(name)]  # fmt: skip


def _difference(name: str, before: str | None, now: str | None) -> str:
    if before is None or now is None:
        return f"{name} (only {'now' if before is None else 'then'})"
    shown = all(len(x) <= _SHOWN for x in (before, now))
    return f"{name} ({before} then, {now} now)" if shown else name


def digest(*parts: Any) -> str:
    """A digest of arrays, bytes, and whatever else by its repr."""
    found = hashlib.sha256()
    for x in parts:
        if isinstance(x, np.ndarray):
            found.update(f"{x.dtype}{x.shape}".encode())
            x = np.ascontiguousarray(x).tobytes()
        found.update(x if isinstance(x, bytes) else repr(x).encode())
        found.update(b"\0")
    return found.hexdigest()


class _Taking:
    """Takes functions apart; ``path`` are those it is within, so that it does not go round in circles."""

    def __init__(self, found: MadeOf, path: list[int] | None = None) -> None:
        self.found = found
        self.path = [] if path is None else path

    # --- functions -----------------------------------------------------------------------------------

    def function(self, x: Any, name: str) -> None:
        """Parts of a function under names that begin with ``name``."""
        if id(x) in self.path:
            return
        self.path.append(id(x))
        if isinstance(x, functools.partial):
            self.function(x.func, name)
            given = {f"argument {i + 1}": value for i, value in enumerate(x.args)}
            for key, value in (given | x.keywords).items():
                self._part(name + key, value)
        elif isinstance(x, types.MethodType):
            self.function(x.__func__, name)
            self._object(x.__self__, name)
        elif isinstance(x, types.FunctionType):
            self._python(x, name)
        elif isinstance(x, (*_NAMED, types.WrapperDescriptorType)):
            self.found.parts[f"{name}code"] = _name(x)
        else:  # an object that is called
            self.function(type(x).__call__, name)
            self._object(x, name)
        self.path.pop()

    def _python(self, f: types.FunctionType, path: str) -> None:
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
            self._part(path + name, _content(cell))
        for name, value in _defaults(f):
            self._part(path + name, value)
        if _is_of_a_library(f):
            self.found.parts[f"{path}code"] = _name(f)
            return
        self.found.parts[f"{path}code"] = digest(*_code(f.__code__))
        for name, value in _read_globals(f):
            self._part(path + name, value)

    def _object(self, x: Any, path: str) -> None:
        """The fields of an object, each a part of its own."""
        state = x.__getstate__()
        if not isinstance(state, dict):
            self._part(f"{path}{type(x).__name__}", x)
            return
        for name, value in _without_caches(type(x), state).items():
            self._part(path + name, value)

    def _part(self, name: str, value: Any) -> None:
        """A value under its name: functions by their parts, others whole."""
        if isinstance(value, (types.FunctionType, types.MethodType, functools.partial)):
            self.function(value, f"{name}.")
        elif isinstance(value, _PLAIN) and len(repr(value)) <= _SHOWN:
            self.found.parts[name] = repr(value)
        else:
            self.found.parts[name] = digest(*self.value(value, name))

    # --- values --------------------------------------------------------------------------------------

    def value(self, x: Any, name: str) -> Iterator[Any]:
        """What a value holds, in plain pieces."""
        if isinstance(x, _PLAIN):
            yield type(x).__name__, x
        elif isinstance(x, np.ndarray) and x.dtype != object:
            yield x
        elif isinstance(x, np.generic):
            yield np.asarray(x)
        elif isinstance(x, types.ModuleType):
            yield "module", x.__name__
        elif isinstance(x, _NAMED):
            yield "named", _name(x)
            if isinstance(x, type):
                yield from _methods(x)
        elif id(x) in self.path:
            yield "round", self.path.index(id(x))
        else:
            self.path.append(id(x))
            yield from self._compound(x, name)
            self.path.pop()

    def _compound(self, x: Any, name: str) -> Iterator[Any]:
        yield type(x).__qualname__
        if isinstance(x, (types.FunctionType, types.MethodType, functools.partial)):
            inner = MadeOf()
            _Taking(inner, self.path[:-1]).function(x, "")
            self.found.unknown += [f"{name}.{u}" for u in inner.unknown]
            yield sorted(inner.parts.items())
        elif isinstance(x, (set, frozenset)):  # whose order changes from process to process
            yield sorted(digest(*self.value(item, name)) for item in x)
        elif isinstance(x, Mapping):
            for key, item in x.items():
                yield from self.value(key, name)
                yield from self.value(item, name)
        elif isinstance(x, (list, tuple)):
            yield len(x)
            for item in x:
                yield from self.value(item, name)
        elif isinstance(x, np.ndarray):
            yield x.shape
            yield from self.value(x.tolist(), name)
        else:
            yield from self._reduced(x, name)

    def _reduced(self, x: Any, name: str) -> Iterator[Any]:
        """An object as it would be pickled: what makes it, and its state."""
        try:
            how = x.__reduce_ex__(4)
        except (TypeError, AttributeError, NotImplementedError, ValueError):  # files, locks, generators …
            self.found.unknown.append(f"{name} ({type(x).__name__})")
            return
        for piece in (how,) if isinstance(how, str) else how:
            if isinstance(piece, Iterator):
                piece = list(piece)
            elif isinstance(piece, dict):
                piece = _without_caches(type(x), piece)
            yield from self.value(piece, name)


# --- the parts of a function --------------------------------------------------------------------------------


def _without_caches(kind: type, state: Mapping[str, Any]) -> dict[str, Any]:
    """The state of an object, but for what it worked out from the rest."""
    return {k: x for k, x in state.items() if not isinstance(getattr(kind, str(k), None), functools.cached_property)}


def _methods(kind: type) -> Iterator[Any]:
    """The code of a class of the user's."""
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] not in _LIBRARIES:
            for name, x in vars(base).items():
                if isinstance(x, types.FunctionType):
                    yield name, digest(*_code(x.__code__))


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return "nothing"


def _defaults(f: types.FunctionType) -> Iterator[tuple[str, Any]]:
    given = f.__defaults__ or ()
    names = f.__code__.co_varnames[: f.__code__.co_argcount]
    yield from zip(names[len(names) - len(given) :], given)
    yield from (f.__kwdefaults__ or {}).items()


def _code(code: types.CodeType) -> Iterator[Any]:
    """What code does; not where it stands."""
    yield code.co_code
    yield code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code(constant)
        else:
            yield sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant


def _read_globals(f: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Names of globals that the code reads and their values; of modules, what it reads from them."""
    for code in _nested(f.__code__):
        value: Any = None
        name = ""
        for instruction in dis.get_instructions(code):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                name = str(instruction.argval)
                value = f.__globals__.get(name, None)
                read = name in f.__globals__
            elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(value, types.ModuleType):
                attribute = str(instruction.argval)
                name, read = f"{name}.{attribute}", hasattr(value, attribute)
                value = getattr(value, attribute, None)
            else:
                value, read = None, False
            if read and not isinstance(value, types.ModuleType):
                yield name, value


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)


def _is_of_a_library(f: types.FunctionType) -> bool:
    return (f.__module__ or "").partition(".")[0] in _LIBRARIES


def _name(x: Any) -> str:
    module = getattr(x, "__module__", None)
    return f"{module}.{getattr(x, '__qualname__', getattr(x, '__name__', repr(x)))}"
