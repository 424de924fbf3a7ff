"""Motion in diagonal coordinates: orders of the steps, agreement with joint coordinates, and energy."""

import numpy as np
import pytest
from trees import assert_close, free_motion, robot, state

import linkwise as lw
from linkwise.simulation.steps import EXPLICIT
from linkwise.simulation.system import COORDINATES

DURATION = 0.2


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    """The robot's own methods run on NumPy here; simulations are compiled all the same."""
    monkeypatch.setenv("LINKWISE_TARGET", "numpy")


def motion(robot, q, v, step, steps, force=None, coordinates="total", method="runge_kutta_4", target="numpy"):
    options = {"coordinates": coordinates, "method": method, "target": target}
    return lw.simulate(robot, q, v, force, step=step, steps=steps, **options)


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
    for steps in (15, 30):
        found = motion(r, q, v, DURATION / steps, steps, lambda t, q, v: tau, coordinates, method)
        errors.append(distance(r, found, exact))
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    assert abs(rates[-1] - order) < 0.35, (errors, rates)


def test_fine_steps_agree_in_all_coordinates(mixed):
    r, q, v, tau, exact = mixed
    for name in COORDINATES:
        found = motion(r, q, v, DURATION / 80, 80, lambda t, q, v: tau, name)
        assert distance(r, found, exact) < 1e-6, name
        assert found.settings.coordinates == name
        assert_close(found.time, np.linspace(0, DURATION, 81), 1e-14)


def test_forces_see_time_and_state():
    """A damper takes energy; a force that depends on time is taken at the right times."""
    r = lw.load("double_pendulum")
    q, v = [0.4, -0.2], [1.0, 0.5]
    push = lambda t, q, v: np.stack([np.sin(9 * t) - v[..., 0], -0.5 * v[..., 1]], axis=-1)
    exact = motion(r, q, v, 0.5 / 400, 400, push, "joint", target=None)  # in machine code
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


@pytest.mark.parametrize("name", COORDINATES)
def test_batches_and_compiled_steps(name):
    r = lw.load("double_pendulum")
    rng = np.random.default_rng(1)
    q, v = rng.normal(size=(3, 1, 2)), rng.normal(size=(2, 2))
    own = {"total": ["rotation_midpoint"], "unnormalized": ["two_sweep"]}
    for method in [*EXPLICIT, *own.get(name, [])]:
        found = motion(r, q, v, 0.01, 5, coordinates=name, method=method)
        assert found.q.shape == found.v.shape == (3, 2, 6, 2)
        one = motion(r, q[2, 0], v[1], 0.01, 5, coordinates=name, method=method)
        assert_close(found.q[2, 1], one.q, 1e-13)
        fast = motion(r, q, v, 0.01, 5, coordinates=name, method=method, target="cpu")
        assert_close(fast.q, found.q, 1e-12)
        assert_close(fast.v, found.v, 1e-11)


@pytest.mark.parametrize(("coordinates", "method"), [("total", "rotation_midpoint"), ("unnormalized", "two_sweep")])
def test_forces_and_energies_in_every_coordinate(coordinates, method):
    """Controllers, external forces, damping and the energy account, compiled in and called back."""
    r = lw.chain(3)
    s = state(r, (2,), seed=4)
    options = {"external": {r.tips[0]: [0, 0, 0, 1.0, 2.0, 0]}, "damping": 0.1, "step": 1e-3, "steps": 40}
    law = lambda robot, t, q, v: -0.2 * v + np.sin(t)
    for hold in (False, True):
        found = lw.simulate(r, s.q, s.v, law, coordinates=coordinates, method=method, hold=hold, **options)
        back = lw.simulate(
            r, s.q, s.v, law, coordinates=coordinates, method=method, hold=hold, callback=True, **options
        )
        assert_close(back.q, found.q, 1e-11)
        assert_close(back.exchanged, found.exchanged, 1e-9)
    joint = lw.simulate(r, s.q, s.v, law, hold=True, **options)
    size = np.abs(joint.energy.total).max()
    assert np.abs(found.energy.drift).max() < 0.02 * size
    assert np.abs(found.energy.work - joint.energy.work).max() < 0.02 * np.abs(joint.energy.work).max()
    assert np.abs(found.energy.external - joint.energy.external).max() < 0.02 * size


def test_motions_in_other_rates_go_on():
    r = lw.load("ur5")
    s = state(r, ())
    whole = lw.simulate(r, s.q, s.v, steps=20, coordinates="total")
    assert_close(lw.simulate(r, s.q, s.v, steps=10, coordinates="total").resume(0.01).q, whole.q, 1e-12)
    lagged = lw.simulate(r, s.q, s.v, steps=10, coordinates="unnormalized", method="two_sweep")
    with pytest.raises(lw.InputError, match="remembers more than q and v"):
        lagged.resume(0.01)
    assert "total rates" in repr(whole)


def test_what_is_refused():
    r = lw.load("double_pendulum")
    q = np.zeros(2)
    with pytest.raises(lw.UnknownNameError, match="no method is named 'leapfrog'"):
        motion(r, q, q, 0.1, 2, method="leapfrog")
    with pytest.raises(lw.UnknownNameError, match="no kind of coordinates is named 'polar'"):
        motion(r, q, q, 0.1, 2, coordinates="polar")
    for name, method, needed in [
        ("joint", "rotation_midpoint", "total"),
        ("total", "two_sweep", "unnormalized"),
        ("total", "variational", "joint"),
        ("total", "dop853", "joint"),
    ]:
        with pytest.raises(lw.InputError, match=f"{method}' needs coordinates='{needed}'"):
            motion(r, q, q, 0.1, 2, coordinates=name, method=method)


def test_flatness_of_no_configuration_is_refused():
    with pytest.raises(lw.InputError, match="finite"):
        lw.load("ur5").is_diagonalizable(np.full(6, np.nan))
