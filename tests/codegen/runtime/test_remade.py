"""Robots, methods and kernels pickle as what they were made from, and work in other processes."""

import copy
import functools
import inspect
import multiprocessing
import pickle
import subprocess
import sys

import cloudpickle
import numpy as np
import pytest
from patience import PATIENCE

import linkwise as lw
from linkwise.codegen.program.trace import trace
from linkwise.codegen.runtime.kernel import Kernel

WAYS = {"pickle": pickle, "cloudpickle": cloudpickle}
Q, V = np.array([0.3, -0.2]), np.array([0.1, 0.4])


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")


def weighted(robot, q, v, w):
    return robot.gravity_force(q) + v * w[0]


def called(method, *arguments):
    method(*arguments)
    return method


def things():
    """Makers of what can be called with some arrays, by name."""
    r = lw.load("double_pendulum")
    frame = lw.Frame("tool", "lower", at=(0.0, 0.1, 0.2))
    dynamics = lambda: r.compile("forward_dynamics")
    return {
        "method": (lambda: r.gravity_force, (Q,)),
        "method called": (lambda: called(r.forward_dynamics, Q, V, V), (Q, V, V)),
        "method of more than an array": (lambda: called(r.energy, Q, V), (Q, V)),
        "method at a frame": (lambda: functools.partial(called(r.pose, Q, frame), frame=frame), (Q,)),
        "kernel": (dynamics, (Q, V, V)),
        "kernel called": (lambda: called(dynamics(), Q, V, V), (Q, V, V)),
        "quick": (lambda: dynamics().quick, (Q, V, V)),
        "kernel at a frame": (lambda: r.compile("jacobian", frame=frame), (Q,)),
        "rolled": (lambda: r.compile("forward_dynamics", rolled=True), (Q, V, V)),
        "with parameters": (
            lambda: r.compile("gravity_force", parameters=["inertial"]),
            (Q, r.inertial_parameters.ravel()),
        ),
        "jacobian": (lambda: dynamics().jacobian("q"), (Q, V, V)),
        "jvp": (lambda: dynamics().jvp(), (Q, V, V, V, V, V)),
        "vjp of jacobian": (lambda: dynamics().jacobian("q").vjp(), (Q, V, V, np.eye(2).ravel())),
        "user's": (lambda: lw.compile(weighted, r, sizes={"w": 1}), (Q, V, np.ones(1))),
        "user's on NumPy": (lambda: lw.compile(weighted, r, target="numpy"), (Q, V, np.ones(1))),
        "on NumPy": (lambda: r.compile("mass_matrix", target="numpy"), (Q,)),
        "in JAX": (lambda: r.compile("mass_matrix", target="jax"), (Q,)),
    }


def numbers(x):
    return np.concatenate([np.ravel(a) for a in (x if isinstance(x, tuple) else (x,))])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", things())
def test_what_comes_back_computes_the_same(name, way):
    make, arguments = things()[name]
    thing = make()
    again = WAYS[way].loads(WAYS[way].dumps(thing))
    assert again is not thing
    assert np.array_equal(numbers(again(*arguments)), numbers(thing(*arguments)))


def test_functions_made_on_the_spot_go_with_cloudpickle():
    r = lw.load("double_pendulum")
    gain = 3.0
    kernel = lw.compile(lambda robot, q: gain * robot.gravity_force(q), r)
    again = cloudpickle.loads(cloudpickle.dumps(kernel))
    assert np.allclose(again(Q), 3.0 * r.gravity_force(Q), rtol=1e-13)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(kernel)


def test_source_texts_come_back():
    text = lw.load("double_pendulum").compile("mass_matrix", target="c")
    assert pickle.loads(pickle.dumps(text)).source == text.source


def test_kernels_are_copied_like_anything():
    kernel = lw.load("double_pendulum").compile("mass_matrix")
    for again in (copy.copy(kernel), copy.deepcopy(kernel)):
        assert np.array_equal(again(Q), kernel(Q))


def test_what_belongs_to_this_process_is_refused_at_once():
    """Not when it is loaded, in a worker that would then be silent."""
    r = lw.load("double_pendulum")
    bound = r.compile("mass_times").bind(Q.copy(), V.copy(), out=np.empty(2))
    unknown = Kernel(trace(r, lambda robot, q: robot.mass_matrix(q), "mass"))
    for thing, word in ((bound, "memory"), (unknown, "made from")):
        with pytest.raises(pickle.PicklingError, match=word):
            pickle.dumps(thing)


def test_the_quick_function_tells_its_arguments():
    quick = lw.load("double_pendulum").compile("forward_dynamics").quick
    assert list(inspect.signature(quick).parameters) == ["q", "v", "tau"] and "state" in quick.__doc__


WORKERS = """
import multiprocessing
import sys

import numpy as np

import linkwise as lw

if __name__ == "__main__":
    r = lw.load("double_pendulum")
    states = [np.array([0.3, -0.2]) * k for k in range(3)]
    expected = [r.gravity_force(q) for q in states]
    kernel = r.compile("gravity_force")
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        for function in (r.gravity_force, kernel, kernel.quick):
            assert np.array_equal(pool.map(function, states), expected)
    print("done")
"""


@pytest.mark.parametrize("start", multiprocessing.get_all_start_methods())
def test_workers_take_methods_and_kernels(start, tmp_path):
    """In a program of its own: what cannot be loaded in a worker would leave it waiting for ever."""
    program = tmp_path / "workers.py"
    program.write_text(WORKERS)
    run = subprocess.run([sys.executable, program, start], capture_output=True, text=True, timeout=PATIENCE)
    assert run.stdout == "done\n", run.stderr
