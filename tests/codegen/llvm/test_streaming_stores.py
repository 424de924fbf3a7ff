"""Large outputs go past the caches: every number in its place whatever the alignment, nothing beside it touched."""

import numpy as np
import pytest

import linkwise as lw
from linkwise.codegen.llvm.streaming_stores import is_streamed
from linkwise.codegen.runtime.engine import host


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch):
    monkeypatch.setattr("linkwise.codegen.llvm.module.STREAMED_BYTES", 100)
    monkeypatch.setenv("LINKWISE_CACHE", "off")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [6, 7, 8, 9, 11])
def test_streamed_results_are_the_usual_ones(n, dtype):
    robot = lw.chain(n, seed=n)
    kernel = robot.compile("mass_matrix")
    lanes = host().vector(dtype).lanes
    q = robot.random_configuration(0, 3 * lanes + 2).astype(dtype)
    expected = np.stack([kernel(x) for x in q])  # one state is never a whole block
    if not is_streamed(n * n, host().vector(dtype)):
        pytest.skip("too short to be streamed in this precision")
    for offset in range(lanes):
        memory = np.full(expected.size + 2 * lanes, np.nan, dtype)
        out = memory[offset : offset + expected.size].reshape(expected.shape)
        kernel(q, out=out, threads=1)
        assert np.array_equal(out, expected)
        assert np.isnan(memory[:offset]).all() and np.isnan(memory[offset + expected.size :]).all()


def test_several_outputs_and_threads():
    robot = lw.load("panda")
    kernel = robot.compile("innovations_factors")
    q = robot.random_configuration(0, 40)
    for a, b in zip(kernel(q, threads=2), robot.innovations_factors(q, target="numpy"), strict=True):
        assert np.allclose(a, b, rtol=1e-12, atol=1e-12)
