"""Motions that differ in numbers alone, made at once: what each has of its own is an input of the machine code.

Its numbers are those of a law, of damping, friction and stops, of inertias, of forces at frames and of a table of joint
forces. Machine code gives a state the same bits whatever stands beside it, so that batches, tails of batches and a
motion alone agree. Steps are explicit, or take what resists where they end, as :func:`linkwise.simulate` chooses; each
motion by its own numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import LinkwiseError
from ..properties import cached_property
from ..robot.robot import Robot
from ..simulation.called import compiled_stepper
from ..simulation.external_forces import ExternalForces
from ..simulation.implicit import PARTS
from ..simulation.rate_bounds import EXPLICIT_UP_TO, highest_rates
from ..simulation.state_numbers import PASSIVE, SharedLaw, StateNumbers
from ..simulation.steppers import CompiledStepper, Task
from ..simulation.trajectory import Settings
from ..simulation.user_functions import Controller, UserFunction


@dataclass(frozen=True, eq=False)
class Numbers:
    """What motions have of their own, a row for each."""

    passive: np.ndarray
    law: np.ndarray | None = None
    slopes: np.ndarray | None = None  # (2, motions, nv), by which forces of the law fall
    inertial: np.ndarray | None = None
    external: np.ndarray | None = None
    table: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.passive)

    def of(self, which: Any) -> Numbers:
        """Those of some of the motions."""
        rows: dict[str, Any] = {k: x if x is None else x[which] for k, x in vars(self).items() if k != "slopes"}
        return Numbers(**rows, slopes=None if self.slopes is None else self.slopes[:, which])


@dataclass(frozen=True, eq=False)
class Alike:
    """Motions of one kind; ``external`` are forces at some frames, ``inertial`` says that each has its own inertias."""

    robot: Robot
    settings: Settings
    steps: int
    law: SharedLaw | None = None
    external: ExternalForces | None = None
    inertial: bool = False
    table: bool = False

    # --- what is compiled ------------------------------------------------------------------------------

    @cached_property
    def passive(self) -> tuple[str, ...]:
        """The passive forces whose numbers are inputs."""
        return tuple(name for name in PASSIVE if getattr(self.settings.passive, name) is not None)

    @cached_property
    def falls(self) -> bool:
        """Whether forces of the law have terms −d v or −k q of their joints, whatever their numbers."""
        if self.law is None or self.settings.hold or self.settings.implicit is False:
            return False
        return self.law.may_fall

    @property
    def _always_resists(self) -> bool:
        return self.robot.has_springs or self.settings.passive.active

    @cached_property
    def steppers(self) -> dict[bool, CompiledStepper]:
        """What makes explicit steps (True) and others, as far as motions may ask for them; the code is that of all."""
        implicit = self.settings.implicit
        possible = implicit is not False and self.settings.method in PARTS
        chosen = {
            True: not (possible and implicit and self._always_resists),
            False: possible and (self._always_resists or self.falls),
        }
        return {kind: compiled_stepper(self.task(kind)) for kind, is_asked in chosen.items() if is_asked}

    @property
    def too_long(self) -> str | None:
        """Why its steps are not worth compiling; they are traced for it."""
        return next((x.too_long for x in self.steppers.values() if not x.worthwhile), None)

    @property
    def operations(self) -> float:
        """How many operations a step takes at most."""
        return max(float(x.loop.operations.total) * x.turns for x in self.steppers.values())

    def _count(self, explicit: bool) -> int:
        law = 0 if self.law is None else self.law.size + (2 * self.robot.nv if self.falls and not explicit else 0)
        return law + self.robot.nv * len(self.passive)

    def task(self, explicit: bool, numbers: Numbers | None = None) -> Task:
        """What is simulated, of these numbers, or of some that nobody looks at."""
        settings, controller, external = self.settings, None, self.external
        if self.law is not None:
            taken = self.law.taken
            like = Controller(self.robot, UserFunction("the controller", taken.on(taken.numbers)))
            controller = self.law.controller(like, taken.numbers)
        inertial: Any = np.zeros((1, 10 * len(self.robot.bodies)))
        flat = np.zeros((1, self._count(explicit)))
        if numbers is not None:
            parts = [] if numbers.law is None else [numbers.law]
            parts += [] if numbers.slopes is None or explicit else [numbers.slopes[0], numbers.slopes[1]]
            flat, inertial = np.concatenate([*parts, numbers.passive], axis=1), numbers.inertial
            if external is not None:
                external = replace(external, numbers=numbers.external, batch=(len(numbers),))
        own = StateNumbers(flat, self.law, self.falls and not explicit, self.passive) if flat.shape[1] else None
        return Task(
            self.robot, settings.method, settings.step, settings.passive, controller, settings.hold, self.table,
            {"inertial": inertial} if self.inertial else {}, 1, external, settings.coordinates, settings.closing,
            not explicit, own=own,
        )  # fmt: skip

    # --- which steps -----------------------------------------------------------------------------------

    def slopes(self, law: np.ndarray | None) -> np.ndarray | None:
        """(2, motions, nv) by which forces of the law fall; None where they cannot."""
        return None if self.law is None or law is None or not self.falls else self.law.falls(law)

    def explicit(self, numbers: Numbers) -> np.ndarray:
        """Which motions are made of explicit steps, by the rule of :attr:`.Task.order`."""
        count, implicit = len(numbers), self.settings.implicit
        if False not in self.steppers:
            return np.ones(count, dtype=bool)
        pushes = np.zeros(count, dtype=bool) if numbers.slopes is None else numbers.slopes.any(axis=(0, 2))
        resists = np.asarray(pushes | self._always_resists)
        if implicit or self.inertial or not self.settings.passive.falls_as_it_is:
            return np.logical_not(resists)
        nv = self.robot.nv
        falls = np.zeros((2, count, nv)) if numbers.slopes is None else numbers.slopes
        damping = falls[0] + numbers.passive[:, :nv] if "damping" in self.passive else falls[0]
        rates = highest_rates(self.robot, damping, falls[1])
        return np.logical_or(self.settings.step * rates <= EXPLICIT_UP_TO, ~resists)

    # --- steps -----------------------------------------------------------------------------------------

    def of(self, numbers: Numbers, explicit: bool) -> tuple[Task, CompiledStepper]:
        """What these motions are, and what makes their steps."""
        task, shared = self.task(explicit, numbers), self.steppers[explicit]
        stepper = type(shared)(task)
        stepper.__dict__["loop"] = shared.loop
        return task, stepper

    def stepped(
        self, q: np.ndarray, v: np.ndarray, numbers: Numbers, explicit: np.ndarray, every: int, run: Any = None
    ) -> tuple[list[np.ndarray], np.ndarray]:
        """Samples q (motions, rows, nq) and w (motions, rows, n), and which motions are sound (motions,).

        ``run`` makes the steps of motions that are all explicit, or all not, in place of machine code of this machine.
        """
        make: Callable[..., np.ndarray] = self._made if run is None else run
        rows = self.steps // every + 1
        out: list[np.ndarray] = []
        sound = np.ones(len(q), dtype=bool)
        for kind in (True, False):
            which = np.flatnonzero(explicit == kind)
            if not len(which):
                continue
            whole = len(which) == len(q)
            own = numbers if whole else numbers.of(which)
            start = (q, v) if whole else (q[which], v[which])
            w = self.task(kind, own).start(*start)
            part = [np.empty((len(which), rows, x.shape[-1])) for x in (q, w)]
            part[0][:, 0], part[1][:, 0] = start[0], w
            sound[which] = make(start[0], w, own, kind, every, part)
            if whole:
                return part, sound
            out = out or [np.empty((len(q), *x.shape[1:])) for x in part]
            for x, y in zip(out, part):
                x[which] = y
        return out or [np.empty((0, rows, self.robot.nq)), np.empty((0, rows, self.task(True).width))], sound

    def _made(
        self, q: np.ndarray, w: np.ndarray, numbers: Numbers, explicit: bool, every: int, out: list[np.ndarray]
    ) -> np.ndarray:
        """Fill the rows after the first; which motions were sound. Fewer of them give the same bits."""
        _, stepper = self.of(numbers, explicit)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                stepper.advance(q, w, 0, self.steps, every, numbers.table, [x[:, 1:] for x in out])
        except LinkwiseError:  # some state has no inertia somewhere: fewer at a time say which
            if len(q) == 1:
                return np.zeros(1, dtype=bool)
            halves = slice(0, len(q) // 2), slice(len(q) // 2, len(q))
            made = [self._made(q[x], w[x], numbers.of(x), explicit, every, [y[x] for y in out]) for x in halves]
            return np.concatenate(made)
        return np.ones(len(q), dtype=bool)
