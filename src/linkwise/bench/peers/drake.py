"""Drake: one call per state from Python, the only way it offers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...interop.availability import needs
from ...interop.drake import layout, to_drake
from ...robot.robot import Robot
from ..cases import Case
from ..peer import Peer, Work, needs_float64, needs_function


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
