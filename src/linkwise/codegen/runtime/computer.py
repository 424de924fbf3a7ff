"""What LLVM says of this computer, kept on disk under what the system says of it: to ask LLVM, it must be loaded."""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from . import disk_cache as cache

_CHANGING = ("processor", "cpu MHz", "bogomips", "core id", "physical id", "apicid", "initial apicid", "siblings")


@lru_cache(maxsize=1)
def _known_by() -> str | None:
    """The key of it: the first processor as Linux describes it, and which LLVM there is; None elsewhere."""
    spec = importlib.util.find_spec("llvmlite")
    if sys.platform != "linux" or spec is None or spec.origin is None:
        return None
    try:
        with open("/proc/cpuinfo", "rb") as f:
            first = f.read(16384).decode(errors="replace").split("\n\n")[0]
        version = Path(spec.origin).with_name("_version.py")
        made = f"{version.read_text()} {os.stat(spec.origin).st_mtime_ns} {spec.origin}"
    except OSError:
        return None
    lines = [line for line in first.splitlines() if line.partition(":")[0].strip() not in _CHANGING]
    return cache.key("\n".join(lines), made, sys.version, os.uname().machine)


def remembered() -> dict[str, Any]:
    """What was kept; nothing where there is nothing."""
    key = _known_by()
    data = None if key is None else cache.read(key, cache.ANSWER)
    return {} if data is None else ast.literal_eval(data.decode())


def keep(**facts: Any) -> None:
    """Keep what LLVM said."""
    key = _known_by()
    if key is not None:
        cache.write(key, repr(facts).encode(), cache.ANSWER)
