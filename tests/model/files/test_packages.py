"""Files of ROS packages by their names."""

import sys
import types

import pytest

import linkwise as lw


@pytest.mark.parametrize(("variable", "below"), [("ROS_PACKAGE_PATH", ""), ("AMENT_PREFIX_PATH", "share")])
def test_robots_of_packages(tmp_path, monkeypatch, variable, below):
    for name in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(lw.FileError, match="are not set"):
        lw.load("package://arm/urdf/arm.urdf")
    folder = tmp_path / below / "arm" / "urdf"
    folder.mkdir(parents=True)
    lw.save_urdf(lw.chain(2), folder / "arm.urdf")
    monkeypatch.setenv(variable, f"{tmp_path / 'elsewhere'}:{tmp_path}")
    assert lw.load("package://arm/urdf/arm.urdf").nv == 2
    monkeypatch.setenv(variable, str(tmp_path / below / "arm"))  # the package itself
    if variable == "ROS_PACKAGE_PATH":
        assert lw.load("package://arm/urdf/arm.urdf").nv == 2
    with pytest.raises(lw.FileError, match="looked for in"):
        lw.load("package://arm/urdf/other.urdf")


def module(name, **content):
    found = types.ModuleType(name)
    vars(found).update(content)
    return found


def test_robots_of_robot_descriptions_and_of_xacro(tmp_path, monkeypatch):
    lw.save_urdf(lw.chain(3), tmp_path / "arm.urdf")
    for name in ("robot_descriptions", "xacro"):
        monkeypatch.setitem(sys.modules, name, None)  # as where they are not installed
    with pytest.raises(lw.MissingExtraError, match="pip install robot_descriptions"):
        lw.load("arm_description")
    monkeypatch.setitem(sys.modules, "robot_descriptions", module("robot_descriptions", __path__=[]))
    arm = module("robot_descriptions.arm_description", URDF_PATH=str(tmp_path / "arm.urdf"))
    monkeypatch.setitem(sys.modules, "robot_descriptions.arm_description", arm)
    assert lw.load("arm_description").nv == 3
    with pytest.raises(lw.FileError, match="is none that robot_descriptions knows"):
        lw.load("other_description")
    (tmp_path / "arm.urdf.xacro").write_text("<robot/>")
    with pytest.raises(lw.MissingExtraError, match="pip install xacro"):
        lw.load(str(tmp_path / "arm.urdf.xacro"))

    class Document:
        def toxml(self):
            return (tmp_path / "arm.urdf").read_text()

    monkeypatch.setitem(sys.modules, "xacro", module("xacro", process_file=lambda path: Document()))
    assert lw.load(str(tmp_path / "arm.urdf.xacro")).nv == 3


def test_descriptions_that_are_not_known_or_not_there(tmp_path, monkeypatch):
    """A package with a name that is nearly meant, and one whose files cannot be fetched."""
    (tmp_path / "robot_descriptions").mkdir()
    (tmp_path / "robot_descriptions" / "__init__.py").write_text("")
    (tmp_path / "robot_descriptions" / "ur10e_description.py").write_text("raise OSError('no host github')")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [x for x in sys.modules if x.partition(".")[0] == "robot_descriptions"]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(lw.FileError, match="none that robot_descriptions knows; did you mean ur10e_description"):
        lw.load("ur10_description")
    with pytest.raises(lw.FileError, match="needs the network the first time: no host github"):
        lw.load("ur10e_description")
    for name in [x for x in sys.modules if x.partition(".")[0] == "robot_descriptions"]:
        monkeypatch.delitem(sys.modules, name)


def test_a_real_xacro_file(tmp_path):
    pytest.importorskip("xacro")
    (tmp_path / "arm.urdf.xacro").write_text(
        """<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="arm"><link name="base"/>
        <xacro:macro name="part" params="n parent"><link name="l${n}"><inertial><mass value="${2.0 * n}"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="j${n}" type="continuous"><parent link="${parent}"/><child link="l${n}"/><axis xyz="0 1 0"/></joint>
        </xacro:macro><xacro:part n="1" parent="base"/><xacro:part n="2" parent="l1"/></robot>"""
    )
    assert lw.load(str(tmp_path / "arm.urdf.xacro")).total_mass == 6.0
