"""What a library in the benchmarks is: a name, and a way to make a case ready in it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..model.model import Model
from ..robot.robot import Robot
from ..symbols.scalar import Operations
from .cases import Case


class NotHere(Exception):
    """Why a library is left out of a case: not installed, or it has no such function or joint."""


@dataclass(frozen=True)
class Work:
    """A case made ready: ``run`` is what is timed, every state of the batch once.

    ``result`` takes what ``run`` gave, and gives it in linkwise's order and axes, which is nobody's work to time.
    """

    run: Callable[[], Any]
    result: Callable[[Any], np.ndarray] = np.asarray
    operations: Operations | None = None


@dataclass(frozen=True)
class Peer:
    """A library: its name in the tables, its distributions, what exactly is timed, and how a case is made ready."""

    name: str
    distributions: tuple[str, ...]
    timed: str
    prepare: Callable[[Robot, Case, list[np.ndarray]], Work]


def needs(module: str, distribution: str) -> Any:
    """A module, or :class:`NotHere` that names the distribution to install."""
    try:
        return importlib.import_module(module)
    except ImportError as e:
        missing = isinstance(e, ModuleNotFoundError) and module.startswith((e.name or "").partition(".")[0])
        why = "not installed" if missing else f"cannot be imported ({e})"
        raise NotHere(f"{why}; pip install {distribution}") from None


def needs_float64(case: Case) -> None:
    if case.dtype != "float64":
        raise NotHere(f"no {case.dtype}")


def needs_function(case: Case, functions: Any) -> None:
    if case.function not in functions:
        raise NotHere(f"has no {case.function}")


def needs_joints(robot: Model, *kinds: str, free_base_only: bool = True) -> None:
    """Refuse joints of other kinds, rotors, and (unless told otherwise) free joints beyond one root's."""
    for k, joint in enumerate(robot.joints):
        if joint.kind.kind not in kinds:
            raise NotHere(f"no counterpart of the {joint.kind.kind} joint {joint.name!r}")
        if joint.rotor is not None:
            raise NotHere(f"no counterpart of the rotor of joint {joint.name!r}")
        if free_base_only and joint.kind.kind == "free" and (k > 0 or robot.parents.count(-1) > 1):
            raise NotHere(f"a free joint only at the one root, not {joint.name!r}")
