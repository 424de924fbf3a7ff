"""Recursions over dense matrices, written once as operations on arrays, and run by machine code or by NumPy.

A :class:`Tape` records operations on arrays that stay where they are: (rows, columns), the same at every step, or
(steps, rows, columns). :meth:`Tape.run` then goes through them for one step after another, in the order asked for.
Columns are whole vectors (:func:`padded`); what is beyond the numbers is zero, and stays so.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ..llvm.matrix_tape import KINDS, WORDS, tape_ir
from .engine import host, is_here, process_code

LANES = 8  # numbers that columns come in: whole vectors of any host


def padded(n: int) -> int:
    """How many columns an array for n of them has."""
    return -(-n // LANES) * LANES


class Tape:
    """Operations in the order in which they were recorded; ``compiled`` says whether machine code runs them."""

    def __init__(self, compiled: bool = True) -> None:
        self._compiled = compiled and is_here()
        self._plain: list[tuple[Callable[..., bool | None], tuple[Any, ...]]] = []
        self._rows: list[list[int]] = []
        self._table: Any = None

    def __add__(self, other: Tape) -> Tape:
        """All operations of this one, then those of the other."""
        both = Tape(self._compiled)
        both._plain, both._rows = self._plain + other._plain, self._rows + other._rows
        return both

    def multiply(self, C: np.ndarray, A: np.ndarray, B: np.ndarray, alpha: float = 1.0, *, add: bool = False) -> None:
        """C ← αAB, or C + αAB. C overlaps neither A nor B."""
        if A.shape[-1]:
            self._record("multiply", _multiply, C, A, B, alpha, add)
        elif not add:
            raise ValueError("a product of nothing is zero: nothing to record")

    def add(self, C: np.ndarray, B: np.ndarray, alpha: float = 1.0) -> None:
        """C ← C + αB."""
        self._record("add", _add, C, None, B, alpha, True)

    def copy(self, C: np.ndarray, B: np.ndarray, alpha: float = 1.0) -> None:
        """C ← αB."""
        self._record("add", _add, C, None, B, alpha, False)

    def eliminate(self, C: np.ndarray, S: np.ndarray) -> None:
        """The columns of C before those of S become S⁻¹ times themselves; the run ends where S is not positive."""
        self._record("eliminate", _eliminate, C, S, None, 1.0, False)

    def symmetrise(self, C: np.ndarray, B: np.ndarray) -> None:
        """Square C and B ← ½(C + B*), the same array or two that do not overlap."""
        self._record("symmetrise", _symmetrise, C, None, B, 1.0, False)

    def run(self, first: int = 0, steps: int = 1, by: int = 1) -> bool:
        """Go through all operations for steps first, first + by, …; whether all eliminations went through."""
        if not self._compiled:
            return all(self._step(first + by * t) for t in range(steps))
        if self._table is None:
            self._table = np.array(self._rows, dtype=np.int64)
        return not _code()(self._table.ctypes.data, len(self._table), first, steps, by)

    def _step(self, step: int) -> bool:
        for operation, (C, A, B, alpha, add) in self._plain:
            there = [x if x is None or x.ndim == 2 else x[step] for x in (C, A, B)]
            if operation(*there, alpha, add) is False:
                return False
        return True

    def _record(self, kind: str, operation: Any, C: Any, A: Any, B: Any, alpha: float, add: bool) -> None:
        self._plain.append((operation, (C, A, B, alpha, add)))  # also what keeps the arrays alive
        for x in (C, B):
            if x is not None and (x.strides[-1] != x.itemsize or (kind != "symmetrise" and x.shape[-1] % LANES)):
                raise ValueError(f"{kind} takes rows of whole vectors, got {x.shape}")
        words = dict.fromkeys(WORDS, 0)
        words |= {"kind": KINDS.index(kind), "rows": C.shape[-2], "beta": int(add), "alpha": _bits(alpha)}
        words["vectors"] = C.shape[-1] * C.itemsize // host().vector_bytes if self._compiled else 0
        words["inner"] = 0 if A is None else A.shape[-1]
        for name, x in (("A", A), ("B", B), ("C", C)):
            if x is not None:
                words |= {name: x.__array_interface__["data"][0], f"{name}_step": x.strides[0] if x.ndim == 3 else 0}
                words[f"{name}_row"] = x.strides[-2]
        if A is not None:
            words["A_column"] = A.strides[-1]
        self._rows.append([words[word] for word in WORDS])
        self._table = None


def _bits(x: float) -> int:
    found: int = struct.unpack("<q", struct.pack("<d", x))[0]
    return found


@lru_cache(maxsize=1)
def _code() -> Any:
    address = process_code("matrix tape", tape_ir(host().vector(np.float64)))["lw_tape"]
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, *[ctypes.c_int64] * 4)(address)


# --- the same on NumPy --------------------------------------------------------------------------------------


def _multiply(C: np.ndarray, A: np.ndarray, B: np.ndarray, alpha: float, add: bool) -> None:
    found = alpha * (A @ B)
    C[...] = C + found if add else found


def _add(C: np.ndarray, A: None, B: np.ndarray, alpha: float, add: bool) -> None:
    C[...] = C + alpha * B if add else alpha * B


def _eliminate(C: np.ndarray, S: np.ndarray, B: None, alpha: float, add: bool) -> bool:
    own = S[:, : len(S)].copy()
    try:
        if not np.isfinite(np.linalg.cholesky(own)).all():
            return False
        C[...] = np.linalg.solve(own, C)
    except np.linalg.LinAlgError:  # it has no Cholesky factor, or is singular to rounding although it has one
        return False
    return True


def _symmetrise(C: np.ndarray, A: None, B: np.ndarray, alpha: float, add: bool) -> None:
    mean = 0.5 * (C + B.T)
    C[...], B[...] = mean, mean.T
