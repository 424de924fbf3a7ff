"""Inverse dynamics that keeps actual and reference velocities apart, for passivity-based control.

    T = 𝓜 a_r + C(q, v) v_r + gravity,      C = Hφ [M̂ φ*H* + M φ*Ḣ*]     (see :mod:`.coriolis`)

Laws that prove stability through 𝓜̇ − 2C being skew need just this product (Wen and Bayard, "New class of control laws
for robotic manipulators", Int. J. Control 47 (1988)). The recursive Newton–Euler algorithm cannot give it, for its
Coriolis terms see one velocity. Here two velocities go outward, in O(n), and the matrix is never formed:

    V = φ*H*v,  V_r = φ*H*v_r,  α = φ*(H*a_r + a),  f = φ(Mα + b),  T = Hf

With α = A + [0; ω_r × u], A the spatial acceleration φ*(H*a_r + Ḣ*v_r) and u the linear velocity, all linear velocities
drop out of a and b, as they do from the Newton–Euler algorithm in classical accelerations.
"""

from __future__ import annotations

from .. import arrays
from ..arrays import Array
from ..model.model import Model
from ..spatial import RigidInertia, cross
from . import springs
from .inverse import inertia_forces, split_forces
from .links import (
    Links,
    at_rest,
    base_acceleration,
    evaluate,
    map_rates,
    spinning_rotors,
    velocities,
    with_rotor_moments,
)

Moving = tuple[list[Array], list[Array]]  # velocities of the bodies (..., 6, 1) and of the joints (..., r, 1)


def newton_euler_with_reference(
    model: Model, q: Array, v: Array, v_ref: Array, a_ref: Array, external: Array | None = None
) -> Array:
    """T = 𝓜 a_r + C(q, v) v_r + gravity + what springs and dampers ask at (q, v), less external forces, (..., nv), by
    one outward and one inward sweep."""
    links = evaluate(model, q)
    (V, beta), (V_r, beta_r), beta_dot, a = motions(model, links, v, v_ref, a_ref)
    b = [_bias_force(M, x[..., :3, :], y[..., :3, :]) for M, x, y in zip(links.M, V, V_r)]
    b = _with_rotors(model, links, b, (V, beta), (V_r, beta_r))
    if external is not None:
        b = [x - f for x, f in zip(b, split_forces(external) or [])]
    T, _ = inertia_forces(links, beta_dot, a, b, base_acceleration(model, q))
    T = _with_rotor_rows(model, links, T, V, V_r)
    return links.join(springs.added(T, springs.forces(model, links, beta)))


def motions(
    model: Model, links: Links, v: Array, v_ref: Array, a_ref: Array
) -> tuple[Moving, Moving, list[Array], list[Array]]:
    """The two motions, outward, β̇ = Xa_r + Ẋv_r, and the bias accelerations a that go with them."""
    beta, beta_r = links.split(v), links.split(v_ref)
    actual, reference = (velocities(links, beta), beta), (velocities(links, beta_r), beta_r)
    beta_dot = [x + y for x, y in zip(links.split(a_ref), links.drift(beta, beta_r))]
    return actual, reference, beta_dot, _bias_accelerations(model, links, actual, reference)


def _bias_accelerations(model: Model, links: Links, actual: Moving, reference: Moving) -> list[Array]:
    """a(k) = Ḣ*v_r + [0; ω_r × u] − φ*[0; ω_r(p) × u(p)], in which no linear velocity is left.

    angular  ω × ω̂_r,    linear  R*(ω_r(p) × (ω(p) × l)) + (ω_r − ω̂_r) × û + ω × û_r,
    where [ω̂; û] = H*β and [ω̂_r; û_r] = H*β_r are the joint's own. (LD (2.13): Ḣ* = V × H*.)
    """
    (V, beta), (V_r, beta_r) = actual, reference
    inboard, inboard_r = (links.tree.at_parents(x, at_rest(links.q)) for x in (V, V_r))
    out = []
    for k, rate in enumerate(map_rates(model, links, beta)):  # of maps that turn in their bodies
        own, own_r = links.H[k].mT @ beta[k], links.H[k].mT @ beta_r[k]
        w, w_r, phi = V[k][..., :3, :], V_r[k][..., :3, :], links.phi[k]
        l = phi.l[..., :, None] + 0.0 * inboard[k][..., :3, :]
        linear = phi.rotation.T @ cross(inboard_r[k][..., :3, :], cross(inboard[k][..., :3, :], l))
        linear = linear + cross(w_r - own_r[..., :3, :], own[..., 3:, :]) + cross(w, own_r[..., 3:, :])
        a = arrays.concatenate([cross(w, own_r[..., :3, :]), linear], axis=-2)
        out.append(a if rate is None else a + rate @ beta_r[k])
    return out


def _bias_force(M: RigidInertia, w: Array, w_r: Array) -> Array:
    """b(k) = M̂V_r − M[0; ω_r × u] = [ω × (J − ½ tr J)ω_r; ω_r × (ω × h)] (LD (2.8), block form in the math notes)."""
    half_trace = 0.5 * (M.J[..., 0:1, 0:1] + M.J[..., 1:2, 1:2] + M.J[..., 2:3, 2:3])
    spread = M.J - half_trace * arrays.eye(3, like=M.J)
    h = M.h[..., :, None] + 0.0 * w
    return arrays.concatenate([cross(w, spread @ w_r), cross(w_r, cross(w, h))], axis=-2)


def _with_rotors(model: Model, links: Links, b: list[Array], actual: Moving, reference: Moving) -> list[Array]:
    """A rotor of momentum sβ asks the body p that carries it for ½(ω × sβ_r + ω_r × sβ): halves as in C."""
    (V, beta), (V_r, beta_r) = actual, reference

    def moment(spin: Array, V: Array, beta: Array, beta_r: Array, V_r: Array) -> Array:
        return 0.5 * (cross(V[..., :3, :], spin * beta_r) + cross(V_r[..., :3, :], spin * beta))

    inboard_r = links.tree.at_parents(V_r, at_rest(links.q))
    return with_rotor_moments(links, b, spinning_rotors(model, links, V, beta, beta_r, inboard_r), moment)


def _with_rotor_rows(model: Model, links: Links, T: list[Array], V: list[Array], V_r: list[Array]) -> list[Array]:
    """The rotor's own joint feels ½(ω × s)·ω_r; nothing where the two velocities are one."""
    rotors = spinning_rotors(model, links, V, links.tree.at_parents(V_r, at_rest(links.q)))
    return [t if x is None else t + _rotor_row(*x) for t, x in zip(T, rotors)]


def _rotor_row(spin: Array, V: Array, V_r: Array) -> Array:
    turning = cross(V[..., :3, :], spin + 0.0 * V[..., :3, :])
    return 0.5 * arrays.transpose(turning) @ V_r[..., :3, :]
