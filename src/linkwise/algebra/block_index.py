"""Blocks of operators by their indices: which rows and columns ``op.P[2]`` and ``op.phi[3, 1]`` name.

Indices are ours, base first and from 0, those of ``robot.bodies`` (where bodies move as one node, those of the nodes);
a body's name does as well, and at tips the name of a frame. The papers count from the tip of a serial chain, from 1,
and 0 is the point of the tip itself, φ(1,0): :func:`places_of` has our indices of theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import InputError, SpaceError, did_you_mean
from .expression import Expression, Identity
from .kinds import BlockDiagonal, Leaf
from .leaves import Leaves
from .spaces import MEMORYLESS, Space

Entries = slice | list[int]


def rows_and_columns(op: Expression, index: Any, homes: Sequence[Leaves | None]) -> tuple[Entries, Entries]:
    """Where the block at an index lies in the matrix of an expression; ``homes`` are the leaves by place."""
    pair = index if isinstance(index, tuple) else (index, index)
    if len(pair) != 2:
        raise InputError(f"a block of {op} has two indices, of its row and its column, got {len(pair)}")
    if not isinstance(index, tuple) and not _has_one_index(op):
        raise InputError(
            f"{op} maps {op.cols} to {op.rows} and is {op.structure}: its blocks have two indices, as in op.phi[3, 1]"
        )
    rows, columns = (_number(space, x, homes) for space, x in zip((op.rows, op.cols), pair))
    return op.rows.where(rows), op.cols.where(columns)


def _has_one_index(op: Expression) -> bool:
    """Whether all blocks but those at (k, k) are zero: not so of S and B, whose edges and tips are of other bodies."""
    if isinstance(op, (BlockDiagonal, Identity)):
        return True
    owners = op.rows.owners
    return op.relations <= MEMORYLESS and owners == op.cols.owners and len(set(owners)) == len(owners)


def entries_of(vector: Expression, index: Any, homes: Sequence[Leaves | None]) -> Entries:
    """Where the block at an index lies in a vector."""
    if isinstance(index, tuple):
        raise InputError(f"a block of the vector {vector} has one index, got {len(index)}")
    return vector.rows.where(_number(vector.rows, index, homes))


def _number(space: Space, index: Any, homes: Sequence[Leaves | None]) -> int:
    count = len(space.sizes)
    if isinstance(index, str):
        leaves = None if space.kind in ("stack", "own") else homes[space.place]
        if leaves is None:
            raise SpaceError(f"the blocks of {space} have no names; give numbers, 0 … {count - 1}")
        frames, bodies = leaves.frames, [b.name for b in leaves.model.bodies]
        known = [getattr(f, "name", f) for f in frames] if space.kind == "tip" else bodies
        if index in known:
            k = known.index(index)
            return k if leaves.nodes is None or space.kind == "tip" else leaves.nodes.node(k)
        raise SpaceError(f"{space} has no block {index!r}; {did_you_mean(index, known) or ', '.join(known)}")
    if isinstance(index, bool) or not isinstance(index, (int, np.integer)):
        raise InputError(f"a block has whole numbers or names for indices, got {index!r}")
    if not -count <= index < count:
        raise SpaceError(f"{space} has {count} blocks, 0 … {count - 1}; there is no block {index}")
    return int(index) % count


@dataclass(frozen=True)
class Place:
    """What a block maps from or to: block ``at`` of a kind of space. (Edge k ends in the axes of its parent.)"""

    kind: str
    at: Any
    size: int
    label: str = field(default="", compare=False)

    @property
    def is_number(self) -> bool:
        """Whether it is what vectors map from."""
        return self.kind == "number"

    def __str__(self) -> str:
        return self.label


def place_of(X: Expression, index: Any, leaves: Leaves) -> tuple[Place, Place]:
    """Where the block of an operator or vector at an index, ours, maps to and from."""
    homes = [leaves] * (1 + max(X.rows.place, X.cols.place))
    if X.cols.kind == "number":
        entries_of(X, index, homes)
        return _place(X.rows, _number(X.rows, index, homes), leaves), Place("number", 0, 1, "numbers")
    rows_and_columns(X, index, homes)
    pair = index if isinstance(index, tuple) else (index, index)
    rows, cols = (_place(space, _number(space, k, homes), leaves) for space, k in zip((X.rows, X.cols), pair))
    return rows, cols


def _place(space: Space, k: int, leaves: Leaves) -> Place:
    size, owner = space.sizes[k], space.owners[k]
    if space.kind == "edge" and owner >= 0:
        return Place("body", owner, size, f"body {_named(owner, leaves)}")
    if space.kind in ("body", "joint"):
        return Place(space.kind, k, size, f"{space.kind} {_named(k, leaves)}")
    return Place(space.kind, (space.key, k), size, f"block {k} of {space}")


def _named(k: int, leaves: Leaves) -> str:
    """A body of a robot in words, or a node of several."""
    return str(k) if leaves.nodes is not None else f"{k} ({leaves.model.bodies[k].name!r})"


# --- the papers' indices -------------------------------------------------------------------------------


def places_of(X: Expression, indices: tuple[int, ...], leaves: Leaves) -> tuple[Expression, tuple[int, ...]]:
    """An operator and our indices, for the papers' indices: φ(k,0) and V(0), at the tip, are blocks of φB and B*V."""
    name = X.name if isinstance(X, Leaf) and not X.flipped else ""
    if indices[-1] != 0:
        return X, tuple(from_paper(leaves, k) for k in indices)
    if (name, len(indices)) not in (("phi", 2), ("psi", 2), ("B", 2), ("V", 1)):
        from_paper(leaves, 1)
        raise InputError(
            f"the papers' bodies of robot {leaves.model.name!r} are 1 … {len(leaves.tree)}, from the tip; there is no 0"
            f" of {X}: at the point of the tip there are φ(k,0), ψ(k,0), B(k,0) and V(0), and a force f(0) is yours to"
            " give, as a name of your own"
        )
    _refuse_other_tips(leaves)
    if name == "V":
        return leaves.B.T @ X, (0,)
    return X if name == "B" else X @ leaves.B, (from_paper(leaves, indices[0]), 0)


def _refuse_other_tips(leaves: Leaves) -> None:
    """Index 0 is one point, on the papers' body 1."""
    from_paper(leaves, 1)
    count = len(leaves.frames)
    if count != 1 or leaves.tip_nodes[0] != len(leaves.tree) - 1:
        there = "one on another body" if count == 1 else f"{count or 'no'} tips"
        raise InputError(
            f"0 is the point of the tip in the papers, a frame of body 1; these operators have {there}:"
            " robot.operators(q, frames=…) takes its name"
        )


def from_paper(leaves: Leaves, k: int) -> int:
    """The index of the papers' body k of a serial chain: theirs count from the tip, 1, to the base, n."""
    n, name = len(leaves.tree), leaves.model.name
    if not leaves.is_chain:
        raise InputError(
            f"the papers number the bodies of a serial chain, from its tip; robot {name!r} branches: give indices"
            " from the base, 0 first"
        )
    if not 1 <= k <= n:
        raise InputError(f"the papers' bodies of robot {name!r} are 1 … {n}, from the tip; there is no {k}")
    return n - k
