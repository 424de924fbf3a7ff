"""High accuracy with steps of their own choosing, through SciPy's solvers of ordinary differential equations.

The state is y = [q; v; energies exchanged] with the quaternions of q as they are: their flow q̇ = ½ q ω keeps their
length, and nothing in the dynamics depends on it, so what a solver lets it drift (its tolerance) does no harm; samples
are given with unit length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..codegen.program.trace import Program, trace
from ..codegen.runtime.kernel import Kernel
from ..codegen.runtime.requests import request
from ..errors import SimulationError
from ..extras import require
from ..progress import Progress
from ..properties import cached_property
from ..robot.robot import Robot
from .adaptive_batches import EXPLICIT, Batch
from .events import Crossing, Watch
from .methods import SOLVERS
from .steppers import Task, shortest


@dataclass(frozen=True, eq=False)
class Equations:
    """ẏ of y = [q; v; energies], compiled where the user's functions run on symbols."""

    task: Task
    target: str | None

    @cached_property
    def kernel(self) -> Kernel | None:
        task = self.task
        if self.target == "numpy" or task.calls_back:
            return None
        names = ["t", "q", "w", *self._constant]
        identity = task.identity
        if identity is None:
            return Kernel(self._program(names))
        key = ("simulate.equations", *identity.values(), *names)
        found: Kernel | None = task.robot._code.get(key)
        if found is None:
            asked = request(task.robot, "simulate.equations", names, identity)
            found = Kernel.remembered(asked, lambda: self._program(names))
            task.robot._code.keep(key, found)
        return found

    def _program(self, names: Sequence[str]) -> Program:
        dynamics = shortest(self.task.robot)
        with_forces = lambda robot, t, q, w, *numbers: self._derivative(robot, dynamics, t[0], q, w, *numbers)
        sizes = {"t": 1, "w": self.task.width, **self._constant}
        return trace(self.task.robot, with_forces, "equations", sizes, names)

    def of(self, i: int) -> Equations:
        """Those of one state of a batch, in the same machine code."""
        one = Equations(self.task.of(i), self.target)
        one.__dict__["kernel"] = self.kernel  # its external forces are an input
        return one

    @property
    def _constant(self) -> dict[str, int]:
        return {} if self.task.external is None else self.task.external.sizes

    def _derivative(
        self, robot: Robot, dynamics: Robot, t: Any, q: np.ndarray, w: np.ndarray, numbers: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        task = self.task
        force = None if task.controller is None else task.controller.on(robot)
        push: Any = None
        if task.external is not None:
            own = task.external.on(robot)
            push = lambda t, q, v: own.joint_forces(t, q, v, numbers, self.target)
        v, w_dot = task.system(robot, dynamics, force, push, self.target).derivative(t, q, w)
        return robot.configuration_rate(q, v), w_dot

    def at_states(self, t: np.ndarray, y: np.ndarray, which: np.ndarray) -> np.ndarray:
        """ẏ (n, m) of some states of the batch, ``which`` (n,), at times (n,) of their own; compiled."""
        nq, external = self.task.robot.nq, self.task.external
        assert self.kernel is not None
        numbers = []
        if external is not None and external.numbers is not None:
            own = external.numbers
            numbers = [own[which].reshape(len(which), -1) if own.ndim > 1 else own]
        return np.concatenate(self.kernel(t[:, None], y[:, :nq], y[:, nq:], *numbers), axis=-1)

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray:
        nq, external = self.task.robot.nq, self.task.external
        q, w = y[:nq], y[nq:]
        numbers = [] if external is None or external.numbers is None else [external.numbers.reshape(-1)]
        if self.kernel is not None:
            return np.concatenate(self.kernel(np.array([t]), q, w, *numbers))
        return np.concatenate(self._derivative(self.task.robot, self.task.robot, t, q, w, *numbers))


def solve(
    equations: Equations,
    q: np.ndarray,
    w: np.ndarray,
    times: np.ndarray,
    tolerances: tuple[float, float],
    watches: Sequence[Watch],
    show: bool | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[tuple[int, Crossing]]]:
    """(times, q (states, samples, nq), w, crossings with their state) of flat states.

    One after another by SciPy's solvers; those of explicit methods together where nothing is watched and nothing is
    called back (:mod:`.adaptive_batches`).
    """
    task, nq = equations.task, equations.task.robot.nq
    parts, found = [], []
    length = float(times[-1] - times[0])
    with Progress(round(1000 * length) * len(q), "ms of motion", show) as bar:
        if len(q) > 1 and task.method in EXPLICIT and not watches and equations.kernel is not None:
            together = Batch(equations.at_states, task.method, times, tolerances, np.concatenate([q, w], axis=-1))
            y = together.run(bar)
            return times, unit(task.robot, y[..., :nq]), y[..., nq:], []
        for i in range(len(q)):
            own = equations.of(i) if task.is_per_state else equations
            told = _Told(own, bar, times[0], i * round(1000 * length))
            end, y, crossings = _solve_one(own, told, np.concatenate([q[i], w[i]]), times, tolerances, watches)
            parts.append(y)
            found += [(i, c) for c in crossings]
            bar.advance((i + 1) * round(1000 * length) - bar.done)
    y = np.stack(parts)
    return end, unit(task.robot, y[..., :nq]), y[..., nq:], found


@dataclass(frozen=True, eq=False)
class _Told:
    """The equations, telling a bar how far the solver, which asks at times before and behind, has come."""

    equations: Equations
    bar: Progress
    start: float  # [s]
    before: int  # what is done of other states [ms]

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray:
        come = self.before + int(1000 * (t - self.start))
        if come > self.bar.done:
            self.bar.advance(come - self.bar.done)
        return self.equations(t, y)


def _solve_one(
    equations: Equations,
    told: _Told,
    y0: np.ndarray,
    times: np.ndarray,
    tolerances: tuple[float, float],
    watches: Sequence[Watch],
) -> tuple[np.ndarray, np.ndarray, list[Crossing]]:
    task = equations.task
    solve_ivp = require("scipy.integrate", "adaptive", f"method={task.method!r}").solve_ivp
    nq, nv = task.robot.nq, task.robot.nv
    wanted = [_for_scipy(watch, nq, nv) for watch in watches]
    options = {"t_eval": times, "events": wanted or None, "rtol": tolerances[0], "atol": tolerances[1]}
    try:
        done = solve_ivp(told, (times[0], times[-1]), y0, SOLVERS[task.method], **options)
    except ValueError as e:  # SciPy's own, where states on the way are no longer numbers
        raise SimulationError(
            f'{task.method} gave up: {e}. Forces may change too fast for it; try "bdf" or "lsoda", or fixed steps,'
            " which take dampers and springs where they end"
        ) from e
    if done.status < 0 or not np.isfinite(done.y).all():
        at = done.t[-1] if len(done.t) else times[0]
        raise SimulationError(
            f"{task.method} gave up after t = {at:g} s: {done.message} Look at the forces there, or try another method"
        )
    crossings = []
    for watch, t, y in zip(watches, done.t_events or [], done.y_events or []):
        for when, state in zip(t, y):
            q, v = unit(task.robot, state[:nq]), state[nq : nq + nv]
            crossings.append(Crossing(watch.event.name, float(when), (), q, v))
    crossings.sort(key=lambda c: c.time)
    t, y = done.t, done.y.T
    if done.status == 1:  # an event ended it: its state is the last sample
        last = np.argmax([x[-1] if len(x) else -np.inf for x in done.t_events])
        when, state = done.t_events[last][-1], done.y_events[last][-1]
        kept = t < when
        t, y = np.append(t[kept], when), np.concatenate([y[kept], state[None]])
    return t, y, crossings


def _for_scipy(watch: Watch, nq: int, nv: int) -> Any:
    def value(t: float, y: np.ndarray) -> float:
        return float(watch.value(t, y[None, :nq], y[None, nq : nq + nv])[0])

    event: Any = value
    event.terminal, event.direction = watch.event.stop, watch.event.direction
    return event


def unit(robot: Robot, q: np.ndarray) -> np.ndarray:
    """q with quaternions of unit length."""
    if robot.nq == robot.nv:
        return q
    parts = [q[..., a] for _, a, _ in robot.coordinates]
    for k, (joint, _, _) in enumerate(robot.coordinates):
        turn = parts[k][..., -4:]
        if joint.kind.nq != joint.kind.nv:
            length = np.sqrt((turn * turn).sum(axis=-1, keepdims=True))
            parts[k] = np.concatenate([parts[k][..., :-4], turn / length], axis=-1)
    return np.concatenate(parts, axis=-1)
