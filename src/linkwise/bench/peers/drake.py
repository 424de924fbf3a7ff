"""Drake: one call per state from Python, the only way it offers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...interop.layout import Layout
from ...model.model import Model
from ...robot.robot import Robot
from ..cases import Case
from ..peer import Peer, Work, needs, needs_float64, needs_function, needs_joints


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


def in_loop(robot: Robot, case: Case, arguments: list[np.ndarray]) -> Work:
    needs_float64(case)
    needs_function(case, ("forward_dynamics", "inverse_dynamics", "mass_matrix"))
    tree = needs("pydrake.multibody.tree", "drake")
    plant = to_drake(robot)
    own = layout(robot, plant)
    context = plant.CreateDefaultContext()
    inputs = own.arguments(case.function, arguments)
    states = np.hstack(inputs[:2])
    rows = range(case.batch)

    def inverse(i: int) -> Any:
        plant.SetPositionsAndVelocities(context, states[i])
        return plant.CalcInverseDynamics(context, inputs[2][i], still) - plant.CalcGravityGeneralizedForces(context)

    def forward(i: int) -> Any:
        plant.SetPositionsAndVelocities(context, states[i])
        torque.FixValue(context, inputs[2][i])
        return acceleration.Eval(context)

    def mass(i: int) -> Any:
        plant.SetPositions(context, inputs[0][i])
        return plant.CalcMassMatrix(context)

    still = tree.MultibodyForces(plant)
    torque = plant.get_applied_generalized_force_input_port()
    acceleration = plant.get_generalized_acceleration_output_port()
    calls: dict[str, Callable[[int], Any]] = {
        "forward_dynamics": forward,
        "inverse_dynamics": inverse,
        "mass_matrix": mass,
    }
    one = calls[case.function]
    return Work(
        lambda: [one(i) for i in rows],
        lambda found: own.result(case.function, arguments, np.stack(found)),
    )


LOOP = Peer(
    "Drake, Python loop",
    ("drake",),
    "one state after the other from Python: SetPositionsAndVelocities, then the generalized_acceleration port,"
    " CalcInverseDynamics and CalcGravityGeneralizedForces, or CalcMassMatrix",
    in_loop,
)
