"""One driver of a study at a time: by a lock of the system in folders of this machine, by a lease behind URLs.

A lease is a file ``driver/N`` that its holder writes anew every few seconds. Whoever comes next looks on: where it is
written, it is refused; where nothing is for long enough, or its holder has ended it, it takes N + 1. No clocks are
compared, as each looks on by its own. A holder that comes back from the dead (a laptop that slept) finds a larger
number, and its workers write no more: they ask before every chunk (:func:`refuse_if_ended`).

Stores that create a file for one of several writers only (S3, Google's) give a number to one driver. In others who
wrote last has it; there two could go on side by side for a moment. Even then nothing is mixed: chunks are the same
bytes whoever makes them, and are written for the study alone that is in the folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import secrets
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import FileError, InputError, SimulationWarning
from ..whole_files import cannot_write
from . import manifest
from .places import Place

FOLDER = "driver"
BEAT, DEAD = 5.0, 30.0  # [s] between writings of a lease, and without one after which its holder is taken for dead
_LOOK = 0.5  # [s] between looks at it
_PATIENCE = 300.0  # [s] for which a store that does not answer is asked again, while a study runs
_MOST = 2**16  # bytes of a lease
_NUMBER = re.compile(r"[0-9]{9,12}")


@contextlib.contextmanager
def held(place: Place) -> Iterator[Place]:
    """Keep other drivers off; the place as this one is to use it."""
    if place.is_local:
        with _locked(place):
            yield place
        return
    lease = _Lease.taken(place)
    try:
        yield replace(place, driver=lease.number, patience=_PATIENCE)
    finally:
        lease.end()


def refuse_if_ended(place: Place) -> None:
    """Refuse to write where another study lies by now, or where another driver has gone on with this one."""
    if place.study and manifest.digest(place) != place.study:
        raise FileError(f"{place} holds another study than it did; what was begun there is not gone on with")
    if place.driver and _newest(place) > place.driver:
        raise FileError(f"another driver goes on with the study in {place}; this one has ended")


def _newest(place: Place) -> int:
    """The largest number of a lease that was ever taken, 0 where none was."""
    return max((int(x) for x in place.names(FOLDER) if _NUMBER.fullmatch(x)), default=0)


# --- behind URLs ----------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Lease:
    place: Place
    number: int
    token: str = field(default_factory=lambda: secrets.token_hex(8))
    beats: int = 0
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    @classmethod
    def taken(cls, place: Place) -> _Lease:
        """The next lease of a place, once the last one is no more; refused where somebody holds that."""
        while True:
            last = _newest(place)
            if last:
                _look_on(place, last)
            lease = cls(place, last + 1)
            if place.create(lease.name, lease.text()) and _newest(place) == lease.number:
                lease.keep()
                return lease

    @property
    def name(self) -> str:
        return name_of(self.number)

    def text(self, ended: bool = False) -> bytes:
        said = {"by": self.token, "host": platform.node(), "process": os.getpid(), "beats": self.beats, "ended": ended}
        return json.dumps(said).encode()

    def keep(self) -> None:
        """Write it anew from now on, and forget those before it."""
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()
        for name in list(self.place.names(FOLDER)):
            if _NUMBER.fullmatch(name) and int(name) < self.number:
                self.place.remove(f"{FOLDER}/{name}")

    def _beat(self) -> None:
        while not self._ended.wait(BEAT):
            self.beats += 1
            with contextlib.suppress(FileError):  # whoever takes it for dead meanwhile is seen before the next chunk
                self.place.write(self.name, self.text())

    def end(self) -> None:
        """Give it free; where the store does not answer, others find out by looking on."""
        self._ended.set()
        assert self._thread is not None
        self._thread.join(BEAT)
        if not self._thread.is_alive():
            with contextlib.suppress(FileError):
                self.place.write(self.name, self.text(ended=True))


def name_of(number: int) -> str:
    return f"{FOLDER}/{number:09d}"


def _look_on(place: Place, number: int) -> None:
    """Return once a lease is no more; refuse where it is written anew."""
    first = _read(place, number)
    if first is None or _is_ended(first):
        return
    who = _who(first)
    warnings.warn(
        f"{place} is held by {who}; looking on for up to {DEAD:g} s whether it still runs",
        SimulationWarning,
        stacklevel=6,
    )
    until = time.monotonic() + DEAD
    while time.monotonic() < until:
        time.sleep(_LOOK)
        now = _read(place, number)
        if now is None or _is_ended(now):
            return
        if now != first:
            raise InputError(f"{place} is being run by {who}; wait for it, or look on:"
                             f" lw.open_study({str(place)!r}).results()")  # fmt: skip


def _read(place: Place, number: int) -> bytes | None:
    return place.read_if_there(name_of(number), _MOST)


def _said(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_ended(data: bytes) -> bool:
    return _said(data).get("ended") is True


def _who(data: bytes) -> str:
    """Who holds a lease, of a file that anybody may have written."""
    said = _said(data)
    host = "".join(c for c in str(said.get("host", "")) if c.isprintable())[:60]
    return f"process {said['process']} of {host!r}" if type(said.get("process")) is int else "another process"


# --- in folders of this machine -------------------------------------------------------------------------


@contextlib.contextmanager
def _locked(place: Place) -> Iterator[None]:
    """The system gives the folder free where this process dies."""
    path = place.own_path("lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = open(path, "a+b")  # noqa: SIM115 (held for as long as the study runs)
    except OSError as e:
        raise FileError(cannot_write(path, e)) from e
    with lock:
        if not _lock(lock):
            raise InputError(f"{place} is being run by another process; wait for it, or look on:"
                             f" lw.open_study({str(place)!r}).results()")  # fmt: skip
        yield


def _lock(file: Any) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows, which locks bytes
        import msvcrt

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
