"""Sensitivities against functions whose indices are known, and against SciPy's."""

import numpy as np
import pytest
from scipy import stats

import linkwise as lw
from linkwise.study import sensitivity
from linkwise.study.sampling import Sampling

A, B = 7.0, 0.1
ANGLES = {n: lw.Uniform(-np.pi, np.pi) for n in ("x1", "x2", "x3")}


def ishigami(x1, x2, x3):
    return np.sin(x1) + A * np.sin(x2) ** 2 + B * x3**4 * np.sin(x1)


def exact():
    """Ishigami and Homma (1990)."""
    v1 = 0.5 * (1 + B * np.pi**4 / 5) ** 2
    v2, v13 = A**2 / 8, B**2 * np.pi**8 * (1 / 18 - 1 / 50)
    total = v1 + v2 + v13
    return np.array([v1, v2, 0.0]) / total, np.array([v1 + v13, v2, v13]) / total


def test_indices_of_a_saltelli_design():
    s = Sampling(ANGLES, 5 * 4096, 1, "saltelli")
    y = ishigami(**s.values(0, s.samples))
    first, total, rows = sensitivity.sobol_indices(list(ANGLES), y)
    assert rows == 4096
    for found, wanted in zip((first, total), exact()):
        assert (np.abs(found.values - wanted) < 1.7 * found.errors + 1e-12).all()
        assert found.errors.max() < 0.1
    table = y.reshape(-1, 5)
    theirs = stats.sobol_indices(
        func={"f_A": table[None, :, 0], "f_B": table[None, :, 1], "f_AB": table[:, 2:].T[:, None]}, n=4096
    )
    assert np.allclose(first.values, theirs.first_order, atol=1e-12)
    assert np.allclose(total.values, theirs.total_order, atol=1e-12)


def test_runs_that_failed_leave_their_row_out():
    s = Sampling(ANGLES, 5 * 64, 1, "saltelli")
    y = ishigami(**s.values(0, s.samples))
    y[7] = np.nan
    assert sensitivity.sobol_indices(list(ANGLES), y)[2] == 63


@pytest.mark.parametrize("how", ["random", "latin_hypercube", "sobol"])
def test_first_order_from_any_runs(how):
    s = Sampling(ANGLES, 8000, 2, how)
    x = s.values(0, 8000)
    found = sensitivity.first_order(x, ishigami(**x))
    assert (np.abs(found.values - exact()[0]) < 2 * found.errors + 0.02).all()


@pytest.mark.parametrize("x", [[0.0] * 388 + [1.0] * 12, [True] * 100 + [False] * 300, ["a", "b", "c", "b"] * 100])
def test_first_order_of_few_values_is_that_of_each(x, rng):
    """Bins that are equally full would mix a rare value with others."""
    x, noise = rng.permuted(x), rng.normal(size=400)
    y = np.unique(x, return_inverse=True)[1].astype(float)
    found = sensitivity.first_order({"x": x, "idle": noise}, y)
    assert np.isclose(found.values[0], 1.0) and abs(found.values[1]) < 0.1
    both = sensitivity.first_order({"x": x, "noise": noise}, y + y.std() * noise)
    assert np.allclose(both.values, 0.5, atol=0.12)


def test_error_bars_of_sobol_points_hold_the_indices():
    """The mean of a bin has less chance in it there than is taken off; x3 has no first order at all."""
    held = 0
    for seed in range(20):
        x = Sampling(ANGLES, 1000, seed, "sobol").values(0, 1000)
        found = sensitivity.first_order(x, ishigami(**x), even=True)
        held += (np.abs(found.values - exact()[0]) <= found.errors).all()
    assert held >= 18


def test_morris_orders_factors_and_tells_bends():
    parameters = {n: lw.Uniform(0, 1) for n in ("linear", "idle", "bent")}
    s = Sampling(parameters, 400, 3, "morris")
    x = s.values(0, 400)
    y = 3.0 * x["linear"] + 4.0 * (x["bent"] - 0.5) ** 2
    size, spread, paths = sensitivity.morris_effects(list(parameters), {n: v[:, None] for n, v in x.items()}, y)
    assert paths == 100
    assert np.allclose(size.values[:2], [3.0, 0.0]) and np.allclose(spread.values[:2], 0.0)
    assert spread.values[2] > 0.5


def test_correlations_are_scipys(rng):
    x, y = rng.normal(size=(2, 300))
    y[:50] = 1.0  # ties
    found = sensitivity.rank_correlations({"x": x}, y)
    assert np.isclose(found.values[0], stats.spearmanr(x, y).statistic)


def test_matrix_of_correlations_is_scipys(rng):
    x, y, z = rng.normal(size=(3, 300))
    y[:50], z[:] = 1.0, 2.0  # ties, and one that does not vary
    found = sensitivity.rank_matrix({"x": x, "y": y, "z": z})
    assert np.isclose(found[0, 1], stats.spearmanr(x, y).statistic) and (found[2] == 0).all()
