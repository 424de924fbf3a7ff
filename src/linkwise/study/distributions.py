"""How a parameter is drawn: each distribution makes its values from uniform numbers in (0, 1), one column per number.

That they are made so, by the inverse of what is distributed, is what lets Latin hypercubes, Sobol points and designs
for sensitivities take the place of random numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..arguments import numbers, shown
from ..errors import InputError
from ..extras import require
from ..values import ByValue, owned

_MOST = 100_000  # numbers of one parameter
_LEAST = 1e-290  # a probability that has all its digits


@dataclass(frozen=True, eq=False)
class Distribution(ByValue):
    """What all distributions share: ``shape`` of one value, and ``width``, how many uniform numbers it takes."""

    def __post_init__(self) -> None:
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, ...]:
        raise NotImplementedError

    @property
    def width(self) -> int:
        """How many uniform numbers one value is made from."""
        return int(np.prod(self.shape, dtype=int))

    def from_uniform(self, u: np.ndarray) -> np.ndarray:
        """Values (runs, *shape) from uniform numbers (runs, width)."""
        raise NotImplementedError

    def to_plain(self) -> dict[str, Any]:
        """As words, numbers and lists, for files."""
        found: dict[str, Any] = {"kind": _word(type(self).__name__)}
        for f in fields(self):
            value = getattr(self, f.name)
            if value is not None:
                found[f.name] = value.tolist() if isinstance(value, np.ndarray) else value
        return found

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, owned(value))


@dataclass(frozen=True, eq=False)
class Fixed(Distribution):
    """The same value in every run: what plain numbers and words among the parameters are."""

    value: Any

    def __post_init__(self) -> None:
        self._set(value=_option(self.value, "a parameter"))

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.value)

    @property
    def width(self) -> int:
        return 0

    def from_uniform(self, u: np.ndarray) -> np.ndarray:
        value = np.asarray(self.value)
        return np.broadcast_to(value, (len(u), *value.shape)).copy()


@dataclass(frozen=True, eq=False)
class Uniform(Distribution):
    """Between ``lower`` and ``upper``, numbers or arrays of one shape."""

    lower: Any
    upper: Any

    def __post_init__(self) -> None:
        lower, upper = _together("Uniform", lower=self.lower, upper=self.upper)
        if (lower > upper).any():
            raise InputError(f"Uniform(lower, upper): lower must not be above upper, got {shown(self.lower)} and"
                             f" {shown(self.upper)}")  # fmt: skip
        self._set(lower=lower, upper=upper)

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.lower)

    def from_uniform(self, u: np.ndarray) -> np.ndarray:
        x = u.reshape(-1, *self.shape)
        return np.asarray(np.clip(self.lower + (self.upper - self.lower) * x, self.lower, self.upper))


@dataclass(frozen=True, eq=False)
class Normal(Distribution):
    """Normal about ``mean`` with standard ``deviation``, numbers or arrays; cut off at ``lower`` and ``upper``.

    With a ``covariance`` (n, n) in place of the deviation the n numbers are drawn together; these are not cut off.
    """

    mean: Any
    deviation: Any = None
    lower: Any = None
    upper: Any = None
    covariance: Any = None

    def __post_init__(self) -> None:
        if (self.deviation is None) == (self.covariance is None):
            raise InputError("Normal takes a deviation, or a covariance in its place: lw.Normal(0.0, 0.1)")
        if self.covariance is not None:
            self._set(**self._multivariate())
            return
        given = {"mean": self.mean, "deviation": self.deviation}
        given |= {k: x for k, x in (("lower", self.lower), ("upper", self.upper)) if x is not None}
        found = dict(zip(given, _together("Normal", limits=("lower", "upper"), **given)))
        if (found["deviation"] < 0).any():
            raise InputError(f"the deviation of Normal must not be negative, got {shown(self.deviation)}")
        if "lower" in found and "upper" in found and not (found["lower"] < found["upper"]).all():
            raise InputError("Normal is cut off at lower < upper, got"
                             f" {shown(self.lower)} and {shown(self.upper)}")  # fmt: skip
        self._set(**found)

    def _multivariate(self) -> dict[str, np.ndarray]:
        mean, covariance = _array(self.mean, "the mean of Normal"), _array(self.covariance, "the covariance of Normal")
        if mean.ndim != 1 or covariance.shape != 2 * mean.shape:
            raise InputError(f"the covariance of Normal must be (n, n) for a mean of n numbers, got {covariance.shape}"
                             f" and {mean.shape}")  # fmt: skip
        if self.lower is not None or self.upper is not None:
            raise InputError("numbers that are drawn together by a covariance are not cut off; leave lower and upper")
        scale = np.abs(covariance).max(initial=0.0)
        smallest = np.linalg.eigvalsh(covariance).min(initial=0.0)
        if np.abs(covariance - covariance.T).max(initial=0.0) > 1e-12 * scale or smallest < -1e-12 * scale:
            raise InputError("the covariance of Normal must be symmetric, and no variance negative")
        return {"mean": mean, "covariance": covariance}

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.mean)

    def from_uniform(self, u: np.ndarray) -> np.ndarray:
        special = require("scipy.special", "study", "a normal distribution")
        x = u.reshape(-1, *self.shape)
        if self.covariance is not None:
            # Sums term by term: no matrix product, whose rounding depends on how many rows it is given at once.
            root, z = _root(self.covariance), special.ndtri(x)
            out = np.broadcast_to(self.mean, z.shape).copy()
            for j in range(len(root)):
                out += z[:, j : j + 1] * root[:, j]
            return out
        if self.lower is None and self.upper is None:
            return np.asarray(self.mean + self.deviation * special.ndtri(x))
        spread = np.where(self.deviation > 0, self.deviation, 1.0)
        low = -np.inf if self.lower is None else (self.lower - self.mean) / spread
        high = np.inf if self.upper is None else (self.upper - self.mean) / spread
        found = self.mean + self.deviation * _truncated(special, x, low, high)
        return np.asarray(np.clip(found, self.lower, self.upper))  # whatever roundings say, or a deviation of 0


@dataclass(frozen=True, eq=False)
class LogNormal(Distribution):
    """exp of a normal number: ``mean`` and ``deviation`` are those of the logarithm, numbers or arrays."""

    mean: Any
    deviation: Any

    def __post_init__(self) -> None:
        mean, deviation = _together("LogNormal", mean=self.mean, deviation=self.deviation)
        if (deviation < 0).any():
            raise InputError(f"the deviation of LogNormal must not be negative, got {shown(self.deviation)}")
        self._set(mean=mean, deviation=deviation)

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.mean)

    def from_uniform(self, u: np.ndarray) -> np.ndarray:
        special = require("scipy.special", "study", "a log-normal distribution")
        return np.asarray(np.exp(self.mean + self.deviation * special.ndtri(u.reshape(-1, *self.shape))))


@dataclass(frozen=True, eq=False)
class Choice(Distribution):
    """One of the ``options``, which are numbers, words or arrays of one shape, with ``weights`` (default: equal)."""

    options: Any
    weights: Any = None

    def __post_init__(self) -> None:
        options = _options(self.options, "Choice")
        if self.weights is not None:
            weights = _array(self.weights, "the weights of Choice")
            if weights.shape != (len(options),) or (weights < 0).any() or not weights.sum() > 0:
                raise InputError(f"the weights of Choice must be {len(options)} numbers that are not negative, and not"
                                 f" all zero; got {shown(self.weights)}")  # fmt: skip
            self._set(weights=weights)
        self._set(options=options)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.options.shape[1:])

    @property
    def width(self) -> int:
        return 1

    def from_uniform(self, u: np.ndarray) -> np.ndarray:
        n = len(self.options)
        weights = np.full(n, 1.0) if self.weights is None else self.weights
        edges = np.cumsum(weights) / weights.sum()
        edges[-1] = 1.0
        options: np.ndarray = self.options
        return np.asarray(options[np.searchsorted(edges, u[:, 0], side="right").clip(0, n - 1)])


@dataclass(frozen=True, eq=False)
class Grid(Distribution):
    """Each of the ``values`` in turn: runs go through all combinations of a study's grids, the last one quickest."""

    values: Any

    def __post_init__(self) -> None:
        self._set(values=_options(self.values, "Grid"))

    def __len__(self) -> int:
        return len(self.values)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.values.shape[1:])

    @property
    def width(self) -> int:
        return 0

    def at(self, index: np.ndarray) -> np.ndarray:
        """The values of these numbers on the grid."""
        values: np.ndarray = self.values
        return np.asarray(values[index])


@dataclass(frozen=True, eq=False)
class Drawn(Distribution):
    """What a user's function of a generator gives; it has random numbers of its own, those of run k alone."""

    function: Callable[..., Any]

    def __post_init__(self) -> None:
        pass

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    @property
    def width(self) -> int:
        return 0

    def to_plain(self) -> dict[str, Any]:
        name = getattr(self.function, "__qualname__", type(self.function).__name__)
        return {"kind": "function", "function": f"{getattr(self.function, '__module__', '?')}.{name}"}


KINDS: dict[str, type[Distribution]] = {
    "uniform": Uniform, "normal": Normal, "log_normal": LogNormal, "choice": Choice, "grid": Grid, "fixed": Fixed,
}  # fmt: skip


def as_distribution(x: Any, name: str) -> Distribution:
    """A parameter as it was given: a distribution, a function of a generator, or a value that stays the same."""
    if isinstance(x, Distribution):
        return x
    if callable(x):
        return Drawn(x)
    try:
        return Fixed(x)
    except InputError:
        raise InputError(
            f"parameter {name!r} must be a distribution (lw.Uniform, lw.Normal, lw.LogNormal, lw.Choice, lw.Grid), a"
            f" function of a generator, or a value; got {shown(x)}"
        ) from None


def from_plain(found: Mapping[str, Any]) -> Distribution:
    """The distribution that :meth:`Distribution.to_plain` wrote."""
    kind = found.get("kind")
    if kind not in KINDS:
        raise InputError(f"no distribution is named {shown(kind)}; choose from {', '.join(KINDS)}")
    rest = {k: x for k, x in found.items() if k != "kind"}
    known = [f.name for f in fields(KINDS[kind])]
    for name in rest:
        if name not in known:
            raise InputError(f"{kind} takes {', '.join(known)}, not {name!r}")
    try:
        return KINDS[kind](**rest)
    except TypeError:
        raise InputError(f"{kind} takes {', '.join(known)}, got {', '.join(rest) or 'nothing'}") from None


# --- what distributions are given ----------------------------------------------------------------------


def _word(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


def _array(x: Any, what: str) -> np.ndarray:
    out = numbers(x, what)
    if out.size > _MOST:
        raise InputError(f"{what} has {out.size} numbers; a parameter has {_MOST} at most")
    if not np.isfinite(out).all():
        raise InputError(f"{what} must be finite, got {shown(x)}")
    return out


def _together(kind: str, limits: tuple[str, ...] = (), **given: Any) -> list[np.ndarray]:
    """Arrays of one shape; ``limits`` may be infinite."""
    found = []
    for name, x in given.items():
        what = f"{name} of {kind}"
        out = numbers(x, what)
        found.append(out if name in limits and not np.isnan(out).any() else _array(x, what))
    try:
        return [np.array(x) for x in np.broadcast_arrays(*found)]
    except ValueError:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in zip(given, found))
        raise InputError(f"the numbers of {kind} do not fit together: {shapes}") from None


def _is_whole(x: Any) -> bool:
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool) and abs(int(x)) < 2**63


def _option(x: Any, what: str) -> Any:
    return x if isinstance(x, (str, bool)) or _is_whole(x) else _array(x, what)


def _options(given: Any, kind: str) -> np.ndarray:
    unsized = isinstance(given, (str, Mapping)) or not hasattr(given, "__len__")
    if unsized or (isinstance(given, np.ndarray) and not given.ndim) or not len(given):
        raise InputError(f"{kind} takes a list of values, at least one, got {shown(given)}")
    values = list(given)
    if all(isinstance(x, str) for x in values):
        return np.array(values)
    if all(isinstance(x, bool) for x in values) or all(map(_is_whole, values)):
        return np.array(values)
    try:
        return np.stack([_array(x, f"each value of {kind}") for x in values])
    except ValueError:
        raise InputError(f"the values of {kind} must have one shape, got {shown(given)}") from None


def _truncated(special: Any, u: np.ndarray, low: Any, high: Any) -> np.ndarray:
    """Standard normal numbers between ``low`` and ``high``; far out in the upper tail by the lower one's digits."""
    above = np.broadcast_to(np.asarray(low) > 0, u.shape)
    a = np.where(above, special.ndtr(-np.asarray(high)), special.ndtr(low))
    b = np.where(above, special.ndtr(-np.asarray(low)), special.ndtr(high))
    part = np.where(above, 1.0 - u, u)
    z = special.ndtri(a + (b - a) * part)
    far = b < _LEAST
    if far.any():  # where probabilities are no numbers any more, by their logarithms
        a = np.where(above, special.log_ndtr(-np.asarray(high)), special.log_ndtr(low))
        b = np.where(above, special.log_ndtr(-np.asarray(low)), special.log_ndtr(high))
        with np.errstate(divide="ignore"):
            logarithm = np.logaddexp(a + np.log1p(-part), b + np.log(part))
        z = np.where(far, special.ndtri_exp(logarithm), z)
    return np.asarray(np.clip(np.where(above, -z, z), low, high))


def _root(covariance: np.ndarray) -> np.ndarray:
    """R with R Rᵀ = covariance, also where it is singular; signs are chosen, so that it is one matrix."""
    values, vectors = np.linalg.eigh(covariance)
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))])
    return np.asarray(vectors * signs * np.sqrt(values.clip(min=0.0)))
