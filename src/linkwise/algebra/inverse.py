"""Inverses in O(n): block by block, I − E ↔ propagation, filters, and the innovations factorisation.

Anything of the form HφXφ*H* (plus a block-diagonal Γ) with X block diagonal and symmetric is inverted as
(I − HψK)* D⁻¹ (I − HψK), with P, D, K, ψ from the Riccati recursion driven by X.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .. import arrays, singularity, tolerances
from ..aggregates import Members
from ..errors import NoRecursionError, SingularError, SpaceError
from ..tolerances import OPERATIONAL_ROUNDINGS, ROUNDINGS_OF_SQUARES
from . import spaces
from .blocks import dense_block
from .elimination import inverse_of_stack, is_small
from .expression import Expression, Identity, Product, Sum, product, total
from .kinds import (
    BlockDiagonal,
    Leaf,
    Propagation,
    Shift,
    SmallMatrix,
    UserBlockDiagonal,
    UserMatrix,
    families_of,
    leaves_of,
)
from .leaves import Leaves
from .rules import Rule, rule


def inverse(op: Expression) -> Expression:
    """An O(n) expression for the inverse; :class:`NoRecursionError` where no route is known."""
    if isinstance(op, Leaf) and op.name in _BETWEEN:
        other = op.owner.leaf(_BETWEEN[op.name])
        return other.T if op.flipped else other
    if op.rows != op.cols:
        raise SpaceError(f"{op} has no inverse: it maps {op.cols} to {op.rows}")
    found = _found(op)
    if found is not None:
        return found
    raise NoRecursionError(
        f"no O(n) route to the inverse of {op} ({op.structure}). Known are: block-diagonal operators; φ, ψ and"
        " I − E_φ, I − E_ψ; I + HφK, I − HψK and their like; HφXφ*H* (+ Γ) with X block diagonal, symmetric and"
        " positive definite; products of these; anything between tips and spaces of one's own; stacks of these. For"
        " other operators invert .dense()"
    )


def _found(op: Expression) -> Expression | None:
    """The inverse by the first route that leads there."""
    return next((out for out in (route(op) for route in _ROUTES) if out is not None), None)


def _trivial(op: Expression) -> Expression | None:
    if isinstance(op, Identity):
        return op
    if isinstance(op, Sum) and op.terms[0][0] != 1:  # (cA)⁻¹ = A⁻¹/c
        c = op.terms[0][0]
        return (1.0 / c) * inverse(total([(d / c, term) for d, term in op.terms]).with_used(op.used))
    return None


def _propagation(op: Expression) -> Expression | None:
    """φ⁻¹ = I − E_φ, ψ⁻¹ = I − E_ψ (UF (20), (54))."""
    if not isinstance(op, Propagation):
        return None
    owner = op.owner
    shift = owner.leaf({"phi": "E_phi", "psi": "E_psi", "Phi_I": "E_I"}[op.name])
    used = [rule({"phi": "phi_inverse", "psi": "psi_inverse", "Phi_I": "inertial_phi_inverse"}[op.name])]
    return (Identity(op.rows) - (shift.T if op.flipped else shift)).with_used([*op.used, *used])


def _identity_plus_shift(op: Expression) -> Expression | None:
    """(I − E_φ)⁻¹ = φ = I + φ̃, (I − E_ψ)⁻¹ = ψ = I + ψ̃, and (φ⁻¹ + KH)⁻¹ = ψ."""
    if not isinstance(op, Sum):
        return None
    for owner in families_of(op):
        known = [
            (owner.I - owner.E_phi, owner.phi, "phi_inverse"),
            (owner.I - owner.E_psi, owner.psi, "psi_inverse"),
            (owner.I + owner.phi_tilde, owner.I - owner.E_phi, "phi_inverse"),
            (owner.I + owner.psi_tilde, owner.I - owner.E_psi, "psi_inverse"),
            (owner.I - owner.E_phi + owner.K @ owner.H, owner.psi, "psi_inverse_phi_inverse"),
            (owner.I - owner.E_psi - owner.K @ owner.H, owner.phi, "psi_inverse_phi_inverse"),
        ]
        found = _known(op, known)
        if found is not None:
            return found
    return None


def _filters(op: Expression) -> Expression | None:
    """(I + HφK)⁻¹ = I − HψK (OA Lemma 4.2), (I + φKH)⁻¹ = I − ψKH, (I + KHφ)⁻¹ = I − KHψ, (I + LHΦ)⁻¹ = I − LHΨ of
    JPL 88-11, (I + GHφ̃)⁻¹ = I − GHψE_φ; and read backwards."""
    if not isinstance(op, Sum):
        return None
    for owner in families_of(op):
        H, phi, psi, one = owner.H, owner.phi, owner.psi, owner.I
        on_edges = Identity(owner.L.rows)
        others = [
            (on_edges + owner.L @ H @ phi @ owner.S, on_edges - owner.L @ H @ psi @ owner.S, "jpl_a16"),
            (one + owner.G @ H @ owner.phi_tilde, one - owner.G @ H @ psi @ owner.E_phi, "phi_minus_psi"),
        ]
        for K in (owner.K, owner.S @ owner.L):  # JPL 88-11 writes SL for K
            pairs = [
                (owner.I_joints + H @ phi @ K, owner.I_joints - H @ psi @ K, "whitening"),
                (one + phi @ K @ H, one - psi @ K @ H, "phi_minus_psi"),
                (one + K @ H @ phi, one - K @ H @ psi, "phi_minus_psi"),
            ]
            pairs += others
            found = _known(op, [*pairs, *((right, left, name) for left, right, name in pairs)])
            if found is not None:
                return found
    return None


def _known(op: Expression, table: list[tuple[Expression, Expression, str]]) -> Expression | None:
    for lhs, rhs, name in table:
        if op.key == lhs.key:
            return rhs.with_used([*op.used, rule(name)])
        if op.key == lhs.T.key:
            return rhs.T.with_used([*op.used, rule(name)])
    return None


# --- innovations -------------------------------------------------------------------------------------


def _innovations(op: Expression) -> Expression | None:
    """(HφXφ*H* + Γ)⁻¹ = (I − HψK)* D⁻¹ (I − HψK) (OA Lemma 4.3, JPL Theorem 4.1, UF Lemma 6.4)."""
    terms = op.terms if isinstance(op, Sum) else ((1.0, op),)
    middles: list[tuple[float, Expression]] = []
    noise: list[tuple[float, Expression]] = []
    coupling: set[Any] = set()
    owner: Leaves | None = None
    for c, term in terms:
        middle = _middle(term)
        if middle is not None:
            middles.append((c, middle[1]))
            owner = owner or middle[0]
            if middle[0].rigid_key != owner.rigid_key:  # H and φ of another state: their sum has no such form
                return None
        elif term.relations <= spaces.MEMORYLESS and term.rows.kind == "joint":
            noise.append((c, term))
        elif c == 1 and isinstance(term, Product):
            coupling.add(term.key)
        else:
            return None
    if owner is None or not middles:
        return None
    family = _family(owner, total(middles), total(noise) if noise else None, coupling)
    if family is None:
        return None
    white = family.I_joints - family.H @ family.psi @ family.K
    return product([white.T, family.D_inverse, white]).with_used([*op.used, rule("mass_inverse")])


def _middle(term: Expression) -> tuple[Leaves, Expression] | None:
    """X of HφXφ*H*, where X is memoryless."""
    if not isinstance(term, Product) or len(term.factors) < 5:
        return None
    f = term.factors
    first = f[0]
    if not isinstance(first, Leaf):
        return None
    owner = first.owner
    frame = [owner.H.key, owner.phi.key, owner.phi.T.key, owner.H.T.key]
    if [f[0].key, f[1].key, f[-2].key, f[-1].key] != frame:
        return None
    X = product(f[2:-2])
    return (owner, X) if X.relations <= spaces.MEMORYLESS else None


def _family(owner: Leaves, X: Expression, Gamma: Expression | None, coupling: set[Any]) -> Leaves | None:
    """The articulated family of X and Γ: the robot's own where they are its own."""
    cross = owner.H @ owner.phi @ owner.rotor_coupling
    expected = {cross.key, cross.T.key}
    if coupling and coupling != expected:
        return None
    own = owner.root
    gyro = owner.has_spinning_rotors
    same_noise = (Gamma is None and not owner.has_rotors) or (
        Gamma is not None and Gamma.key == owner.rotor_inertia.key
    )
    if X.key == own.M.key and same_noise and bool(coupling) == gyro:
        return own
    return owner.with_inertia(X, Gamma, owner.rotor_coupling if coupling else None)


# --- the rest ----------------------------------------------------------------------------------------


_PAIRS = {"D": "D_inverse", "D_inverse": "D", "D_root": "D_root_inverse", "D_root_inverse": "D_root"}
_BETWEEN = {"phi_I": "phi_I_inverse", "phi_I_inverse": "phi_I"}  # two spaces


def _memoryless(op: Expression) -> Expression | None:
    """Block by block."""
    if not op.relations <= spaces.MEMORYLESS or op.rows.kind not in ("body", "joint", "edge"):
        return None
    if isinstance(op, BlockDiagonal) and op.name in _PAIRS and not isinstance(op, UserBlockDiagonal):
        out = op.owner.leaf(_PAIRS[op.name])
        return out.T if op.flipped else out
    leaves = leaves_of(op)
    if not leaves or any(isinstance(x, Shift) for x in leaves):
        return None
    owner = leaves[0].owner
    symmetric = op.key == op.T.key

    def blocks() -> list[Any]:
        out = []
        for k, x in enumerate(owner.blocks_of(op)):
            message = f"block {k} of {op} is singular, so its inverse does not exist"
            invert = partial(_inverted, symmetric=symmetric, message=message)
            out.append(x.matrices.mapped(invert) if isinstance(x, Members) else invert(dense_block(x)))
        return out

    name = f"({op})⁻¹" if isinstance(op, (Product, Sum)) else f"{op}⁻¹"
    out = BlockDiagonal(owner, name, op.rows, op.cols, spaces.MEMORYLESS, blocks)
    out.token, out.inverse_of = ("inverse", op.key), op
    return out.with_used(op.used)


def _factors(op: Expression) -> Expression | None:
    """(A B)⁻¹ = B⁻¹ A⁻¹ where every factor has an inverse of its own, or some of them together, as HφMφ*H*."""
    if not isinstance(op, Product):
        return None
    if all(f.rows == f.cols for f in op.factors):
        return product([inverse(f) for f in reversed(op.factors)]).with_used(op.used)
    for i in range(1, len(op.factors)):
        if op.factors[i].rows == op.rows:
            left, right = (_found(product(part)) for part in (op.factors[:i], op.factors[i:]))
            if left is not None and right is not None:
                return product([right, left]).with_used([*op.used, *left.used, *right.used])
    return None


def _small(op: Expression) -> Expression | None:
    """Between tips and spaces of the user's own: a matrix of 6 per tip, formed in O(n) and inverted as it is."""
    leaves = leaves_of(op)
    if not leaves or not (is_small(op.rows) or all(isinstance(x, UserMatrix) for x in leaves)):
        return None
    owner = leaves_of(op)[0].owner
    used = _of_compliance(op, owner)
    formed = used[-1].expressions(owner)[1] if used else op

    def matrix() -> list[Any]:
        small = formed.apply_columns(arrays.eye(op.cols.dimension, like=owner.values))
        message = f"{op} is singular here (too few joints, or a singular pose): it has no inverse"
        return [_inverted(small, op.key == op.T.key, message)]

    out = SmallMatrix(owner, f"({op})⁻¹", op.rows, op.cols, op.relations, matrix)
    out.token, out.inverse_of = ("inverse", op.key), op
    return out.with_used([*op.used, *used])


def _of_compliance(op: Expression, owner: Leaves) -> list[Rule]:
    """The rules by which J𝓜⁻¹J*, in either form, is B*ψ*H*D⁻¹HψB and, of one tip, B*ΥB: all six columns at once."""
    compliance, of_one_tip = rule("operational_compliance"), rule("compliance_of_one_tip")
    if op.rows.kind != "tip" or op.key not in {side.key for side in compliance.expressions(owner)}:
        return []
    return [compliance, of_one_tip] if of_one_tip.admits(owner) else [compliance]


def _stack(op: Expression) -> Expression | None:
    """Part after part (:mod:`.elimination`)."""
    return inverse_of_stack(op, inverse)


_ROUTES = (
    _trivial,
    _propagation,
    _identity_plus_shift,
    _filters,
    _innovations,
    _memoryless,
    _factors,
    _small,
    _stack,
)


def _inverted(x: Any, symmetric: bool, message: str) -> Any:
    """The inverse of a block, or an error; compiled code reports states in which it may not be trusted."""
    if symmetric:
        out, singular = singularity.inverse(x, roundings=OPERATIONAL_ROUNDINGS)
        if not arrays.is_eager(x):
            return singularity.not_a_number_where(singular, out)
        if not np.any(singular):
            return out
        if np.any(singular & ~_indefinite(x)):
            raise SingularError(message)
    if arrays.is_symbolic(x):
        return _inverted_by_squares(x)
    out, singular = singularity.general_inverse(x)
    if arrays.is_eager(x) and np.any(singular):  # states with NaN pass through
        raise SingularError(message)
    return singularity.not_a_number_where(singular, out)


def _indefinite(x: Any) -> Any:
    """Whether symmetric matrices, such as those of P - 2 M, have eigenvalues that are negative beyond rounding."""
    finite = np.isfinite(x).all(axis=(-2, -1), keepdims=True)
    values = np.linalg.eigvalsh(np.where(finite, x, np.eye(x.shape[-1])))
    limit = tolerances.roundings(OPERATIONAL_ROUNDINGS, x.dtype)
    return values[..., 0] < -limit * np.abs(values).max(axis=-1)


def _inverted_by_squares(x: Any) -> Any:
    """X⁻¹ = (X*X)⁻¹X* on symbols, and a step of Newton's, by which what the squares lost comes back.

    (The guard is on (X*X)⁻¹: where X is singular that is huge, and yet its product with X* may be of any size.)
    """
    if x.shape[-1] <= 1:
        return arrays.inverse(x)
    adjoint = arrays.transpose(x)
    of_squares, _ = singularity.inverse(arrays.symmetric(adjoint @ x), roundings=ROUNDINGS_OF_SQUARES)
    out = of_squares @ adjoint
    return out + out @ (np.eye(x.shape[-1]) - x @ out)
