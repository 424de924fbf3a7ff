"""Coordinates in which 𝓜 is the unit matrix everywhere, for the robots that have them (DD §2).

Where the metric 𝓜 is flat (Lemma 2.2), a frame of covectors A, A*A = 𝓜, is carried from an origin along a path without
turning, and arrives the same whatever the path:

    dA/dt = A 𝓜⁻¹C(q, v),    dy/dt = A v,

with C the Coriolis matrix of the metric (𝓜̇ − 2C skew, without torsion). So y = f(θ) with ∇f = A = m*, and y moves as a
free point: ÿ = ℓT, ℓ = m⁻¹ (Lemma 2.1). Straight lines of y are the motions without forces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import inputs
from ..arrays import ArrayLike
from ..errors import InputError, NotAdmittedError, SimulationError
from ..extras import require

_EXACT = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13}


@dataclass(frozen=True, eq=False)
class FlatCoordinates:
    """y = f(θ) with unit mass matrix, zero at ``origin`` (nq,); see :meth:`Robot.flat_coordinates`."""

    robot: Any
    origin: np.ndarray

    def __call__(self, q: ArrayLike) -> np.ndarray:
        """y (..., nv) [kg^½ m or kg^½ m rad] of configurations (..., nq)."""
        return self._carried(q)[0]

    def factor(self, q: ArrayLike) -> np.ndarray:
        """m (..., nv, nv) with m m* = 𝓜 and ẏ = m*v."""
        return np.swapaxes(self._carried(q)[1], -1, -2)

    def configuration(self, y: ArrayLike) -> np.ndarray:
        """The configurations (..., nq) of y (..., nv): where the straight line from the origin leads."""
        wanted = np.asarray(inputs.vector(y, self.robot.nv, "y", self.robot), dtype=float)
        if not np.isfinite(wanted).all():
            raise InputError("y has entries that are not finite")
        flat = wanted.reshape(-1, self.robot.nv)
        start = np.broadcast_to(self.origin, (len(flat), self.robot.nq))

        def rates(t: float, x: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            v = np.linalg.solve(A, flat[..., None])[..., 0]
            return self.robot.configuration_rate(x, v, target="numpy"), A @ self._connection(x, v)

        q, _ = self._integrated(rates, start, "the coordinates")
        return q.reshape((*wanted.shape[:-1], self.robot.nq))

    def _carried(self, q: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """(y, A), carried along q(t) = origin ⊕ t(q ⊖ origin)."""
        given = np.asarray(inputs.configuration(self.robot, q), dtype=float)
        if not np.isfinite(given).all():
            raise InputError("q has entries that are not finite")
        flat = given.reshape(-1, self.robot.nq)
        start = np.broadcast_to(self.origin, flat.shape)
        v = np.asarray(self.robot.difference(start, flat, target="numpy"))

        def rates(t: float, y: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            at = self.robot.integrate(start, t * v, target="numpy")
            return (A @ v[..., None])[..., 0], A @ self._connection(at, v)

        y, A = self._integrated(rates, np.zeros_like(v), "the configuration")
        batch = given.shape[:-1]
        return y.reshape((*batch, self.robot.nv)), A.reshape((*batch, self.robot.nv, self.robot.nv))

    def _connection(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """𝓜⁻¹C(q, v)."""
        M, C = self.robot.mass_matrix(q, target="numpy"), self.robot.coriolis_matrix(q, v, target="numpy")
        found: np.ndarray = np.linalg.solve(M, C)
        return found

    def _integrated(
        self, rates: Callable[..., tuple[np.ndarray, np.ndarray]], first: np.ndarray, what: str
    ) -> tuple[np.ndarray, np.ndarray]:
        """(x, A) after unit time, from ``first`` and the Cholesky factor of 𝓜 at the origin."""
        solve_ivp = require("scipy.integrate", "adaptive", "the integration of flat coordinates").solve_ivp
        n, count = self.robot.nv, len(first)
        A = np.linalg.cholesky(self.robot.mass_matrix(self.origin, target="numpy")).T
        shape = first.shape

        def right(t: float, z: np.ndarray) -> np.ndarray:
            x, A = z[: first.size].reshape(shape), z[first.size :].reshape(count, n, n)
            return np.concatenate([part.ravel() for part in rates(t, x, A)])

        begin = np.concatenate([first.ravel(), np.broadcast_to(A, (count, n, n)).ravel()])
        done = solve_ivp(right, (0.0, 1.0), begin, **_EXACT)
        if not done.success:
            raise SimulationError(f"{what} cannot be reached from the origin: {done.message}")
        end = done.y[:, -1]
        return end[: first.size].reshape(shape), end[first.size :].reshape(count, n, n)


def flat_coordinates(robot: Any, origin: ArrayLike | None) -> FlatCoordinates:
    """See :meth:`.diagonal.Diagonalized.flat_coordinates`."""
    at = robot.neutral() if origin is None else np.array(inputs.configuration(robot, origin), dtype=float)
    if at.ndim != 1:
        raise InputError(f"the origin is one configuration ({robot.nq},), got shape {at.shape}")
    if not robot.is_diagonalizable():
        raise NotAdmittedError(
            f"robot {robot.name!r} has no coordinates in which its mass matrix is the unit matrix: the curvature of 𝓜"
            " does not vanish (robot.curvature, DD Lemma 2.2). robot.total_rates has rates that do, of no coordinates"
        )
    return FlatCoordinates(robot, at)
