"""How a call is written: which of its arguments are arrays, which are fixed, and what fixed ones are told apart by."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

import numpy as np

from ..arguments import unmasked
from ..codegen.facts import Facts


class CallForm:
    """How the arguments of a call are given: which are arrays, in the order of the kernel's, and which are fixed.

    A call is kept under its form, told from others by its identity, and the values of what is fixed.
    """

    __slots__ = ("_fixed", "_places", "arrays", "first", "fixed", "has_optional", "one_fixed", "pick")

    def __init__(self, arrays: dict[str, int], fixed: dict[str, int], has_optional: bool) -> None:
        self.arrays, self.fixed, self.has_optional = tuple(arrays), tuple(fixed), has_optional
        self.pick, self._fixed = _picker(tuple(arrays.values())), _picker(tuple(fixed.values()))  # of a call's values
        self._places = tuple(fixed.items())
        self.first, self.one_fixed = min(list(fixed.values())) if fixed else 0, len(fixed) == 1

    def read(self, values: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """(what a call is kept under, its values with what is fixed as it stays), of values in the order given."""
        fixed = self._fixed(values)
        if _TEXT.issuperset(map(type, fixed)):
            return (self, fixed), values
        out = list(values)
        if self.one_fixed and type(fixed[0]) in (list, tuple) and _TEXT.issuperset(map(type, fixed[0])):
            names = out[self.first] = tuple(fixed[0])
            return (self, names), tuple(out)
        for name, i in self._places:
            out[i] = kept(out[i], name)
        values = tuple(out)
        return (self, *map(key_of, self._fixed(values))), values

    def options(self, values: tuple[Any, ...]) -> dict[str, Any]:
        """What is fixed, by name."""
        return dict(zip(self.fixed, self._fixed(values)))


def _picker(places: tuple[int, ...]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """What takes these out of a tuple, as a tuple."""
    if len(places) > 1:
        return operator.itemgetter(*places)
    return (lambda values: (values[places[0]],)) if places else (lambda values: ())


def call_form(positional: tuple[str, ...], facts: Facts, count: int, named: tuple[str, ...]) -> CallForm | None:
    """How a call with so many positional arguments and these names gives them; None where it is no proper one."""
    given = [*positional[:count], *named]
    places = {name: i for i, name in enumerate(given)}
    if count > len(positional) or len(places) < len(given) or not places.keys() >= set(facts.needed):
        return None
    arrays = {name: places[name] for name in facts.arrays if name in places}
    fixed = {name: i for name, i in places.items() if name not in facts.arrays}
    return CallForm(arrays, fixed, not facts.optional.isdisjoint(arrays))


# --- fixed arguments ----------------------------------------------------------------------------------


_TEXT = frozenset({str})
_PLAIN = frozenset({str, bool, int, float, type(None)})  # what most are, or are lists of


def kept(x: Any, name: str) -> Any:
    """A fixed argument as it stays, whatever becomes of the user's own: read once, and no longer to be changed."""
    if type(x) in _PLAIN:
        return x
    if type(x) in (list, tuple) and _PLAIN.issuperset(map(type, x)):
        return tuple(x)
    if isinstance(x, (str, bytes, Mapping)) or not isinstance(x, Iterable):
        return x
    if isinstance(x, Set):  # without an order, and so refused where there must be one
        return frozenset(x)
    if isinstance(x, np.ndarray):
        x = unmasked(x, name).tolist()
        return kept(x, name) if isinstance(x, list) else x
    return tuple(kept(y, name) for y in x)


def key_of(x: Any) -> Any:
    """What a fixed argument is told apart by; True is not 1 here, nor 1 the number 1.0."""
    if type(x) is not tuple:
        return x if type(x) is str else (type(x), x)
    return (*map(type, x), x) if _PLAIN.issuperset(map(type, x)) else tuple(map(key_of, x))
