"""What runs say of a result's distribution, with 95 % intervals; and which runs of a design may be asked.

Means by Student's t, deviations by Bonett's interval. That of a quantile is that between two order statistics, by
the binomial distribution of how many runs lie below it: right for any distribution and any number of runs. Where runs
are too few for one of its ends, that end is open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..extras import require

QUANTILES = (0.01, 0.5, 0.99)
_LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A number and its 95 % interval; an end is infinite where runs are too few to bound it."""

    value: float
    low: float
    high: float


def estimates(y: np.ndarray) -> dict[str, Estimate]:
    """Mean, deviation and quantiles of a result from independent runs (n,)."""
    found = {"mean": mean(y), "deviation": _deviation(y)}
    return found | {f"{100 * p:g} % quantile": quantile(y, p) for p in QUANTILES}


def mean(y: np.ndarray) -> Estimate:
    """By Student's t."""
    n, value = len(y), float(y.mean())
    if n < 2:
        return Estimate(value, -np.inf, np.inf)
    half = float(_special().stdtrit(n - 1, 0.5 + _LEVEL / 2)) * float(y.std(ddof=1)) / np.sqrt(n)
    return Estimate(value, value - half, value + half)


def _deviation(y: np.ndarray) -> Estimate:
    """By Bonett (Computational Statistics & Data Analysis 50, 2006), for distributions of any kurtosis."""
    n = len(y)
    if n < 2:
        return Estimate(float("nan"), 0.0, np.inf)
    value = float(y.std(ddof=1))
    z = float(_special().ndtri(0.5 + _LEVEL / 2))
    if n < 5 or value == 0.0:
        return Estimate(value, 0.0 if n < 5 else value, np.inf if n < 5 else value)
    cut = int(n / (2.0 * np.sqrt(n - 4.0)))  # from each end, for the centre of the fourth moment
    centre = float(np.sort(y)[cut : n - cut].mean())
    kurtosis = n * float(((y - centre) ** 4).sum()) / float(((y - y.mean()) ** 2).sum()) ** 2
    small = n / (n - z)
    half = z * small * np.sqrt(max(kurtosis - (n - 3) / n, 0.0) / (n - 1))
    middle = np.log(small) + 2.0 * np.log(value)
    return Estimate(value, float(np.exp((middle - half) / 2)), float(np.exp((middle + half) / 2)))


def quantile(y: np.ndarray, p: float) -> Estimate:
    """The p-quantile, between order statistics."""
    ordered, (low, high) = np.sort(y), ranks(len(y), p)
    return Estimate(
        float(np.quantile(y, p)),
        -np.inf if low < 0 else float(ordered[low]),
        np.inf if high >= len(y) else float(ordered[high]),
    )


def ranks(n: int, p: float) -> tuple[int, int]:
    """Places in n sorted runs between which the p-quantile lies, by 95 %; −1 and n where no run is so far out.

    The i-th of them (from 0) is above the quantile where i or fewer runs are below it: P(B ≤ i) with B binomial.
    """
    below = _special().bdtr(np.arange(n + 1), n, p)  # P(B ≤ i)
    tail = (1 - _LEVEL) / 2
    low = int(np.searchsorted(below, tail, side="right")) - 1  # the last i with P(B ≤ i) ≤ tail
    high = int(np.searchsorted(below, 1 - tail, side="left"))  # the first i with P(B > i) ≤ tail
    return low, high


def _special() -> Any:
    return require("scipy.special", "study", "an interval")


# --- which runs -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Independent:
    """Which runs of a study are drawn independently, by their numbers; ``said`` of it, "" where all of them are."""

    cycle: int = 1
    of_cycle: int = 1
    said: str = ""

    @property
    def any(self) -> bool:
        return self.of_cycle > 0

    def among(self, runs: np.ndarray) -> np.ndarray:
        """Which of these runs are."""
        return np.asarray(runs % self.cycle < self.of_cycle)


def independent(sampling: str, parameters: Mapping[str, Mapping[str, Any]], cycle: int) -> Independent:
    """What runs of a study may be taken for, by its manifest; ``cycle`` is that of a design."""
    if any(d.get("kind") == "grid" for d in parameters.values()):
        return Independent(1, 0, "runs go through grids and are not drawn: there are no intervals")
    if sampling == "saltelli":
        said = "from the first two runs of each row of the design, which are drawn independently; the others are not"
        return Independent(cycle, 2, said)
    if sampling == "morris":
        return Independent(cycle, 0, "runs go along paths through a few levels and are not drawn: no intervals")
    if sampling in ("latin_hypercube", "sobol"):
        return Independent(said="of runs drawn independently; these are spread evenly, and means are better than that")
    return Independent()


def convergence(y: np.ndarray, p: float = 0.99, points: int = 40) -> dict[str, tuple[np.ndarray, list[Estimate]]]:
    """Mean and p-quantile as runs come in, at some 40 numbers of runs."""
    n = np.unique(np.geomspace(min(10, len(y)), len(y), points).astype(int))
    return {
        "mean": (n, [mean(y[:k]) for k in n]),
        f"{100 * p:g} % quantile": (n, [quantile(y[:k], p) for k in n]),
    }
