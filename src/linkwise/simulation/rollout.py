"""``lw.simulate`` and ``lw.rollout``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .. import inputs
from ..arrays import Array
from ..codegen.program.parameters import parameter_sizes
from ..errors import InputError, UnknownNameError
from ..robot.robot import Robot
from . import adaptive
from .checkpoint import checkpoint as checkpoint_of
from .controllers import Law
from .events import Crossing, as_events
from .external_forces import Pushes, pushes
from .integrators import BOOKS, METHODS, admits
from .joint_forces import passive
from .runner import Run
from .steppers import ArrayStepper, CalledStepper, CompiledStepper, Stepper, Task
from .trajectory import Settings, Trajectory

TOLERANCES = (1e-10, 1e-12)  # rtol, atol of adaptive methods


def simulate(
    robot: Robot,
    q0: Any,
    v0: Any = None,
    controller: Any = None,
    duration: float = 1.0,
    step: float = 1e-3,
    method: str = "rk4",
    *,
    every: int = 1,
    tau: Any = None,
    hold: bool = False,
    callback: bool = False,
    external: Any = None,
    damping: Any = False,
    friction: Any = False,
    limits: Any = False,
    friction_speed: float = 1e-3,
    stop_stiffness: Any = None,
    stop_damping: Any = None,
    events: Any = (),
    rtol: float = TOLERANCES[0],
    atol: float = TOLERANCES[1],
    parameters: Mapping[str, Any] | None = None,
    checkpoint: Any = None,
    checkpoint_seconds: float = 60.0,
    check: bool = True,
    progress: bool | None = None,
    threads: int | None = None,
    target: str | None = None,
) -> Trajectory:
    """The motion of a robot from q0 (..., nq), v0 (..., nv; default at rest), as a :class:`Trajectory`.

    ``duration`` and ``step`` are in s; every ``every``-th step is kept. ``method`` is "semi_implicit", "rk4" or
    "variational" (symplectic; fixed steps in machine code), or one of SciPy's adaptive "rk23", "rk45", "dop853",
    "radau", "bdf", "lsoda" with ``rtol`` and ``atol``, for which ``step`` is the distance of the samples.

    ``controller(robot, t, q, v)``, or a law(t, q, v) of linkwise.control, gives joint forces (..., nv). It becomes part
    of the machine code where it runs on symbols, and is otherwise (or with ``callback``) called back with the whole
    batch; both ask it at every stage of a step, or with ``hold`` once at the start of each step. ``tau`` (steps, nv) or
    (..., steps, nv) is instead a table, one row per step.

    ``external`` are forces from outside, [moment; force]: {frame: (..., 6)} at frames, in world axes; (..., bodies, 6),
    one for every body in its own axes; or a function of (robot, t, q, v) that gives either, compiled in as controllers
    are.

    ``damping``, ``friction`` and ``limits`` are True for the robot's own numbers, or numbers of your own (limits: a
    pair lower, upper); friction is smoothed below ``friction_speed``, and stops are springs (``stop_stiffness``) with
    dampers (``stop_damping``) that never pull. ``events`` are functions of (robot, t, q, v) or :class:`Event` objects.
    ``parameters`` ({"inertial": (..., bodies, 10), "offsets": (..., bodies, 3)}) replace numbers of the robot.
    ``checkpoint`` names a file that receives the motion so far every ``checkpoint_seconds``; where it is there already,
    from the same call made before, the motion goes on from it, bit for bit as if it had never stopped.
    ``check`` refuses states that are no longer finite; ``progress`` shows a bar (default: on terminals, for long work).
    ``target="numpy"`` makes the steps on arrays, by the algorithms as they stand.
    """
    forces = passive(robot, damping, friction, limits, friction_speed, stop_stiffness, stop_damping)
    settings = Settings(_method(robot, method), _positive(step, "step"), every, 0, bool(hold), forces)
    if method in adaptive.SOLVERS:
        settings = replace(settings, tolerances=(_positive(rtol, "rtol"), _positive(atol, "atol")))
    q, v, batch = _state(robot, q0, v0)
    acts = controller is not None or tau is not None or external is not None or forces.active
    w = _with_books(v, acts)
    return _simulated(
        robot, q, w, batch, settings, duration, controller, tau, external, events, parameters, callback, check,
        progress, threads, target, (checkpoint, checkpoint_seconds),
    )  # fmt: skip


def rollout(
    robot: Robot,
    q0: Any,
    v0: Any = None,
    tau: Any = None,
    steps: int | None = None,
    step: float = 1e-3,
    method: str = "rk4",
    **options: Any,
) -> Trajectory:
    """Many motions at once: :func:`simulate` by the number of steps, with joint forces from a table.

    q0 (..., nq), v0 (..., nv), ``tau`` (steps, nv) for all states or (..., steps, nv); ``steps`` may be left out where
    tau is given. The whole loop runs in machine code, split over the cores for large batches (``threads=1`` for one).
    ``options`` are those of :func:`simulate`: every, controller, external, parameters, damping, …
    """
    if steps is None:
        if tau is None:
            raise InputError("a rollout needs steps=, or joint forces tau with one row per step")
        shape = np.shape(tau)
        if len(shape) < 2:
            raise InputError(f"tau must have shape (steps, {robot.nv}) or (..., steps, {robot.nv}), got {shape}")
        steps = shape[-2]
    if not isinstance(steps, (int, np.integer)) or steps < 1:
        raise InputError(f"steps must be a whole number of at least 1, got {steps!r}")
    if method in adaptive.SOLVERS:
        raise InputError(f"rollouts have fixed steps ({', '.join(METHODS)}); {method!r} is for lw.simulate")
    options.setdefault("duration", int(steps) * _positive(step, "step"))
    return simulate(robot, q0, v0, tau=tau, step=step, method=method, **options)


def resume(before: Trajectory, duration: float, controller: Any, tau: Any, **options: Any) -> Trajectory:
    """A trajectory and its continuation as one."""
    robot, settings = before._robot("motions that go on"), before.settings
    known = {"external", "events", "callback", "check", "progress", "threads", "target"}
    if unknown := sorted(options.keys() - known):
        raise InputError(f"resume goes on as before; it takes {', '.join(sorted(known))}, not {', '.join(unknown)}")
    last = settings.first + (len(before) - 1) * settings.every
    if not math.isclose(before.time[-1], last * settings.step, rel_tol=1e-12, abs_tol=1e-15):
        raise InputError("an event ended this motion between two steps; start a new one from its last state")
    batch = before.batch
    q = before.q[..., -1, :].reshape(-1, robot.nq)
    w = before.v[..., -1, :].reshape(-1, robot.nv)
    external = options.get("external")
    acts = controller is not None or tau is not None or external is not None or settings.passive.active
    w = _with_books(w, acts)
    if acts and before.exchanged is not None:
        w[:, robot.nv :] = before.exchanged[..., -1, :].reshape(-1, len(BOOKS))
    after = _simulated(
        robot, q, w, batch, replace(settings, first=last), duration, controller, tau, external,
        options.get("events", ()), before.parameters or None, options.get("callback", False),
        options.get("check", True), options.get("progress"), options.get("threads"), options.get("target"),
    )  # fmt: skip
    return _joined(before, after)


def _joined(before: Trajectory, after: Trajectory) -> Trajectory:
    """Two parts as one; their common sample is the second's."""

    def along(x: Array, y: Array) -> Array:
        return np.concatenate([x[..., :-1, :], y], axis=-2)

    books = None
    if before.exchanged is not None or after.exchanged is not None:
        zeros = [np.zeros((*t.q.shape[:-1], len(BOOKS)), t.q.dtype) for t in (before, after)]
        parts = [z if t.exchanged is None else t.exchanged for z, t in zip(zeros, (before, after))]
        if after.exchanged is None:  # nothing more was exchanged
            parts[1] = parts[1] + parts[0][..., -1:, :]
        books = along(*parts)
    plain = before.forces is None and after.forces is None
    pushed = None
    if before.external is not None or after.external is not None:
        none = [np.zeros((*t.q.shape[:-1], len(after.robot.bodies), 6), t.q.dtype) for t in (before, after)]  # type: ignore[union-attr]
        both = [z if t.external is None else t.external for z, t in zip(none, (before, after))]
        pushed = np.concatenate([both[0][..., :-1, :, :], both[1]], axis=-3)
    return Trajectory(
        after.robot,
        np.concatenate([before.time[:-1], after.time]),
        along(before.q, after.q),
        along(before.v, after.v),
        before.settings,
        before.events + after.events,
        None if plain else along(before.tau, after.tau),
        books,
        before.parameters,
        pushes=pushed,
    )


# --- what was asked for -------------------------------------------------------------------------------


def _simulated(
    robot: Robot,
    q: Array,
    w: Array,
    batch: tuple[int, ...],
    settings: Settings,
    duration: float,
    controller: Any,
    tau: Any,
    external: Any,
    events: Any,
    parameters: Mapping[str, Any] | None,
    callback: bool,
    check: bool,
    progress: bool | None,
    threads: int | None,
    target: str | None,
    kept: tuple[Any, float] = (None, 0.0),
) -> Trajectory:
    """A motion from flat states, whatever made them."""
    steps = _steps(duration, settings.step, settings.every)
    if controller is not None and tau is not None:
        raise InputError("give either a controller or a table of joint forces tau, not both")
    if controller is not None and not callable(controller):
        raise InputError(f"a controller is a function of (robot, t, q, v), got {controller!r}; tables go to tau=")
    watched = as_events(events)
    if batch and any(e.stop for e in watched):
        raise InputError("events that stop are for one state; a batch has no common end (use stop=False)")
    law = None if controller is None else Law(robot, controller, callback)
    table = None if tau is None else _table(robot, tau, batch, steps, q.dtype)
    own = _parameters(robot, parameters, batch, q.dtype)
    pushed = pushes(robot, external, batch, q.dtype, callback)
    task = Task(
        robot,
        settings.method,
        settings.step,
        settings.passive,
        law,
        settings.hold,
        tau is not None,
        own,
        threads,
        pushed,
    )
    chosen = target or "cpu"
    if chosen not in ("cpu", "numpy"):
        raise InputError(f'target is "cpu" or "numpy" here, got {target!r}')

    if settings.method in adaptive.SOLVERS:
        if tau is not None or settings.hold or own:
            raise InputError(f"{settings.method} chooses its own steps: tau, hold and parameters are for fixed steps")
        if kept[0] is not None:
            raise InputError(f"{settings.method} chooses its own steps: checkpoints are for fixed steps")
        times = task.times(settings.first, steps // settings.every + 1, settings.every)
        assert settings.tolerances is not None
        times, Q, W, found = adaptive.solve(task, q, w, times, settings.tolerances, watched, chosen, progress)
        stepper: Any = None
    else:
        stepper = _stepper(task, batch, chosen)
        run = Run(task, stepper, watched, check, progress)
        if kept[0] is not None:
            run = replace(run, kept=checkpoint_of(*kept, task, settings.every, (q, w), table, watched))
        times, Q, W = run(q, w, settings.first, steps, settings.every, table)
        found = run.found
    forces = _forces(task, stepper, batch, times, Q, W, table, settings)
    return _trajectory(task, settings, batch, times, Q, W, forces, found)


def _stepper(task: Task, batch: tuple[int, ...], target: str) -> Stepper:
    """The quickest way to make these steps."""
    if target == "numpy":
        if task.parameters:
            raise InputError('parameters per state need compiled code: target="cpu"')
        return ArrayStepper(task, batch, "numpy")
    if task.calls_back:
        held = task.law is not None and task.hold and not replace(task, law=None).calls_back
        if held and CalledStepper(task, batch).inner.worthwhile:
            return CalledStepper(task, batch)
        if task.parameters:
            raise InputError("parameters per state need functions that can be compiled, or a controller with hold=True")
        return ArrayStepper(task, batch, "cpu")
    compiled = CompiledStepper(task)
    if compiled.worthwhile:
        return compiled
    if task.parameters:
        raise InputError(f"robot {task.robot.name!r} is too large for parameters per state")
    return ArrayStepper(task, batch, "cpu")


def _forces(
    task: Task,
    stepper: Any,
    batch: tuple[int, ...],
    times: np.ndarray,
    Q: Array,
    W: Array,
    table: Any,
    settings: Settings,
) -> Any:
    """Joint forces at the samples: rows of the table, what the law gave, or the law to be asked later."""
    rows, nv = len(times), task.robot.nv
    if table is not None:
        chosen = table[..., :: settings.every, :][..., :rows, :]
        missing = rows - chosen.shape[-2]
        chosen = np.concatenate([chosen, *[chosen[..., -1:, :]] * missing], axis=-2)  # the last row holds to the end
        return np.broadcast_to(chosen, (len(Q), rows, nv)).reshape(*batch, rows, nv)
    if task.law is None:
        return None
    if task.law.kernel is not None:
        return task.law
    applied = getattr(stepper, "applied", None)
    if applied:
        known = applied[:: settings.every][: rows - 1]
    else:
        known = [task.law.at_flat(float(t), Q[:, i], W[:, i, :nv], batch) for i, t in enumerate(times[:-1])]
    end = task.law.at_flat(float(times[-1]), Q[:, -1], W[:, -1, :nv], batch)
    chosen = np.stack([*known, end], axis=1)
    return chosen.reshape(*batch, rows, nv)


def _trajectory(
    task: Task,
    settings: Settings,
    batch: tuple[int, ...],
    times: np.ndarray,
    Q: Array,
    W: Array,
    forces: Any,
    found: list[tuple[int, Crossing]],
) -> Trajectory:
    nv, rows = task.robot.nv, len(times)
    exchanged = None
    if task.keeps_books:
        exchanged = W[..., nv:].reshape(*batch, rows, len(BOOKS))
        W = np.ascontiguousarray(W[..., :nv])
    where = [tuple(int(i) for i in np.unravel_index(k, batch)) if batch else () for k, _ in found]
    crossings = tuple(replace(c, state=state) for state, (_, c) in zip(where, found))
    own = {k: x.reshape(*batch, x.shape[-1]) if x.ndim == 2 else x for k, x in task.parameters.items()}
    return Trajectory(
        task.robot,
        times,
        Q.reshape(*batch, rows, task.robot.nq),
        W.reshape(*batch, rows, nv),
        settings,
        crossings,
        forces,
        exchanged,
        own,
        pushes=_pushes(task, batch, times, Q, W),
    )


def _pushes(task: Task, batch: tuple[int, ...], times: np.ndarray, Q: Array, W: Array) -> Pushes | Array | None:
    """External forces at the samples, or what gives them when asked."""
    acts = task.pushes
    if acts is None or acts.kernel is not None:
        return acts
    nv = task.robot.nv
    found = [acts.at_flat(float(t), Q[:, i], W[:, i, :nv], batch) for i, t in enumerate(times)]
    return np.stack(found, axis=1).reshape(*batch, len(times), len(task.robot.bodies), 6)


# --- checks ---------------------------------------------------------------------------------------------


def _state(robot: Robot, q0: Any, v0: Any) -> tuple[Array, Array, tuple[int, ...]]:
    """Flat states (states, nq), (states, nv), quaternions of unit length, and the batch they came in."""
    q = inputs.configuration(robot, q0)
    v = np.zeros(robot.nv, q.dtype) if v0 is None else inputs.vector(v0, robot.nv, "v0", robot)
    batch, (q, v) = inputs.together(robot, q0=q, v0=v)
    for name, x, names in (("q0", q, 0), ("v0", v, 1)):
        if x.dtype.kind != "f":
            raise InputError(f"{name} must hold real numbers, got dtype {x.dtype}")
        if not np.isfinite(x).all():
            from .trajectory import labels

            bad = int(np.argmax(~np.isfinite(x).reshape(-1, x.shape[-1]).all(axis=0)))
            raise InputError(f"{name} is not finite at joint {labels(robot)[names][bad]!r}")
    count = math.prod(batch)
    q = np.broadcast_to(adaptive.unit(robot, q), (*batch, robot.nq)).reshape(count, robot.nq)
    return np.array(q), np.array(np.broadcast_to(v, (*batch, robot.nv)).reshape(count, robot.nv)), batch


def _with_books(v: Array, acts: bool) -> Array:
    return np.concatenate([v, np.zeros((len(v), len(BOOKS)), v.dtype)], axis=-1) if acts else v


def _method(robot: Robot, method: str) -> str:
    if method not in METHODS and method not in adaptive.SOLVERS:
        raise UnknownNameError(f"no method is named {method!r}; choose from {', '.join([*METHODS, *adaptive.SOLVERS])}")
    admits(robot, method)
    return method


def _positive(x: Any, what: str) -> float:
    try:
        value = float(x)
    except (TypeError, ValueError):
        raise InputError(f"{what} must be a number, got {x!r}") from None
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{what} must be positive and finite, got {x!r}")
    return value


def _steps(duration: Any, step: float, every: Any) -> int:
    length = _positive(duration, "duration")
    if not isinstance(every, (int, np.integer)) or every < 1:
        raise InputError(f"every must be a whole number of at least 1, got {every!r}")
    steps = round(length / step)
    if steps < 1 or abs(steps * step - length) > 1e-9 * length:
        raise InputError(
            f"a duration of {length:g} s is {length / step:g} steps of {step:g} s; it must be a whole number of them,"
            f" such as duration={max(steps, 1) * step:g}"
        )
    if steps % every:
        raise InputError(f"{steps} steps cannot be kept every {every}; choose a divisor, or another duration")
    return steps


def _table(robot: Robot, tau: Any, batch: tuple[int, ...], steps: int, dtype: Any) -> Array:
    """Joint forces as (steps, nv) or (states, steps, nv)."""
    out = inputs.vector(tau, robot.nv, "tau", robot)
    if out.ndim < 2 or out.shape[-2] != steps:
        raise InputError(f"tau must have one row per step, shape (..., {steps}, {robot.nv}), got {out.shape}")
    if out.ndim == 2:
        return out.astype(dtype, copy=False)
    try:
        wide = np.broadcast_to(out, (*batch, steps, robot.nv))
    except ValueError:
        raise InputError(f"tau {out.shape} does not fit the batch {batch} of the states") from None
    return wide.reshape(-1, steps, robot.nv).astype(dtype, copy=False)


def _parameters(
    robot: Robot, parameters: Mapping[str, Any] | None, batch: tuple[int, ...], dtype: Any
) -> dict[str, np.ndarray]:
    """Numbers of the robot as (n,) or (states, n)."""
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
        found[name] = x.astype(dtype)
    return found
