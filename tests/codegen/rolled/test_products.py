"""Matrices of long chains from sums of products: against NumPy's, of all widths, batches and ways of writing."""

import numpy as np
import pytest

import linkwise as lw
from linkwise.codegen import thresholds
from linkwise.codegen.runtime.engine import host
from linkwise.codegen.thresholds import STREAMED_ROWS
from linkwise.dynamics import mass
from linkwise.dynamics.links import evaluate


def chain(n, rotors=False, gyroscopic=False):
    bodies, parent = [], None
    for i in range(n):
        axis = (0.6, 0, 0.8) if gyroscopic else None
        rotor = lw.Rotor(0.01 * (i + 1), 20.0, axis=axis) if rotors and i % 3 else None
        kind = lw.Prismatic("z") if i % 5 == 3 else lw.Revolute("x")
        joint = lw.Joint(kind, at=(0.1, 0, 0.3), rpy=(0.3, 0.2 * i, 0), rotor=rotor)
        bodies.append(lw.Body(f"b{i}", joint, lw.Inertia(1.0 + i % 4, com=(0.1, 0.05, 0.2), tensor=np.eye(3)), parent))
        parent = f"b{i}"
    return lw.assemble("chain", bodies)


def in_link_frames(robot, q):
    return mass.composite_of(evaluate(robot, q))


def has_products(robot):
    kernel = robot.compile("mass_matrix", rolled=True)
    return kernel, bool(kernel.loops.factors.matrices)


@pytest.fixture
def from_few(monkeypatch):
    monkeypatch.setattr(thresholds, "PRODUCTS_FROM", 2)


@pytest.mark.parametrize("n", [2, 3, 7, 8, 9, 16, 21, 24, 33])
def test_every_width(n, from_few):
    robot = lw.chain(n, seed=n)
    kernel, products = has_products(robot)
    assert products
    q = np.random.default_rng(n).normal(size=(11, n))
    expected = in_link_frames(robot, q)
    scale = np.abs(expected).max()
    for batch in (q, q[:1], q[:8], q[0]):
        found = kernel(batch)
        assert np.abs(found - expected[: len(batch)] if batch.ndim > 1 else found - expected[0]).max() < 1e-13 * scale
        assert (found == np.swapaxes(found, -1, -2)).all()  # to the last digit
    single = kernel(q.astype(np.float32))
    assert single.dtype == np.float32 and np.abs(single - expected).max() < 1e-5 * scale


@pytest.mark.parametrize(("rotors", "gyroscopic"), [(False, False), (True, False), (True, True)])
def test_kinds_and_rotors(rotors, gyroscopic):
    robot = chain(70, rotors, gyroscopic)
    kernel, products = has_products(robot)
    assert products
    q = np.random.default_rng(0).normal(size=(5, 70))
    expected = in_link_frames(robot, q)
    assert np.abs(kernel(q) - expected).max() < 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [16, 21, 22, 24, 36, 67])
def test_past_the_caches_into_memory_that_begins_anywhere(n, dtype, from_few, monkeypatch):
    """The same numbers as through them, to the last digit, and nothing beside them touched."""
    robot = lw.chain(n, seed=1)
    lanes = host().vector(dtype).lanes
    q = np.random.default_rng(0).normal(size=(lanes + 3, n)).astype(dtype)
    expected = has_products(robot)[0](q)
    monkeypatch.setattr("linkwise.codegen.llvm.driver.STREAMED_ROWS", 0)
    monkeypatch.setenv("LINKWISE_CACHE", "off")
    kernel, products = has_products(lw.chain(n, seed=1))
    assert products and "!nontemporal" in kernel.ir(host().vector(dtype))
    for first in range(2 * lanes):
        memory = np.full(expected.size + 4 * lanes, np.nan, dtype)
        out = memory[first : first + expected.size].reshape(expected.shape)
        kernel(q, out=out, threads=1)
        assert np.array_equal(out, expected)
        assert np.isnan(memory[:first]).all() and np.isnan(memory[first + expected.size :]).all()


def test_large_batches_past_the_caches():
    robot = lw.chain(100, seed=1)
    kernel, products = has_products(robot)
    assert products
    count = STREAMED_ROWS // (8 * 100 * 100) + 5
    q = np.random.default_rng(0).normal(size=(count, 100))
    expected = in_link_frames(robot, q)
    assert np.abs(kernel(q) - expected).max() < 1e-12 * np.abs(expected).max()


LINEARIZED = {0: (6, 6), 1: (6, 9), 2: (6, 9)}  # terms of 𝓜, A_D and B_D, above and below the diagonal


@pytest.mark.parametrize("n", [2, 8, 21, 33])
def test_linearised_inverse_dynamics(n, from_few):
    """Matrices that are not symmetric, of every width; batches, both precisions."""
    robot = lw.chain(n, seed=n)
    kernel = robot.compile("linearize_inverse", rolled=True)
    found = kernel.loops.factors.matrices
    assert {i: (len(x.above.row), len(x.below.row)) for i, x in found.items()} == LINEARIZED
    assert not kernel.loops.loops and len(kernel.loops.factors.values) == 45  # shared by the three
    q, v, a = np.random.default_rng(n).normal(size=(3, 9, n))
    expected = robot.linearize_inverse(q, v, a, target="numpy")
    single = kernel(*(x.astype(np.float32) for x in (q, v, a)))
    for i, reference in enumerate(expected):
        scale = np.abs(reference).max()
        assert np.abs(kernel(q, v, a)[i] - reference).max() < 1e-13 * scale
        assert np.abs(kernel(q[0], v[0], a[0])[i] - reference[0]).max() < 1e-13 * scale
        assert single[i].dtype == np.float32 and np.abs(single[i] - reference).max() < 1e-4 * scale


@pytest.mark.parametrize(("rotors", "gyroscopic"), [(False, False), (True, True)])
def test_linearised_dynamics_of_kinds_and_rotors(rotors, gyroscopic):
    """So many states that they are written past the caches."""
    robot = chain(66, rotors, gyroscopic)
    kernel = robot.compile("linearize_inverse", rolled=True)
    assert set(kernel.loops.factors.matrices) == {0, 1, 2}
    count = STREAMED_ROWS // (3 * 8 * 66 * 66) + 3
    q, v, a = np.random.default_rng(0).normal(size=(3, count, 66))
    expected = robot.linearize_inverse(q, v, a, target="numpy")
    for found, reference in zip(kernel(q, v, a), expected):
        assert np.abs(found - reference).max() < 1e-12 * np.abs(reference).max()


def test_memory_grows_with_the_links_and_not_with_their_square():
    small, large = (lw.chain(n, seed=1).compile("mass_matrix", rolled=True).scratch_bytes for n in (128, 512))
    assert large < 5 * small


def test_trees_and_free_bases_have_walks():
    for robot in (lw.random_tree(80, seed=3, joints=["revolute"]), lw.chain(70, seed=1).floating()):
        kernel, products = has_products(robot)
        assert not products
        q = robot.random_configuration(np.random.default_rng(1), (3,))
        expected = in_link_frames(robot, q)
        assert np.abs(kernel(q) - expected).max() < 1e-12 * np.abs(expected).max()
