"""Steps of inverse kinematics as machine code; what the null space does of them may be a user's function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import shown, unmasked
from ..arrays import is_symbolic
from ..codegen.facts import Facts
from ..dynamics.inverse_kinematics import PARTS, Task, step
from ..errors import InputError, LinkwiseError, UntraceableError, warn_of_slow_path
from ..symbols.fingerprints import made_of
from ..symbols.users_code import fits

_FORM = ("robot", "q")


@dataclass(frozen=True, eq=False)
class RestFunction:
    """A user's ``function(robot, q)``: the velocity (nv,) of the null space, not towards a configuration."""

    function: Callable[..., Any]

    def __post_init__(self) -> None:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        try:
            signature = inspect.signature(self.function)
        except (TypeError, ValueError):
            raise InputError(
                f"rest is a function of (robot, q), and {name} does not say what it takes; wrap it, as in"
                f" lambda robot, q: {name}(…)"
            ) from None
        if not fits(signature, _FORM, _FORM):
            raise InputError(f"rest is a configuration, or a function of (robot, q), but {name} takes {signature}")

    def __call__(self, robot: Any, q: Any) -> np.ndarray:
        found = unmasked(self.function(robot, q.copy()), "what rest(robot, q) gives")
        try:
            given = np.asarray(found)
        except ValueError:  # rows of several lengths
            raise InputError(f"rest(robot, q) gives a velocity of {robot.nv} numbers, got {shown(found)}") from None
        if given.shape != (robot.nv,):
            raise InputError(f"rest(robot, q) gives a velocity of shape ({robot.nv},), got {given.shape}")
        if given.dtype.kind not in "fiub" and not is_symbolic(given):
            raise InputError(f"rest(robot, q) gives real numbers, got {shown(given)}")
        return given


def steps_of(
    robot: Any, tasks: Sequence[Task], target: str, towards: RestFunction | None = None
) -> Callable[..., np.ndarray]:
    """The step for these tasks as machine code; on NumPy, one goal after the other.

    ``towards`` is what the null space does, if not a rest configuration.
    """
    from ..codegen.job import Job
    from ..codegen.pipeline import compile_job

    sizes = {"q": robot.nq, **{f"goal{i}": PARTS[t.part] for i, t in enumerate(tasks)}, "rest": robot.nq, "pull": 1}
    told = tuple((t.frame, t.part) for t in tasks)

    def call(robot: Any, q: Any, *given: Any) -> Any:
        *goals, rest, pull = given
        free = robot.difference(q, rest) if towards is None else towards(robot, q)
        after, errors = step(robot, q, tasks, goals, pull[0] * free)
        return np.concatenate([after, errors])

    def compiled() -> Any:
        # Of a user's function nothing is known, not even what it is called on the disk.
        facts = Facts({name: (n,) for name, n in sizes.items()}) if towards is None else None
        fixed, own = ({"tasks": told}, {}) if towards is None else ({}, sizes)
        return compile_job(Job(robot, "inverse_kinematics", call, tuple(sizes), facts, fixed, own, rolled=False))

    def by_hand(*arrays: np.ndarray) -> np.ndarray:
        count = arrays[0].shape[0]
        full = [np.broadcast_to(x, (count, x.shape[-1])) for x in arrays]
        return np.array([call(robot, *rows) for rows in zip(*full)])

    if target == "numpy":
        return by_hand
    run: Callable[..., np.ndarray]
    try:
        run = _kept(robot, ("inverse_kinematics", told), towards, compiled)
    except (UntraceableError, ArithmeticError) as e:
        warn_of_slow_path(f"inverse kinematics of {robot.name!r} runs on NumPy, goal by goal: {e}")
        run = by_hand
        if towards is None:
            robot._code.keep(("inverse_kinematics", told), run)
    return run


def _kept(robot: Any, key: Any, towards: RestFunction | None, make: Callable[[], Any]) -> Any:
    """What ``make`` compiles, from the robot's store where it is there."""
    if towards is not None:
        try:
            return robot._code.of_function(towards.function, made_of(towards.function).identity, key, make)
        except (LinkwiseError, ArithmeticError):
            raise
        except Exception as e:  # the user's own error, as it came
            e.add_note('(while rest(robot, q) ran on symbols, to be compiled; target="numpy" calls it from Python)')
            raise
    found = robot._code.get(key)
    if found is None:
        found = make()
        robot._code.keep(key, found)
    return found
