"""Catalogue methods on arrays of PyTorch, JAX and CuPy: the compiled code, and its derivatives, on those arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import array_kinds, inputs
from ..codegen.facts import Facts, has_adjoint
from ..codegen.foreign.calls import quick_rows, run_on
from ..codegen.foreign.function import Function, leaves, rows
from ..dynamics import coordinate_gradients
from ..errors import InputError


class Answer:
    """A method on arrays of one library."""

    def __init__(self, robot: Any, function: Function, library: str, names: tuple[str, ...], facts: Facts) -> None:
        self.names = names
        self._robot, self._function, self._library = robot, function, library
        self._shapes = [facts.arrays[name] for name in names]
        self._sizes = [inputs.sizes(robot, shape) for shape in self._shapes]
        self._quick = quick_rows(library, function) if all(len(s) == 1 for s in self._sizes) else None

    def __call__(self, arrays: Sequence[Any]) -> Any:
        """What the method gives for these arrays, of which at least one is of the library and none of another."""
        if self._quick is not None:
            found = self._quick(arrays)
            if found is not None:
                return found
        flat = [self._rows(k, x) for k, x in enumerate(arrays)]
        result = self._function.signature.result(run_on(self._library, self._function, flat))
        if hasattr(result, "set_origin"):  # a result that knows its robot and velocity
            result.set_origin(self._robot, arrays[self.names.index("v")])
        return result

    def _rows(self, k: int, x: Any) -> Any:
        """An argument with its numbers in a row, (..., n), or the error that NumPy's would have."""
        if not hasattr(x, "shape"):
            x = np.asarray(x, dtype=float)
        sizes = self._sizes[k]
        if tuple(x.shape[-len(sizes) :]) != sizes:
            inputs.shaped(self._robot, np.ones(tuple(x.shape)), self._shapes[k], self.names[k])  # says what is wrong
        return rows(x, len(sizes))


def function_of(
    robot: Any, call: Any, kernel: Any, names: tuple[str, ...], fixed: dict[str, Any], on_card: bool
) -> Function:
    """The compiled method as a function of rows of numbers, with the best derivatives there are."""
    facts: Facts = call.facts

    def on_numpy(arrays: list[np.ndarray]) -> list[np.ndarray]:
        given = {}
        for name, x in zip(names, arrays):
            shape = inputs.sizes(robot, facts.arrays[name])
            given[name] = x if len(shape) == 1 else x.reshape((*x.shape[:-1], *shape))
        checks = {name: inputs.shaped(robot, x, facts.arrays[name], name) for name, x in given.items()}
        result, sound = kernel.run(inputs.together(robot, **checks)[1])
        if not sound:
            result = call.plain(robot, **given, **fixed)  # which says what is wrong, or has the answer
        return [np.asarray(x) for x in leaves(kernel.signature, result)]

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
