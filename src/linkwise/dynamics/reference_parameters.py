"""Inverse dynamics with a reference velocity by inertial parameters: what adaptive control updates, in O(n).

    𝓜 a_r + C(q, v) v_r + gravity = Y(q, v, v_r, a_r) π + what rotors add          (Slotine and Li, 1987)

Body k moves with the velocity V(k), the reference V_r(k) and the acceleration α(k) of :mod:`.reference_velocity`, and
its ten parameters give the force A(k)π(k). Then Y = HφA, and products with Y and Y* are sweeps, without a matrix:

    inward   Yπ = Hφ(Aπ),          outward   Y*s = A*φ*H*s
"""

from __future__ import annotations

from .. import arrays
from ..arrays import Array
from ..model.model import Model
from ..spatial import cross, skew
from .linearized.inertial_parameters import carried_to_joints, times_tensor
from .links import Links, accelerations, base_acceleration, evaluate, velocities, wider
from .reference_velocity import motions


def body_regressors(model: Model, links: Links, v: Array, v_ref: Array, a_ref: Array) -> list[Array]:
    """A(k), (..., 6, 10), of every body, body axes."""
    (V, _), (V_r, _), beta_dot, a = motions(model, links, v, v_ref, a_ref)
    alpha = accelerations(links, beta_dot, a, base_acceleration(model, links.q))
    return [_body_regressor(x[..., :3, :], y[..., :3, :], z) for x, y, z in zip(V, V_r, alpha)]


def _body_regressor(w: Array, w_r: Array, alpha: Array) -> Array:
    """A with [ω × (J − ½ tr J)ω_r; ω_r × (ω × h)] + Mα = Aπ: m gives [0; c], h gives [−c̃; ω̇~ + ω̃_r ω̃]h, and J
    gives [Jω̇ + ω × Jω_r − ½ tr(J) ω × ω_r; 0]; c the linear part of α and ω̇ the angular one."""
    wd, c = alpha[..., :3, :], alpha[..., 3:, :]
    tilde, tilde_r = skew(w[..., 0]), skew(w_r[..., 0])
    first_moment = arrays.concatenate([-skew(c[..., 0]), skew(wd[..., 0]) + tilde_r @ tilde], axis=-2)
    half, none = 0.5 * cross(w, w_r), 0.0 * c
    trace = arrays.concatenate([half, none, half, none, none, half], axis=-1)  # Jxx, Jyy and Jzz of six
    turning = times_tensor(wd) + tilde @ times_tensor(w_r) - trace
    mass = arrays.concatenate([none, c], axis=-2)
    inertia = arrays.concatenate([turning, 0.0 * turning], axis=-2)
    return arrays.concatenate([mass, first_moment, inertia], axis=-1)


def parameter_gradient(model: Model, q: Array, v: Array, v_ref: Array, a_ref: Array, weights: Array) -> Array:
    """Y*w, (..., bodies, 10), in O(n): how w*T changes with the parameters of every body."""
    links = evaluate(model, q)
    S = velocities(links, links.split(weights))
    A = body_regressors(model, links, v, v_ref, a_ref)
    rows = [(arrays.transpose(x) @ s)[..., 0] for x, s in zip(A, S)]
    return arrays.stack(rows, axis=-2)


def parameter_forces(model: Model, q: Array, v: Array, v_ref: Array, a_ref: Array, changes: Array) -> Array:
    """Aδπ, (..., bodies, 6), for changes δπ (..., bodies, 10): forces on bodies, body axes, and Yδπ is Hφ of them."""
    links = evaluate(model, q)
    A = body_regressors(model, links, v, v_ref, a_ref)
    return arrays.stack([(x @ changes[..., k, :, None])[..., 0] for k, x in enumerate(A)], axis=-2)


def regressor_with_reference(model: Model, q: Array, v: Array, v_ref: Array, a_ref: Array) -> Array:
    """Y = HφA, (..., nv, 10 bodies), in O(n²)."""
    links = evaluate(model, q)
    return carried_to_joints(links, body_regressors(model, links, v, v_ref, a_ref), wider(q, v, v_ref, a_ref))
