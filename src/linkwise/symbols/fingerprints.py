"""What a user's function is made of, so that it can be compared with one of another process.

Its parts are its code, the values in its closure, its defaults, the data it reads from globals and modules, and what
the functions that it calls are made of in turn; of an object, its fields and what stands in its class; of a class, its
methods, properties and attributes, inherited ones too. Each part has a name and a digest. What libraries bring goes by
its name, that of other installed packages by the file it stands in as well. What cannot be taken apart (a file, a
generator, a lock) is listed.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import sys
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .users_code import (
    NOT_THE_USERS,
    is_installed,
    is_worked_out,
    module_of,
    nested,
    read_outside,
    unwrapped,
)

_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None), type(Ellipsis)})
_NAMED = (types.BuiltinFunctionType, types.WrapperDescriptorType, types.MethodDescriptorType, np.ufunc)
_CACHED = type(functools.cache(len))
_CALLED = (types.FunctionType, types.MethodType, functools.partial, _CACHED)
_ANNOTATIONS = {"__annotate__", "__annotate_func__"}
_SHOWN = 24  # characters of a value that is written out, so that a message can say what it was


@dataclass
class MadeOf:
    """Parts, name → digest (or the value itself where it is short), and the names of what cannot be compared."""

    parts: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    libraries: set[str] = field(default_factory=set)  # the names of what installed packages and Python bring
    worked_out: dict[str, str] = field(default_factory=dict)  # name → digest of what properties found and keep

    @property
    def identity(self) -> str | None:
        """The same for functions that compute the same; None where parts are unknown, or read the world outside.

        What properties keep counts here: it may be others than they would find now.
        """
        if self.unknown or any(not _computes(name) for name in self.libraries):
            return None
        return digest(sorted(self.parts.items()), sorted(self.worked_out.items()))


_COMPUTE = (
    "numpy.", "math.", "linkwise.", "functools.", "operator.", "itertools.", "dataclasses.", "builtins.", "copyreg.",
)  # fmt: skip
_READS = ("numpy.random", "numpy.load", "numpy.from", "numpy.genfromtxt", "numpy.memmap")
_LIBRARY = "numpy.lib."  # some of which reads files
_LIBRARY_COMPUTES = re.compile(
    r"_?(twodim_base|function_base|shape_base|index_tricks|nanfunctions|stride_tricks|type_check|ufunclike|arraysetops"
    r"|polynomial|arraypad|histograms)(_impl)?\."
)
_OUTSIDE = frozenset(
    {"open", "input", "exec", "eval", "compile", "__import__", "globals", "locals", "vars", "id", "hash"}
)


def _computes(name: str) -> bool:
    """Whether what a library brings gives the same for the same arguments."""
    if name.startswith(_LIBRARY):
        return _LIBRARY_COMPUTES.match(name.removeprefix(_LIBRARY)) is not None
    return name.startswith(_COMPUTE) and not name.startswith(_READS)


def made_of(function: Callable[..., Any]) -> MadeOf:
    """The parts of a function or of an object that is called."""
    found = MadeOf()
    try:
        _Taking(found).function(function, "")
    except RecursionError:  # nothing is known of what lies too deep to be followed
        return MadeOf(unknown=["what it holds, which is nested too deeply,"])
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
    """Takes functions apart.

    ``path`` are the values it is within, so that it does not go round in circles, and ``known`` the functions and
    classes it has met, each with the name it met them by: they are taken apart once.
    """

    def __init__(self, found: MadeOf, path: list[int] | None = None, known: dict[int, str] | None = None) -> None:
        self.found = found
        self.path = [] if path is None else path
        self.known = {} if known is None else known

    # --- functions -----------------------------------------------------------------------------------

    def function(self, x: Any, name: str) -> None:
        """Parts of a function, a class or an object that is called, under names that begin with ``name``."""
        if isinstance(x, functools.partial):
            self.function(x.func, name)
            given = {f"argument {i + 1}": value for i, value in enumerate(x.args)}
            for key, value in (given | x.keywords).items():
                self._part(name + key, value)
        elif isinstance(x, types.MethodType):
            self.function(x.__func__, name)
            self.function(x.__self__, name) if isinstance(x.__self__, type) else self._object(x.__self__, name)
        elif isinstance(x, (types.FunctionType, type)):
            if id(x) in self.known:
                self._put(f"{name}code", f"that of {self.known[id(x)]}")
                return
            self.known[id(x)] = name.rstrip(".") or "the function itself"
            self._class(x, name) if isinstance(x, type) else self._python(x, name)
        elif isinstance(x, _CACHED):
            self._put(f"{name}cache", repr(x.cache_parameters()))
            self.function(x.__wrapped__, name)
        elif isinstance(x, _NAMED):
            self._put(f"{name}code", digest(*self.value(x, name)) if _is_bound(x) else self._named(x, name))
        else:  # an object that is called
            self._object(x, name)

    def _python(self, f: types.FunctionType, path: str) -> None:
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
            self._part(path + name, _content(cell))
        for name, value in _defaults(f):
            self._part(path + name, value)
        if is_installed(f):
            self._put(f"{path}code", _stands_for(f))
            self.found.libraries.add(f"{module_of(f)}.{f.__qualname__}")
            return
        self._put(f"{path}code", digest(*_code(f.__code__)))
        for name, value in vars(f).items():
            if name != "__wrapped__":  # which the function holds, if it calls it
                self._part(f"{path}{f.__name__}.{name}", value)
        self.found.libraries |= {f"outside.{x}" for code in nested(f.__code__) for x in _OUTSIDE & {*code.co_names}}
        for name, value in read_outside(f).items():
            self._part(path + name, value)

    def _object(self, x: Any, path: str) -> None:
        """The fields of an object and what stands in its class, each a part of its own."""
        self.function(type(x), path)
        state = x.__getstate__()
        self._what_it_leaves_out(x, state, path)
        if isinstance(state, dict):
            for name, value in self._without_caches(x, state, path).items():
                self._part(path + name, value)
        elif state is not None or any(map(is_installed, type(x).__mro__[:-1])):
            self._part(f"{path}{type(x).__name__}", x)

    def _class(self, kind: type, path: str) -> None:
        """What stands in a class, in those it inherits from and in its metaclasses; of libraries their names."""
        self._put(f"{path}class", _stands_for(kind))
        if is_installed(kind):
            self.found.libraries.add(f"{module_of(kind)}.{kind.__qualname__}")
        metaclass: type = type(kind)
        for base in [x for x in (*kind.__mro__, *metaclass.__mro__) if not is_installed(x)]:
            for name, member in vars(base).items():
                for what, x in unwrapped(member):
                    special = name.startswith("__") and name.endswith("__")
                    if name == "__hash__" and "__dataclass_fields__" in vars(base):
                        continue  # of the fields, which are parts themselves
                    if not special or (isinstance(x, types.FunctionType) and name not in _ANNOTATIONS):
                        self._part(f"{path}{base.__qualname__}.{name}{what}", x)

    def _part(self, name: str, value: Any) -> None:
        """A value under its name: functions and classes by their parts, others whole."""
        if value is os.environ:  # no two terminals have the same, and which of it is read is not known
            self.found.unknown.append(f"{name} (the environment of the process)")
        elif isinstance(value, (*_CALLED, type)):
            self.function(value, f"{name}.")
        elif (type(value) in _PLAIN or isinstance(value, np.generic)) and len(repr(value)) <= _SHOWN:
            self._put(name, repr(value))
        else:
            self._put(name, digest(*self.value(value, name)))

    def _put(self, name: str, text: str) -> None:
        while name in self.found.parts:  # two of one name, such as a class and one that it inherits from
            name += "'"
        self.found.parts[name] = text

    def _named(self, x: Any, name: str) -> str:
        if isinstance(x, np.ufunc) and "(vectorized)" in x.__name__:  # of a Python function, which it does not show
            self.found.unknown.append(f"{name.rstrip('.')} ({x.__name__})")
        self.found.libraries.add(_name(x).removeprefix("None."))
        return _name(x)

    # --- values --------------------------------------------------------------------------------------

    def value(self, x: Any, name: str) -> Iterator[Any]:
        """What a value holds, in plain pieces."""
        if type(x) in _PLAIN:
            yield type(x).__name__, x
        elif isinstance(x, np.ndarray) and x.dtype != object and is_installed(type(x)):
            yield x
            if isinstance(x, np.ma.MaskedArray):
                yield np.ma.getmaskarray(x)
        elif isinstance(x, np.generic):
            yield np.asarray(x)
        elif isinstance(x, _NAMED) and not _is_bound(x):
            yield "named", self._named(x, name)
        elif isinstance(x, type) and id(x) in self.known:
            yield "class", self.known[id(x)]
        elif id(x) in self.path:
            yield "round", self.path.index(id(x))
        else:
            self.path.append(id(x))
            yield from self._compound(x, name)
            self.path.pop()

    def _compound(self, x: Any, name: str) -> Iterator[Any]:
        yield type(x).__qualname__
        if isinstance(x, (*_CALLED, type)):
            inner = MadeOf()
            _Taking(inner, self.path, self.known).function(x, f"{name}#{len(self.known)}.")
            self.found.unknown += inner.unknown
            self.found.libraries |= inner.libraries
            self.found.worked_out |= inner.worked_out
            yield sorted(inner.parts.items())
        elif isinstance(x, types.ModuleType):
            yield x.__name__
            self.found.libraries.add(f"module {x.__name__}")  # any of its functions may be called
            if not is_installed(x):
                yield from self.value(_members(x), name)
        elif isinstance(x, (set, frozenset)):  # whose order changes from process to process
            apart = [_Taking(self.found, [*self.path], dict(self.known)) for _ in x]
            yield sorted(digest(*taking.value(item, name)) for taking, item in zip(apart, x))
        elif isinstance(x, (weakref.WeakKeyDictionary, weakref.WeakValueDictionary)):
            self.found.libraries.add("weakref")  # mostly what was worked out, which is not compared
        elif not is_installed(type(x)) and isinstance(x, (Mapping, list, tuple, np.ndarray)):
            yield from self._own_container(x, name)
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
        elif is_installed(type(x)) and hasattr(x, "__wrapped__"):  # a function that a library has decorated
            yield from self.value(x.__wrapped__, name)
        else:
            yield from self._reduced(x, name)

    def _reduced(self, x: Any, name: str) -> Iterator[Any]:
        """An object as it would be pickled: what makes it, and its state."""
        try:
            how = x.__reduce_ex__(4)
        except Exception:  # files, locks, generators, numbers shared by processes: each says so in its own way
            self.found.unknown.append(f"{name} ({type(x).__name__})")
            return
        pieces = [how] if isinstance(how, str) else [list(x) if isinstance(x, Iterator) else x for x in how]
        self._what_it_leaves_out(x, pieces[2] if len(pieces) > 2 else None, f"{name}.")
        for piece in pieces:
            yield from self.value(self._without_caches(x, piece, name) if isinstance(piece, dict) else piece, name)

    def _own_container(self, x: Any, name: str) -> Iterator[Any]:
        """A container of the user's own: its class and its fields, and what it holds."""
        yield from self.value(type(x), name)
        yield from self.value(getattr(x, "__dict__", {}), name)
        if isinstance(x, np.ndarray):
            yield from self.value(np.asarray(x), name)
        else:
            yield from self.value([*x.items()] if isinstance(x, Mapping) else [*x], name)

    def _without_caches(self, x: Any, state: Mapping[str, Any], path: str) -> dict[str, Any]:
        """The state of an object, but for what properties of its class have worked out from the rest."""
        kind = type(x)
        for name, value in state.items():
            if is_worked_out(kind, name) and not is_installed(kind):
                known = _Taking(MadeOf(), [*self.path], dict(self.known))
                self.found.worked_out[f"{path}{name}"] = digest(*known.value(value, name))
        return {k: value for k, value in state.items() if not is_worked_out(kind, k)}

    def _what_it_leaves_out(self, x: Any, state: Any, path: str) -> None:
        """Of an object whose class says itself what its state is: the fields that are not in it."""
        says = ("__getstate__", "__reduce__", "__reduce_ex__")
        if is_installed(next(kind for kind in type(x).__mro__ if any(name in vars(kind) for name in says))):
            return
        told = state.keys() if isinstance(state, dict) else ()
        missing = [k for k in getattr(x, "__dict__", {}) if k not in told]
        self.found.unknown += [f"{path}{k} (which {type(x).__name__} leaves out of its state)" for k in missing]


# --- the parts of a function --------------------------------------------------------------------------------


def _members(module: types.ModuleType) -> dict[str, Any]:
    own = {k: x for k, x in vars(module).items() if not (k.startswith("__") and k.endswith("__"))}
    return {k: x for k, x in own.items() if not isinstance(x, types.ModuleType)}


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
    yield code.co_exceptiontable
    yield code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]  # by which laws are called
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code(constant)
        else:
            yield sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant


# --- whose a function is ----------------------------------------------------------------------------------------


def _stands_for(x: Any) -> str:
    """The name of what a library brings; of other installed packages, with a digest of the file it stands in."""
    module = module_of(x)
    place = getattr(sys.modules.get(module), "__file__", None) or ""
    if module.partition(".")[0] in NOT_THE_USERS or not is_installed(x) or not place.endswith(".py"):
        return _name(x)
    return f"{_name(x)} in {_file_digest(place)}"


@functools.cache
def _file_digest(place: str) -> str:
    try:
        return digest(Path(place).read_bytes())[:16]
    except OSError:  # inside an archive
        return "a file that cannot be read"


def _is_bound(x: Any) -> bool:
    """Whether a built-in function is a method of some object, such as a generator's ``normal``."""
    return not isinstance(getattr(x, "__self__", None), (types.ModuleType, type(None), type))


def _name(x: Any) -> str:
    module = getattr(x, "__module__", None)
    return f"{module}.{getattr(x, '__qualname__', getattr(x, '__name__', repr(x)))}"
