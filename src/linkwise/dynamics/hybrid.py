"""Hybrid dynamics: some joints' accelerations are prescribed, the others' forces are given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..arrays import Array
from ..model.model import Model
from ..spatial import RigidInertia, Transform, congruence
from ..sweeps import unzip
from .articulated import riccati_step
from .forward.articulated_body import prepare


def hybrid(
    model: Model, q: Array, v: Array, a: Array, tau: Array, prescribed: Iterable[int], external: Array | None = None
) -> tuple[Array, Array]:
    """(β̇, T), both (..., nv), with β̇ taken from ``a`` at the prescribed joints and T from ``tau`` elsewhere.

    Across a prescribed joint nothing articulates: P⁺ = P, z⁺ = z + PH*β̇ (so ψ = φ), and its force follows
    on the way out, T = H[P(α − a) + z] (math notes 12.7).
    """
    x = prepare(model, q, v, tau, external)
    links = x.links
    driven = set(prescribed)
    given = [k in driven for k in range(len(links.tree))]
    beta_dot_given = links.split(a)

    def step(
        gathered: Any, phi: Transform, H: Array, M: RigidInertia, Gamma: Any, s: Any, name: str, *rest: Any
    ) -> Any:
        carried, a, b, T, beta_dot, is_given = rest
        P = gathered[0] + M.matrix
        z = gathered[1] + P @ a + b
        if is_given:
            moved = P @ (H.mT @ beta_dot) if s is None else P @ (H.mT @ beta_dot) + s @ beta_dot
            return (congruence(phi, P), phi @ (z + moved)), (P, z, None, None)
        _, _, D_inverse, G, P_plus = riccati_step(P, H, Gamma, s, name, carried)
        epsilon = T - H @ z
        return (congruence(phi, P_plus), phi @ (z + G @ epsilon)), (P, z, D_inverse @ epsilon, G)

    own = (links.phi, links.H, links.M, links.Gamma, links.s, links.names, links.carried)
    P, z, nu, G = unzip(links.tree.inward(step, (0, 0), *own, x.a, x.b, x.T, beta_dot_given, given), 4)

    def back(outer: Any, phi: Transform, H: Array, P: Array, z: Array, nu: Any, G: Any, *rest: Any) -> Any:
        a, T, beta_dot, Gamma, s = rest
        alpha_plus = phi.T @ outer[0]
        if G is None:
            T = H @ (P @ (alpha_plus + H.mT @ beta_dot) + z)
            T = T if Gamma is None else T + Gamma @ beta_dot
            T = T if s is None else T + s.mT @ alpha_plus
        else:
            beta_dot = nu - G.mT @ alpha_plus
        return alpha_plus + H.mT @ beta_dot + a, beta_dot, T

    data = (links.phi, links.H, P, z, nu, G, x.a, x.T, beta_dot_given, links.Gamma, links.s)
    _, beta_dot, T = unzip(links.tree.outward(back, (x.base, None, None), *data), 3)
    return links.join(beta_dot), links.join(T)
