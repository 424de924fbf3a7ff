"""Algorithm 6: 𝓜⁻¹, A_C and B_C in O(n²), without forming or inverting 𝓜 (Linearized dynamics paper Lemma 4.9).

Rows X_i(j) = ((I − HψK)*D⁻¹Hψ)(i, j) start at U(i) and are carried from body to body. On a chain they give the
lower triangle by themselves and the upper one through E_A, E_B and Q (LD (4.23)–(4.25)). On a tree the bodies
beside i are reached through a common ancestor a, where X_i(a) = −W_i(a)Υ(a) (math notes III.2): either the row
is carried on outward from a, or the columns of j are carried inward to a and meet it there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .. import arrays
from ..arrays import Array
from ..spatial import Transform
from ..sweeps import Loop, ancestors, inward_from_each, outward, outward_from_each, unzip
from .articulated import Articulated
from .joint_matrix import joint_matrix
from .linearized_forward import articulated_columns, hat_quantities, refuse_spinning_rotors
from .linearized_inverse import Blocks, like
from .links import Links
from .mass_inverse import compliances
from .variations import JointVariation, Motion, joint_variations, turned_forces, with_free_bases, without_free_bases


@dataclass(frozen=True, eq=False)
class Parts:
    """Everything of one body that the rows read."""

    links: Links
    art: Articulated
    variations: list[JointVariation]
    Y_A: list[Array]  # (..., 6, r)
    Y_B: list[Array]
    L: list[Array]  # (..., r, r), the diagonal blocks of 𝓜⁻¹
    U: list[Array]  # (..., r, 6)
    Upsilon: list[Array]  # (..., 6, 6)
    E_A: list[Array]  # (..., 6, r)
    E_B: list[Array]
    Q: list[Array]  # (..., 3, r), angular half of Q(p, k) before it is carried to p
    children: list[list[int]]


@dataclass(frozen=True, eq=False)
class Rows:
    """The blocks of the three matrices as they are found."""

    mass_inverse: Blocks = field(default_factory=dict)
    A_C: Blocks = field(default_factory=dict)
    B_C: Blocks = field(default_factory=dict)

    def set_mass(self, i: int, j: int, block: Array) -> None:
        """𝓜⁻¹(i,j), and its mirror image."""
        self.mass_inverse[i, j] = block
        self.mass_inverse[j, i] = arrays.transpose(block)


def algorithm_6(m: Motion, art: Articulated) -> tuple[Array, Array, Array]:
    """(𝓜⁻¹, A_C, B_C), each (..., nv, nv), in O(n²) (LD Algorithm 6, corrected; trees: math notes III.2)."""
    links = m.links
    refuse_spinning_rotors(links, "Algorithm 6", "algorithm_4")
    x, own, answers = _parts(m, art)
    sizes, similar = links.sizes, like(m)
    if isinstance(links.parents, Loop) or not _columns_pay(links):
        return _by_rows(x, own, answers, similar)
    rows = Rows()
    _by_columns(x, rows)
    found = [arrays.from_blocks(b, sizes, sizes, like=similar) for b in (rows.mass_inverse, rows.A_C, rows.B_C)]
    if any(block is not None for block in own):
        diagonal = {(k, k): block for k, block in enumerate(own) if block is not None}
        found[2] = found[2] + found[0] @ arrays.from_blocks(diagonal, sizes, sizes, like=similar)
    return found[0], *with_free_bases(links, answers, found[1], found[2])


def _parts(m: Motion, art: Articulated) -> tuple[Parts, list[Any], dict[int, Any]]:
    links = m.links
    P_hat, HP_hat = hat_quantities(m, art)
    G_hat = [D_inverse @ HP for D_inverse, HP in zip(art.D_inverse, HP_hat)]  # Ĝ*
    variations, answers = without_free_bases(m, joint_variations(m))
    script_F, own = turned_forces(m, variations)
    Y_A, Y_B = articulated_columns(m, art, P_hat, variations)
    Y_B = [Y if F is None else Y + F for Y, F in zip(Y_B, script_F)]
    L, U, Upsilon = compliances(links, art)
    J_hat, Q = _hat_sums(links, art, G_hat)
    E_A, E_B = [], []
    for H, Up, J, A, B, v in zip(links.H, Upsilon, J_hat, Y_A, Y_B, variations):
        E_A.append(v.lambda_v - Up @ A + J @ (2.0 * H.mT[..., :3, :]))
        E_B.append(v.lambda_q - Up @ B + J @ (2.0 * v.vartheta_q[..., :3, :]))
    children: list[list[int]] = [[] for _ in links.parents]
    for k, p in enumerate(links.parents):
        if p >= 0:
            children[p].append(k)
    return Parts(links, art, variations, Y_A, Y_B, L, U, Upsilon, E_A, E_B, Q, children), own, answers


def _hat_sums(links: Links, art: Articulated, G_hat: list[Array]) -> tuple[list[Array], list[Array]]:
    """Ĵ = ψ*Ĵ(p)φ⁻* + H*Ĝ*, its left half (..., 6, 3), and Q = 2[Ĝ − Ĵ⁺*G] (..., 3, r), outward (LD Lemma 4.9)."""

    def step(outer: Any, phi: Transform, H: Array, G: Array, G_hat: Array) -> Any:
        J_plus = (phi.T @ outer[0]) @ phi.R
        left = G_hat - G.mT @ J_plus
        return J_plus + H.mT @ left, 2.0 * arrays.transpose(left)

    start = (arrays.zeros((6, 3), like=links.q), None)
    return unzip(outward(links.parents, step, start, links.phi, links.H, art.G, G_hat), 2)


def _by_rows(x: Parts, own: list[Any], answers: dict[int, Any], similar: Array) -> tuple[Array, Array, Array]:
    """Every row i: inboard along its path to the base, then outward from i and from the forks on that path."""
    links, art = x.links, x.art
    rows = [k if r else None for k, r in enumerate(links.sizes)]
    inner = [None if k is None else (links.phi[k] @ art.G[k], links.phi[k].R @ x.Q[k]) for k in rows]
    data = (links.phi, links.H, art.G, x.U, x.E_A, x.E_B, [v.vartheta_q for v in x.variations], own)
    A_inner, B_inner, W = inward_from_each(links.parents, _step_inboard, inner, *data).unzip(3)

    def at_fork(a: int, i: int) -> Array:
        return -(W[a, i].mT @ x.Upsilon[a])

    outer = [None if k is None else x.U[k] for k in rows]
    found = outward_from_each(
        links.parents, _step_outboard, outer, at_fork, links.phi, links.H, art.G, x.Y_A, x.Y_B, own
    )
    mass, A, B = found.unzip(3)
    A_own, B_own = unzip([_own_blocks(x, k, own[k], answers.get(k)) for k in range(len(rows))], 2)
    return (
        joint_matrix(links, x.L, [mass], None, like=similar),
        joint_matrix(links, A_own, [A], A_inner, like=similar),
        joint_matrix(links, B_own, [B], B_inner, like=similar),
    )


def _step_inboard(
    carried: Any, phi: Transform, H: Array, G: Array, U: Array, E_A: Array, E_B: Array, vartheta: Array, own: Any
) -> Any:
    """A_C(i,a) = W_i(a)E_A(a) + Q*H*(a) and B_C(i,a) at an ancestor a (LD (4.24), (4.25)); W goes on past its joint."""
    W, Q = carried
    A = W.mT @ E_A + Q.mT @ H.mT[..., :3, :]
    B = W.mT @ E_B + Q.mT @ vartheta[..., :3, :]
    if own is not None:  # 𝓜⁻¹(i,a) = −(U(a)W_i(a))*
        B = B - arrays.transpose(U @ W) @ own
    return (phi @ (W - G @ (H @ W)), phi.R @ Q), (A, B, W)


def _step_outboard(X: Array, phi: Transform, H: Array, G: Array, Y_A: Array, Y_B: Array, own: Any) -> Any:
    """𝓜⁻¹(i,j) = −X_i(p)K(p,j), X_i(j) = X_i(p)ψ(p,j), A_C(i,j) = X_i(j)Y_A(j) and B_C(i,j)."""
    carried = arrays.transpose(phi.T @ X.mT)
    mass = -(carried @ G)
    carried = carried + mass @ H
    B = carried @ Y_B
    return carried, (mass, carried @ Y_A, B if own is None else B + mass @ own)


def _own_blocks(x: Parts, k: int, own: Any, answer: Any) -> tuple[Array, Array]:
    """A_C(k,k) and B_C(k,k), with what a free base answers by itself."""
    A, B = x.U[k] @ x.Y_A[k], x.U[k] @ x.Y_B[k]
    if own is not None:
        B = B + x.L[k] @ own
    return (A, B) if answer is None else (A + answer[0], B + answer[1])


# --- by columns, for trees -------------------------------------------------------------------------------


def _diagonal(x: Parts, rows: Rows, i: int) -> None:
    rows.mass_inverse[i, i] = x.L[i]
    rows.A_C[i, i], rows.B_C[i, i] = x.U[i] @ x.Y_A[i], x.U[i] @ x.Y_B[i]


def _inward(x: Parts, i: int, X: Array) -> Iterator[tuple[int, Array, Array]]:
    """(a, ψ(a,i)-carried columns of X, carried Q) for the ancestors a of i; X starts past its own joint."""
    Q, came_from = x.Q[i], i
    for a in ancestors(x.links.parents, i):
        phi = x.links.phi[came_from]
        X, Q = phi @ X, phi.R @ Q
        yield a, X, Q
        X = _past(x, a, X)
        came_from = a


def _past(x: Parts, k: int, X: Array) -> Array:
    """τ̄(k)X."""
    return X - x.art.G[k] @ (x.links.H[k] @ X)


def _inboard(x: Parts, rows: Rows, i: int, a: int, W: Array, Q: Array) -> None:
    """A_C(i,a) = W_i(a)E_A(a) + Q*H*(a) and B_C(i,a) for an ancestor a (LD (4.24), (4.25))."""
    if x.links.sizes[a]:
        rows.A_C[i, a] = W.mT @ x.E_A[a] + Q.mT @ x.links.H[a].mT[..., :3, :]
        rows.B_C[i, a] = W.mT @ x.E_B[a] + Q.mT @ x.variations[a].vartheta_q[..., :3, :]


def _by_columns(x: Parts, rows: Rows) -> None:
    """Columns K(j), Y_A(j), Y_B(j) carried inward give the blocks (a, j), and meet the rows of bodies beside j."""
    carried: dict[tuple[int, int], tuple[Array, Array, Array]] = {}
    for j, r in enumerate(x.links.sizes):
        if not r:
            continue
        _diagonal(x, rows, j)
        start = arrays.concatenate([x.art.G[j], *(_past(x, j, Y) for Y in (x.Y_A[j], x.Y_B[j]))], axis=-1)
        for a, X, Q in _inward(x, j, start):
            W, Y_A, Y_B = carried[j, a] = (X[..., :r], X[..., r : 2 * r], X[..., 2 * r :])
            _inboard(x, rows, j, a, W, Q)
            if x.links.sizes[a]:
                rows.set_mass(a, j, -(x.U[a] @ W))
                rows.A_C[a, j], rows.B_C[a, j] = x.U[a] @ Y_A, x.U[a] @ Y_B
    for i, r in enumerate(x.links.sizes):
        if r:
            _meet_beside(x, rows, i, carried)


def _meet_beside(x: Parts, rows: Rows, i: int, carried: dict[tuple[int, int], tuple[Array, Array, Array]]) -> None:
    """The blocks (i, j) for all j beside i: X_i(a) times what was carried from j to the common ancestor a.

    At a free base a, X_i(a) = −W_i(a)Υ(a) need not be formed: Υ(a) times a column is already in the rows of a.
    """
    came_from = i
    for a in ancestors(x.links.parents, i):
        free = x.links.parents[a] < 0 and x.links.sizes[a] == 6
        W = carried[i, a][0]
        X = -(W.mT @ (x.links.H[a].mT if free else x.Upsilon[a]))
        reached = [c for c in x.children[a] if c != came_from]
        for j in reached:  # grows while it is walked
            reached += x.children[j]
            if not x.links.sizes[j]:
                continue
            if (i, j) not in rows.mass_inverse:
                rows.set_mass(i, j, -(X @ (-rows.mass_inverse[a, j] if free else carried[j, a][0])))
            Y_A, Y_B = (rows.A_C[a, j], rows.B_C[a, j]) if free else carried[j, a][1:]
            rows.A_C[i, j], rows.B_C[i, j] = X @ Y_A, X @ Y_B
        came_from = a


def _columns_pay(links: Links) -> bool:
    """Whether columns cost less than rows: two more columns to carry for a body and each of its ancestors, one
    row less to carry for each pair of bodies beside each other, in either order."""
    paths = [ancestors(links.parents, k) for k in range(len(links.parents))]
    related = sum(len(path) for path in paths)
    trees: dict[int, int] = {}
    for k, path in enumerate(paths):
        root = path[-1] if path else k
        trees[root] = trees.get(root, 0) + 1
    beside = sum(n * n - n for n in trees.values()) - 2 * related
    return beside > related
