"""Joints that no inertia resists: their mass matrix is singular in every configuration."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Array, as_numpy
from ..riccati import cross_joint
from ..spatial import congruence
from .model import BodyConstants, Model

_NOTHING = 1e-12  # of the body's articulated inertia, what counts as none


def loose_joints(model: Model) -> list[int]:
    """The joints that no inertia resists, found by the articulated inertias P at a random configuration.

    A joint is loose where D = H P H* has an eigenvalue that is zero to rounding: massless tips, a point
    mass on its own axis, two joints in a row that move the same way.
    """
    if model.couplings:  # joints of aggregates share what resists them; the others are as in the free tree
        together = {k for group in model.aggregates for k in group}
        return [k for k in loose_joints(replace(model, couplings=())) if k not in together]
    q = model.random_configuration(0)

    def step(gathered: Any, c: BodyConstants, where: slice) -> Any:
        P, H = gathered + c.M.matrix, c.kind.map(q[where]).mT
        _, D, _, _, P_plus = cross_joint(P, H, c.reflected, None, _as_far_as_it_goes)
        is_loose = len(D) > 0 and np.linalg.eigvalsh(as_numpy(D))[0] <= _NOTHING * np.abs(as_numpy(P)).max()
        return congruence(c.placement.compose(c.kind.transform(q[where])), P_plus), is_loose

    found = model.tree.inward(step, 0, model.constants(), model.q_slices)
    return [k for k, is_loose in enumerate(found) if is_loose]


def _as_far_as_it_goes(D: Array) -> Array:
    """D⁻¹ in the directions that something resists, so that the search goes on inboard of a loose joint."""
    return np.linalg.pinv(as_numpy(D), rcond=_NOTHING, hermitian=True)
