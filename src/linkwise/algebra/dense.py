"""The dense-matrix meaning of every expression, from the definitions: the oracle for everything else.

φ is (I − E_φ)⁻¹ by a matrix inverse, a product is a matrix product; no sweep is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import arrays
from ..arrays import Array
from ..errors import LinkwiseError
from .blocks import dense_block
from .expression import Expression, Identity, Inclusion, Product, Sum, Zero
from .kinds import BlockDiagonal, Entry, Leaf, Pick, Propagation, Shift, SmallMatrix, StrictPropagation
from .rate import Rate


def dense(op: Expression) -> Array:
    """The matrix (..., rows, columns) of an expression."""
    like = _sample(op)
    if arrays.is_symbolic(like):  # no matrix inverse on symbols: there the sweeps over the columns of I stand in
        return op.apply_columns(arrays.eye(op.cols.dimension, like=like))
    return _dense(op, like)


def magnitude(op: Expression) -> float:
    """The largest entry of the expression with every leaf's matrix made positive: the size its rounding goes by."""
    like = _sample(op)

    def positive(x: Expression) -> np.ndarray:
        if isinstance(x, Product):
            out = positive(x.factors[0])
            for f in x.factors[1:]:
                out = out @ positive(f)
            return out
        if isinstance(x, Sum):
            return arrays.as_numpy(arrays.total(abs(c) * positive(t) for c, t in x.terms))
        sizes: np.ndarray = np.abs(arrays.as_numpy(_dense(x, like)))
        return sizes

    return float(positive(op).max(initial=0.0))


def _sample(op: Expression) -> Any:
    from .kinds import leaves_of

    leaves = leaves_of(op)
    return leaves[0].owner.q if leaves else np.zeros(1)


def _dense(op: Expression, like: Array) -> Array:
    if isinstance(op, Identity):
        return arrays.eye(op.rows.dimension, like=like)
    if isinstance(op, Zero):
        return arrays.zeros(op.shape, like=like)
    if isinstance(op, Inclusion):
        return op.apply_columns(arrays.eye(op.cols.dimension, like=like))  # it only moves numbers
    if isinstance(op, Product):
        out = _dense(op.factors[0], like)
        for f in op.factors[1:]:
            out = out @ _dense(f, like)
        return out
    if isinstance(op, Sum):
        return arrays.total(c * _dense(t, like) for c, t in op.terms)
    if isinstance(op, Rate):
        return op.measured()
    if isinstance(op, Leaf):
        upright = op.upright()
        matrix = _leaf(upright, like)
        return arrays.transpose(matrix) if op.flipped else matrix
    raise LinkwiseError(f"{type(op).__name__} has no dense meaning")


def _leaf(leaf: Leaf, like: Array) -> Array:
    if isinstance(leaf, SmallMatrix):
        matrix = leaf.blocks[0]
        batch = np.broadcast_shapes(like.shape[:-1], matrix.shape[:-2])
        return arrays.namespace(matrix).broadcast_to(matrix, batch + matrix.shape[-2:])
    if isinstance(leaf, BlockDiagonal):
        blocks = {(k, k): dense_block(x) for k, x in enumerate(leaf.blocks)}
    elif isinstance(leaf, Entry):
        blocks = {(k, 0): x for k, x in enumerate(leaf.blocks) if x is not None}
    elif isinstance(leaf, Pick):
        blocks = {(b, t): x.matrix for t, (x, b) in enumerate(zip(leaf.blocks, leaf.owner.tip_nodes)) if b >= 0}
    elif isinstance(leaf, (Shift, Propagation, StrictPropagation)):
        edges = zip(leaf.blocks, leaf.tree.parents)
        blocks = {(p, k): dense_block(E) for k, (E, p) in enumerate(edges) if p >= 0 and E is not None}
    else:
        raise LinkwiseError(f"leaf {leaf.name} has no dense meaning")
    E = arrays.from_blocks(blocks, leaf.rows.sizes, leaf.cols.sizes, like=like)
    E = leaf.cols.ordered_columns(leaf.rows.ordered(E))
    if isinstance(leaf, Propagation):
        return _propagation(E)
    if isinstance(leaf, StrictPropagation):
        return _propagation(E) - arrays.eye(E.shape[-1], like=like)
    return E


def _propagation(E: Array) -> Array:
    """(I − E)⁻¹ of a nilpotent E."""
    return arrays.namespace(E).linalg.inv(arrays.eye(E.shape[-1], like=E) - E)
