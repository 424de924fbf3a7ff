"""Where a study lies: a folder of this machine, or behind any URL that fsspec knows; files in it are whole or absent.

Names are relative, of plain letters, and stay inside. On this machine a file is written beside its place, brought to
the disk and then given its name; object stores give an object its name once it is whole.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..arguments import shown
from ..errors import FileError, InputError
from ..extras import require
from ..whole_files import cannot_write

_PART = re.compile(r"\..+\.[0-9a-f]{8}\.part")  # of a file that is being written
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*")


@dataclass(frozen=True)
class Place:
    """A folder; ``url`` as the user gave it."""

    url: str

    @staticmethod
    def of(folder: Any) -> Place:
        """The folder that an argument names."""
        if isinstance(folder, Place):
            return folder
        if not isinstance(folder, (str, os.PathLike)) or not isinstance(os.fspath(folder), str):
            raise InputError(f"a study lies in a folder, or behind a URL; got {shown(folder)}")
        text = os.fspath(folder)
        if not text or "\0" in text:
            raise InputError(f"a study lies in a folder, or behind a URL; got {shown(folder)}")
        if "://" in text and not text.startswith("file://"):
            return Place(text.rstrip("/"))
        return Place(os.path.abspath(text.removeprefix("file://")))

    @property
    def is_local(self) -> bool:
        return "://" not in self.url

    @cached_property
    def _remote(self) -> tuple[Any, str]:
        fsspec = require("fsspec", "study", f"the folder {self.url}")
        try:
            fs, root = fsspec.core.url_to_fs(self.url)
        except (ValueError, ImportError, OSError) as e:
            raise FileError(f"cannot open {self.url}: {e}") from e
        return fs, root

    def path(self, name: str) -> Path:
        """Where a file of a folder of this machine is."""
        return Path(self.url) / _checked(name)

    def own_path(self, name: str) -> Path:
        """The same for what is written there: no link on the way leads out of the folder."""
        path = self.path(name)
        if path.is_symlink() or not path.parent.resolve().is_relative_to(Path(self.url).resolve()):
            raise FileError(f"{path} leads out of the folder of the study; remove it")
        return path

    def _at(self, name: str) -> str:
        return f"{self._remote[1]}/{_checked(name)}"

    # --- writing -----------------------------------------------------------------------------------------

    def write(self, name: str, data: bytes) -> None:
        """Write a file, whole or not at all."""
        try:
            if self.is_local:
                _write_local(self.own_path(name), data)
            else:
                self._remote[0].pipe_file(self._at(name), data)
        except OSError as e:
            raise FileError(cannot_write(f"{self.url}/{name}", e)) from e
        except _foreign() as e:
            raise FileError(f"cannot write {self.url}/{name}: {e}") from e

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            if self.is_local:
                self.path(name).unlink()
            else:
                self._remote[0].rm_file(self._at(name))

    # --- reading -----------------------------------------------------------------------------------------

    def read(self, name: str, most: float) -> bytes:
        """The bytes of a file, of which there must not be more than ``most``."""
        try:
            if self.is_local:
                path = self.path(name)
                if path.is_symlink() or not path.resolve().is_relative_to(Path(self.url).resolve()):
                    raise FileError(f"{path} leads out of the folder of the study; remove it")
                about = path.stat()
                if not stat.S_ISREG(about.st_mode):
                    raise FileError(f"{path} is no file; remove it")
                size = about.st_size
            else:
                size = int(self._remote[0].size(self._at(name)) or 0)
            if size > most:
                raise FileError(
                    f"{self.url}/{name} has {size / 2**20:.0f} MiB, more than the {most / 2**20:.0f} MiB that are read;"
                    " a larger limit= reads it"
                )
            found: bytes = self.path(name).read_bytes() if self.is_local else self._remote[0].cat_file(self._at(name))
        except FileNotFoundError:
            raise FileError(f"{self.url} has no {name}; it is no study, or not the whole of one") from None
        except OSError as e:
            raise FileError(f"cannot read {self.url}/{name}: {e.strerror or e}") from e
        except _foreign() as e:
            raise FileError(f"cannot read {self.url}/{name}: {e}") from e
        return found

    def exists(self, name: str) -> bool:
        return os.path.isfile(self.path(name)) if self.is_local else bool(self._remote[0].exists(self._at(name)))

    def names(self, folder: str) -> Iterator[str]:
        """The names of all files in a folder, those in folders within it too, in order."""
        if self.is_local:
            root = self.path(folder)
            for place, folders, files in os.walk(root):
                folders.sort()
                inner = Path(place).relative_to(root).as_posix()
                for file in sorted(files):
                    yield file if inner == "." else f"{inner}/{file}"
            return
        fs, at = self._remote[0], self._at(folder)
        if not fs.exists(at):
            return
        for file in sorted(fs.find(at)):
            yield file.removeprefix(at).lstrip("/")


def _foreign() -> tuple[type[Exception], ...]:
    """What file systems behind URLs raise beside OSError."""
    web = getattr(sys.modules.get("aiohttp"), "ClientError", NotImplementedError)
    return NotImplementedError, web


def sweep(place: Place) -> None:
    """Remove what writers that were killed have left half written; nobody but its writer knows such a file."""
    if place.is_local:
        for folder, _, files in os.walk(place.url):
            for name in files:
                if _PART.fullmatch(name):
                    with contextlib.suppress(OSError):
                        os.unlink(os.path.join(folder, name))


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise FileError(f"{shown(name)} is no name of a file of a study")
    return name


def _write_local(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.parent / f".{path.name}.{secrets.token_hex(4)}.part"
    try:
        with open(part, "xb") as f:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


# --- one driver at a time ---------------------------------------------------------------------------------


@contextlib.contextmanager
def held(place: Place) -> Iterator[None]:
    """Keep other drivers off a folder of this machine; the system gives it free where this process dies."""
    if not place.is_local:
        yield
        return
    path = place.own_path("lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = open(path, "a+b")  # noqa: SIM115 (held for as long as the study runs)
    except OSError as e:
        raise FileError(cannot_write(path, e)) from e
    with lock:
        if not _locked(lock):
            raise InputError(f"{place.url} is being run by another process; wait for it, or look on:"
                             f" lw.open_study({place.url!r}).results()")  # fmt: skip
        yield


def _locked(file: Any) -> bool:
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
