"""JAX target: the same functions on JAX arrays, jitted. Needs the extra ``[jax]``.

Nothing is translated: the algorithms run on JAX arrays as they stand, so ``jit``, ``vmap``, ``grad``,
``jacfwd`` and any precision work on them. Those of longer robots are traced as loops over bodies, from the same
program that rolled machine code has (:mod:`.jax_loops`). Import is lazy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import unmasked
from ...dynamics import coordinate_gradients
from ...errors import InputError, UntraceableError
from ...extras import require
from ...symbols.fingerprints import made_of
from ...symbols.function_memory import refusing_memory
from ..runtime.remade import Remade
from .jax_loops import JaxLoops

if TYPE_CHECKING:
    from ..rolled.program import RolledProgram


class JaxFunction(Remade):
    """``jax.jit`` of ``function(robot, …)`` with the robot fixed; ``is_users`` where it is not of the catalogue."""

    target = "jax"

    def __init__(self, function: Callable[..., Any], robot: Any, is_users: bool = False) -> None:
        jax = require("jax", "jax", 'target="jax"')
        self.__name__ = getattr(function, "__name__", "function")
        self._asarray = jax.numpy.asarray
        traced = self._of_users(function) if is_users else function
        self._jitted = jax.jit(lambda *arrays: traced(robot, *arrays))

    def _of_users(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, refused where it is not what it was: JAX traces anew for arrays of every shape and kind."""
        identity = made_of(function).identity

        def traced(robot: Any, *arrays: Any) -> Any:
            if made_of(function).identity != identity:
                raise UntraceableError(
                    f"{self.__name__} reads something that has changed since it was compiled, and JAX traces it anew"
                    " for arrays of these shapes; compile it again"
                )
            with refusing_memory(function):
                return function(robot, *arrays)

        return traced

    def __call__(self, *arrays: Any) -> Any:
        _check(self.__name__, arrays)
        return self._jitted(*map(self._asarray, arrays))


class JaxLoopFunction(Remade):
    """A rolled program as JAX traces it, jitted; ``derivatives`` makes the rolled program of the method's "jvp" or
    "vjp", which are its derivatives. JAX differentiates the loops itself where there are none."""

    target = "jax"

    def __init__(
        self, program: RolledProgram, robot: Any, derivatives: Callable[[str], RolledProgram] | None = None
    ) -> None:
        from ..foreign.jax_traced import TracedFunction

        jax = require("jax", "jax", 'target="jax"')
        self.signature, self._robot = program.signature, robot
        self.__name__ = program.signature.name
        self._asarray = jax.numpy.asarray
        self._rolled = program
        rules: list[Any] = [None, None]
        if derivatives is not None:
            rules = [lambda: self._gradient(derivatives("vjp")), lambda: self._direction(derivatives("jvp"))]
        self._function = TracedFunction(program.signature, JaxLoops(program, robot), *rules)
        self._jitted = jax.jit(self._called)

    @property
    def operations(self) -> Any:
        """Operations for one state, what is done again included."""
        return self._rolled.operations

    def __call__(self, *arrays: Any) -> Any:
        _check(self.__name__, arrays)
        found = [self._asarray(x) for x in arrays]
        result = self.signature.result(list(self._jitted(*found)))
        if hasattr(result, "set_origin"):  # a result that knows its robot and velocity
            result.set_origin(self._robot, found[list(self.signature.inputs).index("v")])
        return result

    def _called(self, *arrays: Any) -> tuple[Any, ...]:
        from ..foreign.jax_calls import call_traced

        return tuple(call_traced(self._function, arrays))

    def _gradient(self, program: RolledProgram) -> Callable[..., list[Any]]:
        """(state, weights) → the gradients in its numbers, from the adjoint in the tangent space."""
        adjoint, robot = JaxLoops(program, self._robot), self._robot

        def gradients(q: Any, v: Any, third: Any, weights: Any) -> list[Any]:
            dq, *others = adjoint(q, v, third, weights)
            return [coordinate_gradients.gradient_in_numbers(robot, q, dq), *others]

        return adjoint if coordinate_gradients.is_plain(robot) else gradients

    def _direction(self, program: RolledProgram) -> Callable[..., list[Any]]:
        """(state, a change of its numbers) → the derivative, from that along the change in the tangent space."""
        along, robot = JaxLoops(program, self._robot), self._robot

        def derivative(q: Any, v: Any, third: Any, dq: Any, dv: Any, dthird: Any) -> list[Any]:
            return along(q, v, third, coordinate_gradients.direction_in_tangent(robot, q, dq), dv, dthird)

        return along if coordinate_gradients.is_plain(robot) else derivative


def _check(name: str, arrays: Sequence[Any]) -> None:
    """An error for what JAX would take otherwise than it is meant."""
    for i, x in enumerate(arrays):
        what = f"argument {i + 1} of {name}"
        if isinstance(x, (np.ndarray, np.generic)) and x.dtype.char in "gG":  # JAX would round them
            raise InputError(f"{what} holds numbers of dtype {x.dtype}, which JAX does not have; round them")
        unmasked(x, what)
