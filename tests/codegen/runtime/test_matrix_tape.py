"""Tapes of matrix operations: machine code against NumPy, of any sizes, steps in any order."""

import numpy as np
import pytest

from linkwise.codegen.runtime.matrix_tape import LANES, Tape, padded

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 35)


def both(make):
    """Arrays after a run by machine code and by NumPy, from the same start."""
    return [make(Tape(compiled), np.random.default_rng(3)) for compiled in (True, False)]


def near(found, expected):
    for x, y in zip(found, expected, strict=True):
        assert np.abs(x - y).max() <= 1e-13 * (1.0 + np.abs(y).max())


@pytest.mark.parametrize("n", SIZES)
def test_products_sums_and_copies(n):
    def make(tape, rng):
        rows, inner, width = n, n + 2, padded(n)
        A, B, C = rng.normal(size=(rows, inner)), rng.normal(size=(inner, width)), rng.normal(size=(rows, width))
        D, E, F = np.full((rows, width), np.nan), np.full((rows, width), np.nan), np.zeros((inner, width))
        tape.multiply(C, A, B, 0.5, add=True)
        tape.multiply(D, A, B, -2.0)  # what was there does not matter
        tape.copy(E, C, 3.0)
        tape.add(E, D)
        tape.multiply(F, A.T, E)
        assert tape.run()
        return C, D, E, F

    near(*both(make))


@pytest.mark.parametrize("n", SIZES)
def test_elimination(n):
    def make(tape, rng):
        m, width = n, padded(n + 1)
        root = rng.normal(size=(m, m))
        C = np.zeros((m, width + padded(m)))
        C[:, : n + 1] = rng.normal(size=(m, n + 1))
        C[:, width : width + m] = root @ root.T + np.eye(m)
        whole = C.copy()
        tape.eliminate(C, C[:, width : width + m])
        assert tape.run()
        np.testing.assert_allclose(whole[:, width : width + m] @ C[:, :width], whole[:, :width], atol=1e-10)
        return (C[:, :width],)

    found, expected = both(make)
    assert np.abs(found[0] - expected[0]).max() < 1e-10 * (1.0 + np.abs(expected[0]).max())


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("pivot", [0.0, -1.0, np.nan])
def test_a_matrix_that_is_not_positive_ends_the_run(compiled, pivot):
    C = np.zeros((3, 2 * LANES))
    C[:, LANES : LANES + 3] = np.diag([1.0, pivot, 1.0])
    seen = np.zeros((4, 1, LANES))
    tape = Tape(compiled)
    tape.eliminate(C, C[:, LANES : LANES + 3])
    tape.copy(seen, np.ones((1, LANES)))
    assert not tape.run(0, 4)
    assert not seen.any()


def test_symmetrised():
    def make(tape, rng):
        A, B, C = (rng.normal(size=(6, LANES)) for _ in range(3))
        tape.symmetrise(A[:5, :5], A[:5, :5])
        tape.symmetrise(B[:, 1:7], C[:, :6])
        assert tape.run()
        assert (A[:5, :5] == A[:5, :5].T).all() and (B[:, 1:7] == C[:, :6].T).all()
        return A, B, C

    near(*both(make))


def test_steps_run_in_the_order_asked_for():
    """x ← M_i x, backward from step 4 to 1: the product of four matrices in that order."""

    def make(tape, rng):
        M, x, y = rng.normal(size=(6, 3, 3)), np.zeros((3, LANES)), np.zeros((3, LANES))
        kept = np.zeros((6, 3, LANES))
        x[:, 0] = rng.normal(size=3)
        start = x[:, 0].copy()
        tape.multiply(y, M, x)
        tape.copy(x, y)
        tape.copy(kept, y)
        both = tape + Tape()
        assert both.run(4, 4, -1)
        np.testing.assert_allclose(x[:, 0], M[1] @ M[2] @ M[3] @ M[4] @ start, rtol=1e-12)
        assert not kept[0].any() and not kept[5].any() and kept[1:5, 0, 0].all()
        return x, kept

    near(*both(make))


def test_rows_that_are_no_whole_vectors_are_refused():
    with pytest.raises(ValueError, match="whole vectors"):
        Tape().copy(np.zeros((2, 3)), np.zeros((2, 3)))
    with pytest.raises(ValueError, match="whole vectors"):
        Tape().multiply(np.zeros((2, LANES)), np.zeros((2, 2)), np.zeros((LANES, 2)).T)
