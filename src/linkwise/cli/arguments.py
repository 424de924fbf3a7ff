"""Arguments that several commands share: which robot, in which state."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ..errors import InputError

if TYPE_CHECKING:
    from ..robot.robot import Robot

STATE_OPTIONS = ("--q", "--v", "--tau")  # their values may start with a minus
CONFIGURATIONS = ("neutral", "middle", "random")
WORDS: WeakKeyDictionary[argparse.Action, Sequence[str] | Callable[[], Iterable[str]]] = WeakKeyDictionary()
FRAMES = ("FRAMES",)  # in place of words: the frames of the robot on the command line
_CHAIN = re.compile(r"chain-(\d{1,5})")

STATES = """a state is numbers ("0,-0.5,0.1" or "0 -0.5 0.1"), joints by name ("elbow=0.3,wrist=1", the others at zero),
"neutral", "middle" (of every joint's range; 0.4 rad where it has none) or "random" ("random:7" for another)"""


def add_robot(parser: argparse.ArgumentParser, what: str = "ROBOT", *, optional: bool = False) -> None:
    """Which robot; ``optional`` where the command can do something, such as ``--list``, without one."""
    parser.add_argument(
        "robot",
        nargs="?" if optional else None,
        metavar=what,
        help="a built-in robot, a URDF, MJCF or SDF file, or chain-N",
    )
    parser.add_argument("--floating", action="store_true", help="the base moves freely")


def add_configuration(parser: argparse.ArgumentParser, what: str) -> None:
    """Where the robot is: the one default that all commands share."""
    completes(parser.add_argument("--q", default="middle", metavar="STATE", help=f"{what} (middle)"), CONFIGURATIONS)


def add_velocity(parser: argparse.ArgumentParser, what: str) -> None:
    """How fast it is."""
    completes(parser.add_argument("--v", default="zero", metavar="STATE", help=f"{what} (zero)"), ("zero", "random"))


def completes(action: argparse.Action, words: Sequence[str] | Callable[[], Iterable[str]]) -> None:
    """Say which words a shell may complete an argument by, where argparse is not to check them."""
    WORDS[action] = words


def functions() -> Iterable[str]:
    """The calls of the catalogue."""
    from ..codegen.facts import catalogue
    from ..robot.robot import Robot

    return catalogue(Robot)


def is_chain(name: str) -> bool:
    """Whether it is the name of a chain, chain-N."""
    return _CHAIN.fullmatch(name) is not None


def load_robot(name: str, floating: bool = False) -> Robot:
    """The robot an argument names."""
    from ..robot.make import chain, load

    numbered = _CHAIN.fullmatch(name)
    if numbered is None:
        return load(name, floating=floating)
    robot = chain(int(numbered[1]))
    return robot.floating() if floating else robot


def robot_of(arguments: argparse.Namespace) -> Robot:
    if arguments.robot is None:
        raise InputError("name a robot: a URDF, MJCF or SDF file, or a built-in one (linkwise robots lists them)")
    return load_robot(arguments.robot, arguments.floating)


def configuration(robot: Robot, text: str) -> np.ndarray:
    """q (nq,) as an argument says it."""
    word, _, seed = text.partition(":")
    if word == "neutral":
        return robot.neutral()
    if word == "random" and (not seed or seed.isdigit()):
        return robot.random_configuration(int(seed or 0))
    if word == "middle":
        from ..demo.story import start_state

        return start_state(robot)[0]
    return _numbers(robot, text, "--q", robot.nq, robot.neutral(), robot.q_slices)


def velocity(robot: Robot, text: str, option: str = "--v") -> np.ndarray:
    """(nv,) as an argument says it: zero where it says "zero"."""
    word, _, seed = text.partition(":")
    if word == "zero":
        return np.zeros(robot.nv)
    if word == "random" and (not seed or seed.isdigit()):
        return np.random.default_rng(int(seed or 0)).normal(size=robot.nv)
    return _numbers(robot, text, option, robot.nv, np.zeros(robot.nv), robot.v_slices)


def joint_forces(robot: Robot, text: str, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """τ (nv,) as an argument says it; "hold" is what keeps v constant."""
    return robot.bias_force(q, v, target="numpy") if text == "hold" else velocity(robot, text, "--tau")


def _numbers(robot: Robot, text: str, option: str, count: int, start: np.ndarray, slices: Any) -> np.ndarray:
    items = text.replace(",", " ").split()
    if any("=" in w for w in items):
        return _by_name(robot, items, option, start, slices)
    try:
        values = np.array([float(w) for w in items])
    except ValueError as e:
        raise InputError(f"{option} {text!r}: {e}; give numbers, or joint=number") from None
    if values.shape != (count,):
        raise InputError(f"{option} has {len(items)} numbers; robot {robot.name!r} takes {count}")
    return _finite(values, option)


def _by_name(robot: Robot, items: list[str], option: str, start: np.ndarray, slices: Any) -> np.ndarray:
    out = start.copy()
    for w in items:
        name, _, value = w.partition("=")
        where = slices[robot.joint(name)]
        if where.stop - where.start != 1:
            raise InputError(f"{option} {w!r}: joint {name!r} has {where.stop - where.start} numbers; give all of them")
        try:
            out[where] = float(value)
        except ValueError:
            raise InputError(f"{option} {w!r}: {value!r} is no number") from None
    return _finite(out, option)


def _finite(values: np.ndarray, option: str) -> np.ndarray:
    if not np.isfinite(values).all():
        raise InputError(f"{option} must be finite numbers")
    return values
