"""Pinocchio as an oracle: the same file, states mapped by joint name, answers in linkwise's conventions.

Pinocchio puts the linear part first, orders joints by name, keeps unbounded angles as (cos, sin), and has
the free joint's velocity as [linear; angular] in body axes. Everything is turned around here, so that a
test compares like with like.
"""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import numpy as np
import pinocchio as pin

import linkwise as lw

ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]


def example_files() -> dict[str, Path]:
    """Every URDF file of the package example-robot-data, by a short unique name; none where it is missing."""
    try:
        files = metadata.files("example-robot-data") or []
    except metadata.PackageNotFoundError:
        files = []
    found = {f"{f.parts[-3].removesuffix('_description')}/{f.stem}": f for f in files if f.suffix == ".urdf"}
    return {name: Path(str(found[name].locate())) for name in sorted(found)}


class Oracle:
    """Pinocchio's answers for one robot at single states q (nq,), v (nv,) given in linkwise's coordinates."""

    def __init__(self, robot: lw.Robot, source: Path | str, floating: bool = False) -> None:
        self.robot = robot
        root = (pin.JointModelFreeFlyer(),) if floating else ()
        build = pin.buildModelFromUrdf if isinstance(source, Path) else pin.buildModelFromXML
        self.model = build(str(source), *root)
        self.data = self.model.createData()
        self.joint_ids = [self.model.getJointId(j.name) for j in robot.joints]
        self.order = self._velocity_order()

    def _velocity_order(self) -> np.ndarray:
        """(nv,): where Pinocchio keeps each of linkwise's velocities."""
        order: list[int] = []
        for joint, i in zip(self.robot.joints, self.joint_ids):
            own = ANGULAR_FIRST if isinstance(joint.kind, lw.Free) else range(joint.kind.nv)
            order += [self.model.idx_vs[i] + k for k in own]
        assert sorted(order) == list(range(self.model.nv))
        return np.array(order, dtype=int)

    def links(self) -> list[str]:
        """The names of all links of the file."""
        return [f.name for f in self.model.frames if f.type == pin.FrameType.BODY]

    # --- states ------------------------------------------------------------------------------------

    def q(self, q: np.ndarray) -> np.ndarray:
        """A configuration (nq,) in Pinocchio's coordinates."""
        out = np.full(self.model.nq, np.nan)
        for i, joint, own in zip(self.joint_ids, self.robot.joints, self.robot.q_slices):
            x, start, count = q[own], self.model.idx_qs[i], self.model.nqs[i]
            if isinstance(joint.kind, lw.Planar):
                x = np.array([x[0], x[1], np.cos(x[2]), np.sin(x[2])])
            elif isinstance(joint.kind, lw.Revolute) and count == 2:
                x = np.array([np.cos(x[0]), np.sin(x[0])])
            out[start : start + count] = x
        return out

    def v(self, v: np.ndarray) -> np.ndarray:
        """A velocity, acceleration or joint force (nv,) in Pinocchio's order."""
        out = np.empty(self.model.nv)
        out[self.order] = v
        return out

    # --- answers -----------------------------------------------------------------------------------

    def pose(self, q: np.ndarray, link: str) -> tuple[np.ndarray, np.ndarray]:
        pin.framesForwardKinematics(self.model, self.data, self.q(q))
        placement = self.data.oMf[self.frame(link)]
        return placement.rotation.copy(), placement.translation.copy()

    def frame(self, link: str) -> int:
        return self.model.getFrameId(link, pin.FrameType.BODY)

    def jacobian(self, q: np.ndarray, link: str) -> np.ndarray:
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        J = pin.computeFrameJacobian(self.model, self.data, self.q(q), self.frame(link), axes)
        return J[ANGULAR_FIRST][:, self.order]

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        upper = np.triu(pin.crba(self.model, self.data, self.q(q)))
        M = upper + np.triu(upper, 1).T
        return M[self.order][:, self.order]

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        return pin.rnea(self.model, self.data, self.q(q), self.v(v), self.v(a))[self.order]

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return pin.aba(self.model, self.data, self.q(q), self.v(v), self.v(tau))[self.order]

    def bias_force(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return pin.nonLinearEffects(self.model, self.data, self.q(q), self.v(v))[self.order]

    def energy(self, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        kinetic = pin.computeKineticEnergy(self.model, self.data, self.q(q), self.v(v))
        return kinetic, pin.computePotentialEnergy(self.model, self.data, self.q(q))

    def center_of_mass(self, q: np.ndarray) -> np.ndarray:
        return pin.centerOfMass(self.model, self.data, self.q(q)).copy()
