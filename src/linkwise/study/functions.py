"""Scenarios that are functions of (robot, parameters): compiled as a whole where they give numbers alone and can be;
called in Python elsewhere, where the motions that they ask for are made together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..arguments import shown
from ..errors import InputError, UntraceableError
from ..properties import cached_property
from ..robot.robot import Robot
from ..simulation.makers import Motion, made_by
from ..simulation.record import motions_made
from ..simulation.trajectory import Trajectory
from .compiled import TRACING, Compiled, compiled
from .keeping import DEFAULT, Keeping
from .names import refuse_name
from .rounds import Turn, in_turns
from .scenario_base import Around, Ended, Outcome, Prepared, Scenario
from .together import ASKED, Together
from .users_errors import RAISED
from .ways import BATCHES

CALLED = "its function is called"


@dataclass(frozen=True, eq=False)
class Function(Scenario):
    """A user's function of (robot, parameters)."""

    function: Callable[..., Any]
    callback: bool = False  # whether it is to be called for every run

    def prepared(self, robot: Robot, shapes: Mapping[str, tuple[int, ...]], keep: list[Any] | None) -> Prepared:
        return _OfFunction(robot, self.function, keep, uncompiled=CALLED if self.callback else None)

    def to_plain(self) -> dict[str, Any]:
        name = getattr(self.function, "__qualname__", type(self.function).__name__)
        called = {"callback": True} if self.callback else {}
        return {"kind": self.kind, "function": f"{getattr(self.function, '__module__', '?')}.{name}", **called}


@dataclass(eq=False)
class _OfFunction(Prepared):
    robot: Robot
    function: Callable[..., Any]
    keep: list[Any] | None
    uncompiled: str | None = None

    how = "which is compiled, or whose motions are made together, as batches of machine code, where they can be"

    @cached_property
    def together(self) -> Together:
        return Together(self.robot)

    @cached_property
    def compiled(self) -> Compiled | str:
        """The function as machine code, or why it is none."""
        if self.uncompiled is not None or self.first_runs is None:
            return self.uncompiled or "its parameters are not known"
        runs, drawn = self.first_runs()
        with made_by(_no_motions):
            found = compiled(self.robot, self._chosen, self.function, runs, drawn)
        self.uncompiled = found if isinstance(found, str) else None
        return found

    def _chosen(self, robot: Robot, values: dict[str, Any]) -> dict[str, Any]:
        return {k: x if arrays.is_symbolic(np.asarray(x)) else storable(k, x)
                for k, x in chosen_of(self.function(robot, values), self.keep).items()}  # fmt: skip

    def one(self, values: Mapping[str, Any], generator: np.random.Generator) -> Outcome:
        found = self._compiled_results([values])[0]
        return kept_of(self._called(values)[0], self.keep) if found is None else found

    def _compiled_results(self, values: list[Mapping[str, Any]]) -> list[Outcome | None]:
        """What runs give by machine code; None for those that are to be called."""
        made = self.compiled
        if isinstance(made, str):
            return [None] * len(values)
        taken = [i for i, x in enumerate(values) if made.takes(x)]
        found: list[Outcome | None] = [None] * len(values)
        for i, x in zip(taken, made.run([values[i] for i in taken]) if taken else []):
            found[i] = None if x is None else {k: storable(k, y) for k, y in x.items()}
        return found

    def each(
        self,
        runs: Iterable[tuple[int, Mapping[str, Any]]],
        generator: Callable[[int], np.random.Generator],
        around: Around,
        device: str | None = None,
    ) -> Iterator[Ended]:
        """What machine code gives, then the other runs by turns: each goes on until it asks for a motion, and those of
        all that wait are made together."""
        runs = list(runs)
        around("start", TRACING)
        known = self._compiled_results([values for _, values in runs])
        around("end", TRACING)
        for (run, _), found in zip(runs, known):
            if found is not None:
                yield Ended(run, found, None, (BATCHES,), at_once=True)
        runs = [x for x, found in zip(runs, known) if found is None]

        def started(run: int, values: Mapping[str, Any]) -> Callable[[Turn], Any]:
            ways: list[str] = []

            def function(turn: Turn) -> Any:
                turn.ways = ways
                with made_by(lambda motion: self._asked(motion, turn.ask, ways)):
                    return kept_of(self.function(self.robot, dict(values)), self.keep)

            return function

        functions = ((run, started(run, values)) for run, values in runs)
        for turn in in_turns(functions, self.together.made, around):
            if turn.error is not None and not isinstance(turn.error, RAISED):
                raise turn.error
            yield Ended(turn.key, turn.result or {}, turn.error, tuple(dict.fromkeys(turn.ways)) or self._alone)

    @property
    def _alone(self) -> tuple[str, ...]:
        """How a run was made that asked for no motion."""
        why = "what machine code gives is not finite" if self.uncompiled is None else self.uncompiled
        return (f"as asked: {why}" if why == CALLED else f"alone: {why}",)

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


def _no_motions(motion: Motion) -> Trajectory | None:
    raise UntraceableError("it asks for motions")


def kept_of(given: Any, keep: list[Any] | None) -> Outcome:
    """What is kept of what a function gave: a motion, named values, or one value."""
    return {name: storable(name, x) for name, x in chosen_of(given, keep).items()}


def chosen_of(given: Any, keep: list[Any] | None) -> dict[str, Any]:
    """The same as it was given, numbers or symbols."""
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
    return wanted


def storable(name: str, x: Any) -> Any:
    """A result as it is kept."""
    if isinstance(x, str):
        return x
    out = np.asarray(x)
    if out.dtype.kind == "c":
        raise InputError(f"{name!r} is complex; keep its real and imaginary parts")
    if out.dtype.kind not in "fiub":
        raise InputError(f"{name!r} must be a number, a word or an array of numbers to be kept, got {shown(x)}")
    return out.astype(float) if out.dtype.kind == "f" and out.dtype.itemsize > 8 else out
