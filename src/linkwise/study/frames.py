"""Messages between a supervisor and its worker: pickled by one of our own processes, read by another, over pipes."""

from __future__ import annotations

import contextlib
import pickle
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, BinaryIO

from ..errors import InputError
from ..extras import require
from .users_errors import message_of

_SIZE = struct.Struct("<Q")


def send(pipe: BinaryIO, message: Any) -> None:
    """Send one message."""
    data = pickle.dumps(message, protocol=5)
    pipe.write(_SIZE.pack(len(data)) + data)
    pipe.flush()


def receive(pipe: BinaryIO) -> Any:
    """The next message; EOFError where the other side is gone."""
    (size,) = _SIZE.unpack(_exactly(pipe, _SIZE.size))
    return pickle.loads(_exactly(pipe, size))


def _exactly(pipe: BinaryIO, size: int) -> bytes:
    parts, left = [], size
    while left:
        part = pipe.read(left)
        if not part:
            raise EOFError
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def packed(study: Any) -> bytes:
    """A study for other processes; functions of the user's own files go along whole, wherever they were defined."""
    with _whole(study.functions) as cloudpickle:
        data: bytes = cloudpickle.dumps(study, protocol=5)
    return data


def refuse_unsendable(functions: Mapping[str, Callable[..., Any]]) -> None:
    """Refuse functions that no other process can be sent, as those that hold a lock, a file or a connection."""
    with _whole(functions) as cloudpickle:
        for name, function in functions.items():
            try:
                cloudpickle.dumps(function, protocol=5)
            except Exception as e:  # of whatever it holds
                called = getattr(function, "__name__", type(function).__name__)
                raise InputError(
                    f"{name} {called!r} cannot be sent to other processes"
                    f" ({type(e).__name__}: {message_of(e)}); make what it holds within it, or take engine='serial'"
                ) from e


@contextlib.contextmanager
def _whole(functions: Mapping[str, Callable[..., Any]]) -> Iterator[Any]:
    """cloudpickle, by which modules of the user's own go along with their functions."""
    cloudpickle = require("cloudpickle", "study", "a study in other processes")
    modules = {m for f in functions.values() if (m := getattr(f, "__module__", None))} - {"__main__"}
    own = [m for m in map(sys.modules.get, modules) if m is not None and not _is_installed(m)]
    for module in own:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield cloudpickle
    finally:
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)


def _is_installed(module: ModuleType) -> bool:
    """Whether other processes find a module by its name: it came with Python, or with a package."""
    file = getattr(module, "__file__", None)
    name = module.__name__.partition(".")[0]
    if file is None or name in sys.stdlib_module_names or name == "linkwise":
        return True
    return "site-packages" in file or "dist-packages" in file
