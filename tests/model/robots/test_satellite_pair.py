"""A satellite that holds another: momentum, loop forces, and the same as a grasp."""

import numpy as np
import pytest

import linkwise as lw

STEP = 1e-30


def pushed(robot, rng):
    """Motors at the joints of the arms; nothing drives the two satellites themselves."""
    tau = rng.normal(size=robot.nv)
    for name in ("root_joint", "held_joint"):
        tau[robot.v_slices[robot.joint(name)]] = 0.0
    return tau


@pytest.fixture(scope="module")
def moving():
    robot, rng = lw.load("satellite_pair"), np.random.default_rng(4)
    q = robot.integrate(robot.neutral(), robot.closed_velocity(robot.neutral(), 0.2 * rng.normal(size=robot.nv)))
    q = robot.closed_configuration(q)
    return robot, q, robot.closed_velocity(q, 0.3 * rng.normal(size=robot.nv)), pushed(robot, rng)


def test_it_weighs_what_both_weigh():
    robot = lw.load("satellite_pair")
    assert robot.total_mass == pytest.approx(lw.load("satellite").total_mass + 150.0)
    assert robot.gravity.tolist() == [0, 0, 0]


def test_within_the_limits_of_the_arms_at_zero():
    robot, own = lw.load("satellite_pair"), lw.load("satellite")
    arms = [robot.v_slices[robot.joint(f"{side}_joint{i}")].start for side in ("left", "right") for i in range(1, 8)]
    assert (robot.lower_limits[arms] < 0).all() and (robot.upper_limits[arms] > 0).all()
    wide = lambda r: (r.upper_limits - r.lower_limits)[6:20]
    assert np.allclose(wide(robot), wide(own))


def test_loop_forces_leave_the_momentum_alone(moving):
    robot, q, v, tau = moving
    a = robot.forward_dynamics(q, v, tau)
    rate = robot.configuration_rate(q, v, target="numpy")
    change = robot.momentum(q + 1j * STEP * rate, v + 1j * STEP * a, target="numpy").imag / STEP
    assert np.abs(change).max() < 1e-10
    assert np.abs(robot.loop_forces(q, v, tau)).max() > 1.0  # though the hands push and pull
    without = robot.opened.forward_dynamics(q, v, tau)
    assert np.abs(a - without).max() > 1e-2


def test_momentum_stays_on_the_way(moving):
    robot, q, v, tau = moving
    run = lw.simulate(robot, q, v, tau=np.tile(tau, (10, 1)), step=0.01, target="numpy")
    h = robot.momentum(run.q, run.v)
    assert np.abs(h - h[0]).max() < 1e-9 * np.abs(h[0]).max() and np.abs(h[0]).max() > 10
    assert run.energy.loops.max() < 1e-10


def test_the_same_as_a_grasp_of_one_robot_with_two_hands(moving):
    robot, q, v, tau = moving
    tree = robot.opened
    carrier = tree.subtree("bus")
    handles = [lw.Frame(f.name, at=f.at, rotation=f.rotation) for f in tree.extra_frames if "handle" in f.name]
    hands = [lw.Contact(f"{f.name.split('_')[0]}_tool", f, "rigid", arm=0) for f in handles]
    team = lw.grasp([carrier], tree.bodies[tree.body("held")].inertia, hands)
    # the held body's joint stands ahead of the bus in the pair, in the world's origin in the grasp
    there = np.concatenate([q[: carrier.nq], robot.pose(q, "held")[1], q[-4:]])
    assert np.abs(team.loop_error(there)).max() < 1e-12
    a = robot.forward_dynamics(q, v, tau)
    assert np.allclose(team.forward_dynamics(there, v, tau), a, rtol=1e-9, atol=1e-10)
    on_hands = robot.loop_forces(q, v, tau)
    assert np.allclose(team.contact_forces(there, v, tau), -on_hands, rtol=1e-7, atol=1e-8)
