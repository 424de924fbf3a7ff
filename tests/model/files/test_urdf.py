"""What the URDF reader makes of files that are right, or odd but usable."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import linkwise as lw
from linkwise.errors import FileError, ModelWarning
from linkwise.model.files import urdf
from linkwise.model.joints.kinds import Free, Planar, Prismatic, Revolute
from linkwise.model.model import Model
from linkwise.model.parts import Mimic
from linkwise.spatial import rotation_from_rpy

read_urdf = partial(urdf.read_urdf, cls=Model)

INERTIAL = (
    '<inertial><origin xyz="0 0 0.1"/><mass value="2"/>'
    '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
)
LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'


def robot(*parts: str, name: str = "r") -> str:
    return f'<robot name="{name}">\n' + "\n".join(parts) + "\n</robot>"


def link(name: str, inside: str = INERTIAL) -> str:
    return f'<link name="{name}">{inside}</link>'


def joint(name: str, parent: str, child: str, inside: str = '<axis xyz="0 0 1"/>', kind: str = "continuous") -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'


def quietly(text: str, floating: bool = False) -> Model:
    """The model, where nothing may look odd."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return read_urdf(text, floating)


def oddly(text: str, floating: bool = False) -> tuple[Model, str]:
    """The model and the one warning it must give."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = read_urdf(text, floating)
    assert [w.category for w in caught] == [ModelWarning]
    return model, str(caught[0].message)


def one_joint(inside: str, kind: str) -> str:
    return robot(link("base"), link("arm"), joint("j", "base", "arm", inside, kind))


# --- links, frames and fixed joints ----------------------------------------------------------------


def test_fixed_joints_merge_and_keep_their_frames() -> None:
    model = quietly(
        robot(
            *(link(n) for n in ("base", "arm", "tool", "tip", "pad")),
            joint("j", "base", "arm"),
            joint("f1", "arm", "tool", '<origin xyz="1 0 0" rpy="0 0 1.5707963267948966"/>', "fixed"),
            joint("f2", "tool", "tip", '<origin xyz="1 0 0"/>', "fixed"),
            joint("f3", "base", "pad", '<origin xyz="0 5 0"/><axis xyz="0 0 0"/>', "fixed"),
        )
    )
    assert [b.name for b in model.bodies] == ["arm"]
    assert {f.name for f in model.frames} == {"world", "base", "arm", "tool", "tip", "pad"}
    body, pose = model.frame("tip")
    assert body == 0
    assert_allclose(pose.l, [1, 1, 0], atol=1e-15)
    assert_allclose(pose.R, rotation_from_rpy((0, 0, np.pi / 2)), atol=1e-15)
    assert model.frame("base")[0] == model.frame("pad")[0] == -1
    assert_allclose(model.frame("pad")[1].l, [0, 5, 0])
    # Three equal links at x = 0, (1, 0), (1, 1), each with its centre of mass 0.1 up.
    assert model.total_mass == pytest.approx(6)
    assert_allclose(model.bodies[0].inertia.com, [2 / 3, 1 / 3, 0.1])
    assert model.base.mass == pytest.approx(4)


def test_a_joint_behind_a_fixed_one_is_placed_on_the_carrier() -> None:
    model = quietly(
        robot(
            *(link(n) for n in ("base", "a", "mount", "b")),
            joint("ja", "base", "a"),
            joint("f", "a", "mount", '<origin xyz="0 0 1" rpy="0 1.5707963267948966 0"/>', "fixed"),
            joint("jb", "mount", "b", '<origin xyz="0 0 2"/><axis xyz="0 1 0"/>'),
        )
    )
    assert model.parents == (-1, 0)
    assert_allclose(model.joints[1].placement.l, [2, 0, 1], atol=1e-15)


def test_inertial_origin_turns_the_tensor() -> None:
    inertial = (
        '<inertial><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><mass value="2"/>'
        '<inertia ixx="1" ixy="0.1" ixz="0.2" iyy="2" iyz="0.3" izz="2.5"/></inertial>'
    )
    model = quietly(robot(link("base"), link("arm", inertial), joint("j", "base", "arm")))
    R = rotation_from_rpy((0.1, 0.2, 0.3))
    tensor = np.array([[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 2.5]])
    assert_allclose(model.bodies[0].inertia.com, [1, 2, 3])
    assert_allclose(model.bodies[0].inertia.tensor, R @ tensor @ R.T, rtol=1e-14)


def test_origin_as_a_quaternion() -> None:
    half = 0.7071067811865476
    model = quietly(one_joint(f'<origin xyz="1 2 3" quat_xyzw="0 {half} 0 {half}"/><axis xyz="0 0 1"/>', "continuous"))
    assert_allclose(model.joints[0].placement.R, rotation_from_rpy((0, np.pi / 2, 0)), atol=1e-15)


def test_links_without_inertial_have_no_mass() -> None:
    model = quietly(
        robot(
            link("base", ""),
            link("mid", ""),
            link("arm"),
            joint("a", "base", "mid"),
            joint("b", "mid", "arm", ""),
        )
    )
    assert model.base.mass == 0
    assert model.bodies[0].inertia.mass == 0
    assert not model.bodies[0].inertia.tensor.any()


def test_order_is_depth_first_whatever_the_file_order() -> None:
    text = robot(
        *(link(n) for n in ("b2", "a2", "root", "a1", "b1")),
        joint("jb2", "b1", "b2"),
        joint("ja2", "a1", "a2"),
        joint("jb1", "root", "b1"),
        joint("ja1", "root", "a1"),
    )
    assert [b.name for b in quietly(text).bodies] == ["b1", "b2", "a1", "a2"]


def test_links_and_joints_may_share_a_name() -> None:
    model = quietly(robot(link("base"), link("elbow"), joint("elbow", "base", "elbow")))
    assert model.bodies[0].name == model.joints[0].name == "elbow"


def test_a_thousand_links_in_reverse_order() -> None:
    joints = [joint(f"j{i}", f"l{i - 1}", f"l{i}") for i in range(1, 1000)]
    model = quietly(robot(*(link(f"l{i}") for i in range(1000)), *reversed(joints)))
    assert model.is_chain and model.nv == 999


# --- the base --------------------------------------------------------------------------------------


def test_floating_base_carries_what_is_bolted_to_it() -> None:
    text = robot(
        *(link(n) for n in ("base", "pad", "arm")),
        joint("f", "base", "pad", '<origin xyz="0 5 0"/>', "fixed"),
        joint("j", "base", "arm"),
    )
    model = quietly(text, floating=True)
    assert [b.name for b in model.bodies] == ["base", "arm"]
    assert isinstance(model.joints[0].kind, Free) and model.joints[0].name == "root_joint"
    assert model.parents == (-1, 0)
    assert model.bodies[0].inertia.mass == 4
    assert model.frame("pad")[0] == model.frame("base")[0] == 0


@pytest.mark.parametrize("floating", [False, True])
def test_a_root_link_called_world(floating: bool) -> None:
    """Some files call their root link "world"; afloat, that link moves like any other."""
    text = robot(link("world"), link("arm"), joint("j", "world", "arm"))
    model = quietly(text, floating)
    assert model.parents == ((-1, 0) if floating else (-1,))
    assert model.frame("world")[0] == (0 if floating else -1)


def test_a_moving_link_called_world_carries_its_children() -> None:
    text = robot(
        *(link(n) for n in ("base", "world", "arm", "tip")),
        joint("a", "base", "world"),
        joint("b", "world", "arm"),
        joint("c", "world", "tip", "", "fixed"),
    )
    model = quietly(text)
    assert model.parents == (-1, 0)
    assert model.frame("tip")[0] == model.frame("world")[0] == 0


def test_a_file_joint_called_root_joint_keeps_its_name() -> None:
    model = quietly(robot(link("base"), link("arm"), joint("root_joint", "base", "arm")), floating=True)
    assert model.joint("root_joint") == 1
    assert isinstance(model.joints[0].kind, Free)


def test_one_link_alone() -> None:
    assert quietly(robot(link("base"))).nv == 0
    assert quietly(robot(link("base")), floating=True).nv == 6
    with pytest.raises(FileError, match="no body that could float"):
        quietly(robot(link("base", "")), floating=True)


# --- joints ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind, expected, nq, nv",
    [
        ("revolute", Revolute, 1, 1),
        ("continuous", Revolute, 1, 1),
        ("prismatic", Prismatic, 1, 1),
        ("floating", Free, 7, 6),
        ("planar", Planar, 3, 3),
    ],
)
def test_kinds(kind: str, expected: type, nq: int, nv: int) -> None:
    model = quietly(one_joint('<axis xyz="0 1 0"/>' + LIMIT, kind))
    assert isinstance(model.joints[0].kind, expected)
    assert (model.nq, model.nv) == (nq, nv)


def test_axes() -> None:
    assert_allclose(quietly(one_joint("", "continuous")).joints[0].kind.axis, [1, 0, 0])
    model, message = oddly(one_joint('<axis xyz="0 3 4"/>', "continuous"))
    assert_allclose(model.joints[0].kind.axis, [0, 0.6, 0.8])
    assert "unit length" in message
    assert_allclose(quietly(one_joint('<axis xyz="0 1 0"/>', "planar")).joints[0].kind.normal, [0, 1, 0])
    assert "planar without an <axis>" in oddly(one_joint("", "planar"))[1]


@dataclass
class Bounds:
    kind: str
    limit: str
    lower: float
    upper: float
    velocity: float = np.inf
    effort: float = np.inf
    note: str | None = None


@pytest.mark.parametrize(
    "case",
    [
        Bounds("revolute", LIMIT, -1, 2, 3, 4),
        Bounds("prismatic", LIMIT, -1, 2, 3, 4),
        Bounds("continuous", LIMIT, -np.inf, np.inf, 3, 4),
        Bounds("continuous", "", -np.inf, np.inf),
        Bounds("prismatic", '<limit upper="0.04" effort="5" velocity="1"/>', 0, 0.04, 1, 5),
        Bounds("revolute", '<limit effort="5" velocity="1"/>', -np.inf, np.inf, 1, 5, "neither lower nor upper"),
        Bounds("revolute", "", -np.inf, np.inf, note="no <limit>"),
        Bounds("revolute", '<limit lower="0" upper="0"/>', 0, 0, note="lower equals upper"),
        Bounds("revolute", '<limit lower="0" upper="1" effort="0"/>', 0, 1, np.inf, 0, "not positive"),
    ],
    ids=lambda c: f"{c.kind} {c.limit or 'none'}",
)
def test_limits(case: Bounds) -> None:
    text = one_joint('<axis xyz="0 0 1"/>' + case.limit, case.kind)
    if case.note is None:
        model = quietly(text)
    else:
        model, message = oddly(text)
        assert case.note in message
    found = [model.lower_limits, model.upper_limits, model.velocity_limits, model.effort_limits]
    assert [float(x[0]) for x in found] == [case.lower, case.upper, case.velocity, case.effort]


def test_dynamics_are_kept_as_data() -> None:
    model = quietly(one_joint('<axis xyz="0 0 1"/><dynamics damping="0.5" friction="0.25"/>', "continuous"))
    assert model.damping.tolist() == [0.5] and model.friction.tolist() == [0.25]


MIMICS = robot(
    *(link(n) for n in ("base", "a", "b", "c", "d")),
    joint("ja", "base", "a"),
    joint("jb", "base", "b", '<mimic joint="ja" multiplier="-2" offset="0.5"/>'),
    joint("jc", "base", "c", '<mimic joint="jb"/>'),
    joint("jd", "base", "d", '<mimic joint="ja"/>', "fixed"),
)


def test_mimics_are_imposed_those_of_mimics_too() -> None:
    model = quietly(MIMICS)
    assert model.nv == 1 and model.joints[1].mimic == Mimic("ja", -2, 0.5)
    assert {c.dependent: (c.independents, c.ratio, c.offset) for c in model.couplings} == {
        "jb": (("ja",), -2.0, 0.5),
        "jc": (("ja",), -2.0, 0.5),
    }


def test_mimics_can_be_left_independent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = urdf.read_urdf(MIMICS, coupled=False, cls=Model)
    assert model.nv == 3 and not model.couplings
    assert model.joints[1].mimic == Mimic("ja", -2, 0.5)
    assert model.joints[2].mimic == Mimic("jb", 1, 0)


def test_mimics_in_a_cycle_are_refused() -> None:
    text = MIMICS.replace(joint("ja", "base", "a"), joint("ja", "base", "a", '<mimic joint="jc"/>'))
    with pytest.raises(FileError, match="'jc' would follow itself.*in a cycle"):
        urdf.read_urdf(text, cls=Model)


@pytest.mark.parametrize("target, said", [("nope", "does not exist"), ("j", "is the joint itself")])
def test_mimic_of_nothing(target: str, said: str) -> None:
    model, message = oddly(one_joint(f'<axis xyz="0 0 1"/><mimic joint="{target}"/>', "continuous"))
    assert said in message and "so that it moves independently" in message and model.nv == 1


# --- inertias that look odd ------------------------------------------------------------------------


def tensor(mass: float, xx: float, yy: float, zz: float, at: str = "0 0 0") -> str:
    return (
        f'<inertial><origin xyz="{at}"/><mass value="{mass}"/>'
        f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" ixz="0" iyz="0"/></inertial>'
    )


def test_an_impossible_tensor_on_a_fixed_base_only_warns() -> None:
    text = robot(link("base", tensor(1, 9, 1, 1)), link("arm"), joint("j", "base", "arm"))
    model, message = oddly(text)
    assert "triangle inequality" in message and '<link name="base">' in message
    assert model.notes and model.notes[0] in message
    with pytest.raises(FileError, match="triangle inequality"):
        read_urdf(text, floating=True)


def test_an_impossible_tensor_that_merging_makes_possible_only_warns() -> None:
    text = robot(
        *(link("base"), link("arm"), link("chip", tensor(0, 2e-6, 1e-7, 1e-7))),
        joint("j", "base", "arm"),
        joint("f", "arm", "chip", "", "fixed"),
    )
    assert '<link name="chip">' in oddly(text)[1]


def test_a_tensor_moved_to_the_wrong_point_only_warns() -> None:
    # The excess, 0.008, is below 2 m |com|² = 0.02 but above half of that of a centre of mass nearer by.
    text = robot(link("base"), link("arm", tensor(1, 0.01, 0.001, 0.001, "0.1 0 0")), joint("j", "base", "arm"))
    assert "centre of mass would explain it" in oddly(text)[1]
    with pytest.raises(FileError, match='<link name="arm"> <inertial>'):
        read_urdf(text.replace("0.1 0 0", "0.06 0 0"))


def test_rounding_is_not_an_impossible_tensor() -> None:
    """A rod without thickness, and dust of CAD exports, are at the limit but possible."""
    for moments in [(1.0, 1.0, 0.0), (1.0, 1.0, -1e-17), (0.1, 0.2, 0.3)]:
        model = quietly(robot(link("base"), link("arm", tensor(1, *moments)), joint("j", "base", "arm", "")))
        assert np.allclose(np.diag(model.bodies[0].inertia.tensor), moments, atol=1e-15) and not model.notes


def test_a_massless_tip_is_named() -> None:
    model, message = oddly(robot(link("base"), link("arm", ""), joint("j", "base", "arm")))
    assert '<link name="arm">' in message and "singular" in message
    assert model.nv == 1


def test_a_point_mass_on_its_own_axis_is_named() -> None:
    text = robot(link("base"), link("arm", tensor(1, 0, 0, 0, "0 0 1")), joint("j", "base", "arm"))
    assert "singular" in oddly(text)[1]
    quietly(text.replace("0 0 1", "1 0 1", 1))


def test_two_free_joints_in_a_row_are_named() -> None:
    text = robot(link("root", ""), link("trunk"), joint("j", "root", "trunk", "", "floating"))
    quietly(text)
    assert '<link name="root">' in oddly(text, floating=True)[1]


def test_half_an_inertial() -> None:
    model, message = oddly(
        robot(
            link("base"),
            link("arm", '<inertial><origin xyz="1 0 0"/><mass value="3"/></inertial>'),
            joint("j", "base", "arm"),
        )
    )
    assert "point mass" in message and model.total_mass == 3
    assert "no mass" in oddly(robot(link("base"), link("arm", tensor(0, 1, 1, 1)), joint("j", "base", "arm")))[1]
    off_diagonal = INERTIAL.replace('ixy="0" ', "")
    assert "has no ixy" in oddly(robot(link("base", off_diagonal)))[1]


# --- the text of the file --------------------------------------------------------------------------

PLAIN = robot(link("bäse"), link("腕"), joint("j", "bäse", "腕"), name="rübe")


@pytest.mark.parametrize(
    "data",
    [
        PLAIN.encode(),
        PLAIN.encode("utf-8-sig"),
        PLAIN.encode("utf-16"),
        b'<?xml version="1.0" encoding="utf-8"?>' + PLAIN.encode(),
        b'\n\n  <?xml version = "1.0" ?>\n' + PLAIN.encode(),
        PLAIN.replace("\n", "\r\n").encode(),
        b"<!-- a comment -->" + PLAIN.replace("<joint", "<!-- <link name='x'/> --><joint").encode(),
    ],
    ids=["utf-8", "BOM", "utf-16", "declared", "blank lines first", "CRLF", "comments"],
)
def test_encodings_and_layout(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "rübe.urdf"
    path.write_bytes(data)
    for source in (path, str(path)):
        model = read_urdf(source)
        assert model.name == "rübe"
        assert [b.name for b in model.bodies] == ["腕"]


def test_declared_latin_1(tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    path.write_bytes(b'<?xml version="1.0" encoding="iso-8859-1"?><robot name="r"><link name="\xe9"/></robot>')
    assert read_urdf(path).base_name == "é"


def test_text_with_a_declaration_and_blank_lines() -> None:
    assert read_urdf('\n  <?xml version="1.0" encoding="latin-1"?>' + PLAIN).base_name == "bäse"


def test_numbers_in_any_layout() -> None:
    model = quietly(one_joint('<origin xyz=" 1.\t.5\n +2e-1 "/><axis xyz="0  0 1"/>', "continuous"))
    assert_allclose(model.joints[0].placement.l, [1, 0.5, 0.2])


def test_unknown_tags_are_passed_over_in_silence() -> None:
    model = quietly(
        robot(
            '<material name="m"/><gazebo><joint name="j" type="nonsense"/></gazebo>',
            '<transmission name="t"><joint name="j"/><actuator name="a"/></transmission>',
            '<ros2_control><joint name="x"/></ros2_control><gz:odd/>',
            link("base", INERTIAL + '<collision><origin xyz="not read"/></collision><surface/><kinematic/>'),
            link("arm"),
            joint("j", "base", "arm", '<axis xyz="0 0 1"/><safety_controller k_velocity="1"/>'),
        ).replace("<robot", '<robot xmlns="http://x" version="1.0"')
    )
    assert model.nv == 1


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("<inertial>", "<Inertial>"),
        ("<inertial>", "<inertail>"),
        ("<inertial>", "<inertia>"),
        ("<limit ", "<limits "),
        ("<dynamics ", "<dynamic "),
        ("damping=", "dampning="),
        ("lower=", "Lower="),
    ],
)
def test_misspellings_are_mentioned(right: str, wrong: str) -> None:
    text = one_joint('<axis xyz="0 0 1"/><dynamics damping="1"/>' + LIMIT, "revolute")
    assert right in text
    text = text.replace(right, wrong)
    if right.endswith(">"):
        text = text.replace(right.replace("<", "</"), wrong.replace("<", "</"))
    word = wrong.strip("<> =")
    assert any(word in note and "may be meant" in note for note in oddly(text)[0].notes)


def test_one_warning_with_five_notes_and_the_rest_in_the_model() -> None:
    links = [link("base"), *(link(f"l{i}") for i in range(8))]
    joints = [joint(f"j{i}", "base", f"l{i}", f'<axis xyz="0 0 1"/><mimic joint="none{i}"/>') for i in range(8)]
    model, message = oddly(robot(*links, *joints))
    assert len(model.notes) == 8
    assert "and 3 more" in message and message.count("\n") == 6
    assert message.startswith("XML text: loaded")


def test_a_robot_without_a_name() -> None:
    model, message = oddly("<robot>" + link("base") + "</robot>")
    assert model.name == "robot" and "no name" in message


def test_the_class_of_the_model_can_be_chosen() -> None:
    class Mine(Model):
        pass

    assert type(read_urdf(PLAIN, floating=True, cls=Mine)) is Mine


def test_the_warning_points_at_who_called_load(tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    path.write_text("<robot>" + link("base") + "</robot>")
    with pytest.warns(ModelWarning) as caught:
        loaded = lw.load(path)
    assert caught[0].filename == __file__
    assert type(loaded) is lw.Robot and loaded.notes


def test_a_negative_moment_is_refused_even_far_from_the_joint() -> None:
    """A wrong reference point explains a moment that is a little negative, not one that is thoroughly so."""
    inertial = '<inertial><origin xyz="2 0 0"/><mass value="1"/><inertia ixx="{}" iyy="1" izz="1"/></inertial>'
    with pytest.raises(FileError, match="negative"):
        read_urdf(robot(link("base"), link("arm", inertial.format(-1)), joint("j", "base", "arm")))
