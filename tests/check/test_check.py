"""``linkwise check``: what it finds right, wrong and odd in a robot, alone and beside other libraries."""

import importlib.util

import pytest
from arm_file import ARM
from command_line import Nursery, data, run

import linkwise as lw


@pytest.fixture
def arm(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["panda", "quadruped", "chain-4"])
def test_check_passes(capsys, name):
    code, out, err = run(capsys, "check", name)
    assert (code, err) == (0, ""), out
    assert "✗" not in out
    assert "passed" in out.splitlines()[-1]


def test_check_of_a_file_compares_with_pinocchio_and_mujoco(capsys, arm):
    found = data(capsys, "check", arm)
    status = {c["name"]: c["status"] for c in found["checks"]}
    assert found["ok"]
    assert found["failed"] == 0
    for library, name in (("pinocchio", "the file in Pinocchio, mass matrix"), ("mujoco", "MuJoCo, mass matrix")):
        if importlib.util.find_spec(library):
            assert status[name] == "passed"


def test_check_of_an_mjcf_file(capsys, tmp_path):
    pytest.importorskip("mujoco")
    path = tmp_path / "m.xml"
    path.write_text(
        '<mujoco><worldbody><body name="b" pos="0 0 1"><joint name="j" ref="20" pos=".1 0 0"/><joint type="ball"/>'
        '<geom size=".1" pos="0 .2 0"/></body></worldbody></mujoco>',
        encoding="utf-8",
    )
    found = data(capsys, "check", path)
    status = {c["name"]: c["status"] for c in found["checks"]}
    assert status["the file in MuJoCo, inverse dynamics"] == "passed"
    assert found["warned"] > 0  # the reference is mentioned
    assert run(capsys, "check", path, "--strict")[0] == 1


def test_check_fails_where_numbers_are_wrong(capsys, monkeypatch):
    right = lw.Robot.bias_force.plain
    wrong = lambda self, q, v, external=None, target=None: 1.001 * right(self, q, v)
    monkeypatch.setattr(lw.Robot, "bias_force", wrong)
    code, out, _ = run(capsys, "check", "panda")
    assert code == 1
    assert "✗ inverse dynamics" in out
    assert "failed" in out.splitlines()[-1]


def test_check_of_a_refused_file_fails(capsys, tmp_path):
    path = tmp_path / "bad.urdf"
    path.write_text(ARM.replace('mass value="1"', 'mass value="-1"'), encoding="utf-8")
    code, out, err = run(capsys, "check", path)
    assert (code, err) == (1, "")
    assert "✗ file" in out
    assert "negative" in out
    assert not data(capsys, "check", path, code=1)["ok"]


def test_check_of_no_file_is_bad_input(capsys):
    assert run(capsys, "check", "nope.urdf")[0] == 2


def test_check_warns_of_odd_inertias(capsys, tmp_path):
    path = tmp_path / "odd.urdf"
    placeholder = ARM.replace('ixx="0.01" iyy="0.01" izz="0.001"', 'ixx="20" iyy="20" izz="20"')
    path.write_text(placeholder.replace('<mass value="0.5"/>', '<mass value="0.01"/>'), encoding="utf-8")
    found = data(capsys, "check", path)
    said = [c["detail"] for c in found["checks"] if c["status"] == "warned"]
    assert any("spread over" in x and "'lower'" in x for x in said)


def test_check_of_loose_joints(capsys, tmp_path):
    path = tmp_path / "loose.urdf"
    path.write_text(
        '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="continuous"><parent link="a"/>'
        '<child link="b"/></joint></robot>',
        encoding="utf-8",
    )
    found = data(capsys, "check", path)
    assert any("no inertia resists joint 'j'" in c["detail"] for c in found["checks"])


def test_check_without_other_libraries(arm, tmp_path):
    apart = Nursery(tmp_path)
    done = apart("check", arm, blocked=["pinocchio", "mujoco"], cwd=tmp_path)
    apart.close()
    assert done.returncode == 0, done.stderr
    assert "not installed; pip install pin" in done.stdout
    assert "not installed; pip install mujoco" in done.stdout
