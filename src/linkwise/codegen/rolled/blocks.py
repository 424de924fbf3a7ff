"""Matrices of chains from walks that change what they carry, linearly: cut into blocks of bodies.

A walk from body i has X(i, B) where it comes to block B, after X(i, B−1) Ψ(B−1), and its entry at body j of that block
is X(i, B) · c(j): what a walk that comes to B with a unit vector keeps at j, for each of them. So there remain the
entries of bodies that share a block (walks that end with it), c and Ψ (walks of unit vectors through one block), X at
the edges of blocks (products with Ψ), and entries that are sums of products, made row by row from X and c as those of
:mod:`.factors` are. That is |X| products for most entries, where the walk itself takes a step of its own for each; and
nothing of the matrix' size is held in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .factors import Factors, Linear, carried_by, entry_of, only_walk, takes_on
from .walk_recorder import RecordedMatrix, RecordedPairs, RecordedTree, Walk
from .work import Work


class Side(NamedTuple):
    """Entries on one side of the diagonal, in the rows of the bodies where walks begin or of those they reach."""

    walk: int  # among :attr:`.Factors.walks`
    factors: int  # the first of c, as many as the walk has slots
    in_rows_of_origins: bool


class BlockMatrix(NamedTuple):
    """The sides of a matrix (None where nothing stands), and which of the own blocks holds what lies between them."""

    above: Side | None
    below: Side | None
    own: int

    def has(self, walk: int, in_rows_of_origins: bool | None = None) -> bool:
        """Whether a side comes from a walk, and has its entries there."""
        sides = [x for x in (self.above, self.below) if x is not None and x.walk == walk]
        return any(in_rows_of_origins in (None, x.in_rows_of_origins) for x in sides)


@dataclass(eq=False)
class BlockedWalk:
    """A walk in blocks. ``slots`` says which of what it carries goes on unchanged: there no unit vectors are sent."""

    walk: Walk
    slots: list[bool]
    first: int  # the factors that hold what it begins with, and then what it has at the edge of its block
    kept: list[list[Any]]  # entries by class of bodies that it comes to
    factors: list[int]  # of each entry, the first of c
    steps: list[Work]  # per class, of walks within a block
    units: list[Work]  # per class, of walks of unit vectors

    @property
    def unit_vectors(self) -> int:
        """Vectors for Ψ of a block, with places for none behind them: whole squares on any host."""
        return -(-(len(self.slots) ** 2) // 16) * 16

    @property
    def changing(self) -> list[int]:
        """The slots in which unit vectors are sent."""
        return [i for i, unchanged in enumerate(self.slots) if not unchanged]


def find_blocks(recorder: RecordedTree, matrix: RecordedMatrix, factors: Factors, block: int) -> BlockMatrix | None:
    """The matrix in blocks, where it comes from linear walks along a chain of joints of one degree of freedom each."""
    if recorder.branching or matrix.width or set(recorder.sizes) != {1} or len(matrix.kept) > 1:
        return None
    given = [(pairs, False) for pairs in matrix.kept if pairs]
    given += [(matrix.flipped, True)] if matrix.flipped else []
    found = [(pairs, flipped, only_walk(recorder, pairs)) for pairs, flipped in given]
    if not found or not all(walk is not None and _is_linear(recorder, walk, pairs) for pairs, _, walk in found):
        return None
    factors.block = block
    sides: dict[bool, Side] = {}  # by whether they are above the diagonal
    for pairs, flipped, walk in found:
        assert walk is not None
        above = walk.outward != flipped if walk.outward else not flipped
        sides[above] = _side(recorder, factors, walk, _entries(walk, pairs), walk.outward != flipped)
    if matrix.flipped is None:
        above, side = next(iter(sides.items()))
        sides[not above] = side._replace(in_rows_of_origins=not side.in_rows_of_origins)
    factors.own_blocks += 1
    factors.has_gaps |= len(sides) < 2
    return BlockMatrix(sides.get(True), sides.get(False), factors.own_blocks - 1)


def _entries(walk: Walk, pairs: RecordedPairs) -> list[Any]:
    """What is kept at a body of each class."""
    return [entry_of(pairs[(0, c) if walk.outward else (c, 0)]) for c in range(len(walk.handed))]


def _is_linear(recorder: RecordedTree, walk: Walk, pairs: RecordedPairs) -> bool:
    linear = Linear(recorder, walk)
    handed = [x for root, slots in zip(recorder.roots, walk.handed) for x in slots if walk.outward or not root]
    return all(map(linear.holds, [*handed, *_entries(walk, pairs)]))


def _side(recorder: RecordedTree, factors: Factors, walk: Walk, kept: list[Any], in_rows_of_origins: bool) -> Side:
    index = next((i for i, x in enumerate(factors.walks) if x.walk is walk), len(factors.walks))
    if index == len(factors.walks):
        slots = _unchanged(recorder, walk)
        steps, units = ([Work(carries={walk.index: x}) for x in walk.handed] for _ in range(2))
        first = factors.new(len(slots))
        for i in range(len(slots)):
            factors.values[first + i] = [walk.start[c][i] for c in range(len(walk.handed))]
        factors.walks.append(BlockedWalk(walk, slots, first, [], [], steps, units))
    blocked = factors.walks[index]
    e = next((e for e, known in enumerate(blocked.kept) if all(a is b for a, b in zip(known, kept))), None)
    if e is None:
        e = len(blocked.kept)
        blocked.kept.append(kept)
        blocked.factors.append(factors.new(len(blocked.slots)))
        linear = Linear(recorder, walk)
        for i, unchanged in enumerate(blocked.slots):
            if unchanged:
                factors.values[blocked.factors[e] + i] = [linear.factor(x, i) for x in kept]
    return Side(index, blocked.factors[e], in_rows_of_origins)


def _unchanged(recorder: RecordedTree, walk: Walk) -> list[bool]:
    """Which slots go on as they are, and change no other."""
    count = range(len(walk.handed[0]))
    taken = [takes_on(recorder, walk, i) for i in count]
    handed = [slots for root, slots in zip(recorder.roots, walk.handed) if walk.outward or not root]
    used = set().union(*(carried_by(walk, [slots[i] for i in count if not taken[i]]) for slots in handed))
    return [taken[i] and i not in used for i in count]


def works_of(walks: Sequence[BlockedWalk]) -> list[Work]:
    return [work for walk in walks for work in (*walk.steps, *walk.units)]
