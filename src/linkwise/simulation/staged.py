"""A compiled loop over the parts of steps: machine code as short as one part, whatever the order of the step.

A turn of the loop makes one part (:mod:`.implicit`). Beside the state at the start of the step it carries where the last
part led and the sums over lines; which part it is comes from a table with a row for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .. import arrays
from .implicit import Sums, part_of_step, parts
from .steppers import CompiledStepper, Task
from .system import System

_HERE = ("here_q", "here_w")
_SUMS = ("sum_q", "sum_w", "broken")
_PART = "part"  # (length, start, weight, whether it ends the step): a row of the table


def admits(task: Task) -> bool:
    """Whether steps have parts, and nothing that is done once a step (loops brought back) costs as much as these."""
    return task.order > 1 and task.closing.how in ("none", "baumgarte")


@dataclass(frozen=True, eq=False)
class StagedStepper(CompiledStepper):
    """The whole loop in machine code, one turn for each part of a step."""

    stepped = ("t", "tau", _PART)

    @property
    def carried(self) -> dict[str, int]:  # type: ignore[override]
        return {name: i for i, name in enumerate(self._registers)}

    @property
    def _registers(self) -> list[str]:
        held = ["held"] if self.task.controller is not None and self.task.hold else []
        breaks = not self.task.passive.falls_as_it_is
        return ["q", "w", *_HERE, *(_SUMS if breaks else _SUMS[:2]), *held]

    @cached_property
    def names(self) -> list[str]:
        given = [n for n in CompiledStepper(self.task).names if n not in ("q", "w")]
        return [*self._registers, *given, _PART]

    @property
    def _more_sizes(self) -> dict[str, int]:
        nq, nv, width = self.task.robot.nq, self.task.robot.nv, self.task.width
        return {"here_q": nq, "here_w": width, "sum_q": nv, "sum_w": width, "broken": 1, "held": nv, _PART: 4}

    def _step(self, system: System, given: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        length, begun, weight, ends = given[_PART]
        begins_step, begins_line, ends_step = _true(length - 0.75), _true(1e-6 - begun), _true(ends - 0.5)
        h, t = given["h"][0], given["t"][0] if "t" in given else 0.0
        start = (given["q"], given["w"])
        held: list[np.ndarray] = []
        if "held" in given:
            assert system.force is not None
            asked = system.force(t, start[0], system.velocity(*start))
            held = [arrays.where(begins_step, asked, given["held"])]
            system = replace(system, force=lambda t, q, v: held[0])
        here = [arrays.where(begins_line, x, given[name]) for x, name in zip(start, _HERE)]
        end = part_of_step(system, t + h * begun, *here, h * length)
        before = [arrays.where(begins_step, 0.0 * given[name], given[name]) for name in _SUMS if name in given]
        sums = Sums(*before).plus(system, start, (here[0], here[1]), end, weight)
        after = sums.applied(system, start, end)
        kept = [arrays.where(ends_step, x, y) for x, y in zip(after, start)]
        return (*kept, *end, *(x for x in sums if x is not None), *held)

    def _turned(self, given: dict[str, Any], steps: int, every: int, out: Sequence[np.ndarray]) -> bool:
        table = _table(self.task.order)
        turns = len(table)
        given[_PART] = np.tile(table, (steps, 1))
        for name in ("t", "tau"):
            if given.get(name) is not None:
                given[name] = np.repeat(given[name], turns, axis=-2)
        sizes = self._more_sizes
        given |= {name: np.zeros(sizes[name]) for name in self._registers[2:]}
        rest = [np.empty((*out[0].shape[:2], sizes[name]), out[0].dtype) for name in self._registers[2:]]
        return super()._turned(given, steps * turns, every * turns, [*out, *rest])


def _true(x: Any) -> Any:
    """Whether a number is above zero, for :func:`.arrays.where`."""
    return arrays.less(-np.asarray(x, dtype=object), 0.0)


def _table(order: int) -> np.ndarray:
    """(parts, 4) of a step."""
    return np.array([[p.length, p.start, p.weight, float(p.ends_step)] for p in parts(order)])
