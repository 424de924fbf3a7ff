"""The mass matrix 𝓜 = HφMφ*H*, three ways; its inverse, its factors, its determinant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import Array
from ..model.model import Model
from ..sweeps import ancestors
from .articulated import Articulated, articulated, colour, whiten, with_exact_rows
from .inverse import composite_inertias, mass_times
from .links import Links, evaluate


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
    blocks: dict[tuple[int, int], Array] = {}
    for k in range(len(links.parents)):
        if links.sizes[k]:
            f = _subtree_force(model, links, k)
            blocks[k, k] = links.H[k] @ f
            _walk_inboard(links, blocks, k, f)
    return _with_rotors(links, blocks)


def _subtree_force(model: Model, links: Links, k: int) -> Array:
    """f(k) for α(k) = H*(k), everything outboard of joint k moving as one."""
    alpha = {k: links.H[k].mT}
    order = [k]
    for j in order:
        for c in model.children[j]:
            alpha[c] = links.phi[c].T @ alpha[j]
            order.append(c)
    f = {j: links.M[j] @ alpha[j] for j in order}
    for j in reversed(order[1:]):
        p = links.parents[j]
        f[p] = f[p] + links.phi[j] @ f[j]
    return f[k]


def composite(model: Model, q: Array) -> Array:
    """From composite bodies R(k): 𝓜(k,k) = HRH*, 𝓜(j,k) = H(j) φ(j,k) R(k) H*(k) (UF (24)–(28))."""
    return composite_of(evaluate(model, q))


def composite_of(links: Links) -> Array:
    """The same from links in any frames."""
    blocks: dict[tuple[int, int], Array] = {}
    for k, R in enumerate(composite_inertias(links)):
        if links.sizes[k]:
            X = R @ links.H[k].mT
            blocks[k, k] = arrays.symmetric(links.H[k] @ X)
            _walk_inboard(links, blocks, k, X)
    return _with_rotors(links, blocks)


def _walk_inboard(links: Links, blocks: dict[tuple[int, int], Array], k: int, X: Array) -> None:
    """X ← φ X along the inboard joints j, with 𝓜(j,k) = 𝓜(k,j)* = H(j) X."""
    outer = k
    for j in ancestors(links.parents, k):
        X = links.phi[outer] @ X
        if links.sizes[j]:
            blocks[j, k] = links.H[j] @ X
            blocks[k, j] = arrays.transpose(blocks[j, k])
        outer = j


def _with_rotors(links: Links, blocks: dict[tuple[int, int], Array]) -> Array:
    """Add Γ on the diagonal and the rotors' coupling HφS + S*φ*H* with the joints inboard."""
    for k, (Gamma, s) in enumerate(zip(links.Gamma, links.s)):
        if Gamma is not None:
            blocks[k, k] = blocks[k, k] + Gamma
        if s is not None:
            coupling: dict[tuple[int, int], Array] = {}
            _walk_inboard(links, coupling, k, s)
            for key, x in coupling.items():
                blocks[key] = blocks[key] + x
    return arrays.from_blocks(blocks, links.sizes, links.sizes, like=links.q)


METHODS = {"composite": composite, "symmetric": symmetry_based, "direct": direct}


# --- operator factorisation -------------------------------------------------------------------------


def inverse(model: Model, q: Array) -> Array:
    """𝓜⁻¹ = (I − HψK)* D⁻¹ (I − HψK), by two sweeps over the columns of I (OA Lemma 4.3 (4.6))."""
    links = evaluate(model, q)
    return arrays.symmetric(articulated(links).solve(links, arrays.eye(links.nv, like=q)))


def inverse_by_paths(model: Model, q: Array) -> Array:
    """𝓜⁻¹ from what each column needs: the path from its joint to the base, inward and out again.

    Column k is whitened inward, x(j) = ψ(j,k)K (math notes 7), and smoothed outward along the same path. A joint i
    off the path is reached through the nearest body c that both paths share: β̇(i) = −x_i(c)* λ_k(c), a product of
    two columns instead of a walk from c to i.
    """
    links = evaluate(model, q)
    art = articulated(links)
    arriving: list[dict[int, Array]] = []  # x_k(j) of every column k, at every body j inboard of it
    blocks: dict[tuple[int, int], Array] = {}
    for k, r in enumerate(links.sizes):
        x, nu = _whitened_path(links, art, k)
        arriving.append(x)
        if not r:
            continue
        column, lam = _smoothed_path(links, art, k, nu)
        for i in range(k):
            if links.sizes[i] and i not in column:
                shared = _shared(links.parents, i, lam)
                if shared >= 0:
                    column[i] = -arrays.transpose(arriving[i][shared]) @ lam[shared]
        for i, block in column.items():
            blocks[i, k] = block
            blocks[k, i] = arrays.transpose(block)
        blocks[k, k] = arrays.symmetric(column[k])
    return arrays.from_blocks(blocks, links.sizes, links.sizes, like=links.q)


def _whitened_path(links: Links, art: Articulated, k: int) -> tuple[dict[int, Array], dict[int, Array]]:
    """x(j) = z arriving at the bodies j inboard of k for ε(k) = I, and ν = D⁻¹ε there and at k."""
    nu, x = {k: art.D_inverse[k]}, {}
    z_plus, outer = art.G[k], k
    for j in ancestors(links.parents, k):
        x[j] = links.phi[outer] @ z_plus
        epsilon = -links.H[j] @ x[j]
        nu[j] = art.D_inverse[j] @ epsilon
        z_plus, outer = x[j] + art.G[j] @ epsilon, j
        if links.Gamma[j] is None:
            z_plus = with_exact_rows(links.H[j], z_plus, np.zeros(epsilon.shape))
    return x, nu


def _smoothed_path(
    links: Links, art: Articulated, k: int, nu: dict[int, Array]
) -> tuple[dict[int, Array], dict[int, Array]]:
    """β̇ and λ from the base to k."""
    column: dict[int, Array] = {}
    lam: dict[int, Array] = {}
    for j in reversed([k, *ancestors(links.parents, k)]):
        p = links.parents[j]
        if p < 0:
            column[j] = nu[j]
            lam[j] = links.H[j].mT @ nu[j]
        else:
            carried = links.phi[j].T @ lam[p]
            column[j] = nu[j] - art.G[j].mT @ carried
            lam[j] = carried + links.H[j].mT @ column[j]
    return column, lam


def _shared(parents: Sequence[int], i: int, path: Mapping[int, Any]) -> int:
    """The nearest body inboard of i that lies on a path; −1 where there is none."""
    while i >= 0 and i not in path:
        i = parents[i]
    return i


INVERSE_METHODS = {"columns": inverse, "paths": inverse_by_paths}


def times(model: Model, q: Array, x: Array) -> Array:
    """𝓜 x for a joint-space vector x (..., nv), without a matrix."""
    return mass_times(evaluate(model, q), x[..., None])[..., 0]


def solve(model: Model, q: Array, tau: Array) -> Array:
    """𝓜⁻¹ τ for a joint-space vector (..., nv), without a matrix."""
    links = evaluate(model, q)
    return articulated(links).solve(links, tau[..., None])[..., 0]


def innovations_factors(model: Model, q: Array) -> tuple[Array, Array]:
    """(I + HφK, D), both (..., nv, nv), with 𝓜 = (I + HφK) D (I + HφK)* (OA Lemma 4.1 (4.4)).

    The first factor is unit triangular: entry (j, k) is non-zero only where j is k or inboard of k.
    """
    links = evaluate(model, q)
    art = articulated(links)
    identity = arrays.eye(links.nv, like=q)
    factor = links.join_rows(colour(links, art, links.split_rows(identity)), links.nv)
    return factor, _block_diagonal(links, art.D)


def inverse_factors(model: Model, q: Array) -> tuple[Array, Array]:
    """(I − HψK, D⁻¹) with 𝓜⁻¹ = (I − HψK)* D⁻¹ (I − HψK) (OA Lemmas 4.2, 4.3)."""
    links = evaluate(model, q)
    art = articulated(links)
    identity = arrays.eye(links.nv, like=q)
    factor = links.join_rows(whiten(links, art, links.split_rows(identity)), links.nv)
    return factor, _block_diagonal(links, art.D_inverse)


def _block_diagonal(links: Links, blocks: list[Array]) -> Array:
    return arrays.from_blocks({(k, k): x for k, x in enumerate(blocks)}, links.sizes, links.sizes, like=links.q)


def log_determinant(model: Model, q: Array) -> Array:
    """log det 𝓜 = Σ log det D(k), (...)."""
    links = evaluate(model, q)
    total: Any = arrays.zeros(q.shape[:-1], like=q)
    for D, r in zip(articulated(links).D, links.sizes):
        if r:
            lower = arrays.cholesky(D)
            for i in range(r):
                total = total + 2.0 * arrays.log(lower[..., i, i])
    return total
