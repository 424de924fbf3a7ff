"""From the flat states that a run made to a :class:`Trajectory`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import numpy as np

from .events import Crossing
from .external_forces import ExternalForces
from .steppers import Task
from .system import EXCHANGED
from .trajectory import Settings, Trajectory

_LISTENING: ContextVar[list[Trajectory] | None] = ContextVar("motions", default=None)


@contextmanager
def motions_made() -> Iterator[list[Trajectory]]:
    """The list of motions that are simulated in this context, as they come."""
    found: list[Trajectory] = []
    token = _LISTENING.set(found)
    try:
        yield found
    finally:
        _LISTENING.reset(token)


def recorded(
    task: Task,
    stepper: Any,
    settings: Settings,
    batch: tuple[int, ...],
    times: np.ndarray,
    Q: np.ndarray,
    W: np.ndarray,
    table: np.ndarray | None,
    found: Sequence[tuple[int, Crossing]],
) -> Trajectory:
    """The trajectory of flat states Q (states, samples, nq), W (states, samples, n), in the batch they came in."""
    rows = len(times)
    V = np.ascontiguousarray(task.velocity(Q, W))
    exchanged = task.exchanged(W)
    where = [tuple(int(i) for i in np.unravel_index(k, batch)) if batch else () for k, _ in found]
    made = Trajectory(
        task.robot,
        times,
        Q.reshape(*batch, rows, task.robot.nq),
        V.reshape(*batch, rows, task.robot.nv),
        settings,
        tuple(replace(c, state=state) for state, (_, c) in zip(where, found)),
        _forces(task, stepper, settings, batch, times, Q, V, table),
        None if exchanged is None else exchanged.reshape(*batch, rows, len(EXCHANGED)),
        {k: x.reshape(*batch, x.shape[-1]) if x.ndim == 2 else x for k, x in task.parameters.items()},
        external_forces=_external(task, batch, times, Q, V),
        cost=None if task.cost is None else W[..., -1].reshape(*batch, rows),
    )
    listening = _LISTENING.get()
    if listening is not None:
        listening.append(made)
    return made


def _forces(
    task: Task,
    stepper: Any,
    settings: Settings,
    batch: tuple[int, ...],
    times: np.ndarray,
    Q: np.ndarray,
    V: np.ndarray,
    table: np.ndarray | None,
) -> Any:
    """Joint forces at the samples: rows of the table, what the controller gave, or it, to be asked later."""
    rows, nv = len(times), task.robot.nv
    controller = task.controller
    given: Any = 0.0
    if table is not None:
        chosen = table[..., _steps_at(times, settings, table.shape[-2]), :]
        given = np.broadcast_to(chosen, (len(Q), rows, nv)).reshape(*batch, rows, nv)
    if controller is None:
        return None if table is None else given
    if controller.kernel is not None:
        if table is None:
            return controller
        own = controller.along(times, Q, V, task.parameters)
        return own.reshape(*batch, rows, nv) + given
    applied = getattr(stepper, "applied", None)
    if applied:
        known = applied[:: settings.every][: rows - 1]
    else:
        known = [controller.at_flat(float(t), Q[:, i], V[:, i]) for i, t in enumerate(times[:-1])]
    end = controller.at_flat(float(times[-1]), Q[:, -1], V[:, -1])
    found = np.stack([*known, end], axis=1).reshape(*batch, rows, nv)
    if applied and table is not None:  # which have it in them, but the last row, of no step
        found[..., -1, :] += given[..., -1, :]
        return found
    return found + given


def _steps_at(times: np.ndarray, settings: Settings, steps: int) -> np.ndarray:
    """Which step each sample starts, or lies in where an event ended the motion; the last step holds to the end."""
    passed = times / settings.step - settings.first
    near = np.round(passed)
    found = np.where(np.abs(passed - near) < 1e-6, near, np.floor(passed))
    steps_at: np.ndarray = np.minimum(found.astype(int), steps - 1)
    return steps_at


def _external(
    task: Task, batch: tuple[int, ...], times: np.ndarray, Q: np.ndarray, V: np.ndarray
) -> ExternalForces | np.ndarray | None:
    """External forces at the samples, or what gives them when asked."""
    acts = task.external
    if acts is None or acts.kernel is not None:
        return acts
    found = [acts.at_flat(float(t), Q[:, i], V[:, i]) for i, t in enumerate(times)]
    return np.stack(found, axis=1).reshape(*batch, len(times), len(task.robot.bodies), 6)
