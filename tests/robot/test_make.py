"""Ways to get a robot: names, paths and text that are none are refused in our own words."""

import pytest

import linkwise as lw

ROBOT = "<robot name='{}'><link name='a'/></robot>"


@pytest.mark.parametrize("name", ["x" * 300, "no_such_robot", "", "a\0b", "é" * 5000, "\ud800"])
def test_names_of_no_robot(name):
    with pytest.raises(lw.UnknownNameError, match="no built-in robot is named") as e:
        lw.load(name)
    assert len(str(e.value)) < 500


@pytest.mark.parametrize("path", ["x" * 300 + ".urdf", "a/" * 3000, "a\0b.urdf", "./no_such.urdf", "."])
def test_paths_of_no_file(path):
    with pytest.raises(lw.FileError, match="cannot be read"):
        lw.load(path)


@pytest.mark.parametrize("name", ["short", "x" * 5000])
@pytest.mark.parametrize("before", ["", "\n  ", "<?xml version='1.0'?>\n"])
def test_text_whatever_its_first_line(name, before):
    assert lw.load(before + ROBOT.format(name)).name == name


def test_text_that_is_no_robot():
    for text in ("<", "<robot", "<robot>" + "x" * 5000, "<mujoco><worldbody>", "<a/>"):
        with pytest.raises(lw.FileError, match="XML text"):
            lw.load(text)
