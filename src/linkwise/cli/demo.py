"""``linkwise demo``: what linkwise does, told and drawn on one robot."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import FileError, InputError
from ..whole_files import refuse_unwritable, write_figure
from .arguments import load_robot
from .command import Command, Output

ROBOT = "panda"
PICTURE = "linkwise-demo.png"
NO_MATPLOTLIB = 'No picture: matplotlib is missing. This brings it: pip install "linkwise[plot]"'
EXAMPLES = """examples:
  linkwise demo
  linkwise demo ur5 --output ur5.svg
  linkwise demo my_arm.urdf --no-picture
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "robot",
        nargs="?",
        metavar="ROBOT",
        help=f"a built-in robot, a URDF, MJCF or SDF file, or chain-N ({ROBOT})",
    )
    parser.add_argument("--robot", dest="named", metavar="ROBOT", help="the same, by name")
    parser.add_argument("--output", default=PICTURE, metavar="FILE.png", help=f"where the picture goes ({PICTURE})")
    parser.add_argument("--no-picture", action="store_true", help="only print")


def run(arguments: argparse.Namespace, out: Output) -> None:
    from ..demo import story as demo

    output = None if arguments.no_picture else _checked_output(Path(arguments.output))
    if arguments.robot and arguments.named:
        raise InputError(f"name one robot, not {arguments.robot!r} and --robot {arguments.named!r}")
    robot = load_robot(arguments.robot or arguments.named or ROBOT)
    out.say(f"linkwise {__version__}: rigid-body dynamics as an algebra of operators")
    motion = demo.tell(robot, out.say)
    out.say()
    drift = float(abs(motion.energy.drift).max())
    out.give(robot=robot.name, nv=robot.nv, mass=robot.total_mass, duration=motion.duration, drift=drift)
    if output is not None:
        _draw(motion, output, out)
    out.say("Next: linkwise demo ur5 (linkwise robots lists them all), then README.md and docs/start.md")


def _draw(motion: Any, output: Path, out: Output) -> None:
    out.give(picture=None)
    try:
        from ..demo import picture as demo_picture
    except ImportError as e:
        missing = isinstance(e, ModuleNotFoundError) and (e.name or "").partition(".")[0] == "matplotlib"
        out.say(NO_MATPLOTLIB if missing else f"No picture: matplotlib cannot be used ({e})")
        return
    write_figure(output, demo_picture.draw(motion))
    out.say(f"Picture: {output}")
    out.give(picture=str(output))


def _checked_output(path: Path) -> Path:
    """The path, or an error before any work is done."""
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise FileError(f"cannot write {path}: a picture is a .png, .svg or .pdf file")
    if path.parent.is_dir() and not os.access(path.parent, os.W_OK):
        raise FileError(
            f"cannot write {path}: the folder {path.parent.resolve()} is not writable; choose another place with"
            " --output FILE.png, or leave the picture out with --no-picture"
        )
    refuse_unwritable(path)
    return path


COMMAND = Command("demo", "show on one robot what linkwise does, and draw it", add_arguments, run, EXAMPLES)
