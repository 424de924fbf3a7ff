"""How motions change with inertial parameters."""

import numpy as np
import pytest
from linkages import four_bar, four_bar_state, open_four_bar
from trees import assert_close, derivative, robot, state

import linkwise as lw


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    """The robot's own methods run on NumPy here; simulations are compiled all the same."""
    monkeypatch.setenv("LINKWISE_TARGET", "numpy")


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("panda", "semi_implicit_euler"),
        ("spherical", "midpoint"),
        ("planar", "runge_kutta_4"),
        ("floating_rotors", "semi_implicit_euler"),
        ("quadruped", "midpoint"),
        ("spherical", "runge_kutta_4"),
        ("held back", "midpoint"),
    ],
)
def test_trajectory_sensitivities(name, method):
    """Those of the simulator, by differences of sixth order over its parameters; quaternions among the joints, and
    dampers that are taken where steps end."""
    r = robot("ur5") if name == "held back" else robot(name)
    if name == "held back":
        r = r.with_springs({j.name: {"stiffness": 50.0, "damping": 100.0} for j in r.joints})
    s = state(r, (), seed=3)
    rng = np.random.default_rng(4)
    tau = rng.normal(size=(6, r.nv))
    step, p = 0.01, r.inertial_parameters
    found = lw.trajectory_sensitivity(r, s.q, s.v, tau, step=step, method=method)
    at = found.motion
    assert at.q.shape == (7, r.nq) and found.dq.shape == found.dv.shape == (7, r.nv, p.size)
    directions = p * rng.normal(size=(2, len(r.bodies), 1))  # bodies that grow or shrink stay bodies

    def motion(t):
        """How far the simulator's motion with other parameters is from the first one, (2, 7, 2 nv)."""
        other = {"inertial": p + t * directions}
        x = lw.rollout(r, np.stack([s.q, s.q]), s.v, tau=tau, step=step, method=method, parameters=other)
        return np.concatenate([r.difference(at.q, x.q), x.v], axis=-1)

    assert_close(motion(0.0)[0], np.concatenate([0.0 * at.v, at.v], axis=-1), 1e-11)  # the same motion
    mine = np.concatenate([found.dq, found.dv], axis=-2) @ directions.reshape(2, 1, -1, 1)
    assert_close(mine[..., 0], derivative(motion), 1e-8)


def test_runge_kutta_sensitivities_are_of_fourth_order():
    """Steps half as long: a sixteenth of the error."""
    r = robot("spherical")
    s = state(r, (), seed=3)

    def at_the_end(steps):
        tau = np.broadcast_to(s.tau, (steps, r.nv))
        options = {"step": 0.2 / steps, "columns": [0, 5], "method": "runge_kutta_4"}
        return lw.trajectory_sensitivity(r, s.q, s.v, tau, **options).dv[-1]

    best = at_the_end(40)
    coarse, fine = (np.abs(at_the_end(n) - best).max() for n in (4, 8))
    assert 10 < coarse / fine < 25


def test_trajectories_in_batches_and_of_some_parameters():
    r = robot("ur5")
    s = state(r, (2,), seed=3)
    tau = np.zeros((2, 4, 6))
    for method in ("semi_implicit_euler", "runge_kutta_4"):
        options = {"step": 0.01, "method": method}
        found = lw.trajectory_sensitivity(r, s.q, s.v, tau, columns=[50, 51], **options)
        one = lw.trajectory_sensitivity(r, s.q[1], s.v[1], tau[1], **options)
        assert found.dv.shape == (2, 5, 6, 2)
        assert_close(found.dv[1], one.dv[..., [50, 51]], 1e-12)
        shared = lw.trajectory_sensitivity(r, s.q, s.v, tau[0], columns=[50, 51], **options)
        assert_close(shared.dv, found.dv, 0.0)  # one table for all states


def test_trajectories_in_single_precision():
    r = robot("spherical")
    s = state(r, (), seed=3)
    tau = np.zeros((3, r.nv))
    options = {"step": 0.01, "method": "runge_kutta_4"}
    exact = lw.trajectory_sensitivity(r, s.q, s.v, tau, **options)
    found = lw.trajectory_sensitivity(r, *(x.astype(np.float32) for x in (s.q, s.v, tau)), **options)
    assert found.motion.q.dtype == found.dq.dtype == found.dv.dtype == np.float32
    for mine, reference in zip((found.motion.q, *found[1:]), (exact.motion.q, *exact[1:])):
        assert_close(mine, reference, 1e-3)


def test_bad_trajectories_are_refused():
    r = robot("ur5")
    s = state(r, (2,), seed=3)
    tau = np.zeros((2, 4, 6))
    with pytest.raises(lw.InputError, match="steps"):
        lw.trajectory_sensitivity(r, s.q, s.v, np.zeros(6))
    for step in (-0.01, 0.0, np.nan, np.inf):
        with pytest.raises(lw.InputError, match="positive"):
            lw.trajectory_sensitivity(r, s.q, s.v, tau, step=step)
    for columns in ([60], [-61], [0.5], [[1, 2]]):
        with pytest.raises(lw.InputError, match="60 inertial parameters"):
            lw.trajectory_sensitivity(r, s.q, s.v, tau, columns=columns)
    with pytest.raises(lw.UnknownNameError, match="variational.*semi_implicit_euler, midpoint, runge_kutta_4"):
        lw.trajectory_sensitivity(r, s.q, s.v, tau, method="variational")
    skate = robot("custom_skate")
    x = state(skate, ())
    with pytest.raises(lw.NotAdmittedError, match="non-holonomic"):
        lw.trajectory_sensitivity(skate, x.q, x.v, np.zeros((2, skate.nv)))


def check_by_differences(mine, r, q, v, tau, columns, left, **how):
    """Against simulations with one inertial parameter a little larger and smaller."""
    own, change = r.inertial_parameters, 1e-5
    for i, column in enumerate(columns):
        ends = []
        for sign in (1, -1):
            other = own.ravel().copy()
            other[column] += sign * change
            given = {"inertial": other.reshape(own.shape)}
            ends.append(lw.simulate(r, q, v, tau=tau, step=2e-3, parameters=given, progress=False, **how))
        for found, name in ((mine.dq, "q"), (mine.dv, "v")):
            expected = (getattr(ends[0], name) - getattr(ends[1], name)) / (2 * change)
            np.testing.assert_allclose(found[..., i], expected, atol=left * np.abs(expected).max())


@pytest.mark.parametrize(
    ("method", "left"), [("semi_implicit_euler", 1e-2), ("midpoint", 1e-4), ("runge_kutta_4", 1e-6)]
)
def test_of_a_closed_robot(method, left):
    """With the projection that follows each step; exact but for what steps had opened the loop by: h², h³, h⁵."""
    closed = four_bar()
    q, v = four_bar_state(closed)
    tau, columns = np.tile([0.4, 0.0, 0.1], (20, 1)), [11, 16]
    mine = lw.trajectory_sensitivity(closed, q, v, tau, step=2e-3, method=method, columns=columns)
    check_by_differences(mine, closed, q, v, tau, columns, left, method=method, closing="projection")


def test_of_a_soft_loop():
    """Springs and dampers are forces of the step; nothing is projected."""
    soft = open_four_bar().close(lw.Loop("rocker_end", "coupler_end", stiffness=30.0, damping=2.0))
    q, v = four_bar_state(four_bar())
    tau, columns = np.tile([0.4, 0.0, 0.1], (20, 1)), [11, 16]
    mine = lw.trajectory_sensitivity(soft, q, v, tau, step=2e-3, method="runge_kutta_4", columns=columns)
    check_by_differences(mine, soft, q, v, tau, columns, 1e-7, method="runge_kutta_4")
