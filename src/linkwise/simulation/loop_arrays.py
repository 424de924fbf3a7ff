"""What loops over steps ask of the arrays they run on: NumPy's, by machine code, or tensors on a graphics card.

On a card a turn of a loop is one kernel, and the loop is Python's. Nobody looks at the values there: where a matrix
that is inverted is singular, a state is NaN from then on. Arrays (states, turns, n) lie turn by turn, so that the rows
of a turn are read and written side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..codegen.cuda.launch import Placed
from ..codegen.program.repeat import Repeated


@dataclass(frozen=True, eq=False)
class Last:
    """An array (states, n) for what comes out of a loop's last turn alone."""

    array: Any


class Turning(NamedTuple):
    """How a loop is run: how often, of which turns samples are kept, and whether from the last row to the first."""

    turns: int
    every: int
    threads: int | None
    backwards: bool


class HostArrays:
    """NumPy's arrays."""

    def __init__(self, like: np.ndarray) -> None:
        self.dtype = like.dtype

    def zeros(self, shape: tuple[int, ...]) -> Any:
        return np.zeros(shape, self.dtype)

    def empty(self, shape: tuple[int, ...]) -> Any:
        return np.empty(shape, self.dtype)

    def array(self, x: Any) -> Any:
        """Numbers in the precision of the motion."""
        return np.asarray(x).astype(self.dtype, copy=False)

    def repeated(self, x: Any, turns: int) -> Any:
        """Every row so many times, one after the other."""
        return np.repeat(x, turns, axis=-2)

    def after_start(self, start: Any, rows: Any) -> Any:
        """Rows with one before them."""
        return np.concatenate([start[:, None], rows], axis=1)

    def spread(self, x: Any, shape: tuple[int, ...]) -> Any:
        return np.broadcast_to(x, shape)

    def run(self, loop: Repeated, inputs: Mapping[str, Any], out: Sequence[Any], how: Turning) -> bool:
        """Run a loop; whether all its turns were sound."""
        turned = slice(None, None, -1 if how.backwards else 1)
        given = {x: y[..., turned, :] if x in loop.stepped else y for x, y in inputs.items()}
        rows = [_last_row(x.array, how.turns // how.every) if isinstance(x, Last) else x[:, turned] for x in out]
        return loop.run(given, how.turns, how.every, how.threads, rows)[1]


def _last_row(x: np.ndarray, rows: int) -> np.ndarray:
    """(states, rows, n), all of whose rows are the same memory, of which the last that is written stays."""
    return np.lib.stride_tricks.as_strided(x, (len(x), rows, x.shape[-1]), (x.strides[0], 0, x.strides[-1]))


class CardTensors:
    """Tensors of PyTorch on a card."""

    def __init__(self, like: Any) -> None:
        import torch

        self._torch, self._like = torch, like

    def zeros(self, shape: tuple[int, ...]) -> Any:
        return self.empty(shape).zero_()

    def empty(self, shape: tuple[int, ...]) -> Any:
        if len(shape) == 3:
            return self._like.new_empty((shape[1], shape[0], shape[2])).transpose(0, 1)
        return self._like.new_empty(shape)

    def array(self, x: Any) -> Any:
        return self._torch.as_tensor(x, dtype=self._like.dtype, device=self._like.device)

    def repeated(self, x: Any, turns: int) -> Any:
        return np.repeat(x, turns, axis=-2) if isinstance(x, np.ndarray) else x.repeat_interleave(turns, dim=-2)

    def after_start(self, start: Any, rows: Any) -> Any:
        found = self.empty((len(start), 1 + rows.shape[1], start.shape[-1]))
        found[:, 0], found[:, 1:] = start, rows
        return found

    def spread(self, x: Any, shape: tuple[int, ...]) -> Any:
        return x.expand(shape)

    def run(self, loop: Repeated, inputs: Mapping[str, Any], out: Sequence[Any], how: Turning) -> bool:
        turns, every, backwards = how.turns, how.every, how.backwards
        names = loop.signature.inputs
        given = {x: self._lying(inputs[x], x in loop.stepped) for x in names}
        now = {x: given[x] for x in loop.carried}
        states = len(inputs[next(iter(loop.carried))])
        spare = [[self.empty((states, n)) for n in map(int, map(np.prod, loop.signature.shapes))] for _ in range(2)]
        for turn in range(turns):
            row = turns - 1 - turn if backwards else turn
            taken = [now[x] if x in now else given[x][..., row, :] if x in loop.stepped else given[x] for x in names]
            sample = (turns - 1 - turn if backwards else turn) // every
            kept = (turn + 1) % every == 0
            found = [spare[turn % 2][i] if isinstance(x, Last) or not kept else x[:, sample] for i, x in enumerate(out)]
            self.call(loop, taken, found, states)
            now = {x: found[i] for x, i in loop.carried.items()}
            if turn + 1 == turns:
                for x, y in zip(out, found):
                    if isinstance(x, Last):
                        x.array.copy_(y)
        return True

    def _lying(self, x: Any, stepped: bool) -> Any:
        """The same numbers, one turn's rows side by side."""
        if stepped and x.ndim == 3:
            return x.transpose(0, 1).contiguous().transpose(0, 1)
        return x.contiguous()

    def call(self, loop: Repeated, inputs: Sequence[Any], outputs: Sequence[Any], states: int) -> None:
        """One turn for all states."""
        device = self._like.device.index
        placed = [Placed(x.data_ptr(), 0 if x.ndim == 1 else x.stride(0), 1) for x in (*inputs, *outputs)]
        name = "float32" if self._like.dtype == self._torch.float32 else "float64"
        stream = self._torch.cuda.current_stream(device).cuda_stream
        loop.on_device.run(placed, states, name, device, int(stream))


def arrays_like(x: Any) -> HostArrays | CardTensors:
    """What loops ask, of arrays of this kind."""
    return HostArrays(x) if isinstance(x, np.ndarray) else CardTensors(x)
