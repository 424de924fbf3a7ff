"""The operations of the scalar program: what each means on numbers, and as what it counts.

Arithmetic, roots, comparisons and roundings are machine instructions on every target, and exact to the last bit or half
of it. Sines and cosines are linkwise's own (:mod:`..codegen.llvm.sine_cosine`). The other functions are those of the
platform's libm, one state after another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Operations:
    """How many operations of each kind a program takes. Subtractions are additions; signs are free."""

    additions: int = 0
    multiplications: int = 0
    divisions: int = 0
    roots: int = 0
    sines: int = 0  # sines, cosines and all other functions of libm
    comparisons: int = 0  # comparisons, what combines them, choices and roundings

    @property
    def total(self) -> int:
        return sum(astuple(self))

    def __str__(self) -> str:
        parts = [(self.multiplications, "×"), (self.additions, "+"), (self.divisions, "÷"), (self.roots, "√")]
        parts += [(self.sines, "sin/cos"), (self.comparisons, "<")]
        return ", ".join(f"{n} {symbol}" for n, symbol in parts if n) or "none"


@dataclass(frozen=True)
class Operation:
    """One operation: its meaning as NumPy's function, and the kind it counts as ("" is free)."""

    meaning: Callable[..., Any]
    counts: str
    is_truth: bool = False  # whether it gives true or false


def _function(meaning: Callable[..., Any]) -> Operation:
    return Operation(meaning, "sines")


def _truth(meaning: Callable[..., Any]) -> Operation:
    return Operation(meaning, "comparisons", is_truth=True)


def _rounding(meaning: Callable[..., Any]) -> Operation:
    return Operation(meaning, "comparisons")


OPERATIONS: dict[str, Operation] = {
    "add": Operation(np.add, "additions"),
    "sub": Operation(np.subtract, "additions"),
    "mul": Operation(np.multiply, "multiplications"),
    "neg": Operation(np.negative, ""),
    "inv": Operation(np.reciprocal, "divisions"),
    "sqrt": Operation(np.sqrt, "roots"),
    "sin": _function(np.sin),
    "cos": _function(np.cos),
    # The names of libm, so that source text needs no others.
    "asin": _function(np.arcsin),
    "acos": _function(np.arccos),
    "atan2": _function(np.arctan2),
    "sinh": _function(np.sinh),
    "cosh": _function(np.cosh),
    "tanh": _function(np.tanh),
    "asinh": _function(np.arcsinh),
    "acosh": _function(np.arccosh),
    "atanh": _function(np.arctanh),
    "exp": _function(np.exp),
    "exp2": _function(np.exp2),
    "expm1": _function(np.expm1),
    "log": _function(np.log),
    "log2": _function(np.log2),
    "log10": _function(np.log10),
    "log1p": _function(np.log1p),
    "cbrt": _function(np.cbrt),
    "pow": _function(np.power),
    "hypot": _function(np.hypot),
    "fmod": _function(np.fmod),
    "fabs": Operation(np.abs, ""),
    "copysign": Operation(np.copysign, ""),
    "floor": _rounding(np.floor),
    "ceil": _rounding(np.ceil),
    "trunc": _rounding(np.trunc),
    "rint": _rounding(np.rint),
    # False where an argument is not a number, as comparisons of Python and NumPy are.
    "less": _truth(np.less),
    "less_equal": _truth(np.less_equal),
    "equal": _truth(np.equal),
    "and": _truth(np.logical_and),
    "or": _truth(np.logical_or),
    "not": _truth(np.logical_not),
    "select": _rounding(lambda c, a, b: a if c else b),
}

TRUTHS = frozenset({"less", "less_equal", "equal", "and", "or", "not"})  # what gives true or false, no number
