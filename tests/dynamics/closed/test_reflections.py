"""Reflections against NumPy's own factors, and columns of which nothing is left."""

import numpy as np
import pytest

import linkwise as lw
from linkwise.dynamics.closed.reflections import reflected
from linkwise.symbols.outputs import evaluate
from linkwise.symbols.scalar import Graph


def factors(A):
    return reflected(A, np.zeros(1), [f"column {i}" for i in range(A.shape[-1])], "none of it is left")


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 2), (4, 4), (7, 3), (5, 0)])
def test_least_squares_and_what_is_left(n, m, rng):
    A, b, c = rng.normal(size=(2, 6, n, m)), rng.normal(size=(2, 6, n, 2)), rng.normal(size=(2, 6, m, 2))
    found = factors(A)
    X = np.broadcast_to(found.complement, (2, 6, n, n - m))
    np.testing.assert_allclose(A.mT @ X, 0, atol=1e-13)
    np.testing.assert_allclose(X.mT @ X, np.broadcast_to(np.eye(n - m), (2, 6, n - m, n - m)), atol=1e-13)
    y, left = found.nearest(b)
    np.testing.assert_allclose(np.broadcast_to(y, (2, 6, m, 2)), np.linalg.pinv(A) @ b, atol=1e-11)
    np.testing.assert_allclose(np.linalg.norm(left, axis=-2), np.linalg.norm(b - A @ y, axis=-2), atol=1e-12)
    np.testing.assert_allclose(np.broadcast_to(found.shortest(c), b.shape), np.linalg.pinv(A.mT) @ c, atol=1e-11)


def test_symbols_and_zeros(rng):
    """Zeros that are known cost nothing, and change nothing."""
    A = rng.normal(size=(4, 2))
    A[1:, 0] = 0.0
    graph = Graph()
    symbols = graph.inputs("a", 8).reshape(4, 2)
    symbols[1:, 0] = 0.0
    found = factors(symbols)
    assert found.turns[0] is None
    X = evaluate(found.complement.ravel(), {"a": A.ravel()})
    np.testing.assert_allclose(np.reshape(X, (4, 2)), factors(A).complement @ np.diag([1, 1]), atol=1e-14)


def test_a_column_of_which_nothing_is_left_is_named():
    A = np.array([[1.0, 2.0], [3.0, 6.0], [-1.0, -2.0]])
    with pytest.raises(lw.SingularError, match="column 1: none of it is left"):
        factors(A)
    A[2, 1] += 1e-9  # some thousand roundings are not nothing
    assert abs(factors(A).R[1][1][0, 0]) < 1e-8
