"""What limits the kernels: the same arrays read and written with next to no arithmetic between, and sines alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..codegen.pipeline import compile_function
from ..robot.robot import Robot
from .cases import Case, robot_of, states
from .instructions import Instructions, count_instructions
from .runner import Row, seconds_of


@dataclass(frozen=True)
class Limit:
    """Nanoseconds per state: the kernel, its reading and writing alone, its sines alone; and its instructions."""

    case: Case
    kernel: float
    traffic: float
    sines: float
    instructions: Instructions | None = None


def measure_limits(row: Row) -> Limit:
    """The parts of one of linkwise's rows, each timed as a kernel of its own."""
    robot = robot_of(row.case)
    arguments = states(robot, row.case)
    traffic = matrix_of_copies if row.case.function.startswith("mass_matrix") else sum_of_vectors
    return Limit(
        row.case,
        row.nanoseconds,
        _nanoseconds(traffic, robot, arguments),
        _nanoseconds(sines_and_cosines, robot, arguments[:1]),
        count_instructions(robot.compile(row.case.function), row.case.dtype),
    )


def sum_of_vectors(robot: Robot, q: Any, v: Any, tau: Any) -> Any:
    """Reads what forward and inverse dynamics read, writes what they write."""
    return q[..., -robot.nv :] + v + tau


def matrix_of_copies(robot: Robot, q: Any) -> Any:
    """Reads a configuration and writes as many numbers as a mass matrix has."""
    return arrays.stack([q[..., i % robot.nq] for i in range(robot.nv**2)])


def sines_and_cosines(robot: Robot, q: Any) -> Any:
    """Those of every hinge, and two more operations on each."""
    angles = [q[..., where.start] for where, j in zip(robot.q_slices, robot.joints) if j.kind.kind == "revolute"]
    return sum(arrays.sin(x) * arrays.cos(x) for x in angles)


def _nanoseconds(function: Callable[..., Any], robot: Robot, arguments: list[np.ndarray]) -> float:
    kernel = compile_function(function, robot)
    out = np.empty_like(kernel(*arguments, threads=1))
    run: Callable[[], Any] = kernel.bind(*arguments, out=out)  # as the kernels of the table are called
    best = min(seconds_of(run) for _ in range(5))
    return best / len(arguments[0]) * 1e9
