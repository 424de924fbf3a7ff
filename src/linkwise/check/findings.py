"""What a check found, and all checks in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..errors import LinkwiseError
from ..robot.closed import ClosedRobot
from ..robot.robot import Robot

PASSED, WARNED, FAILED, SKIPPED = "passed", "warned", "failed", "skipped"


@dataclass(frozen=True)
class Finding:
    """The outcome of one check: ``status`` is "passed", "warned", "failed" or "skipped".

    ``difference`` is the largest one found, relative to the numbers compared, and ``tolerance`` what it may be.
    """

    name: str
    status: str
    detail: str = ""
    difference: float | None = None
    tolerance: float | None = None


@dataclass(frozen=True, eq=False)
class States:
    """Random states of a robot: q (count, nq); v, a, tau (count, nv)."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray

    @staticmethod
    def random(robot: Robot, count: int, seed: int = 0) -> States:
        rng = np.random.default_rng(seed)
        return States(robot.random_configuration(rng, count), *rng.normal(size=(3, count, robot.nv)))


Check = Callable[[], Iterable[Finding]]


def compared(name: str, found: Any, expected: Any, tolerance: float, detail: str = "", scale: Any = None) -> Finding:
    """Passed where the two agree to ``tolerance``, relative to the largest number expected (or ``scale``)."""
    found, expected = np.asarray(found), np.asarray(expected)
    size = float(np.abs(expected).max(initial=0.0)) if scale is None else float(scale)
    difference = float(np.abs(found - expected).max(initial=0.0)) / (size or 1.0)
    ok = difference <= tolerance  # False for NaN
    return Finding(name, PASSED if ok else FAILED, detail, difference, tolerance)


def check_robot(robot: Robot, source: str | None = None, count: int = 5, seed: int = 0) -> Iterator[Finding]:
    """Every check of a robot at ``count`` random states; ``source`` is the file it came from, if any."""
    from . import consistency, inertias, loops, peers

    yield from notes(robot)
    yield from inertias.look(robot)
    if robot.nv == 0:
        yield Finding("dynamics", SKIPPED, "no joint moves")
        return
    if any(f.status == WARNED and f.name == "loose joints" for f in inertias.look(robot)):
        yield Finding("dynamics", SKIPPED, "a joint that no inertia resists has no acceleration")
        return
    tree = robot.opened if isinstance(robot, ClosedRobot) else robot
    states = States.random(tree, count, seed)
    for check in (*consistency.CHECKS, *peers.CHECKS):
        yield from _guarded(check.__name__.replace("_", " "), partial(check, tree, states))
    yield from _guarded("the file elsewhere", lambda: peers.same_file(tree, source, states))
    if isinstance(robot, ClosedRobot):
        for look in loops.CHECKS:
            yield from _guarded("loops", partial(look, robot, states))


def _guarded(name: str, check: Check) -> Iterator[Finding]:
    """The findings of a check; an error of linkwise in it is a failure, not the end."""
    try:
        yield from list(check())
    except LinkwiseError as e:
        yield Finding(name, FAILED, str(e))


def notes(robot: Robot) -> Iterator[Finding]:
    """What looked odd on loading."""
    for note in robot.notes:
        idle = note.startswith("not read, ")
        yield Finding("file", PASSED if idle else WARNED, note)
