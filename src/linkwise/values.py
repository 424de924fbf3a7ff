"""Frozen things that are what they hold: they compare, hash, copy and pickle by the values of their fields."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Hashable
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from .properties import cached_property


class ByValue:
    """A base of frozen dataclasses (declared with ``eq=False``): equal where type and fields are.

    Fields declared with ``compare=False`` do not count: they say in other words what others say. What was worked out
    from the fields is not copied or pickled. The arrays of a copy are read-only, as those of the original are.
    """

    @cached_property
    def _value(self) -> Hashable:
        """What it is, as nested tuples of plain things: equal where all numbers that results depend on are."""
        return _fields_of(self) if _is_told_by_fields(self) else _Itself(self)

    @cached_property
    def _hash(self) -> int:
        return hash(self._value)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(self) is type(other) and isinstance(other, ByValue) and self._value == other._value
        )

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        own = self.__dict__
        if _is_told_by_fields(self):
            return {name: own[name] for name in _names(self) if name in own}
        return {k: x for k, x in own.items() if not isinstance(getattr(type(self), k, None), functools.cached_property)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for x in state.values():
            freeze(x)
        self.__dict__.update(state)


def _is_told_by_fields(x: Any) -> bool:
    """Whether a dataclass is declared as one: what a user's own class adds beside the fields of ours is not told."""
    return "__dataclass_fields__" in vars(type(x))


def _names(x: Any) -> list[str]:
    return [f.name for f in fields(x)]


def owned(x: Any) -> Any:
    """x with arrays that nobody else can change: read-only copies, but for those that are so already."""
    if isinstance(x, np.ndarray):
        if _is_out_of_reach(x):
            return x
        x = x.copy()
        x.setflags(write=False)
        return x
    if isinstance(x, tuple):
        parts = [owned(part) for part in x]
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    if is_dataclass(x) and not isinstance(x, (type, ByValue)):
        changed = {name: owned(getattr(x, name)) for name in _names(x)}
        same = all(changed[name] is getattr(x, name) for name in changed)
        return x if same else replace(x, **changed)
    return x


def _is_out_of_reach(x: np.ndarray) -> bool:
    """Whether neither an array nor one whose memory it shows can be written to."""
    base: Any = x
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            return False
        base = base.base
    return base is None


def freeze(x: Any) -> None:
    """Make the arrays within x read-only; parts that are values have theirs so already."""
    if isinstance(x, np.ndarray):
        x.setflags(write=False)
    elif isinstance(x, tuple):
        for part in x:
            freeze(part)
    elif is_dataclass(x) and not isinstance(x, (type, ByValue)):
        for name in _names(x):
            freeze(getattr(x, name))


def fixed(x: np.ndarray) -> np.ndarray:
    """An array that nobody can change any more."""
    x.setflags(write=False)
    return x


class _Itself:
    """Stands for a thing that is equal to itself alone."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.thing is other.thing

    def __hash__(self) -> int:
        return id(self.thing)


def value_of(x: Any) -> Hashable:
    """Numbers, arrays, parts of robots and tuples of them as nested tuples; anything else stands for itself."""
    if x is None or isinstance(x, (str, bytes, bool, int, float, type)):
        return x
    if isinstance(x, ByValue):
        return x._value
    if isinstance(x, np.ndarray):
        entries = map(value_of, x.ravel()) if x.dtype == object else x.ravel().tolist()
        return (x.dtype.str, x.ndim, *x.shape, *entries)
    if isinstance(x, np.generic):
        number: Hashable = x.item()
        return number
    if isinstance(x, (tuple, list)):
        return tuple(map(value_of, x))
    if is_dataclass(x) and _is_told_by_fields(x):
        return _fields_of(x)
    return _Itself(x)


def _fields_of(x: Any) -> Hashable:
    """(A robot of a thousand bodies has twenty thousand of them: what is plain is not asked what it is.)"""
    own = [getattr(x, name) for name in _compared(type(x))]
    return (type(x), *(part if type(part) in _PLAIN else value_of(part) for part in own))


def _compared(kind: Any) -> tuple[str, ...]:
    """The names of the fields of a dataclass that count."""
    found: tuple[str, ...] | None = vars(kind).get("_compared_fields")
    if found is None:
        found = kind._compared_fields = tuple(f.name for f in fields(kind) if f.compare)
    return found


def digest(value: Hashable) -> str | None:
    """A fingerprint of a value, the same in every process; None where it holds what another process cannot know.

    That is a thing that stands for itself, such as a function, or a class from outside of linkwise, whose name does not
    tell what it does.
    """
    text = _text(value)
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()


_PLAIN = frozenset({type(None), str, bytes, bool, int, float})


def _text(x: Hashable) -> str | None:
    if isinstance(x, tuple) and not _PLAIN.issuperset(map(type, x)):
        parts = []
        for part in x:
            text = repr(part) if type(part) in _PLAIN else _text(part)
            if text is None:
                return None
            parts.append(text)
        return f"({','.join(parts)})"
    if isinstance(x, type):
        name = f"{x.__module__}.{x.__qualname__}"
        return name if name.partition(".")[0] == __name__.partition(".")[0] else None
    return repr(x) if type(x) in _PLAIN or isinstance(x, (tuple, np.floating)) else None
