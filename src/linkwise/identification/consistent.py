"""The nearest parameters that real bodies can have: a convex fit with positive pseudo-inertias.

A body has mass everywhere not negative exactly where its pseudo-inertia

    [[Σ, h], [h*, m]] ≥ 0,    Σ = ½ tr(J) I − J

is positive semidefinite (Wensing, Kim and Slotine, "Linear matrix inequalities for physically-consistent inertial
parameter identification", RA-L 2018). With the estimate θ̂ and its covariance, the fit is

    min ‖u‖² + λ‖n‖²,   θ = θ̂ + Lu + Nn,

u in standard errors along what the data tell, n along what they do not: the data are met first, and what they leave
open stays as near to the robot's own as it can. Clarabel, an interior-point solver, finds it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import SingularError
from ..extras import require
from .unknowns import Unknowns

_UNTOLD = 1e-6  # λ: what is not told counts a thousandth, in scales of the robot, of a standard error
_MARGIN = 1e-6  # by which pseudo-inertias are positive, in scales of the robot, so that rounding cannot undo it


def nearest_consistent(
    unknowns: Unknowns, theta: np.ndarray, projection: np.ndarray, covariance: np.ndarray
) -> np.ndarray:
    """θ (unknowns,) of real bodies, nearest to the estimate ``theta`` in its own error bars."""
    scales = unknowns.scales
    steps, untold = told_and_untold(projection, scales)
    L = steps @ np.linalg.cholesky(covariance)
    directions = np.concatenate([L, untold], axis=1)  # θ = θ̂ + directions [u; n]
    weights = np.concatenate([np.ones(L.shape[1]), np.full(untold.shape[1], _UNTOLD)])
    return np.asarray(theta + directions @ _minimised(weights, *_cones(unknowns, theta, directions)))


def told_and_untold(projection: np.ndarray, scales: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(L, N): the least changes of θ, in these scales, that change one combination by one; and what changes none."""
    U, S, Vt = np.linalg.svd(projection * scales)
    rank = len(S)
    steps = scales[:, None] * (Vt[:rank].T / S @ U.T)
    return steps, scales[:, None] * Vt[rank:].T


def pseudo_inertia(p: np.ndarray) -> np.ndarray:
    """The pseudo-inertia (4, 4) of the ten parameters of a body."""
    m, hx, hy, hz, xx, xy, yy, xz, yz, zz = p
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    out = np.empty((4, 4))
    out[:3, :3] = 0.5 * np.trace(J) * np.eye(3) - J
    out[:3, 3] = out[3, :3] = hx, hy, hz
    out[3, 3] = m
    return out


def _cones(unknowns: Unknowns, theta: np.ndarray, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray, int, int]:
    """(A, b, count of numbers, count of bodies): b − Az holds numbers ≥ 0, then pseudo-inertias ≥ 0, in scales."""
    scales = unknowns.scales
    first = unknowns.parts["rotors"].start
    plain = list(range(first, unknowns.parts["offsets"].start))  # rotors, damping, friction
    A, b = [-directions[plain] / scales[plain, None]], [theta[plain] / scales[plain]]
    to_cone = _TRIANGLE @ np.stack([pseudo_inertia(e).ravel() for e in np.eye(10)], axis=1)
    for k in range(len(unknowns.bodies)):
        own = slice(10 * k, 10 * k + 10)
        in_scales = to_cone / _cone_scales(scales[own])[:, None]
        A.append(-in_scales @ directions[own])
        b.append(in_scales @ theta[own] - _MARGIN * _TRIANGLE @ np.eye(4).ravel())
    return np.concatenate(A), np.concatenate(b), len(plain), len(unknowns.bodies)


_UPPER = tuple((i, j) for j in range(4) for i in range(j + 1))


def _triangle() -> np.ndarray:
    """The upper triangle of a symmetric 4 × 4 matrix, by columns, off-diagonal entries times √2, (10, 16)."""
    out = np.zeros((10, 16))
    for row, (i, j) in enumerate(_UPPER):
        out[row, 4 * i + j] = 1.0 if i == j else np.sqrt(2.0)
    return out


_TRIANGLE = _triangle()


def _cone_scales(scales: np.ndarray) -> np.ndarray:
    """What makes entries of the pseudo-inertia of about one: a congruence, which keeps it positive."""
    root = np.sqrt(np.array([scales[4]] * 3 + [scales[0]]))
    return np.array([root[i] * root[j] for i, j in _UPPER])


def _minimised(weights: np.ndarray, A: np.ndarray, b: np.ndarray, numbers: int, bodies: int) -> np.ndarray:
    solver: Any = require("clarabel", "identify", "a fit of physically consistent inertias, which Clarabel solves,")
    sparse: Any = require("scipy.sparse", "identify", "a fit of physically consistent inertias")
    settings = solver.DefaultSettings()
    settings.verbose = False
    cones = ([solver.NonnegativeConeT(numbers)] if numbers else []) + [solver.PSDTriangleConeT(4)] * bodies
    P = sparse.csc_matrix(np.diag(2.0 * weights))
    found = solver.DefaultSolver(P, np.zeros(len(weights)), sparse.csc_matrix(A), b, cones, settings).solve()
    if str(found.status) not in ("Solved", "AlmostSolved"):
        raise SingularError(f"no consistent inertias were found: Clarabel says {found.status}")
    return np.array(found.x)
