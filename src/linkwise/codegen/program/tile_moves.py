"""Instructions that bring states into vectors, one for each number: eight states by eight numbers at a time.

A square of numbers is transposed by three rounds of exchanges: of neighbours within quarters of vectors, then of
quarters. They are instructions like a program's own, so that they can stand between these (:mod:`.overlap`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from .instructions import Instruction

LANES = 8  # numbers of a vector: the exchanges are those of eight
_EVEN, _ODD = 0x88, 0xDD  # quarters 0 and 2, or 1 and 3, of one vector and then of another


def brought_in(
    array: int, size: int, first: int, to: int, used: Container[int], keys: Iterator[int]
) -> list[Instruction]:
    """``size`` numbers each of the states from ``first`` on, as vectors from ``to`` on; those that are used."""
    code: list[Instruction] = []
    for columns in _tiles(size):
        if any(c in used for c in columns):
            tile = _Tile(keys)
            rows = [tile.row(array, (first + lane) * size + columns.start, len(columns)) for lane in range(LANES)]
            kept = [Instruction("keep", to + c, (key,)) for c, key in zip(columns, tile.transposed(rows)) if c in used]
            code += _needed([*tile.code, *kept])
    return code


def widths(sizes: Iterable[int]) -> list[int]:
    """How many numbers tiles have that have not eight."""
    return sorted({size % LANES for size in sizes if size % LANES})


def _tiles(size: int) -> Iterator[range]:
    return (range(c, min(c + LANES, size)) for c in range(0, size, LANES))


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
        pairs = [(self._made("unpack_low", x), self._made("unpack_high", x)) for x in _in_twos(rows)]
        columns: dict[int, int] = {}
        for side in (0, 1):
            quarters = [self._quarters(x) for x in _in_twos([pair[side] for pair in pairs])]
            for odd in (0, 1):
                first, last = self._quarters((quarters[0][odd], quarters[1][odd]))
                columns[2 * odd + side], columns[4 + 2 * odd + side] = first, last
        return [columns[c] for c in range(LANES)]

    def _quarters(self, two: tuple[int, int]) -> tuple[int, int]:
        return self._made("quarters", two, (_EVEN,)), self._made("quarters", two, (_ODD,))

    def _made(self, op: str, operands: tuple[int, ...], how: tuple[int, ...] = ()) -> int:
        key = next(self.keys)
        self.code.append(Instruction(op, key, operands, how))
        return key


def _in_twos(rows: Sequence[int]) -> list[tuple[int, int]]:
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
