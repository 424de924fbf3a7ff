"""Diagonalised dynamics: ν̇ + C(θ, ν) = ε, with a unit mass matrix (Diagonalized dynamics paper).

    ν = m*β,  β = ℓ*ν,  ε = ℓT,  T = mε,    m = (I + HφK)D^{1/2},  ℓ = m⁻¹ = D^{-1/2}(I − HψK)

ν are the total rates, ε the working forces; ½ν*ν is the kinetic energy, and C does no work (ν*C = 0). Without the
normalising D^{1/2} they are ξ = (I + HφK)*β and κ = (I − HψK)T, with Dξ̇ + C(θ, ξ) = κ and the energy ½ξ*Dξ.

D^{1/2}(k) is the lower triangular Cholesky factor L of D(k) = L L*, so that ν = L*ξ and ε = L⁻¹κ. The forms here
hold for trees, for every joint kind and with rotors; those printed in the paper, for one-dof joints, are in
:mod:`.as_printed`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...arrays import Array
from ...model.model import Model
from ...spatial import Transform
from ...sweeps import unzip
from .. import springs
from ..articulated import Articulated, articulated, colour, smooth, whiten
from ..forward.articulated_body import articulated_body
from ..inverse import coriolis_force, split_forces
from ..links import (
    Links,
    at_rest,
    base_acceleration,
    coriolis_accelerations,
    evaluate,
    gyroscopic_forces,
    map_rates,
    no_motion,
)
from .articulated_rates import ArticulatedRates, Roots, rates, roots
from .node_rates import node_rates, total_rates_changed

# --- between joint and diagonal coordinates (Tables 2 and 3) ---------------------------------------------


def total_rates(model: Model, q: Array, v: Array, normalized: bool = True) -> Array:
    """ν = m*β, (..., nv), or ξ = (I + HφK)*β: outward, ξ(k) = β(k) + G*(k)V⁺(k) (Table 2, left; (5.3))."""
    links = evaluate(model, q).nodes
    art = articulated(links)
    xi = total_rates_of(links, art, links.split(v))[0]
    return links.join([L.mT @ x for L, x in zip(roots(art).L, xi)] if normalized else xi)


def total_rates_of(links: Links, art: Articulated, beta: list[Array]) -> tuple[list[Array], list[Array]]:
    """ξ and V of every body: V⁺ = φ*V(k+1), ξ = β + G*V⁺, V = V⁺ + H*β."""

    def step(outer: Any, phi: Transform, H: Array, G: Array, beta: Array) -> Any:
        V_plus = phi.T @ outer[1]
        return beta + G.mT @ V_plus, V_plus + H.mT @ beta

    values = links.tree.outward(step, (None, at_rest(links.q)), links.phi, links.H, art.G, beta)
    return unzip(values, 2)


def joint_rates(model: Model, q: Array, nu: Array, normalized: bool = True) -> Array:
    """β = ℓ*ν, (..., nv), or (I − HψK)*ξ: outward, β(k) = ξ(k) − G*(k)V⁺(k) (Table 2, right)."""
    links = evaluate(model, q).nodes
    art = articulated(links)
    given = links.split(nu)
    return links.join(smooth(links, art, _unscaled(roots(art), given) if normalized else given)[0])


def _unscaled(root: Roots, nu: list[Array]) -> list[Array]:
    """ξ = L⁻*ν of every joint."""
    return [Li.mT @ x for Li, x in zip(root.L_inverse, nu)]


def working_forces(model: Model, q: Array, tau: Array, normalized: bool = True) -> Array:
    """ε = ℓT, (..., nv), or κ = (I − HψK)T: inward, κ = T − Hz, z⁺ = z + Gκ (Table 3, left; (5.4))."""
    links = evaluate(model, q).nodes
    art = articulated(links)
    kappa = whiten(links, art, links.split(tau))
    return links.join([Li @ x for Li, x in zip(roots(art).L_inverse, kappa)] if normalized else kappa)


def joint_forces(model: Model, q: Array, eps: Array, normalized: bool = True) -> Array:
    """T = mε, (..., nv), or (I + HφK)κ: inward, T = κ + Hz, z⁺ = z + Gκ (Table 3, right)."""
    links = evaluate(model, q).nodes
    art = articulated(links)
    given = links.split(eps)
    kappa = [L @ x for L, x in zip(roots(art).L, given)] if normalized else given
    return links.join(colour(links, art, kappa))


# --- a state in diagonal coordinates ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DiagonalState:
    """A configuration and total rates ξ, with the joint rates β, the velocities V and all that turns with them."""

    model: Model
    links: Links
    art: Articulated
    xi: list[Array]
    beta: list[Array]
    V: list[Array]

    def rates(self) -> ArticulatedRates:
        return rates(self.model, self.links, self.art, self.beta)


def diagonal_state(model: Model, q: Array, nu: Array, normalized: bool) -> tuple[DiagonalState, Roots]:
    """The inward sweep of the Riccati recursion and the outward one of Table 2; and D^{1/2}."""
    links = evaluate(model, q)
    art = articulated(links)
    root = roots(art)
    given = links.split(nu)
    xi = _unscaled(root, given) if normalized else given
    beta, V = smooth(links, art, xi)
    return DiagonalState(model, links, art, xi, beta, V), root


def driven_rates(
    x: DiagonalState,
    change: ArticulatedRates,
    T: list[Array],
    gravity: Array | None = None,
    external: Array | None = None,
) -> list[Array]:
    """Dξ̇ = κ − C(θ, ξ) − gravity, by one inward sweep (Lemma 7.3, (8.1), (8.3), for every joint and with rotors).

        z = Σ φ[z + P⁺a + G(T − Hz)] + b,    Dξ̇ = T − Hz + HP°τ̄*V⁺ − HPa_g,    τ̄*V⁺ = V − H*ξ

    a, b are those of the articulated-body algorithm, and a_g is the base's pseudo acceleration ``gravity`` seen from
    each body. A map that turns in its body adds H°P(V − H*ξ) − HPH°*ξ, a gyroscopic rotor Gs*a to what is passed on.
    """
    links, art = x.links, x.art
    a = coriolis_accelerations(x.model, links, x.V, x.beta)
    b = gyroscopic_forces(x.model, links, x.V, x.beta, split_forces(external))
    falling = [None] * len(a) if gravity is None else links.tree.outward(_carry, gravity, links.phi)

    def step(z: Any, phi: Transform, H: Array, G: Array, P: Array, P_plus: Array, P_ring: Array, *rest: Any) -> Any:
        s, H_ring, V, xi, a, b, a_g, T = rest
        z = z + b
        kappa = T - H @ z
        carried = V - H.mT @ xi
        mu = kappa + (H @ P_ring) @ carried
        if H_ring is not None:
            mu = mu + (P @ H_ring).mT @ carried - H @ (P @ (H_ring @ xi))
        if a_g is not None:
            mu = mu - (H @ P) @ a_g
        return phi @ (z + P_plus @ a + G @ (kappa if s is None else kappa + s.mT @ a)), mu

    H_ring = map_rates(x.model, links, x.beta)
    inertias = (links.phi, links.H, art.G, art.P, art.P_plus, change.P)
    return links.tree.inward(step, 0, *inertias, links.s, H_ring, x.V, x.xi, a, b, falling, T)


def _carry(a: Array, phi: Transform) -> Array:
    return phi.T @ a


# --- Coriolis term and forward dynamics ------------------------------------------------------------------


def coriolis(model: Model, q: Array, nu: Array, normalized: bool = True) -> Array:
    """C(θ, ν), (..., nv), with ν*C = 0; or C(θ, ξ) (Identity 7.1, Lemma 7.3, math notes III.4), for every robot."""
    if model.couplings:
        return _coupled_coriolis(model, q, nu, normalized)
    x, root = diagonal_state(model, q, nu, normalized)
    change = x.rates()
    C = [-mu for mu in driven_rates(x, change, no_motion(x.links))]
    return x.links.join(normalized_coriolis(root, change.D, x.xi, C) if normalized else C)


def normalized_coriolis(root: Roots, D_ring: list[Array], xi: list[Array], C: list[Array]) -> list[Array]:
    """C(θ, ν) = L⁻¹C(θ, ξ) − L°*ξ (Lemma 7.3, math notes III.4)."""
    return [Li @ c - L.mT @ x for Li, c, L, x in zip(root.L_inverse, C, root.rates(D_ring), xi)]


def forward(
    model: Model, q: Array, nu: Array, tau: Array, normalized: bool = True, external: Array | None = None
) -> tuple[Array, Array]:
    """(β, ν̇), or (β, ξ̇), each (..., nv): Algorithm 8.1 at one consistent state, inward, outward, inward.

    Inward P, D, G at θ; outward β and V from ν; inward P° and ν̇ = ε − C(θ, ν) − ℓT_g. Gravity, springs, dampers
    and external forces are included.
    """
    if model.couplings:
        return _coupled_forward(model, q, nu, tau, normalized, external)
    x, root = diagonal_state(model, q, nu, normalized)
    change = x.rates()
    T = springs.left(x.links.split(tau), springs.forces(model, x.links, x.beta))
    mu = driven_rates(x, change, T, base_acceleration(model, q), external)
    if normalized:
        rate = [Li @ m + L.mT @ xi for Li, m, L, xi in zip(root.L_inverse, mu, root.rates(change.D), x.xi)]
    else:
        rate = [Di @ m for Di, m in zip(x.art.D_inverse, mu)]
    return x.links.join(x.beta), x.links.join(rate)


# --- coupled joints --------------------------------------------------------------------------------------
#
# From the factor 𝓜 = mm* over nodes and its rate: ν = m*v, so that ν̇ = ṁ*v + m*v̇, and with m*𝓜⁻¹ = ℓ
#
#     C(θ, ν) = ℓ𝓒 − ṁ*v,    C(θ, ξ) = B⁻¹𝓒 − DḂ*v    where 𝓜 = BDB*, B = I + HφK, 𝓒 the bias force without gravity,
#
# with ξ = B*v, ν = L*ξ and ṁ*v = L°*ξ + L*Ḃ*v from the rates of nodes, in O(n).


def _swung(model: Model, q: Array, v: Array, normalized: bool) -> tuple[Links, list[Array], Articulated]:
    """ṁ*v, or Ḃ*v, by nodes."""
    links = evaluate(model, q)
    art = articulated(links.nodes)
    change = node_rates(model, links, art, links.split(v))
    xi, turned = total_rates_changed(change, links.nodes.split(v))
    if normalized:
        root = roots(art)
        turned = [R.mT @ x + L.mT @ y for R, x, L, y in zip(root.rates(change.D), xi, root.L, turned)]
    return links.nodes, turned, art


def _coupled_coriolis(model: Model, q: Array, nu: Array, normalized: bool) -> Array:
    v = joint_rates(model, q, nu, normalized)
    nodes, swung, art = _swung(model, q, v, normalized)
    if not normalized:
        swung = [D @ x for D, x in zip(art.D, swung)]
    return working_forces(model, q, coriolis_force(model, q, v), normalized) - nodes.join(swung)


def _coupled_forward(
    model: Model, q: Array, nu: Array, tau: Array, normalized: bool, external: Array | None
) -> tuple[Array, Array]:
    v = joint_rates(model, q, nu, normalized)
    a = articulated_body(model, q, v, tau, external).acceleration
    nodes, swung, _ = _swung(model, q, v, normalized)
    return v, nodes.join(swung) + total_rates(model, q, a, normalized)
