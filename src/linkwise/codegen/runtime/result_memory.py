"""Memory for large results that is kept for the next ones (see :mod:`..llvm.result_memory`).

``LINKWISE_POOL_MB`` bounds how many megabytes are kept while no array has them; 0 turns it off, and all results come
from NumPy's own memory. Left out it is 256, and a quarter of the memory that this process may have (:mod:`.allowance`)
where that is less; where it is more, up to that is kept on Linux, and of what is beyond 256 MB the system takes the
pages as soon as it wants memory.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
from functools import lru_cache
from typing import Any

import numpy as np

from ...errors import InputError
from ..llvm.result_memory import POOL_WORDS, P
from ..thresholds import POOLED_BYTES
from .allowance import memory_allowed
from .array_layout import numpy_function
from .shared_code import shared_code

_USUAL = 256 * 10**6  # bytes that are kept, held fast
_SET_HANDLER = 304  # its place in NumPy's table of C functions, fixed by NumPy's ABI


class _Handler(ctypes.Structure):
    """NumPy's PyDataMem_Handler."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("ctx", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


class ResultMemory:
    """The one pool of this process."""

    def __init__(self, limit: int, most: int, set_handler: int, libc: Any) -> None:
        self.words = (ctypes.c_int64 * POOL_WORDS)()
        self.words[P["limit"]], self.words[P["most"]] = limit, most
        for name in ("posix_memalign", "free", "madvise"):
            found = getattr(libc, name, None) if name != "madvise" or sys.platform == "linux" else None
            self.words[P[name]] = 0 if found is None else ctypes.cast(found, ctypes.c_void_p).value or 0
        code = shared_code()
        self._flush = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(code["lw_flush"])
        functions = (code[f"lw_{name}"] for name in ("malloc", "calloc", "realloc", "free"))
        self.handler = _Handler(b"linkwise", 1, ctypes.addressof(self.words), *functions)
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self._name = ctypes.create_string_buffer(b"mem_handler")  # the capsule keeps its address, not its letters
        self.capsule = make(ctypes.addressof(self.handler), self._name, None)
        self.set_address = set_handler
        self._set = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(set_handler)

    @property
    def kept(self) -> int:
        """How many bytes wait for an array."""
        return self.words[P["kept"]]

    @property
    def limit(self) -> int:
        """How many may, held fast."""
        return self.words[P["limit"]]

    @property
    def most(self) -> int:
        """How many may, those included that the system may take."""
        return self.words[P["most"]]

    def empty(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """An array of this memory."""
        usual = self._set(self.capsule)
        try:
            return np.empty(shape, dtype)
        finally:
            self._set(usual)

    def flush(self) -> None:
        """Give back to the system what no array has."""
        self._flush(ctypes.addressof(self.words))


@lru_cache(maxsize=1)
def result_memory() -> ResultMemory | None:
    """The pool, or None where there is none: turned off, or on a system that it does not know.

    It is made once and stays to the end of the process, since arrays may.
    """
    limit = _limit()
    if not limit or sys.platform == "win32" or "t" in getattr(sys, "abiflags", ""):
        return None
    set_handler = numpy_function(_SET_HANDLER)
    try:
        libc = ctypes.CDLL(None)
        handler_of = importlib.import_module("numpy._core._multiarray_umath").get_handler_name
    except (ImportError, AttributeError, OSError):
        return None
    if set_handler is None or not hasattr(libc, "posix_memalign"):
        return None
    memory = ResultMemory(limit, max(limit, _loosely_kept()), set_handler, libc)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(memory))  # Python frees arrays after it has cleared all modules
    usual = handler_of(np.empty(1))
    if handler_of(memory.empty((3,), float)) != "linkwise" or handler_of(np.empty(1)) != usual:
        return None
    return memory


def empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array for results: from the pool where it is large."""
    numbers = 1
    for n in shape:
        numbers *= n
    if numbers * np.dtype(dtype).itemsize < POOLED_BYTES:
        return np.empty(shape, dtype)
    memory = result_memory()
    return np.empty(shape, dtype) if memory is None else memory.empty(shape, dtype)


def _loosely_kept() -> int:
    """How many bytes may be kept in all where the system may take what is beyond the limit; 0 where it cannot."""
    if sys.platform != "linux" or "LINKWISE_POOL_MB" in os.environ:
        return 0
    return memory_allowed() // 4


def _limit() -> int:
    text = os.environ.get("LINKWISE_POOL_MB")
    if text is None:
        return min(_USUAL, memory_allowed() // 4) if sys.platform != "win32" else _USUAL
    try:
        limit = float(text)
    except ValueError:
        limit = -1.0
    if not 0.0 <= limit < 1e9:
        raise InputError(f"LINKWISE_POOL_MB must be a number of megabytes, 0 for none, got {text!r}")
    return int(limit * 1e6)
