"""Motions that many functions ask :func:`linkwise.simulate` for, made together as batches of machine code.

Motions are of one group where nothing but numbers differs: states, tables of joint forces, the real numbers that their
controllers hold, damping, friction and stops, forces at frames, and the inertias of their robots. These are inputs of
the group's machine code. To which group a motion belongs, and whether to any, follows from the motion alone, never from
those beside it; and machine code gives a state the same bits whatever stands beside it. So a run alone, in any chunk,
of any worker, gives the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import LinkwiseError, UntraceableError
from ..robot.robot import Robot
from ..simulation import arguments
from ..simulation.called import compiled_stepper
from ..simulation.external_forces import ExternalForces, external_forces
from ..simulation.law_numbers import Taken, taken_apart, with_inertias_of
from ..simulation.makers import Motion
from ..simulation.methods import SOLVERS
from ..simulation.record import recorded
from ..simulation.runner import Run
from ..simulation.state_numbers import PASSIVE, LawOfState, SharedLaw, StateNumbers
from ..simulation.steppers import CompiledStepper, Task
from ..simulation.trajectory import Trajectory
from ..simulation.user_functions import Controller, UserFunction

BATCHES = "batches of machine code"
ASKED = ("its functions are called back", "its steps are made on arrays")  # why motions are alone, as was asked for
_BYTES = 2**27  # of the samples of motions that are made at once
_MOST_NUMBERS = 1024  # of one law


@dataclass(frozen=True, eq=False)
class Share:
    """What a motion adds to its group: numbers alone."""

    group: Group
    motion: Motion
    taken: Taken | None
    inertial: np.ndarray | None
    table: np.ndarray | None
    external: np.ndarray | None

    @cached_property
    def passive(self) -> np.ndarray:
        own = self.motion.settings.passive
        return np.concatenate([np.zeros(0), *(getattr(own, name) for name in self.group.passive)])


@dataclass(frozen=True, eq=False)
class Made:
    """Samples of one state, q (1, samples, nq) and w; or the error that its steps ended with."""

    q: np.ndarray
    w: np.ndarray
    task: Task
    stepper: CompiledStepper
    error: Exception | None = None


class Together:
    """Makes motions of one study's robot; groups are kept, so that each is compiled once."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.groups: dict[Any, Group | str] = {}

    def share(self, motion: Motion) -> Share | str:
        """The motion as one of a group, or why it is none."""
        why = _alone(motion)
        if why is not None:
            return why
        robot, asked = with_inertias_of(motion.robot, self.robot), motion.asked
        inertial = None if robot is motion.robot else motion.robot.inertial_parameters.ravel()
        if asked.parameters:
            if inertial is not None or set(asked.parameters) != {"inertial"}:
                return "it has parameters of its own, of a robot that is another as well"
            own = arguments.robot_parameters(robot, asked.parameters, (), np.float64)["inertial"]
            inertial = own.ravel()
        taken = None if asked.controller is None else taken_apart(asked.controller, self.robot)
        if taken is not None and (taken.identity is None or len(taken.numbers) > _MOST_NUMBERS):
            return "its controller cannot be told from others"
        table = None if asked.tau is None else arguments.force_table(robot, asked.tau, (), motion.steps, np.float64)
        pushed = external_forces(robot, asked.external, (), np.float64, False)
        moving = taken is not None and robot is not motion.robot
        key = _key(robot, motion, inertial is not None, taken, moving, pushed)
        group = self.groups.get(key)
        if group is None:
            group = self.groups[key] = _group(robot, motion, inertial is not None, taken, moving, pushed)
        if isinstance(group, str):
            return group
        return Share(group, motion, taken, inertial, table, None if pushed is None else pushed.numbers)

    def made(self, shares: Sequence[Share]) -> list[Made]:
        """The motions, group by group."""
        found: dict[int, Made] = {}
        for group in dict.fromkeys(x.group for x in shares):
            own = [i for i, x in enumerate(shares) if x.group is group]
            found |= dict(zip(own, group.run([shares[i] for i in own])))
        return [found[i] for i in range(len(shares))]


def _alone(motion: Motion) -> str | None:
    """Why a motion is made by itself, as far as its settings say it."""
    asked, settings = motion.asked, motion.settings
    why = {
        "it is a batch of its own": bool(motion.batch),
        f"{settings.method} chooses its own steps": settings.method in SOLVERS,
        "it goes on from another": motion.exchanged is not None or settings.first != 0,
        "it has events": len(tuple(asked.events)) > 0 if isinstance(asked.events, (list, tuple)) else True,
        "it has noise": asked.noise is not None,
        "it has a cost": asked.cost is not None,
        "it has a checkpoint": asked.checkpoint is not None,
        ASKED[0]: bool(asked.callback),
        ASKED[1]: asked.target not in (None, "cpu"),
        f"{settings.coordinates} coordinates": settings.coordinates != "joint",
        "its external forces are a function": callable(asked.external),
        "its numbers are of single precision": motion.q.dtype != np.float64,
        "it has both a controller and a table": asked.controller is not None and asked.tau is not None,
        "its controller is no function": asked.controller is not None and not callable(asked.controller),
    }
    return next((said for said, is_so in why.items() if is_so), None)


def _key(
    robot: Robot, motion: Motion, inertial: bool, taken: Taken | None, moving: bool, pushed: ExternalForces | None
) -> Any:
    s = motion.settings
    chosen = (s.method, s.step, s.every, s.hold, s.implicit, repr(s.closing), repr(s.passive.kinds), motion.steps)
    law = None if taken is None else taken.identity
    frames = None if pushed is None else repr(pushed.frames)
    return (hash(robot), inertial, law, moving, motion.asked.tau is not None, frames, *chosen)


def _group(
    robot: Robot, motion: Motion, inertial: bool, taken: Taken | None, moving: bool, pushed: ExternalForces | None
) -> Group | str:
    """The group of a motion, traced here and now: what its law reads from outside is as it is now."""
    law = None if taken is None else SharedLaw(robot, taken, moving)
    try:
        group = Group(robot, motion, inertial, law, pushed)
        if group.too_long is not None:
            return group.too_long
    except UntraceableError as e:
        return f"its controller cannot be compiled with its numbers as inputs: {e.reason}"
    return group


@dataclass(frozen=True, eq=False)
class Group:
    """Motions that differ in numbers alone, those of ``first`` and others."""

    robot: Robot
    first: Motion
    inertial: bool
    law: SharedLaw | None
    external: ExternalForces | None

    @cached_property
    def passive(self) -> tuple[str, ...]:
        """The passive forces whose numbers are inputs."""
        return tuple(name for name in PASSIVE if getattr(self.first.settings.passive, name) is not None)

    @cached_property
    def falls(self) -> bool:
        """Whether forces of the law have terms −d v or −k q of their joints, whatever their numbers."""
        if self.law is None or self.first.settings.hold or self.first.settings.implicit is False:
            return False
        return self.law.may_fall

    @cached_property
    def steppers(self) -> dict[bool, CompiledStepper]:
        """What makes explicit steps and others, as far as motions may ask for them; machine code is that of all."""
        inertial = np.zeros((1, 10 * len(self.robot.bodies))) if self.inertial else None
        settings = self.first.settings
        always = self.robot.has_springs or settings.passive.active
        chosen = {
            True: not (settings.implicit and always),
            False: settings.implicit is not False and (always or self.falls),
        }
        own = {explicit: np.zeros((1, self._count(explicit))) for explicit, is_asked in chosen.items() if is_asked}
        return {k: compiled_stepper(self._task(x, inertial, self.external, k)) for k, x in own.items()}

    @property
    def too_long(self) -> str | None:
        """Why its steps are not worth compiling; they are traced for it."""
        return next((x.too_long for x in self.steppers.values() if not x.worthwhile), None)

    def _count(self, explicit: bool) -> int:
        law = 0 if self.law is None else self.law.size + (2 * self.robot.nv if self.falls and not explicit else 0)
        return law + self.robot.nv * len(self.passive)

    def _task(
        self, own: np.ndarray, inertial: np.ndarray | None, external: ExternalForces | None, explicit: bool
    ) -> Task:
        settings, controller = self.first.settings, None
        if self.law is not None:
            controller = Controller(self.robot, UserFunction("the controller", self.first.asked.controller))
        numbers = StateNumbers(own, self.law, self.falls and not explicit, self.passive) if own.shape[1] else None
        return Task(
            self.robot, settings.method, settings.step, settings.passive, controller, settings.hold,
            self.first.asked.tau is not None, {} if inertial is None else {"inertial": inertial}, 1, external,
            settings.coordinates, settings.closing, not explicit, own=numbers,
        )  # fmt: skip

    def run(self, shares: Sequence[Share]) -> list[Made]:
        """The motions of these shares."""
        laws = None if self.law is None else np.stack([x.taken.numbers for x in shares if x.taken is not None])
        slopes = self.law.falls(laws) if self.law is not None and laws is not None and self.falls else None
        explicit = [self._is_explicit(x, None if slopes is None else slopes[:, i]) for i, x in enumerate(shares)]
        passive = np.stack([x.passive for x in shares])
        rows = self.first.steps // self.first.settings.every + 1
        most = max(1, _BYTES // (8 * rows * (self.robot.nq + 3 * self.robot.nv + 8)))
        found: dict[int, Made] = {}
        for kind in (True, False):
            todo = [i for i, is_so in enumerate(explicit) if is_so is kind]
            parts = [] if laws is None else [laws]
            parts += [] if slopes is None or kind else [slopes[0], slopes[1]]
            numbers = np.concatenate([*parts, passive], axis=1)
            for part in (todo[k : k + most] for k in range(0, len(todo), most)):
                found |= dict(zip(part, self._made([shares[i] for i in part], numbers[part], kind)))
        return [found[i] for i in range(len(shares))]

    def _is_explicit(self, share: Share, slopes: np.ndarray | None) -> bool:
        """Whether a motion alone would be made of explicit steps: by its own numbers, those of its robot among them."""
        motion, settings = share.motion, share.motion.settings
        controller = None
        if self.law is not None:
            controller = Controller(motion.robot, UserFunction("the controller", motion.asked.controller))
            controller.__dict__["slopes"] = None if slopes is None or not slopes.any() else (slopes[0], slopes[1])
        varied: dict[str, Any] = {} if not motion.asked.parameters else {"inertial": share.inertial}
        alone = Task(
            motion.robot, settings.method, settings.step, settings.passive, controller, settings.hold,
            parameters=varied, coordinates=settings.coordinates, implicit=settings.implicit,
        )  # fmt: skip
        return alone.order == 0

    def _made(self, shares: Sequence[Share], numbers: np.ndarray, explicit: bool) -> list[Made]:
        inertial = np.stack([x.inertial for x in shares if x.inertial is not None]) if self.inertial else None
        external = self.external
        if external is not None:
            pushed = np.stack([x.external for x in shares if x.external is not None])
            external = replace(external, numbers=pushed, batch=(len(shares),))
        task, shared = self._task(numbers, inertial, external, explicit), self.steppers[explicit]
        stepper = type(shared)(task)
        stepper.__dict__["loop"] = shared.loop
        q, v = (np.concatenate([getattr(x.motion, name) for x in shares]) for name in "qv")
        table = np.stack([x.table for x in shares if x.table is not None]) if task.table else None
        settings, steps, error = self.first.settings, self.first.steps, None
        w = task.start(q, v)
        out = [np.empty((len(q), steps // settings.every + 1, x.shape[-1])) for x in (q, w)]
        out[0][:, 0], out[1][:, 0] = q, w
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                stepper.advance(q, w, 0, steps, settings.every, table, [x[:, 1:] for x in out])
        except LinkwiseError as e:  # some state has no inertia somewhere: each by itself says which
            if len(shares) > 1:
                each = [slice(i, i + 1) for i in range(len(shares))]
                return [x for i in each for x in self._made(shares[i], numbers[i], explicit)]
            error = e
        parts = [(out[0][i : i + 1], out[1][i : i + 1]) for i in range(len(shares))]
        return [Made(q, w, task.of(i), stepper.of(i), error) for i, (q, w) in enumerate(parts)]

    def trajectory(self, share: Share, made: Made) -> Trajectory:
        """What :func:`linkwise.simulate` would have given for a motion, or the error that it would have raised."""
        if made.error is not None:
            raise made.error
        motion, task = share.motion, made.task
        plain = task if task.own is None else task.own.placed(task, task.own.numbers[0])
        if self.law is not None:
            assert plain.controller is not None
            plain.controller.__dict__["kernel"] = self.law.kernel
        settings = motion.settings
        Run(plain, made.stepper, check=motion.asked.check)._check([made.q, made.w], 0, settings.every, share.table)
        if self.law is not None:
            settings = replace(settings, functions={"controller": "compiled"})
        times = task.times(0, made.q.shape[1], settings.every)
        found = recorded(plain, None, settings, (), times, made.q, made.w, share.table, ())
        if self.law is not None:
            assert share.taken is not None and plain.controller is not None
            law = LawOfState(motion.robot, plain.controller.asked, (), self.law, share.taken.numbers)
            law.__dict__["kernel"] = self.law.kernel
            found = replace(found, forces=law)
        return found if motion.asked.parameters or not self.inertial else _of_own_robot(found, motion.robot)


@dataclass(frozen=True, eq=False)
class _OfOwnRobot(Trajectory):
    """The motion of a robot with inertias of its own; what follows from it is worked out by machine code for all."""

    shared: Robot | None = None
    inertial: Any = None

    def _evaluate(self, name: str, *arrays: np.ndarray) -> Any:
        assert self.shared is not None
        return replace(_plain(self), robot=self.shared, parameters={"inertial": self.inertial})._evaluate(name, *arrays)


def _plain(x: Trajectory) -> Trajectory:
    own: Mapping[str, Any] = {name: getattr(x, name) for name in Trajectory.__dataclass_fields__}
    return Trajectory(**own)


def _of_own_robot(found: Trajectory, robot: Robot) -> Trajectory:
    fields = {name: getattr(found, name) for name in Trajectory.__dataclass_fields__}
    fields |= {"robot": robot, "parameters": {}}
    return _OfOwnRobot(**fields, shared=found.robot, inertial=found.parameters["inertial"])
