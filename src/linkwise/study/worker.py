"""A process that makes chunks of a study and may die doing it; ``python -m linkwise.study.worker``, by a supervisor.

It is told what to do over its standard input, and tells what it does over its standard output, which is a pipe: what a
user's code prints goes to standard error. It ends as soon as its supervisor is gone: on Linux whatever it is doing,
elsewhere as soon as code of the user's that keeps Python's lock (a long search by a regular expression) gives it free.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import queue
import signal
import sys
import threading
import warnings
from typing import Any, BinaryIO

from ..errors import FileError, SimulationWarning, SlowPathWarning
from .chunks import make_chunk
from .frames import receive, send
from .places import Place
from .users_errors import message_of, traceback_of

ORPHANED = 73  # the exit code of a worker whose supervisor is gone
_PR_SET_PDEATHSIG = 1  # of <linux/prctl.h>


def main() -> None:
    """Make chunks until the supervisor says no more, or is no more."""
    _end_with_supervisor()
    commands, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    asked: queue.Queue[Any] = queue.Queue()
    threading.Thread(target=_listen, args=(commands, asked), daemon=True).start()
    payload, place, paths = asked.get()
    sys.path[:] = [*paths, *(p for p in sys.path if p not in paths)]
    try:
        warnings.simplefilter("ignore", SlowPathWarning)  # said where the study was started
        warnings.formatwarning = _warning
        study = pickle.loads(payload)
        _ = study.prepared.in_processes
    except Exception as e:  # of the user's code as well: whatever it is, the supervisor says it
        send(replies, ("broken", f"{type(e).__name__}: {message_of(e)}", traceback_of(e)))
        return
    send(replies, ("ready", os.getpid()))
    try:
        while (command := asked.get()) is not None:
            _make(study, place, command, replies)
    except BrokenPipeError:  # nobody listens any more
        os._exit(ORPHANED)


def _make(study: Any, place: Place, command: Any, replies: BinaryIO) -> None:
    chunk, condemned = command
    try:
        done = make_chunk(study, place, chunk, condemned, lambda what, run: send(replies, (what, run)))
    except BrokenPipeError:
        raise
    except FileError as e:
        send(replies, ("unwritable", str(e)))
    except Exception as e:  # no run's own fault, which is kept with it
        send(replies, ("broken", f"{type(e).__name__}: {message_of(e)}", traceback_of(e)))
    else:
        send(replies, ("done", done))


def _end_with_supervisor() -> None:
    """Have Linux kill this process when the thread that started it is gone; a supervisor's outlives its worker."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> str:
    """What linkwise warns of here is about the study, and about no line of the user's."""
    if issubclass(category, SimulationWarning):
        return f"linkwise: {message}\n"
    return _AS_EVER(message, category, *where, **more)


_AS_EVER = warnings.formatwarning


def _listen(commands: BinaryIO, asked: queue.Queue[Any]) -> None:
    try:
        while True:
            asked.put(receive(commands))
    except (EOFError, OSError):
        os._exit(ORPHANED)


if __name__ == "__main__":
    main()
