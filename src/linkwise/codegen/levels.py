"""How long making code may take: ``LINKWISE_LLVM_LEVEL``, for tests and for trying things out on large robots."""

from __future__ import annotations

import os

from ..errors import InputError
from .thresholds import LLVM_CODE_GENERATOR


def asked_level() -> int | None:
    """What ``LINKWISE_LLVM_LEVEL`` says, 0 to 3."""
    text = os.environ.get("LINKWISE_LLVM_LEVEL", "")
    if text not in ("", "0", "1", "2", "3"):
        raise InputError(f"LINKWISE_LLVM_LEVEL must be 0, 1, 2 or 3, got {text!r}")
    return int(text) if text else None


def code_level(quickly: bool = False) -> int:
    """How long LLVM's code generator may think, 0 to 3: as is asked, or what was measured to be best for code that is
    ``quickly`` made, being very long, and for other code."""
    asked = asked_level()
    if asked is not None:
        return asked
    return 0 if quickly else LLVM_CODE_GENERATOR


def takes_first_order() -> bool:
    """Whether values are computed in the order of tracing, with no other looked for: at level 0."""
    return asked_level() == 0
