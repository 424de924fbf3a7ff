"""States that are brought in between the instructions of others give what they give when brought in before."""

import ctypes
import itertools
import mmap

import numpy as np
import pytest
from kernel_calls import SIGNATURES, arguments, as_tuple

import linkwise as lw
from linkwise.codegen import thresholds
from linkwise.codegen.llvm.assembled_block import is_overlapped, is_paired
from linkwise.codegen.program.tile_moves import brought_in, widths
from linkwise.codegen.program.trace import trace
from linkwise.codegen.runtime import engine
from linkwise.codegen.runtime.kernel import Kernel

pytestmark = pytest.mark.skipif(not engine.host().assembles, reason="this processor has no AVX-512")
BOTH = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def vector(dtype=float):
    return engine.host().vector(np.dtype(dtype))


def both_ways(program, monkeypatch, dtype=float):
    """Kernels with turns and without."""
    found = []
    for up_to in (1 << 30, 0):
        monkeypatch.setattr(thresholds, "OVERLAPPED_UP_TO", up_to)
        kernel = Kernel(program)
        assert ("@lw_turn" in kernel.ir(vector(dtype))) == (up_to > 0)
        kernel.code(dtype)  # made while the threshold is this
        found.append(kernel)
    return found


def assert_same(kernels, given):
    (a, sound), (b, sound_too) = (kernel.run(given, threads=1) for kernel in kernels)
    assert sound == sound_too
    for x, y in zip(as_tuple(a), as_tuple(b), strict=True):
        np.testing.assert_array_equal(x, y)
    return as_tuple(a), sound


@BOTH
@pytest.mark.parametrize(
    ("name", "robot", "pairs"),
    [
        ("forward_dynamics", "panda", True),
        ("inverse_dynamics", "panda", False),
        ("jacobian_dot_v", "humanoid", False),  # reads some of the numbers
        ("mass_matrix_inverse", "ur5", True),
        ("frame_poses", "ur5", False),  # two results
        ("linearize_inverse", "ur5", False),
    ],
)
def test_every_number_of_states(name, robot, pairs, dtype, monkeypatch, rng):
    robot = lw.load(robot)
    frame = {"frame": robot.tips[-1]} if name == "jacobian_dot_v" else {}
    program = robot.compile(name, rolled=False, **frame).program
    assert is_paired(program, vector(dtype)) == pairs
    kernels = both_ways(program, monkeypatch, dtype)
    lanes = vector(dtype).lanes
    given = arguments(robot, SIGNATURES.get(name, ("q", "v")), (5 * lanes + 3,), rng, dtype)
    whole, _ = assert_same(kernels, given)
    near = [blocks * lanes + more for blocks in range(1, 5) for more in (-1, 0, 1)]
    for count in (0, 1, *near, 5 * lanes, 5 * lanes + 2):
        for x, y in zip(assert_same(kernels, [g[:count] for g in given])[0], whole, strict=True):
            np.testing.assert_array_equal(x, y[:count])


@BOTH
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 8, 9, 12, 15, 16, 17, 24])
def test_tiles_of_every_width(size, dtype, monkeypatch, rng):
    """Inputs of two sizes: every number comes where it belongs."""
    other = 25 - size

    def found(robot, q, v):
        return np.stack([*(-2.0 * q[i] for i in range(size)), *(v[i] + 1.0 for i in range(other))])

    program = trace(lw.chain(2, seed=0), found, sizes={"q": size, "v": other}, plain=True)
    kernels = both_ways(program, monkeypatch, dtype)
    q, v = (rng.normal(size=(55, n)).astype(dtype) for n in (size, other))
    (x,), _ = assert_same(kernels, [q, v])
    np.testing.assert_array_equal(x, np.concatenate([-2 * q, v + 1], axis=1))


def test_numbers_that_nothing_reads_are_left_where_they_are(monkeypatch, rng):
    program = trace(lw.chain(2, seed=0), lambda robot, q: q[9] * q[17] + 1.0, sizes={"q": 30}, plain=True)
    kernels = both_ways(program, monkeypatch)
    q = rng.normal(size=(50, 30))
    (x,), _ = assert_same(kernels, [q])
    np.testing.assert_allclose(x, q[:, 9] * q[:, 17] + 1.0, rtol=1e-15)
    q[:, [0, 5, 28, 29]] = np.nan
    np.testing.assert_array_equal(assert_same(kernels, [q])[0][0], x)
    moves = brought_in(0, 30, 0, 0, {9, 17}, itertools.count(1), 8)
    assert {x.signs[1] % 30 for x in moves if x.op == "row"} == {8, 16}
    assert [x.value for x in moves if x.op == "keep"] == [9, 17]
    assert len(moves) == 2 * (8 + 4 + 2 + 1 + 1)  # rows, and one column's exchanges in each round
    assert widths([30, 8, 7, 14], 8) == [6, 7]


@BOTH
def test_states_that_lie_in_any_way(dtype, monkeypatch, rng):
    """With gaps, backwards, batch-last, one state for all: none of them is read as if it had no gaps."""
    robot = lw.load("panda")
    kernels = both_ways(robot.compile("inverse_dynamics").program, monkeypatch, dtype)
    given = arguments(robot, SIGNATURES["inverse_dynamics"], (67,), rng, dtype)
    (right,), _ = assert_same(kernels, given)
    ways = {
        "batch-last": np.asfortranarray,
        "backwards": lambda x: x[::-1].copy()[::-1],
        "numbers backwards": lambda x: x[:, ::-1].copy()[:, ::-1],
        "with gaps": lambda x: np.repeat(x, 3, axis=0)[::3],
        "in wider rows": lambda x: np.concatenate([x, np.full_like(x, np.nan)], axis=1)[:, :7],
        "not aligned to lines": lambda x: np.frombuffer(b"\0" * 8 + x.tobytes(), x.dtype, offset=8).reshape(x.shape),
    }
    for i, (name, way) in itertools.product(range(3), ways.items()):
        mixed = [way(x) if n == i else x for n, x in enumerate(given)]
        np.testing.assert_array_equal(assert_same(kernels, mixed)[0][0], right, err_msg=f"argument {i} {name}")
    for way in ways.values():
        np.testing.assert_array_equal(assert_same(kernels, [way(x) for x in given])[0][0], right)
    one = [np.broadcast_to(x[3], x.shape) for x in given]
    np.testing.assert_array_equal(assert_same(kernels, one)[0][0], np.broadcast_to(right[3], right.shape))


def test_nothing_beyond_the_last_state_is_read(monkeypatch, rng):
    """What is behind the arrays is another's: here a page that nobody may read."""
    robot = lw.load("panda")
    kernels = both_ways(robot.compile("inverse_dynamics").program, monkeypatch)
    given = arguments(robot, SIGNATURES["inverse_dynamics"], (64,), rng)
    pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    end = np.frombuffer(pages, dtype=np.uint8).ctypes.data + mmap.PAGESIZE
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(end), mmap.PAGESIZE, 0) == 0
    try:
        for count, i in itertools.product((64, 61), range(3)):
            (right,), _ = assert_same(kernels, [x[:count] for x in given])
            last = np.frombuffer(pages, count=7 * count, offset=mmap.PAGESIZE - 56 * count)
            for at_the_end in (last.reshape(count, 7), last.reshape(7, count).T):
                at_the_end[:] = given[i][:count]
                mixed = [at_the_end if n == i else x[:count] for n, x in enumerate(given)]
                np.testing.assert_array_equal(assert_same(kernels, mixed)[0][0], right)
    finally:
        libc.mprotect(ctypes.c_void_p(end), mmap.PAGESIZE, 3)


@pytest.mark.parametrize("state", [0, 9, 17, 33, 41])  # in any turn, and in what is left over
def test_one_odd_state_changes_no_other(state, monkeypatch, rng):
    robot = lw.load("panda")
    kernels = both_ways(robot.compile("inverse_dynamics").program, monkeypatch)
    given = arguments(robot, SIGNATURES["inverse_dynamics"], (42,), rng)
    (right,), _ = assert_same(kernels, given)
    others = np.arange(42) != state
    for odd in (np.nan, np.inf, 1e9):
        q = given[0].copy()
        q[state, 3] = odd
        with np.errstate(invalid="ignore"):
            (found,), _ = assert_same(kernels, [q, *given[1:]])
        np.testing.assert_array_equal(found[others], right[others])
        assert np.isfinite(found[state]).all() == (odd == 1e9)


@BOTH
@pytest.mark.parametrize("state", [2, 12, 27, 66])
def test_a_guard_of_any_turn_is_heard(state, dtype, monkeypatch):
    arm = lw.chain(3, seed=0)
    program = trace(arm, lambda robot, q: robot.mass_matrix_inverse(q), parameters=["inertial"], plain=True)
    kernels = both_ways(program, monkeypatch, dtype)
    own = np.tile(arm.inertial_parameters.ravel(), (68, 1)).astype(dtype)
    own[state] = 0
    (found,), sound = assert_same(kernels, [np.ones((68, 3), dtype), own])
    assert not sound
    assert np.isnan(found[state]).all() and np.isfinite(np.delete(found, state, 0)).all()


def test_a_result_may_take_the_place_of_an_input(monkeypatch, rng):
    robot = lw.load("panda")
    for name in ("forward_dynamics", "inverse_dynamics"):
        turning, _ = both_ways(robot.compile(name).program, monkeypatch)
        given = arguments(robot, SIGNATURES[name], (100,), rng)
        right = turning(*given, threads=1)
        for i in range(3):
            mine = [x.copy() for x in given]
            turning(*mine, out=mine[i], threads=1)
            np.testing.assert_array_equal(mine[i], right)


def test_it_is_for_short_code_without_calls():
    arm, humanoid = lw.load("panda"), lw.load("humanoid")
    assert is_overlapped(arm.compile("forward_dynamics").program, vector())
    assert is_overlapped(humanoid.compile("inverse_dynamics").program, vector())
    assert not is_overlapped(humanoid.compile("forward_dynamics").program, vector())
    assert is_overlapped(arm.compile("forward_dynamics").program, vector(np.float32))
    within = trace(lw.chain(2, seed=0), lambda robot, q: np.sin(np.cos(q)), sizes={"q": 2})
    assert not is_overlapped(within, vector())


@BOTH
def test_choices_and_narrow_tiles_have_masks_of_their_own(dtype, monkeypatch, rng):
    def two(robot, q):
        return np.where((q[0] > q[1]) & (q[2] > q[3]), q, 2 * q)

    def three(robot, q):  # truths that wait at a time
        return np.where((q[0] > q[1]) & ((q[2] > q[3]) | (q[3] > q[4])), q, 2 * q)

    arm, q = lw.chain(5, seed=0), rng.normal(size=(45, 5)).astype(dtype)
    assert not is_overlapped(trace(arm, three, sizes={"q": 5}), vector(dtype))
    (found,), _ = assert_same(both_ways(trace(arm, two, sizes={"q": 5}), monkeypatch, dtype), [q])
    chosen = (q[:, 0] > q[:, 1]) & (q[:, 2] > q[:, 3])
    np.testing.assert_array_equal(found, np.where(chosen[:, None], q, 2 * q))
