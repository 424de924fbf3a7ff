"""Wrap the quick entry of a kernel as a Python function (see :mod:`..llvm.python_entry`)."""

from __future__ import annotations

import ctypes
import importlib
import pickle
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..llvm import python_entry as layout

_PYARRAY_NEW = 93  # its place in NumPy's table of C functions, fixed by NumPy's ABI


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_FASTCALL_KEYWORDS, _NO_ARGUMENTS = 0x0080 | 0x0002, 0x0004


@lru_cache(maxsize=1)
def context() -> Any:
    """The addresses that ``lw_context`` points to, or None where the quick entry cannot be trusted."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    try:
        umath = importlib.import_module("numpy._core._multiarray_umath")
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        table = get(umath._ARRAY_API, None)
        array_new = ctypes.c_void_p.from_address(table + 8 * _PYARRAY_NEW).value
        vectorcall = ctypes.cast(ctypes.pythonapi.PyObject_Vectorcall, ctypes.c_void_p).value
        drop = ctypes.cast(ctypes.pythonapi.Py_DecRef, ctypes.c_void_p).value
        truth = ctypes.cast(ctypes.pythonapi.PyBool_FromLong, ctypes.c_void_p).value
    except (ImportError, AttributeError, ValueError):
        return None
    if array_new is None or vectorcall is None or not (_layout_holds() and _new_works(array_new)):
        return None
    return (ctypes.c_void_p * 6)(id(np.ndarray), id(np.dtype(np.float64)), array_new, vectorcall, drop, truth)


def _layout_holds() -> bool:
    """Whether the fields of a live array are where the emitted code will look for them."""
    x = np.arange(12.0)[1:11:3]

    def read(offset: int, kind: Any) -> Any:
        return kind.from_address(id(x) + offset).value

    shape, strides = read(layout.SHAPE, ctypes.c_void_p), read(layout.STRIDES, ctypes.c_void_p)
    return (
        read(layout.TYPE, ctypes.c_void_p) == id(np.ndarray)
        and read(layout.DATA, ctypes.c_void_p) == x.ctypes.data
        and read(layout.NDIM, ctypes.c_int) == 1
        and read(layout.DESCR, ctypes.c_void_p) == id(np.dtype(np.float64))
        and bool(read(layout.FLAGS, ctypes.c_int) & layout.ALIGNED)
        and ctypes.c_int64.from_address(shape).value == 4
        and ctypes.c_int64.from_address(strides).value == 24
    )


def _new_works(address: int) -> bool:
    """Whether the function at this place of NumPy's table makes arrays as it should."""
    pointer, integer = ctypes.c_void_p, ctypes.c_int
    kinds = (pointer, integer, pointer, integer, pointer, pointer, integer, integer, pointer)
    make = ctypes.PYFUNCTYPE(ctypes.py_object, *kinds)(address)
    dims = (ctypes.c_int64 * 2)(3, 4)
    made = make(id(np.ndarray), 2, ctypes.addressof(dims), layout.NPY_DOUBLE, None, None, 0, 0, None)
    return isinstance(made, np.ndarray) and made.shape == (3, 4) and made.dtype == np.float64


def quick_function(address: int, name: str, arguments: Sequence[str], fallback: Callable[..., Any], keep: Any) -> Any:
    """A built-in function that falls back to ``fallback``; ``keep`` lives as long as it.

    Python pickles it as the attribute ``name`` of ``fallback``.
    """
    # The first line tells inspect.signature and help what it takes.
    doc = f"{name}({', '.join((*arguments, '/'))})\n--\n\nOne state; all but plain float64 vectors go the checked way."
    return _built_in(address, name, fallback, keep, _FASTCALL_KEYWORDS, doc)


def bound_function(address: int, name: str, words: list[int], keep: Any) -> Any:
    """A built-in function without arguments that runs on the memory these words name."""
    doc = "Run on the bound arrays; returns whether the result is sound (no matrix to invert was singular)."
    return _built_in(address, name, np.array(words, dtype=np.int64).view(_Addresses), keep, _NO_ARGUMENTS, doc)


class _Addresses(np.ndarray):
    """Where bound arrays are in the memory of this process, and so of no use in another."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise pickle.PicklingError("a function bound to arrays knows their memory in this process: pickle the kernel")


def _built_in(address: int, name: str, self: Any, keep: Any, flags: int, doc: str | None) -> Any:
    definition = _MethodDef(name.encode(), address, flags, doc.encode() if doc else None)
    _DEFINITIONS.append(definition)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    return make(ctypes.addressof(definition), self, keep)


_DEFINITIONS: list[Any] = []  # Python reads a function's definition even while destroying it: these stay
