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
from ..arrays import Array
from ..model.model import Model
from .hybrid import given_nodes, hybrid_sweeps
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
    columns = degrees_of(model, driven)
    units = links.split_rows(arrays.constant(np.eye(model.nv)[:, columns], like=links.q))
    start = arrays.zeros((6, len(columns)), like=links.q)
    motions, beta_dot, _ = hybrid_sweeps(links, given, units, start)
    return beta_dot, motions
