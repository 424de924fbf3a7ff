"""Derivatives of what frames do: velocities, accelerations (J̇v among them), and Λ.

With ϑ = δ°V and λ = δ°α + V × ϑ of the frame's body (see :mod:`.variations`), seen at the frame, its spatial
acceleration changes by λ − V × ϑ; in world axes the frame's own turn η adds η × to every 3-vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ... import arrays
from ...arrays import Array
from ...model.model import Model
from ...spatial import cross, cross_motion
from ..articulated import articulated
from ..kinematics import classical, jacobian, tip_transform
from ..links import Links, evaluate
from ..operational import inertia
from ..referred_links import own_frames
from .coupled import bent_columns, inverse_gradient
from .inverse import like
from .variations import Motion, joint_variation, motion, velocity_terms, without_springs


class VelocityLinearization(NamedTuple):
    """δV = dv δv + dq δq of a frame, each (..., 6, nv); dv is the Jacobian J."""

    dv: Array
    dq: Array


class AccelerationLinearization(NamedTuple):
    """δα = J δa + dv δv + dq δq of a frame, each (..., 6, nv)."""

    J: Array
    dv: Array
    dq: Array


def _weightless(model: Model, q: Array, v: Array, a: Array) -> Motion:
    """The motion without gravity, as frames show it."""
    rates = without_springs(velocity_terms(model, own_frames(evaluate(model, q)), v))
    return motion(rates, rates.links.accelerated(rates.beta, a), None, arrays.zeros((6, 1), like=q))


def velocity(model: Model, q: Array, v: Array, frame: Any, axes: str) -> VelocityLinearization:
    """∂V/∂v = J and ∂V/∂q of a frame's [ω; v]."""
    m = _weightless(model, q, v, arrays.zeros((model.nv,), like=q))
    body, tip = tip_transform(model, m.links, frame, axes)
    if body < 0:
        return VelocityLinearization(*(arrays.zeros((6, model.nv), like=like(m)) for _ in range(2)))
    V = tip.T @ m.rates.V[body]
    J, dq = [], []
    for H, theta_q, _, _ in at_the_frame(m, body, tip):
        J.append(H)
        dq.append(theta_q if axes == "local" else theta_q + _turned(H, V))
    for k, row in m.links.slope_rates(m.rates.beta).items():  # ∂V/∂q of couplings that are not linear: JẊ
        for l, x in row.items():
            dq[l] = dq[l] + J[k] * x
    return VelocityLinearization(m.links.join_columns(J, 6), m.links.join_columns(dq, 6))


def acceleration(model: Model, q: Array, v: Array, a: Array, frame: Any, axes: str) -> AccelerationLinearization:
    """The derivatives of a frame's classical acceleration; with a = 0 those of J̇v."""
    m = _weightless(model, q, v, a)
    body, tip = tip_transform(model, m.links, frame, axes)
    if body < 0:
        return AccelerationLinearization(*(arrays.zeros((6, model.nv), like=like(m)) for _ in range(3)))
    V, A = tip.T @ m.rates.V[body], tip.T @ m.alpha[body]
    felt = classical(A, V)
    J, dv, dq = [], [], []
    for H, theta_q, lambda_v, lambda_q in at_the_frame(m, body, tip):
        J.append(H)
        dv.append(_classical_change(V, H, lambda_v))
        change = _classical_change(V, theta_q, lambda_q)
        dq.append(change if axes == "local" else change + _turned(H, felt))
    if m.links.lift is not None:
        dv, dq = bent_columns(m, J, dv, dq)
    return AccelerationLinearization(*(m.links.join_columns(x, 6) for x in (J, dv, dq)))


def at_the_frame(m: Motion, body: int, tip: Any) -> list[tuple[Array, Array, Array, Array]]:
    """H*, Ψ̇, Ḣ* + Ψ̇ and Ψ̈ of every joint, carried to the frame; zero for joints that do not move it."""
    links: Links = m.links
    out = [(arrays.zeros((6, r), like=like(m)),) * 4 for r in links.sizes]
    X = tip
    for k in links.tree.path(body)[::-1]:
        x = joint_variation(m, k)
        out[k] = tuple(X.T @ y for y in (links.H[k].mT, x.vartheta_q, x.lambda_v, x.lambda_q))
        X = links.phi[k].compose(X)
    return out


def _classical_change(V: Array, theta: Array, lam: Array) -> Array:
    """δ(A + [0; ω × v]) with δA = λ − V × ϑ."""
    A = lam - cross_motion(V, theta)
    w, v = V[..., :3, :], V[..., 3:, :]
    swung = cross(theta[..., :3, :], v) + cross(w, theta[..., 3:, :])
    return arrays.concatenate([A[..., :3, :], A[..., 3:, :] + swung], axis=-2)


def _turned(H: Array, x: Array) -> Array:
    """η × of both halves of x, for the turns η of the frame that the joints' directions are."""
    w = H[..., :3, :]
    return arrays.concatenate([cross(w, x[..., :3, :]), cross(w, x[..., 3:, :])], axis=-2)


# --- operational space -------------------------------------------------------------------------------


def compliance_derivative(model: Model, q: Array, frames: Sequence[Any]) -> Array:
    """∂Λ⁻¹/∂q, (..., 6e, 6e, nv), world axes.

    With y_b = 𝓜⁻¹J*e_b: ∂(J𝓜⁻¹J*)(a,b) = (∂J y_b)_a + (∂J y_a)_b − y_a*∂𝓜 y_b. The first two are derivatives of
    frame accelerations at rest, the last one a gradient of inverse dynamics at rest.
    """
    if all(model.frame(f)[0] < 0 for f in frames):  # frames of the world do not move
        return arrays.zeros((6 * len(frames), 6 * len(frames), model.nv), like=q)
    links = evaluate(model, q).nodes
    J = arrays.concatenate([jacobian(model, q, f) for f in frames], axis=-2)
    Y = articulated(links).solve(links, arrays.transpose(J))  # (..., nv, 6e)
    y = arrays.namespace(Y).moveaxis(Y, -1, 0)  # (6e, ..., nv)
    still = arrays.zeros((model.nv,), like=q)
    if model.couplings and arrays.is_symbolic(q):
        return _one_by_one(model, q, [y[i] for i in range(Y.shape[-1])], still, frames)
    swung = arrays.concatenate([acceleration(model, q, still, y, f, "world").dq for f in frames], axis=-2)
    xp = arrays.namespace(swung)
    swung = xp.moveaxis(swung, 0, -2)  # (..., 6e of a, 6e of b, nv)

    m = _weightless(model, q, still, y)
    gradient, _, _ = inverse_gradient(m, y[:, None][..., None])
    pulled = xp.moveaxis(gradient[..., 0], (0, 1), (-3, -2))
    return swung + xp.swapaxes(swung, -2, -3) - pulled


def _one_by_one(model: Model, q: Array, y: list[Array], still: Array, frames: Sequence[Any]) -> Array:
    """The same column by column, on symbols: where these become too many in a product of stacked matrices, NumPy goes
    on with the next of the stack."""
    swung = [arrays.concatenate([acceleration(model, q, still, x, f, "world").dq for f in frames], axis=-2) for x in y]
    rows = []
    for b, x in enumerate(y):
        m = _weightless(model, q, still, x)
        pulled = [inverse_gradient(m, w[..., None])[0][..., 0] for w in y]
        rows.append([swung[b][..., a, :] + swung[a][..., b, :] - pulled[a] for a in range(len(y))])
    return arrays.stack([arrays.stack([row[a] for row in rows], axis=-2) for a in range(len(y))], axis=-3)


def inertia_derivative(model: Model, q: Array, frames: Sequence[Any]) -> Array:
    """∂Λ/∂q = −Λ ∂Λ⁻¹ Λ, (..., 6e, 6e, nv)."""
    Lambda = inertia(model, q, frames)
    xp = arrays.namespace(Lambda)
    slices = xp.moveaxis(compliance_derivative(model, q, frames), -1, 0)  # (nv, ..., 6e, 6e)
    return xp.moveaxis(-(Lambda @ slices @ Lambda), 0, -1)
