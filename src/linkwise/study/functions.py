"""Scenarios that are functions of (robot, parameters), called in Python; their motions are made together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..arguments import shown
from ..errors import InputError
from ..robot.robot import Robot
from ..simulation.makers import Motion, made_by
from ..simulation.record import motions_made
from ..simulation.trajectory import Trajectory
from .keeping import DEFAULT, Keeping
from .names import refuse_name
from .rounds import Turn, in_turns
from .scenario_base import Around, Ended, Outcome, Prepared, Scenario
from .together import ASKED, BATCHES, Together


@dataclass(frozen=True, eq=False)
class Function(Scenario):
    """A user's function of (robot, parameters)."""

    function: Callable[..., Any]

    def prepared(self, robot: Robot, shapes: Mapping[str, tuple[int, ...]], keep: list[Any] | None) -> Prepared:
        return _OfFunction(robot, self.function, keep)

    def to_plain(self) -> dict[str, Any]:
        name = getattr(self.function, "__qualname__", type(self.function).__name__)
        return {"kind": self.kind, "function": f"{getattr(self.function, '__module__', '?')}.{name}"}


@dataclass(frozen=True, eq=False)
class _OfFunction(Prepared):
    robot: Robot
    function: Callable[..., Any]
    keep: list[Any] | None

    how = "whose motions are made together, as batches of machine code, where they can be"

    @cached_property
    def together(self) -> Together:
        return Together(self.robot)

    def one(self, values: Mapping[str, Any], generator: np.random.Generator) -> Outcome:
        return kept_of(self._called(values)[0], self.keep)

    def each(
        self,
        runs: Iterable[tuple[int, Mapping[str, Any]]],
        generator: Callable[[int], np.random.Generator],
        around: Around,
    ) -> Iterator[Ended]:
        """Runs by turns: each goes on until it asks for a motion, and those of all that wait are made together."""

        def started(run: int, values: Mapping[str, Any]) -> Callable[[Turn], Any]:
            ways: list[str] = []

            def function(turn: Turn) -> Any:
                turn.ways = ways
                with made_by(lambda motion: self._asked(motion, turn.ask, ways)):
                    return kept_of(self.function(self.robot, dict(values)), self.keep)

            return function

        functions = ((run, started(run, values)) for run, values in runs)
        for turn in in_turns(functions, self.together.made, around):
            if turn.error is not None and not isinstance(turn.error, Exception):
                raise turn.error
            yield Ended(turn.key, turn.result or {}, turn.error, tuple(dict.fromkeys(turn.ways)))

    def _asked(self, motion: Motion, ask: Callable[[Any], Any], ways: list[str]) -> Trajectory | None:
        """A motion that the function asks for, made with those of others; None where it is to be made alone."""
        share = self.together.share(motion)
        if isinstance(share, str):
            ways.append(f"as asked: {share}" if share in ASKED else f"alone: {share}")
            return None
        ways.append(BATCHES)
        return share.group.trajectory(share, ask(share))

    def _called(self, values: Mapping[str, Any]) -> tuple[Any, list[Trajectory]]:
        """What the function gives for one run alone, and the motions that it asked for; the same bits as by turns."""
        alone = lambda share: self.together.made([share])[0]
        with made_by(lambda motion: self._asked(motion, alone, [])), motions_made() as made:
            return self.function(self.robot, dict(values)), made

    def trajectory(self, values: Mapping[str, Any], generator: np.random.Generator) -> Trajectory:
        given, made = self._called(values)
        found = [x for x in _parts(given) if isinstance(x, Trajectory)] or made
        if not found:
            name = getattr(self.function, "__name__", "the scenario")
            raise InputError(f"{name} gave no trajectory and called no lw.simulate, so that there is none to show;"
                             " study.result(k) runs it again and gives what it gives")  # fmt: skip
        return found[-1]


def _parts(given: Any) -> list[Any]:
    if isinstance(given, Mapping):
        return list(given.values())
    return list(given) if isinstance(given, (list, tuple)) else [given]


def kept_of(given: Any, keep: list[Any] | None) -> Outcome:
    """What is kept of what a function gave: a motion, named values, or one value."""
    if isinstance(given, Trajectory):
        if given.batch:
            raise InputError(f"a run is one motion, and the scenario gave a batch of {given.batch}")
        keeping = Keeping(DEFAULT if keep is None else keep)
        keeping.check(given.robot)
        return keeping.of(given)
    named = dict(given) if isinstance(given, Mapping) else {} if given is None else {"result": given}
    if keep is None:
        wanted = {str(k): x for k, x in named.items() if not isinstance(x, Trajectory)}
    else:
        motion = next((x for x in named.values() if isinstance(x, Trajectory)), None)
        wanted = {}
        for item in keep:
            if not isinstance(item, str):
                wanted[Keeping([item]).names[0]] = item(given)
            elif item in named and not isinstance(named[item], Trajectory):
                wanted[item] = named[item]
            elif motion is not None:
                keeping = Keeping([item])
                keeping.check(motion.robot)
                wanted |= keeping.of(motion)
            else:
                raise InputError(f"the scenario gave {', '.join(map(repr, named)) or 'nothing'}, and no {item!r} that"
                                 " was to be kept")  # fmt: skip
    for name in wanted:
        refuse_name(name, "a result")
    return {name: _storable(name, x) for name, x in wanted.items()}


def _storable(name: str, x: Any) -> Any:
    if isinstance(x, str):
        return x
    out = np.asarray(x)
    if out.dtype.kind == "c":
        raise InputError(f"{name!r} is complex; keep its real and imaginary parts")
    if out.dtype.kind not in "fiub":
        raise InputError(f"{name!r} must be a number, a word or an array of numbers to be kept, got {shown(x)}")
    return out.astype(float) if out.dtype.kind == "f" and out.dtype.itemsize > 8 else out
