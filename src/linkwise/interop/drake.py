"""Drake: a robot handed over in memory, number for number, and how it lays out states."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model.model import Model
from .availability import needs, needs_joints
from .layout import Layout


def to_drake(robot: Model) -> Any:
    """The robot as a finalised MultibodyPlant."""
    needs_joints(robot, "revolute", "prismatic", "free")
    tree, maths = needs("pydrake.multibody.tree", "drake"), needs("pydrake.math", "drake")
    plant = needs("pydrake.multibody.plant", "drake").MultibodyPlant(0.0)
    plant.mutable_gravity_field().set_gravity_vector(np.array(robot.gravity))
    frames = {-1: plant.world_frame()}
    for k, body in enumerate(robot.bodies):
        inertia, joint = body.inertia, body.joint
        added = plant.AddRigidBody(body.name, _inertia(tree, inertia))
        frames[k] = added.body_frame()
        if joint.kind.kind == "free":
            continue
        pose = maths.RigidTransform(maths.RotationMatrix(np.array(joint.placement.R)), np.array(joint.placement.l))
        place = plant.AddFrame(tree.FixedOffsetFrame(f"{body.name}_at", frames[robot.parents[k]], pose))
        make = tree.RevoluteJoint if joint.kind.kind == "revolute" else tree.PrismaticJoint
        axis = np.array(joint.kind.axis)
        plant.AddJoint(make(joint.name, place, frames[k], axis))
    plant.Finalize()
    return plant


def _inertia(tree: Any, inertia: Any) -> Any:
    J, mass, com = inertia.tensor, inertia.mass, np.array(inertia.com)
    central = tree.RotationalInertia(J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
    about_origin = central.ShiftFromCenterOfMass(mass, com)
    return tree.SpatialInertia(
        mass, com, tree.UnitInertia(*(about_origin.get_moments() / mass), *(about_origin.get_products() / mass))
    )


def layout(robot: Model, plant: Any) -> Layout:
    """Drake's order of the joints; the base's angular velocity first, all in world axes; quaternion wxyz, then x."""
    starts = {}
    for k, body in enumerate(robot.bodies):
        free = body.joint.kind.kind == "free"
        starts[k] = 0 if free else plant.GetJointByName(body.joint.name).velocity_start()
    order = sorted(starts, key=starts.__getitem__)
    return Layout(
        robot,
        order,
        linear_first=False,
        linear_in_world=True,
        angular_in_world=True,
        free_q=np.array([6, 3, 4, 5, 0, 1, 2]),
    )
