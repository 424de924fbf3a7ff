"""What is measured: robot × function × batch × precision."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dynamics.kinematics import FramePoses
from ..interop.example_robots import example_file
from ..robot.make import chain, load
from ..robot.robot import Robot

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "forward_dynamics": ("q", "v", "tau"),
    "inverse_dynamics": ("q", "v", "a"),
    "mass_matrix": ("q",),
    "mass_matrix_inverse": ("q",),
    "linearize_inverse": ("q", "v", "a"),
    "linearize_forward": ("q", "v", "tau"),
    "jacobian": ("q",),
    "jacobian_dot_v": ("q", "v"),
    "operational_inertia": ("q",),
    "frame_poses": ("q",),
    "coriolis_matrix": ("q", "v"),
    "centroidal_matrix": ("q",),
}
PLAIN = tuple(ARGUMENTS)[:4]  # what a suite means that names no functions
OF_A_FRAME = ("jacobian", "jacobian_dot_v", "operational_inertia")


def stacked(x: Any) -> np.ndarray:
    """A result as one array.

    The matrices of a linearisation (M or M⁻¹, then by v, then by q) stand below each other; of poses each frame has
    its rotation by rows, then its position.
    """
    if isinstance(x, FramePoses):
        R, p = (np.asarray(y) for y in x)
        return np.concatenate([R.reshape(*p.shape[:-1], 9), p], axis=-1)
    return np.concatenate(list(x), axis=-2) if isinstance(x, (tuple, list)) else np.asarray(x)


@dataclass(frozen=True)
class Case:
    """One group of figures: every library runs it on the same states."""

    robot: str
    function: str
    batch: int = 4096
    dtype: str = "float64"

    def __str__(self) -> str:
        return f"{self.robot}, {self.function}, batch {self.batch}, {self.dtype}"


def robot_of(case: Case) -> Robot:
    """The robot of a case: "chain-30" is ``lw.chain(30)``, "talos" that of example-robot-data on a free base.

    Anything else is a name or file for ``lw.load``.
    """
    links = re.fullmatch(r"chain-(\d+)", case.robot)
    if links:
        return chain(int(links[1]))
    if case.robot == "talos":
        return load(example_file("talos_reduced.urdf"), floating=True)
    return load(case.robot)


def frame_of(robot: Robot, function: str) -> dict[str, Any]:
    """The frame that a function is asked of: the last tip."""
    return {"frame": robot.tips[-1]} if function in OF_A_FRAME else {}


def states(robot: Robot, case: Case, seed: int = 0) -> list[np.ndarray]:
    """The arguments of a case (batch, n), C-contiguous, the same in every run. No motor drives a free base."""
    rng = np.random.default_rng(seed)
    out = []
    for name in ARGUMENTS[case.function]:
        x = robot.random_configuration(rng, case.batch) if name == "q" else rng.normal(size=(case.batch, robot.nv))
        if name == "tau":
            x[:, [i for i, driven in enumerate(_driven(robot)) if not driven]] = 0.0
        out.append(np.ascontiguousarray(x, dtype=case.dtype))
    return out


def _driven(robot: Robot) -> list[bool]:
    return [joint.kind.kind != "free" for joint in robot.joints for _ in range(joint.kind.nv)]
