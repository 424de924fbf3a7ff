"""``linkwise export``: a function of a robot as C or CUDA source, or the robot itself as a URDF or MJCF file."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, NotAdmittedError
from ..robot.make import save_mjcf, save_urdf
from ..whole_files import refuse_unwritable
from .arguments import add_robot, completes, functions, robot_of
from .command import Command, Output

if TYPE_CHECKING:
    from ..robot.robot import Robot

EXAMPLES = """examples:
  linkwise export panda forward_dynamics
  linkwise export panda jacobian --set frame=tcp --dtype float32 --output generated/
  linkwise export panda forward_dynamics --target cuda --output generated/
  linkwise export ur5 mass_matrix --output -
  linkwise export arm.xml --target urdf --output arm.urdf
  linkwise export arm.urdf --target mjcf --output arm.xml
  linkwise export four_bar forward_dynamics --set method=embedded --output generated/
  linkwise export --list
"""


FILES = {"urdf": ".urdf", "mjcf": ".xml"}  # the robot's own, by their endings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser, optional=True)
    what = parser.add_argument(
        "function", nargs="?", metavar="FUNCTION", help="what to export; --list names all there is"
    )
    completes(what, functions)
    parser.add_argument(
        "--target", choices=("c", "cuda", "urdf", "mjcf"), default="c", help="language (c), or the robot's file"
    )
    parser.add_argument(
        "--output", "-o", metavar="PLACE", help="folder for the source and its header, or file; - prints"
    )
    parser.add_argument("--dtype", choices=("float64", "float32"), default="float64", help="precision (float64)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="another argument, as frame=tcp"
    )
    parser.add_argument(
        "--list", action="store_true", help="list the functions (of the robot, if named) and what they take"
    )


def run(arguments: argparse.Namespace, out: Output) -> None:
    if arguments.list:
        _list(arguments, out)
        return
    robot = robot_of(arguments)
    if arguments.target in FILES:
        _export_robot(robot, arguments, out)
    elif arguments.function is None:
        raise InputError("name the function to export, such as forward_dynamics; --list names all there is")
    else:
        _export_function(robot, arguments, out)


def _list(arguments: argparse.Namespace, out: Output) -> None:
    """What can be exported, of this robot where one is named: the arrays it takes, and what --set must give."""
    from ..codegen.facts import catalogue
    from ..robot.robot import Robot

    robot = None if arguments.robot is None else robot_of(arguments)
    own = Robot if robot is None else type(robot)
    known = catalogue(own)
    if robot is not None and robot.loops and not _can_embed(robot):
        known = {name: facts for name, facts in known.items() if not name.startswith("embedded_")}
    rows = [("function", "takes", "--set")]
    for name, facts in known.items():
        rows.append((name, ", ".join(facts.arrays), ", ".join(_to_be_set(getattr(own, name), facts.arrays))))
    out.table(rows)
    out.give(functions={name: takes.split(", ") for name, takes, _ in rows[1:]})


def _to_be_set(method: Any, arrays: Collection[str]) -> list[str]:
    """The arguments without a default that are no arrays."""
    parameters = list(inspect.signature(method).parameters.values())[1:]
    return [p.name for p in parameters if p.default is p.empty and p.kind <= p.KEYWORD_ONLY and p.name not in arrays]


def _can_embed(robot: Robot) -> bool:
    """Whether a robot's loops say which joints follow the others, as calls in the rates of independent joints need."""
    from ..robot.closed import ClosedRobot

    assert isinstance(robot, ClosedRobot)
    try:
        robot.operators(robot.neutral(), embedded=True)
    except NotAdmittedError:
        return False
    return True


def _export_robot(robot: Robot, arguments: argparse.Namespace, out: Output) -> None:
    target = arguments.target
    if arguments.function is not None:
        raise InputError(f"--target {target} writes the robot, so no function ({arguments.function}) can be given")
    if arguments.output == "-":
        text = robot.to_urdf() if target == "urdf" else robot.to_mjcf()
        out.say(text.rstrip("\n"))
        out.give(**{target: text})
        return
    path = arguments.output or f"{Path(robot.name).name or 'robot'}{FILES[target]}"
    save = save_urdf if target == "urdf" else save_mjcf
    save(robot, path)
    out.say(f"Written: {path}")
    out.give(files=[str(path)])


def _export_function(robot: Robot, arguments: argparse.Namespace, out: Output) -> None:
    folder = None if arguments.output == "-" else Path(arguments.output or ".")
    if folder is not None:
        _refuse_no_folder(folder)
    fixed = dict(_setting(text) for text in arguments.set)
    try:
        found = robot.compile(arguments.function, target=arguments.target, dtype=arguments.dtype, **fixed)
    except TypeError as e:  # an argument that the function lacks, or does not have
        raise InputError(f"{arguments.function}: {e}; give its other arguments as --set NAME=VALUE") from e
    out.give(robot=robot.name, function=arguments.function, name=found.name, prototype=found.prototype)
    out.give(inputs=dict(found.program.inputs), operations=str(found.operations))
    if folder is None:
        out.say(f"/* {found.name}.h */\n{found.header}\n/* {found.name}{found.ending} */\n{found.source}".rstrip("\n"))
        out.give(header=found.header, source=found.source)
        return
    paths = found.write(folder)
    for path in paths:
        out.say(f"Written: {path}")
    out.say(f"{found.prototype};  {found.operations} per {'state' if found.target == 'cuda' else 'call'}")
    out.give(files=[str(path) for path in paths])


def _refuse_no_folder(folder: Path) -> None:
    """Folders are made where missing, so the nearest that exists must be writable."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--output {folder} is a file; name a folder, or - to print")
    nearest = next(p for p in (folder, *folder.absolute().parents) if p.is_dir())
    refuse_unwritable(nearest / "x.c")


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise InputError(f"--set takes NAME=VALUE, as in --set frame=tcp, got {text!r}")
    if value in ("true", "false"):
        return name, value == "true"
    return name, value


COMMAND = Command(
    "export",
    "write a function of a robot as C or CUDA source, or the robot as URDF or MJCF",
    add_arguments,
    run,
    EXAMPLES,
)
