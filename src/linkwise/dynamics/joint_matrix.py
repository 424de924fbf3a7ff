"""Joint-space matrices from blocks that walks from body to body have kept."""

from __future__ import annotations

from collections.abc import Sequence

from .. import arrays
from ..arrays import Array
from ..sweeps import Loop, Pairs
from .links import Links


def joint_matrix(
    links: Links, diagonal: Sequence[Array], kept: Sequence[Pairs], flipped: Pairs | None, like: Array
) -> Array:
    """The matrix (..., nv, nv) with the blocks X(k,k) = diagonal[k] and X(j,k) = kept[j,k] of every walk.

    ``flipped`` holds blocks at their transposed places, X(k,j) = flipped[j,k]; where it is None the matrix is
    symmetric, and the block kept for j < k is taken for both.
    """
    if isinstance(links.parents, Loop):
        return links.parents.joint_matrix(diagonal, kept, flipped)
    blocks = {(k, k): x for k, (x, r) in enumerate(zip(diagonal, links.sizes)) if r}
    for pairs in kept:
        for (j, k), x in pairs.items():
            if flipped is not None:
                blocks[j, k] = x
            elif (k, j) not in blocks:
                blocks[j, k], blocks[k, j] = x, arrays.transpose(x)
    for (j, k), x in (flipped or {}).items():
        blocks[k, j] = x
    return arrays.from_blocks(blocks, links.sizes, links.sizes, like=like)
