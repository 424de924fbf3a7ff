"""How joints that are not driven respond to those that are, and what that makes of the Jacobian, in O(n) per joint.

With 𝓜 split by driven joints (a) and passive ones (p), and nothing pushing the passive ones,

    𝓜_pp θ̈_p + 𝓜_pa θ̈_a = 0,    θ̈_p = S θ̈_a,    S = −𝓜_pp⁻¹𝓜_pa   (at rest, or for rates where p_p = 0),

and a frame moves by J_S = J_a + J_p S, the generalised Jacobian: of a free-flyer, whose passive joint is its base, that
with no momentum. 𝓜_pp is the mass matrix of the robot with its driven joints locked. So the Riccati recursion passes a
driven joint as a rigid one, P⁺ = P, and S takes one inward and one outward sweep over the unit accelerations of the
driven joints (math notes 12.7).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import Array
from ..model.model import Model
from ..spatial import Transform, congruence
from ..sweeps import unzip
from .articulated import matrix_of, riccati_step
from .hybrid import given_nodes
from .kinematics import tip_transform
from .links import Links, evaluate


def disturbance_map(model: Model, q: Array, driven: Iterable[int]) -> Array:
    """S (..., n_p, n_a): the accelerations of the passive joints for unit ones of the driven joints."""
    driven = sorted(driven)
    links = evaluate(model, q).nodes
    beta_dot, _ = _responses(model, links, driven)
    columns = degrees_of(model, driven)
    passive = [i for i in range(model.nv) if i not in columns]
    return links.join_rows(beta_dot, len(columns))[..., passive, :]


def generalized_jacobian(model: Model, q: Array, frame: Any, driven: Iterable[int]) -> Array:
    """J_S = J_a + J_p S (..., 6, n_a), world axes: what the outward sweep carries to the frame."""
    bodies = evaluate(model, q)
    body, tip = tip_transform(model, bodies, frame)
    driven = sorted(driven)
    if body < 0:
        return arrays.zeros((6, len(degrees_of(model, driven))), like=q)
    links = bodies.nodes
    _, motions = _responses(model, links, driven)
    return tip.T @ links.on_body(motions, body)


def degrees_of(model: Model, joints: Iterable[int]) -> list[int]:
    """The degrees of freedom of these joints, in the order of v."""
    return [i for k in sorted(joints) for i in range(model.v_slices[k].start, model.v_slices[k].stop)]


def _responses(model: Model, links: Links, driven: list[int]) -> tuple[list[Array], list[Array]]:
    """(β̇, V̇) of every node for the unit accelerations of the driven joints, from rest and without gravity."""
    given = given_nodes(model, links, set(driven), "a disturbance map")
    units = links.split_rows(arrays.constant(np.eye(model.nv)[:, degrees_of(model, driven)], like=links.q))

    def inward(gathered: Any, phi: Any, H: Array, M: Any, Gamma: Any, s: Any, name: str, *rest: Any) -> Any:
        carried, unit, is_given = rest
        P, z = gathered[0] + matrix_of(M), gathered[1]
        if is_given:
            moved = P @ (H.mT @ unit) if s is None else P @ (H.mT @ unit) + s @ unit
            return (congruence(phi, P), phi @ (z + moved)), (None, None)
        _, _, D_inverse, G, P_plus = riccati_step(P, H, Gamma, s, name, carried)
        epsilon = -(H @ z) if not isinstance(z, int) else 0.0 * unit
        return (congruence(phi, P_plus), phi @ (z + G @ epsilon)), (D_inverse @ epsilon, G)

    own = (links.phi, links.H, links.M, links.Gamma, links.s, links.names, links.carried)
    nu, G = unzip(links.tree.inward(inward, (0, 0), *own, units, given), 2)

    def outward(outer: Any, phi: Transform, H: Array, nu: Any, G: Any, unit: Array) -> Any:
        carried = phi.T @ outer[1]
        beta_dot = unit if G is None else nu - G.mT @ carried
        return beta_dot, carried + H.mT @ beta_dot

    width = len(degrees_of(model, driven))
    start = (None, arrays.zeros((6, width), like=links.q))
    return unzip(links.tree.outward(outward, start, links.phi, links.H, nu, G, units), 2)
