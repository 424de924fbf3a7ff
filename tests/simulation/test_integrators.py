"""The fixed steps: order, energy, momentum, groups, batches, precision."""

import numpy as np
import pytest
from trees import KINDS

import linkwise as lw

ORDERS = {"semi_implicit_euler": 1, "variational": 2, "runge_kutta_4": 4}


def robot(name):
    """Two bodies on joints of one kind, "hinges" with rotors, a chain, or a built-in robot."""
    if name == "hinges":
        return lw.random_tree(3, seed=6, joints=["revolute", "prismatic", "helical"], rotors=True)
    if name == "rotors":
        return lw.random_tree(3, seed=4, joints=["revolute", "spherical"], floating=True, rotors=True)
    if name in KINDS:
        return lw.random_tree(2, seed=2, joints=[KINDS[name]])
    return lw.chain(int(name[5:]), seed=5) if name.startswith("chain") else lw.load(name)


def start(r, seed=0, speed=1.0):
    rng = np.random.default_rng(seed)
    return r.random_configuration(rng), speed * rng.normal(size=r.nv)


def distance(r, a, b):
    """How far two last samples are apart, positions on the manifold."""
    turn = np.abs(r.difference(b.q[-1], a.q[-1])).max()
    return max(turn, np.abs(a.v[-1] - b.v[-1]).max())


def pushed(r, t, q, v):
    """Gravity held in part, damped, and pushed by what changes with time."""
    wave = np.sin(5 * t) if isinstance(t, float) else (5 * t).sin()
    return 0.5 * r.gravity_force(q) - r.mass_times(q, 0.5 * v + wave)


JOINTS = ["chain3", "spherical", "planar", "free", "universal", "hinges", "custom_four"]
# Every kind of joint with two of the methods, every method with four kinds or more.
TURNS = [(name, list(ORDERS)[(i + k) % len(ORDERS)]) for i, name in enumerate(JOINTS) for k in (0, 1)]


@pytest.mark.parametrize(("name", "method"), TURNS)
def test_order_of_convergence(name, method):
    r = robot(name)
    if method == "variational" and name == "custom_four":
        with pytest.raises(lw.NotAdmittedError, match="do not commute"):
            lw.simulate(r, r.neutral(), method=method)
        return
    q, v = start(r, speed=0.5)
    check_order(r, method, lambda **how: lw.simulate(r, q, v, duration=0.2, damping=0.05, **how))


@pytest.mark.parametrize("method", ORDERS)
def test_order_with_a_controller(method):
    r = lw.load("double_pendulum")
    check_order(r, method, lambda **how: lw.simulate(r, [0.5, 0.8], [1.0, 0.0], pushed, duration=0.2, **how))


def check_order(r, method, run):
    exact = run(step=0.2, method="dop853", tolerances=(1e-13, 1e-14))
    h = 0.01 if method == "runge_kutta_4" else 0.002
    errors = [distance(r, run(step=h / k, method=method), exact) for k in (1, 2)]
    assert errors[0] / errors[1] == pytest.approx(2.0 ** ORDERS[method], rel=0.25)
    assert errors[1] > 1e-12  # rounding would hide the order


def test_symplectic_energy_error_stays_bounded_for_ten_seconds():
    r = lw.load("panda")
    q, v = start(r)
    drift = {m: lw.simulate(r, q, v, duration=10.0, step=1e-3, method=m).energy.drift for m in ORDERS}
    kinetic = lw.simulate(r, q, v, duration=10.0, every=10).energy.kinetic.max()
    # Second by second: the largest error of any second is of the size it has in the early ones, and its mean is not.
    seconds = drift["variational"][1:].reshape(10, 1000)
    assert np.abs(seconds).max() < 3e-4 * kinetic
    assert np.abs(seconds.mean(axis=1)).max() < 2e-5 * kinetic
    assert np.abs(drift["semi_implicit_euler"]).max() > 0.1 * kinetic
    assert abs(drift["semi_implicit_euler"][-1000:].mean()) > 0.1 * kinetic


def test_the_symplectic_step_has_no_drift_where_a_plain_one_of_its_order_has():
    """A hundred seconds at coarse steps, against the explicit midpoint rule."""
    r = lw.load("double_pendulum")
    q, v = np.array([2.0, 1.0]), np.zeros(2)
    h, n = 0.005, 20_000
    t = lw.simulate(r, q, v, duration=h * n, step=h, method="variational")
    plain = lw.simulate(r, q, v, duration=h * n, step=h, method="midpoint")
    tenth = n // 10
    ours = np.abs(t.energy.drift[1:].reshape(10, tenth)).max(axis=1)
    theirs = np.abs(plain.energy.drift)[1:].reshape(10, tenth).max(axis=1)
    assert ours[-3:].max() < 2.0 * ours[:3].max()
    assert theirs[-1] > 3.0 * theirs[0]


@pytest.mark.parametrize("name", ["rotors", "satellite", "free"])
def test_momentum_of_free_robots(name):
    """The variational step keeps momentum to rounding at any step; RK4 to its order."""
    r = robot(name).with_gravity((0, 0, 0))
    q, v = start(r)
    coarse = lw.simulate(r, q, v, duration=0.3, step=0.005, method="variational")
    size = np.abs(coarse.momentum[0]).max()
    assert np.abs(coarse.momentum - coarse.momentum[0]).max() < 1e-8 * size
    fine = lw.simulate(r, q, v, duration=0.3, step=0.001, method="runge_kutta_4")
    assert np.abs(fine.momentum - fine.momentum[0]).max() < 1e-7 * size


@pytest.mark.parametrize("method", [*ORDERS, "dop853"])
def test_quaternions_keep_unit_length(method):
    r = robot("spherical")
    q, v = start(r)
    q = q * 3.0  # quaternions of any length are taken
    t = lw.simulate(r, q, v, duration=0.5, step=0.01, method=method)
    for where in r.q_slices:
        assert np.abs(np.linalg.norm(t.q[:, where], axis=-1) - 1.0).max() < 1e-14


@pytest.mark.parametrize("method", ORDERS)
@pytest.mark.parametrize("name", ["double_pendulum", "free"])
def test_compiled_steps_are_the_steps_on_arrays(name, method):
    r = robot(name)
    q, v = r.random_configuration(1, (2, 3)), np.random.default_rng(1).normal(size=(2, 3, r.nv))
    options = {
        "duration": 0.05,
        "step": 0.005,
        "method": method,
        "damping": 0.02,
        "friction": lw.Friction(0.01, speed=0.2),
    }
    a = lw.simulate(r, q, v, pushed, **options)
    b = lw.simulate(r, q, v, pushed, target="numpy", **options)
    assert a.q.shape == (2, 3, 11, r.nq)
    for x, y in ((a.q, b.q), (a.v, b.v), (a.tau, b.tau), (a.energy.work, b.energy.work)):
        assert np.abs(x - y).max() < 1e-10 * max(1.0, np.abs(y).max())


@pytest.mark.parametrize("method", ORDERS)
def test_a_batch_is_its_states_one_by_one(method):
    r = lw.load("ur5")
    q, v = r.random_configuration(2, 11), np.random.default_rng(2).normal(size=(11, 6))
    many = lw.rollout(r, q, v, steps=20, method=method, every=5, damping=0.01)
    for i in range(11):
        one = lw.simulate(r, q[i], v[i], duration=0.02, method=method, every=5, damping=0.01)
        assert np.array_equal(many.q[i], one.q)
        assert np.array_equal(many.state(i).energy.dissipated, one.energy.dissipated)


@pytest.mark.parametrize("method", ORDERS)
def test_single_precision(method):
    r = lw.load("ur5")
    q, v = start(r)
    single = lw.simulate(r, q.astype(np.float32), v.astype(np.float32), pushed, duration=0.1, method=method)
    double = lw.simulate(r, q, v, pushed, duration=0.1, method=method)
    assert single.q.dtype == single.v.dtype == single.tau.dtype == single.a.dtype == np.float32
    assert np.abs(single.q - double.q).max() < 1e-4
    assert np.abs(single.q - double.q).max() > 0


def test_large_robots_step_on_arrays():
    r = lw.chain(70)
    q = r.random_configuration(0)
    t = lw.simulate(r, q, duration=0.002, step=1e-3)
    plain = lw.simulate(r, q, duration=0.002, step=1e-3, target="numpy")
    assert np.abs(t.v - plain.v).max() < 1e-9 * np.abs(plain.v).max()


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_semi_implicit_euler_moves_by_the_new_velocity(target):
    """v₁ = v₀ + h a(q₀, v₀), q₁ = q₀ + h v₁: with the old velocity it would be of the same order, and gain energy."""
    r, h = lw.load("double_pendulum"), 1e-2
    q, v = np.array([0.7, -0.4]), np.array([0.3, 1.1])
    after = lw.simulate(r, q, v, steps=1, step=h, method="semi_implicit_euler", target=target)
    expected = v + h * r.forward_dynamics(q, v, np.zeros(2), target="numpy")
    assert np.allclose(after.v[1], expected, rtol=1e-14)
    assert np.allclose(after.q[1], q + h * expected, rtol=1e-14)
