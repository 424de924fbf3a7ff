"""Derivatives of what frames do: their velocities and accelerations (J̇v among them).

With ϑ = δ°V and λ = δ°α + V × ϑ of the frame's body (see :mod:`.variations`), seen at the frame, its spatial
acceleration changes by λ − V × ϑ; in world axes the frame's own turn η adds η × to every 3-vector.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ... import arrays
from ...arrays import Array
from ...model.model import Model
from ...spatial import cross, cross_motion
from ..frame_paths import columns_of, seen_from
from ..kinematics import classical, tip_transform
from ..links import evaluate, wider
from ..referred_links import own_frames
from .coupled import bent_columns
from .inverse import like
from .variations import joint_variation, moving, turning_terms


class VelocityLinearization(NamedTuple):
    """δV = dv δv + dq δq of a frame, each (..., 6, nv); dv is the Jacobian J."""

    dv: Array
    dq: Array


class AccelerationLinearization(NamedTuple):
    """δα = J δa + dv δv + dq δq of a frame, each (..., 6, nv)."""

    J: Array
    dv: Array
    dq: Array


def velocity(model: Model, q: Array, v: Array, frame: Any, axes: str) -> VelocityLinearization:
    """∂V/∂v = J and ∂V/∂q of a frame's [ω; v]."""
    x = turning_terms(model, own_frames(evaluate(model, q)), v)
    links = x.links
    body, tip = tip_transform(model, links, frame, axes)
    if body < 0:
        like_all = wider(q, *(b[..., 0] for b in x.beta))
        return VelocityLinearization(*(arrays.zeros((6, model.nv), like=like_all) for _ in range(2)))
    seen = seen_from(links, body, tip, tip.T @ x.V[body])
    J = columns_of(links, seen)
    dq = list(J)
    for k, at in enumerate(seen):
        if at is None:
            continue
        theta_q = x.Psi_dot[k]
        if x.partials[k] is not None:
            theta_q = theta_q + arrays.concatenate([d @ x.beta[k] for d in x.partials[k][0]], axis=-1)
        dq[k] = at.X.T @ theta_q
        if axes == "world":
            dq[k] = dq[k] + turned(J[k], at.known[0])
    for k, row in links.slope_rates(x.beta).items():  # ∂V/∂q of couplings that are not linear: JẊ
        for l, slope in row.items():
            dq[l] = dq[l] + J[k] * slope
    return VelocityLinearization(links.join_columns(J, 6), links.join_columns(dq, 6))


def acceleration(model: Model, q: Array, v: Array, a: Array, frame: Any, axes: str) -> AccelerationLinearization:
    """The derivatives of a frame's classical acceleration, without gravity; with a = 0 those of J̇v."""
    rates = turning_terms(model, own_frames(evaluate(model, q)), v)
    m = moving(rates, rates.links.accelerated(rates.beta, a), arrays.zeros((6, 1), like=q))
    links = m.links
    body, tip = tip_transform(model, links, frame, axes)
    if body < 0:
        return AccelerationLinearization(*(arrays.zeros((6, model.nv), like=like(m)) for _ in range(3)))
    V = tip.T @ rates.V[body]
    seen = seen_from(links, body, tip, V, classical(tip.T @ m.alpha[body], V))
    J = columns_of(links, seen)
    dv, dq = list(J), list(J)
    for k, at in enumerate(seen):
        if at is None:
            continue
        x = joint_variation(m, k)
        V, felt = at.known
        theta_q, lambda_v, lambda_q = (at.X.T @ y for y in (x.vartheta_q, x.lambda_v, x.lambda_q))
        dv[k] = _classical_change(V, J[k], lambda_v)
        dq[k] = _classical_change(V, theta_q, lambda_q)
        if axes == "world":
            dq[k] = dq[k] + turned(J[k], felt)
    if links.lift is not None:
        dv, dq = bent_columns(m, J, dv, dq)
    return AccelerationLinearization(*(links.join_columns(x, 6) for x in (J, dv, dq)))


def _classical_change(V: Array, theta: Array, lam: Array) -> Array:
    """δ(A + [0; ω × v]) with δA = λ − V × ϑ."""
    A = lam - cross_motion(V, theta)
    w, v = V[..., :3, :], V[..., 3:, :]
    swung = cross(theta[..., :3, :], v) + cross(w, theta[..., 3:, :])
    return arrays.concatenate([A[..., :3, :], A[..., 3:, :] + swung], axis=-2)


def turned(H: Array, x: Array) -> Array:
    """η × of both halves of x, for the turns η of the frame that the joints' directions are."""
    w = H[..., :3, :]
    return arrays.concatenate([cross(w, x[..., :3, :]), cross(w, x[..., 3:, :])], axis=-2)
