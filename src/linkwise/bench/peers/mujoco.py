"""MuJoCo: its smooth dynamics without contacts, called in a C loop."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np

from ...interop.availability import NotHere, needs
from ...interop.mujoco import layout, to_mujoco
from ...robot.robot import Robot
from ..cases import PLAIN, Case
from ..native import FAST, build, over_states
from ..peer import Peer, Work, needs_float64, needs_function


def in_loop(robot: Robot, case: Case, arguments: list[np.ndarray]) -> Work:
    needs_float64(case)
    needs_function(case, PLAIN)
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
