"""Repeated programs as one kernel, its text built for the host and run there, beside the loops of the CPU."""

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from device_text import built, needs_compiler

import linkwise as lw
from linkwise.codegen.cuda import repeats
from linkwise.codegen.cuda.repeats import Turning
from linkwise.codegen.cuda.turns import Lying
from linkwise.codegen.program.repeat import Repeated
from linkwise.codegen.program.trace import trace
from linkwise.codegen.thresholds import CUDA_ROOM

pytestmark = needs_compiler
STATES = 37  # a whole warp, and a part of one
CARRIED, STEPPED = {"x": 0, "y": 1}, ["u"]
NEAR = {"float64": 1e-13, "float32": 2e-5}


def program():
    """A step that hands x and y on to each other, with a sine of what it carries, a matrix and a number beside them."""

    def step(robot, x, y, c, u):
        turned = np.sin(y) + c[0] * np.array([x[1], -x[0], x[2]]) + u[0]
        return turned, x * 0.5 + u[1], np.array([[x[0], y[0]], [y[0], x[0] * y[1]]]), x[2] * u[0]

    return trace(lw.chain(2), step, sizes={"x": 3, "y": 3, "c": 1, "u": 2})


LOOP = Repeated(program, CARRIED, STEPPED)
SIZES = (3, 3, 4, 1)


@pytest.fixture(scope="module", params=[(dtype, is_shared) for dtype in NEAR for is_shared in (True, False)])
def made(request, tmp_path_factory):
    """(kernel, precision), with rows in shared memory, or too long for it."""
    dtype, is_shared = request.param
    text = next(LOOP.on_device.texts(dtype, CUDA_ROOM))
    text = text if is_shared else replace(text, room=0)
    assert bool(text.warp_bytes) == is_shared
    return built(text, tmp_path_factory.mktemp("kernel"), "-O1"), dtype


def lies(x, rows=False):
    """Where an array (states, n), (n,), or with an axis of turns before the last lies."""
    strides = [s // x.itemsize for s in x.strides]
    between = 0 if x.ndim == 1 + rows else strides[0]
    return Lying(x.ctypes.data, between, strides[-1], strides[-2] if rows else None)


def run(made, given, how, outputs):
    kernel, dtype = made
    inputs = [lies(given[name], name in STEPPED) for name in LOOP.signature.inputs]
    out = [y if y is None else lies(y, rows=y.ndim == 3).with_rows for y in outputs]
    kernel(*map(ctypes.c_longlong, LOOP.on_device.words(STATES, how, inputs, out, dtype)))


def arguments(rng, dtype, turns):
    """States row by row and number by number, a constant for all, and what is new at every turn for each state."""
    x, y = rng.normal(size=(STATES, 3)), rng.normal(size=(3, STATES))
    given = {"x": x, "y": y, "c": rng.normal(size=1), "u": rng.normal(size=(turns, 2, STATES))}
    given = {name: x.astype(dtype) for name, x in given.items()}
    return given | {"y": given["y"].T, "u": given["u"].transpose(2, 0, 1)}


def empty(rows, n, dtype):
    """(states, rows, n) with each number of all states side by side, between others that nobody writes."""
    return np.full((rows, n, STATES + 1), np.nan, dtype).transpose(2, 0, 1)


def untouched(y):
    return np.isnan(y[STATES:]).all()


@pytest.mark.parametrize("turns, every", [(1, 1), (6, 1), (6, 3), (7, 3), (2, 3)])
def test_rows_are_those_of_the_cpu(made, turns, every, rng):
    dtype, rows = made[1], turns // every
    given = arguments(rng, dtype, turns)
    expected, _ = LOOP.run(given, turns, every)
    out = [empty(rows, n, dtype) for n in SIZES]
    run(made, given, Turning(turns, every), out)
    for y, x in zip(out, expected):
        assert np.allclose(y[:STATES], x.reshape(y[:STATES].shape), rtol=0, atol=NEAR[dtype]) and untouched(y)


def test_starts_are_written_before_the_first_turn(made, rng):
    """And of no turn at all, they alone."""
    dtype = made[1]
    for turns in (0, 4):
        given = arguments(rng, dtype, turns)
        expected, _ = LOOP.run(given, turns)
        out = [empty(turns + 1, n, dtype) for n in SIZES[:2]]
        run(made, given, Turning(turns, 1, begins=True), [*out, None, None])
        for name, y, x in zip(CARRIED, out, expected):
            assert np.array_equal(y[:STATES, 0], given[name])
            assert np.allclose(y[:STATES, 1:], x, rtol=0, atol=NEAR[dtype]) and untouched(y)


def test_what_is_wanted_of_the_last_turn_is_written_alone(made, rng):
    """Whatever the turns between rows, and of what is carried as of the rest."""
    dtype = made[1]
    given = arguments(rng, dtype, 5)
    expected, _ = LOOP.run(given, 5)
    out = [None, *(np.full((STATES + 1, n), np.nan, dtype) for n in SIZES[1:])]
    run(made, given, Turning(5, 2), out)
    for y, x in zip(out[1:], expected[1:]):
        assert np.allclose(y[:STATES], x[:, -1].reshape(STATES, -1), rtol=0, atol=NEAR[dtype]) and untouched(y)


def test_backwards_rows_are_read_and_written_from_the_last(made, rng):
    dtype = made[1]
    given = arguments(rng, dtype, 5)
    expected, _ = LOOP.run(given | {"u": given["u"][:, ::-1]}, 5)
    rows, last = empty(5, 4, dtype), np.full((STATES + 1, 3), np.nan, dtype)
    run(made, given, Turning(5, 1, backwards=True), [last, None, rows, None])
    assert np.allclose(last[:STATES], expected[0][:, -1], rtol=0, atol=NEAR[dtype]) and untouched(last)
    assert np.allclose(rows[:STATES], expected[2][:, ::-1].reshape(STATES, 5, 4), rtol=0, atol=NEAR[dtype])
    assert untouched(rows)


def test_a_table_and_a_state_may_serve_all(made, rng):
    dtype = made[1]
    given = arguments(rng, dtype, 3)
    given |= {"x": given["x"][0], "u": np.ascontiguousarray(given["u"][0])}
    expected, _ = LOOP.run(given, 3)
    out = [empty(3, n, dtype) for n in SIZES]
    run(made, given, Turning(3, 1), out)
    for y, x in zip(out, expected):
        assert np.allclose(y[:STATES], x.reshape(STATES, 3, -1), rtol=0, atol=NEAR[dtype])


def test_values_that_wait_change_nothing(made, tmp_path, monkeypatch, rng):
    """Where a thread has few registers by plan."""
    dtype = made[1]
    monkeypatch.setattr(repeats, "CUDA_TURNS_KEPT", dict.fromkeys(NEAR, (np.inf, 3.0)))
    plain, text = LOOP.on_device.texts(dtype, CUDA_ROOM)
    assert text._kept and not plain._kept
    assert not any(x._kept for x in LOOP.on_device.texts(dtype, 1000))
    given = arguments(rng, dtype, 3)
    expected, _ = LOOP.run(given, 3)
    out = [empty(3, n, dtype) for n in SIZES]
    run((built(text, tmp_path), dtype), given, Turning(3, 1), out)
    for y, x in zip(out, expected):
        assert np.allclose(y[:STATES], x.reshape(STATES, 3, -1), rtol=0, atol=NEAR[dtype])
