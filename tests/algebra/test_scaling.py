"""Operators never form a matrix: memory and time of great chains grow with n."""

import cProfile
import sys
import tracemalloc

import numpy as np
import pytest

import linkwise as lw


def solved(n, seed=0):
    """(op, x, 𝓜⁻¹x) of a curled chain of n links."""
    r = lw.chain(n)
    rng = np.random.default_rng(seed)
    op = r.operators(rng.uniform(-np.pi, np.pi, r.nq))
    x = rng.normal(size=r.nv)
    return op, x, op.mass.inv() @ x


def peak(n):
    """Bytes that applying the inverse takes at most."""
    tracemalloc.start()
    try:
        solved(n)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_grows_with_n():
    """Ten times the links: ten times the bytes, not a hundred."""
    small, great = peak(120), peak(1200)
    assert great < 11.5 * small
    assert great / 1200 < 12_000  # bytes per link; 𝓜 and one matrix of its size beside it have 19,200


def test_work_grows_with_n():
    """Calls of Python functions, which do not depend on how busy the machine is."""
    calls = []
    for n in (250, 1000):
        profile = cProfile.Profile()
        profile.runcall(solved, n)
        calls.append(sum(entry.callcount for entry in profile.getstats()))
    assert calls[1] < 4.2 * calls[0]


@pytest.mark.parametrize("n", [10, 200, 2000])
def test_the_inverse_is_right(n):
    """𝓜(𝓜⁻¹x) = x. The entries of 𝓜 grow as n³, so rounding is measured against 𝓜|𝓜⁻¹x|."""
    op, x, y = solved(n)
    residual = np.abs(op.mass @ y - x)
    assert residual.max() < 1e-7
    assert residual.max() < 1e-15 * n * np.abs(op.mass @ x).max()
    if n <= 200:
        M = op.model.mass_matrix(op.q)
        expected = np.linalg.solve(M, x)
        assert np.abs(y - expected).max() < 1e-14 * np.linalg.cond(M) * np.abs(expected).max()


def test_five_thousand_links():
    """𝓜 alone would take 0.2 GB; applying its inverse takes well under two thirds of that."""
    resource = pytest.importorskip("resource")  # Windows has none
    unit = 1 if sys.platform == "darwin" else 1024  # bytes in what getrusage counts
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    op, x, y = solved(5_000)
    residual = np.abs(op.mass @ y - x).max()
    used = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit
    assert residual < 1e-14 * np.abs(op.mass @ x).max()  # fourteen digits of the forces inside the chain
    assert used < 1.25e8
