"""Functions that keep something from call to call are found, left as they were, and never become programs."""

import array
import ctypes
import datetime
import functools
import itertools
import multiprocessing
import os
import random
import secrets
import time
import types
import uuid
from collections import Counter, UserDict, deque
from contextvars import ContextVar

import numpy as np
import pytest
from numpy.random import default_rng

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


class Counted:
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


def counted_in(memory, count):
    """A law that counts its calls in some memory; ``count(memory)`` adds one and gives the number."""
    return lambda t, q, v: -v * count(memory)


def longer(memory):
    memory.append(1)
    return len(memory)


def more_at(key):
    def more(memory):
        memory[key] += 1
        return memory[key]

    return more


def more_of_context(memory):
    memory.set(memory.get() + 1)
    return memory.get()


class Property:
    @property
    def calls(self):
        SEEN.append(1)
        return len(SEEN)

    def __call__(self, t, q, v):
        return -v * self.calls


class Grown:
    @classmethod
    def count(cls):
        cls.calls = getattr(cls, "calls", 0) + 1
        return cls.calls

    def __call__(self, t, q, v):
        return -v * self.count()


class Counting:
    def __init__(self):
        self.count = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.count += 1
        return self.count


def of_the_function():
    def law(t, q, v):
        law.calls = getattr(law, "calls", 0) + 1
        return -v * law.calls

    return law


def of_a_module():
    module = types.ModuleType("users_own")
    exec("calls = 0\ndef count():\n    global calls\n    calls += 1\n    return calls", vars(module))
    return lambda t, q, v: -v * module.count()


def by_a_bound_method():
    seen = []
    append = seen.append
    return lambda t, q, v: (append(1), -v * len(seen))[1]


LAWS = {
    "property": (Property, "SEEN"),
    "new attribute of a class": (Grown, "Grown"),
    "attribute of the function": (of_the_function, "law"),
    "module": (of_a_module, "module"),
    "bound method": (by_a_bound_method, "seen"),
    "own iterator": (lambda: counted_in(Counting(), next), "memory.count"),
    "zip": (lambda: counted_in(zip(range(10_000), range(10_000)), lambda x: next(x)[0]), "memory"),
    "array.array": (lambda: counted_in(array.array("d", [0.0]), longer), "memory"),
    "bytearray": (lambda: counted_in(bytearray(), longer), "memory"),
    "ctypes": (lambda: counted_in((ctypes.c_int * 1)(), more_at(0)), "memory"),
    "context": (lambda: counted_in(ContextVar("calls", default=0), more_of_context), "memory"),
    "shared by processes": (lambda: counted_in(multiprocessing.Array("i", 1), more_at(0)), "memory"),
    "user's dict": (lambda: counted_in(UserDict(n=0), more_at("n")), "memory.data"),
    "counter": (lambda: counted_in(Counter(), more_at("n")), "memory"),
    "vectorized": (lambda: counted_in(Counting(), np.vectorize(next, otypes=[float], excluded=[0])), "memory.count"),
    "slots": (Slotted, "Slotted.sum"),
    "attribute of a class": (OfTheClass, "OfTheClass.seen"),
    "deque": (delayed_by_a_deque, "before"),
    "nested": (nested, "outer.laws.sum"),
    "iterator": (counting, "numbers"),
    "generator": (generating, "gains"),
    "a stream of python's": (python_stream, "stream"),
    "integral": (Integral, "Integral.sum"),
    "method": (lambda: Integral().as_method, "self.sum"),
    "counter of a class": (Counted, "Counted"),
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
    if not any(
        word in name for word in ("stream", "global", "class", "property", "context")
    ):  # these do not begin anew
        expected = lw.simulate(robot, [0.3, 0.3], None, make(), duration=0.02, hold=True, callback=True)
        assert np.array_equal(found.q, expected.q)


def imports_within(t, q, v):
    import numpy

    return numpy.random.default_rng().normal(size=2) - v


def imports_a_function(t, q, v):
    from time import monotonic

    return -1e-9 * v * monotonic()


# Laws whose next call may give something else, and what they ask: nothing that they keep would show it.
ANEW = {
    "np.random.default_rng": lambda t, q, v: np.random.default_rng().normal(size=2) - v,
    "np.random.RandomState": lambda t, q, v: np.random.RandomState().normal(size=2) - v,
    "numpy.random.default_rng": imports_within,
    "random.Random": lambda t, q, v: random.Random().random() - v,
    "default_rng": lambda t, q, v: default_rng(None).normal(size=2) - v,
    "random.SystemRandom": lambda t, q, v: random.SystemRandom().random() - v,
    "stream": (lambda stream: lambda t, q, v: stream.random() - v)(random.SystemRandom()),
    "time.perf_counter": lambda t, q, v: -1e-9 * v * time.perf_counter(),
    "time": imports_a_function,
    "datetime.datetime": lambda t, q, v: -v * 1e-6 * datetime.datetime.now().microsecond,
    "secrets.randbelow": lambda t, q, v: -v * secrets.randbelow(9),
    "uuid.uuid4": lambda t, q, v: -v * (uuid.uuid4().int % 9),
    "os.urandom": lambda t, q, v: -v * os.urandom(1)[0],
}


@pytest.mark.parametrize("name", ANEW)
def test_what_has_another_answer_at_every_call_is_no_program(name):
    with pytest.warns(
        lw.SlowPathWarning, match=rf"it uses (.*, )?{name}(, .*)?, of which a call may give something else"
    ):
        found = lw.simulate(lw.chain(2), [0.3, 0.3], None, ANEW[name], duration=0.005)
    assert found.settings.functions["controller"] == "called back"
    with pytest.raises(lw.UntraceableError, match="something else"):
        lw.compile(lambda robot, q: ANEW[name](0.0, q, q), lw.chain(2))
    assert lw.compile(lambda robot, q: ANEW[name](0.0, q, q), lw.chain(2), target="numpy") is not None


SEEDED = {
    "np.random.default_rng": lambda t, q, v: np.random.default_rng(3).normal(size=2) - v,
    "RandomState": lambda t, q, v: np.random.RandomState(3).normal(size=2) - v,
    "random.Random": lambda t, q, v: random.Random("a").random() - v,
    "imported": lambda t, q, v: default_rng(3).normal(size=2) - v,
}


@pytest.mark.parametrize("name", SEEDED)
def test_streams_that_are_made_with_a_seed_give_the_same_at_every_call(name, recwarn):
    found = lw.simulate(lw.chain(2), [0.3, 0.3], None, SEEDED[name], duration=0.005)
    assert found.settings.functions["controller"] == "compiled" and not recwarn.list


def test_one_of_two_streams_without_a_seed_is_named():
    law = lambda t, q, v: np.random.default_rng(3).normal(size=2) - np.random.default_rng().normal(size=2)
    with pytest.warns(lw.SlowPathWarning, match=r"default_rng, of which a call may give something else"):
        lw.simulate(lw.chain(2), [0.3, 0.3], None, law, duration=0.005)


def test_what_only_streams_of_numbers_lead_to_is_no_memory(recwarn):
    """Dates that are given, modules that are imported within, streams that nobody draws from."""
    stream, begin = np.random.default_rng(0), datetime.datetime(2000, 1, 1)

    def law(t, q, v):
        import numpy

        gain = (datetime.datetime(2000, 1, 2) - begin).days
        return numpy.clip(-gain * v, -1.0, 1.0) if stream is not None else q

    found = lw.simulate(lw.chain(2), [0.3, 0.3], None, law, duration=0.01)
    assert found.settings.functions["controller"] == "compiled" and not recwarn.list


def test_what_properties_work_out_is_no_memory_unless_it_follows_the_state(recwarn):
    class Law:
        def __init__(self):
            self.gains = np.array([1.0, 2.0])

        @functools.cached_property
        def doubled(self):
            return 2.0 * self.gains

        @functools.cached_property
        def named(self):
            return {"p": self.gains}

        def __call__(self, t, q, v):
            return -self.doubled * v - self.named["p"] * q

    law = Law()
    found = lw.simulate(lw.chain(2), [0.3, 0.3], None, law, duration=0.01)
    assert found.settings.functions["controller"] == "compiled" and not recwarn.list
    assert np.array_equal(law.doubled, [2.0, 4.0])

    class Follows(Law):
        @functools.cached_property
        def doubled(self):
            return 2.0 * self.first

        def __call__(self, t, q, v):
            self.first = getattr(self, "first", q)
            return -self.doubled

    with pytest.warns(lw.SlowPathWarning, match="Follows"):
        lw.simulate(lw.chain(2), [0.3, 0.3], None, Follows(), duration=0.01)


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


def random_reference():
    rng = np.random.default_rng(0)
    return lambda t: (rng.normal(size=2), np.zeros(2), np.zeros(2))


@pytest.mark.parametrize("closed_over", [False, True])
def test_laws_of_linkwise_have_the_memory_of_functions_that_they_are_given(closed_over):
    """A law of linkwise keeps nothing itself; its reference may draw random numbers, which no program can."""
    law = lw.control.ComputedTorque(lw.chain(2), random_reference(), 1.0, 1.0)
    with pytest.raises(lw.UntraceableError, match="rng"):
        law.compile()
    controller = (lambda t, q, v: law(t, q, v)) if closed_over else law
    with pytest.warns(lw.SlowPathWarning, match="rng"):
        lw.simulate(lw.chain(2), [0.3, 0.3], None, controller, duration=0.002, method="semi_implicit_euler")


def test_joints_and_couplings_are_not_made_of_one_draw():
    rng, robot = np.random.default_rng(0), lw.chain(2)
    with pytest.raises(lw.ModelError, match=r"keeps something from call to call \(rng\)"):
        lw.Guided(lambda s: np.array([rng.normal() * s, 0.0, s]))
    first, second = (j.name for j in robot.joints)
    with pytest.raises(lw.ModelError, match=r"keeps something from call to call \(rng\)"):
        robot.couple(second, first, relation=lambda x: rng.normal() * x)
