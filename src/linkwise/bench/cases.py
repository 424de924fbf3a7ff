"""What is measured: robot × function × batch × precision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from ..robot import Robot

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "forward_dynamics": ("q", "v", "tau"),
    "inverse_dynamics": ("q", "v", "a"),
    "mass_matrix": ("q",),
    "mass_matrix_inverse": ("q",),
}


@dataclass(frozen=True)
class Case:
    """One line of the table."""

    robot: str
    function: str
    batch: int = 4096
    dtype: str = "float64"


def cases(
    robots: tuple[str, ...] = ("panda", "humanoid"),
    functions: tuple[str, ...] = tuple(ARGUMENTS),
    batches: tuple[int, ...] = (4096,),
    dtypes: tuple[str, ...] = ("float64",),
) -> Iterator[Case]:
    """All combinations."""
    for robot, function, batch, dtype in product(robots, functions, batches, dtypes):
        yield Case(robot, function, batch, dtype)


def states(robot: Robot, case: Case, seed: int = 0) -> list[np.ndarray]:
    """The arguments of a case, the same in every run."""
    rng = np.random.default_rng(seed)
    out = []
    for name in ARGUMENTS[case.function]:
        x = robot.random_configuration(rng, case.batch) if name == "q" else rng.normal(size=(case.batch, robot.nv))
        out.append(x.astype(case.dtype))
    return out
