"""How joints that are not driven respond to those that are, and what that makes of the Jacobian, in O(n) per joint.

With 𝓜 split by driven joints (a) and passive ones (p), and nothing pushing the passive ones,

    𝓜_pp θ̈_p + 𝓜_pa θ̈_a = 0,    θ̈_p = S θ̈_a,    S = −𝓜_pp⁻¹𝓜_pa   (at rest, or for rates where p_p = 0),

and a frame moves by J_S = J_a + J_p S, the generalised Jacobian: of a free-flyer, whose passive joint is its base, that
with no momentum. 𝓜_pp is the mass matrix of the robot with its driven joints locked. So the Riccati recursion passes a
driven joint as a rigid one, P⁺ = P, and S is what the sweeps of hybrid dynamics give at rest for the unit accelerations
of the driven joints (math notes 12.7).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .. import arrays
from ..aggregates import AtPorts, at_interface, come_in, without_port
from ..arrays import Array
from ..model.model import Model
from ..spatial import congruence
from ..sweeps import unzip
from .articulated import matrix_of, riccati_step
from .hybrid import given_nodes, hybrid_sweeps
from .kinematics import tip_transform
from .links import Links, evaluate
from .node_rows import at_ports, carried_past, member_map, next_row, on_member, port_compliances, yielded


def disturbance_map(model: Model, q: Array, driven: Iterable[int]) -> Array:
    """S (..., n_p, n_a): the accelerations of the passive joints for unit ones of the driven joints."""
    driven = sorted(driven)
    links = evaluate(model, q).nodes
    given = given_nodes(model, links, set(driven), "a disturbance map")
    columns = degrees_of(model, driven)
    passive = [i for i in range(model.nv) if i not in columns]
    if not links.tree.has_single_bodies:
        found: Array = links.part(_by_walks(links, given), passive, columns)
        return found
    units = links.split_rows(arrays.constant(np.eye(model.nv)[:, columns], like=q))
    start = arrays.zeros((6, len(columns)), like=q)
    if links.gathering is not None:
        beta_dot = _over_nodes(links, given, units, start)
    else:
        beta_dot = hybrid_sweeps(links, given, units, start)[1]
    return links.join_rows(beta_dot, len(columns))[..., passive, :]


def generalized_jacobian(model: Model, q: Array, frame: Any, driven: Iterable[int]) -> Array:
    """J_S = J_a + J_p S (..., 6, n_a), world axes, row by row in O(n).

    J_S*f = J_a*f − 𝓜_ap θ̈_p is what holds the driven joints, less its sign, while a force f at the frame makes the
    passive ones accelerate by θ̈_p = 𝓜_pp⁻¹J_p*f: forces go inward through passive joints as they do where all are, and
    through driven ones as through rigid links.
    """
    bodies = evaluate(model, q)
    body, tip = tip_transform(model, bodies, frame)
    driven = sorted(driven)
    columns = degrees_of(model, driven)
    if body < 0:
        return arrays.zeros((6, len(columns)), like=q)
    links = bodies.nodes
    given = given_nodes(model, links, set(driven), "a generalised Jacobian")
    D_inverse, g = _crossed(links, given)
    node, member = (body, 0) if links.gathering is None else links.gathering.node_of[body]
    pushed: list[Any] = [0] * len(links.tree)
    pushed[node] = at_ports({member: tip @ arrays.eye(6, like=q)}, links.H[node])

    def inward(gathered: Any, phi: Any, H: Array, D_inverse: Any, g: Array, own: Any) -> Any:
        W = gathered + own
        if isinstance(W, int):  # nothing outboard feels the force
            return 0, arrays.zeros((H.shape[-2], 6), like=q)
        if D_inverse is None:
            return phi @ W, H @ W
        return carried_past(W, phi, H, g), D_inverse @ (H @ W)

    felt = links.tree.inward(inward, 0, links.phi, links.H, D_inverse, g, pushed)

    def outward(outer: Any, phi: Any, H: Array, D_inverse: Any, g: Array, x: Array, ports: Any) -> Any:
        inner, alpha = at_interface(phi, outer[0])
        row = x - g.mT @ alpha  # of driven joints H(W − Pα), of passive ones β̇
        moved = {t: on_member(inner, t, alpha) for t in ports}
        if D_inverse is None:
            return at_ports(moved, H), row
        return at_ports({t: y + member_map(H, t) @ row for t, y in moved.items()}, H), 0.0 * row

    data = (links.phi, links.H, D_inverse, g, felt, links.ports)
    rows = unzip(links.tree.outward(outward, (arrays.zeros((6, 6), like=q), None), *data), 2)[1]
    J: Array = links.join_columns([arrays.transpose(row) for row in rows], 6)
    return J[..., columns]


def degrees_of(model: Model, joints: Iterable[int]) -> list[int]:
    """The degrees of freedom of these joints, in the order of v."""
    return [i for k in sorted(joints) for i in range(model.v_slices[k].start, model.v_slices[k].stop)]


def _over_nodes(links: Links, given: list[bool], units: list[Array], start: Array) -> list[Array]:
    """The accelerations of all nodes for ``units`` of the given ones, with six numbers at each interface
    (:mod:`.node_rows`)."""

    def inward(gathered: Any, phi: Any, H: Array, M: Any, Gamma: Any, s: Any, *rest: Any) -> Any:
        name, carried, unit, is_given = rest
        P, z = gathered[0] + matrix_of(M), gathered[1]
        onward = 0 if isinstance(z, int) else phi @ z
        if is_given:
            moved = P @ (H.mT @ unit)
            return (congruence(phi, P), onward + phi @ (moved if s is None else moved + s @ unit)), (unit, None)
        _, _, D_inverse, G, P_plus = riccati_step(P, H, Gamma, s, name, carried)
        g = without_port(phi) @ G
        epsilon = 0.0 * unit if isinstance(z, int) else -(H @ z)
        return (congruence(phi, P_plus), onward + come_in(phi, g @ epsilon)), (D_inverse @ epsilon, g)

    own = (links.phi, links.H, links.M, links.Gamma, links.s, links.names, links.carried)
    nu, g = unzip(links.tree.inward(inward, (0, 0), *own, units, given), 2)

    def outward(outer: Any, phi: Any, H: Array, nu: Array, g: Any, ports: tuple[int, ...]) -> Any:
        inner, felt = at_interface(phi, outer[1])
        beta_dot = nu if g is None else nu - g.mT @ felt
        moved = {t: on_member(inner, t, felt) + member_map(H, t) @ beta_dot for t in ports}
        return beta_dot, at_ports(moved, H)

    return unzip(links.tree.outward(outward, (None, start), links.phi, links.H, nu, g, links.ports), 2)[0]


def _crossed(links: Links, given: list[bool]) -> tuple[list[Any], list[Array]]:
    """(D⁻¹, g = F*G) of every passive node; of a driven one (None, F*PH* + s), what a unit of its acceleration asks of
    the body that it hangs on."""

    def step(gathered: Any, phi: Any, H: Array, M: Any, Gamma: Any, s: Any, *rest: Any) -> Any:
        name, carried, is_given = rest
        P = gathered + matrix_of(M)
        if is_given:
            U = P @ H.mT
            return congruence(phi, P), (None, without_port(phi) @ (U if s is None else U + s))
        _, _, D_inverse, G, P_plus = riccati_step(P, H, Gamma, s, name, carried)
        return congruence(phi, P_plus), (D_inverse, without_port(phi) @ G)

    own = (links.phi, links.H, links.M, links.Gamma, links.s, links.names, links.carried)
    return unzip(links.tree.inward(step, 0, *own, given), 2)


def _by_walks(links: Links, given: list[bool]) -> Any:
    """S column by column, from every driven node inward and outward.

    What it asks of the node that it hangs on goes inward past passive joints, W⁺ = F*W − g(N*W), and makes them
    accelerate by −D⁻¹N*W + g*ΩW⁺ (:meth:`.NodeRows.answer`).
    """
    D_inverse, g = _crossed(links, given)

    def step(outer: Any, phi: Any, H: Array, D_inverse: Any, g: Array, ports: tuple[int, ...]) -> Any:
        inner, Omega = at_interface(phi, outer[0])
        felt = Omega @ g
        Z = {t: on_member(inner, t, felt) for t in ports}
        if D_inverse is None:  # its own unit, less how what it hangs on gives way
            U = {t: member_map(H, t) - Z[t] for t in ports}
            Upsilon = port_compliances(inner, H, ports, Omega, {}, {})
        else:
            L = arrays.symmetric(D_inverse + g.mT @ felt)
            U = {t: member_map(H, t) @ L - Z[t] for t in ports}
            Upsilon = port_compliances(inner, H, ports, Omega, Z, U)
        return at_ports({t: Upsilon[t, t] for t in ports}, H), (Omega, at_ports(U, H), Upsilon)

    start = (arrays.zeros((6, 6), like=links.q), None)
    data = (links.phi, links.H, D_inverse, g)
    values = links.tree.outward(step, start, *data, links.ports)
    Omega, U, Upsilon = unzip([found for _, found in values], 3)

    def inboard(W: Any, phi: Any, H: Array, D_inverse: Any, g: Array, Omega: Array) -> Any:
        if D_inverse is None:
            return phi @ W, (W, None)
        passed = carried_past(W, phi, H, g)
        y = next(iter(passed.held.values())) if isinstance(passed, AtPorts) else passed
        return passed, (W, g.mT @ (Omega @ y) - D_inverse @ (H @ W))

    def outboard(X: Any, phi: Any, H: Array, D_inverse: Any, g: Array, ports: tuple[int, ...]) -> Any:
        inner, felt = at_interface(phi, X)
        if D_inverse is None:
            return at_ports({t: on_member(inner, t, felt) for t in ports}, H), None
        moved, block, _ = next_row(X, phi, H, g, ports)
        return moved, arrays.transpose(block)

    driven = [is_given and bool(r) for is_given, r in zip(given, links.sizes)]
    sent = [come_in(phi, x) if there else None for phi, x, there in zip(links.phi, g, driven)]
    W, inner = links.tree.inward_from_each(inboard, sent, *data, Omega).unzip(2)
    starts = [x if there else None for x, there in zip(U, driven)]

    def at_fork(a: int, i: int) -> Any:
        return yielded(Upsilon[a], links.ports[a], W[a, i])

    outer = links.tree.outward_from_each(outboard, starts, at_fork, *data, links.ports)
    no_diagonal: list[Any] = [None] * len(given)
    return links.matrix(no_diagonal, [inner], outer, like=links.q)
