"""JaxSim: JAX, vmapped over the batch, velocities in body axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...interop.availability import NotHere, needs, needs_joints
from ...interop.layout import Layout
from ...interop.robot_files import floats, sdf
from ...robot.robot import Robot
from ..cases import PLAIN, Case
from ..peer import Peer, Work, needs_float64, needs_function
from .jax_calls import jax_module, prepared


def over_batch(robot: Robot, case: Case, arguments: list[np.ndarray]) -> Work:
    needs_float64(case)
    needs_function(case, PLAIN)
    needs_joints(robot, "revolute", "prismatic", "free")
    if tuple(robot.gravity[:2]) != (0.0, 0.0):
        raise NotHere(f"gravity along z only, the robot's is {tuple(robot.gravity)}")
    if case.function == "mass_matrix_inverse" and not floats(robot):
        raise NotHere("its inverse mass matrix is that of a floating base")
    jax = jax_module()
    js = needs("jaxsim.api", "jaxsim")
    model = js.model.JaxSimModel.build_from_model_description(
        sdf(robot), is_urdf=False, gravity=float(-robot.gravity[2])
    )
    own = _layout(robot, model)
    state = _state(jax, js, model, robot)
    one = _functions(jax, js, model, robot, state)[case.function]
    inputs = own.arguments(case.function, arguments)
    return prepared(case, lambda: jax.vmap(one), inputs, lambda found: own.result(case.function, arguments, found))


def _layout(robot: Robot, model: Any) -> Layout:
    """JaxSim's order of the joints, after the base; quaternions wxyz."""
    of_name = {b.joint.name: k for k, b in enumerate(robot.bodies)}
    order = [of_name[name] for name in model.joint_names()]
    base = [0] if floats(robot) else []
    return Layout(robot, base + order, free_q=np.array([0, 1, 2, 6, 3, 4, 5]))


def _state(jax: Any, js: Any, model: Any, robot: Robot) -> Callable[..., Any]:
    """Its data object from q and, where given, v."""
    representation = needs("jaxsim", "jaxsim").VelRepr.Body
    n, m = (7, 6) if floats(robot) else (0, 0)

    def state(q: Any, v: Any = None) -> Any:
        v = jax.numpy.zeros(robot.nv) if v is None else v
        base: dict[str, Any] = {}
        if floats(robot):
            base = {
                "base_position": q[0:3],
                "base_quaternion": q[3:7],
                "base_linear_velocity": v[0:3],
                "base_angular_velocity": v[3:6],
            }
        return js.data.JaxSimModelData.build(
            model=model,
            velocity_representation=representation,
            joint_positions=q[n:],
            joint_velocities=v[m:],
            **base,
        )

    return state


def _functions(jax: Any, js: Any, model: Any, robot: Robot, state: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    np_ = jax.numpy
    m = 6 if floats(robot) else 0

    def joined(base: Any, joints: Any) -> Any:
        return np_.concatenate([base, joints]) if m else joints

    def forward(q: Any, v: Any, tau: Any) -> Any:
        return joined(*js.model.forward_dynamics_aba(model, state(q, v), joint_forces=tau[m:]))

    def inverse(q: Any, v: Any, a: Any) -> Any:
        data = state(q, v)
        base = a[:6] if m else None
        return joined(*js.model.inverse_dynamics(model, data, joint_accelerations=a[m:], base_acceleration=base))

    def block(matrix: Any) -> Any:
        return matrix if m else matrix[6:, 6:]

    return {
        "forward_dynamics": forward,
        "inverse_dynamics": inverse,
        "mass_matrix": lambda q: block(js.model.free_floating_mass_matrix(model, state(q))),
        "mass_matrix_inverse": lambda q: js.model.free_floating_mass_matrix_inverse(model, state(q)),
    }


VMAP = Peer(
    "JaxSim",
    ("jaxsim", "jax"),
    "jit(vmap(…)) of forward_dynamics_aba, inverse_dynamics, free_floating_mass_matrix and its inverse, making its data"
    " object from q and v included, until ready",
    over_batch,
)
