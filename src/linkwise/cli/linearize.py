"""``linkwise linearize``: A, B and the modes of a robot at a state."""

from __future__ import annotations

import argparse
import io
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..whole_files import refuse_unwritable, write_bytes, write_text
from .arguments import (
    STATES,
    add_configuration,
    add_robot,
    add_velocity,
    completes,
    configuration,
    joint_forces,
    robot_of,
    velocity,
)
from .command import Command, Output, number, to_json

if TYPE_CHECKING:
    from ..robot.robot import Robot

_MOST_SHOWN = 10  # rows and columns of matrices that are printed

EXAMPLES = """examples:
  linkwise linearize cartpole --q 0,0
  linkwise linearize panda --q middle --step 0.001 --output panda.npz
  linkwise linearize my_arm.urdf --q elbow=0.5 --v zero --tau hold --json

the state is [δq; δv], the input δτ: d[δq; δv]/dt = A [δq; δv] + B δτ, or with --step the same from step to step.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    add_configuration(parser, "configuration")
    add_velocity(parser, "velocity")
    tau = parser.add_argument(
        "--tau", default="hold", metavar="STATE", help='joint forces: "hold" (v stays), "zero" or numbers'
    )
    completes(tau, ("hold", "zero", "random"))
    parser.add_argument("--step", type=float, metavar="SECONDS", help="a discrete model with zero-order hold")
    parser.add_argument("--output", "-o", metavar="FILE", help="write A, B, modes and the state as .npz or .json")


def run(arguments: argparse.Namespace, out: Output) -> None:
    if arguments.output:
        _check_output(arguments.output)
    robot = robot_of(arguments)
    if robot.nv == 0:
        raise InputError(f"robot {robot.name!r} has no joint that moves, so there is nothing to linearise")
    q, v = configuration(robot, arguments.q), velocity(robot, arguments.v)
    tau = joint_forces(robot, arguments.tau, q, v)
    A, B = _state_space(robot, q, v, tau, arguments.step)
    modes = find_modes(robot, A, arguments.step)
    data = {"A": A, "B": B, "eigenvalues": np.array([m["eigenvalue"] for m in modes])}
    state = {"q": q, "v": v, "tau": tau}
    out.give(robot=robot.name, step=arguments.step, **state, A=A, B=B, modes=modes)
    _tell(robot, q, A, B, modes, arguments.step, out)
    if arguments.output:
        _write(arguments.output, {**data, **state}, out.data)
        out.say(f"\nWritten: {arguments.output}")


def _state_space(robot: Robot, q: Any, v: Any, tau: Any, step: float | None) -> tuple[np.ndarray, np.ndarray]:
    found = robot.linearize_forward(q, v, tau).state_space(*(() if step is None else (step,)))
    return np.asarray(found[0]), np.asarray(found[1])


def find_modes(robot: Robot, A: np.ndarray, step: float | None) -> list[dict[str, Any]]:
    """One entry per eigenvalue of A, one of each conjugate pair, slowest decay first.

    Of a discrete model with eigenvalues z they are those of the motion between steps, s = log(z) / step.
    """
    values, vectors = np.linalg.eig(A)
    names = [j.name for j, _, _ in robot.coordinates for _ in range(j.kind.nv)]
    out = []
    for x, shape in zip(values.astype(complex), vectors.T):
        if x.imag < -1e-12 * abs(x):
            continue
        s = x if step is None else np.log(x) / step if x != 0 else complex(-np.inf)
        size = abs(s)
        out.append(
            {
                "eigenvalue": complex(x),
                "rate": float(s.real),
                "frequency": float(s.imag / (2 * np.pi)),
                "damping_ratio": float(-s.real / size) if size > 0 and np.isfinite(size) else float("nan"),
                "joint": names[int(np.abs(shape[: len(names)]).argmax())],
            }
        )
    return sorted(out, key=lambda m: (-m["rate"], m["frequency"]))


def _tell(
    robot: Robot, q: np.ndarray, A: np.ndarray, B: np.ndarray, modes: list[dict[str, Any]], step: Any, out: Output
) -> None:
    kind = "continuous" if step is None else f"every {step:g} s"
    out.say(f"{robot.name}, {kind}: {len(A)} states [δq; δv], {B.shape[1]} inputs δτ")
    out.say(f"at q = {' '.join(number(x) for x in q)}")
    for name, matrix in (("A", A), ("B", B)):
        out.say(f"\n{name} ({matrix.shape[0]} × {matrix.shape[1]})")
        if max(matrix.shape) > 2 * _MOST_SHOWN:
            out.say("  too large to print; --output FILE.npz or --json has it")
            continue
        out.table(
            [[f"  {number(row[0])}", *(number(x) for x in row[1:])] for row in matrix + 0.0],
            range(len(A)),
            heading=False,
        )
    out.say("\nmodes")
    rows = [["  rate [1/s]", "frequency [Hz]", "damping ratio", "mostly in"]]
    rows += [[f"  {number(m['rate'])}", number(m["frequency"]), number(m["damping_ratio"]), m["joint"]] for m in modes]
    out.table(rows, right=(0, 1, 2))
    unstable = sum(m["rate"] > 1e-9 * max(1.0, float(np.abs(A).max())) for m in modes)
    out.say(f"\n{unstable} of {len(modes)} modes grow" if unstable else "\nno mode grows")


def _check_output(path: str) -> None:
    if not path.endswith((".npz", ".json")):
        raise InputError(f"cannot write {path}: a linearised model is an .npz or .json file")
    refuse_unwritable(path)


def _write(path: str, arrays: dict[str, Any], data: dict[str, Any]) -> None:
    if path.endswith(".json"):
        write_text(path, to_json(data) + "\n")
        return
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    write_bytes(path, buffer.getvalue())


COMMAND = Command(
    "linearize", "linearise a robot at a state: A, B and its modes", add_arguments, run, f"{EXAMPLES}\n{STATES}"
)
