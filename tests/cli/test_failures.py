"""How commands fail: one line with a hint, the right exit code, whole files, no traceback."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import process, run, without

import linkwise as lw
from linkwise import cli

ONE_LINE = re.compile(r"linkwise: error: [^\n]+\n")
NEEDS_ROBOT = ["info", "check", "explain", "linearize", "export", "simulate", "plot", "view"]


def argv_of(command, robot):
    more = {"explain": ["H phi"], "export": ["mass_matrix", "-o", "-"], "plot": ["joints"]}
    return [command, str(robot), *more.get(command, [])]


def bad_files(folder):
    """Files that are no robots, with what is said of each."""
    files = {
        "empty.urdf": (b"", "the file is empty"),
        "text.urdf": (b"hello", "not valid XML"),
        "cut.urdf": (b'<robot name="r"><link name="a">', "cut off"),
        "binary.urdf": (bytes(range(256)), "UTF-8|not valid XML"),
        "html.xml": (b"<html/>", "not the root of a URDF"),
        "scene.sdf": (b"<sdf/>", "SDF"),
    }
    for name, (content, words) in files.items():
        path = folder / name
        path.write_bytes(content)
        yield path, words


@pytest.mark.parametrize("command", ["info", "linearize", "export", "explain"])
def test_bad_robot_files(capsys, tmp_path, command):
    for path, words in bad_files(tmp_path):
        code, out, err = run(capsys, *argv_of(command, path))
        assert (code, out) == (2, ""), path
        assert ONE_LINE.fullmatch(err), path
        assert re.search(words, err), path


@pytest.mark.parametrize("command", NEEDS_ROBOT)
def test_a_robot_that_is_not_there(capsys, monkeypatch, command):
    for name in ("simulate", "plots"):
        monkeypatch.setattr(lw, name, lambda *a, **k: None, raising=False)
    for robot in ("nope", "no/such/file.urdf"):
        code, out, err = run(capsys, *argv_of(command, robot))
        assert (code, out) == (2, "")
        assert ONE_LINE.fullmatch(err)


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
def test_bad_input(capsys, monkeypatch, argv):
    monkeypatch.setattr(lw.Robot, "linearize_forward", lambda *a: None, raising=False)
    code, out, err = run(capsys, *argv)
    assert (code, out) == (2, "")
    assert ONE_LINE.fullmatch(err)


def test_an_unexpected_error_says_how_to_see_more(capsys, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("linkwise.make.load", fail)
    code, _, err = run(capsys, "info", "panda")
    assert code == 2
    assert "RuntimeError: two lines (unexpected; --debug shows where)" in err
    with pytest.raises(RuntimeError):
        cli.main(["info", "panda", "--debug"])


# --- missing extras ----------------------------------------------------------------------------------


def test_mjcf_without_mujoco(tmp_path):
    path = tmp_path / "m.xml"
    path.write_text("<mujoco/>", encoding="utf-8")
    done = without(["mujoco"], "info", path)
    assert done.returncode == 2
    assert ONE_LINE.fullmatch(done.stderr)
    assert 'pip install "linkwise[mjcf]"' in done.stderr


def test_bench_plot_without_matplotlib(tmp_path):
    done = without(["matplotlib"], "bench", "--plot", tmp_path / "x.png")
    assert done.returncode == 2
    assert 'pip install "linkwise[plot]"' in done.stderr


# --- places that cannot be written -------------------------------------------------------------------

WRITERS = {
    "linearize": ["linearize", "double_pendulum", "--output", "{}/m.json"],
    "export": ["export", "double_pendulum", "mass_matrix", "--output", "{}"],
    "urdf": ["export", "double_pendulum", "--target", "urdf", "--output", "{}/r.urdf"],
    "demo": ["demo", "--robot", "double_pendulum", "--output", "{}/p.png"],
    "bench": [
        *("bench", "--robot", "double_pendulum", "--function", "mass_matrix", "--batch", "1", "--repeats", "1"),
        *("--library", "linkwise", "--json", "{}/b.json"),
    ],
}


@pytest.fixture
def linearizes(monkeypatch):
    import types

    import numpy as np

    found = types.SimpleNamespace(state_space=lambda: (np.eye(4), np.zeros((4, 2))))
    monkeypatch.setattr(lw.Robot, "linearize_forward", lambda *a: found, raising=False)


def write_into(capsys, writer, folder):
    return run(capsys, *(x.format(folder) for x in WRITERS[writer]))


@pytest.mark.parametrize("writer", WRITERS)
def test_a_read_only_folder(capsys, tmp_path, monkeypatch, linearizes, writer):
    """Root may write anywhere, so permission is denied by hand."""
    if writer == "demo":
        pytest.importorskip("matplotlib")
    access = os.access
    closed = tmp_path / "closed"
    closed.mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != closed and access(path, mode))

    def denied(self, *_):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "write_bytes", denied)
    code, _, err = write_into(capsys, writer, closed)
    assert code == 2
    assert ONE_LINE.fullmatch(err)
    assert "not writable" in err
    assert not list(closed.iterdir())


@pytest.mark.parametrize("writer", WRITERS)
def test_a_folder_that_is_really_read_only(capsys, tmp_path, linearizes, writer):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    if os.access(closed, os.W_OK):
        pytest.skip("whoever runs this may write anywhere")
    code, _, err = write_into(capsys, writer, closed)
    assert code == 2
    assert ONE_LINE.fullmatch(err)


@pytest.mark.parametrize("writer", WRITERS)
def test_a_full_disk_leaves_nothing(capsys, tmp_path, monkeypatch, linearizes, writer):
    if writer == "demo":
        pytest.importorskip("matplotlib")

    def full(self, data):
        self.touch()
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr(Path, "write_bytes", full)
    code, _, err = write_into(capsys, writer, tmp_path)
    assert code == 2
    assert ONE_LINE.fullmatch(err)
    assert "the disk is full" in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("writer", ["linearize", "urdf"])
def test_an_interrupt_leaves_the_old_file(capsys, tmp_path, monkeypatch, linearizes, writer):
    old = tmp_path / WRITERS[writer][-1].partition("/")[2]
    old.write_text("old", encoding="utf-8")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    code, _, err = write_into(capsys, writer, tmp_path)
    assert code == 130
    assert err == "linkwise: interrupted\n"
    assert [p.name for p in tmp_path.iterdir()] == [old.name]
    assert old.read_text(encoding="utf-8") == "old"


FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")


@FULL
@pytest.mark.parametrize("argv", [["robots"], ["info", "panda"], ["robots", "--json"], ["completion", "bash"]])
def test_a_full_disk_behind_stdout(argv):
    with open("/dev/full", "w") as full:
        done = process(*argv, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert ONE_LINE.fullmatch(done.stderr)
    assert "No space left" in done.stderr


@FULL
def test_a_file_on_a_full_disk():
    done = process("export", "double_pendulum", "--target", "urdf", "--output", "/dev/full")
    assert done.returncode == 2
    assert ONE_LINE.fullmatch(done.stderr)
    assert "the disk is full" in done.stderr


# --- pipes, signals, terminals -----------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="pipes differ")
def test_a_reader_that_goes_away():
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = process("info", "panda", capture_output=False, stdout=writer, stderr=subprocess.PIPE)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(os.name == "nt", reason="signals differ")
def test_ctrl_c_ends_quietly(tmp_path):
    """During work of some seconds, into a file that must then not be there."""
    target = tmp_path / "b.json"
    argv = ["bench", "--robot", "panda", "--library", "linkwise", "--repeats", "100000", "--json", str(target)]
    code = f"import sys; from linkwise.cli import main; print('ready', flush=True); sys.exit(main({argv!r}))"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(2.0)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=30)
    assert child.returncode == 130
    assert err == "linkwise: interrupted\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "argv", [["info", "panda"], ["explain", "panda", "H phi M phi* H*"], ["check", "double_pendulum"]]
)
def test_without_a_terminal_or_unicode(argv):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "TERM": "dumb"}
    done = process(*argv, env=environment, stdin=subprocess.DEVNULL, encoding="ascii")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert "?" not in done.stdout
