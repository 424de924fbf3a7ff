"""``linkwise view``: a robot, or its motion, in the browser or in a file."""

from __future__ import annotations

import argparse
import sys

import linkwise as lw

from ..view.files import checked
from ..view.pictures import checked_layers
from .arguments import STATES, add_robot, configuration, robot_of
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
    parser.add_argument("--q", default="middle", metavar="STATE", help="the pose, or where the motion starts (middle)")
    parser.add_argument("--v", default="zero", metavar="STATE", help="how fast the motion starts (zero)")
    parser.add_argument("--play", action="store_true", help="simulate and show the motion")
    parser.add_argument("--duration", type=float, default=2.0, metavar="SECONDS", help="of the motion (2)")
    parser.add_argument("--step", type=float, default=0.001, metavar="SECONDS", help="step of the integrator (0.001)")
    parser.add_argument("--trajectory", metavar="FILE", help="what linkwise simulate wrote")
    parser.add_argument("--show", default="visuals", metavar="LAYERS", help="what is drawn, as visuals,axes (visuals)")
    parser.add_argument("--output", "-o", metavar="FILE", help="write a page, picture or animation instead")
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
        save(arguments.output, shown, robot, show=layers)
        out.say(f"Written: {arguments.output}")
        out.give(file=arguments.output)
        return
    viewer = show(shown, robot, show=layers, port=arguments.port, browser=not arguments.no_browser)
    out.say(f"{viewer.url}  (Ctrl-C ends the viewer)")
    out.give(url=viewer.url)
    sys.stdout.flush()
    viewer.wait()


COMMAND = Command("view", "look at a robot or its motion", add_arguments, run, f"{EXAMPLES}\n{STATES}")
