"""Motion in diagonal coordinates: orders of the steps, agreement with joint coordinates, and energy."""

import numpy as np
import pytest
from trees import assert_close, free_motion, robot, state

import linkwise as lw
from linkwise.simulation.diagonal_motion import COORDINATES, STEPS, motion, rate_coordinates

DURATION = 0.2


@pytest.fixture(scope="module")
def mixed():
    """Branches, a floating base, quaternions, a joint whose map turns, rotors."""
    r = lw.random_tree(4, seed=3, floating=True, joints=["revolute", "spherical", "universal"], rotors=True)
    rng = np.random.default_rng(0)
    q, v, tau = r.random_configuration(rng), 0.5 * rng.normal(size=r.nv), rng.normal(size=r.nv)
    return r, q, v, tau, free_motion(r, q, v, tau, DURATION, 80)


def distance(r, found, exact):
    return np.abs(r.difference(exact[0], found.q[-1])).max() + np.abs(found.v[-1] - exact[1]).max()


ORDERS = [
    *((c, "runge_kutta_4", 4) for c in COORDINATES),
    *((c, "semi_implicit_euler", 1) for c in COORDINATES),
    ("unnormalized", "two_sweep", 1),
    *((c, "midpoint", 2) for c in COORDINATES),
    ("total", "rotation_midpoint", 2),
]


@pytest.mark.parametrize(("coordinates", "method", "order"), ORDERS)
def test_order_of_convergence(mixed, coordinates, method, order):
    r, q, v, tau, exact = mixed
    errors = []
    for steps in (10, 20, 40):
        found = motion(r, q, v, DURATION / steps, steps, lambda t, q, v: tau, coordinates, method)
        errors.append(distance(r, found, exact))
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    assert abs(rates[-1] - order) < 0.35, (errors, rates)


def test_fine_steps_agree_in_all_coordinates(mixed):
    r, q, v, tau, exact = mixed
    for name in COORDINATES:
        found = motion(r, q, v, DURATION / 80, 80, lambda t, q, v: tau, name)
        assert distance(r, found, exact) < 1e-6, name
        assert_close(rate_coordinates(r, name).to_joint(found.q, found.w), found.v, 1e-12)
        assert_close(found.t, np.linspace(0, DURATION, 81), 1e-14)


def test_forces_see_time_and_state():
    """A damper takes energy; a force that depends on time is taken at the right times."""
    r = lw.load("double_pendulum")
    q, v = [0.4, -0.2], [1.0, 0.5]
    push = lambda t, q, v: np.stack([np.sin(9 * t) - v[..., 0], -0.5 * v[..., 1]], axis=-1)
    exact = motion(r, q, v, 0.5 / 800, 800, push, "joint")
    for name in ("total", "unnormalized"):
        found = motion(r, q, v, 0.5 / 100, 100, push, name)
        assert distance(r, found, (exact.q[-1], exact.v[-1])) < 1e-7


def test_turning_keeps_the_kinetic_energy_whatever_the_step():
    """Without gravity and forces |ν| stays; other steps of that order lose it."""
    r = robot("panda").with_gravity((0, 0, 0))
    s = state(r, ())
    start = r.kinetic_energy(s.q, s.v)
    kept = motion(r, s.q, s.v, 0.02, 100, coordinates="total", method="rotation_midpoint")
    assert_close(r.kinetic_energy(kept.q, kept.v) / start, np.ones(101), 1e-12)
    euler = motion(r, s.q, s.v, 0.02, 100, coordinates="total", method="semi_implicit_euler")
    drift = r.kinetic_energy(euler.q, euler.v) / start
    assert (np.diff(drift) > 0).all() and drift[-1] > 1.001  # ν ⊥ C: every such step makes ν longer


def test_rest_stays_at_rest():
    r = robot("panda").with_gravity((0, 0, 0))
    for name, step in [("total", "rotation_midpoint"), ("unnormalized", "two_sweep"), ("total", "runge_kutta_4")]:
        found = motion(r, r.neutral(), np.zeros(7), 0.1, 3, coordinates=name, method=step)
        assert not found.v.any() and not (found.q - r.neutral()).any()


def test_batches_and_kernels():
    r = lw.load("double_pendulum")
    rng = np.random.default_rng(1)
    q, v = rng.normal(size=(3, 1, 2)), rng.normal(size=(2, 2))
    for name in COORDINATES:
        kernels = rate_coordinates(r, name, compiled=True)
        for method in STEPS:
            if method == "rotation_midpoint" and name != "total":
                continue
            found = motion(r, q, v, 0.01, 5, coordinates=name, method=method)
            assert found.q.shape == found.v.shape == found.w.shape == (6, 3, 2, 2)
            one = motion(r, q[2, 0], v[1], 0.01, 5, coordinates=name, method=method)
            assert_close(found.q[:, 2, 1], one.q, 1e-13)
            fast = motion(r, q, v, 0.01, 5, coordinates=kernels, method=method)
            assert_close(fast.q, found.q, 1e-12)
            assert_close(fast.w, found.w, 1e-11)


def test_what_is_refused():
    r = lw.load("double_pendulum")
    q = np.zeros(2)
    with pytest.raises(lw.UnknownNameError, match="no step is named 'leapfrog'"):
        motion(r, q, q, 0.1, 2, method="leapfrog")
    with pytest.raises(lw.UnknownNameError, match="no coordinates are named 'polar'"):
        motion(r, q, q, 0.1, 2, coordinates="polar")
    with pytest.raises(lw.InputError, match='needs coordinates "total"'):
        motion(r, q, q, 0.1, 2, coordinates="joint", method="rotation_midpoint")
    with pytest.raises(lw.InputError, match='for coordinates "unnormalized"'):
        motion(r, q, q, 0.1, 2, coordinates="total", method="two_sweep")
    with pytest.raises(lw.InputError, match="finite step"):
        motion(r, q, q, np.nan, 2)
    with pytest.raises(lw.InputError, match=r"whole number.*steps=2\.5"):
        motion(r, q, q, 0.1, 2.5)
    with pytest.raises(lw.InputError, match="v must have shape"):
        motion(r, q, np.zeros(3), 0.1, 2)


def test_a_robot_moves_in_diagonal_coordinates(monkeypatch):
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    robot = lw.load("ur5")
    q, v = robot.random_configuration(0, batch=3), np.ones((3, 6))
    force = lambda t, q, v: -1e-3 * v
    for coordinates in COORDINATES:
        found = robot.diagonal_motion(q, v, 0.01, 5, force, coordinates)
        expected = motion(robot, q, v, 0.01, 5, force, coordinates)
        assert found.q.shape == (6, 3, 6)
        assert np.allclose(found.q, expected.q, rtol=0, atol=1e-12)
        assert np.allclose(found.w, expected.w, rtol=0, atol=1e-11)


def test_flatness_of_no_configuration_is_refused():
    with pytest.raises(lw.InputError, match="finite"):
        lw.load("ur5").is_diagonalizable(np.full(6, np.nan))
