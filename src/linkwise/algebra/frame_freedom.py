"""Which formulas give the same in any frames of the bodies: proved from their leaves, for the compiler to choose.

Frames. When the frame of a body changes, its forces change by some X and its motions by X⁻*. Each leaf maps forces or
motions to forces, motions or joint space, and changes accordingly; where what one factor gives is what the next
takes, the changes between them cancel, and in joint space nothing changes. HH*, whose H takes forces and whose H*
gives motions, does depend on frames.

Inertias. The normal form of a robot (:mod:`linkwise.model.normal_form`) also moves a part Z of each M(k), with
ZH* = 0, to the parent, by which P, P⁺ and R change by Z as well. HφMφ*H* stays, as φ(Z − E_φZE_φ*)φ* is Z + φ̃Z + Zφ̃*,
and so do PH*, P⁺H* and RH*; of other formulas :mod:`.regrouping` finds it out.

Nodes. Inside a node, with e the edges between its members, P becomes P − W, W = Z − eZe*, and G becomes G − WH*D⁻¹.
WH* is not zero, but HWH* = 0, and φ(p, 𝒢)WH* = 0, as members that hang on the body outside hang there by their own
joints. So D, K and ψ stay. And as forces are taken by H, φ and Υ alone, and motions come from H*, φ* and Υ, whose
columns are those of H* and φ*, nothing sees WH* in PH*, HP or G: the rest is as of bodies.
"""

from __future__ import annotations

from .expression import Expression, Identity, Product, Sum, Zero
from .kinds import Leaf, UserBlockDiagonal, UserColumn, UserMatrix, leaves_of
from .leaves import Leaves
from .regrouping import CHANGED, stays_when_regrouped

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
    # Vectors map from the numbers, which are as good as joint space. (Classical accelerations show where frames are.)
    **dict.fromkeys(("V", "alpha", "coriolis", "g"), (MOTION, JOINT)),
    **dict.fromkeys(("gyroscopic", "f"), (FORCE, JOINT)),
    **dict.fromkeys(("theta_dot", "theta_ddot", "T"), (JOINT, JOINT)),
    # Products with × and rates in frames that stay on their bodies.
    **dict.fromkeys(("M_hat", "P_ring", "Pi_dot"), (FORCE, MOTION)),
    "V_tilde": (MOTION, MOTION),
    "F": (FORCE, FORCE),
    "H_dot": (MOTION, JOINT),
}
_MOVING = frozenset(["V", "alpha", "coriolis", "g", "gyroscopic", "f"])
_RATES = frozenset(["M_hat", "P_ring", "Pi_dot", "V_tilde", "F", "H_dot"])
_OWN = (UserBlockDiagonal, UserColumn, UserMatrix)
_ADJOINT = {FORCE: MOTION, MOTION: FORCE, JOINT: JOINT}


def is_frame_free(op: Expression) -> bool:
    """Whether an expression between joint spaces, or a vector there, is proved the same in its robot's normal form.

    Where loops are embedded nothing is: their frames stay on the bodies when those of the bodies move.
    """
    owners = [leaf.owner for leaf in leaves_of(op)]
    if any(o.groups for o in owners):
        return False
    if any(o.nodes is not None for o in owners) and len({o.place for o in owners}) > 1:
        return False  # of nodes HWH* = 0 holds for the H of one state alone
    between_joints = op.rows.kind == "joint" and op.cols.kind in ("joint", "number")
    return between_joints and variance(op) is not None and _keeps_inertias(op)


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
    return _of_leaf(op) if isinstance(op, Leaf) else None


def _of_leaf(leaf: Leaf) -> Variance | None:
    if isinstance(leaf, _OWN):
        kinds = {leaf.rows.kind, leaf.cols.kind}
        return (JOINT, JOINT) if kinds <= {"joint", "number"} else None
    if leaf.inverse_of is not None:
        return (JOINT, JOINT) if is_frame_free(leaf.inverse_of) else None
    if leaf.driver is not None or not _is_own(leaf.owner):
        return None
    if leaf.name in _MOVING | _RATES and leaf.owner.nodes is not None:  # motions that come from no H* or φ*, see above
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
    kinds = [variance(f) for f in factors]
    out = kinds[0]
    for right in kinds[1:]:
        if out is None or right is None or not _meets(out[1], right[0]):
            return None
        out = (out[0], right[1] if right[1] != EITHER else out[1])
    return out


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


# --- inertias ----------------------------------------------------------------------------------------


def _keeps_inertias(op: Expression) -> bool:
    """Whether nothing of an expression changes where parts of inertias go to the parents."""
    leaves = leaves_of(op)
    if not any(leaf.name in CHANGED and not isinstance(leaf, _OWN) for leaf in leaves) or _stand_safely(op):
        return True
    return all(leaf.owner.nodes is None for leaf in leaves) and stays_when_regrouped(op)


def _stand_safely(op: Expression) -> bool:
    """Whether every M is inside HφMφ*H*, and P, P⁺ and R beside H* or behind H."""
    if isinstance(op, Sum):
        return all(_stand_safely(t) for _, t in op.terms)
    factors = op.factors if isinstance(op, Product) else (op,)
    return all(_stands_safely(factors, i) for i in range(len(factors)))


def _stands_safely(factors: tuple[Expression, ...], i: int) -> bool:
    op = factors[i]
    if isinstance(op, Sum):
        return _stand_safely(op)
    if not isinstance(op, Leaf) or isinstance(op, _OWN) or op.name not in CHANGED:
        return True
    H, phi = op.owner.H, op.owner.phi
    if op.name == "M":
        around = [f.key for f in factors[max(i - 2, 0) : i + 3]]
        return around == [H.key, phi.key, op.key, phi.T.key, H.T.key]
    beside = (i > 0 and factors[i - 1].key == H.key) or (i + 1 < len(factors) and factors[i + 1].key == H.T.key)
    return beside and op.name not in ("gyroscopic", "M_hat")
