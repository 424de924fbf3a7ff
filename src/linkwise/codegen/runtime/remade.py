"""What compiled functions are pickled as: what they were made from."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from typing import Any, TypeVar


class Remade:
    """Pickled as the call that made it. Where it is loaded it is made again, mostly from the disk cache."""

    _made_by: Callable[[], Any] | None = None

    def __reduce__(self) -> Any:
        if self._made_by is None:
            name = getattr(self, "__name__", type(self).__name__)
            raise pickle.PicklingError(
                f"{name} does not know what it was made from; what robot.compile and lw.compile give does: pickle that"
            )
        return self._made_by, ()


class RunAsItIs(Remade):
    """A function of a robot and arrays, with the robot fixed: the target "numpy"."""

    target = "numpy"

    def __init__(self, function: Callable[..., Any], robot: Any) -> None:
        self.__name__ = getattr(function, "__name__", "function")
        self._function, self._robot = function, robot

    def __call__(self, *arrays: Any) -> Any:
        return self._function(self._robot, *arrays)


T = TypeVar("T", bound=Remade)


def made(thing: T, by: Callable[..., Any], *args: Any, **named: Any) -> T:
    """``thing``, which remembers that ``by(*args, **named)`` makes it."""
    object.__setattr__(thing, "_made_by", functools.partial(by, *args, **named))
    return thing
