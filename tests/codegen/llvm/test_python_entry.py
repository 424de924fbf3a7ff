"""The way in from Python: what it takes itself, what it hands on, and that both give the same."""

import ctypes
import subprocess
import sys
import threading

import numpy as np
import pytest

import linkwise as lw
from linkwise.codegen.llvm import python_entry as layout
from linkwise.codegen.runtime.python_functions import context

pytestmark = pytest.mark.skipif(context() is None, reason="this Python has no quick entries")


class Counted:
    """A kernel's quick function, and how often it handed a call on."""

    def __init__(self, kernel, **options):
        self.kernel, self.handed = kernel, 0
        self.quick = kernel.quick_before(self.slow, **options)

    def slow(self, *arrays):
        self.handed += 1
        return self.kernel(*arrays)


@pytest.fixture(scope="module")
def robot():
    return lw.chain(3, seed=2)


@pytest.fixture(scope="module")
def dynamics(robot):
    return robot.compile("forward_dynamics")


def near(found, expected):
    return found.shape == expected.shape and np.allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_one_state_and_batches_of_any_strides_are_taken(dynamics, rng):
    c = Counted(dynamics)
    wide = rng.normal(size=(3, 40, 7))
    q, v, tau = wide[:, ::2, ::3]
    for n in (0, 5):
        assert near(c.quick(q[n], v[n], tau[n]), dynamics(q[n], v[n], tau[n]))
    for some in (slice(0, 1), slice(3, 11), slice(None), slice(None, None, -2)):
        assert near(c.quick(q[some], v[some], tau[some]), dynamics(q[some], v[some], tau[some]))
    assert near(c.quick(q, v[3], tau), dynamics(q, v[3], tau))  # one velocity for all
    assert near(c.quick(q[3], v[3], tau), dynamics(q[3], v[3], tau))
    spread = np.broadcast_to(q[3], (4, 3))
    assert near(c.quick(spread, v[:4], tau[:4]), dynamics(spread, v[:4], tau[:4]))
    assert c.handed == 0


def test_all_else_is_handed_on(dynamics, rng):
    c = Counted(dynamics)
    q, v, tau = rng.normal(size=(3, 4, 3))
    calls = [
        (list(q[0]), v[0], tau[0]),
        (q[None], v, tau),
        (q.astype(np.float32), v.astype(np.float32), tau.astype(np.float32)),
        (q[:0], v[:0], tau[:0]),
        (q.astype(">f8"), v, tau),
        (q[:1], v, tau),
        (np.ma.masked_array(q), v, tau),
        (q[0].astype(int), v[0], tau[0]),
    ]
    for i, arrays in enumerate(calls):
        found = c.quick(*arrays)
        assert c.handed == i + 1 and near(found, dynamics(*arrays))
    for wrong in ((q, v), (q[:, :2], v, tau), (q, v[:3], tau), (np.float64(1.0), v, tau)):
        with pytest.raises(lw.InputError):
            c.quick(*wrong)
    memory = np.zeros(3 * 8 + 1, np.uint8)
    shifted = memory[1:].view(np.float64)
    shifted[:] = q[0]
    before = c.handed
    assert near(c.quick(shifted, v[0], tau[0]), dynamics(q[0], v[0], tau[0])) and c.handed == before + 1


def test_results_of_every_sort(robot, rng):
    q, v, a = rng.normal(size=(3, 5, 3))
    for name, given, options in (
        ("linearize_inverse", (q, v, a), {}),
        ("linearize_forward", (q, v, a), {}),
        ("pose", (q,), {"frame": "link3"}),
        ("energy", (q, v), {}),
        ("log_det_mass", (q,), {}),
        ("frame_velocities", (q, v), {}),
        ("frame_poses", (q,), {}),
        ("articulated_inertias", (q,), {}),
        ("operational_compliance_derivative", (q,), {"frame": "link3"}),
    ):
        kernel = robot.compile(name, **options)
        c = Counted(kernel)
        for arrays in (given, tuple(x[2] for x in given)):
            found, expected = c.quick(*arrays), kernel(*arrays)
            assert type(found) is type(expected)
            for x, y in zip(leaves(found), leaves(expected), strict=True):
                assert near(x, y)
        assert c.handed == 0, name


def leaves(x):
    if isinstance(x, dict):
        x = list(x.values())
    return [y for part in x for y in leaves(part)] if isinstance(x, (tuple, list)) else [x]


def test_inputs_of_two_axes(robot, rng):
    kernel = robot.compile("external_force")
    c = Counted(kernel, shapes={"external": (3, 6)})
    q, f = rng.normal(size=(4, 3)), rng.normal(size=(4, 3, 6))
    rows = f.reshape(4, 18)
    assert near(c.quick(q, f), kernel(q, rows)) and near(c.quick(q[1], f[1]), kernel(q[1], rows[1]))
    assert near(c.quick(q, f[1]), kernel(q, rows[1])) and c.handed == 0
    with pytest.raises(lw.InputError):
        c.quick(q, f.swapaxes(1, 2))
    assert c.handed == 1


def test_rolled_and_long_code_have_the_entry_too(rng):
    robot = lw.chain(6, seed=1)
    q, v, tau = rng.normal(size=(3, 9, 6))
    for name, given in (("forward_dynamics", (q, v, tau)), ("mass_matrix", (q,)), ("linearize_forward", (q, v, tau))):
        kernel = robot.compile(name, rolled=True)
        c = Counted(kernel)
        for arrays in (given, tuple(x[4] for x in given)):
            for x, y in zip(leaves(c.quick(*arrays)), leaves(kernel(*arrays)), strict=True):
                assert near(x, y)
        assert c.handed == 0


def test_calls_in_single_precision_have_an_entry_of_their_own(monkeypatch):
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    robot = lw.chain(2, seed=1)
    kernel = robot.compile("forward_dynamics")
    x = np.random.default_rng(0).normal(size=(3, 37, 2)).astype(np.float32)
    for inputs in (x, x[:, 0], x[:, ::2], (x[0], x[1, 0], x[2])):
        expected = kernel(*inputs)
        for _ in range(2):
            found = robot.forward_dynamics(*inputs)
            assert found.dtype == np.float32 and np.array_equal(found, expected)
    mixed = robot.forward_dynamics(x[0], x[1].astype(float), x[2])
    assert mixed.dtype == np.float64 and np.allclose(mixed, kernel(*x), rtol=1e-3)
    with pytest.raises(lw.InputError, match="q"):
        robot.forward_dynamics(x[0, :, :1], x[1], x[2])


def test_definitions_outlive_all_modules():
    """Functions that were destroyed last of all read memory that was given back: a fault, once in many ends."""
    script = (
        "import gc, sys, weakref\n"
        "import linkwise as lw\n"
        "from linkwise.codegen.runtime import python_functions\n"
        "function = lw.load('double_pendulum').compile('mass_matrix').quick\n"
        "definition = weakref.ref(python_functions._DEFINITIONS[-1])\n"
        "vars(sys.modules.pop(python_functions.__name__)).clear()\n"  # as Python does in the end
        "gc.collect()\n"
        "print(definition() is not None)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "True", "")


def test_unsound_results_are_handed_on():
    robot = lw.load("ur5")
    kernel = robot.compile("operational_inertia", frame=robot.tips[0])
    c = Counted(kernel)
    for q in (np.zeros(6), np.zeros((4, 6))):  # stretched out: singular
        assert np.isnan(c.quick(q)).all()
    assert c.handed == 2


def test_threads_at_once_get_their_own_results(dynamics):
    quick, wrong = dynamics.quick, []

    def work(seed):
        q, v, tau = np.random.default_rng(seed).normal(size=(3, 200, 3))
        expected = dynamics(q, v, tau, threads=1)
        for _ in range(100):
            if not np.array_equal(quick(q, v, tau), expected):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_kernel_that_another_thread_took_while_results_are_made_is_left_to_it(dynamics, rng):
    """Python may run other code where an array is made (finalisers), and other threads with it."""
    place = layout.C["PyDataMem_SetHandler"]
    usual = context()[place]
    if not usual:
        pytest.skip("this system has no memory of results")
    c, memory = Counted(dynamics), dynamics.code(float).entry_memory
    function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)

    def taken(handler):
        memory.table[0] = 1
        return function(usual)(handler)

    stand_in = function(taken)
    q, v, tau = rng.normal(size=(3, 50_000, 3))
    expected = dynamics(q, v, tau)
    context()[place] = ctypes.cast(stand_in, ctypes.c_void_p).value
    try:
        found = c.quick(q, v, tau)
    finally:
        context()[place], was = usual, memory.table[0]
        memory.set_idle()
    assert c.handed == 1 == was and np.array_equal(found, expected)


def test_references_are_kept_in_balance(dynamics, robot, rng):
    q, v, tau = rng.normal(size=(3, 600, 3))
    linearized = robot.compile("linearize_inverse").quick
    counts = [sys.getrefcount(x) for x in (q, v, tau, np.dtype(float), np.ndarray)]
    for _ in range(50):
        dynamics.quick(q, v, tau)
        dynamics.quick(q[0], v[0], tau[0])
        result = linearized(q, v, tau)
        assert all(sys.getrefcount(x) == 3 for x in result)
    del result
    after = [sys.getrefcount(x) for x in (q, v, tau, np.dtype(float), np.ndarray)]
    assert all(abs(a - b) < 10 for a, b in zip(after, counts))
