"""Motions on graphics cards: all steps of all states in one kernel, on arrays of CuPy or tensors of PyTorch.

Methods with fixed steps, controllers, external forces and costs that run on symbols, tables of joint forces, noise and
parameters are part of the kernel; samples stay in the card's memory. Refused by name are what needs somebody to look
on: adaptive methods, events, checkpoints, progress and functions that are called back. With ``check`` the call waits
for the end of the motion, to refuse states that are no longer finite; without it nothing is waited for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from .. import array_kinds
from ..codegen.cuda.turns import DeviceTurns, Span
from ..codegen.foreign.calls import run_on
from ..codegen.program.parameters import parameter_sizes
from ..codegen.program.trace import trace
from ..codegen.runtime.kernel import Kernel
from ..codegen.thresholds import MOST_NODES
from ..errors import InputError, SimulationError
from ..robot.robot import Robot
from .asked import Asked, task_of
from .cards import Card, as_its_kind, as_numpy
from .closing import refuse_open
from .external_forces import INPUT
from .methods import METHODS, SOLVERS
from .noise import Noise
from .on_arrays import with_unit_quaternions
from .steppers import Task
from .trajectory import Settings, Trajectory, labels
from .turns import TurningStepper
from .user_functions import Controller


def moved_on_device(robot: Robot, given: Mapping[str, Any], settings: Settings, steps: int, asked: Asked) -> Trajectory:
    """The motion from states on a card, whose samples stay there; ``given`` are all its arrays, by name."""
    _refuse(settings, asked)
    array_kinds.common(given)
    of_library = [x for x in given.values() if array_kinds.library(x)]
    single = all(str(x.dtype).endswith("float32") for x in of_library)
    card = Card(of_library[0], "float32" if single else "float64")
    q, v, batch = _start(robot, card, given["q0"], given.get("v0"))
    if robot.loops and asked.check:
        refuse_open(robot, as_numpy(q), as_numpy(v), {})
    task = task_of(robot, batch, settings, np.dtype(card.dtype), _with_places(robot, asked))
    if task.calls_back:
        raise InputError("motions on graphics cards take functions that run on symbols; this one must be called back")
    made = _Motion(robot, card, batch, task, settings, steps)
    return made.trajectory(made.run(q, v, asked), asked)


def _refuse(settings: Settings, asked: Asked) -> None:
    asked.refuse_unfit()
    if settings.method in SOLVERS:
        raise InputError(f'{settings.method} runs on the CPU alone; on a card take method="runge_kutta_4"')
    refused = {
        "events": bool(asked.events),
        "checkpoint": asked.checkpoint is not None,
        "callback": bool(asked.callback),
        "progress": bool(asked.progress),
        "threads": asked.threads is not None,
        "target": asked.target not in (None, "cuda"),
    }
    if named := [name for name, is_asked in refused.items() if is_asked]:
        raise InputError(f"motions on graphics cards take no {', '.join(named)}; bring the states to NumPy for that")


def _with_places(robot: Robot, asked: Asked) -> Asked:
    """The same with zeros in place of arrays that are on the card: the program has inputs for them."""
    sizes = parameter_sizes(robot, tuple(asked.parameters or ()))
    external = asked.external
    if isinstance(external, Mapping):
        external = {frame: np.zeros(6) for frame in external}
    elif external is not None and not callable(external):
        external = np.zeros((len(robot.bodies), 6))
    parameters = {k: np.zeros(n) for k, n in sizes.items()} or None
    return replace(asked, external=external, parameters=parameters, target=None)


def _start(robot: Robot, card: Card, q0: Any, v0: Any) -> tuple[Any, Any, tuple[int, ...]]:
    """Flat states, quaternions of unit length, and the batch they came in."""
    q = card.array(q0)
    v = card.zeros((robot.nv,)) if v0 is None else card.array(v0)
    for name, x, n in (("q0", q, robot.nq), ("v0", v, robot.nv)):
        if x.ndim == 0 or x.shape[-1] != n:
            raise InputError(f"{name} of robot {robot.name!r} must have shape (..., {n}), got {tuple(x.shape)}")
    try:
        batch = np.broadcast_shapes(tuple(q.shape[:-1]), tuple(v.shape[:-1]))
    except ValueError:
        raise InputError(f"q0 {tuple(q.shape)} and v0 {tuple(v.shape)} do not fit together") from None
    flat = [card.spread(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]) for x in (q, v)]
    if robot.nq != robot.nv:
        flat[0] = with_unit_quaternions(robot, card.library or "", flat[0])
    return flat[0], flat[1], batch


def _remembered(robot: Robot, method: str, library: str, arrays: list[Any]) -> Any:
    """What a method remembers beside the rates, of q and these, at the start."""
    remembered, key = METHODS[method].remembered, ("simulate.remembered", method)
    assert remembered is not None
    kernel: Kernel | None = robot._code.get(key)
    if kernel is None:
        kernel = Kernel(trace(robot, lambda robot, q, v: remembered(robot, q, v), "remembered", names=("q", "v")))
        robot._code.keep(key, kernel)
    (found,) = run_on(library, kernel.as_function, arrays)
    return found


@dataclass(frozen=True, eq=False)
class _Motion:
    robot: Robot
    card: Card
    batch: tuple[int, ...]
    task: Task
    settings: Settings
    steps: int

    @property
    def states(self) -> int:
        return math.prod(self.batch)

    @property
    def rows(self) -> int:
        return self.steps // self.settings.every + 1

    def run(self, q: Any, v: Any, asked: Asked) -> list[Any]:
        """Samples q (states, rows, nq) and w (states, rows, n), each number of all states side by side."""
        card, task = self.card, self.task
        constants = self._constants(asked)
        table = None if asked.tau is None else self._table(asked.tau)
        scale = None if asked.noise is None else card.array(asked.noise.deviations(self.robot))
        span = Span(self.steps, self.settings.every, self.settings.first, task.step)
        self._refuse_far(asked.noise)
        noise = None if scale is None else (int(asked.noise.seed), card.lying(scale).address)
        samples = samples_on(card, code_of(task), {"q": q, "w": self._rates(q, v)}, constants, span, table, noise)
        if asked.check:
            self._refuse_lost(samples)
        return samples

    def _refuse_far(self, noise: Noise | None) -> None:
        if noise is not None and self.settings.first + self.steps > 2**32:
            raise InputError("a noise tells 2**32 steps apart; take fewer, or longer ones")

    def _rates(self, q: Any, v: Any) -> Any:
        """w at the start."""
        task, card = self.task, self.card
        rates = task._quiet.from_velocity(q, v)
        remembered = METHODS[task.method].remembered
        parts = [rates]
        if task.exchanges:
            parts.append(card.zeros((len(q), 4)))
        if remembered is not None:
            parts.append(_remembered(self.robot, task.method, card.library or "", [q, rates]))
        if task.cost is not None:
            parts.append(card.zeros((len(q), 1)))
        return card.joined(parts) if len(parts) > 1 else rates

    def _constants(self, asked: Asked) -> dict[str, Any]:
        """Parameters of the robot and external forces, (n,) or (states, n)."""
        card, found = self.card, {}
        sizes = parameter_sizes(self.robot, tuple(asked.parameters or ()))
        for name, n in sizes.items():
            assert asked.parameters is not None
            found[name] = self._flat(card.array(asked.parameters[name]), n, name)
        external = asked.external
        if isinstance(external, Mapping):
            parts = [card.array(x) for x in external.values()]
            wide = np.broadcast_shapes(*(tuple(x.shape[:-1]) for x in parts))
            found[INPUT] = self._flat(card.joined([card.spread(x, (*wide, 6)) for x in parts]), 6 * len(parts), INPUT)
        elif external is not None and not callable(external):
            found[INPUT] = self._flat(card.array(external), 6 * len(self.robot.bodies), INPUT)
        return found

    def _flat(self, x: Any, n: int, name: str) -> Any:
        shape = tuple(x.shape)
        if shape and shape[-1] != n and math.prod(shape[-2:]) == n:
            x = x.reshape(*shape[:-2], n)
        if not tuple(x.shape) or x.shape[-1] != n:
            raise InputError(f"{name} must have {n} numbers for each state, got shape {shape}")
        if x.ndim == 1:
            return x
        return self._spread(x, (*self.batch, n), name, shape).reshape(-1, n)

    def _table(self, tau: Any) -> Any:
        x, nv = self.card.array(tau), self.robot.nv
        shape = tuple(x.shape)
        if len(shape) < 2 or shape[-2:] != (self.steps, nv):
            raise InputError(f"tau must have one row per step, shape (..., {self.steps}, {nv}), got {shape}")
        if len(shape) == 2:
            return x
        return self._spread(x, (*self.batch, self.steps, nv), "tau", shape).reshape(-1, self.steps, nv)

    def _spread(self, x: Any, shape: tuple[int, ...], name: str, given: tuple[int, ...]) -> Any:
        try:
            fits = np.broadcast_shapes(tuple(x.shape), shape) == shape
        except ValueError:
            fits = False
        if not fits:
            raise InputError(f"{name} {given} does not fit the batch {self.batch} of the states")
        return self.card.spread(x, shape)

    def _refuse_lost(self, samples: list[Any]) -> None:
        """Refuse states that are no longer finite at the end; this waits for it."""
        for x in (samples[1], samples[0]):
            lost = self.card.lost(x[:, -1])
            if lost.any():
                state = int(np.argmax(lost))
                end = np.asarray(self.task.robot.nv)
                row = np.array([float(y) for y in x[state, -1]])
                joint = labels(self.robot)[1][min(int(np.argmax(~np.isfinite(row))), int(end) - 1)]
                which = f" of state {state} in the batch" if self.batch else ""
                raise SimulationError(
                    f"joint {joint!r}{which} is no longer finite at the end; take a smaller step, look at the forces on"
                    " it and at its inertia, or keep such states with check=False"
                )

    def trajectory(self, samples: list[Any], asked: Asked) -> Trajectory:
        task, batch, rows = self.task, self.batch, self.rows
        Q, W = samples
        V = task.velocity(Q, W)
        exchanged, spent = task.exchanged(W), task.spent(W)
        functions = {"controller": task.controller, "external force": task.external, "cost": task.cost}
        named = {k: "compiled" for k, x in functions.items() if x is not None and x.asked is not None}
        first, constants = self.settings.first, self._constants(asked)
        return Trajectory(
            self.robot,
            task.times(first, rows, self.settings.every),
            Q.reshape(*batch, rows, self.robot.nq),
            V.reshape(*batch, rows, self.robot.nv),
            replace(self.settings, functions=named),
            forces=self._forces(asked),
            exchanged=None if exchanged is None else exchanged.reshape(*batch, rows, -1),
            parameters={k: self._over_batch(constants[k]) for k in asked.parameters or ()},
            external_forces=None if task.external is None else _Pushes(task.external, constants.get(INPUT)),
            cost=None if spent is None else spent.reshape(*batch, rows),
        )

    def _over_batch(self, x: Any) -> Any:
        """Numbers (n,), or (states, n) in the shape of the batch."""
        return x if x.ndim == 1 else x.reshape(*self.batch, x.shape[-1])

    def _forces(self, asked: Asked) -> Any:
        """Joint forces at the samples, or what gives them when asked."""
        controller = self.task.controller
        given = None
        if asked.tau is not None:
            x = self.card.array(asked.tau)
            chosen = [(x[..., :: self.settings.every, :], self.rows - 1), (x[..., -1:, :], 1)]  # it holds to the end
            spread = [self.card.spread(rows, (*self.batch, n, self.robot.nv)) for rows, n in chosen]
            given = _along_time(self.card, spread)
        if asked.noise is None:
            return controller if given is None else given
        return _Noisy(self.robot, asked.noise, controller, given, self.steps, self.settings.first, self.settings.every)


def _along_time(card: Card, parts: list[Any]) -> Any:
    swapped = [x.swapaxes(-1, -2) for x in parts]
    return card.joined(swapped).swapaxes(-1, -2)


@dataclass(frozen=True, eq=False)
class _Noisy:
    """Joint forces with a noise, worked out when they are asked for."""

    is_whole: ClassVar[bool] = True
    robot: Robot
    noise: Noise
    controller: Controller | None
    given: Any
    steps: int
    first: int
    every: int

    def along(self, time: np.ndarray, q: Any, v: Any, parameters: Mapping[str, Any]) -> Any:
        """(..., samples, nv); the last row, of no step, is that of the last one."""
        states = math.prod(v.shape[:-2])
        random = self.noise.forces(self.robot, states, self.steps, first=self.first)
        random = np.concatenate([random[:, :: self.every], random[:, -1:]], axis=1)
        found = as_its_kind(random.reshape(v.shape), v)
        if self.given is not None:
            found = found + self.given
        return found if self.controller is None else found + self.controller.along(time, q, v, parameters)


@dataclass(frozen=True, eq=False)
class _Pushes:
    """External forces along a motion on a card, worked out when they are asked for."""

    is_whole: ClassVar[bool] = True
    external: Any
    numbers: Any  # constant ones, (n,) or (states, n), or None

    def along(self, time: np.ndarray, q: Any, v: Any) -> Any:
        kernel = self.external.kernel
        own = [] if self.numbers is None else [self._over(self.numbers, q)]
        return kernel(as_its_kind(time[:, None], q), q, v, *own)

    @staticmethod
    def _over(numbers: Any, q: Any) -> Any:
        return numbers if numbers.ndim == 1 else numbers.reshape(*q.shape[:-2], 1, numbers.shape[-1])


def samples_on(
    card: Card,
    code: DeviceTurns,
    carried: Mapping[str, Any],
    constants: Mapping[str, Any],
    span: Span,
    table: Any = None,
    noise: tuple[int, int] | None = None,
) -> list[Any]:
    """Samples (states, rows, n) of what is ``carried`` from the start, each number of all states side by side."""
    states, rows = len(carried["q"]), span.turns // span.every + 1
    out = [card.empty((rows, x.shape[-1], states)) for x in carried.values()]
    samples = [x.permute(2, 0, 1) if card.library == "torch" else x.transpose(2, 0, 1) for x in out]
    code.run(
        states,
        span,
        {k: card.lying(x) for k, x in {**carried, **constants}.items()},
        [card.lying(x, rows=True) for x in samples],
        None if table is None else card.lying(table, rows=True),
        noise,
        card.dtype,
        card.device,
        card.stream,
    )
    return samples


def code_of(task: Task) -> DeviceTurns:
    """The kernel's code; kept with the robot, unless it is not known what a function in it computes."""
    stepper = TurningStepper(task)
    told = task.identity
    key = None if told is None else ("simulate.turns", *told.values(), *stepper.names, *task.parameters)
    found: DeviceTurns | None = None if key is None else task.robot._code.get(key)
    if found is None:
        turns = stepper.programs()
        if turns.length > MOST_NODES:
            raise InputError(
                f"a step of robot {task.robot.name!r} has {turns.length} values, more than a kernel for cards may have"
                f" ({MOST_NODES}); bring the states to NumPy, whose steps are made by calls"
            )
        found = DeviceTurns(turns)
        if key is not None:
            task.robot._code.keep(key, found)
    return found
