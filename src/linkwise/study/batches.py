"""Many motions as one call of machine code: each run's numbers are inputs of the kernel beside its state.

The step is that of :mod:`..simulation`, traced with the robot's inertial parameters as symbols where they are drawn,
and with whatever else is drawn (damping, stops, forces, gains) as one more vector. The kernel gives a state the same
bits whatever stands beside it, so that batches, tails of batches and a run alone agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..codegen.program.repeat import Repeated
from ..codegen.program.trace import Program, trace
from ..codegen.runtime.kernel import Kernel
from ..codegen.runtime.requests import request
from ..codegen.thresholds import MOST_BODIES, MOST_NODES
from ..robot.robot import Robot
from ..simulation import arguments
from ..simulation.joint_forces import PassiveForces, passive_forces, with_other_damping
from ..simulation.methods import METHODS
from ..simulation.record import recorded
from ..simulation.steppers import Task, shortest
from ..simulation.trajectory import Settings, Trajectory
from .targets import PASSIVE, Targets

if TYPE_CHECKING:
    from .scenarios import Simulate

_CARRIED = {"q": 0, "w": 1}
_SHARED = ("t", "h")  # inputs that are those of all runs
DRAWN = "drawn"  # the name of drawn numbers among the inputs of the kernel


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
    def _task(self) -> Task:
        s = self.scenario
        acted_on = s.controller is not None or bool(self.targets.of("tau", "force"))
        closing = s.chosen_closing(self.robot)
        return Task(
            self.robot, s.method, s.step, self._passive, table=acted_on, threads=1, closing=closing, implicit=False
        )

    @cached_property
    def inputs(self) -> dict[str, int]:
        """Drawn numbers that the kernel takes, name → how many; a controller may ask for all of them."""
        names = list(self.targets.names) if self.scenario.controller is not None else self.targets.of(
            *PASSIVE, "tau", "force", "gain"
        )  # fmt: skip
        return {name: int(np.prod(self.targets.names[name], dtype=int)) for name in names}

    @property
    def _parameters(self) -> tuple[str, ...]:
        return ("inertial",) if self.targets.of("payload", "mass", "com", "inertial") else ()

    @property
    def _names(self) -> list[str]:
        timed = {"t": self.scenario.controller is not None, DRAWN: bool(self.inputs)}
        return ["q", "w", *(name for name, used in timed.items() if used), "h"]

    def drawn(self, flat: Any) -> dict[str, Any]:
        """The drawn numbers (n,) by name, in the shapes that users gave them."""
        found, start = {}, 0
        for name, size in self.inputs.items():
            shape = self.targets.names[name]
            part = flat[start : start + size]
            found[name] = part.reshape(shape) if shape else part[0]
            start += size
        return found

    # --- the program -----------------------------------------------------------------------------------

    @cached_property
    def loop(self) -> Repeated:
        """The machine code of all steps; on disk, but for controllers, which may have changed since."""
        stepped = [n for n in ("t",) if n in self._names]
        asked = None
        if self.scenario.controller is None:
            plain = {
                "method": self.scenario.method,
                "closing": repr(self._task.closing),
                "passive": repr(sorted(self._passive.to_plain().items())),
                "drawn": repr([(n, self.targets.names[n]) for n in self.inputs]),
            }
            asked = request(self.robot, "study.step", self._names, plain, self._parameters)
        return Repeated(self._program, _CARRIED, stepped, asked)

    @property
    def too_long(self) -> str | None:
        """Why it is not worth compiling, None where it is."""
        if len(self.robot.bodies) > MOST_BODIES:
            return f"the robot has {len(self.robot.bodies)} bodies, and batches are for {MOST_BODIES} at most"
        if not self.loop.is_shorter_than(MOST_NODES):
            return f"the code of one step would be longer than {MOST_NODES} values"
        return None

    def _program(self) -> Program:
        task = self._task
        dynamics = None if self._parameters else shortest(task.robot)
        sizes = {"w": task.width, "t": 1, "h": 1, DRAWN: sum(self.inputs.values())}

        def one_step(robot: Robot, *values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            given = dict(zip(self._names, values))
            q, w, h, t = given["q"], given["w"], given["h"][0], given["t"][0] if "t" in given else 0.0
            system = self._system(robot, robot if dynamics is None else dynamics, given.get(DRAWN))
            system = replace(system, start=q)
            if self.scenario.controller is not None and self.scenario.hold:
                held = system.force(t, q, system.velocity(q, w))
                system = replace(system, force=lambda t, q, v: held)
            return task.closing.after_step(robot, *METHODS[task.method].step(system, t, q, w, h), q)

        known = {n: sizes[n] for n in self._names if n in sizes}
        return trace(task.robot, one_step, "study_step", known, self._names, self._parameters)

    def _system(self, robot: Robot, dynamics: Robot, flat: Any) -> Any:
        """The robot and what acts on it, with drawn numbers (n,) that may be symbols."""
        drawn = {} if flat is None else self.drawn(flat)
        task, controller = self._task, self.scenario.controller
        force: Any = None
        push: Any = None
        if controller is not None or self.targets.of("tau"):
            constant = self._at_joints("tau", drawn, np.zeros(robot.nv)) if self.targets.of("tau") else None

            def force(t: Any, q: Any, v: Any) -> Any:
                tau = 0.0 * v if controller is None else self.scenario.forces(robot, t, q, v, drawn)
                return tau if constant is None else tau + constant

        if self.targets.of("force"):
            wrenches = self.targets.forces(drawn)
            push = lambda t, q, v: robot.external_force(q, robot.wrenches(q, wrenches))
        system = task.system(robot, dynamics, force, push)
        return replace(system, passive=self._drawn_passive(drawn))

    def _drawn_passive(self, drawn: Mapping[str, Any]) -> PassiveForces:
        changed: dict[str, Any] = {}
        for kind in PASSIVE:
            base = getattr(self._passive, kind)
            if self.targets.of(kind):
                changed[kind] = self._at_joints(kind, drawn, np.zeros(self.robot.nv) if base is None else base)
        return replace(self._passive, **changed)

    def _at_joints(self, kind: str, drawn: Mapping[str, Any], base: np.ndarray) -> Any:
        """(nv,) of numbers and symbols."""
        out = np.array(base, dtype=object)
        for name in self.targets.of(kind):
            out[self.targets.columns(name)] = np.asarray(drawn[name], dtype=object)
        return out

    # --- runs ------------------------------------------------------------------------------------------

    @property
    def lanes(self) -> int:
        """How many motions the machine steps at once."""
        return int(self.loop._code.code(np.float64).vector.lanes)

    def run(self, values: Mapping[str, np.ndarray], every: int, forces: bool) -> Trajectory:
        """The motions of runs whose parameters are ``values`` (runs, …); lost ones are NaN at their end."""
        scenario, task = self.scenario, self._task
        q, v = scenario.start(self.targets, values, self.robot)
        w = task.start(q, v)
        rows = scenario.steps // every + 1
        out = [np.empty((len(q), rows, x.shape[-1])) for x in (q, w)]
        out[0][:, 0], out[1][:, 0] = q, w
        own = self.targets.inertial(values)
        flat = self._flat(values, len(q))
        times = task.times(0, scenario.steps)[:, None]
        h = np.array([scenario.step])
        given: dict[str, Any] = {"q": q, "w": w, "t": times, DRAWN: flat, "h": h, "inertial": own}
        inputs = {name: given[name] for name in self.loop.signature.inputs}
        self._stepped(inputs, every, out)
        settings = Settings(
            scenario.method, scenario.step, every, 0, scenario.hold, self._passive, closing=task.closing, implicit=False
        )
        along = task.times(0, rows, every)
        task = task if own is None else replace(task, parameters={"inertial": own})
        found = recorded(task, None, settings, (len(q),), along, out[0], out[1], None, ())
        if forces:
            self._add_forces(found, flat, own)
        return found

    def _stepped(self, inputs: Mapping[str, Any], every: int, out: list[np.ndarray]) -> None:
        """Fill the rows after the first; runs whose steps were not sound, as no body is like theirs, end in NaN."""
        with np.errstate(over="ignore", invalid="ignore"):
            sound = self.loop.run(inputs, self.scenario.steps, every, 1, [x[:, 1:] for x in out])[1]
        count = len(out[0])
        if sound or count == 1:
            for x in out if not sound else ():
                x[:, -1] = np.nan
            return
        for part in (slice(0, count // 2), slice(count // 2, count)):  # which of them: fewer give the same bits
            own = {n: x[part] if n not in _SHARED and np.ndim(x) > 1 else x for n, x in inputs.items()}
            self._stepped(own, every, [x[part] for x in out])

    def _flat(self, values: Mapping[str, np.ndarray], count: int) -> np.ndarray | None:
        if not self.inputs:
            return None
        return np.concatenate([np.asarray(values[n], dtype=float).reshape(count, -1) for n in self.inputs], axis=1)

    def _add_forces(self, found: Trajectory, flat: np.ndarray | None, own: np.ndarray | None) -> None:
        """Joint forces and accelerations at the samples, as the steps had them."""
        time = np.broadcast_to(found.time[:, None], (*found.q.shape[:-1], 1))
        given: dict[str, Any] = {"t": time, "q": found.q, "v": found.v, DRAWN: flat, "inertial": own}
        arrays = [x if x.ndim == 3 else x[:, None] for x in (given[n] for n in self._along.signature.inputs)]
        tau, a = self._along(*arrays, threads=1)
        found.__dict__["tau"], found.__dict__["a"] = tau, a

    @cached_property
    def _along(self) -> Kernel:
        """(joint forces of controller and parameters, accelerations) of (t, q, v, drawn)."""
        names = ["t", "q", "v", *([DRAWN] if self.inputs else [])]

        def at(robot: Robot, t: np.ndarray, q: np.ndarray, v: np.ndarray, *flat: np.ndarray) -> Any:
            system = self._system(robot, robot, flat[0] if flat else None)
            applied = system.applied(t[0], q, v)
            total, _ = system.forces(applied, q, v)
            return applied.tau, system.accelerated(q, v, total)[1]

        sizes = {"t": 1, DRAWN: sum(self.inputs.values())}
        known = {n: sizes[n] for n in names if n in sizes}
        return Kernel(trace(self.robot, at, "study_forces", known, names, self._parameters))


def start_of(
    robot: Robot, targets: Targets, values: Mapping[str, np.ndarray], q0: np.ndarray, v0: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """States at the start (runs, nq), (runs, nv): drawn numbers in place of q0, v0; loops closed from there."""
    q, v = targets.at_joints("q0", values, q0), targets.at_joints("v0", values, v0)
    q, v, _ = arguments.start_state(robot, q, v)
    if robot.loops:
        closed: Any = robot
        q = np.stack([closed.closed_configuration(x) for x in q])  # one by one: each takes the steps that it needs
        v = np.stack([closed.closed_velocity(x, y, target="numpy") for x, y in zip(q, v)])
    return q, v
