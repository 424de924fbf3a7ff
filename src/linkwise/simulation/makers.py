"""Motions that are asked for here and made elsewhere: many at once, where many functions each ask for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np

from ..robot.robot import Robot
from .asked import Asked
from .trajectory import Settings, Trajectory


@dataclass(frozen=True, eq=False)
class Motion:
    """A motion that was asked for, its arguments checked: flat states q (states, nq), v (states, nv) of a ``batch``."""

    robot: Robot
    q: np.ndarray
    v: np.ndarray
    batch: tuple[int, ...]
    settings: Settings
    steps: int
    asked: Asked
    exchanged: np.ndarray | None = None


Maker = Callable[[Motion], Trajectory | None]
_MAKER: ContextVar[Maker | None] = ContextVar("maker", default=None)


def maker() -> Maker | None:
    """What makes the motions of this context; None where they are made as they are asked for."""
    return _MAKER.get()


@contextmanager
def made_by(made: Maker) -> Iterator[None]:
    """Have ``made`` make the motions that are asked for in this context; those it gives None for are made as ever."""
    token = _MAKER.set(made)
    try:
        yield
    finally:
        _MAKER.reset(token)
