"""Distributions have the moments, quantiles and limits that they should, against SciPy's."""

import numpy as np
import pytest
from scipy import stats

import linkwise as lw
from linkwise.study.distributions import Fixed, as_distribution, from_plain

U = (np.arange(4096) + 0.5)[:, None] / 4096  # every quantile once


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lw.Uniform(-1.0, 3.0), stats.uniform(-1.0, 4.0)),
        (lw.Normal(2.0, 0.5), stats.norm(2.0, 0.5)),
        (lw.LogNormal(0.3, 0.7), stats.lognorm(0.7, scale=np.exp(0.3))),
        (lw.Normal(1.0, 2.0, lower=0.0, upper=2.5), stats.truncnorm(-0.5, 0.75, 1.0, 2.0)),
        (lw.Normal(0.0, 1.0, lower=6.0), stats.truncnorm(6.0, np.inf)),
        (lw.Normal(0.0, 1.0, upper=-6.0), stats.truncnorm(-np.inf, -6.0)),
        (lw.Normal(0.0, 1.0, lower=40.0), stats.truncnorm(40.0, np.inf)),
        (lw.Normal(0.0, 1.0, lower=-38.1, upper=-37.9), stats.truncnorm(-38.1, -37.9)),
    ],
)
def test_quantiles_are_scipys(ours, theirs):
    assert np.allclose(ours.from_uniform(U), theirs.ppf(U[:, 0]), rtol=1e-9, atol=1e-12)


def test_nothing_is_beyond_the_limits():
    assert (lw.Normal(5.0, 0.0, upper=4.0).from_uniform(U) == 4.0).all()  # where all of ever narrower ones are
    x = lw.Normal([80.0, 0.1], [20.0, 1e-9], lower=[10.0, 0.1], upper=[10.0 + 1e-14, 0.3]).from_uniform(np.tile(U, 2))
    assert (x >= [10.0, 0.1]).all() and (x <= [10.0 + 1e-14, 0.3]).all()


def test_a_vector_has_independent_numbers():
    d = lw.Normal(np.zeros(3), [0.1, 1.0, 10.0])
    x = d.from_uniform(np.random.default_rng(0).random((20000, 3)))
    assert d.shape == (3,) and np.allclose(x.std(axis=0), [0.1, 1.0, 10.0], rtol=0.03)
    assert abs(np.corrcoef(x.T)[0, 1]) < 0.03


@pytest.mark.parametrize("rank", [1, 3])
def test_a_covariance_is_met(rank):
    root = np.random.default_rng(1).normal(size=(3, rank))
    covariance = root @ root.T
    x = lw.Normal([1.0, 2.0, 3.0], covariance=covariance).from_uniform(np.random.default_rng(2).random((40000, 3)))
    assert np.allclose(x.mean(axis=0), [1, 2, 3], atol=0.05)
    assert np.allclose(np.cov(x.T), covariance, atol=0.05 * np.abs(covariance).max())


def test_choices_have_their_weights():
    x = lw.Choice(["low", "high"], weights=[1.0, 3.0]).from_uniform(U)
    assert (x == "high").mean() == 0.75
    assert lw.Choice([[1.0, 2.0], [3.0, 4.0]]).from_uniform(U)[0].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: lw.Uniform(2, 1), "lower must not be above upper"),
        (lambda: lw.Uniform(0, np.nan), "finite"),
        (lambda: lw.Uniform("a", 1), "real numbers"),
        (lambda: lw.Uniform([0, 0], [1, 1, 1]), "do not fit together"),
        (lambda: lw.Normal(0.0), "a deviation, or a covariance"),
        (lambda: lw.Normal(0.0, -1.0), "must not be negative"),
        (lambda: lw.Normal(0.0, 1.0, lower=2.0, upper=1.0), "lower < upper"),
        (lambda: lw.Normal([0.0, 0.0], covariance=[[1, 0], [0, -1]]), "no variance negative"),
        (lambda: lw.Normal([0.0, 0.0], covariance=np.eye(3)), r"must be \(n, n\)"),
        (lambda: lw.LogNormal(0.0, -1.0), "must not be negative"),
        (lambda: lw.Choice([]), "at least one"),
        (lambda: lw.Choice([1, 2], weights=[0, 0]), "not all zero"),
        (lambda: lw.Grid("abc"), "list of values"),
        (lambda: as_distribution(object(), "mass"), "parameter 'mass' must be a distribution"),
    ],
)
def test_what_cannot_be_is_refused(make, said):
    with pytest.raises(lw.InputError, match=said):
        make()


@pytest.mark.parametrize(
    "d",
    [
        lw.Uniform(0, 2),
        lw.Normal([0.0, 1.0], 0.1, upper=2.0),
        lw.Normal([0.0, 1.0], covariance=np.eye(2)),
        lw.LogNormal(0.0, 1.0),
        lw.Choice(["a", "b"]),
        lw.Grid([1.0, 2.0, 3.0]),
        Fixed(3.0),
    ],
)
def test_plain_form_and_back(d):
    assert from_plain(d.to_plain()) == d
    assert hash(from_plain(d.to_plain())) == hash(d)
