"""One worker process and who looks after it: runs that hang are stopped, and whatever kills it, the rest is made.

A run during which the worker died is tried again, as it may have been killed from outside. One that ends its worker by
a fault of its own (a segmentation fault, an exit) has crashed when it does so twice; one during which the worker was
killed again and again, twenty times. A run that takes too long, in all of its turns and with what draws its
parameters, is not tried again.
"""

from __future__ import annotations

import contextlib
import math
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from ..errors import FileError, InputError, SimulationError
from .chunks import Summary
from .columns import Record
from .compiled import TRACING
from .frames import receive, send
from .places import Place
from .ways import NOT_DRAWN

OWN_FAULTS, KILLED = 2, 20  # deaths after which a run is given up
_FAULTS = {getattr(signal, name, None) for name in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSYS")}
_LOOKED_AT = 60.0  # [s] that a function may be looked at, where runs have a limit
_GRACE = 0.2  # [s] between looks at whether it is time to stop
# What a worker says that it begins for a run → what is kept of how a run was made that does not come to an end there.
_DOING: dict[str, tuple[str, ...]] = {"draw": (NOT_DRAWN,), "start": ()}
Doing = tuple[str, int]  # one of these, and the run


class Stopped(Exception):
    """Whoever asked for a chunk no longer wants it."""


@dataclass(eq=False)
class Supervisor:
    """Makes chunks in a process of its own, one at a time; ``study`` is packed for it."""

    payload: bytes
    place: Place
    timeout: float | None = None
    stopping: threading.Event = field(default_factory=threading.Event)
    deaths: int = 0  # of workers so far
    _known: dict[int, Record] = field(default_factory=dict)  # of the function itself, beside that of a chunk's runs
    _process: Any = None
    _replies: Any = None

    def make(self, chunk: int) -> Summary:
        """Make one chunk, whatever becomes of the worker."""
        condemned: dict[int, Record] = dict(self._known)
        own: dict[int, int] = {}
        killed: dict[int | None, int] = {}
        while True:
            doing: Doing | None = None
            try:
                self._start()
                send(self._process.stdin, (chunk, condemned))
                for what, *rest in self._messages():
                    if what in _DOING:
                        doing = what, rest[0]
                    elif what in ("wait", "end"):
                        doing = None
                        if what == "end" and rest[0] != TRACING:
                            killed.pop(None, None)  # a run more is on record: deaths before that are past
                    elif what == "done":
                        done: Summary = rest[0]
                        return done
                    elif what == "unwritable":
                        raise FileError(rest[0])
                    elif what == "late":
                        begun, run = rest
                        said = f"it took longer than {self._allowed(run):g} s"
                        condemned[run] = Record(run, "timeout", {}, "Timeout", said, ways=_DOING[begun])
                        break
                    elif what == "broken":
                        raise InputError(f"a worker cannot make the runs: {rest[0]}\n{rest[1]}")
                else:
                    self._condemn(doing, own, killed, condemned, chunk)
            except BrokenPipeError:
                self._condemn(doing, own, killed, condemned, chunk)
            self.kill()
            self._known |= {k: x for k, x in condemned.items() if k == TRACING}

    def _allowed(self, run: int) -> float:
        """Seconds that a run may take; a function is looked at, and compiled, by no clock but for what never ends."""
        limit = math.inf if self.timeout is None else self.timeout
        return limit if run != TRACING else max(_LOOKED_AT, 10.0 * limit)

    def _condemn(
        self,
        doing: Doing | None,
        own: dict[int, int],
        killed: dict[int | None, int],
        condemned: dict[int, Record],
        chunk: int,
    ) -> None:
        """Count a death, and give a run up that has caused too many."""
        self.deaths += 1
        code = self._process.wait()
        by_itself = code >= 0 or -code in _FAULTS
        said = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        if doing is None:
            killed[None] = killed.get(None, 0) + 1
            if killed[None] >= (KILLED // 4 if by_itself else KILLED):
                raise SimulationError(
                    f"the worker for chunk {chunk} died {killed[None]} times while no run was being made ({said}); look"
                    " at its memory, and at what it printed"
                )
            return
        begun, run = doing
        counts: Any = own if by_itself else killed
        counts[run] = counts.get(run, 0) + 1
        if counts[run] >= (OWN_FAULTS if by_itself else KILLED):
            died = f"the process that made it died, {counts[run]} times ({said})"
            condemned[run] = Record(run, "crashed", {}, said, died, ways=_DOING[begun])

    # --- the process -------------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self.kill()
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        paths = [os.path.abspath(p) for p in sys.path]
        environment["PYTHONPATH"] = os.pathsep.join(paths)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "linkwise.study.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True,
        )  # fmt: skip
        self._replies = queue.Queue()
        threading.Thread(target=_hear, args=(self._process.stdout, self._replies), daemon=True).start()
        send(self._process.stdin, (self.payload, self.place, paths))

    def _messages(self) -> Any:
        """What the worker says until it is gone; ("late", what, run) where a run takes too long with what it does."""
        process, doing, began = self._process, None, 0.0
        spent: dict[int, float] = defaultdict(float)  # [s] by runs, over all of their turns
        while True:
            gone = process.poll() is not None
            try:
                message = self._replies.get(timeout=_GRACE)
            except queue.Empty:
                if gone:  # and a process that it started holds its end of the pipe
                    return
                message = ("nothing",)
            if self.stopping.is_set():
                raise Stopped
            if message is None:
                return
            now = time.monotonic()
            if doing is not None:
                spent[doing[1]] += now - began
                if message[0] in ("nothing", "wait") and spent[doing[1]] > self._allowed(doing[1]):
                    yield ("late", *doing)
                    return
            began = now
            if message[0] in _DOING:
                doing = message
            elif message[0] in ("wait", "end"):
                doing = None
            if message[0] != "nothing":
                yield message

    def kill(self) -> None:
        """End the worker at once, and what it has started; what it has finished is on record."""
        process, self._process = self._process, None
        if process is None:
            return
        if hasattr(os, "killpg"):  # it has a session of its own
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        elif process.poll() is None:
            process.kill()
        with contextlib.suppress(OSError):
            process.stdin.close()
        process.wait()


def _hear(pipe: Any, replies: queue.Queue[Any]) -> None:
    """Pass on what a worker says; None when it says no more."""
    with contextlib.suppress(EOFError, OSError, ValueError), pipe:
        while True:
            replies.put(receive(pipe))
    replies.put(None)
