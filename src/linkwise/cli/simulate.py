"""``linkwise simulate``: let a robot move, and keep what it did."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import linkwise as lw

from ..errors import InputError
from ..files import refuse_unwritable
from .arguments import STATES, add_robot, configuration, robot_of, velocity
from .command import Command, Output, number

EXAMPLES = """examples:
  linkwise simulate double_pendulum --duration 5
  linkwise simulate panda --q middle --step 0.001 --method rk4 --output fall.npz
  linkwise simulate my_arm.urdf --q elbow=0.5 --v random --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    parser.add_argument("--q", default="middle", metavar="STATE", help="where it starts (middle)")
    parser.add_argument("--v", default="zero", metavar="STATE", help="how fast it starts (zero)")
    parser.add_argument("--duration", type=float, default=1.0, metavar="SECONDS", help="for how long (1)")
    parser.add_argument("--step", type=float, default=0.001, metavar="SECONDS", help="step of the integrator (0.001)")
    parser.add_argument("--method", metavar="NAME", help="an integrator of lw.simulate")
    parser.add_argument("--output", "-o", metavar="FILE", help="write the trajectory (.npz, or what the extras allow)")


def run(arguments: argparse.Namespace, out: Output) -> None:
    simulate = lw.simulate
    for name in ("duration", "step"):
        if not getattr(arguments, name) > 0:
            raise InputError(f"--{name} must be positive, got {getattr(arguments, name):g}")
    if arguments.output:
        refuse_unwritable(arguments.output)
    robot = robot_of(arguments)
    q, v = configuration(robot, arguments.q), velocity(robot, arguments.v)
    chosen = {"duration": arguments.duration, "step": arguments.step}
    if arguments.method:
        chosen["method"] = arguments.method
    trajectory = simulate(robot, q, v, **chosen)
    tell(robot, trajectory, out)
    if arguments.output:
        trajectory.save(arguments.output)
        out.say(f"Written: {arguments.output}")
        out.give(file=arguments.output)


def tell(robot: Any, trajectory: Any, out: Output) -> None:
    """Where it ended, and what its energy did."""
    q, v = np.asarray(trajectory.q), np.asarray(trajectory.v)
    kinetic, potential = robot.energy(q, v)
    total = kinetic + potential
    drift = float(np.abs(total - total[0]).max())
    out.give(robot=robot.name, duration=float(trajectory.time[-1]), samples=len(trajectory.time))
    out.give(q=q[-1], v=v[-1], energy=total[-1], drift=drift)
    out.say(f"{robot.name}: {len(trajectory.time)} samples, {trajectory.time[-1]:g} s")
    rows = [("joint", "q at the end", "v at the end")]
    for joint, a, b in zip(robot.joints, robot.q_slices, robot.v_slices):
        if joint.kind.nv:
            rows.append((joint.name, *(" ".join(number(x) for x in y) for y in (q[-1, a], v[-1, b]))))
    out.table(rows)
    out.say(f"energy {total[-1]:.6g} J, which changed by at most {drift:.2e} J")


COMMAND = Command("simulate", "let a robot move, and keep what it did", add_arguments, run, f"{EXAMPLES}\n{STATES}")
