"""The spaces operators map between, and the structure that follows from who can influence whom.

Every space is cut into blocks, and every block belongs to a body. Block (i, j) of an operator may be
non-zero where body i is the *same* as j, *inboard* of it, *outboard* of it, or *across* from it (neither).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from ..arrays import Array
from ..properties import cached_property


@dataclass(frozen=True, eq=False)
class Space:
    """A stack of blocks: 6 numbers per body, r per joint, 6 per tip, or 6 per edge (JPL's shifted blocks).

    Where bodies move as one node of the tree, its body block has 6 per member, its joint block the rates of all, and it
    has one edge. Vectors stay in the order of bodies and joints.
    """

    kind: str
    robot: str
    sizes: tuple[int, ...]
    owners: tuple[int, ...]  # the body each block belongs to; −1 is the world
    key: Any = field(repr=False, default=None)
    entries: tuple[int, ...] | None = field(repr=False, default=None)  # of vectors, block by block; None: as they are
    place: int = field(repr=False, default=0)  # of its robot's state in the binding of an expression
    parts: tuple[Space, ...] = field(repr=False, default=())  # of a stack of spaces
    state: Any = field(repr=False, default=None)  # of whose operators the user took it

    @property
    def dimension(self) -> int:
        return sum(self.sizes)

    # --- vectors -------------------------------------------------------------------------------------

    def split(self, x: Array) -> list[Array]:
        """The rows (..., n, m) of every block."""
        ends = np.cumsum(self.sizes)
        if self.entries is None:
            return [x[..., e - r : e, :] for e, r in zip(ends, self.sizes)]
        return [x[..., list(self.entries[e - r : e]), :] for e, r in zip(ends, self.sizes)]

    def where(self, k: int) -> slice | list[int]:
        """The entries of vectors that block k has."""
        end = sum(self.sizes[: k + 1])
        own = slice(end - self.sizes[k], end)
        return own if self.entries is None else list(self.entries[own])

    def ordered(self, x: Array) -> Array:
        """Rows (..., n, m) that stand block by block, in the order of vectors."""
        return x if self.entries is None else x[..., self._back, :]

    def ordered_columns(self, x: Array) -> Array:
        """Columns (..., m, n) that stand block by block, in the order of vectors."""
        return x if self.entries is None else x[..., :, self._back]

    @cached_property
    def _back(self) -> list[int]:
        return [int(i) for i in np.argsort(np.array(self.entries, int))]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and self.key == other.key

    def __hash__(self) -> int:
        if self.parts:
            return hash(self.parts)
        return hash((self.robot, *self.key[2:]))  # the robot's own hash would read all its numbers

    def __str__(self) -> str:
        if self.kind == "stack":
            return f"the stack of {', '.join(map(str, self.parts))}"
        whose = f"space {self.key[3]!r}" if self.kind == "own" else f"{self.kind} space of {self.robot!r}"
        return f"the {whose} (dimension {self.dimension})"

    @property
    def leaves(self) -> tuple[Space, ...]:
        """The spaces that a stack is of, or the space itself."""
        return tuple(x for part in self.parts for x in part.leaves) if self.parts else (self,)


NUMBER = Space("number", "every robot", (1,), (-1,), ("space", None, "number"))  # what vectors map from


def own_space(name: str, sizes: tuple[int, ...]) -> Space:
    """A space that belongs to no robot, such as that of the forces between two: the same wherever it is made."""
    return Space("own", "", sizes, (-1,) * len(sizes), ("space", None, "own", name, sizes))


def stacked(parts: tuple[Space, ...]) -> Space:
    """The spaces one below the other."""
    sizes = tuple(r for part in parts for r in part.sizes)
    ends = np.cumsum([0, *(part.dimension for part in parts)])
    entries = None
    if any(part.entries is not None for part in parts):
        entries = tuple(int(e) + i for e, part in zip(ends, parts) for i in part.entries or range(part.dimension))
    key = ("space", None, "stack", *(part.key for part in parts))
    return Space("stack", "", sizes, (-1,) * len(sizes), key, entries, parts=parts)


SAME, INBOARD, OUTBOARD, ACROSS = "same", "inboard", "outboard", "across"
Structure = frozenset[str]

NOTHING: Structure = frozenset()
MEMORYLESS: Structure = frozenset({SAME})
STRICTLY_CAUSAL: Structure = frozenset({INBOARD})
STRICTLY_ANTICAUSAL: Structure = frozenset({OUTBOARD})
CAUSAL = MEMORYLESS | STRICTLY_CAUSAL
ANTICAUSAL = MEMORYLESS | STRICTLY_ANTICAUSAL
FULL: Structure = frozenset({SAME, INBOARD, OUTBOARD, ACROSS})

_NAMES = {
    NOTHING: "zero",
    MEMORYLESS: "memoryless",
    STRICTLY_CAUSAL: "strictly causal",
    STRICTLY_ANTICAUSAL: "strictly anticausal",
    CAUSAL: "causal",
    ANTICAUSAL: "anticausal",
    frozenset({SAME, INBOARD, OUTBOARD}): "mixed, zero between branches",
    FULL: "full",
}

# How "i is x of k" and "k is y of j" combine into what i may be of j.
_COMPOSE: dict[tuple[str, str], Structure] = {
    (INBOARD, INBOARD): STRICTLY_CAUSAL,
    (OUTBOARD, OUTBOARD): STRICTLY_ANTICAUSAL,
    (INBOARD, OUTBOARD): frozenset({SAME, INBOARD, OUTBOARD}),  # both inboard of k, so on one path
    (OUTBOARD, INBOARD): frozenset({SAME, INBOARD, OUTBOARD, ACROSS}),  # both outboard of k: anything
    (INBOARD, ACROSS): frozenset({INBOARD, ACROSS}),
    (ACROSS, OUTBOARD): frozenset({OUTBOARD, ACROSS}),
    (OUTBOARD, ACROSS): frozenset({ACROSS}),
    (ACROSS, INBOARD): frozenset({ACROSS}),
    (ACROSS, ACROSS): frozenset({SAME, INBOARD, OUTBOARD, ACROSS}),
}


def composed(left: Structure, right: Structure) -> Structure:
    """The structure of a product."""
    out: set[str] = set()
    for x, y in product(left, right):
        out |= {y} if x == SAME else {x} if y == SAME else _COMPOSE[x, y]
    return frozenset(out)


def adjoint(structure: Structure) -> Structure:
    """The structure of the transpose: inboard and outboard trade places."""
    swap = {INBOARD: OUTBOARD, OUTBOARD: INBOARD}
    return frozenset(swap.get(x, x) for x in structure)


def structure_name(structure: Structure) -> str:
    """ "memoryless", "strictly causal", … as the papers say."""
    return _NAMES.get(structure, " + ".join(sorted(structure)))
