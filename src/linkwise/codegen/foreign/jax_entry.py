"""Kernels that XLA calls on the CPU without Python, by their names (see :mod:`..llvm.xla_entry`).

The first call of a function, in a precision, goes through the handler in Python, which has its code made; from then on
there is a record of that code, as long as the function is there. A record that a thread of XLA's uses while its
function goes is kept until it is done.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading
import weakref
from typing import Any

import numpy as np

from ..llvm import xla_entry as layout
from ..llvm.python_entry import MOST_AXES
from ..llvm.xla_entry import LEAST_NAME, K, M, R
from ..program.signature import Signature
from ..runtime.engine import EntryMemory, MachineCode, is_here, process_code
from ..runtime.python_functions import MostStates
from ..runtime.team import team
from .function import ArrayFunction

_TYPENUMS = {"float64": 12, "float32": 11}
_NO_BOUND = int(np.iinfo(np.int64).max)
Key = tuple[str, str]  # a name and a precision


class _Record:
    """A kernel's machine code as the handler finds it, and what that works in."""

    def __init__(self, key: Key, code: MachineCode, signature: Signature) -> None:
        name, dtype = key
        self._name = ctypes.create_string_buffer(name.encode())
        self._code = code
        helping = team()
        head = {
            "name": ctypes.addressof(self._name),
            "length": len(name.encode()),
            "typenum": _TYPENUMS[dtype],
            "kernel": code.address,
            "team": 0 if helping is None else helping.address,
            "batch": 0 if helping is None else helping.batch_address,
            "scratch_step": code.scratch_step,
            "lanes": code.vector.lanes,
            "most": _NO_BOUND,
            "size": np.dtype(dtype).itemsize,
            "inputs": len(signature.inputs),
            "outputs": len(signature.shapes),
        }
        words = [head.get(word, 0) for word in layout.RECORD]
        words += signature.inputs.values()
        for shape in signature.shapes:
            words += [len(shape), int(np.prod(shape)), *shape, *[0] * (MOST_AXES - len(shape))]
        self.words = np.array(words, dtype=np.int64)
        self.address = self.words.ctypes.data
        self._memories = [self._new_memory()]
        first = self._memories[0]
        self.words[R["memory"]] = first.table_address
        self.words[R["helpers"]] = first.threads - 1
        self.words[R["pace"]] = code.entry_memory.pace_address
        if helping is None:
            MostStates(self.words, R["most"]).follow(code.pace)

    def _new_memory(self) -> EntryMemory:
        code = self._code
        memory = EntryMemory(len(layout.MEMORY) - 1, code.scratch_step, code.vector.alignment, code.most_threads)
        memory.table[M["scratch"]] = memory.scratch_address
        return memory

    def memory_beyond(self) -> tuple[int, int] | None:
        """Where the address of one more memory belongs, and it, where all are taken and more threads could call."""
        if len(self._memories) >= (os.cpu_count() or 1) or not all(x.table[M["busy"]] for x in self._memories):
            return None
        last, new = self._memories[-1], self._new_memory()
        self._memories.append(new)
        return last.table_address + 8 * M["next"], new.table_address

    @property
    def at_work(self) -> int:
        """How many threads use it."""
        return int(self.words[R["at_work"]])

    def take_used(self) -> bool:
        """Whether it was called since this was asked."""
        found = bool(self.words[R["used"]])
        self.words[R["used"]] = 0
        return found


class XlaEntry:
    """The handler, which hands to ``fallback`` what it does not do itself, and its records."""

    def __init__(self, fallback: Any) -> None:
        code = process_code("xla", layout.xla_ir(platform.machine()))
        self._words = (ctypes.c_int64 * (len(layout.KNOWN) + layout.BUCKETS))()
        self._words[K["fallback"]] = ctypes.cast(fallback, ctypes.c_void_p).value or 0
        self._fallback = fallback
        self.handler = type(fallback)(code["lw_xla_call"])
        # (These keep the interpreter's lock: records come and go by one thread at a time.)
        pointer = ctypes.c_void_p
        self._add = ctypes.PYFUNCTYPE(None, pointer)(code["lw_xla_add"])
        self._remove = ctypes.PYFUNCTYPE(ctypes.c_int64, pointer)(code["lw_xla_remove"])
        self._extend = ctypes.PYFUNCTYPE(None, pointer, ctypes.c_int64)(code["lw_xla_extend"])
        ctypes.PYFUNCTYPE(None, pointer)(code["lw_xla_open"])(ctypes.addressof(self._words))
        self.records: dict[Key, _Record] = {}
        self._lock = threading.RLock()  # garbage that Python finds meanwhile may be someone's who calls again
        self._leaving: list[_Record] = []  # their functions are gone, and a thread still used them
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))  # XLA's threads look at it to the very end
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._nobody_calls)

    def offer(self, token: str, function: ArrayFunction, dtype: str) -> None:
        """From now on XLA calls the function's machine code, where it has some that is run as it is."""
        with self._lock:
            self._offer((token, dtype), function)

    def _offer(self, key: Key, function: ArrayFunction) -> None:
        token, dtype = key
        known = self.records.get(key)
        if known is not None:
            further = known.memory_beyond()
            if further is not None:
                self._extend(*further)
            return
        code, signature = function.machine_code(dtype), function.signature
        if code is None or not signature.inputs or any(len(s) > MOST_AXES for s in signature.shapes):
            return
        if len(token.encode()) < LEAST_NAME:
            return
        self.records[key] = record = _Record(key, code, signature)
        for done in [x for x in self._leaving if not x.at_work]:
            self._leaving.remove(done)  # from the very list: meanwhile another may come to it
        self._add(record.address)
        weakref.finalize(function, self._withdraw, key).atexit = False

    def _withdraw(self, key: Key) -> None:
        record = self.records.pop(key)
        if self._remove(record.address):
            self._leaving.append(record)

    def take_used(self, token: str) -> bool:
        """Whether XLA called what has this name since this was asked."""
        records = [self.records.get((token, dtype)) for dtype in _TYPENUMS]
        used = [record.take_used() for record in records if record is not None]
        return any(used)

    def _nobody_calls(self) -> None:
        """In a forked child, which has none of the other threads."""
        self._lock = threading.RLock()
        self._words[K["lock"]] = 0
        for record in (*self.records.values(), *self._leaving):
            record.words[R["at_work"]] = 0


def may_be() -> bool:
    """Whether there is the handler: on systems of 64 bits, with what makes machine code."""
    return sys.maxsize > 2**32 and sys.byteorder == "little" and is_here()
