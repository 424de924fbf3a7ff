"""Block diagonals driven by a free block diagonal X: the S of the Linearized paper's (A.1)–(A.5).

φφ      S(k) = Σ φ S φ* + X      inward     φXφ*  = φS + Sφ̃*      (A.1)
ψφ      S(k) = Σ ψ S φ* + X      inward     ψXφ*  = ψS + Sφ̃*      (A.2)
ψψ      S(k) = Σ ψ S ψ* + X      inward     ψXψ*  = ψS + Sψ̃*
ψ*ψ     S(k) = ψ* S ψ + X        outward    ψ*Xψ  = ψ*S + Sψ̃      (A.3), chains
φ*φ⁻*   S(k) = φ* S φ⁻* + X      outward    φ*Xφ̃* = Sφ* − φ*S     (A.4)
ψ*φ⁻*   S(k) = ψ* S φ⁻* + X      outward    ψ*Xφ̃* = Sφ* − ψ*S     (A.5)

With a point between them the maps carry X one edge out, C(k) = φ*X(p)φ and C(k) = φ*X(p)φ⁻*; derivatives ask for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import arrays
from ..aggregates import Members, both_sides, through_port
from ..arrays import Array
from ..spatial import RigidInertia, Transform, congruence
from .blocks import dense_block
from .nodes import edge_maps, inertia

if TYPE_CHECKING:
    from .expression import Expression
    from .leaves import Leaves

KINDS = ("φφ", "ψφ", "ψψ", "ψ*ψ", "φ*φ⁻*", "ψ*φ⁻*", "φ*·φ", "φ*·φ⁻*")


def solve_recursion(op: Leaves, X: Expression, kind: str) -> list[Any]:
    """The blocks of S for one of :data:`KINDS`."""
    blocks = op.blocks_of(X)
    if kind == "φφ":
        return _gathered(op, blocks)
    if kind == "ψφ" and op.nodes is not None:
        return _past_joints(op, blocks)
    driven = [dense_block(x) for x in blocks]
    shift: Any = op.E_psi if "ψ" in kind else None
    psi = [] if shift is None else [e.matrix for e in shift.blocks]
    if kind == "ψφ":

        def gather(gathered: Any, left: Array, right: Transform, x: Array) -> Any:
            S = gathered + x
            return left @ (right @ S.mT).mT, S

        return op.tree.inward(gather, 0, psi, op.links.phi, driven)
    if kind == "ψψ":

        def sum_up(gathered: Any, psi: Array, x: Array) -> Any:
            S = gathered + x
            return psi @ S @ psi.mT, S

        return op.tree.inward(sum_up, 0, psi, driven)
    if "·" in kind:
        return _carried(op, driven, kind)
    left = psi if "ψ" in kind else [x.matrix for x in op.links.phi]
    right = psi if kind == "ψ*ψ" else [x.inverse().matrix.mT for x in op.links.phi]

    def spread(S: Any, left: Array, right: Array, x: Array) -> Any:
        return x if S is None else left.mT @ S @ right + x

    return op.tree.outward(spread, None, left, right, driven)


def _carried(op: Leaves, X: list[Array], kind: str) -> list[Array]:
    """C(k) = φ*X(p)φ or φ*X(p)φ⁻*; nothing comes from the world."""
    phi = [dense_block(x) for x in edge_maps(op.links)]
    right = phi if kind == "φ*·φ" else [x.inverse().matrix.mT for x in op.links.phi]
    inner = op.tree.at_parents(X, arrays.zeros((6, 6), like=op.values))
    return [f.mT @ x @ g for x, f, g in zip(inner, phi, right)]


def _gathered(op: Leaves, blocks: list[Any]) -> list[Any]:
    """S(k) = Σ φ S φ* + X(k), of inertias where X is one."""

    def step(gathered: Any, phi: Any, x: Any) -> Any:
        total = gathered + (x if _of_bodies(x) else inertia(x))
        if _of_bodies(total):
            return congruence(phi, total), total
        return through_port(phi, lambda phi: both_sides(phi, total)), total  # X need not be symmetric

    return op.tree.inward(step, 0, op.links.phi, blocks)


def _of_bodies(x: Any) -> bool:
    """Whether an inertia is a rigid body's, or several of them."""
    return isinstance(x, RigidInertia) or (isinstance(x, Members) and all(isinstance(P, RigidInertia) for P in x.parts))


def _past_joints(op: Leaves, blocks: list[Any]) -> list[Any]:
    """S(k) = Σ ψ S φ* + X(k) with ψSφ* = φSφ* − (φG)(φ(HS)*)*, in which no (6m, 6m) matrix comes about."""

    def step(gathered: Any, phi: Any, H: Array, G: Array, x: Any) -> Any:
        S = gathered + inertia(x)

        def crossed(phi: Any) -> Array:
            passed: Array = both_sides(phi, S) - (phi @ G) @ (phi @ arrays.transpose(H @ S)).mT
            return passed

        return through_port(phi, crossed), S

    return op.tree.inward(step, 0, op.links.phi, op.links.H, op.articulated.G, blocks)
