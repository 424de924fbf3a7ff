"""A program that is repeated on arrays in a card's memory: one launch for all states and all turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..thresholds import CUDA_TURNS_KEPT, CUDA_TURNS_SPILL
from .driver import Loaded, shared_bytes
from .launch import launch, squeezed
from .repeat_text import RepeatText, repeat_text
from .turns import Lying

_NOWHERE = Lying(0, 0, 0, 0)


class Turning(NamedTuple):
    """How often a program is repeated, after how many turns each its results are written, whether what is carried is
    written before the first one too, and whether rows are gone through from the last to the first."""

    turns: int
    every: int
    begins: bool = False
    backwards: bool = False


class DeviceRepeat:
    """The machine code of a repeated program, for the precisions and devices that were asked for so far."""

    def __init__(self, kernel: Any, carried: Mapping[str, int], stepped: frozenset[str]) -> None:
        self._kernel, self._carried, self._stepped = kernel, dict(carried), stepped
        self._loaded: dict[tuple[str, int], tuple[Loaded, RepeatText]] = {}

    def texts(self, dtype: str, room: int) -> Iterator[RepeatText]:
        """The texts for a precision in the order in which they are tried, where a block has so many bytes of shared
        memory."""
        for registers in CUDA_TURNS_KEPT[dtype]:
            yield repeat_text(self._kernel.program, dtype, self._carried, self._stepped, registers, room)

    def loaded(self, dtype: str, device: int) -> tuple[Loaded, RepeatText]:
        key = dtype, device
        if key not in self._loaded:
            for text in self.texts(dtype, shared_bytes(device)):
                self._loaded[key] = squeezed(text, device)
                if self._loaded[key][0].local_bytes <= CUDA_TURNS_SPILL:
                    break
        return self._loaded[key]

    def words(
        self, states: int, how: Turning, inputs: Sequence[Lying], outputs: Sequence[Lying | None], dtype: str
    ) -> list[int]:
        """The arguments of a launch. Inputs that are new at every turn and outputs have a stride from row to row, which
        is none for what the last turn gives alone; outputs that nobody wants are None."""
        size = np.dtype(dtype).itemsize
        found = [states, how.turns, how.every, int(how.begins)]
        rows = how.turns // how.every
        for name, x in zip(self._kernel.signature.inputs, inputs, strict=True):
            found += (_turned(x, how.turns, size) if how.backwards and name in self._stepped else x).words
        for y in outputs:
            y = _NOWHERE if y is None else y
            found += (_turned(y, rows, size) if how.backwards else y).words
        return found

    def run(
        self,
        states: int,
        how: Turning,
        inputs: Sequence[Lying],
        outputs: Sequence[Lying | None],
        dtype: str,
        device: int,
        stream: int,
    ) -> None:
        """Put the work on a stream."""
        if states == 0:
            return
        kernel, text = self.loaded(dtype, device)
        launch(kernel, text, self.words(states, how, inputs, outputs, dtype), stream)


def _turned(x: Lying, rows: int, size: int) -> Lying:
    """The same from the last row to the first."""
    if not x.rows:
        return x
    return Lying(x.address + (rows - 1) * x.rows * size, x.between, x.within, -x.rows)
