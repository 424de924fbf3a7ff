"""Blocks of states as square tiles: state by state in the caller's arrays, number by number in scratch."""

from __future__ import annotations

from dataclasses import dataclass

from .sine_cosine import VectorType

_QUARTER = 16  # bytes within which numbers change places most easily


def transposed(names: list[str], t: VectorType, tag: str) -> tuple[list[str], list[str]]:
    """lanes × lanes transpose of vectors by log₂(lanes) rounds of shuffles.

    Vectors are quarters of 16 bytes side by side, as processors have them. First numbers of neighbouring rows change
    places within quarters, for which there are instructions without a table of places; then quarters do.
    """
    square = _Square(t, tag, [])
    within = min(t.lanes, _QUARTER // t.size)
    rows, together = list(names), 1
    while together < within:
        rows = square.interleaved(rows, within, together)
        together *= 2
    columns = [""] * t.lanes
    for c in range(within):
        for quarter, name in square.by_quarter(rows[c::within], within):
            columns[quarter * within + c] = name
    return columns, square.lines


@dataclass
class _Square:
    """The rounds of one transpose."""

    t: VectorType
    tag: str
    lines: list[str]

    def interleaved(self, rows: list[str], within: int, together: int) -> list[str]:
        """Of rows that are ``together`` apart: the first halves of their quarters in turns, and the second ones."""
        made = []
        for first in range(0, len(rows), 2 * together):
            for a, b in zip(rows[first : first + together], rows[first + together :]):
                for half in (0, within // 2):
                    runs = [
                        quarter + half + at
                        for quarter in range(0, self.t.lanes, within)
                        for at in range(0, within // 2, together)
                    ]
                    picks = [x + i for run in runs for x in (run, run + self.t.lanes) for i in range(together)]
                    made.append(self._shuffle(a, b, picks))
        return made

    def by_quarter(self, rows: list[str], within: int) -> list[tuple[int, str]]:
        """(quarter, that quarter of all rows one after another), as many as there are rows."""
        if len(rows) == 1:
            return [(0, rows[0])]
        found = []
        for odd in (0, 1):  # the even quarters of neighbours, or the odd ones, in one vector
            firsts = [x + q for x in (0, self.t.lanes) for q in range(odd * within, self.t.lanes, 2 * within)]
            picks = [first + i for first in firsts for i in range(within)]
            halves = [self._shuffle(a, b, picks) for a, b in zip(rows[::2], rows[1::2])]
            found += [(2 * q + odd, name) for q, name in self.by_quarter(halves, within)]
        return found

    def _shuffle(self, a: str, b: str, picks: list[int]) -> str:
        v, name = self.t.name, f"%{self.tag}{len(self.lines)}"
        mask = ", ".join(f"i32 {p}" for p in picks)
        self.lines.append(f"  {name} = shufflevector {v} {a}, {v} {b}, <{self.t.lanes} x i32> <{mask}>")
        return name


def tile_of_places(t: VectorType, k: int, tag: str, column: str, columns: int) -> tuple[list[str], list[str]]:
    """(the rows of each lane, the lines that make them) of ``columns`` numbers from ``column`` on."""
    lines = []
    for i in range(columns):
        lines += [
            f"  %{tag}c{i} = add i64 {column}, {i}",
            f"  %{tag}q{i} = getelementptr i64, ptr @lw_places{k}, i64 %{tag}c{i}",
            f"  %{tag}d{i} = load i64, ptr %{tag}q{i}",
            f"  %{tag}from{i} = getelementptr {t.scalar}, ptr %src, i64 %{tag}d{i}",
            f"  %{tag}x{i} = load {t.name}, ptr %{tag}from{i}, align {t.alignment}",
        ]
    names = [f"%{tag}x{i}" if i < columns else "zeroinitializer" for i in range(t.lanes)]
    rows, shuffles = transposed(names, t, f"{tag}t")
    return rows, lines + shuffles
