"""Which parameters matter: Sobol's indices, Morris's effects, correlations, each with error bars from resampled runs.

    first order   S_i  = V[E(y | x_i)] / V(y)
    total         ST_i = E[V(y | all but x_i)] / V(y)

From a Saltelli design, S_i by Saltelli et al. (2010) and ST_i by Jansen (1999):

    S_i = mean(f_B (f_ABi − f_A)) / V,   ST_i = mean((f_A − f_ABi)²) / 2V

From runs of any other kind S_i alone, as the share of the variance between equally full bins of x_i, or between its
values where these are few, less what bins of pure chance would have. Error bars are those of 95 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .sampling import LEVELS, MORRIS_STEP

_RESAMPLED = 200
_BINS = 20
_Z = 1.96


@dataclass(frozen=True)
class Estimates:
    """Numbers by parameter, and half the widths of their 95 % intervals; ``what`` they are."""

    what: str
    names: list[str]
    values: np.ndarray
    errors: np.ndarray


def rank_correlations(inputs: Mapping[str, np.ndarray], y: np.ndarray) -> Estimates:
    """Spearman's correlation of each number with a result; errors by Fisher's transform."""
    ranks = _ranks(y)
    values = np.array([_correlation(_ranks(x), ranks) for x in inputs.values()])
    width = _Z / np.sqrt(max(len(y) - 3, 1)) * (1 - values**2)
    return Estimates("rank correlation", list(inputs), values, width)


def rank_matrix(columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """Spearman's correlations of all columns with each other; 0 for those that do not vary."""
    ranked = [_ranks(x) for x in columns.values()]
    return np.array([[_correlation(a, b) for b in ranked] for a in ranked])


def _ranks(x: np.ndarray) -> np.ndarray:
    _, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[inverse])


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    a, b = a - a.mean(), b - b.mean()
    size = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / size) if size > 0 else 0.0


# --- first order from any runs --------------------------------------------------------------------------


def first_order(inputs: Mapping[str, np.ndarray], y: np.ndarray, seed: int = 0, even: bool = False) -> Estimates:
    """S_i of single numbers or words from runs drawn independently; unbiased where a parameter does nothing.

    Runs that are spread ``even``ly have less than the chance that is taken off: it is within their error bars.
    """
    rng = np.random.default_rng(seed)
    codes = [np.unique(x, return_inverse=True)[1] for x in inputs.values()]
    found = np.array([_binned(x, y) for x in codes]).reshape(-1, 2)
    errors = []
    for x in codes:
        again = [_binned(x[i], y[i])[0] for i in (rng.integers(len(y), size=len(y)) for _ in range(_RESAMPLED // 4))]
        errors.append(_Z * float(np.std(again)))
    return Estimates("first-order index", list(inputs), found[:, 0], np.array(errors) + (found[:, 1] if even else 0.0))


def _binned(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """(S_i, what was taken off for chance)."""
    n, total = len(y), float(y.var())
    if total == 0.0 or n < 40:
        return (0.0 if total == 0.0 else float("nan")), 0.0
    where = _bins(x)
    counts = np.bincount(where)
    means = np.bincount(where, weights=y) / counts
    between = float((counts * (means - y.mean()) ** 2).sum() / n)
    chance = (len(counts) - 1) / (n - len(counts)) * (total - between)
    return (between - chance) / total, chance / total


def _bins(x: np.ndarray) -> np.ndarray:
    """The bin of each of the values 0, 1, …: one for each where these are few; equal ones are in one in any case."""
    counts = np.bincount(x)
    of_values = np.cumsum(counts > 0) - 1
    if of_values[-1] >= _BINS:
        bins = min(_BINS, max(2, len(x) // 20))
        of_values = (np.cumsum(counts) - counts) * bins // len(x)
    where = of_values[x]
    return np.asarray((np.cumsum(np.bincount(where) > 0) - 1)[where])  # none is empty


# --- designs --------------------------------------------------------------------------------------------


def sobol_indices(factors: list[str], y: np.ndarray, seed: int = 0) -> tuple[Estimates, Estimates, int]:
    """(first order, total, rows) from runs of a Saltelli design in their order, NaN where a run failed."""
    rows = y[: len(y) // (len(factors) + 2) * (len(factors) + 2)].reshape(-1, len(factors) + 2)
    rows = rows[np.isfinite(rows).all(axis=1)]
    first, total = _sobol(rows)
    rng = np.random.default_rng(seed)
    again = [_sobol(rows[rng.integers(len(rows), size=len(rows))]) for _ in range(_RESAMPLED)] if len(rows) else []
    spread = [_Z * np.std([x[i] for x in again], axis=0) for i in (0, 1)] if again else [first, total]
    return (
        Estimates("first-order index", factors, first, spread[0]),
        Estimates("total index", factors, total, spread[1]),
        len(rows),
    )


def _sobol(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if not len(rows):
        nothing = np.full(rows.shape[1] - 2, np.nan)
        return nothing, nothing
    # About their mean: indices do not change, and the estimate of the first order has less noise.
    rows = rows - rows[:, :2].mean()
    a, b, mixed = rows[:, 0], rows[:, 1], rows[:, 2:]
    variance = float(np.concatenate([a, b]).var())
    if variance == 0.0:
        return np.zeros(mixed.shape[1]), np.zeros(mixed.shape[1])
    first = (b[:, None] * (mixed - a[:, None])).mean(axis=0) / variance
    total = ((a[:, None] - mixed) ** 2).mean(axis=0) / (2 * variance)
    return first, total


def morris_effects(
    factors: list[str], u: Mapping[str, np.ndarray], y: np.ndarray, seed: int = 0
) -> tuple[Estimates, Estimates, int]:
    """(μ*, σ, paths): the mean size of the effects of each factor over its whole range, and how much they vary.

    ``u`` are the uniform numbers of each factor, (runs, width), of runs in their order.
    """
    points = len(factors) + 1
    paths = len(y) // points
    values = y[: paths * points].reshape(paths, points)
    sound = np.isfinite(values).all(axis=1)
    effects = np.full((paths, len(factors)), np.nan)
    for i, name in enumerate(factors):
        own = u[name][: paths * points].reshape(paths, points, -1)
        moved = (np.diff(own, axis=1) != 0).any(axis=2)  # the very step in which it moves
        sign = np.sign(np.diff(own, axis=1).sum(axis=2))
        effects[:, i] = (np.where(moved, np.diff(values, axis=1) * np.where(sign == 0, 1, sign), 0.0)).sum(axis=1)
    effects = effects[sound] / (MORRIS_STEP * (LEVELS - 1) / LEVELS)
    rng = np.random.default_rng(seed)
    size, spread = _sizes(effects), _spreads(effects)
    again = [effects[rng.integers(len(effects), size=len(effects))] for _ in range(_RESAMPLED)] if len(effects) else []
    errors = [_Z * np.std([f(x) for x in again], axis=0) if again else size for f in (_sizes, _spreads)]
    return Estimates("μ*", factors, size, errors[0]), Estimates("σ", factors, spread, errors[1]), int(sound.sum())


def _sizes(effects: np.ndarray) -> np.ndarray:
    return np.asarray(np.abs(effects).mean(axis=0))


def _spreads(effects: np.ndarray) -> np.ndarray:
    return np.asarray(effects.std(axis=0, ddof=1)) if len(effects) > 1 else np.full(effects.shape[1], np.nan)
