"""The built-in robots: sane figures, mirror symmetry, and agreement with other people's files."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from linkwise.errors import UnknownNameError
from linkwise.model import edit, robots
from linkwise.model.joints.kinds import Free
from linkwise.model.model import Model
from linkwise.model.parts import Frame
from linkwise.model.robots import names
from linkwise.spatial import Transform, quaternion_from_rotation

build = partial(robots.build, cls=Model)

# name: (joints besides a free base, moving mass [kg], floats by default)
EXPECTED = {
    "cartpole": (2, 1.1, False),
    "chain10": (10, 10.0, False),
    "double_pendulum": (2, 2.0, False),
    "humanoid": (29, 40.0, True),
    "panda": (7, 16.822132, False),
    "panda_gripper": (9, 16.822132, False),
    "quadruped": (12, 16.9, True),
    "satellite": (14, 568.0, True),
    "ur5": (6, 17.0489, False),
}
# Closed by loops or by coupled joints: tests/model/robots/test_mechanisms.py.
MECHANISMS = ("delta", "four_bar", "governor", "gripper", "satellite_pair", "slider_crank", "stewart")


class Robot(Model):
    """A subclass, which builders must return when asked for it."""


@pytest.fixture(params=sorted(EXPECTED))
def robot(request):
    return build(request.param)


def frame_pose(model, q, name):
    index, pose = model.frame(name)
    for i in reversed(model.path(index)):
        c = model.constants()[i]
        pose = c.placement.compose(c.kind.transform(q[model.q_slices[i]])).compose(pose)
    return pose


def same_pose(a, b, tolerance):
    np.testing.assert_allclose(a.R, b.R, rtol=0, atol=tolerance)
    np.testing.assert_allclose(a.l, b.l, rtol=0, atol=tolerance)


# --- all of them -----------------------------------------------------------------------------------


def test_names_are_the_registry():
    assert names() == sorted([*EXPECTED, *MECHANISMS])


def test_sizes_and_masses(robot):
    joints, mass, floats = EXPECTED[robot.name]
    assert robot.nv == joints + 6 * floats and robot.nq == joints + 7 * floats
    assert robot.total_mass == pytest.approx(mass, rel=1e-9)
    assert isinstance(robot.joints[0].kind, Free) == floats
    assert not floats or robot.joints[0].name == "root_joint"


def test_parts_are_those_of_real_bodies(robot):
    for b in robot.bodies:
        b.inertia.check(b.name)
        assert b.inertia.mass > 0
    robot.base.check("base")


def test_every_driven_joint_has_limits(robot):
    driven = [j for j in robot.joints if not isinstance(j.kind, Free)]
    for joint in driven if robot.name != "chain10" else ():  # a chain is nobody's machine
        lower, upper, velocity, effort = joint.limits.arrays(joint.kind.nv)
        assert np.isfinite(effort).all() and (effort >= 0).all(), joint.name
        if robot.name not in ("double_pendulum", "cartpole"):
            assert np.isfinite(lower).all() and np.isfinite(upper).all(), joint.name
            assert (upper - lower > 0.03).all() and np.isfinite(velocity).all(), joint.name


def test_tips_carry_named_frames(robot):
    """What a user would call the end of each limb is a frame, not the last link's own."""
    if robot.name == "panda_gripper":
        pytest.skip("its fingers are the ends")
    assert set(robot.tips) <= {f.name for f in robot.extra_frames}


def test_fixed_robots_may_float(robot):
    if EXPECTED[robot.name][2]:
        assert robot.base.mass == 0.0
        return
    floating = edit.float_base(robot)
    assert floating.nv == robot.nv + 6 and floating.joints[0].name == "root_joint"
    assert floating.total_mass == pytest.approx(robot.total_mass + robot.base.mass)
    assert robot.base.mass > 0.5 and floating.bodies[0].name == robot.base_name


def test_subclasses_and_unknown_names():
    assert type(build("ur5", cls=Robot)) is Robot and type(build("panda", cls=Robot)) is Robot
    with pytest.raises(UnknownNameError, match=r"'pandas'.*did you mean panda.*ur5"):
        build("pandas")


def test_gravity_is_the_earths_except_in_orbit(robot):
    assert robot.gravity.tolist() == ([0, 0, 0] if robot.name == "satellite" else [0, 0, -9.81])


# --- our own designs are symmetric -----------------------------------------------------------------

MIRROR = np.diag([1.0, -1.0, 1.0])
SIDES = {
    "quadruped": (("FL_", "FR_"), ("RL_", "RR_")),
    "humanoid": (("left_", "right_"),),
    "satellite": (("left_", "right_"),),
}


def mirrored_name(robot, name):
    for left, right in SIDES[robot]:
        if name.startswith(left):
            return right + name.removeprefix(left)
        if name.startswith(right):
            return left + name.removeprefix(right)
    return name


def mirrored(model, q):
    """The configuration that is q's mirror image in the plane y = 0."""
    out = q.copy()
    for i, joint in enumerate(model.joints):
        target = model.q_slices[model.joint(mirrored_name(model.name, joint.name))]
        value = q[model.q_slices[i]]
        if isinstance(joint.kind, Free):
            R = joint.kind.transform(value).R
            value = np.concatenate([MIRROR @ value[:3], quaternion_from_rotation(MIRROR @ R @ MIRROR)])
        elif abs(joint.kind.axis[1]) < 0.5:  # rolls and yaws turn the other way
            value = -value
        out[target] = value
    return out


@pytest.mark.parametrize("name", SIDES)
def test_right_is_the_mirror_image_of_left(name):
    model = build(name)
    q = model.random_configuration(5)
    image = mirrored(model, q)
    assert not np.allclose(image, q)
    for frame in model.frames:
        there = frame_pose(model, image, mirrored_name(name, frame.name))
        here = frame_pose(model, q, frame.name)
        same_pose(there, Transform(MIRROR @ here.R @ MIRROR, MIRROR @ here.l), 1e-14)
    for b in model.bodies:
        other = model.bodies[model.body(mirrored_name(name, b.name))].inertia
        assert other.mass == b.inertia.mass
        np.testing.assert_allclose(other.com, MIRROR @ b.inertia.com, atol=1e-16)
        np.testing.assert_allclose(other.tensor, MIRROR @ b.inertia.tensor @ MIRROR, atol=1e-16)


@pytest.mark.parametrize("name", SIDES)
def test_limits_are_mirrored(name):
    """A posture within the limits has an image within the limits."""
    model = build(name)
    for q in model.random_configuration(2, batch=50):
        image = mirrored(model, q)
        for joint, s in zip(model.joints, model.q_slices):
            lower, upper, _, _ = joint.limits.arrays(joint.kind.nv)
            if not isinstance(joint.kind, Free):
                assert (lower <= image[s]).all() and (image[s] <= upper).all(), joint.name


def test_the_quadruped_stands_on_four_feet():
    model = build("quadruped")
    feet = np.array([frame_pose(model, model.neutral(), f"{leg}_foot").l for leg in ("FL", "FR", "RL", "RR")])
    np.testing.assert_allclose(feet[:, 2], -0.44)
    np.testing.assert_allclose(feet.mean(axis=0)[:2], 0, atol=1e-15)
    np.testing.assert_allclose(feet[0, :2], [0.22, 0.15])


def test_the_humanoid_has_human_heights():
    model = build("humanoid")
    frames = ("left_sole", "head", "left_palm", "left_shank")
    at = {f: frame_pose(model, model.neutral(), f).l for f in frames}
    sole = at["left_sole"][2]
    assert at["head"][2] - sole == pytest.approx(0.936 * 1.40)
    assert at["left_shank"][2] - sole == pytest.approx(0.285 * 1.40)
    assert at["left_palm"][2] - sole == pytest.approx((0.818 - 0.186 - 0.146 - 0.054) * 1.40)
    assert sum(name.startswith("left_") for name in model.body_index) == 13


def test_the_satellite_reaches_two_metres():
    model = build("satellite")
    for side, y in (("left", 0.45), ("right", -0.45)):
        tool = frame_pose(model, model.neutral(), f"{side}_tool")
        np.testing.assert_allclose(tool.l, [2.7, y, 0], atol=1e-15)
    assert model.bodies[0].inertia.mass == pytest.approx(500.0)


def test_textbook_mechanisms_are_where_they_should_be():
    pendulum, cart = build("double_pendulum"), build("cartpole")
    hanging, aside = (frame_pose(pendulum, np.array([q, 0.0]), "tip").l for q in (0.0, np.pi / 2))
    np.testing.assert_allclose(hanging, [0, 0, -2])
    np.testing.assert_allclose(aside, [-2, 0, 0], atol=1e-15)
    fallen = frame_pose(cart, np.array([0.5, np.pi / 2]), "tip").l
    np.testing.assert_allclose(fallen, [1.5, 0, 0], atol=1e-15)


# --- published figures -----------------------------------------------------------------------------


def test_ur5_zero_pose_is_the_manufacturers():
    """By UR's DH table at zero: x = a2 + a3, y = −d4 − d6, z = d1 − d5 in the controller's base frame."""
    pose = frame_pose(build("ur5"), np.zeros(6), "tool0")
    np.testing.assert_allclose(pose.l, [-0.425 - 0.39225, -0.10915 - 0.0823, 0.089159 - 0.09465], atol=1e-15)
    np.testing.assert_allclose(pose.R @ [0, 0, 1], [0, -1, 0], atol=1e-15)


def test_ur5_weighs_what_the_data_sheet_says():
    model = build("ur5")
    assert model.total_mass + model.base.mass == pytest.approx(18.4)


def test_panda_flange_is_where_frankas_table_puts_it():
    pose = frame_pose(build("panda"), np.zeros(7), "flange")
    np.testing.assert_allclose(pose.l, [0.088, 0, 0.333 + 0.316 + 0.384 - 0.107], atol=1e-15)
    np.testing.assert_allclose(pose.R, np.diag([1, -1, -1]), atol=1e-15)


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_quarter_turns_are_exact(name):
    """No 6e-17 where a zero belongs: compiled code folds zeros away."""
    for c in build(name).constants():
        np.testing.assert_array_equal(c.placement.R, np.round(c.placement.R))


def pinocchio_model(folder, file):
    """(pinocchio, its model) of a URDF of example-robot-data, which the wheel puts beside pinocchio."""
    pin = pytest.importorskip("pinocchio")
    robots = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"
    path = robots / folder / "urdf" / file
    if not path.exists():
        pytest.skip("example-robot-data is not installed")
    return pin, pin.buildModelFromUrdf(str(path))


def pinocchio_pose(pin, model, q, frame):
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    M = data.oMf[model.getFrameId(frame)]
    return Transform(M.rotation, M.translation)


def test_ur5_kinematics_agree_with_ur_description():
    """In the controller's base frame. That file rounds π/2 to eleven places."""
    pin, theirs = pinocchio_model("ur_description", "ur5_robot.urdf")
    ours = build("ur5")
    assert list(theirs.names)[1:] == [j.name for j in ours.joints]
    for q in ours.random_configuration(1, batch=20):
        base = pinocchio_pose(pin, theirs, q, "base")
        tool = base.inverse().compose(pinocchio_pose(pin, theirs, q, "tool0"))
        same_pose(frame_pose(ours, q, "tool0"), tool, 1e-10)
        base_link = base.inverse().compose(pinocchio_pose(pin, theirs, q, "base_link"))
        same_pose(frame_pose(ours, q, "base_link"), base_link, 1e-10)
    np.testing.assert_allclose(ours.effort_limits, theirs.effortLimit)
    np.testing.assert_allclose(ours.upper_limits, theirs.upperPositionLimit, atol=1e-10)


def test_ur5_masses_differ_from_ur_description_as_documented():
    pin, theirs = pinocchio_model("ur_description", "ur5_robot.urdf")
    ours = build("ur5")
    for i, b in enumerate(ours.bodies):
        expected = 2.275 if b.name == "forearm_link" else b.inertia.mass
        assert theirs.inertias[i + 1].mass == pytest.approx(expected, abs=1e-12)
    assert pin.computeTotalMass(theirs) == pytest.approx(ours.total_mass - 2.33 + 2.275, abs=1e-9)


def test_panda_agrees_with_franka_description():
    pin, theirs = pinocchio_model("panda_description", "panda.urdf")
    ours = build("panda_gripper")
    assert list(theirs.names)[1:] == [j.name for j in ours.joints]
    assert ours.total_mass == pytest.approx(pin.computeTotalMass(theirs), rel=1e-12)
    frames = ("link3", "link8", "hand", "hand_tcp", "leftfinger", "rightfinger")
    for q in ours.random_configuration(1, batch=20):
        for frame in (f"panda_{f}" for f in frames):
            same_pose(frame_pose(ours, q, frame), pinocchio_pose(pin, theirs, q, frame), 1e-14)
    for i, c in enumerate(ours.constants(), start=1):
        inertia = theirs.inertias[i]
        np.testing.assert_allclose(c.M.m, inertia.mass, rtol=1e-14)
        np.testing.assert_allclose(c.M.h, inertia.mass * inertia.lever, atol=1e-15)
        about_origin = inertia.matrix()[3:, 3:]
        np.testing.assert_allclose(c.M.J, about_origin, atol=1e-15)
    for ours_limit, theirs_limit in (
        (ours.lower_limits, theirs.lowerPositionLimit),
        (ours.upper_limits, theirs.upperPositionLimit),
        (ours.velocity_limits, theirs.velocityLimit),
        (ours.effort_limits, theirs.effortLimit),
    ):
        np.testing.assert_allclose(ours_limit, theirs_limit)


def test_panda_is_the_gripper_with_closed_fingers():
    pin, whole = pinocchio_model("panda_description", "panda.urdf")
    theirs = pin.buildReducedModel(whole, [8, 9], pin.neutral(whole))
    ours = build("panda")
    assert ours.nv == theirs.nv == 7
    last = ours.constants()[-1].M
    np.testing.assert_allclose(last.J, theirs.inertias[7].matrix()[3:, 3:], atol=1e-15)
    q = ours.random_configuration(3)
    for short, long in (("flange", "panda_link8"), ("hand", "panda_hand"), ("tcp", "panda_hand_tcp")):
        same_pose(frame_pose(ours, q, short), frame_pose(ours, q, long), 0)
        same_pose(frame_pose(ours, q, short), pinocchio_pose(pin, theirs, q, long), 1e-14)


def test_frames_given_as_objects_work_on_built_in_robots():
    model = build("ur5")
    q = model.random_configuration(0)
    below = frame_pose(model, q, Frame("below", "wrist_3_link", at=(0, 0, -0.1)))
    wrist = frame_pose(model, q, "wrist_3_link")
    same_pose(below, wrist.compose(Transform(np.eye(3), np.array([0, 0, -0.1]))), 1e-15)


@pytest.mark.parametrize("name", ["humanoid", "quadruped", "cartpole", "double_pendulum", "satellite"])
def test_robots_of_our_own_are_drawn_with_bodies(name):
    """Every body that is more than a ball inside another has looks, near where its mass is."""
    robot = robots.build(name, cls=Model)
    seen = {visual.body for visual in robot.visuals}
    assert seen >= {body.name for body in robot.bodies}
    for body in robot.bodies:
        own = [v for v in robot.visuals if v.body == body.name]
        nearest = min(np.linalg.norm(np.asarray(v.pose.l) - body.inertia.com) for v in own)
        assert nearest < 0.35, body.name
    assert all(visual.colour is not None or name == "satellite" for visual in robot.visuals)
