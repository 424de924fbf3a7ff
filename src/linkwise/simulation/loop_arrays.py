"""What loops over steps ask of the arrays they run on: NumPy's, by machine code, or arrays on a graphics card, of CuPy,
PyTorch or JAX, where a loop is one kernel.

Nobody looks at the values on a card: where a matrix that is inverted is singular, a state is NaN from then on. Arrays
(states, turns, n) that loops give lie there with each number of all states side by side.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from .. import array_kinds
from ..codegen.cuda.repeats import Turning
from ..codegen.program.repeat import Repeated
from .cards import Card

# What is wanted of an output of a loop; None is nothing.
ROWS, AFTER_START, LAST = "rows", "after start", "last"  # (states, rows, n), one row more before them, (states, n)


class LoopArrays(Protocol):
    """Arrays of one library, device and precision."""

    def zeros(self, shape: tuple[int, ...]) -> Any: ...

    def array(self, x: Any) -> Any:
        """Numbers in the precision of the motion."""
        ...

    def repeated(self, x: Any, turns: int) -> Any:
        """Every row so many times, one after the other."""
        ...

    def spread(self, x: Any, shape: tuple[int, ...]) -> Any: ...

    def joined(self, parts: Sequence[Any]) -> Any:
        """Rows after rows, (states, rows, n)."""
        ...

    def placed(self, x: Any, chosen: Sequence[int], at: Sequence[int], rows: int) -> Any:
        """Rows of which those ``at`` these places are the ``chosen`` ones of x, and all others zero."""
        ...

    def run(self, loop: Repeated, inputs: Mapping[str, Any], wanted: Sequence[str | None], how: Turning) -> Any:
        """What is wanted of the outputs, in their order; None where a turn was not sound."""
        ...


class HostArrays:
    """NumPy's arrays."""

    def __init__(self, like: np.ndarray, threads: int | None) -> None:
        self.dtype, self.threads = like.dtype, threads

    def zeros(self, shape: tuple[int, ...]) -> Any:
        return np.zeros(shape, self.dtype)

    def array(self, x: Any) -> Any:
        return np.asarray(x).astype(self.dtype, copy=False)

    def repeated(self, x: Any, turns: int) -> Any:
        return np.repeat(x, turns, axis=-2)

    def spread(self, x: Any, shape: tuple[int, ...]) -> Any:
        return np.broadcast_to(x, shape)

    def joined(self, parts: Sequence[Any]) -> Any:
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def placed(self, x: Any, chosen: Sequence[int], at: Sequence[int], rows: int) -> Any:
        found = self.zeros((len(x), rows, x.shape[-1]))
        found[:, at] = x[:, chosen]
        return found

    def run(self, loop: Repeated, inputs: Mapping[str, Any], wanted: Sequence[str | None], how: Turning) -> Any:
        turned = slice(None, None, -1 if how.backwards else 1)
        given = {x: y[..., turned, :] if x in loop.stepped else y for x, y in inputs.items()}
        start = {k: inputs[x] for x, k in loop.carried.items()}
        states, rows = len(next(iter(start.values()))), how.turns // how.every
        found: list[Any] = []
        places = []
        for k, (what, shape) in enumerate(zip(wanted, loop.signature.shapes, strict=True)):
            n = math.prod(shape)
            if what in (ROWS, AFTER_START):
                before = int(what == AFTER_START)
                found.append(np.empty((states, before + rows, n), self.dtype))
                found[-1][:, :before] = start[k][:, None] if before else 0.0
                places.append(found[-1][:, before:][:, turned])
            else:
                last = np.empty((states, n), self.dtype)
                found.append(last)
                places.append(_last_row(last, rows))
        return found if loop.run(given, how.turns, how.every, self.threads, places)[1] else None


def _last_row(x: np.ndarray, rows: int) -> np.ndarray:
    """(states, rows, n), all of whose rows are the same memory, of which the last that is written stays."""
    return np.lib.stride_tricks.as_strided(x, (len(x), rows, x.shape[-1]), (x.strides[0], 0, x.strides[-1]))


class CardArrays:
    """Arrays of CuPy, or tensors of PyTorch, on a card."""

    def __init__(self, like: Any) -> None:
        self.card = Card(like, "float32" if str(like.dtype).endswith("float32") else "float64")

    def zeros(self, shape: tuple[int, ...]) -> Any:
        if len(shape) != 3:
            return self.card.zeros(shape)
        return self._by_number(self.card.zeros((shape[1], shape[2], shape[0])))

    def array(self, x: Any) -> Any:
        return self.card.array(x)

    def repeated(self, x: Any, turns: int) -> Any:
        return np.repeat(x, turns, axis=-2) if isinstance(x, np.ndarray) else self.card.repeated(x, turns)

    def spread(self, x: Any, shape: tuple[int, ...]) -> Any:
        return self.card.spread(x, shape)

    def joined(self, parts: Sequence[Any]) -> Any:
        return parts[0] if len(parts) == 1 else self.card.joined(parts, 1)

    def placed(self, x: Any, chosen: Sequence[int], at: Sequence[int], rows: int) -> Any:
        found = self.zeros((len(x), rows, x.shape[-1]))
        if at:
            found[:, list(at)] = x[:, list(chosen)]
        return found

    def run(self, loop: Repeated, inputs: Mapping[str, Any], wanted: Sequence[str | None], how: Turning) -> Any:
        card, given = self.card, [(x, inputs[x]) for x in loop.signature.inputs]
        states, rows = len(inputs[next(iter(loop.carried))]), how.turns // how.every
        found: list[Any] = []
        for what, shape in zip(wanted, loop.signature.shapes, strict=True):
            n = math.prod(shape)
            if what in (ROWS, AFTER_START):
                found.append(self._by_number(card.empty((rows + (what == AFTER_START), n, states))))
            else:
                found.append(None if what is None else card.empty((states, n)))
        begins = AFTER_START in wanted
        lying = [card.lying(x, rows=name in loop.stepped) for name, x in given]
        out = [None if y is None else card.lying(y, rows=y.ndim == 3) for y in found]
        self.launch(loop, states, how._replace(begins=begins), lying, [y and y.with_rows for y in out])
        return found

    def _by_number(self, x: Any) -> Any:
        """(rows, n, states) as (states, rows, n)."""
        return x.permute(2, 0, 1) if self.card.library == "torch" else x.transpose(2, 0, 1)

    def launch(self, loop: Repeated, states: int, how: Turning, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        card = self.card
        loop.on_device.run(states, how, inputs, outputs, card.dtype, card.device, card.stream)


def arrays_like(x: Any, threads: int | None = None) -> LoopArrays:
    """What loops ask, of arrays of this kind; those of NumPy run on so many ``threads``."""
    if isinstance(x, np.ndarray):
        return HostArrays(x, threads)
    if array_kinds.library(x) == "jax":
        from .loop_arrays_of_jax import JaxArrays

        return JaxArrays(x)
    return CardArrays(x)
