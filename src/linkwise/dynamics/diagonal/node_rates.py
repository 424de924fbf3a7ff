"""How articulated quantities change while the robot moves, where bodies move as one node (:mod:`.articulated_rates`).

° is the derivative in a body's own axes. Member k of a node moves by Δ_k = N_kβ against the body that the node hangs
on, so that what goes inward from it by φ_k changes by φ_k S[Δ_k], and what comes outward by −Δ̃_k φ_k*. With U = F*PN of
six rows and g = UD⁻¹ (math notes of closed chains and flexible bodies, 0),

    N_k° = φ*N_p° − Δ̃φ*N_p + H°*X + H*Ẋ                          Δ of the joint of k alone
    U° = Σ φ_k[P_k°N_k + S[Δ_k]P_kN_k + P_kN_k°],    D° = Σ N_k*P_k°N_k + (N_k*P_kN_k° + its transpose) + Γ°
    g° = (U° − gD°)D⁻¹,    𝒫° = Σ φ_k[P_k° + S[Δ_k]P_k + P_kS[Δ_k]*]φ_k* − U°g* − gU°* + gD°g*
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ... import arrays
from ...aggregates import (
    AtPorts,
    Members,
    at_interface,
    come_in,
    member_rows,
    parts_of,
    rows,
    stacked,
    through_port,
    without_port,
)
from ...arrays import Array
from ...model.model import Model
from ...spatial import congruence, cross_force, cross_motion
from ...sweeps import unzip
from ..articulated import Articulated
from ..coupled_links import times
from ..links import Links, map_rates
from ..node_rows import at_ports, member_map, on_member


@dataclass(frozen=True, eq=False)
class NodeRates:
    """The rates of every node at rates β of all joints, and what they are made of."""

    links: Links  # of nodes
    N: list[Array]  # N°, (..., 6m, r)
    Delta: list[Array]  # Δ of the members, (..., 6m, 1)
    P: list[Any]  # P° of the members
    D: list[Array]
    g: list[Array]  # (..., 6, r)
    g_ring: list[Array]


def node_rates(model: Model, links: Links, art: Articulated, beta: list[Array]) -> NodeRates:
    """The rates at joint velocities β of all bodies; ``art`` is of the nodes."""
    nodes, gathering = links.nodes, links.nodes.gathering
    assert gathering is not None
    X = gathering.joint_columns(links.q)
    X_dot = times(links.slope_rates(beta), X)
    own = _own_turning(model, links, beta, X, X_dot)
    Delta = [H.mT @ b for H, b in zip(links.H, beta)]
    moved = [_inside(links, nodes, k, X, own, Delta) for k in range(len(nodes.sizes))]
    N_ring, Delta_in = unzip(moved, 2)
    Gamma_half = gathering.rotors_bent(links.Gamma, X, X_dot)

    def step(gathered: Any, phi: Any, H: Array, P: Any, D_inverse: Array, G: Array, *rest: Any) -> Any:
        N_ring, Delta, Gamma_half = rest
        inner, g = without_port(phi), without_port(phi) @ G
        count = H.shape[-1] // 6
        P_parts = P.parts if isinstance(P, Members) else [P]
        given = parts_of(gathered, count) if isinstance(gathered, AtPorts) else [gathered] * count
        P_ring = [0.0 * p if isinstance(x, int) else x for x, p in zip(given, P_parts)]
        N, by_rate, by_motion = member_rows(H.mT, count), member_rows(N_ring, count), member_rows(Delta, count)
        changed = [x @ n for x, n in zip(P_ring, N)]
        bent = [p @ n for p, n in zip(P_parts, by_rate)]
        pushed = [cross_force(d, p @ n) for d, p, n in zip(by_motion, P_parts, N)]
        half = arrays.total(n.mT @ x for n, x in zip(N, bent)) + Gamma_half
        D_ring = arrays.symmetric(arrays.total(n.mT @ x for n, x in zip(N, changed)) + half + arrays.transpose(half))
        U_ring = _inward(inner, [a + b + c for a, b, c in zip(changed, bent, pushed)])
        turning = [cross_force(d, p) for d, p in zip(by_motion, P_parts)]
        whole = _both_sides(inner, [x + y + arrays.transpose(y) for x, y in zip(P_ring, turning)])
        update = (U_ring - 0.5 * (g @ D_ring)) @ g.mT
        passed = arrays.symmetric(whole - update - arrays.transpose(update))
        kept = Members(P_ring) if isinstance(P, Members) else P_ring[0]
        return come_in(phi, passed), (kept, D_ring, g, (U_ring - g @ D_ring) @ D_inverse)

    data = (nodes.phi, nodes.H, art.P, art.D_inverse, art.G, N_ring, Delta_in, Gamma_half)
    P, D, g, g_ring = unzip(nodes.tree.inward(step, 0, *data), 4)
    return NodeRates(nodes, N_ring, Delta_in, P, D, g, g_ring)


def _own_turning(model: Model, links: Links, beta: list[Array], X: list[Array], X_dot: list[Any]) -> list[Any]:
    """H°*X + H*Ẋ of every body's joint, or 0."""
    out = []
    for H, H_ring, x, y in zip(links.H, map_rates(model, links, beta), X, X_dot):
        turning = 0 if H_ring is None else H_ring @ x
        out.append(turning if isinstance(y, int) else turning + H.mT @ y)
    return out


def _inside(
    links: Links, nodes: Links, k: int, X: list[Array], own: list[Any], Delta: list[Array]
) -> tuple[Array, Array]:
    """N° and Δ of the members of a node, by a sweep inside."""
    gathering = nodes.gathering
    assert gathering is not None
    held = gathering.members[k]
    tree, still = links.tree.within(held), arrays.zeros((6, nodes.sizes[k]), like=links.q)

    def step(outer: Any, body: int) -> Any:
        N, N_ring, moving = outer
        phi, D = links.phi[body], Delta[body]
        carried = phi.T @ N
        turned = phi.T @ N_ring - cross_motion(D, carried) + own[body]
        return carried + links.H[body].mT @ X[body], turned, phi.T @ moving + D

    start = (still, still, arrays.zeros((6, 1), like=links.q))
    _, N_ring, moving = unzip(tree.outward(step, start, held), 3)
    return stacked(N_ring), stacked(moving)


def _inward(inner: Any, parts: list[Array]) -> Array:
    """F*x of columns of the members."""
    reached: Array = inner.gathered(parts, lambda phi, x: phi @ x) if len(parts) > 1 else inner @ parts[0]
    return reached


def _both_sides(inner: Any, parts: list[Array]) -> Array:
    """F*SF of symmetric matrices of the members."""
    reached: Array = inner.gathered(parts, congruence) if len(parts) > 1 else congruence(inner, parts[0])
    return reached


# --- the factor m and its rate -------------------------------------------------------------------------


def factor_rate(x: NodeRates, L: list[Array], L_ring: list[Array]) -> Array:
    """d/dt (I + HφK)L, (..., nv, nv), for L with these blocks (..., r, r) on its diagonal and these rates."""

    def step(gathered: Any, own: Array, own_ring: Array, phi: Any, H: Array, N_ring: Array, *rest: Any) -> Any:
        Delta, g, g_ring = rest
        z, z_ring = gathered
        first, second = g @ own, g_ring @ own + g @ own_ring
        if isinstance(z, int):
            reached = (come_in(phi, first), come_in(phi, second))
            return reached, own_ring
        turned = z_ring + _turned(Delta, z)
        reached = (
            through_port(phi, lambda inner: inner @ z + first),
            through_port(phi, lambda inner: inner @ turned + second),
        )
        return reached, own_ring + H @ z_ring + arrays.transpose(N_ring) @ z

    links = x.links
    data = (links.phi, links.H, x.N, x.Delta, x.g, x.g_ring)
    return links.of_columns(step, lambda _: (0, 0), [L, L_ring], *data)


def _turned(Delta: Array, z: Any) -> Any:
    """S[Δ]z, member by member."""
    if not isinstance(z, AtPorts):
        return cross_force(Delta, z)
    return AtPorts(z.count, {k: cross_force(Delta[..., rows(k), :], y) for k, y in z.held.items()})


def total_rates_changed(x: NodeRates, beta: list[Array]) -> tuple[list[Array], list[Array]]:
    """ξ = (I + HφK)*β and how it changes with the configuration alone, outward: ξ = β + g*V where a node hangs."""

    def step(outer: Any, phi: Any, H: Array, N_ring: Array, Delta: Array, *rest: Any) -> Any:
        g, g_ring, beta, ports = rest
        inner, V = at_interface(phi, outer[0])
        V_ring = at_interface(phi, outer[1])[1]
        moved = {t: on_member(inner, t, V) for t in ports}
        by_port, ring_by_port = {}, {}
        for t in ports:
            by_port[t] = moved[t] + member_map(H, t) @ beta
            turned = on_member(inner, t, V_ring) - cross_motion(Delta[..., rows(t), :], moved[t])
            ring_by_port[t] = turned + N_ring[..., rows(t), :] @ beta
        found = (beta + g.mT @ V, g_ring.mT @ V + g.mT @ V_ring)
        return at_ports(by_port, H), at_ports(ring_by_port, H), found

    links = x.links
    still = arrays.zeros((6, 1), like=links.q)
    data = (links.phi, links.H, x.N, x.Delta, x.g, x.g_ring, beta, links.ports)
    values = links.tree.outward(step, (still, still, None), *data)
    return unzip([found for _, _, found in values], 2)
