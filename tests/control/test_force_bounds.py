"""Bounds on joint forces: kept in every state, and the Lyapunov functions still fall as they say."""

import numpy as np
import pytest
from loops import rate_along
from trees import assert_close, robot, state

import linkwise as lw
from linkwise import control
from linkwise.control.force_bounds import room


def bounded(r, share, **options):
    """Both laws with bounds that leave ``share`` of gravity's largest force, and one newton, beside gravity."""
    gravity = np.abs(r.gravity_force(r.random_configuration(0, batch=50))).max()
    bounds = np.linspace(1, 1.5, r.nv) * ((1 + share) * gravity + 1.0)
    p = r.pose(r.random_configuration(1), r.tips[-1])[1]
    rates = control.RateFeedback(r, 4.0, bounds=bounds, base_forces=True)
    pull = {"position_gain": 50.0, "force_limit": 0.01 * bounds.min()}
    place = control.ConfigurationControl(r, r.tips[-1], p, damping=4.0, bounds=bounds, base_forces=True, **pull)
    return bounds, [rates, place]


@pytest.mark.parametrize("name", ["panda", "spherical", "floating", "hinges"])
def test_bounds_hold_and_the_rate_is_the_derivative(name):
    r = robot(name)
    bounds, laws = bounded(r, 0.2)
    for speed in (0.1, 3.0, 300.0):
        s = state(r, (6,), seed=4)
        v = speed * s.v
        for law in laws:
            tau, share = law(0.0, s.q, v), law.share(0.0, s.q, v)
            assert ((share >= 0) & (share <= 1)).all()
            assert (np.abs(tau) <= bounds * (1 + 1e-12))[share > 0].all()
            found = law.lyapunov_rate(0.0, s.q, v)
            assert (found <= 0).all()
            assert_close(rate_along(r, law, 0.0, s.q, v), found, 5e-9)
            if speed == 300.0:
                assert (share < 0.5).any()  # some are in the way


def test_where_the_bounds_are_far_nothing_changes():
    r = robot("panda")
    s = state(r, (3,))
    free, far = control.RateFeedback(r, 2.0), control.RateFeedback(r, 2.0, bounds=1e6)
    assert_close(far(0.0, s.q, s.v), free(0.0, s.q, s.v), 1e-14)
    p = np.array([0.4, 0.2, 0.5])
    near, weak = (control.ConfigurationControl(r, "tcp", p, force_limit=f) for f in (1e9, 5.0))
    plain = control.ConfigurationControl(r, "tcp", p)
    assert_close(near.lyapunov(0.0, s.q, s.v), plain.lyapunov(0.0, s.q, s.v), 1e-12)
    assert (np.linalg.norm(weak.force(s.q)[..., 3:], axis=-1) < 5.0).all()
    strong = control.ConfigurationControl(r, "tcp", p, position_gain=1e5, force_limit=5.0)
    assert_close(np.linalg.norm(strong.force(s.q)[..., 3:], axis=-1), np.full(3, 5.0), 1e-6)


def test_a_panda_stops_within_its_motors_reach(monkeypatch):
    """From a speed at which clipping the forces joint by joint lets the energy rise; compiled."""
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    r = lw.load("panda")
    law = control.RateFeedback(r, 20.0, bounds=True)
    q = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7])
    run = lw.simulate(r, q, np.full(7, 2.5), law, duration=2.0, step=1e-3)
    V = run.along(law.lyapunov)
    assert (np.diff(V) <= 1e-12 * V[0]).all() and V[-1] < 1e-6 * V[0]
    assert (np.abs(law(run.time[:, None], run.q, run.v)) <= r.effort_limits * (1 + 1e-12)).all()
    assert law.share(0.0, run.q[0], run.v[0]) < 0.9


def test_clipping_joint_by_joint_does_not_keep_the_promise():
    """Why damping is scaled as a whole: there are states in which clipped forces put energy in."""
    r = robot("hinges")
    law = control.RateFeedback(r.with_gravity((0, 0, 0)), 4.0, bounds=1.0)
    free = control.RateFeedback(law.robot, 4.0)
    s = state(r, (4000,), seed=2)
    clipped = np.clip(free(0.0, s.q, s.v), -1.0, 1.0)
    assert ((clipped * s.v).sum(axis=-1) > 0).any()
    assert ((law(0.0, s.q, s.v) * s.v).sum(axis=-1) < 0).all()


def test_the_room_that_is_left():
    bounds = np.array([2.0, 3.0, np.inf])
    held = np.array([[1.0, 0.0, 9.0], [1.0, 0.0, 9.0], [2.5, 0.0, 0.0], [0.0, 0.0, 0.0]])
    wanted = np.array([[0.5, 0.0, 50.0], [-6.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert room(bounds, held, wanted).tolist() == [1.0, 0.5, 0.0, 1.0]


@pytest.mark.parametrize("bounds", [0.0, -1.0, np.nan, [1.0, 2.0], "strong"])
def test_bad_bounds_are_named(bounds):
    with pytest.raises(lw.InputError, match="bounds"):
        control.RateFeedback(lw.load("panda"), 1.0, bounds=bounds)


def test_a_robot_without_limits_has_none_to_take():
    with pytest.raises(lw.InputError, match="no joint of robot 'chain3' has an effort limit"):
        control.RateFeedback(lw.chain(3), 1.0, bounds=True)
