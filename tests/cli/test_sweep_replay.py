"""Runs made again from the folder of a study: as on record, with arrays and failures, by the commands printed."""

import json
import re
import shlex
import sys

import pytest
from study_scenarios import pendulum

import linkwise as lw
from linkwise import cli

pytest.importorskip("pyarrow")

STUDY = """[study]
robot = "arm.urdf"
scenario = "swings:swung"
callback = true
chunk = 4
[parameters.k]
kind = "grid"
values = [0, 1, 2, 3]
"""
ARM = """<robot name="arm"><link name="world"/><link name="arm"><inertial><mass value="1"/><origin xyz="0 0 -0.5"/>
<inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="world"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>"""
SWINGS = """
import linkwise as lw
def swung(robot, p):
    if p["k"] == 1:
        raise ValueError("one is too many")
    motion = lw.simulate(robot, [0.1 * p["k"]], duration=0.01 * p["k"] + 0.02, step=0.01)
    return {"q": motion.q, "word": "far" if p["k"] else "near", "much": p["k"]}
"""


@pytest.fixture
def desk(tmp_path, monkeypatch, capsys):
    """A folder with a study that was run, its robot beside the file and its function elsewhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    plain = lw.Study.run
    monkeypatch.setattr(lw.Study, "run", lambda self, folder, **_: plain(self, folder, engine="serial"))
    (tmp_path / "own").mkdir()
    for name, text in (("s.toml", STUDY), ("arm.urdf", ARM), ("own/swings.py", SWINGS)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    yield tmp_path
    sys.modules.pop("swings", None)


def run(capsys, *argv):
    code = cli.main(["sweep", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def printed(out):
    """The commands in what was printed, as their words after "linkwise sweep"."""
    return [shlex.split(x)[2:] for x in re.findall(r"linkwise sweep [^<\n]*", out)]


def test_printed_commands_find_the_robot_and_the_functions(desk, capsys):
    pytest.importorskip("matplotlib")
    code, out, _ = run(capsys, "s.toml", "--path", "own")
    (report,) = printed(out)
    assert code == 0 and report == ["s", "--report", "--path", ".", "--path", "own"]
    code, out, _ = run(capsys, *report)
    (failed,) = printed(out)
    assert code == 0 and "no moving pictures" not in out and failed[:3] == ["s", "--replay", "1"]
    commands = printed((desk / "s" / "report.html").read_text(encoding="utf-8"))
    assert len(commands) == 4 and commands[-1][2] == "1"  # three worst cases, one failure
    code, out, _ = run(capsys, *commands[0])
    assert code == 0 and out.count("as on record") == 3
    (moving,) = printed(out)
    moving[moving.index("--save") + 1] = "run.npz"
    assert run(capsys, *moving)[0] == 0 and len(lw.Trajectory.load("run.npz").q) == int(commands[0][2]) + 3
    for command in (failed, commands[-1]):
        code, out, _ = run(capsys, *command)
        assert code == 1 and "on record: failed, ValueError: one is too many" in out
        assert "swings.py" in out and out.endswith("run 1 fails as on record\n")


def test_results_that_are_not_those_on_record_are_told(desk, capsys):
    run(capsys, "s.toml", "--path", "own")
    paths = ["--path", ".", "--path", "own"]
    found = json.loads(run(capsys, "s", "--replay", "2", "--json", *paths)[1])
    assert found["as_on_record"] == {"q": True, "word": True, "much": True}
    found = json.loads(run(capsys, "s", "--replay", "1", "--json", *paths)[1])
    assert found["as_on_record"] is True and found["error"] == "ValueError: one is too many"
    record = lw.open_study("s").record(2)
    assert record.values["q"].shape[0] == 6 and record.values["word"] == "far"  # as long as the longest
    assert lw.open_study("s").record(1).error == "ValueError" and lw.open_study("s").record(9) is None


def swearing(robot, p):
    raise ValueError("\x1b[2J\x1b]0;gone\x07" + "bad")


def test_what_a_folder_says_moves_no_cursor(tmp_path, capsys):
    study = lw.Study(pendulum(), swearing, {"k": lw.Grid([0, 1])}, callback=True)
    with pytest.warns(lw.SimulationWarning, match="bad"):
        study.run(tmp_path / "s", engine="serial")
    code, out, err = run(capsys, str(tmp_path / "s"))
    assert code == 0 and "bad" in out and "\x1b" not in out + err and "\x07" not in out + err


def test_folders_behind_urls_are_replayed_and_reported(desk, capsys):
    pytest.importorskip("fsspec")
    pytest.importorskip("matplotlib")
    url = f"local://{desk}/there"  # a folder of this machine, in which only what all stores can do is done
    code, out, err = run(capsys, "s.toml", "--path", "own", "--folder", url)
    assert code == 0, err
    (look,) = printed(out)
    assert look[0] == url and look[1:3] == ["--report", "report.html"]
    code, out, err = run(capsys, *look)
    assert code == 0, err
    assert (desk / "report.html").read_text(encoding="utf-8").count("data:image/gif;base64") == 3
    code, out, _ = run(capsys, url, "--replay", "3", *look[3:])
    assert code == 0 and "q: [" in out and "as on record" in out
    code, _, err = run(capsys, url, "--report")
    assert code == 2 and "--report FILE" in " ".join(err.split())
