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
