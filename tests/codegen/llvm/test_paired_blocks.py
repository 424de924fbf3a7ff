"""Code for two blocks of states at a time gives what that for one block gives, to the last digit."""

import pickle

import numpy as np
import pytest
from kernel_calls import SIGNATURES, arguments, as_tuple

import linkwise as lw
from linkwise.codegen import thresholds
from linkwise.codegen.llvm.assembled_block import is_paired
from linkwise.codegen.program.instructions import instructions
from linkwise.codegen.program.paired_blocks import in_turn, key_count, pays
from linkwise.codegen.program.places import computed_places
from linkwise.codegen.program.trace import trace
from linkwise.codegen.runtime import engine
from linkwise.codegen.runtime.kernel import Kernel

pytestmark = pytest.mark.skipif(not engine.host().assembles, reason="this processor has no AVX-512")
BOTH = pytest.mark.parametrize("dtype", [np.float64, np.float32])


@pytest.fixture
def always(monkeypatch):
    monkeypatch.setattr(thresholds, "PAIRED_FROM", 0.0)
    monkeypatch.setattr(thresholds, "PAIRED_UP_TO", 1 << 30)


def by_both(program, given, monkeypatch):
    """(results by pairs, whether they are sound), and the same block by block."""
    found = []
    for from_ in (0.0, np.inf):
        monkeypatch.setattr(thresholds, "PAIRED_FROM", from_)
        kernel = Kernel(program)
        assert ("@lw_pair" in kernel.ir(engine.host().vector(given[0].dtype))) == (from_ == 0.0)
        found.append(kernel.run(given, threads=1))
    return found


def assert_same(program, given, monkeypatch):
    (a, sound), (b, sound_too) = by_both(program, given, monkeypatch)
    assert sound == sound_too
    for x, y in zip(as_tuple(a), as_tuple(b), strict=True):
        np.testing.assert_array_equal(x, y)
    return as_tuple(a), sound


def code_of(program):
    return instructions(program, computed_places(program)[0])


@BOTH
@pytest.mark.parametrize(
    ("name", "robot"),
    [
        ("forward_dynamics", "panda"),
        ("mass_matrix_inverse", "ur5"),  # one sine of a sum of angles
        ("mass_matrix", "quadruped"),
        ("linearize_inverse", "panda"),
        ("forward_dynamics", "tree"),
        ("coriolis_matrix", "panda"),
    ],
)
def test_every_number_of_states(name, robot, dtype, always, monkeypatch, rng):
    robot = lw.random_tree(5, seed=3) if robot == "tree" else lw.load(robot)
    program = robot.compile(name, rolled=False).program
    lanes = engine.host().vector(np.dtype(dtype)).lanes
    given = arguments(robot, SIGNATURES[name], (4 * lanes + 3,), rng, dtype)
    whole, _ = assert_same(program, given, monkeypatch)
    monkeypatch.setattr(thresholds, "PAIRED_FROM", 0.0)
    kernel = Kernel(program)
    for count in (0, 1, lanes - 1, lanes, lanes + 1, 2 * lanes - 1, 2 * lanes, 2 * lanes + 1, 3 * lanes, 4 * lanes + 1):
        for x, y in zip(as_tuple(kernel.run([g[:count] for g in given])[0]), whole, strict=True):
            np.testing.assert_array_equal(x, y[:count])


@BOTH
def test_results_that_are_numbers_inputs_and_sines_of_sums(dtype, always, monkeypatch, rng):
    def found(robot, q, v):
        return np.stack([2.5 + 0 * q[0], q[1], -np.sin(q[0] + v[0]), np.cos(q[1] + 0.5) * v[1], -0.0 * q[0] - 1.0])

    program = trace(lw.chain(2, seed=0), found)
    given = [rng.normal(size=(45, 2)).astype(dtype) for _ in range(2)]
    (x,), _ = assert_same(program, given, monkeypatch)
    q, v = (g.astype(float) for g in given)
    right = [2.5 + 0 * q[:, 0], q[:, 1], -np.sin(q[:, 0] + v[:, 0]), np.cos(q[:, 1] + 0.5) * v[:, 1], 0 * q[:, 0] - 1]
    np.testing.assert_allclose(x, np.stack(right, -1), rtol=1e-5, atol=1e-6)


@BOTH
def test_states_that_lie_apart_and_backwards(dtype, always, monkeypatch, rng):
    robot = lw.load("panda")
    program = robot.compile("forward_dynamics").program
    given = arguments(robot, SIGNATURES["forward_dynamics"], (67,), rng, dtype)
    (right,), _ = assert_same(program, given, monkeypatch)
    apart = [np.asfortranarray(given[0]), given[1][::-1].copy()[::-1], np.repeat(given[2], 3, axis=0)[::3]]
    (found,), _ = assert_same(program, apart, monkeypatch)
    np.testing.assert_array_equal(found, right)


@BOTH
@pytest.mark.parametrize("state", [0, 9, 17, 30, 40])  # in either block of a pair, and in what is left over
def test_one_odd_state_changes_no_other(state, dtype, always, monkeypatch, rng):
    robot = lw.load("panda")
    program = robot.compile("forward_dynamics").program
    given = arguments(robot, SIGNATURES["forward_dynamics"], (41,), rng, dtype)
    (right,), _ = assert_same(program, given, monkeypatch)
    others = np.arange(41) != state
    for odd in (np.nan, np.inf, 1e9):
        q = given[0].copy()
        q[state, 3] = odd
        with np.errstate(invalid="ignore"):
            (found,), _ = assert_same(program, [q, *given[1:]], monkeypatch)
        np.testing.assert_array_equal(found[others], right[others])
        assert np.isfinite(found[state]).all() == (odd == 1e9)


@BOTH
@pytest.mark.parametrize("state", [2, 12, 17, 35])  # in either block, and in what is left over
def test_a_guard_of_either_block_is_heard(state, dtype, always, monkeypatch):
    arm = lw.chain(3, seed=0)
    program = trace(arm, lambda robot, q: robot.mass_solve(q, q), parameters=["inertial"], plain=True)
    own = np.tile(arm.inertial_parameters.ravel(), (36, 1)).astype(dtype)
    own[state] = 0
    (found,), sound = assert_same(program, [np.ones((36, 3), dtype), own], monkeypatch)
    assert not sound
    assert np.isnan(found[state]).all() and np.isfinite(np.delete(found, state, 0)).all()


def test_every_way_in_gives_the_same(tmp_path, monkeypatch, rng):
    """Threads, bound arrays, a result in the place of an input, a pickled kernel, code from the disk, the method."""
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    robot = lw.load("panda")
    given = arguments(robot, SIGNATURES["forward_dynamics"], (4096 + 13,), rng)
    kernel = robot.compile("forward_dynamics")
    assert is_paired(kernel.program, engine.host().vector(np.dtype(float)))
    right = np.concatenate([kernel(*(x[i : i + 8] for x in given), threads=1) for i in range(0, 4109, 8)])
    again = lw.load("panda").compile("forward_dynamics")  # what the first left on disk
    for found in (kernel, again, pickle.loads(pickle.dumps(kernel))):
        for threads in (None, 1, 2):
            np.testing.assert_array_equal(found(*given, threads=threads), right)
    out = np.empty_like(right)
    assert kernel.bind(*given, out=out)()
    np.testing.assert_array_equal(out, right)
    np.testing.assert_array_equal(robot.forward_dynamics(*given, target="cpu"), right)
    tau = given[2].copy()
    kernel(given[0], given[1], tau, out=tau, threads=1)
    np.testing.assert_array_equal(tau, right)


def test_instructions_of_one_block_know_nothing_of_the_other(always):
    robot = lw.load("panda")
    code = code_of(robot.compile("forward_dynamics").program)
    keys = key_count(code)
    both = in_turn(code, 21, 7)
    assert len(both.code) == 2 * len(code.code)
    for x in both.code:
        own = [key for key in x.operands if key not in code.constants]
        value = [] if x.op in ("out", "guard") else [x.value]
        assert len({key >= keys for key in own + value}) <= 1
    first = [x for x in both.code if max([k for k in x.operands if k not in code.constants], default=0) < keys]
    assert [x for x in first if x.op != "out" or x.value < 7] == code.code


def test_it_is_for_short_code_that_waits():
    arm, humanoid = lw.load("panda"), lw.load("humanoid")
    assert pays(code_of(arm.compile("forward_dynamics").program))
    assert not pays(code_of(arm.compile("inverse_dynamics").program))
    assert not pays(code_of(humanoid.compile("forward_dynamics").program))
    sines_within = trace(lw.chain(2, seed=0), lambda robot, q: np.sin(np.cos(q)), sizes={"q": 2})
    assert not pays(code_of(sines_within))
