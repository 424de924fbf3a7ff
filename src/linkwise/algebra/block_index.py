"""Blocks of operators by their indices: which rows and columns ``op.P[2]`` and ``op.phi[3, 1]`` name.

Indices are ours, base first and from 0, those of ``robot.bodies`` (where bodies move as one node, those of the nodes);
a body's name does as well, and at tips the name of a frame. The papers count from the tip of a serial chain, from 1:
:func:`from_paper` has the index of body k there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InputError, SpaceError, did_you_mean
from .expression import Expression
from .leaves import Leaves
from .spaces import MEMORYLESS, Space

Place = slice | list[int]


def rows_and_columns(op: Expression, index: Any, homes: Sequence[Leaves | None]) -> tuple[Place, Place]:
    """Where the block at an index lies in the matrix of an expression; ``homes`` are the leaves by place."""
    pair = index if isinstance(index, tuple) else (index, index)
    if len(pair) != 2:
        raise InputError(f"a block of {op} has two indices, of its row and its column, got {len(pair)}")
    if not isinstance(index, tuple) and not op.relations <= MEMORYLESS:
        raise InputError(f"{op} is {op.structure}: its blocks have two indices, as in op.phi[3, 1]")
    rows, columns = (_number(space, x, homes) for space, x in zip((op.rows, op.cols), pair))
    return op.rows.where(rows), op.cols.where(columns)


def entries_of(vector: Expression, index: Any, homes: Sequence[Leaves | None]) -> Place:
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
