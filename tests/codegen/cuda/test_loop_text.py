"""The text with loops for graphics cards, built for the host and run there, and which robots have it."""

import numpy as np
import pytest
from device_text import built_apart, laid, needs_compiler, words
from trees import branches

import linkwise as lw
from linkwise.codegen.cuda.launch import DeviceFunction
from linkwise.codegen.cuda.loops import DeviceLoops, shares
from linkwise.codegen.pipeline import compile_job, method_job
from linkwise.codegen.thresholds import CUDA_LOOPS_FROM
from linkwise.symbols.results import flatten

CASES = [
    (lambda: lw.chain(24, seed=1), "forward_dynamics", "float64"),
    (lambda: lw.chain(6, seed=1), "linearize_forward", "float32"),
    (lambda: branches([-1, 0, 0, 1, 2, -1]), "mass_matrix_inverse", "float64"),
    (lambda: branches([-1, 0, 0]).floating(), "inverse_dynamics", "float32"),
    (lambda: lw.chain(66), "mass_matrix", "float64"),  # of which every entry is a sum of products
    (lambda: lw.chain(12, seed=1), "forward_dynamics_vjp", "float64"),
]


@needs_compiler
@pytest.mark.parametrize(("robot", "name", "dtype"), CASES, ids=[case[1] for case in CASES])
@pytest.mark.parametrize("layout", ["s", "n"])
def test_agrees_with_numpy_in_all_strides(tmp_path, robot, name, dtype, layout, rng):
    """Rows and number by number, fewer threads than states and more; nothing is written behind what is its own."""
    robot = robot()
    kernel = robot.compile(name, rolled=True)
    text = DeviceLoops(kernel).text(dtype)
    run = built_apart(text, tmp_path)
    for batch, threads in ((1, 32), (45, 32)):
        names = kernel.signature.inputs
        given = [robot.random_configuration(rng, batch=batch), *rng.normal(size=(len(names) - 1, batch, robot.nv))]
        given = [x.astype(dtype) for x in given]
        expected = flatten(getattr(robot, name)(*(x.astype(float) for x in given), target="numpy"))[0]
        found = [laid(np.full((batch + 1, y[0].size), np.nan, dtype), "r" if layout == "s" else "n") for y in expected]
        scratch = np.full(threads * text.scratch + 1, np.nan, dtype)
        arrays = [laid(x, "r" if layout == "s" else "n") for x in given]
        run(threads, [batch, *(w for x in (*arrays, *found) for w in words(x, "s")), scratch.ctypes.data])
        assert np.isnan(scratch[-1]) and all(np.isnan(y[batch]).all() for y in found)
        for x, y in zip(found, expected, strict=True):
            assert np.abs(x[:batch] - y.reshape(batch, -1)).max() <= 1e5 * np.finfo(dtype).eps * np.abs(y).max()


@needs_compiler
def test_results_of_singular_states_are_nan(tmp_path):
    robot = lw.chain(3, seed=1).with_inertias({"link3": lw.Inertia(0.0)})
    text = DeviceLoops(robot.compile("mass_solve", rolled=True)).text("float64")
    q, x, out = np.zeros((2, 3)), np.ones((2, 3)), np.zeros((2, 3))
    scratch = np.empty(32 * text.scratch)
    run = built_apart(text, tmp_path)
    run(32, [2, *(w for y in (q, x, out) for w in words(y, "s")), scratch.ctypes.data])
    assert np.isnan(out).all()


def kernel_for_a_card(robot, name):
    return compile_job(method_job(robot, getattr(type(robot), name), None, {}, on_card=True))


def test_long_robots_have_loops_on_cards_and_short_ones_have_not():
    for n, form in ((42, DeviceLoops), (41, DeviceFunction)):
        robot = lw.chain(n, seed=1)
        is_long = robot.compile("inverse_dynamics", rolled=True).operations.total >= CUDA_LOOPS_FROM
        assert is_long == (form is DeviceLoops)
        assert isinstance(kernel_for_a_card(robot, "inverse_dynamics").as_function.on_device, form)
    jacobian = compile_job(
        method_job(lw.chain(50), type(lw.chain(50)).jacobian, ("q",), {"frame": "tip"}, on_card=True)
    )
    assert isinstance(jacobian.as_function.on_device, DeviceFunction)  # no loops of it are known


def test_few_states_are_spread_and_many_take_turns():
    assert shares(1, 4, 132) == (32, 1)
    assert shares(4096, 4, 132) == (32, 128)
    assert shares(1 << 20, 4, 132) == (128, 528)
