"""Blocks in formulas: φ(3,1), P(2), V(2), and sums and products of them, which are arrays once there is a state.

Blocks know where they map from and to, as operators do: that of a body is in the axes of that body, at its joint, so
that M(2) V(3) is refused, and φ*(2,3) carries V(2) there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import arrays
from ..arrays import Array
from ..errors import SingularError, SpaceError
from ..singularity import general_inverse
from .block_index import Place, place_of, places_of
from .expression import Expression
from .operator import bound

if TYPE_CHECKING:
    from .leaves import Leaves
    from .operators import Operators

OURS, PAPERS = "ours", "papers"


@dataclass(frozen=True)
class BlockTerm:
    """A formula of blocks: how it is written, what it maps to what, and its matrix from the operators of a state."""

    text: str
    rows: Place
    cols: Place
    matrix: Callable[[Operators], Array]  # (..., rows, columns); one column where it is a vector

    def value(self, op: Operators) -> Array:
        """The array (..., rows, columns), or (..., rows) of a vector."""
        found = self.matrix(op)
        return found[..., 0] if self.cols.is_number else found

    @property
    def T(self) -> BlockTerm:
        return BlockTerm(f"{_closed(self.text)}*", self.cols, self.rows, lambda op: arrays.transpose(self.matrix(op)))

    def inv(self) -> BlockTerm:
        """The inverse of a square block."""
        if self.rows.size != self.cols.size:
            raise SpaceError(f"{self.text} is {self.rows.size}×{self.cols.size}; only square blocks have inverses")
        return BlockTerm(f"{_closed(self.text)}⁻¹", self.cols, self.rows, lambda op: _inverted(self, op))

    def scaled(self, c: float) -> BlockTerm:
        """A multiple of it."""
        if c == 1:
            return self
        return BlockTerm(f"{c:g} {self.text}", self.rows, self.cols, lambda op: c * self.matrix(op))


def _inverted(term: BlockTerm, op: Operators) -> Array:
    x = term.matrix(op)
    if not arrays.is_eager(x):
        return arrays.inverse(x)
    found, singular = general_inverse(x)
    if np.any(singular):
        raise SingularError(f"{term.text} has no inverse at this state: it is singular, to rounding")
    return found


def block(X: Expression, indices: tuple[int, ...], numbering: str, adjoint: bool, leaves: Leaves) -> BlockTerm:
    """X(i,k) or X(k); ``adjoint`` makes it X*(i,k), the adjoint of the block, as the papers mean it."""
    written = f"{X}{'*' if adjoint else ''}({','.join(map(str, indices))})"
    if numbering == PAPERS:
        X, indices = places_of(X, indices, leaves)
    is_vector = X.cols.kind == "number"
    place: Any = indices[0] if len(indices) == 1 else indices
    rows, cols = place_of(X, place, leaves)

    def matrix(op: Operators) -> Array:
        found: Array = bound(X, op.binding)[place]
        return found[..., None] if is_vector else found

    out = BlockTerm(written, rows, cols, matrix)
    if not adjoint:
        return out
    return BlockTerm(written, cols, rows, lambda op: arrays.transpose(matrix(op)))


def block_product(factors: list[BlockTerm]) -> BlockTerm:
    """The product of blocks that fit."""
    for left, right in pairwise(factors):
        if left.cols != right.rows:
            raise SpaceError(
                f"{left.text} takes {left.cols}, and {right.text} gives {right.rows}: they cannot be multiplied"
                f"{_carried(left.cols, right.rows)}"
            )

    def matrix(op: Operators) -> Array:
        out = factors[0].matrix(op)
        for f in factors[1:]:
            out = out @ f.matrix(op)
        return out

    if len(factors) == 1:
        return factors[0]
    return BlockTerm(" ".join(f.text for f in factors), factors[0].rows, factors[-1].cols, matrix)


def block_sum(terms: list[tuple[float, BlockTerm]]) -> BlockTerm:
    """The sum of blocks that map the same."""
    first = terms[0][1]
    for _, t in terms:
        if (t.rows, t.cols) != (first.rows, first.cols):
            raise SpaceError(
                f"{t.text} maps {t.cols} to {t.rows}, {first.text} {first.cols} to {first.rows}: they cannot be added"
                f"{_carried(t.rows, first.rows)}"
            )
    written = " + ".join(t.scaled(c).text for c, t in terms)
    return BlockTerm(written, first.rows, first.cols, lambda op: arrays.total([c * t.matrix(op) for c, t in terms]))


def _carried(one: Place, other: Place) -> str:
    """What blocks of two bodies lack."""
    if one.kind == other.kind == "body" and one.at != other.at:
        return "; those of different bodies are in different axes, at different points, and φ(…) or φ*(…) carries them"
    return ""


def _closed(text: str) -> str:
    return f"({text})" if " " in text else text
