"""The one primitive: run a step over the bodies of a tree, outward or inward.

A step is a pure function of what its neighbour passes on and of the body's own data, so that it can be
run on numbers, traced on symbols, or traced once and looped over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class Loop(tuple[int, ...]):
    """Parents of bodies that stand for many: their sweeps are loops, which a subclass records instead of running."""

    def outward(self, step: Callable[..., Any], start: Any, *data: Sequence[Any]) -> list[Any]:
        raise NotImplementedError

    def inward(self, step: Callable[..., Any], zero: Any, *data: Sequence[Any]) -> list[Any]:
        raise NotImplementedError

    def carried(self, values: Sequence[Any]) -> list[Any]:
        """What the parents hold of values that an outward sweep gave."""
        raise NotImplementedError


def outward(parents: Sequence[int], step: Callable[..., Any], start: Any, *data: Sequence[Any]) -> list[Any]:
    """Base → tips. Body k's value is ``step(value of its parent, *data of k)``; ``start`` is the world's."""
    if isinstance(parents, Loop):
        return parents.outward(step, start, *data)
    values: list[Any] = []
    for k, p in enumerate(parents):
        values.append(step(start if p < 0 else values[p], *[x[k] for x in data]))
    return values


def inward(parents: Sequence[int], step: Callable[..., Any], zero: Any, *data: Sequence[Any]) -> list[Any]:
    """Tips → base. ``step(sum of what the children passed, *data of k)`` gives (what k passes on, what is kept).

    ``zero`` is the empty sum (0, or a tuple of zeros where a step passes several things on).
    """
    if isinstance(parents, Loop):
        return parents.inward(step, zero, *data)
    gathered: list[Any] = [zero] * len(parents)
    kept: list[Any] = [None] * len(parents)
    for k in range(len(parents) - 1, -1, -1):
        passed, kept[k] = step(gathered[k], *[x[k] for x in data])
        gathered[k] = None
        p = parents[k]
        if p >= 0:
            gathered[p] = _sum(gathered[p], passed)
    return kept


def at_parents(parents: Sequence[int], values: Sequence[Any], start: Any) -> list[Any]:
    """The values of an outward sweep at every body's parent; ``start`` is the world's."""
    if isinstance(parents, Loop):
        return parents.carried(values)
    return [start if p < 0 else values[p] for p in parents]


def _sum(a: Any, b: Any) -> Any:
    return tuple(_sum(x, y) for x, y in zip(a, b)) if isinstance(a, tuple) else a + b


def ancestors(parents: Sequence[int], k: int) -> list[int]:
    """The bodies inboard of k, nearest first."""
    out = []
    k = parents[k]
    while k >= 0:
        out.append(k)
        k = parents[k]
    return out


def unzip(items: Sequence[tuple[Any, ...]], count: int) -> Any:
    """A list of ``count``-tuples as ``count`` lists (also where the list is empty)."""
    return tuple([item[i] for item in items] for i in range(count))
