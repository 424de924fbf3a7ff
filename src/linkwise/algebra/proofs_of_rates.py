"""The papers' statements about derivatives, derived: each starts with d/dt(…) or δ(…) as it stands.

The rules of differentiation (:mod:`.derivative_rules`) are steps of the proofs, each checked against differentiation of
the matrices on random robots; what follows them are the axioms of the operators. Conditions are as in the papers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .formula import formula
from .identities import inverse_mass, white
from .identities_motion import A_D, B_D, diagonal_coriolis, half_mass_sensitivity, m_dot, m_dot_nu
from .proof import Proof
from .prove import prove
from .rules import NO_ROTORS, ONE_DOF, rule

Side = Callable[[Any], Any]
_PAPERS = (ONE_DOF, NO_ROTORS)


def _d(side: Side) -> Side:
    """d/dt of a formula, as it stands."""
    return lambda o: side(o).time_derivative(formal=True)


def _changes(o: Any) -> tuple[Any, Any, Any]:
    return o.any_vector("δθ"), o.any_vector("δθ̇"), o.any_vector("δθ̈")


def _linearised(o: Any) -> Any:
    """𝓜δθ̈ + A_D δθ̇ + B_D δθ."""
    dq, dv, da = _changes(o)
    return o.H @ o.phi @ o.M @ o.phi.T @ o.H.T @ da + A_D(o) @ dv + B_D(o) @ dq


def _inertial_cross(o: Any) -> Any:
    """Ṽ at the inertial point."""
    return o.phi_I_inverse.T @ o.V_tilde @ o.phi_I.T


def _turned(o: Any) -> Any:
    """The same along δθ, (φ*H*δθ)~: what LD writes as S*[…] and H̃ of a vector, applied to the other one."""
    return o.phi_I_inverse.T @ formula("Ṽ[x]")(o, x=o.any_vector("δθ")) @ o.phi_I.T


def _held(product: Side) -> Side:
    """δ of a product along δθ, as it stands; vectors that were given are held."""
    return lambda o: product(o).variation(o.any_vector("δθ"), formal=True)


def _x(o: Any) -> Any:
    return o.any_vector("x")


def _X(o: Any) -> Any:
    return o.any_vector("X", "inertial")


def _momentum(o: Any) -> Any:
    return o.H @ o.phi @ o.M @ o.phi.T @ o.H.T


def _energy(o: Any) -> Any:
    """½ ν*ν = ½ θ̇*𝓜θ̇."""
    return 0.5 * o.theta_dot.T @ _momentum(o) @ o.theta_dot


def _forward_dynamics(o: Any) -> Any:
    """W*D⁻¹[T − Hψ{KT + P(a + g) + b}] − K*ψ*(a + g)."""
    a = o.coriolis + o.g
    z = o.K @ o.T + o.P @ a + o.gyroscopic
    return white(o).T @ o.D_inverse @ (o.T - o.H @ o.psi @ z) - o.K.T @ o.psi.T @ a


def _of_forces(o: Any) -> Any:
    """𝓜⁻¹δT where θ̈ does not change: what δθ̈ is less, where T does not."""
    return inverse_mass(o) @ o.T.variation(*_changes(o)[:2], formal=True)


def _forward(o: Any, by_velocity: str, by_place: str) -> Any:
    """A_C δθ̇ + B_C δθ, in the form of two rules."""
    return rule(by_velocity).rhs(o) @ _changes(o)[1] + rule(by_place).rhs(o) @ _changes(o)[0]


STATEMENTS: dict[str, tuple[Side, Side, tuple[str, ...]]] = {
    "DD Table 4 row 1": (_d(lambda o: o.E_phi), lambda o: o.E_phi @ o.F, ()),
    "DD Table 4 row 2": (_d(lambda o: o.phi), lambda o: o.phi @ o.E_phi @ o.F @ o.phi, ()),
    "DD Table 4 row 3": (_d(lambda o: o.H), lambda o: 0.0 * o.H, (ONE_DOF,)),
    "DD Table 4 row 4": (_d(lambda o: o.M), lambda o: 0.0 * o.M, ()),
    "DD Table 4 row 5": (_d(lambda o: o.D), lambda o: o.H @ o.P_ring @ o.H.T, _PAPERS),
    "DD Table 4 row 6": (_d(lambda o: o.G), lambda o: o.tau_bar @ o.P_ring @ o.H.T @ o.D_inverse, _PAPERS),
    "DD Table 4 row 7": (_d(lambda o: o.tau_bar), lambda o: -1.0 * o.G_ring @ o.H, _PAPERS),
    "DD Table 4 row 8": (
        _d(lambda o: o.E_psi),
        lambda o: o.E_psi @ (o.F @ o.tau_bar - o.P_ring @ o.H.T @ o.D_inverse @ o.H),
        _PAPERS,
    ),
    "DD Algorithm 6.1": (_d(lambda o: o.M + o.E_psi @ o.P @ o.E_psi.T), lambda o: o.P_ring, _PAPERS),
    "DD Lemma 6.1": (_d(lambda o: o.phi), lambda o: o.V_tilde.T @ o.phi - o.phi @ o.V_tilde.T, ()),
    "DD Identity 6.1": (_d(lambda o: o.m), m_dot, _PAPERS),
    "DD Identity 6.2": (
        lambda o: o.m.time_derivative(formal=True) @ o.m.T,
        lambda o: m_dot_nu(o) @ o.phi.T @ o.H.T,
        _PAPERS,
    ),
    "DD Identity 6.3": (
        _d(_momentum),
        lambda o: o.H @ o.phi @ (o.F @ o.phi @ o.M + o.M @ o.phi.T @ o.F.T) @ o.phi.T @ o.H.T,
        _PAPERS,
    ),
    "DD Lemma 6.2": (
        lambda o: (o.theta_dot.T @ _momentum(o) @ o.theta_dot).variation(o.any_vector("δθ"), formal=True),
        lambda o: 2.0 * o.any_vector("δθ").T @ o.H @ o.V_tilde.T @ o.phi @ o.M @ o.V,
        _PAPERS,
    ),
    "DD Identity 7.1": (
        lambda o: o.ell @ (o.m.time_derivative(formal=True) @ o.m.T @ o.theta_dot - half_mass_sensitivity(o) @ o.V),
        lambda o: diagonal_coriolis(o) @ o.V,
        _PAPERS,
    ),
    "DD Lemma 7.1": (
        lambda o: (o.m.T @ o.theta_dot).T @ diagonal_coriolis(o) @ o.V,
        lambda o: 0.0 * _energy(o),
        _PAPERS,
    ),
    "DD Lemma 7.2": (
        _d(_energy),
        lambda o: o.theta_dot.T @ (o.T - o.H @ o.phi @ o.M @ o.phi.T @ o.g),
        _PAPERS,
    ),
    "LD (2.6)": (
        _d(lambda o: o.M_I),
        lambda o: -1.0 * (_inertial_cross(o).T @ o.M_I + o.M_I @ _inertial_cross(o)),
        (),
    ),
    "LD (2.13)": (_d(lambda o: o.H_I.T), lambda o: o.phi_I_inverse.T @ o.H_dot, (ONE_DOF,)),
    "LD (A.6)": (_held(lambda o: o.H_I.T @ _x(o)), lambda o: _turned(o) @ o.H_I.T @ _x(o), (ONE_DOF,)),
    "LD (A.7)": (_held(lambda o: o.H_I @ _X(o)), lambda o: o.H_I @ _turned(o).T @ _X(o), (ONE_DOF,)),
    "LD (A.8)": (
        _held(lambda o: o.M_I @ _X(o)),
        lambda o: -1.0 * (_turned(o).T @ o.M_I + o.M_I @ _turned(o)) @ _X(o),
        (),
    ),
    "LD (A.9)": (
        lambda o: o.V.variation(*_changes(o)[:2], formal=True),
        lambda o: o.phi.T @ (o.H_dot @ _changes(o)[0] + o.H.T @ _changes(o)[1]),
        (ONE_DOF,),
    ),
    "LD Lemma 3.1": (lambda o: o.T.variation(*_changes(o), formal=True), _linearised, _PAPERS),
    "LD Lemma 4.6": (_of_forces, lambda o: _forward(o, "A_C", "B_C"), _PAPERS),
    "LD Lemma 4.7": (_of_forces, lambda o: _forward(o, "A_C_hat", "B_C_hat"), _PAPERS),
    "UF Lemma 6.5": (_forward_dynamics, lambda o: o.theta_ddot, (NO_ROTORS,)),
}


def statement(name: str) -> Proof:
    """The proof of one of :data:`STATEMENTS`."""
    lhs, rhs, requires = STATEMENTS[name]
    return prove(lhs, rhs, requires=requires)
