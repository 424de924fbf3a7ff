"""What is finished of a chunk that is not: each run is on record as soon as it is made, one line each.

A line is JSON with a checksum before it; no line is trusted whose checksum is another, as the last one of a process
that was killed may be. On a folder of this machine lines are added to a file as they come; behind a URL, where nothing
can be added to, they are written as small files, one a second at most.
"""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
import time
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..errors import FileError
from ..whole_files import cannot_write
from .columns import Record
from .names import refuse_name
from .parts import MOST_OF_ARRAYS, STATUSES
from .places import Place
from .ways import is_way

_FOLDER = re.compile(r"[0-9]{9,12}")
_FILE = re.compile(r"[0-9a-f]{12}(-[0-9]+)?")
_SECONDS = 1.0  # between files behind a URL
_AT_ONCE = 2**28  # bytes that wait for them at most
MOST_OF_A_RUN = 2**30  # bytes of what is kept of one
_LONGEST = 2 * MOST_OF_A_RUN  # bytes of a line


class Journal:
    """Finished runs of one chunk. Use it as a context; :meth:`clear` it once the chunk is written."""

    def __init__(self, place: Place, chunk: int) -> None:
        self.place, self.folder = place, f"journal/{chunk:09d}"
        self._name = secrets.token_hex(6)
        self._file: Any = None
        self._waiting: list[bytes] = []
        self._last = time.monotonic()

    def records(self, most: float = MOST_OF_ARRAYS) -> dict[int, Record]:
        """Runs that are on record, by number; of no file that has more bytes than ``most``."""
        found: dict[int, Record] = {}
        for name in [x for x in self.place.names(self.folder) if _FILE.fullmatch(x)]:
            try:
                with self.place.opened(f"{self.folder}/{name}", most) as file:
                    while line := file.readline(_LONGEST):
                        record = _read(line.rstrip(b"\n"), self.place.study)
                        if record is not None:
                            found.setdefault(record.run, record)
            except FileError:
                if self.place.exists(f"{self.folder}/{name}"):
                    raise
                continue  # its chunk was written since it was listed
        return found

    def add(self, record: Record) -> None:
        """Put a run on record."""
        line = _written(record, self.place.study)
        if not self.place.is_local:
            self._waiting.append(line)
            if time.monotonic() - self._last >= _SECONDS or sum(map(len, self._waiting)) > _AT_ONCE:
                self.flush()
            return
        path = self.place.own_path(f"{self.folder}/{self._name}")
        try:
            if self._file is None:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            if os.write(self._file, line) != len(line):
                raise OSError(28, "no space left on device")
        except OSError as e:
            raise FileError(cannot_write(path, e)) from e

    def flush(self) -> None:
        """Write what waits."""
        if self._waiting:
            self.place.write(f"{self.folder}/{self._name}-{time.time_ns()}", b"".join(self._waiting))
            self._waiting.clear()
        self._last = time.monotonic()

    def close(self) -> None:
        self.flush()
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def clear(self) -> None:
        """Forget the chunk, which is written."""
        self._waiting.clear()
        self.close()
        clear(self.place, self.folder)


def forget(place: Place, todo: Iterable[int]) -> None:
    """Clear records of chunks that are not to be made: who wrote them died before it could, or had been overtaken."""
    left = set(todo)
    for folder in sorted({n.partition("/")[0] for n in place.names("journal")}):
        if _FOLDER.fullmatch(folder) and int(folder) not in left:
            clear(place, f"journal/{folder}")


def clear(place: Place, folder: str) -> None:
    for name in list(place.names(folder)):
        place.remove(f"{folder}/{name}")
    if place.is_local:
        path = place.path(folder)
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()


def records(place: Place, most: float = MOST_OF_ARRAYS) -> dict[int, Record]:
    """Runs that are on record, by number; those of a chunk that has just been written may be among them."""
    found: dict[int, Record] = {}
    for folder in sorted({n.partition("/")[0] for n in place.names("journal")}):
        if _FOLDER.fullmatch(folder):
            found |= Journal(place, int(folder)).records(most)
    return found


def _written(record: Record, study: str) -> bytes:
    values = {name: _packed(x) for name, x in record.values.items()}
    said = [record.run, record.status, values, record.error, record.message, record.traceback, record.ways]
    text = json.dumps(said, separators=(",", ":")).encode()
    return b"%08x %s\n" % (_checksum(text, study), text)


def _checksum(text: bytes, study: str) -> int:
    """That of a record of this study, and of no other one that may have lain in its folder."""
    return zlib.crc32(text, zlib.crc32(study.encode()))


def _read(line: bytes, study: str) -> Record | None:
    try:
        if int(line[:8], 16) != _checksum(line[9:], study) or line[8:9] != b" ":
            return None
        run, status, values, *rest, ways = json.loads(line[9:])
        unpacked = {str(name): _unpacked(x) for name, x in values.items()}
        for name in unpacked:
            refuse_name(name, "a result")
        said = all(x is None or isinstance(x, str) for x in rest)
        if type(run) is not int or status not in STATUSES or len(rest) != 3 or not said:
            return None
        if not isinstance(ways, list) or not all(map(is_way, ways)):
            return None
        error, message, traceback = rest
        return Record(run, status, unpacked, error, message, traceback, tuple(ways))
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError, ArithmeticError):
        return None


def _packed(x: Any) -> Any:
    if isinstance(x, str):
        return x
    x = np.ascontiguousarray(x) if np.ndim(x) else np.asarray(x)
    return [x.dtype.str, list(x.shape), base64.b64encode(x.tobytes()).decode()]


def _unpacked(x: Any) -> Any:
    if isinstance(x, str):
        return x
    kind, shape, data = x
    dtype = np.dtype(kind)
    if dtype.kind not in "fiub":
        raise ValueError("no numbers")
    return np.frombuffer(base64.b64decode(data), dtype).reshape(shape).copy()
