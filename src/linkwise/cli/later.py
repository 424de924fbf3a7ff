"""Parts of linkwise that a version may lack: found when used, or an error that says so."""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import LinkwiseError


def part(module: str, name: str, what: str) -> Any:
    """``linkwise.MODULE.name``, or an error in one line; a missing package's error passes through."""
    full = f"linkwise{module and '.'}{module}"
    try:
        found = importlib.import_module(full)
    except ModuleNotFoundError as e:
        if e.name is not None and not e.name.startswith("linkwise"):
            raise LinkwiseError(f"{what} needs the package {e.name}: pip install {e.name}") from e
        raise LinkwiseError(f"this version of linkwise has no {full} yet; update it") from e
    if not hasattr(found, name):
        raise LinkwiseError(f"this version of linkwise has no {full}.{name} yet; update it")
    return getattr(found, name)
