"""Motions that many functions ask :func:`linkwise.simulate` for, made together as batches of machine code.

Motions are of one group where nothing but numbers differs: states, tables of joint forces, the real numbers that their
controllers hold, damping, friction and stops, forces at frames, and the inertias of their robots. These are inputs of
the group's machine code. To which group a motion belongs, and whether to any, follows from the motion alone, never from
those beside it; and machine code gives a state the same bits whatever stands beside it. So a run alone, in any chunk,
of any worker, gives the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import LinkwiseError, UntraceableError
from ..robot.robot import Robot
from ..simulation import arguments
from ..simulation.external_forces import ExternalForces, external_forces
from ..simulation.law_numbers import Taken, taken_apart, with_inertias_of
from ..simulation.makers import Motion
from ..simulation.methods import SOLVERS
from ..simulation.record import recorded
from ..simulation.runner import Run
from ..simulation.state_numbers import LawOfState, SharedLaw
from ..simulation.steppers import CompiledStepper, Task, raise_singular
from ..simulation.trajectory import Trajectory
from ..simulation.user_functions import Controller, UserFunction
from .alike import Alike, Numbers

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
    alike = Alike(robot, motion.settings, motion.steps, law, pushed, inertial, motion.asked.tau is not None)
    try:
        if alike.too_long is not None:
            return alike.too_long
    except UntraceableError as e:
        return f"its controller cannot be compiled with its numbers as inputs: {e.reason}"
    return Group(motion, alike)


def _what_is_singular(task: Task, q: np.ndarray, w: np.ndarray) -> LinkwiseError | None:
    """The error that the steps of one motion ended with."""
    try:
        raise_singular(task, q, w)
    except LinkwiseError as e:
        return e
    return None


@dataclass(frozen=True, eq=False)
class Group:
    """Motions that differ in numbers alone, those of ``first`` and others."""

    first: Motion
    alike: Alike

    @property
    def law(self) -> SharedLaw | None:
        return self.alike.law

    def run(self, shares: Sequence[Share]) -> list[Made]:
        """The motions of these shares."""
        rows = self.first.steps // self.first.settings.every + 1
        robot = self.alike.robot
        most = max(1, _BYTES // (8 * rows * (robot.nq + 3 * robot.nv + 8)))
        parts = [shares[k : k + most] for k in range(0, len(shares), most)]
        return [made for part in parts for made in self._made(part)]

    def _numbers(self, shares: Sequence[Share]) -> Numbers:
        def stacked(rows: Iterable[np.ndarray | None]) -> np.ndarray | None:
            found = [x for x in rows if x is not None]
            return np.stack(found) if found else None

        law = stacked(None if x.taken is None else x.taken.numbers for x in shares)
        names = self.alike.passive
        passive = [[getattr(x.motion.settings.passive, name) for name in names] for x in shares]
        return Numbers(
            np.array(passive, dtype=float).reshape(len(shares), -1),
            law,
            self.alike.slopes(law),
            stacked(x.inertial for x in shares),
            stacked(x.external for x in shares),
            stacked(x.table for x in shares),
        )

    def _made(self, shares: Sequence[Share]) -> list[Made]:
        numbers = self._numbers(shares)
        explicit = np.array([self._is_explicit(x, numbers.slopes, i) for i, x in enumerate(shares)])
        q, v = (np.concatenate([getattr(x.motion, name) for x in shares]) for name in "qv")
        out, sound = self.alike.stepped(q, v, numbers, explicit, self.first.settings.every)
        of_kind = {bool(kind): self.alike.of(numbers, bool(kind)) for kind in np.unique(explicit)}
        found = []
        for i, kind in enumerate(explicit):
            one = slice(i, i + 1)
            task, stepper = of_kind[bool(kind)][0].of(i), of_kind[bool(kind)][1].of(i)
            error = None if sound[i] else _what_is_singular(task, q[one], out[1][one, 0])
            found.append(Made(out[0][one], out[1][one], task, stepper, error))
        return found

    def _is_explicit(self, share: Share, slopes: np.ndarray | None, i: int) -> bool:
        """Whether a motion alone would be made of explicit steps: by its own numbers, those of its robot among them."""
        motion, settings = share.motion, share.motion.settings
        controller = None
        if self.law is not None:
            controller = Controller(motion.robot, UserFunction("the controller", motion.asked.controller))
            falls = None if slopes is None or not slopes[:, i].any() else (slopes[0, i], slopes[1, i])
            controller.__dict__["slopes"] = falls
        varied: dict[str, Any] = {} if not motion.asked.parameters else {"inertial": share.inertial}
        alone = Task(
            motion.robot, settings.method, settings.step, settings.passive, controller, settings.hold,
            parameters=varied, coordinates=settings.coordinates, implicit=settings.implicit,
        )  # fmt: skip
        return alone.order == 0

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
        return found if motion.asked.parameters or not self.alike.inertial else _of_own_robot(found, motion.robot)


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
