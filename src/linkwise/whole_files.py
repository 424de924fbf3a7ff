"""Files written whole or not at all: into one beside the target, then under its name."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .errors import FileError

_HINTS = {
    errno.ENOSPC: "the disk is full: free some space, or choose another place",
    errno.EDQUOT: "free some space, or choose another place",
    errno.EACCES: "the place is not writable: choose another",
    errno.EPERM: "the place is not writable: choose another",
    errno.EROFS: "the place is not writable: choose another",
    errno.EISDIR: "it is a folder: name a file in it",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.ENAMETOOLONG: "choose a shorter name",
}


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text as UTF-8, whole or not at all; raises :class:`FileError` saying why not, and what to do."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file whole or not at all; raises :class:`FileError` saying why not, and what to do."""
    try:
        target = Path(os.path.realpath(path))  # a link stays a link
        if target.exists() and not target.is_file():  # a device or a pipe; a folder fails here
            target.write_bytes(data)
        else:
            _replace(target, lambda part: part.write_bytes(data))
    except OSError as e:
        raise FileError(cannot_write(path, e)) from e


def write_figure(path: str | os.PathLike[str], figure: Any) -> None:
    """Write a matplotlib figure, whole or not at all, in the format that the path ends with."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=Path(path).suffix[1:].lower())
    write_bytes(path, buffer.getvalue())


def write_through(path: str | os.PathLike[str], writer: Callable[[Path], Any]) -> None:
    """Let ``writer(part)`` fill a file or folder beside the target, with the same ending, then give it its name."""
    try:
        _replace(Path(os.path.realpath(path)), writer)
    except OSError as e:
        raise FileError(cannot_write(path, e)) from e


def _replace(target: Path, writer: Callable[[Path], Any]) -> None:
    """A folder beside the target keeps what is not whole yet: Ctrl-C too leaves nothing behind."""
    room = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    try:
        part = room / target.name
        writer(part)
        if part.is_dir():
            _replace_folder(part, target, room / "before")
        else:
            _settle(part)
            if target.is_file():
                shutil.copymode(target, part)
            os.replace(part, target)
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _settle(part: Path) -> None:
    """Make sure the bytes are on the disk before the name is: otherwise a power cut may leave an empty file."""
    with contextlib.suppress(OSError), open(part, "rb+") as f:
        os.fsync(f.fileno())


def _replace_folder(part: Path, target: Path, aside: Path) -> None:
    """A folder cannot be put over another: the old one is moved aside, and back where the new one cannot follow."""
    if not target.exists():
        os.rename(part, target)
        return
    os.rename(target, aside)
    try:
        os.rename(part, target)
    except BaseException:
        os.rename(aside, target)
        raise


def refuse_unwritable(path: str | os.PathLike[str]) -> None:
    """Raise :class:`FileError` where a file could not be written, before any work is done for it."""
    target = Path(path)
    if target.is_dir() and target.suffix != ".zarr":  # which are folders that are written as one
        raise FileError(cannot_write(path, IsADirectoryError(errno.EISDIR, "is a folder")))
    if not target.parent.is_dir():
        raise FileError(f"cannot write {path}: the folder {target.parent} does not exist; make it first")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise FileError(cannot_write(path, PermissionError(errno.EACCES, "permission denied")))


def cannot_write(path: object, e: OSError) -> str:
    """Why writing failed and what to do, in one line."""
    if isinstance(e, FileNotFoundError):
        return f"cannot write {path}: the folder does not exist; make it first"
    hint = _HINTS.get(e.errno or 0)
    return f"cannot write {path}: {e.strerror or e}" + (f"; {hint}" if hint else "")
