"""Operators applied as compiled code: every path gives what the sweeps on NumPy arrays give."""

import copy
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from operator_zoo import EXPRESSIONS, LEAVES, make
from trees import assert_close, robot

import linkwise as lw
from linkwise.codegen import thresholds

TOLERANCE = 1e-11


def small(seed=2, **options):
    """A tree of mixed joints, small so that code is there quickly."""
    return lw.random_tree(3, seed=seed, rotors=True, **options)


def operators(r, batch=(), seed=0):
    rng = np.random.default_rng(seed)
    q = r.random_configuration(rng, batch)
    return r.operators(q, v=rng.normal(size=(*batch, r.nv)), a=rng.normal(size=(*batch, r.nv)))


def vector(A, batch=(), seed=1):
    return np.random.default_rng(seed).normal(size=(*batch, A.cols.dimension))


def both(A, x):
    """(compiled, by sweeps)."""
    return A.apply(x, target="cpu"), A.apply(x, target="numpy")


def kernels(r):
    """How many formulas of a robot have code of their own."""
    return len(r._code)


# --- every operator ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in [*LEAVES, *EXPRESSIONS] if not n.startswith("I")])
def test_code_does_what_the_sweeps_do(name):
    """Batches of states and of vectors that broadcast, and one state; no way round the code."""
    r = robot("code")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for batch, x_batch in (((), ()), ((2, 1), (3,))):
            A = make(name, operators(r, batch))
            found, expected = both(A, vector(A, x_batch))
            assert found.shape == expected.shape and found.dtype == expected.dtype
            assert_close(found, expected, TOLERANCE)


@pytest.mark.parametrize("name", ["inverse mass", "inverse with other inertia", "compliance", "user's block diagonal"])
def test_columns(name):
    A = make(name, operators(robot("code"), (2,)))
    X = np.random.default_rng(0).normal(size=(2, A.cols.dimension, 4))
    assert_close(A.apply_columns(X, target="cpu"), A.apply_columns(X, target="numpy"), TOLERANCE)
    with pytest.raises(lw.SpaceError, match="columns"):
        A.apply_columns(X[:, :-1])


# --- kinds of arrays ---------------------------------------------------------------------------------


@pytest.fixture
def r():
    return robot("code")


@pytest.fixture
def mass_inverse(r):
    return operators(r).mass.inv()


def test_float32_stays(r):
    q = r.random_configuration(0, 5).astype(np.float32)
    A = (0.3 * r.operators(q).mass + 0.1 * r.operators(q).I_joints).inv()
    found, expected = both(A, vector(A).astype(np.float32))
    assert found.dtype == expected.dtype == np.float32
    assert_close(found, expected, 1e-3)
    assert A.apply(vector(A), target="cpu").dtype == np.float64


def test_lists_integers_and_strides(mass_inverse):
    A, n = mass_inverse, mass_inverse.cols.dimension
    expected = A.apply(np.arange(n, dtype=float), target="numpy")
    wide = np.zeros((n, 3))
    wide[:, 1] = np.arange(n)
    for x in (list(range(n)), tuple(range(n)), np.arange(n), np.arange(n, dtype=np.int8), wide[:, 1], wide.T[1]):
        assert_close(A.apply(x, target="cpu"), expected, 1e-13)


def test_complex_and_extended_numbers_take_the_sweeps():
    r = robot("chain4")
    q, x = r.random_configuration(0), np.random.default_rng(0).normal(size=r.nv)
    A = r.operators(q).mass
    assert_close(A.apply(1j * x, target="cpu"), 1j * A.apply(x, target="numpy"), 1e-13)
    step = r.operators(q + 1e-30j * x).mass.apply(x, target="cpu")
    assert step.dtype == complex
    assert A.apply(x.astype(np.longdouble), target="cpu").dtype == np.longdouble
    assert r.operators(q.astype(np.longdouble)).mass.apply(x, target="cpu").dtype == np.longdouble


def test_jax_arrays_stay():
    jnp = pytest.importorskip("jax.numpy")
    r = robot("chain2")  # each operation is compiled by itself
    q, x = r.random_configuration(0), np.random.default_rng(0).normal(size=r.nv)
    expected = r.operators(q).mass.apply(x, target="numpy")
    for found in (r.operators(jnp.asarray(q)).mass @ x, r.operators(q).mass.apply(jnp.asarray(x), target="cpu")):
        assert not isinstance(found, np.ndarray)
        assert_close(np.asarray(found), expected, 1e-5)


def test_nan_passes_through():
    arm = robot("chain4")
    q = arm.random_configuration(0, 3)
    q[1, 2] = np.nan
    for A in (arm.operators(q).mass, arm.operators(q).mass.inv()):
        found, expected = both(A, np.ones(4))
        np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
        assert_close(found[[0, 2]], expected[[0, 2]], 1e-12)
    single = arm.operators(q[1]).mass.inv()
    assert np.isnan(single.apply(np.ones(4), target="cpu")).any()


def test_what_does_not_fit_is_said_as_before(mass_inverse):
    A, n = mass_inverse, mass_inverse.cols.dimension
    for x in (np.ones(n + 1), np.ones((n, n + 1)), 3.0, np.float64(3.0), [[1.0]]):
        words = []
        for target in ("cpu", "numpy"):
            with pytest.raises(lw.SpaceError) as caught:
                A.apply(x, target=target)
            words.append(str(caught.value))
        assert words[0] == words[1] and "joint space" in words[0]
    for x in ("abc", ["a"] * n, None, [[1.0], [1.0, 2.0]]):
        with pytest.raises(lw.InputError):
            A.apply(x, target="cpu")
    batch = operators(robot("code"), (3,)).mass
    with pytest.raises(lw.SpaceError, match=r"batch of shape \(3,\).*\(4,\)"):
        batch.apply(np.ones((4, n)), target="cpu")
    with pytest.raises(lw.InputError, match="choose from cpu, numpy"):
        A.apply(np.ones(n), target="cuda")


def test_empty_batches(mass_inverse):
    n = mass_inverse.cols.dimension
    assert mass_inverse.apply(np.zeros((0, n)), target="cpu").shape == (0, n)


# --- singular states ---------------------------------------------------------------------------------


def test_singular_states_are_refused_as_by_the_sweeps():
    """Where structure allows an inverse and numbers do not: the same words, not 10¹⁷."""
    arm = robot("chain4")
    rng = np.random.default_rng(0)
    cases = []
    for _ in range(2):
        o = arm.operators(arm.random_configuration(rng))
        cases += [(o.J @ o.mass.inv() @ o.J.T).inv(), (o.J @ o.J.T).inv()]
        cases += [o.block_diagonal([np.zeros((6, 6))] * 4).inv(), (o.J @ o.J.T + 1e-16 * o.I_tips).inv()]
        cases += [(o.H @ o.phi @ o.block_diagonal([np.zeros((6, 6))] * 4) @ o.phi.T @ o.H.T).inv()]
    seven = lw.load("panda")
    o = seven.operators(seven.neutral())
    cases.append((o.J.T @ o.J).inv())  # seven joints, six directions
    for A in cases:
        words = []
        for target in ("cpu", "numpy"):
            with pytest.raises(lw.SingularError) as caught:
                A.apply(np.ones(A.cols.dimension), target=target)
            words.append(str(caught.value))
        assert words[0] == words[1], str(A)


def test_inverses_near_a_singular_state():
    """As the tip comes near one: exact as far as the condition allows, or refused by both."""
    arm = lw.load("ur5")
    q = arm.random_configuration(1)
    x = np.ones(6)
    for distance in 10.0 ** -np.arange(0, 12):
        o = arm.operators(q * np.array([1, 1, distance, 1, 1, 1]), frames="tool0")
        A = o.J @ o.mass.inv() @ o.J.T
        condition = np.linalg.cond(A.dense())
        try:
            expected = A.inv().apply(x, target="numpy")
        except lw.SingularError:
            with pytest.raises(lw.SingularError):
                A.inv().apply(x, target="cpu")
            continue
        assert_close(A.inv().apply(x, target="cpu"), expected, 1e-14 * condition * max(1.0, np.abs(expected).max()))


def test_blocks_without_symmetry_keep_their_digits():
    """Their inverse comes from X*X, whose condition is the square: code must not lose half of the digits."""
    arm = robot("chain4")
    o = arm.operators(arm.neutral())
    rng = np.random.default_rng(3)
    for size in (1e1, 1e3, 1e5, 1e7):
        U, V = (np.linalg.qr(rng.normal(size=(6, 6)))[0] for _ in range(2))
        X = o.block_diagonal([U @ np.diag(np.geomspace(1.0, size, 6)) @ V] * 4)
        found, expected = both(X.inv(), np.ones(24))
        assert_close(found, expected, 1e-13 * size)


def test_what_code_cannot_vouch_for_is_said_once():
    arm = lw.chain(4, seed=11)
    o = arm.operators(arm.neutral())
    rng = np.random.default_rng(3)
    U, V = (np.linalg.qr(rng.normal(size=(6, 6)))[0] for _ in range(2))
    A = o.block_diagonal([U @ np.diag(np.geomspace(1.0, 1e7, 6)) @ V] * 4).inv()
    expected = A.apply(np.ones(24), target="numpy")
    with pytest.warns(lw.SlowPathWarning, match=r"X⁻¹ of .* is computed again on NumPy.*nearly singular") as said:
        assert np.array_equal(A.apply(np.ones(24), target="cpu"), expected)
        assert np.array_equal(A.apply_columns(np.ones((24, 1)), target="cpu")[:, 0], expected)
    assert len(said) == 1


# --- one formula, one code ---------------------------------------------------------------------------


def test_numbers_and_blocks_are_inputs_of_the_code():
    r = small()
    rng = np.random.default_rng(0)
    o = operators(r)
    before = kernels(r)
    for c in (0.1, 0.25, 3.0, 1e-7):
        found, expected = both((o.mass + c * o.I_joints).inv() - 2.0 * c * o.D_inverse, vector(o.mass))
        assert_close(found, expected, TOLERANCE)
    assert kernels(r) == before + 1
    for i in range(3):
        at = operators(r, seed=i)
        X = at.block_diagonal([A @ A.T + np.eye(6) for A in rng.normal(size=(3, 6, 6))], name=f"X{i}")
        found, expected = both((at.H @ at.phi @ (X + c * at.M) @ at.phi.T @ at.H.T).inv(), vector(at.mass))
        assert_close(found, expected, TOLERANCE)
    assert kernels(r) == before + 2


def test_coefficients_that_meet_stay_apart():
    """2A + 2B and 2A + 4B, (2A)⁻¹ and (4A)⁻¹: code of one must not answer for the other."""
    r = small()
    o = operators(r)
    for a, b in ((2.0, 2.0), (2.0, 4.0), (2.0, -2.0), (-1.0, 2.0), (0.5, 0.5)):
        for A in (a * o.D + b * o.rotor_inertia, (a * o.P + abs(b) * o.M).inv()):
            found, expected = both(A, vector(A))
            assert_close(found, expected, 1e-10)


def test_operators_of_two_states_in_one_formula():
    r = small()
    a, b = operators(r, seed=1), operators(r, (2,), seed=2)
    for A in (a.mass - b.mass, a.mass @ b.mass.inv(), b.phi @ a.M @ b.phi.T, b.mass - 0.5 * a.mass):
        found, expected = both(A, vector(A))
        assert found.shape == (2, A.rows.dimension)
        assert_close(found, expected, TOLERANCE)
    x = vector(a.mass)
    assert_close(both(a.mass - b.mass, x)[0], both(a.mass, x)[0] - both(b.mass, x)[0], 1e-10)


def test_configurations_share_their_code():
    r = small()
    before = kernels(r)
    for i in range(5):
        o = operators(r, seed=i)
        (o.J @ o.mass.inv() @ o.J.T).simplify().apply(np.ones(o.tips.dimension), target="cpu")
    assert kernels(r) == before + 1


def test_frames_given_as_objects():
    r = lw.chain(3, seed=1)
    frames = [lw.Frame("grip", "link3", at=(0.1, 0.2, z)) for z in (0.3, 0.4, 0.3)]
    q = r.random_configuration(0)
    results = []
    for frame in frames:
        found, expected = both(r.operators(q, frames=frame).J, np.ones(3))
        assert_close(found, expected, 1e-13)
        results.append(found)
    assert np.array_equal(results[0], results[2]) and not np.allclose(results[0], results[1])


def test_changed_robots_have_their_own_code():
    """A clone with other numbers, in either order."""
    r = lw.chain(3, seed=1)
    heavy = r.with_inertial_parameters(2.0 * r.inertial_parameters)
    x = np.ones(3)
    for first, second, ratio in ((r, heavy, 2.0), (lw.chain(3, seed=2), None, 1.0)):
        q = first.random_configuration(0)
        y = first.operators(q).mass.apply(x, target="cpu")
        if second is not None:
            assert_close(second.operators(q).mass.apply(x, target="cpu"), ratio * y, 1e-12)


class Sprung(lw.Revolute):
    """A joint kind of the user's own: its code must not go to the disk."""


def test_joint_kinds_of_the_users_own():
    r = lw.chain(3, joint=Sprung("y"))
    assert r.fingerprint is None
    o = r.operators(r.random_configuration(0))
    found, expected = both(o.mass.inv(), np.ones(3))
    assert_close(found, expected, 1e-12)


def test_equal_robots_find_the_code_on_the_disk(tmp_path):
    """In another process, which need not trace again."""
    script = (
        "import numpy as np, linkwise as lw\n"
        "r = lw.chain(3, seed=9)\n"
        "o = r.operators(r.neutral())\n"
        "A = (o.mass + 0.5 * o.I_joints).inv()\n"
        "print(repr((A @ np.ones(3)).tolist()))\n"
        "kernel = next(iter(r._code._kept.values()))\n"
        "print(kernel.is_remembered, [x.name for x in kernel.passes])\n"
    )
    import os

    environment = {**os.environ, "LINKWISE_CACHE": str(tmp_path), "LINKWISE_TARGET": "cpu"}
    outputs = []
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout.splitlines())
    assert outputs[0][0] == outputs[1][0]
    assert outputs[0][1].startswith("False") or "trace" in outputs[0][1]
    assert outputs[1][1].startswith("True") and "trace" not in outputs[1][1]


# --- copies ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize(
    "name",
    ["inverse mass", "simplified compliance", "inverse of the user's", "recursion ψφ", "inverse with other inertia"],
)
def test_copies_are_the_same(name, way):
    A = make(name, operators(robot("code"), (2,)))
    B = way(A)
    assert str(B) == str(A) and [u.name for u in B.used] == [u.name for u in A.used]
    x = vector(A)
    assert np.array_equal(B.apply(x, target="numpy"), A.apply(x, target="numpy"))
    assert_close(B.apply(x, target="cpu"), A.apply(x, target="cpu"), 1e-13)
    assert (B.rows, B.cols) == (A.rows, A.cols)


def test_formulas_of_equal_robots_go_together():
    a, b = (lw.chain(3, seed=4) for _ in range(2))
    assert a == b and a is not b
    q = a.random_configuration(0)
    both_ways = a.operators(q).mass @ b.operators(q).mass.inv()
    assert_close(both_ways.apply(np.ones(3), target="cpu"), np.ones(3), 1e-11)


# --- where there is no code --------------------------------------------------------------------------


def test_great_robots_have_code_too():
    r = lw.chain(70)
    o = r.operators(r.random_configuration(0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = o.mass.apply(np.ones(70), target="cpu")
    assert_close(y, o.mass.apply(np.ones(70), target="numpy"), 1e-10)


def test_what_is_too_long_says_once_that_sweeps_run(monkeypatch, tmp_path):
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))  # where it is kept what was refused
    monkeypatch.setattr(thresholds, "LONGEST_TRACE", 500)
    r = lw.chain(6, seed=417)  # of which no other test has code
    o = r.operators(r.random_configuration(0))
    with pytest.warns(lw.SlowPathWarning, match=r"H φ M φ\* H\* runs as sweeps.*more than 500 values") as said:
        y = o.mass.apply(np.ones(6), target="cpu")
        r.operators(r.neutral()).mass.apply(np.ones(6), target="cpu")
    assert len(said) == 1
    assert_close(y, o.mass.apply(np.ones(6), target="numpy"), 0.0)


def test_long_formulas_do_not_hang(monkeypatch, tmp_path):
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    monkeypatch.setattr(thresholds, "LONGEST_CODE", 3000)
    r = lw.chain(5, seed=1)
    o = r.operators(r.random_configuration(0))
    A = o.phi
    for leaf in (o.P, o.psi.T, o.Upsilon, o.psi, o.R, o.phi.T) * 3:
        A = A @ leaf
    with pytest.warns(lw.SlowPathWarning, match="φ P ψ.*values"):
        A.apply(np.ones(30), target="cpu")


def test_the_default_is_that_of_methods(monkeypatch, r):
    """LINKWISE_TARGET is asked until there is code; what was once compiled is called from then on."""
    robot = r.with_gravity((0.1, 0.2, 0.3))
    A, x = operators(robot).mass, np.ones(r.nv)
    q, swept = robot.neutral(), A.apply(x, target="numpy")
    monkeypatch.setenv("LINKWISE_TARGET", "numpy")
    assert np.array_equal(A @ x, swept) and not robot._code.quick
    robot.gravity_force(q)
    assert not len(robot._code)
    monkeypatch.setenv("LINKWISE_TARGET", "cuda")
    for call in (lambda: A @ x, lambda: robot.gravity_force(q)):
        with pytest.raises(lw.InputError, match="LINKWISE_TARGET"):
            call()
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    compiled, force = A @ x, robot.gravity_force(q)
    assert_close(compiled, swept, 1e-12)
    monkeypatch.setenv("LINKWISE_TARGET", "cuda")
    assert np.array_equal(A @ x, compiled) and np.array_equal(robot.gravity_force(q), force)
    assert np.array_equal(A.apply(x, target="numpy"), swept)


def test_an_operator_that_needs_a_velocity_says_so(r):
    o = r.operators(r.neutral())
    for target in ("cpu", "numpy"):
        with pytest.raises(lw.InputError, match="needs a velocity"):
            o.V_tilde.apply(np.ones(6 * len(r.bodies)), target=target)
