"""Robots handed to other libraries are the same robots there."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import linkwise as lw
from linkwise.interop import robot_files as files
from linkwise.interop.availability import NotHere
from linkwise.model.files.urdf_writer import rpy


def test_joints_without_counterpart_are_named():
    pin = pytest.importorskip("pinocchio")
    from linkwise.interop.pinocchio import to_pinocchio

    with pytest.raises(NotHere, match="planar joint 'link2_joint'|planar joint"):
        to_pinocchio(pin, lw.chain(2, joint="planar"))


ODD_ANGLES = [(0.3, -1.2, 2.5), (0.0, np.pi / 2, 0.0), (0.7, -np.pi / 2, 0.0), (np.pi, 0.0, -np.pi / 2)]


@pytest.mark.parametrize("angles", ODD_ANGLES)
def test_roll_pitch_yaw(angles):
    R = lw.Frame("f", rpy=angles).pose.R
    assert np.abs(lw.Frame("f", rpy=rpy(R)).pose.R - R).max() < 1e-15


@pytest.mark.parametrize("floating", [False, True])
def test_a_written_urdf_is_the_same_robot(tmp_path, floating):
    """Written, then read by linkwise and by Pinocchio."""
    pin = pytest.importorskip("pinocchio")
    robot = lw.load("quadruped" if floating else "panda_gripper")
    path = tmp_path / "robot.urdf"
    path.write_text(files.urdf(robot))
    again = lw.load(path, floating=floating)
    q = robot.random_configuration(0)
    v, a = np.random.default_rng(1).normal(size=(2, robot.nv))
    expected = robot.inverse_dynamics(q, v, a)
    assert [j.name for j in again.joints[floating:]] == [j.name for j in robot.joints[floating:]]
    assert np.abs(again.inverse_dynamics(q, v, a) - expected).max() < 1e-13 * np.abs(expected).max()

    model = (
        pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(str(path))
    )
    names = list(model.names)[1 + floating :]
    index = [robot.v_slices[robot.joint(n)].start for n in names]
    of_v = np.array([3, 4, 5, 0, 1, 2, *index] if floating else index)
    of_q = np.array([*range(7), *(i + 1 for i in index)] if floating else index)
    found = pin.rnea(model, model.createData(), q[of_q], v[of_v], a[of_v])
    assert np.abs(found - expected[of_v]).max() < 1e-13 * np.abs(expected).max()


@pytest.mark.parametrize("name", ["panda", "quadruped"])
def test_a_written_sdf_has_every_link_and_joint(name):
    robot = lw.load(name)
    root = ElementTree.fromstring(files.sdf(robot))
    links = {x.get("name"): float(x.findtext("inertial/mass")) for x in root.iter("link")}
    assert all(links[b.name] == b.inertia.mass for b in robot.bodies)
    joints = {x.get("name"): x for x in root.iter("joint")}
    for body in files.moving(robot):
        joint = joints[body.joint.name]
        assert joint.findtext("child") == body.name and joint.get("type") == body.joint.kind.kind
        pose = [float(x) for x in joint.findtext("pose").split()]
        assert np.array_equal(pose[:3], body.joint.placement.l)


def test_a_mujoco_model_is_the_same_robot():
    mujoco = pytest.importorskip("mujoco")
    from linkwise.interop.mujoco import to_mujoco

    robot = lw.load("ur5")
    model = to_mujoco(mujoco, robot)
    data = mujoco.MjData(model)
    data.qpos = robot.random_configuration(3)
    data.qvel, data.qacc = np.random.default_rng(4).normal(size=(2, robot.nv))
    mujoco.mj_inverse(model, data)
    expected = robot.inverse_dynamics(data.qpos.copy(), data.qvel.copy(), data.qacc.copy())
    assert np.abs(data.qfrc_inverse - expected).max() < 1e-12 * np.abs(expected).max()
