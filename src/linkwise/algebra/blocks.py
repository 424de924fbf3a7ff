"""The blocks of leaf operators, in forms that are cheap to apply: φ(p, k) A(k) across an edge, τ̄ = I − GH.

Blocks are matrices, transforms, inertias or the classes here; None stands for a zero block.
"""

from __future__ import annotations

from typing import Any

from .. import arrays
from ..arrays import Array
from ..spatial import RigidInertia, Transform


def act(E: Any, x: Any) -> Any:
    """E x for a matrix, a transform or an inertia; None is zero."""
    return None if x is None or E is None else E @ x


def act_adjoint(E: Any, x: Any) -> Any:
    """E* x."""
    if x is None or E is None:
        return None
    if isinstance(E, RigidInertia):
        return E @ x
    return E.T @ x if isinstance(E, (Transform, Edge)) else E.mT @ x


def plus(x: Any, y: Any) -> Any:
    """x + y where None is zero."""
    return y if x is None else x if y is None else x + y


class Edge:
    """φ(p, k) A(k): what crosses an edge after a local map A (I for φ, τ̄ for ψ, G for K)."""

    def __init__(self, phi: Transform, local: Any) -> None:
        self.phi, self.local = phi, local

    def __matmul__(self, x: Any) -> Any:
        return self.phi @ (self.local @ x)

    @property
    def T(self) -> AdjointEdge:
        return AdjointEdge(self)

    @property
    def matrix(self) -> Array:
        return self.phi.matrix @ dense_block(self.local)


class AdjointEdge:
    def __init__(self, edge: Edge) -> None:
        self.edge = edge

    def __matmul__(self, x: Any) -> Any:
        return act_adjoint(self.edge.local, self.edge.phi.T @ x)


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
        return arrays.eye(6, like=self.G) - self.G @ self.H


def dense_block(E: Any) -> Array:
    """The matrix of a block, whatever form it is kept in."""
    out: Array = E if not hasattr(E, "matrix") else E.matrix
    return out


class Unit:
    """The identity as a local map, of the kind and precision of ``like``."""

    def __init__(self, like: Array) -> None:
        self.like = like

    def __matmul__(self, x: Any) -> Any:
        return x

    @property
    def mT(self) -> Unit:
        return self

    @property
    def matrix(self) -> Array:
        return arrays.eye(6, like=self.like)
