"""What cannot be traced is an error with the user's line; a user's own mistake comes out as it is."""

import inspect
import math
import pickle

import numpy as np
import pytest

import linkwise as lw

CHAIN = lw.chain(2)


def branches(robot, q):
    doubled = 2 * q
    if doubled[0] > 0:  # here
        return doubled
    return q


def waits(robot, q):
    while q[0]:  # here
        q = q - 1
    return q


def takes_math(robot, q):
    return np.array([math.sin(q[0]), 0.0])  # here


def wants_float(robot, q):
    gain = float(q[1])  # here
    return gain * q


def wants_index(robot, q):
    table = [1.0, 2.0]
    return q * table[q[0]]  # here


def fills_floats(robot, q):
    out = np.array([1.0, 2.0])
    out[1] = q[0]  # here
    return out


def _helper(x):
    return max(x[0], x[1])  # here


def calls_a_helper(robot, q):
    return q * _helper(q)


def catches(robot, q):
    try:
        return 2 * q if q[0] > 0 else q  # here
    except TypeError:  # as no number would raise
        return q


UNTRACEABLE = [catches, branches, waits, takes_math, wants_float, wants_index, fills_floats, calls_a_helper]


@pytest.mark.parametrize("function", UNTRACEABLE)
def test_the_line_is_named(function):
    with pytest.raises(lw.UntraceableError) as caught:
        lw.compile(function, CHAIN)
    error = caught.value
    where = _helper if function is calls_a_helper else function
    lines, first = inspect.getsourcelines(where)
    (at,) = (i for i, line in enumerate(lines) if "# here" in line)
    assert (error.filename, error.lineno, error.text) == (__file__, first + at, lines[at].strip())
    assert f"{__file__}, line {first + at}: {lines[at].strip()}" in str(error) and error.reason in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.lineno) == (str(error), error.lineno)


def test_a_line_inside_numpy_is_not_the_users():
    def sorts(robot, q):
        return np.sort(np.atleast_2d(q), axis=-1)

    with pytest.raises(lw.UntraceableError) as caught:
        lw.compile(sorts, CHAIN)
    assert caught.value.text == "return np.sort(np.atleast_2d(q), axis=-1)"


def unknown_name(robot, q):
    return q + gain  # noqa: F821


def far_index(robot, q):
    return q[7]


def wrong_type(robot, q):
    return q + "a"


def wrong_shape(robot, q):
    return q.reshape(7)


def wrong_attribute(robot, q):
    return q.colour


def wrong_call(robot, q):
    return robot.gravity_force(q, 1, 2)


def missing_key(robot, q):
    return {"a": q}["b"]


def by_zero(robot, q):
    return q * (1.0 / 0)


def wrong_input(robot, q):
    return robot.gravity_force(q[:1])


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (unknown_name, NameError),
        (far_index, IndexError),
        (wrong_type, TypeError),
        (wrong_shape, ValueError),
        (wrong_attribute, AttributeError),
        (wrong_call, TypeError),
        (missing_key, KeyError),
        (by_zero, ZeroDivisionError),
        (wrong_input, lw.InputError),
    ],
)
def test_a_mistake_comes_out_as_it_is(function, kind):
    with pytest.raises(kind) as caught:
        lw.compile(function, CHAIN)
    assert not isinstance(caught.value, lw.UntraceableError)


def test_what_only_symbols_cannot_do_is_said_with_its_cause():
    def asks_precision(robot, q):
        return q * np.finfo(q.dtype).eps

    with pytest.raises(lw.UntraceableError, match="asks_precision|finfo") as caught:
        lw.compile(asks_precision, CHAIN)
    assert caught.value.text == "return q * np.finfo(q.dtype).eps"
    assert isinstance(caught.value.__cause__, ValueError)
