"""The one primitive: run a step over the bodies of a tree, outward or inward; or from each body by itself.

A step is a pure function of what its neighbour passes on and of the body's own data, so that it can be
run on numbers, traced on symbols, or traced once and looped over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any


class Pairs(dict[tuple[int, int], Any]):
    """What walks have kept for pairs of bodies."""

    walk: Any = None  # which walk it was, where walks are recorded

    def unzip(self, count: int) -> list[Pairs]:
        """Pairs of ``count``-tuples as ``count`` pairs."""
        out = [Pairs({key: x[i] for key, x in self.items()}) for i in range(count)]
        for pairs in out:
            pairs.walk = self.walk
        return out


class Loop(tuple[int, ...]):
    """Parents of bodies that stand for many: their sweeps are loops, which a subclass records instead of running."""

    def outward(self, step: Callable[..., Any], start: Any, *data: Sequence[Any]) -> list[Any]:
        raise NotImplementedError

    def inward(self, step: Callable[..., Any], zero: Any, *data: Sequence[Any]) -> list[Any]:
        raise NotImplementedError

    def carried(self, values: Sequence[Any]) -> list[Any]:
        """What the parents hold of values that an outward sweep gave."""
        raise NotImplementedError

    def inward_from_each(self, step: Callable[..., Any], starts: Sequence[Any], *data: Sequence[Any]) -> Pairs:
        raise NotImplementedError

    def outward_from_each(
        self, step: Callable[..., Any], starts: Sequence[Any], at_fork: Callable[[int, int], Any], *data: Sequence[Any]
    ) -> Pairs:
        raise NotImplementedError

    def joint_matrix(self, diagonal: Sequence[Any], kept: Sequence[Pairs], flipped: Pairs | None) -> Any:
        """A matrix of such blocks; see :mod:`.dynamics.joint_matrix`."""
        raise NotImplementedError

    def at_base(self, k: int) -> bool:
        """Whether all bodies for which k stands hang on the world."""
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


def inward_from_each(
    parents: Sequence[int], step: Callable[..., Any], starts: Sequence[Any], *data: Sequence[Any]
) -> Pairs:
    """Along the path of every body k to the base, each by itself.

    What k sends, ``starts[k]``, arrives at its parent j, where ``step(what arrives, *data of j)`` gives (what j sends
    on, what is kept for (j, k)); and so on from j. Bodies that send None are left out.
    """
    if isinstance(parents, Loop):
        return parents.inward_from_each(step, starts, *data)
    kept = Pairs()
    for k, x in enumerate(starts):
        if x is not None:
            for j in ancestors(parents, k):
                x, kept[j, k] = step(x, *[d[j] for d in data])
    return kept


def outward_from_each(
    parents: Sequence[int],
    step: Callable[..., Any],
    starts: Sequence[Any],
    at_fork: Callable[[int, int], Any],
    *data: Sequence[Any],
) -> Pairs:
    """From every body i to all bodies j that are not inboard of it, each by itself.

    The value is ``starts[i]`` at i, and ``at_fork(a, i)`` at a body a inboard of i from which other branches leave; at
    j, ``step(value of its parent, *data of j)`` gives (its value, what is kept for (i, j)). Bodies that start with None
    are left out.
    """
    if isinstance(parents, Loop):
        return parents.outward_from_each(step, starts, at_fork, *data)
    kept = Pairs()
    children = Counter(parents)
    for i, x in enumerate(starts):
        if x is None:
            continue
        path = ancestors(parents, i)
        inboard = set(path)
        values = {i: x} | {a: at_fork(a, i) for a in path if children[a] > 1}
        for j, p in enumerate(parents):
            if p in values and j != i and j not in inboard:
                values[j], kept[i, j] = step(values[p], *[d[j] for d in data])
    return kept


def at_base(parents: Sequence[int], k: int) -> bool:
    """Whether body k hangs on the world."""
    return parents.at_base(k) if isinstance(parents, Loop) else parents[k] < 0


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
