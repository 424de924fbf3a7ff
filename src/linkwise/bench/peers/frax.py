"""frax: JAX, vmapped over the batch."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ...interop.availability import NotHere, needs, needs_joints
from ...interop.layout import Layout
from ...interop.robot_files import floats, moving, urdf
from ...robot.robot import Robot
from ..cases import PLAIN, Case
from ..peer import Peer, Work, needs_float64, needs_function
from .jax_calls import jax_module, prepared


def over_batch(robot: Robot, case: Case, arguments: list[np.ndarray]) -> Work:
    needs_float64(case)
    needs_function(case, PLAIN)
    needs_joints(robot, "revolute", "prismatic", "free")
    if tuple(robot.gravity) != (0.0, 0.0, -9.81):
        raise NotHere(f"its gravity is fixed at (0, 0, -9.81), the robot's is {tuple(robot.gravity)}")
    jax = jax_module()
    peer = _to_frax(needs("frax.core.robot", "frax"), robot)
    own = Layout(robot, _order(robot), linear_in_world=True, free_q=np.array([0, 1, 2, 6, 3, 4, 5]))
    gravity = np.array([0.0, 0.0, 9.81, 0.0, 0.0, 0.0])
    calls = {
        "forward_dynamics": lambda q, v, tau: peer.forward_dynamics(q, v, tau, None),
        "inverse_dynamics": lambda q, v, a: peer.rnea(q, v, a, gravity, None),
        "mass_matrix": peer.mass_matrix,
        "mass_matrix_inverse": lambda q: peer.mass_matrix_inverse(peer.mass_matrix(q)),
    }
    inputs = own.arguments(case.function, arguments)
    return prepared(
        case,
        lambda: jax.vmap(calls[case.function]),
        inputs,
        lambda found: own.result(case.function, arguments, found),
    )


def _order(robot: Robot) -> list[int]:
    return list(range(len(robot.bodies)))


def _to_frax(frax: Any, robot: Robot) -> Any:
    names = [b.joint.name for b in moving(robot)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "robot.urdf")
        path.write_text(urdf(robot), encoding="utf-8")
        base = "quaternion" if floats(robot) else None
        return frax.Robot(str(path), joint_ordering=names, floating_base=base)


VMAP = Peer(
    "frax",
    ("frax", "jax"),
    "jit(vmap(…)) of forward_dynamics, rnea, mass_matrix, and mass_matrix_inverse of that, until ready",
    over_batch,
)
