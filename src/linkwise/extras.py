"""Packages that only some of linkwise needs: loaded when used, and a missing one says which command brings it."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from .errors import MissingExtraError


def require(package: str, extra: str | None, purpose: str) -> Any:
    """The package, or an error that names the extra of linkwise that brings it; None where no extra does."""
    try:
        return importlib.import_module(package)
    except ImportError as e:
        asked = package.partition(".")[0]
        # Modules in machine code name themselves by their last word, so that only who misses a package is asked.
        named = (e.name or asked).partition(".")[0] if isinstance(e, ModuleNotFoundError) else asked
        if not _is_there(named):
            wanted = named if extra is None else f'"linkwise[{extra}]"'
            said = f"{named}, which is not installed; this brings it: pip install {wanted}"
        else:  # a package that is there but broken has something to say for itself
            again = f"pip install --force-reinstall {asked}"
            said = f"{asked}, which is there and cannot be imported ({e}); this brings it anew: {again}"
        raise MissingExtraError(f"{purpose} needs {said}") from None


def _is_there(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):  # whatever keeps packages from being found
        return False
