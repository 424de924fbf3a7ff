"""The built-in robots, so that nothing has to be downloaded to start."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TypeVar

from ...arguments import one_of
from ..loops import Loop
from ..model import Model

M = TypeVar("M", bound=Model)

# name → (module, function in it); a robot's module is imported when that robot is built.
_REGISTRY = {
    "cartpole": ("pendulums", "cartpole"),
    "chain10": ("pendulums", "chain10"),
    "delta": ("parallel_robots", "delta"),
    "double_pendulum": ("pendulums", "double_pendulum"),
    "four_bar": ("linkages", "four_bar"),
    "governor": ("linkages", "governor"),
    "gripper": ("linkages", "gripper"),
    "humanoid": ("humanoid", "humanoid"),
    "panda": ("panda", "panda"),
    "panda_gripper": ("panda", "panda_gripper"),
    "quadruped": ("quadruped", "quadruped"),
    "satellite": ("satellite", "satellite"),
    "satellite_pair": ("satellite", "satellite_pair"),
    "slider_crank": ("linkages", "slider_crank"),
    "stewart": ("parallel_robots", "stewart"),
    "ur5": ("ur5", "ur5"),
}

# Those that loops close, by a function beside the robot's own.
_CLOSED = ("delta", "four_bar", "governor", "satellite_pair", "slider_crank", "stewart")


def names() -> list[str]:
    """The names of the built-in robots, in alphabetical order."""
    return sorted(_REGISTRY)


def build(name: str, *, cls: type[M]) -> M:
    """The built-in robot of that name, as an object of class ``cls``."""
    module, function = _REGISTRY[one_of(name, names(), "built-in robot")]
    make: Callable[[type[M]], M] = getattr(import_module(f".{module}", __name__), function)
    return make(cls)


def loops(name: str) -> tuple[Loop, ...]:
    """The loops that close the built-in robot of that name."""
    if name not in _CLOSED:
        return ()
    module, function = _REGISTRY[name]
    make: Callable[[], tuple[Loop, ...]] = getattr(import_module(f".{module}", __name__), f"{function}_loops")
    return make()
