"""MuJoCo: its smooth dynamics without contacts, called in a C loop."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np

from ...interop.layout import Layout, depth_first
from ...model.model import Model
from ...robot.robot import Robot
from ...spatial import quaternion_from_rotation
from ..cases import Case
from ..native import FAST, build, over_states
from ..peer import NotHere, Peer, Work, needs, needs_float64, needs_joints

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
        x, y, z, w = quaternion_from_rotation(np.array(body.joint.placement.R))
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


def in_loop(robot: Robot, case: Case, arguments: list[np.ndarray]) -> Work:
    needs_float64(case)
    mujoco = needs("mujoco", "mujoco")
    call = getattr(_library(mujoco), case.function)
    model, own = to_mujoco(mujoco, robot), layout(robot)
    data = mujoco.MjData(model)
    more = [np.eye(robot.nv)] if case.function == "mass_matrix_inverse" else []
    handles = ctypes.c_void_p(model._address), ctypes.c_void_p(data._address)

    def loop(*where: Any, keep: Any = (model, data)) -> None:
        call(*handles, *where)

    return over_states(robot, case, arguments, own, loop, *more)


def _library(mujoco: Any) -> ctypes.CDLL:
    package = Path(mujoco.__file__).parent
    shared = next(iter(sorted(package.glob("libmujoco.so*"))), None)
    if shared is None or not (package / "include").is_dir():
        raise NotHere("the library and headers of MuJoCo are not where its wheel has them")
    source = Path(__file__).with_name("mujoco_loop.c").read_text(encoding="utf-8")
    flags = [*FAST, f"-I{package / 'include'}", str(shared)]
    return ctypes.CDLL(str(build("gcc", source, [*flags, f"-Wl,-rpath,{package}"])))


LOOP = Peer(
    "MuJoCo, C loop",
    ("mujoco",),
    "in a C loop, no contacts: mj_kinematics, mj_comPos, then mj_makeM, mj_factorM, mj_comVel, mj_rne, mj_solveM"
    " (forward), mj_comVel, mj_rne (inverse), mj_makeM, mj_fullM (mass matrix), mj_makeM, mj_factorM, mj_solveM on the"
    " identity (inverse mass matrix)",
    in_loop,
)
