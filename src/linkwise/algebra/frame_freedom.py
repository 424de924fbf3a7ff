"""Which formulas give the same in any frames of the bodies: proved from their leaves, for the compiler to choose.

Frames. When the frame of a body changes, its forces change by some X and its motions by X⁻*. Each leaf maps forces or
motions to forces, motions or joint space, and changes accordingly; where what one factor gives is what the next
takes, the changes between them cancel, and in joint space nothing changes. HH*, whose H takes forces and whose H*
gives motions, does depend on frames.

Inertias. The normal form of a robot (:mod:`linkwise.model.normal_form`) also moves a part Z of each M(k), with
ZH* = 0, to the parent: M becomes M − Z + E_φZE_φ*. Then R and P become R − Z and P − Z (put them into the Lyapunov
and Riccati equations: HZ = 0 keeps D, G, ψ and K as they are), and HφMφ*H* stays, as φ(Z − E_φZE_φ*)φ* is
Z + φ̃Z + Zφ̃*. So M may stand inside HφMφ*H*, and P, P⁺ and R beside H* or behind H.

Nodes. Inside a node, with e the edges between its members, P becomes P − W, W = Z − eZe*, and G becomes G − WH*D⁻¹.
WH* is not zero, but HWH* = 0, and φ(p, 𝒢)WH* = 0, as members that hang on the body outside hang there by their own
joints. So D, K and ψ stay. And as forces are taken by H, φ and Υ alone, and motions come from H*, φ* and Υ, whose
columns are those of H* and φ*, nothing sees WH* in PH*, HP or G: the rest is as of bodies.
"""

from __future__ import annotations

from .expression import Expression, Identity, Product, Sum, Zero
from .kinds import Leaf, UserBlockDiagonal, leaves_of
from .leaves import Leaves

FORCE, MOTION, JOINT, EITHER = "force", "motion", "joint", "either"

Variance = tuple[str, str]  # what it gives, what it takes

_VARIANCE: dict[str, Variance] = {
    "H": (JOINT, FORCE),
    **dict.fromkeys(("phi", "phi_tilde", "E_phi", "psi", "psi_tilde", "E_psi", "tau", "tau_bar"), (FORCE, FORCE)),
    **dict.fromkeys(("S", "Delta_phi", "Delta_psi"), (FORCE, FORCE)),
    **dict.fromkeys(("G", "K", "L", "rotor_coupling"), (FORCE, JOINT)),
    **dict.fromkeys(("D", "D_inverse", "D_root", "D_root_inverse", "rotor_inertia"), (JOINT, JOINT)),
    **dict.fromkeys(("Upsilon", "Upsilon_plus"), (MOTION, FORCE)),
    **dict.fromkeys(("M", "P", "P_plus", "R"), (FORCE, MOTION)),
}
_MOVED = ("M", "P", "P_plus", "R")  # what the normal form changes by Z
_ADJOINT = {FORCE: MOTION, MOTION: FORCE, JOINT: JOINT}


def is_frame_free(op: Expression) -> bool:
    """Whether an expression between joint spaces is proved to be the same in the normal form of its robot.

    Where loops are embedded nothing is: their frames stay on the bodies when those of the bodies move.
    """
    if any(leaf.owner.groups for leaf in leaves_of(op)):
        return False
    return op.rows.kind == op.cols.kind == "joint" and variance(op) is not None


def variance(op: Expression) -> Variance | None:
    """What an expression maps to what; None where nothing is proved."""
    if isinstance(op, Zero):
        return (EITHER, EITHER)
    if isinstance(op, Identity):
        return {"joint": (JOINT, JOINT), "body": (EITHER, EITHER)}.get(op.rows.kind)
    if isinstance(op, Product):
        return _of_product(op.factors)
    if isinstance(op, Sum):
        return _of_sum([t for _, t in op.terms])
    assert isinstance(op, Leaf)
    return None if op.name in _MOVED and not isinstance(op, UserBlockDiagonal) else _of_leaf(op)


def _of_leaf(leaf: Leaf) -> Variance | None:
    if isinstance(leaf, UserBlockDiagonal):
        return (JOINT, JOINT) if leaf.rows.kind == "joint" else None
    if leaf.inverse_of is not None:
        inner = variance(leaf.inverse_of)
        return inner if inner == (JOINT, JOINT) else None
    if leaf.driver is not None or not _is_own(leaf.owner):
        return None
    found = _VARIANCE.get(leaf.name)
    if found is None or not leaf.flipped:
        return found
    return (_ADJOINT[found[1]], _ADJOINT[found[0]])


def _is_own(owner: Leaves) -> bool:
    """Whether a family's inertia is the robot's own M, with any frame-free Γ beside it."""
    if owner.is_default:
        return True
    Gamma = owner.joint_noise
    return owner.M.key == owner.root.M.key and (Gamma is None or variance(Gamma) == (JOINT, JOINT))


def _of_product(factors: tuple[Expression, ...]) -> Variance | None:
    kinds = [_of_factor(factors, i) for i in range(len(factors))]
    out = kinds[0]
    for right in kinds[1:]:
        if out is None or right is None or not _meets(out[1], right[0]):
            return None
        out = (out[0], right[1] if right[1] != EITHER else out[1])
    return out


def _of_factor(factors: tuple[Expression, ...], i: int) -> Variance | None:
    op = factors[i]
    if not isinstance(op, Leaf) or isinstance(op, UserBlockDiagonal) or op.name not in _MOVED:
        return variance(op)
    H, phi = op.owner.H, op.owner.phi
    if op.name == "M":
        around = [f.key for f in factors[max(i - 2, 0) : i + 3]]
        kept = around == [H.key, phi.key, op.key, phi.T.key, H.T.key]
    else:
        kept = (i > 0 and factors[i - 1].key == H.key) or (i + 1 < len(factors) and factors[i + 1].key == H.T.key)
    return _of_leaf(op) if kept else None


def _of_sum(terms: list[Expression]) -> Variance | None:
    found = [variance(t) for t in terms]
    if None in found:
        return None
    known = {x for x in found if x is not None and EITHER not in x}
    if len(known) > 1:
        return None
    if not known:
        return (EITHER, EITHER)
    (out,) = known
    return out if len(known) == len(set(found)) or out[0] == out[1] else None


def _meets(a: str, b: str) -> bool:
    return EITHER in (a, b) or a == b
