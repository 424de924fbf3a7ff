"""The identities that hold between operators which depend on velocities and accelerations.

One-dof joints without rotors, as in the papers. Abbreviations as in :mod:`.identities`. What the papers say
about time derivatives themselves (Table 4 of DD, (A.6)–(A.9) of LD) is no identity between operators at one
instant; those statements are checked by differentiation in the tests.
"""

from __future__ import annotations

from .expression import Expression, Zero
from .identities import _U, _rule, inverse_mass, white
from .leaves import Leaves as O
from .rules import CHAIN, CONSTANT_MAPS, INVERTIBLE_EDGES, MOTION, NO_ROTORS, ONE_DOF

_M = (MOTION, ONE_DOF, NO_ROTORS)
_C = (*_M, CONSTANT_MAPS)


def A_D(o: O) -> Expression:
    """A_D = 2Hφ[M̂φ*H* + Mφ*Ḣ*] (LD Lemma 3.1)."""
    return 2.0 * o.H @ o.phi @ (o.M_hat @ o.phi.T @ o.H.T + o.M @ o.phi.T @ o.H_dot)


def B_D(o: O) -> Expression:
    """B_D = Hφ[𝓕 + 2M̂φ*Ḣ* + Mφ*Ḧ*] (LD Lemma 3.1), and 𝒦 of couplings."""
    out = o.H @ o.phi @ (o.F_script + 2.0 * o.M_hat @ o.phi.T @ o.H_dot + o.M @ o.phi.T @ o.H_ddot)
    return out if o.nodes is None else out + o.stiffness


def _stiff(o: O, out: Expression) -> Expression:
    """A form of B_C with what couplings add to it, 𝓜⁻¹𝒦."""
    return out if o.nodes is None else out + inverse_mass(o) @ o.stiffness


def Y_A(o: O) -> Expression:
    return 2.0 * (o.P_hat @ o.H.T + o.P @ o.H_dot)


def Y_B(o: O) -> Expression:
    return 2.0 * o.P_hat @ o.H_dot + o.P @ o.H_ddot + o.F_script


def E_A(o: O) -> Expression:
    return 2.0 * o.H_dot - o.Upsilon @ Y_A(o) + 2.0 * o.J_hat @ o.H.T


def E_B(o: O) -> Expression:
    return o.H_ddot - o.Upsilon @ Y_B(o) + 2.0 * o.J_hat @ o.H_dot


def Q(o: O) -> Expression:
    return 2.0 * (o.K_hat - o.J_hat.T @ o.K)


def m_dot(o: O) -> Expression:
    """ṁ = Hφ[Fφ̃P + ½(I + τ̄)Π̇]H*D^{-1/2} (DD Identity 6.1)."""
    return o.H @ o.phi @ (o.F @ o.phi_tilde @ o.P + 0.5 * (o.I + o.tau_bar) @ o.Pi_dot) @ o.H.T @ o.D_root_inverse


def m_dot_nu(o: O) -> Expression:
    """X with ṁν = XV (DD Identity 6.2)."""
    local = o.F @ o.P + o.P @ o.F.T + o.E_psi @ o.Pi_dot - o.Pi_dot @ o.E_psi.T
    return o.H @ o.phi @ (o.F @ o.phi @ o.K @ o.H @ o.P + 0.5 * local)


def _coriolis(o: O) -> Expression:
    """C = Hφ[M̂φ*H* + Mφ*(ṼH* + H°*)], with C + C* the rate of HφMφ*H*."""
    return o.H @ o.phi @ (o.M_hat @ o.phi.T @ o.H.T + o.M @ o.phi.T @ (o.V_tilde @ o.H.T + o.H_ring))


def _turned_mass(o: O) -> Expression:
    """H°φMφ*H* + HφE_φFφMφ*H*: with its adjoint the same rate, seen from the bodies."""
    return (o.H_ring.T + o.H @ o.phi @ o.E_phi @ o.F) @ o.phi @ o.M @ o.phi.T @ o.H.T


def half_mass_sensitivity(o: O) -> Expression:
    """X with ½ θ̇*M_θθ̇ = XV (DD Lemma 6.2 (6.16c))."""
    return o.H @ o.phi @ (o.F @ (o.I + o.phi @ o.K @ o.H) @ o.P + o.V_tilde.T @ o.M)


def diagonal_coriolis(o: O) -> Expression:
    """X with C(θ, ν) = XV (DD Identity 7.1)."""
    skew = o.E_psi @ o.Pi_dot - o.Pi_dot @ o.E_psi.T - o.F @ o.P + o.P @ o.F.T
    return 0.5 * o.D_root_inverse @ o.H @ o.psi @ (skew - 2.0 * o.V_tilde.T @ o.M)


DIAGONALIZED = (
    _rule("HF", "DD after (6.3)", lambda o: o.H @ o.F, lambda o: Zero(o.joints, o.bodies), *_C),
    _rule("tau_bar_F", "DD Table 4", lambda o: o.tau_bar @ o.F, lambda o: o.F, *_C),
    _rule("shift_velocity", "DD (6.9), (6.10)", lambda o: o.E_phi.T @ o.V_tilde,
          lambda o: (o.V_tilde + o.F.T) @ o.E_phi.T, MOTION, NO_ROTORS),
    _rule("phi_rate", "DD Lemma 6.1 (6.7), Table 4 row 2", lambda o: o.phi @ o.E_phi @ o.F @ o.phi,
          lambda o: o.V_tilde.T @ o.phi - o.phi @ o.V_tilde.T, MOTION, NO_ROTORS),
    _rule("H_phi_rate", "DD (6.8)", lambda o: o.H @ (o.V_tilde.T @ o.phi - o.phi @ o.V_tilde.T),
          lambda o: o.H @ o.phi @ o.F @ o.phi, *_C),
    _rule("P_ring", "DD Algorithm 6.1 (6.4), (6.5)", lambda o: o.P_ring,
          lambda o: o.E_psi @ o.Pi_dot @ o.E_psi.T, *_C),
    _rule("Pi_dot", "DD Algorithm 6.1", lambda o: o.Pi_dot, lambda o: o.P_ring + o.F @ o.P + o.P @ o.F.T, *_M),
    _rule("factor_rate", "DD Identity 6.1 (6.11)",
          lambda o: o.H @ o.phi @ (o.F @ o.phi_tilde @ o.P + 0.5 * (o.I + o.tau_bar) @ o.Pi_dot) @ o.H.T,
          lambda o: o.H @ o.phi @ (o.F @ o.phi @ o.P + 0.5 * (o.I + o.tau_bar) @ o.P_ring) @ o.H.T, *_C),
    _rule("factor_rate_of_total_rates", "DD Identity 6.2 (6.12)", lambda o: m_dot(o) @ o.m.T,
          lambda o: m_dot_nu(o) @ o.phi.T @ o.H.T, *_C),
    _rule("mass_rate", "DD Identity 6.3 (6.14)", lambda o: m_dot(o) @ o.m.T + o.m @ m_dot(o).T,
          lambda o: o.H @ o.phi @ (o.F @ o.phi @ o.M + o.M @ o.phi.T @ o.F.T) @ o.phi.T @ o.H.T, *_C),
    _rule("mass_sensitivity", "DD Lemma 6.2 (6.16a), (6.16b)", lambda o: o.H @ o.V_tilde.T @ o.phi @ o.M,
          lambda o: o.H @ o.phi @ (o.F @ o.phi + o.V_tilde.T) @ o.M, *_C),
    _rule("mass_sensitivity_riccati", "DD Lemma 6.2 (6.16c)",
          lambda o: o.H @ o.phi @ (o.F @ o.phi + o.V_tilde.T) @ o.M @ o.phi.T @ o.H.T,
          lambda o: o.H @ o.phi @ (o.F @ (o.I + o.phi @ o.K @ o.H) @ o.P + o.V_tilde.T @ o.M) @ o.phi.T @ o.H.T, *_M),
    _rule("diagonal_coriolis", "DD Lemma 3.1 (3.2); DD Identity 7.1 (7.1)",
          lambda o: o.ell @ (m_dot(o) @ o.m.T - half_mass_sensitivity(o) @ o.phi.T @ o.H.T),
          lambda o: diagonal_coriolis(o) @ o.phi.T @ o.H.T, *_C),
    _rule("coriolis_forms", "DD Lemma 7.3 (7.9)",
          lambda o: o.H @ o.psi @ (o.Pi_dot @ o.H.T - (o.F @ o.P + o.V_tilde.T @ o.M) @ o.psi.T @ o.H.T),
          lambda o: o.H @ o.psi @ (o.P_ring @ o.H.T - o.F @ o.P_plus @ o.E_phi.T @ o.psi.T @ o.H.T
                                   - o.V_tilde.T @ o.M @ o.psi.T @ o.H.T), *_C),
)

# The same for any joint and for nodes, whose maps turn in their bodies: H° ≠ 0, HF ≠ 0.
ANY_JOINT = (
    _rule("P_ring_of_any_joint", "N III.4", lambda o: o.P_ring,
          lambda o: o.E_phi @ (o.tau_bar @ o.P_ring @ o.tau_bar.T + o.F @ o.P_plus + o.P_plus @ o.F.T
                               - o.G @ o.H_ring.T @ o.P_plus - o.P_plus @ o.H_ring @ o.G.T) @ o.E_phi.T,
          MOTION, NO_ROTORS),
    _rule("H_phi_rate_of_any_joint", "N III.4", lambda o: o.H @ (o.V_tilde.T @ o.phi - o.phi @ o.V_tilde.T),
          lambda o: o.H @ o.phi @ o.E_phi @ o.F @ o.phi, MOTION),
    _rule("mass_sensitivity_of_any_joint", "N III.4", lambda o: o.H @ o.V_tilde.T @ o.phi @ o.M,
          lambda o: o.H @ o.phi @ (o.E_phi @ o.F @ o.phi + o.V_tilde.T) @ o.M, MOTION),
    _rule("mass_rate_of_any_joint", "N III.4", lambda o: _coriolis(o) + _coriolis(o).T,
          lambda o: _turned_mass(o) + _turned_mass(o).T, MOTION),
)

LINEARIZED = (
    _rule("A_D_composite", "LD Lemma 3.2 (3.6)", A_D,
          lambda o: 2.0 * o.H @ o.phi @ (o.R @ o.H_dot + o.R_hat @ o.H.T)
          + 2.0 * o.H @ (o.R @ o.phi_tilde.T @ o.H_dot + o.R_hat @ o.phi_tilde.T @ o.H.T), *_M),
    _rule("B_D_composite", "LD Lemma 3.2 (3.6)", B_D,
          lambda o: o.H @ o.phi @ (o.F_script + 2.0 * o.R_hat @ o.H_dot + o.R @ o.H_ddot)
          + o.H @ (2.0 * o.R_hat @ o.phi_tilde.T @ o.H_dot + o.R @ o.phi_tilde.T @ o.H_ddot)
          + (Zero(o.joints, o.joints) if o.nodes is None else o.stiffness), *_M),
    _rule("A_C", "LD Lemma 4.1 (4.2), Lemma 4.6 (4.11)", lambda o: inverse_mass(o) @ A_D(o),
          lambda o: 2.0 * white(o).T @ o.D_inverse @ o.H @ o.psi @ (o.M_hat @ o.phi.T @ o.H.T + o.P @ o.H_dot)
          + 2.0 * o.K.T @ o.psi.T @ o.H_dot, *_M),
    _rule("B_C", "LD Lemma 4.1 (4.2), Lemma 4.6 (4.11)", lambda o: inverse_mass(o) @ B_D(o),
          lambda o: _stiff(o, white(o).T @ o.D_inverse @ o.H @ o.psi
          @ (o.F_script + 2.0 * o.M_hat @ o.phi.T @ o.H_dot + o.P @ o.H_ddot) + o.K.T @ o.psi.T @ o.H_ddot), *_M),
    _rule("P_hat", "LD (4.12)", lambda o: o.psi @ o.M_hat @ o.phi.T,
          lambda o: o.psi @ o.P_hat + o.P_hat @ o.phi_tilde.T, *_M),
    _rule("K_hat", "LD proof of Lemma 4.7", lambda o: o.H @ o.P_hat @ o.phi_tilde.T,
          lambda o: o.D @ o.K_hat.T @ o.phi.T, *_M),
    _rule("A_C_hat", "LD Lemma 4.7 (4.13)", lambda o: inverse_mass(o) @ A_D(o),
          lambda o: white(o).T @ (o.D_inverse @ o.H @ o.psi @ Y_A(o) + 2.0 * o.K_hat.T @ o.phi.T @ o.H.T)
          + 2.0 * o.K.T @ o.psi.T @ o.H_dot, *_M),
    _rule("B_C_hat", "LD Lemma 4.7 (4.13)", lambda o: inverse_mass(o) @ B_D(o),
          lambda o: _stiff(o, white(o).T @ (o.D_inverse @ o.H @ o.psi @ Y_B(o) + 2.0 * o.K_hat.T @ o.phi.T @ o.H_dot)
          + o.K.T @ o.psi.T @ o.H_ddot), *_M),
    _rule("A_C_split", "LD Lemma 4.9 (4.21), (4.22), (A.24)", lambda o: inverse_mass(o) @ A_D(o),
          lambda o: _U(o) @ o.psi @ Y_A(o) + o.K.T @ o.psi.T @ E_A(o) + Q(o).T @ o.phi.T @ o.H.T, CHAIN, INVERTIBLE_EDGES, *_M),
    _rule("B_C_split", "LD Lemma 4.9 (4.21), (4.22)", lambda o: inverse_mass(o) @ B_D(o),
          lambda o: _U(o) @ o.psi @ Y_B(o) + o.K.T @ o.psi.T @ E_B(o) + Q(o).T @ o.phi.T @ o.H_dot, CHAIN, INVERTIBLE_EDGES, *_M),
)

MOTION_RULES = DIAGONALIZED + ANY_JOINT + LINEARIZED
