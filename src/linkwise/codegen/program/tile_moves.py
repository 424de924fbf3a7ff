"""Instructions that bring states into vectors, one for each number: as many states by as many numbers at a time.

Vectors are four quarters of 16 bytes. A square of numbers is transposed by rounds of exchanges: of neighbours within
quarters, of pairs of them where a quarter has four, then of quarters. They are instructions like a program's own, so
that they can stand between these (:mod:`.overlap`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TypeVar

from .instructions import Instruction

T = TypeVar("T")

_QUARTERS = 4
_EVEN, _ODD = 0x88, 0xDD  # quarters 0 and 2, or 1 and 3, of one vector and then of another


def brought_in(
    array: int, size: int, first: int, to: int, used: Container[int], keys: Iterator[int], lanes: int
) -> list[Instruction]:
    """``size`` numbers each of the states from ``first`` on, as vectors from ``to`` on; those that are used."""
    code: list[Instruction] = []
    for columns in _tiles(size, lanes):
        if any(c in used for c in columns):
            tile = _Tile(keys)
            rows = [tile.row(array, (first + lane) * size + columns.start, len(columns)) for lane in range(lanes)]
            kept = [Instruction("keep", to + c, (key,)) for c, key in zip(columns, tile.transposed(rows)) if c in used]
            code += _needed([*tile.code, *kept])
    return code


def widths(sizes: Iterable[int], lanes: int) -> list[int]:
    """How many numbers tiles have that are not full."""
    return sorted({size % lanes for size in sizes if size % lanes})


def _tiles(size: int, lanes: int) -> Iterator[range]:
    return (range(c, min(c + lanes, size)) for c in range(0, size, lanes))


class _Tile:
    """The rounds of one transpose."""

    def __init__(self, keys: Iterator[int]) -> None:
        self.keys = keys
        self.code: list[Instruction] = []

    def row(self, array: int, place: int, width: int) -> int:
        """Numbers of one state, from ``place`` on in its array."""
        return self._made("row", (), (array, place, width))

    def transposed(self, rows: Sequence[int]) -> list[int]:
        """The keys of the columns."""
        within = len(rows) // _QUARTERS
        groups, together = [[row] for row in rows], 1
        while together < within:  # groups of rows, each with that many columns of every quarter
            groups = [self._interleaved(a, b, together) for a, b in _in_twos(groups)]
            together *= 2
        columns = [self._by_quarter([group[c] for group in groups]) for c in range(within)]
        return [columns[c][quarter] for quarter in range(_QUARTERS) for c in range(within)]

    def _interleaved(self, first: Sequence[int], second: Sequence[int], together: int) -> list[int]:
        """Of two groups one with twice the columns: their numbers in turns, so many at a time."""
        ops = ("unpack_low", "unpack_high")
        return [self._made(op, two, (together,)) for two in zip(first, second) for op in ops]

    def _by_quarter(self, four: Sequence[int]) -> list[int]:
        """Each quarter of four vectors, one after another."""
        (even, odd), (even_2, odd_2) = (self._quarters(two) for two in _in_twos(four))
        (zero, two), (one, three) = self._quarters((even, even_2)), self._quarters((odd, odd_2))
        return [zero, one, two, three]

    def _quarters(self, two: tuple[int, int]) -> tuple[int, int]:
        return self._made("quarters", two, (_EVEN,)), self._made("quarters", two, (_ODD,))

    def _made(self, op: str, operands: tuple[int, ...], how: tuple[int, ...] = ()) -> int:
        key = next(self.keys)
        self.code.append(Instruction(op, key, operands, how))
        return key


def _in_twos(rows: Sequence[T]) -> list[tuple[T, T]]:
    return list(zip(rows[::2], rows[1::2]))


def _needed(code: Sequence[Instruction]) -> list[Instruction]:
    """Without what nothing uses."""
    used: set[int] = set()
    kept = []
    for x in reversed(code):
        if x.op == "keep" or x.value in used:
            used.update(x.operands)
            kept.append(x)
    return kept[::-1]
