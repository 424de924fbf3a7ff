"""MuJoCo: a robot handed over in memory, number for number, and how it lays out states."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import as_numpy
from ..model.model import Model
from ..spatial import quaternion_from_rotation
from .availability import needs_joints
from .layout import Layout, depth_first

_JOINTS = {"revolute": "HINGE", "prismatic": "SLIDE", "spherical": "BALL", "free": "FREE"}


def to_mujoco(mujoco: Any, robot: Model) -> Any:
    """The robot as a compiled MuJoCo model, number for number, bodies depth first."""
    needs_joints(robot, "revolute", "prismatic", "free")
    spec = mujoco.MjSpec()
    spec.option.gravity = np.array(robot.gravity)
    spec.compiler.degree = False
    made: dict[int, Any] = {-1: spec.worldbody}
    for k in depth_first(robot):
        body, inertia = robot.bodies[k], robot.bodies[k].inertia
        x, y, z, w = as_numpy(quaternion_from_rotation(body.joint.placement.R))
        part = made[robot.parents[k]].add_body(name=body.name, pos=np.array(body.joint.placement.l), quat=[w, x, y, z])
        part.explicitinertial = True
        part.mass, part.ipos = inertia.mass, np.array(inertia.com)
        J = inertia.tensor
        part.fullinertia = [J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]
        kind = body.joint.kind
        joint = part.add_joint(name=body.joint.name, type=getattr(mujoco.mjtJoint, f"mjJNT_{_JOINTS[kind.kind]}"))
        if kind.kind != "free":
            joint.axis = np.array(kind.axis)
        made[k] = part
    return spec.compile()


def layout(robot: Model) -> Layout:
    """Depth first; the base's linear velocity first, in world axes; quaternions wxyz."""
    return Layout(robot, depth_first(robot), linear_in_world=True, free_q=np.array([0, 1, 2, 6, 3, 4, 5]))
