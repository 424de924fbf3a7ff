"""The line of the user's function at which tracing failed."""

from __future__ import annotations

import linecache
from types import FrameType, TracebackType

from ..errors import UntraceableError

_NOT_THE_USERS = ("linkwise", "numpy", "contextlib")


def at_users_line(error: UntraceableError, cause: BaseException | None = None) -> UntraceableError:
    """The error with ``filename``, ``lineno`` and ``text`` of the user's line that it, or its cause, went through.

    That is the innermost line outside linkwise and NumPy; of a law of linkwise itself, the innermost that is not
    part of the symbols. An error that knows its line keeps it.
    """
    lines = _lines((cause or error).__traceback__)
    theirs = [x for x in lines if _room(x[0])[0] not in _NOT_THE_USERS]
    ours = [x for x in lines if _room(x[0])[0] == "linkwise" and "symbols" not in _room(x[0])[1:2]]
    if error.filename is None and (theirs or ours):
        frame, line = (theirs or ours)[-1]
        error.filename, error.lineno = frame.f_code.co_filename, line
        error.text = linecache.getline(error.filename, line, frame.f_globals).strip()
    return error


def _lines(trace: TracebackType | None) -> list[tuple[FrameType, int]]:
    """Every frame that an error went through, outermost first, and the line it was at."""
    found = []
    while trace is not None:
        found.append((trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    return found


def _room(frame: FrameType) -> list[str]:
    """The module that a frame runs in, as parts of its name."""
    return str(frame.f_globals.get("__name__", "")).split(".")
