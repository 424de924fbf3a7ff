"""How runs were made, in words: kept with every run and counted in the table of its chunk; no death loses count."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

BATCHES = "batches of machine code"
ON_CARD = "batches on a graphics card"  # whichever: its number and name are no part of what a chunk says
NOT_DRAWN = "not made: its parameters could not be drawn"
_LONGEST = 400  # characters
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")


def worded(way: str) -> str:
    """A way as it is kept: in one line, and the same in every process, so that the bytes of a chunk are."""
    return "".join(c if c.isprintable() else " " for c in _ADDRESS.sub("0x…", way))[:_LONGEST]


def is_way(x: Any) -> bool:
    """Whether it may be one, of a file that anybody may have written."""
    return isinstance(x, str) and 0 < len(x) <= _LONGEST and x.isprintable()


def counted(runs: Iterable[Iterable[str]]) -> dict[str, int]:
    """Ways of many runs → in how many of them."""
    found: dict[str, int] = {}
    for ways in runs:
        for way in ways:
            found[way] = found.get(way, 0) + 1
    return found


def are_counts(x: Any, runs: int) -> bool:
    """Whether they may be the counts of a chunk of so many runs."""
    return isinstance(x, dict) and all(is_way(way) and type(n) is int and 0 < n <= runs for way, n in x.items())


def add(total: dict[str, int], more: Mapping[str, int]) -> None:
    """Add counts to others."""
    for way, n in more.items():
        total[way] = total.get(way, 0) + n
