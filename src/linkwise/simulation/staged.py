"""A compiled loop over the stages or parts of steps: machine code as short as one of them, whatever the order.

A turn of the loop makes one stage (:func:`.runge_kutta_4`) or one part (:mod:`.implicit`). Beside the state at the
start of the step it carries what the turns before have given; which one it is comes from a table with a row for each.
(Rows are short: every state reads them at every turn.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from .. import arrays
from ..codegen.thresholds import MOST_BODIES, STAGED_FROM
from ..properties import cached_property
from .implicit import Sums, part_of_step, parts
from .steppers import CompiledStepper, Task, repeated_rows
from .steps import RUNGE_KUTTA_4, runge_kutta_end
from .system import System

_TURN = "turn"  # a row of the table


def staged_stepper(task: Task) -> CompiledStepper | None:
    """The loop over parts, or stages, of steps; None where one over whole steps suits them: where there is one of them,
    where steps are short, and where what is done once a step (loops brought back) costs as much as a part."""
    if task.closing.how not in ("none", "baumgarte") or len(task.robot.bodies) > MOST_BODIES:
        return None
    if task.order:
        return PartStepper(task) if task.order > 1 else None
    return StageStepper(task) if task.robot.nv >= STAGED_FROM and has_stages(task) else None


def has_stages(task: Task) -> bool:
    """Whether steps may be made by a :class:`StageStepper`."""
    plain = task.closing.how in ("none", "baumgarte") and not task.order
    return plain and task.method == "runge_kutta_4" and task.coordinates == "joint"


@dataclass(frozen=True, eq=False)
class StagedStepper(CompiledStepper):
    """The whole loop in machine code, one turn for each row of a table."""

    stepped: ClassVar[tuple[str, ...]] = ("t", "tau", _TURN)

    @property
    def registers(self) -> dict[str, int]:
        """What is carried from turn to turn beside q and w, with the sizes."""
        raise NotImplementedError

    @property
    def table(self) -> np.ndarray:
        """(turns, numbers)."""
        raise NotImplementedError

    def begins(self, row: np.ndarray) -> Any:
        """Whether a row is the first of the table."""
        raise NotImplementedError

    def turn(self, system: System, given: Mapping[str, Any], t: Any) -> tuple[np.ndarray, ...]:
        """q and w after the turn, and the registers."""
        raise NotImplementedError

    @property
    def _held(self) -> dict[str, int]:
        return {"held": self.task.robot.nv} if self.task.controller is not None and self.task.hold else {}

    @property
    def carried(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(["q", "w", *self.registers, *self._held])}

    @cached_property
    def names(self) -> list[str]:
        given = [n for n in CompiledStepper(self.task).names if n not in ("q", "w")]
        return [*self.carried, *given, _TURN]

    @property
    def _more_sizes(self) -> dict[str, int]:
        return {**self.registers, **self._held, _TURN: self.table.shape[-1]}

    def _step(self, system: System, given: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        t = given["t"][0] if "t" in given else 0.0
        held: list[Any] = []
        if self._held:
            assert system.force is not None
            asked = system.force(t, given["q"], system.velocity(given["q"], given["w"]))
            held = [arrays.where(self.begins(given[_TURN]), asked, given["held"])]
            system = replace(system, force=lambda t, q, v: held[0])
        if self.task.cost is None:
            return (*self.turn(system, given, t), *held)
        w, h = given["w"], given["h"][0]
        spent: Any = w[-1:]
        spent = arrays.where(self.begins(given[_TURN]), self.task.spent_after(system, t, given["q"], w, h), spent)
        q, w, *rest = self.turn(system, {**given, "w": w[:-1]}, t)
        return (q, np.concatenate([w, spent]), *rest, *held)

    @property
    def turns(self) -> int:
        return len(self.table)

    def by_turns(
        self, given: Mapping[str, Any], steps: int, repeated: Callable[[Any, int], Any] = repeated_rows
    ) -> dict[str, Any]:
        found = {k: None if x is None else repeated(x, self.turns) for k, x in given.items()}
        return found | {_TURN: np.tile(self.table, (steps, 1))}

    @property
    def sizes(self) -> dict[str, int]:
        return super().sizes | self.registers | self._held

    def _turned(self, given: dict[str, Any], steps: int, every: int, out: Sequence[np.ndarray]) -> bool:
        given |= self.by_turns({name: given.get(name) for name in ("t", "tau")}, steps)
        sizes = self.registers | self._held
        given |= {name: np.zeros(n) for name, n in sizes.items()}
        rest = [np.empty((*out[0].shape[:2], n), out[0].dtype) for n in sizes.values()]
        return super()._turned(given, steps * self.turns, every * self.turns, [*out, *rest])


def _above(x: Any, bound: float) -> Any:
    """Whether a number of the table is above another, for :func:`.arrays.where`."""
    return arrays.less(bound - np.asarray(x, dtype=object), 0.0)


def _choice(x: Any, numbers: Sequence[float]) -> Any:
    """The entry of a list that a number of the table tells, 0 the first."""
    found: Any = np.asarray(numbers[0], dtype=object)
    for i, (before, value) in enumerate(pairwise(numbers)):
        if value != before:
            found = arrays.where(_above(x, i + 0.5), np.asarray(value, dtype=object), found)
    return found


# --- parts of implicit steps --------------------------------------------------------------------------------------


class PartStepper(StagedStepper):
    """One turn for each part of a step; rows are its length, its start and its weight, and all else follows."""

    @property
    def registers(self) -> dict[str, int]:
        nq, nv, width = self.task.robot.nq, self.task.robot.nv, self.task.moved_width
        found = {"here_q": nq, "here_w": width, "line": nv, "sum_q": nv, "sum_w": width}
        return found if self.task.passive.falls_as_it_is else found | {"broken": 1}

    @property
    def table(self) -> np.ndarray:
        return np.array([(p.length, p.start, p.weight) for p in parts(self.task.order)])

    def begins(self, row: np.ndarray) -> Any:
        return _above(row[0], 0.75)

    def turn(self, system: System, given: Mapping[str, Any], t: Any) -> tuple[np.ndarray, ...]:
        length, begun, weight = given[_TURN]
        h, start, within = given["h"][0], (given["q"], given["w"]), _above(begun, 1e-3)
        here_q, here_w = (arrays.where(within, given[n], x) for x, n in zip(start, ("here_q", "here_w")))
        end = part_of_step(system, t + h * begun, here_q, here_w, h * length)
        summed = [given[n] for n in ("sum_q", "sum_w", "broken") if n in given]
        before = Sums(*(arrays.where(self.begins(given[_TURN]), 0.0 * x, x) for x in summed))
        line = system.gone(arrays.where(within, given["line"], 0.0 * given["line"]), end[1], h * length)
        sums = before.plus(system, start, (here_q, here_w), end, weight, line)
        after = sums.applied(system, start, end)
        last = _above(begun, parts(self.task.order)[-1].start - 1e-3)  # no other starts as late
        kept = [arrays.where(last, x, y) for x, y in zip(after, start)]
        return (*kept, *end, line, *(x for x in sums if x is not None))


# --- stages of explicit steps -------------------------------------------------------------------------------------


class StageStepper(StagedStepper):
    """One turn for each stage of :func:`.runge_kutta_4`; rows are its number."""

    @property
    def registers(self) -> dict[str, int]:
        nq, nv, width = self.task.robot.nq, self.task.robot.nv, self.task.moved_width
        pairs = {f"{which}_{x}": n for which in ("first", "middle", "last") for x, n in (("v", nv), ("a", width))}
        return {"second_q": nq, **pairs}

    @property
    def table(self) -> np.ndarray:
        return np.arange(float(len(RUNGE_KUTTA_4)))[:, None]

    def begins(self, row: np.ndarray) -> Any:
        return arrays.less(np.asarray(row[0], dtype=object), 0.5)

    def turn(self, system: System, given: Mapping[str, Any], t: Any) -> tuple[np.ndarray, ...]:
        (k,) = given[_TURN]
        h, q, w = given["h"][0], given["q"], given["w"]
        first, last = self.begins(given[_TURN]), _above(k, 2.5)
        time, of_last, of_first = (_choice(k, [x[i] for x in RUNGE_KUTTA_4]) for i in (0, 1, 2))
        base = arrays.where(
            _above(_choice(k, [float(x.from_second) for x in RUNGE_KUTTA_4]), 0.5), given["second_q"], q
        )
        along = of_last * given["last_v"] + of_first * given["first_v"]
        at = arrays.where(first, q, system.moved(base, h * along))
        rate = arrays.where(first, w, w + h * (of_last * given["last_a"]))
        found = system.derivative(t + time * h, at, rate)
        second_q = arrays.where(_above(k, 1.5), given["second_q"], at)
        firsts: list[Any] = []
        middles: list[Any] = []
        for x, name in zip(found, ("v", "a")):
            firsts.append(arrays.where(first, x, given[f"first_{name}"]))
            before = given[f"middle_{name}"]
            added = arrays.where(_above(k, 1.5), before + x, x)
            middles.append(arrays.where(last, before, added))
        after = runge_kutta_end(system, q, w, h, firsts, middles, found)
        kept: list[Any] = [arrays.where(last, x, y) for x, y in zip(after, (q, w))]
        rest: list[Any] = [second_q, *firsts, *middles, *found]
        return (*kept, *rest)
