"""Forward dynamics and 𝓜⁻¹T by scan: the sweeps' answers, on any tree, on NumPy and in JAX."""

import numpy as np
import pytest
from trees import ALL, assert_close, robot, state

import linkwise as lw
from linkwise.dynamics.scan.solve import levels_of


def star(arms, length):
    """Chains of so many links on one body that floats."""
    bodies = [lw.Body("hub", lw.Free(), lw.Inertia.box(5.0, (0.3, 0.2, 0.1)))]
    for i in range(arms):
        held = "hub"
        for j in range(length):
            joint = lw.Joint(lw.Revolute("xyz"[(i + j) % 3]), at=(0.2, 0.1 * i, 0.05))
            bodies.append(lw.Body(f"{i}_{j}", joint, lw.Inertia(0.5, (0.1, 0, 0), np.diag([0.01, 0.02, 0.02])), held))
            held = f"{i}_{j}"
    return lw.assemble("star", bodies)


def binary(depth):
    """Every body carries two."""
    bodies = []
    for k in range(2**depth - 1):
        joint = lw.Joint(lw.Revolute("xyz"[k % 3]), at=(0.2, (-1) ** k * 0.1, 0.0) if k else (0, 0, 0))
        inertia = lw.Inertia(1.0, (0.1, 0.02, 0), np.diag([0.01, 0.02, 0.02]))
        bodies.append(lw.Body(f"b{k}", joint, inertia, f"b{(k - 1) // 2}" if k else None))
    return lw.assemble("binary", bodies)


@pytest.mark.parametrize("name", ALL)
def test_mass_solve_and_inverse_agree_with_sweeps(name):
    r = robot(name)
    s = state(r)
    assert_close(r.mass_solve(s.q, s.tau, method="scan"), r.mass_solve(s.q, s.tau, target="numpy"), 1e-11)
    dense = np.linalg.inv(r.mass_matrix(s.q))
    assert_close(r.mass_matrix_inverse(s.q, method="scan"), dense, 1e-9)


@pytest.mark.parametrize(
    "make", [lambda: star(5, 7), lambda: star(40, 1), lambda: binary(6)], ids=["star", "hub", "binary"]
)
def test_trees_of_every_shape(make, rng):
    r = make()
    q, (v, tau) = r.random_configuration(rng, 2), rng.normal(size=(2, 2, r.nv))
    external = rng.normal(size=(2, len(r.bodies), 6))
    expected = r.forward_dynamics(q, v, tau, external=external, target="numpy")
    assert_close(r.forward_dynamics(q, v, tau, external=external, method="scan"), expected, 1e-11)


WIDE = np.finfo(np.longdouble).eps < np.finfo(float).eps


@pytest.mark.parametrize("n", [1, 2, 3, 5, 16, 63, 257, 1000])
def test_the_error_that_is_stated(n, rng):
    """In parts of the largest acceleration, from the sweep in extended precision where there is one; and in float32."""
    r = lw.chain(n, seed=1)
    q, v, tau = rng.normal(size=(3, n)) * np.array([[1.0], [1.0 / n], [1.0]])
    exact = r.forward_dynamics(*(x.astype(np.longdouble) for x in (q, v, tau)), target="numpy")
    largest = np.abs(exact).max()
    found = r.forward_dynamics(q, v, tau, method="scan")
    assert np.abs(found - exact).max() <= (2e-13 if WIDE else 1e-11) * largest
    single = r.forward_dynamics(*(x.astype(np.float32) for x in (q, v, tau)), method="scan")
    assert single.dtype == np.float32
    assert np.abs(single - exact).max() <= 1e-4 * largest


@pytest.mark.parametrize("n", [5, 20, 100])
def test_beside_the_dense_solution(n, rng):
    r = lw.chain(n, seed=2)
    q, tau = rng.normal(size=(2, n))
    mass = r.mass_matrix(q, target="numpy")
    found = r.mass_solve(q, tau, method="scan")
    assert np.abs(mass @ found - tau).max() <= 1e-11 * np.abs(mass).max() * np.abs(found).max()


@pytest.mark.parametrize("n", [1, 2, 7, 64, 100, 513, 1000])
def test_levels_on_a_chain(n):
    """⌈log₂n⌉ + 2 at most: counted, not timed. Every joint closes once, every two segments meet once."""
    found = levels_of(lw.chain(n))
    assert len(found) <= np.ceil(np.log2(n)) + 2
    closed = np.concatenate([c.bodies for x in found for c in x.closings])
    assert sorted(closed) == list(range(n))
    assert sum(x.outer.size for x in found) < n


@pytest.mark.parametrize(
    ("make", "most"),
    [
        (lambda: star(5, 64), 12),
        (lambda: star(100, 1), 2),
        (lambda: binary(7), 7),
        (lambda: lw.random_tree(120, seed=3), 14),
        (lambda: lw.random_tree(120, seed=4, floating=True), 14),
    ],
)
def test_levels_on_trees(make, most):
    assert len(levels_of(make())) <= most


def test_velocities_by_doubling(rng):
    """⌈log₂ depth⌉ rounds give what the outward sweep gives."""
    r = lw.random_tree(40, seed=2)
    q, v, tau = r.random_configuration(rng), *rng.normal(size=(2, r.nv))
    found, expected = (r.forward_quantities(q, v, tau, method=m) for m in ("scan", "articulated_body"))
    for name in ("V", "a", "b", "alpha"):
        for x, y in zip(found[name], expected[name], strict=True):
            assert_close(x, y, 1e-10)


# --- light bodies ------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [1.0, 1e-4, 1e-8, 1e-12, 0.0])
def test_light_links_wait_for_what_they_carry(share, rng):
    """Every second link lighter, to nothing at all: the sweep's answer all the same, in as many levels."""
    r = lw.chain(64, seed=1)
    light = {
        b.name: lw.Inertia(share * b.inertia.mass, b.inertia.com, share * b.inertia.tensor) for b in r.bodies[:-1:2]
    }
    r = r.with_inertias(light)
    q, tau = rng.normal(size=(2, 64))
    expected = r.mass_solve(q, tau, target="numpy")
    assert np.abs(r.mass_solve(q, tau, method="scan") - expected).max() <= 1e-11 * np.abs(expected).max()
    assert len(levels_of(r)) <= 8


def test_a_run_of_massless_links_is_one_long_step(rng):
    """Right, and as many levels as there are of them: nothing can be closed before what carries inertia."""
    bodies = [
        lw.Body(
            f"b{k}", lw.Joint(lw.Revolute("xyz"[k % 3]), at=(0.1, 0.2, 0)), lw.Inertia(0.0), f"b{k - 1}" if k else None
        )
        for k in range(4)
    ]
    bodies.append(lw.Body("hand", lw.Joint(lw.Prismatic("z"), at=(0, 0, 0.1)), lw.Inertia.box(1, (1, 2, 3)), "b3"))
    r = lw.assemble("massless", bodies)
    q, tau = rng.normal(size=(2, 5))
    assert_close(r.mass_solve(q, tau, method="scan"), r.mass_solve(q, tau, target="numpy"), 1e-11)
    assert len(levels_of(r)) == 5


def test_a_joint_that_nothing_resists_is_named():
    r = lw.chain(9).with_inertias({"link9": lw.Inertia(0.0)})
    with pytest.raises(lw.SingularError, match="link9"):
        r.mass_solve(np.zeros(9), np.ones(9), method="scan")


# --- where it runs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["code", "hinges"])
def test_jax_runs_the_same(name):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    r = robot(name)
    s = state(r)
    run = r.compile("forward_dynamics", method="scan", target="jax")
    assert_close(np.asarray(run(s.q, s.v, s.tau)), r.forward_dynamics(s.q, s.v, s.tau, target="numpy"), 1e-10)


def test_jax_differentiates_it():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    r = robot("chain6")
    s = state(r, ())
    q, v = jax.numpy.asarray(s.q), jax.numpy.asarray(s.v)
    slope = jax.jit(jax.jacobian(lambda tau: r.forward_dynamics(q, v, tau, method="scan")))
    assert_close(np.asarray(slope(s.tau)), r.mass_matrix_inverse(s.q, target="numpy"), 1e-9)


def test_complex_steps_differentiate_it(rng):
    r = robot("tree_rotors")
    s = state(r, ())
    step = 1e-30
    for i in range(3):
        found = r.forward_dynamics(s.q, s.v + 1j * step * np.eye(r.nv)[i], s.tau, method="scan").imag / step
        expected = r.forward_dynamics(s.q, s.v + 1j * step * np.eye(r.nv)[i], s.tau, target="numpy").imag / step
        assert_close(found, expected, 1e-10)


def test_what_is_not_admitted_is_refused_by_name():
    r = lw.chain(3)
    x = np.zeros(3)
    with pytest.raises(lw.InputError, match="arrays of all bodies"):
        r.forward_dynamics(x, x, x, method="scan", target="cpu")
    with pytest.raises(lw.UntraceableError, match="no scalar code"):
        r.compile("mass_solve", method="scan")
    coupled = r.couple("joint3", "joint2")
    with pytest.raises(lw.NotAdmittedError, match="coupled"):
        coupled.mass_solve(x[:2], x[:2], method="scan")
    closed = lw.load("four_bar")
    q = closed.neutral()
    with pytest.raises(lw.NotAdmittedError, match="has loops"):
        closed.forward_dynamics(q, q, q, method="scan")
    with pytest.raises(lw.NotAdmittedError, match="one way"):
        closed.mass_solve(q, q, method="scan")
