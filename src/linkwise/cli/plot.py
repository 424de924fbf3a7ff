"""``linkwise plot``: pictures of a trajectory or of a robot."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import linkwise as lw

from ..arguments import one_of
from ..errors import InputError
from ..whole_files import refuse_unwritable, write_figure
from .arguments import (
    FRAMES,
    STATES,
    add_configuration,
    add_robot,
    add_velocity,
    completes,
    configuration,
    robot_of,
    velocity,
)
from .command import Command, Output

if TYPE_CHECKING:
    from ..robot.robot import Robot

EXAMPLES = """examples:
  linkwise plot panda joints --output joints.png
  linkwise plot double_pendulum energy --duration 10 --output energy.svg
  linkwise plot panda energy --trajectory fall.npz --output energy.png
  linkwise plot --list
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser, optional=True)
    picture = parser.add_argument("picture", nargs="?", metavar="PICTURE", help="which picture; --list names them")
    completes(picture, lambda: _pictures(lw.plots))
    parser.add_argument("--trajectory", metavar="FILE", help="what linkwise simulate wrote; otherwise simulated now")
    add_configuration(parser, "where it is, or starts")
    add_velocity(parser, "how fast it starts")
    parser.add_argument("--duration", type=float, default=1.0, metavar="SECONDS", help="for how long (1)")
    parser.add_argument("--step", type=float, default=0.001, metavar="SECONDS", help="step of the integrator (0.001)")
    parser.add_argument("--output", "-o", default="linkwise-plot.png", metavar="FILE.png", help="where it goes")
    completes(parser.add_argument("--frame", metavar="NAME", help="the frame that a picture is about"), FRAMES)
    parser.add_argument("--theme", choices=("light", "dark"), default="light", help="for pages of that kind (light)")
    parser.add_argument("--transparent", action="store_true", help="without a background")
    parser.add_argument("--list", action="store_true", help="list the pictures")


def run(arguments: argparse.Namespace, out: Output) -> None:
    known = _pictures(lw.plots)
    if arguments.list:
        rows = [("picture", "shows"), *((n, (inspect.getdoc(f) or "").split("\n")[0]) for n, f in known.items())]
        out.table(rows)
        out.give(pictures=dict(rows[1:]))
        return
    if arguments.picture is None:
        raise InputError("name a picture after the robot, such as joints; --list names them")
    one_of(arguments.picture, known, "picture")
    if Path(arguments.output).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InputError(f"cannot write {arguments.output}: a picture is a .png, .svg or .pdf file")
    refuse_unwritable(arguments.output)
    figure = _drawn(known[arguments.picture], robot_of(arguments), arguments)
    write_figure(arguments.output, figure)
    out.say(f"Picture: {arguments.output}")
    out.give(picture=arguments.output)


def _pictures(plots: Any) -> dict[str, Callable[..., Any]]:
    """The functions that give a figure."""

    def gives_figure(f: Any) -> bool:
        found = inspect.isfunction(f) and f.__annotations__.get("return")
        return getattr(found, "__name__", found) == "Figure"

    return {name: f for name, f in sorted(vars(plots).items()) if gives_figure(f)}


def _drawn(picture: Callable[..., Any], robot: Robot, arguments: argparse.Namespace) -> Any:
    """The figure, from those of its arguments that the command line knows."""
    values: dict[str, Callable[[], Any]] = {
        "trajectory": lambda: motion_of(robot, arguments),
        "robot": lambda: robot,
        "q": lambda: configuration(robot, arguments.q),
        "theme": lambda: arguments.theme,
        "transparent": lambda: arguments.transparent,
    }
    if arguments.frame:
        values["frame"] = lambda: arguments.frame
    takes = inspect.signature(picture).parameters
    return picture(**{name: value() for name, value in values.items() if name in takes})


def motion_of(robot: Any, arguments: argparse.Namespace) -> Any:
    """The trajectory in the file given, or one simulated now."""
    if arguments.trajectory:
        return lw.Trajectory.load(arguments.trajectory, robot=robot)
    simulate = lw.simulate
    q, v = configuration(robot, arguments.q), velocity(robot, arguments.v)
    return simulate(robot, q, v, duration=arguments.duration, step=arguments.step)


COMMAND = Command("plot", "draw a trajectory or a robot", add_arguments, run, f"{EXAMPLES}\n{STATES}")
