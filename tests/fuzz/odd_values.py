"""Values that no caller should give: wrong kinds, shapes and sizes, and numbers at the ends of their range."""

from __future__ import annotations

import datetime
import fractions
import types
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from random import Random
from typing import Any

import numpy as np

from linkwise import LinkwiseError, Robot

THINGS: tuple[Callable[[], Any], ...] = (
    lambda: None,
    lambda: True,
    lambda: 0,
    lambda: -1,
    lambda: 2**70,
    lambda: -(10**30),
    lambda: 0.5,
    lambda: -0.0,
    lambda: 1e308,
    lambda: 1e-320,
    lambda: float("nan"),
    lambda: float("inf"),
    lambda: -float("inf"),
    lambda: 3 + 4j,
    lambda: fractions.Fraction(1, 3),
    lambda: "",
    lambda: "abc",
    lambda: "world",
    lambda: "x" * 300,
    lambda: "a\0b",
    lambda: "\ud800",
    lambda: "../..",
    lambda: b"bytes",
    lambda: [],
    lambda: (),
    lambda: {},
    lambda: set(),
    lambda: [None],
    lambda: [[1.0, 2.0], [3.0]],
    lambda: ["a", "b", "c"],
    lambda: [[[[[[1.0]]]]]],
    lambda: {"a": 1},
    lambda: {1: [2]},
    lambda: range(3),
    lambda: object(),
    lambda: int,
    lambda: len,
    lambda: lambda *x, **y: None,
    lambda: iter([1.0, 2.0]),
    lambda: (x for x in "ab"),
    lambda: datetime.date(2000, 1, 1),
    lambda: np.float64(1.0),
    lambda: np.float32("nan"),
    lambda: np.int8(-3),
    lambda: np.array([]),
    lambda: np.zeros((0, 3)),
    lambda: np.zeros((3, 0)),
    lambda: np.zeros((1,) * 20),
    lambda: np.array("text"),
    lambda: np.array([object(), None]),
    lambda: np.array(["2020-01-01"], "datetime64"),
    lambda: np.zeros(3, [("a", float)]),
    lambda: np.ma.masked_array([1.0, 2.0], [True, False]),
    lambda: types.MappingProxyType({"a": 1}),
)

NUMBERS = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e200, -1e200, 1e-160, 1e-320, 1e308, 1e16, 7.0)
DTYPES = ("float32", "float16", "longdouble", "complex64", "complex128", "int64", "uint8", "bool", "object", "U8", "S4")


def odd(rng: Random, good: Any, no_function: bool = False) -> Any:
    """Something in place of a good value, of another kind or nearly the same."""
    if isinstance(good, np.ndarray) and good.ndim and good.size and rng.random() < 0.7:
        return odd_array(rng, good)
    if isinstance(good, str) and rng.random() < 0.3:
        return rng.choice((good.upper(), good[:-1], good + "x", [good], [good, good], (good, None), {good: 1}))
    if isinstance(good, (int, float)) and not isinstance(good, bool) and rng.random() < 0.4:
        return rng.choice((-good, good * 1e200, good * 1e-200, str(good), [good], np.array([good]), np.float32(good)))
    if isinstance(good, (list, tuple)) and good and rng.random() < 0.6:
        changed = list(good)
        changed[rng.randrange(len(changed))] = rng.choice(THINGS)()
        return type(good)(changed)
    if isinstance(good, dict) and good and rng.random() < 0.6:
        key = rng.choice(list(good))
        return {key: odd(rng, good[key])} if rng.random() < 0.5 else {odd_key(rng): good[key]}
    if is_dataclass(good) and not isinstance(good, (type, Robot)) and rng.random() < 0.6:
        return odd_part(rng, good)
    # In place of a function no other is given: what that raises is its own.
    things = [make for make in THINGS if not ((callable(good) or no_function) and callable(make()))]
    return rng.choice(things)()


def odd_part(rng: Random, good: Any) -> Any:
    """A thing of linkwise with an odd field, unless it refuses that itself."""
    name = rng.choice([f.name for f in fields(good) if f.init])
    try:
        return replace(good, **{name: odd(rng, getattr(good, name))})
    except LinkwiseError:
        return None


def odd_key(rng: Random) -> Any:
    found = rng.choice(THINGS)()
    try:
        hash(found)
    except TypeError:
        return "unhashable"
    return found


def odd_array(rng: Random, good: np.ndarray) -> Any:
    """An array like the good one in all but one respect."""
    n = good.shape[-1]
    kind = rng.randrange(12)
    if kind == 0:
        return good[..., : n - 1]
    if kind == 1:
        return np.concatenate([good, good[..., :1]], axis=-1)
    if kind == 2:
        return good.T
    if kind == 3:
        return np.broadcast_to(good, (rng.choice((0, 1, 2, 5)), *good.shape))
    if kind == 4:
        return good.ravel()[0]
    if kind <= 8:  # the likeliest: a number or two at the end of their range
        changed = np.array(good, dtype=float)
        for _ in range(rng.randint(1, 3)):
            changed.flat[rng.randrange(changed.size)] = rng.choice(NUMBERS)
        return changed
    if kind == 9:
        with np.errstate(all="ignore"):
            return good.astype(rng.choice(DTYPES))
    if kind == 10:
        return np.full(good.shape, rng.choice(NUMBERS))
    return rng.choice((good.tolist(), good[..., ::-1], np.asmatrix(good.reshape(-1, n)), [good]))
