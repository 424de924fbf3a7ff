"""What makes the steps: one compiled loop over all of them, or the step function on arrays, called once a step.

Both take flat batches: q (states, nq), and w (states, nv) or, where books are kept, [v; books] (states, nv + 4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ..arrays import Array
from ..codegen.program.frames import normal_forms
from ..codegen.program.repeat import Repeated
from ..codegen.program.trace import Program, trace
from ..codegen.runtime.requests import request
from ..codegen.thresholds import MOST_BODIES, MOST_NODES
from ..errors import SimulationError
from ..robot.robot import Robot
from .controllers import Law
from .external_forces import INPUT, Pushes
from .integrators import BOOKS, METHODS, System
from .joint_forces import Passive

_CARRIED = {"q": 0, "w": 1}


@dataclass(frozen=True, eq=False)
class Task:
    """What is simulated, apart from the states."""

    robot: Robot
    method: str
    step: float
    passive: Passive
    law: Law | None = None
    hold: bool = False  # whether the law is asked once at the start of each step
    table: bool = False  # whether joint forces come as one row per step
    parameters: Mapping[str, np.ndarray] = field(default_factory=dict)  # of the robot, (states, n) or (n,)
    threads: int | None = None
    pushes: Pushes | None = None  # external forces

    @property
    def keeps_books(self) -> bool:
        return self.law is not None or self.table or self.passive.active or self.pushes is not None

    @property
    def calls_back(self) -> bool:
        """Whether a function of the user's must be called at every stage of a step."""
        asked = self.law is not None and self.law.kernel is None
        return asked or (self.pushes is not None and self.pushes.kernel is None)

    @property
    def is_per_state(self) -> bool:
        """Whether states of a batch have numbers of their own."""
        own = [*self.parameters.values(), *([] if self.pushes is None else [self.pushes.numbers])]
        return any(x is not None and x.ndim > 1 for x in own)

    def of(self, i: int) -> Task:
        """The task for one state of a flat batch."""
        own = {name: x if x.ndim == 1 else x[i : i + 1] for name, x in self.parameters.items()}
        return replace(self, parameters=own, pushes=None if self.pushes is None else self.pushes.of(i))

    def time(self, index: int) -> float:
        """The time at the start of a step."""
        return index * self.step

    def times(self, first: int, count: int, every: int = 1) -> np.ndarray:
        """The times at the start of every ``every``-th step, (count,)."""
        return np.arange(first, first + count * every, every) * self.step


class Stepper(Protocol):
    """Makes ``steps`` steps from the step ``first`` on, and writes every ``every``-th state into rows of q and w."""

    def advance(
        self, q: Array, w: Array, first: int, steps: int, every: int, tau: Array | None, out: Sequence[Array]
    ) -> None: ...

    def fraction(self, q: Array, w: Array, index: int, part: float, tau: Array | None) -> tuple[Array, Array]:
        """Where a part of one step leads."""
        ...

    def of(self, i: int) -> Stepper:
        """What makes the steps of one state of the batch alone."""
        ...


# --- compiled ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CompiledStepper:
    """The whole loop in machine code; a law that runs on symbols is part of it."""

    task: Task

    @cached_property
    def names(self) -> list[str]:
        pushes = self.task.pushes
        timed = self.task.law is not None or (pushes is not None and pushes.function is not None)
        chosen = {"t": timed, "tau": self.task.table, INPUT: pushes is not None and pushes.numbers is not None}
        return ["q", "w", *(name for name, used in chosen.items() if used), "h"]

    @cached_property
    def loop(self) -> Repeated:
        """The machine code; kept with the robot, but for functions, which may have changed since they were traced."""
        task = self.task
        stepped = [n for n in ("t", "tau") if n in self.names]
        if "t" in self.names:
            return Repeated(self._program, _CARRIED, stepped)
        plain: dict[str, Any] = {"method": task.method, "passive": repr(sorted(task.passive.to_plain().items()))}
        if task.pushes is not None:
            plain["pushes"] = task.pushes.frames
        key = ("simulate.step", *plain.values(), *self.names, *task.parameters)
        found = task.robot._code.get(key)
        if found is None:
            asked = request(task.robot, "simulate.step", self.names, plain, tuple(task.parameters))
            found = Repeated(self._program, _CARRIED, stepped, asked)
            task.robot._code.keep(key, found)
        return found

    @property
    def worthwhile(self) -> bool:
        """Whether the loop is worth compiling: straight-line code of a huge robot is not."""
        return len(self.task.robot.bodies) <= MOST_BODIES and self.loop.is_shorter_than(MOST_NODES)

    def _program(self) -> Program:
        task = self.task
        width = task.robot.nv + (len(BOOKS) if task.keeps_books else 0)
        sizes = {"w": width, "t": 1, "h": 1, **(task.pushes.sizes if task.pushes is not None else {})}
        dynamics = None if task.parameters else shortest(task.robot)

        def one_step(robot: Robot, *values: Array) -> tuple[Array, Array]:
            given = dict(zip(self.names, values))
            q, w, h, t = given["q"], given["w"], given["h"][0], given["t"][0] if "t" in given else 0.0
            law = task.law.on(robot) if task.law is not None else None
            force: Any = law
            if law is not None and task.hold:
                held = law(t, q, w[: robot.nv])
                force = lambda t, q, v: held
            elif "tau" in given:
                force = lambda t, q, v: given["tau"]
            push: Any = None
            if task.pushes is not None:
                own = task.pushes.on(robot)
                push = lambda t, q, v: own.joint_forces(t, q, v, given.get(INPUT))
            system = System(robot, robot if dynamics is None else dynamics, force, task.passive, external=push)
            return METHODS[task.method](system, t, q, w, h)

        known = {n: sizes[n] for n in self.names if n in sizes}
        return trace(task.robot, one_step, "step", known, self.names, tuple(task.parameters))

    def advance(
        self, q: Array, w: Array, first: int, steps: int, every: int, tau: Array | None, out: Sequence[Array]
    ) -> None:
        self._run(q, w, self.task.times(first, steps)[:, None], steps, every, tau, self.task.step, out)

    def fraction(self, q: Array, w: Array, index: int, part: float, tau: Array | None) -> tuple[Array, Array]:
        times = np.array([[self.task.time(index)]])
        out = [np.empty((len(x), 1, x.shape[-1]), x.dtype) for x in (q, w)]
        self._run(q, w, times, 1, 1, tau, part * self.task.step, out)
        return out[0][:, 0], out[1][:, 0]

    def of(self, i: int) -> CompiledStepper:
        one = CompiledStepper(self.task.of(i))
        one.__dict__["loop"] = self.loop  # whose machine code has the numbers of a state as inputs
        return one

    def _run(
        self, q: Array, w: Array, t: Any, steps: int, every: int, tau: Any, h: float, out: Sequence[Array]
    ) -> None:
        given = {"q": q, "w": w, "t": t, "tau": tau, "h": np.array([h]), **self.task.parameters}
        if INPUT in self.names:
            given[INPUT] = self.task.pushes.numbers  # type: ignore[union-attr]
        inputs = {name: given[name] for name in self.loop.signature.inputs}
        sound = self.loop.run(inputs, steps, every, self.task.threads, out)[1]
        if not sound:
            raise_singular(self.task, q, w)


def shortest(robot: Robot) -> Robot:
    """The robot in frames that make its forward dynamics short, for programs in joint space alone."""
    models = [robot, *(form for _, form in normal_forms(robot))]
    call = lambda model, q, v, tau: model.forward_dynamics(q, v, tau)
    return min(models, key=lambda model: trace(model, call).operations.total)


def raise_singular(task: Task, q: Array, w: Array) -> None:
    """Say which joint has no inertia, as forward dynamics does; or at least when."""
    v = w[..., : task.robot.nv]
    task.robot.forward_dynamics(q, v, 0.0 * v, target="numpy")
    if task.method == "variational":
        raise SimulationError(
            "the iterations of the variational step did not settle: forces change too fast for this step; take a"
            ' smaller one, hold the controller (hold=True), or use method="rk4"'
        )
    raise SimulationError("the mass matrix became singular on the way; look at the robot's inertias")


# --- on arrays ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ArrayStepper:
    """The step function on arrays, the whole batch at once; laws are called back with states of the user's shape."""

    task: Task
    batch: tuple[int, ...]
    target: str | None = None  # of the robot's methods

    def advance(
        self, q: Array, w: Array, first: int, steps: int, every: int, tau: Array | None, out: Sequence[Array]
    ) -> None:
        for i in range(steps):
            row = None if tau is None else tau[..., i, :]
            q, w = self._one(q, w, self.task.time(first + i), self.task.step, row)
            if (i + 1) % every == 0:
                out[0][:, i // every], out[1][:, i // every] = q, w

    def fraction(self, q: Array, w: Array, index: int, part: float, tau: Array | None) -> tuple[Array, Array]:
        return self._one(q, w, self.task.time(index), part * self.task.step, None if tau is None else tau[..., 0, :])

    def of(self, i: int) -> ArrayStepper:
        return replace(self, task=self.task.of(i), batch=())

    def _one(self, q: Array, w: Array, t: float, h: float, row: Array | None) -> tuple[Array, Array]:
        robot, push = self.task.robot, None if self.task.pushes is None else self.pushed
        system = System(robot, robot, self._force(q, w, t, row), self.task.passive, self.target, push)
        h = w.dtype.type(h)
        return METHODS[self.task.method](system, t, q, w, h)

    def _force(self, q: Array, w: Array, t: float, row: Array | None) -> Any:
        law = self.task.law
        if law is None:
            return None if row is None else lambda t, q, v: np.broadcast_to(row, v.shape)
        if self.task.hold:
            held = self.asked(t, q, w[..., : self.task.robot.nv])
            return lambda t, q, v: held
        return self.asked

    def asked(self, t: Any, q: Array, v: Array) -> Array:
        """What the law says at flat states."""
        assert self.task.law is not None
        return self.task.law.at_flat(float(t), q, v, self.batch)

    def pushed(self, t: Any, q: Array, v: Array) -> Array:
        """What external forces do to the joints at flat states."""
        assert self.task.pushes is not None
        on_bodies = self.task.pushes.at_flat(float(t), q, v, self.batch)
        return self.task.robot.external_force(q, on_bodies, target=self.target)


@dataclass(frozen=True, eq=False)
class CalledStepper:
    """A law in Python, called once a step for the whole batch, around a compiled step that holds its forces."""

    task: Task
    batch: tuple[int, ...]
    applied: list[Array] = field(default_factory=list)  # what the law gave, one entry per step

    @cached_property
    def inner(self) -> CompiledStepper:
        return CompiledStepper(replace(self.task, law=None, table=True))

    def advance(
        self, q: Array, w: Array, first: int, steps: int, every: int, tau: Array | None, out: Sequence[Array]
    ) -> None:
        assert self.task.law is not None
        rows = [np.empty((len(x), 1, x.shape[-1]), x.dtype) for x in (q, w)]
        for i in range(steps):
            held = self.task.law.at_flat(self.task.time(first + i), q, w[:, : self.task.robot.nv], self.batch)
            self.applied.append(held)
            self.inner.advance(q, w, first + i, 1, 1, held[:, None], rows)
            q, w = (x[:, 0].copy() for x in rows)
            if (i + 1) % every == 0:
                out[0][:, i // every], out[1][:, i // every] = q, w

    def fraction(self, q: Array, w: Array, index: int, part: float, tau: Array | None) -> tuple[Array, Array]:
        return self.inner.fraction(q, w, index, part, tau)

    def of(self, i: int) -> CompiledStepper:
        return self.inner.of(i)  # the forces of a step are known once it was made
