"""States in MuJoCo's coordinates and in linkwise's, either way, in batches.

MuJoCo puts a quaternion's w first; a free joint's velocity is [linear; angular], linear in world axes, angular
in body axes. linkwise has quaternions x, y, z, w and the velocity [ω; v], both in body axes. Everything else is
the same for a robot read from an MJCF file, in the same order, up to the references of hinges and slides.
With qvel = T(q) v, joint forces are τ = T* τ_MuJoCo, and accelerations differ by Ṫ v = [R(ω × v); 0] as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import as_numpy
from ..errors import InputError, NotAdmittedError
from ..model.flexible.structure import grouped
from ..model.model import Model
from ..spatial import rotation_from_quaternion

_KINDS = ("revolute", "prismatic", "spherical", "free")


@dataclass(frozen=True, eq=False)
class MujocoStates:
    """Turns states of ``model`` into MuJoCo's and back; ``qpos0`` is that of the MuJoCo model (default: zeros).

    Every argument takes leading batch dimensions.
    """

    model: Model
    qpos0: Any = None

    def __post_init__(self) -> None:
        if self.model.couplings:
            raise NotAdmittedError(
                f"MuJoCo's states have an entry for every joint, and the robot has {grouped(self.model)}; uncouple them"
                " (points of flexible bodies have no counterpart)"
            )
        for j in self.model.joints:
            if j.kind.kind not in _KINDS:
                raise NotAdmittedError(f"MuJoCo has no counterpart of the {j.kind.kind} joint {j.name!r}")
        zero = np.zeros(self.model.nq) if self.qpos0 is None else np.array(self.qpos0, dtype=float)
        if zero.shape != (self.model.nq,):
            raise InputError(f"qpos0 must have {self.model.nq} numbers, got shape {zero.shape}")
        for where, _, kind in self._joints():
            if kind not in ("revolute", "prismatic"):
                zero[where] = 0.0
        object.__setattr__(self, "qpos0", zero)

    def _joints(self) -> list[tuple[slice, slice, str]]:
        return [(a, b, j.kind.kind) for j, a, b in zip(self.model.joints, self.model.q_slices, self.model.v_slices)]

    # --- to MuJoCo ---------------------------------------------------------------------------------

    def qpos(self, q: Any) -> np.ndarray:
        """qpos (..., nq) of configurations q (..., nq)."""
        qpos: np.ndarray = self._quaternions(np.asarray(q, dtype=float), 1) + self.qpos0
        return qpos

    def qvel(self, q: Any, v: Any) -> np.ndarray:
        """qvel (..., nv) of velocities v (..., nv) at q; also for T(q) times any (..., nv)."""
        return _times(self.velocity_map(q), v)

    def qacc(self, q: Any, v: Any, a: Any) -> np.ndarray:
        """qacc (..., nv) of accelerations a (..., nv) at (q, v)."""
        qacc: np.ndarray = self.qvel(q, a) + self._drift(q, v)
        return qacc

    def qfrc(self, q: Any, tau: Any) -> np.ndarray:
        """Generalised forces (..., nv) in MuJoCo's coordinates, of joint forces tau (..., nv) at q."""
        return self.qvel(q, tau)  # T is orthogonal

    # --- from MuJoCo -------------------------------------------------------------------------------

    def q(self, qpos: Any) -> np.ndarray:
        """Configurations q (..., nq) of qpos (..., nq)."""
        return self._quaternions(np.asarray(qpos, dtype=float) - self.qpos0, -1)

    def v(self, q: Any, qvel: Any) -> np.ndarray:
        """Velocities (..., nv) of qvel (..., nv), at the configuration q (in linkwise's coordinates)."""
        return _times(np.swapaxes(self.velocity_map(q), -1, -2), qvel)

    def a(self, q: Any, v: Any, qacc: Any) -> np.ndarray:
        """Accelerations (..., nv) of qacc (..., nv), at the state (q, v) in linkwise's coordinates."""
        return self.v(q, np.asarray(qacc, dtype=float) - self._drift(q, v))

    def tau(self, q: Any, qfrc: Any) -> np.ndarray:
        """Joint forces (..., nv) of generalised forces qfrc (..., nv), at the configuration q."""
        return self.v(q, qfrc)

    # --- the map -----------------------------------------------------------------------------------

    def velocity_map(self, q: Any) -> np.ndarray:
        """T(q), (..., nv, nv), orthogonal: qvel = T v."""
        q = np.asarray(q, dtype=float)
        T = np.broadcast_to(np.eye(self.model.nv), (*q.shape[:-1], self.model.nv, self.model.nv)).copy()
        for a, b, kind in self._joints():
            if kind == "free":
                block = np.zeros((*q.shape[:-1], 6, 6))
                block[..., :3, 3:] = rotation_from_quaternion(q[..., a][..., 3:])
                block[..., 3:, :3] = np.eye(3)
                T[..., b, b] = block
        return T

    def _drift(self, q: Any, v: Any) -> np.ndarray:
        """Ṫ v."""
        q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
        out = np.zeros((*np.broadcast_shapes(q.shape[:-1], v.shape[:-1]), self.model.nv))
        for a, b, kind in self._joints():
            if kind == "free":
                R, x = as_numpy(rotation_from_quaternion(q[..., a][..., 3:])), v[..., b]
                out[..., b.start : b.start + 3] = _times(R, np.cross(x[..., :3], x[..., 3:]))
        return out

    def _quaternions(self, q: np.ndarray, roll: int) -> np.ndarray:
        """q with every quaternion turned round: xyzw → wxyz for roll = 1, back for −1."""
        out = q.copy()
        for a, _, kind in self._joints():
            if kind in ("spherical", "free"):
                where = slice(a.stop - 4, a.stop)
                out[..., where] = np.roll(q[..., where], roll, axis=-1)
        return out


def _times(matrix: np.ndarray, vector: Any) -> np.ndarray:
    product: np.ndarray = (matrix @ np.asarray(vector, dtype=float)[..., None])[..., 0]
    return product
