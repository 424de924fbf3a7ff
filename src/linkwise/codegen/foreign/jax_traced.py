"""Functions of flat arrays that JAX traces, with derivatives of their own where there are better ones than JAX's."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...properties import cached_property
from ..program.signature import Signature
from .function import ArrayFunction

Traced = Callable[..., list[Any]]  # arrays (..., n), whose batches broadcast → outputs (..., *shape)
_NUMBERS = itertools.count()


class TracedFunction(ArrayFunction):
    """A function of JAX's arrays. ``make_vjp`` and ``make_jvp`` give its derivatives as such functions of arrays;
    without them JAX differentiates the code itself."""

    def __init__(
        self,
        signature: Signature,
        traced: Traced,
        make_vjp: Callable[[], Traced] | None = None,
        make_jvp: Callable[[], Traced] | None = None,
    ) -> None:
        self.signature, self.traced = signature, traced
        self._make_vjp, self._make_jvp = make_vjp, make_jvp
        self._number = next(_NUMBERS)

    @property
    def token(self) -> str:
        return f"traced-{self.signature.name}-{self._number}"

    @cached_property
    def vjp(self) -> TracedFunction:
        inputs, shapes = self.signature.inputs, self.signature.shapes
        weights = {f"weights{k}": math.prod(shape) for k, shape in enumerate(shapes)}
        gradients = tuple((n,) for n in inputs.values())
        signature = Signature(f"{self.signature.name}_vjp", {**inputs, **weights}, gradients, False)
        return TracedFunction(signature, self._vjp if self._make_vjp is None else self._make_vjp())

    @cached_property
    def jvp(self) -> TracedFunction:
        inputs = self.signature.inputs
        directions = {f"d{name}": n for name, n in inputs.items()}
        signature = Signature(f"{self.signature.name}_jvp", {**inputs, **directions}, self.signature.shapes, False)
        return TracedFunction(signature, self._jvp if self._make_jvp is None else self._make_jvp())

    def _vjp(self, *arrays: Any) -> list[Any]:
        import jax

        points, weights = self._spread(arrays)
        shapes = self.signature.shapes
        shaped = [w.reshape((*w.shape[:-1], *shape)) for w, shape in zip(weights, shapes)]
        return list(jax.vjp(self.traced, *points)[1](shaped))

    def _jvp(self, *arrays: Any) -> list[Any]:
        import jax

        points, directions = self._spread(arrays)
        return list(jax.jvp(self.traced, points, directions)[1])

    def _spread(self, arrays: tuple[Any, ...]) -> tuple[list[Any], list[Any]]:
        """The inputs, and what comes with them, over all states: each has a gradient of its own."""
        import jax

        batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
        full = [jax.numpy.broadcast_to(x, (*batch, x.shape[-1])) for x in arrays]
        n = len(self.signature.inputs)
        return full[:n], full[n:]
