"""The Coriolis term and the forward dynamics as the Diagonalized dynamics paper prints them.

For trees of joints of one degree of freedom, without rotors: they rest on HF = 0, HG = I and M = P − E_ψPE_ψ*. For
hinges F = S[H*θ̇] is the paper's Ω̃_δ; with sliders and screws only F is right (math notes III.1). The forms for
every robot are in :mod:`.coordinates`.
"""

from __future__ import annotations

from typing import Any

from ... import arrays
from ...arrays import Array
from ...errors import NotAdmittedError
from ...model.flexible.structure import grouped
from ...model.model import Model
from ...spatial import Transform, congruence, cross_force, cross_motion
from ...sweeps import unzip
from .. import springs
from ..articulated import Articulated, past_joint
from ..inverse import split_forces
from ..links import Links, base_acceleration, gyroscopic_forces
from .articulated_rates import joint_velocities
from .coordinates import DiagonalState, diagonal_state


def _admit(model: Model, links: Links, what: str) -> None:
    for joint, size, Gamma in zip(model.joints, links.sizes, links.Gamma):
        reason = f"has {size} degrees of freedom" if size > 1 else "carries a rotor" if Gamma is not None else None
        if reason:
            raise NotAdmittedError(
                f"{what} is for joints of one degree of freedom without rotors, and joint {joint.name!r} of robot"
                f' {model.name!r} {reason}; method="general" has no such limits'
            )


def _state(model: Model, q: Array, nu: Array, normalized: bool, what: str) -> tuple[DiagonalState, Any, list[Array]]:
    """The state, D^{1/2}, and b = S[V]MV = −Ṽ*MV."""
    if model.couplings:
        raise NotAdmittedError(
            f'{what} is for trees of single bodies, and robot {model.name!r} has {grouped(model)}; use method="general"'
        )
    x, root = diagonal_state(model, q, nu, normalized)
    _admit(model, x.links, what)
    return x, root, gyroscopic_forces(model, x.links, x.V, x.beta, None)


def _both_sides(G: Array, H: Array, X: Array) -> Array:
    """τ̄Xτ̄* of a symmetric X."""
    left = past_joint(X, H, G)
    return arrays.symmetric(left - (left @ H.mT) @ G.mT)


# --- Algorithm 6.1 -------------------------------------------------------------------------------------


def inertia_rates(links: Links, art: Articulated, Delta: list[Array]) -> tuple[list[Array], list[Array]]:
    """P° and Π̇ (Algorithm 6.1): Π̇(k) = P° + FP + PF*, P°(k+1) = ψ(k+1,k) Π̇(k) ψ*(k+1,k)."""

    def step(P_ring: Array, phi: Transform, H: Array, G: Array, P: Array, Delta: Array) -> Any:
        X = cross_force(Delta, P)
        Pi_dot = P_ring + X + X.mT
        return congruence(phi, _both_sides(G, H, Pi_dot)), (P_ring, Pi_dot)

    zero = arrays.zeros((6, 6), like=links.q)
    kept = links.tree.inward(step, zero, links.phi, links.H, art.G, art.P, Delta)
    return unzip(kept, 2)


# --- closed forms --------------------------------------------------------------------------------------


def closed_form(model: Model, q: Array, nu: Array, normalized: bool = True) -> Array:
    """C(θ, ν) by Identity 7.1, or C(θ, ξ) by Lemma 7.3: the bracket applied to V, then Hψ.

    C(θ, ν) = ½D^{-1/2}Hψ[E_ψΠ̇ − Π̇E_ψ* − FP + PF* − 2Ṽ*M]V,    C(θ, ξ) = Hψ[Π̇H*ξ − (FP + Ṽ*M)V]
    """
    x, root, b = _state(model, q, nu, normalized, "the closed form (Identity 7.1, Lemma 7.3)")
    links, art = x.links, x.art
    Delta = joint_velocities(links, x.beta)
    Pi_dot = inertia_rates(links, art, Delta)[1]
    FPV = [cross_force(d, P @ V) for d, P, V in zip(Delta, art.P, x.V)]
    if not normalized:
        data = zip(Pi_dot, links.H, x.xi, FPV, b)
        return links.join(_H_psi(x, [Pi @ (H.mT @ xi) - FPV + b for Pi, H, xi, FPV, b in data]))

    PFV = [P @ _F_adjoint(d, V) for P, d, V in zip(art.P, Delta, x.V)]
    outboard = _shifted(x, [Pi @ V for Pi, V in zip(Pi_dot, x.V)])  # E_ψΠ̇V
    inboard = [Pi @ (V - H.mT @ xi) for Pi, V, H, xi in zip(Pi_dot, x.V, links.H, x.xi)]  # Π̇E_ψ*V = Π̇τ̄*V⁺
    bracket = [o - i - f + g + 2.0 * c for o, i, f, g, c in zip(outboard, inboard, FPV, PFV, b)]
    return links.join([0.5 * (Li @ y) for Li, y in zip(root.L_inverse, _H_psi(x, bracket))])


def _F_adjoint(Delta: Array, V: Array) -> Array:
    """F*V = −Δ × V."""
    return -cross_motion(Delta, V)


def _shifted(x: DiagonalState, y: list[Array]) -> list[Array]:
    """E_ψ y: Σ φ τ̄ y over the children."""

    def step(gathered: Array, phi: Transform, H: Array, G: Array, y: Array) -> Any:
        return phi @ past_joint(y, H, G), gathered

    zero = arrays.zeros((6, 1), like=x.links.q)
    return x.links.tree.inward(step, zero, x.links.phi, x.links.H, x.art.G, y)


def _H_psi(x: DiagonalState, y: list[Array]) -> list[Array]:
    """Hψ y."""

    def step(gathered: Array, phi: Transform, H: Array, G: Array, y: Array) -> Any:
        total = gathered + y
        return phi @ past_joint(total, H, G), H @ total

    zero = arrays.zeros((6, 1), like=x.links.q)
    return x.links.tree.inward(step, zero, x.links.phi, x.links.H, x.art.G, y)


# --- recursions ----------------------------------------------------------------------------------------


def recursive(model: Model, q: Array, nu: Array, normalized: bool = True) -> Array:
    """C(θ, ν) by Algorithm 7.1, or C(θ, ξ) by (7.10): Π̇ and C in one inward sweep.

    With X = FP and Y = ψΠ̇(k−1):
    (7.1)   y(k) = ψ y(k−1) − [2Ṽ*M + X − X*]V + Y V(k−1) − Π̇τ̄*V⁺,   C(k) = ½D^{-1/2}H y
    (7.10)  y(k) = ψ y(k−1) + Π̇H*ξ − [Ṽ*M + X]V,                     C(k) = H y
    """
    x, root, b = _state(model, q, nu, normalized, "the recursion (Algorithm 7.1, (7.10))")
    links, art = x.links, x.art
    zero = (arrays.zeros((6, 6), like=q), arrays.zeros((6, 1), like=q))
    data = (links.phi, links.H, art.G, art.P, joint_velocities(links, x.beta), x.V, x.xi, b)

    def normal_step(gathered: Any, phi: Transform, H: Array, G: Array, P: Array, *rest: Array) -> Any:
        Delta, V, xi, b, L_inverse = rest
        P_ring, y = gathered
        X = cross_force(Delta, P)
        Pi_dot = P_ring + X + X.mT
        y = y + 2.0 * b - (X - X.mT) @ V - Pi_dot @ (V - H.mT @ xi)
        # ψ(k+1,k) y(k) and the next body's Y V(k) are passed on together
        passed = phi @ past_joint(y + Pi_dot @ V, H, G)
        return (congruence(phi, _both_sides(G, H, Pi_dot)), passed), 0.5 * (L_inverse @ (H @ y))

    def plain_step(gathered: Any, phi: Transform, H: Array, G: Array, P: Array, *rest: Array) -> Any:
        Delta, V, xi, b = rest
        P_ring, y = gathered
        X = cross_force(Delta, P)
        Pi_dot = P_ring + X + X.mT
        y = y + Pi_dot @ (H.mT @ xi) + b - X @ V
        return (congruence(phi, _both_sides(G, H, Pi_dot)), phi @ past_joint(y, H, G)), H @ y

    if normalized:
        return links.join(links.tree.inward(normal_step, zero, *data, root.L_inverse))
    return links.join(links.tree.inward(plain_step, zero, *data))


def algorithm_8_1(
    model: Model, q: Array, nu: Array, tau: Array, normalized: bool = True, external: Array | None = None
) -> tuple[Array, Array]:
    """(θ̇, ξ̇), or (θ̇, ν̇), each (..., nv), by (8.3) at one consistent state.

    γ(k) = ψγ(k−1) + KT(k−1) + Π̇H*ξ − [X + Ṽ*M]V + Ma_g,    ξ̇(k) = D⁻¹[T − Hγ],    ν̇ = L*ξ̇ + L°*ξ
    """
    x, root, _ = _state(model, q, nu, normalized, "Algorithm 8.1")
    links, art = x.links, x.art
    b = gyroscopic_forces(model, links, x.V, x.beta, split_forces(external))
    weight = links.tree.outward(lambda a, phi: phi.T @ a, base_acceleration(model, q), links.phi)
    T = springs.left(links.split(tau), springs.forces(model, links, x.beta))

    def step(gathered: Any, phi: Transform, H: Array, G: Array, P: Array, *rest: Any) -> Any:
        Delta, V, xi, b, M, a_g, T, D_inverse = rest
        P_ring, gamma = gathered
        X = cross_force(Delta, P)
        Pi_dot = P_ring + X + X.mT
        gamma = gamma + Pi_dot @ (H.mT @ xi) + b - X @ V + M @ a_g
        kappa = T - H @ gamma
        passed = (congruence(phi, _both_sides(G, H, Pi_dot)), phi @ (gamma + G @ kappa))  # ψγ + KT = φ(γ + G(T − Hγ))
        return passed, (D_inverse @ kappa, arrays.symmetric(H @ P_ring @ H.mT))

    zero = (arrays.zeros((6, 6), like=q), arrays.zeros((6, 1), like=q))
    moving = (joint_velocities(links, x.beta), x.V, x.xi, b)
    data = (links.phi, links.H, art.G, art.P, *moving, links.M, weight, T, art.D_inverse)
    xi_dot, D_ring = unzip(links.tree.inward(step, zero, *data), 2)
    if normalized:
        rates = root.rates(D_ring)
        xi_dot = [L.mT @ d + Lr.mT @ xi for L, d, Lr, xi in zip(root.L, xi_dot, rates, x.xi)]
    return links.join(x.beta), links.join(xi_dot)
