"""Kernels that loop over steps against the same program called once a step."""

import numpy as np
import pytest

import linkwise as lw
from linkwise.codegen.program.repeat import Repeated
from linkwise.codegen.program.trace import trace
from linkwise.codegen.runtime.kernel import Kernel


def program():
    """A step whose outputs are one array of numbers, one matrix and one number; x and y take turns."""
    robot = lw.chain(2)

    def step(robot, x, y, c, u):
        turned = y + c[0] * np.array([x[1], -x[0], x[2]]) + u[0]
        return turned, x * 0.5 + u[1], np.array([[x[0], y[0]], [y[0], x[0] * y[1]]]), x[2]

    return trace(robot, step, sizes={"x": 3, "y": 3, "c": 1, "u": 2})


def expected(x, y, c, u, steps, every):
    kernel = Kernel(program())
    rows = []
    for i in range(steps):
        out = kernel(x, y, c, u[..., i, :])
        x, y = out[0], out[1]
        if (i + 1) % every == 0:
            rows.append(out)
    return [np.stack([r[k] for r in rows], axis=1) for k in range(4)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("states, steps, every", [(1, 5, 1), (8, 6, 3), (19, 7, 2), (40, 4, 5), (3, 1, 1)])
def test_agrees_with_one_call_a_step(states, steps, every, dtype, rng):
    x, y = rng.normal(size=(2, states, 3)).astype(dtype)
    c, u = rng.normal(size=1).astype(dtype), rng.normal(size=(states, steps, 2)).astype(dtype)
    loop = Repeated(program, {"x": 0, "y": 1}, ["u"])
    found, sound = loop.run({"x": x, "y": y, "c": c, "u": u}, steps, every)
    assert sound
    if steps < every:
        assert all(f.shape[1] == 0 for f in found)
        return
    for f, e in zip(found, expected(x, y, c, u, steps, every), strict=True):
        assert f.dtype == dtype
        assert np.array_equal(f, e)


def test_threads_strides_and_places_for_the_results_change_nothing(rng):
    states, steps = 37, 4
    x, y = rng.normal(size=(2, 3, states)).swapaxes(-1, -2)
    c, u = rng.normal(size=(states, 1)), rng.normal(size=(steps, 2))
    loop = Repeated(program, {"x": 0, "y": 1}, ["u"])
    given = {"x": x, "y": y, "c": c, "u": u}
    plain, _ = loop.run(given, steps, threads=1)
    wide = [np.zeros((states, steps + 3, *s)) for s in ((3,), (3,), (2, 2), ())]
    loop.run(given, steps, threads=3, out=[a[:, 2:-1] for a in wide])
    for a, b in zip(wide, plain, strict=True):
        assert np.array_equal(a[:, 2:-1], b)
        assert not a[:, :2].any() and not a[:, -1].any()


def test_a_guard_that_fails_in_one_step_is_reported():
    robot = lw.chain(2)

    def step(robot, x):
        from linkwise import arrays

        arrays.require_positive(x, always=True)
        return x - 1.0

    loop = Repeated(lambda: trace(robot, step, sizes={"x": 1}), {"x": 0}, [])
    assert loop.run({"x": np.array([5.0])}, 5)[1]
    assert not loop.run({"x": np.array([5.0])}, 7)[1]


def test_no_input_is_both_carried_and_stepped():
    with pytest.raises(AssertionError, match="carried, or stepped"):
        Repeated(program, {"x": 0, "y": 1}, ["u", "x"])


def test_wrong_shapes_are_refused():
    loop = Repeated(program, {"x": 0, "y": 1}, ["u"])
    good = {"x": np.zeros((4, 3)), "y": np.zeros(3), "c": np.zeros(1), "u": np.zeros((5, 2))}
    loop.run(good, 5)
    for bad in ({"x": np.zeros((4, 2))}, {"y": np.zeros((3, 3))}, {"u": np.zeros((4, 2))}, {"u": np.zeros(2)}):
        with pytest.raises(lw.InputError):
            loop.run(good | bad, 5)
    with pytest.raises(lw.InputError, match="every"):
        loop.run(good, 5, every=0)
