"""What a run of a study is: a function of (robot, parameters), or one of those that linkwise knows.

Each says of itself whether many runs can be one call of machine code, and runs one alone, as a replay does. Those of
linkwise are ``lw.scenarios.simulate``, ``closed_loop``, ``poles`` and ``identify``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

import numpy as np

from ..arguments import flag, number, numbers, one_of, shown
from ..errors import InputError, SimulationError, UntraceableError
from ..properties import cached_property
from ..robot.robot import Robot
from ..simulation import arguments
from ..simulation import closing as loops
from ..simulation.joint_forces import passive_forces
from ..simulation.methods import METHODS, SOLVERS, refuse_unfit
from ..simulation.simulate import simulate as simulate_motion
from ..simulation.trajectory import Trajectory
from .batches import Batches, start_of, wants_true_robot
from .functions import Function, kept_of, storable
from .keeping import DEFAULT, Keeping
from .on_card import OnCard
from .scenario_base import Around, Ended, Outcome, Prepared, Scenario, one_after_another
from .targets import Targets
from .ways import BATCHES, ON_CARD

# --- motions ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Simulate(Scenario):
    """A motion from q0, v0 under ``controller(robot, t, q, v, parameters)``, as :func:`linkwise.simulate` makes it."""

    duration: float = 1.0
    step: float = 1e-3
    method: str = "runge_kutta_4"
    q0: Any = None
    v0: Any = None
    controller: Callable[..., Any] | None = None
    hold: bool = False
    every: int = 1
    damping: Any = None
    friction: Any = False
    limits: Any = False
    payload_at: str | None = None
    closing: str | None = None
    implicit: bool | None = None

    kind = "simulate"

    def __post_init__(self) -> None:
        one_of(self.method, [*METHODS, *SOLVERS], "method")
        object.__setattr__(self, "step", arguments.positive(self.step, "step"))
        for name in ("damping", "friction", "limits"):
            if getattr(self, name) is not None:
                flag(getattr(self, name), name)
        flag(self.hold, "hold")
        if self.implicit is not None:
            flag(self.implicit, "implicit")
        arguments.whole(self.every, "every")
        if self.controller is not None and not callable(self.controller):
            raise InputError("a controller of a study is a function of (robot, t, q, v, parameters), got"
                             f" {shown(self.controller)}")  # fmt: skip
        _ = self.steps

    @cached_property
    def steps(self) -> int:
        return arguments.step_count(self.duration, None, self.step, self.every, None)

    def prepared(self, robot: Robot, shapes: Mapping[str, tuple[int, ...]], keep: list[Any] | None) -> Prepared:
        refuse_unfit(robot, self.method, "joint", self.implicit)
        keeping = Keeping(DEFAULT if keep is None else keep)
        keeping.check(robot)
        targets = Targets(robot, shapes, self.payload_at, self.controller is not None)
        self._states(robot)
        return _Motion(self, targets, keeping)

    def to_plain(self) -> dict[str, Any]:
        found: dict[str, Any] = {"kind": self.kind}
        for f in fields(self):
            value = getattr(self, f.name)
            if callable(value):
                value = Function(value).to_plain()["function"]
            if value is not None:
                found[f.name] = np.asarray(value).tolist() if isinstance(value, np.ndarray) else value
        return found

    # --- what several ways of running it ask -----------------------------------------------------------

    def _states(self, robot: Robot) -> tuple[np.ndarray, np.ndarray]:
        q = robot.neutral() if self.q0 is None else numbers(self.q0, "q0 of the scenario")
        v = np.zeros(robot.nv) if self.v0 is None else numbers(self.v0, "v0 of the scenario")
        if q.shape != (robot.nq,) or v.shape != (robot.nv,):
            raise InputError(f"q0 and v0 of the scenario must have {robot.nq} and {robot.nv} numbers, got shapes"
                             f" {q.shape} and {v.shape}")  # fmt: skip
        return q, v

    def start(
        self, targets: Targets, values: Mapping[str, np.ndarray], robot: Robot, count: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """States at the start, (runs, nq) and (runs, nv)."""
        return start_of(robot, targets, values, *self._states(targets.robot), count)

    def chosen_closing(self, robot: Robot) -> loops.Closing:
        return loops.chosen(robot, self.closing, None, self.method, "joint", self.step, self.method in SOLVERS)

    def forces(self, robot: Robot, t: Any, q: Any, v: Any, drawn: Mapping[str, Any]) -> Any:
        """What the controller gives, (..., nv)."""
        assert self.controller is not None
        tau = self.controller(robot, t, q, v, dict(drawn))
        if np.shape(tau) not in (np.shape(v), ()):
            raise InputError(f"the controller must give joint forces of shape {np.shape(v)}, got {np.shape(tau)}")
        return tau + 0.0 * v

    def own_passive(self, targets: Targets) -> dict[str, np.ndarray]:
        """Damping and friction of joints whose numbers are not drawn, where those of others are."""
        own = passive_forces(targets.robot, self.damping, self.friction, False)
        none = np.zeros(targets.robot.nv)
        return {k: none if getattr(own, k) is None else getattr(own, k) for k in ("damping", "friction")}


class ClosedLoop(Simulate):
    """A motion under a controller, whose gains may be drawn."""

    kind = "closed_loop"

    def __post_init__(self) -> None:
        if self.controller is None:
            raise InputError("a closed loop needs a controller: a function of (robot, t, q, v, parameters)")
        super().__post_init__()


@dataclass(frozen=True, eq=False)
class _Motion(Prepared):
    scenario: Simulate
    targets: Targets
    keeping: Keeping
    cards: dict[str, OnCard] = field(default_factory=dict)

    @cached_property
    def batches(self) -> Batches:
        return Batches(self.scenario, self.targets)

    @cached_property
    def in_processes(self) -> str | None:  # type: ignore[override]
        if self.scenario.method in SOLVERS:
            return f"{self.scenario.method} chooses its own steps"
        if self.targets.edits:
            return f"{self.targets.edits[0]} makes another robot of each run"
        if self.scenario.controller is not None and self.first_runs is not None:
            words = [name for name, x in self.first_runs()[0][0].items() if isinstance(x, str)]
            if words:
                return f"parameter {words[0]!r} is a word, by which the controller chooses"
        try:
            return self.batches.too_long
        except UntraceableError as e:
            return f"the controller cannot be compiled: {e}"

    @property
    def every(self) -> int:
        return self.scenario.every if self.keeping.needs_samples else self.scenario.steps

    @property
    def numbers_per_run(self) -> int | None:
        rows = self.scenario.steps // self.every + 1
        return rows * (self.targets.robot.nq + 3 * self.targets.robot.nv + 8)

    @property
    def operations_per_run(self) -> float | None:
        return self.batches.alike.operations * self.scenario.steps

    @property
    def at_once(self) -> bool:
        return self.in_processes is None and not self.keeping.functions

    def batch(
        self, values: Mapping[str, np.ndarray], device: str | None = None, count: int | None = None
    ) -> tuple[Outcome, np.ndarray]:
        motion, sound = self._moved(values, len(next(iter(values.values()))) if count is None else count, device)
        return self.keeping.known(motion), sound

    def _moved(
        self, values: Mapping[str, np.ndarray], count: int, device: str | None = None
    ) -> tuple[Trajectory, np.ndarray]:
        """The motions of many runs, and which of them are sound."""
        steps = None if device is None else self.cards.setdefault(device, OnCard(self.batches.alike, device))
        motion = self.batches.run(values, count, self.every, self.keeping.needs_forces, steps)
        return motion, np.isfinite(motion.q[:, -1]).all(axis=-1) & np.isfinite(motion.v[:, -1]).all(axis=-1)

    def each(
        self,
        runs: Iterable[tuple[int, Mapping[str, Any]]],
        generator: Callable[[int], np.random.Generator],
        around: Around,
        device: str | None = None,
    ) -> Iterator[Ended]:
        """All motions as one batch, where they can be; functions of what is kept are called for one after another."""
        if self.in_processes is not None:
            return super().each(runs, generator, around)
        runs = list(runs)
        if not runs:
            return iter(())
        whole = {name: np.stack([np.asarray(values[name]) for _, values in runs]) for name in self.targets.names}
        kept = self._kept(*self._moved(whole, len(runs), device))
        calls = ((run, partial(kept, i)) for i, (run, _) in enumerate(runs))
        return one_after_another(calls, around, (BATCHES if device is None else ON_CARD,))

    def _kept(self, motion: Trajectory, sound: np.ndarray) -> Callable[[int], Outcome]:
        """What is kept of each of the motions of a batch."""
        known = self.keeping.known(motion)

        def of(i: int) -> Outcome:
            if not sound[i]:
                raise SimulationError(LOST)
            own = self.keeping.called(motion.state(i)) if self.keeping.functions else {}
            found = {name: x[i] for name, x in known.items()} | {name: storable(name, x) for name, x in own.items()}
            return {name: found[name] for name in self.keeping.names}

        return of

    def trajectory(self, values: Mapping[str, Any], generator: np.random.Generator) -> Trajectory:
        if self.in_processes is None:
            return self.batches.run(_alone(values), 1, self.scenario.every, True).state(0)
        return self._called(values)

    def one(self, values: Mapping[str, Any], generator: np.random.Generator) -> Outcome:
        if self.in_processes is None:
            return self._kept(*self._moved(_alone(values), 1))(0)
        return kept_of(self._called(values), list(self.keeping.items))

    def _called(self, values: Mapping[str, Any]) -> Trajectory:
        """The motion by :func:`linkwise.simulate`, of a robot made for this run."""
        s, targets = self.scenario, self.targets
        changed = bool(targets.of("payload", "mass", "com", "inertial", *_EDITS))
        robot = targets.edited(values) if changed else targets.robot
        whole = _alone(values)
        q, v = s.start(targets, whole, robot, 1)
        options: dict[str, Any] = {"damping": s.damping, "friction": s.friction, "limits": s.limits}
        own = s.own_passive(targets)
        for kind in ("damping", "friction"):
            if targets.of(kind):
                options[kind] = targets.at_joints(kind, whole, own[kind], 1)[0]
        if targets.of("lower", "upper"):
            limits = ("lower", targets.robot.lower_limits), ("upper", targets.robot.upper_limits)
            options["limits"] = tuple(targets.at_joints(kind, whole, x, 1)[0] for kind, x in limits)
        if targets.of("force"):
            options["external"] = targets.forces({k: np.asarray(x) for k, x in values.items()})
        law: Any = None
        if s.controller is not None or targets.of("tau"):
            tau = targets.at_joints("tau", whole, np.zeros(robot.nv), 1)[0]

            known = robot if wants_true_robot(s.controller) else targets.robot

            def law(t: Any, q: Any, v: Any) -> Any:
                given = 0.0 * v if s.controller is None else s.forces(known, t, q, v, values)
                return given + tau

        more: dict[str, Any] = {} if s.method in SOLVERS or s.closing is None else {"closing": s.closing}
        if s.method not in SOLVERS:
            more["implicit"] = s.implicit
        target = "numpy" if changed else None
        return simulate_motion(
            robot, q[0], v[0], law, duration=s.duration, step=s.step, method=s.method, hold=s.hold,
            every=s.every, callback=True, progress=False, target=target, **options, **more,
        )  # fmt: skip


def _alone(values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The parameters of one run as those of many."""
    return {name: np.asarray(x)[None] for name, x in values.items()}


_EDITS = ("gravity", "loop")
LOST = (
    "the motion is lost: a step too long, a force too large, a body without inertia or with an impossible one, damping"
    " or friction below zero, or limits that cross"
)


# --- poles --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Poles(Scenario):
    """The poles of the motion linearised about q0, v0 (default: at rest) where joint forces balance."""

    q0: Any = None
    v0: Any = None
    payload_at: str | None = None

    kind = "poles"

    def prepared(self, robot: Robot, shapes: Mapping[str, tuple[int, ...]], keep: list[Any] | None) -> Prepared:
        targets = Targets(robot, shapes, self.payload_at)
        unfit = [x for x in targets.names if targets.kind(x) not in ("q0", "v0", *_INERTIAL, *_EDITS)]
        if unfit:
            raise InputError(f"poles follow from the robot's inertias and its state; {unfit[0]!r} does not change them")
        known = ("poles_real", "poles_imaginary", "slowest", "quickest")
        return _AtState(self, targets, _wanted(keep, known, self.kind))

    def to_plain(self) -> dict[str, Any]:
        return _plain_fields(self)


@dataclass(frozen=True, eq=False)
class _AtState(Prepared):
    scenario: Poles
    targets: Targets
    keep: list[str]

    in_processes = "poles are found one robot at a time"

    def one(self, values: Mapping[str, Any], generator: np.random.Generator) -> Outcome:
        robot = self.targets.edited(values)
        base = Simulate(q0=self.scenario.q0, v0=self.scenario.v0)
        q, v = base.start(self.targets, _alone(values), robot, 1)
        tau = robot.inverse_dynamics(q[0], v[0], np.zeros(robot.nv), target="numpy")
        poles = np.linalg.eigvals(robot.linearize_forward(q[0], v[0], tau, target="numpy").state_space().A)
        poles = poles[np.lexsort((poles.imag, poles.real))]
        found = {
            "poles_real": poles.real.copy(),
            "poles_imaginary": poles.imag.copy(),
            "slowest": poles.real.max(),
            "quickest": np.abs(poles).max(),
        }
        return {name: found[name] for name in self.keep}

    def trajectory(self, values: Mapping[str, Any], generator: np.random.Generator) -> Trajectory:
        raise InputError("poles are no motion; study.result(k) gives them again")


_INERTIAL = ("payload", "mass", "com", "inertial")


# --- identification ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Identify(Scenario):
    """How well a measured motion tells a robot's inertias: joint forces with ``noise`` [N m, N] along q, v, a.

    Parameters change the robot that is measured; what is identified starts from the robot of the study.
    """

    q: Any
    v: Any
    a: Any
    noise: float = 0.0
    bodies: Any = None
    payload_at: str | None = None

    kind = "identify"

    def __post_init__(self) -> None:
        number(self.noise, "noise", least=0.0)

    def prepared(self, robot: Robot, shapes: Mapping[str, tuple[int, ...]], keep: list[Any] | None) -> Prepared:
        targets = Targets(robot, {k: s for k, s in shapes.items() if k != "noise"}, self.payload_at)
        unfit = [x for x in targets.names if targets.kind(x) not in (*_INERTIAL, "gravity")]
        if unfit:
            raise InputError(f"parameters of an identification are inertias and noise; {unfit[0]!r} is neither")
        known = ("rms_error", "largest_error", "deviation", "residual")
        return _Measured(self, targets, _wanted(keep, known, self.kind))

    def to_plain(self) -> dict[str, Any]:
        return _plain_fields(self)


@dataclass(frozen=True, eq=False)
class _Measured(Prepared):
    scenario: Identify
    targets: Targets
    keep: list[str]

    in_processes = "identifications are made one at a time"

    def one(self, values: Mapping[str, Any], generator: np.random.Generator) -> Outcome:
        from ..identification.identify import identify

        s, true = self.scenario, self.targets.edited({k: x for k, x in values.items() if k != "noise"})
        noise = float(values.get("noise", s.noise))
        q, v, a = (np.asarray(x, dtype=float) for x in (s.q, s.v, s.a))
        tau = true.inverse_dynamics(q, v, a, target="numpy") + noise * generator.normal(size=v.shape)
        found = identify(self.targets.robot, q, v, a, tau, bodies=s.bodies)
        again = found.predict(q, v, a)
        wanted = true.inverse_dynamics(q, v, a, target="numpy")
        error = np.sqrt(((again - wanted) ** 2).mean(axis=tuple(range(wanted.ndim - 1))))
        known = {
            "rms_error": error,
            "largest_error": np.abs(again - wanted).max(),
            "deviation": max(c.error for c in found.combinations),
            "residual": np.sqrt(((again - tau) ** 2).mean()),
        }
        return {name: known[name] for name in self.keep}

    def trajectory(self, values: Mapping[str, Any], generator: np.random.Generator) -> Trajectory:
        raise InputError("an identification is no motion; study.result(k) gives it again")


def _plain_fields(scenario: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": scenario.kind}
    for f in fields(scenario):
        value = getattr(scenario, f.name)
        if value is not None:
            found[f.name] = value if isinstance(value, (str, int, float)) else np.asarray(value).tolist()
    return found


# --- by name --------------------------------------------------------------------------------------------


def _wanted(keep: list[Any] | None, known: tuple[str, ...], kind: str) -> list[str]:
    """What is kept of a scenario's results: those named, or all."""
    for name in keep or ():
        one_of(name, known, f"result of {kind}")
    return list(known) if keep is None else keep


BUILT_IN: dict[str, Any] = {x.kind: x for x in (Simulate, ClosedLoop, Poles, Identify)}


def as_scenario(x: Any) -> Scenario:
    """A scenario as it was given: one of ours, its name, its options with ``kind``, or a function."""
    if isinstance(x, Scenario):
        return x
    if isinstance(x, str):
        one_of(x, BUILT_IN, "scenario")
        return made(x, {})
    if isinstance(x, Mapping):
        given = dict(x)
        return made(one_of(given.pop("kind", None), BUILT_IN, "scenario"), given)
    if callable(x):
        return Function(x)
    raise InputError(
        "a scenario is a function of (robot, parameters), or one of lw.scenarios (simulate, closed_loop, poles,"
        f" identify), got {shown(x)}"
    )


def made(kind: str, options: Mapping[str, Any]) -> Scenario:
    """A built-in scenario with these options."""
    for name in options:
        one_of(name, option_names(kind), f"option of {kind}", error=InputError)
    try:
        found: Scenario = BUILT_IN[kind](**options)
    except TypeError as e:
        raise InputError(f"{kind}: {e}") from None
    return found


def option_names(kind: str) -> list[str]:
    """What options a built-in scenario has."""
    return [f.name for f in fields(BUILT_IN[kind])]


simulate, closed_loop, poles, identify = Simulate, ClosedLoop, Poles, Identify
