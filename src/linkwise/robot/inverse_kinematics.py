"""Inverse kinematics: configurations in which frames are where they are wanted, for batches of goals at once.

Each goal is stepped towards from a first guess, and from random ones where that does not lead there; steps are machine
code over all goals that are not reached yet. What is not reached is told with how near it came.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import number, numbers, one_of, shown, whole
from ..codegen.facts import Facts
from ..dynamics.inverse_kinematics import PARTS, Task, limited, step
from ..errors import InputError, UntraceableError, warn_of_slow_path
from .calls import as_frames
from .dispatch import TARGETS, default_target

_STEPS = 40  # from one guess; a Panda's goals take 12 in the mean
_STEPS_TO_REST = 30  # in the null space, once a goal is reached
_DRAWN = 64  # random configurations that are drawn one by one
_TOGETHER = 4096  # goals that are stepped at once: what fits the caches


@dataclass(frozen=True, eq=False)
class Reach:
    """What :meth:`Robot.inverse_kinematics` found: ``q`` (..., nq), whether each goal is ``reached`` (...), and how far
    off the frames are: ``rotation_error`` [rad] and ``position_error`` [m], (...), the largest of all frames.

    Where a goal is not reached, ``q`` is the nearest configuration found, and ``at_limits`` (..., nv) says which
    degrees of freedom are at a limit there. ``attempts`` (...) counts the guesses it took.
    """

    q: np.ndarray
    reached: np.ndarray
    rotation_error: np.ndarray
    position_error: np.ndarray
    at_limits: np.ndarray
    attempts: np.ndarray

    @property
    def error(self) -> np.ndarray:
        """The larger of both errors, (...)."""
        larger: np.ndarray = np.maximum(self.rotation_error, self.position_error)
        return larger

    def __repr__(self) -> str:
        count = int(np.sum(self.reached))
        far = "" if self.reached.all() else f", others within {float(self.error.max()):.2g}"
        return f"<Reach: {count} of {self.reached.size} goals reached{far}>"


def inverse_kinematics(
    robot: Any,
    frame: Any,
    goal: Any,
    q0: Any = None,
    *,
    part: Any = "pose",
    rest: Any = None,
    tolerance: float = 1e-6,
    attempts: int = 30,
    seed: int = 0,
    target: str | None = None,
) -> Reach:
    """See :meth:`.kinematics.Kinematics.inverse_kinematics`."""
    tasks, goals, batch = _asked(robot, frame, goal, part)
    tolerance = number(tolerance, "tolerance", above=0.0)
    attempts = whole(attempts, "attempts", least=1)
    rng = np.random.default_rng(whole(seed, "seed"))
    start = _middle(robot) if q0 is None else _configuration(robot, q0, "q0")
    batch = np.broadcast_shapes(batch, start.shape[:-1])
    count = int(np.prod(batch, dtype=int))
    flat = [np.broadcast_to(g, (*batch, g.shape[-1])).reshape(count, g.shape[-1]) for g in goals]
    starts = np.broadcast_to(start, (*batch, robot.nq)).reshape(count, robot.nq)
    towards = None if rest is None else _configuration(robot, rest, "rest")
    if target is not None:
        one_of(target, TARGETS, "target", error=InputError)
    search = _Search(robot, _steps(robot, tasks, target or default_target()), flat, tolerance, towards, batch)
    for i in range(attempts):
        left = search.left
        if not left.size:
            break
        search.try_from(starts[left] if i == 0 else _random(robot, rng, left.size), left)
    if towards is not None:
        search.go_to_rest()
    return search.found()


# --- arguments -----------------------------------------------------------------------------------------


def _asked(robot: Any, frame: Any, goal: Any, part: Any) -> tuple[list[Task], list[np.ndarray], tuple[int, ...]]:
    """The tasks, their goals as rows of numbers, and the batch that these have."""
    several = isinstance(frame, (list, tuple))
    frames = as_frames(frame)
    parts = list(part) if isinstance(part, (list, tuple)) else [part] * len(frames)
    given = list(goal) if several and isinstance(goal, (list, tuple)) else [goal]
    for name, x in (("goals", given), ("parts", parts)):
        if len(x) != len(frames):
            raise InputError(f"{len(frames)} frames are given and {len(x)} {name}; give one for each, in a list")
    for x in parts:
        one_of(x, tuple(PARTS), "part of a goal", error=InputError)
    tasks = [Task(f, x) for f, x in zip(frames, parts)]
    for task in tasks:
        robot.frame(task.frame)  # one that is not there is named
    rows = [_goal(task, x) for task, x in zip(tasks, given)]
    try:
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in rows))
    except ValueError:
        shapes = ", ".join(str(x.shape[:-1]) for x in rows)
        raise InputError(f"the goals come in batches of different shapes: {shapes}") from None
    return tasks, rows, batch


def _goal(task: Task, given: Any) -> np.ndarray:
    if task.part != "pose":
        shape = (3, 3) if task.part == "rotation" else (3,)
        x = _numbers(given, shape, f"the {task.part} for frame {task.frame!r}")
        if task.part == "rotation":
            return _rotation(x, task).reshape((*x.shape[:-2], 9))
        return _unit(x, task) if task.part == "direction" else x
    if not isinstance(given, (list, tuple)) or len(given) != 2:
        raise InputError(
            f"the pose for frame {task.frame!r} is a pair (R, p), as robot.pose gives it, got {shown(given)}"
        )
    R = _rotation(_numbers(given[0], (3, 3), f"R for frame {task.frame!r}"), task)
    p = _numbers(given[1], (3,), f"p for frame {task.frame!r}")
    batch = np.broadcast_shapes(R.shape[:-2], p.shape[:-1])
    turned = np.broadcast_to(R, (*batch, 3, 3)).reshape((*batch, 9))
    return np.concatenate([turned, np.broadcast_to(p, (*batch, 3))], axis=-1)


def _numbers(given: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    x = numbers(given, what)
    if x.shape[-len(shape) :] != shape:
        raise InputError(f"{what} has shape (..., {', '.join(map(str, shape))}), got {x.shape}")
    if not np.isfinite(x).all():
        raise InputError(f"{what} holds NaN or infinity")
    return x


def _rotation(R: np.ndarray, task: Task) -> np.ndarray:
    if np.abs(R @ R.swapaxes(-1, -2) - np.eye(3)).max(initial=0.0) > 1e-6 or np.any(np.linalg.det(R) < 0):
        raise InputError(f"R for frame {task.frame!r} is no rotation matrix (R Rᵀ = I, det R = 1)")
    return R


def _unit(x: np.ndarray, task: Task) -> np.ndarray:
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    if np.any(length < 1e-12):
        raise InputError(f"the direction for frame {task.frame!r} has no length")
    unit: np.ndarray = x / length
    return unit


def _configuration(robot: Any, q: Any, name: str) -> np.ndarray:
    from .. import inputs

    return np.array(inputs.configuration(robot, q, name), dtype=float)


def _middle(robot: Any) -> np.ndarray:
    """The middle between the limits; where there are none, the neutral configuration."""
    q: np.ndarray = robot.neutral()
    for i, _, low, high in limited(robot):
        q[i] = 0.5 * (low + high) if np.isfinite(low + high) else np.clip(q[i], low, high)
    return q


def _random(robot: Any, rng: np.random.Generator, count: int) -> np.ndarray:
    """Random configurations within the limits, (count, nq)."""
    drawn = robot.random_configuration(rng, batch=min(count, _DRAWN))
    q: np.ndarray = drawn[np.arange(count) % len(drawn)]  # joints that have limits are drawn anew, all at once
    for i, _, low, high in limited(robot):
        if np.isfinite(low + high):
            q[:, i] = rng.uniform(low, high, size=count)
    return q


# --- the search ------------------------------------------------------------------------------------------


class _Search:
    """All goals, the best configuration found for each, and how far off it is."""

    def __init__(
        self,
        robot: Any,
        steps: Callable[..., np.ndarray],
        goals: list[np.ndarray],
        tolerance: float,
        rest: np.ndarray | None,
        batch: tuple[int, ...],
    ) -> None:
        self.robot, self.steps, self.goals, self.tolerance, self.batch = robot, steps, goals, tolerance, batch
        self.rest = robot.neutral() if rest is None else rest
        count = goals[0].shape[0]
        self.q = np.zeros((count, robot.nq))
        self.errors = np.full((count, 2), np.inf)
        self.attempts = np.zeros(count, int)

    @property
    def left(self) -> np.ndarray:
        """The goals that are not reached."""
        return np.flatnonzero((self.errors > self.tolerance).any(axis=-1))

    def try_from(self, q: np.ndarray, where: np.ndarray) -> None:
        """Steps from these configurations towards these goals."""
        self.attempts[where] += 1
        for i in range(0, len(where), _TOGETHER):
            self._steps_from(q[i : i + _TOGETHER].copy(), where[i : i + _TOGETHER])

    def _steps_from(self, q: np.ndarray, where: np.ndarray) -> None:
        for _ in range(_STEPS):
            after, errors = self._stepped(q, where, 0.0)
            better = errors.max(axis=-1) < self.errors[where].max(axis=-1)
            self.q[where[better]], self.errors[where[better]] = q[better], errors[better]
            on = (errors > self.tolerance).any(axis=-1)
            q, where = after[on], where[on]
            if not where.size:
                return

    def go_to_rest(self) -> None:
        """From what is reached towards the rest configuration, as far as the frames stay where they are."""
        where = np.flatnonzero((self.errors <= self.tolerance).all(axis=-1))
        if not where.size:
            return
        q = self.q[where]
        for i in range(_STEPS_TO_REST):
            q, _ = self._stepped(q, where, 0.3 if i < _STEPS_TO_REST - 5 else 0.0)  # the last steps come back
        _, errors = self._stepped(q, where, 0.0)
        kept = (errors <= self.tolerance).all(axis=-1)
        self.q[where[kept]], self.errors[where[kept]] = q[kept], errors[kept]

    def _stepped(self, q: np.ndarray, where: np.ndarray, pull: float) -> tuple[np.ndarray, np.ndarray]:
        rest = (
            self.rest
            if self.rest.ndim == 1
            else np.broadcast_to(self.rest, (*self.batch, self.robot.nq)).reshape(-1, self.robot.nq)[where]
        )
        out = self.steps(q, *(g[where] for g in self.goals), rest, np.array([pull]))
        return out[:, :-2], out[:, -2:]

    def found(self) -> Reach:
        at = np.zeros((len(self.q), self.robot.nv), bool)
        for i, j, low, high in limited(self.robot):
            at[:, j] = (self.q[:, i] <= low + 1e-9) | (self.q[:, i] >= high - 1e-9)
        shape = self.batch
        reached = (self.errors <= self.tolerance).all(axis=-1)
        return Reach(
            self.q.reshape((*shape, self.robot.nq)),
            reached.reshape(shape),
            self.errors[:, 0].reshape(shape),
            self.errors[:, 1].reshape(shape),
            at.reshape((*shape, self.robot.nv)),
            self.attempts.reshape(shape),
        )


def _steps(robot: Any, tasks: Sequence[Task], target: str = "cpu") -> Callable[..., np.ndarray]:
    """The step for these tasks as machine code; on NumPy, one goal after the other."""
    from ..codegen.pipeline import Job, compile_job

    sizes = {"q": robot.nq, **{f"goal{i}": PARTS[t.part] for i, t in enumerate(tasks)}, "rest": robot.nq, "pull": 1}
    told = tuple((t.frame, t.part) for t in tasks)
    key = ("inverse_kinematics", told)

    def call(robot: Any, q: Any, *given: Any) -> Any:
        *goals, rest, pull = given
        after, errors = step(robot, q, tasks, goals, rest, pull[0])
        return np.concatenate([after, errors])

    if target == "numpy":
        return _one_by_one(robot, call)
    kernel = robot._code.get(key)
    if kernel is None:
        job = Job(
            robot,
            "inverse_kinematics",
            call,
            tuple(sizes),
            Facts({name: (n,) for name, n in sizes.items()}),
            {"tasks": told},
            rolled=False,
        )
        try:
            kernel = compile_job(job)
        except (UntraceableError, ArithmeticError) as e:
            warn_of_slow_path(f"inverse kinematics of {robot.name!r} runs on NumPy, goal by goal: {e}")
            kernel = _one_by_one(robot, call)
        robot._code.keep(key, kernel)
    run: Callable[..., np.ndarray] = kernel
    return run


def _one_by_one(robot: Any, call: Callable[..., Any]) -> Callable[..., np.ndarray]:
    def run(*arrays: np.ndarray) -> np.ndarray:
        count = arrays[0].shape[0]
        full = [np.broadcast_to(x, (count, x.shape[-1])) for x in arrays]
        return np.array([call(robot, *rows) for rows in zip(*full)])

    return run
