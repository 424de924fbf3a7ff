"""Imports between rooms follow the arrow, at a file's head, within functions, and for types alike."""

import pytest

from rooms import ROOMS, SOURCE, Import, imports, says


def test_the_arrow_never_points_back():
    back = [f"{x.where}: {x.importer} imports {x.imported} {x.when}" for x in imports() if x.points_back]
    assert not back, "\n".join(back)


def test_every_room_is_in_the_table():
    there = {p.stem for p in SOURCE.glob("*.py")} | {p.parent.name for p in SOURCE.glob("*/*.py")}
    assert there == set(ROOMS), "list a new room in tests/rooms.py, below those that it imports"
    assert len(ROOMS) == len(set(ROOMS))


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_says_what_is_in_it(room):
    assert len(says(room)) > 20


AT_HEAD = "from ..robot.robot import Robot\n"
WITHIN = "def f():\n    class C:\n        def g(self):\n            from ..robot import robot\n"
FOR_TYPES = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..robot.robot import Robot\n"
BY_NAME = "import linkwise.robot.robot as r\n"
ABSOLUTE = "from linkwise.robot.robot import Robot\n"
PUBLIC = "from linkwise import robot\n"
SIBLING = "from .. import robot\n"


@pytest.mark.parametrize(
    ("text", "when"),
    [
        (AT_HEAD, "at once"),
        (WITHIN, "when used"),
        (FOR_TYPES, "for types"),
        (BY_NAME, "at once"),
        (ABSOLUTE, "at once"),
        (PUBLIC, "at once"),
        (SIBLING, "at once"),
    ],
)
def test_an_arrow_that_points_back_is_seen(tmp_path, text, when):
    for name, content in (("robot/robot.py", ""), ("dynamics/mass.py", text), ("cli/main.py", ABSOLUTE)):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(content)
    found = imports(tmp_path)
    assert [x for x in found if x.points_back] == [
        Import("dynamics", "robot", f"dynamics/mass.py:{text.count(chr(10))}", when)
    ]
    assert ("cli", "robot") in {(x.importer, x.imported) for x in found}
