"""Motions: what they are made from, where their steps are, what is refused, and sliders for posing."""

from types import SimpleNamespace

import numpy as np
import pytest
from motions import swing
from numpy.testing import assert_allclose

import linkwise as lw
from linkwise.errors import InputError
from linkwise.view import Motion
from linkwise.view.motion import as_motion
from linkwise.view.sliders import from_slider_values, slider_values, sliders


def test_a_trajectory_is_anything_with_time_and_q():
    robot = lw.load("ur5")
    made = swing(robot)
    like = SimpleNamespace(robot=robot, time=made.time, q=made.q, v=made.v, a=None, tau=made.tau, energies="other")
    for given in (as_motion(like), as_motion({"time": made.time, "q": made.q, "v": made.v}, robot), as_motion(made)):
        assert given.robot is robot
        assert_allclose(given.v, made.v)
    assert as_motion(like).a is None


def test_one_configuration_is_a_motion_of_one_step():
    robot = lw.load("ur5")
    assert len(as_motion(robot.neutral(), robot)) == 1
    assert as_motion(None, robot).duration == 0.0


@pytest.mark.parametrize(
    "make, said",
    [
        (lambda r: as_motion(np.zeros((3, 6))), "Give robot="),
        (lambda r: as_motion(np.zeros((3, 6)), r), "time \\(n,\\) and q"),
        (lambda r: Motion(r, [0, 1], np.zeros((3, 6))), "time \\(n,\\) and q"),
        (lambda r: Motion(r, [0, 1], np.zeros((2, 4, 6))), "trajectory.state"),
        (lambda r: Motion(r, [0, 0], np.zeros((2, 6))), "increase"),
        (lambda r: Motion(r, [0, 1], [np.zeros(6), np.full(6, np.nan)]), "step 1 \\(t = 1 s\\)"),
        (lambda r: Motion(r, [0, 1], np.zeros((2, 6)), v=np.zeros((3, 6))), "v must have one row"),
        (lambda r: Motion(r, [0, 1], np.zeros((2, 6)), v=np.zeros((2, 5))), "v must have shape"),
        (lambda r: Motion(r, [], np.zeros((0, 6))), "n ≥ 1"),
        (lambda r: Motion(r, [0, 1], np.zeros((2, 6))).energies, "no velocities"),
    ],
)
def test_what_is_no_motion_is_refused(make, said):
    with pytest.raises(InputError, match=said):
        make(lw.load("ur5"))


def test_index_is_the_nearest_step():
    robot = lw.load("ur5")
    time = np.array([2.0, 2.1, 2.4, 3.0])
    motion = Motion(robot, time, np.zeros((4, 6)))
    for t in np.linspace(-0.5, 1.5, 101):
        assert abs(time[motion.index(t)] - (2 + t)) <= np.abs(time - (2 + t)).min() + 1e-12


def test_every_takes_pictures_at_a_rate():
    motion = swing(lw.load("ur5"), duration=2.0, steps=2001)
    steps = motion.every(25.0)
    assert len(steps) == 51 and steps[0] == 0 and steps[-1] == 2000
    assert_allclose(np.diff(motion.time[steps]), 0.04, atol=1.1e-3)


def test_channels_hold_what_is_known():
    motion = swing(lw.load("ur5"))
    kinetic, potential = lw.load("ur5").energy(motion.q, motion.v)
    assert_allclose(motion.channels["energy [J]"]["total"], kinetic + potential)
    assert_allclose(motion.channels["force τ [N m]"]["shoulder_lift_joint"], motion.tau[:, 1])
    assert list(Motion(motion.robot, motion.time, motion.q).channels) == ["position q [rad]", "centre of mass [m]"]
    free = lw.load("quadruped")
    groups = as_motion(free.neutral(), free).channels
    names = [name for unit in ("m", "–", "rad") for name in groups[f"position q [{unit}]"]]
    assert len(names) == free.nq == len(set(names))


def test_reactions_are_the_link_forces():
    motion = swing(lw.load("ur5"))
    assert_allclose(motion.reactions, motion.robot.link_forces(motion.q, motion.v, motion.a))
    assert Motion(motion.robot, motion.time, motion.q).reactions is None


# --- sliders -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_sliders_and_configurations_agree(seed, rng):
    robot = lw.random_tree(8, seed=seed)
    x = 0.8 * rng.uniform(-1, 1, robot.nv)
    q = from_slider_values(robot, x)
    assert q.shape == (robot.nq,)
    assert_allclose(slider_values(robot, q), x, atol=1e-12)
    random = robot.random_configuration(rng)
    again = from_slider_values(robot, slider_values(robot, random))
    for body in robot.bodies:
        for a, b in zip(robot.pose(again, body.name), robot.pose(random, body.name)):
            assert_allclose(a, b, atol=1e-9)


def test_sliders_have_the_limits_of_the_joints():
    robot = lw.load("panda")
    found = sliders(robot, 1.0)
    assert_allclose([k.low for k in found], robot.lower_limits)
    assert_allclose([k.high for k in found], robot.upper_limits)
    slider = lw.assemble("s", [lw.Body("b", lw.Prismatic("x"), lw.Inertia.point(1.0))])
    (own,) = sliders(slider, 2.5)
    assert (own.low, own.high) == (-2.5, 2.5)
    assert all(k.low < k.high for name in lw.robots() for k in sliders(lw.load(name), 1.0))


@pytest.mark.parametrize("limits", [lw.Limits(lower=5.0), lw.Limits(upper=-5.0), lw.Limits(1.0, 1.0)])
def test_odd_limits_still_give_a_slider(limits):
    joint = lw.Joint(lw.Revolute("x"), limits=limits)
    (own,) = sliders(lw.assemble("s", [lw.Body("b", joint, lw.Inertia.point(1.0))]), 1.0)
    assert np.isfinite([own.low, own.high]).all() and own.low < own.high
