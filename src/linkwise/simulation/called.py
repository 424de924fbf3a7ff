"""Steps that are made from Python: where functions are called back, and where a step is too long to compile.

The robot's part is machine code all the same: one call for each derivative, or for each part of an implicit step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..codegen.program.trace import Program, trace
from ..codegen.runtime.kernel import Kernel
from ..codegen.runtime.requests import request
from ..codegen.thresholds import MOST_BODIES
from ..model.joints.kinds import JointKind
from ..properties import cached_property
from ..robot.robot import Robot
from .implicit import part_of_step
from .staged import staged_stepper
from .steppers import CompiledStepper, Task, raise_singular, shortest
from .system import System


def compiled_stepper(task: Task) -> CompiledStepper:
    """The steps as machine code: one turn of its loop for each, or for each of their stages or parts."""
    return staged_stepper(task) or CompiledStepper(task)


# --- machine code of what a step is made of --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pieces:
    """Derivatives (v, ẇ) and parts (q', w') of steps, with the user's forces as inputs."""

    task: Task

    @property
    def worthwhile(self) -> bool:
        """Whether straight-line code suits the robot, in joint rates."""
        return self.task.coordinates == "joint" and len(self.task.robot.bodies) <= MOST_BODIES

    @cached_property
    def names(self) -> list[str]:
        """What machine code is given of each state."""
        task = self.task
        chosen = {
            "tau": task.controller is not None or task.table,
            "push": task.external is not None,
            "start": task.closing.is_embedded,
        }
        return ["q", "w", *(name for name, used in chosen.items() if used)]

    @cached_property
    def derivative(self) -> Kernel:
        """[v; ẇ] of a state."""
        return self._kernel("derivative", self.names, lambda s, given: s.derivative(0.0, given["q"], given["w"]))

    @cached_property
    def part(self) -> Kernel:
        """[q'; w'] after a part of a step, of length h."""

        def one(s: System, given: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
            return part_of_step(s, 0.0, given["q"], given["w"], given["h"][0])

        return self._kernel("part", [*self.names, "h"], one)

    def _kernel(self, what: str, names: list[str], run: Callable[..., tuple[np.ndarray, np.ndarray]]) -> Kernel:
        task = self.task
        slopes = None if task.slopes is None else [x.tolist() for x in task.slopes]
        plain = {"passive": repr(sorted(task.passive.to_plain().items())), "closing": repr(task.closing)}
        plain["slopes"] = repr(slopes)
        key = (f"simulate.{what}", *plain.values(), *names, *task.parameters)
        found: Kernel | None = task.robot._code.get(key)
        if found is None:
            asked = request(task.robot, f"simulate.{what}", names, plain, tuple(task.parameters))
            found = Kernel.remembered(asked, lambda: self._program(what, names, run))
            task.robot._code.keep(key, found)
        return found

    def _program(self, what: str, names: list[str], run: Callable[..., tuple[np.ndarray, np.ndarray]]) -> Program:
        task = self.task
        sizes = {"w": task.moved_width, "tau": task.robot.nv, "push": task.robot.nv, "start": task.robot.nq, "h": 1}
        dynamics = None if task.parameters else shortest(task.robot)

        def piece(robot: Robot, *values: np.ndarray) -> np.ndarray:
            given = dict(zip(names, values))
            force, push = (
                (lambda x: lambda t, q, v: x)(given[name]) if name in given else None for name in ("tau", "push")
            )
            system = task.system(robot, robot if dynamics is None else dynamics, force, push)
            return np.concatenate(run(replace(system, start=given.get("start")), given))

        return trace(task.robot, piece, what, {n: sizes[n] for n in names if n in sizes}, names, tuple(task.parameters))


@dataclass(frozen=True, eq=False)
class CalledSystem(System):
    """A system on arrays whose derivatives are machine code, with the user's functions called before."""

    pieces: Pieces | None = None

    def derivative(self, t: Any, q: Any, w: Any) -> tuple[np.ndarray, np.ndarray]:
        assert self.pieces is not None
        found = self._run(self.pieces.derivative, t, q, w)
        return found[:, : self.robot.nv], found[:, self.robot.nv :]

    def part_of_step(self, t: Any, q: np.ndarray, w: np.ndarray, h: Any) -> tuple[np.ndarray, np.ndarray]:
        assert self.pieces is not None
        found = self._run(self.pieces.part, t, q, w, h)
        return found[:, : self.robot.nq], found[:, self.robot.nq :]

    def _run(self, kernel: Kernel, t: Any, q: np.ndarray, w: np.ndarray, h: Any = None) -> np.ndarray:
        assert self.pieces is not None
        if self.start is not None and q is not self.start:
            q, w = self.closing.at_stage(self.robot, q, w, self.start, self.target)
        tau, push = self.applied(t if h is None else t + h, q, self.rates(w))
        given = {"q": q, "w": w, "tau": tau, "push": push, "start": self.start, "h": np.array([h], q.dtype)}
        given |= self.pieces.task.parameters
        inputs = [np.asarray(given[name]) for name in kernel.signature.inputs]
        found: np.ndarray
        if len(q) == 1:  # without the work that batches take
            found = kernel.quick(*(x if x.ndim == 1 else x[0] for x in inputs))[None]
            sound = not np.isnan(found).any() or kernel.run(inputs)[1]
        else:
            found, sound = kernel.run(inputs)
        if not sound:
            raise_singular(self.pieces.task, q, w)
        return found

    def moved(self, q: Any, d: Any) -> np.ndarray:
        return np.asarray(q + d if _adds(self.robot) else self.robot.integrate(q, d))


def _adds(robot: Robot) -> bool:
    """Whether q ⊕ d is q + d at every joint."""
    if "adds" not in robot._kept_structure:
        plain = all(type(j.kind).integrate is JointKind.integrate for j, _, _ in robot.coordinates)
        robot._kept_structure["adds"] = plain
    found: bool = robot._kept_structure["adds"]
    return found


@dataclass(frozen=True, eq=False)
class LargeSystem(System):
    """A system on arrays of a robot too large for straight-line code, whose steps take what resists at their end: its
    slopes are the same in every state, so that there is one robot for each length of a part."""

    kept: dict[float, Any] = field(default_factory=dict)

    def taken_at_end(self, h: Any, damping: Any, stiffness: Any) -> Any:
        if float(h) not in self.kept:
            self.kept[float(h)] = super().taken_at_end(float(h), damping[0], stiffness[0])
        return self.kept[float(h)]


# --- steps -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ArrayStepper:
    """The step on arrays, the whole batch at once; functions are called back with states of the user's shape."""

    task: Task
    target: str | None = None  # of the robot's methods

    def advance(
        self,
        q: np.ndarray,
        w: np.ndarray,
        first: int,
        steps: int,
        every: int,
        tau: np.ndarray | None,
        out: Sequence[np.ndarray],
    ) -> None:
        for i in range(steps):
            row = None if tau is None else tau[..., i, :]
            q, w = self._one(q, w, self.task.time(first + i), self.task.step, row)
            if (i + 1) % every == 0:
                out[0][:, i // every], out[1][:, i // every] = q, w

    def fraction(
        self, q: np.ndarray, w: np.ndarray, index: int, part: float, tau: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        row = None if tau is None else tau[..., 0, :]
        own = self if self._pieces is not None else replace(self, target="numpy")  # with no code for any length
        return own._one(q, w, self.task.time(index), part * self.task.step, row)

    def of(self, i: int) -> ArrayStepper:
        return replace(self, task=self.task.of(i))

    def _one(
        self, q: np.ndarray, w: np.ndarray, t: float, h: float, row: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        task, robot = self.task, self.task.robot
        system = self._system(row, q)
        if task.controller is not None and task.hold:
            assert system.force is not None
            held = system.force(t, q, system.velocity(q, w))
            system = replace(system, force=lambda t, q, v: held)
        part = CalledSystem.part_of_step if isinstance(system, CalledSystem) else part_of_step
        after: tuple[np.ndarray, np.ndarray] = task.one_step(part)(system, t, q, w, w.dtype.type(h))
        return task.closing.after_step(robot, *after, q, self.target)

    @cached_property
    def _kept(self) -> dict[float, Any]:
        """Robots by the length of a part, see :class:`LargeSystem`."""
        return {}

    @cached_property
    def _pieces(self) -> Pieces | None:
        found = Pieces(self.task)
        return found if self.target == "cpu" and found.worthwhile else None

    def _system(self, row: np.ndarray | None, start: np.ndarray) -> System:
        task, robot = self.task, self.task.robot
        push = None if task.external is None else self._pushed
        plain = replace(task.system(robot, robot, self._force(row), push, self.target), start=start)
        if self._pieces is None:
            large = self.target == "cpu" and task.order > 0
            return LargeSystem(**vars(plain), kept=self._kept) if large else plain
        return CalledSystem(**vars(plain), pieces=self._pieces)

    def _force(self, row: np.ndarray | None) -> Any:
        if self.task.controller is not None:
            return self._asked if row is None else lambda t, q, v: self._asked(t, q, v) + row
        return None if row is None else lambda t, q, v: np.broadcast_to(row, v.shape)

    def _asked(self, t: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """What the controller says at flat states."""
        assert self.task.controller is not None
        return self.task.controller.at_flat(float(t), q, v)

    def _pushed(self, t: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """What external forces do to the joints at flat states."""
        assert self.task.external is not None
        on_bodies = self.task.external.at_flat(float(t), q, v)
        return self.task.robot.external_force(q, on_bodies, target=self.target)


@dataclass(frozen=True, eq=False)
class CalledStepper:
    """A controller in Python, called once a step for the whole batch, around a compiled step that holds its forces."""

    task: Task
    applied: list[np.ndarray] = field(default_factory=list)  # what the controller gave, one entry per step

    @cached_property
    def inner(self) -> CompiledStepper:
        return compiled_stepper(replace(self.task, controller=None, table=True))

    def advance(
        self,
        q: np.ndarray,
        w: np.ndarray,
        first: int,
        steps: int,
        every: int,
        tau: np.ndarray | None,
        out: Sequence[np.ndarray],
    ) -> None:
        assert self.task.controller is not None
        rows = [np.empty((len(x), 1, x.shape[-1]), x.dtype) for x in (q, w)]
        for i in range(steps):
            held = self.task.controller.at_flat(self.task.time(first + i), q, self.task.velocity(q, w))
            held = held if tau is None else held + tau[..., i, :]
            self.applied.append(held)
            self.inner.advance(q, w, first + i, 1, 1, held[:, None], rows)
            q, w = (x[:, 0].copy() for x in rows)
            if (i + 1) % every == 0:
                out[0][:, i // every], out[1][:, i // every] = q, w

    def fraction(
        self, q: np.ndarray, w: np.ndarray, index: int, part: float, tau: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        return self.inner.fraction(q, w, index, part, tau)

    def of(self, i: int) -> CompiledStepper:
        return self.inner.of(i)  # the forces of a step are known once it was made
