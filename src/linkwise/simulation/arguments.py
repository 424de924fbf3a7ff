"""What a simulation is asked for, checked: states, how long, tables, numbers of the robot."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import inputs
from ..arguments import one_of
from ..codegen.program.parameters import parameter_sizes
from ..errors import InputError
from ..robot.dispatch import TARGETS
from ..robot.robot import Robot
from .adaptive import unit
from .trajectory import labels

MOST_STEPS = 2**53  # whose numbers a float can tell apart
_MEMORY = 2**36  # [bytes], where the system does not say how much it has


def start_state(robot: Robot, q0: Any, v0: Any) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Flat states (states, nq), (states, nv), quaternions of unit length, and the batch they came in."""
    if callable(v0):
        raise InputError("v0 must be numbers, got a function; a controller comes after it: controller=…")
    q = inputs.configuration(robot, q0)
    v = np.zeros(robot.nv, q.dtype) if v0 is None else inputs.vector(v0, robot.nv, "v0", robot)
    batch, (q, v) = inputs.together(robot, q0=q, v0=v)
    for name, x, names in (("q0", q, 0), ("v0", v, 1)):
        if x.dtype.kind != "f":
            raise InputError(f"{name} must hold real numbers, got dtype {x.dtype}")
        if not np.isfinite(x).all():
            bad = int(np.argmax(~np.isfinite(x).reshape(-1, x.shape[-1]).all(axis=0)))
            raise InputError(f"{name} is not finite at joint {labels(robot)[names][bad]!r}")
    count = math.prod(batch)
    q = np.broadcast_to(unit(robot, q), (*batch, robot.nq)).reshape(count, robot.nq)
    return np.array(q), np.array(np.broadcast_to(v, (*batch, robot.nv)).reshape(count, robot.nv)), batch


def one_start_for_all(
    robot: Robot, q: np.ndarray, v: np.ndarray, batch: tuple[int, ...], parameters: Any
) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """The same where the states are many, or one start for each of many sets of the robot's parameters."""
    if batch or not isinstance(parameters, Mapping):
        return q, v, batch
    leads = []
    for name, n in parameter_sizes(robot, tuple(parameters)).items():
        shape = np.shape(parameters[name])
        is_table = len(shape) > 1 and shape[-2:] == (len(robot.bodies), n // len(robot.bodies))
        leads.append(shape[:-2] if is_table else shape[:-1])
    try:
        batch = np.broadcast_shapes(*leads)
    except ValueError:
        said = ", ".join(f"{name} {np.shape(x)}" for name, x in parameters.items())
        raise InputError(f"these parameters are of different batches: {said}") from None
    count = math.prod(batch)
    return np.repeat(q, count, axis=0), np.repeat(v, count, axis=0), batch


def positive(x: Any, what: str) -> float:
    """A positive finite number."""
    try:
        value = float(x)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what} must be a number, got {x!r}") from None
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{what} must be positive and finite, got {x!r}")
    return value


def whole(x: Any, what: str) -> int:
    """A whole number of at least 1."""
    if isinstance(x, bool) or not isinstance(x, (int, np.integer)) or x < 1:
        raise InputError(f"{what} must be a whole number of at least 1, got {x!r}")
    return int(x)


def thread_count(threads: Any) -> int | None:
    return None if threads is None else whole(threads, "threads")


def chosen_target(target: Any) -> str:
    if target is None:
        return "cpu"
    return one_of(target, TARGETS, "target of a simulation", error=InputError)


def step_count(duration: Any, steps: Any, step: float, every: Any, rows: int | None) -> int:
    """How many steps: from a duration, from ``steps``, or from the ``rows`` of a table; where several say, as one."""
    every = whole(every, "every")
    said = {}
    if duration is not None:
        said["duration"] = _steps_of(positive(duration, "duration"), step)
    if steps is not None:
        said["steps"] = whole(steps, "steps")
    if not said:
        if rows is None:
            raise InputError("how long? Give duration= [s] or steps=, or joint forces tau with one row per step")
        if rows < 1:
            raise InputError("tau has no rows, and so there is no step: it must have shape (..., steps, nv)")
        said["tau"] = rows
    if len({*said.values()}) > 1:
        raise InputError(f"duration={duration!r} is {said['duration']} steps of {step:g} s, and steps={steps!r}")
    count = next(iter(said.values()))
    if count > MOST_STEPS:
        raise InputError(f"{count:.3g} steps are more than can be counted; take a longer step or a shorter duration")
    if count % every:
        raise InputError(f"{count} steps cannot be kept every {every}; choose a divisor, or another duration")
    return count


def _steps_of(length: float, step: float) -> int:
    found = length / step
    if not found <= MOST_STEPS:
        raise InputError(f"a duration of {length:g} s is {found:.3g} steps of {step:g} s, more than can be counted")
    steps = round(found)
    if steps < 1 or abs(steps * step - length) > 1e-9 * length:
        raise InputError(
            f"a duration of {length:g} s is {found:g} steps of {step:g} s; it must be a whole number of them,"
            f" such as duration={max(steps, 1) * step:g}"
        )
    return steps


def refuse_too_large(states: int, numbers: int, steps: int, every: int, dtype: Any) -> None:
    """Refuse samples that no memory holds before any is asked for; ``numbers`` per state and sample."""
    rows = steps // every + 1
    needed = states * rows * numbers * np.dtype(dtype).itemsize + 8 * every
    if needed > (has := _memory()):
        raise InputError(
            f"{steps:.3g} steps kept every {every} are {rows:.3g} samples of {states} states: {needed / 2**30:.3g} GiB,"
            f" and this machine has {has / 2**30:.3g}; keep fewer (every=), or take a shorter duration"
        )


def _memory() -> int:
    """The memory of this machine [bytes]."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return _MEMORY


def force_table(robot: Robot, tau: Any, batch: tuple[int, ...], steps: int, dtype: Any) -> np.ndarray:
    """Joint forces as (steps, nv) or (states, steps, nv)."""
    out = table_of_forces(robot, tau)
    if out.shape[-2] != steps:
        raise InputError(f"tau must have one row per step, shape (..., {steps}, {robot.nv}), got {out.shape}")
    if out.ndim == 2:
        return out.astype(dtype, copy=False)
    try:
        wide = np.broadcast_to(out, (*batch, steps, robot.nv))
    except ValueError:
        raise InputError(f"tau {out.shape} does not fit the batch {batch} of the states") from None
    return wide.reshape(-1, steps, robot.nv).astype(dtype, copy=False)


def table_of_forces(robot: Robot, tau: Any) -> np.ndarray:
    """Joint forces (..., steps, nv), one row per step."""
    out = inputs.vector(tau, robot.nv, "tau", robot)
    if out.ndim < 2 or out.dtype.kind not in "fiub":
        raise InputError(f"tau must be real numbers of shape (..., steps, {robot.nv}), got {out.dtype} {out.shape}")
    if not out.shape[-2]:
        raise InputError("tau has no rows, and so there is no step: it must have shape (..., steps, nv)")
    return out


def refuse_unnamed(parameters: Any) -> None:
    """Refuse parameters that have no names."""
    if parameters is not None and not isinstance(parameters, Mapping):
        raise InputError(f'parameters are named arrays, as {{"inertial": (..., bodies, 10)}}, got {parameters!r}')


def robot_parameters(robot: Robot, parameters: Any, batch: tuple[int, ...], dtype: Any) -> dict[str, np.ndarray]:
    """Numbers of the robot as (n,) or (states, n)."""
    refuse_unnamed(parameters)
    found = {}
    for name, n in parameter_sizes(robot, tuple(parameters or ())).items():
        assert parameters is not None
        x = inputs.as_array(parameters[name], name)
        bodies = len(robot.bodies)
        if x.ndim >= 2 and x.shape[-2:] == (bodies, n // bodies):
            x = x.reshape(*x.shape[:-2], n)
        if x.ndim == 0 or x.shape[-1] != n:
            raise InputError(f"{name} must have shape (..., {bodies}, {n // bodies}), got {np.shape(parameters[name])}")
        try:
            x = x if x.ndim == 1 else np.broadcast_to(x, (*batch, n)).reshape(-1, n)
        except ValueError:
            raise InputError(f"{name} {x.shape} does not fit the batch {batch} of the states") from None
        found[name] = _possible(robot, name, x).astype(dtype)
    return found


def _possible(robot: Robot, name: str, x: np.ndarray) -> np.ndarray:
    """Numbers of the robot (..., n), finite, and no mass below zero."""
    if x.dtype.kind != "f" or not np.isfinite(x).all():
        raise InputError(f"{name} must be finite real numbers")
    if name == "inertial":
        masses = x.reshape(-1, len(robot.bodies), 10)[..., 0]
        if (masses < 0).any():
            state, body = np.argwhere(masses < 0)[0]
            raise InputError(
                f"the mass of body {robot.bodies[body].name!r} must not be negative, got {masses[state, body]:g} kg"
                f" in set {state} of the inertial parameters"
            )
    return x
