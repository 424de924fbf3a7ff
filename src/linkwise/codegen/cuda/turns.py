"""A loop over turns on arrays in a card's memory: one launch for all states and all turns."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..program.turns import Turns
from .driver import Loaded
from .launch import launch, squeezed
from .turns_text import TurnsText

_WORD = 0xFFFFFFFFFFFFFFFF


@dataclass(frozen=True)
class Lying:
    """An array in a card's memory; strides are in numbers: from state to state, within one, and from turn to turn."""

    address: int
    between: int
    within: int = 1
    rows: int | None = None

    @property
    def words(self) -> list[int]:
        strides = [self.between, self.within] + ([] if self.rows is None else [self.rows])
        return [self.address, *(x & _WORD for x in strides)]

    @property
    def with_rows(self) -> Lying:
        """The same with a stride from turn to turn, none where there is one turn alone."""
        return self if self.rows is not None else replace(self, rows=0)


@dataclass(frozen=True)
class Span:
    """How many turns, how often states are written, the number of the first turn, and how long a turn is in time."""

    turns: int
    every: int
    begun: int
    length: float


class DeviceTurns:
    """The machine code of a loop, for the precisions and devices that were asked for so far."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self._loaded: dict[tuple[str, bool, bool, int], tuple[Loaded, TurnsText]] = {}

    def loaded(self, dtype: str, table: bool, noise: bool, device: int) -> tuple[Loaded, TurnsText]:
        key = dtype, table, noise, device
        if key not in self._loaded:
            self._loaded[key] = squeezed(TurnsText(self.turns, dtype, table, noise), device)
        return self._loaded[key]

    def run(
        self,
        count: int,
        span: Span,
        inputs: Mapping[str, Lying],
        outputs: Sequence[Lying],
        table: Lying | None,
        noise: tuple[int, int] | None,
        dtype: str,
        device: int,
        stream: int,
    ) -> None:
        """Put the work on a stream: what is carried at the start and the constants by name; what is carried, written at
        the start and after every so many turns; joint forces; (seed, where the deviations lie) of random ones."""
        if count == 0:
            return
        kernel, text = self.loaded(dtype, table is not None, noise is not None, device)
        words = [count, span.turns, span.every, span.begun & _WORD, *_bits(span.length)]
        for name in (*self.turns.carried, *self.turns.constants):
            words += inputs[name].words
        words += [] if table is None else table.words
        words += [] if noise is None else list(noise)
        for out in outputs:
            words += out.words
        launch(kernel, text, words, stream)


def _bits(x: float) -> tuple[int, ...]:
    """A number of 64 bits as a word."""
    found: tuple[int, ...] = struct.unpack("<Q", struct.pack("<d", x))
    return found
