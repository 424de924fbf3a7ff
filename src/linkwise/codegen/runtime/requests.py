"""What was asked for, as a key: the same robot, function and library give the same code without tracing again.

Beside the object code, which is kept under everything that determines it (:mod:`.disk_cache`), a small entry per
request says which object code answers it and what that code takes and gives. A change of any file of linkwise, of
the robot or of the arguments makes another key.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ...symbols.results import described, recalled
from ...values import digest, value_of
from ..levels import code_level
from ..program.signature import Signature
from . import disk_cache as cache
from .engine import assembly_is_wanted, host, is_here, llvm_version

STRAIGHT, LOOPS = "straight line", "loops"


@dataclass(frozen=True)
class Answer:
    """Which object code answers a request, and what it takes and gives; or why none was made."""

    signature: Signature
    objects: dict[str, str]  # precision → name of the object code
    form: str = STRAIGHT
    refused: str = ""  # why NumPy answers it


def request(
    robot: Any,
    name: str,
    arrays: Sequence[str],
    fixed: Mapping[str, Any],
    parameters: Sequence[str] = (),
    rolled: bool | None = None,
) -> str | None:
    """The key of a request, or None where it cannot have one (an argument of a user's own making)."""
    asked = digest(value_of((name, tuple(arrays), tuple(parameters), rolled, sorted(fixed.items()))))
    if asked is None or robot.fingerprint is None or not is_here():
        return None
    made_how = f"{code_level()} {assembly_is_wanted()}"
    return cache.key(robot.fingerprint, asked, library_fingerprint(), repr(host()), made_how)


@lru_cache(maxsize=1)
def library_fingerprint() -> str:
    """Changes with any source file of linkwise, and with the versions of NumPy and LLVM."""
    root = Path(__file__).parents[2]
    stats = sorted((str(p), s.st_mtime_ns, s.st_size) for p, s in _files(root))
    return cache.key(repr(stats), np.__version__, llvm_version())


def _files(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False) and entry.name != "__pycache__":
                yield from _files(Path(entry.path))
            elif entry.name.endswith(".py"):
                yield entry.path, entry.stat()


def recall(key: str | None) -> Answer | None:
    """The answer stored for a request."""
    data = None if key is None else cache.read(key, cache.ANSWER)
    if data is None:
        return None
    found = ast.literal_eval(data.decode())
    shapes = tuple(tuple(s) for s in found["shapes"])
    structure = None if found["structure"] is None else recalled(found["structure"])
    signature = Signature(found["name"], found["inputs"], shapes, found["single"], structure)
    return Answer(signature, found["objects"], found["form"], found["refused"])


def remember(key: str | None, signature: Signature, objects: Mapping[str, str], form: str = STRAIGHT) -> None:
    """Store an answer; results with classes of a user's own are traced again next time."""
    structure = None if signature.structure is None else described(signature.structure)
    if signature.structure is None or structure is not None:
        _store(key, signature, structure, objects, form, "")


def remember_refusal(key: str | None, why: str) -> None:
    """Store that NumPy answers a request, and why."""
    _store(key, Signature("", {}, (), single=True), None, {}, STRAIGHT, why)


def remember_tables(key: str | None, integers: np.ndarray, numbers: np.ndarray) -> None:
    """Store what differs from body to body in code with loops."""
    if key is not None:
        head = np.array(integers.shape, dtype=np.int64)
        cache.write(key, head.tobytes() + integers.tobytes() + numbers.tobytes(), cache.TABLES)


def recall_tables(key: str | None) -> tuple[np.ndarray, np.ndarray] | None:
    """(integers (bodies, columns), numbers) that were stored for a request."""
    data = None if key is None else cache.read(key, cache.TABLES)
    if data is None:
        return None
    rows, columns = np.frombuffer(data, dtype=np.int64, count=2).tolist()
    integers = np.frombuffer(data, dtype=np.int64, count=rows * columns, offset=16).reshape(rows, columns)
    return integers, np.frombuffer(data, dtype=np.float64, offset=16 + integers.nbytes)


def _store(
    key: str | None, signature: Signature, structure: Any, objects: Mapping[str, str], form: str, refused: str
) -> None:
    if key is None:
        return
    text = {
        "name": signature.name,
        "inputs": signature.inputs,
        "shapes": signature.shapes,
        "single": signature.single,
        "structure": structure,
        "objects": dict(objects),
        "form": form,
        "refused": refused,
    }
    cache.write(key, repr(text).encode(), cache.ANSWER)
