"""How commands fail: one line with a hint, the right exit code, whole files, no traceback."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from command_line import process, run

ONE_LINE = re.compile(r"linkwise: error: [^\n]+\n")


def test_errors_as_data(capsys):
    code, out, err = run(capsys, "info", "nope", "--json")
    assert code == 2
    assert "no built-in robot" in json.loads(out)["error"]
    assert ONE_LINE.fullmatch(err)


@pytest.mark.parametrize(
    "argv", [["info"], ["export", "panda", "--target", "rust"], ["check", "panda", "--states", "x"]]
)
def test_bad_usage(capsys, argv):
    code, out, err = run(capsys, *argv)
    assert (code, out) == (2, "")
    assert ONE_LINE.fullmatch(err)
    assert "--help" in err


@pytest.mark.parametrize(
    "argv",
    [
        ["check", "panda", "--states", "0"],
        ["explain", "panda", "H psi psi("],
        ["explain", "panda"],
        ["explain", "panda", "H", "--frame", "nope"],
        ["linearize", "panda", "--q", "1,2,3"],
        ["linearize", "panda", "--q", "panda_joint1=x"],
        ["linearize", "panda", "--q", "nan 0 0 0 0 0 0"],
        ["linearize", "quadruped", "--q", "root=1"],
        ["linearize", "panda", "--output", "model.txt"],
        ["export", "chain-0", "mass_matrix"],
    ],
)
def test_bad_input(capsys, argv):
    code, out, err = run(capsys, *argv)
    assert (code, out) == (2, "")
    assert ONE_LINE.fullmatch(err)


def test_an_unexpected_error_says_how_to_see_more(capsys, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("linkwise.robot.make.load", fail)
    code, _, err = run(capsys, "info", "panda")
    assert code == 2
    assert "RuntimeError: two lines (unexpected; --debug shows where)" in err
    code, out, err = run(capsys, "info", "panda", "--debug", "--json")
    assert code == 2
    assert "Traceback (most recent call last)" in err and "in fail" in err
    assert "RuntimeError" in json.loads(out)["error"]


@pytest.mark.parametrize(
    "argv, words",
    [
        (["inof", "panda"], "did you mean info? see linkwise --help"),
        (["info", "pnada"], "did you mean panda?"),
        (["export", "panda", "forward_dynamic"], "did you mean forward_dynamics?"),
        (["export", "panda", "mass_matrix", "--target", "cude"], "did you mean cuda? see linkwise export --help"),
        (["simulate", "panda", "--save", "x.nc"], "unrecognized arguments: --save x.nc; see linkwise simulate --help"),
        (["export"], "name a robot"),
        (["--nope"], "unrecognized arguments: --nope; see linkwise --help"),
    ],
)
def test_hints_at_what_was_meant(capsys, argv, words):
    code, out, err = run(capsys, *argv)
    assert (code, out) == (2, "")
    assert ONE_LINE.fullmatch(err) and words in err


def test_options_may_stand_anywhere(capsys, tmp_path):
    picture = tmp_path / "joints.png"
    assert run(capsys, "plot", "double_pendulum", "--output", picture, "joints")[0] == 0
    assert picture.exists()
    assert run(capsys, "explain", "double_pendulum", "--latex", "H phi")[0] == 0


# --- files, pipes, terminals -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "argv",
    [
        ["linearize", "double_pendulum", "--output", "{}/m.json"],
        ["export", "double_pendulum", "--target", "urdf", "--output", "{}/r.urdf"],
        ["simulate", "double_pendulum", "--duration", "0.01", "--output", "{}/t.npz"],
    ],
)
def test_an_interrupt_at_the_last_moment_leaves_the_old_file(capsys, tmp_path, monkeypatch, argv):
    old = tmp_path / argv[-1].partition("/")[2]
    old.write_text("old", encoding="utf-8")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    code, _, err = run(capsys, *(x.format(tmp_path) for x in argv))
    assert code == 130
    assert err == "linkwise: interrupted\n"
    assert [p.name for p in tmp_path.iterdir()] == [old.name]
    assert old.read_text(encoding="utf-8") == "old"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_file_on_a_full_disk():
    done = process("export", "double_pendulum", "--target", "urdf", "--output", "/dev/full")
    assert done.returncode == 2
    assert ONE_LINE.fullmatch(done.stderr)
    assert "the disk is full" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="pipes differ")
def test_a_reader_that_goes_away():
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = process("info", "panda", capture_output=False, stdout=writer, stderr=subprocess.PIPE)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")
