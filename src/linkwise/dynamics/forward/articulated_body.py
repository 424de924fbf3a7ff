"""Forward dynamics in O(N): the articulated-body algorithm and FD1 to FD4.

Each returns a :class:`Forward`: the joint accelerations β̇ and the quantities met on the way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...aggregates import Reduced, at_interface, dense, through_port
from ...arrays import Array
from ...model.model import Model
from ...riccati import with_exact_rows
from ...spatial import Transform
from ...sweeps import unzip
from .. import springs
from ..articulated import Articulated, articulated, past_joint, smooth, whiten
from ..inverse import inertia_forces, split_forces
from ..kinematics import classical, tip_transforms
from ..links import (
    Links,
    accelerations,
    base_acceleration,
    coriolis_accelerations,
    evaluate,
    gyroscopic_forces,
    no_motion,
    velocities,
)


@dataclass(frozen=True, eq=False)
class Forward:
    """β̇ as columns per joint, and named quantities, each a list with one entry per body."""

    links: Links
    beta_dot: list[Array]
    quantities: dict[str, list[Array]] = field(default_factory=dict)

    @property
    def acceleration(self) -> Array:
        """β̇, (..., nv)."""
        return self.links.join(self.beta_dot)


@dataclass(frozen=True, eq=False)
class State:
    """Everything of a state (q, v) with joint forces T that the forward algorithms share."""

    links: Links
    V: list[Array]
    a: list[Array]
    b: list[Array]
    T: list[Array]
    base: Array


def prepare(model: Model, q: Array, v: Array, tau: Array, external: Array | None) -> State:
    links = evaluate(model, q)
    beta = links.split(v)
    V = velocities(links, beta)
    a = coriolis_accelerations(model, links, V, beta)
    b = gyroscopic_forces(model, links, V, beta, split_forces(external))
    base = base_acceleration(model, q)
    own = springs.forces(model, links, beta)
    if links.lift is None:
        return State(links, V, a, b, springs.left(links.split(tau), own), base)
    return _gathered(links, V, a, b, tau, beta, base, own)


def _gathered(
    links: Links,
    V: list[Array],
    a: list[Array],
    b: list[Array],
    tau: Array,
    beta: list[Array],
    base: Array,
    own: list[Any],
) -> State:
    """The state over nodes; T is less by what rotors of coupled joints take for ẋ, and by what springs ask."""
    drift = links.drift(beta)
    spun = [0 if x is None else x for x in own]
    spun = [x + y for x, y in zip(spun, rotor_forces(links, drift))]
    if any(not isinstance(x, int) for x in spun):
        tau = tau - links.join([x + y for x, y in zip(spun, no_motion(links))])
    return over_nodes(State(links, V, a, b, links.nodes.split(tau), base), links.nodes, drift)


def rotor_forces(links: Links, drift: list[Any]) -> list[Any]:
    """Γẋ of every joint, or 0."""
    return [0 if isinstance(y, int) or g is None else g @ y for y, g in zip(drift, links.Gamma)]


def over_nodes(x: State, nodes: Links, drift: list[Any]) -> State:
    """A state of bodies as one of nodes, whose joints accelerate by ẋ, or 0: a = 𝔸*(a + H*ẋ) inside them. T is theirs
    already."""
    gathering = nodes.gathering
    assert gathering is not None
    a = [x if isinstance(y, int) else x + H.mT @ y for x, y, H in zip(x.a, drift, x.links.H)]
    return State(nodes, gathering.stacked(x.V), gathering.spread(a), gathering.stacked(x.b), x.T, x.base)


def articulated_body(model: Model, q: Array, v: Array, tau: Array, external: Array | None = None) -> Forward:
    """The full articulated-body algorithm (Unified formulation paper (56), Lemma 6.5, (60); math notes 8.1).

    inward   z = Σφz⁺ + Pa + b,  ε = T − Hz,  ν = D⁻¹ε,  z⁺ = z + Gε
    outward  α⁺ = φ*α(k+1),  β̇ = ν − G*α⁺,  α = α⁺ + H*β̇ + a

    With z₀ = z − Pa and ε₀ = T − Hz₀ the same is z⁺ = z₀ + Gε₀ + P⁺a and β̇ = D⁻¹ε₀ − G*(α⁺ + a), which is
    what is computed: HP⁺ = 0, so P⁺a costs less than Pa. A gyroscopic rotor's s adds s*a to T.
    """
    return articulated_body_of(prepare(model, q, v, tau, external))


def articulated_body_of(x: State) -> Forward:
    """The same from a state that is prepared, of bodies of any kind."""
    links, art = x.links, articulated(x.links)
    run = filter_and_smooth(links, art, x.a, x.b, x.T, x.base)
    quantities = {"V": x.V, "a": x.a, "b": x.b, **_inertias(art), **_predictions(x, art, run.z)}
    quantities |= {"z_plus": run.z_plus, "alpha": run.alpha, "alpha_plus": run.alpha_plus}
    return Forward(links, run.beta_dot, quantities)


class Passes(NamedTuple):
    """What the two passes of the articulated-body algorithm meet at every body."""

    z: list[Array]
    z_plus: list[Array]
    alpha_plus: list[Array]
    alpha: list[Array]
    beta_dot: list[Array]


def filter_and_smooth(
    links: Links,
    art: Articulated,
    a: list[Array],
    b: list[Array],
    T: list[Array],
    base: Array,
    passed: list[Any] | None = None,
    epsilon_less: list[Any] | None = None,
) -> Passes:
    """The two passes of the articulated-body algorithm, whatever their columns stand for (UF (56), (60)).

    inward   z = Σφz⁺ + b,  ε = T − Hz,  z⁺ = z + Gε + P⁺a
    outward  α⁺ = φ*α(k+1),  β̇ = D⁻¹ε − G*(α⁺ + a),  α = α⁺ + H*β̇ + a

    α starts at ``base``. ``passed`` is added to what goes on past a joint, ``epsilon_less`` taken off ε outward.
    """
    none = [None] * len(b)
    T = [t if s is None else t + s.mT @ x for t, s, x in zip(T, links.s, a)]

    def correct(
        gathered: Any, phi: Transform, H: Array, P_plus: Array, G: Array, Gamma: Any, a: Array, *rest: Any
    ) -> Any:
        b, T, more = rest
        z = gathered + b
        if isinstance(P_plus, Reduced):
            return _correct_node(z, phi, H, P_plus, a, T, more)
        epsilon = T - H @ z
        z_plus = z + G @ epsilon
        if Gamma is None:
            z_plus = with_exact_rows(H, z_plus, T)  # Hz⁺ = T, as HG = I
        z_plus = z_plus + P_plus @ a
        return phi @ (z_plus if more is None else z_plus + more), (z, epsilon, z_plus)

    data = (links.phi, links.H, art.P_plus, art.G, links.Gamma, a, b, T, passed or none)
    z, epsilon, z_plus = unzip(links.tree.inward(correct, 0, *data), 3)

    def accelerate(outer: Any, phi: Transform, H: Array, D_inverse: Array, G: Array, *rest: Any) -> Any:
        epsilon, less, a, P_plus = rest
        alpha_plus = phi.T @ outer[1]
        moved = alpha_plus + a
        epsilon = epsilon if less is None else epsilon - less
        if isinstance(P_plus, Reduced):
            inner, felt = at_interface(phi, outer[1])
            beta_dot = D_inverse @ epsilon - ((inner @ P_plus.U) @ D_inverse).mT @ felt
        else:
            beta_dot = D_inverse @ epsilon - G.mT @ moved
        return alpha_plus, moved + H.mT @ beta_dot, beta_dot

    known = (links.phi, links.H, art.D_inverse, art.G, epsilon, epsilon_less or none, a, art.P_plus)
    return Passes(z, z_plus, *unzip(links.tree.outward(accelerate, (None, base, None), *known), 3))


def _correct_node(z: Any, phi: Any, H: Array, P_plus: Reduced, a: Array, T: Array, more: Any) -> Any:
    """The step inward of an aggregate (closed chains and flexible bodies, math notes 0): with U = F*PN of six rows,
    ε = T − N*(z + Pa) and 𝓏 = F*(z + Pa) + UD⁻¹ε, so that G, of six rows per member, is not worked out."""
    felt = z + P_plus.P @ a
    epsilon = T - H @ felt
    nu = P_plus.D_inverse @ epsilon
    passed = phi @ (felt if more is None else felt + more)
    passed = passed + through_port(phi, lambda inner: (inner @ P_plus.U) @ nu)
    return passed, (z, epsilon, felt + P_plus.U @ nu)


def _predictions(x: State, art: Articulated, z: list[Array]) -> dict[str, list[Array]]:
    """z, ε and ν of 8.1 from z₀."""
    full = [z0 + P @ a for z0, P, a in zip(z, art.P, x.a)]
    epsilon = [T - H @ y for T, H, y in zip(x.T, x.links.H, full)]
    return {"z": full, "epsilon": epsilon, "nu": [Di @ e for Di, e in zip(art.D_inverse, epsilon)]}


def _inertias(art: Articulated) -> dict[str, list[Array]]:
    return {"P": [dense(P) for P in art.P], "D": art.D, "G": art.G, "P_plus": [dense(P) for P in art.P_plus]}


def bias_free_forces(x: State) -> list[Array]:
    """T' = T − Hφ[Mφ*a + b]: what is left for 𝓜β̇ (JPL 88-11 (3.22), (3.23))."""
    bias, _ = inertia_forces(x.links, no_motion(x.links), x.a, x.b, x.base)
    return [T - c for T, c in zip(x.T, bias)]


def fd1(model: Model, q: Array, v: Array, tau: Array, external: Array | None = None) -> Forward:
    """θ̈ = (I − HψK)* D⁻¹ (I − HψK) T', four sweeps (OA "Algorithm FD" (4.7), (4.8); JPL FD1 (4.17)–(4.22))."""
    x = prepare(model, q, v, tau, external)
    art = articulated(x.links)
    T = bias_free_forces(x)
    epsilon = whiten(x.links, art, T)
    nu = [Di @ e for Di, e in zip(art.D_inverse, epsilon)]
    beta_dot, lam = smooth(x.links, art, nu)
    quantities = {**_inertias(art), "T_prime": T, "epsilon": epsilon, "nu": nu, "lambda": lam}
    return Forward(x.links, beta_dot, quantities)


def fd2(model: Model, q: Array, v: Array, tau: Array, external: Array | None = None) -> Forward:
    """FD1 and the accelerations of all links, α = λ + φ*a, and of the tips (JPL FD2 (5.5)–(5.7)).

    ``alpha_tip`` holds α(0) = φ*(1,0) α(1) + a(0) of each of the model's tips, classical, in world axes.
    """
    x = prepare(model, q, v, tau, external)
    first = fd1(model, q, v, tau, external)
    zeta = _propagated(x)
    alpha = [l + z for l, z in zip(first.quantities["lambda"], zeta)]
    tips = _tip_accelerations(model, x, alpha)
    return Forward(first.links, first.beta_dot, {**first.quantities, "zeta": zeta, "alpha": alpha, "alpha_tip": tips})


def _tip_accelerations(model: Model, x: State, alpha: list[Array]) -> list[Array]:
    bodies = [model.frame(f)[0] for f in model.tips]
    tips = tip_transforms(model, x.links if x.links.gathering is None else evaluate(model, x.links.q), model.tips)
    on = x.links.on_body
    return [classical(tip.T @ on(alpha, k), tip.T @ on(x.V, k)) for k, tip in zip(bodies, tips)]


def _propagated(x: State) -> list[Array]:
    """ζ = φ*a, gravity included."""
    return accelerations(x.links, no_motion(x.links), x.a, x.base)


def fd3(model: Model, q: Array, v: Array, tau: Array, external: Array | None = None) -> Forward:
    """ε = T − Hψ[KT + Mφ*a + b], θ̈ = (I − HψK)* D⁻¹ε, three sweeps (JPL FD3 (5.8)–(5.10))."""
    x = prepare(model, q, v, tau, external)
    links, art = x.links, articulated(x.links)
    zeta = _propagated(x)
    T = [
        t if s is None else t - s.mT @ (phi.T @ inboard)
        for t, s, phi, inboard in zip(x.T, links.s, links.phi, links.tree.at_parents(zeta, x.base))
    ]

    def step(gathered: Any, phi: Transform, H: Array, G: Array, M: Any, zeta: Array, b: Array, T: Array) -> Any:
        z = gathered + M @ zeta + b
        epsilon = T - H @ z
        return phi @ (z + G @ epsilon), epsilon  # ψz + KT = φ(z + Gε)

    epsilon = links.tree.inward(step, 0, links.phi, links.H, art.G, links.M, zeta, x.b, T)
    nu = [Di @ e for Di, e in zip(art.D_inverse, epsilon)]
    beta_dot, lam = smooth(links, art, nu)
    return Forward(links, beta_dot, {**_inertias(art), "zeta": zeta, "epsilon": epsilon, "nu": nu, "lambda": lam})


def fd4(model: Model, q: Array, v: Array, tau: Array, external: Array | None = None) -> Forward:
    """Three sweeps without φ*a (JPL FD4 (5.13)–(5.17), Identity A.7). Its z is that of 8.1 less Pa.

    inward   z = Σ ψ[z + Pa](k−1) + K T(k−1) + b,  ε = T − Hz,  ν = D⁻¹ε
    outward  β̇ = ν − K*λ(k+1) − G*a,  λ = ψ*λ(k+1) + H*ν + (I − GH)*a = α
    """
    x = prepare(model, q, v, tau, external)
    links, art = x.links, articulated(x.links)

    def step(gathered: Any, phi: Transform, H: Array, P: Array, G: Array, a: Array, b: Array, T: Array) -> Any:
        z = gathered + b
        moved = z + P @ a
        return phi @ (past_joint(moved, H, G) + G @ T), (z, T - H @ z)

    kept = links.tree.inward(step, 0, links.phi, links.H, art.P, art.G, x.a, x.b, x.T)
    z, epsilon = unzip(kept, 2)
    nu = [Di @ e for Di, e in zip(art.D_inverse, epsilon)]

    def back(outer: Any, phi: Transform, H: Array, P: Array, D_inverse: Array, G: Array, nu: Array, a: Array) -> Any:
        carried = phi.T @ outer[1]
        beta_dot = nu - G.mT @ carried - D_inverse @ (H @ (P @ a))  # D⁻¹HPa = G*a (no gyroscopic rotor)
        return beta_dot, carried + H.mT @ beta_dot + a

    data = (links.phi, links.H, art.P, art.D_inverse, art.G, nu, x.a)
    beta_dot, lam = unzip(links.tree.outward(back, (None, x.base), *data), 2)
    return Forward(links, beta_dot, {**_inertias(art), "z": z, "epsilon": epsilon, "nu": nu, "lambda": lam})
