"""How nodes yield at their ports, and what columns become on their way past them: six numbers at each interface.

With F = φ*(p, 𝒢) and N = H* of an aggregate (math notes of closed chains and flexible bodies, 0), U = PN* and
G = UD⁻¹, all that is passed from node to node is what goes through F, and all that a child asks of its parent is at
one member, its port:

    g = F*G (6×r)                            columns inward    W⁺ = F*W − g(N*W)
    L = D⁻¹ + g*Ωg,   U(t) = LN_t* − g*ΩF_t*  rows outward      X(t) = F_t X⁺ + N_t𝓜⁻¹(j, i),   𝓜⁻¹(j, i) = −g*X⁺
    Υ(t,s) = F_tΩF_s* + N_tU(s) − F_tΩgN_s*   with Ω = Υ at the port that the node hangs on

For rigid bodies that is Lemma 4.9 of the Linearized dynamics paper (:func:`.articulated.first_rows`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import arrays
from ..aggregates import AtPorts, Inside, at_interface, come_in, rows, through_port, without_port
from ..arrays import Array
from ..sweeps import unzip
from .articulated import Articulated
from .links import Links


class Answer(NamedTuple):
    """What columns of forces Y on a node, with T of its joints (N*Y included), come to."""

    passed: Array  # (..., 6, ·): F*Y − gT, what they ask of the body that the node hangs on
    own: Array  # (..., r, ·): how its joints accelerate, less
    yielded: Any  # (..., 6, ·): how it yields at its ports


@dataclass(frozen=True, eq=False)
class NodeRows:
    """What rows of 𝓜⁻¹, and of products with it, ask of every node."""

    links: Links  # of nodes
    g: list[Array]  # (..., 6, r), as the body sees it that the node hangs on
    L: list[Array]  # (..., r, r), the diagonal blocks of 𝓜⁻¹
    Omega: list[Array]  # (..., 6, 6), how that body yields
    U: list[Any]  # U*, (..., 6, r) at the ports of every node
    Upsilon: list[dict[tuple[int, int], Array]]  # (..., 6, 6), by two ports

    @property
    def sent(self) -> list[Any]:
        """g, where it comes in: what is carried inward from every node that has freedoms."""
        pairs = zip(self.links.phi, self.g, self.links.sizes)
        return [come_in(phi, g) if r else None for phi, g, r in pairs]

    @property
    def starts(self) -> list[Any]:
        """U*, with which every row starts outward."""
        return [U if r else None for U, r in zip(self.U, self.links.sizes)]

    def between(self, k: int, X: Any, Y: Any) -> Array:
        """X*ΥY of columns at members of node k."""
        Upsilon = self.Upsilon[k]
        if not isinstance(X, AtPorts):
            alone: Array = X.mT @ Upsilon[0, 0] @ Y
            return alone
        return arrays.total(x.mT @ Upsilon[t, s] @ y for t, x in X.held.items() for s, y in Y.held.items())

    def at_fork(self, a: int, W: Any) -> Any:
        """X_i(a)* = −Υ(a)W_i(a) at the ports of a node a inboard of i."""
        return yielded(self.Upsilon[a], self.links.ports[a], W)

    def answer(self, k: int, D_inverse: Array, felt: Array, T: Array) -> Answer:
        """y = F*Y − gT, b = D⁻¹T − g*Ωy and F_tΩy + N_tb, from F*Y as ``felt``."""
        phi, H, g = self.links.phi[k], self.links.H[k], self.g[k]
        y = felt - g @ T
        e = self.Omega[k] @ y
        b = D_inverse @ T - g.mT @ e
        inner = without_port(phi)
        yielded = {t: on_member(inner, t, e) + member_map(H, t) @ b for t in self.links.ports[k]}
        return Answer(y, b, at_ports(yielded, H))


def node_rows(nodes: Links, art: Articulated, at: Sequence[tuple[int, ...]] | None = None) -> NodeRows:
    """By one sweep outward; at the ports of nodes, or ``at`` other members of each."""

    def step(outer: Any, phi: Any, H: Array, G: Array, D_inverse: Array, ports: tuple[int, ...]) -> Any:
        inner, Omega = at_interface(phi, outer[0])
        g = inner @ G
        felt = Omega @ g
        L = arrays.symmetric(D_inverse + g.mT @ felt)
        Z = {t: on_member(inner, t, felt) for t in ports}
        U = {t: member_map(H, t) @ L - Z[t] for t in ports}
        Upsilon = port_compliances(inner, H, ports, Omega, Z, U)
        own = {t: Upsilon[t, t] for t in ports}
        return at_ports(own, H), (g, L, Omega, at_ports(U, H), Upsilon)

    start = (arrays.zeros((6, 6), like=nodes.q), None)
    members = nodes.ports if at is None else at
    values = nodes.tree.outward(step, start, nodes.phi, nodes.H, art.G, art.D_inverse, members)
    return NodeRows(nodes, *unzip([found for _, found in values], 5))


def port_compliances(
    inner: Any, H: Array, ports: Sequence[int], Omega: Array, Z: dict[int, Array], U: dict[int, Array]
) -> dict[tuple[int, int], Array]:
    """Υ(t,s) of a node between its ports; without U and Z = FΩg of one that does not give way by itself."""
    Upsilon = {}
    for t in ports:
        half = arrays.transpose(on_member(inner, t, Omega))  # ΩF_t*
        for s in ports:
            block = arrays.transpose(on_member(inner, s, half))  # F_tΩF_s*
            if U:
                block = block + member_map(H, t) @ U[s].mT - Z[t] @ member_map(H, s).mT
            Upsilon[t, s] = arrays.symmetric(block) if t == s else block
    return Upsilon


def yielded(Upsilon: dict[tuple[int, int], Array], ports: Sequence[int], W: Any) -> Any:
    """−ΥW at the ports of a node."""
    if not isinstance(W, AtPorts):
        return -(Upsilon[0, 0] @ W)
    found = {t: arrays.total(Upsilon[t, s] @ x for s, x in W.held.items()) for t in ports}
    return AtPorts(W.count, {t: -x for t, x in found.items()})


def at_ports(x: dict[int, Array], H: Array) -> Any:
    """What a node with this H has at its ports, as children find it: of a single body that itself."""
    alone = H.shape[-1] == 6 and 0 in x
    return x[0] if alone else AtPorts(H.shape[-1] // 6, x)


def member_map(H: Array, member: int) -> Array:
    """N_t, (..., 6, r): the motion of one member by the freedoms of its node."""
    return arrays.transpose(H[..., rows(member)])


def on_member(inner: Any, member: int, motion: Array) -> Array:
    """F_t of motions of the body that a node hangs on."""
    moved: Array = inner.to(member, motion) if isinstance(inner, Inside) else inner.T @ motion
    return moved


def carried_past(W: Any, phi: Any, H: Array, g: Array) -> Any:
    """W⁺ = F*W − g(N*W), where the node hangs on its parent."""
    taken = g @ (H @ W)
    return through_port(phi, lambda inner: inner @ W - taken)


def next_row(X: Any, phi: Any, H: Array, g: Array, ports: tuple[int, ...]) -> tuple[Any, Array, Array]:
    """(X_i(j)* at the ports of the next node j outboard, 𝓜⁻¹(i,j), X_i* at the port that it hangs on)."""
    inner, felt = at_interface(phi, X)
    block = -(felt.mT @ g)
    moved = {t: on_member(inner, t, felt) + member_map(H, t) @ block.mT for t in ports}
    return at_ports(moved, H), block, felt


def inverse_of(links: Links, art: Articulated) -> Array:
    """𝓜⁻¹ row by row; the links are those of nodes."""
    x = node_rows(links, art)

    def inboard(W: Any, phi: Any, H: Array, g: Array) -> Any:
        return carried_past(W, phi, H, g), W

    def outboard(X: Any, *data: Any) -> Any:
        return next_row(X, *data)[:2]

    W = links.tree.inward_from_each(inboard, x.sent, links.phi, links.H, x.g)

    def at_fork(a: int, i: int) -> Any:
        return x.at_fork(a, W[a, i])

    kept = links.tree.outward_from_each(outboard, x.starts, at_fork, links.phi, links.H, x.g, links.ports)
    return links.matrix(x.L, [kept], None, like=links.q)
