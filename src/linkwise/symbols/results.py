"""Results of any shape (arrays in tuples, dicts, named tuples, dataclasses) as a flat list of arrays, and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any


class _Leaf:
    """Where an array stands."""


LEAF = _Leaf()


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
    return structure is not LEAF and structure[0] is tuple and all(s is LEAF for s in structure[1])


def rebuild(structure: Any, leaves: Iterator[Any]) -> Any:
    """The result of this structure from its arrays, in order."""
    if structure is LEAF:
        return next(leaves)
    make, structures = structure
    return make([rebuild(s, leaves) for s in structures])


def _parts(x: Any) -> list[Any] | None:
    if isinstance(x, dict):
        return list(x.values())
    if isinstance(x, (tuple, list)):
        return list(x)
    if is_dataclass(x) and not isinstance(x, type):
        return [getattr(x, f.name) for f in fields(x)]
    return None


def _maker(x: Any) -> Any:
    if isinstance(x, dict):
        keys = list(x)
        return lambda parts: dict(zip(keys, parts))
    if hasattr(x, "_fields"):  # a named tuple
        return lambda parts: type(x)(*parts)
    if isinstance(x, (tuple, list)):
        return type(x)
    names = [f.name for f in fields(x)]
    return lambda parts: type(x)(**dict(zip(names, parts)))
