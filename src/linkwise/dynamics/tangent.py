"""Tangent vectors of configurations: rates of q, and how small changes δq are carried along a motion.

A change δq(t) of a moving configuration obeys H*δq̇ = H*δβ − (H*β) × (H*δq) at every joint that moves by
exponentials (spherical, planar, free): two neighbouring motions turn relative to each other. At joints with
ordinary coordinates δq̇ = δβ.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import Array
from ..errors import NotAdmittedError
from ..model.joints.axes import columns_commute
from ..model.joints.kinds import JointKind
from ..model.model import Model
from ..spatial import cross_motion


def configuration_rate(model: Model, q: Array, v: Array) -> Array:
    """q̇ (..., nq) for the velocity v (..., nv)."""
    parts: list[Array] = []
    for joint, of_q, of_v in model.coordinates:
        rate = joint.kind.rate(q[..., of_q], v[..., of_v])
        parts += [rate[..., i] for i in range(joint.kind.nq)]
    return arrays.stack(parts) if parts else arrays.zeros(q.shape, like=q)


@lru_cache(maxsize=1024)
def brackets(kind: JointKind, name: str) -> np.ndarray | None:
    """(r, r, r): column j of entry i is [h_i, h_j] = h_i × h_j in coordinates of H*; None where all are zero.

    An error where the brackets leave the span of H*: neighbouring motions of a non-holonomic joint do not
    stay joined by δq of r numbers.
    """
    kind = kind.of_numbers  # which are turned against each other, and have the same brackets
    H, r = kind.H_star, kind.nv
    if r < 2 or kind.map_partials(kind.neutral()) is not None:
        return None
    if columns_commute(H):
        return None
    found = np.array([cross_motion(H[:, [i]], H) for i in range(r)])
    coordinates: np.ndarray = np.linalg.pinv(H) @ found
    if np.abs(H @ coordinates - found).max() > 1e-9 * np.abs(H).max() ** 2:
        raise NotAdmittedError(
            f"the joint {name!r} is non-holonomic: its {r} velocities do not close under brackets, so that changes"
            f" of its configuration along a motion are not {r} numbers"
        )
    coordinates[np.abs(coordinates) < 1e-14 * np.abs(coordinates).max()] = 0.0
    return coordinates


def commutes(model: Model) -> bool:
    """Whether all joints have ordinary coordinates, whose changes add up; an error where one is non-holonomic."""
    return all(brackets(j.kind, j.name) is None for j, _, _ in model.coordinates)


def turning(model: Model) -> list[slice]:
    """Which of the velocities (nv) are those of joints that move by exponentials, joint by joint."""
    return [of_v for joint, _, of_v in model.coordinates if brackets(joint.kind, joint.name) is not None]


def transport(model: Model, v: Array) -> Array:
    """X (..., nv, nv) with δq̇ = δv + Xδq: −(H*β)× in the coordinates of each joint, zero at ordinary ones."""
    blocks: dict[tuple[int, int], Array] = {}
    for k, (joint, _, of_v) in enumerate(model.coordinates):
        X = _transport(joint, v[..., of_v])
        if X is not None:
            blocks[k, k] = X
    sizes = [j.kind.nv for j, _, _ in model.coordinates]
    return arrays.from_blocks(blocks, sizes, sizes, like=v)


def _transport(joint: Any, beta: Array) -> Array | None:
    """The block of one joint (..., r, r); None where it is zero."""
    C = brackets(joint.kind, joint.name)
    if C is None:
        return None
    C = arrays.constant(C, like=beta)
    return arrays.total([-(beta[..., i : i + 1, None] * C[i]) for i in range(joint.kind.nv)])


def step_maps(model: Model, dv: Array) -> tuple[Array, Array]:
    """(Y, Z), each (..., nv, nv), with (q ⊕ δq) ⊕ (dv + δ) = (q ⊕ dv) ⊕ (Yδq + Zδ) to first order."""
    found: tuple[dict[tuple[int, int], Array], ...] = ({}, {})
    for k, (joint, _, of_v) in enumerate(model.coordinates):
        maps = _step_maps(joint, dv[..., of_v])
        one = arrays.eye(joint.kind.nv, like=dv)
        for blocks, map_of in zip(found, maps or (one, one)):
            blocks[k, k] = map_of
    sizes = [j.kind.nv for j, _, _ in model.coordinates]
    Y, Z = (arrays.from_blocks(blocks, sizes, sizes, like=dv) for blocks in found)
    return Y, Z


def turning_maps(model: Model, dv: Array) -> list[tuple[Array, Array]]:
    """The blocks of :func:`step_maps` that are not one, (..., r, r), those of :func:`turning`."""
    found = (_step_maps(joint, dv[..., of_v]) for joint, _, of_v in model.coordinates)
    return [maps for maps in found if maps is not None]


def _step_maps(joint: Any, dv: Array) -> tuple[Array, Array] | None:
    """Y = exp(−ad) and Z = Σ (−ad)ⁱ/(i+1)! of a joint's step dv; None where both are one.

    Series of an eighth of it, doubled three times by Y(2x) = Y(x)², Z(2x) = ½(1 + Y(x))Z(x). To rounding for turns of
    up to 2π.
    """
    whole = _transport(joint, dv)
    if whole is None:
        return None
    X = whole / 8.0
    identity = arrays.eye(joint.kind.nv, like=dv)
    Y: Any = identity
    Z: Any = identity
    power: Any = identity
    for i in range(1, 15):
        power = power @ X / float(i)
        Y = Y + power
        Z = Z + power / float(i + 1)
    for _ in range(3):
        Z = 0.5 * (Z + Y @ Z)
        Y = Y @ Y
    return Y, Z
