"""Constants of a robot in the precision of what they meet, decided in one place."""

from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from linkwise import arrays
from linkwise.spatial import Transform
from linkwise.symbols.scalar import Graph


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128, np.longdouble, int])
def test_only_single_precision_asks_for_single_constants(dtype):
    like = np.zeros(3, dtype=dtype)
    wanted = np.float32 if dtype is np.float32 else np.float64
    assert arrays.precision(like) is wanted
    assert arrays.constant(np.ones(3), like=like).dtype == wanted
    pose = arrays.constant(Transform(np.eye(3), np.ones(3)), like=like)
    assert pose.R.dtype == pose.l.dtype == wanted


def test_symbols_meet_double_constants():
    symbols = Graph().inputs("q", 3)
    assert arrays.precision(symbols) is np.float64
    held = np.array([symbols[0], 1.0, 2.0], dtype=object)
    assert arrays.constant(held, like=np.zeros(3)) is held


ELSEWHERE = {"second_derivatives.py": "results of complex steps, no constants"}


@pytest.mark.parametrize("room", ["dynamics", "model/joints", "algebra"])
def test_no_algorithm_decides_about_precision(room):
    for file in (Path(lw.__file__).parent / room).rglob("*.py"):
        assert "float32" not in file.read_text() or file.name in ELSEWHERE, f"{file}: use arrays.constant"


def test_matrices_of_jax_from_blocks_and_columns():
    """The same numbers as NumPy's, by other operations."""
    jnp = pytest.importorskip("jax.numpy")
    rng = np.random.default_rng(0)
    heights, widths = (2, 1, 0, 3), (1, 2, 2)
    blocks = {(0, 1): (2, 2), (1, 0): (1, 1), (1, 2): (1, 2), (3, 2): (3, 2)}
    numbers = {key: rng.normal(size=(4, *shape)).astype(np.float32) for key, shape in blocks.items()}
    like = np.zeros((4, 1), np.float32)
    expected = arrays.from_blocks(numbers, heights, widths, like)
    found = arrays.from_blocks({k: jnp.asarray(x) for k, x in numbers.items()}, heights, widths, jnp.asarray(like))
    assert found.dtype == np.float32 and np.array_equal(found, expected)
    nothing = arrays.from_blocks({}, heights, widths, jnp.asarray(like))
    assert nothing.shape == (4, 6, 5) and not nothing.any()
    A = rng.normal(size=(3, 5, 4)).astype(np.float32)
    for x in rng.normal(size=(2, 3, 4, 1)).astype(np.float32), rng.normal(size=(3, 4, 2)).astype(np.float32):
        assert np.allclose(arrays.times(jnp.asarray(A), jnp.asarray(x)), A @ x, rtol=1e-5, atol=1e-5)
