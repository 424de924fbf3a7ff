"""Where a study lies: a folder of this machine, or behind any URL that fsspec knows; files in it are whole or absent.

Names are relative, of plain letters, and stay inside. On this machine a file is written beside its place, brought to
the disk and then given its name; object stores give an object its name once it is whole.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import secrets
import stat
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from ..arguments import shown
from ..errors import FileError, InputError, LinkwiseError, SimulationWarning
from ..extras import require
from ..properties import cached_property
from ..whole_files import cannot_write

T = TypeVar("T")
_PART = re.compile(r"\..+\.[0-9a-f]{8}\.part")  # of a file that is being written
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*")


_PASSWORD = re.compile(r"(://[^/@:]*):[^/@]*@")
_FINAL = (PermissionError, FileExistsError, IsADirectoryError, NotADirectoryError, NotImplementedError, TypeError)
_ONE_OF_SEVERAL = {"s3", "s3a", "gs", "gcs", "memory"}  # protocols of stores that create a file for one writer only
_PAUSE, _LONGEST_PAUSE = 0.2, 10.0  # [s] before a store is asked again, the first time and later
_SETTLED = 2.0  # [s] after which others' writings of a file are seen elsewhere


@dataclass(frozen=True)
class Place:
    """A folder; ``url`` as the user gave it. Whoever writes a study there says which: ``study`` is the digest of what
    it says of itself, ``driver`` the number of the lease that it is written under. A store that does not answer is
    asked again for ``patience`` [s]."""

    url: str
    study: str = ""
    driver: int = 0
    patience: float = 0.0

    def __getstate__(self) -> dict[str, Any]:
        """What other processes are sent: their connections are their own."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __str__(self) -> str:
        """For people: without a password."""
        return _PASSWORD.sub(r"\1:…@", self.url)

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
        own = text.removeprefix("file://") if text.startswith("file://") else text.removeprefix("file:")
        return Place(os.path.abspath(os.path.expanduser(own)))

    @property
    def is_local(self) -> bool:
        return "://" not in self.url

    @cached_property
    def _remote(self) -> tuple[Any, str]:
        fsspec = require("fsspec", "study", f"the folder {self}")
        try:
            fs, root = fsspec.core.url_to_fs(self.url)
        except Exception as e:  # whatever is raised by who knows the protocol
            raise FileError(f"cannot open {self}: {e}") from e
        return fs, root

    def _asked(self, doing: str, call: Callable[[Any], T]) -> T:
        """What a store answers: asked again, for as long as there is patience, where that is something else."""
        until, pause, fs = time.monotonic() + self.patience, _PAUSE, self._remote[0]
        while True:
            try:
                return call(fs)
            except (LinkwiseError, FileNotFoundError):
                raise
            except Exception as e:  # of whatever library speaks with the store
                what = f"cannot {doing}: {type(e).__name__}: {' '.join(str(e).split())[:300]}"
                if isinstance(e, _FINAL) or time.monotonic() + pause > until:
                    raise FileError(what) from e
                if pause == _PAUSE:
                    said = f"{what}; it is asked again for up to {self.patience:g} s"
                    warnings.warn(said, SimulationWarning, stacklevel=3)
            time.sleep(pause)
            pause = min(2.0 * pause, _LONGEST_PAUSE)

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
                self._asked(f"write {self}/{name}", lambda fs: _piped(fs, self._remote[1], self._at(name), data))
        except OSError as e:
            raise FileError(cannot_write(f"{self}/{name}", e)) from e

    def create(self, name: str, data: bytes) -> bool:
        """Write a file that is not there yet; whether it is this one that is there then.

        In folders of this machine nobody else writes. Where a store sees to it that one of several writers comes first,
        it is that one's. Of others who wrote last has it; they wait until what all of them wrote is seen.
        """
        if self.is_local:
            self.write(name, data)
            return True
        known = set(_as_names(self._remote[0].protocol)) & _ONE_OF_SEVERAL
        refused = self._refused_to_create(name, data)
        if not known or (refused is None and self._refused_to_create(name, data) is None):
            time.sleep(_SETTLED)
        found = self.read_if_there(name, len(data) + 2**16)
        if found is None:
            raise refused or FileError(f"cannot write {self}/{name}: it is not there afterwards")
        return found == data

    def _refused_to_create(self, name: str, data: bytes) -> FileError | None:
        """Why a file was not created, as where it is there."""
        root, at = self._remote[1], self._at(name)
        try:
            self._asked(f"write {self}/{name}", lambda fs: _piped(fs, root, at, data, mode="create"))
        except FileError as e:
            return e
        except FileNotFoundError as e:
            return FileError(cannot_write(f"{self}/{name}", e))
        return None

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            if self.is_local:
                self.path(name).unlink()
            else:
                self._asked(f"remove {self}/{name}", lambda fs: fs.rm_file(self._at(name)))

    # --- reading -----------------------------------------------------------------------------------------

    def read(self, name: str, most: float) -> bytes:
        """The bytes of a file, of which there must not be more than ``most``."""
        try:
            if self.is_local:
                return self._sound_path(name, most).read_bytes()
            size = self._asked(f"read {self}/{name}", lambda fs: int(_about(fs, self._at(name)).get("size") or 0))
            self._refuse_too_large(name, size, most)
            return self._asked(f"read {self}/{name}", lambda fs: bytes(fs.cat_file(self._at(name))))
        except OSError as e:
            raise self._unreadable(name, e) from e

    @contextlib.contextmanager
    def opened(self, name: str, most: float) -> Iterator[io.BufferedIOBase]:
        """A file to be read in parts, as one that is large; behind URLs it is in memory."""
        try:
            with self._sound_path(name, most).open("rb") if self.is_local else io.BytesIO(self.read(name, most)) as f:
                yield f
        except OSError as e:
            raise self._unreadable(name, e) from e

    def _sound_path(self, name: str, most: float) -> Path:
        """Where a file of a folder of this machine is that may be read."""
        path = self.path(name)
        if path.is_symlink() or not path.resolve().is_relative_to(Path(self.url).resolve()):
            raise FileError(f"{path} leads out of the folder of the study; remove it")
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise FileError(f"{path} is no file; remove it")
        self._refuse_too_large(name, about.st_size, most)
        return path

    def _refuse_too_large(self, name: str, size: int, most: float) -> None:
        if size > most:
            raise FileError(
                f"{self}/{name} has {size / 2**20:.0f} MiB, more than the {most / 2**20:.0f} MiB that are read;"
                " a larger limit= reads it"
            )

    def _unreadable(self, name: str, e: OSError) -> FileError:
        if isinstance(e, FileNotFoundError):
            return FileError(f"{self} has no {name}; it is no study, or not the whole of one")
        return FileError(f"cannot read {self}/{name}: {e.strerror or e}")

    def read_if_there(self, name: str, most: float) -> bytes | None:
        """The same, None where it is not there."""
        try:
            return self.read(name, most)
        except FileError:
            if self.exists(name):
                raise
            return None

    def exists(self, name: str) -> bool:
        if self.is_local:
            return os.path.isfile(self.path(name))
        try:
            about = self._asked(f"look for {self}/{name}", lambda fs: _about(fs, self._at(name)))
        except FileNotFoundError:
            return False
        return about.get("type") != "directory"

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
        at = self._at(folder)
        with contextlib.suppress(FileNotFoundError):
            for file in self._asked(f"list {self}/{folder}", lambda fs: _found(fs, at)):
                yield file.removeprefix(at).lstrip("/")


# What file systems remember of folders is older than what others have written since.


def _about(fs: Any, at: str) -> dict[str, Any]:
    fs.invalidate_cache()
    found: dict[str, Any] = fs.info(at)
    return found


def _found(fs: Any, at: str) -> list[str]:
    fs.invalidate_cache()
    return sorted(fs.find(at))


def _piped(fs: Any, root: str, at: str, data: bytes, **how: str) -> None:
    """Write a file; folders on its way are made where the store has some, and the place itself, or what it is in, is
    there."""
    try:
        fs.pipe_file(at, data, **how)
    except FileNotFoundError:
        if not any(fs.isdir(x) for x in (root, root.rpartition("/")[0])):
            raise
        fs.makedirs(at.rpartition("/")[0], exist_ok=True)
        fs.pipe_file(at, data, **how)


def _as_names(protocol: Any) -> tuple[str, ...]:
    return (protocol,) if isinstance(protocol, str) else tuple(protocol)


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
