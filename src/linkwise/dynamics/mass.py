"""The mass matrix 𝓜 = HφMφ*H*, three ways; its factors, its determinant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import arrays
from ..arrays import Array
from ..model.model import Model
from ..spatial import RigidInertia, Transform
from ..sweeps import Pairs
from .articulated import articulated, coloured, identities, whitened
from .inverse import composite_inertias, mass_times
from .links import Links, evaluate
from .referred_links import in_one_frame
from .scan.solve import mass_solve as scanned

PAIRS_PER_BODY = 8.5  # of a body and one inboard of it, from which one frame for all takes fewer operations


def direct(model: Model, q: Array) -> Array:
    """Column c is inverse dynamics at rest with β̇ = e_c (Unified formulation paper §3, (23))."""
    links = evaluate(model, q)
    return mass_times(links, arrays.eye(links.nv, like=q))


def symmetry_based(model: Model, q: Array) -> Array:
    """As direct, but a unit acceleration at joint k moves only what is outboard (UF §3).

    The sub-tree of joint k is swept once for each k, and the force on it carried to the inboard joints;
    the other triangle is the mirror image.
    """
    links = evaluate(model, q)
    return _from_forces(links, [_subtree_force(links, k) if r else None for k, r in enumerate(links.sizes)])


def _subtree_force(links: Links, k: int) -> Array:
    """f(k) for α(k) = H*(k), everything outboard of joint k moving as one."""
    tree, outboard = links.tree, links.tree.outboard(k)
    alpha: dict[int, Array] = {k: links.H[k].mT}
    for j in outboard:
        alpha[j] = links.phi[j].T @ alpha[tree.parent(j)]
    f: dict[int, Array] = {j: links.M[j] @ x for j, x in alpha.items()}
    for j in reversed(outboard):
        f[tree.parent(j)] = f[tree.parent(j)] + links.phi[j] @ f[j]
    return f[k]


def composite(model: Model, q: Array) -> Array:
    """From composite bodies R(k): 𝓜(k,k) = HRH*, 𝓜(j,k) = H(j) φ(j,k) R(k) H*(k) (UF (24)–(28)).

    Where many bodies are inboard of others they are taken to one frame first, in which φ(j,k) = 1. Bodies that move as
    one node send one column for each of its freedoms.
    """
    links = evaluate(model, q)
    return composite_of((in_one_frame(links).links if _is_long(links) else links).nodes)


def _is_long(links: Links) -> bool:
    """Whether there are so many pairs of bodies that one frame takes fewer operations; rolled code is for such robots.

    A chain of general geometry: 10 links 1,752 against 2,288 in one frame, 18 links 5,565 against 5,202; a humanoid, 5
    pairs a body, 2,418 against 3,803. In loops: 10 links 2,370 against 2,885, 20 links 7,940 against 6,870.
    """
    if not all(isinstance(M, RigidInertia) for M in links.M):
        return False
    tree = links.tree
    if not tree.has_single_bodies:
        return True
    pairs = sum(len(tree.inboard(k)) for k in range(len(tree)))
    return pairs > PAIRS_PER_BODY * len(tree)


def composite_of(links: Links) -> Array:
    """The same from links in any frames."""
    return from_composites(links, composite_inertias(links))


def from_composites(links: Links, R: Sequence[Any]) -> Array:
    """The same from the inertias that every joint carries."""
    return _from_forces(links, [R[k] @ links.H[k].mT if r else None for k, r in enumerate(links.sizes)])


def _from_forces(links: Links, f: Sequence[Array | None]) -> Array:
    """𝓜(k,k) = H f + Γ and 𝓜(j,k) = 𝓜(k,j)* = H(j) φ(j,k) (f + s), f(k) being the force for a unit acceleration of k.

    Rotors add their reflected inertia Γ and, where they spin on the parent, what they ask of it, s.
    """

    def step(x: Array, phi: Transform, H: Array) -> Any:
        return phi @ x, H @ x

    diagonal: list[Any] = []
    starts: list[Any] = []
    for phi, H, Gamma, s, x in zip(links.phi, links.H, links.Gamma, links.s, f):
        own = x if x is None else arrays.symmetric(H @ x)
        diagonal.append(own if Gamma is None else own + Gamma)
        starts.append(x if x is None else phi @ (x if s is None else x + s))
    kept = links.tree.inward_from_each(step, starts, links.phi, links.H)
    return links.matrix(diagonal, [kept], None, like=links.q)


METHODS = {"composite": composite, "symmetric": symmetry_based, "direct": direct}


# --- operator factorisation -------------------------------------------------------------------------


def times(model: Model, q: Array, x: Array) -> Array:
    """𝓜 x for a joint-space vector x (..., nv), without a matrix."""
    return mass_times(evaluate(model, q), x[..., None])[..., 0]


def solve(model: Model, q: Array, tau: Array) -> Array:
    """𝓜⁻¹ τ for a joint-space vector (..., nv), without a matrix."""
    return solve_of(evaluate(model, q).nodes, tau[..., None])[..., 0]


def solve_by_scan(model: Model, q: Array, tau: Array) -> Array:
    """The same in O(log n) steps on all bodies at once (math notes 14)."""
    return scanned(model, q, tau[..., None])[..., 0]


SOLVE_METHODS = {"sweep": solve, "scan": solve_by_scan}


def solve_of(nodes: Links, T: Array) -> Array:
    """𝓜⁻¹ T of columns (..., nv, m), from the links of nodes."""
    return articulated(nodes).solve(nodes, T)


def innovations_factors(model: Model, q: Array) -> tuple[Array, Array]:
    """(I + HφK, D), both (..., nv, nv), with 𝓜 = (I + HφK) D (I + HφK)* (OA Lemma 4.1 (4.4)).

    The first factor is unit triangular: entry (j, k) is non-zero only where j is k or inboard of k.
    """
    links = evaluate(model, q).nodes
    art = articulated(links)
    return coloured(links, art, identities(links)), _block_diagonal(links, art.D)


def inverse_factors(model: Model, q: Array) -> tuple[Array, Array]:
    """(I − HψK, D⁻¹) with 𝓜⁻¹ = (I − HψK)* D⁻¹ (I − HψK) (OA Lemmas 4.2, 4.3)."""
    links = evaluate(model, q).nodes
    art = articulated(links)
    return whitened(links, art, identities(links)), _block_diagonal(links, art.D_inverse)


def _block_diagonal(links: Links, blocks: list[Array]) -> Array:
    return links.matrix(blocks, [], Pairs(), like=links.q)


def log_determinant(model: Model, q: Array) -> Array:
    """log det 𝓜 = Σ log det D(k), (...)."""
    return log_determinant_of(evaluate(model, q).nodes)


def log_determinant_of(nodes: Links) -> Array:
    """The same from the links of nodes."""
    total = arrays.zeros(nodes.q.shape[:-1], like=nodes.q)
    for D, r in zip(articulated(nodes).D, nodes.sizes):
        if r:
            lower = arrays.cholesky(D)
            for i in range(r):
                total = total + 2.0 * arrays.log(lower[..., i, i])
    return total
