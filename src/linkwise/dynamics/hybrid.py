"""Hybrid dynamics: some joints' accelerations are prescribed, the others' forces are given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..arrays import Array
from ..errors import InputError, NotAdmittedError
from ..model.model import Model
from ..spatial import RigidInertia, Transform, congruence
from ..sweeps import unzip
from .articulated import matrix_of, riccati_step
from .forward.articulated_body import prepare
from .links import Links


def hybrid(
    model: Model, q: Array, v: Array, a: Array, tau: Array, prescribed: Iterable[int], external: Array | None = None
) -> tuple[Array, Array]:
    """(β̇, T), both (..., nv), with β̇ taken from ``a`` at the prescribed joints and T from ``tau`` elsewhere.

    Across a prescribed joint nothing articulates: P⁺ = P, z⁺ = z + PH*β̇ (so ψ = φ), and its force follows
    on the way out, T = H[P(α − a) + z] (math notes 12.7).
    """
    x = prepare(model, q, v, tau, external)
    links = x.links
    given = given_nodes(model, links, set(prescribed), "hybrid dynamics")
    _, beta_dot, T = hybrid_sweeps(links, given, links.split(a), x.base, (x.a, x.b, x.T))
    # what springs ask, and rotors of coupled joints take for ẋ; given forces stay as they are
    asked = [t - x for t, x in zip(links.split(tau), x.T)]
    known = links.lift is None and not model.has_springs
    return links.join(beta_dot), links.join([t if known else t + y for t, y in zip(T, asked)])


def hybrid_sweeps(
    links: Links, given: list[bool], known: list[Array], base: Array, loads: tuple[list[Any], ...] | None = None
) -> tuple[list[Array], list[Array], list[Any]]:
    """(α, β̇, T) of every node, with β̇ as ``known`` at the given ones: columns, as many as ``known`` has.

    ``loads`` are the nodes' a, b and T; None is rest with nothing pushing, where no forces T are asked for either.
    """
    coriolis, pushes, forces = loads or ([None] * len(links.tree),) * 3

    def step(
        gathered: Any, phi: Transform, H: Array, M: RigidInertia, Gamma: Any, s: Any, name: str, *rest: Any
    ) -> Any:
        carried, a, b, T, beta_dot, is_given = rest
        P = gathered[0] + matrix_of(M)
        z = gathered[1] if a is None else gathered[1] + P @ a + b
        if is_given:
            moved = P @ (H.mT @ beta_dot) if s is None else P @ (H.mT @ beta_dot) + s @ beta_dot
            return (congruence(phi, P), phi @ (z + moved)), (P, z, None, None)
        _, _, D_inverse, G, P_plus = riccati_step(P, H, Gamma, s, name, carried)
        T = 0.0 * beta_dot if T is None else T
        epsilon = T if isinstance(z, int) else T - H @ z  # nothing outboard of a tip at rest
        return (congruence(phi, P_plus), phi @ (z + G @ epsilon)), (P, z, D_inverse @ epsilon, G)

    own = (links.phi, links.H, links.M, links.Gamma, links.s, links.names, links.carried)
    P, z, nu, G = unzip(links.tree.inward(step, (0, 0), *own, coriolis, pushes, forces, known, given), 4)

    def back(outer: Any, phi: Transform, H: Array, P: Array, z: Any, nu: Any, G: Any, *rest: Any) -> Any:
        a, T, beta_dot, Gamma, s = rest
        alpha_plus = phi.T @ outer[0]
        if G is not None:
            beta_dot = nu - G.mT @ alpha_plus
        elif T is not None:
            T = H @ (P @ (alpha_plus + H.mT @ beta_dot) + z)
            T = T if Gamma is None else T + Gamma @ beta_dot
            T = T if s is None else T + s.mT @ alpha_plus
        alpha = alpha_plus + H.mT @ beta_dot
        return alpha if a is None else alpha + a, beta_dot, T

    data = (links.phi, links.H, P, z, nu, G, coriolis, forces, known, links.Gamma, links.s)
    alpha, beta_dot, T = unzip(links.tree.outward(back, (base, None, None), *data), 3)
    return alpha, beta_dot, T


def given_nodes(model: Model, links: Links, prescribed: set[int], what: str) -> list[bool]:
    """Whether a node's accelerations are prescribed; all of an aggregate's or none. ``what`` is for the error."""
    if links.gathering is None:
        return [k in prescribed for k in range(len(links.tree))]
    for k in prescribed:
        if k in model.dependents:
            followed = ", ".join(map(repr, model.dependents[k].independents))
            raise InputError(
                f"joint {model.joints[k].name!r} follows {followed} and cannot be prescribed; prescribe what it follows"
            )
    out = []
    for held in links.gathering.members:
        free = [k for k in held if k not in model.dependents and model.joints[k].kind.nv]
        some = [k for k in free if k in prescribed]
        if some and len(some) < len(free):
            names = ", ".join(repr(model.joints[k].name) for k in free)
            raise NotAdmittedError(
                f"joints {names} move as one node (couplings), and only {len(some)} of them prescribed: {what}"
                " takes all of them or none"
            )
        out.append(bool(some))
    return out
