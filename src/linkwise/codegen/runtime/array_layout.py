"""NumPy's arrays as C sees them: where their fields are, and the functions that make them."""

from __future__ import annotations

import ctypes
import importlib
import sys
from functools import lru_cache
from typing import Any

import numpy as np

from ..llvm import python_entry as layout

_PYARRAY_NEW = 93  # its place in NumPy's table of C functions, fixed by NumPy's ABI


def numpy_function(place: int) -> int | None:
    """The address at a place of NumPy's table of C functions; None where there is none such."""
    try:
        umath = importlib.import_module("numpy._core._multiarray_umath")
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        table = get(umath._ARRAY_API, None)
    except (ImportError, AttributeError, ValueError):
        return None
    return ctypes.c_void_p.from_address(table + 8 * place).value


@lru_cache(maxsize=1)
def arrays_are_as_known() -> bool:
    """Whether this Python's arrays are laid out as compiled code will read them."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    return _layout_holds()


@lru_cache(maxsize=1)
def array_new() -> int | None:
    """The address of PyArray_New, or None where it does not make arrays as it should."""
    address = numpy_function(_PYARRAY_NEW) if arrays_are_as_known() else None
    return address if address is not None and _new_works(address) else None


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
