"""What a folder says of the study that it holds (``study.json``), and its log; plain JSON, checked when read."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from typing import Any

from ..errors import FileError, InputError
from .names import refuse_name
from .places import Place
from .sampling import MOST_RUNS

NAME = "study.json"
LOG = "log.jsonl"
FILE = "study.toml"  # the study file, where there was one
FORMAT = "linkwise-study-1"
_MOST = 2**26
_KINDS: dict[str, type] = {
    "robot": dict, "scenario": dict, "parameters": dict, "samples": int, "seed": int, "sampling": str, "chunk": int,
    "finite": bool, "made_by": dict, "code": dict,
}  # fmt: skip


def digest(place: Place) -> str:
    """What tells a study in a folder from another one there: nobody writes its manifest a second time."""
    return hashlib.sha256(place.read(NAME, _MOST)).hexdigest()


def read(place: Place) -> dict[str, Any]:
    """The manifest, checked."""
    try:
        found = json.loads(place.read(NAME, _MOST))
    except (ValueError, RecursionError) as e:
        raise FileError(f"{place}/{NAME} is no manifest of a study: {e}") from e
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise FileError(f"{place}/{NAME} is no manifest of a study, or one of another version of linkwise")
    for name, kind in _KINDS.items():
        value: Any = found.get(name)
        negative = kind is int and isinstance(value, int) and (isinstance(value, bool) or value < 0)
        if not isinstance(value, kind) or negative:
            raise FileError(f"{place}/{NAME}: {name} is missing or of another kind")
    for name, about in found["parameters"].items():
        if not isinstance(about, dict) or not isinstance(about.get("kind"), str):
            raise FileError(f"{place}/{NAME}: parameter {name!r:.80} has no kind")
        try:
            refuse_name(name, "a parameter")
        except InputError as e:
            raise FileError(f"{place}/{NAME}: {e}") from None
    if found["chunk"] < 1 or not 1 <= found["samples"] <= MOST_RUNS:
        raise FileError(f"{place}/{NAME}: samples and chunk must be 1 or more, and samples {MOST_RUNS} at most")
    return found


def log(place: Place, event: dict[str, Any]) -> None:
    """Add a line to the log of a folder of this machine; a log that cannot be written stops nobody."""
    if place.is_local:
        line = json.dumps({"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **event})
        with contextlib.suppress(OSError), open(place.own_path(LOG), "a", encoding="utf-8") as f:
            f.write(line + "\n")
