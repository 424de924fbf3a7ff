"""Parameters that users' functions draw, run by run; where one raises, the run has no parameters, and others have."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arguments import shown
from ..errors import InputError
from .distributions import Drawn


@dataclass(frozen=True, eq=False)
class Draws:
    """The parameters of the runs from ``first`` on: ``values`` by name (runs, …), of one kind of numbers each."""

    first: int
    values: dict[str, np.ndarray]
    given: dict[str, list[np.ndarray]] = field(default_factory=dict)  # of functions, each as it was given
    errors: dict[int, BaseException] = field(default_factory=dict)  # of functions, by run, which have NaN or "" there

    def of(self, run: int) -> dict[str, Any]:
        """The parameters of one run: arrays, numbers or words, the same whatever runs stand beside it."""
        if run in self.errors:
            raise self.errors[run]
        rows = ((name, self.given.get(name, x)[run - self.first]) for name, x in self.values.items())
        return {name: plain_value(x) for name, x in rows}


def drawn(functions: Mapping[str, Drawn], seed: int, run: int, others: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """What each function gives by the random numbers of a run, with the parameters before it where it asks for them."""
    found: dict[str, np.ndarray] = {}
    for name, d in functions.items():
        generator = np.random.Generator(np.random.Philox(key=key(seed, name), counter=[0, 0, run, 1]))
        if _asks_for_others(d.function):
            given = d.function(generator, {n: plain_value(x) for n, x in {**others, **found}.items()})
        else:
            given = d.function(generator)
        found[name] = np.asarray(given)
        kind = found[name].dtype.kind
        wide = kind != "U" and found[name].dtype.itemsize > 8
        if kind not in "fiubU" or (kind == "U" and found[name].ndim) or wide or not found[name].size:
            raise _unfit(name, run, given)
    return found


def _asks_for_others(function: Callable[..., Any]) -> bool:
    """Whether it takes the parameters before it: its second argument, where that must be given."""
    try:
        taken = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # one that does not say what it takes
        return False
    by_place = [x for x in taken if x.kind in (x.POSITIONAL_ONLY, x.POSITIONAL_OR_KEYWORD)]
    return len(by_place) > 1 and by_place[1].default is inspect.Parameter.empty


def refuse_unlike(found: Mapping[str, np.ndarray], like: Mapping[str, np.ndarray], run: int) -> None:
    """Refuse draws of another shape than the study has, and words in place of numbers."""
    for name, x in found.items():
        if x.shape != like[name].shape or (x.dtype.kind == "U") != (like[name].dtype.kind == "U"):
            raise _unfit(name, run, x)


def missing(like: np.ndarray) -> np.ndarray:
    """What stands in tables where a function gave nothing."""
    return np.array("") if like.dtype.kind == "U" else np.full(like.shape, np.nan)


def plain_value(x: Any) -> Any:
    """A number, a word, or an array, as functions of the user's get it."""
    return x.item() if np.ndim(x) == 0 else np.array(x)


def key(seed: int, name: str) -> np.ndarray:
    """The key of a parameter's stream."""
    digest = hashlib.sha256(f"linkwise study\0{seed}\0{name}".encode()).digest()
    return np.frombuffer(digest[:16], dtype="<u8")


def _unfit(name: str, run: int, given: Any) -> InputError:
    return InputError(
        f"the function of parameter {name!r} must give a word, or numbers of one shape, got {shown(given)}"
        f" for run {run}"
    )
