"""Matrices of long chains from walks in blocks: against NumPy's, of all widths, batches and ways of writing."""

from dataclasses import replace

import numpy as np
import pytest

import linkwise as lw
from linkwise.codegen import thresholds
from linkwise.codegen.rolled.blocks import BlockMatrix
from linkwise.codegen.runtime import engine, rolled_kernel
from linkwise.codegen.runtime.engine import host
from linkwise.symbols.outputs import count

from .test_products import chain


@pytest.fixture
def from_few(monkeypatch):
    monkeypatch.setattr(thresholds, "PRODUCTS_FROM", 2)


def blocked(robot, name):
    """The kernel, all of whose matrices are in blocks."""
    kernel = robot.compile(name, rolled=True)
    found = kernel.loops.factors.matrices.values()
    assert found and all(isinstance(x, BlockMatrix) for x in found) and not kernel.loops.loops
    return kernel


def outputs(x):
    return x if isinstance(x, tuple) else (x,)


def states(kernel, *shape):
    inputs = kernel.signature.inputs
    rng = np.random.default_rng(len(inputs) + sum(shape))
    return [rng.normal(size=(*shape, n)) for n in inputs.values()]


# Both directions of walks, and what goes on unchanged; symmetric; of one side alone.
METHODS = ["linearize_forward", "mass_matrix_inverse", "innovations_factors"]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(("n", "block"), [(2, 16), (15, 16), (16, 16), (17, 16), (37, 16), (48, 16), (70, 32)])
def test_every_width_and_batch(name, n, block, from_few, monkeypatch):
    monkeypatch.setattr(thresholds, "BLOCK", block)
    robot = lw.chain(n, seed=n)
    kernel = blocked(robot, name)
    arrays = states(kernel, 11)
    expected = outputs(getattr(robot, name)(*arrays, target="numpy"))
    scales = [np.abs(x).max() for x in expected]
    for part in (slice(None), slice(0, 1), slice(0, 8), 3, slice(0, 0)):
        for found, reference, scale in zip(outputs(kernel(*(x[part] for x in arrays))), expected, scales):
            assert found.shape == reference[part].shape
            assert np.abs(found - reference[part]).max(initial=0.0) < 1e-11 * scale
    single = outputs(kernel(*(x.astype(np.float32) for x in arrays)))
    for found, reference, scale in zip(single, expected, scales):
        assert found.dtype == np.float32 and np.abs(found - reference).max() < 1e-3 * scale


def test_the_inverse_is_symmetric_to_the_last_digit(from_few):
    found = blocked(lw.chain(37, seed=1), "mass_matrix_inverse")(*np.random.default_rng(0).normal(size=(1, 9, 37)))
    assert (found == np.swapaxes(found, -1, -2)).all()


def test_one_side_is_zero(from_few):
    kernel = blocked(lw.chain(37, seed=1), "innovations_factors")
    for q in np.random.default_rng(0).normal(size=(2, 9, 37)):  # whatever memory it finds
        factor = kernel(q)[0]
        assert (np.tril(factor, -1) == 0.0).all() and (np.diagonal(factor, axis1=-2, axis2=-1) == 1.0).all()


@pytest.mark.parametrize(("rotors", "gyroscopic"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("name", ["mass_matrix_inverse", "linearize_forward"])
def test_kinds_and_rotors(name, rotors, gyroscopic):
    robot = chain(70, rotors, gyroscopic)
    if gyroscopic and name == "linearize_forward":
        return  # (no algorithm by walks knows them)
    kernel = blocked(robot, name)
    arrays = states(kernel, 5)
    expected = outputs(getattr(robot, name)(*arrays, target="numpy"))
    for found, reference in zip(outputs(kernel(*arrays)), expected):
        assert np.abs(found - reference).max() < 1e-10 * np.abs(reference).max()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("name", "n"), [("mass_matrix_inverse", 21), ("linearize_forward", 18), ("inverse_factors", 33)]
)
def test_past_the_caches_into_memory_that_begins_anywhere(name, n, dtype, from_few, monkeypatch):
    """The same numbers as through them, to the last digit, and nothing beside them touched."""
    robot = lw.chain(n, seed=1)
    lanes = host().vector(dtype).lanes
    kernel = blocked(robot, name)
    arrays = [x.astype(dtype) for x in states(kernel, lanes + 3)]
    expected = outputs(kernel(*arrays))
    monkeypatch.setattr("linkwise.codegen.llvm.driver.STREAMED_ROWS", 0)
    monkeypatch.setenv("LINKWISE_CACHE", "off")
    kernel = blocked(lw.chain(n, seed=1), name)
    assert "!nontemporal" in kernel.ir(host().vector(dtype))
    for first in range(2 * lanes):
        memory = [np.full(x.size + 4 * lanes, np.nan, dtype) for x in expected]
        out = tuple(m[first : first + x.size].reshape(x.shape) for m, x in zip(memory, expected))
        kernel(*arrays, out=out if len(out) > 1 else out[0], threads=1)
        for m, x, y in zip(memory, out, expected):
            assert np.array_equal(x, y)
            assert np.isnan(m[:first]).all() and np.isnan(m[first + x.size :]).all()


@pytest.mark.parametrize("vector_bytes", [16, 32])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["mass_matrix", "linearize_forward", "inverse_factors"])
def test_vectors_of_other_widths(name, dtype, vector_bytes, monkeypatch):
    if vector_bytes > engine.host().vector_bytes:
        pytest.skip("this machine has narrower vectors")
    monkeypatch.setenv("LINKWISE_CACHE", "off")  # which other processes share, whose vectors are this machine's
    narrow = replace(engine.host(), vector_bytes=vector_bytes)
    for module in (engine, rolled_kernel):
        monkeypatch.setattr(module, "host", lambda: narrow)
    monkeypatch.setattr(
        "linkwise.codegen.llvm.driver.STREAMED_ROWS", 1 << 18
    )  # so that the longest are past the caches
    robot = lw.chain(69, seed=2)
    kernel = robot.compile(name)
    arrays = states(kernel, 7)
    expected = outputs(getattr(robot, name)(*arrays, target="numpy"))
    assert kernel.code(dtype).vector.lanes == vector_bytes // np.dtype(dtype).itemsize
    for states_of in (7, 2):
        for found, reference in zip(outputs(kernel(*(x[:states_of].astype(dtype) for x in arrays))), expected):
            tolerance = 1e-11 if dtype == np.float64 else 1e-3
            assert np.abs(found - reference[:states_of]).max() < tolerance * np.abs(reference).max()


def test_cards_and_jax_have_whole_walks(from_few):
    kernel = blocked(lw.chain(20, seed=1), "mass_matrix_inverse")
    whole = kernel.whole_walks
    assert whole.loops and not whole.factors.matrices and whole is kernel.whole_walks


def test_memory_is_far_less_than_the_matrix():
    for n in (128, 512):
        kernel = lw.chain(n, seed=1).compile("mass_matrix_inverse", rolled=True)
        assert kernel.scratch_bytes < host().vector_bytes * n * n / 5 + 500_000


def test_operations_are_counted():
    """Those of blocks are: pairs within one, unit vectors through each, edges, and sums of products."""
    n, block, slots = 100, thresholds.BLOCK, 6
    kernel = blocked(lw.chain(n, seed=1), "mass_matrix_inverse")
    program = kernel.loops
    [walk] = program.factors.walks
    step, sweeps = 23, sum(count(w.sinks, stop=w.loads).total for works in program.phases for w in works)
    assert {count(w.sinks, stop=w.loads).total for w in (*walk.steps, *walk.units)} == {step}
    of = [k // block for k in range(n)]
    within = sum(of[i] == of[j] for i in range(n) for j in range(i))
    apart = n * (n - 1) // 2 - within
    passed = sum(of[i] < b < of[-1] for i in range(n) for b in range(of[-1]))
    expected = n * sweeps + step * (within + slots * n) + 2 * apart * (2 * slots - 1) + passed * slots * (2 * slots - 1)
    assert program.operations.total == expected
