"""Every command under every condition that a shell may bring: bad files, missing extras, no terminal, a folder that is
closed, a disk that is full, Ctrl-C. The commands are the real ones; nothing of linkwise is replaced.
"""

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import Nursery, run
from patience import PATIENCE

from linkwise import cli
from linkwise import whole_files as files
from snippets import ROOT

ONE_LINE = re.compile(r"linkwise: error: [^\n]+\n")
BENCH = ["--robot", "double_pendulum", "--function", "mass_matrix", "--batch", "1", "--repeats", "1"]

STUDY = ROOT / "examples" / "dispersion.toml"

# One quick call of each command, without files of its own.
CALLS = {
    "demo": ["demo", "--robot", "double_pendulum", "--no-picture"],
    "robots": ["robots"],
    "info": ["info", "{robot}"],
    "check": ["check", "{robot}"],
    "explain": ["explain", "{robot}", "H phi"],
    "linearize": ["linearize", "{robot}"],
    "simulate": ["simulate", "{robot}", "--duration", "0.01"],
    "sweep": ["sweep", "{study}", "--dry-run"],
    "plot": ["plot", "{robot}", "joints", "--duration", "0.01", "-o", "plot.png"],
    "view": ["view", "{robot}", "--size", "160x120", "-o", "view.png"],
    "export": ["export", "{robot}", "mass_matrix", "-o", "-"],
    "bench": ["bench", *BENCH, "--library", "linkwise"],
    "completion": ["completion", "bash"],
}
READS_ROBOT = [name for name, argv in CALLS.items() if "{robot}" in argv]

SMALL = ["--duration", "0.1", "--size", "160x120"]
# What each command that writes files writes, into {}.
WRITES = {
    "demo": ["demo", "--robot", "double_pendulum", "--output", "{}/p.png"],
    "linearize npz": ["linearize", "double_pendulum", "--output", "{}/m.npz"],
    "linearize json": ["linearize", "double_pendulum", "--output", "{}/m.json"],
    "simulate npz": ["simulate", "double_pendulum", "--duration", "0.01", "--output", "{}/t.npz"],
    "simulate nc": ["simulate", "double_pendulum", "--duration", "0.01", "--output", "{}/t.nc"],
    "simulate parquet": ["simulate", "double_pendulum", "--duration", "0.01", "--output", "{}/t.parquet"],
    "simulate checkpoint": ["simulate", "double_pendulum", "--duration", "0.01", "--checkpoint", "{}/c"],
    "plot png": ["plot", "double_pendulum", "joints", "--duration", "0.01", "--output", "{}/p.png"],
    "plot svg": ["plot", "double_pendulum", "energy", "--duration", "0.01", "--output", "{}/p.svg"],
    "view png": ["view", "double_pendulum", "--size", "160x120", "--output", "{}/v.png"],
    "view gif": ["view", "double_pendulum", "--play", *SMALL, "--output", "{}/v.gif"],
    "view html": ["view", "double_pendulum", "--play", "--duration", "0.1", "--output", "{}/v.html"],
    "export c": ["export", "double_pendulum", "mass_matrix", "--output", "{}"],
    "export urdf": ["export", "double_pendulum", "--target", "urdf", "--output", "{}/r.urdf"],
    "bench json": ["bench", *BENCH, "--library", "linkwise", "--json", "{}/b.json"],
    "bench plot": ["bench", *BENCH, "--library", "linkwise", "--plot", "{}/b.png"],
    "bench markdown": ["bench", *BENCH, "--library", "linkwise", "--markdown", "{}/b.md"],
}
NEEDS = {
    "nc": "h5netcdf",
    "parquet": "pyarrow",
    "html": "viser",
    "png": "matplotlib",
    "gif": "PIL",
    "svg": "matplotlib",
}


@pytest.fixture(scope="module")
def apart(tmp_path_factory):
    """Runs commands in processes of their own."""
    nursery = Nursery(tmp_path_factory.mktemp("apart"), extras=True)
    yield nursery
    nursery.close()


@pytest.fixture(scope="module")
def without_extras(tmp_path_factory):
    """The same, with no extra loaded yet: any may be missing."""
    nursery = Nursery(tmp_path_factory.mktemp("bare"))
    yield nursery
    nursery.close()


def argv_of(name, robot):
    return [x.format(robot=robot, study=STUDY) for x in CALLS[name]]


def writing(name, folder):
    pytest.importorskip(NEEDS.get(name.partition(" ")[2], "numpy"))
    return [x.format(folder) for x in WRITES[name]]


def test_every_command_is_here():
    assert set(CALLS) == {c.name for c in cli.COMMANDS}
    assert {name.partition(" ")[0] for name in WRITES} == {
        c.name for c in cli.COMMANDS if "--output" in run_help(c.name) or c.name == "bench"
    }


def run_help(name):
    subparsers = next(a for a in cli.build_parser()._actions if hasattr(a, "choices") and isinstance(a.choices, dict))
    return subparsers.choices[name].format_help()


# --- as they should ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CALLS)
def test_it_works(capsys, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *argv_of(name, "double_pendulum"))
    assert (code, err) == (0, "") and out


@pytest.mark.parametrize("name", WRITES)
def test_it_writes(capsys, tmp_path, name):
    code, _, err = run(capsys, *writing(name, tmp_path))
    assert (code, err) == (0, "")
    made = sorted(p.name for p in tmp_path.iterdir())
    assert len(made) == (2 if name == "export c" else 1)
    for path in tmp_path.iterdir():
        assert path.stat().st_size
        if os.name != "nt":
            plain = stat.S_IMODE(path.stat().st_mode)
            assert plain & 0o444 == 0o444 & ~_umask()  # readable by whom other files are


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


# --- bad files ---------------------------------------------------------------------------------------

BAD = {
    "empty.urdf": b"",
    "text.urdf": b"hello",
    "cut.urdf": b'<robot name="r"><link name="a">',
    "binary.urdf": bytes(range(256)),
    "html.xml": b"<html/>",
    "scene.sdf": b"<sdf/>",
    "heavy.urdf": b'<robot name="r"><link name="a"><inertial><mass value="-1"/></inertial></link></robot>',
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("name", READS_ROBOT)
def test_bad_files(capsys, tmp_path, monkeypatch, name, bad):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / bad
    path.write_bytes(BAD[bad])
    code, out, err = run(capsys, *argv_of(name, path))
    if name == "check":  # which is for telling what is wrong with a file
        assert (code, err) == (1, "") and "✗ file" in out
    else:
        assert (code, out) == (2, "")
        assert ONE_LINE.fullmatch(err) and bad in err
    assert [p.name for p in tmp_path.iterdir()] == [bad]


@pytest.mark.parametrize("name", [*READS_ROBOT, "demo", "bench"])
def test_files_that_are_not_there(capsys, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    argv = [x if x != "double_pendulum" else "nope.urdf" for x in argv_of(name, "nope.urdf")]
    code, out, err = run(capsys, *argv)
    assert (code, out) == (2, "")
    assert ONE_LINE.fullmatch(err) and "nope.urdf" in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["plot", "view"])
def test_bad_trajectories(capsys, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.npz").write_bytes(b"hello")
    more = ["joints"] if command == "plot" else []
    for name in ("bad.npz", "none.npz", "odd.csv"):
        code, out, err = run(capsys, command, "double_pendulum", *more, "--trajectory", name, "-o", "x.png")
        assert (code, out) == (2, "") and ONE_LINE.fullmatch(err) and name in err


# --- missing extras ----------------------------------------------------------------------------------

MISSING = [
    (["info", "m.xml"], "mujoco", "mjcf"),
    (["check", "m.xml"], "mujoco", "mjcf"),
    (["simulate", "m.xml"], "mujoco", "mjcf"),
    (["simulate", "double_pendulum", "--method", "dop853"], "scipy", "adaptive"),
    (["simulate", "double_pendulum", "-o", "x.nc"], "xarray", "data"),
    (["simulate", "double_pendulum", "-o", "x.zarr"], "zarr", "data"),
    (["simulate", "double_pendulum", "-o", "x.parquet"], "pyarrow", "data"),
    (["plot", "double_pendulum", "joints"], "matplotlib", "plot"),
    (["view", "double_pendulum", "-o", "x.png"], "PIL", "plot"),
    (["view", "double_pendulum", "--play", "--duration", "0.1", "-o", "x.gif"], "PIL", "plot"),
    (["view", "double_pendulum", "-o", "x.html"], "viser", "view"),
    (["view", "double_pendulum", "--no-browser"], "viser", "view"),
    (["bench", "--plot", "x.png"], "matplotlib", "plot"),
    (["sweep", str(STUDY), "--folder", "runs"], "pyarrow", "study"),
]


@pytest.mark.parametrize(("argv", "package", "extra"), MISSING)
def test_missing_extras(without_extras, tmp_path, argv, package, extra):
    (tmp_path / "m.xml").write_text("<mujoco/>", encoding="utf-8")
    done = without_extras(*argv, blocked=[package], cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert ONE_LINE.fullmatch(done.stderr)
    assert f'pip install "linkwise[{extra}]"' in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["m.xml"]


EVERYTHING = [
    "matplotlib",
    "PIL",
    "viser",
    "trimesh",
    "jax",
    "mujoco",
    "scipy",
    "xarray",
    "pyarrow",
    "zarr",
    "pinocchio",
]


@pytest.mark.parametrize("name", [n for n in CALLS if n not in ("plot", "view", "sweep")])
def test_what_needs_no_extra(without_extras, tmp_path, name):
    done = without_extras(*argv_of(name, "double_pendulum"), blocked=EVERYTHING, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


# --- no terminal -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CALLS)
def test_no_terminal(apart, tmp_path, name):
    """Into pipes that know ASCII only, without anything to read from: no colours, no bars, no letters lost."""
    done = apart(*argv_of(name, "double_pendulum"), cwd=tmp_path, env={"PYTHONIOENCODING": "ascii", "TERM": "dumb"})
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    assert said.isascii() and "\x1b" not in said and "\r" not in said
    if name != "completion":  # whose script has question marks of its own
        assert not re.search(r"(?<!\w)\?", said)


# --- a folder that is closed -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def closing(apart, tmp_path_factory):
    """Makes a folder that a command without privileges may not write to."""

    def close(folder):
        folder.mkdir(mode=0o555)
        return folder

    closed = close(tmp_path_factory.mktemp("closing") / "closed")
    code = f"import os, sys; sys.exit(os.access({str(closed)!r}, os.W_OK))"
    if apart(cwd=closed, humble=True, code=code).returncode:
        pytest.skip("whoever runs this may write anywhere, and cannot give that up")
    return close


@pytest.mark.skipif(os.name == "nt", reason="folders are closed otherwise there")
@pytest.mark.parametrize("name", WRITES)
def test_a_read_only_folder(apart, closing, tmp_path, name):
    closed = closing(tmp_path / "closed")
    done = apart(*writing(name, closed), humble=True, cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert ONE_LINE.fullmatch(done.stderr) and "not writable" in done.stderr
    assert not list(closed.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="folders are closed otherwise there")
@pytest.mark.parametrize("name", [n for n in CALLS if n not in ("plot", "view")])
def test_a_read_only_working_folder_and_cache(apart, closing, tmp_path, name):
    """What writes no file of its own works in a closed folder, with a closed cache."""
    closed = closing(tmp_path / "closed")
    cache = {"LINKWISE_CACHE": str(closed / "cache")}
    done = apart(*argv_of(name, "double_pendulum"), humble=True, cwd=closed, env=cache)
    assert (done.returncode, done.stderr) == (0, "")


# --- a disk that is full -----------------------------------------------------------------------------

FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")


@pytest.fixture
def full_disk(monkeypatch):
    """Whatever is written goes to /dev/full, where the kernel itself says that no space is left."""
    make = files.tempfile.mkdtemp

    def made(prefix, suffix, dir):
        room = make(prefix=prefix, suffix=suffix, dir=dir)
        os.symlink("/dev/full", Path(room) / prefix[1:-1])
        return room

    monkeypatch.setattr(files.tempfile, "mkdtemp", made)


@FULL
@pytest.mark.parametrize(("name", "old"), [(name, i % 2 == 0) for i, name in enumerate(WRITES)])
def test_a_full_disk(capsys, tmp_path, monkeypatch, full_disk, name, old):
    argv = writing(name, tmp_path)
    place = Path(next(x for x in argv if str(tmp_path) in x))
    if old and name != "export c" and name != "simulate checkpoint":
        place.write_bytes(b"before")
    before = sorted(p.name for p in tmp_path.iterdir())
    code, _, err = run(capsys, *argv)
    assert code == 2
    assert ONE_LINE.fullmatch(err)
    assert re.search("No space left|disk is full", err), err
    assert sorted(p.name for p in tmp_path.iterdir()) == before
    assert all(p.read_bytes() == b"before" for p in tmp_path.iterdir())


@FULL
@pytest.mark.parametrize("name", CALLS)
def test_a_full_disk_behind_stdout(apart, tmp_path, name):
    done = apart(*argv_of(name, "double_pendulum"), stdout="/dev/full", cwd=tmp_path)
    assert done.returncode == 2
    assert ONE_LINE.fullmatch(done.stderr)
    assert "No space left" in done.stderr


# --- Ctrl-C ------------------------------------------------------------------------------------------

# Work that takes long, and what it would overwrite.
LONG = {
    "simulate": ["simulate", "humanoid", "--duration", "500", "--every", "100", "-o", "{}/old.npz"],
    "simulate writing": ["simulate", "double_pendulum", "--duration", "400", "-o", "{}/old.npz"],
    "plot": ["plot", "humanoid", "joints", "--duration", "500", "-o", "{}/old.png"],
    "view": ["view", "humanoid", "--play", "--duration", "200", "-o", "{}/old.gif"],
    "view in the browser": ["view", "double_pendulum", "--play", "--no-browser", "--port", "0"],
    "export": ["export", "humanoid", "linearize_forward", "-o", "{}"],
    "bench": ["bench", "--robot", "panda", "--library", "linkwise", "--repeats", "100000", "--json", "{}/old.json"],
    "check": ["check", "humanoid", "--states", "2000"],
}
# Where the tests run in the background, or under nohup, SIGINT is ignored, and children inherit that: all of these do.
READY = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from linkwise.cli import main
print("ready", flush=True)
sys.exit(main(sys.argv[1:]))
"""


def ignore_ctrl_c():
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def interrupted(argv, delay):
    """(exit code, stderr) of a command that is sent SIGINT."""
    environment = {**os.environ, "LINKWISE_TARGET": "cpu"}
    command = [sys.executable, "-c", READY, *argv]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    with subprocess.Popen(command, preexec_fn=ignore_ctrl_c, **options) as child:
        try:
            assert child.stdout.readline() == "ready\n"
            time.sleep(delay)
            child.send_signal(signal.SIGINT)
            _, err = child.communicate(timeout=PATIENCE)
        finally:
            child.kill()
    return child.returncode, err


@pytest.mark.skipif(os.name == "nt", reason="signals differ")
@pytest.mark.parametrize(("name", "delay"), [(name, (0.4, 1.6)[i % 2]) for i, name in enumerate(LONG)])
def test_ctrl_c_leaves_files_whole(tmp_path, name, delay):
    if "view" in name:
        pytest.importorskip("viser")
    for ending in ("npz", "png", "gif", "json"):
        (tmp_path / f"old.{ending}").write_bytes(b"old")
    before = {p.name for p in tmp_path.iterdir()}
    for _ in range(3):
        code, err = interrupted([x.format(tmp_path) for x in LONG[name]], delay)
        if "Exception ignored" not in err:  # or it fell into a callback of Python's own, which loses it
            break
    if (code, err) in ((0, ""), (-signal.SIGINT, "")):  # done before, or as Python ends; the viewer is ended by it
        assert name in ("simulate writing", "view in the browser", "export")
        assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]
        if name == "export":
            assert {p.suffix for p in tmp_path.iterdir()} >= {".c", ".h"}
    else:
        assert (code, err.replace("\n", "")) == (130, "linkwise: interrupted")
        assert {p.name for p in tmp_path.iterdir()} == before
        assert all((tmp_path / n).read_bytes() == b"old" for n in before)


# --- as data -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CALLS)
def test_as_data(capsys, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *argv_of(name, "double_pendulum"), "--json")
    assert code == 0, err
    assert isinstance(json.loads(out), dict)


def test_zarr_folders(capsys, tmp_path, full_disk):
    pytest.importorskip("zarr")
    code, _, err = run(capsys, "simulate", "double_pendulum", "--duration", "0.01", "-o", tmp_path / "t.zarr")
    assert code == 2 and ONE_LINE.fullmatch(err)
    assert not list(tmp_path.iterdir())
    shutil.rmtree(tmp_path, ignore_errors=True)
