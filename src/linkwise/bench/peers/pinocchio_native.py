"""Pinocchio compiled here: its algorithms in a C++ loop, and as C generated through CasADi.

The headers of Pinocchio and Boost are in the wheel of Pinocchio, those of CasADi and Eigen in that of CasADi.
"""

from __future__ import annotations

import ctypes
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ...interop.availability import NotHere, needs, needs_joints
from ...interop.layout import depth_first
from ...interop.pinocchio import KINDS, joint_letter, layout, needs_memory
from ...model.model import Model
from ...robot.robot import Robot
from ..cases import ARGUMENTS, Case
from ..native import FAST, build, compilers, over_states, quickest, run
from ..peer import Peer, Work, needs_float64, needs_function
from .casadi_c import compiled
from .casadi_simd import vectorised

_HERE = Path(__file__).parent
# What Pinocchio's own build files define for those who use it.
DEFINES = [
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30",
    "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
]


def model_text(robot: Model) -> str:
    """The robot as pinocchio_reader.hpp reads it."""
    needs_joints(robot, *KINDS, free_base_only=False)
    order = depth_first(robot)
    place = {k: i + 1 for i, k in enumerate(order)}
    lines = [f"{len(order)} {as_text(robot.gravity)}"]
    for k in order:
        body, parent = robot.bodies[k], robot.parents[k]
        kind, inertia, placement = body.joint.kind, body.inertia, body.joint.placement
        name = kind.kind if kind.kind in ("free", "spherical") else kind.kind[0].upper() + joint_letter(kind)
        axis = getattr(kind, "axis", np.zeros(3))
        numbers = [axis, placement.R, placement.l, inertia.mass, inertia.com, inertia.tensor]
        lines.append(f"{place.get(parent, 0)} {name} " + " ".join(as_text(x) for x in numbers))
    names = [frame.name for frame in robot.frames]
    lines.append(f"{len(names)} {names.index(robot.tips[-1]) if robot.tips else -1}")
    for name in names:
        k, pose = robot.frame(name)
        lines.append(f"{place.get(k, 0)} {as_text(pose.R)} {as_text(pose.l)}")
    return "\n".join(lines) + "\n"


def as_text(numbers: Any) -> str:
    return " ".join(repr(float(x)) for x in np.ravel(numbers))


def headers() -> tuple[Path, Path]:
    """(the folder of Pinocchio's headers, that of CasADi's package)."""
    pin, casadi = needs("pinocchio", "pin"), needs("casadi", "casadi")
    where = next((p for p in Path(pin.__file__).parents if (p / "include" / "pinocchio").is_dir()), None)
    package = Path(casadi.__file__).parent
    if where is None or not (package / "include" / "eigen3").is_dir():
        raise NotHere("the headers of Pinocchio and Eigen are not where the wheels of pin and casadi have them")
    return where / "include", package


def with_reader(source: Path) -> str:
    """The text of a C++ file with the reader of robots that it includes put in."""
    reader = (_HERE / "pinocchio_reader.hpp").read_text(encoding="utf-8")
    return source.read_text(encoding="utf-8").replace('#include "pinocchio_reader.hpp"', reader)


# --- a loop in C++ -----------------------------------------------------------------------------------


# Where Pinocchio has several ways to one result, all are tried.
WAYS = {
    "forward_dynamics": ("in link axes", "in world axes"),
    "mass_matrix": ("in link axes", "in world axes"),
    "operational_inertia": ("by the inverse mass matrix", "by sparse factors"),
}
# Which of its matrices lie by rows in its memory.
BY_ROWS = {
    "mass_matrix_inverse": (True,),
    "linearize_inverse": (False, True, True),
    "linearize_forward": (True, True, True),
}


def in_loop(
    robot: Robot,
    case: Case,
    arguments: list[np.ndarray],
    copied: bool = True,
    among: Iterable[str] | None = None,
) -> Work:
    """The quickest of its ways and of the builds by the compilers, all or ``among`` these."""
    needs_float64(case)
    own, text = layout(robot), model_text(robot)
    include, casadi = headers()
    flags = [*FAST, "-std=c++17", "-DNDEBUG", "-fvisibility=hidden", *DEFINES]
    flags += [f"-I{include}", f"-I{casadi / 'include' / 'eigen3'}", "-Wno-deprecated-declarations"]
    by_rows = BY_ROWS.get(case.function, (False,))
    absent = [None] * (3 - len(ARGUMENTS[case.function]))

    def made(compiler: str, way: int) -> Work:
        library = ctypes.CDLL(str(build(compiler, with_reader(_HERE / "pinocchio_loop.cpp"), flags)))
        library.make_robot.restype = ctypes.c_void_p
        handle = Handle(library, library.make_robot(text.encode()))
        function = getattr(library, case.function)

        def call(n: Any, *where: Any) -> None:
            function(handle.address, way, n, *where[:-1], *absent, where[-1])

        return over_states(robot, case, arguments, own, call, by_rows=by_rows, copied=copied)

    return quickest("C++", made, WAYS.get(case.function, ("",)), among)


class Handle:
    """A robot in Pinocchio's memory, of 4 nv³ numbers and more, given back when nobody has it any more."""

    def __init__(self, library: ctypes.CDLL, address: int):
        self.library, self.address = library, ctypes.c_void_p(address)

    def __del__(self) -> None:
        self.library.free_robot(self.address)


def in_loop_left_there(robot: Robot, case: Case, arguments: list[np.ndarray]) -> Work:
    if case.function in _VECTORS:
        raise NotHere("for large results only: copying these costs next to nothing")
    return in_loop(robot, case, arguments, copied=False)


_VECTORS = (
    "forward_dynamics",
    "inverse_dynamics",
    "jacobian_dot_v",
    "operational_inertia",
)  # small: copies cost nothing


# --- C through CasADi --------------------------------------------------------------------------------


def through_casadi(robot: Robot, case: Case, arguments: list[np.ndarray]) -> Work:
    needs_float64(case)
    return compiled(_generated(robot, case), robot, case, arguments, layout(robot))


def over_vectors(robot: Robot, case: Case, arguments: list[np.ndarray]) -> Work:
    needs_float64(case)
    return vectorised(_generated(robot, case), robot, case, arguments, layout(robot))


def _generated(robot: Robot, case: Case) -> str:
    """The C code of one function of one robot."""
    needs_function(case, [f for f in ARGUMENTS if f != "operational_inertia"])  # its solver pivots, which no symbol can
    needs_memory(robot)
    include, casadi = headers()
    flags = ["-std=c++17", "-O0", *DEFINES, f"-I{include}", f"-I{casadi / 'include'}"]
    flags += [f"-I{casadi / 'include' / 'eigen3'}", f"-L{casadi}", "-lcasadi", f"-Wl,-rpath,{casadi}"]
    compiler = next((c for c in reversed(compilers("C++")) if shutil.which(c)), "g++")
    generator = build(compiler, with_reader(_HERE / "pinocchio_casadi.cpp"), flags, suffix="")
    with tempfile.TemporaryDirectory() as folder:
        run([str(generator), case.function, folder], input=model_text(robot))
        return Path(folder, "evaluate.c").read_text(encoding="utf-8")


CASADI = Peer(
    "Pinocchio, CasADi, C",
    ("pin", "casadi"),
    "Pinocchio on CasADi's symbols, generated as C, called in a C loop; the quicker build by clang and gcc, both"
    " -O3 -march=native; results copied out",
    through_casadi,
)
VECTORS = Peer(
    "Pinocchio, CasADi, SIMD",
    ("pin", "casadi"),
    "Pinocchio on CasADi's symbols, generated as C, compiled as C++ on vectors of states, sines by the vector library"
    " of libc, states transposed in and out in registers; the quicker build by clang++ and g++, both -O3 -march=native"
    " (of functions beyond 40,000 lines by g++ alone)",
    over_vectors,
)
LOOP = Peer(
    "Pinocchio, C++ loop",
    ("pin",),
    "its headers called in a C++ loop, results copied out as they lie in its memory (of symmetric matrices it"
    " fills the upper triangles alone); the quickest of builds by clang++ and g++, both -O3 -march=native, and of its"
    " ways (link or world axes; Λ by the inverse mass matrix or by sparse factors)",
    in_loop,
)
LEFT_THERE = Peer(
    "Pinocchio, C++ loop, not copied out",
    ("pin",),
    "the same for matrices and poses, each result overwritten by the next",
    in_loop_left_there,
)
