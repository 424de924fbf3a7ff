"""The user's own code: whose a function or a class is, what a function reads from around it, what stands in a class."""

from __future__ import annotations

import dis
import functools
import inspect
import re
import sys
import types
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Any

NOT_THE_USERS = {"linkwise", "numpy", "scipy", "jax", *sys.stdlib_module_names} - {"__main__"}
_NO_PART = (types.MemberDescriptorType, types.GetSetDescriptorType)  # of a class: where its objects keep their fields


# --- whose it is ----------------------------------------------------------------------------------------------


def module_of(x: Any) -> str:
    """The module in which a function, class or module stands; what decorators copy from others does not count."""
    if isinstance(x, types.FunctionType):
        return str(x.__globals__.get("__name__", ""))
    return x.__name__ if isinstance(x, types.ModuleType) else str(getattr(x, "__module__", None) or "")


def package_of(x: Any) -> str:
    """The outermost package of that module."""
    return module_of(x).partition(".")[0]


def is_installed(x: Any) -> bool:
    """Whether Python or an installed package brings it, and not the user."""
    return _is_installed(package_of(x))


def _is_installed(package: str) -> bool:
    if package == "__main__":  # a worker's own program is, it may be, and functions of the user's are sent to it
        return False
    place = getattr(sys.modules.get(package), "__file__", None) or ""
    return package in NOT_THE_USERS or "site-packages" in place or "dist-packages" in place


# --- functions ------------------------------------------------------------------------------------------------


def nested(code: types.CodeType) -> Iterator[types.CodeType]:
    """Code and that of the functions within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested(constant)


def read_outside(f: types.FunctionType) -> dict[str, Any]:
    """Names of globals that the code reads and their values; of modules, what it reads from them.

    A module that is imported within the function counts as a whole as well, as does one that is handed on.
    """
    found: dict[str, Any] = {}
    for code in nested(f.__code__):
        module: tuple[str, types.ModuleType] | None = None  # that was loaded just before
        imported: Any = None
        local: dict[str, types.ModuleType] = {}  # modules under names of the function's own
        for operation, name in _steps(code):
            if module is not None and operation in ("LOAD_ATTR", "LOAD_METHOD"):
                short, name = name, f"{module[0]}.{name}"
                value, read = getattr(module[1], short, None), hasattr(module[1], short)
            else:
                if module is not None:
                    found[module[0]] = module[1]
                value, read = f.__globals__.get(name), name in f.__globals__
                if operation == "IMPORT_NAME":
                    found[name] = value = imported = _imported(f, name)
                    read = False
                elif operation == "IMPORT_FROM":
                    imported, read = getattr(imported, name, None), False
                elif operation.startswith("STORE_") and isinstance(imported, types.ModuleType):
                    local[name], imported, read = imported, None, False
                elif operation.startswith("LOAD_FAST") and name in local:
                    value, read = local[name], True
                elif operation not in ("LOAD_GLOBAL", "LOAD_NAME"):
                    read = False
            module = (name, value) if read and isinstance(value, types.ModuleType) else None
            if read and module is None:
                found[name] = value
    return found


def _steps(code: types.CodeType) -> Iterator[tuple[str, str]]:
    """The instructions with what they name, those that do two things in one (Python 3.13) as two."""
    for instruction in dis.get_instructions(code):
        if isinstance(instruction.argval, tuple) and "_FAST" in instruction.opname:
            for operation, name in zip(re.findall("(?:LOAD|STORE)_FAST", instruction.opname), instruction.argval):
                yield operation, str(name)
        else:
            yield instruction.opname, str(instruction.argval)


_NO_ARGUMENTS = frozenset({"CACHE", "PRECALL", "PUSH_NULL"})  # what may stand between a function and its arguments


def gets_a_constant(f: types.FunctionType, name: str) -> bool:
    """Whether, wherever a function's code names this (as "np.random.default_rng"), it calls it with a constant first
    argument other than None."""
    short = name.rpartition(".")[2]
    found = []
    for code in nested(f.__code__):
        steps = [x for x in dis.get_instructions(code) if x.opname not in _NO_ARGUMENTS]
        for x, after in pairwise(steps):
            if x.argval == short and x.opname.startswith("LOAD_"):
                found.append(after.opname in ("LOAD_CONST", "LOAD_SMALL_INT") and after.argval is not None)
    return bool(found) and all(found)


def fits(signature: inspect.Signature, form: Sequence[str], names: Collection[str]) -> bool:
    """Whether a function can be called with these arguments by place, and none of its parameters' ``names``, where they
    say what is meant, says otherwise."""
    try:
        signature.bind(*form)
    except TypeError:
        return False
    plain = [p for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for p, expected in zip(plain, form):
        if p.name in names and p.name != expected:
            return False
        if p.default is not p.empty and p.name != expected and any(x.name in names for x in plain):
            return False  # an option of the user's own, as gain in law(t, q, v, gain=5.0)
    return True


def _imported(f: types.FunctionType, name: str) -> Any:
    """A module that a function imports; the name alone where it has not been imported yet."""
    near = f"{f.__globals__.get('__package__') or ''}.{name}"
    return sys.modules.get(near) or sys.modules.get(name) or name


# --- classes and their objects ----------------------------------------------------------------------------------


def unwrapped(member: Any) -> Iterator[tuple[str, Any]]:
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


def is_worked_out(kind: type, name: Any) -> bool:
    """Whether an entry of an object's ``__dict__`` is what a property of its class has worked out from the rest."""
    return isinstance(name, str) and isinstance(getattr(kind, name, None), functools.cached_property)
