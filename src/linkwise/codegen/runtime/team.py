"""The threads of this process that share batches in machine code (see :mod:`..llvm.team`)."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from functools import lru_cache
from typing import Any

from ..llvm import team as layout
from ..thresholds import CLOSE_CALLS, CLOSE_NANOSECONDS, LEAST_STATES, SHARED_NANOSECONDS, SPINS, WAKING_NANOSECONDS
from .allowance import processors_allowed
from .shared_code import shared_code

_FUTEX = {"x86_64": 202, "aarch64": 98}  # the number of the system call


class Team:
    """Workers that are started when there is work for them, and end with the process."""

    def __init__(self, libc: Any) -> None:
        self._memory = (ctypes.c_char * (layout.BYTES + layout.LINE))()
        start = ctypes.addressof(self._memory)
        self.address = start + -start % layout.LINE
        for name in layout.LIBC:
            self._set(name, ctypes.cast(getattr(libc, name), ctypes.c_void_p).value or 0)
        numbers = {
            "futex": _FUTEX[platform.machine()],
            "spins": SPINS,
            "least_states": LEAST_STATES,
            "least_awake": SHARED_NANOSECONDS,
            "least_asleep": WAKING_NANOSECONDS,
            "recent": CLOSE_NANOSECONDS,
            "calls": CLOSE_CALLS,
            "most_cores": processors_allowed(),
        }
        for name, number in numbers.items():
            self._set(name, number)
        code = shared_code()
        self.batch_address = code["lw_batch"]
        word, pointer = ctypes.c_int64, ctypes.c_void_p
        arguments = (pointer, pointer, word, pointer, word, word, word, pointer, word, word, word, pointer, word)
        self.on_objects = ctypes.CFUNCTYPE(word, *arguments)(code["lw_batch_on_objects"])

    @property
    def workers(self) -> int:
        """How many there are."""
        return int(self._word("workers").value)

    def forget(self) -> None:
        """In a forked child, which has none of the threads."""
        for name in ("seq", "sleepers", "open", "active", "waiter", "busy", "workers"):
            self._set(name, 0)

    def _set(self, name: str, number: int) -> None:
        self._word(name).value = number

    def _word(self, name: str) -> Any:
        return ctypes.c_int64.from_address(self.address + layout.PLACES[name])


@lru_cache(maxsize=1)
def team() -> Team | None:
    """The team, or None on systems that it does not know."""
    if sys.platform != "linux" or platform.machine() not in _FUTEX or sys.maxsize < 2**32:
        return None
    libc = ctypes.CDLL(None)
    if not all(hasattr(libc, name) for name in layout.LIBC):
        return None
    found = Team(libc)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(found))  # workers look at it as long as there are any
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=found.forget)
    return found
