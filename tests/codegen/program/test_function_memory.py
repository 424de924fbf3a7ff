"""Functions that keep something from call to call are found, left as they were, and never become programs."""

import itertools
import random
from collections import deque

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


class Slotted:
    __slots__ = ("sum",)

    def __init__(self):
        self.sum = np.zeros(2)

    def __call__(self, t, q, v):
        self.sum = self.sum + 1e-3 * q
        return -v - self.sum


class OfTheClass:
    seen = 0

    def __call__(self, t, q, v):
        OfTheClass.seen += 1
        return -v * OfTheClass.seen


def delayed_by_a_deque():
    before = deque([np.zeros(2)] * 3, maxlen=3)

    def law(t, q, v):
        before.append(q)
        return -before[0] - v

    return law


def nested():
    inner = Integral()
    outer = {"laws": [inner]}
    return lambda t, q, v: outer["laws"][0](t, q, v)


def counting():
    numbers = itertools.count()
    return lambda t, q, v: -v * next(numbers)


def generating():
    gains = (float(i) for i in range(10_000))
    return lambda t, q, v: -v * next(gains)


def python_stream():
    stream = random.Random(3)
    return lambda t, q, v: stream.random() - v


LAWS = {
    "slots": (Slotted, "Slotted.sum"),
    "attribute of a class": (OfTheClass, "OfTheClass.seen"),
    "deque": (delayed_by_a_deque, "before"),
    "nested": (nested, "outer.laws.sum"),
    "iterator": (counting, "numbers"),
    "generator": (generating, "gains"),
    "a stream of python's": (python_stream, "stream"),
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
    with pytest.warns(lw.SlowPathWarning, match=rf"from call to call \(.*{kept}"):
        found = lw.simulate(robot, [0.3, 0.3], None, make(), duration=0.02, hold=True)
    assert found.settings.functions["controller"] == "called back"
    if "stream" not in name and "global" not in name and "class" not in name:  # these do not begin anew
        expected = lw.simulate(robot, [0.3, 0.3], None, make(), duration=0.02, hold=True, callback=True)
        assert np.array_equal(found.q, expected.q)


def test_tracing_leaves_no_trace():
    law = Integral()
    before, total = law.sum, law.sum.copy()
    with pytest.raises(lw.UntraceableError, match="law.sum"):
        lw.compile(lambda robot, t, q, v: law(t, q, v), lw.chain(2), sizes={"t": 1})
    assert law.sum is before and np.array_equal(law.sum, total)


def test_a_long_chain_of_objects_is_walked(recwarn):
    class Node:
        after = None

    first = node = Node()
    for _ in range(5_000):
        node.after = Node()
        node = node.after
    node.gain = 2.0
    found = lw.simulate(lw.chain(2), [0.3, 0.3], None, lambda t, q, v: -(first.after is not None) * v, duration=0.01)
    assert found.settings.functions["controller"] == "compiled" and not recwarn.list


def test_what_a_function_only_reads_is_no_memory(recwarn):
    gains, table = {"p": 2.0, "d": [1.0, 1.0]}, np.arange(4.0)

    class Law:
        target = np.array([0.1, 0.2])

        def __call__(self, t, q, v):
            work = [x * table[1] for x in q]
            return gains["p"] * (self.target - np.array(work)) - np.array(gains["d"]) * v

    found = lw.simulate(lw.chain(2), [0.3, 0.3], None, Law(), duration=0.02)
    assert found.settings.functions["controller"] == "compiled" and not recwarn.list
