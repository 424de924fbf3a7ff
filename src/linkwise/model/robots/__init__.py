"""The built-in robots, so that nothing has to be downloaded to start."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TypeVar

from ...arguments import one_of
from ..model import Model

M = TypeVar("M", bound=Model)

# name → (module, function in it); a robot's module is imported when that robot is built.
_REGISTRY = {
    "cartpole": ("pendulums", "cartpole"),
    "chain10": ("pendulums", "chain10"),
    "double_pendulum": ("pendulums", "double_pendulum"),
    "humanoid": ("humanoid", "humanoid"),
    "panda": ("panda", "panda"),
    "panda_gripper": ("panda", "panda_gripper"),
    "quadruped": ("quadruped", "quadruped"),
    "satellite": ("satellite", "satellite"),
    "ur5": ("ur5", "ur5"),
}


def names() -> list[str]:
    """The names of the built-in robots, in alphabetical order."""
    return sorted(_REGISTRY)


def build(name: str, *, cls: type[M]) -> M:
    """The built-in robot of that name, as an object of class ``cls``."""
    module, function = _REGISTRY[one_of(name, names(), "built-in robot")]
    make: Callable[[type[M]], M] = getattr(import_module(f".{module}", __name__), function)
    return make(cls)
