"""How the motion of the links answers to small changes: the columns from which all linearised models are made.

A change δq is a tangent vector of ``robot.integrate``: joint k moves its body by H*(k) δq(k). Seen from body k
(math notes III.3, III.4),

    ϑ = δ°V          = φ*ϑ(p) + H*δβ + Ψ̇δq                       Ψ̇ = V⁺ × H*
    λ = δ°α + V × ϑ  = φ*λ(p) + H*δβ̇ + (Ḣ* + Ψ̇)δβ + Ψ̈δq         Ψ̈ = α⁺ × H* + V⁺ × Ψ̇
    δ°x              = Mλ + 2M̂ϑ

with V⁺, α⁺ the parent's velocity and (gravity-loaded) acceleration carried to k. For one-dof joints Ψ̇ = Ḣ* and
Ψ̈ = Ḧ* of the Linearized dynamics paper, Algorithm 1. Joints whose map turns in its own body (universal ones) add
derivatives of H*, and rotors that spin on the parent add s and u = S[V(p)]s there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ... import arrays
from ...arrays import Array
from ...model.joints.kinds import Later
from ...model.model import Model
from ...spatial import cross, cross_force, cross_motion
from .. import springs
from ..inertia_rate import InertiaRate, inertia_rate
from ..inverse import forces_of_motion
from ..links import Links, accelerations, at_rest, carried_outward, velocities
from ..referred_links import Placed


@dataclass(frozen=True, eq=False)
class JointVariation:
    """How the motion of one body answers to its own joint; each (..., 6, r)."""

    vartheta_q: Array  # ϑ per δq: Ψ̇
    lambda_v: Array  # λ per δβ: Ḣ* + Ψ̇
    lambda_q: Array  # λ per δq: Ψ̈
    partials: Any = None  # ∂H*/∂q_i where H* is not constant in the body


@dataclass(frozen=True, eq=False)
class Turning:
    """What of q and v frames show: V⁺, V, Ψ̇, and a = Ψ̇β (+ the map's own turning)."""

    placed: Placed
    beta: list[Array]
    V_plus: list[Array]
    V: list[Array]
    Psi_dot: list[Array]
    a: list[Array]
    partials: list[Any]  # (∂H*/∂q_i, ∂²H*/∂q_i∂q_j) in the frames of ``placed``, or None

    @property
    def links(self) -> Links:
        return self.placed.links


@dataclass(frozen=True, eq=False)
class Velocities(Turning):
    """What depends on q and v alone, with what it asks of forces: M̂, rotors and springs."""

    M_hat: list[InertiaRate]
    momenta: list[Any]  # what rotors on body k add to its momentum, a moment (..., 3, 1), or 0
    turning: list[Any]  # u(k) = S[V(p)]s(k) in k's frame, (..., 6, 1), where joint k has a spinning rotor, else None
    springs: list[Any]  # what springs and dampers ask of joint k, (..., r, 1), or None
    softness: list[Any]  # and how that changes: (K, d), (..., r, r) each or None, per δq and δβ; or None


def velocity_terms(model: Model, placed: Placed, v: Array) -> Velocities:
    """V and everything that follows from it and H."""
    rates = _with_forces(turning_terms(model, placed, v))
    links, beta = rates.links, rates.beta
    return replace(rates, springs=springs.forces(model, links, beta), softness=springs.slopes(model, links))


def velocity_terms_of(placed: Placed, v: Array, partials: list[Any]) -> Velocities:
    """The same for links that need no model and have no springs; ``partials`` are of maps that are not constant."""
    return _with_forces(_turning(placed, v, partials))


def turning_terms(model: Model, placed: Placed, v: Array) -> Turning:
    """What frames show of q and v."""
    return _turning(placed, v, [_map_partials(model, placed, k) for k in range(len(placed.links.tree))])


def _turning(placed: Placed, v: Array, partials: list[Any]) -> Turning:
    links = placed.links
    beta = links.split(v)
    V = velocities(links, beta)
    V_plus = carried_outward(links, V, at_rest(links.q))
    Psi_dot = [cross_motion(Vp, H.mT) for Vp, H in zip(V_plus, links.H)]
    a = [P @ b if d is None else P @ b + _map_rate(d, b) for P, b, d in zip(Psi_dot, beta, partials)]
    return Turning(placed, beta, V_plus, V, Psi_dot, a, partials)


def _with_forces(x: Turning) -> Velocities:
    momenta, turning = _rotors(x.links, x.V_plus, x.beta)
    M_hat = [inertia_rate(M, V).with_rotors(h) for M, V, h in zip(x.links.M, x.V, momenta)]
    none = [None] * len(x.beta)
    return Velocities(**vars(x), M_hat=M_hat, momenta=momenta, turning=turning, springs=none, softness=none)


def _map_partials(model: Model, placed: Placed, k: int) -> Any:
    links = placed.links
    found = model.constants(dtype=links.q.dtype)[k].kind.map_partials(links.theta[k])
    if found is None:
        return None
    first, second = found
    if isinstance(second, Later):
        return [placed.motion(k, d) for d in first], second.mapped(lambda d: placed.motion(k, d))
    return [placed.motion(k, d) for d in first], [[placed.motion(k, d) for d in row] for row in second]


def _map_rate(partials: Any, beta: Array) -> Array:
    """dH*/dt β = Σ βᵢ ∂ᵢH* β."""
    return arrays.total(d @ beta * beta[..., i : i + 1, :] for i, d in enumerate(partials[0]))


def _rotors(links: Links, V_plus: list[Array], beta: list[Array]) -> tuple[list[Any], list[Any]]:
    """The momenta Σ sβ that spinning rotors give the bodies that carry them, and u = S[V(p)]s, in k's frame."""
    carried = [s is not None and not links.tree.on_world(k) for k, s in enumerate(links.s)]
    turning = [cross_force(V, s) if there else None for there, V, s in zip(carried, V_plus, links.s)]
    own = [(phi @ s)[..., :3, :] * b if there else None for there, phi, s, b in zip(carried, links.phi, links.s, beta)]
    return links.tree.from_children(own), turning


@dataclass(frozen=True, eq=False)
class Moving:
    """A state with accelerations: α⁺ and α, from which the variation columns of every joint are."""

    rates: Turning
    beta_dot: list[Array]
    alpha_plus: list[Array]
    alpha: list[Array]

    @property
    def links(self) -> Links:
        return self.rates.links


@dataclass(frozen=True, eq=False)
class Motion(Moving):
    """The same with the link forces f."""

    rates: Velocities
    f: list[Array]
    T: list[Array]  # the joint forces that go with this motion


def moving(rates: Turning, beta_dot: list[Array], base: Array) -> Moving:
    """α outward, from the base's acceleration."""
    alpha = accelerations(rates.links, beta_dot, rates.a, base)
    return Moving(rates, beta_dot, carried_outward(rates.links, alpha, base), alpha)


def motion(rates: Velocities, beta_dot: list[Array], external: list[Array] | None, base: Array) -> Motion:
    """α outward and f inward (LD (2.16)), with the base's acceleration carrying gravity.

    ``external`` holds the forces on the bodies in the frames of ``rates.placed``.
    """
    m = moving(rates, beta_dot, base)
    T, f = forces_of_motion(m.links, beta_dot, m.alpha, m.alpha_plus, inertia_forces_of_velocity(rates, external))
    return Motion(rates, beta_dot, m.alpha_plus, m.alpha, f, springs.added(T, rates.springs))


def inertia_forces_of_velocity(rates: Velocities, external: list[Array] | None) -> list[Array]:
    """b = M̂V (LD (2.7)), with the moments of spinning rotors, less external forces."""
    b = [M_hat @ V for M_hat, V in zip(rates.M_hat, rates.V)]
    b = [_gyroscopic(x, h, V) for x, h, V in zip(b, rates.momenta, rates.V)]
    return b if external is None else [x - e for x, e in zip(b, external)]


def _gyroscopic(x: Array, momentum: Any, V: Array) -> Array:
    """x with the moment ω × h of the rotors' momentum h, of which M̂V holds half."""
    if isinstance(momentum, int):
        return x
    moment = 0.5 * cross(V[..., :3, :], momentum)
    return x + arrays.concatenate([moment, moment * 0.0], axis=-2)


def joint_variations(m: Moving) -> list[JointVariation]:
    """Ψ̇, Ḣ* + Ψ̇ and Ψ̈ of every joint (LD Algorithm 1, Step 1; math notes III.4)."""
    return [joint_variation(m, k) for k in range(len(m.alpha))]


def joint_variation(m: Moving, k: int) -> JointVariation:
    """The columns of one joint."""
    r, H_star = m.rates, m.links.H[k].mT
    V_plus, V, Psi_dot = r.V_plus[k], r.V[k], r.Psi_dot[k]
    both = 2.0 * Psi_dot if H_star.shape[-1] == 1 else Psi_dot + cross_motion(V, H_star)
    Psi_ddot = cross_motion(m.alpha_plus[k], H_star) + cross_motion(V_plus, Psi_dot)
    if r.partials[k] is None:
        return JointVariation(Psi_dot, both, Psi_ddot)
    return _turning_map(JointVariation(Psi_dot, both, Psi_ddot), r.partials[k], V + V_plus, r.beta[k], m.beta_dot[k])


def _turning_map(x: JointVariation, partials: Any, V_sum: Array, beta: Array, beta_dot: Array) -> JointVariation:
    """What derivatives of H* add: N = ∂(H*β)/∂q to Ψ̇, and to λ its own turning and that of Ḣ*."""
    first, second = partials
    N = arrays.concatenate([d @ beta for d in first], axis=-1)
    own = arrays.concatenate([d @ beta_dot for d in first], axis=-1)  # ∂(H*β̇)/∂q
    twice = sum(d * beta[..., i : i + 1, :] for i, d in enumerate(first))  # dH*/dt
    bent = arrays.concatenate([_weighted(row, beta) for row in second], axis=-1)  # ∂(dH*/dt β)/∂q
    return JointVariation(
        x.vartheta_q + N,
        x.lambda_v + N + twice,
        x.lambda_q + cross_motion(V_sum, N) + own + bent,
        first,
    )


def _weighted(row: list[Array], beta: Array) -> Array:
    """Σ_j βⱼ ∂ᵢ∂ⱼH* β for one i."""
    return arrays.total(d @ beta * beta[..., j : j + 1, :] for j, d in enumerate(row))


def turned_forces(m: Motion, variations: list[JointVariation]) -> tuple[list[Any], list[Any]]:
    """𝓕(k) = S[H*]f, (..., 6, r), and what it gives its own joint less what that should be, (..., r, r).

    δq(k) turns f(k) as its parent sees it, so 𝓕 acts on the joints inboard of k only (math notes III.4):
    H𝓕, zero for one-dof joints, has to be taken off again. None where a term does not exist.
    """
    links = m.links
    script_F: list[Any] = [None] * len(m.f)
    own: list[Any] = [None] * len(m.f)
    for k, (H, f, r) in enumerate(zip(links.H, m.f, links.sizes)):
        if r and not links.tree.on_world(k):
            script_F[k] = cross_force(H.mT, f)
            if r > 1:
                own[k] = -(H @ script_F[k])
        partials = variations[k].partials
        if partials is not None:
            turn = arrays.concatenate([d.mT @ f for d in partials], axis=-1)  # (∂H/∂q) f
            own[k] = turn if own[k] is None else own[k] + turn
    return script_F, own


def without_free_bases(m: Motion, variations: list[JointVariation]) -> tuple[list[JointVariation], dict[int, Any]]:
    """The variations less what a free base can answer by itself, and those answers (C_v, C_q) by body.

    At a joint that moves its body in all six directions from the world, λ = (Ḣ* + Ψ̇)δβ + Ψ̈δq equals H*(C_vδβ +
    C_qδq): an acceleration of that joint undoes it, and no other joint notices. What is left there is 2M̂ϑ. A rotor on
    that joint does notice.
    """
    links = m.links
    left, answers = list(variations), {}
    for k, (H, r) in enumerate(zip(links.H, links.sizes)):
        if r == 6 and links.tree.on_world(k) and links.Gamma[k] is None:
            x = variations[k]
            H_inverse = arrays.inverse(arrays.transpose(H))
            answers[k] = (H_inverse @ x.lambda_v, H_inverse @ x.lambda_q)
            zero = arrays.zeros((6, 6), like=links.q)
            left[k] = JointVariation(x.vartheta_q, zero, zero, x.partials)
    return left, answers


def with_free_bases(links: Links, answers: dict[int, Any], A: Array, B: Array) -> tuple[Array, Array]:
    """A_C and B_C with the answers of free bases put back on their diagonal blocks."""
    if not answers:
        return A, B
    sizes = links.sizes
    C_v = arrays.from_blocks({(k, k): c[0] for k, c in answers.items()}, sizes, sizes, like=links.q)
    C_q = arrays.from_blocks({(k, k): c[1] for k, c in answers.items()}, sizes, sizes, like=links.q)
    return A + C_v, B + C_q
