"""``linkwise plot``: pictures of a trajectory or of a robot."""

from __future__ import annotations

import argparse
import inspect
from pathlib import Path
from typing import Any

from ..errors import InputError, UnknownNameError
from ..files import refuse_unwritable
from .arguments import STATES, add_robot, configuration, robot_of, velocity
from .command import Command, Output
from .later import part

EXAMPLES = """examples:
  linkwise plot panda joints --output joints.png
  linkwise plot double_pendulum energy --duration 10 --output energy.svg
  linkwise plot panda energy --trajectory fall.npz --output energy.png
  linkwise plot panda --list
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    parser.add_argument("picture", nargs="?", metavar="PICTURE", help="which picture; --list names them")
    parser.add_argument("--trajectory", metavar="FILE", help="what linkwise simulate wrote; otherwise simulated now")
    parser.add_argument("--q", default="middle", metavar="STATE", help="where it starts (middle)")
    parser.add_argument("--v", default="zero", metavar="STATE", help="how fast it starts (zero)")
    parser.add_argument("--duration", type=float, default=1.0, metavar="SECONDS", help="for how long (1)")
    parser.add_argument("--step", type=float, default=0.001, metavar="SECONDS", help="step of the integrator (0.001)")
    parser.add_argument("--output", "-o", default="linkwise-plot.png", metavar="FILE.png", help="where it goes")
    parser.add_argument("--list", action="store_true", help="list the pictures")


def run(arguments: argparse.Namespace, out: Output) -> None:
    plots = part("", "plots", "a picture")
    known = {name: f for name, f in vars(plots).items() if inspect.isfunction(f) and not name.startswith("_")}
    if arguments.list:
        rows = [("picture", "shows"), *((n, (inspect.getdoc(f) or "").split("\n")[0]) for n, f in known.items())]
        out.table(rows)
        out.give(pictures=dict(rows[1:]))
        return
    if arguments.picture is None:
        raise InputError("name a picture, such as joints; --list names them")
    if arguments.picture not in known:
        raise UnknownNameError(f"no picture is named {arguments.picture!r}; choose from {', '.join(known)}")
    if Path(arguments.output).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InputError(f"cannot write {arguments.output}: a picture is a .png, .svg or .pdf file")
    refuse_unwritable(arguments.output)
    robot = robot_of(arguments)
    figure = known[arguments.picture](motion_of(robot, arguments))
    from ..view.demo_picture import save

    save(figure, Path(arguments.output))
    out.say(f"Picture: {arguments.output}")
    out.give(picture=arguments.output)


def motion_of(robot: Any, arguments: argparse.Namespace) -> Any:
    """The trajectory in the file given, or one simulated now."""
    if arguments.trajectory:
        return part("simulate.trajectory", "Trajectory", "a trajectory").load(arguments.trajectory, robot)
    simulate = part("", "simulate", "simulation")
    q, v = configuration(robot, arguments.q), velocity(robot, arguments.v)
    return simulate(robot, q, v, duration=arguments.duration, step=arguments.step)


COMMAND = Command("plot", "draw a trajectory or a robot", add_arguments, run, f"{EXAMPLES}\n{STATES}")
