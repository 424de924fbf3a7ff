"""MuJoCo as an oracle: the same file, answers in linkwise's conventions. No contacts, but joint springs and dampers."""

from __future__ import annotations

import mujoco
import numpy as np

import linkwise as lw
from linkwise.interop.mujoco_states import MujocoStates


class Oracle:
    """MuJoCo's answers for one robot at single states q (nq,), v (nv,) given in linkwise's coordinates."""

    def __init__(self, robot: lw.Robot, model: mujoco.MjModel) -> None:
        self.model, self.data = model, mujoco.MjData(model)
        off = mujoco.mjtDisableBit
        # No fluid, no constraints, and of springs and dampers the linear ones of joints.
        model.opt.density = model.opt.viscosity = 0
        model.opt.disableflags |= off.mjDSBL_CONSTRAINT
        model.dof_dampingpoly[:] = model.jnt_stiffnesspoly[:] = 0.0
        self.states = MujocoStates(robot, model.qpos0)

    def _at(self, q: np.ndarray, v: np.ndarray | None = None) -> None:
        self.data.qpos[:] = self.states.qpos(q)
        self.data.qvel[:] = 0 if v is None else self.states.qvel(q, v)
        mujoco.mj_forward(self.model, self.data)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        self._at(q)
        M = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, M)
        T = self.states.velocity_map(q)
        return T.T @ M @ T

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        self._at(q, v)
        self.data.qacc[:] = self.states.qacc(q, v, a)
        mujoco.mj_inverse(self.model, self.data)
        return self.states.tau(q, self.data.qfrc_inverse)

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        self.data.qfrc_applied[:] = self.states.qfrc(q, tau)
        self._at(q, v)
        found = self.states.a(q, v, self.data.qacc.copy())
        self.data.qfrc_applied[:] = 0
        return found

    def passive(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """qfrc_passive, what springs and dampers exert."""
        self._at(q, v)
        return self.states.tau(q, self.data.qfrc_passive.copy())

    def body_pose(self, q: np.ndarray, body: int) -> tuple[np.ndarray, np.ndarray]:
        self._at(q)
        return self.data.xmat[body].reshape(3, 3).copy(), self.data.xpos[body].copy()

    def site_pose(self, q: np.ndarray, site: int) -> tuple[np.ndarray, np.ndarray]:
        self._at(q)
        return self.data.site_xmat[site].reshape(3, 3).copy(), self.data.site_xpos[site].copy()

    def energy(self, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        self._at(q, v)
        mujoco.mj_energyPos(self.model, self.data)
        mujoco.mj_energyVel(self.model, self.data)
        return float(self.data.energy[1]), float(self.data.energy[0])
