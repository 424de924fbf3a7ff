"""Packages that only some pictures need, loaded when used; a missing one says which command brings it."""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import LinkwiseError


def require(package: str, extra: str, purpose: str) -> Any:
    """The package, or an error that names the extra of linkwise that brings it."""
    try:
        return importlib.import_module(package)
    except ImportError as e:
        missing = (getattr(e, "name", None) or package).partition(".")[0]
        raise LinkwiseError(
            f'{purpose} needs {missing}, which is not installed; this brings it: pip install "linkwise[{extra}]"'
        ) from None
