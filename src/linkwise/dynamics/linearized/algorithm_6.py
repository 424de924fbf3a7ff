"""Algorithm 6: 𝓜⁻¹, A_C and B_C in O(n²), without forming or inverting 𝓜 (Linearized dynamics paper Lemma 4.9).

Rows X_i(j) = ((I − HψK)*D⁻¹Hψ)(i, j) start at U(i) and are carried from body to body. On a chain they give the
lower triangle by themselves and the upper one through E_A, E_B and Q (LD (4.23)–(4.25)). On a tree the bodies
beside i are reached through a common ancestor a, where X_i(a) = −W_i(a)Υ(a) (math notes III.2): either the row
is carried on outward from a, or the columns of j are carried inward to a and meet it there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ... import arrays
from ...arrays import Array
from ...spatial import Transform
from ...sweeps import Pairs, unzip
from ..articulated import Articulated, first_rows, past_joint
from ..links import Links
from ..mass_inverse import next_row
from ..referred_links import where_walks_meet
from .forward import articulated_columns, hat_quantities, refuse_spinning_rotors
from .inverse import like
from .variations import Motion, joint_variations, turned_forces, without_free_bases

Found = tuple[list[Pairs], Pairs, Pairs]  # (𝓜⁻¹, A_C, B_C)(i,j) of j not inboard of i; A_C(i,a), B_C(i,a) of a inboard


@dataclass(frozen=True, eq=False)
class Parts:
    """Everything of one body that the rows read."""

    links: Links
    art: Articulated
    vartheta_q: list[Array]  # (..., 6, r)
    Y_A: list[Array]  # (..., 6, r)
    Y_B: list[Array]
    L: list[Array]  # (..., r, r), the diagonal blocks of 𝓜⁻¹
    U: list[Array]  # (..., r, 6)
    Upsilon: list[Array]  # (..., 6, 6)
    E_A: list[Array]  # (..., 6, r)
    E_B: list[Array]
    Q: list[Array]  # (..., 3, r), angular half of Q(p, k) before it is carried to p
    own: list[Any]  # (..., r, r), what a force turned by its own joint gives it, or None
    answers: dict[int, Any]  # what free bases answer by themselves, by body


def algorithm_6(m: Motion, art: Articulated) -> tuple[Array, Array, Array]:
    """(𝓜⁻¹, A_C, B_C), each (..., nv, nv), in O(n²) (LD Algorithm 6, corrected; trees: math notes III.2)."""
    links = m.links
    refuse_spinning_rotors(links, "Algorithm 6", "algorithm_4")
    x = _parts(m, art)
    by_columns = links.tree.has_single_bodies and _columns_pay(links)
    return _matrices(m, x, _by_columns(x, _carried_inward(x)) if by_columns else _by_rows(x))


def _matrices(m: Motion, x: Parts, found: Found) -> tuple[Array, Array, Array]:
    links = x.links
    kept, A_inner, B_inner = found
    A_own, B_own = unzip([_own_blocks(x, k) for k in range(len(links.sizes))], 2)
    mass, A, B = zip(*(pairs.unzip(3) for pairs in kept))
    return (
        links.matrix(x.L, mass, None, like=like(m)),
        links.matrix(A_own, A, A_inner, like=like(m)),
        links.matrix(B_own, B, B_inner, like=like(m)),
    )


class Hanging(NamedTuple):
    """Bodies that hang on one other body: their (𝓜⁻¹, A_C, B_C), and what they ask of it."""

    matrices: tuple[Array, Array, Array]  # each (..., n, n)
    W: Array  # (..., 6, n): β̇ = −W*λ − Q*ϑ of joints whose carrier accelerates by λ and moves by ϑ
    Y_A: Array  # (..., 6, n): the force on the carrier per δβ, and per δq
    Y_B: Array
    Q: Array  # (..., 3, n), of the angular half of ϑ


def algorithm_6_on_a_body(m: Motion, art: Articulated, Upsilon: Array) -> Hanging:
    """Algorithm 6 for all bodies but the first, which has no joint, carries the others, and yields by Υ (..., 6, 6)."""
    x = _parts(m, art, Upsilon)
    walked = _carried_inward(x)
    joints = [j for j, r in enumerate(x.links.sizes) if r]
    columns, turning = ([walked[i][0, j] for j in joints] for i in (3, 4))
    W, Y_A, Y_B = (arrays.concatenate([c[i] for c in columns], axis=-1) for i in range(3))
    return Hanging(_matrices(m, x, _by_columns(x, walked)), W, Y_A, Y_B, arrays.concatenate(turning, axis=-1))


def _parts(m: Motion, art: Articulated, base: Array | None = None) -> Parts:
    links = m.links
    P_hat, HP_hat = hat_quantities(m, art)
    G_hat = [D_inverse @ HP for D_inverse, HP in zip(art.D_inverse, HP_hat)]  # Ĝ*
    variations, answers = without_free_bases(m, joint_variations(m))
    script_F, own = turned_forces(m, variations)
    Y_A, Y_B = articulated_columns(m, art, P_hat, variations)
    Y_B = [Y if F is None else Y + F for Y, F in zip(Y_B, script_F)]
    L, U, Upsilon = first_rows(links, art, base)
    J_hat, Q = _hat_sums(links, art, G_hat)
    E_A, E_B = [], []
    for H, Up, J, A, B, v in zip(links.H, Upsilon, J_hat, Y_A, Y_B, variations):
        E_A.append(v.lambda_v - Up @ A + J @ (2.0 * H.mT[..., :3, :]))
        E_B.append(v.lambda_q - Up @ B + J @ (2.0 * v.vartheta_q[..., :3, :]))
    vartheta = [v.vartheta_q for v in variations]
    return Parts(links, art, vartheta, Y_A, Y_B, L, U, Upsilon, E_A, E_B, Q, own, answers)


def _hat_sums(links: Links, art: Articulated, G_hat: list[Array]) -> tuple[list[Array], list[Array]]:
    """Ĵ = ψ*Ĵ(p)φ⁻* + H*Ĝ*, its left half (..., 6, 3), and Q = 2[Ĝ − Ĵ⁺*G] (..., 3, r), outward (LD Lemma 4.9)."""

    def step(outer: Any, phi: Transform, H: Array, G: Array, G_hat: Array) -> Any:
        J_plus = (phi.T @ outer[0]) @ phi.R
        left = G_hat - G.mT @ J_plus
        return J_plus + H.mT @ left, 2.0 * arrays.transpose(left)

    start = (arrays.zeros((6, 3), like=links.q), None)
    return unzip(links.tree.outward(step, start, links.phi, links.H, art.G, G_hat), 2)


def _own_blocks(x: Parts, k: int) -> tuple[Array, Array]:
    """A_C(k,k) and B_C(k,k), with what a free base answers by itself."""
    A, B = x.U[k] @ x.Y_A[k], x.U[k] @ x.Y_B[k]
    if x.own[k] is not None:
        B = B + x.L[k] @ x.own[k]
    C_v, C_q = x.answers.get(k, (0.0, 0.0))
    return A + C_v, B + C_q


def _inboard(
    W: Array, Q: Array, H: Array, U: Array, E_A: Array, E_B: Array, vartheta: Array, own: Any
) -> tuple[Array, Array]:
    """A_C(i,a) = W_i(a)E_A(a) + Q*H*(a) and B_C(i,a) at a body a inboard of i (LD (4.24), (4.25))."""
    A = W.mT @ E_A + Q.mT @ H.mT[..., :3, :]
    B = W.mT @ E_B + Q.mT @ vartheta[..., :3, :]
    if own is not None:  # 𝓜⁻¹(i,a) = −(U(a)W_i(a))*
        B = B - arrays.transpose(U @ W) @ own
    return A, B


# --- by rows, for chains ---------------------------------------------------------------------------------


def _by_rows(x: Parts) -> Found:
    """Every row i: inboard along its path to the base, then outward from i and from the forks on that path."""
    x = _where_rows_meet(x)
    links, art = x.links, x.art

    def inboard(carried: Any, phi: Transform, H: Array, G: Array, *parts: Any) -> Any:
        W, Q = carried
        return (phi @ past_joint(W, H, G), phi.R @ Q), (*_inboard(W, Q, H, *parts), W)

    starts = [(phi @ G, phi.R @ Q) if r else None for phi, G, Q, r in zip(links.phi, art.G, x.Q, links.sizes)]
    data = (links.phi, links.H, art.G, x.U, x.E_A, x.E_B, x.vartheta_q, x.own)
    A_inner, B_inner, W = links.tree.inward_from_each(inboard, starts, *data).unzip(3)

    def outboard(X: Array, phi: Transform, H: Array, G: Array, Y_A: Array, Y_B: Array, own: Any) -> Any:
        """X_i(j), 𝓜⁻¹(i,j), A_C(i,j) = X_i(j)Y_A(j) and B_C(i,j)."""
        row, mass = next_row(X, phi, H, G)
        B = row @ Y_B
        return row, (mass, row @ Y_A, B if own is None else B + mass @ own)

    def at_fork(a: int, i: int) -> Array:
        carried: Array = W[a, i]
        return -(carried.mT @ x.Upsilon[a])

    rows = [U if r else None for U, r in zip(x.U, links.sizes)]
    walked = (links.phi, links.H, art.G, x.Y_A, x.Y_B, x.own)
    return [links.tree.outward_from_each(outboard, rows, at_fork, *walked)], A_inner, B_inner


def _where_rows_meet(x: Parts) -> Parts:
    """The same in frames in which rows are carried on with the fewest operations."""
    placed = where_walks_meet(x.links)
    bodies = range(len(x.links.sizes))

    def forces(columns: list[Array]) -> list[Array]:
        return [placed.force(k, f) for k, f in enumerate(columns)]

    def motions(columns: list[Array]) -> list[Array]:
        return [placed.motion(k, X) for k, X in enumerate(columns)]

    return replace(
        x,
        links=placed.links,
        art=replace(x.art, G=forces(x.art.G)),
        vartheta_q=motions(x.vartheta_q),
        Y_A=forces(x.Y_A),
        Y_B=forces(x.Y_B),
        U=[arrays.transpose(U) for U in motions([arrays.transpose(U) for U in x.U])],
        Upsilon=[placed.compliance(k, x.Upsilon[k]) for k in bodies],
        E_A=motions(x.E_A),
        E_B=motions(x.E_B),
        Q=[placed.turned(k, x.Q[k]) for k in bodies],
    )


# --- by columns, for trees -------------------------------------------------------------------------------


def _by_columns(x: Parts, walked: list[Pairs]) -> Found:
    """Columns K(j), Y_A(j), Y_B(j) carried inward give the blocks (a, j), and meet the rows of bodies beside j."""
    blocks, A_inner, B_inner, columns, _ = walked
    return [blocks, _beside(x, blocks, columns)], A_inner, B_inner


def _carried_inward(x: Parts) -> list[Pairs]:
    """At a inboard of j: the blocks (a, j), A_C(j, a), B_C(j, a), the columns of j there, and its Q."""
    links, art = x.links, x.art

    def inboard(carried: Any, phi: Transform, H: Array, G: Array, U: Array, *parts: Any) -> Any:
        X, Q = carried
        W, Y_A, Y_B = columns = _three(X)
        blocks = (-(U @ W), U @ Y_A, U @ Y_B)
        return (phi @ past_joint(X, H, G), phi.R @ Q), (blocks, *_inboard(W, Q, H, U, *parts), columns, Q)

    starts = [_sent_inward(x, j) if r else None for j, r in enumerate(links.sizes)]
    data = (links.phi, links.H, art.G, x.U, x.E_A, x.E_B, x.vartheta_q, x.own)
    return links.tree.inward_from_each(inboard, starts, *data).unzip(5)


def _sent_inward(x: Parts, j: int) -> tuple[Array, Array]:
    """[K, Y_A, Y_B] and Q of body j as they reach its parent; with 𝓜⁻¹ = −UW, own(j) goes along in Y_B."""
    phi, H, G = x.links.phi[j], x.links.H[j], x.art.G[j]
    Y_A, Y_B = (past_joint(Y, H, G) for Y in (x.Y_A[j], x.Y_B[j]))
    if x.own[j] is not None:
        Y_B = Y_B - G @ x.own[j]
    return phi @ arrays.concatenate([G, Y_A, Y_B], axis=-1), phi.R @ x.Q[j]


def _three(X: Array) -> tuple[Array, Array, Array]:
    r = X.shape[-1] // 3
    return X[..., :r], X[..., r : 2 * r], X[..., 2 * r :]


def _beside(x: Parts, blocks: Pairs, columns: Pairs) -> Pairs:
    """The blocks (i, j) for all j beside i: X_i(a) times what was carried from j to the common ancestor a.

    At a free base a, X_i(a) = −W_i(a)Υ(a) need not be formed: Υ(a) times a column is already in the rows of a.
    """
    out = Pairs()
    links, tree = x.links, x.links.tree
    for i, r in enumerate(links.sizes):
        came_from = i
        for a in tree.inboard(i) if r else []:
            free = tree.on_world(a) and links.sizes[a] == 6
            X = -(columns[a, i][0].mT @ (links.H[a].mT if free else x.Upsilon[a]))
            branches = [c for c in tree.children(a) if c != came_from]
            for j in [b for branch in branches for b in (branch, *tree.outboard(branch))]:
                if links.sizes[j]:
                    out[i, j] = _met(X, blocks[a, j] if free else columns[a, j], free, out.get((j, i)))
            came_from = a
    return out


def _met(X: Array, columns: Any, free: bool, mirrored: Any) -> tuple[Array, Array, Array]:
    """(𝓜⁻¹, A_C, B_C)(i,j) from X_i(a) and the columns of j there; 𝓜⁻¹(j,i) serves where it is known."""
    W, Y_A, Y_B = columns
    mass = arrays.transpose(mirrored[0]) if mirrored is not None else -(X @ (-W if free else W))
    return mass, X @ Y_A, X @ Y_B


def _columns_pay(links: Links) -> bool:
    """Whether columns cost less than rows: two more columns to carry for a body and each of its ancestors, one
    row less to carry for each pair of bodies beside each other, in either order."""
    paths = [links.tree.inboard(k) for k in range(len(links.tree))]
    related = sum(len(path) for path in paths)
    trees: dict[int, int] = {}
    for k, path in enumerate(paths):
        root = path[-1] if path else k
        trees[root] = trees.get(root, 0) + 1
    beside = sum(n * n - n for n in trees.values()) - 2 * related
    return beside > related
