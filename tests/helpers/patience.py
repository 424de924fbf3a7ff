"""How long a test waits for what must come: one limit, so generous that only what hangs meets it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 600.0  # seconds; a machine that is busy with ten other things must not fail a test


def eventually(condition: Callable[[], Any], pause: Callable[[], Any] = lambda: time.sleep(0.01)) -> bool:
    """Whether a condition comes true; asked again after each pause."""
    until = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > until:
            return False
        pause()
    return True
