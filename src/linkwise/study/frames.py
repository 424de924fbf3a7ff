"""Messages between a supervisor and its worker: pickled by one of our own processes, read by another, over pipes."""

from __future__ import annotations

import pickle
import struct
import sys
from types import ModuleType
from typing import Any, BinaryIO

from ..extras import require

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
    cloudpickle = require("cloudpickle", "study", "a study in other processes")
    own = [m for m in map(sys.modules.get, _modules(study)) if m is not None and not _is_installed(m)]
    for module in own:
        cloudpickle.register_pickle_by_value(module)
    try:
        data: bytes = cloudpickle.dumps(study, protocol=5)
    finally:
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)
    return data


def _modules(study: Any) -> set[str]:
    """Modules of the user's functions."""
    functions = [*vars(study.scenario).values(), *(study.keep or ())]
    functions += [getattr(d, "function", None) for d in study.parameters.values()]
    return {m for f in functions if callable(f) and (m := getattr(f, "__module__", None))} - {"__main__"}


def _is_installed(module: ModuleType) -> bool:
    """Whether other processes find a module by its name: it came with Python, or with a package."""
    file = getattr(module, "__file__", None)
    name = module.__name__.partition(".")[0]
    if file is None or name in sys.stdlib_module_names or name == "linkwise":
        return True
    return "site-packages" in file or "dist-packages" in file
