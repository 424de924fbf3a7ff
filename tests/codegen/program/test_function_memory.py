"""Functions that keep something from call to call are found, left as they were, and never become programs."""

import random

import numpy as np
import pytest

import linkwise as lw

COUNT = 0
SEEN = []


class Integral:
    def __init__(self):
        self.sum = np.zeros(2)

    def __call__(self, t, q, v):
        self.sum = self.sum + 1e-3 * (0.5 - q)
        return 50.0 * self.sum - v

    def as_method(self, t, q, v):
        return self(t, q, v)


class Counter:
    calls = 0

    def __call__(self, t, q, v):
        self.calls += 1
        return np.full(2, 1e-2 * self.calls)


def global_counter(t, q, v):
    global COUNT
    COUNT += 1
    return -v * COUNT


def global_list(t, q, v):
    SEEN.append(q)
    return -SEEN[0]


def delayed():
    last = None

    def law(t, q, v):
        nonlocal last
        before, last = last, -q
        return -v if before is None else before

    return law


def noisy():
    stream = np.random.default_rng(0)
    return lambda t, q, v: stream.normal(size=2) - v


def counted_in_an_array():
    calls = np.zeros(1)

    def law(t, q, v):
        calls[0] += 1.0
        return -v * calls[0]

    return law


LAWS = {
    "integral": (Integral, "Integral.sum"),
    "method": (lambda: Integral().as_method, "self.sum"),
    "counter of a class": (Counter, "Counter"),
    "global": (lambda: global_counter, "COUNT"),
    "global list": (lambda: global_list, "SEEN"),
    "closure": (delayed, "last"),
    "stream": (noisy, "stream"),
    "array": (counted_in_an_array, "calls"),
    "numpy's own stream": (lambda: lambda t, q, v: np.random.normal(size=2) - v, "np.random"),  # noqa: NPY002
    "python's own stream": (lambda: lambda t, q, v: random.random() - v, "random"),
}


@pytest.mark.parametrize("name", LAWS)
def test_they_are_called_back_and_named(name):
    make, kept = LAWS[name]
    SEEN.clear()
    robot = lw.chain(2)
    with pytest.warns(lw.SlowPathWarning, match=rf"from one call to the next \(.*{kept}"):
        found = lw.simulate(robot, [0.3, 0.3], None, make(), duration=0.02, hold=True)
    assert found.settings.functions["controller"] == "called back"
    if "stream" not in name and "global" not in name:  # these do not begin anew
        expected = lw.simulate(robot, [0.3, 0.3], None, make(), duration=0.02, hold=True, callback=True)
        assert np.array_equal(found.q, expected.q)


def test_tracing_leaves_no_trace():
    law = Integral()
    before, total = law.sum, law.sum.copy()
    with pytest.raises(lw.UntraceableError, match="law.sum"):
        lw.compile(lambda robot, t, q, v: law(t, q, v), lw.chain(2), sizes={"t": 1})
    assert law.sum is before and np.array_equal(law.sum, total)


def test_what_a_function_only_reads_is_no_memory(recwarn):
    gains, table = {"p": 2.0, "d": [1.0, 1.0]}, np.arange(4.0)

    class Law:
        target = np.array([0.1, 0.2])

        def __call__(self, t, q, v):
            work = [x * table[1] for x in q]
            return gains["p"] * (self.target - np.array(work)) - np.array(gains["d"]) * v

    found = lw.simulate(lw.chain(2), [0.3, 0.3], None, Law(), duration=0.02)
    assert found.settings.functions["controller"] == "compiled" and not recwarn.list
