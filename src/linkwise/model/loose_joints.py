"""Joints that no inertia resists: their mass matrix is singular in every configuration."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .. import singularity
from ..arrays import Array, as_numpy
from ..riccati import cross_joint
from ..spatial import congruence
from ..tolerances import PIVOT_ROUNDINGS, roundings
from .flexible.structure import shared_modes
from .joints.modal import Modal
from .model import BodyConstants, Model


def carried(c: BodyConstants) -> Array:
    """(r,) the size that D can have: inertia and mass that a joint carries, along its directions, with its rotor."""
    inertia, mass = c.load
    turns, slides = ((c.kind.H_star[part] ** 2).sum(axis=0) for part in (slice(0, 3), slice(3, 6)))
    out: Array = turns * inertia + slides * mass
    return out if c.reflected is None else out + c.reflected.diagonal(axis1=-2, axis2=-1)


def loose_joints(model: Model) -> list[int]:
    """The joints that no inertia resists, found by the articulated inertias P at a random configuration.

    A joint is loose where D = H P H* counts as singular, as in forward dynamics: massless tips, a point mass on its own
    axis, two joints in a row that move the same way. Modes of flexible bodies are held: what a joint and modes do
    together without moving any mass is not looked for.
    """
    modal = set(shared_modes(model))
    if (
        set(model.dependents) - modal
    ):  # joints of aggregates share what resists them; the others are as in the free tree
        together = {k for group in model.aggregates for k in group}
        own = tuple(c for c in model.couplings if model.joint(c.dependent) in modal)
        return [k for k in loose_joints(replace(model, couplings=own)) if k not in together]
    if _each_resists(model):
        return []
    all_q = model.random_configuration(0)
    values = [all_q[model.q_slices[shared_modes(model).get(k, k)]] for k in range(len(model.bodies))]

    def step(gathered: Any, c: BodyConstants, q: np.ndarray) -> Any:
        P = gathered + c.M.matrix
        if isinstance(c.kind, Modal):
            return congruence(c.placement.compose(c.kind.transform(q)), P), False
        H = c.kind.map(q).mT
        sizes = as_numpy(carried(c))
        _, D, _, _, P_plus = cross_joint(P, H, c.reflected, None, lambda D: _as_far_as_it_goes(as_numpy(D), sizes))
        is_loose = bool(singularity.inverse(D, sizes)[1])
        return congruence(c.placement.compose(c.kind.transform(q)), P_plus), is_loose

    found = model.tree.inward(step, 0, model.constants(), values)
    return [k for k, is_loose in enumerate(found) if is_loose]


def _each_resists(model: Model) -> bool:
    """Whether the inertia of every single body resists its joint, whatever else is there: P ≥ M where no inertia is
    negative, so that D ≥ HMH*. (A thousand times the roundings by which D counts as singular are left for its own.)"""
    constants = model.constants()
    if any(isinstance(c.kind, Modal) or c.kind.map_partials(c.kind.neutral()) is not None for c in constants):
        return False
    M = np.array([as_numpy(c.M.matrix) for c in constants]).reshape(-1, 6, 6)
    lowest = np.linalg.eigvalsh(M)[:, 0] if len(M) else np.zeros(0)
    if (lowest < 0.0).any():
        return False
    for m, c in zip(M, constants):
        H = c.kind.H_star
        if singularity.inverse(H.T @ m @ H, as_numpy(carried(c)), 1000 * PIVOT_ROUNDINGS)[1]:
            return False
    return True


def _as_far_as_it_goes(D: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """D⁻¹ in the directions that something resists, so that the search goes on inboard of a loose joint."""
    root = np.sqrt(np.where(sizes > 0, sizes, 1.0))
    values, vectors = np.linalg.eigh(D / np.outer(root, root))
    resisted = values > roundings(PIVOT_ROUNDINGS, D.dtype)
    half = (vectors / np.where(resisted, np.sqrt(np.where(resisted, values, 1.0)), np.inf)) / root[:, None]
    return np.asarray(half @ half.T)
