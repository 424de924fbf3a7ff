"""``linkwise simulate``: let a robot move, and keep what it did."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import linkwise as lw

from ..arguments import one_of
from ..errors import InputError
from ..simulation.methods import CALLED_ELSEWHERE
from ..whole_files import refuse_unwritable
from .arguments import (
    FRAMES,
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
from .command import Command, Output, number

if TYPE_CHECKING:
    from ..robot.robot import Robot

EXAMPLES = """examples:
  linkwise simulate double_pendulum --duration 5
  linkwise simulate panda --q middle --step 0.001 --method variational --output fall.npz
  linkwise simulate panda --limits --push tcp=20,0,0 --duration 2 --every 10 -o pushed.nc
  linkwise simulate my_arm.urdf --q elbow=0.5 --v random --tau hold --json
  linkwise simulate humanoid --duration 600 --checkpoint run.checkpoint -o run.zarr
"""


def methods() -> list[str]:
    """The methods in joint coordinates, those that the command line has."""
    from ..simulation.methods import METHODS, SOLVERS

    return [*(name for name, method in METHODS.items() if "joint" in method.coordinates), *SOLVERS]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    add_configuration(parser, "where it starts")
    add_velocity(parser, "how fast it starts")
    tau = parser.add_argument("--tau", metavar="FORCES", help='constant joint forces; "hold" holds it at the start')
    completes(tau, ("hold", "zero", "random"))
    push = parser.add_argument(
        "--push", action="append", default=[], metavar="FRAME=X,Y,Z", help="a constant force [N] on a frame, world axes"
    )
    completes(push, FRAMES)
    parser.add_argument(
        "--damping", action="store_true", help="with damping that the file has as data too (that of URDF files)"
    )
    parser.add_argument("--friction", action="store_true", help="with the joints' own dry friction")
    parser.add_argument("--limits", action="store_true", help="with stops at the joints' limits")
    parser.add_argument("--duration", type=float, default=1.0, metavar="SECONDS", help="for how long (1)")
    parser.add_argument("--step", type=float, default=0.001, metavar="SECONDS", help="step of the integrator (0.001)")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="keep every N-th step (1)")
    said = "semi_implicit_euler, midpoint, runge_kutta_4, variational; with SciPy rk23, rk45, dop853, radau, bdf, lsoda"
    method = parser.add_argument("--method", default="runge_kutta_4", metavar="NAME", help=f"{said} (runge_kutta_4)")
    completes(method, methods)
    parser.add_argument("--output", "-o", metavar="FILE", help="write the trajectory: .npz, or .nc, .zarr, .parquet")
    parser.add_argument("--checkpoint", metavar="FILE", help="keep the state here; started again, go on from it")


def run(arguments: argparse.Namespace, out: Output) -> None:
    for name in ("duration", "step"):
        if not getattr(arguments, name) > 0:
            raise InputError(f"--{name} must be positive, got {getattr(arguments, name):g}")
    if arguments.output:
        from ..simulation.storage import refuse_unknown_format

        refuse_unknown_format(arguments.output)
        refuse_unwritable(arguments.output)
    one_of(arguments.method, methods(), "method", also=CALLED_ELSEWHERE, error=InputError)
    robot = robot_of(arguments)
    _warn_of_nothing(robot, arguments)
    goes_on = arguments.checkpoint is not None and Path(arguments.checkpoint).exists()
    trajectory = moved(robot, arguments)
    if goes_on:
        out.say(f"Went on from {arguments.checkpoint}; delete it to start anew")
    tell(robot, trajectory, out)
    if arguments.output:
        trajectory.save(arguments.output)
        out.say(f"Written: {arguments.output}")
        out.give(file=arguments.output)


def _warn_of_nothing(robot: Robot, arguments: argparse.Namespace) -> None:
    """Say which options ask for numbers that no joint has."""
    has = {
        "damping": robot.damping.any(),
        "friction": robot.friction.any(),
        "limits": np.isfinite([robot.lower_limits, robot.upper_limits]).any(),
    }
    for name, anything in has.items():
        if getattr(arguments, name) and not anything:
            warnings.warn(f"no joint of {robot.name!r} has {name}, so --{name} changes nothing", stacklevel=2)


def moved(robot: Robot, arguments: argparse.Namespace) -> lw.Trajectory:
    """The motion that the arguments ask for."""
    q, v = configuration(robot, arguments.q), velocity(robot, arguments.v)
    chosen: dict[str, Any] = {"duration": arguments.duration, "step": arguments.step, "every": arguments.every}
    if arguments.tau is not None:
        tau = joint_forces(robot, arguments.tau, q, v)
        chosen["controller"] = lambda robot, t, q, v: tau
    if arguments.push:
        chosen["external"] = dict(_push(text) for text in arguments.push)
    for name in ("damping", "friction", "limits"):
        if getattr(arguments, name):
            chosen[name] = True
    return lw.simulate(robot, q, v, method=arguments.method, checkpoint=arguments.checkpoint, **chosen)


def _push(text: str) -> tuple[str, np.ndarray]:
    frame, _, values = text.rpartition("=")
    try:
        force = np.array([float(x) for x in values.replace(",", " ").split()])
    except ValueError:
        force = np.empty(0)
    if not frame or force.shape not in ((3,), (6,)) or not np.isfinite(force).all():
        raise InputError(
            f"--push takes FRAME=X,Y,Z, or six numbers, the moment first; as in --push tcp=20,0,0; got {text!r}"
        )
    return frame, force if len(force) == 6 else np.concatenate([np.zeros(3), force])


def tell(robot: Robot, trajectory: lw.Trajectory, out: Output) -> None:
    """Where it ended, and what its energy did."""
    q, v, account = trajectory.q, trajectory.v, trajectory.energy
    drift = float(np.abs(account.drift).max())
    out.give(
        robot=robot.name,
        duration=float(trajectory.time[-1]),
        samples=len(trajectory),
        method=trajectory.settings.method,
    )
    out.give(q=q[-1], v=v[-1], energy=account.total[-1], drift=drift)
    out.say(f"{robot.name}: {len(trajectory)} samples, {trajectory.time[-1]:g} s")
    rows: list[tuple[str, ...]] = [("joint", "q at the end", "v at the end")]
    for joint, a, b in robot.coordinates:
        if joint.kind.nv:
            rows.append((joint.name, *(" ".join(number(x) for x in y) for y in (q[-1, a], v[-1, b]))))
    out.table(rows)
    if trajectory.exchanged is None:
        out.say(f"energy {account.total[-1]:.6g} J, which changed by at most {drift:.2e} J")
    else:
        exchanged = {
            "work": account.work,
            "dissipated": account.dissipated,
            "stops": account.stops,
            "external": account.external,
        }
        out.give(**{name: x[-1] for name, x in exchanged.items()})
        out.say(f"\n{account}")


COMMAND = Command("simulate", "let a robot move, and keep what it did", add_arguments, run, f"{EXAMPLES}\n{STATES}")
