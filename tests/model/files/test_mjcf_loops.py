"""Connects and welds of MJCF files as loops, beside MuJoCo itself."""

import numpy as np
import pytest

import linkwise as lw

mujoco = pytest.importorskip("mujoco")

LINKAGE = """
<mujoco model="linkage">
  <compiler angle="radian"/>
  <option gravity="0 -9.81 0"><flag contact="disable"/></option>
  <worldbody>
    <body name="crank"><joint name="crank_hinge" axis="0 0 1"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".01"/>
      <body name="coupler" pos=".3 0 0"><joint name="coupler_hinge" axis="0 0 1"/>
        <geom type="capsule" fromto="0 0 0 .8 0 0" size=".01"/><site name="coupler_end" pos=".8 0 0"/></body></body>
    <body name="rocker" pos="1 0 0"><joint name="rocker_hinge" axis="0 0 1"/>
      <geom type="capsule" fromto="0 0 0 .6 0 0" size=".01"/><site name="rocker_end" pos=".6 0 0"/></body>
  </worldbody>
  <equality>{}</equality>
</mujoco>
"""
BODIES = '<connect name="pin" body1="coupler" body2="rocker" anchor=".8 0 0"/>'
SITES = '<connect site1="rocker_end" site2="coupler_end"/>'
ARM = """
<mujoco model="arm">
  <option><flag contact="disable"/></option>
  <worldbody><body name="a" pos=".1 .2 .3" euler="20 30 40"><joint name="j0" axis="1 0 0"/><geom size=".1"/>
    <body name="b" pos=".2 0 0"><joint name="j1" axis="0 1 0"/><geom size=".1" pos=".1 0 0"/>
    <body name="c" pos=".2 .1 0" euler="10 0 50"><joint name="j2" type="ball"/><geom size=".1" pos=".1 0 .05"/></body>
    </body></body></worldbody>
  <equality><weld name="glue" body1="a" body2="c" anchor=".05 .1 0" relpose=".3 .2 .1 .9 .1 .3 .2"/></equality>
</mujoco>
"""


def errors_of_mujoco(text, qpos):
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_forward(model, data)
    return data.efc_pos[data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY]


def test_a_connected_linkage_moves_as_mujocos():
    text = LINKAGE.format(SITES)
    robot = lw.load(text)
    (loop,) = robot.loops
    assert loop.kind == "spherical" and not [n for n in robot.notes if "equality" in n]
    q = robot.closed_configuration([1.3, -0.9, 1.8], keep=["crank_hinge"])
    assert np.abs(errors_of_mujoco(text, q)).max() < 1e-10
    assert robot.mobility(q) == 1
    v = robot.closed_velocity(q, [1.0, 0, 0])
    stiff = LINKAGE.format(SITES.replace("/>", ' solref="1e-3 1" solimp=".9999 .9999 .001"/>'))
    model = mujoco.MjModel.from_xml_string(stiff)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = q, v
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(robot.forward_dynamics(q, v, np.zeros(3)), data.qacc, rtol=2e-3)


def test_a_connect_between_bodies_holds_the_points_that_meet_in_the_file():
    """Its anchor is given on the first body; MuJoCo works out where that is on the second, in the pose of the file."""
    text = LINKAGE.format(BODIES)
    robot = lw.load(text)
    assert robot.loops[0].name == "pin"
    assert np.abs(robot.loop_error(np.zeros(3))).max() < 1e-12
    assert np.abs(errors_of_mujoco(text, np.zeros(3))).max() < 1e-12


def test_a_weld():
    robot = lw.load(ARM)
    (loop,) = robot.loops
    assert (loop.kind, loop.name) == ("weld", "glue")
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng)
    ours, theirs = robot.loop_error(q), errors_of_mujoco(ARM, [q[0], q[1], q[5], q[2], q[3], q[4]])
    R_a = robot.pose(q, loop.frame_a)[0]
    np.testing.assert_allclose(np.abs(R_a @ ours[3:]), np.abs(theirs[:3]), atol=1e-9)


def test_loops_can_be_left_out():
    with pytest.warns(lw.ModelWarning, match="not imposed: 1 equality constraint"):
        robot = lw.load(LINKAGE.format(SITES), loops=False)
    assert robot.loops == ()
    with pytest.warns(lw.ModelWarning, match="not imposed"):
        robot = lw.load(LINKAGE.format(SITES.replace("<connect", '<connect active="false"')))
    assert robot.loops == ()


def test_bodies_with_no_joint_between_them_need_no_loop():
    text = ARM.replace('<joint name="j1" axis="0 1 0"/>', "").replace('body1="a" body2="c"', 'body1="a" body2="b"')
    assert lw.load(text).loops == ()
