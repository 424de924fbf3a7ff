"""Methods of a robot run compiled by default: the same results, the same errors, and NumPy one keyword away."""

import copy
import os
import pickle
import select
import warnings

import methods
import numpy as np
import pytest
from patience import PATIENCE

import linkwise as lw
from linkwise.model import builders
from linkwise.robot import dispatch


def _with_rotors():
    kinds = [lw.Prismatic("x"), lw.Revolute([0.6, 0, 0.8])]
    bodies = []
    for i, kind in enumerate(kinds):
        rotor = lw.Rotor(0.02, 30.0, axis="y" if i else None)
        joint = lw.Joint(kind, at=(0.3, 0.1 * i, 0.2), rpy=(0.2 * i, 0.1, 0.4), rotor=rotor)
        parent = None if i == 0 else f"b{i - 1}"
        bodies.append(
            lw.Body(f"b{i}", joint, lw.Inertia(1.0 + i, com=(0.1, 0.05, 0.2), tensor=np.eye(3) * 0.1), parent)
        )
    return lw.assemble("geared", bodies)


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")


ROBOTS = {
    "rotors": _with_rotors,
    "hinge, universal joint, slider, ball": lambda: lw.chain(4, joint="mixed", seed=4),
    "screw, plane, cylinder": lambda: lw.chain(7, joint="mixed", seed=4).lock(["joint1", "joint2", "joint3", "joint4"]),
    "floating tree": lambda: lw.random_tree(2, seed=2).floating(),
}
CALLS = [n for n in methods.CALLS if not n.startswith("operators")]
# Every call on the small robot, every third one on one of the others, each of which has its turn. (Kernels of all calls
# for an arm of seven joints: tests/codegen/runtime/test_kernel.py.)
OTHERS = list(ROBOTS)[1:]
PAIRS = [(name, "rotors") for name in CALLS] + [(name, OTHERS[i % 3]) for i, name in enumerate(CALLS[::3])]
# Two of four, among them as many in float32, have the code of computers without AVX-512, which LLVM makes.
CASES = [(*pair, "0" if i % 4 in (1, 2) else "1") for i, pair in enumerate(PAIRS)]
CONDITIONED = ("operational", "consistent", "jacobian_inner", "gradient", "tip_force")  # what inverts Λ⁻¹ = J𝓜⁻¹J*


# What has no quick way, and why.
SLOW = {
    "forward_dynamics (conjugate_gradient)": "goes on until it has converged",
    "forward_dynamics (preconditioned_conjugate_gradient)": "goes on until it has converged",
    "curvature": "has n⁴ numbers, and NumPy runs it",
}


@pytest.mark.parametrize(("name", "robot", "assembly"), CASES)
def test_every_method_gives_the_same_on_every_path(name, robot, assembly, checked_calls, monkeypatch, tmp_path):
    """NumPy, the first compiled call, later ones, single states, code found on disk by an equal robot, and float32.

    From the second time on every call goes the quick way, on which nothing is checked in Python.
    """
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    monkeypatch.setenv("LINKWISE_ASSEMBLY", assembly)
    r, call = ROBOTS[robot](), methods.CALLS[name]
    x = methods.inputs(r, (5,), seed=1)
    monkeypatch.setenv("LINKWISE_TARGET", "numpy")
    try:
        expected = call(r, x)
    except lw.LinkwiseError as e:  # a method that does not admit this robot: compiled it says the same
        monkeypatch.setenv("LINKWISE_TARGET", "cpu")
        with pytest.raises(type(e)) as caught:
            call(r, x)
        assert str(caught.value) == str(e)
        return
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    tolerance = 1e-8 if any(word in name for word in CONDITIONED) else 2e-12
    found = call(r, x)
    assert_near(found, expected, tolerance)
    assert_same(call(r, x), found)
    assert_same(call(ROBOTS[robot](), x), found)
    one = x.mapped(lambda y: y[3])
    for _ in range(2):  # the second by the quick entry
        assert_near(call(r, one), [y[3] for y in expected], tolerance)
    if name not in SLOW:
        assert checked_calls, f"{name} is not compiled: what is it?"
        checked_calls.clear()
        assert_same(call(r, x), found)
        call(r, one)
        assert not checked_calls, f"{name} was checked in Python again"
    if robot == "rotors" and CALLS.index(name) % 2 == 0:
        single = call(r, x.mapped(lambda y: y.astype(np.float32)))
        assert_near([y.astype(float) for y in single], expected, 1e9 * 2e-12 if tolerance < 1e-9 else 1e-1)
        assert all(y.dtype == np.float32 for y in single)


def assert_same(found, expected):
    """To the last bit."""
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype and np.array_equal(a, b)


def assert_near(found, expected, tolerance):
    """Relative to the largest entry of each array."""
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        assert np.abs(a - b).max(initial=0.0) <= tolerance * max(np.abs(b).max(initial=0.0), 1e-3)


def test_one_state_goes_through_the_quick_entry_and_batches_do_not():
    r = lw.load("panda")
    q = r.random_configuration(0)
    v, tau = np.random.default_rng(0).normal(size=(2, 7))
    first = r.forward_dynamics(q, v, tau)
    (quick,) = r._code.quick.values()
    assert type(quick).__name__ == "builtin_function_or_method"
    assert np.allclose(r.forward_dynamics(q, v, tau), first, rtol=1e-13)
    batch = r.forward_dynamics(q[None].repeat(4, 0), v, tau)
    assert batch.shape == (4, 7) and np.allclose(batch, first, rtol=1e-13)
    assert np.allclose(r.forward_dynamics(q, v, tau, method="fd3"), first, rtol=1e-11)
    assert np.allclose(r.forward_dynamics(q, v, tau=tau), first, rtol=1e-13)
    assert np.allclose(r.forward_dynamics(list(q), v, tau), first, rtol=1e-13)
    assert r.forward_dynamics(*(x.astype(np.float32) for x in (q, v, tau))).dtype == np.float32


def test_errors_are_those_of_the_numpy_path():
    r = lw.load("panda")
    q = r.neutral()
    r.mass_matrix(q)
    for target in ("cpu", "numpy"):
        with pytest.raises(lw.InputError, match="shape"):
            r.mass_matrix(q[:5], target=target)
        with pytest.raises(lw.UnknownNameError, match="elbow"):
            r.jacobian(q, "elbow", target=target)
        with pytest.raises(TypeError):
            r.mass_matrix(q, q, q, target=target)
    with pytest.raises(lw.InputError, match="target"):
        r.mass_matrix(q, target="gpu")


def test_a_singular_mass_matrix_is_named_also_through_the_quick_entry():
    light = lw.Inertia(0.0)
    bodies = [
        lw.Body("arm", lw.Joint(lw.Revolute("z")), lw.Inertia(1.0, com=(0.5, 0, 0), tensor=np.eye(3))),
        lw.Body("wrist", lw.Joint(lw.Revolute("x"), at=(1, 0, 0)), light, "arm"),
    ]
    r = lw.assemble("loose", bodies)
    for x in (np.zeros(2), np.zeros((3, 2))):
        for _ in range(2):
            with pytest.raises(lw.SingularError, match="wrist"):
                r.forward_dynamics(x, x, x)


def test_a_quaternion_of_zero_length_is_named():
    r = lw.load("satellite")
    q, v = r.neutral(), np.zeros(r.nv)
    r.mass_matrix(q)
    bad = q.copy()
    bad[3:7] = 0.0
    with pytest.raises(lw.InputError, match="zero length"):
        r.mass_matrix(bad)
    assert np.isfinite(r.bias_force(q, v)).all()


def test_other_kinds_of_numbers_take_the_numpy_path():
    r = lw.load("double_pendulum")
    q, v = np.array([0.3, -0.2]), np.zeros(2)
    step = r.inverse_dynamics(q + 1e-20j * np.array([1, 0]), v, v).imag / 1e-20
    above, below = (r.inverse_dynamics(q + h * np.array([1.0, 0]), v, v) for h in (1e-6, -1e-6))
    assert np.allclose(step, (above - below) / 2e-6, rtol=1e-7)


def test_copies_and_pickles_leave_compiled_code_behind():
    r = lw.load("panda")
    q = r.random_configuration(3)
    M = r.mass_matrix(q)
    for other in (copy.copy(r), copy.deepcopy(r), pickle.loads(pickle.dumps(r))):
        assert not other._code.quick and not len(other._code)
        assert np.allclose(other.mass_matrix(q), M, rtol=1e-13)
    heavier = r.with_inertial_parameters(2.0 * r.inertial_parameters)
    assert np.allclose(heavier.mass_matrix(q), 2.0 * M, rtol=1e-12)


def test_bound_arrays(rng):
    kernel = lw.load("panda").compile("forward_dynamics")
    q, v, tau, out = rng.normal(size=(4, 7))
    call = kernel.bind(q, v, tau, out=out)
    assert call() is True and np.array_equal(out, kernel.quick(q, v, tau))
    q += 0.1
    call()
    assert np.array_equal(out, kernel.quick(q, v, tau))
    many = [np.array(x) for x in rng.normal(size=(3, 21, 7))]
    wide = np.empty((21, 7))
    assert kernel.bind(*many, out=wide)() and np.array_equal(wide, kernel(*many))
    beside = np.zeros((22, 7))
    with pytest.raises(lw.InputError, match="overlaps an input"):
        kernel.bind(*many[:2], beside[:-1], out=beside[1:])
    effort = many[2].copy()
    assert kernel.bind(*many[:2], effort, out=effort)() and np.array_equal(effort, wide)
    linear = lw.load("double_pendulum").compile("linearize_inverse")
    state, each = [np.zeros((3, 2))] * 3, np.zeros((3, 2, 2))
    with pytest.raises(lw.InputError, match="another result"):
        linear.bind(*state, out=[each, each, np.zeros((3, 2, 2))])
    lean = [x.astype(np.float32) for x in (*many, wide)]
    assert kernel.bind(*lean[:3], out=lean[3])() and np.array_equal(lean[3], kernel(*lean[:3]))
    single = [np.asfortranarray(x)[4] for x in lean]  # one of which numbers do not lie side by side
    single[3] = np.empty(7, np.float32)
    assert kernel.bind(*single[:3], out=single[3])() and np.array_equal(single[3], lean[3][4])
    with pytest.raises(lw.InputError, match="q must be an aligned float32 array, as out is"):
        kernel.bind(many[0], *lean[1:3], out=lean[3])
    with pytest.raises(lw.InputError, match="q must be"):
        kernel.bind(q[:5], v, tau, out=out)
    with pytest.raises(lw.InputError, match="out"):
        kernel.bind(q, v, tau, out=np.empty(6))
    with pytest.raises(lw.InputError, match="float64"):
        kernel.bind(q.astype(np.float32), v, tau, out=out)
    with pytest.raises(lw.InputError, match="v must be an aligned float32"):
        kernel.bind(q.astype(np.float32), v, tau, out=out.astype(np.float32))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("states", [(), (21,)])
def test_bound_arrays_of_several_results(states, dtype, rng):
    for robot, rolled in ((lw.load("double_pendulum"), False), (lw.chain(33, seed=0), True)):
        kernel = robot.compile("linearize_inverse", rolled=rolled)
        given = [rng.normal(size=(*states, robot.nv)).astype(dtype) for _ in range(3)]
        out = [np.full((*states, robot.nv, robot.nv), np.nan, dtype) for _ in range(3)]
        call = kernel.bind(*given, out=out)
        given[1] *= dtype(0.5)
        assert call() is True and all(np.array_equal(x, y) for x, y in zip(out, kernel(*given)))
        with pytest.raises(lw.InputError, match="out"):
            kernel.bind(*given, out=out[0])
        with pytest.raises(lw.InputError, match="out"):
            kernel.bind(*given, out=out[:2])
        with pytest.raises(lw.InputError, match="bind 3 arrays"):
            kernel.bind(*given[:2], out=out)


def test_a_subclass_keeps_its_own_method():
    class Doubled(lw.Robot):
        def gravity_force(self, q):
            return 2.0 * super().gravity_force(q)

    plain = lw.load("double_pendulum")
    r = Doubled(plain.name, plain.bodies, plain.extra_frames, plain.gravity)
    q = np.array([0.3, -0.2])
    for _ in range(3):
        assert np.allclose(r.gravity_force(q), 2.0 * plain.gravity_force(q))


def test_arguments_given_twice_or_unknown_are_refused():
    r = lw.load("double_pendulum")
    q = np.zeros(2)
    for target in ("cpu", "numpy"):
        with pytest.raises(TypeError):
            r.mass_times(q, q, q=q, target=target)
        with pytest.raises(lw.UnknownNameError):
            r.forward_dynamics(q, q, q, method=None, target=target)


def test_no_joints_and_no_states():
    r = lw.load("panda")
    kernel = r.compile("mass_times")
    assert kernel(np.zeros((0, 7)), np.zeros((0, 7))).shape == (0, 7)
    out = np.full((3, 7), 5.0)
    assert kernel.bind(np.zeros((0, 7)), np.zeros((0, 7)), out=out[:0])() is True
    assert (out == 5.0).all()
    still = lw.assemble("still", [lw.Body("b", lw.Joint(lw.Fixed()), lw.Inertia(1.0))])
    assert still.mass_matrix(np.zeros((2, 3, 0))).shape == (2, 3, 0, 0)


def test_results_go_only_where_they_may(rng):
    kernel = lw.load("double_pendulum").compile("mass_times")
    q, x = rng.normal(size=(2, 2))
    frozen = np.zeros(2)
    frozen.setflags(write=False)
    for call in (lambda: kernel(q, x, out=frozen), lambda: kernel.bind(q, x, out=frozen)):
        with pytest.raises(lw.InputError, match="writeable"):
            call()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_computes_too():
    robot = lw.load("double_pendulum")
    q = robot.random_configuration(0, 5000)
    expected = robot.gravity_force(q)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        same = np.array_equal(robot.gravity_force(q), expected)
        os.write(writing, b"1" if same else b"0")
        os._exit(0)
    ready, _, _ = select.select([reading], [], [], PATIENCE)
    assert ready and os.read(reading, 1) == b"1"
    os.waitpid(child, 0)


def test_a_call_left_to_numpy_says_so_once_at_the_users_line(monkeypatch, tmp_path):
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    monkeypatch.setattr("linkwise.codegen.thresholds.LONGEST_CODE", 10)
    robot, q = lw.load("panda"), np.zeros(7)
    with pytest.warns(
        lw.SlowPathWarning, match=r"gravity_force\(q\) of 'panda' runs on NumPy, not compiled: left to"
    ) as seen:
        first = robot.gravity_force(q)
    assert [w.filename for w in seen] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(robot.gravity_force(q), first)  # the second time it is known
        assert np.array_equal(lw.load("panda").gravity_force(q, target="numpy"), first)


def test_a_call_that_cannot_be_traced_says_so(tmp_path, monkeypatch):
    class Odd(lw.Robot):
        @dispatch.compiled(q="nq")
        def sign_of_first(self, q):
            """±1, by a question that symbols cannot answer."""
            return q * (1.0 if float(q[..., 0].sum()) > 0 else -1.0)

    robot = builders.chain(2, seed=1, cls=Odd)
    with pytest.warns(lw.SlowPathWarning, match=r"sign_of_first\(q\) of .* runs on NumPy.*test_default"):
        assert np.array_equal(robot.sign_of_first(np.array([-1.0, 2.0])), [1.0, -2.0])


def test_fixed_arguments_of_any_kind_run_compiled():
    """Arrays, sets and generators are read once, and code is kept by what they hold."""
    r = lw.load("four_bar")
    q = r.closed_configuration(r.neutral() + 0.3)
    v = r.closed_velocity(q, np.ones(3))
    a = r.forward_dynamics(q, v, v)
    names = [j.name for j in r.joints][:2]
    weights = np.array([2.0, 1.0])
    expected = r.inverse_dynamics(q, v, a, actuated=names, effort_weights=[2.0, 1.0])
    count = len(r._code)
    same = r.inverse_dynamics(q, v, a, actuated=np.array(names), effort_weights=weights)
    assert len(r._code) == count and (same == expected).all()
    weights[:] = 1.0, 50.0  # and what is kept does not follow the user's array
    other = r.inverse_dynamics(q, v, a, actuated=(n for n in names), effort_weights=weights)
    assert len(r._code) == count + 1 and np.abs(other - expected).max() > 1e-3
    assert (r.inverse_dynamics(q, v, a, actuated=names, effort_weights=[2.0, 1.0]) == expected).all()

    arm = lw.chain(3, seed=1)
    x = arm.neutral() + 0.3
    given = ["joint3", "joint1"]
    expected = arm.hybrid_dynamics(x, x, x, x, given, target="numpy")
    for kinds, some in (
        (1, [given, tuple(given), np.array(given), (n for n in given), dict(enumerate(given)).values()]),
        (2, [set(given), frozenset(given[::-1]), dict.fromkeys(given).keys()]),
    ):
        for one in some:
            assert_near(arm.hybrid_dynamics(x, x, x, x, one), expected, 1e-12)
        assert len(arm._code) == kinds
    kernel = arm.compile("hybrid_dynamics", prescribed=(n for n in given))
    assert_near(kernel(x, x, x, x), expected, 1e-12)


def test_frames_in_an_array_are_those_of_a_list_and_a_set_is_none():
    arm = lw.chain(3, seed=1)
    q, frames = arm.neutral() + 0.3, [b.name for b in arm.bodies[-2:]]
    for target in ("cpu", "numpy"):
        expected = arm.operational_compliance(q, frames, target=target)
        assert (arm.operational_compliance(q, np.array(frames), target=target) == expected).all()
        with pytest.raises(lw.LinkwiseError):
            arm.operational_compliance(q, set(frames), target=target)


def test_a_fixed_argument_that_cannot_be_kept_says_that_numpy_runs():
    arm = lw.chain(3, seed=1)
    q = arm.neutral() + 0.3
    with pytest.warns(lw.SlowPathWarning, match=r"hybrid_dynamics of .* runs on NumPy.*prescribed") as said:
        found = arm.hybrid_dynamics(q, q, q, q, {"joint1": 0.0})
    assert len(said) == 1 and said[0].filename == __file__
    assert_same(found, arm.hybrid_dynamics(q, q, q, q, ["joint1"], target="numpy"))
    with pytest.raises(lw.InputError, match="masked"):
        arm.hybrid_dynamics(q, q, q, q, np.ma.masked_array(["joint1"], mask=[True]))


@pytest.mark.parametrize("first", [True, False])
def test_true_is_not_one_whatever_was_called_before(first):
    arm = lw.chain(3, seed=1)
    q, tip = arm.neutral(), arm.bodies[-1].name
    if first:
        arm.acceleration(q, q, q, tip, spatial=True)
    with pytest.raises(lw.InputError, match="spatial"):
        arm.acceleration(q, q, q, tip, spatial=1)


def test_options_of_compile_are_checked_for_every_target():
    arm = lw.chain(3, seed=1)
    for target in ("cpu", "numpy", "c"):
        with pytest.raises(lw.InputError, match="dtype.*int8.*float64, float32"):
            arm.compile("gravity_force", target=target, dtype="int8")
        with pytest.raises(lw.InputError, match="rolled must be True or False"):
            arm.compile("gravity_force", target=target, rolled="yes")
