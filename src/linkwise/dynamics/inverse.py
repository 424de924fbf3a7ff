"""Inverse dynamics: which joint forces T give the joint accelerations β̇."""

from __future__ import annotations

from typing import Any

from .. import arrays
from ..arrays import Array
from ..model.model import Model
from ..spatial import RigidInertia, Transform, congruence
from ..sweeps import unzip
from . import springs
from .links import (
    Links,
    accelerations,
    applied_forces,
    base_acceleration,
    carried_outward,
    classical_coriolis,
    classical_gyroscopic,
    coriolis_accelerations,
    evaluate,
    gyroscopic_forces,
    velocities,
)


def newton_euler(
    model: Model,
    q: Array,
    v: Array,
    a: Array,
    external: Array | None = None,
    gravity: bool = True,
    sprung: bool = True,
) -> Array:
    """T = 𝓜β̇ + 𝓒 by the recursive Newton–Euler sweeps, (..., nv); ``sprung`` with the joints' springs and dampers.

    Unified formulation paper (17), (18); JPL 88-11 "RSD" (2.24)–(2.30); math notes 3. ``external`` is the
    spatial force on every body, (..., bodies, 6), in body axes at the body's origin.
    """
    links = evaluate(model, q)
    base = base_acceleration(model, q) if gravity else arrays.zeros((6, 1), like=q)
    T = _moving_forces(model, links, v, a, external, base)[0]
    return links.join(springs.added(T, springs.forces(model, links, links.split(v))) if sprung else T)


def _moving_forces(model: Model, links: Links, v: Array, a: Array, external: Array | None, base: Array) -> Any:
    """T and f of a moving robot, in classical accelerations: they spare the links' linear velocities."""
    beta = links.split(v)
    V = velocities(links, beta)
    bias = classical_coriolis(model, links, V, beta)
    own = [classical_gyroscopic(M, x) for M, x in zip(links.M, V)]
    b = applied_forces(model, links, V, beta, own, split_forces(external))
    return inertia_forces(links, links.accelerated(beta, a), bias, b, base)


def inertia_forces(
    links: Links, beta_dot: list[Array], a: list[Array], b: list[Array] | None, base: Array
) -> tuple[list[Array], list[Array]]:
    """T = Hf and f = φ(Mα + b), with α = φ*(H*β̇ + a): outward for α, inward for f."""
    alpha = accelerations(links, beta_dot, a, base)
    spinning = any(s is not None for s in links.s)  # only then is α⁺ asked for
    alpha_plus = carried_outward(links, alpha, base) if spinning else links.s
    return forces_of_motion(links, beta_dot, alpha, alpha_plus, [0.0] * len(alpha) if b is None else b)


def forces_of_motion(
    links: Links, beta_dot: list[Array], alpha: list[Array], alpha_plus: list[Any], b: list[Any]
) -> tuple[list[Array], list[Array]]:
    """T = Hf and f = φ(Mα + b) of given accelerations, inward (UF (18)); rotors add to T and to what is passed on."""

    def step(
        gathered: Any, phi: Transform, H: Array, M: RigidInertia, Gamma: Any, s: Any, x: Any, alpha: Array, b: Any
    ) -> Any:
        f = gathered + M @ alpha + b
        T = H @ f
        beta_dot, alpha_plus = x
        if Gamma is not None:
            T = T + Gamma @ beta_dot
        if s is not None:  # the rotor turns with the parent, and its reaction acts on the parent
            T = T + s.mT @ alpha_plus
            return phi @ (f + s @ beta_dot), (T, f)
        return phi @ f, (T, f)

    pairs = list(zip(beta_dot, alpha_plus))
    kept = links.tree.inward(step, 0, links.phi, links.H, links.M, links.Gamma, links.s, pairs, alpha, b)
    return unzip(kept, 2)


def split_forces(external: Array | None) -> list[Array] | None:
    """(..., bodies, 6) as one column per body."""
    return None if external is None else [external[..., k, :, None] for k in range(external.shape[-2])]


def bias_force(model: Model, q: Array, v: Array, external: Array | None = None) -> Array:
    """𝓒(q, v), gravity, springs and dampers: the joint forces that give β̇ = 0, (..., nv)."""
    return newton_euler(model, q, v, arrays.zeros((model.nv,), like=q), external)


def gravity_force(model: Model, q: Array) -> Array:
    """The joint forces that hold the bodies against gravity, (..., nv)."""
    rates, accelerations = (arrays.zeros((model.nv,), like=q) for _ in range(2))
    return newton_euler(model, q, rates, accelerations, sprung=False)


def coriolis_force(model: Model, q: Array, v: Array) -> Array:
    """𝓒(q, v) alone, without gravity, springs and dampers, (..., nv)."""
    return newton_euler(model, q, v, arrays.zeros((model.nv,), like=q), gravity=False, sprung=False)


def external_force(model: Model, q: Array, external: Array) -> Array:
    """T = Hφf of forces f on the bodies (..., bodies, 6), what they do to the joints, (..., nv): one inward sweep."""
    links = evaluate(model, q)

    def step(gathered: Any, phi: Transform, H: Array, f: Array) -> Any:
        total = gathered + f
        return phi @ total, H @ total

    forces = split_forces(external) or []
    return links.join(links.tree.inward(step, 0, links.phi, links.H, forces))


def composite_inertias(links: Links) -> list[RigidInertia]:
    """R(k) = Σ φ(k,j) R(j) φ*(k,j) + M(k): everything outboard of joint k welded (UF (24), (25))."""

    def step(gathered: Any, phi: Transform, M: RigidInertia) -> Any:
        R = gathered + M
        return congruence(phi, R), R

    return links.tree.inward(step, 0, links.phi, links.M)


def composite_body(model: Model, q: Array, v: Array, a: Array, external: Array | None = None) -> Array:
    """T by composite bodies: f = Rα + y, with y and α from two sweeps that do not need each other.

    Unified formulation paper Lemma 3.2, (29); with velocities and gravity: math notes 5. y(k) depends
    only on what is strictly outboard of joint k.
    """
    links = evaluate(model, q)
    beta = links.split(v)
    beta_dot = links.accelerated(beta, a)
    V = velocities(links, beta)
    bias_a = coriolis_accelerations(model, links, V, beta)
    b = gyroscopic_forces(model, links, V, beta, split_forces(external))
    R = composite_inertias(links)
    own = [H.mT @ x + c for H, x, c in zip(links.H, beta_dot, bias_a)]  # H*β̇ + a

    def inner(gathered: Any, phi: Transform, R: RigidInertia, own: Array, b: Array, s: Any, beta_dot: Array) -> Any:
        y = gathered + b
        passed = y + R @ own
        return phi @ (passed if s is None else passed + s @ beta_dot), y

    y = links.tree.inward(inner, 0, links.phi, R, own, b, links.s, beta_dot)

    def outer(
        state: Any, phi: Transform, H: Array, R: RigidInertia, own: Array, y: Array, Gamma: Any, s: Any, beta_dot: Array
    ) -> Any:
        alpha_plus = phi.T @ state[0]
        alpha = alpha_plus + own
        T = H @ (R @ alpha + y)
        T = T if Gamma is None else T + Gamma @ beta_dot
        T = T if s is None else T + s.mT @ alpha_plus
        return alpha, T

    start = (base_acceleration(model, q), None)
    kept = links.tree.outward(outer, start, links.phi, links.H, R, own, y, links.Gamma, links.s, beta_dot)
    return links.join(springs.added([T for _, T in kept], springs.forces(model, links, beta)))


def link_forces(model: Model, q: Array, v: Array, a: Array, external: Array | None = None) -> Array:
    """f(k): the force the inboard neighbour exerts on every body, (..., bodies, 6), body axes at O_k."""
    links = evaluate(model, q)
    f = _moving_forces(model, links, v, a, external, base_acceleration(model, q))[1]
    return arrays.stack([x[..., 0] for x in f], axis=-2) if f else arrays.zeros((0, 6), like=q)


def mass_times(links: Links, x: Array) -> Array:
    """𝓜 x for the columns of x (..., nv, m): Newton–Euler at rest, no matrix formed."""
    return mass_times_columns(links, links.split_rows(x), x.shape[-1])


def mass_times_columns(links: Links, columns: list[Array], width: int) -> Array:
    """The same for accelerations of all joints, one block of rows (..., r, width) per body."""
    a = [arrays.zeros((H.shape[-1], width), like=links.q) for H in links.H]
    T, _ = inertia_forces(links, columns, a, None, arrays.zeros((6, width), like=links.q))
    return links.join_rows(T, width)
