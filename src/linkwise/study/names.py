"""Which names parameters and results may have: those that can be columns of tables and names of arrays."""

from __future__ import annotations

import re
from typing import Any

from ..arguments import shown
from ..errors import InputError

_NAME = re.compile(r"[A-Za-z_][\w \[\]().:-]{0,79}")
_TAKEN = ("run", "status", "error", "message", "traceback")


def refuse_name(name: Any, what: str) -> None:
    """Refuse a name that cannot be one."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in _TAKEN:
        raise InputError(
            f"{what} is named by a letter, then letters, digits, blanks and . : - _ ( ) [ ], up to 80 of them, and not"
            f" {', '.join(_TAKEN)}; got {shown(name)}"
        )
