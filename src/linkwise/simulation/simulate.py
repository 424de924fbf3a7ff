"""``lw.simulate``, the one driver of all motions, and ``lw.rollout``, the same for tables of joint forces."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import array_kinds
from ..arguments import flag
from ..errors import InputError, warn_of_slow_path
from ..robot.robot import Robot
from . import adaptive, arguments
from . import closing as loops
from .asked import Asked, task_of
from .called import ArrayStepper, CalledStepper, Pieces, compiled_stepper
from .cards import on_card, wants_gradients
from .checkpoint import Checkpoint, kept_run
from .events import Watch, as_events
from .joint_forces import passive_forces, with_other_damping
from .makers import Motion, maker
from .methods import METHODS, SOLVERS, refuse_unfit
from .noise import Noise
from .on_arrays import arrays_of, moved
from .on_device import moved_on_device
from .record import recorded
from .runner import Run
from .staged import StageStepper, has_stages
from .steppers import Stepper, Task
from .system import EXCHANGED
from .trajectory import Settings, Trajectory

TOLERANCES = (1e-10, 1e-12)  # relative, absolute, of adaptive methods


def simulate(
    robot: Robot,
    q0: Any,
    v0: Any = None,
    controller: Any = None,
    *,
    duration: float | None = None,
    steps: int | None = None,
    step: float = 1e-3,
    method: str = "runge_kutta_4",
    coordinates: str = "joint",
    tolerances: tuple[float, float] = TOLERANCES,
    every: int = 1,
    tau: Any = None,
    hold: bool = False,
    external: Any = None,
    damping: Any = None,
    friction: Any = False,
    limits: Any = False,
    implicit: bool | None = None,
    closing: str | None = None,
    closing_rate: float | None = None,
    parameters: Mapping[str, Any] | None = None,
    noise: Noise | None = None,
    cost: Any = None,
    events: Any = (),
    check: bool = True,
    callback: bool = False,
    checkpoint: Any = None,
    progress: bool | None = None,
    threads: int | None = None,
    target: str | None = None,
) -> Trajectory:
    """The motion of a robot from q0 (..., nq), v0 (..., nv; default at rest), as a :class:`Trajectory`.

    **Time.** ``duration`` [s], or so many ``steps`` of ``step`` [s] (default 1 s; where a table ``tau`` is given, its
    rows); every ``every``-th step is kept. ``method`` is "semi_implicit_euler", "midpoint", "runge_kutta_4",
    "variational" (symplectic), "rotation_midpoint" or "two_sweep", with fixed steps in machine code; or one of SciPy's
    adaptive "rk23", "rk45", "dop853", "radau", "bdf", "lsoda" with ``tolerances`` (relative, absolute), for which
    ``step`` is the distance of the samples. ``coordinates`` are the rates that are integrated beside q: "joint" (v),
    "total" (ν) or "unnormalized" (ξ; Diagonalized dynamics paper §8).

    **Forces.** ``controller(robot, t, q, v)``, or ``law(t, q, v)`` as those of linkwise.control, gives joint forces
    (..., nv); the names of its parameters say which. It is asked at every stage of a step, or with ``hold`` once at the
    start of each. Where ``parameters`` vary, its ``robot`` is the one that is known, without them; a controller whose
    first parameter is named ``true_robot`` gets the one that moves. ``tau`` (steps, nv) or (..., steps, nv) is instead
    a table, one row per step. ``external`` are forces from outside, [moment; force]: {frame: (..., 6)} at frames (names
    or :class:`Frame`), in world axes; (..., bodies, 6), one for every body in its own axes; or a function like a
    controller that gives either.
    Springs and dampers of the robot's joints act. ``damping``, ``friction`` and ``limits`` are True for the robot's own
    numbers (of damping those beside that are data, :class:`Joint`), or numbers of your own (in place of its dampers,
    one for all joints but not the modes of flexible bodies and the springs of gears, or nv; False: none; limits: a pair
    lower, upper); :class:`Friction` and :class:`Stops` say more. ``parameters`` ({"inertial": (..., bodies, 10),
    "offsets": (..., bodies, 3)}) replace numbers of the robot, each set from the same start where q0 and v0 are one.
    ``noise`` (:class:`Noise`) adds random joint forces.

    **Stiff forces.** "semi_implicit_euler", "midpoint" and "runge_kutta_4" in joint rates take springs, dampers,
    friction and stops, and the terms −d v and −k q of a controller that is not held, where steps end: of the same
    order, and stable for any of them. Steps are then of 1, 3 and 13 parts in place of 1, 2 and 4 stages. Springs,
    dampers and such terms that are slow stay explicit: where it is certain from the robot's bodies that they change no
    motion, in any configuration, at a rate |λ| with ``step`` · |λ| > 1. (With ``parameters`` never, so that a state
    of a batch moves as it does alone.)
    ``implicit=False`` keeps all of them explicit; True none, and refuses methods that know no others.

    **Loops.** ``closing`` says what keeps a robot's loops closed: "projection" after each step (the default), which
    leaves them open by roundings, "embedded", steps in coordinates that the loops leave free (the default where loops
    name the joints that follow), "baumgarte", terms in the accelerations by which errors die away at ``closing_rate``
    [1/s] (default 0.2 by step; adaptive methods know no other), or "none". Loops must be closed at the start.

    **What is watched.** ``events`` are functions like controllers, or :class:`Event` objects; ``check`` refuses states
    that are no longer finite. ``cost``, a function of any of (robot, t, q, v, tau) by these names, gives one number for
    each state; taken where steps start and multiplied with their length it adds up to ``trajectory.cost``.

    **How it runs.** Functions that run on symbols become part of the machine code; one that does not is called back
    from Python with the whole batch, which a warning says and the trajectory records (``callback`` asks for that).
    They get copies of the state. ``checkpoint`` names a file (or is a :class:`Checkpoint`) that receives the motion on
    its way; where it is there already, from the same call made before, the motion goes on from it, bit for bit as if it
    had never stopped. ``progress`` shows a bar (default: on terminals, for long work); batches are split over
    ``threads``; ``target="numpy"`` makes the steps on arrays, by the algorithms as they stand.

    **On graphics cards.** Where q0 is an array of CuPy or a tensor on a card, all steps run there as one kernel, and
    the trajectory holds arrays of the same sort (:mod:`.on_device` says what is refused there).

    **Gradients.** Where q0, v0, ``tau``, ``external`` or ``parameters`` are tensors of PyTorch or arrays of JAX, so are
    q and v of the trajectory, and gradients go back from these to those, through "semi_implicit_euler", "midpoint" and
    "runge_kutta_4" in joint rates; what else cannot be asked for there is refused by name, and ``check`` has no say.
    ``parameters`` are there also the controller's own, which it takes by keyword alone, (..., n) each or one number.
    Of arrays of NumPy and CuPy, which carry no gradients, :func:`simulate_vjp` gives them.
    """
    robot, settings = settings_of(
        robot,
        step,
        method,
        every,
        hold,
        damping,
        friction,
        limits,
        implicit,
        closing,
        closing_rate,
        coordinates,
    )
    asked = Asked(
        controller,
        tau,
        external,
        events,
        parameters,
        callback,
        check,
        checkpoint,
        progress,
        threads,
        target,
        noise,
        cost,
    )
    if method in SOLVERS:
        settings = replace(settings, tolerances=_tolerances(tolerances))
    given = arrays_of(q0, v0, tau, external, parameters)
    is_foreign = array_kinds.among(given.values())
    count = count_of(robot, settings, duration, steps, tau)
    if on_card(given.values()) and not wants_gradients(given.values()):
        return moved_on_device(robot, given, settings, count, asked)
    if is_foreign:
        return moved(robot, given, settings, count, asked)
    q, v, batch = arguments.one_start_for_all(robot, *arguments.start_state(robot, q0, v0), parameters)
    if robot.loops:
        loops.refuse_open(robot, q, v, arguments.robot_parameters(robot, parameters, batch, q.dtype))
    return _moved(robot, q, v, batch, settings, count, asked)


def settings_of(
    robot: Robot,
    step: Any,
    method: str,
    every: Any,
    hold: Any,
    damping: Any,
    friction: Any,
    limits: Any,
    implicit: Any,
    closing: Any,
    closing_rate: Any,
    coordinates: str = "joint",
) -> tuple[Robot, Settings]:
    """The robot with the dampers that were asked for, and how its steps are made."""
    refuse_unfit(robot, method, coordinates, implicit)
    every = arguments.whole(every, "every")
    array_kinds.refuse_all_but_numpy(damping=damping, friction=friction, limits=limits)
    robot = with_other_damping(robot, damping)
    own = passive_forces(robot, damping, friction, limits)
    held, length = flag(hold, "hold"), arguments.positive(step, "step")
    found = Settings(method, length, every, 0, held, own, coordinates=coordinates, implicit=implicit)
    kept = loops.chosen(robot, closing, closing_rate, method, coordinates, found.step, method in SOLVERS)
    return robot, replace(found, closing=kept)


def count_of(robot: Robot, settings: Settings, duration: Any, steps: Any, tau: Any) -> int:
    """How many steps there are: those asked for, or the rows of a table of joint forces, or those of a second."""
    rows = None if tau is None else _rows(robot, tau)
    if duration is None and steps is None and rows is None:
        duration = 1.0
    return arguments.step_count(duration, steps, settings.step, settings.every, rows)


def _rows(robot: Robot, tau: Any) -> int:
    """How many steps a table of joint forces has."""
    if array_kinds.library(tau) is not None and len(tau.shape) > 1:
        return int(tau.shape[-2])
    return int(arguments.table_of_forces(robot, tau).shape[-2])


def rollout(robot: Robot, q0: Any, v0: Any = None, tau: Any = None, **options: Any) -> Trajectory:
    """Many motions at once under joint forces from a table: :func:`simulate`, with ``tau`` as its third argument.

    q0 (..., nq), v0 (..., nv), ``tau`` (steps, nv) for all states or (..., steps, nv), or ``steps`` without it. The
    whole loop runs in machine code, split over the cores for large batches (``threads=1`` for one). ``options`` are
    those of :func:`simulate`.
    """
    if tau is None and options.get("steps") is None and options.get("duration") is None:
        raise InputError("a rollout needs steps=, or joint forces tau with one row per step")
    return simulate(robot, q0, v0, tau=tau, **options)


def resume(before: Trajectory, duration: float, controller: Any, tau: Any, **options: Any) -> Trajectory:
    """A trajectory and its continuation as one."""
    robot, settings = before._robot("motions that go on"), before.settings
    known = {"external", "events", "callback", "check", "progress", "threads", "target", "noise", "cost"}
    if unknown := sorted(options.keys() - known):
        raise InputError(f"resume goes on as before; it takes {', '.join(sorted(known))}, not {', '.join(unknown)}")
    if settings.method in METHODS and METHODS[settings.method].remembered is not None:
        raise InputError(f"{settings.method} remembers more than q and v, so that no trajectory can go on by it")
    if before.cost is not None and options.get("cost") is None:
        raise InputError("this motion has a running cost, which is not kept: give it again, cost=…")
    last = settings.first + (len(before) - 1) * settings.every
    if not math.isclose(before.time[-1], last * settings.step, rel_tol=1e-12, abs_tol=1e-15):
        raise InputError("an event ended this motion between two steps; start a new one from its last state")
    q = before.q[..., -1, :].reshape(-1, robot.nq)
    v = before.v[..., -1, :].reshape(-1, robot.nv)
    exchanged = None if before.exchanged is None else before.exchanged[..., -1, :].reshape(-1, len(EXCHANGED))
    count = arguments.step_count(duration, None, settings.step, settings.every, None)
    asked = Asked(controller, tau, parameters=before.parameters or None, **options)
    after = _moved(robot, q, v, before.batch, replace(settings, first=last), count, asked, exchanged)
    return _joined(before, after)


def _joined(before: Trajectory, after: Trajectory) -> Trajectory:
    """Two parts as one; their common sample is the second's."""
    assert after.robot is not None

    def along(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        axis = len(before.batch)  # that of time
        return np.concatenate([x[(slice(None),) * axis + (slice(-1),)], y], axis=axis)

    exchanged = None
    if before.exchanged is not None or after.exchanged is not None:
        zeros = [np.zeros((*t.q.shape[:-1], len(EXCHANGED)), t.q.dtype) for t in (before, after)]
        parts = [z if t.exchanged is None else t.exchanged for z, t in zip(zeros, (before, after))]
        if after.exchanged is None:  # nothing more was exchanged
            parts[1] = parts[1] + parts[0][..., -1:, :]
        exchanged = along(parts[0], parts[1])
    plain = before.forces is None and after.forces is None
    pushed = None
    if before.external is not None or after.external is not None:
        none = [np.zeros((*t.q.shape[:-1], len(after.robot.bodies), 6), t.q.dtype) for t in (before, after)]
        both = [z if t.external is None else t.external for z, t in zip(none, (before, after))]
        pushed = along(both[0], both[1])
    spent = None
    if after.cost is not None:
        first = np.zeros(before.q.shape[:-1], before.q.dtype) if before.cost is None else before.cost
        spent = along(first, after.cost + first[..., -1:])
    functions = dict(before.settings.functions)
    for what, how in after.settings.functions.items():
        functions[what] = how if functions.get(what, how) == how else f"{functions[what]}, then {how}"
    return Trajectory(
        after.robot,
        np.concatenate([before.time[:-1], after.time]),
        along(before.q, after.q),
        along(before.v, after.v),
        replace(before.settings, functions=functions),
        before.events + after.events,
        None if plain else along(before.tau, after.tau),
        exchanged,
        before.parameters,
        external_forces=pushed,
        cost=spent,
    )


# --- the driver -----------------------------------------------------------------------------------------


def _moved(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    batch: tuple[int, ...],
    settings: Settings,
    steps: int,
    asked: Asked,
    exchanged: np.ndarray | None = None,
) -> Trajectory:
    """A motion from flat states, whatever made them."""
    elsewhere = maker()
    if elsewhere is not None:
        made = elsewhere(Motion(robot, q, v, batch, settings, steps, asked, exchanged))
        if made is not None:
            return made
    target = arguments.chosen_target(asked.target)
    for name, given in (("check", asked.check), ("callback", asked.callback)):
        flag(given, name)
    if asked.progress is not None:
        flag(asked.progress, "progress")
    task = task_of(robot, batch, settings, q.dtype, asked)
    watches = [Watch(e, robot, batch, asked.callback or target == "numpy") for e in as_events(asked.events)]
    if batch and any(watch.event.stop for watch in watches):
        raise InputError("events that stop are for one state; a batch has no common end (use stop=False)")
    noisy = 0 if asked.noise is None else robot.nv * settings.every
    arguments.refuse_too_large(len(q), robot.nq + task.width + noisy, steps, settings.every, q.dtype)
    table = None if asked.tau is None else arguments.force_table(robot, asked.tau, batch, steps, q.dtype)
    if asked.noise is not None:
        random = asked.noise.forces(robot, len(q), steps, first=settings.first, dtype=q.dtype)
        table = random if table is None else table + random
    w = task.start(q, v, exchanged)

    if settings.method in SOLVERS:
        _refuse_for_adaptive(settings, task, asked.checkpoint)
        assert settings.tolerances is not None
        times = task.times(settings.first, steps // settings.every + 1, settings.every)
        equations = adaptive.Equations(task, target)
        stepper: Any = None
        compiled = equations.kernel is not None
        times, Q, W, found = adaptive.solve(equations, q, w, times, settings.tolerances, watches, asked.progress)
    else:
        stepper = chosen_stepper(task, target)
        compiled = not isinstance(stepper, ArrayStepper)
        run = Run(task, stepper, watches, asked.check, asked.progress)
        if asked.checkpoint is not None:
            kept = kept_run(asked.checkpoint, task, settings.every, (q, w), table, watches, target=target)
            run = replace(run, kept=kept)
        times, Q, W = run(q, w, settings.first, steps, settings.every, table)
        found = run.found
    settings = replace(settings, functions=_functions(task, stepper, watches, compiled))
    return recorded(task, stepper, settings, batch, times, Q, W, table, found)


def chosen_stepper(task: Task, target: str) -> Stepper:
    """The quickest way to make these steps."""
    if target == "numpy":
        if task.parameters:
            raise InputError('parameters per state need compiled code: target="cpu"')
        return ArrayStepper(task, "numpy")
    if task.calls_back:
        held = task.controller is not None and task.hold and not replace(task, controller=None).calls_back
        if held and CalledStepper(task).inner.worthwhile:
            return CalledStepper(task)
        if task.parameters and (task.external is not None or task.robot.loops or not Pieces(task).worthwhile):
            raise InputError("parameters per state need functions that can be compiled, or a controller with hold=True")
        return ArrayStepper(task, "cpu")
    compiled = compiled_stepper(task)
    if compiled.worthwhile:
        return compiled
    if has_stages(task) and StageStepper(task).worthwhile:  # each by itself is short enough
        return StageStepper(task)
    if task.parameters:
        raise InputError(f"robot {task.robot.name!r} is too large for parameters per state")
    if task.order and not task.passive.falls_as_it_is and not Pieces(task).worthwhile:
        warn_of_slow_path(
            f"the motion of {task.robot.name!r} is stepped on NumPy: {compiled.too_long}, and friction or stops"
            " that are taken where steps end change its inertias in every state. Quicker is implicit=False"
        )
        return ArrayStepper(task, "numpy")
    warn_of_slow_path(
        f"the motion of {task.robot.name!r} is stepped from Python, by compiled calls: {compiled.too_long}."
        ' Shorter are the steps of method="midpoint" or "semi_implicit_euler", and those of a controller with hold=True'
    )
    return ArrayStepper(task, "cpu")


def _functions(task: Task, stepper: Any, watches: Sequence[Watch], compiled: bool) -> dict[str, str]:
    """How each of the user's functions ran, by its name."""
    ran = {}
    if task.controller is not None:
        ran[task.controller.asked.what] = compiled and not isinstance(stepper, CalledStepper)
    if task.external is not None and task.external.asked is not None:
        ran[task.external.asked.what] = compiled
    if task.cost is not None:
        ran[task.cost.asked.what] = compiled and task.cost.kernel is not None
    ran |= {watch.asked.what: watch.kernel is not None for watch in watches}
    return {what.removeprefix("the "): "compiled" if inside else "called back" for what, inside in ran.items()}


def _tolerances(given: Any) -> tuple[float, float]:
    try:
        relative, absolute = given
    except (TypeError, ValueError):
        raise InputError(f"tolerances are a pair (relative, absolute), got {given!r}") from None
    named = (("relative", relative), ("absolute", absolute))
    r, a = (arguments.positive(x, f"the {name} tolerance") for name, x in named)
    return r, a


def _refuse_for_adaptive(settings: Settings, task: Task, checkpoint: str | Checkpoint | None) -> None:
    if task.table or settings.hold or task.parameters or task.cost is not None:
        raise InputError(
            f"{settings.method} chooses its own steps: tau, hold, parameters, noise and cost are for fixed steps"
        )
    if checkpoint is not None:
        raise InputError(f"{settings.method} chooses its own steps: checkpoints are for fixed steps")
