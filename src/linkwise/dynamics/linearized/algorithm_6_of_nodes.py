"""Algorithm 6 where bodies move as one node: 𝓜⁻¹, A_C and B_C in O(n²), with six numbers at each interface.

A row of products with 𝓜⁻¹ is carried as a row of 𝓜⁻¹ is (:mod:`..node_rows`). With the articulated columns
Y_A = 2P̂N + Pλ_v and Y_B = 2P̂ϑ_q + Pλ_q + 𝓕 of a node (LD Lemma 4.7), and K and d of what its joints ask,

    y = F*Y − gT,   T = N*Y + d (or K)        (i,j) = X⁺y(j)  at j not inboard of i
    b = D⁻¹T − g*Ωy                           (j,j) = b
    E(t) = λ(t) − F_tΩy − N_tb                (i,a) = W*E(t) + Q*ϑ(t)  at a inboard of i, where W has come in at t

What M̂ of the bodies on the way from i adds there is Q (3×r): as X_i(j) = X_i(p)ψ(p,j) + ν_i(j)H(j) with ν = D⁻¹ at i
and −W*N D⁻¹ at j inboard, it goes inward with W, and takes Ĝ of each node that it passes: Q⁺ = R[Q + 2(νN*P̂)*]. The
Linearized dynamics paper has it from Ĵ, which asks for the inverse of φ(p, k) (Lemma 4.9); nodes have none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ... import arrays
from ...aggregates import Members, at_member, come_in, member_rows, rows, stacked, through_port, turned, without_port
from ...arrays import Array
from ...sweeps import unzip
from ..articulated import Articulated
from ..links import Links
from ..node_rows import NodeRows, at_ports, carried_past, next_row, node_rows
from .forward import refuse_spinning_rotors
from .inverse import like
from .over_nodes import over_nodes
from .variations import Motion


@dataclass(frozen=True, eq=False)
class Asked:
    """What rows of one of the products, by rates or by places, ask of a node."""

    y: Array  # (..., 6, r), what the columns ask of the body that the node hangs on
    own: Array  # (..., r, r), the diagonal block
    E: Any  # (..., 6, r) at its ports
    theta: Any  # (..., 3, r) at its ports: the angular half of ϑ


def algorithm_6_of_nodes(m: Motion, art: Articulated) -> tuple[Array, Array, Array]:
    """(𝓜⁻¹, A_C, B_C), each (..., nv, nv), with springs and dampers of joints."""
    over = over_nodes(m)
    links, nodes = over.motion.links, range(len(over.variations))
    refuse_spinning_rotors(links, "Algorithm 6", "algorithm_4")
    x = node_rows(links, art)
    P_hat, HP_hat = _hat_quantities(links, over.motion.rates.M_hat, x)
    by_rate, by_place = [], []
    for k, (v, F) in enumerate(zip(over.variations, over.script_F)):
        K, d = over.motion.rates.softness[k]
        H, P = links.H[k], art.P[k]
        Y_A = _times_hat(P_hat[k], H.mT) + P @ v.lambda_v
        Y_B = _times_hat(P_hat[k], v.vartheta_q) + P @ v.lambda_q
        by_rate.append(_asked(x, art, k, Y_A, H @ Y_A + d, v.lambda_v, H.mT))
        by_place.append(_asked(x, art, k, Y_B + F, H @ Y_B + K, v.lambda_q, v.vartheta_q))
    joints = zip(links.phi, HP_hat, art.D_inverse)
    G_hat = [turned(without_port(phi), arrays.transpose(HP)) @ (2.0 * D_inverse) for phi, HP, D_inverse in joints]

    def inboard(carried: Any, phi: Any, H: Array, g: Array, G_hat: Array, A: Asked, B: Asked) -> Any:
        W, Q = carried
        less = G_hat @ (H @ W)
        onward = through_port(phi, lambda inner: turned(inner, Q) - less)
        found = [W.mT @ one.E + Q.mT @ one.theta for one in (A, B)]
        return (carried_past(W, phi, H, g), onward), (*found, W)

    starts = [_sent(links, x, G_hat, k) if links.sizes[k] else None for k in nodes]
    data = (links.phi, links.H, x.g, G_hat, by_rate, by_place)
    A_inner, B_inner, W = links.tree.inward_from_each(inboard, starts, *data).unzip(3)

    def outboard(X: Any, phi: Any, H: Array, g: Array, ports: tuple[int, ...], A: Asked, B: Asked) -> Any:
        row, mass, felt = next_row(X, phi, H, g, ports)
        return row, (mass, felt.mT @ A.y, felt.mT @ B.y)

    def at_fork(a: int, i: int) -> Any:
        return x.at_fork(a, W[a, i])

    walked = (links.phi, links.H, x.g, links.ports, by_rate, by_place)
    mass, A_outer, B_outer = links.tree.outward_from_each(outboard, x.starts, at_fork, *walked).unzip(3)
    return (
        links.matrix(x.L, [mass], None, like=like(m)),
        links.matrix([one.own for one in by_rate], [A_outer], A_inner, like=like(m)),
        links.matrix([one.own for one in by_place], [B_outer], B_inner, like=like(m)),
    )


def _sent(links: Links, x: NodeRows, G_hat: list[Array], k: int) -> tuple[Any, Any]:
    """W and Q of node k as they reach its parent."""
    return x.sent[k], come_in(links.phi[k], G_hat[k])


def _asked(x: NodeRows, art: Articulated, k: int, Y: Array, T: Array, own_lambda: Array, own_theta: Array) -> Asked:
    """What columns Y of forces on node k, with T of its joints, and their own motion of it come to."""
    answer = x.answer(k, art.D_inverse[k], without_port(x.links.phi[k]) @ Y, T)
    ports = x.links.ports[k]
    E = {t: own_lambda[..., rows(t), :] - at_member(answer.yielded, t) for t in ports}
    theta = {t: own_theta[..., rows(t), :][..., :3, :] for t in ports}
    H = x.links.H[k]
    return Asked(answer.passed, answer.own, at_ports(E, H), at_ports(theta, H))


def _hat_quantities(links: Links, M_hat: list[Any], x: NodeRows) -> tuple[list[Any], list[Array]]:
    """P̂ = Σ F*ψP̂F + M̂, of every member the left half (..., 6, 3), and N*P̂, (..., r, 3m) (LD (4.12))."""

    def step(gathered: Any, phi: Any, H: Array, g: Array, M_hat: Any) -> Any:
        own = M_hat.mapped(lambda one: one.columns) if isinstance(M_hat, Members) else M_hat.columns
        P_hat = gathered + own
        HP_hat = H @ P_hat
        inner = without_port(phi)
        less = g @ arrays.transpose(turned(inner, arrays.transpose(HP_hat)))
        return come_in(phi, _both_sides(inner, P_hat) - less), (P_hat, HP_hat)

    return unzip(links.tree.inward(step, 0, links.phi, links.H, x.g, M_hat), 2)


def _both_sides(inner: Any, P_hat: Any) -> Array:
    """F*P̂F, of left halves."""

    def moved(phi: Any, half: Array) -> Array:
        out: Array = phi @ (half @ arrays.transpose(phi.R))
        return out

    found: Array = inner.gathered(P_hat.parts, moved) if isinstance(P_hat, Members) else moved(inner, P_hat)
    return found


def _times_hat(P_hat: Any, X: Array) -> Array:
    """2P̂X, of which P̂ meets the angular halves alone."""
    if not isinstance(P_hat, Members):
        doubled: Array = P_hat @ (2.0 * X[..., :3, :])
        return doubled
    own = member_rows(X, len(P_hat.parts))
    return stacked([half @ (2.0 * motion[..., :3, :]) for half, motion in zip(P_hat.parts, own)])
