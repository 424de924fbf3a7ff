"""A few mass points that move as many do: the kinetic energy of a flexible body knows second moments alone.

A mass point moves to s = r + Φη + ½η*Qη, linear in its features f = (1, r, Φ, Q). All integrals of the equations of
motion (mass, first moments, inertia tensor, the modes' couplings with rotation and with each other, …) are entries of

    𝒢 = Σ m f f*

and any points with the same 𝒢 are the same body. Their number need not exceed the rank of 𝒢: from √m f = one row of a
factor of 𝒢 each, turned so that all have the same mass. A body of a thousand nodes and four modes takes 16 at most;
a beam whose modes are two shapes in each of two planes takes 4, as its features are 1, x and the two shapes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...errors import ModelError
from ...tolerances import roundings


class Points(NamedTuple):
    """Mass points: masses (N,) [kg], places (N, 3) [m], shapes Φ (N, 3, n), and Q (N, 3, n, n) or None."""

    masses: np.ndarray
    places: np.ndarray
    shapes: np.ndarray
    bends: np.ndarray | None = None

    @property
    def modes(self) -> int:
        return int(self.shapes.shape[-1])

    def features(self) -> np.ndarray:
        """(N, 4 + 3n + …), one row per point: 1, r, Φ, Q."""
        count = len(self.masses)
        parts = [np.ones((count, 1)), self.places, self.shapes.reshape(count, -1)]
        if self.bends is not None:
            above = np.triu_indices(self.modes)
            parts.append(self.bends[:, :, *above].reshape(count, -1))
        return np.concatenate(parts, axis=1)

    def of_features(self, masses: np.ndarray, features: np.ndarray) -> Points:
        """Points of the same kind with these masses and features."""
        n, count = self.modes, len(masses)
        bends = None
        if self.bends is not None:
            bends = np.zeros((count, 3, n, n))
            above = np.triu_indices(n)
            bends[:, :, *above] = features[:, 4 + 3 * n :].reshape(count, 3, -1)
            bends = np.where(np.triu(np.ones((n, n), bool)), bends, np.swapaxes(bends, -1, -2))
        return Points(masses, features[:, 1:4], features[:, 4 : 4 + 3 * n].reshape(count, 3, n), bends)


def fewest(points: Points) -> Points:
    """Points of one mass with the same second moments, as few as there can be; those given where they are no more.

    Features that vanish at all points stay exactly zero, and features that are equal stay so.
    """
    held = points.masses > 0
    F = points.features()[held]
    distinct, which = np.unique(F, axis=1, return_inverse=True)
    scale = np.sqrt(points.masses[held] @ distinct**2)
    used = scale > 0
    scaled = np.sqrt(points.masses[held])[:, None] * distinct[:, used] / scale[used]
    _, sizes, rows = np.linalg.svd(scaled, full_matrices=False)
    rank = int((sizes > sizes[0] * roundings(max(scaled.shape), float)).sum())
    if rank >= held.sum():
        bends = None if points.bends is None else points.bends[held]
        return Points(points.masses[held], points.places[held], points.shapes[held], bends)
    factor = np.zeros((rank, len(scale)))
    factor[:, used] = (sizes[:rank, None] * rows[:rank]) * scale[used]
    return _of_one_mass(points, factor[:, which])


def _of_one_mass(like: Points, factor: np.ndarray) -> Points:
    """The points with √m f in the rows of ``factor``, turned so that their first entries, √m, are the same."""
    ones, count = factor[:, 0], len(factor)
    root = np.linalg.norm(ones) / np.sqrt(count)
    normal = ones - root  # a reflection takes the first column to √m (1, …, 1)
    size = normal @ normal
    if size > 0:
        factor = factor - np.outer(2.0 * normal / size, normal @ factor)
    features = factor / root
    features[:, 0] = 1.0
    return like.of_features(np.full(count, root * root), features)


def from_moments(moments: np.ndarray, modes: int) -> Points:
    """Points whose second moments 𝒢 (4 + 3n, 4 + 3n), of the features (1, r, Φ by point axis and mode), are these."""
    values, vectors = _scaled_eigen(moments)
    kept = values > values[-1] * roundings(len(values), float)
    scale = np.sqrt(np.diag(moments).clip(min=0.0))
    factor = (np.sqrt(values[kept]) * vectors[:, kept]).T * scale
    like = Points(np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3, modes)))
    return _of_one_mass(like, factor)


def _scaled_eigen(moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The eigenvalues and vectors of 𝒢 with ones on its diagonal; an error where it is that of no masses."""
    scale = np.sqrt(np.diag(moments).clip(min=0.0))
    safe = np.where(scale > 0, scale, 1.0)
    scaled = moments / np.outer(safe, safe)
    values, vectors = np.linalg.eigh(scaled)
    if values[0] < -1e-9 * values[-1]:
        raise ModelError(
            "these integrals are those of no masses: their matrix of second moments, of 1, r and the mode shapes, must"
            f" not have a negative eigenvalue, and has {values[0]:.3g} (scaled to ones on the diagonal)"
        )
    return values, vectors
