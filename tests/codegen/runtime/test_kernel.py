"""Compiled kernels against the NumPy path and the scalar interpreter."""

import os
from dataclasses import replace

import numpy as np
import pytest
from kernel_calls import FRAMED, SIGNATURES, arguments, as_tuple

import linkwise as lw
from linkwise.codegen import thresholds
from linkwise.codegen.program.trace import trace
from linkwise.codegen.runtime import engine, threads
from linkwise.codegen.runtime.engine import Pace


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))


@pytest.mark.parametrize("name", SIGNATURES)
def test_every_function_of_the_catalogue_agrees_with_numpy(name):
    rng = np.random.default_rng(5)
    # an arm of seven joints for one in four, a shorter one for the others
    short = list(SIGNATURES).index(name) % 4 and not name.startswith(("operational", "consistent"))
    robot = lw.chain(3, seed=5) if short else lw.load("panda")
    fixed = {"frame": robot.tips[0]} if name in FRAMED else {}
    args = arguments(robot, SIGNATURES[name], (11,), rng)
    expected = as_tuple(robot.compile(name, target="numpy", **fixed)(*args))
    found = as_tuple(robot.compile(name, **fixed)(*args))
    tolerance = 1e-9 if name.startswith("operational") else 1e-12  # Λ⁻¹ is inverted: its condition enters
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        assert np.abs(a - b).max() <= tolerance * np.abs(b).max()


@pytest.mark.parametrize("seed", range(6))
def test_forward_dynamics_of_random_trees(seed):
    robot = lw.random_tree(5, seed=seed, floating=seed % 2 == 0, rotors=seed % 3 == 0)
    rng = np.random.default_rng(seed)
    q, v, tau = arguments(robot, ("q", "v", "tau"), (9,), rng)
    found = robot.compile("forward_dynamics")(q, v, tau)
    expected = robot.forward_dynamics(q, v, tau)
    assert np.abs(found - expected).max() <= 1e-11 * np.abs(expected).max()


def test_all_small_batches_and_layouts():
    robot = lw.load("double_pendulum")
    kernel = robot.compile("forward_dynamics")
    rng = np.random.default_rng(0)
    for count in [*range(18), 33, 100]:
        q, v, tau = arguments(robot, ("q", "v", "tau"), (count,), rng)
        expected = robot.forward_dynamics(q, v, tau)
        assert np.allclose(kernel(q, v, tau), expected, rtol=1e-12, atol=1e-12)
        strided = np.asfortranarray(q)
        spread = np.zeros((count, 2 * robot.nv))[:, ::2]
        spread[:] = v
        backwards = tau[::-1].copy()[::-1]
        assert np.array_equal(kernel(strided, spread, backwards), kernel(q, v, tau))


def test_one_state_and_shared_arguments():
    robot = lw.load("ur5")
    kernel = robot.compile("inverse_dynamics")
    rng = np.random.default_rng(1)
    q, v, a = arguments(robot, ("q", "v", "a"), (4, 3), rng)
    assert kernel(q[0, 0], v[0, 0], a[0, 0]).shape == (6,)
    assert np.array_equal(kernel(q, v[0, 0], a), kernel(q, np.broadcast_to(v[0, 0], v.shape), a))


def test_float32_is_its_own_kernel_with_stated_accuracy():
    robot = lw.load("panda")
    rng = np.random.default_rng(2)
    q, v, tau = arguments(robot, ("q", "v", "tau"), (50,), rng)
    kernel = robot.compile("forward_dynamics")
    single = kernel(*(x.astype(np.float32) for x in (q, v, tau)))
    assert single.dtype == np.float32
    exact = kernel(*(x.astype(np.float32).astype(float) for x in (q, v, tau)))
    assert np.abs(single - exact).max() < 1e-4 * np.abs(exact).max()


def test_nan_and_infinity_stay_in_their_state():
    robot = lw.load("panda")
    rng = np.random.default_rng(3)
    q, v, tau = arguments(robot, ("q", "v", "tau"), (20,), rng)
    kernel = robot.compile("forward_dynamics")
    clean = kernel(q, v, tau)
    q[4, 2], v[11, 0], q[17, 3] = np.nan, np.inf, np.inf
    dirty = kernel(q, v, tau)
    touched = np.zeros(20, bool)
    touched[[4, 11, 17]] = True
    assert np.isnan(dirty[touched]).any(axis=-1).all()
    assert np.array_equal(dirty[~touched], clean[~touched])


@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_vector_width(monkeypatch, vector_bytes, dtype):
    """SSE2 and NEON have 16 bytes, AVX 32, AVX-512 64; narrower code runs on wider machines."""
    if vector_bytes > engine.host().vector_bytes:
        pytest.skip("this machine has narrower vectors")
    narrow = replace(engine.host(), vector_bytes=vector_bytes)
    monkeypatch.setattr(engine, "host", lambda: narrow)
    robot = lw.random_tree(4, seed=2, floating=True)
    args = arguments(robot, ("q", "v", "tau"), (21,), np.random.default_rng(1), dtype)
    kernel = robot.compile("forward_dynamics")
    assert kernel.code(dtype).vector.lanes == vector_bytes // np.dtype(dtype).itemsize
    expected = robot.forward_dynamics(*(x.astype(float) for x in args))
    tolerance = 1e-12 if dtype == np.float64 else 1e-3
    assert np.abs(kernel(*args) - expected).max() < tolerance * np.abs(expected).max()


def test_threads_change_nothing():
    robot = lw.load("panda")
    rng = np.random.default_rng(4)
    args = arguments(robot, ("q", "v", "tau"), (3000,), rng)
    kernel = robot.compile("forward_dynamics")
    alone = kernel(*args, threads=1)
    assert np.array_equal(kernel(*args, threads=3), alone)
    assert np.array_equal(kernel(*args), alone)


def test_out_is_written_in_place():
    robot = lw.load("ur5")
    rng = np.random.default_rng(6)
    args = arguments(robot, ("q", "v", "tau"), (7,), rng)
    kernel = robot.compile("forward_dynamics")
    out = np.empty((7, 6))
    assert kernel(*args, out=out) is out
    assert np.array_equal(out, kernel(*args))
    with pytest.raises(lw.InputError, match="C-contiguous"):
        kernel(*args, out=np.empty((6, 7)).T)


@pytest.mark.parametrize("threads", [1, 2])
def test_out_may_be_in_the_memory_of_an_input(threads):
    kernel = lw.load("double_pendulum").compile("forward_dynamics")
    q, v, tau = np.random.default_rng(0).normal(size=(3, 100, 2))
    expected = kernel(q, v, tau)
    for given, out in ((slice(0, 100), slice(0, 100)), (slice(0, 100), slice(3, 103)), (slice(3, 103), slice(0, 100))):
        memory = np.empty((103, 2))
        memory[given] = tau
        assert np.array_equal(kernel(q, v, memory[given], out=memory[out], threads=threads), expected)


def test_user_functions_with_operator_expressions():
    robot = lw.load("ur5")

    def tip_compliance(robot, q, f):
        op = robot.operators(q, frames="tool0")
        J = op.J
        return (J @ op.mass.inv() @ J.T).simplify() @ f

    kernel = lw.compile(tip_compliance, robot, sizes={"f": 6})
    rng = np.random.default_rng(7)
    q, f = robot.random_configuration(rng, 5), rng.normal(size=(5, 6))
    expected = robot.operational_compliance(q, "tool0") @ f[..., None]
    assert np.allclose(kernel(q, f), expected[..., 0], rtol=1e-10, atol=1e-10)
    with pytest.raises(lw.InputError, match="sizes="):
        lw.compile(tip_compliance, robot)


def test_sines_are_accurate_for_all_angles():
    """≤ 2 units in the last place against extended precision, and exact libm beyond the reduction's range."""
    robot = lw.chain(1)
    kernel = lw.compile(lambda robot, x: np.concatenate([np.sin(x), np.cos(x)]), robot, sizes={"x": 1})
    rng = np.random.default_rng(8)
    angles = np.concatenate(
        [
            rng.uniform(-10, 10, 20000),
            rng.uniform(-7e5, 7e5, 20000),
            np.arange(-200, 200) * np.pi / 2,
            10.0 ** rng.uniform(-300, 0, 2000),
            10.0 ** rng.uniform(6, 300, 500),
            [0.0, -0.0],
        ]
    )
    found = kernel(angles[:, None])
    wide = angles.astype(np.longdouble)
    small = np.abs(angles) < 1e6
    for column, exact in ((0, np.sin(wide)), (1, np.cos(wide))):
        error = np.abs(found[:, column] - exact) / np.spacing(np.abs(exact).astype(float))
        assert error[small].max() <= 2.0
    assert np.allclose(found[~small, 0], np.sin(angles[~small]), rtol=0, atol=1e-15)
    assert np.isnan(kernel(np.array([[np.inf], [np.nan]]))).all()


def test_the_interpreter_is_the_oracle():
    robot = lw.load("quadruped")
    program = trace(robot, lambda robot, q, v, tau: robot.forward_dynamics(q, v, tau), "fd")
    rng = np.random.default_rng(9)
    q, v, tau = arguments(robot, ("q", "v", "tau"), (), rng)
    by_hand = program.interpret(q=q, v=v, tau=tau)
    assert np.allclose(robot.compile("forward_dynamics")(q, v, tau), by_hand, rtol=1e-11, atol=1e-11)


def test_unused_inputs_are_found():
    robot = lw.load("panda")
    assert ("q", 0) in robot.compile("mass_matrix").program.unused_inputs  # the first joint's angle does not matter
    assert "does not depend on q[0]" in robot.compile("mass_matrix").explain()


def test_programs_are_the_same_in_every_run():
    robot = lw.load("ur5")
    assert robot.compile("mass_matrix").source == lw.load("ur5").compile("mass_matrix").source


def test_bad_calls_are_explained():
    robot = lw.load("ur5")
    kernel = robot.compile("forward_dynamics")
    with pytest.raises(lw.InputError, match=r"v must have shape \(\.\.\., 6\)"):
        kernel(np.zeros(6), np.zeros(5), np.zeros(6))
    with pytest.raises(lw.InputError, match="takes 3 arrays"):
        kernel(np.zeros(6))
    with pytest.raises(lw.InputError, match="do not fit"):
        kernel(np.zeros((2, 6)), np.zeros((3, 6)), np.zeros(6))
    with pytest.raises(lw.InputError, match="real numbers"):
        kernel(np.zeros(6, complex), np.zeros(6), np.zeros(6))
    with pytest.raises(lw.UnknownNameError, match="forward_dynamics"):
        robot.compile("forward_dynamic")
    with pytest.raises(lw.InputError, match="target"):
        robot.compile("mass_matrix", target="abacus")


def test_threads_keep_to_the_cores_of_the_process(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 5}, raising=False)
    assert threads.usable_cores() == 2


def test_threads_are_asked_by_measured_work():
    """Not before a pace is known, and then where each has enough to do."""
    pace = Pace()
    told = []
    pace.followers.append(told.append)
    assert pace.most == thresholds.FIRST_STATES and pace.workers(10**6, 8) == 1
    pace.measured(thresholds.FIRST_STATES - 1, 10**9)
    assert not told  # too few states to believe
    pace.measured(1000, 10**6)
    assert told == [pace.most] and pace.workers(1000, 8) == 8 and pace.workers(1000, 2) == 2
    pace.measured(1000, 10**5)  # quicker
    assert pace.workers(1000, 8) == 1 and pace.workers(2000, 8) == 2 and pace.most == 2000
    pace.measured(1000, 10**7)  # something else was in the way
    assert pace.most == 2000 and told == [256, 2000]


def test_parts_of_a_batch_are_the_batch():
    """To the last bit, however many threads share it."""
    kernel = lw.load("double_pendulum").compile("forward_dynamics")
    q, v, tau = np.random.default_rng(3).normal(size=(3, 1003, 2))
    whole = kernel(q, v, tau, threads=1)
    for n in (2, 3, 7):
        assert np.array_equal(kernel(q, v, tau, threads=n), whole)
    with pytest.raises(lw.InputError, match="threads"):
        kernel(q, v, tau, threads=0)


def test_what_fails_in_a_thread_is_raised():
    def fails(part):
        if part:
            raise ZeroDivisionError(part)
        return part

    with pytest.raises(ZeroDivisionError, match="2"):
        threads.Crew().map(fails, [0, 2])
    assert threads.Crew().map(lambda x: x + 1, [0, 1, 2]) == [1, 2, 3]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda k: k([[1, 2], [3]], np.zeros(2), np.zeros(2)), "q must be an array of numbers"),
        (lambda k: k(*np.zeros((3, 2)), out=5), "out must be a list of 3 arrays, got 5"),
        (lambda k: k.jacobian(["q"]), "no input of linearize_forward is named"),
        (lambda k: k.jacobian("w"), "choose from q, v, tau"),
        (lambda k: k.code("abc"), "float64 and float32, not for 'abc'"),
        (lambda k: k.code(np.int8), "float64 and float32"),
        (lambda k: k.code([1.0]), "float64 and float32"),
    ],
)
@pytest.mark.parametrize("rolled", [False, True])
def test_what_kernels_do_not_take_is_named(call, said, rolled):
    with pytest.raises(lw.InputError, match=said):
        call(lw.chain(2, seed=1).compile("linearize_forward", rolled=rolled))
