"""The inverse of the mass matrix without forming or inverting 𝓜, four ways."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import arrays
from ..aggregates import whole
from ..arrays import Array
from ..model.model import Model
from ..riccati import with_exact_rows
from ..spatial import Transform
from .articulated import Articulated, articulated, first_rows, past_joint
from .links import Links, evaluate
from .node_rows import inverse_of
from .referred_links import where_walks_meet
from .scan.solve import mass_solve


def inverse(model: Model, q: Array) -> Array:
    """𝓜⁻¹ = (I − HψK)* D⁻¹ (I − HψK), by two sweeps over the columns of I (OA Lemma 4.3 (4.6))."""
    links = evaluate(model, q).nodes
    return arrays.symmetric(articulated(links).solve(links, arrays.eye(links.nv, like=q)))


def inverse_by_paths(model: Model, q: Array) -> Array:
    """𝓜⁻¹ from what each column needs: the path from its joint to the base, inward and out again.

    Column k is whitened inward, x(j) = ψ(j,k)K (math notes 7), and smoothed outward along the same path. A joint i
    off the path is reached through the nearest body c that both paths share: β̇(i) = −x_i(c)* λ_k(c), a product of
    two columns instead of a walk from c to i.
    """
    links = evaluate(model, q).nodes
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
                shared = next((c for c in links.tree.inboard(i) if c in lam), None)
                if shared is not None:
                    column[i] = -arrays.transpose(arriving[i][shared]) @ lam[shared]
        for i, block in column.items():
            blocks[i, k] = block
            blocks[k, i] = arrays.transpose(block)
        blocks[k, k] = arrays.symmetric(column[k])
    return links.from_blocks(blocks, like=links.q)


def _whitened_path(links: Links, art: Articulated, k: int) -> tuple[dict[int, Array], dict[int, Array]]:
    """x(j) = z arriving at the bodies j inboard of k for ε(k) = I, and ν = D⁻¹ε there and at k."""
    nu, x = {k: art.D_inverse[k]}, {}
    z_plus, outer = art.G[k], k
    for j in links.tree.inboard(k):
        x[j] = whole(links.phi[outer] @ z_plus)
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
    base, *rest = links.tree.path(k)
    column[base], lam[base] = nu[base], links.H[base].mT @ nu[base]
    inner = base
    for j in rest:
        carried = links.phi[j].T @ lam[inner]
        column[j] = nu[j] - art.G[j].mT @ carried
        lam[j] = carried + links.H[j].mT @ column[j]
        inner = j
    return column, lam


def inverse_by_rows(model: Model, q: Array) -> Array:
    """𝓜⁻¹ row by row: 𝓜⁻¹(i,i) = L(i) and X_i(i) = U(i), carried outward (LD Lemma 4.9, math notes III.2).

    On a chain a row needs nothing else, half of what a path takes. L, U and Υ cost more at each body, so
    that this pays where paths are long.
    """
    links = evaluate(model, q).nodes
    art = articulated(links)
    if links.gathering is not None:
        return inverse_of(links, art)
    L, U, Upsilon = first_rows(links, art)
    placed = where_walks_meet(links)
    phi, H, bodies = placed.links.phi, placed.links.H, range(len(links.tree))
    G = [placed.force(k, x) for k, x in enumerate(art.G)]
    U = [arrays.transpose(placed.motion(k, arrays.transpose(x))) for k, x in enumerate(U)]
    Upsilon = [placed.compliance(k, x) for k, x in enumerate(Upsilon)]

    def inboard(W: Array, phi: Transform, H: Array, G: Array) -> Any:
        W = whole(W)
        return phi @ past_joint(W, H, G), W

    sent = [phi[k] @ G[k] if links.sizes[k] else None for k in bodies]
    W = links.tree.inward_from_each(inboard, sent, phi, H, G)
    starts = [u if r else None for u, r in zip(U, links.sizes)]
    kept = links.tree.outward_from_each(next_row, starts, lambda a, i: -(W[a, i].mT @ Upsilon[a]), phi, H, G)
    return links.matrix(L, [kept], None, like=q)


def next_row(X: Array, phi: Transform, H: Array, G: Array) -> tuple[Array, Array]:
    """(X_i(j), 𝓜⁻¹(i,j)) at the next body j outboard: X_i(p)ψ(p,j) + 𝓜⁻¹(i,j)H(j) and −X_i(p)K(p,j) (LD Lemma 4.9)."""
    carried = arrays.transpose(phi.T @ X.mT)
    block = -(carried @ G)
    return carried + block @ H, block


def inverse_by_scan(model: Model, q: Array) -> Array:
    """𝓜⁻¹ as all columns of I through one scan, O(log n) steps (math notes 14)."""
    return arrays.symmetric(mass_solve(model, q, arrays.eye(model.nv, like=q)))


METHODS = {"columns": inverse, "paths": inverse_by_paths, "rows": inverse_by_rows, "scan": inverse_by_scan}


def quickest(model: Model, rows_from: int) -> str:
    """The method that is quickest for this robot, by its structure; rows where no path can be followed.

    On chains of ``rows_from`` links and more that is rows too, and where bodies move as one node.
    """
    tree = model.tree
    if model.couplings:
        return "rows"
    by_paths = tree.has_single_bodies and not (tree.is_chain and len(tree) >= rows_from)
    return "paths" if by_paths else "rows"
