"""The command line as a whole: what it prints, what it writes, how it fails."""

import os
import re
import signal
import subprocess
import sys

import pytest

import linkwise as lw
from linkwise import cli
from linkwise.cli.command import Command
from linkwise.cli.terminal_text import show_warning

ODD = """<robot name="odd"><link name="base"/>
<link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
</robot>"""


def run(capsys, *argv):
    try:
        code = cli.main(list(argv))
    except SystemExit as e:
        code = e.code
    out, err = capsys.readouterr()
    return code, out, err


def test_an_interrupt_that_a_library_turns_into_its_own_error_is_one(capsys, monkeypatch):
    """As NumPy's C interface does, for whoever loads it at that moment."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def loading(*_):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("numpy.core.multiarray failed to import") from None

    only = Command("robots", "load something", lambda parser: None, loading)
    monkeypatch.setattr(sys.modules["linkwise.cli.main"], "COMMANDS", (only,))
    try:
        assert run(capsys, "robots") == (130, "", "linkwise: interrupted\n")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_version(capsys):
    assert run(capsys, "--version") == (0, f"linkwise {lw.__version__}\n", "")


def test_nothing_prints_help(capsys):
    code, out, _ = run(capsys)
    assert code == 0
    assert all(c.name in out for c in cli.COMMANDS)


def test_robots_lists_every_robot(capsys):
    code, out, _ = run(capsys, "robots")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[1:]] == lw.robots()


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (["dmeo"], "linkwise --help"),
        (["demo", "--frobnicate"], "--help"),
        (["demo", "--robot", "nope"], "built in are"),
        (["demo", "nope"], "built in are"),
        (["demo", "ur5", "--robot", "panda"], "one robot"),
        (["demo", "--robot", "nope.urdf"], "check the path"),
        (["demo", "--output", "nowhere/picture.png"], "make it first"),
        (["demo", "--output", "picture.txt"], ".svg"),
        (["demo", "--output", "folder.png"], "name a file in it"),
    ],
)
def test_errors_are_one_line_with_a_hint(capsys, tmp_path, monkeypatch, argv, hint):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.png").mkdir()
    code, out, err = run(capsys, *argv)
    assert code == 2
    assert not out
    assert re.fullmatch(r"linkwise: error: [^\n]+\n", err)
    assert hint in err


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(capsys, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    code, _, err = run(capsys, "demo", "--output", str(closed / "x.png"))
    assert code == 2
    assert "--no-picture" in err


def test_a_disk_that_fails_leaves_nothing(capsys, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    output = tmp_path / "x.png"
    code, _, err = run(capsys, "demo", "double_pendulum", "--output", str(output))
    assert code == 2
    assert "No space left" in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("argv", [["--debug", "demo", "--robot", "nope"], ["demo", "--robot", "nope", "--debug"]])
def test_debug_shows_the_traceback(capsys, argv):
    code, _, err = run(capsys, *argv)
    assert code == 2
    assert err.startswith("Traceback (most recent call last)") and "UnknownNameError" in err


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_terminals_without_greek(encoding):
    code = "import sys; from linkwise.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "demo", "--robot", "double_pendulum", "--no-picture"]
    done = subprocess.run(command, env={**os.environ, "PYTHONIOENCODING": encoding}, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert "(I - H psi K)*" in done.stdout.decode(encoding)


def test_a_warning_is_one_line(capsys, tmp_path):
    path = tmp_path / "odd.urdf"
    path.write_text(ODD, encoding="utf-8")
    code, _, err = run(capsys, "demo", "--robot", str(path), "--no-picture")
    assert code == 0
    assert re.fullmatch(r"linkwise: warning: [^\n]+\n", err)


def test_a_list_in_a_warning_stays_a_list(capsys):
    show_warning(UserWarning("m.xml: not all of it is modelled:\n  no contacts\n  no springs"))
    assert capsys.readouterr().err == "linkwise: warning: m.xml: not all of it is modelled: no contacts; no springs\n"
