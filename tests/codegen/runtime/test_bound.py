"""Functions bound to arrays outlive the kernels that made them."""

import gc

import numpy as np
import pytest

import linkwise as lw

pytestmark = pytest.mark.usefixtures("little_garbage")


@pytest.mark.parametrize("rolled", [False, True])
@pytest.mark.parametrize("states", [1, 8])
def test_a_bound_function_keeps_its_kernel(rolled, states):
    """The code of loops reads tables that the kernel holds; no other name holds the kernel here."""
    robot = lw.chain(30, seed=0)
    q = robot.random_configuration(0, batch=states)
    expected = robot.compile("mass_matrix", target="numpy")(q)
    out = np.empty_like(expected)
    call = robot.compile("mass_matrix", rolled=rolled).bind(q, out=out)
    robot = None
    gc.collect()
    spoiled = [np.full(n, np.nan) for n in range(100, 4000, 10)]
    assert call() and np.abs(out - expected).max() < 1e-12 * np.abs(expected).max()
    assert all(np.isnan(x).all() for x in spoiled)


def test_a_quick_function_keeps_its_kernel():
    robot = lw.chain(30, seed=0)
    q = robot.random_configuration(0)
    call = robot.compile("mass_matrix", rolled=True).quick
    gc.collect()
    spoiled = [np.full(n, np.nan) for n in range(100, 4000, 10)]
    expected = robot.compile("mass_matrix", target="numpy")(q)
    assert np.abs(call(q) - expected).max() < 1e-12 * np.abs(expected).max()
    assert spoiled
