"""What all scenarios of studies share: with a robot and parameters they run one alone, or many at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..robot.robot import Robot
from ..simulation.trajectory import Trajectory
from .users_errors import RAISED

Outcome = dict[str, Any]
# Called with "start" before what is done for a run, "wait" where it waits for others, "end" once it is on record.
Around = Callable[[str, int], None]


@dataclass(frozen=True, eq=False)
class Ended:
    """What came of one run: ``values``, or the ``error`` that it raised; and the ``ways`` its motions were made."""

    run: int
    values: Outcome
    error: BaseException | None = None
    ways: tuple[str, ...] = ()
    at_once: bool = False  # whether it was made with all others of its chunk, so that it need not be put down by itself


class Scenario:
    """What all scenarios share."""

    kind = "function"

    def prepared(self, robot: Robot, shapes: Mapping[str, tuple[int, ...]], keep: list[Any] | None) -> Prepared:
        """This scenario for a robot, parameters of these shapes, and what is to be kept."""
        raise NotImplementedError

    def to_plain(self) -> dict[str, Any]:
        """What it is, in words and numbers, for the manifest."""
        return {"kind": self.kind}


class Prepared:
    """A scenario with its robot and parameters. ``batch`` runs many at once where ``in_processes`` is None."""

    in_processes: str | None = "a function in Python"  # why runs are made one at a time
    how = ""  # what else is said of how runs are made
    # The parameters of the first runs that have some, and the names of those that are drawn.
    first_runs: Callable[[], tuple[Sequence[Mapping[str, Any]], list[str]]] | None = None
    uncompiled: str | None = None  # why a function is not to be compiled, where that is known

    def one(self, values: Mapping[str, Any], generator: np.random.Generator) -> Outcome:
        """What one run gives."""
        raise NotImplementedError

    def each(
        self,
        runs: Iterable[tuple[int, Mapping[str, Any]]],
        generator: Callable[[int], np.random.Generator],
        around: Around,
        device: str | None = None,
    ) -> Iterator[Ended]:
        """What each of several runs gives, as they end; whatever the user's code raises is kept with it."""
        calls = ((run, partial(self._given, run, values, generator)) for run, values in runs)
        return one_after_another(calls, around, (f"one by one: {self.in_processes}",))

    def _given(self, run: int, values: Mapping[str, Any], generator: Callable[[int], np.random.Generator]) -> Outcome:
        return self.one(values, generator(run))

    @property
    def at_once(self) -> bool:
        """Whether :meth:`batch` is all that is to be done for the runs of a chunk."""
        return self.in_processes is None

    def batch(
        self, values: Mapping[str, np.ndarray], device: str | None = None, count: int | None = None
    ) -> tuple[Outcome, np.ndarray]:
        """What many runs give, each (runs, …), and which of them are sound (runs,); on a card where one is named.

        ``count`` says how many they are where there are no parameters that do.
        """
        raise NotImplementedError

    def trajectory(self, values: Mapping[str, Any], generator: np.random.Generator) -> Trajectory:
        """One run as a motion."""
        raise NotImplementedError

    @property
    def numbers_per_run(self) -> int | None:
        """How many numbers one run of a batch has in memory."""
        return None

    @property
    def operations_per_run(self) -> float | None:
        """How many operations one run of a batch takes."""
        return None


def one_after_another(
    calls: Iterable[tuple[int, Callable[[], Outcome]]], around: Around, ways: tuple[str, ...]
) -> Iterator[Ended]:
    """What each call for a run gives, or what it raises: then that run has failed, and the others go on."""
    for run, call in calls:
        around("start", run)
        try:
            ended = Ended(run, call(), None, ways)
        except RAISED as e:
            ended = Ended(run, {}, e, ways)
        yield ended
        around("end", run)
