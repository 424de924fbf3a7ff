"""The operator identities of the five papers, each with the equation numbers it is printed under.

OA: Operator algebra paper. JPL: JPL 88-11, Part I. UF: Unified formulation paper. LD: Linearized dynamics
paper. DD: Diagonalized dynamics paper. N: the math notes (generalisations). Corrected forms throughout.
Every entry is tested on random robots; ``linkwise.check_identity`` does the same for your own.
"""

from __future__ import annotations

from collections.abc import Callable

from .expression import Expression, Zero
from .leaves import Leaves as O
from .rules import CHAIN, INVERTIBLE_EDGES, NO_GYRO, NO_ROTORS, ONE_TIP, Rule


def colour(o: O) -> Expression:
    """I + HφK."""
    return o.I_joints + o.H @ o.phi @ o.K


def white(o: O) -> Expression:
    """W = I − HψK."""
    return o.I_joints - o.H @ o.psi @ o.K


def jpl_colour(o: O) -> Expression:
    """I + HΦL."""
    return o.I_joints + o.H @ o.Phi @ o.L


def jpl_white(o: O) -> Expression:
    """I − HΨL."""
    return o.I_joints - o.H @ o.Psi @ o.L


def inverse_mass(o: O) -> Expression:
    return white(o).T @ o.D_inverse @ white(o)


def _rule(
    name: str,
    cites: str,
    lhs: Callable[..., Expression],
    rhs: Callable[..., Expression],
    *requires: str,
    simplifies: bool = False,
    free: bool = False,
) -> Rule:
    return Rule(name, tuple(c.strip() for c in cites.split(";")), lhs, rhs, frozenset(requires), simplifies, free)


_S = {"simplifies": True}

RIGID = (
    _rule("phi_inverse", "UF (19), (20); DD (4.5), (4.6); LD (2.17), (2.18); JPL (3.4)",
          lambda o: (o.I - o.E_phi) @ o.phi, lambda o: o.I, **_S),
    _rule("phi_inverse_right", "UF (20)", lambda o: o.phi @ (o.I - o.E_phi), lambda o: o.I, **_S),
    _rule("phi_tilde", "UF proof of Lemma 3.1; LD (2.18); JPL (a.3)",
          lambda o: o.phi - o.I, lambda o: o.phi_tilde, **_S),
    _rule("phi_from_tilde", "LD (2.18)", lambda o: o.I + o.phi_tilde, lambda o: o.phi, **_S),
    _rule("shift_phi", "UF proof of Lemma 3.1; DD proof of 4.2", lambda o: o.E_phi @ o.phi, lambda o: o.phi_tilde, **_S),
    _rule("phi_shift", "LD (2.18)", lambda o: o.phi @ o.E_phi, lambda o: o.phi_tilde, **_S),
    _rule("composite_lyapunov", "UF Lemma 3.1 (26)", lambda o: o.R - o.E_phi @ o.R @ o.E_phi.T, lambda o: o.M),
    _rule("composite_decomposition", "UF Lemma 3.1 (27); JPL Corollary A.1",
          lambda o: o.phi @ o.M @ o.phi.T, lambda o: o.R + o.phi_tilde @ o.R + o.R @ o.phi_tilde.T),
    _rule("composite_mass", "LD Lemma 3.2 (3.6)", lambda o: o.H @ o.phi @ o.M @ o.phi.T @ o.H.T,
          lambda o: o.H @ o.phi @ o.R @ o.H.T + o.H @ o.R @ o.phi_tilde.T @ o.H.T),
    _rule("lyapunov", "LD (A.1); JPL Lemma A.1 (a.44)", lambda o, X: o.phi @ X @ o.phi.T,
          lambda o, X: o.phi @ o.lyapunov(X) + o.lyapunov(X) @ o.phi_tilde.T, free=True),
    _rule("rigid_commutator", "LD (A.4)", lambda o, X: o.phi.T @ X @ o.phi_tilde.T,
          lambda o, X: o.recursion(X, "φ*φ⁻*") @ o.phi.T - o.phi.T @ o.recursion(X, "φ*φ⁻*"),
          INVERTIBLE_EDGES, free=True),
)

LOCAL = (
    _rule("D", "UF (32); DD (4.7); JPL (4.6); LD (4.3)", lambda o: o.H @ o.P @ o.H.T, lambda o: o.D, NO_ROTORS, **_S),
    _rule("G", "UF (33); DD (4.7); LD (4.3)", lambda o: o.P @ o.H.T @ o.D_inverse, lambda o: o.G, NO_GYRO, **_S),
    _rule("GD", "DD (4.9)", lambda o: o.G @ o.D, lambda o: o.P @ o.H.T, NO_GYRO),
    _rule("D_inverse", "N 7", lambda o: o.D @ o.D_inverse, lambda o: o.I_joints, **_S),
    _rule("D_inverse_left", "N 7", lambda o: o.D_inverse @ o.D, lambda o: o.I_joints, **_S),
    _rule("D_root", "DD (5.1)", lambda o: o.D_root @ o.D_root.T, lambda o: o.D, **_S),
    _rule("D_root_inverse", "DD (5.1)", lambda o: o.D_root @ o.D_root_inverse, lambda o: o.I_joints, **_S),
    _rule("D_root_inverse_left", "DD (5.1)", lambda o: o.D_root_inverse @ o.D_root, lambda o: o.I_joints, **_S),
    _rule("D_inverse_root", "DD (5.1)", lambda o: o.D_root_inverse.T @ o.D_root_inverse, lambda o: o.D_inverse, **_S),
    _rule("K", "UF (53); DD (4.9); JPL (a.2)", lambda o: o.E_phi @ o.G, lambda o: o.K, **_S),
    _rule("tau", "UF (53); DD (4.7)", lambda o: o.G @ o.H, lambda o: o.tau, **_S),
    _rule("tau_bar", "UF (53); DD (4.7)", lambda o: o.I - o.tau, lambda o: o.tau_bar, **_S),
    _rule("E_psi", "UF (53); DD (4.9)", lambda o: o.E_phi @ o.tau_bar, lambda o: o.E_psi, **_S),
    _rule("E_psi_gain", "JPL (4.7); OA (4.2), (4.3)", lambda o: o.E_phi - o.K @ o.H, lambda o: o.E_psi, **_S),
    _rule("HG", "UF (38); DD (4.12)", lambda o: o.H @ o.G, lambda o: o.I_joints, NO_ROTORS, **_S),
    _rule("H_tau_bar", "UF (38); DD (4.12)", lambda o: o.H @ o.tau_bar,
          lambda o: Zero(o.joints, o.bodies), NO_ROTORS, **_S),
    _rule("tau_bar_P_H", "UF (38); DD (4.12)", lambda o: o.tau_bar @ o.P @ o.H.T,
          lambda o: Zero(o.bodies, o.joints), NO_ROTORS, **_S),
    _rule("tau_bar_P_H_symmetric", "DD (4.12)", lambda o: o.tau_bar @ o.P @ o.H.T,
          lambda o: o.P @ o.tau_bar.T @ o.H.T, NO_GYRO),
    _rule("tau_bar_squared", "UF after (39)", lambda o: o.tau_bar @ o.tau_bar, lambda o: o.tau_bar, NO_ROTORS, **_S),
    _rule("tau_squared", "UF after (39)", lambda o: o.tau @ o.tau, lambda o: o.tau, NO_ROTORS, **_S),
    _rule("P_plus", "UF (41); LD (4.3); DD (4.7)", lambda o: o.tau_bar @ o.P, lambda o: o.P_plus, NO_GYRO, **_S),
    _rule("P_plus_adjoint", "UF (41)", lambda o: o.P @ o.tau_bar.T, lambda o: o.P_plus, NO_GYRO),
    _rule("P_plus_both", "UF (41)", lambda o: o.tau_bar @ o.P @ o.tau_bar.T, lambda o: o.P_plus, NO_ROTORS),
    _rule("P_plus_gain", "UF (41); N 12.6", lambda o: o.P - o.G @ o.D @ o.G.T, lambda o: o.P_plus, **_S),
    _rule("P_plus_H", "UF (41)", lambda o: o.P_plus @ o.H.T, lambda o: Zero(o.bodies, o.joints), NO_ROTORS, **_S),
)

RICCATI = (
    _rule("riccati_psi", "OA (4.1); UF (42); LD (A.14); DD (4.8)",
          lambda o: o.P - o.E_psi @ o.P @ o.E_psi.T, lambda o: o.M, NO_ROTORS, **_S),
    _rule("riccati_mixed", "UF (40), (58); LD (A.14), (A.19)",
          lambda o: o.P - o.E_psi @ o.P @ o.E_phi.T, lambda o: o.M, NO_GYRO, **_S),
    _rule("riccati_mixed_adjoint", "DD (4.8)", lambda o: o.P - o.E_phi @ o.P @ o.E_psi.T, lambda o: o.M, NO_GYRO),
    _rule("riccati_gain", "OA proof of Lemma 4.1; UF proof of Lemma 6.2; LD (A.14); JPL (4.5)",
          lambda o: o.P - o.E_phi @ o.P @ o.E_phi.T + o.K @ o.D @ o.K.T, lambda o: o.M, **_S),
    _rule("riccati_sum", "OA proof of Lemma 4.1; UF proof of Lemma 6.2", lambda o: o.phi @ o.M @ o.phi.T,
          lambda o: o.P + o.phi_tilde @ o.P + o.P @ o.phi_tilde.T + o.phi @ o.K @ o.D @ o.K.T @ o.phi.T),
    _rule("riccati_sum_jpl", "JPL A.6 (a.48), (a.49)", lambda o: o.phi @ o.M @ o.phi.T,
          lambda o: o.P + o.phi_tilde @ o.P + o.P @ o.phi_tilde.T
          + o.phi_tilde @ o.P @ o.H.T @ o.D_inverse @ o.H @ o.P @ o.phi_tilde.T, NO_GYRO),
    _rule("psi_M_phi", "UF (58); LD (A.19); JPL A.5 (a.46)", lambda o: o.psi @ o.M @ o.phi.T,
          lambda o: o.psi @ o.P + o.P @ o.phi_tilde.T, NO_GYRO),
    _rule("psi_M_phi_tilde", "JPL A.5 (a.46)", lambda o: o.psi @ o.M @ o.phi.T,
          lambda o: o.P + o.psi_tilde @ o.P + o.P @ o.phi_tilde.T, NO_GYRO),
    _rule("psi_M_psi", "JPL A.5 (a.47)", lambda o: o.psi @ o.M @ o.psi.T,
          lambda o: o.P + o.psi_tilde @ o.P + o.P @ o.psi_tilde.T, NO_ROTORS),
    _rule("H_psi_M_psi", "N III.4", lambda o: o.H @ o.psi @ o.M @ o.psi.T, lambda o: o.H @ o.psi @ o.P, NO_ROTORS, **_S),
    _rule("H_psi_P_H", "N III.4", lambda o: o.H @ o.psi @ o.P @ o.H.T, lambda o: o.D, NO_ROTORS, **_S),
    _rule("H_psi_G", "N III.4", lambda o: o.H @ o.psi @ o.G, lambda o: o.I_joints, NO_ROTORS, **_S),
    _rule("phi_M_phi_H", "DD Identity 4.2 (4.10c)", lambda o: o.phi @ o.M @ o.phi.T @ o.H.T,
          lambda o: (o.I + o.phi @ o.K @ o.H) @ o.P @ o.phi.T @ o.H.T, NO_ROTORS),
    _rule("phi_M_phi_split", "DD proof of (4.10c)", lambda o: o.phi @ o.M @ o.phi.T,
          lambda o: o.phi_tilde @ o.tau_bar @ o.P + (o.I + o.phi @ o.K @ o.H) @ o.P @ o.phi.T, NO_GYRO),
    _rule("whitened_mass", "UF Lemma 6.2; OA Lemma 4.1", lambda o: o.H @ o.psi @ o.M @ o.phi.T @ o.H.T,
          lambda o: o.D @ colour(o).T, NO_ROTORS, **_S),
    _rule("articulated_lyapunov", "LD (A.2)", lambda o, X: o.psi @ X @ o.phi.T,
          lambda o, X: o.psi @ o.recursion(X, "ψφ") + o.recursion(X, "ψφ") @ o.phi_tilde.T, free=True),
    _rule("compliance_lyapunov", "LD (A.3)", lambda o, X: o.psi.T @ X @ o.psi,
          lambda o, X: o.psi.T @ o.recursion(X, "ψ*ψ") + o.recursion(X, "ψ*ψ") @ o.psi_tilde, CHAIN, free=True),
    _rule("articulated_commutator", "LD (A.5)", lambda o, X: o.psi.T @ X @ o.phi_tilde.T,
          lambda o, X: o.recursion(X, "ψ*φ⁻*") @ o.phi.T - o.psi.T @ o.recursion(X, "ψ*φ⁻*"),
          INVERTIBLE_EDGES, free=True),
)

FACTORS = (
    _rule("innovations", "OA Lemma 4.1 (4.4); JPL Fact 4.1 (4.11); UF Lemma 6.2; LD Lemma 4.2 (4.6); DD (4.1b)",
          lambda o: colour(o) @ o.D @ colour(o).T, lambda o: o.mass, **_S),
    _rule("whitening", "OA Lemma 4.2 (4.5); JPL Fact 4.2 (4.14); UF Lemma 6.3; LD Lemma 4.3 (4.7); DD (4.1c)",
          lambda o: colour(o) @ white(o), lambda o: o.I_joints, **_S),
    _rule("whitening_left", "OA Lemma 4.2 (4.5)", lambda o: white(o) @ colour(o), lambda o: o.I_joints, **_S),
    _rule("mass_inverse", "OA Lemma 4.3 (4.6); JPL Theorem 4.1 (4.16); UF Lemma 6.4 (55); LD Lemma 4.4 (4.8); DD (4.1d)",
          lambda o: o.mass @ inverse_mass(o), lambda o: o.I_joints),
    _rule("factor", "DD Assumption 2, (5.1)", lambda o: o.m @ o.m.T, lambda o: o.mass),
    _rule("factor_gain", "DD (5.1)", lambda o: o.m, lambda o: o.H @ o.phi @ o.G @ o.D_root, NO_ROTORS),
    _rule("factor_inverse", "DD (5.1)", lambda o: o.ell @ o.m, lambda o: o.I_joints),
    _rule("factor_mass_inverse", "DD (5.1)", lambda o: o.mass @ o.ell.T @ o.ell, lambda o: o.I_joints),
    _rule("total_rate_velocities", "DD §5, Table 2", lambda o: o.phi.T @ o.H.T @ o.ell.T,
          lambda o: o.psi.T @ o.H.T @ o.D_root_inverse.T),
    _rule("psi_inverse", "UF (54); LD (4.4), (4.5)", lambda o: (o.I - o.E_psi) @ o.psi, lambda o: o.I, **_S),
    _rule("psi_inverse_right", "UF (54)", lambda o: o.psi @ (o.I - o.E_psi), lambda o: o.I, **_S),
    _rule("psi_tilde", "UF (54)", lambda o: o.psi - o.I, lambda o: o.psi_tilde, **_S),
    _rule("psi_from_tilde", "UF (54)", lambda o: o.I + o.psi_tilde, lambda o: o.psi, **_S),
    _rule("shift_psi", "UF (54)", lambda o: o.E_psi @ o.psi, lambda o: o.psi_tilde, **_S),
    _rule("psi_shift", "UF (54)", lambda o: o.psi @ o.E_psi, lambda o: o.psi_tilde, **_S),
    _rule("psi_inverse_phi_inverse", "OA Lemma A.1; UF Lemma 6.1; LD (A.16); DD (4.11)",
          lambda o: o.psi @ (o.I - o.E_phi + o.K @ o.H), lambda o: o.I),
    _rule("W_H_phi", "OA Lemma 5.1 (5.1); JPL Identity 5.1 (5.4), (a.35); UF (57); LD Lemma 4.5 (4.9a); DD (4.10a)",
          lambda o: white(o) @ o.H @ o.phi, lambda o: o.H @ o.psi, **_S),
    _rule("phi_K_W", "DD (4.10b); JPL (a.41)", lambda o: o.phi @ o.K @ white(o), lambda o: o.psi @ o.K, **_S),
    _rule("H_phi_tau_bar", "DD (4.10d)", lambda o: o.H @ o.phi @ o.tau_bar, lambda o: o.H @ o.phi @ o.E_psi, NO_ROTORS),
    _rule("colour_HphiG", "DD proof of Identity 6.1", colour, lambda o: o.H @ o.phi @ o.G, NO_ROTORS),
    _rule("phi_minus_psi", "DD proof of 4.2; JPL (a.18)", lambda o: o.phi - o.psi, lambda o: o.psi @ o.K @ o.H @ o.phi),
    _rule("phi_minus_psi_other", "JPL (a.28); DD proof of (4.10b)",
          lambda o: o.phi - o.psi, lambda o: o.phi @ o.K @ o.H @ o.psi),
    _rule("DHP_phi", "UF (59); LD (A.21)", lambda o: o.D_inverse @ o.H @ o.P @ o.phi_tilde.T,
          lambda o: o.K.T @ o.phi.T, NO_GYRO),
    _rule("W_K_phi", "UF (59); LD (A.21)", lambda o: white(o).T @ o.K.T @ o.phi.T, lambda o: o.K.T @ o.psi.T, **_S),
    _rule("inverse_mass_momentum", "LD (A.18)", lambda o: inverse_mass(o) @ o.H @ o.phi @ o.M @ o.phi.T,
          lambda o: white(o).T @ o.D_inverse @ o.H @ o.psi @ o.M @ o.phi.T),
    _rule("inverse_mass_momentum_riccati", "LD Lemma 4.5 (4.9b), (A.20)",
          lambda o: inverse_mass(o) @ o.H @ o.phi @ o.M @ o.phi.T,
          lambda o: white(o).T @ o.D_inverse @ o.H @ o.psi @ o.P + o.K.T @ o.psi.T, NO_GYRO),
)

JPL = (
    _rule("jpl_a8", "JPL (a.8)", lambda o: o.Psi @ o.Delta_psi, lambda o: o.psi_tilde),
    _rule("jpl_a9", "JPL (a.9)", lambda o: o.Phi @ o.Delta_phi, lambda o: o.phi_tilde),
    _rule("jpl_a10", "JPL (a.10)", lambda o: (o.I - o.S @ o.Delta_psi) @ o.psi, lambda o: o.I),
    _rule("jpl_a11", "JPL (a.11)", lambda o: (o.I - o.S @ o.Delta_phi) @ o.phi, lambda o: o.I),
    _rule("jpl_shift_phi", "JPL (a.11)", lambda o: o.S @ o.Delta_phi, lambda o: o.E_phi, **_S),
    _rule("jpl_shift_psi", "JPL (a.10)", lambda o: o.S @ o.Delta_psi, lambda o: o.E_psi, **_S),
    _rule("jpl_a12", "JPL (a.12)", lambda o: o.Delta_phi @ o.G, lambda o: o.L, **_S),
    _rule("jpl_K", "JPL (a.12)", lambda o: o.S @ o.L, lambda o: o.K, **_S),
    _rule("jpl_a13", "JPL (a.13)", lambda o: o.phi_tilde @ o.G, lambda o: o.Phi @ o.L),
    _rule("jpl_a14", "JPL A.2 (a.14)", lambda o: o.phi, lambda o: o.psi @ (o.I + o.S @ o.L @ o.H @ o.phi)),
    _rule("jpl_a15", "JPL (a.15)", lambda o: o.psi, lambda o: (o.I - o.Psi @ o.L @ o.H) @ o.phi),
    _rule("jpl_a16", "JPL (a.16)", lambda o: o.Phi, lambda o: o.Psi @ (o.I_edges + o.L @ o.H @ o.Phi)),
    _rule("jpl_a17", "JPL (a.17)", lambda o: o.Psi, lambda o: (o.I - o.Psi @ o.L @ o.H) @ o.Phi),
    _rule("jpl_a22", "JPL A.3 (a.22)", lambda o: o.phi, lambda o: (o.I + o.Phi @ o.L @ o.H) @ o.psi),
    _rule("jpl_a23", "JPL (a.23)", lambda o: o.psi, lambda o: o.phi @ (o.I - o.S @ o.L @ o.H @ o.psi)),
    _rule("jpl_a24", "JPL (a.24)", lambda o: o.Phi, lambda o: (o.I + o.Phi @ o.L @ o.H) @ o.Psi),
    _rule("jpl_a25", "JPL (a.25)", lambda o: o.Psi, lambda o: o.Phi @ (o.I_edges - o.L @ o.H @ o.Psi)),
    _rule("jpl_a26", "JPL (a.26)", lambda o: o.Phi @ o.L @ o.H @ o.psi, lambda o: o.Psi @ o.L @ o.H @ o.phi),
    _rule("jpl_a27", "JPL (a.27)", lambda o: o.Phi @ o.L @ o.H @ o.Psi, lambda o: o.Psi @ o.L @ o.H @ o.Phi),
    _rule("jpl_a32", "JPL A.4 (a.32)", lambda o: jpl_colour(o) @ o.H @ o.psi, lambda o: o.H @ o.phi),
    _rule("jpl_a32_K", "JPL (a.32)", lambda o: colour(o) @ o.H @ o.psi, lambda o: o.H @ o.phi, **_S),
    _rule("jpl_a33", "JPL (a.33)", lambda o: o.H @ o.Phi, lambda o: jpl_colour(o) @ o.H @ o.Psi),
    _rule("jpl_a34", "JPL (a.34)", lambda o: o.H @ o.Psi, lambda o: o.H @ o.Phi @ (o.I_edges - o.L @ o.H @ o.Psi)),
    _rule("jpl_a35", "JPL (a.35)", lambda o: o.H @ o.psi, lambda o: jpl_white(o) @ o.H @ o.phi),
    _rule("jpl_a36", "JPL (a.36)", lambda o: o.H @ o.Psi, lambda o: jpl_white(o) @ o.H @ o.Phi),
    _rule("jpl_a37", "JPL (a.37)", lambda o: o.H @ o.Phi, lambda o: o.H @ o.Psi @ (o.I_edges + o.L @ o.H @ o.Phi)),
    _rule("jpl_a38", "JPL (a.38)", lambda o: o.H @ o.Phi @ o.L @ o.H @ o.Psi, lambda o: o.H @ o.Psi @ o.L @ o.H @ o.Phi),
    _rule("jpl_a39", "JPL (a.39)", lambda o: o.Phi @ o.L, lambda o: o.Psi @ o.L @ jpl_colour(o)),
    _rule("jpl_a40", "JPL (a.40)", lambda o: o.Psi @ o.L, lambda o: (o.I - o.Psi @ o.L @ o.H) @ o.Phi @ o.L),
    _rule("jpl_a41", "JPL (a.41)", lambda o: o.Psi @ o.L, lambda o: o.Phi @ o.L @ jpl_white(o)),
    _rule("jpl_a42", "JPL (a.42)", lambda o: o.Phi @ o.L, lambda o: (o.I + o.Phi @ o.L @ o.H) @ o.Psi @ o.L),
    _rule("jpl_a43", "JPL (a.43)", lambda o: o.Psi @ o.L @ o.H @ o.Phi @ o.L, lambda o: o.Phi @ o.L @ o.H @ o.Psi @ o.L),
    _rule("jpl_a50", "JPL A.7 (a.50)", lambda o: jpl_white(o).T @ o.D_inverse @ o.H @ o.psi @ o.M @ o.phi.T,
          lambda o: jpl_white(o).T @ o.D_inverse @ o.H @ o.psi_tilde @ o.P
          + o.L.T @ o.Psi.T @ o.tau_bar.T + o.G.T, NO_GYRO),
    _rule("jpl_a51", "JPL (a.51)", lambda o: jpl_white(o).T @ o.D_inverse @ o.H @ o.P @ (o.I + o.phi_tilde.T),
          lambda o: o.L.T @ o.Psi.T @ o.tau_bar.T + o.G.T, NO_GYRO),
)


def _L(o: O) -> Expression:
    """L = D⁻¹ + G*Υ⁺G of LD (4.22)."""
    return o.D_inverse + o.G.T @ o.Upsilon_plus @ o.G


def _U(o: O) -> Expression:
    """U = LH − G*Υ⁺ of LD (4.22)."""
    return _L(o) @ o.H - o.G.T @ o.Upsilon_plus


OPERATIONAL = (
    _rule("tip_correction", "OA (5.2), (5.3)", lambda o: inverse_mass(o) @ o.J.T,
          lambda o: white(o).T @ o.D_inverse @ o.H @ o.psi @ o.B),
    _rule("operational_compliance", "OA (5.4), (5.5)", lambda o: o.J @ inverse_mass(o) @ o.J.T,
          lambda o: o.B.T @ o.psi.T @ o.H.T @ o.D_inverse @ o.H @ o.psi @ o.B),
    _rule("compliance_of_one_tip", "OA after (5.5)", lambda o: o.B.T @ o.psi.T @ o.H.T @ o.D_inverse @ o.H @ o.psi @ o.B,
          lambda o: o.B.T @ o.Upsilon @ o.B, ONE_TIP),
    _rule("compliance_local", "LD (4.19)", lambda o: o.tau_bar.T @ o.Upsilon_plus @ o.tau_bar
          + o.H.T @ o.D_inverse @ o.H, lambda o: o.Upsilon, **_S),
    _rule("compliance_shift", "LD after (4.19)", lambda o: o.E_phi.T @ o.Upsilon @ o.E_phi,
          lambda o: o.Upsilon_plus, CHAIN),
    _rule("compliance_decomposition", "LD Lemma 4.8 (4.20)", lambda o: o.psi.T @ o.H.T @ o.D_inverse @ o.H @ o.psi,
          lambda o: o.Upsilon + o.psi_tilde.T @ o.Upsilon + o.Upsilon @ o.psi_tilde, CHAIN),
    _rule("U_forms", "LD Lemma 4.9 (4.22)", lambda o: o.D_inverse @ o.H - o.G.T @ o.Upsilon_plus @ o.tau_bar, _U),
    _rule("mass_inverse_split", "LD Lemma 4.9 (4.21), (A.22)", inverse_mass,
          lambda o: _L(o) - o.K.T @ o.psi.T @ _U(o).T - _U(o) @ o.psi @ o.K, CHAIN),
    _rule("white_split", "LD (A.23)", lambda o: white(o).T @ o.D_inverse @ o.H @ o.psi,
          lambda o: _U(o) @ o.psi - o.K.T @ o.psi.T @ o.Upsilon, CHAIN),
)

ALL: tuple[Rule, ...] = RIGID + LOCAL + RICCATI + FACTORS + JPL + OPERATIONAL
