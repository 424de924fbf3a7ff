"""Calibration: exact without noise, as SciPy's least squares with it, bars that hold, and refusals."""

import numpy as np
import pytest
import scipy.optimize
from coupled import coupled_robot
from trees import assert_close, robot

import linkwise as lw
from linkwise.spatial import quaternion_exp, rotation_from_quaternion


def misplaced(r, size=5e-3, seed=1):
    return r.with_placements(size * np.random.default_rng(seed).normal(size=(len(r.bodies), 6)))


@pytest.mark.parametrize("name", ["panda", "ur5", "chain3", "prismatic", "tree", "coupled"])
@pytest.mark.parametrize("part", ["pose", "position"])
def test_poses_of_a_robot_are_met_everywhere(name, part):
    r = coupled_robot() if name == "coupled" else robot(name)
    frame = r.tips[-1]
    true = misplaced(r)
    q, other = (r.random_configuration(np.random.default_rng(i), 80) for i in (0, 1))
    R, p = true.pose(q, frame)
    found = lw.calibrate(r, q, (R, p) if part == "pose" else p, frame=frame, part=part)
    expected, mine = true.pose(other, frame), found.robot.pose(other, frame)
    assert_close(mine[1], expected[1], 1e-9)
    if part == "pose":
        assert_close(mine[0], expected[0], 1e-9)
    assert_close(found.robot.joints[0].placement.R, r.with_placements(found.changes).joints[0].placement.R)


def test_hinges_tell_four_numbers_each_and_six():
    """Everett, Driels and Mooring (1987): 4R + 2P + 6 with a tool, none of them twice."""
    for name, frame, count in (("panda", "panda_hand_tcp", 4 * 7 + 6), ("ur5", "tool0", 4 * 6 + 6)):
        r = robot(name)
        q = r.random_configuration(np.random.default_rng(0), 60)
        true = misplaced(r)
        assert len(lw.calibrate(r, q, true.pose(q, frame), frame=frame, tool=True).combinations) == count


def test_a_tool_is_found():
    r = robot("ur5")
    q = r.random_configuration(np.random.default_rng(0), 30)
    shifted = lw.Frame("pen", "wrist_3_link", at=(0.01, 0.0, 0.2), rpy=(0.1, 0.0, 0.0))
    straight = lw.Frame("pen", "wrist_3_link", at=(0, 0, 0.2))
    true, known = (lw.assemble("arm", r.bodies, [f]) for f in (shifted, straight))
    found = lw.calibrate(known, q, true.pose(q, "pen"), joints=["wrist_2_joint"], tool=True)
    assert_close(found.tool_change, np.array([0.1, 0, 0, 0.01, 0, 0]), 1e-9)
    assert_close(found.changes, np.zeros((6, 6)), 1e-9)
    assert_close(found.robot.pose(q, "pen")[1], true.pose(q, "pen")[1])


def noisy(true, q, frame, rng, turn=1e-3, shift=2e-4):
    R, p = true.pose(q, frame)
    off = rotation_from_quaternion(quaternion_exp(turn * rng.normal(size=p.shape)))
    return off @ R, p + shift * rng.normal(size=p.shape)


def test_it_is_the_least_squares_estimate():
    """SciPy minimises the same weighted squares over the same numbers, from poses alone."""
    r = robot("chain3")
    q = r.random_configuration(np.random.default_rng(0), 40)
    _, p = noisy(misplaced(r), q, "tip", np.random.default_rng(2))
    sigma = np.array([1e-4, 2e-4, 3e-4])
    found = lw.calibrate(r, q, p, part="position", noise=sigma)
    names = [f"{j.name}.{e}" for j in r.joints for e in ("rx", "ry", "rz", "x", "y", "z")]
    columns = [names.index(c.name.split(" ")[0]) for c in found.combinations]

    def left(z):
        change = np.zeros(18)
        change[columns] = z
        return ((p - r.with_placements(change.reshape(3, 6)).pose(q, "tip")[1]) / sigma).ravel()

    least = scipy.optimize.least_squares(left, np.zeros(len(columns)), xtol=1e-12, ftol=1e-12, gtol=1e-12)
    assert np.sum((found.residuals / sigma) ** 2) == pytest.approx(2 * least.cost, rel=1e-6)
    covariance = np.linalg.inv(least.jac.T @ least.jac)
    assert_close(np.sqrt(np.diag(covariance)), np.array([c.error for c in found.combinations]), 1e-2)


def test_bars_hold_the_truth_as_often_as_they_say():
    r = robot("chain3")
    q = r.random_configuration(np.random.default_rng(0), 25)
    rng = np.random.default_rng(5)
    scores = []
    for _ in range(120):
        found = lw.calibrate(r, q, noisy(r, q, "tip", rng))  # the robot is right: all changes are zero
        scores.append([c.value / c.error for c in found.combinations])
    share = np.mean(np.abs(scores) < 1.96, axis=0)
    spread = 4 * np.sqrt(0.95 * 0.05 / 120)
    assert share.min() > 0.945 - spread and share.max() < 0.95 + spread
    assert_close(found.noise, np.array([1e-3] * 3 + [2e-4] * 3), 0.5)


def test_it_reads_well():
    r = robot("chain3")
    q = r.random_configuration(np.random.default_rng(0), 25)
    found = lw.calibrate(r, q.reshape(5, 5, 3), r.pose(q.reshape(5, 5, 3), "tip"), noise=1e-3)
    assert repr(found).startswith("<Calibration of 'chain3': ") and "25 poses" in repr(found)
    assert "joint1.rx" in str(found)
    assert found.residuals.shape == (5, 5, 6) and found.covariance.shape == (len(found.combinations),) * 2


def test_refusals():
    r = robot("chain3")
    q = r.random_configuration(np.random.default_rng(0), 20)
    R, p = r.pose(q, "tip")

    def refused(match, error=lw.InputError, robot=r, **options):
        given = {"q": q, "poses": (R, p)} | options
        with pytest.raises(error, match=match):
            lw.calibrate(robot, **given)

    refused("poses are a pair", poses=p)
    refused(r"p must have shape \(..., 3\)", poses=(R, p[:, :2]))
    refused("R must hold rotation matrices", poses=(2 * R, p))
    refused("p holds NaN or infinity, first in sample", poses=(R, np.where(np.arange(20)[:, None] == 3, np.nan, p)))
    refused("do not fit together", poses=(R[:7], p[:7]))
    refused("too few", q=q[:2], poses=(R[:2], p[:2]))
    refused("does not excite", lw.SingularError, q=q[[0] * 20], poses=(R[[0] * 20], p[[0] * 20]))
    refused("too far from those of robot", lw.SingularError, poses=(R, 100 * p))
    refused("no joint is named", lw.UnknownNameError, joints=["elbow"])
    refused("joints names the joints", joints=[])
    refused("is fixed in the world", frame="world")
    refused("that of a body itself", frame="link3", tool=True)
    refused("noise must be one positive number or 6", noise=[1.0, 2.0])
    refused("no part of a pose is named", part="direction")
    refused("calibrate needs a robot", robot=None)
    walker = lw.load("quadruped")
    refused("say which frame= was measured", robot=walker, q=walker.neutral(), poses=(np.eye(3), np.zeros(3)))
    closed = lw.load("four_bar")
    refused("has loops", lw.NotAdmittedError, robot=closed, q=closed.neutral(), poses=(np.eye(3), np.zeros(3)))
