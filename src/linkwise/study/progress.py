"""What is seen of a study while it runs: done, failed, rate, time left, and what the estimates are so far."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .chunks import Summary
from .places import Place
from .ways import add

if TYPE_CHECKING:
    from .study import Study

_BETWEEN = 0.2  # [s]
_SHOWN = 3  # estimates


class StudyProgress:
    """Called with the summary of every chunk; shows a line on terminals, or where it is asked to.

    Counts and estimates are of all runs that are there, also those that were ``known`` before; the rate is this call's.
    """

    def __init__(
        self,
        study: Study,
        place: Place,
        todo: list[int],
        show: bool | None,
        known: Sequence[Summary] = (),
        stream: Any = None,
    ) -> None:
        self.samples = study.samples
        self.left = sum(b - a for a, b in map(study.chunk_runs, todo))
        self.stream = sys.stderr if stream is None else stream
        terminal = bool(getattr(self.stream, "isatty", lambda: False)())
        self.on = terminal if show is None else show
        self.statuses: dict[str, int] = {}
        self.sums: dict[str, tuple[int, float, float]] = {}
        self.ways: dict[str, int] = {}  # how runs were made → how many
        self.made, self.began, self.last = 0, time.monotonic(), 0.0
        self.url = str(place)
        for before in known:
            self._add(before)
        if self.on and self.left:
            self._draw()

    def __call__(self, done: Summary) -> None:
        self.made += done.runs
        self._add(done)
        if self.on and time.monotonic() - self.last > _BETWEEN:
            self._draw()

    def _add(self, done: Summary) -> None:
        for status, count in done.statuses.items():
            self.statuses[status] = self.statuses.get(status, 0) + count
        add(self.ways, done.ways)
        for name, (n, total, squares) in done.sums.items():
            a, b, c = self.sums.get(name, (0, 0.0, 0.0))
            self.sums[name] = (a + n, b + total, c + squares)

    @property
    def failed(self) -> int:
        """Runs that ended otherwise than done."""
        return sum(self.statuses.values()) - self.statuses.get("done", 0)

    def line(self) -> str:
        """All of it in one line."""
        spent = time.monotonic() - self.began
        rate = self.made / spent if spent > 0 else 0.0
        remaining = self.left - self.made
        finished = self.samples - remaining
        parts = [
            f"{finished}/{self.samples} runs",
            f"{self.failed} failed",
            f"{rate:.3g}/s" if rate < 999.5 else f"{rate:,.0f}/s",
        ]
        parts.append(f"{duration(remaining / rate)} left" if rate and remaining else duration(spent))
        if slow := sum(n for way, n in self.ways.items() if way.startswith("alone")):
            parts.append(f"{slow} alone")
        for name, (n, total, squares) in list(self.sums.items())[:_SHOWN]:
            if n > 1:
                mean = total / n
                spread = math.sqrt(max(squares / n - mean * mean, 0.0) / n)
                parts.append(f"{name} {mean:.4g} ± {2 * spread:.2g}")
        return "  ".join(parts)

    def _draw(self) -> None:
        self.last = time.monotonic()
        self.stream.write(f"\r{self.line()}\033[K" if self.stream.isatty() else f"{self.line()}\n")
        self.stream.flush()

    def close(self, why: str | None = None) -> None:
        """The last line."""
        if self.on:
            self._draw()
            self.stream.write(f"\n{self.url}: {why}\n" if why else "\n")
            self.stream.flush()


def duration(seconds: float) -> str:
    """A time for people."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172800 else f"{seconds / 86400:.1f} days"
