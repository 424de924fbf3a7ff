"""The fewest values that carry what a later loop needs of an earlier one: a minimum vertex cut of the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

from ...symbols.scalar import Scalar

_START, _END = -1, -2
_ANY = 1_000_000  # more than there are nodes
Residual = dict[int, dict[int, int]]


def fewest(
    wanted: Iterable[Scalar], is_source: Callable[[Scalar], bool], may_cut: Callable[[Scalar], bool]
) -> list[Scalar]:
    """The smallest set of nodes, of those that may be cut, through which every path from ``wanted`` to a source goes.

    Of several such sets it is the one nearest to what is wanted, so that least is computed again. Nodes that depend
    on no source are never in it.
    """
    nodes = _between(wanted, is_source)
    if not nodes:
        return []
    numbers = {id(x): i for i, x in enumerate(nodes)}
    residual: Residual = {}
    for i, x in enumerate(nodes):  # node i is entered at 2i and left at 2i + 1; one unit goes through
        _edge(residual, 2 * i, 2 * i + 1, 1 if may_cut(x) else _ANY)
        if is_source(x):
            _edge(residual, 2 * i + 1, _END, _ANY)
        else:
            for a in x.args:
                if id(a) in numbers:
                    _edge(residual, 2 * i + 1, 2 * numbers[id(a)], _ANY)
    for x in wanted:
        if id(x) in numbers:
            _edge(residual, _START, 2 * numbers[id(x)], _ANY)
    found = True
    while found:
        found, reached = False, {_START}
        while (path := _path(residual, reached)) is not None:
            found = True
            for a, b in pairwise(path):
                residual[a][b] -= 1
                residual[b][a] += 1
    return [x for i, x in enumerate(nodes) if 2 * i in reached and 2 * i + 1 not in reached]


def _edge(residual: Residual, a: int, b: int, capacity: int) -> None:
    residual.setdefault(a, {})[b] = capacity
    residual.setdefault(b, {}).setdefault(a, 0)


def _between(wanted: Iterable[Scalar], is_source: Callable[[Scalar], bool]) -> list[Scalar]:
    """The nodes from ``wanted`` down to sources that depend on a source, sources included."""
    depends: dict[int, bool] = {}
    order: list[Scalar] = []
    stack = [(x, False) for x in wanted]
    while stack:
        x, done = stack.pop()
        if done:
            depends[id(x)] = is_source(x) or any(depends.get(id(a), False) for a in x.args)
            if depends[id(x)]:
                order.append(x)
        elif id(x) not in depends:
            depends[id(x)] = False
            stack.append((x, True))
            if not is_source(x):
                stack.extend((a, False) for a in x.args if isinstance(a, Scalar))
    return order


def _path(residual: Residual, seen: set[int]) -> list[int] | None:
    """A path along which another unit may go, by nodes that were not ``seen``; those that lead nowhere are from now on.

    It goes straight down, which looks at less of the graph than level by level.
    """
    came: dict[int, int] = {}
    stack = [_START]
    while stack:
        a = stack.pop()
        for b, room in residual[a].items():
            if room and b not in seen:
                came[b] = a
                if b == _END:
                    path = [b]
                    while path[-1] != _START:
                        path.append(came[path[-1]])
                    seen.difference_update(path[:-1], stack)
                    return path[::-1]
                seen.add(b)
                stack.append(b)
    return None
