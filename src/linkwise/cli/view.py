"""``linkwise view``: a robot, or its motion, in the browser or in a file."""

from __future__ import annotations

import argparse
import sys

import linkwise as lw

from ..errors import InputError
from ..view.files import checked
from ..view.pictures import LAYERS, checked_layers
from .arguments import STATES, add_configuration, add_robot, add_velocity, completes, configuration, robot_of
from .command import Command, Output
from .plot import motion_of

EXAMPLES = """examples:
  linkwise view panda
  linkwise view panda --play --duration 3
  linkwise view panda --trajectory fall.npz --output fall.html
  linkwise view quadruped --output quadruped.png --show visuals,center_of_mass
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    add_configuration(parser, "the pose, or where the motion starts")
    add_velocity(parser, "how fast the motion starts")
    parser.add_argument("--play", action="store_true", help="simulate and show the motion")
    parser.add_argument("--duration", type=float, default=2.0, metavar="SECONDS", help="of the motion (2)")
    parser.add_argument("--step", type=float, default=0.001, metavar="SECONDS", help="step of the integrator (0.001)")
    parser.add_argument("--trajectory", metavar="FILE", help="what linkwise simulate wrote")
    show = parser.add_argument("--show", default="visuals", metavar="LAYERS", help="drawn, as visuals,axes (visuals)")
    completes(show, tuple(LAYERS))
    parser.add_argument(
        "--mesh-folder",
        action="append",
        default=[],
        metavar="FOLDER",
        help="where package:// meshes lie; may be repeated",
    )
    parser.add_argument("--output", "-o", metavar="FILE", help="write a page, picture or animation instead")
    parser.add_argument("--size", default="640x480", metavar="WxH", help="of pictures, in pixels (640x480)")
    parser.add_argument("--rate", type=float, metavar="N", help="pictures a second (25 in a .gif, otherwise 30)")
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="where the viewer listens (127.0.0.1: for this machine alone; 0.0.0.0: for all)",
    )
    parser.add_argument("--port", type=int, default=8080, help="of the viewer (8080)")
    parser.add_argument("--no-browser", action="store_true", help="only serve; open the address yourself")


def run(arguments: argparse.Namespace, out: Output) -> None:
    layers = checked_layers(tuple(arguments.show.replace(",", " ").split()))
    if arguments.output:
        save = lw.view.save
        checked(arguments.output)
    else:
        show = lw.view.open
    robot = robot_of(arguments)
    moves = arguments.play or arguments.trajectory
    shown = motion_of(robot, arguments) if moves else configuration(robot, arguments.q)
    if arguments.output:
        how = {"mesh_folders": arguments.mesh_folder, "size": _size(arguments.size), "rate": arguments.rate}
        save(arguments.output, shown, robot, show=layers, **how)
        out.say(f"Written: {arguments.output}")
        out.give(file=arguments.output)
        return
    where = {"host": arguments.host, "port": arguments.port, "browser": not arguments.no_browser}
    viewer = show(shown, robot, show=layers, mesh_folders=arguments.mesh_folder, **where)
    out.say(f"{viewer.url}  (Ctrl-C ends the viewer)")
    out.give(url=viewer.url)
    sys.stdout.flush()
    viewer.wait()


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise InputError(f"--size takes pixels, as 640x480, got {text!r}")
    return int(width), int(height)


COMMAND = Command("view", "look at a robot or its motion", add_arguments, run, f"{EXAMPLES}\n{STATES}")
