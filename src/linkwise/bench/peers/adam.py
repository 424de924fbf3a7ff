"""adam on CasADi, generated as C. Its robots always float, so of a fixed arm it has the mass matrix alone."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ...interop.availability import NotHere, needs, needs_joints
from ...interop.layout import Layout
from ...interop.robot_files import floats, moving, urdf
from ...robot.robot import Robot
from ..cases import Case
from ..peer import Peer, Work, needs_float64, needs_function
from .casadi_c import compiled


def in_loop(robot: Robot, case: Case, arguments: list[np.ndarray]) -> Work:
    needs_float64(case)
    needs_function(case, ("forward_dynamics", "mass_matrix"))
    needs_joints(robot, "revolute", "free")  # in adam 0.5 the map of a prismatic joint has twelve rows
    if case.function == "forward_dynamics" and not floats(robot):
        raise NotHere("its forward dynamics is that of a floating base")
    own = Layout(robot, list(range(len(robot.bodies))))
    return compiled(_generated(robot, case), robot, case, arguments, own)


def _generated(robot: Robot, case: Case) -> str:
    """The C code of one function of one robot."""
    casadi, peer = needs("casadi", "casadi"), _to_adam(robot)
    q, v, x = (casadi.SX.sym(name, n) for name, n in (("q", robot.nq), ("v", robot.nv), ("x", robot.nv)))
    if case.function == "forward_dynamics":
        inputs, out = [q, v, x], peer.aba(_pose(casadi, q), q[7:], v[:6], v[6:], x[6:])
    elif floats(robot):
        inputs, out = [q], peer.mass_matrix(_pose(casadi, q), q[7:])
    else:
        inputs, out = [q], peer.mass_matrix(casadi.SX.eye(4), q)[6:, 6:]
    function = casadi.Function("evaluate", inputs, [casadi.densify(out)])
    code = casadi.CodeGenerator("evaluate.c")
    code.add(function)
    return str(code.dump())


def _to_adam(robot: Robot) -> Any:
    module = needs("adam.casadi", "adam-robotics[casadi]")
    gravity = np.array([*robot.gravity, 0.0, 0.0, 0.0])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "robot.urdf")
        path.write_text(urdf(robot), encoding="utf-8")
        peer = module.KinDynComputations(str(path), [b.joint.name for b in moving(robot)], gravity=gravity)
    peer.set_frame_velocity_representation(needs("adam", "adam-robotics").Representations.BODY_FIXED_REPRESENTATION)
    return peer


def _pose(casadi: Any, q: Any) -> Any:
    """The homogeneous transform of the base."""
    x, y, z, w = q[3], q[4], q[5], q[6]
    R = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    rows = [casadi.horzcat(*R[i], q[i]) for i in range(3)]
    return casadi.vertcat(*rows, casadi.SX([[0, 0, 0, 1]]))


CASADI = Peer(
    "adam, CasADi, C",
    ("adam-robotics", "casadi"),
    "its CasADi functions aba or mass_matrix as C, called in a C loop; the quicker build by clang and gcc, both"
    " -O3 -march=native",
    in_loop,
)
