"""Code in the processor's own language gives what LLVM's gives, to the last digit."""

from dataclasses import replace

import numpy as np
import pytest
from kernel_calls import SIGNATURES, arguments

import linkwise as lw
from linkwise.codegen.llvm.assembled_block import frame_size, is_assembled
from linkwise.codegen.program.fusion import absorbed
from linkwise.codegen.program.instructions import instructions
from linkwise.codegen.program.places import computed_places
from linkwise.codegen.program.trace import trace
from linkwise.codegen.runtime import engine
from linkwise.codegen.runtime.kernel import Kernel

pytestmark = pytest.mark.skipif(not engine.host().assembles, reason="this processor has no AVX-512")
BOTH = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def by_both(program, given, monkeypatch):
    """The results of assembly and of LLVM's code, and whether they are sound."""
    found = []
    for way in ("1", "0"):
        monkeypatch.setenv("LINKWISE_ASSEMBLY", way)
        kernel = Kernel(program)
        vector = engine.host().vector(given[0].dtype)
        assert ("asm sideeffect" in kernel.ir(vector)) == (way == "1") == is_assembled(program, vector)
        results, sound = kernel.run(given)
        single = [np.asarray(kernel.quick(*x)) for x in zip(*given)] if program.single else []
        found.append((results if isinstance(results, tuple) else (results,), sound, single))
    return found


def assert_same(program, given, monkeypatch):
    (a, sound, single), (b, sound_too, single_too) = by_both(program, given, monkeypatch)
    assert sound == sound_too
    for x, y in [*zip(a, b), *zip(single, single_too)]:
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(x, y)
    return a


@BOTH
@pytest.mark.parametrize(
    ("name", "robot"),
    [
        ("forward_dynamics", "quadruped"),
        ("inverse_dynamics", "humanoid"),
        ("mass_matrix_inverse", "panda"),
        ("linearize_forward", "panda"),
        ("mass_matrix", "tree"),
        ("forward_dynamics", "tree"),
    ],
)
def test_the_same_digits(name, robot, dtype, monkeypatch, rng):
    robot = lw.random_tree(7, seed=3) if robot == "tree" else lw.load(robot)
    program = robot.compile(name, rolled=False).program
    given = arguments(robot, SIGNATURES[name], (19,), rng, dtype)
    assert_same(program, given, monkeypatch)


def user(robot, q, v):
    """What dynamics has none of: sines of computed angles, roots, results that are inputs, numbers or negatives."""
    a = q[0] * v[0] - q[1] * v[1]
    b = np.sin(a) * np.cos(v[1]) + np.cos(-a)
    c = np.sqrt(1.0 + np.abs(-b)) / (2.0 + np.cos(q[1] + 0.5))
    return np.stack(
        [-b, q[0], 2.5 + 0 * q[0], c, -c * a, c * q[0] - 3.0 * a, np.sin(c + b), -np.sin(q[0]), -3.0 * v[0]]
    )


@BOTH
@pytest.mark.parametrize("size", [1.0, 1e7])  # the second leaves the range of the quick sines
def test_a_users_function(dtype, size, monkeypatch, rng):
    robot = lw.chain(2, seed=0)
    program = trace(robot, user)
    given = list((size * rng.normal(size=(2, 21, 2))).astype(dtype))
    (found,) = assert_same(program, given, monkeypatch)
    if dtype == np.float64 and size == 1.0:
        expected = np.stack([user(robot, q, v) for q, v in zip(*given)])
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


@BOTH
def test_far_angles_take_the_slow_way_in_their_own_lane_alone(dtype, monkeypatch, rng):
    program = trace(lw.chain(2, seed=0), lambda robot, q: np.stack([np.sin(q[0]), np.cos(q[1])]), sizes={"q": 2})
    q = rng.normal(size=(33, 2)).astype(dtype)
    (near,) = assert_same(program, [q], monkeypatch)
    far = q.copy()
    far[5, 0], far[17, 1], far[20, 0] = 1e9, np.inf, np.nan
    with np.errstate(invalid="ignore"):
        (found,) = assert_same(program, [far], monkeypatch)
        np.testing.assert_allclose(found[5, 0], np.sin(far[5, 0]), rtol=1e-5)
    others = np.setdiff1d(np.arange(33), [5, 17, 20])
    np.testing.assert_array_equal(found[others], near[others])
    assert np.isnan(found[17, 1]) and np.isnan(found[20, 0])


def test_guards_are_seen_state_by_state(monkeypatch):
    arm = lw.chain(3, seed=0)
    program = trace(arm, lambda robot, q: robot.mass_solve(q, q), parameters=["inertial"], plain=True)
    own = np.tile(arm.inertial_parameters.ravel(), (11, 1))
    own[7] = 0
    (a, sound, _), (b, sound_too, _) = by_both(program, [np.ones((11, 3)), own], monkeypatch)
    assert not sound and not sound_too
    assert np.isnan(a[0][7]).all() and np.isfinite(np.delete(a[0], 7, 0)).all()
    np.testing.assert_array_equal(a[0], b[0])


def test_what_it_has_no_instruction_for_is_left_to_llvm():
    vector = replace(engine.host().vector(np.float64), assembled=True)
    program = trace(lw.chain(2, seed=0), lambda robot, q: np.tanh(q))
    assert not is_assembled(program, vector)


def test_each_product_is_fused_once_and_nothing_is_lost():
    program = lw.load("quadruped").compile("forward_dynamics").program
    wanted = [*program.roots, *(x for g in program.guards for x in g.nodes)]
    fused = absorbed(program.nodes, wanted)
    assert len(set(fused.values())) == len(fused) > 500
    code = instructions(program, computed_places(program)[0]).code
    kinds = [x.op for x in code]
    products, sums = (sum(x.op in kinds for x in program.nodes) for kinds in (("mul",), ("add", "sub")))
    assert kinds.count("fma") == len(fused)
    assert kinds.count("fma") + kinds.count("mul") == products
    assert kinds.count("fma") + kinds.count("add") == sums
    assert kinds.count("out") == len({id(x) for x in program.roots})


def test_the_frame_has_room_for_sine_and_cosine_where_one_is_used():
    """The other was once written behind the memory of the kernel."""
    program = trace(lw.load("double_pendulum"), lambda robot, q: np.sin(q))
    assert frame_size(program, engine.host().vector(np.float64)) == 4
