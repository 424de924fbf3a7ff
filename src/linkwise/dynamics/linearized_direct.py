"""Algorithm 6: 𝓜⁻¹, A_C and B_C in O(n²), without forming or inverting 𝓜 (Linearized dynamics paper Lemma 4.9).

Rows X_i(j) = ((I − HψK)*D⁻¹Hψ)(i, j) start at U(i) and are carried from body to body. On a chain they give the
lower triangle by themselves and the upper one through E_A, E_B and Q (LD (4.23)–(4.25)). On a tree the bodies
beside i are reached through a common ancestor a, where X_i(a) = −W_i(a)Υ(a) (math notes III.2): either the row
is carried on outward from a, or the columns of j are carried inward to a and meet it there.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from .. import arrays
from ..arrays import Array
from ..spatial import Transform, adjoint_congruence
from ..sweeps import ancestors, outward, unzip
from .articulated import Articulated
from .linearized_forward import articulated_columns, hat_quantities, refuse_spinning_rotors
from .linearized_inverse import Blocks, like
from .links import Links
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
    carried: dict[tuple[int, int], tuple[Array, Array, Array]] | None = None


@dataclass(frozen=True, eq=False)
class Rows:
    """The blocks of the three matrices as they are found."""

    mass_inverse: Blocks = field(default_factory=dict)
    A_C: Blocks = field(default_factory=dict)
    B_C: Blocks = field(default_factory=dict)


def algorithm_6(m: Motion, art: Articulated) -> tuple[Array, Array, Array]:
    """(𝓜⁻¹, A_C, B_C), each (..., nv, nv), in O(n²) (LD Algorithm 6, corrected; trees: math notes III.2)."""
    links = m.links
    refuse_spinning_rotors(links, "Algorithm 6", "algorithm_4")
    x, own, answers = _parts(m, art)
    rows = Rows()
    for i, r in enumerate(links.sizes):
        if r:
            _row(x, rows, i)
    sizes, similar = links.sizes, like(m)
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
    L, U, Upsilon = _compliances(links, art)
    J_hat, Q = _hat_sums(links, art, G_hat)
    E_A, E_B = [], []
    for H, Up, J, A, B, v in zip(links.H, Upsilon, J_hat, Y_A, Y_B, variations):
        E_A.append(v.lambda_v - Up @ A + J @ (2.0 * H.mT[..., :3, :]))
        E_B.append(v.lambda_q - Up @ B + J @ (2.0 * v.vartheta_q[..., :3, :]))
    children: list[list[int]] = [[] for _ in links.parents]
    for k, p in enumerate(links.parents):
        if p >= 0:
            children[p].append(k)
    x = Parts(links, art, variations, Y_A, Y_B, L, U, Upsilon, E_A, E_B, Q, children)
    if _columns_pay(links, children):
        x = replace(x, carried=_carried_inward(x))
    return x, own, answers


def _compliances(links: Links, art: Articulated) -> tuple[list[Array], list[Array], list[Array]]:
    """L = D⁻¹ + G*Υ⁺G, U = LH − G*Υ⁺ and Υ = Υ⁺ + H*U − Υ⁺GH, outward (LD (4.19), Lemma 4.9)."""

    def step(outer: Any, phi: Transform, H: Array, G: Array, D_inverse: Array) -> Any:
        Upsilon_plus = adjoint_congruence(phi, outer[2])
        Z = Upsilon_plus @ G
        L = arrays.symmetric(D_inverse + G.mT @ Z)
        U = L @ H - Z.mT
        return L, U, arrays.symmetric(Upsilon_plus + H.mT @ U - Z @ H)

    start = (None, None, arrays.zeros((6, 6), like=links.q))
    return unzip(outward(links.parents, step, start, links.phi, links.H, art.G, art.D_inverse), 3)  # type: ignore[return-value]


def _hat_sums(links: Links, art: Articulated, G_hat: list[Array]) -> tuple[list[Array], list[Array]]:
    """Ĵ = ψ*Ĵ(p)φ⁻* + H*Ĝ*, its left half (..., 6, 3), and Q = 2[Ĝ − Ĵ⁺*G] (..., 3, r), outward (LD Lemma 4.9)."""

    def step(outer: Any, phi: Transform, H: Array, G: Array, G_hat: Array) -> Any:
        J_plus = (phi.T @ outer[0]) @ phi.R
        left = G_hat - G.mT @ J_plus
        return J_plus + H.mT @ left, 2.0 * arrays.transpose(left)

    start = (arrays.zeros((6, 3), like=links.q), None)
    return unzip(outward(links.parents, step, start, links.phi, links.H, art.G, G_hat), 2)  # type: ignore[return-value]


def _row(x: Parts, rows: Rows, i: int) -> None:
    """All blocks (i, ·): i itself, what is outboard, what is inboard, and what hangs on that."""
    rows.mass_inverse[i, i] = x.L[i]
    rows.A_C[i, i], rows.B_C[i, i] = x.U[i] @ x.Y_A[i], x.U[i] @ x.Y_B[i]
    _descend(x, rows, i, x.U[i], x.children[i])

    W, Q, came_from = x.art.G[i], x.Q[i], i
    for a in ancestors(x.links.parents, i):
        phi = x.links.phi[came_from]
        W, Q = phi @ W, phi.R @ Q
        if x.links.sizes[a]:
            v = x.variations[a]
            rows.A_C[i, a] = W.mT @ x.E_A[a] + Q.mT @ x.links.H[a].mT[..., :3, :]
            rows.B_C[i, a] = W.mT @ x.E_B[a] + Q.mT @ v.vartheta_q[..., :3, :]
        beside = [c for c in x.children[a] if c != came_from]
        if beside:
            X = -(W.mT @ x.Upsilon[a])
            if x.carried is None:
                _descend(x, rows, i, X, beside)
            else:
                _meet(x, rows, i, a, X, beside)
        W = W - x.art.G[a] @ (x.links.H[a] @ W)
        came_from = a


def _meet(x: Parts, rows: Rows, i: int, a: int, X: Array, bodies: list[int]) -> None:
    """The blocks (i, j) for every j outboard of ``bodies``, whose columns have been carried to their parent a."""
    assert x.carried is not None
    reached = list(bodies)
    for j in reached:  # grows while it is walked
        reached += x.children[j]
        if x.links.sizes[j]:
            W, Y_A, Y_B = x.carried[j, a]
            mirrored = rows.mass_inverse.get((j, i))
            rows.mass_inverse[i, j] = -(X @ W) if mirrored is None else arrays.transpose(mirrored)
            rows.A_C[i, j], rows.B_C[i, j] = X @ Y_A, X @ Y_B


def _carried_inward(x: Parts) -> dict[tuple[int, int], tuple[Array, Array, Array]]:
    """ψ(a,j)[K(j), Y_A(j), Y_B(j)] at every ancestor a of j with other branches, keyed by (j, a)."""
    out = {}
    for j, r in enumerate(x.links.sizes):
        path = ancestors(x.links.parents, j)
        last = max((n for n, a in enumerate(path) if len(x.children[a]) > 1), default=-1)
        X, came_from = arrays.concatenate([x.art.G[j], *(_past(x, j, Y) for Y in (x.Y_A[j], x.Y_B[j]))], axis=-1), j
        for a in path[: last + 1]:
            X = x.links.phi[came_from] @ X
            if len(x.children[a]) > 1:
                out[j, a] = (X[..., :r], X[..., r : 2 * r], X[..., 2 * r :])
            X = _past(x, a, X)
            came_from = a
    return out


def _past(x: Parts, k: int, X: Array) -> Array:
    """τ̄(k)X."""
    return X - x.art.G[k] @ (x.links.H[k] @ X)


def _columns_pay(links: Links, children: list[list[int]]) -> bool:
    """Whether carrying columns inward to the branchings costs less than carrying rows outward from them.

    A pair of bodies on different branches costs one column step less per row (both triangles), a body and
    each ancestor it has to pass two column steps more.
    """
    paths = [ancestors(links.parents, k) for k in range(len(links.parents))]
    steps = sum(max((n + 1 for n, a in enumerate(path) if len(children[a]) > 1), default=0) for path in paths)
    related = sum(2 * len(path) + 1 for path in paths)
    trees: dict[int, int] = {}
    for k, path in enumerate(paths):
        root = path[-1] if path else k
        trees[root] = trees.get(root, 0) + 1
    beside = sum(n * n for n in trees.values()) - related
    return beside > 2 * steps


def _descend(x: Parts, rows: Rows, i: int, X: Array, bodies: list[int]) -> None:
    """𝓜⁻¹(i,j) = −X_i(p)K(p,j), X_i(j) = X_i(p)ψ(p,j), A_C(i,j) = X_i(j)Y_A(j), from ``bodies`` outward."""
    reached = [(j, X) for j in bodies]
    for j, outer in reached:  # grows while it is walked
        carried = arrays.transpose(x.links.phi[j].T @ outer.mT)
        if x.links.sizes[j]:
            if (j, i) in rows.mass_inverse:
                rows.mass_inverse[i, j] = arrays.transpose(rows.mass_inverse[j, i])
            else:
                rows.mass_inverse[i, j] = -(carried @ x.art.G[j])
                if i in ancestors(x.links.parents, j):
                    rows.mass_inverse[j, i] = arrays.transpose(rows.mass_inverse[i, j])
            carried = carried + rows.mass_inverse[i, j] @ x.links.H[j]
            rows.A_C[i, j], rows.B_C[i, j] = carried @ x.Y_A[j], carried @ x.Y_B[j]
        reached += [(c, carried) for c in x.children[j]]
