"""Expressions that the mass matrix alone determines: any frames on the bodies give the same.

𝓜 = HφMφ*H* does not depend on where the bodies' frames are. It has one factorisation (I + HφK) D (I + HφK)* with D
block diagonal and HφK strictly causal (Operator algebra paper Lemma 4.1), so that it determines both factors, and
with them I − HψK = (I + HφK)⁻¹ (Lemma 4.2), D⁻¹ and D^{1/2}. What rotors add, Γ and Hφs, turns with the bodies. Sums,
products and adjoints of these are as free. Anything else (M, P, φ, H by themselves, products such as Hφφ*H*) may show
frames.
"""

from __future__ import annotations

from collections.abc import Sequence

from .kinds import Leaf, UserBlockDiagonal, leaves_of
from .operator import Identity, Operator, Product, Sum, Zero
from .rebind import rebind

_WORDS = (
    ("H", "phi", "M", "phi*", "H*"),
    ("H", "phi", "K"),
    ("H", "psi", "K"),
    ("H", "phi", "rotor_coupling"),
    ("D",),
    ("D_inverse",),
    ("D_root",),
    ("D_root_inverse",),
    ("rotor_inertia",),
)


def _adjoint(word: Sequence[str]) -> tuple[str, ...]:
    symmetric = ("M", "D", "D_inverse", "rotor_inertia")
    return tuple(x if x in symmetric else x.removesuffix("*") if x.endswith("*") else x + "*" for x in reversed(word))


WORDS = frozenset(_WORDS) | frozenset(map(_adjoint, _WORDS))


def is_frame_free(op: Operator) -> bool:
    """Whether an expression is made of what the mass matrix determines, and of nothing else."""
    if isinstance(op, Sum):
        return all(is_frame_free(term) for _, term in op.terms)
    if isinstance(op, (Identity, Zero)):
        return op.rows.kind == op.cols.kind == "joint"
    return _is_spelled(op.factors if isinstance(op, Product) else (op,))


def _is_spelled(factors: Sequence[Operator]) -> bool:
    """Whether factors are a sequence of words and of sums that are free themselves."""
    if not factors:
        return True
    if isinstance(factors[0], Sum):
        return is_frame_free(factors[0]) and _is_spelled(factors[1:])
    letters = [_letter(x) for x in factors[: max(map(len, WORDS))]]
    found = (n for n in range(1, len(letters) + 1) if tuple(letters[:n]) in WORDS)
    return any(_is_spelled(factors[n:]) for n in found)


def _letter(op: Operator) -> str:
    """The name of one of the robot's own leaves, with a star where it is its adjoint; empty for anything else."""
    if not isinstance(op, Leaf) or isinstance(op, UserBlockDiagonal) or op.token is not None:
        return ""
    return (op.name + "*" * op.flipped) if op.owner.is_default else ""


def in_frames_that_suit(op: Operator) -> Operator:
    """The expression in the frames that its robot's operators have beside their own, where that cannot be seen."""
    owners = {id(leaf.owner.root): leaf.owner.root for leaf in leaves_of(op)}
    if len(owners) != 1:
        return op
    form = next(iter(owners.values())).form
    return op if form is None or not is_frame_free(op) else rebind(op, form)
