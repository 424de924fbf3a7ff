"""What a library in the benchmarks is: a name, and a way to make a case ready in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..interop.availability import NotHere
from ..robot.robot import Robot
from ..symbols.operations import Operations
from .cases import Case


@dataclass(frozen=True)
class Work:
    """A case made ready: ``run`` is what is timed, every state of the batch once.

    ``result`` takes what ``run`` gave, and gives it in linkwise's order and axes, which is nobody's work to time.
    """

    run: Callable[[], Any]
    result: Callable[[Any], np.ndarray] = np.asarray
    operations: Operations | None = None
    how: str = ""  # which of several builds it is


@dataclass(frozen=True)
class Peer:
    """A library: its name in the tables, its distributions, what exactly is timed, and how a case is made ready."""

    name: str
    distributions: tuple[str, ...]
    timed: str
    prepare: Callable[[Robot, Case, list[np.ndarray]], Work]


def needs_float64(case: Case) -> None:
    if case.dtype != "float64":
        raise NotHere(f"no {case.dtype}")


def needs_function(case: Case, functions: Any) -> None:
    if case.function not in functions:
        raise NotHere(f"has no {case.function}")
