"""Catalogue methods on arrays of PyTorch, JAX and CuPy: the compiled code, and its derivatives, on those arrays."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from .. import array_kinds, inputs
from ..codegen.facts import Facts, Shape, has_adjoint
from ..codegen.foreign.calls import alike, quick, run_on
from ..codegen.foreign.function import Function, rows
from ..dynamics import coordinate_gradients
from ..errors import InputError
from .call_forms import key_of
from .dispatch import Run, Singular, compiled_call


class AnyAnswer:
    """What a robot keeps for calls with arrays of one library, which are ``names``."""

    def __init__(self, library: str, names: tuple[str, ...]) -> None:
        self.names, self._library = names, library

    def takes(self, arrays: Sequence[Any]) -> bool:
        """Whether this is for all these arrays, of which it is for the first: they are of one type."""
        if len(arrays) != len(self.names):
            return False
        kind = type(arrays[0])
        for x in arrays:
            if type(x) is not kind:
                return False
        return self._library != "jax" or os.environ.get("LINKWISE_TARGET", "cpu") == "cpu"  # else JAX may trace it


class Answer(AnyAnswer):
    """A method on arrays of one library."""

    def __init__(self, robot: Any, function: Function, library: str, names: tuple[str, ...], facts: Facts) -> None:
        super().__init__(library, names)
        self._robot, self._function = robot, function
        self._shapes = [facts.arrays[name] for name in names]
        self._sizes = [inputs.sizes(robot, shape) for shape in self._shapes]
        self._quick = quick(library, function) if all(len(s) == 1 for s in self._sizes) else None

    def __call__(self, arrays: Sequence[Any]) -> Any:
        """What the method gives for these arrays, of which at least one is of the library and none of another."""
        result = None if self._quick is None else self._quick(arrays)
        if result is None:
            flat = [self._rows(k, x) for k, x in enumerate(arrays)]
            result = self._function.signature.result(run_on(self._library, self._function, flat))
        if hasattr(result, "set_origin"):  # a result that knows its robot and velocity
            result.set_origin(self._robot, arrays[self.names.index("v")])
        return result

    def _rows(self, k: int, x: Any) -> Any:
        """An argument with its numbers in a row, (..., n), or the error that NumPy's would have."""
        if not hasattr(x, "shape"):
            x = array_kinds.as_one(self._library, x, self.names[k])
        _refuse_other_shapes(self._robot, x, self._shapes[k], self.names[k])
        return rows(x, len(self._sizes[k]))


class AnswerInParts(AnyAnswer):
    """A method that gets its result from other calls, on arrays of one library: each of them is compiled."""

    def __init__(self, robot: Any, library: str, names: tuple[str, ...], fixed: dict[str, Any], facts: Facts) -> None:
        super().__init__(library, names)
        self._robot, self._fixed, self._facts = robot, fixed, facts

    def __call__(self, arrays: Sequence[Any]) -> Any:
        assert self._facts.in_parts is not None
        checked = alike(self._library, self.names, arrays)
        rows: dict[str, Any] = {}
        for name, x in zip(self.names, checked):
            shape = self._facts.arrays[name]
            _refuse_other_shapes(self._robot, x, shape, name)
            numbers = math.prod(inputs.sizes(self._robot, shape))
            rows[name] = np.broadcast_to(0.0, (*x.shape[: x.ndim - len(shape)], numbers))
        inputs.together(self._robot, **rows)  # the error that batches have which do not fit
        return self._facts.in_parts(self._robot, *checked, **self._fixed)


class NoAnswer(AnyAnswer):
    """A method that is singular in every state."""

    def __init__(self, library: str, names: tuple[str, ...], singular: Singular) -> None:
        super().__init__(library, names)
        self._singular = singular

    def __call__(self, arrays: Sequence[Any]) -> Any:
        raise type(self._singular.error)(*self._singular.error.args)


def _refuse_other_shapes(robot: Any, x: Any, shape: Shape, name: str) -> None:
    """The error that NumPy's arrays of a wrong shape have."""
    sizes = inputs.sizes(robot, shape)
    if tuple(x.shape[-len(sizes) :]) != sizes:
        inputs.shaped(robot, np.ones(tuple(x.shape)), shape, name)


Names: TypeAlias = tuple[str, ...]
Fixed: TypeAlias = tuple[tuple[str, Any], ...]


def answer_key(call: Any, library: str, names: Names, fixed: Fixed, on_device: bool) -> tuple[Any, ...]:
    """Under which a robot keeps what answers a call with arrays of a library."""
    return ("foreign", library, on_device, call.plain, *names, *((name, key_of(x)) for name, x in fixed))


def make_answer(robot: Any, call: Any, library: str, names: Names, fixed: Fixed, on_device: bool) -> None:
    """Let the robot keep what answers such a call; None where there is no code for it."""
    key = answer_key(call, library, names, fixed, on_device)
    if robot._code.get(key, _NOT_KEPT) is not _NOT_KEPT:
        return
    facts, others = call.facts, dict(fixed)
    options = {"patient": facts.in_parts is None, "on_card": True} if on_device else {}
    kernel = compiled_call(robot, call, names, others, **options)
    answer: Answer | AnswerInParts | NoAnswer | None = None
    if isinstance(kernel, Singular):
        answer = None if library == "jax" else NoAnswer(library, names, kernel)  # what JAX traces names the joint
    elif kernel is not None and kernel is facts.in_parts:
        answer = AnswerInParts(robot, library, names, others, facts)
    elif kernel is not None:
        answer = Answer(robot, function_of(robot, call, kernel, names, others, on_device), library, names, facts)
    robot._code.keep(key, answer)


_NOT_KEPT = object()


def function_of(
    robot: Any, call: Any, kernel: Any, names: tuple[str, ...], fixed: dict[str, Any], on_card: bool
) -> Function:
    """The compiled method as a function of rows of numbers, with the best derivatives there are."""
    facts: Facts = call.facts

    sizes = [inputs.sizes(robot, facts.arrays[name]) for name in names]

    def on_numpy() -> Callable[..., Any]:
        """The way in that NumPy's arrays have, for numbers in a row."""
        way = Run(robot, kernel, call, names, fixed, lambda robot, args, named: call(robot, *args, **named))
        run = way.quick or way.run
        if all(len(n) == 1 for n in sizes):
            return run
        return lambda *rows: run(*(x.reshape((*x.shape[:-1], *n)) for x, n in zip(rows, sizes)))

    if names != facts.needed or not has_adjoint(robot, call.__name__):
        return Function(kernel, on_numpy)
    name = call.__name__
    return Function(kernel, on_numpy, lambda: _adjoint(robot, name, on_card), lambda: _direction(robot, name, on_card))


def _adjoint(robot: Any, name: str, on_card: bool) -> Any:
    """(state, weights) → the gradients, from the adjoint of the linearised algorithm."""

    def gradients(robot: Any, q: Any, v: Any, third: Any, weights: Any) -> Any:
        dq, dv, dthird = getattr(robot, f"{name}_vjp")(q, v, third, weights)
        return coordinate_gradients.gradient_in_numbers(robot, q, dq), dv, dthird

    names, sizes = ("q", "v", "third", "weights"), ("nq", "nv", "nv", "nv")
    return _compiled(robot, f"{name}_vjp", gradients, names, sizes, on_card)


def _direction(robot: Any, name: str, on_card: bool) -> Any:
    """(state, directions) → the derivative, from the linearised algorithm."""

    def derivative(robot: Any, q: Any, v: Any, third: Any, dq: Any, dv: Any, dthird: Any) -> Any:
        tangent = coordinate_gradients.direction_in_tangent(robot, q, dq)
        return getattr(robot, f"{name}_jvp")(q, v, third, tangent, dv, dthird)

    names = ("q", "v", "third", "dq", "dv", "dthird")
    return _compiled(robot, f"{name}_jvp", derivative, names, ("nq", "nv", "nv") * 2, on_card)


def _compiled(
    robot: Any, method: str, whole: Callable[..., Any], names: tuple[str, ...], sizes: tuple[str, ...], on_card: bool
) -> Any:
    """The kernel of the method itself where its tangent space is q's numbers; else of the method between maps."""
    from ..codegen.job import Job
    from ..codegen.pipeline import compile_job, method_job

    if coordinate_gradients.is_plain(robot):
        job = method_job(robot, getattr(type(robot), method), None, {}, patient=True, on_card=on_card)
    else:
        lengths = {name: getattr(robot, size) for name, size in zip(names, sizes)}
        job = Job(robot, method, whole, names, sizes=lengths)
    return compile_job(job)


def refuse(library: str, method: str, why: str) -> InputError:
    """The error that a method has no code for arrays of a library."""
    return InputError(
        f"{method} takes no arrays of {library}: {why}; {array_kinds.TO_NUMPY[library]} brings them to NumPy"
    )
