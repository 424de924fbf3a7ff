"""Blocks in formulas: φ(3,1), P(2), and sums and products of them, which are arrays once there is a state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import arrays
from ..arrays import Array
from ..errors import SpaceError
from .block_index import from_paper
from .expression import Expression
from .operator import bound

if TYPE_CHECKING:
    from .operators import Operators

OURS, PAPERS = "ours", "papers"


@dataclass(frozen=True)
class BlockTerm:
    """A formula of blocks: how it is written, and its array (..., rows, columns) from the operators of a state."""

    text: str
    value: Callable[[Operators], Array]

    @property
    def T(self) -> BlockTerm:
        return BlockTerm(f"{_closed(self.text)}*", lambda op: arrays.transpose(self.value(op)))

    def inv(self) -> BlockTerm:
        """The inverse of a square block."""
        return BlockTerm(f"{_closed(self.text)}⁻¹", lambda op: arrays.inverse(self.value(op)))

    def scaled(self, c: float) -> BlockTerm:
        """A multiple of it."""
        return self if c == 1 else BlockTerm(f"{c:g} {self.text}", lambda op: c * self.value(op))


def block(X: Expression, indices: tuple[int, ...], numbering: str, adjoint: bool) -> BlockTerm:
    """X(i,k) or X(k); ``adjoint`` makes it X*(i,k), the adjoint of the block, as the papers mean it."""

    def value(op: Operators) -> Array:
        given = [from_paper(op.leaves, k) for k in indices] if numbering == PAPERS else list(indices)
        found: Array = bound(X, op.binding)[given[0] if len(given) == 1 else tuple(given)]
        return arrays.transpose(found) if adjoint else found

    return BlockTerm(f"{X}{'*' if adjoint else ''}({','.join(map(str, indices))})", value)


def block_product(factors: list[BlockTerm]) -> BlockTerm:
    """The product of blocks that fit."""

    def value(op: Operators) -> Array:
        out = factors[0].value(op)
        for f in factors[1:]:
            right = f.value(op)
            if out.shape[-1] != right.shape[-2]:
                raise SpaceError(
                    f"{f.text} has {right.shape[-2]} rows, and what stands before it {out.shape[-1]} columns"
                )
            out = out @ right
        return out

    return factors[0] if len(factors) == 1 else BlockTerm(" ".join(f.text for f in factors), value)


def block_sum(terms: list[tuple[float, BlockTerm]]) -> BlockTerm:
    """The sum of blocks of one shape."""

    def value(op: Operators) -> Array:
        parts: list[Any] = [c * t.value(op) for c, t in terms]
        for (_, t), x in zip(terms, parts):
            if x.shape[-2:] != parts[0].shape[-2:]:
                raise SpaceError(
                    f"{t.text} is {x.shape[-2]}×{x.shape[-1]}, {terms[0][1].text} {parts[0].shape[-2]}×"
                    f"{parts[0].shape[-1]}: they cannot be added"
                )
        return arrays.total(parts)

    written = " + ".join(t.scaled(c).text for c, t in terms)
    return BlockTerm(written, value)


def _closed(text: str) -> str:
    return f"({text})" if " " in text else text
