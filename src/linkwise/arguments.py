"""Single values that users hand in, as what they must be, or an :class:`InputError` that says so."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from .errors import InputError, LinkwiseError, UnknownNameError, did_you_mean


def shown(x: Any, most: int = 80) -> str:
    """A value as an error shows it: on one line, and not too much of it."""
    try:
        text = " ".join(repr(x).split())
    except Exception:  # whatever a user's own __repr__ raises; the error about x must still come out
        text = f"<{type(x).__name__}>"
    return text if len(text) <= most else f"{text[:most]}…"


def is_number(x: Any) -> bool:
    """Whether it is one real number, Python's or NumPy's; True and False are none."""
    return isinstance(x, (int, float, np.integer, np.floating)) and not isinstance(x, (bool, np.bool_))


def number(x: Any, what: str, *, above: float | None = None, least: float | None = None) -> float:
    """A finite real number, greater than ``above``, not less than ``least``."""
    if not is_number(x):
        raise InputError(f"{what} must be a number, got {shown(x)}")
    out = _as_float(x)
    if not isfinite(out):
        raise InputError(f"{what} must be finite, got {shown(x)}")
    if above is not None and not out > above:
        raise InputError(f"{what} must be greater than {above:g}, got {shown(x)}")
    if least is not None and not out >= least:
        raise InputError(f"{what} must be {least:g} or more, got {shown(x)}")
    return out


def _as_float(x: Any) -> float:
    try:
        return float(x)
    except OverflowError:  # a whole number of hundreds of digits
        return float("inf")


def whole(x: Any, what: str, *, least: int = 0, most: int | None = None) -> int:
    """A whole number from ``least`` to ``most``."""
    if isinstance(x, (bool, np.bool_)) or not isinstance(x, (int, np.integer)):
        raise InputError(f"{what} must be a whole number, got {shown(x)}")
    if x < least or (most is not None and x > most):
        span = f"from {least} on" if most is None else f"from {least} to {most}"
        raise InputError(f"{what} must be a whole number {span}, got {shown(x)}")
    return int(x)


def flag(x: Any, what: str) -> bool:
    """True or False."""
    if not isinstance(x, (bool, np.bool_)):
        raise InputError(f"{what} must be True or False, got {shown(x)}")
    return bool(x)


def word(x: Any, what: str) -> str:
    """A text."""
    if not isinstance(x, str):
        raise InputError(f"{what} must be a text, got {shown(x)}")
    return x


def one_of(
    x: Any,
    known: Collection[str],
    what: str,
    *,
    also: Mapping[str, str] | None = None,
    error: type[LinkwiseError] = UnknownNameError,
) -> str:
    """One of the names that are known, or an error that says which was meant and lists them.

    ``what`` is a thing that has such a name, and ``also`` what others call them: other name → known name.
    """
    if not isinstance(x, str) or x not in known:
        meant = did_you_mean(x, known, also) if isinstance(x, str) else ""
        raise error(f"no {what} is named {shown(x)}; {meant}{' ' * bool(meant)}choose from {', '.join(known)}")
    return x


def unmasked(x: Any, what: str, error: type[LinkwiseError] = InputError) -> Any:
    """``x``, or an error where it is a masked array, or a list of them, in which something is masked.

    NumPy takes the numbers below a mask for what is meant, without a word.
    """
    for part in x if isinstance(x, (list, tuple)) else (x,):
        if type(part) is not np.ndarray and isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part):
            hidden = f"{int(np.ma.getmaskarray(part).sum())} of {part.size} entries of {what} are masked"
            raise error(f"{hidden}, and nothing here knows masks; fill them, x.filled(…), or leave those states out")
    return x


def numbers(x: Any, what: str) -> np.ndarray:
    """An array of real numbers, as float64."""
    unmasked(x, what)
    try:
        found = np.asarray(x)
        if found.dtype.kind in "fiub" or (found.dtype == object and all(isinstance(e, Real) for e in found.flat)):
            return found.astype(float)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(f"{what} must be real numbers, got {shown(x)}")


def names(x: Any, what: str, of: str = "names") -> list[str]:
    """A list of texts, and not one text; ``of`` says what they name."""
    if isinstance(x, (str, bytes)) or not isinstance(x, Iterable) or (isinstance(x, np.ndarray) and x.ndim == 0):
        raise InputError(f"{what} must be a list of {of}, got {'the string ' * isinstance(x, str)}{shown(x)}")
    return [word(name, f"each of {what}") for name in x]


def mapping(x: Any, what: str) -> Mapping[Any, Any]:
    if not isinstance(x, Mapping):
        raise InputError(f"{what} must be a mapping, such as a dict, got {shown(x)}")
    return x


def file_path(x: Any, what: str = "a file") -> Path:
    """The path of a file, given as text or as a path."""
    if not isinstance(x, (str, os.PathLike)) or not isinstance(os.fspath(x), str):
        raise InputError(f"{what} is given by its path, got {shown(x)}")
    if "\0" in os.fspath(x):
        raise InputError(f"the path {shown(x)} has a null character, which no file's name has")
    return Path(x)


def generator(x: Any, what: str = "a seed") -> np.random.Generator:
    """Random numbers from a seed (a whole number), from a generator, or, for None, from nowhere in particular."""
    if isinstance(x, np.random.Generator):
        return x
    if x is not None:
        whole(x, what)
    return np.random.default_rng(x)
