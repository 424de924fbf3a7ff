"""Sensitivities to where joints are placed: poses of frames, joint forces, accelerations.

The placement of joint k in its parent changes by δ(k) = [rotation vector; displacement] in the axes of the joint as it
is placed, six numbers a joint. Body k is then displaced in its parent by η = φ*(joint) δ, as it is by H*δq where its
joint moves, and all that follows is what the Linearized dynamics paper has for δq: Algorithm 1 with η in place of H*δq.

    ϑ = φ*ϑ(p) + V⁺ × η,   λ = φ*λ(p) + α⁺ × η + V⁺ × (V⁺ × η),   ξ = Σ φ[ξ + S[η]f] + Mλ + 2M̂ϑ,   δT = Hξ

The axis of a spinning rotor stays with the parent.
"""

from __future__ import annotations

from typing import Any

from ... import arrays
from ...arrays import Array
from ...model.model import Model
from ...spatial import cross_motion
from ..kinematics import tip_transform
from ..links import Links, evaluate
from .inverse import changed_forces
from .models import forward_motion
from .variations import Motion


def displacements(model: Model, links: Links) -> list[Array]:
    """φ*(joint), (..., 6, 6), of every body: η = φ*δ in body axes."""
    constants = model.constants(dtype=links.q.dtype)
    eye = arrays.eye(6, like=links.q)
    return [c.kind.transform(theta).T @ eye for c, theta in zip(constants, links.theta)]


def placement_jacobian(model: Model, q: Array, frame: Any, axes: str = "world") -> Array:
    """How a frame moves with the placements of all joints, (..., 6, 6 bodies), as its Jacobian with φ* for H*."""
    links = evaluate(model, q)
    body, tip = tip_transform(model, links, frame, axes)
    columns: list[Array] = [arrays.zeros((6, 6), like=q) for _ in model.bodies]
    own = displacements(model, links)
    X = tip
    for k in links.tree.path(body)[::-1] if body >= 0 else ():
        columns[k] = X.T @ own[k]
        X = links.phi[k].compose(X)
    return arrays.concatenate(columns, axis=-1) if columns else arrays.zeros((*q.shape[:-1], 6, 0), like=q)


def forward_placements(model: Model, q: Array, v: Array, tau: Array, external: Array | None) -> Array:
    """∂a/∂δ of forward dynamics, (..., nv, 6 bodies): Algorithm 5 driven by δT = −∂T/∂δ."""
    m, art = forward_motion(model, q, v, tau, external)
    return art.solve(m.links.nodes, -_forces(model, m))


def _forces(model: Model, m: Motion) -> Array:
    """∂T/∂δ of a motion, all columns through the same sweeps."""
    links, r = m.links, m.rates
    width = 6 * len(model.bodies)
    none = arrays.zeros((6, 6), like=links.q)
    eta = []
    for k, own in enumerate(displacements(model, links)):
        blocks = [none + 0.0 * own] * len(model.bodies)
        blocks[k] = own
        eta.append(arrays.concatenate(blocks, axis=-1))
    theta = [cross_motion(V, x) for V, x in zip(r.V_plus, eta)]
    lam = [cross_motion(V, t) + cross_motion(A, x) for V, t, A, x in zip(r.V_plus, theta, m.alpha_plus, eta)]
    dT, theta_plus, lam_plus = changed_forces(m, eta, theta, lam, [None] * len(eta))
    for k, u in enumerate(r.turning):
        if u is not None:  # the rotor feels how its carrier moves
            dT[k] = dT[k] + links.s[k].mT @ lam_plus[k] + u.mT @ theta_plus[k]
    return links.join_rows(dT, width)
