"""NumPy's functions of single numbers (its ufuncs) on symbols: what each does to one entry, with NumPy's meaning.

Entries are symbols or plain numbers; where all are numbers, NumPy itself computes them. What has no place here cannot
be traced. NaN goes the way it goes in NumPy: ``maximum`` passes it on, ``fmax`` does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .operations import OPERATIONS
from .scalar import Scalar, Truth, number

Entry = Callable[..., Any]


def _node(op: str) -> Entry:
    """An operation of the scalar program itself."""

    def of(*entries: Any) -> Any:
        numbers = [number(x) for x in entries]
        for x in numbers:
            if isinstance(x, Scalar):
                return x.graph.node(op, *numbers)
        with np.errstate(all="ignore"):
            return float(OPERATIONS[op].meaning(*numbers))

    return of


def is_true(x: Any) -> Any:
    """The truth of an entry."""
    return x.is_not_zero() if isinstance(x, Scalar) else bool(x)


def choose(condition: Any, yes: Any, no: Any) -> Any:
    """An entry of np.where."""
    condition = is_true(condition)
    if isinstance(condition, Scalar):
        return condition.select(yes, no)
    return yes if condition else no


def _not(x: Any) -> Any:
    truth = is_true(x)
    return ~truth if isinstance(truth, Truth) else not truth


def _is_nan(x: Any) -> Any:
    return number(x) != number(x)


# --- rounding and signs --------------------------------------------------------------------------------


def _sign(x: Any) -> Any:
    return choose(x > 0.0, 1.0, choose(x < 0.0, -1.0, abs(x)))  # |x| is 0 or NaN there


def _copysign(x: Any, y: Any) -> Any:
    if isinstance(y, Scalar):
        return _node("copysign")(x, y)
    return abs(x) if math.copysign(1.0, y) > 0 else -abs(x)


def _heaviside(x: Any, at_zero: Any) -> Any:
    return choose(x < 0.0, 0.0, choose(x > 0.0, 1.0, choose(x == 0.0, at_zero, x)))


def _remainder(a: Any, b: Any) -> Any:
    """With the sign of b, as Python's."""
    rest = _node("fmod")(a, b)
    is_off = is_true(rest) & ((b < 0.0) != (rest < 0.0))
    return choose(rest == 0.0, _copysign(0.0, b), choose(is_off, rest + b, rest))


def _floor_divide(a: Any, b: Any) -> Any:
    """As NumPy has it: from the remainder, and rounded once more where the division was not exact."""
    rest = _node("fmod")(a, b)
    is_off = is_true(rest) & ((b < 0.0) != (rest < 0.0))
    quotient = ENTRIES["divide"](a - rest, b)
    quotient = choose(is_off, quotient - 1.0, quotient)
    whole = _node("floor")(quotient)
    whole = choose(quotient - whole > 0.5, whole + 1.0, whole)
    ratio = ENTRIES["divide"](a, b)
    return choose(number(b) == 0.0, ratio, choose(is_true(quotient), whole, _copysign(0.0, ratio)))


def _ldexp(x: Any, exponent: Any) -> Any:
    return x * 2.0 ** int(exponent)


# --- the larger and the smaller ------------------------------------------------------------------------


def _maximum(a: Any, b: Any) -> Any:
    return _extreme(a, b, lambda x, y: x < y)


def _minimum(a: Any, b: Any) -> Any:
    return _extreme(a, b, lambda x, y: y < x)


def _extreme(a: Any, b: Any, yields: Entry) -> Any:
    """b where a yields to it, otherwise a; NaN where either is."""
    a, b = number(a), number(b)
    if not isinstance(a, Scalar):
        a, b = b, a
    if not isinstance(b, Scalar):
        return b if math.isnan(b) else choose(yields(a, b), b, a)
    return choose(yields(a, b) | _is_nan(b), b, a)


def _fmax(a: Any, b: Any) -> Any:
    return _other_than_nan(a, b, lambda x, y: y <= x)


def _fmin(a: Any, b: Any) -> Any:
    return _other_than_nan(a, b, lambda x, y: x <= y)


def _other_than_nan(a: Any, b: Any, stays: Entry) -> Any:
    """a where it stays before b, otherwise b; the other where one is NaN."""
    a, b = number(a), number(b)
    if not isinstance(a, Scalar):
        a, b = b, a
    if not isinstance(b, Scalar):
        return a if math.isnan(b) else choose(stays(a, b), a, b)
    return choose(stays(a, b) | _is_nan(b), a, b)


def _clip(x: Any, low: Any, high: Any) -> Any:
    return ENTRIES["minimum"](ENTRIES["maximum"](x, low), high)


# --- sums of exponentials ------------------------------------------------------------------------------


def _logaddexp(a: Any, b: Any) -> Any:
    larger = ENTRIES["maximum"](a, b)
    return choose(a == b, a + math.log(2.0), larger + _node("log1p")(_node("exp")(-abs(a - b))))


def _logaddexp2(a: Any, b: Any) -> Any:
    larger = ENTRIES["maximum"](a, b)
    sum_of_both = _node("log1p")(_node("exp2")(-abs(a - b))) * (1.0 / math.log(2.0))
    return choose(a == b, a + 1.0, larger + sum_of_both)


def _power(a: Any, b: Any) -> Any:
    return number(a) ** number(b)


def _divmod(a: Any, b: Any) -> Any:
    return _floor_divide(a, b), _remainder(a, b)


def _modf(x: Any) -> Any:
    whole = _node("trunc")(x)
    fraction = choose(abs(number(x)) == math.inf, 0.0, x - whole)
    return _copysign(fraction, x), whole


def _arctangent(y: Any, x: Any = 1.0) -> Any:
    return _node("atan2")(y, x)


def _difference(a: Any, b: Any) -> Any:
    return a - b


_TRACED: dict[str, Entry] = {
    "add": lambda a, b: a + b,
    "subtract": _difference,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: number(a) / number(b),
    "negative": lambda x: -x,
    "positive": lambda x: +x,
    "reciprocal": lambda x: 1.0 / x,
    "square": lambda x: x * x,
    "power": _power,
    "sqrt": _node("sqrt"),
    "cbrt": _node("cbrt"),
    "conjugate": lambda x: x,
    # trigonometry
    "sin": lambda x: number(x).sin(),
    "cos": lambda x: number(x).cos(),
    "tan": lambda x: number(x).tan(),
    "arcsin": _node("asin"),
    "arccos": _node("acos"),
    "arctan": _arctangent,
    "arctan2": _arctangent,
    "hypot": _node("hypot"),
    "sinh": _node("sinh"),
    "cosh": _node("cosh"),
    "tanh": _node("tanh"),
    "arcsinh": _node("asinh"),
    "arccosh": _node("acosh"),
    "arctanh": _node("atanh"),
    "deg2rad": lambda x: x * (math.pi / 180.0),
    "radians": lambda x: x * (math.pi / 180.0),
    "rad2deg": lambda x: x * (180.0 / math.pi),
    "degrees": lambda x: x * (180.0 / math.pi),
    # exponentials
    "exp": _node("exp"),
    "exp2": _node("exp2"),
    "expm1": _node("expm1"),
    "log": _node("log"),
    "log2": _node("log2"),
    "log10": _node("log10"),
    "log1p": _node("log1p"),
    "logaddexp": _logaddexp,
    "logaddexp2": _logaddexp2,
    "ldexp": _ldexp,
    # rounding, remainders and signs
    "floor": _node("floor"),
    "ceil": _node("ceil"),
    "trunc": _node("trunc"),
    "rint": _node("rint"),
    "absolute": abs,
    "fabs": lambda x: abs(number(x)),
    "sign": _sign,
    "copysign": _copysign,
    "signbit": lambda x: _copysign(1.0, x) < 0.0,
    "heaviside": _heaviside,
    "fmod": _node("fmod"),
    "remainder": _remainder,
    "floor_divide": _floor_divide,
    "divmod": _divmod,
    "modf": _modf,
    # the larger and the smaller
    "maximum": _maximum,
    "minimum": _minimum,
    "fmax": _fmax,
    "fmin": _fmin,
    "clip": _clip,
    # comparisons and truth
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "logical_and": lambda a, b: is_true(a) & is_true(b),
    "logical_or": lambda a, b: is_true(a) | is_true(b),
    "logical_xor": lambda a, b: is_true(a) ^ is_true(b),
    "logical_not": _not,
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
    "invert": lambda x: ~x,
    "isnan": _is_nan,
    "isinf": lambda x: abs(number(x)) == math.inf,
    "isfinite": lambda x: abs(number(x)) < math.inf,
}


def _of(name: str) -> Entry:
    """What a function does to entries that may all be numbers."""
    traced, on_numbers = _TRACED[name], getattr(np, name)

    def of(*entries: Any) -> Any:
        if any(isinstance(x, Scalar) for x in entries):
            return traced(*entries)
        with np.errstate(all="ignore"):
            found = on_numbers(*(x if isinstance(x, (bool, np.bool_)) else float(x) for x in entries))
        return tuple(_plain(x) for x in found) if isinstance(found, tuple) else _plain(found)

    return of


def _plain(x: Any) -> Any:
    return bool(x) if isinstance(x, np.bool_) else float(x)


ENTRIES: dict[str, Entry] = {name: _of(name) for name in _TRACED}  # NumPy's name → what it does to entries


def entry_of(ufunc: np.ufunc) -> Entry | None:
    """What one of NumPy's ufuncs does to entries; None where it cannot be traced, or is not NumPy's."""
    name = ufunc.__name__
    is_numpys = getattr(np, name, None) is ufunc or (
        name == "clip" and ufunc.nin == 3
    )  # np.clip is a function around it
    return ENTRIES.get(name) if is_numpys else None
