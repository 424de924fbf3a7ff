"""Files that cannot be right: each is refused with the file, the element and the reason."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from linkwise.errors import FileError, LinkwiseError
from linkwise.model.files import urdf
from linkwise.model.model import Model

read_urdf = partial(urdf.read_urdf, cls=Model)

GOOD = """<?xml version="1.0"?>
<robot name="r">
  <link name="base"/>
  <link name="arm">
    <inertial>
      <origin xyz="0 0 0.1" rpy="0 0 0"/>
      <mass value="1.5"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>
    </inertial>
  </link>
  <joint name="elbow" type="revolute">
    <parent link="base"/>
    <child link="arm"/>
    <origin xyz="0 0 1" rpy="0 0 0"/>
    <axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="10" velocity="2"/>
    <dynamics damping="0.5" friction="0.1"/>
  </joint>
</robot>
"""

MASS, TENSOR = '<mass value="1.5"/>', '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>'
ARM, ELBOW = '<link name="arm">', '<joint name="elbow">'
AXIS, PLACE = '<axis xyz="0 0 1"/>', '<origin xyz="0 0 1" rpy="0 0 0"/>'
LOWER, CLOSE = 'lower="-1" upper="1"', "</robot>"


def mass(value: str) -> tuple[str, str]:
    return MASS, f'<mass value="{value}"/>'


def moments(xx: str, yy: str, zz: str) -> tuple[str, str]:
    return TENSOR, f'<inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/>'


def extra_joint(parent: str, child: str, name: str = "extra") -> tuple[str, str]:
    return (
        CLOSE,
        f'<joint name="{name}" type="fixed"><parent link="{parent}"/><child link="{child}"/></joint></robot>',
    )


# name: ((old, new) in GOOD, line, element in the message, reason in the message)
REFUSED = {
    "mass of letters": (mass("abc"), 7, ARM + " <inertial> <mass>", 'value="abc" is not a number'),
    "mass with a comma": (mass("1,0"), 7, ARM, "not a number"),
    "mass with an underscore": (mass("1_000"), 7, ARM, "not a number"),
    "mass in hexadecimal": (mass("0x10"), 7, ARM, "not a number"),
    "mass with a unit": (mass("1.5 kg"), 7, ARM, "not a number"),
    "mass in full-width digits": (mass("１"), 7, ARM, "not a number"),
    "mass in Arabic digits": (mass("١"), 7, ARM, "not a number"),
    "mass empty": (mass(" "), 7, ARM, "empty"),
    "mass nan": (mass("nan"), 7, ARM, "not finite"),
    "mass inf": (mass("-inf"), 7, ARM, "not finite"),
    "mass too large": (mass("1e400"), 7, ARM, "too large"),
    "mass xacro": (mass("${m}"), 7, ARM, "xacro"),
    "mass negative": (mass("-1.5"), 7, ARM + " <inertial> <mass>", "negative"),
    "mass without value": ((MASS, "<mass/>"), 7, ARM, "has no value"),
    "mass with Value": ((MASS, '<mass Value="1"/>'), 7, ARM, "it has 'Value'"),
    "mass as text": ((MASS, "<mass>1.5</mass>"), 7, ARM, "has no value"),
    "mass missing": ((MASS, ""), 5, ARM + " <inertial>", "has no <mass>"),
    "mass twice": ((MASS, MASS + MASS), 7, ARM, "a second <mass>"),
    "inertia nan": (moments("nan", "1", "1"), 8, ARM + " <inertial> <inertia>", "not finite"),
    "inertia inf": (moments("1", "1", "inf"), 8, ARM, "not finite"),
    "inertia without ixx": ((' ixx="0.1"', ""), 8, ARM, "has no ixx"),
    "inertia breaks the triangle": (moments("0.3", "0.1", "0.1"), 5, ARM + " <inertial>", "triangle"),
    "inertia negative": (moments("-0.1", "0.1", "0.1"), 5, ARM, "negative"),
    "inertial twice": (("</inertial>", "</inertial><inertial/>"), 9, ARM, "a second <inertial>"),
    "inertial origin short": (('xyz="0 0 0.1"', 'xyz="0 0.1"'), 6, ARM, "holds 2 values"),
    "axis zero": ((AXIS, '<axis xyz="0 0 0"/>'), 15, ELBOW + " <axis>", "zero"),
    "axis nan": ((AXIS, '<axis xyz="0 0 nan"/>'), 15, ELBOW, "not finite"),
    "axis short": ((AXIS, '<axis xyz="0 1"/>'), 15, ELBOW, "holds 2 values"),
    "axis without xyz": ((AXIS, "<axis/>"), 15, ELBOW, "has no xyz"),
    "axis twice": ((AXIS, AXIS + AXIS), 15, ELBOW, "a second <axis>"),
    "origin long": ((PLACE, '<origin xyz="1 2 3 4"/>'), 14, ELBOW + " <origin>", "holds 4 values"),
    "origin with commas": ((PLACE, '<origin xyz="1,2,3"/>'), 14, ELBOW, "without commas"),
    "origin broken": ((PLACE, '<origin xyz="1 2 x"/>'), 14, ELBOW, "not a number"),
    "origin rpy inf": ((PLACE, '<origin rpy="0 0 inf"/>'), 14, ELBOW, "not finite"),
    "origin twice turned": ((PLACE, '<origin rpy="0 0 1" quat_xyzw="0 0 0 1"/>'), 14, ELBOW, "keep one"),
    "quaternion zero": ((PLACE, '<origin quat_xyzw="0 0 0 0"/>'), 14, ELBOW, "unit"),
    "limit broken": ((LOWER, 'lower="abc"'), 16, ELBOW + " <limit>", "not a number"),
    "limits swapped": ((LOWER, 'lower="1" upper="-1"'), 16, ELBOW, "exceeds"),
    "velocity broken": (('velocity="2"', 'velocity="fast"'), 16, ELBOW, "not a number"),
    "damping broken": (('damping="0.5"', 'damping="x"'), 17, ELBOW + " <dynamics>", "not a number"),
    "damping negative": (('damping="0.5"', 'damping="-1"'), 11, ELBOW, "negative"),
    "mimic of no joint": ((AXIS, AXIS + "<mimic/>"), 15, ELBOW + " <mimic>", "has no joint"),
    "mimic broken": ((AXIS, AXIS + '<mimic joint="a" offset="?"/>'), 15, ELBOW, "not a number"),
    "type unknown": (("revolute", "hinge"), 11, ELBOW, "type='hinge'"),
    "type in capitals": (("revolute", "Revolute"), 11, ELBOW, "'revolute' may be meant"),
    "type missing": ((' type="revolute"', ""), 11, ELBOW, "has no type"),
    "joint without name": ((' name="elbow"', ""), 11, "<joint>", "has no name"),
    "link without name": (('<link name="base"/>', "<link/>"), 3, "<link>", "has no name"),
    "link with empty name": (('<link name="base"/>', '<link name=""/>'), 3, '<link name="">', "empty"),
    "two links of one name": (('<link name="base"/>', '<link name="arm"/>'), 4, ARM, "duplicate link name"),
    "two joints of one name": (extra_joint("arm", "base", "elbow"), 19, ELBOW, "duplicate joint name"),
    "parent undefined": (
        ('<parent link="base"/>', '<parent link="x"/>'),
        11,
        ELBOW,
        "parent link 'x' does not exist",
    ),
    "child undefined": (
        ('<child link="arm"/>', '<child link="x"/>'),
        11,
        ELBOW,
        "child link 'x' does not exist",
    ),
    "parent missing": (('<parent link="base"/>', ""), 11, ELBOW, "has no <parent>"),
    "parent without link": (('<parent link="base"/>', "<parent/>"), 12, ELBOW + " <parent>", "has no link"),
    "two roots": ((CLOSE, '<link name="stray"/></robot>'), 19, '<link name="stray">', "second root"),
    "two parents": (extra_joint("base", "arm"), 19, '<joint name="extra">', "one parent"),
    "cycle": (extra_joint("arm", "base"), 19, '<joint name="extra">', "cycle: arm → base → arm"),
    "joint from a link to itself": (
        extra_joint("base", "base"),
        19,
        '<joint name="extra">',
        "cycle: base → base",
    ),
    "cycle beside the root": (
        (CLOSE, '<link name="a"/>' + extra_joint("a", "a")[1]),
        *(19, '<joint name="extra">', "cycle: a → a"),
    ),
    "live xacro": ((CLOSE, "<xacro:arm/></robot>"), 19, "<xacro:arm>", "xacro"),
    "sdf": (('robot name="r"', 'sdf version="1.6"'), 2, "<sdf>", "SDF"),
    "mjcf": (('robot name="r"', 'mujoco model="r"'), 2, "<mujoco", "MuJoCo"),
    "another root": (('robot name="r"', 'html lang="en"'), 2, "<html>", "<robot>"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(tmp_path: Path, name: str) -> None:
    (old, new), line, element, reason = REFUSED[name]
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    if element in ("<sdf>", "<mujoco", "<html>"):
        text = text.replace("</robot>", f"</{element.strip('<>')}>")
    path = tmp_path / "bad.urdf"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError) as caught:
        read_urdf(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:{line}: ")
    assert element in message
    assert reason in message


def test_the_file_they_all_come_from_is_good() -> None:
    assert read_urdf(GOOD).nv == 1


UNREADABLE = {
    "empty": (b"", "empty"),
    "blank": (b" \n\t\n", "empty"),
    "binary": (bytes(range(256)), "not valid XML"),
    "an image": (b"\x89PNG\r\n\x1a\n\x00\x00", "not UTF-8"),
    "latin-1, undeclared": (GOOD.replace('"arm"', '"\xe9"').encode("latin-1"), "0xe9 is not UTF-8"),
    "an encoding nobody knows": (
        b'<?xml version="1.0" encoding="nope-8"?><robot/>',
        "save the file as UTF-8",
    ),
    "cut off": (GOOD[: len(GOOD) // 2].encode(), "cut off"),
    "cut in a tag": (GOOD[: GOOD.index("<axis") + 8].encode(), "cut off"),
    "tags crossed": (GOOD.replace("</inertial>", "</link>").encode(), "mismatched tag"),
    "two documents": (GOOD.encode() + b"<robot/>", "junk after document element"),
    "a null byte": (GOOD.replace("1.5", "1.\x005").encode(), "not valid XML"),
    "an attribute twice": (GOOD.replace('rpy="0 0 0"', 'xyz="1 1 1"').encode(), "duplicate attribute"),
    "no links": (b'<robot name="r"/>', "has no <link>"),
    "an entity bomb": (
        b'<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><robot name="&b;"/>',
        "DOCTYPE",
    ),
    "an outside entity": (b'<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]><r>&a;</r>', "DOCTYPE"),
    "an undefined entity": (GOOD.replace("1.5", "&m;").encode(), "undefined entity"),
    "nested without end": (b"<robot>" * 100_000, "nested too deep"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable(tmp_path: Path, name: str) -> None:
    data, reason = UNREADABLE[name]
    path = tmp_path / "bad.urdf"
    path.write_bytes(data)
    with pytest.raises(FileError) as caught:
        read_urdf(path)
    assert str(caught.value).startswith(f"{path}:")
    assert reason in str(caught.value)


@pytest.mark.parametrize("source", ["no_such_file.urdf", "no/such/folder/r.urdf", "nul\0l.urdf", "x" * 5000, "", "."])
def test_no_such_file(source: str) -> None:
    with pytest.raises(FileError, match="path"):
        read_urdf(source)


@pytest.mark.parametrize("source", [None, 3, b"<robot/>"])
def test_not_a_path(source: object) -> None:
    with pytest.raises(FileError, match="path or as XML text"):
        read_urdf(source)  # type: ignore[arg-type]


def test_what_kind_of_error_it_is() -> None:
    assert issubclass(FileError, LinkwiseError) and issubclass(FileError, ValueError)


def test_long_values_do_not_flood_the_message() -> None:
    for value in ("9" * 1_000_000 + "x", "x" * 1_000_000):
        with pytest.raises(FileError) as caught:
            read_urdf(GOOD.replace("1.5", value))
        assert len(str(caught.value)) < 300
