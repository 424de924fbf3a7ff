"""The identities between rates (DD Table 4), of the base (JPL (3.8)) and of the inertial frame (LD (2.3)–(2.18)).

Abbreviations as in :mod:`.identities`. What a rate is the derivative of, :mod:`.derivative_rules` says.
"""

from __future__ import annotations

from .expression import Expression
from .identities import _rule
from .leaves import Leaves as O
from .rules import CONSTANT_MAPS, MOTION, NO_GYRO, NO_ROTORS, ONE_DOF

_C = (MOTION, ONE_DOF, NO_ROTORS, CONSTANT_MAPS)
_S = {"simplifies": True}


def _riccati_rate(o: O) -> Expression:
    """d/dt of E_ψPE_ψ*, in inertial axes."""
    half = o.E_psi_dot @ o.P @ o.E_psi.T
    return half + half.T + o.E_psi @ o.P_dot @ o.E_psi.T


RATES = (
    _rule("D_ring", "DD Table 4 row 5", lambda o: o.H @ o.P_ring @ o.H.T, lambda o: o.D_ring, *_C, **_S),
    _rule("D_ring_of_any_joint", "N III.4", lambda o: o.D_ring,
          lambda o: o.H @ o.P_ring @ o.H.T + o.H_ring.T @ o.P @ o.H.T + o.H @ o.P @ o.H_ring, MOTION, NO_ROTORS),
    _rule("G_ring", "DD Table 4 row 6", lambda o: o.tau_bar @ o.P_ring @ o.H.T @ o.D_inverse, lambda o: o.G_ring,
          *_C, **_S),
    _rule("G_ring_of_any_joint", "N III.4", lambda o: o.G_ring @ o.D + o.G @ o.D_ring,
          lambda o: o.P_ring @ o.H.T + o.P @ o.H_ring, MOTION, NO_GYRO),
    _rule("tau_bar_ring", "DD Table 4 row 7", lambda o: o.G_ring @ o.H, lambda o: -1.0 * o.tau_bar_ring, *_C, **_S),
    _rule("tau_bar_ring_of_any_joint", "N III.4", lambda o: o.tau_bar_ring,
          lambda o: -1.0 * o.G_ring @ o.H - o.G @ o.H_ring.T, MOTION),
    _rule("E_psi_ring", "DD Table 4 row 8", lambda o: o.E_psi_ring,
          lambda o: o.E_psi @ (o.F @ o.tau_bar - o.P_ring @ o.H.T @ o.D_inverse @ o.H), *_C),
    _rule("E_psi_ring_of_any_joint", "N III.4", lambda o: o.E_psi_ring,
          lambda o: o.E_phi @ (o.F @ o.tau_bar + o.tau_bar_ring), MOTION),
    _rule("D_root_ring", "DD (6.11)", lambda o: o.D_root_ring @ o.D_root.T + o.D_root @ o.D_root_ring.T,
          lambda o: o.D_ring, MOTION, **_S),
    _rule("riccati_rate", "DD (4.8), (6.6)", lambda o: o.P_dot - _riccati_rate(o), lambda o: o.M_dot, MOTION,
          NO_ROTORS),
)  # fmt: skip

GROUND = (
    _rule("base_gravity", "JPL (3.8), (3.21)", lambda o: o.E @ o.alpha_base, lambda o: o.g, MOTION, **_S),
    _rule("inertial_phi_inverse", "LD (2.17), (2.18)", lambda o: (o.I_inertial - o.E_I) @ o.Phi_I,
          lambda o: o.I_inertial, CONSTANT_MAPS, **_S),
    _rule("inertial_phi_inverse_right", "LD (2.18)", lambda o: o.Phi_I @ (o.I_inertial - o.E_I),
          lambda o: o.I_inertial, CONSTANT_MAPS, **_S),
    _rule("inertial_frame", "LD (2.3)", lambda o: o.phi_I @ o.phi_I_inverse, lambda o: o.I_inertial, CONSTANT_MAPS, **_S),
    _rule("inertial_frame_left", "LD (2.3)", lambda o: o.phi_I_inverse @ o.phi_I, lambda o: o.I, CONSTANT_MAPS, **_S),
    _rule("inertial_shift", "LD (2.10), (2.17)", lambda o: o.phi_I @ o.E_phi, lambda o: o.E_I @ o.phi_I, CONSTANT_MAPS),
    _rule("inertial_phi", "LD (2.17)", lambda o: o.phi_I @ o.phi, lambda o: o.Phi_I @ o.phi_I, CONSTANT_MAPS),
    _rule("inertial_mass", "LD (2.20)", lambda o: o.H_I @ o.Phi_I @ o.M_I @ o.Phi_I.T @ o.H_I.T,
          lambda o: o.H @ o.phi @ o.M @ o.phi.T @ o.H.T, CONSTANT_MAPS, **_S),
)  # fmt: skip

RATE_RULES = RATES + GROUND
