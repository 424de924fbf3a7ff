"""Kernels as Python functions with the least overhead (see :mod:`..llvm.python_entry`)."""

from __future__ import annotations

import ctypes
import pickle
import weakref
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from ..llvm import python_entry as layout
from ..llvm.python_entry import W
from ..program.signature import Signature
from ..thresholds import POOLED_BYTES
from .array_layout import array_new
from .engine import MachineCode, Pace
from .result_memory import result_memory
from .shared_code import shared_code
from .team import team
from .threads import usable_cores


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_FASTCALL_KEYWORDS, _NO_ARGUMENTS = 0x0080 | 0x0002, 0x0004
_TYPENUMS = {"float64": layout.NPY_DOUBLE, "float32": layout.NPY_FLOAT}


@lru_cache(maxsize=1)
def context() -> Any:
    """The table of addresses that the entries use, or None where they cannot be trusted."""
    new = array_new()
    if new is None:
        return None
    memory = result_memory()
    table = (ctypes.c_void_p * len(layout.CONTEXT))()
    for i, name in enumerate(layout.CONTEXT):
        if name.startswith("Py") and name not in ("PyArray_New", "PyDataMem_SetHandler"):
            table[i] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p)
    known = {"ndarray": id(np.ndarray), "PyArray_New": new, "pooled": POOLED_BYTES}
    if memory is not None:
        known |= {"PyDataMem_SetHandler": memory.set_address, "handler": id(memory.capsule)}
    for name, address in known.items():
        table[layout.C[name]] = address
    return table


class _Words(np.ndarray):
    """Addresses in the memory of this process, and so of no use in another."""

    what: Any = None

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.what is None:
            raise pickle.PicklingError(
                "a function bound to arrays knows their memory in this process: pickle the kernel"
            )
        return _itself, (self.what,)


def _itself(x: Any) -> Any:
    return x


def entry_function(
    code: MachineCode,
    signature: Signature,
    fallback: Callable[..., Any],
    name: str,
    shapes: Mapping[str, tuple[int, ...]],
    finish: Callable[[tuple[np.ndarray, ...]], Any] | None,
    *,
    scalar: bool = True,
) -> Any:
    """A built-in function of arrays that falls back to ``fallback``; None where there can be none.

    ``shapes`` are those of inputs that have two axes for one state; ``finish`` makes what is returned of a tuple of
    results; ``scalar`` says whether single states run their own code. Python pickles the function as the attribute
    ``name`` of ``fallback``.
    """
    known = context()
    words = None if known is None else _described(signature, shapes)
    if words is None:
        return None
    memory, dtype = code.entry_memory, np.dtype(np.float64 if code.vector.bits == 64 else np.float32)
    helping = team()
    head = {
        "kernel": code.address,
        "one": code.one if scalar else 0,
        "scratch": memory.scratch_address,
        "busy": memory.table_address,
        "most": np.iinfo(np.int64).max,
        "team": 0 if helping is None else helping.address,
        "batch": 0 if helping is None else helping.batch_address,
        "scratch_step": code.scratch_step,
        "lanes": code.vector.lanes,
        "helpers": memory.threads - 1,
        "pace": memory.pace_address,
        "fallback": id(fallback),
        "finish": 0 if finish is None else id(finish),
        "tuple": int(not signature.single),
        "context": ctypes.addressof(known),
        "descr": id(dtype),
        "typenum": _TYPENUMS[dtype.name],
        "size": dtype.itemsize,
    }
    for word, value in head.items():
        words[W[word]] = value
    words.what = fallback
    if helping is None:
        MostStates(words, W["most"]).follow(code.pace)
    # The first line tells inspect.signature and help what it takes.
    about = "Plain float64 arrays, one state or many; all else goes the checked way."
    doc = f"{name}({', '.join((*signature.inputs, '/'))})\n--\n\n{about}"
    return _built_in(shared_code()["lw_call"], name, words, (code, fallback, finish), _FASTCALL_KEYWORDS, doc)


def _described(signature: Signature, shapes: Mapping[str, tuple[int, ...]]) -> _Words | None:
    """Words with the numbers of inputs and outputs in place; None for what the entry cannot do."""
    outputs = signature.shapes
    if not signature.inputs or not outputs or any(len(s) > layout.MOST_AXES for s in outputs):
        return None
    found = [0] * layout.HEAD
    found[W["inputs"]], found[W["outputs"]] = len(signature.inputs), len(outputs)
    for name, n in signature.inputs.items():
        shape = shapes.get(name, (n,))
        if len(shape) > 2:
            return None
        found += [len(shape), n, *shape, *[0] * (2 - len(shape))]
    for out in outputs:
        found += [len(out), int(np.prod(out)), *out, *[0] * (layout.MOST_AXES - len(out))]
    return np.array(found, dtype=np.int64).view(_Words)


class MostStates:
    """Tells an entry the most states that it may do alone, as long as its words are there."""

    def __init__(self, words: np.ndarray, place: int) -> None:
        self._words, self._place = weakref.ref(words), place

    def follow(self, pace: Pace) -> None:
        """The most there is now, and whatever it becomes."""
        pace.followers.append(self)
        self(pace.most)

    def __call__(self, most: int) -> None:
        words = self._words()
        if words is not None:
            words[self._place] = np.iinfo(np.int64).max if usable_cores() == 1 else most


def bound_function(code: MachineCode, name: str, count: int, work: Any, table: list[int], keep: Any) -> Any:
    """A built-in function without arguments that runs on the memory of this table; None where there can be none."""
    known = context()
    if known is None:
        return None
    out = table[-3]
    head = [count, code.address, code.one, work.scratch_address, out, ctypes.addressof(known)]
    doc = "Run on the bound arrays; returns whether the result is sound (no matrix to invert was singular)."
    words = np.array([*head, *table], dtype=np.int64).view(_Words)
    return _built_in(shared_code()["lw_bound"], name, words, (code, work, keep), _NO_ARGUMENTS, doc)


def _built_in(address: int, name: str, self: Any, keep: Any, flags: int, doc: str) -> Any:
    definition = _MethodDef(name.encode(), address, flags, doc.encode())
    # Python reads it even while destroying the function, which may be after all modules: it stays.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(definition))
    _DEFINITIONS.append(definition)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    return make(ctypes.addressof(definition), self, _Module(keep))


class _Module(str):
    """The name of a function's module, which holds what the function needs: besides its data it is all that a built-in
    function holds. (PyTorch's compiler, for one, reads it as a name.)"""

    __slots__ = ("kept",)
    kept: Any

    def __new__(cls, keep: Any) -> _Module:
        module = super().__new__(cls, __name__)
        module.kept = keep
        return module


_DEFINITIONS: list[Any] = []
