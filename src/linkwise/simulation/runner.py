"""Fixed steps, chunk by chunk: progress, checks and events between the chunks."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import SimulationError
from ..progress import Progress
from .checkpoint import KeptRun
from .diagnosis import too_long
from .events import Crossing, Event, Watch, located
from .steppers import Stepper, Task
from .trajectory import labels

# A motion is made in chunks, after each of which Ctrl-C, progress and checkpoints have their turn: often enough for a
# person, and rarely enough to cost nothing. The first is guessed (the arm takes some 5 to 50 ms for it, laws that are
# called back a second), and each sets the length of the next by what it took. No number of the motion depends on it.
_CHUNK_SECONDS = 0.1
_FIRST_CHUNK = 20_000  # states × steps


@dataclass(eq=False)
class _Pace:
    """How many ``steps`` to make at once: more while they take no time, fewer where they take long."""

    steps: int

    @contextmanager
    def measured(self, made: int) -> Iterator[None]:
        """The time that so many steps take."""
        began = time.perf_counter()
        yield
        fitting = made * _CHUNK_SECONDS / max(time.perf_counter() - began, 1e-9)
        self.steps = max(1, int(min(4.0 * made, max(0.25 * made, fitting))))


@dataclass(frozen=True, eq=False)
class Run:
    """Fixed steps of flat states q (states, nq), w (states, n)."""

    task: Task
    stepper: Stepper
    watches: Sequence[Watch] = ()
    check: bool = True
    show: bool | None = None
    found: list[tuple[int, Crossing]] = field(default_factory=list)
    kept: KeptRun | None = None

    def __call__(
        self, q: np.ndarray, w: np.ndarray, first: int, steps: int, every: int, tau: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(times, q, w) with rows after every ``every``-th step, the start included; shorter where an event stops."""
        rows = steps // every + 1
        out = [np.empty((len(x), rows, x.shape[-1]), x.dtype) for x in (q, w)]
        out[0][:, 0], out[1][:, 0] = q, w
        pace = _Pace(max(1, _FIRST_CHUNK // max(1, len(q))))
        applied = getattr(self.stepper, "applied", None)
        done = 0 if self.kept is None else self.kept.restore(out, every, self.found, applied)
        with Progress(steps, "steps", self.show, done=done) as bar:
            while done < steps:
                n = min(max(1, pace.steps // every) * every, steps - done)
                part = [x[:, done // every : (done + n) // every + 1] for x in out]
                table = None if tau is None else tau[..., done : done + n, :]
                stopped = self._chunk(part, first + done, n, every, table, pace, bar)
                if stopped is not None:
                    return self._ended(out, first, done, every, *stopped)
                done += n
                if self.kept is not None:
                    keep = self.kept.keep if done == steps else self.kept.keep_at_times
                    keep(out, done, every, self.found, applied)
        return self.task.times(first, rows, every), out[0], out[1]

    def _chunk(
        self,
        part: list[np.ndarray],
        first: int,
        n: int,
        every: int,
        tau: np.ndarray | None,
        pace: _Pace,
        bar: Progress,
    ) -> tuple[int, float, np.ndarray, np.ndarray] | None:
        """Fill the rows after the first of ``part``; where an event stops, (steps made, time, q, w) there."""
        if not self.watches:
            rows = [x[:, 1:] for x in part]
            self._advance_in_pieces(part[0][:, 0], part[1][:, 0], first, n, every, tau, rows, pace, bar)
            self._check(part, first, every, tau)
            return None
        fine = [np.empty((len(x), n + 1, x.shape[-1]), x.dtype) for x in part]
        for x, y in zip(fine, part):
            x[:, 0] = y[:, 0]
        with pace.measured(n):
            self._advance(fine[0][:, 0], fine[1][:, 0], first, n, 1, tau, [x[:, 1:] for x in fine])
        bar.advance(n)
        self._check(fine, first, 1, tau)
        for x, y in zip(fine, part):
            y[:, 1:] = x[:, every::every]
        return self._watch(fine, first, tau)

    def _advance_in_pieces(
        self,
        q: np.ndarray,
        w: np.ndarray,
        first: int,
        n: int,
        every: int,
        tau: np.ndarray | None,
        rows: list[np.ndarray],
        pace: _Pace,
        bar: Progress,
    ) -> None:
        """Steps that fill ``rows``: at once, or, where those of one row take long, some of them at a time."""
        made = 0
        while made < n:
            m = min(max(1, pace.steps), n - made)
            whole = made + m == n
            out = rows if whole else [np.empty((len(x), 1, x.shape[-1]), x.dtype) for x in (q, w)]
            table = None if tau is None else tau[..., made : made + m, :]
            with pace.measured(m):
                self._advance(q, w, first + made, m, every if m == n else m, table, out)
            q, w = (x[:, 0] for x in out)
            made += m
            bar.advance(m)

    def _advance(self, *arguments: Any) -> None:
        with np.errstate(over="ignore", invalid="ignore"):  # the check says it with step and joint
            self.stepper.advance(*arguments)

    # --- events --------------------------------------------------------------------------------------

    def _watch(
        self, fine: list[np.ndarray], first: int, tau: np.ndarray | None
    ) -> tuple[int, float, np.ndarray, np.ndarray] | None:
        """Record what crossed zero; the earliest event that stops ends the chunk."""
        q, v = fine[0], self.task.velocity(*fine)
        times = self.task.times(first, q.shape[1], 1)
        found: list[tuple[float, int, int, Event, np.ndarray, np.ndarray]] = []
        for watch in self.watches:
            values = watch.values(times, q, v)
            for i, k in zip(*np.nonzero(watch.event.crosses(values[:, :-1], values[:, 1:]))):
                when, where, w = self._locate(watch, fine, int(i), int(k), first, tau, values)
                found.append((when, int(i), int(k), watch.event, where, w))
        found.sort(key=lambda x: x[0])
        for when, i, k, event, where, w in found:
            self.found.append((i, Crossing(event.name, when, (), where[0], self.task.velocity(where, w)[0])))
            if event.stop:
                return k, when, where, w
        return None

    def _locate(
        self,
        watch: Watch,
        fine: list[np.ndarray],
        i: int,
        k: int,
        first: int,
        tau: np.ndarray | None,
        values: np.ndarray,
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """(time, q, w) of the zero of an event within step k of state i, by taking parts of that step."""
        task, stepper = self.task, self.stepper
        q, w = (x[i : i + 1, k] for x in fine)
        row = None if tau is None else (tau if tau.ndim == 2 else tau[i : i + 1])[..., k : k + 1, :]
        applied = getattr(stepper, "applied", None)
        if applied:  # of a law that is called once a step: what it gave in this one
            row = applied[len(applied) - (fine[0].shape[1] - 1) + k][i : i + 1, None]
        if task.is_per_state:
            stepper = stepper.of(i)

        def at(part: float) -> tuple[float, tuple[np.ndarray, np.ndarray]]:
            where, there = stepper.fraction(q, w, first + k, part, row)
            value = watch.value(task.time(first + k) + part * task.step, where, task.velocity(where, there))
            return float(value[0]), (where, there)

        width = max(watch.event.tolerance / task.step, 4e-16)
        part, (where, there) = located(at, float(values[i, k]), float(values[i, k + 1]), width)
        return task.time(first + k) + part * task.step, where, there

    def _ended(
        self,
        out: list[np.ndarray],
        first: int,
        done: int,
        every: int,
        k: int,
        when: float,
        q: np.ndarray,
        w: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows before the event, and the state at it."""
        rows = (done + k) // every + 1
        times = self.task.times(first, rows, every)
        if when <= times[-1]:  # the event is where a step began
            rows, times = rows - 1, times[:-1]
        ends = [np.concatenate([x[:, :rows], y[:, None]], axis=1) for x, y in zip(out, (q, w))]
        return np.append(times, when), ends[0], ends[1]

    # --- checks --------------------------------------------------------------------------------------

    def _check(self, part: list[np.ndarray], first: int, every: int, tau: np.ndarray | None) -> None:
        """Refuse a state that is no longer finite; names the step, the joint and the state."""
        if not self.check:
            return
        if all(np.isfinite(x[:, -1]).all() for x in part):  # what is lost stays lost
            task, reached = self.task, part[0][:, 1:]
            task.closing.refuse_opened(task.robot, reached, lambda row: first + (row + 1) * every, task.parameters)
            return
        bad = ~(np.isfinite(part[0]).all(axis=-1) & np.isfinite(part[1]).all(axis=-1))
        row = int(np.argmax(bad.any(axis=0)))
        state = int(np.argmax(bad[:, row]))
        number, lost, before = self._first_bad(part, first, row, every, tau, state)
        lost_at = f"step {number} (t = {self.task.time(number):g} s): "
        which = f" of state {state} in the batch" if len(part[0]) > 1 else ""
        fast = too_long(self.task.of(state), part[0][state, 0], part[1][state, 0], self.task.time(first), which)
        raise SimulationError(lost_at + (fast or self._lost(state, len(part[0]), lost, before)))

    def _first_bad(
        self, part: list[np.ndarray], first: int, row: int, every: int, tau: np.ndarray | None, state: int
    ) -> tuple[int, np.ndarray, np.ndarray]:
        """(the very step, w after it, w before it), found by going again over those between two rows."""
        at = first + row * every
        if every > 1 and row and not getattr(self.stepper, "applied", None):
            fine = [np.empty((len(x), every, x.shape[-1]), x.dtype) for x in part]
            table = None if tau is None else tau[..., (row - 1) * every : row * every, :]
            self._advance(part[0][:, row - 1], part[1][:, row - 1], at - every, every, 1, table, fine)
            lost = [~np.isfinite(x[state]).all(axis=-1) for x in fine]
            k = int(np.argmax(lost[0] | lost[1]))
            return at - every + k + 1, fine[1][state, k], (fine if k else part)[1][state, k - 1 if k else row - 1]
        return at, part[1][state, row], part[1][state, max(row - 1, 0)]

    def _lost(self, state: int, states: int, w: np.ndarray, before: np.ndarray) -> str:
        """Of the joints that are lost, usually all at once, the one that was fastest before is named.

        Where speeds are finite still and their energy is not, it is the fastest of all.
        """
        nv = self.task.robot.nv
        lost = ~np.isfinite(w[:nv])
        speeds = np.where(lost, np.abs(before[:nv]), -1.0) if lost.any() else np.abs(w[:nv])
        joint = labels(self.task.robot)[1][int(np.argmax(speeds))]
        which = f" of state {state} in the batch" if states > 1 else ""
        return (
            f"joint {joint!r}{which} is no longer finite; take a"
            f" smaller step, look at the forces on it,{self.task.closing.advice} or keep such states with check=False"
        )
