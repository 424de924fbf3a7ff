"""Matrices of chains whose entries are sums of products of what two bodies have: X(j, k) = Σ h(j) x(k) for j < k.

They come from walks that take on what they carry as it is, as those of the composite bodies do where all bodies are in
one frame. Such a matrix needs no walk: what each body has of h and x, of what serves below the diagonal where the
matrix is not symmetric, and the diagonal are written down by the sweeps, once for all matrices that read them. The
entries are made from them row by row, where they are wanted. Walks that change what they carry, linearly, are cut into
blocks for the same end (:mod:`.blocks`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...symbols.scalar import Scalar
from .walk_recorder import PAIRS, RecordedMatrix, RecordedPairs, RecordedTree, Walk

if TYPE_CHECKING:
    from .blocks import BlockedWalk, BlockMatrix


class Terms(NamedTuple):
    """Σ row[i] · column[i]: which factors are taken of the body of the row, and which of the column's."""

    row: tuple[int, ...] = ()
    column: tuple[int, ...] = ()

    def mirrored(self) -> Terms:
        """The same on the other side of the diagonal."""
        return Terms(self.column, self.row)


class ProductMatrix(NamedTuple):
    """What entries on both sides of the diagonal are sums of, and which factor stands on it."""

    above: Terms
    below: Terms
    diagonal: int


@dataclass(eq=False)
class Factors:
    """What bodies have for the matrices of a program: ``values[i]`` is factor i, by class of bodies, or None where a
    walk writes it. In memory a body has its factors, and after them a row of every own block (:mod:`.blocks`)."""

    bodies: int
    values: list[list[Any] | None] = field(default_factory=list)
    matrices: dict[int, ProductMatrix | BlockMatrix] = field(default_factory=dict)  # by output
    walks: list[BlockedWalk] = field(default_factory=list)
    block: int = 0  # bodies of a block
    own_blocks: int = 0  # matrices that have them
    has_gaps: bool = False  # whether a matrix has entries that nothing writes, which are zero
    _known: dict[tuple[Any, ...], int] = field(default_factory=dict)

    def of(self, values: list[Any]) -> int:
        """The number of a factor, the same for the same."""
        key = tuple(id(x) if isinstance(x, Scalar) else float(x) for x in values)
        if key not in self._known:
            self._known[key] = len(self.values)
            self.values.append(values)
        return self._known[key]

    def new(self, count: int) -> int:
        """The first of so many factors, one after another, that walks write."""
        self.values += [None] * count
        return len(self.values) - count

    @property
    def length(self) -> int:
        """Bodies, and places for none behind them: whole blocks, and whole vectors on any host."""
        whole = max(self.block, 16)
        return -(-self.bodies // whole) * whole

    @property
    def width(self) -> int:
        """How many vectors of memory a body has."""
        return len(self.values) + self.own_blocks * self.block

    @property
    def blocks(self) -> int:
        return -(-self.bodies // self.block) if self.block else 0

    @property
    def products(self) -> dict[int, ProductMatrix]:
        """The matrices that need no blocks."""
        return {k: x for k, x in self.matrices.items() if isinstance(x, ProductMatrix)}

    @property
    def most_terms(self) -> int:
        """Of how many products the longest entry is the sum."""
        sides = [x for matrix in self.products.values() for x in (matrix.above.row, matrix.below.row)]
        return max(map(len, [*sides, *(w.slots for w in self.walks)]))

    @property
    def unit_vectors(self) -> int:
        """Vectors of memory for what walks make of unit vectors across blocks."""
        return sum(self.blocks * w.unit_vectors for w in self.walks)

    @property
    def edge_numbers(self) -> int:
        """Numbers of a state that all walks have at the edges of all blocks."""
        return sum(self.blocks * len(w.slots) * self.length for w in self.walks)


def find_products(recorder: RecordedTree, matrix: RecordedMatrix, factors: Factors) -> ProductMatrix | None:
    """The matrix as sums of products, where it is one."""
    if recorder.branching or matrix.width or len(matrix.kept) != 1 or set(recorder.sizes) != {1}:
        return None
    above = _side(recorder, matrix.kept[0])
    below = None if matrix.flipped is None else _side(recorder, matrix.flipped)
    if above is None or (below is None and matrix.flipped is not None):
        return None

    def terms(side: tuple[list[list[Any]], list[list[Any]]]) -> Terms:
        here, there = (tuple(factors.of([x[i] for x in part]) for i in range(len(part[0]))) for part in side)
        return Terms(here, there)

    found = terms(above)
    other = found.mirrored() if below is None else terms(below).mirrored()
    return ProductMatrix(found, other, factors.of([entry_of(block) for block in matrix.diagonal]))


def _side(recorder: RecordedTree, pairs: RecordedPairs) -> tuple[list[list[Any]], list[list[Any]]] | None:
    """(h, x) per class, of the entries that a walk inward has kept; None where they are something else."""
    walk = only_walk(recorder, pairs)
    if walk is None or walk.outward or not all(takes_on(recorder, walk, i) for i in range(len(walk.handed[0]))):
        return None
    classes = range(len(recorder.roots))
    entries = [entry_of(pairs[c, 0]) for c in classes]
    linear = Linear(recorder, walk)
    if not all(map(linear.holds, entries)):
        return None
    h = [[linear.factor(x, i) for i in range(len(walk.handed[0]))] for x in entries]
    used = [i for i in range(len(h[0])) if any(isinstance(x[i], Scalar) or x[i] != 0.0 for x in h)]
    return [[x[i] for i in used] for x in h], [[walk.start[c][i] for i in used] for c in classes]


def only_walk(recorder: RecordedTree, pairs: RecordedPairs) -> Walk | None:
    """The one walk that all bodies start, where there is but one."""
    walks = list({id(w): w for w in pairs.walks.values()}.values())
    return walks[0] if len(walks) == 1 and len(pairs.walks) == len(recorder.roots) else None


def entry_of(block: Any) -> Any:
    """The number of a block of one row and one column."""
    return np.asarray(block, dtype=object).item()


def takes_on(recorder: RecordedTree, walk: Walk, i: int) -> bool:
    """Whether a walk goes on with what it came with in a slot. (What is handed to the world, nobody takes.)"""
    return all(root or slot_of(walk, slots[i]) == i for root, slots in zip(recorder.roots, walk.handed))


def slot_of(walk: Walk, x: Any) -> int | None:
    """The slot of what a walk carries that a value is."""
    carried = isinstance(x, Scalar) and x.op == "input" and x.args[0] == f"pair:{walk.index}"
    return x.args[1] if carried else None


class Linear:
    """What is linear in what a walk carries, with factors that do not depend on it."""

    def __init__(self, recorder: RecordedTree, walk: Walk) -> None:
        self._recorder, self._walk = recorder, walk
        self._holds: dict[int, bool] = {}
        self._factors: dict[tuple[int, int], Any] = {}

    def holds(self, x: Any) -> bool:
        """Whether x is linear, and zero where nothing is carried."""
        if not isinstance(x, Scalar):
            return bool(x == 0.0)
        if id(x) not in self._holds:
            self._holds[id(x)] = self._found(x)
        return self._holds[id(x)]

    def _found(self, x: Scalar) -> bool:
        if slot_of(self._walk, x) is not None:
            return True
        if x.op in ("add", "sub", "neg"):
            return all(map(self.holds, x.args))
        if x.op == "mul":
            return any(self._is_known(a) and self.holds(b) for a, b in (x.args, x.args[::-1]))
        return False

    def _is_known(self, x: Any) -> bool:
        return not isinstance(x, Scalar) or self._recorder.phase(x) < PAIRS

    def factor(self, x: Any, slot: int) -> Any:
        """a(slot) of x = Σ a(i) · carried(i)."""
        if not isinstance(x, Scalar) or self._is_known(x):
            return 0.0
        key = (id(x), slot)
        if key not in self._factors:
            self._factors[key] = self._factor(x, slot)
        return self._factors[key]

    def _factor(self, x: Scalar, slot: int) -> Any:
        own = slot_of(self._walk, x)
        if own is not None:
            return 1.0 if own == slot else 0.0
        if x.op == "mul":
            a, b = x.args if self._is_known(x.args[0]) else x.args[::-1]
            return a * self.factor(b, slot)
        parts = [self.factor(a, slot) for a in x.args]
        return -parts[0] if x.op == "neg" else parts[0] + parts[1] if x.op == "add" else parts[0] - parts[1]


def carried_by(walk: Walk, values: Sequence[Any]) -> set[int]:
    """The slots of what a walk carries on which values depend."""
    from ...symbols.outputs import reachable

    found = {slot_of(walk, x) for x in reachable(values)}
    return {i for i in found if i is not None}
