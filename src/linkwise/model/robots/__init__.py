"""The built-in robots, so that nothing has to be downloaded to start."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from importlib import import_module
from typing import TypeVar

from ...errors import UnknownNameError
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
    if name not in _REGISTRY:
        close = difflib.get_close_matches(str(name), _REGISTRY, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        known = ", ".join(names())
        raise UnknownNameError(f"no built-in robot is named {name!r}; {hint}the built-in robots are {known}")
    module, function = _REGISTRY[name]
    make: Callable[[type[M]], M] = getattr(import_module(f".{module}", __name__), function)
    return make(cls)
