"""Error bars hold the truth as often as they say: five hundred repetitions with noise of a different size per joint."""

import numpy as np
import pytest
from trees import robot, state

import linkwise as lw
from linkwise.identification.least_squares import Reduced, estimate

REPETITIONS = 500


def binomial_bounds(rate, deviations=4.0):
    """What the share of 500 that falls within a bar of this rate may be: four standard deviations, 6e-5 to miss."""
    width = deviations * np.sqrt(rate * (1 - rate) / REPETITIONS)
    return rate - width, rate + width


@pytest.mark.parametrize(("samples", "options"), [(30, {}), (40, {"bodies": ["link3"], "friction": True})])
def test_the_truth_is_within_the_bars_at_the_stated_rate(monkeypatch, samples, options):
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    r = robot("chain3")
    rng = np.random.default_rng(11)
    x = state(r, (samples,), 3)
    exact = r.inverse_dynamics(x.q, x.v, x.a)
    sigma = np.array([0.05, 0.4, 2.0])  # weights matter: one joint is forty times as noisy as another
    found = [
        lw.identify(r, x.q, x.v, x.a, exact + sigma * rng.normal(size=exact.shape), **options)
        for _ in range(REPETITIONS)
    ]
    true = found[0].projection @ found[0].unknowns.included
    for rate in (0.68, 0.95):
        low, high = binomial_bounds(rate)
        share = np.mean([held(true, *f.combination_interval(rate)) for f in found], axis=0)
        assert share.min() > low and share.max() < high, (rate, share)
        told = np.isfinite(found[0].errors)
        share = np.mean([held(f.unknowns.included, *f.interval(rate))[told] for f in found], axis=0)
        assert not told.any() or (share.min() > low and share.max() < high), (rate, share)
    scores = np.array([[(c.value - t) / c.error for c, t in zip(f.combinations, true)] for f in found])
    assert np.all(np.abs(scores.mean(axis=0)) < 4.5 / np.sqrt(REPETITIONS))  # no bias


def held(true, low, high):
    return (low <= true) & (true <= high)


def test_the_bars_would_not_hold_without_weights():
    """The gate can fail: one noise for all joints gives bars that are much too wide for one, too narrow for another."""
    rng, sigma = np.random.default_rng(2), np.array([0.05, 2.0])
    X = rng.normal(size=(40, 2, 3))
    X[:, 0, 2] = X[:, 1, 0] = 0.0  # the first joint alone shows the first unknown, the second the last
    scores = []
    for _ in range(REPETITIONS):
        y = X @ [1.0, 2.0, 3.0] + sigma * rng.normal(size=(40, 2))
        pooled = Reduced(1, 3)
        pooled.add(X.reshape(-1, 1, 3), y.reshape(-1, 1))
        found = estimate(pooled, ["a", "b", "c"])
        scores.append((found.values - [1.0, 2.0, 3.0]) / np.sqrt(np.diag(found.covariance)))
    share = np.mean(np.abs(scores) < 1.96, axis=0)
    low, high = binomial_bounds(0.95)
    assert share.max() > high or share.min() < low
