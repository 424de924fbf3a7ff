"""Functions taken apart: the numbers they hold, the same function with others, and what tells functions apart."""

import functools
from dataclasses import dataclass

import numpy as np
import pytest

import linkwise as lw
from linkwise.simulation.law_numbers import LONGEST, taken_apart, with_inertias_of

ROBOT = lw.load("double_pendulum")
GAIN = 1.0
STATE = (0.3, np.array([0.2, -0.4]), np.array([1.0, 0.5]))


@dataclass(frozen=True)
class Law:
    gain: float
    more: np.ndarray

    def __call__(self, t, q, v):
        return -self.gain * q + self.more * t


def plain(t, q, v, *, gain=1.0, offset=(0.0, 0.0)):
    return -gain * q + np.array(offset)


def closed(x):
    inner = lambda q: x["gain"] * q
    return lambda t, q, v: inner(q) + x["list"][1] * v


def of_robot(mass):
    other = ROBOT.weld("lower", lw.Inertia(mass))
    return lambda t, q, v: other.gravity_force(q, target="numpy") - ROBOT.gravity_force(q, target="numpy")


# what makes a function of a number
MAKERS = {
    "an object": lambda x: Law(x, np.array([x, 2.0])),
    "arguments": lambda x: functools.partial(plain, gain=x, offset=(x, 1.0)),
    "a closure": lambda x: closed({"gain": x, "list": [1, 2.0 * x]}),
    "a method": lambda x: Law(x, np.array([x, 2.0])).__call__,
    "another robot": of_robot,
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_function_with_other_numbers_is_the_other_function(name):
    make = MAKERS[name]
    one, other = taken_apart(make(1.5), ROBOT), taken_apart(make(4.0), ROBOT)
    assert one.identity == other.identity is not None
    assert len(one.numbers) == len(other.numbers) > 0
    assert np.allclose(np.asarray(one.on(other.numbers)(*STATE), dtype=float), make(4.0)(*STATE), atol=1e-12)
    assert np.allclose(np.asarray(one.on(one.numbers)(*STATE), dtype=float), make(1.5)(*STATE), atol=1e-12)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (closed({"gain": 1.0, "list": [1, 2.0]}), closed({"gain": 1.0, "list": [2, 2.0]})),  # whole numbers
        (closed({"gain": 1.0, "list": [1, 2.0]}), closed({"gain": 1.0, "list": [1, 2.0, 3.0]})),
        (lambda t, q, v: 2.0 * q, lambda t, q, v: 3.0 * q),  # literals
        (Law(1.0, np.zeros(2)), Law(1.0, np.zeros(1))),  # shapes
        (Law(1.0, np.zeros(LONGEST + 1)), Law(1.0, np.ones(LONGEST + 1))),  # tables
        (of_robot(1.0), lambda t, q, v: ROBOT.gravity_force(q)),
    ],
)
def test_other_functions_are_told_apart(a, b):
    assert taken_apart(a, ROBOT).identity != taken_apart(b, ROBOT).identity


def test_what_a_function_reads_outside_tells_it_apart(monkeypatch):
    law = lambda t, q, v: GAIN * q
    before = taken_apart(law, ROBOT).identity
    monkeypatch.setitem(globals(), "GAIN", 2.0)
    assert taken_apart(law, ROBOT).identity != before


def test_a_function_that_holds_itself_has_an_end():
    def law(t, q, v, gain=2.0):
        return gain * q if t < 1 else law(0.0, q, v)

    assert taken_apart(law, ROBOT).numbers.tolist() == [2.0]


def test_robots_that_differ_in_inertias_are_one():
    heavy = ROBOT.weld("lower", lw.Inertia(2.0))
    assert with_inertias_of(heavy, ROBOT) == ROBOT and with_inertias_of(ROBOT, ROBOT) is ROBOT
    assert with_inertias_of(heavy.with_gravity([0, 0, -1.6]), ROBOT) == ROBOT.with_gravity([0, 0, -1.6])
    assert with_inertias_of(lw.load("panda"), ROBOT) == lw.load("panda")
