"""Intervals hold what they say they hold, as often as they say it; and only runs that are drawn are asked."""

import numpy as np
import pytest
from scipy import stats
from study_scenarios import pendulum

import linkwise as lw
from linkwise.study import estimates


@pytest.mark.parametrize("n", [30, 200, 1500])
@pytest.mark.parametrize("p", estimates.QUANTILES)
def test_intervals_of_quantiles_hold_them(n, p):
    """Of 1500 studies of skewed results, 95 % or more; were it 92 %, this would fail nearly always."""
    y = np.random.default_rng(n).lognormal(size=(1500, n))
    wanted = stats.lognorm.ppf(p, 1.0)
    low, high = estimates.ranks(n, p)
    ordered = np.sort(y, axis=1)
    holds = np.ones(len(y), dtype=bool)
    if low >= 0:
        holds &= ordered[:, low] <= wanted
    if high < n:
        holds &= wanted <= ordered[:, high]
    assert holds.mean() > 0.935
    one = estimates.quantile(y[0], p)
    assert (one.low <= wanted <= one.high) == holds[0]


def test_ranks_are_those_of_the_binomial_distribution():
    for n, p in ((200, 0.01), (200, 0.5), (1000, 0.99)):
        low, high = estimates.ranks(n, p)
        below = stats.binom(n, p)
        assert low < 0 or below.cdf(low) <= 0.025 < below.cdf(low + 1)
        assert high >= n or below.sf(high) <= 0.025 < below.sf(high - 1)


def test_ends_are_open_where_runs_are_too_few():
    y = np.random.default_rng(0).normal(size=200)
    assert estimates.quantile(y, 0.01).low == -np.inf and estimates.quantile(y, 0.99).high == np.inf
    assert np.isfinite(estimates.quantile(y, 0.01).high) and np.isfinite(estimates.quantile(y, 0.5).low)


@pytest.mark.parametrize("n", [20, 300])
@pytest.mark.parametrize(("kind", "least"), [("normal", 0.92), ("exponential", 0.84), ("uniform", 0.92)])
def test_intervals_of_means_and_deviations_hold_them(n, kind, least):
    """Of 600 studies; those of the deviation of few skewed runs hold it in some 87 %."""
    y = getattr(np.random.default_rng(1), kind)(size=(600, n))
    found = [estimates.estimates(row) for row in y]
    exact = {"normal": (0.0, 1.0), "exponential": (1.0, 1.0), "uniform": (0.5, 12**-0.5)}[kind]
    for name, wanted in zip(("mean", "deviation"), exact):
        at_least = 0.89 if name == "mean" or n > 100 else least
        assert np.mean([x[name].low <= wanted <= x[name].high for x in found]) > at_least, name


def test_only_runs_that_are_drawn_are_asked():
    drawn = {"a": {"kind": "uniform"}}
    runs = np.arange(12)
    assert estimates.independent("random", drawn, 1).among(runs).all()
    assert estimates.independent("saltelli", drawn, 4).among(runs).tolist() == [True, True, False, False] * 3
    assert not estimates.independent("morris", drawn, 3).any
    assert not estimates.independent("random", {"a": {"kind": "grid"}}, 1).any


def test_rows_of_a_design_would_narrow_intervals_falsely():
    """All runs of a Saltelli design, taken for independent, give an interval of the mean that is too narrow."""
    parameters = {n: lw.Uniform(0, 1) for n in "abcdef"}
    missed = {"all": 0, "drawn": 0}
    for seed in range(120):
        study = lw.Study(pendulum(), lambda robot, p: p, parameters, 8 * 24, seed=seed, sampling="saltelli")
        x = study.sampling.values(0, study.samples)
        y = sum(x.values())
        mask = estimates.independent("saltelli", {}, study.sampling.cycle).among(np.arange(study.samples))
        for name, part in (("all", y), ("drawn", y[mask])):
            found = estimates.mean(part)
            missed[name] += not found.low <= 3.0 <= found.high
    assert missed["drawn"] <= 14 < missed["all"]


def test_convergence_ends_at_the_estimate():
    y = 5.0 + np.random.default_rng(2).normal(size=1000)
    for name, (n, found) in estimates.convergence(y).items():
        assert n[-1] == 1000 and found[-1] == estimates.estimates(y)[name]
