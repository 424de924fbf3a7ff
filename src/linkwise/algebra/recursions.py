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

if TYPE_CHECKING:
    from .leaves import Operators
    from .operator import Operator

KINDS = ("φφ", "ψφ", "ψ*ψ", "φ*φ⁻*", "ψ*φ⁻*")


def solve_recursion(op: Operators, X: Operator, kind: str) -> list[Array]:
    """The blocks of S for one of :data:`KINDS`."""
    from .blocks import dense_block

    phi = [x.matrix for x in op.links.phi]
    psi = [e.matrix for e in op.E_psi.blocks] if "ψ" in kind else phi  # type: ignore[attr-defined]
    phi_inverse = [x.inverse().matrix for x in op.links.phi]
    driven = [dense_block(x) for x in op.blocks_of(X)]
    if kind in ("φφ", "ψφ"):
        left = psi if kind == "ψφ" else phi

        def gather(gathered: Any, left: Array, right: Array, x: Array) -> Any:
            S = gathered + x
            return left @ S @ right.mT, S

        return op.model.tree.inward(gather, 0, left, phi, driven)
    left, right = {
        "ψ*ψ": (psi, psi),
        "φ*φ⁻*": (phi, [x.mT for x in phi_inverse]),
        "ψ*φ⁻*": (psi, [x.mT for x in phi_inverse]),
    }[kind]

    def spread(S: Any, left: Array, right: Array, x: Array) -> Any:
        return x if S is None else left.mT @ S @ right + x

    return op.model.tree.outward(spread, None, left, right, driven)
