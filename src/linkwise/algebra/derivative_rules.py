"""What the derivative of every leaf is: the rules of the derivative calculus, as data.

A rule takes the leaves of the family (along a direction, where the leaf is) and the :class:`.derivative.Change`: what
the operators that go by joint velocities are along the direction. E_φ° = E_φF is where the joints enter (DD Table 4);
P°, D°, G°, τ̄° and E_ψ° are leaves; everything else is by its definition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import NotAdmittedError
from .expression import Expression, Zero

if TYPE_CHECKING:
    from .derivative import Change
    from .kinds import Leaf
    from .leaves import Leaves as O

Rule = Callable[["O", "Change"], Expression]
Definition = Callable[["O"], Expression]


def _constant(name: str) -> Rule:
    def rule(o: O, d: Change) -> Expression:
        leaf = o.leaf(name)
        return Zero(leaf.rows, leaf.cols)

    return rule


def _moving(name: str) -> Rule:
    """A leaf whose derivative is another leaf, along the direction."""
    return lambda o, d: d.leaf(name)


def _defined(definition: Definition) -> Rule:
    """By what the leaf is made of."""
    return lambda o, d: d.of(definition(o))


def _refuse(o: O, what: str, why: str) -> None:
    raise NotAdmittedError(f"{what} has no rule of differentiation where {why}, as robot {o.model.name!r} has it")


# --- what depends on the configuration -----------------------------------------------------------------


def _joint_map(o: O, d: Change) -> Expression:
    return d.leaf("H_ring").T if o.has_turning_maps else Zero(o.joints, o.bodies)


def _rotor_inertia(o: O, d: Change) -> Expression:
    """Γ is constant; that of a node with rotors bends with its couplings."""
    if o.nodes is not None and o.has_rotors:
        _refuse(o, "Γ", "bodies with rotors move as one node")
    return Zero(o.joints, o.joints)


def _inverse(name: str, rate: str) -> Rule:
    return lambda o, d: -1.0 * o.leaf(name) @ d.leaf(rate) @ o.leaf(name)


def _composite(o: O, d: Change) -> Expression:
    return _lyapunov_rate(o, d, o.R, o.M)


def _lyapunov_rate(o: O, d: Change, S: Expression, X: Expression) -> Expression:
    """S = ΣφSφ* + X: with Z = S° + FS + SF*, Z = ΣφZφ* + X° + FS + SF*."""
    turned = d.leaf("F") @ S
    return o.lyapunov(d.of(X) + turned + turned.T) - turned - turned.T


def _compliance(o: O, d: Change) -> Expression:
    return _outward_rate(o, d, o.H.T @ o.D_inverse @ o.H, o.Upsilon_plus)


def _outward_rate(o: O, d: Change, X: Expression, C: Expression) -> Expression:
    """S = τ̄*Cτ̄ + X, C(k) = φ*S(p)φ: what drives S° along the same recursion."""
    F, tau_bar, tau_bar_ring = d.leaf("F"), o.tau_bar, d.leaf("tau_bar_ring")
    half = tau_bar.T @ C @ (tau_bar_ring + F @ tau_bar)
    other = (tau_bar_ring + F @ tau_bar).T @ C @ tau_bar
    return o.recursion(d.of(X) + half + other, "ψ*ψ")


def _carried_compliance(o: O, d: Change) -> Expression:
    return _carried(o, d, o.Upsilon, o.Upsilon_plus)


def _carried(o: O, d: Change, X: Expression, C: Expression) -> Expression:
    """C(k) = φ*X(p)φ: C° = F*C + CF + φ*X°(p)φ."""
    F = d.leaf("F")
    return F.T @ C + C @ F + o.recursion(d.of(X), "φ*·φ")


CONFIGURATION: dict[str, Rule] = {
    **{name: _constant(name) for name in ("M", "S", "rotor_coupling", "E_I", "Phi_I", "alpha_base")},
    "rotor_inertia": _rotor_inertia,
    "H": _joint_map,
    "E_phi": lambda o, d: o.E_phi @ d.leaf("F"),
    "phi": lambda o, d: o.phi @ o.E_phi @ d.leaf("F") @ o.phi,
    "phi_tilde": lambda o, d: o.phi @ o.E_phi @ d.leaf("F") @ o.phi,
    "Delta_phi": lambda o, d: o.Delta_phi @ d.leaf("F"),
    "B": lambda o, d: -1.0 * o.B @ d.leaf("Omega_tips"),
    "E": lambda o, d: d.leaf("F").T @ o.E,
    "phi_I": lambda o, d: -1.0 * o.phi_I @ d.leaf("V_tilde").T,
    "phi_I_inverse": lambda o, d: d.leaf("V_tilde").T @ o.phi_I_inverse,
    "P": _moving("P_ring"),
    "D": _moving("D_ring"),
    "G": _moving("G_ring"),
    "tau_bar": _moving("tau_bar_ring"),
    "E_psi": _moving("E_psi_ring"),
    "D_root": _moving("D_root_ring"),
    "D_inverse": _inverse("D_inverse", "D_ring"),
    "D_root_inverse": _inverse("D_root_inverse", "D_root_ring"),
    "psi": lambda o, d: o.psi @ d.leaf("E_psi_ring") @ o.psi,
    "psi_tilde": lambda o, d: o.psi @ d.leaf("E_psi_ring") @ o.psi,
    "tau": lambda o, d: -1.0 * d.leaf("tau_bar_ring"),
    "K": _defined(lambda o: o.E_phi @ o.G),
    "L": _defined(lambda o: o.Delta_phi @ o.G),
    "Delta_psi": _defined(lambda o: o.Delta_phi @ o.tau_bar),
    "P_plus": _defined(lambda o: o.P - o.G @ o.D @ o.G.T),
    "R": _composite,
    "Upsilon": _compliance,
    "Upsilon_plus": _carried_compliance,
}


# --- what depends on velocities and accelerations ------------------------------------------------------


def _no_nodes(o: O, what: str) -> None:
    if o.nodes is not None:
        _refuse(o, what, "bodies move as one node")


def _turn(w: O, d: Change) -> Expression:
    """F = S[H*x] along x: with constant maps F along x°, else −Ṽ* along (H*x)°."""
    from .derivative import linear

    o = w.still
    _no_nodes(o, "F")
    x = o.theta_dot if w.direction is None else w.direction
    if not o.has_turning_maps:
        return linear(o, "F", d.of(x))
    return -1.0 * linear(o, "V_tilde", d.of(o.H.T @ x)).T


def _by_velocity(name: str) -> Rule:
    """Linear in V, or in the vector in its place."""

    def rule(w: O, d: Change) -> Expression:
        from .derivative import linear

        o = w.still
        if name == "M_hat":
            _no_nodes(o, "M̂")
        V = o.V if w.direction is None else w.direction
        return linear(o, name, d.of(V if V.rows == o.bodies else o.phi.T @ o.H.T @ V))

    return rule


def _turn_of_tips(w: O, d: Change) -> Expression:
    """In world axes, against which the bodies turn along the direction."""
    turned, own = d.leaf("Omega_tips"), w.Omega_tips
    return _by_velocity("Omega_tips")(w, d) + turned @ own - own @ turned


def _map_turn(w: O, d: Change) -> Expression:
    """H° along x: that along x°, and ΣΣ ∂²H*/∂θᵢ∂θⱼ xᵢyⱼ along y, from its squares: 4xy = (x + y)² − (x − y)²."""
    from .derivative import linear

    _no_nodes(w, "H°")
    o = w.still
    if not w.has_turning_maps:
        return Zero(w.bodies, w.joints)
    x, y = o.theta_dot if w.direction is None else w.direction, d.q
    out = linear(o, "H_ring", d.of(x))
    if isinstance(y, Zero):
        return out
    if x.key == y.key:
        return out + (o if x.key == o.theta_dot.key else o.along(x)).leaf("H_ring_ring")
    return out + 0.25 * (o.along(x + y).leaf("H_ring_ring") - o.along(x - y).leaf("H_ring_ring"))


def _second_turn(w: O, d: Change) -> Expression:
    if w.has_turning_maps:
        _refuse(w, "H°°", "joint maps turn in their bodies")
    return Zero(w.bodies, w.joints)


def _riccati(w: O, d: Change) -> Expression:
    """P° = E_ψP°E_ψ* + E_φNE_φ*: what drives P°° along the same recursion."""
    _no_nodes(w, "P°")
    if w.has_coupling:
        _refuse(w, "P°", "rotors turn with their parents")
    if not (w.is_default or isinstance(d.of(w.M), Zero)):
        _refuse(w, "P°", "the inertia X changes")
    N = w.F @ w.P_plus - w.P_plus @ w.H_ring @ w.G.T if w.has_turning_maps else w.F @ w.P_plus
    half = d.of(w.E_psi) @ w.P_ring @ w.E_psi.T
    return w.still.recursion(half + half.T + d.of(w.E_phi @ (N + N.T) @ w.E_phi.T), "ψψ")


def _gain_rate(w: O) -> Expression:
    if w.has_coupling:
        _refuse(w, "G°", "rotors turn with their parents")
    return (w.P_ring @ w.H.T + w.P @ w.H_ring - w.G @ w.D_ring) @ w.D_inverse


def _root_rate(w: O) -> Expression:
    """Of numbers D(k)."""
    if any(r > 1 for r in w.joints.sizes):
        _refuse(w, "(D^½)°", "a joint has several degrees of freedom")
    return 0.5 * w.D_ring @ w.D_root_inverse


def _half_D(w: O) -> Expression:
    return 0.5 * w.H @ w.P_ring @ w.H.T + w.H @ w.P @ w.H_ring


def _gyroscopic(o: O) -> Expression:
    if o.has_spinning_rotors:
        _refuse(o, "b", "rotors turn with their parents")
    return -1.0 * o.V_tilde.T @ o.M @ o.V


def _joint_force(o: O) -> Expression:
    if o.nodes is not None and o.has_rotors:
        _refuse(o, "T", "bodies with rotors move as one node")
    out = o.H @ o.f
    return out + o.rotor_inertia @ o.theta_ddot if o.has_rotors else out


def _link_force(o: O) -> Expression:
    if o.has_spinning_rotors:
        _refuse(o, "f", "rotors turn with their parents")
    return o.phi @ (o.M @ o.alpha + o.gyroscopic)


def _coriolis(o: O) -> Expression:
    _no_nodes(o, "a")
    return (o.V_tilde @ o.H.T + (o.H_ring if o.has_turning_maps else Zero(o.bodies, o.joints))) @ o.theta_dot


def _velocity(o: O, d: Change) -> Expression:
    """As time passes the spatial acceleration, without gravity; else by V = φ*H*θ̇."""
    if d.direction.time and o.moving[1]:
        return o.alpha - o.phi.T @ o.g
    return d.of(o.phi.T @ o.H.T @ o.theta_dot)


def _of_one_body(name: str, definition: Definition) -> Rule:
    def rule(o: O, d: Change) -> Expression:
        _no_nodes(o, name)
        return d.of(definition(o))

    return rule


def _cross(o: O, y: Expression) -> Expression:
    from .derivative import linear

    return linear(o, "V_tilde", y)


def _inboard(o: O) -> Expression:
    """Ṽ⁺, with the velocities of the parents, carried out."""
    return o.V_tilde + o.F.T


MOTION: dict[str, Rule] = {
    "theta_dot": lambda o, d: d.v,
    "theta_ddot": lambda o, d: d.a,
    "V": _velocity,
    "alpha": _defined(lambda o: o.phi.T @ (o.H.T @ o.theta_ddot + o.coriolis + o.g)),
    "coriolis": _defined(_coriolis),
    "gyroscopic": _defined(_gyroscopic),
    "g": lambda o, d: d.leaf("F").T @ o.g,
    "f": _defined(_link_force),
    "T": _defined(_joint_force),
    "F": _turn,
    "V_tilde": _by_velocity("V_tilde"),
    "M_hat": _by_velocity("M_hat"),
    "Omega_tilde": _by_velocity("Omega_tilde"),
    "Omega_tips": _turn_of_tips,
    "H_ring": _map_turn,
    "H_ring_ring": _second_turn,
    "P_ring": _riccati,
    "Pi_dot": _defined(lambda o: o.P_ring + o.F @ o.P + o.P @ o.F.T),
    "D_ring": _defined(lambda w: _half_D(w) + _half_D(w).T),
    "G_ring": _defined(_gain_rate),
    "D_root_ring": _defined(_root_rate),
    "tau_bar_ring": _defined(lambda w: -1.0 * w.G_ring @ w.H - w.G @ w.H_ring.T),
    "E_psi_ring": _defined(lambda w: w.E_phi @ (w.F @ w.tau_bar + w.tau_bar_ring)),
    "H_dot": _of_one_body("Ḣ", lambda o: o.V_tilde @ o.H.T),
    "Psi_dot": _of_one_body("Ψ̇", lambda o: _inboard(o) @ o.H.T),
    "H_ddot": _of_one_body("Ḧ", lambda o: (_cross(o, o.alpha) + o.V_tilde @ o.V_tilde) @ o.H.T),
    "Psi_ddot": _of_one_body(
        "Ψ̈",
        lambda o: (_cross(o, o.alpha - o.H.T @ o.theta_ddot - o.coriolis) + _inboard(o) @ _inboard(o)) @ o.H.T,
    ),
    "G_hat": _of_one_body("Ĝ", lambda o: o.P_hat.T @ o.H.T @ o.D_inverse),
    "K_hat": _of_one_body("K̂", lambda o: o.E_phi @ o.G_hat),
}

RULES: dict[str, Rule] = CONFIGURATION | MOTION


# --- block diagonals that recursions give --------------------------------------------------------------


@dataclass(frozen=True)
class _Driven:
    """What stands in the derivative of a driven leaf S."""

    S: Leaf
    o: O
    X: Expression
    d: Change

    @property
    def F(self) -> Expression:
        return self.d.leaf("F")

    @property
    def rigid(self) -> Expression:
        """E_φ°."""
        return self.o.E_phi @ self.F

    @property
    def articulated(self) -> Expression:
        """E_ψ°."""
        return self.d.leaf("E_psi_ring")


def _driven(rate: Callable[[_Driven], Expression]) -> Callable[[Leaf, Change], Expression]:
    return lambda leaf, d: rate(_Driven(leaf, leaf.owner, leaf.driver[1], d))


def _lyapunov(x: _Driven) -> Expression:
    left, right = x.F @ x.S, x.S @ x.F.T
    return x.o.lyapunov(x.d.of(x.X) + left + right) - left - right


def _inward(x: _Driven, kind: str) -> Expression:
    """S = ΣψSφ* + X, or ΣψSψ* + X."""
    E, E_ring = (x.o.E_phi, x.rigid) if kind == "ψφ" else (x.o.E_psi, x.articulated)
    change = x.articulated @ x.S @ E.T + x.o.E_psi @ x.S @ E_ring.T
    return x.o.recursion(x.d.of(x.X) + change, kind)


def _commutator(x: _Driven) -> Expression:
    """S(k) = φ*S(p)φ⁻* + X(k)."""
    carried = x.S - x.X
    return x.o.recursion(x.d.of(x.X) + x.F.T @ carried - carried @ x.F.T, "φ*φ⁻*")


def _articulated_commutator(x: _Driven) -> Expression:
    """S(k) = τ̄*C(k) + X(k), C(k) = φ*S(p)φ⁻*."""
    C, o = x.o.recursion(x.S, "φ*·φ⁻*"), x.o
    change = (x.F @ o.tau_bar + x.d.leaf("tau_bar_ring")).T @ C - o.tau_bar.T @ C @ x.F.T
    return o.recursion(x.d.of(x.X) + change, "ψ*φ⁻*")


def _carried_and_back(x: _Driven) -> Expression:
    """C(k) = φ*X(p)φ⁻*."""
    return x.F.T @ x.S - x.S @ x.F.T + x.o.recursion(x.d.of(x.X), "φ*·φ⁻*")


DRIVEN = {
    "φφ": _driven(_lyapunov),
    "ψφ": _driven(lambda x: _inward(x, "ψφ")),
    "ψψ": _driven(lambda x: _inward(x, "ψψ")),
    "ψ*ψ": _driven(lambda x: _outward_rate(x.o, x.d, x.X, x.o.recursion(x.S, "φ*·φ"))),
    "φ*φ⁻*": _driven(_commutator),
    "ψ*φ⁻*": _driven(_articulated_commutator),
    "φ*·φ": _driven(lambda x: _carried(x.o, x.d, x.X, x.S)),
    "φ*·φ⁻*": _driven(_carried_and_back),
}
