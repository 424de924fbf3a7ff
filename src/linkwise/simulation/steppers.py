"""What is simulated, and the compiled loop over all steps.

Steppers take flat batches: q (states, nq), and w (states, n) as :mod:`.system` describes it. Those that are called from
Python are in :mod:`.called`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NoReturn, Protocol

import numpy as np

from ..codegen.facts import catalogue
from ..codegen.program.frames import normal_forms
from ..codegen.program.repeat import Repeated
from ..codegen.program.trace import Program, trace
from ..codegen.runtime.requests import request
from ..codegen.thresholds import MOST_BODIES, MOST_NODES
from ..errors import SimulationError
from ..properties import cached_property
from ..robot.robot import Robot
from .closing import LEFT, Closing
from .external_forces import INPUT, ExternalForces
from .implicit import PARTS, extrapolated, part_of_step
from .joint_forces import PassiveForces
from .methods import METHODS
from .odd_inertias import refuse_odd
from .rate_bounds import EXPLICIT_UP_TO, highest_rate
from .running_cost import RunningCost
from .state_numbers import INPUT as OWN
from .state_numbers import StateNumbers
from .system import EXCHANGED, System, has_dampers
from .user_functions import Controller


@dataclass(frozen=True, eq=False)
class Task:
    """What is simulated, apart from the states."""

    robot: Robot
    method: str
    step: float
    passive: PassiveForces
    controller: Controller | None = None
    hold: bool = False  # whether the controller is asked once at the start of each step
    table: bool = False  # whether joint forces come as one row per step
    parameters: Mapping[str, np.ndarray] = field(default_factory=dict)  # of the robot, (states, n) or (n,)
    threads: int | None = None
    external: ExternalForces | None = None
    coordinates: str = "joint"
    closing: Closing = LEFT
    implicit: bool | None = None  # whether what resists is taken where steps end; None: unless it is slow
    cost: RunningCost | None = None
    accounts: bool = True  # whether the energies that forces exchange are kept
    own: StateNumbers | None = None  # numbers of what acts that each state has of its own

    @cached_property
    def order(self) -> int:
        """The order of steps that take what resists where they end (:mod:`.implicit`); 0 where steps are explicit."""
        if self.implicit is False or self.coordinates != "joint" or self.method not in PARTS:
            return 0
        resists = self.robot.has_springs or self.passive.active or self.slopes is not None
        return PARTS[self.method] if resists and (self.implicit or not self.is_slow) else 0

    @cached_property
    def is_slow(self) -> bool:
        """Whether it is proved that what resists is too slow, anywhere, to upset explicit steps: smooth forces of the
        robot as it is, at rates within :data:`EXPLICIT_UP_TO` (:func:`.highest_rate`).

        Where states have parameters of their own some would be slow and others not, but all take the same code: never,
        so that a state moves as it does alone, whatever is beside it in the batch.
        """
        if self.parameters or not self.passive.falls_as_it_is:
            return False
        law = (0.0, 0.0) if self.slopes is None else self.slopes
        dampers = 0.0 if self.passive.damping is None else self.passive.damping
        return self.step * highest_rate(self.robot, law[0] + dampers, law[1]) <= EXPLICIT_UP_TO

    @property
    def slopes(self) -> Any:
        """By which the controller's forces fall with the motion of their joints; held forces do not."""
        if self.own is not None and self.own.law is not None:  # in whose place each state has its own
            return (np.zeros(self.robot.nv), np.zeros(self.robot.nv)) if self.own.slopes else None
        return None if self.controller is None or self.hold else self.controller.slopes

    def one_step(self, part: Any = part_of_step) -> Any:
        """The step (system, t, q, w, h) → (q', w'); ``part`` makes the parts of implicit ones."""
        step = extrapolated(self.order, part) if self.order else METHODS[self.method].step
        return step if self.cost is None else self._counted(step)

    def _counted(self, step: Any) -> Any:
        """The step with what it costs added to the last number of w."""

        def counted(s: System, t: Any, q: Any, w: Any, h: Any) -> tuple[Any, Any]:
            after = step(s, t, q, w[..., :-1], h)
            return after[0], np.concatenate([after[1], self.spent_after(s, t, q, w, h)], axis=-1)

        return counted

    def spent_after(self, s: System, t: Any, q: Any, w: Any, h: Any) -> Any:
        """What has been spent at the end of a step from (q, w), (..., 1)."""
        assert self.cost is not None
        v = s.velocity(q, w[..., :-1])
        return w[..., -1:] + h * self.cost.rate(s.robot, t, q, v, s.applied(t, q, v).tau)

    @property
    def exchanges(self) -> bool:
        """Whether any force works on the robot, and the energies are asked for."""
        given = self.controller is not None or self.table or self.external is not None
        return self.accounts and (given or self.passive.active or has_dampers(self.robot))

    @property
    def calls_back(self) -> bool:
        """Whether a function of the user's must be called at every stage of a step."""
        asked = self.controller is not None and self.controller.kernel is None
        counted = self.cost is not None and self.cost.kernel is None
        return asked or counted or (self.external is not None and self.external.kernel is None)

    @property
    def is_per_state(self) -> bool:
        """Whether states of a batch have numbers of their own."""
        own = [*self.parameters.values(), *([] if self.external is None else [self.external.numbers])]
        own += [] if self.own is None else [self.own.numbers]
        return any(x is not None and x.ndim > 1 for x in own)

    def of(self, i: int) -> Task:
        """The task for one state of a flat batch."""
        own = {name: x if x.ndim == 1 else x[i : i + 1] for name, x in self.parameters.items()}
        external = None if self.external is None else self.external.of(i)
        return replace(self, parameters=own, external=external, own=None if self.own is None else self.own.of(i))

    @property
    def identity(self) -> dict[str, Any] | None:
        """What its machine code depends on beside the robot, in words; None where it is not known what a function
        computes."""
        law = None if self.own is not None and self.own.law is not None else self.controller
        users = (law, self.external, self.cost)
        functions = [x.asked for x in users if x is not None and x.asked is not None]
        if any(x.identity is None for x in functions) or (self.own is not None and self.own.identity is None):
            return None
        plain: dict[str, Any] = {
            "method": self.method,
            "coordinates": self.coordinates,
            "passive": repr(sorted(self.passive.to_plain().items())),
            "closing": repr(self.closing),
            "order": self.order,
            "hold": self.hold,
            "accounts": self.accounts,
            "functions": repr([(x.what, x.identity) for x in functions]),
        }
        if self.external is not None:
            plain["frames"] = self.external.frames
        if self.own is not None:
            plain |= {"own": self.own.identity, "passive": repr(self.passive.kinds)}
        return plain

    def time(self, index: int) -> float:
        """The time at the start of a step."""
        return index * self.step

    def times(self, first: int, count: int, every: int = 1) -> np.ndarray:
        """The times at the start of every ``every``-th step, (count,)."""
        return np.arange(first, first + count * every, every) * self.step

    # --- the state w ---------------------------------------------------------------------------------

    def system(
        self, robot: Robot, dynamics: Robot, force: Any = None, external: Any = None, target: str | None = None
    ) -> System:
        """The robot and what acts on it, for a step."""
        remembers = self.method in METHODS and METHODS[self.method].remembered is not None
        acting = (force, self.passive, target, external)
        known = (self.coordinates, remembers, self.closing)
        return System(robot, dynamics, *acting, *known, slopes=self.slopes, accounts=self.accounts)

    @cached_property
    def _quiet(self) -> System:
        """The system without its forces, which knows the rates of w."""
        return replace(self, controller=None).system(self.robot, self.robot)

    def start(self, q: np.ndarray, v: np.ndarray, exchanged: np.ndarray | None = None) -> np.ndarray:
        """w (states, n) of velocities v (states, nv), and of energies (states, 4) exchanged so far."""
        rates = self._quiet.from_velocity(q, v)
        parts = [rates]
        if self.exchanges:
            parts.append(np.zeros((len(v), len(EXCHANGED)), v.dtype) if exchanged is None else exchanged)
        remembered = METHODS[self.method].remembered if self.method in METHODS else None
        if remembered is not None:
            parts.append(remembered(self.robot, q, rates))
        if self.cost is not None:
            parts.append(np.zeros((len(v), 1), v.dtype))
        return np.concatenate(parts, axis=-1)

    @cached_property
    def width(self) -> int:
        """How many numbers w has."""
        nothing = np.zeros((1, self.robot.nv))
        width: int = self.start(self.robot.neutral()[None], nothing).shape[-1]
        return width

    @property
    def moved_width(self) -> int:
        """How many of them a method moves: all but what has been spent."""
        return self.width - (self.cost is not None)

    def spent(self, w: np.ndarray) -> np.ndarray | None:
        """The running cost since the start, (...,)."""
        return None if self.cost is None else w[..., -1]

    def velocity(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Joint rates (..., nv)."""
        if self._quiet.remembers:
            first = self.robot.nv + (len(EXCHANGED) if self.exchanges else 0)
            return w[..., first : first + self.robot.nv]
        return self._quiet.velocity(q, w)

    def exchanged(self, w: np.ndarray) -> np.ndarray | None:
        """The energies exchanged since the start, (..., 4)."""
        return w[..., self.robot.nv : self.robot.nv + len(EXCHANGED)] if self.exchanges else None


class Stepper(Protocol):
    """Makes ``steps`` steps from the step ``first`` on, and writes every ``every``-th state into rows of q and w."""

    def advance(
        self,
        q: np.ndarray,
        w: np.ndarray,
        first: int,
        steps: int,
        every: int,
        tau: np.ndarray | None,
        out: Sequence[np.ndarray],
    ) -> None: ...

    def fraction(
        self, q: np.ndarray, w: np.ndarray, index: int, part: float, tau: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Where a part of one step leads."""
        ...

    def of(self, i: int) -> Stepper:
        """What makes the steps of one state of the batch alone."""
        ...


def repeated_rows(x: Any, times: int) -> Any:
    """Every row of NumPy's so many times, one after the other."""
    return np.repeat(x, times, axis=-2)


# --- compiled ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CompiledStepper:
    """The whole loop in machine code; functions that run on symbols are part of it."""

    task: Task
    stepped: ClassVar[tuple[str, ...]] = ("t", "tau")

    @property
    def turns(self) -> int:
        """How many turns of the loop a step takes."""
        return 1

    @property
    def carried(self) -> dict[str, int]:
        """Inputs, by the outputs that take their place after each turn of the loop."""
        return {"q": 0, "w": 1}

    @cached_property
    def names(self) -> list[str]:
        external = self.task.external
        timed = self.task.controller is not None or (external is not None and external.asked is not None)
        timed = timed or self.task.cost is not None
        chosen = {
            "t": timed,
            "tau": self.task.table,
            INPUT: external is not None and external.numbers is not None,
            OWN: self.task.own is not None,
        }
        gains = () if self.task.controller is None else self.task.controller.gains
        return ["q", "w", *(name for name, used in chosen.items() if used), *gains, "h"]

    @cached_property
    def loop(self) -> Repeated:
        """The machine code."""
        return self.kept("simulate.step", self._program, self.carried, [n for n in self.stepped if n in self.names])

    def kept(
        self, what: str, make: Callable[[], Program], carried: Mapping[str, int], stepped: Sequence[str]
    ) -> Repeated:
        """A loop over what is made of these steps; kept with the robot, unless it is not known what a function in it
        computes."""
        task = self.task
        plain = task.identity
        if plain is None:
            return Repeated(make, carried, stepped)
        key = (what, *plain.values(), *self.names, *task.parameters)
        found: Repeated | None = task.robot._code.get(key)
        if found is None:
            asked = request(task.robot, what, self.names, plain, tuple(task.parameters))
            found = Repeated(make, carried, stepped, asked)
            task.robot._code.keep(key, found)
        return found

    @property
    def worthwhile(self) -> bool:
        """Whether the loop is worth compiling: straight-line code of a huge robot is not."""
        return len(self.task.robot.bodies) <= MOST_BODIES and self.loop.is_shorter_than(MOST_NODES)

    @property
    def too_long(self) -> str:
        """Why it is not worth compiling."""
        bodies = len(self.task.robot.bodies)
        if bodies > MOST_BODIES:
            return f"it has {bodies} bodies, and straight-line code is for {MOST_BODIES} at most"
        return f"the code of one step would be longer than {MOST_NODES} values"

    def _program(self) -> Program:
        return self.traced()

    def traced(self, observed: Callable[[System], System] = lambda system: system) -> Program:
        """What a turn of the loop computes, by a system that may be ``observed``."""
        task = self.task
        sizes = {"w": task.width, "t": 1, "h": 1, **(task.external.sizes if task.external is not None else {})}
        sizes |= {} if task.own is None else task.own.sizes
        sizes |= {} if task.controller is None else task.controller.gains
        dynamics = None if task.parameters or task.coordinates != "joint" else shortest(task.robot)

        def one_step(robot: Robot, *values: np.ndarray) -> tuple[np.ndarray, ...]:
            given = dict(zip(self.names, values))
            stepper = self if task.own is None else type(self)(task.own.placed(task, given[OWN]))
            force, push = stepper._acting(robot, given)
            system = stepper.task.system(robot, robot if dynamics is None else dynamics, force, push)
            return stepper._step(observed(replace(system, start=given["q"])), given)

        sizes |= self._more_sizes
        known = {n: sizes[n] for n in self.names if n in sizes}
        return trace(task.robot, one_step, "step", known, self.names, tuple(task.parameters))

    @property
    def _more_sizes(self) -> dict[str, int]:
        return {}

    def _step(self, system: System, given: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        """What a turn of the loop makes of the inputs."""
        q, w, h, t, task = given["q"], given["w"], given["h"][0], _time(given), self.task
        if task.controller is not None and task.hold:
            assert system.force is not None
            held = system.force(t, q, system.velocity(q, w))
            system = replace(system, force=lambda t, q, v: held)
        after: tuple[np.ndarray, np.ndarray] = task.one_step()(system, t, q, w, h)
        return task.closing.after_step(system.robot, *after, q)

    def _acting(self, robot: Robot, given: Mapping[str, np.ndarray]) -> tuple[Any, Any]:
        """Joint forces and what external forces do to the joints, each a function of (t, q, v) or None."""
        task = self.task
        force: Any = None
        push: Any = None
        if task.controller is not None:
            force = law = task.controller.on(robot).with_gains(given)
            if "tau" in given:
                force = lambda t, q, v: law(t, q, v) + given["tau"]
        elif "tau" in given:
            force = lambda t, q, v: given["tau"]
        if task.external is not None:
            own = task.external.on(robot)
            push = lambda t, q, v: own.joint_forces(t, q, v, given.get(INPUT))
        return force, push

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
        times = self.task.times(first, steps)[:, None] if "t" in self.names else None
        self._run(q, w, times, steps, every, tau, self.task.step, out)

    def fraction(
        self, q: np.ndarray, w: np.ndarray, index: int, part: float, tau: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        times = np.array([[self.task.time(index)]])
        out = [np.empty((len(x), 1, x.shape[-1]), x.dtype) for x in (q, w)]
        self._run(q, w, times, 1, 1, tau, part * self.task.step, out)
        return out[0][:, 0], out[1][:, 0]

    def of(self, i: int) -> CompiledStepper:
        one = type(self)(self.task.of(i))
        one.__dict__["loop"] = self.loop  # whose machine code has the numbers of a state as inputs
        return one

    def _run(
        self,
        q: np.ndarray,
        w: np.ndarray,
        t: Any,
        steps: int,
        every: int,
        tau: Any,
        h: float,
        out: Sequence[np.ndarray],
    ) -> None:
        given = {"q": q, "w": w, "t": t, "tau": tau, "h": np.array([h]), **self.task.parameters}
        if INPUT in self.names:
            assert self.task.external is not None
            given[INPUT] = self.task.external.numbers
        if self.task.own is not None:
            given[OWN] = self.task.own.numbers
        if not self._turned(given, steps, every, out):
            raise_singular(self.task, q, w)

    def by_turns(
        self, given: Mapping[str, Any], steps: int, repeated: Callable[[Any, int], Any] = repeated_rows
    ) -> dict[str, Any]:
        """What is new at every step, for every turn of the loop; ``repeated`` gives every row so many times."""
        return dict(given)

    @property
    def sizes(self) -> dict[str, int]:
        """What the loop carries, with the lengths."""
        return {"q": self.task.robot.nq, "w": self.task.width}

    def _turned(self, given: dict[str, Any], steps: int, every: int, out: Sequence[np.ndarray]) -> bool:
        """Run the loop; whether all steps were sound."""
        inputs = {name: given[name] for name in self.loop.signature.inputs}
        return self.loop.run(inputs, steps, every, self.task.threads, out)[1]


def _time(given: Mapping[str, np.ndarray]) -> Any:
    return given["t"][0] if "t" in given else 0.0


def shortest(robot: Robot) -> Robot:
    """The robot in frames that make its forward dynamics short, for programs in joint space alone."""
    found: Robot | None = robot._kept_structure.get(shortest)
    if found is None:
        found = robot._kept_structure[shortest] = _in_shortest_frames(robot)
    return found


def _in_shortest_frames(robot: Robot) -> Robot:
    if catalogue(type(robot))["forward_dynamics"].shows_frames(("q", "v", "tau")):  # loops join frames
        return robot
    models: list[Robot] = [robot, *(form for _, form in normal_forms(robot))]
    chosen = _CHOSEN.get(robot.fingerprint)
    if chosen is None:
        chosen = min(range(len(models)), key=lambda i: _operations(models[i]))
        if robot.fingerprint is not None:
            _CHOSEN[robot.fingerprint] = chosen
    return models[chosen]


def _operations(robot: Robot) -> int:
    """Of forward dynamics in the robot's frames."""
    return trace(robot, lambda model, q, v, tau: model.forward_dynamics(q, v, tau)).operations.total


_CHOSEN: dict[str | None, int] = {}  # by the fingerprint of a robot, which one of its forms is the shortest


def raise_singular(task: Task, q: np.ndarray, w: np.ndarray) -> NoReturn:
    """Say which joint has no inertia, as forward dynamics does; or at least when."""
    v = task.velocity(q, w)
    task.robot.forward_dynamics(q, v, 0.0 * v, target="numpy")
    if task.method == "variational":
        raise SimulationError(
            "the iterations of the variational step did not settle: forces change too fast for this step; take a"
            ' smaller one, hold the controller (hold=True), or use method="runge_kutta_4"'
        )
    if task.closing.is_embedded:
        raise SimulationError(
            f"loops {', '.join(repr(x.name) for x in task.robot.loops)} of robot {task.robot.name!r} could not be"
            " embedded on the way: one has lost its rank (links in line), or joints that dependent= names no longer"
            ' follow the others; use closing="projection", or a smaller step'
        )
    if "inertial" in task.parameters:
        refuse_odd(task.robot, task.parameters["inertial"], q, v)
    raise SimulationError("the mass matrix became singular on the way; look at the robot's inertias")
