"""Equality constraints between joints of MJCF files: imposed, polynomials and all, or said not to be."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import linkwise as lw

mujoco = pytest.importorskip("mujoco")

FILE = """<mujoco model="geared"><worldbody>
  <body name="a"><joint name="ja" type="hinge" axis="0 0 1" ref="20"/>
    <geom size=".1" mass="1" contype="0" conaffinity="0"/>
    <body name="b" pos="1 0 0"><joint name="jb" axis="0 1 0"/>
      <geom size=".1" mass="1" pos=".2 0 0" contype="0" conaffinity="0"/></body></body>
  <body name="c"><joint name="jc" type="slide" axis="0 0 1"/>
    <geom size=".1" mass="1" contype="0" conaffinity="0"/></body></worldbody>
<equality>{}</equality></mujoco>"""


def _load(equalities: str, **options) -> lw.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lw.load(FILE.format(equalities), **options)


def test_a_polynomial_holds_between_positions_counted_from_the_files_pose():
    text = '<joint joint1="jb" joint2="ja" polycoef="0.1 2 0.3 -0.2 0.05"/>'
    robot = _load(text)
    assert robot.nv == 2 and not any("equality" in note for note in robot.notes)
    x = 0.5
    expected = 0.1 + 2 * x + 0.3 * x**2 - 0.2 * x**3 + 0.05 * x**4
    assert np.allclose(robot.joint_positions([x, 0.7]), [x, expected, 0.7], rtol=0, atol=1e-15)
    model = mujoco.MjModel.from_xml_string(FILE.format(text))
    data = mujoco.MjData(model)
    data.qpos[:] = model.qpos0 + np.array([x, expected, 0.7])
    mujoco.mj_forward(model, data)
    assert np.abs(data.efc_pos[: data.ne]).max() < 1e-14
    assert _load(text, coupled=False).nv == 3


def test_linear_ones_are_known_as_such():
    robot = _load('<joint joint1="jc" joint2="ja" polycoef="0.1 2 0 0 0"/>')
    assert [(c.dependent, c.ratio, c.offset) for c in robot.couplings] == [("jc", 2.0, 0.1)]


@pytest.mark.parametrize(
    "equalities, said",
    [
        ('<joint joint1="jc" polycoef="0.2 0 0 0 0"/>', "joint 'jc' held at 0.2"),
        ('<joint joint1="jb" joint2="ja"/><joint joint1="jb" joint2="jc"/>', "'jb' already follows 'ja'"),
        ('<joint joint1="jb" joint2="ja"/><joint joint1="ja" joint2="jb"/>', "'ja' would follow itself"),
    ],
)
def test_what_is_not_imposed_is_said(equalities, said):
    assert any(said in note for note in _load(equalities).notes)


def test_joints_that_follow_and_bodies_that_are_welded_at_once():
    robot = _load('<joint joint1="jb" joint2="ja"/><weld body1="b" body2="c"/>')
    assert [c.dependent for c in robot.couplings] == ["jb"] and [x.kind for x in robot.loops] == ["weld"]
    assert not any("not imposed" in note for note in robot.notes)


def test_constraints_that_are_off_are_not_imposed():
    assert _load('<joint joint1="jb" joint2="ja" active="false"/>').nv == 3
