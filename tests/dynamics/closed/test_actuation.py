"""Inverse dynamics of closed robots with chosen joints driven."""

import numpy as np
import pytest
from linkages import four_bar, four_bar_state, null_space, slider_crank

import linkwise as lw


@pytest.fixture
def moving(rng):
    robot = four_bar()
    q, v = four_bar_state(robot)
    return robot, q, v, robot.forward_dynamics(q, v, rng.normal(size=3))


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("driven", [["crank_hinge"], ["rocker_hinge"], ["crank_hinge", "coupler_hinge"], None])
def test_the_forces_give_the_acceleration(moving, driven, target):
    robot, q, v, a = moving
    tau = robot.inverse_dynamics(q, v, a, actuated=driven, target=target)
    np.testing.assert_allclose(robot.forward_dynamics(q, v, tau), a, rtol=1e-9)
    if driven:
        idle = [i for i, j in enumerate(robot.joints) if j.name not in driven]
        assert (tau[idle] == 0).all()


def test_of_redundant_joints_the_least_effort(moving):
    robot, q, v, a = moving
    every = [j.name for j in robot.joints]
    tree = robot.inverse_dynamics(q, v, a)
    N = null_space(robot.loop_jacobian(q))
    weights = np.array([1.0, 2.0, 0.5])
    best = N / weights[:, None] @ np.linalg.solve(N.T / weights @ N, N.T @ tree)
    found = robot.inverse_dynamics(q, v, a, actuated=every, effort_weights=weights)
    np.testing.assert_allclose(found, N / weights[:, None] @ np.linalg.solve(N.T @ (N / weights[:, None]), N.T @ tree))
    assert best.shape == (3,)
    assert weights @ found**2 < weights @ tree**2


def test_the_slider_crank_of_the_notes():
    robot = slider_crank()
    q = robot.closed_configuration([0.7, -0.9, 0.6], keep=["crank_hinge"])
    (freedom,) = null_space(robot.loop_jacobian(q)).T
    v = 2.0 * freedom / freedom[0]
    a = robot.forward_dynamics(q, v, [1.003085196800, 0, 0])
    np.testing.assert_allclose(a[0], 1.5, atol=1e-9)
    np.testing.assert_allclose(robot.inverse_dynamics(q, v, a, actuated=["crank_hinge"])[0], 1.003085196800, atol=1e-9)


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_what_driven_joints_cannot_do(target, rng):
    robot = lw.chain(4, seed=1).close(lw.Loop("world", "tip", "point_on_plane"))
    q = robot.closed_configuration(robot.random_configuration(rng))
    with pytest.raises(lw.InputError, match=r"joints joint1 alone cannot move .* left over at joint 'joint\d'"):
        robot.inverse_dynamics(q, np.zeros(4), np.ones(4), actuated=["joint1"], target=target)


def test_bad_choices():
    robot, zero = four_bar(), np.zeros(3)
    with pytest.raises(lw.InputError, match="list of joint names"):
        robot.inverse_dynamics(zero, zero, zero, actuated="crank_hinge")
    with pytest.raises(lw.UnknownNameError, match="no joint is named 'crank'"):
        robot.inverse_dynamics(zero, zero, zero, actuated=["crank"])
    with pytest.raises(lw.InputError, match="each once"):
        robot.inverse_dynamics(zero, zero, zero, actuated=["crank_hinge", "crank_hinge"])
    with pytest.raises(lw.InputError, match="1 positive numbers"):
        robot.inverse_dynamics(zero, zero, zero, actuated=["crank_hinge"], effort_weights=[-1.0])
    with pytest.raises(lw.InputError, match="effort_weights are for"):
        robot.inverse_dynamics(zero, zero, zero, effort_weights=[1.0])


def test_the_closed_jacobian_moves_frames_as_closed_velocities_do(moving, rng):
    robot, q, _, _ = moving
    x = rng.normal(size=3)
    expected = robot.jacobian(q, "coupler_end") @ robot.closed_velocity(q, x)
    np.testing.assert_allclose(robot.closed_jacobian(q, "coupler_end") @ x, expected, atol=1e-9)
    ends = [robot.closed_jacobian(q, f) @ x for f in ("coupler_end", "rocker_end")]
    np.testing.assert_allclose(ends[0][3:], ends[1][3:], atol=1e-9)
