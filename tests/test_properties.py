"""Properties that are worked out once: by no lock, so that neither threads nor forked processes wait for ever."""

import ast
import functools
import os
import threading

import numpy as np
import pytest
from forked import Held, answer_of_a_fork
from patience import PATIENCE

import linkwise as lw
from linkwise.properties import cached_property
from linkwise.symbols import creation
from snippets import ROOT


class Pair:
    """Two properties, each of which may ask for that of another instance."""

    def __init__(self, asks=lambda: 0):
        self.asks, self.count = asks, 0

    @cached_property
    def one(self):
        """The first."""
        self.count += 1
        return 1 + self.asks()

    @cached_property
    def two(self):
        self.count += 1
        return 2 + self.asks()


def test_it_is_worked_out_once_and_kept_in_the_instance():
    x = Pair()
    assert (x.one, x.one, x.two, x.count) == (1, 1, 2, 2)
    assert x.__dict__["one"] == 1
    assert isinstance(Pair.one, functools.cached_property) and Pair.one.__doc__ == "The first."
    x.two = 7
    del x.one
    assert (x.one, x.two, x.count) == (1, 7, 3)


def test_threads_may_ask_for_each_others_properties():
    """Each is in its own property when it asks for that of the other's instance."""
    meet = threading.Barrier(2, timeout=PATIENCE)
    found = {}

    def one():
        found["one"] = Pair(lambda: meet.wait() * 0 + Pair().two).one

    def two():
        found["two"] = Pair(lambda: meet.wait() * 0 + Pair().one).two

    threads = [threading.Thread(target=x, daemon=True) for x in (one, two)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert found == {"one": 3, "two": 3}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_while_a_thread_works_one_out():
    with Held(lambda stay: Pair(stay).one):
        assert answer_of_a_fork(lambda: Pair().one == 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_while_a_thread_makes_a_kernel_quick(monkeypatch):
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    robot, q = lw.load("cartpole"), np.array([0.1, 0.2])
    kernels = [robot.compile(name) for name in ("gravity_force", "mass_matrix")]
    expected = robot.gravity_force(q, target="numpy")
    kernels[0].code(np.float64)

    def quick_of_the_second(stay):
        code = type(kernels[1]).code
        monkeypatch.setattr(
            type(kernels[1]), "code", lambda self, dtype: (self is kernels[1] and stay(), code(self, dtype))[1]
        )
        kernels[1].quick  # noqa: B018

    with Held(quick_of_the_second):
        assert answer_of_a_fork(lambda: np.allclose(kernels[0].quick(q), expected))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_while_a_thread_traces():
    """The child has no such thread: it may trace, and outside of traces NumPy has its own functions."""

    def trace(stay):
        with creation.arrays_take_symbols():
            stay()

    def holding_the_lock(stay):
        with creation._lock:
            stay()

    def traces_and_ends():
        own = creation._ORIGINAL["array"][0]
        before = np.array is own
        with creation.arrays_take_symbols():
            within = np.array is not own
        return before and within and np.array is own

    for held in (trace, holding_the_lock):
        with Held(held):
            assert answer_of_a_fork(traces_and_ends)
    with creation.arrays_take_symbols():  # and one that goes on in the child
        assert answer_of_a_fork(lambda: np.array is not creation._ORIGINAL["array"][0] and creation.is_tracing())


def test_no_other_is_used():
    """Python 3.11's own share a lock."""
    found = []
    for file in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "functools":
                found += [file.name for x in node.names if x.name == "cached_property"]
    assert found == ["properties.py"]
