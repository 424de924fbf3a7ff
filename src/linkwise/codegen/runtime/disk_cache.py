"""Compiled code on disk: one file per kernel, named by everything that determines it.

A file is a magic word, a checksum of its name and contents, and the object code. Anything that does not check out
(damaged, or another's file under this name) is ignored and rebuilt. Files are written under another name and moved into
place, so that processes may share the folder.
``LINKWISE_CACHE`` names the folder, or is "off"; ``LINKWISE_CACHE_MB`` bounds its size (default 256), about: a
folder is not looked through at every file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
import time
from pathlib import Path

from ...errors import InputError

_MAGIC = b"linkwise-object-2\n"
ANSWER, TABLES = "answer", "tables"


def folder() -> Path | None:
    """Where compiled code is kept, or None where the cache is off."""
    chosen = os.environ.get("LINKWISE_CACHE", "")
    if chosen.lower() in ("off", "0", "no", "none"):
        return None
    if chosen:
        return Path(chosen)
    try:
        return _users_caches() / "linkwise"
    except RuntimeError:  # a user without a home
        return None


def _users_caches() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def key(*parts: str) -> str:
    """The name of what is determined by these texts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def read(name: str, kind: str = "o") -> bytes | None:
    """What is stored under a name, if it is there and whole: object code ("o"), the answer to a request, its tables."""
    where = folder()
    if where is None:
        return None
    try:
        data = (where / f"{name}.{kind}").read_bytes()
    except OSError:
        return None
    body = data[len(_MAGIC) + 32 :]
    if not data.startswith(_MAGIC) or _checksum(name, kind, body) != data[len(_MAGIC) : len(_MAGIC) + 32]:
        return None
    with contextlib.suppress(OSError):
        os.utime(where / f"{name}.{kind}")  # the size bound drops what was used longest ago
    return body


def _checksum(name: str, kind: str, body: bytes) -> bytes:
    return hashlib.sha256(f"{name}.{kind}\0".encode() + body).digest()


def write(name: str, body: bytes, kind: str = "o") -> None:
    """Store object code, an answer or tables; a folder that cannot be written to is no error."""
    where = folder()
    if where is None:
        return
    try:
        where.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=where, suffix=".part")
        with os.fdopen(handle, "wb") as f:
            f.write(_MAGIC + _checksum(name, kind, body) + body)
        os.replace(temporary, where / f"{name}.{kind}")
        _bound(where, len(body))
    except OSError:
        with contextlib.suppress(OSError, NameError):
            os.unlink(temporary)


def _limit() -> float:
    """How many bytes the folder may hold."""
    text = os.environ.get("LINKWISE_CACHE_MB", "256")
    try:
        return float(text) * 1e6
    except ValueError:
        raise InputError(f"LINKWISE_CACHE_MB must be a number of megabytes, got {text!r}") from None


def _bound(where: Path, written: int) -> None:
    """Keep the folder within its bound: look through it after a sixteenth of that is written, and now and then."""
    limit = _limit()
    _written[where] = _written.get(where, 0) + written
    if _written[where] >= limit / 16 or not _is_recent(where / _STAMP):
        _written[where] = 0
        (where / _STAMP).touch()
        _prune(where, limit)


_STAMP = "looked-through"  # whose time is that of the last look
_OFTEN = 600.0  # [s]
_written: dict[Path, int] = {}  # bytes by this process since it last looked


def _is_recent(path: Path) -> bool:
    try:
        return abs(time.time() - path.stat().st_mtime) < _OFTEN
    except OSError:
        return False


def _prune(where: Path, limit: float) -> None:
    """Drop what was used longest ago, and half-written files of processes that are long gone."""
    files = []
    with os.scandir(where) as found:
        entries = list(found)
    for entry in entries:
        kind = entry.name.rpartition(".")[2]
        with contextlib.suppress(OSError):
            stat = entry.stat()
            if kind in ("o", ANSWER, TABLES):
                files.append((stat.st_mtime, stat.st_size, entry.path))
            elif kind == "part" and time.time() - stat.st_mtime > 3600:
                os.unlink(entry.path)
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= limit:
            break
        with contextlib.suppress(OSError):
            os.unlink(path)
            total -= size
