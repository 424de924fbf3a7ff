"""What a command is, and where what it finds goes: words for people, or one JSON object for programs."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .terminal_text import painted

OK, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


@dataclass
class Output:
    """Where a command puts what it has to say; with ``--json`` only its data is printed."""

    json: bool = False
    data: dict[str, Any] = field(default_factory=dict)

    def say(self, text: str = "") -> None:
        """Words for people."""
        if not self.json:
            print(text)

    def table(self, rows: Sequence[Sequence[str]], right: Sequence[int] = (), heading: bool = True) -> None:
        """Rows in columns, the first being the heading; the columns in ``right`` end together."""
        for i, line in enumerate(aligned(rows, right)):
            self.say(painted(line, "bold") if i == 0 and heading else line)

    def give(self, **data: Any) -> None:
        """Data for programs."""
        self.data.update(data)

    def finish(self) -> None:
        """Print the data, where that is what was asked for."""
        if self.json:
            print(to_json(self.data))


@dataclass(frozen=True)
class Command:
    """A subcommand. ``run`` gives an exit code, or None for 0; ``own_json`` where it has its own ``--json``."""

    name: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Output], int | None]
    examples: str = ""
    own_json: bool = False


def to_json(data: Any) -> str:
    """Data as JSON; numbers that are not finite, which JSON lacks, become null."""
    return json.dumps(plain(data), indent=2, ensure_ascii=False, allow_nan=False)


def plain(x: Any) -> Any:
    """Arrays as lists, numbers of NumPy as Python's, what is not finite as None."""
    if isinstance(x, Mapping):
        return {str(k): plain(v) for k, v in x.items()}
    if isinstance(x, np.ndarray):
        return plain(x.tolist())
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    if isinstance(x, (np.bool_, np.integer)):
        return x.item()
    if isinstance(x, complex):
        return {"real": plain(x.real), "imag": plain(x.imag)}
    if isinstance(x, (float, np.floating)):
        return float(x) if math.isfinite(x) else None
    return x


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Rows as lines with aligned columns, two blanks between them."""
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [x.rjust(w) if i in right else x.ljust(w) for i, (x, w) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return lines


def number(x: float, digits: int = 4) -> str:
    """A number for a table; nothing for one that is not finite."""
    return f"{x + 0.0:.{digits}g}" if math.isfinite(x) else "–"  # + 0.0: no minus before a zero
