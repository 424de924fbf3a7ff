"""Matrices of chains whose entries are products: X(j, k) = h(j) · x(k) for j inboard of k, X(k, j) = g(j) · y(k).

Where the matrix is symmetric the second is the first. They come from walks that take on what they carry as it is, as
those of the composite bodies do where all bodies are in one frame. Such a matrix needs no walk: what each body has of
h, x, g, y and the diagonal is written down by the sweeps, and the entries are made from them row by row, where they are
wanted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...symbols.scalar import Scalar
from .walk_recorder import PAIRS, RecordedMatrix, RecordedPairs, RecordedTree, Walk


class Terms(NamedTuple):
    """How many products an entry is the sum of: above the diagonal, and below it, or 0 where the matrix is symmetric.

    A body's numbers lie in the order h, x, g, y, diagonal.
    """

    above: int
    below: int = 0

    @property
    def numbers(self) -> int:
        """How many numbers a body has."""
        return 2 * (self.above + self.below) + 1

    @property
    def below_the_diagonal(self) -> tuple[int, int, int]:
        """(terms, first of what a row has, first of what its columns have) below the diagonal."""
        return (self.below, 2 * self.above + self.below, 2 * self.above) if self.below else (self.above, self.above, 0)


@dataclass(frozen=True, eq=False)
class Products:
    """Per class of bodies: the numbers of :class:`Terms`, in their order."""

    terms: Terms
    numbers: list[list[Any]]


def row_length(n: int) -> int:
    """How many places one number of all n bodies has, so that those of each begin where vectors of any host like to."""
    return -(-n // 16) * 16


def held(n: int, terms: Terms) -> int:
    """Vectors of memory for a matrix of n bodies: what the sweeps leave, the same state by state, and rows' ends.

    (A state has room for a vector more, so that its numbers lie in a line as its matrix does.)
    """
    return 2 * terms.numbers * row_length(n) + 16 + n + 1


def products(recorder: RecordedTree, matrix: RecordedMatrix) -> Products | None:
    """The matrix as sums of products, where it is one."""
    if recorder.branching or matrix.width or len(matrix.kept) != 1 or set(recorder.sizes) != {1}:
        return None
    above = _side(recorder, matrix.kept[0])
    below = ([], []) if matrix.flipped is None else _side(recorder, matrix.flipped)
    if above is None or below is None:
        return None
    sides = (*above, *below)
    numbers = [[*(x for side in sides if side for x in side[c]), _entry(d)] for c, d in enumerate(matrix.diagonal)]
    return Products(Terms(*(len(side[0][0]) if side[0] else 0 for side in (above, below))), numbers)


def _side(recorder: RecordedTree, pairs: RecordedPairs) -> tuple[list[list[Any]], list[list[Any]]] | None:
    """(h, x) per class, of the entries that a walk inward has kept; None where they are something else."""
    walks = list({id(w): w for w in pairs.walks.values()}.values())
    classes = range(len(recorder.roots))
    if len(walks) != 1 or walks[0].outward or set(pairs.walks) != set(classes):
        return None
    walk = walks[0]
    if any(not root and not _takes_on(walk, slots) for root, slots in zip(recorder.roots, walk.handed)):
        return None  # (what the first body hands to the world, nobody takes)
    found = [_factors(recorder, walk, _entry(pairs[c, 0])) for c in classes]
    h = [x for x in found if x is not None]
    if len(h) < len(found):
        return None
    used = [i for i in range(len(h[0])) if any(isinstance(x[i], Scalar) or x[i] != 0.0 for x in h)]
    return [[x[i] for i in used] for x in h], [[walk.start[c][i] for i in used] for c in classes]


def _entry(block: Any) -> Any:
    return np.asarray(block, dtype=object).item()


def _takes_on(walk: Walk, slots: list[Any]) -> bool:
    """Whether a walk goes on with what it came with."""
    return all(_slot(walk, x) == i for i, x in enumerate(slots))


def _slot(walk: Walk, x: Any) -> int | None:
    """The slot of what a walk carries that a value is."""
    carried = isinstance(x, Scalar) and x.op == "input" and x.args[0] == f"pair:{walk.index}"
    return x.args[1] if carried else None


def _factors(recorder: RecordedTree, walk: Walk, x: Any) -> list[Any] | None:
    """a with x = Σ a(i) · carried(i), none of which depends on what is carried; None where x is something else."""
    found: list[Any] = [0.0] * len(walk.handed[0])

    def collect(x: Any, sign: float) -> bool:
        if not isinstance(x, Scalar):
            return bool(x == 0.0)
        slot = _slot(walk, x)
        if slot is not None:
            return put(slot, sign)
        if x.op in ("add", "sub"):
            return collect(x.args[0], sign) and collect(x.args[1], -sign if x.op == "sub" else sign)
        if x.op == "neg":
            return collect(x.args[0], -sign)
        if x.op == "mul":
            for a, b in (x.args, x.args[::-1]):
                slot = _slot(walk, a)
                if slot is not None and (not isinstance(b, Scalar) or recorder.phase(b) < PAIRS):
                    return put(slot, b if sign > 0 else -b)
        return False

    def put(slot: int, factor: Any) -> bool:
        is_first = isinstance(found[slot], float) and found[slot] == 0.0
        found[slot] = factor if is_first else found[slot]
        return is_first

    return found if collect(x, 1.0) else None
