"""A progress bar on the terminal; silent everywhere else."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

_PATIENCE = 1.0  # [s] of work before a bar is worth showing
_WIDTH = 30


class Progress:
    """A bar for work of known length: ``with Progress(n, "steps") as bar: bar.advance(k)``.

    ``show`` None shows it on a terminal, once the work has taken a second; True at once; False never.
    """

    def __init__(self, total: int, unit: str, show: bool | None = None, stream: Any = None, done: int = 0) -> None:
        self.total, self.unit, self.done, self._before = total, unit, done, done
        self._stream = sys.stderr if stream is None else stream
        terminal = bool(getattr(self._stream, "isatty", lambda: False)())
        self._on = terminal if show is None else show
        self._start = self._last = time.monotonic()
        self._patience = 0.0 if show else _PATIENCE
        self._shown = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._draw()
            self._stream.write("\n")
            self._stream.flush()

    def advance(self, done: int) -> None:
        """Another ``done`` units are done."""
        self.done += done
        now = time.monotonic()
        if self._on and now - self._start >= self._patience and (now - self._last >= 0.1 or not self._shown):
            self._last = now
            self._draw()

    def _draw(self) -> None:
        self._shown = True
        part = self.done / self.total if self.total else 1.0
        spent = time.monotonic() - self._start
        new = self.done - self._before  # what an earlier run has done says nothing about this one's pace
        left = f"{spent / new * (self.total - self.done):.0f} s left" if new and part < 1 else f"{spent:.1f} s"
        bar = "#" * int(_WIDTH * part) + "." * (_WIDTH - int(_WIDTH * part))
        self._stream.write(f"\r[{bar}] {100 * part:3.0f} %  {self.done}/{self.total} {self.unit}  {left}   ")
        self._stream.flush()
