"""Steps as turns that ask for accelerations (:mod:`..codegen.program.turns`), for graphics cards.

The same lines that make a step elsewhere are traced with a system that does not work out its derivatives, or the parts
of implicit steps, but notes what is asked for. So the long program is there once, and a step is what is between calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..codegen.program.trace import Program, trace
from ..codegen.program.turns import LENGTH, Turns, part, result
from ..robot.robot import Robot
from .implicit import part_of_step
from .state_numbers import INPUT as OWN
from .steppers import CompiledStepper, shortest
from .steps import EXPLICIT
from .system import System

MOST_CALLS = 64  # of a step: more than the parts that an implicit one has


@dataclass(frozen=True, eq=False)
class _Noting(System):
    """A system that notes where its derivatives are asked for, and has inputs of the program for them."""

    given: Mapping[str, np.ndarray] = field(default_factory=dict)
    asked: list[dict[str, Any]] = field(default_factory=list)
    held: Any = None  # forces that stay through the step

    def derivative(self, t: Any, q: Any, w: Any) -> tuple[Any, Any]:
        found = self._noted(at_t=t, at_q=q, at_w=w)
        nv = self.robot.nv
        return (self.rates(w), found) if self.coordinates == "joint" else (found[:nv], found[nv:])

    def part_of_step(self, t: Any, q: Any, w: Any, h: Any) -> tuple[Any, Any]:
        found = self._noted(at_t=t, at_q=q, at_w=w, at_h=h)
        return found[: self.robot.nq], found[self.robot.nq :]

    def _noted(self, **where: Any) -> np.ndarray:
        k = len(self.asked)
        if self.held is not None:
            where["at_tau"] = self.held
        self.asked.append(where)
        return self.given[result(k)]


@dataclass(frozen=True, eq=False)
class TurningStepper(CompiledStepper):
    """Steps as turns of a loop on a card."""

    @property
    def asks(self) -> bool:
        """Whether a step asks for derivatives, or parts, that one program gives; others are one program as a whole."""
        task = self.task
        return not task.closing.is_embedded and (bool(task.order) or task.method in EXPLICIT)

    def programs(self) -> Turns:
        """The programs of a step."""
        task, names = self.task, self.names
        constants = {**self._of_state, **{k: x.shape[-1] for k, x in task.parameters.items()}}
        stepped = {n: {"t": 1, "tau": task.robot.nv}[n] for n in names if n in ("t", "tau")}
        carried = {"q": task.robot.nq, "w": task.width}
        if not self.asks:
            return Turns(None, (), self._program(), carried, {}, stepped, constants)
        inner = self._inner()
        whole, calls, arguments = self._around(len(inner.roots))
        widths = [sum(int(np.prod(s)) for s in whole.shapes[:2])]
        parts, at = [], widths[0]
        for known in range(calls):
            sizes = list(arguments.values())
            n = sum(sizes)
            parts.append(part(whole, "before", whole.roots[at : at + n], [(k,) for k in sizes], known))
            at += n
        end = part(whole, "end", whole.roots[: widths[0]], whole.shapes[:2], calls)
        return Turns(inner, tuple(parts), end, carried, arguments, stepped, constants)

    @property
    def _of_state(self) -> dict[str, int]:
        """Numbers that each state has of its own beside its robot's: forces on it, and those of what acts."""
        task = self.task
        external = {} if task.external is None else task.external.sizes
        return external | ({} if task.own is None else task.own.sizes)

    def _placed(self, given: Mapping[str, np.ndarray]) -> TurningStepper:
        """The same with the numbers of a state in their places."""
        own = self.task.own
        return self if own is None else replace(self, task=own.placed(self.task, given[OWN]))

    def _dynamics(self) -> Robot | None:
        task = self.task
        return None if task.parameters or task.coordinates != "joint" else shortest(task.robot)

    @property
    def _holds(self) -> bool:
        return self.task.controller is not None and self.task.hold

    def _inner(self) -> Program:
        """What is called: [ẇ] ([v; ẇ] in other coordinates), or [q'; w'] after a part of an implicit step."""
        task = self.task
        sizes = {"at_t": 1, "at_q": task.robot.nq, "at_w": task.moved_width, "at_h": 1, "at_tau": task.robot.nv}
        sizes |= {"tau": task.robot.nv, **self._of_state}
        wanted = {
            "at_t": "t" in self.names,
            "at_q": True,
            "at_w": True,
            "at_h": bool(task.order),
            "at_tau": self._holds,
            "tau": task.table and not self._holds,
            **dict.fromkeys(self._of_state, True),
        }
        names = [n for n, used in wanted.items() if used]
        dynamics = self._dynamics()

        def inner(robot: Robot, *values: np.ndarray) -> np.ndarray:
            given = dict(zip(names, values))
            task = self._placed(given).task
            seen = given | {"tau": given["at_tau"]} if self._holds else given
            acting = CompiledStepper(replace(task, controller=None, table=True) if self._holds else task)
            force, push = acting._acting(robot, seen)
            system = task.system(robot, robot if dynamics is None else dynamics, force, push)
            t = given["at_t"][0] if "at_t" in given else 0.0
            if task.order:
                return np.concatenate(part_of_step(system, t, given["at_q"], given["at_w"], given["at_h"][0]))
            v, rate = system.derivative(t, given["at_q"], given["at_w"])
            return rate if task.coordinates == "joint" else np.concatenate([v, rate])

        return trace(task.robot, inner, "inner", {n: sizes[n] for n in names}, names, tuple(task.parameters))

    def _around(self, results: int) -> tuple[Program, int, dict[str, int]]:
        """(q', w', then the arguments of every call) as one program; how many calls; the arguments and their sizes."""
        task = self.task
        noted: list[dict[str, Any]] = []
        arguments: dict[str, int] = {}
        names = [*self.names, *(result(k) for k in range(MOST_CALLS))]
        sizes = {"w": task.width, "t": 1, LENGTH: 1, **self._of_state}
        sizes |= dict.fromkeys([result(k) for k in range(MOST_CALLS)], results)

        def step(robot: Robot, *values: np.ndarray) -> tuple[np.ndarray, ...]:
            given = dict(zip(names, values))
            placed = self._placed(given)
            task = placed.task
            force, push = placed._acting(robot, given)
            t = given["t"][0] if "t" in given else 0.0
            plain = task.system(robot, robot, force, push)
            system = _Noting(**vars(plain), given=given, asked=noted)
            if self._holds:
                assert plain.force is not None
                held = plain.force(t, given["q"], plain.velocity(given["q"], given["w"]))
                system = replace(system, held=held, force=lambda t, q, v: held)
            one = task.one_step(_Noting.part_of_step)
            after: tuple[Any, Any] = one(system, t, given["q"], given["w"], given[LENGTH][0])
            after = task.closing.after_step(robot, *after, given["q"])
            if "t" not in self.names:
                for where in noted:
                    where.pop("at_t")
            arguments.update({name: int(np.size(x)) for name, x in noted[0].items()})
            return (*after, *(np.reshape(np.asarray(x, dtype=object), -1) for where in noted for x in where.values()))

        known = {n: sizes[n] for n in names if n in sizes}
        whole = trace(task.robot, step, "step", known, names, tuple(task.parameters))
        return whole, len(noted), arguments
