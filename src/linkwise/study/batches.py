"""The motions of a built-in scenario, many at once: what is drawn are the numbers that they differ in."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import is_symbolic
from ..codegen.program.trace import trace
from ..codegen.runtime.kernel import Kernel
from ..properties import cached_property
from ..robot.robot import Robot
from ..simulation import arguments
from ..simulation.external_forces import INPUT, ExternalForces
from ..simulation.joint_forces import PassiveForces, passive_forces, with_other_damping
from ..simulation.law_numbers import Taken
from ..simulation.record import recorded
from ..simulation.state_numbers import INPUT as OWN
from ..simulation.state_numbers import SharedLaw
from ..simulation.steppers import CompiledStepper, Task
from ..simulation.trajectory import Settings, Trajectory
from ..simulation.user_functions import TRUE
from ..symbols.fingerprints import made_of
from .alike import Alike, Numbers
from .targets import PASSIVE, Targets

if TYPE_CHECKING:
    from .scenarios import Simulate


@dataclass(frozen=True, eq=False)
class Batches:
    """The motions of a scenario, many at once; ``targets`` are the parameters that are drawn."""

    scenario: Simulate
    targets: Targets

    # --- what is simulated -----------------------------------------------------------------------------

    @cached_property
    def robot(self) -> Robot:
        """The robot that moves: without its own dampers where damping is drawn."""
        return with_other_damping(self.targets.robot, 0.0 if self.targets.of("damping") else self.scenario.damping)

    @cached_property
    def _passive(self) -> PassiveForces:
        """Passive forces as they are where nothing is drawn."""
        drawn, s = self.targets, self.scenario
        damping: Any = np.ones(self.robot.nv) if drawn.of("damping") else s.damping
        friction: Any = np.ones(self.robot.nv) if drawn.of("friction") else s.friction
        limits: Any = self._limits() if drawn.of("lower", "upper") else s.limits
        own = passive_forces(drawn.robot, damping, friction, limits)
        base = self.scenario.own_passive(drawn)
        changed: dict[str, Any] = {k: base[k] for k in ("damping", "friction") if drawn.of(k)}
        return replace(own, **changed)

    def _limits(self) -> tuple[np.ndarray, np.ndarray]:
        """The robot's limits, with finite ones where they are drawn: their stops have stiffness and damping."""
        lower, upper = self.targets.robot.lower_limits.copy(), self.targets.robot.upper_limits.copy()
        for i in {int(c) for name in self.targets.of("lower") for c in self.targets.columns(name)}:
            lower[i] = upper[i] - 1.0 if np.isfinite(upper[i]) else -1.0
        for i in {int(c) for name in self.targets.of("upper") for c in self.targets.columns(name)}:
            upper[i] = lower[i] + 1.0 if np.isfinite(lower[i]) else 1.0
        return lower, upper

    @cached_property
    def alike(self) -> Alike:
        """What all runs have in common."""
        s = self.scenario
        frames = tuple(self.targets.frames())
        pushed = ExternalForces(self.robot, None, frames, np.zeros(6 * len(frames))) if frames else None
        closing = s.chosen_closing(self.robot)
        settings = Settings(s.method, s.step, s.every, 0, s.hold, self._passive, closing=closing, implicit=s.implicit)
        drawn = bool(self.targets.of("payload", "mass", "com", "inertial"))
        return Alike(self.robot, settings, s.steps, self._law(drawn), pushed, drawn)

    # --- what drives it --------------------------------------------------------------------------------

    @cached_property
    def inputs(self) -> dict[str, int]:
        """Drawn numbers that the law takes, name → how many; a controller may ask for all of them."""
        names = list(self.targets.names) if self.scenario.controller is not None else self.targets.of("tau")
        return {name: int(np.prod(self.targets.names[name], dtype=int)) for name in names}

    def drawn(self, flat: Any) -> dict[str, Any]:
        """The drawn numbers (n,) by name, in the shapes that users gave them."""
        found, start = {}, 0
        for name, size in self.inputs.items():
            shape = self.targets.names[name]
            part = flat[start : start + size]
            found[name] = part.reshape(shape) if shape else part[0]
            start += size
        return found

    def _law(self, moving: bool) -> SharedLaw | None:
        """Joint forces of the controller and those that are drawn; ``moving`` robots have inertias of their own."""
        controller, constant = self.scenario.controller, self.targets.of("tau")
        if controller is None and not constant:
            return None

        def make(numbers: Any) -> Callable[..., Any]:
            def law(robot: Robot, t: Any, q: Any, v: Any) -> Any:
                drawn = self.drawn(numbers)
                tau = 0.0 * v if controller is None else self.scenario.forces(robot, t, q, v, drawn)
                return tau + self._at_joints("tau", drawn) if constant else tau

            return law

        known = "" if controller is None else made_of(controller).identity
        layout = repr([(name, self.targets.names[name]) for name in self.inputs])
        named = None if known is None else repr(("a study's law", known, layout))
        own = _DrawnLaw(np.zeros(sum(self.inputs.values())), make, named)
        return SharedLaw(self.robot, own, moving and wants_true_robot(controller))

    def _at_joints(self, kind: str, drawn: Mapping[str, Any]) -> Any:
        """(nv,) of numbers and symbols, 0 where nothing is drawn."""
        out = np.zeros(self.robot.nv, dtype=object)
        for name in self.targets.of(kind):
            out[self.targets.columns(name)] = np.asarray(drawn[name], dtype=object)
        return out if is_symbolic(out) else out.astype(float)

    # --- runs ------------------------------------------------------------------------------------------

    @property
    def too_long(self) -> str | None:
        """Why it is not worth compiling, None where it is."""
        return self.alike.too_long

    def numbers(self, values: Mapping[str, np.ndarray], count: int) -> Numbers:
        """What runs whose parameters are ``values`` (runs, …) have of their own."""
        rows = [np.asarray(values[n], dtype=float).reshape(count, -1) for n in self.inputs]
        law = None if self.alike.law is None else np.concatenate([np.zeros((count, 0)), *rows], axis=1)
        passive = [np.zeros((count, 0))]
        for name in self.alike.passive:
            base = getattr(self._passive, name)
            drawn = name in PASSIVE and bool(self.targets.of(name))
            passive.append(self.targets.at_joints(name, values, base, count) if drawn else np.tile(base, (count, 1)))
        pushed = list(self.targets.forces(values).values())
        return Numbers(
            np.concatenate(passive, axis=1),
            law,
            self.alike.slopes(law),
            self.targets.inertial(values),
            np.concatenate(pushed, axis=1) if pushed else None,
        )

    def _possible(self, numbers: Numbers) -> np.ndarray:
        """Which runs have passive forces that :func:`linkwise.simulate` would take."""
        passive = dict(zip(self.alike.passive, np.split(numbers.passive, max(len(self.alike.passive), 1), axis=1)))
        found = np.ones(len(numbers), dtype=bool)
        for name in ("damping", "friction"):
            if name in passive:
                found &= (passive[name] >= 0.0).all(axis=1)
        if "lower" in passive:
            found &= (passive["lower"] <= passive["upper"]).all(axis=1)
        return found

    def run(
        self, values: Mapping[str, np.ndarray], count: int, every: int, forces: bool, steps: Any = None
    ) -> Trajectory:
        """The motions of ``count`` runs whose parameters are ``values`` (runs, …); lost ones are NaN at their end.

        ``steps`` makes them elsewhere than on this machine's processor (:mod:`.on_card`).
        """
        alike = self.alike
        q, v = self.scenario.start(self.targets, values, self.robot, count)
        arguments.refuse_too_large(count, self.robot.nq + self.robot.nv, alike.steps, every, q.dtype)
        numbers = self.numbers(values, count)
        explicit = alike.explicit(numbers)
        out, sound = alike.stepped(q, v, numbers, explicit, every, steps)
        sound &= self._possible(numbers)
        for x in out:
            x[~sound, -1] = np.nan
        acted_on = alike.law is not None or alike.external is not None
        task = Task(
            self.robot, alike.settings.method, alike.settings.step, self._passive, table=acted_on, threads=1,
            parameters={} if numbers.inertial is None else {"inertial": numbers.inertial},
            closing=alike.settings.closing, implicit=alike.settings.implicit,
        )  # fmt: skip
        settings = replace(alike.settings, every=every)
        along = task.times(0, out[0].shape[1], every)
        found = recorded(task, None, settings, (count,), along, out[0], out[1], None, ())
        if forces:
            self._add_forces(found, numbers)
        return found

    def _add_forces(self, found: Trajectory, numbers: Numbers) -> None:
        """Joint forces and accelerations at the samples, as the steps had them."""
        time = np.broadcast_to(found.time[:, None], (*found.q.shape[:-1], 1))
        task = self.alike.task(True, numbers)
        given: dict[str, Any] = {"t": time, "q": found.q, "v": found.v, **task.parameters}
        given |= {} if task.own is None else {OWN: task.own.numbers}
        given |= {} if task.external is None else {INPUT: task.external.numbers}
        arrays = [x if x.ndim == 3 else x[:, None] for x in (given[n] for n in self._along.signature.inputs)]
        tau, a = self._along(*arrays, threads=1)
        found.__dict__["tau"], found.__dict__["a"] = tau, a

    @cached_property
    def _along(self) -> Kernel:
        """(joint forces of controller and parameters, accelerations) of (t, q, v) and of what is a run's own."""
        task = self.alike.task(True)
        sizes = {"t": 1, **({} if task.own is None else task.own.sizes)}
        sizes |= {} if task.external is None else task.external.sizes
        names = ["t", "q", "v", *(n for n in sizes if n != "t")]

        def at(robot: Robot, *values: np.ndarray) -> Any:
            given = dict(zip(names, values))
            placed = task if task.own is None else task.own.placed(task, given[OWN])
            force, push = CompiledStepper(placed)._acting(robot, {k: x for k, x in given.items() if k == INPUT})
            system = placed.system(robot, robot, force, push)
            q, v = given["q"], given["v"]
            applied = system.applied(given["t"][0], q, v)
            total, _ = system.forces(applied, q, v)
            return applied.tau, system.accelerated(q, v, total)[1]

        return Kernel(trace(self.robot, at, "study_forces", sizes, names, tuple(task.parameters)))


@dataclass(frozen=True, eq=False)
class _DrawnLaw(Taken):
    """A law of the numbers that are drawn; ``named`` tells it from others, None where that is not known."""

    named: str | None = None

    @property
    def identity(self) -> str | None:
        return self.named


def wants_true_robot(controller: Callable[..., Any] | None) -> bool:
    """Whether a controller asks, by the name of its first parameter, for the robot as it is drawn."""
    if controller is None:
        return False
    try:
        return next(iter(inspect.signature(controller).parameters), None) == TRUE
    except (TypeError, ValueError):  # one that does not say what it takes
        return False


def start_of(
    robot: Robot, targets: Targets, values: Mapping[str, np.ndarray], q0: np.ndarray, v0: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """States at the start (runs, nq), (runs, nv): drawn numbers in place of q0, v0; loops closed from there."""
    q, v = targets.at_joints("q0", values, q0, count), targets.at_joints("v0", values, v0, count)
    q, v, _ = arguments.start_state(robot, q, v)
    if robot.loops:
        closed: Any = robot
        q = np.stack([closed.closed_configuration(x) for x in q])  # one by one: each takes the steps that it needs
        v = np.stack([closed.closed_velocity(x, y, target="numpy") for x, y in zip(q, v)])
    return q, v
