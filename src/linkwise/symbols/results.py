"""Results of any shape (arrays in tuples, dicts, named tuples, dataclasses) as a flat list of arrays, and back."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any


class _Leaf:
    """Where an array stands."""


LEAF = _Leaf()


@dataclass(frozen=True)
class _Maker:
    """What holds parts of a result: its class, and their names where it has them by name."""

    cls: Any
    names: tuple[Any, ...] | None = None

    def __call__(self, parts: list[Any]) -> Any:
        if self.cls is dict:
            return dict(zip(self.names or (), parts))
        if self.names is not None:
            return self.cls(**dict(zip(self.names, parts)))
        return self.cls(parts)


def flatten(x: Any) -> tuple[list[Any], Any]:
    """(the arrays of a result, its structure)."""
    parts = _parts(x)
    if parts is None:
        return [x], LEAF
    leaves: list[Any] = []
    structures = []
    for part in parts:
        inner, structure = flatten(part)
        leaves += inner
        structures.append(structure)
    return leaves, (_maker(x), structures)


def is_plain(structure: Any) -> bool:
    """Whether it is a tuple of arrays and nothing more, which needs no structure to be told."""
    return structure is not LEAF and structure[0] == _Maker(tuple) and all(s is LEAF for s in structure[1])


def rebuild(structure: Any, leaves: Iterator[Any]) -> Any:
    """The result of this structure from its arrays, in order."""
    if structure is LEAF:
        return next(leaves)
    make, structures = structure
    return make([rebuild(s, leaves) for s in structures])


def rebuilder(structure: Any) -> Callable[[tuple[Any, ...]], Any]:
    """:func:`rebuild` as a function of a tuple of arrays, quick where the structure is a named tuple or a dict."""
    if structure is not LEAF and all(s is LEAF for s in structure[1]):
        make = structure[0]
        if issubclass(make.cls, tuple) and make.names is not None:
            return functools.partial(tuple.__new__, make.cls)
        if make.cls is dict:
            return lambda arrays: dict(zip(make.names, arrays))
    return lambda arrays: rebuild(structure, iter(arrays))


_PLAIN = {cls.__name__: cls for cls in (tuple, list, dict)}


def described(structure: Any) -> Any:
    """A structure in words, which :func:`recalled` reads; None for one with classes of a user's own."""
    if structure is LEAF:
        return "array"
    make, structures = structure
    parts = [described(s) for s in structures]
    known = make.cls in _PLAIN.values() or make.cls.__module__.startswith("linkwise.")
    if not known or None in parts or not all(isinstance(x, str) for x in make.names or ()):
        return None
    name = make.cls.__name__ if make.cls in _PLAIN.values() else f"{make.cls.__module__}:{make.cls.__qualname__}"
    return [name, make.names, parts]


def recalled(words: Any) -> Any:
    """The structure that was described so."""
    if words == "array":
        return LEAF
    name, names, parts = words
    cls: Any = _PLAIN.get(name)
    if cls is None:
        module, _, qualified = name.partition(":")
        cls = importlib.import_module(module)
        for part in qualified.split("."):
            cls = getattr(cls, part)
    return _Maker(cls, None if names is None else tuple(names)), [recalled(x) for x in parts]


def _parts(x: Any) -> list[Any] | None:
    if isinstance(x, dict):
        return list(x.values())
    if isinstance(x, (tuple, list)):
        return list(x)
    if is_dataclass(x) and not isinstance(x, type):
        return [getattr(x, f.name) for f in fields(x)]
    return None


def _maker(x: Any) -> _Maker:
    if isinstance(x, dict):
        return _Maker(dict, tuple(x))
    if hasattr(x, "_fields"):  # a named tuple
        return _Maker(type(x), x._fields)
    if isinstance(x, (tuple, list)):
        return _Maker(type(x))
    return _Maker(type(x), tuple(f.name for f in fields(x)))
