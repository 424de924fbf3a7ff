"""Progress of long work, on terminals and in notebooks; silent everywhere else."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any

_PATIENCE = 1.0  # [s] of work before it is worth showing
_WIDTH = 30


class Progress:
    """A bar for work of known length: ``with Progress(n, "steps") as bar: bar.advance(k)``.

    ``show`` None shows it on a terminal or in a notebook, once the work has taken a second; True at once; False never.
    """

    def __init__(self, total: int, unit: str, show: bool | None = None, stream: Any = None, done: int = 0) -> None:
        self.total, self.unit, self.done, self._before = total, unit, done, done
        self._line = Line(stream)
        self._on = self._line.is_watched if show is None else show
        self._start = self._last = time.monotonic()
        self._waited = _Waiting.seconds
        self._patience = 0.0 if show else _PATIENCE

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._line.is_shown:
            self._draw()
            self._line.end()

    def advance(self, done: int) -> None:
        """Another ``done`` units are done."""
        self.done += done
        now = time.monotonic()
        due = now - self._start >= self._patience and (now - self._last >= 0.1 or not self._line.is_shown)
        if self._on and due and not _Waiting.is_shown:
            self._last = now
            self._draw()

    def _draw(self) -> None:
        part = self.done / self.total if self.total else 1.0
        # Compiling is no measure of the pace, and not what is being timed.
        spent = max(time.monotonic() - self._start - (_Waiting.seconds - self._waited), 0.0)
        new = self.done - self._before  # what an earlier run has done says nothing about this one's pace
        left = f"{spent / new * (self.total - self.done):.0f} s left" if new and part < 1 else f"{spent:.1f} s"
        bar = "#" * int(_WIDTH * part) + "." * (_WIDTH - int(_WIDTH * part))
        self._line.show(f"[{bar}] {100 * part:3.0f} %  {self.done}/{self.total} {self.unit}  {left}   ")


class Line:
    """One line that is written again and again: at the end of a terminal, or below the cell of a notebook."""

    def __init__(self, stream: Any = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._notebook = _notebook() if stream is None else None
        self._cell: Any = None
        self.is_shown = False

    @property
    def is_watched(self) -> bool:
        """Whether anyone sees it: on a terminal or in a notebook."""
        return self._notebook is not None or bool(getattr(self._stream, "isatty", lambda: False)())

    def show(self, words: str) -> None:
        """Put these words in the place of those before."""
        self.is_shown = True
        if self._notebook is None:
            self._stream.write(f"\r{words}")
            self._stream.flush()
        elif self._cell is None:
            self._cell = self._notebook({"text/plain": words}, raw=True, display_id=True)
        else:
            self._cell.update({"text/plain": words}, raw=True)

    def end(self) -> None:
        """Leave the words where they are."""
        if self.is_shown and self._notebook is None:
            self._stream.write("\n")
            self._stream.flush()

    def erase(self) -> None:
        """Leave nothing behind."""
        if self.is_shown:
            self.show("" if self._notebook is not None else "\033[K")
            self.is_shown = False


def in_notebook() -> bool:
    """Whether this runs in the kernel of a notebook."""
    return _notebook() is not None


def _notebook() -> Any:
    """IPython's ``display`` where this runs in a notebook's kernel, or None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    return ipython.display.display if ipython is not None else None


# --- work of unknown length ------------------------------------------------------------------------------


class _Waiting(threading.Thread):
    """Says what is being waited for and for how long, four times a second, after a second of patience."""

    is_shown = False  # whether one of them has the line
    seconds = 0.0  # waited for so far, in this process

    def __init__(self, what: str, line: Line) -> None:
        super().__init__(name="linkwise waits", daemon=True)
        self._what, self._line, self._over = what, line, threading.Event()

    def run(self) -> None:
        begun = time.monotonic()
        wait = _PATIENCE
        while not self._over.wait(wait):
            _Waiting.is_shown, wait = True, 0.25
            self._line.show(f"{self._what} … {time.monotonic() - begun:.0f} s ")

    def stop(self) -> None:
        self._over.set()
        self.join()
        self._line.erase()
        _Waiting.is_shown = False


_one_waits = threading.Lock()


@contextlib.contextmanager
def waiting(what: str) -> Iterator[None]:
    """Say that ``what`` is going on, once it has taken a second and someone watches.

    The time is left out of that of a bar around it. Of waits within waits the outermost counts.
    """
    if not _one_waits.acquire(blocking=False):
        yield
        return
    line, begun = Line(), time.monotonic()
    thread = _Waiting(what, line) if line.is_watched else None
    if thread is not None:
        thread.start()
    try:
        yield
    finally:
        if thread is not None:
            thread.stop()
        _Waiting.seconds += time.monotonic() - begun
        _one_waits.release()
