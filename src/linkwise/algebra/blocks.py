"""The blocks of leaf operators, in forms that are cheap to apply: φ(p, k) A(k) across an edge, τ̄ = I − GH.

Blocks are matrices, transforms, inertias or the classes here; None stands for a zero block.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import arrays, inputs
from ..aggregates import Port, whole
from ..arrays import Array
from ..errors import SpaceError
from ..spatial import RigidInertia, Transform
from .spaces import Space


def act(E: Any, x: Any) -> Any:
    """E x for a matrix, a transform or an inertia; None is zero."""
    return None if x is None or E is None else E @ x


def act_adjoint(E: Any, x: Any) -> Any:
    """E* x."""
    if x is None or E is None:
        return None
    if isinstance(E, RigidInertia):
        return E @ x
    return E.T @ x if isinstance(E, (Transform, Edge, AtNode)) else E.mT @ x


def plus(x: Any, y: Any) -> Any:
    """x + y where None is zero."""
    return y if x is None else x if y is None else x + y


class Edge:
    """φ(p, k) A(k): what crosses an edge after a local map A (I for φ, τ̄ for ψ, G for K)."""

    def __init__(self, phi: Any, local: Any) -> None:
        self.phi, self.local = phi, local

    def __matmul__(self, x: Any) -> Any:
        return self.phi @ (self.local @ x)

    @property
    def T(self) -> AdjointEdge:
        return AdjointEdge(self)

    @property
    def matrix(self) -> Array:
        whole: Array = self.phi.matrix @ dense_block(self.local)
        return whole


class AdjointEdge:
    def __init__(self, edge: Edge) -> None:
        self.edge = edge

    def __matmul__(self, x: Any) -> Any:
        return act_adjoint(self.edge.local, self.edge.phi.T @ x)


class AtNode:
    """Π*φ: what comes in at one member of an aggregate, as columns of all its members (zeros at the others)."""

    def __init__(self, port: Port) -> None:
        self.port = port

    def __matmul__(self, x: Any) -> Any:
        return whole(self.port @ x)

    @property
    def T(self) -> Any:
        return self.port.T

    @property
    def matrix(self) -> Array:
        return self.port.matrix


class Gain:
    """τ = GH, applied in that form: of an aggregate a (6m, 6m) matrix of rank r."""

    def __init__(self, G: Array, H: Array) -> None:
        self.G, self.H = G, H

    def __matmul__(self, x: Any) -> Any:
        return self.G @ (self.H @ x)

    @property
    def mT(self) -> Gain:
        return Gain(self.H.mT, self.G.mT)

    @property
    def matrix(self) -> Array:
        return self.G @ self.H


class Projection:
    """τ̄ = I − GH, applied in that form (12 instead of 36 multiplications for a one-dof joint)."""

    def __init__(self, G: Array, H: Array) -> None:
        self.G, self.H = G, H

    def __matmul__(self, x: Any) -> Any:
        return x - self.G @ (self.H @ x)

    @property
    def mT(self) -> Projection:
        return Projection(self.H.mT, self.G.mT)

    @property
    def matrix(self) -> Array:
        return arrays.eye(self.H.shape[-1], like=self.G) - self.G @ self.H


def dense_block(E: Any) -> Array:
    """The matrix of a block, whatever form it is kept in."""
    out: Array = E if not hasattr(E, "matrix") else E.matrix
    return out


class Unit:
    """The identity as a local map, of the kind and precision of ``like``."""

    def __init__(self, like: Array, size: int = 6) -> None:
        self.like, self.size = like, size

    def __matmul__(self, x: Any) -> Any:
        return x

    @property
    def mT(self) -> Unit:
        return self

    T = mT

    @property
    def matrix(self) -> Array:
        return arrays.eye(self.size, like=self.like)


def checked_blocks(blocks: Any, space: Space) -> list[Array]:
    """The user's blocks as arrays that nobody else holds, each of the size that the space has."""
    if isinstance(blocks, (list, tuple)):
        out = [inputs.as_array(x, f"block {k}") for k, x in enumerate(blocks)]
    else:
        given = inputs.as_array(blocks, "blocks")
        if given.ndim < 3:
            raise SpaceError(f"blocks of {space} must be a list of matrices or (..., blocks, r, r), got {given.shape}")
        out = [given[..., k, :, :] for k in range(given.shape[-3])]
    if len(out) != len(space.sizes):
        raise SpaceError(f"{space} has {len(space.sizes)} blocks, got {len(out)}")
    out = [x.copy() if isinstance(x, np.ndarray) else x for x in out]  # later changes must not reach the operator
    for k, (x, r) in enumerate(zip(out, space.sizes)):
        if x.ndim < 2 or x.shape[-2:] != (r, r):
            raise SpaceError(f"block {k} of {space} must be {r}×{r}, got shape {tuple(x.shape)}")
    return out
