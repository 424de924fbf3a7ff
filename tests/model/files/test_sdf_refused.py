"""SDF files that cannot be right: the error names file, line, element and reason. Damaged ones raise nothing else."""

import re
import warnings
from random import Random

import pytest
from sdf_files import MIXED, joint, link, model

import linkwise as lw

HINGED = link("a") + joint("j", "world", "a")
MIMIC = '<mimic joint="j"><multiplier>1</multiplier></mimic></axis>'
SCREW = link("a") + joint("j", "world", "a", "screw")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('<sdf version="1.9"/>', "has no <link>"),
        ('<sdf version="new"><model name="m"/></sdf>', "is no version"),
        (model(""), "has no <link>; a model without any"),
        (model('<link name=""/>'), "is empty"),
        (model('<link name="x::y"/>'), "means something else in this format"),
        (model('<link name="world"/>'), "means something else in this format"),
        (model(link("a") + link("a")), "its name is that of <link"),
        (model(link("a") + '<frame name="a"/>'), "its name is that of <link"),
        (model(link("a", '<pose relative_to="nobody"/>')), "'nobody' names no link, joint, frame or model here"),
        (model(link("a", '<pose relative_to="b"/>') + link("b", '<pose relative_to="a"/>')), "relative to itself"),
        (model(link("a", '<pose relative_to="a"/>')), "relative to itself"),
        (
            model(link("l") + '<frame name="f" attached_to="g"/><frame name="g" attached_to="f"/>'),
            "attached to itself|relative to itself",
        ),
        (model(link("a", "<pose>1 2 3</pose>")), "holds 3 values, not 6"),
        (model(link("a", "<pose>1 2 3 4 5 nan</pose>")), "is not finite"),
        (model(link("a", '<pose rotation_format="quat_xyzw">0 0 0 0 0 0 0</pose>')), "far from unit length"),
        (model(link("a", '<pose rotation_format="euler"/>')), "neither euler_rpy nor quat_xyzw"),
        (model('<link name="a"><inertial><mass>-1</mass></inertial></link>'), "is negative"),
        (model('<link name="a"><inertial><mass>x</mass></inertial></link>'), "is not a number"),
        (model('<link name="a"><inertial auto="true"/></link>'), "worked out of collision shapes"),
        (model('<link name="a"><inertial><inertia><ixx>9</ixx></inertia></inertial></link>'), "no real body"),
        (model(link("a") + joint("j", "a", "world")), "its child is the world"),
        (model(link("a") + joint("j", "a", "a")), "joins 'a' to itself"),
        (model(link("a") + joint("j", "b", "a")), "'b' names no link"),
        (model(link("a") + joint("j", "world", "a", "hinge")), "is none of revolute"),
        (model(link("a") + joint("j", "world", "a", "revolut")), "'revolute' may be meant"),
        (model(HINGED.replace("<xyz>0 0 1", "<xyz>0 0 0")), "the axis of a joint is zero"),
        (model(re.sub("<axis>.*</axis>", "", HINGED)), "has no <axis>"),
        (model(HINGED.replace("<child>a</child>", "")), "has no <child>"),
        (model(HINGED.replace("</axis>", "<limit><lower>2</lower><upper>1</upper></limit></axis>")), "swap them"),
        (model(HINGED.replace("</axis>", MIMIC)), "cannot follow"),
        (model(HINGED.replace("</axis>", '<mimic joint="j"/></axis>')), "has no <multiplier>"),
        (model(HINGED.replace("</axis>", MIMIC.replace('"j"', '"k"'))), "'k' names no joint"),
        (model(HINGED + joint("j", "world", "a")), "its name is that of the joint on line 1"),
        (model(SCREW.replace("</joint>", "<thread_pitch>0</thread_pitch></joint>")), "would not turn"),
        (model(f'{link("a")}<model name="n" placement_frame="x">{link("b")}</model>'), "'x' names no link"),
        (model(f'{link("a")}<model name="n" placement_frame="world">{link("b")}</model>'), "is not within the model"),
    ],
)  # fmt: skip
def test_refused(text, reason):
    with pytest.raises(lw.FileError, match=reason) as found:
        lw.load(text)
    assert str(found.value).startswith("XML text:1: <")


def test_entities_are_not_expanded():
    with pytest.raises(lw.FileError, match="a DOCTYPE is not allowed"):
        lw.load('<!DOCTYPE sdf [<!ENTITY x "y">]><sdf version="1.9"/>')


def test_infinite_limits_are_none():
    limits = "<limit><lower>-inf</lower><upper>1e16</upper><effort>-1</effort><velocity>inf</velocity></limit></axis>"
    robot = lw.load(model(HINGED.replace("</axis>", limits)))
    assert not any(abs(x) < 1e300 for x in (*robot.lower_limits, *robot.upper_limits, *robot.effort_limits))


def test_long_chains_of_frames_are_read():
    """Each placed relative to the one before it: no recursion, and nothing grows by the square."""
    frames = "".join(
        f'<frame name="f{i}" attached_to="{f"f{i - 1}" if i else "a"}"><pose>0 0 1 0 0 0</pose></frame>'
        for i in range(1500)
    )
    robot = lw.load(model(link("a") + frames))
    assert robot.pose(robot.neutral(), "f1499")[1][2] == pytest.approx(1500)


def test_damaged_files_load_or_raise_a_file_error():
    """Values exchanged, elements lost or doubled, cut anywhere."""
    rng = Random(0)
    words = [
        "",
        "0",
        "-1",
        "1e99",
        "1e400",
        "nan",
        "inf",
        "0 0 0",
        "a",
        "base",
        "world",
        "__model__",
        "wrist",
        "ball",
        "&#49;",
    ]
    for _ in range(250):
        text = MIXED
        for _ in range(rng.randint(1, 3)):
            values = list(re.finditer(r'"([^"]*)"|>([^<>\s][^<>]*)<', text))
            parts = list(
                re.finditer(r"<(\w+)[^<>]*>[^<>]*</\1>|<\w+[^<>]*/>|<(link|joint|frame)\b.*?</\2>", text, re.S)
            )
            kind = rng.randrange(4)
            if kind < 2:
                m = rng.choice(values)
                i = 1 if m[1] is not None else 2
                text = text[: m.start(i)] + rng.choice([*words, rng.choice(values)[0].strip('"<>')]) + text[m.end(i) :]
            elif kind == 2:
                m = rng.choice(parts)
                text = text[: m.start()] + (m[0] * 2 if rng.random() < 0.5 else "") + text[m.end() :]
            else:
                text = text[: rng.randrange(len(text))] if rng.random() < 0.2 else text
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # no stray overflow or division may show
            warnings.simplefilter("ignore", lw.ModelWarning)
            try:
                robot = lw.load("<?xml?>" if not text.strip() else text)
            except lw.FileError:
                continue
            assert isinstance(robot, lw.Robot)
