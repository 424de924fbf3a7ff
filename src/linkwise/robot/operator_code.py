"""Operators run as machine code, as the methods of a robot do.

An expression applied to NumPy arrays is traced with its states as inputs and compiled, once for its robot and formula;
numbers in front of its terms and blocks of the user's own are inputs too. Where no code can be had, sweeps run on the
arrays, and a warning says so once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algebra.binding import Binding, State
from ..algebra.coefficients import Coefficient, put_back, taken_out
from ..algebra.expression import Expression
from ..algebra.frame_freedom import is_frame_free
from ..algebra.leaves import Leaves, remembered, unbound
from ..algebra.operators import Operators
from ..algebra.recipe import OwnBlocks, Recipe, build, recipe_of
from ..arguments import one_of
from ..arrays import Array, as_numpy
from ..codegen.facts import Facts
from ..dynamics.closed.locality import Group
from ..errors import InputError, SingularError, UntraceableError, warn_of_slow_path
from ..model.model import Model
from .dispatch import TARGETS, Doubt, default_target

_NOT_YET = object()


def operators_at(
    model: Model,
    frames: tuple[Any, ...],
    q: Array,
    v: Array | None,
    a: Array | None,
    groups: tuple[Group, ...] = (),
) -> Operators:
    """The operators of a robot at a checked state, with code for what they are applied to.

    ``groups`` are those of loops that are embedded.
    """
    leaves = unbound(model, frames, (v is not None, a is not None), groups)
    return Operators(leaves, Binding((State(leaves, q, v, a, code_of),)))


def code_of(expression: Expression, binding: Binding, target: str | None = None) -> Code | None:
    """What applies an expression at states like these; None where sweeps run on the arrays themselves."""
    leaves = binding.leaves
    found = None if binding.arrays is None else leaves.memory.get(("code", id(expression)))
    if found is None or target is not None:  # (to ask for the default takes most of a microsecond; methods do so once)
        if target is not None:
            one_of(target, TARGETS, "target of a product (lw.compile has others)", error=InputError)
        if (target or default_target()) == "numpy" or binding.arrays is None:
            return None
    if found is None:
        found = remembered(leaves, ("code", id(expression)), lambda: (_code(expression, binding), expression))
    return found[0]


class Code:
    """A kernel for a formula, and the numbers of one expression of that formula."""

    def __init__(self, kernel: Any, numbers: tuple[float, ...], name: str) -> None:
        self.kernel = kernel
        self.doubt = Doubt(name)
        self.numbers = (np.array(numbers),) if numbers else ()
        self.quick: Callable[..., Any] = kernel.quick_before(_nothing)

    def value(self, states: tuple[np.ndarray, ...], sweeps: Callable[[], Array]) -> Array:
        """The array of a vector; by ``sweeps`` where it would not be sound."""
        return self._computed((*states, *self.numbers), states, sweeps)

    def run(self, states: tuple[np.ndarray, ...], x: Array, sweeps: Callable[[], Array]) -> Array:
        """A x; by ``sweeps`` where x is no array of real numbers or the result would not be sound."""
        if type(x) is not np.ndarray or x.dtype.kind != "f" or x.dtype.itemsize > 8:
            return sweeps()
        return self._computed((*states, *self.numbers, x), (*states, x), sweeps)

    def _computed(
        self, arrays: tuple[np.ndarray, ...], given: tuple[np.ndarray, ...], sweeps: Callable[[], Array]
    ) -> Array:
        """What the kernel makes of the arrays, in single precision where all that was ``given`` is."""
        single = all(a.dtype == np.float32 for a in given)
        y, sound = self.kernel.run([a.astype(np.float32, copy=False) for a in arrays] if single else [*arrays])
        if sound:
            result: np.ndarray = y
            return result
        swept = sweeps()
        self.doubt.say(np.dtype(np.float32 if single else np.float64))
        return swept


def _nothing(*arrays: Any) -> None:
    """What the quick entry gives for calls that are not its own."""


def _code(expression: Expression, binding: Binding) -> Code | None:
    """The code of an expression; None, with a warning, where it cannot be compiled promptly."""
    if expression.is_constant or 0 in expression.shape:
        return None  # nothing to compute
    recipe, numbers = taken_out(recipe_of(expression))
    robot: Any = binding.leaves.model
    key = ("operators", recipe, *(_kind(t, robot) for t in binding.things))
    kernel = robot._code.get(key, _NOT_YET)
    if kernel is _NOT_YET:
        kernel = _kernel(expression, recipe, len(numbers), binding)
        robot._code.keep(key, kernel)
    return None if kernel is None else Code(kernel, numbers, f"{expression} of {robot.name!r}")


def _kind(thing: Any, robot: Any) -> Any:
    """What the code depends on of a state or of blocks, beside the robot: another robot is a part of it."""
    if not isinstance(thing, State):
        return tuple(x.shape[-2:] for x in thing.blocks)
    leaves = thing.leaves
    other = None if leaves.model == robot else leaves.model
    return (other, leaves.frames, leaves.moving, bool(leaves.groups))


@dataclass(frozen=True)
class _ExpressionFacts(Facts):
    """What the compiler must know of an expression: whether frames show is proved, whatever numbers it takes."""

    def shows_frames(self, names: Iterable[str]) -> bool:
        return not self.joint_space


def _kernel(expression: Expression, recipe: Recipe, count: int, binding: Binding) -> Any:
    """The kernel of a formula, or None, with a warning, where NumPy must do."""
    from ..codegen.job import Job
    from ..codegen.pipeline import compile_job

    sizes = _sizes(expression, binding, count)
    facts = _ExpressionFacts({k: (n,) for k, n in sizes.items()}, joint_space=is_frame_free(expression))
    robot = binding.leaves.model
    asked = {"recipe": recipe, "things": [_kind(t, robot) for t in binding.things]}
    call = _function(recipe, count, binding)
    alone = len(binding.models) == 1
    job = Job(robot, "operators", call, tuple(sizes), facts, asked, patient=False, rolled=None if alone else False)
    try:
        kernel = compile_job(job)
    except SingularError:  # in every state: the sweeps say so
        return None
    except (UntraceableError, ArithmeticError) as e:
        _warn(expression, str(e))
        return None
    if kernel is None:
        _warn(expression, job.journal[-1].note)
    return kernel


def _sizes(expression: Expression, binding: Binding, count: int) -> dict[str, int]:
    """How many numbers each input has: states and blocks by place, then coefficients, then x."""
    out: dict[str, int] = {}
    for i, thing in enumerate(binding.things):
        names = "qva" if isinstance(thing, State) else "X"
        out |= {f"{name}{i}": x.shape[-1] for name, x in zip(names, thing.arrays)}
    x = {} if expression.cols.kind == "number" else {"x": expression.cols.dimension}
    return out | ({"c": count} if count else {}) | x


def _function(recipe: Recipe, count: int, binding: Binding) -> Callable[..., Array]:
    """The expression as a function of a model and the inputs."""

    def call(model: Model, *inputs: Array) -> Array:
        given = list(inputs)
        things: dict[int, Leaves | OwnBlocks] = {}
        for i, thing in enumerate(binding.things):
            if isinstance(thing, State):
                q, *moving = given.pop(0), *(None if x is None else given.pop(0) for x in (thing.v, thing.a))
                own = thing.leaves.model
                things[i] = thing.leaves.at(model if own == binding.leaves.model else own, q, *moving)
            else:
                things[i] = OwnBlocks(i, _split(given.pop(0), [x.shape[-2:] for x in thing.blocks]))
        coefficients = [Coefficient(c) for c in as_numpy(given.pop(0))] if count else []
        traced = build(put_back(recipe, coefficients), things)
        x = given.pop()[:, None] if given else np.ones((1, 1))  # a vector is what it makes of the number 1
        return traced.apply_columns(x)[:, 0]

    return call


def _split(row: Array, shapes: list[tuple[int, ...]]) -> list[Array]:
    ends = np.cumsum([math.prod(s) for s in shapes])
    return [row[e - math.prod(s) : e].reshape(s) for e, s in zip(ends, shapes)]


def _warn(expression: Expression, reason: str) -> None:
    warn_of_slow_path(f"{expression} runs as sweeps on NumPy arrays, not compiled: {reason}")
