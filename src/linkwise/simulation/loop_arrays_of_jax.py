"""Loops over steps on arrays of JAX on a card: each a call that XLA makes, and its program has the rest around them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..codegen.cuda.repeats import Turning
from ..codegen.foreign.jax_loops import call_loop
from ..codegen.program.repeat import Repeated
from .loop_arrays import AFTER_START, ROWS


class JaxArrays:
    """Arrays of JAX, known or not."""

    def __init__(self, like: Any) -> None:
        self.dtype = like.dtype

    def zeros(self, shape: tuple[int, ...]) -> Any:
        return jnp.zeros(shape, self.dtype)

    def array(self, x: Any) -> Any:
        return jnp.asarray(x, self.dtype)

    def repeated(self, x: Any, turns: int) -> Any:
        return np.repeat(x, turns, axis=-2) if isinstance(x, np.ndarray) else jnp.repeat(x, turns, axis=-2)

    def spread(self, x: Any, shape: tuple[int, ...]) -> Any:
        return jnp.broadcast_to(x, shape)

    def joined(self, parts: Sequence[Any]) -> Any:
        return parts[0] if len(parts) == 1 else jnp.concatenate(parts, axis=1)

    def placed(self, x: Any, chosen: Sequence[int], at: Sequence[int], rows: int) -> Any:
        found = self.zeros((len(x), rows, x.shape[-1]))
        return found.at[:, np.array(at, int)].set(x[:, np.array(chosen, int)]) if len(at) else found

    def run(self, loop: Repeated, inputs: Mapping[str, Any], wanted: Sequence[str | None], how: Turning) -> Any:
        given = []
        for name in loop.signature.inputs:
            x = inputs[name]
            given.append(jnp.transpose(x, (1, 2, 0)) if name in loop.stepped and x.ndim == 3 else x)
        states, rows = len(inputs[next(iter(loop.carried))]), how.turns // how.every
        shapes: list[tuple[int, ...] | None] = []
        for what, shape in zip(wanted, loop.signature.shapes, strict=True):
            n = math.prod(shape)
            if what in (ROWS, AFTER_START):
                shapes.append((rows + (what == AFTER_START), n, states))
            else:
                shapes.append(None if what is None else (states, n))
        how = how._replace(begins=AFTER_START in wanted)
        found = call_loop(loop, how, given, shapes)
        return [x if x is None or x.ndim == 2 else jnp.transpose(x, (2, 0, 1)) for x in found]
