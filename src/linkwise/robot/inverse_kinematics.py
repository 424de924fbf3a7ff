"""Inverse kinematics: configurations in which frames are where they are wanted, for batches of goals at once.

Each goal is stepped towards from a first guess, and from random ones where that does not lead there; steps are machine
code over all goals that are not reached yet. What is not reached is told with how near it came.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from ..arguments import number, numbers, one_of, shown, whole
from ..array_kinds import refuse_all_but_numpy
from ..dynamics.following_limits import brought_back, following_limits
from ..dynamics.inverse_kinematics import PARTS, Task, limited, within, yielding
from ..errors import InputError
from .calls import as_frames
from .dispatch import TARGETS, default_target
from .inverse_kinematics_steps import RestFunction, steps_of

_EYE = np.eye(3)
_MOST_STEPS = 60  # from one guess; a Panda's goals take 12 in the mean
_PATIENCE, _HOPE = 8, 0.5  # steps after which the error must have fallen to this share of what it was
_STEPS_TO_REST = 30  # in the null space, once a goal is reached
_STEPS_NEARER, _NOTABLY = 100, 0.99999  # towards a goal that no guess reached, as long as the error falls to this share
_INNER = 0.8  # of the range between limits, where guesses are drawn
_ONE_BY_ONE = 3  # guesses before several are tried at once
_TOGETHER = 4096  # goals that are stepped at once: what fits the caches


@dataclass(frozen=True, eq=False)
class Reach:
    """What :meth:`Robot.inverse_kinematics` found: ``q`` (..., nq), whether each goal is ``reached`` (...), and how far
    off the frames are: ``rotation_error`` [rad] and ``position_error`` [m], (...), the largest of all frames.

    Where a goal is not reached, ``q`` is the nearest configuration found, and ``at_limits`` (..., nv) says which
    degrees of freedom are at a limit there, their own or that of a joint that follows them; ``followers_at_limits`` has
    the latter by their names, (...) each. ``attempts`` (...) counts the guesses it took. Where every guess ends beyond
    the limits of a follower, the errors are infinite.
    """

    q: np.ndarray
    reached: np.ndarray
    rotation_error: np.ndarray
    position_error: np.ndarray
    at_limits: np.ndarray
    attempts: np.ndarray
    followers_at_limits: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def error(self) -> np.ndarray:
        """The larger of both errors, (...)."""
        larger: np.ndarray = np.maximum(self.rotation_error, self.position_error)
        return larger

    def __repr__(self) -> str:
        count = int(np.sum(self.reached))
        far = "" if self.reached.all() else f", others within {float(self.error.max()):.2g}"
        names = [name for name, at in self.followers_at_limits.items() if (at & ~self.reached).any()]
        held = f", at limits of {', '.join(names)}" if names else ""
        return f"<Reach: {count} of {self.reached.size} goals reached{far}{held}>"


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
    refuse_all_but_numpy(goal=goal, q0=q0, rest=rest)
    tasks, goals, batch = _asked(robot, frame, goal, part)
    tolerance = number(tolerance, "tolerance", above=0.0)
    attempts = whole(attempts, "attempts", least=1)
    start = _middle(robot) if q0 is None else _configuration(robot, q0, "q0")
    if start.ndim > 1:
        batch = np.broadcast_shapes(batch, start.shape[:-1])
    count = prod(batch)
    flat = [np.broadcast_to(g, (*batch, g.shape[-1])).reshape(count, g.shape[-1]) for g in goals]
    starts = np.broadcast_to(start, (*batch, robot.nq)).reshape(count, robot.nq)
    towards = RestFunction(rest) if callable(rest) else None
    rest = None if rest is None or callable(rest) else _configuration(robot, rest, "rest")
    if target is not None:
        one_of(target, TARGETS, "target", error=InputError)
    steps = steps_of(robot, tasks, target or default_target(), towards)
    search = _Search(robot, steps, flat, tolerance, starts, rest, batch)
    search.run(attempts, whole(seed, "seed"))
    search.come_nearer()
    if rest is not None or towards is not None:
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
    if R.ndim == 2 and p.ndim == 1:
        return np.concatenate([R.ravel(), p])
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
    if np.abs(R @ R.swapaxes(-1, -2) - _EYE).max(initial=0.0) > 1e-6 or (np.linalg.det(R) < 0).any():
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


# --- where to start from ---------------------------------------------------------------------------------


def _guesses(robot: Any, seed: int, count: int) -> np.ndarray:
    """Random configurations (count, nq), in the inner part of the limits: those at a limit lead nowhere more often."""
    rng = np.random.default_rng(seed)
    bounded = [(i, low, high) for i, _, low, high in limited(robot) if np.isfinite(low + high)]
    q: np.ndarray = np.empty((count, robot.nq))
    if len(bounded) < robot.nq:
        q = robot.random_configuration(rng, batch=count)
    for i, low, high in bounded:
        q[:, i] = 0.5 * (low + high) + 0.5 * (high - low) * _INNER * rng.uniform(-1.0, 1.0, size=count)
    for where, _ in yielding(robot):
        q[:, where] = robot.neutral()[where]
    return q


# --- the search ------------------------------------------------------------------------------------------


class _Search:
    """All goals, the best configuration found for each, and how far off it is.

    Guesses are tried one after the other and, from the fourth on, several at once. All goals have the same ones, so
    that what is found for a goal does not depend on the goals beside it.
    """

    def __init__(
        self,
        robot: Any,
        steps: Callable[..., np.ndarray],
        goals: list[np.ndarray],
        tolerance: float,
        starts: np.ndarray,
        rest: np.ndarray | None,
        batch: tuple[int, ...],
    ) -> None:
        self.step: Any = getattr(steps, "quick", None)  # of one state; there is none on NumPy
        self.robot, self.steps, self.goals, self.tolerance, self.batch = robot, steps, goals, tolerance, batch
        self.rest = robot.neutral() if rest is None else rest
        count = goals[0].shape[0]
        self.followers = following_limits(robot, bent=True)
        self.starts = self._held(starts)
        self.q = self.starts.copy()
        self.errors = np.full((count, 2), np.inf)
        self.attempts = np.zeros(count, int)

    @property
    def left(self) -> np.ndarray:
        """The goals that are not reached."""
        return np.flatnonzero((self.errors > self.tolerance).any(axis=-1))

    def run(self, attempts: int, seed: int) -> None:
        """Steps from the configuration given for each goal, then from random ones, until all are reached."""
        self._try(self.starts, np.arange(len(self.starts)), 1)
        guesses, start = None, 1
        while start < attempts and (left := self.left).size:
            if guesses is None:
                guesses = self._held(_guesses(self.robot, seed, attempts))
            some = guesses[start : start + (1 if start < _ONE_BY_ONE else start)]
            self._try(np.tile(some, (left.size, 1)), np.repeat(left, len(some)), len(some))
            start += len(some)

    def _held(self, q: np.ndarray) -> np.ndarray:
        """Configurations to start from, within the limits of joints that follow others as far as there is a way."""
        if not self.followers:
            return q
        return np.asarray(within(self.robot, brought_back(self.followers, q, _MOST_STEPS), q))

    def _keeps(self, q: np.ndarray) -> np.ndarray:
        """Whether joints that follow others are within their limits, (...)."""
        kept: np.ndarray = np.ones(q.shape[:-1], bool)
        for limit in self.followers:
            kept &= limit.kept(q)
        return kept

    def _try(self, q: np.ndarray, where: np.ndarray, each: int) -> None:
        """From these configurations towards the goals ``where``, ``each`` of which comes that often, in a row."""
        if len(where) == 1 and self.step is not None and not self.followers:
            self._try_one(q, where)
            return
        found = [
            self._stepped_to_the_end(q[i : i + _TOGETHER], where[i : i + _TOGETHER])
            for i in range(0, len(where), _TOGETHER)
        ]
        if not found:
            return
        q, errors, steps = (np.concatenate(x).reshape((-1, each, *x[0].shape[1:])) for x in zip(*found))
        errors[~self._keeps(q)] = np.inf
        goals = where[::each]
        reached = (errors <= self.tolerance).all(axis=-1)
        # The guess that leads there in the fewest steps or, where none does, nearest to it.
        chosen = np.where(
            reached.any(axis=-1),
            np.where(reached, steps, _MOST_STEPS + 1).argmin(axis=-1),
            np.maximum(errors[..., 0], errors[..., 1]).argmin(axis=-1),
        )
        rows = np.arange(len(goals))
        q, errors = q[rows, chosen], errors[rows, chosen]
        self.attempts[goals] += np.where(reached.any(axis=-1), chosen + 1, each)
        better = np.maximum(errors[..., 0], errors[..., 1]) < self.errors[goals].max(axis=-1)
        self.q[goals[better]], self.errors[goals[better]] = q[better], errors[better]

    def _try_one(self, q: np.ndarray, where: np.ndarray) -> None:
        """As :meth:`_try` of a single row; of one goal the work around its steps would take most of the time."""
        q, errors, _ = self._one_to_the_end(q, where)
        goal = where[0]
        self.attempts[goal] += 1
        if max(errors[0].tolist()) < max(self.errors[goal].tolist()):
            self.q[goal], self.errors[goal] = q[0], errors[0]

    def _ends(self, i: int, worst: Any, before: Any) -> Any:
        """Whether a goal is reached, or no longer comes nearer, at step i; a number that is none ends as well."""
        there = (worst <= self.tolerance) | (worst != worst)
        return there | (worst > _HOPE * before) if _looks_back(i) else there | (i == _MOST_STEPS)

    def _one_to_the_end(self, q: np.ndarray, where: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As :meth:`_stepped_to_the_end` of a single row, without NumPy between the steps."""
        given = [*(g[where[0]] for g in self.goals), self._rest_of(where)[0], np.zeros(1)]
        q, before = q[0], np.inf
        for i in range(_MOST_STEPS + 1):
            out = self.step(q, *given)
            worst = max(out[-2:].tolist())
            if self._ends(i, worst, before):
                break
            q, before = out[:-2], worst if _looks_back(i) else before
        return q[None], np.nan_to_num(out[None, -2:], nan=np.inf), np.array([i])

    def _stepped_to_the_end(self, q: np.ndarray, where: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(q, errors, steps) where each row reaches its goal, or is given up as it no longer comes nearer."""
        if len(where) == 1 and self.step is not None:
            return self._one_to_the_end(q, where)
        count = len(where)
        ended = np.empty((count, self.robot.nq)), np.empty((count, 2)), np.zeros(count, int)
        rows, goals = np.arange(count), [g[where] for g in self.goals]
        rest, pull = self._rest_of(where), np.zeros((count, 1))
        running = np.ones(count, bool)
        before = np.full(count, np.inf)
        for i in range(_MOST_STEPS + 1):
            after, errors = self._stepped(q, goals, rest, pull)
            worst = np.maximum(errors[..., 0], errors[..., 1])
            ends = running & self._ends(i, worst, before)
            if _looks_back(i):
                before = worst
            if ends.any():
                at = rows[ends]
                ended[0][at], ended[1][at], ended[2][at] = q[ends], errors[ends], i
                running &= ~ends
                if not running.any():
                    break
                if 4 * np.count_nonzero(running) < 3 * len(rows):
                    goals, rest, pull = [g[running] for g in goals], rest[running], pull[running]
                    rows, before, after = rows[running], before[running], after[running]
                    running = np.ones(len(rows), bool)
            q = after
        return ended[0], np.nan_to_num(ended[1], nan=np.inf), ended[2]

    def come_nearer(self) -> None:
        """On from the nearest that was found of goals that are not reached, where a step may lead too far.

        There it is shortened until it leads nearer, and lengthened again, as long as any goal comes notably nearer.
        """
        left = self.left
        for where in (left[i : i + _TOGETHER] for i in range(0, len(left), _TOGETHER)):
            goals, rest, no_pull = [g[where] for g in self.goals], self._rest_of(where), np.zeros((len(where), 1))
            q, share = self.q[where], np.ones((len(where), 1))
            after, _ = self._stepped(q, goals, rest, no_pull)
            before = worst = self.errors[where].max(axis=-1)
            for i in range(_STEPS_NEARER):
                tried = self._between(q, after, share)
                beyond, errors = self._stepped(tried, goals, rest, no_pull)
                nearer = (errors.max(axis=-1) < worst) & self._keeps(tried)
                q[nearer], after[nearer] = tried[nearer], beyond[nearer]
                self.q[where[nearer]], self.errors[where[nearer]] = tried[nearer], errors[nearer]
                worst = np.where(nearer, errors.max(axis=-1), worst)
                share = np.where(nearer[:, None], np.minimum(2.0 * share, 1.0), 0.5 * share)
                if _looks_back(i):
                    if not (worst < _NOTABLY * before).any():
                        break
                    before = worst

    def _between(self, q: np.ndarray, after: np.ndarray, share: np.ndarray) -> np.ndarray:
        """This share of the way from one configuration to another."""
        found: np.ndarray = q + share * (after - q)
        if self.robot.nq != self.robot.nv:
            found = self.robot.integrate(q, share * self.robot.difference(q, after))
        return found

    def go_to_rest(self) -> None:
        """From what is reached towards the rest configuration, as far as the frames stay where they are."""
        where = np.flatnonzero((self.errors <= self.tolerance).all(axis=-1))
        if not where.size:
            return
        q, goals, rest = self.q[where], [g[where] for g in self.goals], self._rest_of(where)
        pull, no_pull = np.full((len(where), 1), 0.3), np.zeros((len(where), 1))
        for i in range(_STEPS_TO_REST):
            q, _ = self._stepped(q, goals, rest, pull if i < _STEPS_TO_REST - 5 else no_pull)  # the last come back
        _, errors = self._stepped(q, goals, rest, no_pull)
        kept = (errors <= self.tolerance).all(axis=-1) & self._keeps(q)
        self.q[where[kept]], self.errors[where[kept]] = q[kept], errors[kept]

    def _rest_of(self, where: np.ndarray) -> np.ndarray:
        if self.rest.ndim == 1:
            return np.broadcast_to(self.rest, (len(where), self.robot.nq))
        of_all = np.broadcast_to(self.rest, (*self.batch, self.robot.nq)).reshape(-1, self.robot.nq)
        return np.ascontiguousarray(of_all[where])

    def _stepped(
        self, q: np.ndarray, goals: list[np.ndarray], rest: np.ndarray, pull: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        out = self.steps(q, *goals, rest, pull)
        return out[:, :-2], out[:, -2:]

    def found(self) -> Reach:
        at = np.zeros((len(self.q), self.robot.nv), bool)
        if limits := limited(self.robot):
            of_q, of_v, low, high = (list(x) for x in zip(*limits))
            there = self.q[:, of_q]
            at[:, of_v] = (there <= np.array(low) + 1e-9) | (there >= np.array(high) - 1e-9)
        shape = self.batch
        followers = {x.coupling.dependent: x.reached(self.q) for x in following_limits(self.robot, bent=False)}
        for limit in self.followers:
            at[:, limit.of_v] |= followers[limit.coupling.dependent][:, None]
        reached = (self.errors <= self.tolerance).all(axis=-1)
        return Reach(
            self.q.reshape((*shape, self.robot.nq)),
            reached.reshape(shape),
            self.errors[:, 0].reshape(shape),
            self.errors[:, 1].reshape(shape),
            at.reshape((*shape, self.robot.nv)),
            self.attempts.reshape(shape),
            {name: x.reshape(shape) for name, x in followers.items()},
        )


def _looks_back(i: int) -> bool:
    """Whether a step is one at which the error must have fallen since the last such step."""
    return i % _PATIENCE == _PATIENCE - 1
