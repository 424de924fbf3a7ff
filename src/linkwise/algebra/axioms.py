"""The axioms: what the operators are defined by. Every other identity is derived from these (:mod:`.prove`).

Each is a rule with the place where it is printed. Most define one operator by others; those named ``…_right`` say
that an inverse is one from both sides, which no formula of operators can say. An axiom enters a proof where an
operator that it is about appears; the others say nothing there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from . import spaces
from .expression import Expression, Identity, Zero
from .kinds import Leaf
from .leaves import Leaves as O
from .rate import Rate, laws_of_rate
from .rules import CHAIN, CONSTANT_MAPS, MOTION, NO_GYRO, NO_ROTORS, ONE_DOF, ONE_TIP, Rule


@dataclass(frozen=True)
class Axiom:
    """A rule that is taken as it stands, and the operators that it is about (none: it is always in force).

    ``holds`` says for which inertias: the papers' rates are those of the robot's own M. ``among``: it enters where
    these appear too.
    """

    rule: Rule
    about: frozenset[str] = frozenset()
    holds: Callable[[O], bool] = lambda o: True
    among: frozenset[str] = frozenset()


def _axiom(
    name: str,
    cites: str,
    lhs: Callable[[O], Expression],
    rhs: Callable[[O], Expression],
    *requires: str,
    about: str = "",
    holds: Callable[[O], bool] = lambda o: True,
    among: str = "",
) -> Axiom:
    rule = Rule(name, tuple(c.strip() for c in cites.split(";")), lhs, rhs, frozenset(requires))
    return Axiom(rule, frozenset(about.split()), holds, frozenset(among.split()))


def _noise(o: O) -> Expression:
    """Γ, where D holds more than HPH*."""
    return o.rotor_inertia if o.joint_noise is None else o.joint_noise


def _own(o: O) -> bool:
    """Whether the inertia is the robot's own."""
    return o.is_default


RIGID = (
    _axiom("phi_inverse", "UF (19), (20)", lambda o: (o.I - o.E_phi) @ o.phi, lambda o: o.I),
    _axiom("phi_inverse_right", "UF (20)", lambda o: o.phi @ (o.I - o.E_phi), lambda o: o.I),
    _axiom("phi_tilde", "JPL (a.3)", lambda o: o.phi_tilde, lambda o: o.phi - o.I),
    _axiom("inertia_symmetric", "UF (40)", lambda o: o.M.T, lambda o: o.M),
)

ARTICULATED = (
    _axiom("psi_inverse", "UF (54)", lambda o: (o.I - o.E_psi) @ o.psi, lambda o: o.I),
    _axiom("psi_inverse_right", "UF (54)", lambda o: o.psi @ (o.I - o.E_psi), lambda o: o.I),
    _axiom("psi_tilde", "UF (54)", lambda o: o.psi_tilde, lambda o: o.psi - o.I),
    _axiom("E_psi", "UF (53); DD (4.9)", lambda o: o.E_psi, lambda o: o.E_phi @ o.tau_bar),
    _axiom("tau_bar", "UF (53); DD (4.7)", lambda o: o.tau_bar, lambda o: o.I - o.tau),
    _axiom("tau", "UF (53); DD (4.7)", lambda o: o.tau, lambda o: o.G @ o.H),
    _axiom("K", "UF (53); JPL (a.2)", lambda o: o.K, lambda o: o.E_phi @ o.G),
    _axiom("D", "UF (32); JPL (4.6)", lambda o: o.H @ o.P @ o.H.T, lambda o: o.D, NO_ROTORS),
    _axiom("D_inverse", "N 7", lambda o: o.D @ o.D_inverse, lambda o: o.I_joints),
    _axiom("D_inverse_left", "N 7", lambda o: o.D_inverse @ o.D, lambda o: o.I_joints),
    _axiom("GD", "DD (4.9); UF (33)", lambda o: o.P @ o.H.T, lambda o: o.G @ o.D, NO_GYRO),
    _axiom("P_plus_gain", "UF (41)", lambda o: o.P_plus, lambda o: o.P - o.G @ o.D @ o.G.T),
    _axiom("riccati", "UF (40); JPL (4.5)", lambda o: o.M, lambda o: o.P - o.E_phi @ o.P_plus @ o.E_phi.T),
)
_OF_RICCATI = {"P", "P_plus", "D", "D_inverse", "D_root", "D_root_inverse", "G", "tau", "tau_bar", "K", "L", "E_psi"}
_OF_RICCATI |= {"psi", "psi_tilde", "Delta_psi", "P_ring", "Pi_dot", "G_hat", "K_hat", "R"}

ROTORS = (
    _axiom("rotor_inertia", "N 12.6", _noise, lambda o: o.D - o.H @ o.P @ o.H.T,
           holds=lambda o: o.joint_noise is not None),
    _axiom("rotor_coupling", "N 12.6", lambda o: o.rotor_coupling,
           lambda o: o.E_phi @ o.G @ o.D - o.E_phi @ o.P @ o.H.T, holds=lambda o: o.has_coupling),
)  # fmt: skip

ROOTS = (
    _axiom("D_root", "DD (5.1)", lambda o: o.D_root @ o.D_root.T, lambda o: o.D, about="D_root D_root_inverse"),
    _axiom("D_root_inverse", "DD (5.1)", lambda o: o.D_root @ o.D_root_inverse, lambda o: o.I_joints,
           about="D_root D_root_inverse"),
    _axiom("D_root_inverse_left", "DD (5.1)", lambda o: o.D_root_inverse @ o.D_root, lambda o: o.I_joints,
           about="D_root D_root_inverse"),
    _axiom("D_root_symmetric", "DD (5.1), where D(k) is a number", lambda o: o.D_root.T, lambda o: o.D_root, ONE_DOF,
           CONSTANT_MAPS,
           about="D_root D_root_inverse"),
)  # fmt: skip

JPL = (
    _axiom(
        "jpl_shift_phi", "JPL (a.11)", lambda o: o.S @ o.Delta_phi, lambda o: o.E_phi, about="S Delta_phi L Delta_psi"
    ),
    _axiom("jpl_a12", "JPL (a.12)", lambda o: o.L, lambda o: o.Delta_phi @ o.G, about="L"),
    _axiom("Delta_psi", "JPL (4.7)", lambda o: o.Delta_psi, lambda o: o.Delta_phi @ o.tau_bar, about="Delta_psi"),
)

BLOCK_DIAGONALS = (
    _axiom("composite_lyapunov", "UF Lemma 3.1 (26)", lambda o: o.R - o.E_phi @ o.R @ o.E_phi.T, lambda o: o.M,
           about="R"),
    _axiom("compliance_local", "LD (4.19)", lambda o: o.Upsilon,
           lambda o: o.tau_bar.T @ o.Upsilon_plus @ o.tau_bar + o.H.T @ o.D_inverse @ o.H,
           about="Upsilon Upsilon_plus"),
    _axiom("compliance_shift", "LD after (4.19)", lambda o: o.Upsilon_plus, lambda o: o.E_phi.T @ o.Upsilon @ o.E_phi,
           CHAIN, about="Upsilon Upsilon_plus"),
    _axiom("compliance_of_one_tip", "OA after (5.5)", lambda o: o.B.T @ o.Upsilon @ o.B,
           lambda o: o.B.T @ o.psi.T @ o.H.T @ o.D_inverse @ o.H @ o.psi @ o.B, ONE_TIP, about="Upsilon", among="B"),
)  # fmt: skip

_M = (MOTION, ONE_DOF, NO_ROTORS)
_C = (*_M, CONSTANT_MAPS)

MOVING = (
    _axiom("shift_velocity", "DD (6.9), (6.10)", lambda o: o.E_phi.T @ o.V_tilde,
           lambda o: (o.V_tilde + o.F.T) @ o.E_phi.T, MOTION, about="V_tilde F"),
    _axiom("HF", "DD after (6.3)", lambda o: o.H @ o.F, lambda o: Zero(o.joints, o.bodies), *_C,
           about="F P_ring Pi_dot"),
    _axiom("P_ring", "DD Algorithm 6.1 (6.4), (6.5)", lambda o: o.P_ring, lambda o: o.E_psi @ o.Pi_dot @ o.E_psi.T,
           *_C, about="P_ring Pi_dot", holds=_own),
    _axiom("Pi_dot", "DD Algorithm 6.1", lambda o: o.Pi_dot, lambda o: o.P_ring + o.F @ o.P + o.P @ o.F.T,
           *_M, about="P_ring Pi_dot", holds=_own),
    _axiom("P_ring_of_any_joint", "N III.4", lambda o: o.P_ring,
           lambda o: o.E_phi @ (o.tau_bar @ o.P_ring @ o.tau_bar.T + o.F @ o.P_plus + o.P_plus @ o.F.T
                                - o.G @ o.H_ring.T @ o.P_plus - o.P_plus @ o.H_ring @ o.G.T) @ o.E_phi.T,
           MOTION, NO_ROTORS, about="H_ring", holds=_own),
    _axiom("M_hat", "LD (2.8)", lambda o: o.M_hat + o.M_hat.T, lambda o: -1.0 * (o.M @ o.V_tilde + o.V_tilde.T @ o.M),
           MOTION, about="M_hat", holds=_own),
    _axiom("H_dot", "LD (2.13)", lambda o: o.H_dot, lambda o: o.V_tilde @ o.H.T, MOTION, CONSTANT_MAPS,
           about="H_dot"),
    _axiom("G_hat", "LD (4.12)", lambda o: o.G_hat, lambda o: o.P_hat.T @ o.H.T @ o.D_inverse, MOTION,
           about="G_hat K_hat", holds=_own),
    _axiom("K_hat", "LD (4.12)", lambda o: o.K_hat, lambda o: o.E_phi @ o.G_hat, MOTION, about="K_hat", holds=_own),
)  # fmt: skip

_RATES = "D_ring G_ring tau_bar_ring E_psi_ring D_root_ring"

RATES = (
    _axiom("H_ring", "DD Table 4 row 3", lambda o: o.H_ring, lambda o: Zero(o.bodies, o.joints), MOTION, ONE_DOF,
           CONSTANT_MAPS, about=f"H_ring {_RATES}"),
    _axiom("D_ring_of_any_joint", "N III.4", lambda o: o.D_ring,
           lambda o: o.H @ o.P_ring @ o.H.T + o.H_ring.T @ o.P @ o.H.T + o.H @ o.P @ o.H_ring, MOTION, NO_ROTORS,
           about=_RATES, holds=_own),
    _axiom("G_ring_of_any_joint", "N III.4", lambda o: o.G_ring @ o.D,
           lambda o: o.P_ring @ o.H.T + o.P @ o.H_ring - o.G @ o.D_ring, MOTION, NO_GYRO,
           about="G_ring tau_bar_ring E_psi_ring"),
    _axiom("tau_bar_ring_of_any_joint", "N III.4", lambda o: o.tau_bar_ring,
           lambda o: -1.0 * o.G_ring @ o.H - o.G @ o.H_ring.T, MOTION, about="tau_bar_ring E_psi_ring"),
    _axiom("E_psi_ring_of_any_joint", "N III.4", lambda o: o.E_psi_ring,
           lambda o: o.E_phi @ (o.F @ o.tau_bar + o.tau_bar_ring), MOTION, about="E_psi_ring"),
    _axiom("D_root_ring", "DD (6.11)", lambda o: o.D_root_ring @ o.D_root.T + o.D_root @ o.D_root_ring.T,
           lambda o: o.D_ring, MOTION, about="D_root_ring"),
    _axiom("D_root_ring_of_numbers", "DD (6.11), where D(k) is a number", lambda o: 2.0 * o.D_root_ring,
           lambda o: o.D_ring @ o.D_root_inverse, MOTION, ONE_DOF, CONSTANT_MAPS, about="D_root_ring"),
    _axiom("Omega_skew", "DD (6.2)", lambda o: o.Omega_tilde.T, lambda o: -1.0 * o.Omega_tilde, MOTION,
           about="Omega_tilde"),
)  # fmt: skip

_FRAME = "phi_I phi_I_inverse E_I Phi_I"

GROUND = (
    _axiom("base_gravity", "JPL (3.8), (3.21)", lambda o: o.E @ o.alpha_base, lambda o: o.g, about="E alpha_base"),
    _axiom("inertial_phi_inverse", "LD (2.17), (2.18)", lambda o: (o.I_inertial - o.E_I) @ o.Phi_I,
           lambda o: o.I_inertial, CONSTANT_MAPS, about=_FRAME),
    _axiom("inertial_phi_inverse_right", "LD (2.18)", lambda o: o.Phi_I @ (o.I_inertial - o.E_I),
           lambda o: o.I_inertial, CONSTANT_MAPS, about=_FRAME),
    _axiom("inertial_frame", "LD (2.3)", lambda o: o.phi_I @ o.phi_I_inverse, lambda o: o.I_inertial, CONSTANT_MAPS,
           about=_FRAME),
    _axiom("inertial_frame_left", "LD (2.3)", lambda o: o.phi_I_inverse @ o.phi_I, lambda o: o.I, CONSTANT_MAPS,
           about=_FRAME),
    _axiom("inertial_shift", "LD (2.10), (2.17)", lambda o: o.phi_I @ o.E_phi, lambda o: o.E_I @ o.phi_I,
           CONSTANT_MAPS, about=_FRAME),
)  # fmt: skip

VECTORS = (
    _axiom("V", "UF (17); DD (4.2)", lambda o: o.V, lambda o: o.phi.T @ o.H.T @ o.theta_dot, MOTION, about="V"),
    _axiom("V_cross_V", "LD (1.6)", lambda o: o.V_tilde @ o.V, lambda o: Zero(o.bodies, spaces.NUMBER), MOTION,
           about="V_tilde", among="theta_dot"),
    _axiom("coriolis", "LD (2.16); N III.4", lambda o: o.coriolis,
           lambda o: (o.V_tilde @ o.H.T + o.H_ring) @ o.theta_dot, MOTION, CONSTANT_MAPS, about="coriolis"),
    _axiom("alpha", "UF (17); DD (4.3)", lambda o: o.alpha,
           lambda o: o.phi.T @ (o.H.T @ o.theta_ddot + o.coriolis + o.g), MOTION, about="alpha"),
    _axiom("gyroscopic", "UF (16)", lambda o: o.gyroscopic, lambda o: -1.0 * o.V_tilde.T @ o.M @ o.V, MOTION, NO_GYRO,
           about="gyroscopic", holds=_own),
    _axiom("f", "UF (18); DD (4.3)", lambda o: o.f, lambda o: o.phi @ (o.M @ o.alpha + o.gyroscopic), MOTION, NO_GYRO,
           about="f", holds=_own),
    _axiom("T", "UF (18); DD (4.3)", lambda o: o.T, lambda o: o.H @ o.f, MOTION, NO_ROTORS, about="T", holds=_own),
    _axiom("Psi_dot", "N III.4", lambda o: o.Psi_dot, lambda o: (o.V_tilde + o.F.T) @ o.H.T, MOTION, CONSTANT_MAPS,
           about="Psi_dot"),
    _axiom("Psi_ddot", "N III.4", lambda o: o.Psi_ddot, lambda o: o.H_ddot, MOTION, ONE_DOF, CONSTANT_MAPS,
           about="H_ddot Psi_ddot"),
    _axiom("H_F_script", "LD (1.6)", lambda o: o.H @ o.F_script, lambda o: Zero(o.joints, o.joints), MOTION, ONE_DOF,
           CONSTANT_MAPS, about="F_script"),
)  # fmt: skip


def _turns(o: O) -> bool:
    """Whether the leaves are along a vector of joints, of a robot that moves by another."""
    return o.direction is not None and o.direction.rows == o.joints and all(o.still.moving)


def _crosses(o: O) -> bool:
    """Whether the leaves are along a vector of bodies."""
    return o.direction is not None and o.direction.rows == o.bodies and o.still.has_motion


def _x(o: O) -> Expression:
    assert o.direction is not None
    return o.direction


# X × Y = −Y × X, with what the operators along x stand for.
ALONG = (
    _axiom("turned_velocity", "LD (A.9); N III.4", lambda o: o.F.T @ o.E_phi.T @ o.still.V,
           lambda o: o.still.Psi_dot @ _x(o), MOTION, CONSTANT_MAPS, about="F", holds=_turns, among="theta_dot"),
    _axiom("turned_force", "LD Lemma 3.1", lambda o: o.F @ o.still.f, lambda o: o.still.F_script @ _x(o), MOTION,
           CONSTANT_MAPS, about="F", holds=_turns, among="F_script"),
    _axiom("turned_acceleration", "LD Algorithm 1; N III.4",
           lambda o: o.F.T @ (o.E_phi.T @ o.still.alpha + o.still.g) + (o.still.V_tilde + o.still.F.T)
           @ o.still.Psi_dot @ _x(o),
           lambda o: o.still.Psi_ddot @ _x(o), MOTION, CONSTANT_MAPS, about="F", holds=_turns, among="Psi_ddot"),
    _axiom("crossed_rates", "LD (1.6)", lambda o: o.V_tilde @ o.H.T @ o.still.theta_dot,
           lambda o: o.still.F.T @ _x(o), MOTION, CONSTANT_MAPS, about="V_tilde", holds=_crosses, among="theta_dot"),
    _axiom("M_hat_of", "LD (2.8)", lambda o: 2.0 * o.still.M_hat @ _x(o),
           lambda o: -1.0 * o.V_tilde.T @ o.M @ o.still.V - o.still.V_tilde.T @ o.M @ _x(o)
           - o.M @ o.still.V_tilde @ _x(o), MOTION, CONSTANT_MAPS, about="V_tilde", holds=_crosses, among="M_hat"),
)  # fmt: skip

AXIOMS = RIGID + ARTICULATED + ROTORS + ROOTS + JPL + BLOCK_DIAGONALS + MOVING + RATES + GROUND + VECTORS


# --- block diagonals that recursions give --------------------------------------------------------------

_CITED = {"φφ": "LD (A.1)", "ψφ": "LD (A.2)", "ψ*ψ": "LD (A.3)", "φ*φ⁻*": "LD (A.4)", "ψ*φ⁻*": "LD (A.5)"}
_OF_CHAINS = ("ψ*ψ", "φ*·φ")  # on trees E*SE has blocks between siblings as well


def laws_of(leaf: Leaf) -> Iterator[tuple[str, str, Expression, Expression]]:
    """What a leaf made by a recursion or by an inversion is defined by: (name, where printed, lhs, rhs)."""
    if isinstance(leaf, Rate):
        yield from laws_of_rate(leaf)
        return
    leaf = leaf.upright()
    if leaf.driver is not None and (leaf.owner.is_chain or leaf.driver[0] not in _OF_CHAINS):
        yield _recursion(leaf)
    if leaf.inverse_of is not None:
        A, I = leaf.inverse_of, Identity(leaf.rows)
        yield "inverse", "A A⁻¹ = I", A @ leaf, I
        yield "inverse_left", "A⁻¹ A = I", leaf @ A, I
        if A.key == A.T.key:
            yield "inverse_symmetric", "A = A*", leaf.T, leaf


def _recursion(S: Leaf) -> tuple[str, str, Expression, Expression]:
    """The recursion that gives a block diagonal driven by X (:mod:`.recursions`), as an identity of operators.

    The outward ones cross each edge by an inverse; multiplied by the edge they are S E* = E* S + X E*.
    """
    kind, X = S.driver
    o = S.owner
    sides: dict[str, Callable[[], tuple[Expression, Expression]]] = {
        "φφ": lambda: (S - o.E_phi @ S @ o.E_phi.T, X),
        "ψφ": lambda: (S - o.E_psi @ S @ o.E_phi.T, X),
        "ψψ": lambda: (S - o.E_psi @ S @ o.E_psi.T, X),
        "φ*·φ": lambda: (S, o.E_phi.T @ X @ o.E_phi),
        "φ*·φ⁻*": lambda: (S @ o.E_phi.T, o.E_phi.T @ X),
        "ψ*ψ": lambda: (S - o.E_psi.T @ S @ o.E_psi, X),
        "φ*φ⁻*": lambda: (S @ o.E_phi.T - o.E_phi.T @ S, X @ o.E_phi.T),
        "ψ*φ⁻*": lambda: (S @ o.E_phi.T - o.E_psi.T @ S, X @ o.E_phi.T),
    }
    lhs, rhs = sides[kind]()
    where = f"the recursion of {_CITED[kind]}" if kind in _CITED else "its definition"
    return f"recursion {kind}", where, lhs, rhs


def axioms_for(owner: O, names: set[str], everything: set[str]) -> Iterator[Rule]:
    """The axioms of a family that hold for its robot and are about operators of these names, among all that appear."""
    for axiom in _for_family(owner):
        if axiom in ARTICULATED and not everything & _OF_RICCATI:  # what M is by P says nothing where there is no P
            continue
        named = (not axiom.about or axiom.about & names) and axiom.among <= everything
        if named and axiom.holds(owner) and axiom.rule.admits(owner):
            yield axiom.rule


def _for_family(owner: O) -> tuple[Axiom, ...]:
    """Along a vector of bodies nothing is known of joints; what does not move belongs to the family that is still."""
    if owner.direction is None:
        return AXIOMS
    if owner.direction.rows == owner.bodies:
        return ALONG
    return (*(x for x in AXIOMS if x.about), *ALONG)
