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
from ..aggregates import at_interface, come_in, without_port
from ..arrays import Array
from ..model.model import Model
from ..spatial import congruence
from ..sweeps import unzip
from .articulated import matrix_of, riccati_step
from .hybrid import given_nodes, hybrid_sweeps
from .kinematics import tip_transform
from .links import Links, evaluate
from .node_rows import at_ports, carried_past, member_map, on_member


def disturbance_map(model: Model, q: Array, driven: Iterable[int]) -> Array:
    """S (..., n_p, n_a): the accelerations of the passive joints for unit ones of the driven joints."""
    driven = sorted(driven)
    links = evaluate(model, q).nodes
    beta_dot, _ = _responses(model, links, driven)
    columns = degrees_of(model, driven)
    passive = [i for i in range(model.nv) if i not in columns]
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
    node, member = (body, 0) if links.gathering is None else links.gathering.node_of[body]
    pushed: list[Any] = [0] * len(links.tree)
    pushed[node] = at_ports({member: tip @ arrays.eye(6, like=q)}, links.H[node])

    def inward(gathered: Any, phi: Any, H: Array, M: Any, Gamma: Any, s: Any, *rest: Any) -> Any:
        name, carried, own, is_given = rest
        P, W = gathered[0] + matrix_of(M), gathered[1] + own
        onward = 0 if isinstance(W, int) else phi @ W
        if is_given:
            return (congruence(phi, P), onward), (P, W, None, None)
        _, _, D_inverse, G, P_plus = riccati_step(P, H, Gamma, s, name, carried)
        g = without_port(phi) @ G
        if isinstance(W, int):
            return (congruence(phi, P_plus), 0), (None, 0, arrays.zeros((H.shape[-2], 6), like=q), g)
        return (congruence(phi, P_plus), carried_past(W, phi, H, g)), (None, W, D_inverse @ (H @ W), g)

    own = (links.phi, links.H, links.M, links.Gamma, links.s, links.names, links.carried)
    P, W, nu, g = unzip(links.tree.inward(inward, (0, 0), *own, pushed, given), 4)

    def outward(outer: Any, phi: Any, H: Array, s: Any, P: Any, W: Any, nu: Any, g: Any, ports: Any) -> Any:
        inner, felt = at_interface(phi, outer[0])
        if g is None:
            alpha = phi.T @ outer[0]
            f = -(P @ alpha) if isinstance(W, int) else W - P @ alpha
            row = H @ f if s is None else H @ f - s.mT @ alpha
            return at_ports({t: on_member(inner, t, felt) for t in ports}, H), row
        beta_dot = nu - g.mT @ felt
        moved = {t: on_member(inner, t, felt) + member_map(H, t) @ beta_dot for t in ports}
        return at_ports(moved, H), 0.0 * beta_dot

    start = (arrays.zeros((6, 6), like=q), None)
    rows = unzip(links.tree.outward(outward, start, links.phi, links.H, links.s, P, W, nu, g, links.ports), 2)[1]
    J: Array = links.join_columns([arrays.transpose(row) for row in rows], 6)
    return J[..., columns]


def degrees_of(model: Model, joints: Iterable[int]) -> list[int]:
    """The degrees of freedom of these joints, in the order of v."""
    return [i for k in sorted(joints) for i in range(model.v_slices[k].start, model.v_slices[k].stop)]


def _responses(model: Model, links: Links, driven: list[int], body: int | None = None) -> tuple[list[Array], list[Any]]:
    """(β̇, V̇) of every node for the unit accelerations of the driven joints, from rest and without gravity; of nodes of
    several bodies V̇ where others hang on them, and of a ``body``."""
    given = given_nodes(model, links, set(driven), "a disturbance map")
    columns = degrees_of(model, driven)
    units = links.split_rows(arrays.constant(np.eye(model.nv)[:, columns], like=links.q))
    start = arrays.zeros((6, len(columns)), like=links.q)
    if links.gathering is not None:
        return _over_nodes(links, given, units, start, body)
    motions, beta_dot, _ = hybrid_sweeps(links, given, units, start)
    return beta_dot, motions


def _over_nodes(
    links: Links, given: list[bool], units: list[Array], start: Array, body: int | None
) -> tuple[list[Array], list[Any]]:
    """The same with six numbers at each interface (:mod:`.node_rows`)."""
    assert links.gathering is not None
    ports = [set(own) for own in links.ports]
    if body is not None:
        node, member = links.gathering.node_of[body]
        ports[node].add(member)

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

    def outward(outer: Any, phi: Any, H: Array, nu: Array, g: Any, ports: set[int]) -> Any:
        inner, felt = at_interface(phi, outer[1])
        beta_dot = nu if g is None else nu - g.mT @ felt
        moved = {t: on_member(inner, t, felt) + member_map(H, t) @ beta_dot for t in ports}
        return beta_dot, at_ports(moved, H)

    return unzip(links.tree.outward(outward, (None, start), links.phi, links.H, nu, g, ports), 2)
