"""Linearised inverse dynamics: δT = 𝓜δβ̇ + A_D δβ + B_D δq (Linearized dynamics paper §3).

Algorithm 1 gives δT along one direction in O(n), its adjoint the gradients of w*T, and Algorithm 2 the three
matrices in O(n²). All hold for trees, joints of several degrees of freedom, rotors and external forces that
stay fixed in the axes of their bodies.
"""

from __future__ import annotations

from typing import Any

from ... import arrays
from ...arrays import Array
from ...spatial import RigidInertia, Transform, cross_force, cross_motion
from ...sweeps import unzip
from ..inertia_rate import InertiaRate, composite_rates
from ..inverse import composite_inertias
from ..links import Links, wider
from .variations import JointVariation, Motion, Moving, joint_variation, joint_variations, turned_forces

# --- along a direction -------------------------------------------------------------------------------


def own_changes(m: Motion, dq: list[Array], dv: list[Array]) -> tuple[list[Array], list[Array], list[Array]]:
    """What δq and δβ of each joint do to its own body: η = H*δq, and its share of ϑ and of λ (LD (3.4))."""
    return unzip([_own_change(m, k, dq[k], dv[k]) for k in range(len(dq))], 3)


def _own_change(m: Motion, k: int, dq: Array, dv: Array) -> tuple[Array, Array, Array]:
    r, H_star = m.rates, m.links.H[k].mT
    V, V_plus = r.V[k], r.V_plus[k]
    eta, w = H_star @ dq, H_star @ dv
    if r.partials[k] is not None:
        x = joint_variation(m, k)
        return eta, w + x.vartheta_q @ dq, x.lambda_v @ dv + x.lambda_q @ dq
    if m.links.sizes[k] == 1:  # Ḣ* = Ψ̇, so that one column serves both
        turned = r.Psi_dot[k] @ dq
        swept = r.Psi_dot[k] @ (2.0 * dv) + cross_motion(V_plus, turned)
    else:
        turned = cross_motion(V_plus, eta)
        swept = cross_motion(V + V_plus, w) + cross_motion(V_plus, turned)
    return eta, w + turned, swept + cross_motion(m.alpha_plus[k], eta)


def carried_out(links: Links, own: list[Array]) -> tuple[list[Array], list[Array]]:
    """(x⁺, x) with x⁺ = φ*x(p) and x = x⁺ + own, outward."""

    def step(outer: Any, phi: Transform, own: Array) -> Any:
        plus = phi.T @ outer[1]
        return plus, plus + own

    start = (None, arrays.zeros((6, 1), like=links.q))
    return unzip(links.tree.outward(step, start, links.phi, own), 2)


def algorithm_1(m: Motion, dq: list[Array], dv: list[Array], da: list[Array] | None) -> list[Array]:
    """δT in O(n) (LD Lemma 3.1 (3.3), Algorithm 1, corrected).

    outward  ϑ = φ*ϑ(p) + H*δβ + Ψ̇δq,  λ = φ*λ(p) + H*δβ̇ + (Ḣ* + Ψ̇)δβ + Ψ̈δq
    inward   ξ = Σ φ[ξ + S[H*δq]f] + Mλ + 2M̂ϑ,  δT = Hξ
    """
    links = m.links
    eta, own_theta, own_lam = own_changes(m, dq, dv)
    if da is not None:
        own_lam = [x + H.mT @ d for x, H, d in zip(own_lam, links.H, da)]
    passed = [_passed_by_rotor(m, k, dv, da) for k in range(len(dq))]
    dT, theta_plus, lam_plus = changed_forces(m, eta, own_theta, own_lam, passed)
    return [_own_terms(m, k, t, dq, dv, da, theta_plus[k], lam_plus[k]) for k, t in enumerate(dT)]


def changed_forces(
    m: Motion, eta: list[Array], own_theta: list[Array], own_lam: list[Array], passed: list[Any]
) -> tuple[list[Array], list[Array], list[Array]]:
    """(Hξ, ϑ⁺, λ⁺) where every body is displaced by η in its parent, and moves by ϑ and λ more: what links make of it.

    ``passed`` is what spinning rotors ask besides of the bodies that carry them.
    """
    links = m.links
    theta_plus, theta = carried_out(links, own_theta)
    lam_plus, lam = carried_out(links, own_lam)
    x = [M @ l + M_hat @ (2.0 * t) for M, l, M_hat, t in zip(links.M, lam, m.rates.M_hat, theta)]

    def step(gathered: Any, phi: Transform, H: Array, x: Array, f: Array, eta: Array, rotor: Any) -> Any:
        xi = gathered + x
        return phi @ (xi + cross_force(eta, f) if rotor is None else xi + cross_force(eta, f) + rotor), H @ xi

    return links.tree.inward(step, 0, links.phi, links.H, x, m.f, eta, passed), theta_plus, lam_plus


def _passed_by_rotor(m: Motion, k: int, dv: list[Array], da: list[Array] | None) -> Any:
    """What the spinning rotor of joint k asks of the body that carries it: sδβ̇ + uδβ."""
    if m.rates.turning[k] is None:
        return None
    own = m.rates.turning[k] @ dv[k]
    return own if da is None else own + m.links.s[k] @ da[k]


def _own_terms(
    m: Motion,
    k: int,
    dT: Array,
    dq: list[Array],
    dv: list[Array],
    da: list[Array] | None,
    theta_plus: Array,
    lam_plus: Array,
) -> Array:
    """δT(k) with what its rotor and its spring add, and with (∂H/∂q)f where the map turns in its own body."""
    links = m.links
    if links.Gamma[k] is not None and da is not None:
        dT = dT + links.Gamma[k] @ da[k]
    if m.rates.turning[k] is not None:
        dT = dT + links.s[k].mT @ lam_plus
    known = known_joint_force(m, k, dq[k], dv[k], theta_plus)
    return dT if known is None else dT + known


def known_joint_force(m: Motion, k: int, dq: Array, dv: Array, theta_plus: Array) -> Any:
    """The part of δT(k) that neither links nor δβ̇ give: u*ϑ⁺ of a spinning rotor, (∂H/∂q)f of a turning map, and what
    its spring and damper ask."""
    u, partials = m.rates.turning[k], m.rates.partials[k]
    parts = [] if u is None else [u.mT @ theta_plus]
    if partials is not None:
        parts.append(arrays.concatenate([d.mT @ m.f[k] for d in partials[0]], axis=-1) @ dq)
    parts += soft_change(m, k, dq, dv)
    return arrays.total(parts) if parts else None


def soft_change(m: Motion, k: int, dq: Array, dv: Array) -> list[Array]:
    """Kδq and dδβ of joint k, those that there are."""
    K, d = m.rates.softness[k] or (None, None)
    return ([] if K is None else [K @ dq]) + ([] if d is None else [d @ dv])


def adjoint_1(m: Motion, w: list[Array]) -> tuple[list[Array], list[Array], list[Array]]:
    """(B_D*w, A_D*w, 𝓜w) in O(n): the sweeps of Algorithm 1, each the adjoint of the other.

    outward  ζ = φ*ζ(p) + H*w
    inward   μ = Σ φμ + Mζ,  κ = Σ φκ + 2M̂*ζ
    """
    links, r = m.links, m.rates
    variations = joint_variations(m)

    zeta_plus, zeta = carried_out(links, [H.mT @ x for H, x in zip(links.H, w)])
    doubled = [2.0 * z for z in zeta]

    def gather(
        carried: Any, phi: Transform, M: RigidInertia, M_hat: InertiaRate, zeta: Array, twice: Array, rotor: Any
    ) -> Any:
        mu, kappa = carried[0] + M @ zeta, carried[1] + M_hat.adjoint_times(twice)
        if rotor is None:
            return (phi @ mu, phi @ kappa), (mu, kappa)
        s, u, w = rotor
        return (phi @ (mu + s @ w), phi @ (kappa + u @ w)), (mu, kappa)

    rotors = [None if u is None else (s, u, x) for s, u, x in zip(links.s, r.turning, w)]
    data = (links.phi, links.M, r.M_hat, zeta, doubled, rotors)
    mu, kappa = unzip(links.tree.inward(gather, (0, 0), *data), 2)

    gq, gv, ga = [], [], []
    for k, x in enumerate(variations):
        H = links.H[k]
        a = H @ mu[k]
        a = a if links.Gamma[k] is None else a + links.Gamma[k] @ w[k]
        v = H @ kappa[k] + x.lambda_v.mT @ mu[k]
        # ζ⁺*S[H*δq]f = −δq*H (ζ⁺ ×* f): the force term felt inboard
        g = x.vartheta_q.mT @ kappa[k] + x.lambda_q.mT @ mu[k] - H @ cross_force(zeta_plus[k], m.f[k])
        if r.turning[k] is not None:
            a, v = a + links.s[k].mT @ zeta_plus[k], v + r.turning[k].mT @ zeta_plus[k]
        if x.partials is not None:
            g = g + arrays.concatenate([m.f[k].mT @ d for d in x.partials], axis=-2) @ w[k]
        K, d = r.softness[k] or (None, None)
        g, v = g if K is None else g + K.mT @ w[k], v if d is None else v + d @ w[k]
        gq.append(g)
        gv.append(v)
        ga.append(a)
    return gq, gv, ga


# --- the matrices ------------------------------------------------------------------------------------


def algorithm_2(
    m: Motion,
    variations: list[JointVariation] | None = None,
    composites: tuple[list[Any], list[Any]] | None = None,
    script_F: list[Any] | None = None,
) -> tuple[Array, Array, Array]:
    """(𝓜, A_D, B_D), each (..., nv, nv), in O(n²) (LD Lemma 3.2, Algorithm 2, corrected).

    With the composite sums R and R̂ of M and M̂, columns X = RH*, X̂ = 2R̂*H*, X_A = 2R̂H* + R(Ḣ* + Ψ̇) and
    X_B = 2R̂Ψ̇ + RΨ̈ + 𝓕 are carried from joint k to the joints inboard. Unrelated joints have zeros.
    ``variations`` and ``script_F`` are those of the motion and ``composites`` (R, R̂) those of the links unless others
    are given.
    """
    links = m.links
    R, R_hat = composites or (composite_inertias(links), composite_rates(links, m.rates.M_hat))
    variations = joint_variations(m) if variations is None else variations
    script_F = turned_forces(m, variations)[0] if script_F is None else script_F
    diagonal: list[tuple[Array | None, ...]] = []
    starts: list[Any] = []
    for k, x in enumerate(variations):
        if links.sizes[k]:
            diagonal.append(_own_blocks(m, k, x, R[k], R_hat[k]))
            starts.append(links.phi[k] @ _sent_inward(m, k, x, R[k], R_hat[k], script_F[k]))
        else:
            diagonal.append((None, None, None))
            starts.append(None)
    kept = links.tree.inward_from_each(_step_inboard, starts, links.phi, links.H, variations).unzip(5)
    mass, A_D, B_D = unzip(diagonal, 3)
    return (
        links.matrix(mass, kept[:1], None, like=like(m)),
        links.matrix(A_D, kept[1:2], kept[3], like=like(m)),
        links.matrix(B_D, kept[2:3], kept[4], like=like(m)),
    )


def _own_blocks(
    m: Motion, k: int, x: JointVariation, R: RigidInertia, R_hat: InertiaRate
) -> tuple[Array, Array, Array]:
    """𝓜(k,k), A_D(k,k) and B_D(k,k)."""
    H, Gamma = m.links.H[k], m.links.Gamma[k]
    mass = arrays.symmetric(H @ (R @ H.mT))
    A = H @ (R_hat @ (2.0 * H.mT) + R @ x.lambda_v)
    B = H @ (R_hat @ (2.0 * x.vartheta_q) + R @ x.lambda_q)
    if x.partials is not None:
        B = B + arrays.concatenate([d.mT @ m.f[k] for d in x.partials], axis=-1)
    K, d = m.rates.softness[k] or (None, None)
    return (mass if Gamma is None else mass + Gamma), (A if d is None else A + d), (B if K is None else B + K)


def _sent_inward(m: Motion, k: int, x: JointVariation, R: RigidInertia, R_hat: InertiaRate, script_F: Any) -> Array:
    """[X, X̂, X_A, X_B], (..., 6, 4r): what joint k asks of those inboard; a spinning rotor asks s and u more."""
    H_star, s, u = m.links.H[k].mT, m.links.s[k], m.rates.turning[k]
    X, X_hat = R @ H_star, R_hat.adjoint_times(2.0 * H_star)
    X_A = R_hat @ (2.0 * H_star) + R @ x.lambda_v
    X_B = R_hat @ (2.0 * x.vartheta_q) + R @ x.lambda_q
    if script_F is not None:
        X_B = X_B + script_F
    if u is not None:
        X, X_hat, X_A = X + s, X_hat + u, X_A + u
    return arrays.concatenate([X, X_hat, X_A, X_B], axis=-1)


def _step_inboard(columns: Array, phi: Transform, H: Array, x: JointVariation) -> Any:
    """𝓜(j,k), A_D(j,k), B_D(j,k), A_D(k,j) and B_D(k,j) at a joint j inboard of k (LD (3.8))."""
    r = columns.shape[-1] // 4
    X, X_hat, X_A, X_B = (columns[..., i * r : (i + 1) * r] for i in range(4))
    A_flipped = X.mT @ x.lambda_v + X_hat.mT @ H.mT
    B_flipped = X.mT @ x.lambda_q + X_hat.mT @ x.vartheta_q
    return phi @ columns, (H @ X, H @ X_A, H @ X_B, A_flipped, B_flipped)


def like(m: Moving) -> Array:
    """An array with the batch shape of the whole state, for results that may be zero."""
    return wider(m.links.q, *(x[..., 0] for x in (*m.rates.beta, *m.beta_dot)))
