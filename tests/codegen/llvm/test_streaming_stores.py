"""Large outputs go past the caches: every number in its place whatever the alignment, nothing beside it touched."""

import re
from dataclasses import replace

import numpy as np
import pytest

import linkwise as lw
from linkwise.codegen.llvm.sine_cosine import VectorType
from linkwise.codegen.llvm.streaming_stores import crowds, is_streamed
from linkwise.codegen.runtime import engine
from linkwise.codegen.runtime.engine import host


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch):
    monkeypatch.setattr("linkwise.codegen.llvm.driver.STREAMED_BYTES", 100)
    monkeypatch.setenv("LINKWISE_CACHE", "off")


@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [6, 7, 8, 9, 11])
def test_streamed_results_are_the_usual_ones(n, dtype, vector_bytes, monkeypatch):
    if vector_bytes > host().vector_bytes:
        pytest.skip("this processor has no such vectors")
    narrow = replace(host(), vector_bytes=vector_bytes)
    monkeypatch.setattr(engine, "host", lambda: narrow)
    robot = lw.chain(n, seed=n)
    kernel = robot.compile("mass_matrix")
    lanes = narrow.vector(dtype).lanes
    q = robot.random_configuration(0, 3 * lanes + 2).astype(dtype)
    expected = np.stack([kernel(x) for x in q])  # one state is never a whole block
    if not is_streamed(n * n, narrow.vector(dtype)):
        pytest.skip("too short to be streamed in this precision")
    for offset in range(lanes):
        memory = np.full(expected.size + 2 * lanes, np.nan, dtype)
        out = memory[offset : offset + expected.size].reshape(expected.shape)
        kernel(q, out=out, threads=1)
        assert np.array_equal(out, expected)
        assert np.isnan(memory[:offset]).all() and np.isnan(memory[offset + expected.size :]).all()


def test_rows_that_crowd_at_one_place_of_a_page_go_past_the_caches(monkeypatch):
    monkeypatch.setattr("linkwise.codegen.llvm.driver.STREAMED_BYTES", 1 << 40)
    single, double = VectorType("float", 16), VectorType("double", 8)
    assert crowds(1024, single) and crowds(2048, single)
    assert not any(crowds(n, single) for n in (512, 1023, 1040)) and not crowds(1024, double)

    def outer(robot, x):
        return np.outer(x, x)

    kernel = lw.compile(outer, lw.load("panda"), sizes={"x": 32})
    least = [re.search(r"%large0 = icmp ugt i64 %bytes, (\d+)$", kernel.ir(t), re.M) for t in (single, double)]
    assert [int(x.group(1)) for x in least if x] == [0, 1 << 40]
    x = np.random.default_rng(0).normal(size=(50, 32)).astype(np.float32)
    assert np.array_equal(kernel(x), x[:, :, None] * x[:, None, :])


@pytest.mark.parametrize("lanes", [4, 8])
def test_only_the_ends_of_a_block_are_no_whole_lines(lanes):
    """A store to a part of a line waits until the line is read, and those after it with it."""
    t = VectorType("double", lanes)
    ir = lw.chain(7, seed=0).compile("mass_matrix").ir(t)
    for text in re.findall(r"^define internal \S+ @lw_stream0\w*\(.*?^}", ir, re.M | re.S):
        assert text.count("@llvm.masked.store") <= 2


def test_several_outputs_and_threads():
    robot = lw.load("panda")
    kernel = robot.compile("innovations_factors")
    q = robot.random_configuration(0, 40)
    for a, b in zip(kernel(q, threads=2), robot.innovations_factors(q, target="numpy"), strict=True):
        assert np.allclose(a, b, rtol=1e-12, atol=1e-12)
