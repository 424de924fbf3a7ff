"""References are in balance on every way through compiled functions: none is lost, none kept."""

import gc
import sys
import threading
import weakref

import numpy as np
import pytest

import linkwise as lw
from helpers.references import changes
from linkwise.codegen.runtime.python_functions import context
from linkwise.codegen.runtime.result_memory import result_memory
from linkwise.codegen.thresholds import POOLED_BYTES

pytestmark = [
    pytest.mark.skipif(context() is None, reason="this Python has no quick entries"),
    pytest.mark.usefixtures("little_garbage"),
]


@pytest.fixture(autouse=True)
def quick_to_compile(monkeypatch):
    monkeypatch.setenv("LINKWISE_LLVM_LEVEL", "0")
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")


@pytest.fixture(scope="module")
def robot():
    return lw.chain(3, seed=2)


def two_frames(robot, q, v):
    """Several arrays in a structure of a user's own."""
    return {"energy": robot.energy(q, v), "poses": [robot.pose(q, robot.tips[0]), q], "one": q[0]}


KERNELS = {
    "one array": lambda r: r.compile("forward_dynamics"),
    "one matrix": lambda r: r.compile("mass_matrix_inverse"),
    "a dataclass": lambda r: r.compile("linearize_inverse"),
    "a tuple": lambda r: r.compile("energy"),
    "a structure": lambda r: lw.compile(two_frames, r),
    "loops": lambda r: r.compile("mass_matrix", rolled=True),
    "its adjoint": lambda r: r.compile("forward_dynamics").vjp(),
}


def given(kernel, n=None):
    """Arrays for a kernel, of one state or of so many."""
    rng = np.random.default_rng(1)
    shapes = [(size,) if n is None else (n, size) for size in kernel.signature.inputs.values()]
    return [rng.normal(size=s) for s in shapes]


def calls_of(call, x, many):
    """Ways to call something that takes x, one state, or many: those that it takes itself, and all others."""
    other = many[0][:, ::-1].copy()[:, ::-1] if many[0].shape[1] > 1 else many[0]
    yield "one state", lambda: call(*x)
    yield "a batch", lambda: call(*many)
    yield "one for all", lambda: call(many[0], *x[1:])
    yield "strides", lambda: call(other[::2], *(y[::2] for y in many[1:]))
    yield "an empty batch", lambda: call(*(y[:0] for y in many))
    yield "two batch axes", lambda: call(*(y.reshape(2, -1, y.shape[-1]) for y in many))
    yield "float32", lambda: call(*(y.astype(np.float32) for y in x))
    yield "both precisions", lambda: call(x[0].astype(np.float32), *x[1:])
    yield "whole numbers", lambda: call(*(np.ones(y.shape, dtype=int) for y in x))
    yield "lists", lambda: call(*(y.tolist() for y in x))
    yield "a subclass", lambda: call(*(y.view(np.matrix) for y in many))
    yield "too few", lambda: call(*x[1:])
    yield "too many", lambda: call(*x, None)
    yield "None", lambda: call(*[None] * len(x))
    yield "a name", lambda: call(*x[:-1], last=x[-1])
    yield "lengths", lambda: call(*(y[:-1] for y in x))
    yield "batches that do not fit", lambda: call(many[0][:2], *(y[:3] for y in many[1:])) if len(x) > 1 else call(1)
    yield "no memory", lambda: call(*(np.broadcast_to(y, (2**57, len(y))) for y in x))


@pytest.mark.parametrize("sort", list(KERNELS))
def test_of_calls(sort, robot):
    kernel = KERNELS[sort](robot)
    x, many = given(kernel), given(kernel, 6)
    watched = [kernel, kernel.quick, kernel._on_arrays, kernel._finish, kernel.signature, *x, *many]
    found = {}
    for name, call in (("quick", kernel.quick), ("call", kernel)):
        found |= {f"{name}, {way}": changes(one, *watched) for way, one in calls_of(call, x, many)}
    outs = [np.empty((6, *s)) for s in kernel.signature.shapes]
    found["out"] = changes(lambda: kernel(*many, out=outs[0] if kernel.signature.single else outs), *watched, *outs)
    found["two threads"] = changes(lambda: kernel(*many, threads=2), *watched)
    assert {way: x for way, x in found.items() if x} == {}


def test_of_default_calls(robot):
    """Names, optional arrays, other precisions and mistakes."""
    q, v, a = np.random.default_rng(0).normal(size=(3, 3))
    force = np.zeros((3, 6))
    ways = {
        "by place": lambda: robot.inverse_dynamics(q, v, a),
        "by name": lambda: robot.inverse_dynamics(a=a, q=q, v=v),
        "optional": lambda: robot.inverse_dynamics(q, v, a, external=force),
        "optional, None": lambda: robot.inverse_dynamics(q, v, a, external=None),
        "options": lambda: robot.inverse_dynamics(q, v, a, method="newton_euler"),
        "a frame": lambda: robot.jacobian(q, robot.tips[0]),
        "several": lambda: robot.pose(q, robot.tips[0]),
        "with its origin": lambda: robot.linearize_forward(q, v, a),
        "float32": lambda: robot.inverse_dynamics(*(x.astype(np.float32) for x in (q, v, a))),
        "lists": lambda: robot.inverse_dynamics(q.tolist(), v, a),
        "wrong length": lambda: robot.inverse_dynamics(q[:2], v, a),
        "wrong name": lambda: robot.inverse_dynamics(q, v, acceleration=a),
        "not numbers": lambda: robot.inverse_dynamics(["x"] * 3, v, a),
    }
    assert {name: x for name, way in ways.items() if (x := changes(way, robot, q, v, a, force))} == {}


def test_of_results_that_are_not_sound():
    """Of a stretched arm: what was made is dropped, and the call handed on."""
    robot = lw.load("ur5")
    kernel = robot.compile("operational_inertia", frame=robot.tips[0])
    for q in (np.zeros(6), np.zeros((4, 6))):
        assert np.isnan(kernel.quick(q)).all()
        assert changes(lambda: kernel.quick(q), kernel, kernel.quick, q) == {}  # noqa: B023


def test_of_large_results(robot):
    """Whose memory is kept for the next ones."""
    kernel = robot.compile("mass_matrix")
    (q,) = given(kernel, POOLED_BYTES // 72 + 100)
    assert kernel(q).nbytes > POOLED_BYTES
    watched = [kernel, q]
    if (memory := result_memory()) is not None:
        usual = memory._set(memory.capsule)
        watched += [memory._set(usual), usual]
    assert changes(lambda: kernel(q), *watched) == {}
    assert changes(lambda: kernel.quick(q), *watched) == {}
    assert changes(lambda: kernel.run([q]), *watched) == {}


def test_of_bound_functions(robot):
    kernel = robot.compile("forward_dynamics")
    x, many = given(kernel), given(kernel, 5)
    for arrays in (x, many):
        out = np.empty_like(arrays[0])
        call = kernel.bind(*arrays, out=out)
        assert changes(call, kernel, call, out, *arrays) == {}
        assert changes(lambda: call(1), kernel, call, out, *arrays) == {}  # noqa: B023
        assert changes(lambda: kernel.bind(*arrays[1:], out=out), kernel, out, *arrays) == {}  # noqa: B023


def test_of_functions_that_are_made_and_forgotten(robot):
    """Functions hold what they hand calls to, and let go of it; a cycle through them is found."""
    kernel = robot.compile("forward_dynamics")
    x = given(kernel)
    before = sys.getrefcount(kernel)
    for _ in range(20):
        kernel.quick_before(kernel)(*x)
        kernel.bind(*x, out=np.empty(3))()
    gc.collect()
    assert sys.getrefcount(kernel) == before

    class Fallback:
        def __call__(self, *arrays):
            return self.quick

    fallback = Fallback()
    fallback.quick = kernel.quick_before(fallback)
    assert fallback.quick(None) is fallback.quick
    gone = weakref.ref(fallback)
    del fallback
    gc.collect()
    assert gone() is None


def test_a_function_that_is_forgotten_while_it_runs_lasts_as_long(robot):
    """A batch runs without Python's lock: meanwhile everything that names the code goes."""
    kernel = lw.chain(3, seed=5).compile("mass_matrix_inverse")
    x = given(kernel, 60_000)
    expected = kernel(*x)
    functions, results = [kernel.quick], []
    started = threading.Event()

    def run():
        call = functions.pop()
        started.set()
        results.append(call(*x))

    thread = threading.Thread(target=run)
    thread.start()
    started.wait()
    del kernel
    gc.collect()
    spoiled = [np.full(1000, np.nan) for _ in range(200)]
    thread.join()
    assert np.array_equal(results[0], expected) and len(spoiled) == 200
