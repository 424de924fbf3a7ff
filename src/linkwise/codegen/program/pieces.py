"""A long program cut into pieces: each a function of bounded length, with a frame of memory for what they hand on.

LLVM takes more than twice as long for code of twice the length, and what does not fit into registers it moves to the
stack and back in an order of its own. Cut into pieces, code takes a time in proportion to its length; what a later
piece needs is stored once, in a slot of the frame that is free again after its last use, and all else lives and dies
within its piece. Results are the same to the last digit: nothing is computed otherwise, and a product stays with the
sum that alone uses it, into which LLVM fuses it.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from ...symbols.scalar import Scalar
from .. import thresholds
from .fusion import together
from .trace import Program


@dataclass(frozen=True, eq=False)
class Pieces:
    """The values of a program piece by piece, and which of them stand in which slot of the frame in between."""

    parts: list[list[Scalar]]
    guarded: list[Scalar]  # what guards look at in the end
    slots: dict[int, int]  # id of a value that a later piece uses → its slot
    size: int  # slots of the frame


def is_long(program: Program) -> bool:
    """Whether a program becomes code in pieces."""
    return len(program.nodes) > thresholds.PIECES_FROM


def pieces(program: Program) -> Pieces:
    """The program cut where few values wait: asked for once for the module's text and once for its memory."""
    return program.once(_pieces)


def _pieces(program: Program) -> Pieces:
    guarded = [x for guard in program.guards for x in guard.nodes]
    groups = together(program.nodes, program.uses)
    parts = _cut(groups, _waiting(groups, guarded), thresholds.PIECE)
    slots, size = _frame(parts, guarded)
    return Pieces(parts, guarded, slots, size)


def _waiting(groups: Sequence[Sequence[Scalar]], guarded: Sequence[Scalar]) -> list[int]:
    """Before each group, and after the last, how many of the values computed earlier are needed later.

    Inputs can be read at any time, and do not count.
    """
    last: dict[int, int] = {}
    for i, group in enumerate(groups):
        last |= {id(a): i for x in group for a in x.args if isinstance(a, Scalar)}
    last |= dict.fromkeys(map(id, guarded), len(groups))
    change = [0] * (len(groups) + 2)
    for i, group in enumerate(groups):
        for x in group:
            if x.op != "input" and last.get(id(x), i) > i:
                change[i + 1] += 1
                change[last[id(x)] + 1] -= 1
    return list(accumulate(change[: len(groups) + 1]))


def _cut(groups: Sequence[Sequence[Scalar]], waiting: Sequence[int], length: int) -> list[list[Scalar]]:
    """Parts of about ``length`` values, cut at the places near there where the fewest wait."""
    ends = list(accumulate(map(len, groups)))
    cuts, total = [0], ends[-1] if ends else 0
    while total - (begun := ends[cuts[-1] - 1] if cuts[-1] else 0) > length + length // 2:
        first = bisect_left(ends, begun + length - length // 3, cuts[-1])
        last = bisect_left(ends, begun + length + length // 3, first)
        cuts.append(1 + min(range(first, last + 1), key=lambda i: waiting[i + 1]))
    return [[x for group in groups[a:b] for x in group] for a, b in pairwise([*cuts, len(groups)])]


def _frame(parts: Sequence[Sequence[Scalar]], guarded: Sequence[Scalar]) -> tuple[dict[int, int], int]:
    """By value that a later piece uses, its slot; and how many slots there are."""
    until: dict[int, int] = {}
    for i, part in enumerate(parts):
        until |= {id(a): i for x in part for a in x.args if isinstance(a, Scalar)}
    until |= dict.fromkeys(map(id, guarded), len(parts))
    slots: dict[int, int] = {}
    free: list[int] = []
    read_last: dict[int, list[int]] = {}  # slots by the piece in which they are
    size = 0
    for i, part in enumerate(parts):
        for slot in read_last.pop(i - 1, []):
            heapq.heappush(free, slot)
        for x in part:
            if until.get(id(x), i) > i and x.op != "input":
                slot = heapq.heappop(free) if free else size
                size = max(size, slot + 1)
                slots[id(x)] = slot
                read_last.setdefault(until[id(x)], []).append(slot)
    return slots, size
