"""Symmetric matrices of chains whose entries are sums of products: X(j, k) = h(j) · x(k) for j inboard of k.

They come from walks that take on what they carry as it is, as those of the composite bodies do where all bodies are in
one frame. Such a matrix needs no walk: what each body has of h, x and the diagonal is written down by the sweeps, and
the entries are made from them row by row, where they are wanted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...symbols.scalar import Scalar
from .walk_recorder import PAIRS, RecordedMatrix, RecordedTree, Walk


@dataclass(frozen=True, eq=False)
class Products:
    """Per class of bodies: h and x, as many numbers each, and the entry on the diagonal."""

    h: list[list[Any]]
    x: list[list[Any]]
    diagonal: list[Any]

    @property
    def terms(self) -> int:
        """How many products an entry is the sum of."""
        return len(self.h[0])

    def numbers(self, c: int) -> list[Any]:
        """All numbers of a class, in the order in which they are written down."""
        return [*self.h[c], *self.x[c], self.diagonal[c]]


def row_length(n: int) -> int:
    """How many places one number of all n bodies has, so that those of each begin where vectors of any host like to."""
    return -(-n // 16) * 16


def held(n: int, terms: int) -> int:
    """Vectors of memory for a matrix of n bodies: what the sweeps leave, the same state by state, and some rows."""
    return (2 * (2 * terms + 1) + 1) * row_length(n)


def products(recorder: RecordedTree, matrix: RecordedMatrix) -> Products | None:
    """The matrix as sums of products, where it is one."""
    symmetric = matrix.flipped is None and not matrix.width and len(matrix.kept) == 1
    if recorder.branching or not symmetric or set(recorder.sizes) != {1}:
        return None
    (pairs,) = matrix.kept
    walks = list({id(w): w for w in pairs.walks.values()}.values())
    classes = range(len(recorder.roots))
    if len(walks) != 1 or walks[0].outward or set(pairs.walks) != set(classes):
        return None
    walk = walks[0]
    if any(not _takes_on(walk, slots) for slots in walk.handed):
        return None
    h = [_factors(recorder, walk, _entry(pairs[c, 0])) for c in classes]
    if any(x is None for x in h):
        return None
    return Products(
        [x for x in h if x is not None], [walk.start[c] for c in classes], list(map(_entry, matrix.diagonal))
    )


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
