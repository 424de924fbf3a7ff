"""Derivatives in the numbers of q from those in its tangent space, and back.

q̇ = E(q) v (``configuration_rate``). E is the identity but for joints with quaternions or in a plane, and its columns
are orthogonal for those. Whatever depends on where bodies are is the same for quaternions of any length,
so that E(E*E)⁻¹ takes a gradient in the tangent space to the one in the numbers, and (E*E)⁻¹E* directions back.
"""

from __future__ import annotations

import numpy as np

from .. import arrays
from ..arrays import Array
from ..model.joints.kinds import Free, JointKind, Planar, Spherical
from ..model.model import Model


def is_plain(model: Model) -> bool:
    """Whether E is the identity."""
    return all(type(joint.kind).rate is JointKind.rate for joint in model.joints)


def has_orthogonal_rates(model: Model) -> bool:
    """Whether what is said above holds: general joints move in fewer directions than their seven numbers show."""
    return all(
        isinstance(joint.kind, (Spherical, Free, Planar)) or type(joint.kind).rate is JointKind.rate
        for joint in model.joints
    )


def gradient_in_numbers(model: Model, q: Array, gradient: Array) -> Array:
    """E(E*E)⁻¹ g, (..., nq), of a gradient g (..., nv) in the tangent space."""
    parts = []
    for joint, where, rates in model.coordinates:
        g = gradient[..., rates]
        if type(joint.kind).rate is not JointKind.rate:
            columns, squares = _columns(joint.kind, q[..., where])
            g = arrays.total(c * (g[..., i : i + 1] / s) for i, (c, s) in enumerate(zip(columns, squares)))
        parts.append(g)
    return arrays.namespace(*parts).concatenate(parts, axis=-1) if parts else gradient


def direction_in_tangent(model: Model, q: Array, direction: Array) -> Array:
    """(E*E)⁻¹E* δ, (..., nv), of a change δ (..., nq) of the numbers."""
    parts = []
    for joint, where, _ in model.coordinates:
        d = direction[..., where]
        if type(joint.kind).rate is not JointKind.rate:
            columns, squares = _columns(joint.kind, q[..., where])
            parts += [(c * d).sum(axis=-1, keepdims=True) / s for c, s in zip(columns, squares)]
        else:
            parts.append(d)
    return arrays.namespace(*parts).concatenate(parts, axis=-1) if parts else direction


def _columns(kind: JointKind, q: Array) -> tuple[list[Array], list[Array]]:
    """The columns of one joint's E, (..., nq) each, and their squared lengths, (..., 1)."""
    nv = kind.nv
    columns = [kind.rate(q, np.broadcast_to(np.eye(nv)[i], (*q.shape[:-1], nv))) for i in range(nv)]
    return columns, [arrays.square_length(c)[..., None] for c in columns]
