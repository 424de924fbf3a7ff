"""Packages that only some of linkwise needs: loaded when used, and a missing one says which command brings it."""

from __future__ import annotations

import importlib
from typing import Any

from .errors import MissingExtraError


def require(package: str, extra: str | None, purpose: str) -> Any:
    """The package, or an error that names the extra of linkwise that brings it; None where no extra does."""
    try:
        return importlib.import_module(package)
    except ImportError as e:
        missing = (getattr(e, "name", None) or package).partition(".")[0]
        # A package that is there but broken has something to say for itself.
        why = "is not installed" if isinstance(e, ModuleNotFoundError) else f"cannot be imported ({e})"
        wanted = missing if extra is None else f'"linkwise[{extra}]"'
        raise MissingExtraError(
            f"{purpose} needs {missing}, which {why}; this brings it: pip install {wanted}"
        ) from None
