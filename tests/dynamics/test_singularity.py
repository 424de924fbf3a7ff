"""When a matrix counts as singular: one criterion, relative, the same on every target."""

import ctypes
import shutil
import subprocess
import warnings
from dataclasses import replace

import numpy as np
import pytest

import linkwise as lw
from linkwise import singularity
from linkwise.codegen.program.trace import trace

FORWARD = ("forward_dynamics", "mass_solve", "mass_matrix_inverse", "linearize_forward", "joint_rates")


def coaxial(rng, between=(), scale=1.0):
    """Two coaxial hinges around massless links, in a random place: nothing resists the first one."""
    axis = np.linalg.qr(rng.normal(size=(3, 3)))[0][:, 0]
    bodies = [lw.Body("first", lw.Joint(lw.Revolute(axis), at=rng.normal(size=3)), lw.Inertia(0.0))]
    for i, kind in enumerate(between):
        bodies.append(lw.Body(f"between{i}", lw.Joint(kind, at=rng.normal() * axis), lw.Inertia(0.0), bodies[-1].name))
    tensor = scale * np.diag([1.0, 2.0, 1.5])
    heavy = lw.Inertia(scale * rng.uniform(1, 2), com=rng.normal(size=3), tensor=tensor)
    bodies.append(lw.Body("last", lw.Joint(lw.Revolute(axis), at=rng.normal() * axis), heavy, bodies[-1].name))
    return lw.assemble("coaxial", bodies)


def called(robot, name, target, dtype=float):
    q, *others = (np.full(robot.nv, 0.3, dtype) for _ in range(4))
    count = len(getattr(lw.Robot, name).facts.needed) - 1
    return getattr(robot, name)(q, *others[:count], target=target)


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("name", FORWARD)
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_coaxial_hinges_around_a_massless_link_are_refused(name, target, scale):
    rng = np.random.default_rng(3)
    for _ in range(6):
        with pytest.raises(lw.SingularError, match="first"):
            called(coaxial(rng, scale=scale), name, target)


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("name", FORWARD)
@pytest.mark.parametrize("tilt", [1e-7, 1e-8, 1e-12])
def test_hinges_that_are_nearly_coaxial_are_refused(name, target, tilt):
    """Frames and inertias that take fewer operations leave a pivot there that is negative by rounding."""
    light = lw.Body("first", lw.Joint(lw.Revolute("z")), lw.Inertia(0.0))
    heavy = lw.Inertia(1.0, com=(0.1, 0.2, 0.3), tensor=np.eye(3))
    robot = lw.assemble("tilted", [light, lw.Body("last", lw.Joint(lw.Revolute((tilt, 0.0, 1.0))), heavy, "first")])
    with pytest.raises(lw.SingularError, match="first"):
        called(robot, name, target)


PIVOTS = {
    "x": lambda x, a: x,
    "-x": lambda x, a: -x,
    "-2x": lambda x, a: -2.0 * x,
    "x - a": lambda x, a: x - a,
    "a - x": lambda x, a: a - x,
    "-(x + a)": lambda x, a: -(x + a),
    "-xa": lambda x, a: -x * a,
    "1 / x": lambda x, a: 1.0 / x,
    "-1 / x": lambda x, a: -1.0 / x,
}
USES = (
    lambda y, a: y,
    lambda y, a: -y,
    lambda y, a: y * a,
    lambda y, a: a - 2.0 * (y * a),
    lambda y, a: y * (-2.0 * a),
    lambda y, a: y - 1.0,
    lambda y, a: y / a,
)


@pytest.mark.parametrize("name", PIVOTS)
def test_programs_look_at_pivots_of_any_sign_wherever_they_are_used(name):
    """Signs of what is inverted go on to its users, and its guards must stay."""
    for use in USES:

        def inverted(robot, x, a, use=use):
            matrix = np.full((1, 1), PIVOTS[name](x[0], a[0]), dtype=object)
            return np.array([use(singularity.inverse(matrix, np.array([3.0]))[0][0, 0], a[0])], dtype=object)

        program = trace(lw.chain(1), inverted, "inverted", {"x": 1, "a": 1}, ("x", "a"), (), True)
        assert sorted(guard.size for guard in program.guards) == [0.0, 3.0]


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_single_precision_has_its_own_rounding(target):
    rng = np.random.default_rng(3)
    for _ in range(6):
        with pytest.raises(lw.SingularError, match="first"):
            called(coaxial(rng), "forward_dynamics", target, np.float32)


@pytest.mark.parametrize("method", sorted(set(lw.FORWARD_METHODS) - {"armstrong"}))
def test_every_forward_method_refuses(method):
    robot = coaxial(np.random.default_rng(1))
    x = np.array([0.3, -0.2])
    with pytest.raises(lw.SingularError):
        robot.forward_dynamics(x, x, x, method=method, target="numpy")


def test_a_light_link_that_rounding_swallows_is_refused_and_one_that_it_does_not_is_right():
    """The inertia of the link between two coaxial hinges against that of the body beyond them."""
    for ratio, sound in ((1e-20, False), (1e-17, False), (1e-10, True), (1e-6, True)):
        light, heavy = (lw.Inertia(x, tensor=x * np.diag([1.0, 2.0, 1.5])) for x in (ratio, 1.0))
        bodies = [lw.Body("a", lw.Joint(lw.Revolute("z")), light)]
        robot = lw.assemble("two", [*bodies, lw.Body("b", lw.Joint(lw.Revolute("z")), heavy, "a")])
        for target in ("numpy", "cpu"):
            if sound:
                found = robot.mass_solve(np.zeros(2), np.array([ratio, 0.0]), target=target)
                assert np.allclose(found, [1 / 1.5, -1 / 1.5], rtol=2e-16 / ratio + 1e-12)
            else:
                with pytest.raises(lw.SingularError):
                    robot.mass_solve(np.zeros(2), np.ones(2), target=target)


OPERATIONAL = {
    "inertia": lambda r, q, v, t: r.operational_inertia(q, "tip", target=t),
    "bias": lambda r, q, v, t: r.operational_bias(q, v, "tip", target=t),
    "derivative": lambda r, q, v, t: r.operational_inertia_derivative(q, "tip", target=t),
    "inverse of J": lambda r, q, v, t: r.consistent_inverse(q, "tip", target=t),
    "two tips": lambda r, q, v, t: r.operational_inertia(q, ["tip", "link5"], target=t),
}


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("name", OPERATIONAL)
def test_operational_inertias_of_five_joints_do_not_exist(name, target, rng):
    robot = lw.chain(5, seed=3)
    for q in robot.random_configuration(rng, 12):
        with pytest.raises(lw.SingularError, match="does not exist in 1 of 1"):
            OPERATIONAL[name](robot, q, q, target)


def test_kernels_give_nan_where_they_do_not_exist(rng):
    """And what they always gave where they do: six joints away from a singular pose, and in one."""
    robot = lw.load("panda")
    q = robot.random_configuration(rng, 37)
    kernel = robot.compile("operational_inertia", frame="panda_hand_tcp")
    clean = kernel(q)
    assert np.isfinite(clean).all()
    q[[3, 20]] = 0.0  # the stretched arm
    found = kernel(q)
    assert np.isnan(found[[3, 20]]).all()
    assert np.array_equal(np.delete(found, [3, 20], 0), np.delete(clean, [3, 20], 0))
    assert np.isnan(kernel(q[3])).all() and np.isnan(kernel.quick(q[3])).all()
    five = lw.chain(5, seed=1).compile("operational_inertia", frame="tip")
    assert np.isnan(five(rng.normal(size=(9, 5)))).all()


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("factor", [1e-20, 1e4])
def test_clones_are_judged_by_their_own_numbers(factor, target, rng):
    """What a joint carries is that of the clone: a heavier one is no less singular, a lighter one no more."""

    def scaled(robot):
        M = [c.M for c in robot.constants()]
        parts = [type(x)(factor * x.m, factor * x.h, factor * x.J) for x in M]
        return robot.with_constants([replace(c, M=x) for c, x in zip(robot.constants(), parts)])

    for _ in range(12):
        robot = coaxial(rng)
        with pytest.raises(lw.SingularError):
            scaled(robot).forward_dynamics(*rng.normal(size=(3, 2)), target=target)
    sound = lw.chain(3, seed=1)
    q, tau = rng.normal(size=(2, 3))
    found = scaled(sound).mass_solve(q, factor * tau, target=target)
    assert np.allclose(found, sound.mass_solve(q, tau), rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("joints", [3, 4, 5])
def test_too_few_joints_give_nan_in_every_one_of_many_states(joints, dtype, rng):
    """Pivots that are roundings may have either sign, and their inverses may cancel in a sum."""
    kernel = lw.chain(joints, seed=joints).compile("operational_inertia", frame="tip")
    assert np.isnan(kernel(rng.normal(size=(3000, joints)).astype(dtype))).all()


def test_a_result_in_place_of_an_input(rng):
    """Massless gimbals lock where the middle one is straight."""
    kinds, masses = (lw.Revolute("z"), lw.Revolute("y"), lw.Revolute("z")), (0.0, 0.0, 1.0)
    bodies = [
        lw.Body(f"b{i}", lw.Joint(kind), lw.Inertia(m, tensor=m * np.diag([1.0, 2.0, 1.5])), f"b{i - 1}" if i else None)
        for i, (kind, m) in enumerate(zip(kinds, masses))
    ]
    kernel = lw.assemble("gimbals", bodies).compile("mass_solve")
    q, tau = rng.normal(size=(2, 5, 3))
    expected = kernel(q, tau)
    assert np.isfinite(expected).all()
    q[2, 1] = 0.0
    kernel(q, tau, out=tau)
    assert np.isnan(tau[2]).all() and np.array_equal(np.delete(tau, 2, 0), np.delete(expected, 2, 0))


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_c_gives_nan(tmp_path, rng):
    robot = lw.chain(5, seed=1)
    source = robot.compile("operational_inertia", frame="tip", target="c")
    path = source.write(tmp_path)[0]
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", path, "-o", tmp_path / "f.so", "-lm"], check=True)
    function = getattr(ctypes.CDLL(str(tmp_path / "f.so")), source.name)
    for q in robot.random_configuration(rng, 20):
        out = np.zeros((6, 6))
        function(q.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p))
        assert np.isnan(out).all()


def test_cuda_source_has_the_same_guard():
    source = lw.chain(5).compile("operational_inertia", frame="tip", target="cuda").source
    assert "= NAN;" in source and "<=" in source
    assert "NAN" not in lw.chain(5).compile("gravity_force", target="cuda").source


def test_jax_gives_nan(rng):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    robot = lw.chain(5, seed=3)
    kernel = robot.compile("operational_inertia", frame="tip", target="jax")
    assert all(np.isnan(kernel(q)).all() for q in robot.random_configuration(rng, 6))
    assert np.isnan(coaxial(rng).compile("mass_solve", target="jax")(np.ones(2), np.ones(2))).all()
    panda = lw.load("panda")
    q = panda.random_configuration(rng)
    expected = panda.operational_inertia(q, "panda_hand_tcp", target="numpy")
    found = panda.compile("operational_inertia", frame="panda_hand_tcp", target="jax")(q)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_rolled_code_has_the_same_criterion(rng):
    robot = coaxial(rng)
    with pytest.raises(lw.SingularError, match="every state"):
        robot.compile("forward_dynamics")
    kernel = robot.compile("forward_dynamics", rolled=True)
    assert np.isnan(kernel(*rng.normal(size=(3, 4, 2)))).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_criterion_hangs_on_no_units(dtype, rng):
    A = rng.normal(size=(4, 4))
    X = (A @ A.T).astype(dtype)
    flat = X.copy()
    flat[3] = flat[:, 3] = flat[0] + flat[1]
    flat[3, 3] = flat[3, 0] + flat[3, 1]
    for scale in (np.ones(4), 10.0 ** rng.uniform(-6, 6, 4)):
        D = scale.astype(dtype)[:, None] * scale.astype(dtype)
        assert not singularity.inverse(X * D)[1]
        assert singularity.inverse(flat * D)[1]
    assert not singularity.inverse(np.full((2, 2), np.nan, dtype))[1]
    assert singularity.inverse(np.zeros((2, 3, 3), dtype))[1].all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nor_does_that_of_matrices_without_symmetry(dtype, rng):
    X = rng.normal(size=(4, 4)).astype(dtype)
    flat = X.copy()
    flat[3] = flat[0] + flat[1]
    for rows, columns in (np.ones((2, 4)), 10.0 ** rng.uniform(-6, 6, (2, 4))):
        D = (rows[:, None] * columns).astype(dtype)
        found, singular = singularity.general_inverse(X * D)
        assert not singular
        one = found @ (X * D) * columns[:, None] / columns
        np.testing.assert_allclose(one, np.eye(4), atol=1e3 * np.finfo(dtype).eps)
        assert singularity.general_inverse(flat * D)[1]
    assert not singularity.general_inverse(np.full((2, 2), np.nan, dtype))[1]
    batch = np.stack([X[:2, :2], np.zeros((2, 2), dtype), X[2:, 2:]])
    assert singularity.general_inverse(batch)[1].tolist() == [False, True, False]


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_blocks_without_symmetry_are_refused_in_their_own_precision(dtype, target, rng):
    robot = lw.chain(3, seed=1)
    o = robot.operators(np.zeros(3, dtype))
    for X in rng.normal(size=(12, 6, 6)).astype(dtype):
        X[5] = X[:5].sum(axis=0)
        with pytest.raises(lw.SingularError, match="block 0"):
            o.block_diagonal([X] * 3).inv().apply(np.ones(18, dtype), target=target)


def libraries():
    """How a call is made on every target: what takes a method's name and arrays."""
    return {
        "cpu": lambda robot, name, q: getattr(robot, name)(*q, target="cpu"),
        "numpy": lambda robot, name, q: getattr(robot, name)(*q, target="numpy"),
        "kernel": lambda robot, name, q: robot.compile(name)(*q),
        "c": lambda robot, name, q: robot.compile(name, target="c"),
        "cuda": lambda robot, name, q: robot.compile(name, target="cuda"),
        "function": lambda robot, name, q: lw.compile(getattr(lw.Robot, name), robot)(*q),
        "jax": lambda robot, name, q: getattr(robot, name)(*map(pytest.importorskip("jax").numpy.asarray, q)),
        "torch": lambda robot, name, q: getattr(robot, name)(*map(pytest.importorskip("torch").tensor, q)),
    }


@pytest.mark.parametrize("way", libraries())
@pytest.mark.parametrize("name", ["forward_dynamics", "mass_matrix_inverse"])
def test_a_joint_that_nothing_resists_in_any_state_is_named_on_every_target(name, way, recwarn):
    robot = lw.chain(2, seed=1).with_inertias({"link2": lw.Inertia(0.0)})
    q = [np.full((3, 2), 0.3)] * (3 if name == "forward_dynamics" else 1)
    for _ in range(2):  # also where the answer is kept
        with pytest.raises(
            lw.SingularError, match="^the mass matrix is singular: nothing resists the joint of .*'link2'"
        ):
            libraries()[way](robot, name, q)
    assert not [x for x in recwarn if issubclass(x.category, lw.SlowPathWarning)]


def test_numpy_says_that_it_answers_what_symbols_refuse(monkeypatch):
    """Once, by name."""
    from linkwise.codegen import pipeline

    def refused(job):
        raise lw.SingularError("a matrix that is to be inverted is singular in every state")

    monkeypatch.setattr(pipeline, "compile_job", refused)
    robot = lw.chain(2, seed=3)
    with pytest.warns(
        lw.SlowPathWarning, match=r"gravity_force\(q\) of 'chain2' runs on NumPy, not compiled: a matrix"
    ):
        found = robot.gravity_force(np.ones(2), target="cpu")
    assert np.array_equal(found, robot.gravity_force(np.ones(2), target="numpy"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot.gravity_force(np.ones(2), target="cpu")
