"""Block diagonals driven by a free block diagonal X: the S of the Linearized paper's (A.1)–(A.5).

φφ      S(k) = Σ φ S φ* + X      inward     φXφ*  = φS + Sφ̃*      (A.1)
ψφ      S(k) = Σ ψ S φ* + X      inward     ψXφ*  = ψS + Sφ̃*      (A.2)
ψ*ψ     S(k) = ψ* S ψ + X        outward    ψ*Xψ  = ψ*S + Sψ̃      (A.3), chains
φ*φ⁻*   S(k) = φ* S φ⁻* + X      outward    φ*Xφ̃* = Sφ* − φ*S     (A.4)
ψ*φ⁻*   S(k) = ψ* S φ⁻* + X      outward    ψ*Xφ̃* = Sφ* − ψ*S     (A.5)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..arrays import Array
from ..spatial import RigidInertia, Transform, congruence
from .blocks import dense_block

if TYPE_CHECKING:
    from .expression import Expression
    from .leaves import Leaves

KINDS = ("φφ", "ψφ", "ψ*ψ", "φ*φ⁻*", "ψ*φ⁻*")


def solve_recursion(op: Leaves, X: Expression, kind: str) -> list[Any]:
    """The blocks of S for one of :data:`KINDS`."""
    blocks = op.blocks_of(X)
    if kind == "φφ":
        return _gathered(op, blocks)
    driven = [dense_block(x) for x in blocks]
    shift: Any = op.E_psi if "ψ" in kind else None
    psi = [] if shift is None else [e.matrix for e in shift.blocks]
    if kind == "ψφ":

        def gather(gathered: Any, left: Array, right: Transform, x: Array) -> Any:
            S = gathered + x
            return left @ (right @ S.mT).mT, S

        return op.model.tree.inward(gather, 0, psi, op.links.phi, driven)
    back = [x.inverse().matrix.mT for x in op.links.phi]
    left, right = {
        "ψ*ψ": (psi, psi),
        "φ*φ⁻*": ([x.matrix for x in op.links.phi], back),
        "ψ*φ⁻*": (psi, back),
    }[kind]

    def spread(S: Any, left: Array, right: Array, x: Array) -> Any:
        return x if S is None else left.mT @ S @ right + x

    return op.model.tree.outward(spread, None, left, right, driven)


def _gathered(op: Leaves, blocks: list[Any]) -> list[Any]:
    """S(k) = Σ φ S φ* + X(k), of inertias where X is one."""

    def step(gathered: Any, phi: Transform, x: Any) -> Any:
        total = gathered + (x if isinstance(x, RigidInertia) else dense_block(x))
        if isinstance(total, RigidInertia):
            return congruence(phi, total), total
        return phi @ (phi @ total.mT).mT, total  # X need not be symmetric

    return op.model.tree.inward(step, 0, op.links.phi, blocks)
