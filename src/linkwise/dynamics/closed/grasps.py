"""Arms that hold an object: what the object feels of them, and which contact forces move it and which squeeze it.

In the object's own coordinates y (for a rigid body its [ω; v] in its axes), with its mass matrix M_o and bias c_o, the
forces λ of the hands on the object, and the arms' compliance X at the contacts (math notes on closed chains 3.2):

    M_o ẏ + c_o = T_o + Aλ        Xλ = u − A*ẏ        A = [φ_iW_i]        X_i = W_i*Ω_iW_i

with u how the hands would accelerate away from an object whose ẏ is 0. X has a block for each arm, so that arms add:

    M_eff = M_o + Σ A_iX_i⁻¹A_i*        M_eff ẏ = T_o − c_o + Σ A_iX_i⁻¹u_i        λ_i = X_i⁻¹(u_i − A_i*ẏ)

Where an arm is singular or short, X_i has no inverse, and a pseudo-inverse would be wrong: the arm resists infinitely
in the directions it has lost. In the mixed form the forces of such arms S are kept as unknowns (3.3):

    (X_S + A_S*M_R⁻¹A_S) λ_S = u_S − A_S*M_R⁻¹ρ        ẏ = M_R⁻¹(ρ + A_Sλ_S)

with M_R and ρ the inertia and the force that the object and the other arms make.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import arrays, singularity
from ...arrays import Array
from ...errors import SingularError
from ...model.contacts import Contact
from ...model.loops import Loop
from ...model.model import Model
from ...spatial import skew
from ...tolerances import ACCELERATION_DAMPING, DAMPED_ROUNDINGS, OPERATIONAL_ROUNDINGS, RANK, SHARED_DAMPING, roundings
from .. import mass
from ..inverse import bias_force
from ..kinematics import pose
from ..links import evaluate, velocities
from . import constraints, equations
from .closures import Closure, closures
from .elimination import FORCES
from .scales import damping, force_scales

CORRECTIONS = 4  # of forces that are not unique


@dataclass(frozen=True)
class Layout:
    """Which coordinates and rows are whose in a grasp: plain numbers, the same at every state."""

    contacts: tuple[Contact, ...]
    others: tuple[Loop, ...]  # loops within the arms and the object
    object_columns: tuple[int, ...]  # of v
    arm_rows: tuple[tuple[str, tuple[int, ...]], ...]  # by arm, its rows of λ

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The contacts as loops."""
        return tuple(x.loop for x in self.contacts)

    @property
    def rows(self) -> int:
        return sum(x.size for x in self.contacts)


# --- at the contacts -------------------------------------------------------------------------------------------------


def grasp_map(model: Model, q: Array, layout: Layout) -> Array:
    """A, (..., n_o, m): what forces λ at the contacts do to the object's coordinates."""
    G = constraints.jacobian(model, q, layout.loops)
    return -arrays.transpose(G[..., :, list(layout.object_columns)])


def joint_forces(model: Model, q: Array, lam: Array, layout: Layout) -> Array:
    """J*Wλ of all arms, (..., nv): the joint forces behind forces λ (..., m) of the hands on the object."""
    G = constraints.jacobian(model, q, layout.loops)
    tau = (arrays.transpose(G) @ lam[..., None])[..., 0]
    return tau * arms_only(model, layout, q)


def wrench_bases(model: Model, q: Array, layout: Layout) -> Array:
    """W of all contacts side by side, (..., 6, m), each in its contact frame."""
    return arrays.concatenate([x.W for x in closures(model, evaluate(model, q), layout.loops)], axis=-1)


def wrench_basis_rates(model: Model, q: Array, v: Array, layout: Layout) -> Array:
    """W̊ of all contacts side by side, (..., 6, m), as seen from the contact frames."""
    links = evaluate(model, q)
    V = velocities(links, links.split(v))
    out = []
    for x in closures(model, links, layout.loops):
        a, b = x.relative(V)
        out.append(x.wrench_rate(b - a))
    return arrays.concatenate(out, axis=-1)


def at_the_contacts(model: Model, q: Array, lam: Array, layout: Layout) -> Array:
    """Forces λ (..., m) as [moment; force] (..., contacts, 6), where each contact touches, in its frame's axes."""
    out, start = [], 0
    for x in closures(model, evaluate(model, q), layout.loops):
        out.append(_at_the_point(x, lam[..., start : start + x.loop.size]))
        start += x.loop.size
    return arrays.stack(out, axis=-2)


def _at_the_point(x: Closure, lam: Array) -> Array:
    f = x.W @ lam[..., None]
    moment, force = f[..., :3, :], f[..., 3:, :]
    return arrays.concatenate([moment - skew(x.point) @ force, force], axis=-2)[..., 0]


def arms_only(model: Model, layout: Layout, like: Array) -> Array:
    """(nv,), 1 at the arms' coordinates and 0 at the object's."""
    arms = np.ones(model.nv)
    arms[list(layout.object_columns)] = 0.0
    out: Array = arrays.constant(arms, like=like)
    return out


# --- what the object feels -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Felt:
    """A grasp at a configuration: the object's own inertia, A, and X of every arm."""

    M_o: Array
    A: Array
    X: dict[str, Array]
    rows: dict[str, list[int]]

    def of(self, arm: str) -> Array:
        """A_i, (..., n_o, m_i)."""
        return self.A[..., :, self.rows[arm]]


def felt(model: Model, q: Array, layout: Layout) -> Felt:
    """Each arm's X_i = W_i*Ω_iW_i from one inward sweep over all arms."""
    columns = list(layout.object_columns)
    M_o = mass.METHODS["composite"](model, q)[..., columns, :][..., :, columns]
    held = closures(model, evaluate(model, q), layout.loops)
    hands = [x.loop.frame_b for x in held]
    Omega = equations.compliance(model, q, hands, layout.others)
    B = [_at_the_hand(model, q, x) for x in held]
    starts = np.cumsum([0, *(x.loop.size for x in held)])
    rows = {name: list(r) for name, r in layout.arm_rows}
    X = {}
    for name, own in rows.items():
        mine = [i for i in range(len(held)) if starts[i] in own]
        X[name] = arrays.symmetric(
            arrays.block([[arrays.transpose(B[i]) @ _block(Omega, i, j) @ B[j] for j in mine] for i in mine])
        )
    return Felt(M_o, grasp_map(model, q, layout), X, rows)


def _block(x: Array, i: int, j: int) -> Array:
    return x[..., 6 * i : 6 * i + 6, 6 * j : 6 * j + 6]


def _at_the_hand(model: Model, q: Array, x: Closure) -> Array:
    """W at the hand's origin in world axes, (..., 6, m): φ⁻¹(d)W turned."""
    R = pose(model, q, x.loop.frame_a).R
    moment, force = x.W[..., :3, :], x.W[..., 3:, :]
    return arrays.concatenate([R @ (moment - skew(x.d) @ force), R @ force], axis=-2)


def effective_inertia(model: Model, q: Array, layout: Layout) -> Array:
    """M_eff = M_o + Σ A_iX_i⁻¹A_i*, (..., n_o, n_o)."""
    x = felt(model, q, layout)
    return arrays.symmetric(x.M_o + arrays.total(_added(model, x, arm) for arm in x.X))


def arm_inertia(model: Model, q: Array, layout: Layout, arm: str) -> Array:
    """A_iX_i⁻¹A_i*, (..., n_o, n_o): what one arm adds to the object's inertia."""
    return arrays.symmetric(_added(model, felt(model, q, layout), arm))


def _added(model: Model, x: Felt, arm: str) -> Array:
    A = x.of(arm)
    return A @ stiffness(model, x, arm) @ arrays.transpose(A)


def stiffness(model: Model, x: Felt, arm: str) -> Array:
    """X_i⁻¹, or an error that names the arm."""
    inverse, bad = singularity.inverse(x.X[arm], roundings=OPERATIONAL_ROUNDINGS)
    if arrays.is_eager(inverse) and np.any(bad):
        raise SingularError(
            f"{arm} of grasp {model.name!r} cannot give way in all {inverse.shape[-1]} directions of its contacts in"
            f" {int(np.sum(bad))} of {np.size(bad)} states (too few joints, or a singular pose), so that it has no"
            " finite inertia there. forward_dynamics and contact_forces need none, and"
            f" object_motion(…, kept=[{arm!r}]) takes the mixed form, which keeps its forces as unknowns"
        )
    return singularity.not_a_number_where(bad, inverse)


def free_approach(
    model: Model, q: Array, v: Array, tau: Array, external: Array | None, layout: Layout
) -> tuple[Array, Array]:
    """(u at no joint forces, what joint forces add to it), each (..., m, 1): how hands leave an object with ẏ = 0."""
    opened = equations.factored(model, q, layout.others)
    links = opened.links
    none = v * 0.0
    T = arrays.concatenate([-bias_force(model, q, v, external)[..., None], tau[..., None]], axis=-1)
    b = None
    if layout.others:
        drift = constraints.acceleration(model, links, opened.loops, v, none)
        b = arrays.concatenate([-drift, 0.0 * drift], axis=-1)
    y = opened.solve(T, b, 2)[0] * arms_only(model, layout, q)[:, None]
    held = closures(model, links, layout.loops)
    at_no_force = constraints.acceleration(model, links, held, v, y[..., 0])
    return at_no_force, constraints.jacobian_of(links, held) @ y[..., 1:]


def _own_forces(
    model: Model, q: Array, v: Array, tau: Array, external: Array | None, layout: Layout
) -> tuple[Array, Array]:
    """(c_o, T_o), each (..., n_o, 1)."""
    columns = list(layout.object_columns)
    c = bias_force(model, q, v, external)
    return c[..., columns, None], tau[..., columns, None]


def object_dynamics(
    model: Model, q: Array, v: Array, tau: Array, external: Array | None, layout: Layout
) -> tuple[Array, Array, Array]:
    """(M_eff, h, F) of M_eff ẏ + h = F, (..., n_o, n_o) and (..., n_o) each; F is what joint forces do."""
    x = felt(model, q, layout)
    u, u_tau = free_approach(model, q, v, tau, external, layout)
    h, F = _own_forces(model, q, v, tau, external, layout)
    M = x.M_o
    for arm in x.X:
        A, rows = x.of(arm), x.rows[arm]
        pull = A @ stiffness(model, x, arm)
        M = M + pull @ arrays.transpose(A)
        h = h - pull @ u[..., rows, :]
        F = F + pull @ u_tau[..., rows, :]
    return arrays.symmetric(M), h[..., 0], F[..., 0]


def object_motion(
    model: Model, q: Array, v: Array, tau: Array, external: Array | None, layout: Layout, kept: Sequence[str]
) -> tuple[Array, Array]:
    """(ẏ, λ), (..., n_o) and (..., m), in the mixed form with the forces of the arms ``kept`` as unknowns."""
    x = felt(model, q, layout)
    u, u_tau = free_approach(model, q, v, tau, external, layout)
    u = u + u_tau
    c, T = _own_forces(model, q, v, tau, external, layout)
    M, rho = x.M_o, T - c
    for arm in x.X:
        if arm not in kept:
            A = x.of(arm)
            pull = A @ stiffness(model, x, arm)
            M = M + pull @ arrays.transpose(A)
            rho = rho + pull @ u[..., x.rows[arm], :]
    solve = arrays.solver_spd(arrays.symmetric(M))
    y, lam = solve(rho), {}
    if kept:
        rows = [i for arm in kept for i in x.rows[arm]]
        A_S, u_S = x.A[..., :, rows], u[..., rows, :]
        own = arrays.from_blocks(
            {(i, i): x.X[arm] for i, arm in enumerate(kept)},
            [len(x.rows[arm]) for arm in kept],
            [len(x.rows[arm]) for arm in kept],
            like=q,
        )
        E = arrays.concatenate(damping(model, layout.loops, q, ACCELERATION_DAMPING), axis=-1)[..., rows]
        whole = arrays.symmetric(own + arrays.transpose(A_S) @ solve(A_S))
        lam_S = least_norm(whole, E, u_S - arrays.transpose(A_S) @ y)
        y = y + solve(A_S @ lam_S)
        lam = {i: lam_S[..., k, :] for k, i in enumerate(rows)}
    for arm in x.X:
        if arm not in kept:
            found = stiffness(model, x, arm) @ (u[..., x.rows[arm], :] - arrays.transpose(x.of(arm)) @ y)
            lam |= {i: found[..., k, :] for k, i in enumerate(x.rows[arm])}
    return y[..., 0], arrays.concatenate([lam[i] for i in range(layout.rows)], axis=-1)


def least_norm(X: Array, E: Array, b: Array) -> Array:
    """λ with Xλ = b, the least in λ*Eλ where it is not unique; X ⪰ 0 (..., m, m), E (m,) its damping, small."""
    solve = arrays.solver_spd(X + E[:, None] * arrays.eye(X.shape[-1], like=X))
    lam = solve(b)
    change = lam
    for _ in range(CORRECTIONS):
        change = solve(E[:, None] * change)
        lam = lam + change
    return lam


def stiffened(model: Model, x: Felt, u: Array, layout: Layout) -> Array:
    """X⁻¹u, (..., m), arm by arm, for u (..., m)."""
    found: dict[int, Array] = {}
    for arm, rows in x.rows.items():
        own = stiffness(model, x, arm) @ u[..., rows, None]
        found |= {i: own[..., k, :] for k, i in enumerate(rows)}
    return arrays.concatenate([found[i] for i in range(layout.rows)], axis=-1)


# --- forces at the contacts, and their parts -------------------------------------------------------------------------

PARTS = ("all", "motion", "internal")


def forces(
    model: Model, q: Array, v: Array, tau: Array, external: Array | None, layout: Layout, part: str = "all"
) -> Array:
    """λ, (..., m), of the hands on the object, or the part of it that moves the object, or that squeezes it."""
    loops = (*layout.loops, *layout.others)
    _, lam, _ = equations.forward_dynamics(model, q, v, tau, external, loops, precision=FORCES)
    lam = -lam[..., : layout.rows]
    if part == "all":
        return lam
    motion = shared(model, q, (grasp_map(model, q, layout) @ lam[..., None])[..., 0], layout)
    return motion if part == "motion" else lam - motion


def shared(model: Model, q: Array, force: Array, layout: Layout, weights: np.ndarray | None = None) -> Array:
    """A⁺F, (..., m): of all λ that do F (..., n_o) to the object, the least in Σ (λ/s)²/w; no squeeze is in it.

    s is 1 for a force and a typical length of the robot for a moment; ``weights`` w (m,) > 0 are shares of the load.
    Where the contacts cannot do all of F, what is nearest.
    """
    A = grasp_map(model, q, layout)
    scale = force_scales(model, layout.loops) ** 2
    scale = arrays.constant(scale if weights is None else scale * weights, like=q)
    AA = arrays.symmetric((A * scale) @ arrays.transpose(A))
    columns = list(layout.object_columns)
    M_o = mass.METHODS["composite"](model, q)[..., columns, :][..., :, columns]
    n = AA.shape[-1]
    size = [M_o[..., i : i + 1, i : i + 1] for i in range(n)]  # a moment counts by the object's inertia
    mean = arrays.total(AA[..., i : i + 1, i : i + 1] / size[i] for i in range(n)) / n
    share = max(SHARED_DAMPING, roundings(DAMPED_ROUNDINGS, arrays.precision(q)))
    damped = share * mean * arrays.concatenate(size, axis=-2) * arrays.eye(n, like=q)
    solve = arrays.solver_spd(AA + damped)
    y = solve(force[..., None])
    change = y
    for _ in range(CORRECTIONS):
        change = solve(damped @ change)
        y = y + change
    lam: Array = scale[:, None] * (arrays.transpose(A) @ y)
    return lam[..., 0]


# --- inverse dynamics ------------------------------------------------------------------------------------------------


def inverse_dynamics(
    model: Model,
    q: Array,
    v: Array,
    y_dot: Array,
    squeeze: Array,
    a_0: Array,
    mu: Array,
    external: Array | None,
    layout: Layout,
    touching: Sequence[Loop],
    weights: np.ndarray | None,
) -> Array:
    """τ, (..., nv), of the arms with which the object accelerates by ẏ (..., n_o), its hands bear and squeeze as asked.

        λ = A⁺(M_oẏ + c_o − G_e*μ) + λ_int        τ = 𝓜a₀ + 𝓒 + J*W(λ − X⁻¹(u − A*ẏ))

    (math notes 13.8), with μ (..., k) what the loops ``touching`` the object do to their frames b, and a₀ (..., nv) the
    acceleration that arms would like. Of ẏ what those loops let be: ẏ − G_e⁺(G_eẏ + γ).
    """
    links, x = evaluate(model, q), felt(model, q, layout)
    arms, columns = arms_only(model, layout, q), list(layout.object_columns)
    bias = bias_force(model, q, v, external)
    pressed = 0.0 * y_dot
    if touching:
        y_dot, pressed = _kept_to_the_world(model, q, v, y_dot, mu, layout, touching)
    inner = _times(x.A, squeeze)
    load = _times(x.M_o, y_dot) + bias[..., columns] - pressed - inner
    lam = shared(model, q, load, layout, weights) + squeeze
    u = constraints.acceleration(model, links, closures(model, links, layout.loops), v, a_0 * arms)[..., 0]
    lam = lam - stiffened(model, x, u - _times(arrays.transpose(x.A), y_dot), layout)
    return (mass.times(model, q, a_0 * arms) + bias) * arms + joint_forces(model, q, lam, layout)


def _kept_to_the_world(
    model: Model, q: Array, v: Array, y_dot: Array, mu: Array, layout: Layout, touching: Sequence[Loop]
) -> tuple[Array, Array]:
    """(ẏ − G_e⁺(G_eẏ + γ), G_e*μ): what of an acceleration the world lets be, and how it presses."""
    links = evaluate(model, q)
    held = closures(model, links, touching)
    G = constraints.jacobian_of(links, held)[..., :, list(layout.object_columns)]
    drift = constraints.acceleration(model, links, held, v, 0.0 * v)[..., 0]
    solve = arrays.solver_spd(arrays.symmetric(G @ arrays.transpose(G)))
    left = solve((_times(G, y_dot) + drift)[..., None])[..., 0]
    return y_dot - _times(arrays.transpose(G), left), _times(arrays.transpose(G), mu)


def _times(X: Array, x: Array) -> Array:
    return (X @ x[..., None])[..., 0]


def ranks(rows: Array, scale: np.ndarray) -> Any:
    """The rank of a matrix (..., m, n) whose rows count by ``scale``."""
    values = np.linalg.svd(scale[:, None] * arrays.as_numpy(rows), compute_uv=False)
    return (values > RANK * values[..., :1]).sum(axis=-1)
