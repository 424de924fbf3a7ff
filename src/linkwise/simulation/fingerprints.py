"""What a user's function is made of, so that it can be compared with one of another process.

Its parts are its code, the values in its closure, its defaults, the data it reads from globals and modules, and what
the functions that it calls are made of in turn; of an object, its fields and what stands in its class; of a class, its
methods, properties and attributes, inherited ones too. Each part has a name and a digest. What libraries bring goes by
its name, that of other installed packages by the file it stands in as well. What cannot be taken apart (a file, a
generator, a lock) is listed.
"""

from __future__ import annotations

import dis
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

_BY_NAME = {"linkwise", "numpy", "scipy", "jax", *sys.stdlib_module_names} - {"__main__"}
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))
_NAMED = (types.BuiltinFunctionType, types.WrapperDescriptorType, types.MethodDescriptorType, np.ufunc)
_CACHED = type(functools.cache(len))
_CALLED = (types.FunctionType, types.MethodType, functools.partial, _CACHED)
_NO_PART = (types.MemberDescriptorType, types.GetSetDescriptorType)  # of a class: where its objects keep their fields
_ANNOTATIONS = {"__annotate__", "__annotate_func__"}
_SHOWN = 24  # characters of a value that is written out, so that a message can say what it was


@dataclass
class MadeOf:
    """Parts, name → digest (or the value itself where it is short), and the names of what cannot be compared."""

    parts: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    libraries: set[str] = field(default_factory=set)  # the names of what installed packages and Python bring

    @property
    def identity(self) -> str | None:
        """The same for functions that compute the same; None where parts are unknown, or read the world outside."""
        if self.unknown or any(not _computes(name) for name in self.libraries):
            return None
        return digest(sorted(self.parts.items()))


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
        if _is_installed(f):
            self._put(f"{path}code", _stands_for(f))
            self.found.libraries.add(f"{_module(f)}.{f.__qualname__}")
            return
        self._put(f"{path}code", digest(*_code(f.__code__)))
        self.found.libraries |= {f"outside.{x}" for code in _nested(f.__code__) for x in _OUTSIDE & {*code.co_names}}
        for name, value in _read_outside(f).items():
            self._part(path + name, value)

    def _object(self, x: Any, path: str) -> None:
        """The fields of an object and what stands in its class, each a part of its own."""
        self.function(type(x), path)
        state = x.__getstate__()
        if isinstance(state, dict):
            for name, value in _without_caches(type(x), state).items():
                self._part(path + name, value)
        elif state is not None or any(map(_is_installed, type(x).__mro__[:-1])):
            self._part(f"{path}{type(x).__name__}", x)

    def _class(self, kind: type, path: str) -> None:
        """What stands in a class, in those it inherits from and in its metaclasses; of libraries their names."""
        self._put(f"{path}class", _stands_for(kind))
        if _is_installed(kind):
            self.found.libraries.add(f"{_module(kind)}.{kind.__qualname__}")
        metaclass: type = type(kind)
        for base in [x for x in (*kind.__mro__, *metaclass.__mro__) if not _is_installed(x)]:
            for name, member in vars(base).items():
                for what, x in _unwrapped(member):
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
        elif isinstance(value, _PLAIN) and len(repr(value)) <= _SHOWN:
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
        if isinstance(x, _PLAIN):
            yield type(x).__name__, x
        elif isinstance(x, np.ndarray) and x.dtype != object:
            yield x
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
            yield sorted(inner.parts.items())
        elif isinstance(x, types.ModuleType):
            yield x.__name__
            self.found.libraries.add(f"module {x.__name__}")  # any of its functions may be called
            if not _is_installed(x):
                yield from self.value(_members(x), name)
        elif isinstance(x, (set, frozenset)):  # whose order changes from process to process
            apart = [_Taking(self.found, [*self.path], dict(self.known)) for _ in x]
            yield sorted(digest(*taking.value(item, name)) for taking, item in zip(apart, x))
        elif isinstance(x, (weakref.WeakKeyDictionary, weakref.WeakValueDictionary)):
            return  # what was worked out
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
        elif hasattr(x, "__wrapped__") and _is_installed(type(x)):  # a function that a library has decorated
            yield from self.value(x.__wrapped__, name)
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


def _unwrapped(member: Any) -> Iterator[tuple[str, Any]]:
    """What stands in a class, without what makes it a property or a static method: (what else to say, the thing)."""
    if isinstance(member, (staticmethod, classmethod)):
        yield "", member.__func__
    elif isinstance(member, functools.cached_property):
        yield "", member.func
    elif isinstance(member, property):
        for what, x in (("", member.fget), (" (set)", member.fset), (" (deleted)", member.fdel)):
            if x is not None:
                yield what, x
    elif not isinstance(member, _NO_PART) and type(member).__name__ != "_abc_data":
        yield "", member


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


def _read_outside(f: types.FunctionType) -> dict[str, Any]:
    """Names of globals that the code reads and their values; of modules, what it reads from them.

    A module that is imported within the function counts as a whole, as does one that is handed on.
    """
    found: dict[str, Any] = {}
    for code in _nested(f.__code__):
        module: tuple[str, types.ModuleType] | None = None  # that was loaded just before
        for instruction in dis.get_instructions(code):
            name = str(instruction.argval)
            if module is not None and instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                name, read = f"{module[0]}.{name}", hasattr(module[1], name)
                value = getattr(module[1], instruction.argval, None)
            else:
                if module is not None:
                    found[module[0]] = module[1]
                value, read = f.__globals__.get(name), name in f.__globals__
                if instruction.opname == "IMPORT_NAME":
                    value = _imported(f, name)
                    found[name], read = value, False
                elif instruction.opname not in ("LOAD_GLOBAL", "LOAD_NAME"):
                    read = False
            module = (name, value) if read and isinstance(value, types.ModuleType) else None
            if read and module is None:
                found[name] = value
    return found


def _imported(f: types.FunctionType, name: str) -> Any:
    """A module that a function imports; the name alone where it has not been imported yet."""
    near = f"{f.__globals__.get('__package__') or ''}.{name}"
    return sys.modules.get(near) or sys.modules.get(name) or name


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)


# --- whose a function is ----------------------------------------------------------------------------------------


def _module(x: Any) -> str:
    """The module in which a function, class or module stands; what decorators copy from others does not count."""
    if isinstance(x, types.FunctionType):
        return str(x.__globals__.get("__name__", ""))
    return x.__name__ if isinstance(x, types.ModuleType) else str(getattr(x, "__module__", None) or "")


def _is_installed(x: Any) -> bool:
    """Whether Python or an installed package brings it, and not the user."""
    root = _module(x).partition(".")[0]
    if root == "__main__":  # a worker's own program is, it may be, and functions of the user's are sent to it
        return False
    place = getattr(sys.modules.get(root), "__file__", None) or ""
    return root in _BY_NAME or "site-packages" in place or "dist-packages" in place


def _stands_for(x: Any) -> str:
    """The name of what a library brings; of other installed packages, with a digest of the file it stands in."""
    module = _module(x)
    place = getattr(sys.modules.get(module), "__file__", None) or ""
    if module.partition(".")[0] in _BY_NAME or not _is_installed(x) or not place.endswith(".py"):
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
