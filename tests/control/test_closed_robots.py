"""LQR, TVLQR and iLQR of robots with loops."""

import numpy as np
import pytest
from linkages import four_bar

import linkwise as lw
from linkwise import control

CRANK = ["crank_hinge"]


@pytest.fixture(scope="module")
def robot():
    return four_bar()


def at_rest(robot, crank):
    return robot.closed_configuration([crank, -0.9, 1.8], keep=CRANK)


def test_lqr_holds_a_linkage_by_its_crank(robot):
    q = at_rest(robot, 1.3)
    law = control.LQR.about(robot, q, actuated=CRANK)
    np.testing.assert_allclose(robot.forward_dynamics(q, np.zeros(3), law.tau), 0, atol=1e-9)
    assert law.K.shape == (1, 6) and law.poles.shape == (2,) and (law.poles.real < 0).all()
    assert (law.tau[1:] == 0).all()
    motion = lw.simulate(robot, at_rest(robot, 1.4), controller=law, duration=6.0, step=5e-3, progress=False)
    np.testing.assert_allclose(motion.q[-1], q, atol=1e-3)
    cost = law.lyapunov(0.0, motion.q, motion.v)
    assert (np.diff(cost[::20]) < 1e-9).all()
    discrete = control.LQR.about(robot, q, actuated=CRANK, step=0.01)
    assert (np.abs(discrete.poles) < 1).all()


def test_lqr_of_a_closed_robot_is_about_closed_states_at_rest(robot):
    with pytest.raises(lw.NotAdmittedError, match="about states at rest"):
        control.LQR.about(robot, at_rest(robot, 1.3), v=[1.0, 0, 0])
    with pytest.raises(lw.ClosureError, match="closed_configuration"):
        control.LQR.about(robot, np.zeros(3), actuated=CRANK)


@pytest.mark.parametrize("method", ["semi_implicit_euler", "runge_kutta_4"])
def test_steps_of_a_closed_robot_are_linearised_with_their_projection(robot, method, rng):
    steps = control.steps.Steps(robot, 0.01, method=method, actuated=CRANK)
    q = at_rest(robot, 1.3)
    v, u = robot.closed_velocity(q, [1.5, 0.0, 0.0]), np.array([0.3])
    A, B = steps.linearize(q, v, u)
    P = robot.linearize_projection(q, v)
    change, du, h = P @ rng.normal(size=6), rng.normal(size=1), 1e-5

    def after(s):
        at = robot.closed_configuration(q + s * change[:3])
        return np.concatenate(steps(at, robot.closed_velocity(at, v + s * change[3:]), u + s * du))

    left_open = {"semi_implicit_euler": steps.step**2, "runge_kutta_4": 1e-9}[method]  # before the projection
    np.testing.assert_allclose(A @ change + B @ du, (after(h) - after(-h)) / (2 * h), atol=2 * left_open)


def test_ilqr_swings_a_linkage(robot):
    start, goal = at_rest(robot, 1.3), at_rest(robot, 1.9)
    cost = control.QuadraticCost(robot, goal, state=0.1, control=1e-2, terminal=200.0)
    found = control.ILQR(robot, cost, 0.02, actuated=CRANK, iterations=30).solve(start, u0=np.zeros((25, 1)))
    assert found.cost < 0.2 * found.costs[0]
    np.testing.assert_allclose(found.q[-1], goal, atol=0.1)
    assert np.abs(robot.loop_error(found.q)).max() < 1e-9
    law = control.TVLQR.along(robot, found.q, found.v, found.u, 0.02, actuated=CRANK)
    assert law.K.shape == (25, 1, 6)
    with pytest.raises(lw.NotAdmittedError, match="forward_dynamics_hvp"):
        control.DDP(robot, cost, 0.02, actuated=CRANK).solve(start, u0=np.zeros((5, 1)))
