"""Inverses of stacks, by eliminating one part after the other.

With A the block of the part that goes, B and C its row and column and S = D − CA⁻¹B what is left of the others,

    [A, B; C, D]⁻¹ = [A⁻¹ + A⁻¹BS⁻¹CA⁻¹, −A⁻¹BS⁻¹; −S⁻¹CA⁻¹, S⁻¹].

Parts on joints and bodies go first, each by its own O(n) route; what is left lies between tips and other small spaces
and is inverted as it is. The equations of closed chains, [𝓜, −G*; G, 0], are so solved in O(n) and the size of G cubed.
"""

from __future__ import annotations

from collections.abc import Callable

from ..errors import NoRecursionError
from .expression import Expression, Inclusion, product, total
from .spaces import Space, stacked
from .stacking import blocks_of

Invert = Callable[[Expression], Expression]
Matrix = dict[tuple[int, int], Expression]  # the blocks that are not zero


def is_small(space: Space) -> bool:
    """Whether a matrix on this space may be formed: at tips, and on spaces of the user's own."""
    return all(part.kind in ("tip", "own") for part in space.leaves)


def inverse_of_stack(op: Expression, invert: Invert) -> Expression | None:
    """The inverse of a square stack; None where it is none, or is small."""
    entries = None if op.rows.kind != "stack" or is_small(op.rows) else blocks_of(op)
    if entries is None:
        return None
    blocks: Matrix = {(i, j): total(terms) for (i, j), terms in entries.items() if i is not None and j is not None}
    parts = dict(enumerate(op.rows.parts))
    found = _inverted(blocks, parts, invert)
    terms = [
        (1.0, product([Inclusion(op.rows, i), x, Inclusion(op.rows, j, flipped=True)])) for (i, j), x in found.items()
    ]
    return total(terms).with_used(op.used)


def _inverted(blocks: Matrix, parts: dict[int, Space], invert: Invert) -> Matrix:
    if all(is_small(space) for space in parts.values()):
        return _inverted_small(blocks, parts, invert)
    pivot, A = _pivot(blocks, parts, invert)
    others = {i: space for i, space in parts.items() if i != pivot}
    row = {j: blocks[pivot, j] for j in others if (pivot, j) in blocks}
    column = {i: blocks[i, pivot] for i in others if (i, pivot) in blocks}
    if not others:
        return {(pivot, pivot): A}
    left = {(i, j): blocks[i, j] for i in others for j in others if (i, j) in blocks}
    for i, C in column.items():
        for j, B in row.items():
            _add(left, (i, j), -(C @ A @ B))
    rest = _inverted(left, others, invert)
    out: Matrix = dict(rest) | {(pivot, pivot): A}
    for (i, j), S in rest.items():
        if i in row:
            _add(out, (pivot, j), -(A @ row[i] @ S))
        if j in column:
            _add(out, (i, pivot), -(S @ column[j] @ A))
        if i in row and j in column:
            _add(out, (pivot, pivot), A @ row[i] @ S @ column[j] @ A)
    return out


def _pivot(blocks: Matrix, parts: dict[int, Space], invert: Invert) -> tuple[int, Expression]:
    """The first part on joints, bodies or edges whose own block has an inverse, and that inverse."""
    reasons = []
    for i, space in parts.items():
        if is_small(space):
            continue
        if (i, i) not in blocks:
            reasons.append(f"block {i} of the diagonal, on {space}, is zero")
            continue
        try:
            return i, invert(blocks[i, i])
        except NoRecursionError as e:
            reasons.append(f"block {i} of the diagonal: {e}")
    raise NoRecursionError("no O(n) route to the inverse of this stack: " + "; ".join(reasons))


def _inverted_small(blocks: Matrix, parts: dict[int, Space], invert: Invert) -> Matrix:
    """What is left between small spaces, as one matrix."""
    indices = list(parts)
    if len(indices) == 1:
        if not blocks:
            raise NoRecursionError(f"this stack has no inverse: what is left on {parts[indices[0]]} is zero")
        return {(indices[0], indices[0]): invert(blocks[indices[0], indices[0]])}
    whole = stacked(tuple(parts.values()))
    part = [Inclusion(whole, k) for k in range(len(indices))]
    where = {i: k for k, i in enumerate(indices)}
    terms = [(1.0, product([part[where[i]], x, part[where[j]].T])) for (i, j), x in blocks.items()]
    if not terms:
        raise NoRecursionError(f"this stack has no inverse: what is left on {whole} is zero")
    inverse = invert(total(terms))
    return {(i, j): product([part[where[i]].T, inverse, part[where[j]]]) for i in indices for j in indices}


def _add(blocks: Matrix, at: tuple[int, int], x: Expression) -> None:
    blocks[at] = blocks[at] + x if at in blocks else x
