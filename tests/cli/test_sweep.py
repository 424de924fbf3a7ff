"""``linkwise sweep``: studies as files say them, errors with lines, folders that are there, dry runs, interruptions."""

import json
import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from patience import PATIENCE, eventually

import linkwise as lw
from linkwise import cli
from linkwise.cli import sweep
from linkwise.cli.study_file import StudyFile
from snippets import ROOT

pytest.importorskip("pyarrow")

STUDY = """[study]
robot = "double_pendulum"
scenario = "mine:left"
samples = 6
seed = 3

[parameters]
gain = 2.5

[parameters.x]
kind = "uniform"
low = -1
high = 1

[parameters."q0.upper"]
kind = "normal"
mean = [0.0, 1.0]
deviation = 0.1
"""
MINE = """
import math
from os import system
open("imported", "w").close()
def left(robot, p):
    return {"y": p["gain"] * p["x"]}
def bad(robot, p):
    return {"y": math.sqrt(p["x"] - 2)}
def slow(robot, p):
    import time
    time.sleep(0.1)
    return {"y": p["x"]}
def die(generator):
    return generator.integers(1, 7)
"""


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder with a study file and functions in a folder beside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mine.py").write_text(MINE, encoding="utf-8")
    (tmp_path / "s.toml").write_text(STUDY, encoding="utf-8")
    yield tmp_path
    sys.modules.pop("mine", None)


def run(capsys, *argv):
    code = cli.main(["sweep", *argv])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def in_this_process(monkeypatch):
    """Without processes of its own, which take seconds to start."""
    plain = lw.Study.run
    monkeypatch.setattr(lw.Study, "run", lambda self, folder, **_: plain(self, folder, engine="serial"))


def test_a_file_is_the_study_it_says(desk):
    found = StudyFile(desk / "s.toml", (desk / "own",)).study()
    given = lw.Study(
        lw.load("double_pendulum"),
        found.scenario,
        {"gain": 2.5, "x": lw.Uniform(-1, 1), "q0.upper": lw.Normal([0.0, 1.0], 0.1)},
        samples=6,
        seed=3,
    )
    assert list(found.parameters) == ["gain", "x", "q0.upper"]
    for k in range(6):
        a, b = found.draw(k), given.draw(k)
        assert a["x"] == b["x"] and (a["q0.upper"] == b["q0.upper"]).all()
    assert found.result(2)["y"] == 2.5 * found.draw(2)["x"]


def test_functions_draw_parameters_and_control(desk):
    text = STUDY.replace('kind = "uniform"\nlow = -1\nhigh = 1', 'kind = "function"\nfunction = "mine:die"')
    (desk / "s.toml").write_text(text, encoding="utf-8")
    study = StudyFile(desk / "s.toml", (desk / "own",)).study()
    assert {int(study.draw(k)["x"]) for k in range(6)} <= set(range(1, 7))


def test_files_of_the_docs_and_examples_are_studies(tmp_path):
    page = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    texts = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    texts.append(sweep.EXAMPLES.partition("a study file:\n")[2].replace("\n  ", "\n").lstrip())
    texts.append((ROOT / "examples" / "dispersion.toml").read_text(encoding="utf-8"))
    assert len(texts) == 3
    for text in texts:
        (tmp_path / "s.toml").write_text(text, encoding="utf-8")
        assert StudyFile(tmp_path / "s.toml").study().samples >= 1000


WRONG = [
    ("samples = 6", "sampels = 6", 4, "there is no setting 'sampels'; did you mean samples?"),
    ("samples = 6", "samples = 0.5", 4, "samples must be a whole number, got 0.5"),
    ("samples = 6", "samples = ", 4, "not TOML"),
    ("seed = 3", 'sampling = "sobl"', 5, "did you mean sobol?"),
    ("[parameters]", "[parametres]", 7, "there is no table 'parametres'; did you mean parameters?"),
    ('"uniform"', '"unifrom"', 11, "did you mean uniform?"),
    ("low = -1", "lowr = -1", 12, "did you mean lower?"),
    ("low = -1", "low = 7", 12, "lower must not be above upper"),
    ("low = -1", 'low = "a"', 12, "lower of Uniform must be real numbers"),
    ("low = -1", "lower = -1\nlow = 0", 13, "'low' is 'lower', which is given already"),
    ('kind = "uniform"\n', "", 10, "parameter 'x' has no kind"),
    ('"q0.upper"', "q0.upper", 15, "stand in quotes"),
    ("deviation = 0.1", "deviation = -0.1", 18, "must not be negative"),
    ('"double_pendulum"', '"double_pendlum"', 2, "did you mean double_pendulum?"),
    ('"double_pendulum"', '"../r.urdf"', 2, "there is no '../r.urdf' in the folder"),
    ('"double_pendulum"', '"/etc/r.urdf"', 2, "there is no '/etc/r.urdf' in the folder"),
    ('"double_pendulum"', '"r.urdf.xacro"', 2, "is a program that makes a robot"),
    ('"mine:left"', '"mine:lefft"', 3, "did you mean left?"),
    ('"mine:left"', '"mine:system"', 3, "mine defines no function 'system'"),
    ('"mine:left"', '"os:system"', 3, "there is no module 'os' in"),
    ('"mine:left"', '"mine"', 3, "or name a function"),
    ('"mine:left"', '"simulat"', 3, "did you mean simulate?"),
    ('"mine:left"', '"simulate"', 8, "gain"),  # which no scenario without a controller has
    ("[parameters]", "[scenario]\nduration = 1\n[parameters]", 7, "a function has its parameters"),
    ("[study]", "", None, "there is no table [study]"),
]


@pytest.mark.parametrize(("was", "now", "line", "said"), WRONG)
def test_errors_name_file_line_and_remedy(desk, capsys, was, now, line, said):
    assert was in STUDY
    (desk / "r.urdf").write_text("<robot/>", encoding="utf-8")
    text = STUDY.replace(was, now, 1)
    if was == "[study]":
        text = "[parameters]\nx = 1\n"
    (desk / "here").mkdir()
    (desk / "here" / "s.toml").write_text(text, encoding="utf-8")
    code, _, err = run(capsys, "here/s.toml", "--path", "own")
    err = " ".join(err.split())
    assert code == 2 and said in err, err
    assert f"s.toml{'' if line is None else f':{line}'}: " in err, err
    assert sorted(p.name for p in (desk / "here").iterdir()) == ["s.toml"]


@pytest.mark.parametrize(
    ("was", "now", "line", "said"),
    [
        ("[parameters]", "[[parameters]]", 8, "must be a table"),
        ("samples = 5", "# \u2028\nsampels = 5", 5, "samples"),
        ("samples = 5", "samples = 1" + "0" * 5000, 4, "digits"),
        ("samples = 5", 'samples = 5\nkeep = [\n"q_ennd"]', 5, "did you mean q_end?"),
        ("mass.lower", "mass.lowr", 9, "did you mean lower?"),
        ("samples = 5", 'samples = 5\nkeep = ["speed_end.tpc"]', 5, "no frame is named 'tpc'"),
    ],
)
def test_unusual_mistakes_have_their_lines(desk, capsys, was, now, line, said):
    text = '[study]\nrobot = "double_pendulum"\nscenario = "simulate"\nsamples = 5\n[scenario]\nduration = 0.1\n\n'
    text += '[parameters]\n"mass.lower" = {kind = "uniform", lower = 1, upper = 2}\n'
    (desk / "s.toml").write_text(text.replace(was, now), encoding="utf-8")
    code, _, err = run(capsys, "s.toml")
    assert code == 2 and f"s.toml:{line}: " in err and said in err, err


def test_options_of_scenarios_have_lines(desk, capsys):
    text = '[study]\nrobot = "double_pendulum"\nscenario = "simulate"\nsamples = 5\n[scenario]\nduration = 1\n{}\n'
    for option, said in (("stp = 1", "did you mean step?"), ("step = -1", "step"), ('controller = "a"', "module:")):
        (desk / "s.toml").write_text(text.format(option), encoding="utf-8")
        code, _, err = run(capsys, "s.toml")
        assert code == 2 and "s.toml:7: " in err and said in err, err


def test_nothing_is_executed_without_a_path(desk, capsys):
    code, _, err = run(capsys, "s.toml")
    assert code == 2 and "--path FOLDER" in err
    assert not (desk / "imported").exists()


def test_a_module_that_is_no_python_is_said_so(desk, capsys):
    (desk / "own" / "mine.py").write_text("def left(:", encoding="utf-8")
    code, _, err = run(capsys, "s.toml", "--path", "own")
    assert code == 2 and "s.toml:3: mine cannot be imported: invalid syntax" in " ".join(err.split()), err


def test_it_runs_once_and_goes_on_when_asked(desk, capsys, in_this_process):
    code, out, err = run(capsys, "s.toml", "--path", "own")
    assert (code, err) == (0, "") and "s: 6 done, of 6 runs" in out
    code, _, err = run(capsys, "s.toml", "--path", "own")
    assert code == 2 and "s is there already: --resume" in err
    assert run(capsys, "s.toml", "--path", "own", "--resume")[0] == 0
    code, out, _ = run(capsys, "s", "--json")
    found = json.loads(out)
    assert code == 0 and found["counts"] == {"done": 6} and found["finished"]
    assert run(capsys, "s", "--resume")[0] == 2
    (desk / "full").mkdir()
    (desk / "full" / "letter").touch()
    code, _, err = run(capsys, "s.toml", "--path", "own", "--folder", "full")
    assert code == 2 and "full is there already" in err


def test_reports_are_written_where_asked(desk, capsys, in_this_process):
    pytest.importorskip("matplotlib")
    run(capsys, "s.toml", "--path", "own")
    code, out, err = run(capsys, "s", "--report", "report.html")
    assert (code, err) == (0, "") and "Written: report.html" in out
    assert (desk / "report.html").stat().st_size and not (desk / "s" / "report.html").exists()
    code, _, err = run(capsys, "s.toml", "--report")
    assert code == 2 and "takes the folder of a study" in err


MOVING = """[study]
robot = "double_pendulum"
scenario = "simulate"
samples = 12
keep = ["speed_max"]
[scenario]
duration = 0.1
step = 0.01
[parameters.q0]
kind = "normal"
mean = [1.0, 1.0]
deviation = 0.1
"""


def test_runs_are_made_again_from_the_folder(desk, capsys, in_this_process):
    (desk / "s.toml").write_text(MOVING, encoding="utf-8")
    assert run(capsys, "s.toml")[0] == 0
    code, out, err = run(capsys, "s", "--replay", "3")
    assert (code, err) == (0, "") and "as on record" in out and "--save run-3.gif" in out
    found = json.loads(run(capsys, "s", "--replay", "3", "--save", "run.npz", "--json")[1])
    assert found["as_on_record"] == {"speed_max": True} and len(found["parameters"]["q0"]) == 2
    assert abs(lw.Trajectory.load("run.npz").v).max() == found["results"]["speed_max"]
    assert run(capsys, "s.toml", "--replay", "3")[0] == 0
    code, _, err = run(capsys, "s", "--replay", "12")
    assert code == 2 and "run" in err
    (desk / "s" / "study.toml").write_text(MOVING.replace("deviation = 0.1", "deviation = 0.2"), encoding="utf-8")
    code, _, err = run(capsys, "s", "--replay", "3")
    assert code == 2 and "holds another study: parameters: q0" in " ".join(err.split())


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_the_study_file_of_a_folder_is_no_link(desk, capsys, in_this_process):
    (desk / "s.toml").write_text(MOVING, encoding="utf-8")
    run(capsys, "s.toml")
    (desk / "s" / "study.toml").unlink()
    (desk / "s" / "study.toml").symlink_to(desk / "s.toml")
    code, _, err = run(capsys, "s", "--replay", "3")
    assert code == 2 and "leads out of the folder of the study" in " ".join(err.split())


def test_reports_from_the_command_show_worst_cases_moving(desk, capsys, in_this_process):
    pytest.importorskip("matplotlib")
    (desk / "s.toml").write_text(MOVING, encoding="utf-8")
    run(capsys, "s.toml")
    assert run(capsys, "s", "--report", "--worst-of", "speed_max")[0] == 0
    text = (desk / "s" / "report.html").read_text(encoding="utf-8")
    assert text.count("data:image/gif;base64") == 3 and f"linkwise sweep {desk / 's'} --replay " in text
    (desk / "s" / "study.toml").unlink()
    assert "no moving pictures" in run(capsys, "s", "--report")[1]


def test_failures_are_said(desk, capsys, in_this_process):
    (desk / "s.toml").write_text(STUDY.replace("mine:left", "mine:bad"), encoding="utf-8")
    code, _, err = run(capsys, "s.toml", "--path", "own")
    assert code == 0 and "6 of 6 runs failed, all by ValueError: math domain error" in " ".join(err.split())
    assert "6 by ValueError: math domain error" in run(capsys, "s")[1]


def test_a_study_warns_once_of_failures_at_the_users_line(tmp_path):
    def some(robot, p):
        if p["k"] > 2:
            raise ValueError("too far") if p["k"] < 8 else KeyError("lost")
        return {"y": p["k"]}

    study = lw.Study(lw.load("double_pendulum"), some, {"k": lw.Grid(list(range(10)))}, callback=True)
    for _ in range(2):  # a call that has nothing left to make says it as well
        with pytest.warns(lw.SimulationWarning) as said:
            study.run(tmp_path / "runs", engine="serial")
        assert len(said) == 1 and said[0].filename == __file__
        text = str(said[0].message)
        assert "7 of 10 runs failed, 5 of them by ValueError: too far;" in text
        assert ".failures()" in text and "study.replay(3)" in text
    sound = lw.Study(lw.load("double_pendulum"), some, {"k": lw.Grid([0, 1])}, callback=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sound.run(tmp_path / "sound", engine="serial")


def test_a_dry_run_says_what_it_takes(desk, capsys, monkeypatch):
    monkeypatch.setattr("linkwise.study.engines.cores", lambda: 2)
    text = STUDY.replace("mine:left", "mine:slow").replace("samples = 6", "samples = 1000\ncallback = true")
    (desk / "s.toml").write_text(text, encoding="utf-8")
    code, out, err = run(capsys, "s.toml", "--path", "own", "--dry-run", "--workers", "2", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["tried"] == 17 and found["failed"] == 0
    assert found["run_seconds"] >= 0.1 and found["seconds"] >= 50  # 1000 runs of 0.1 s by two workers
    busiest = 32 * 16  # of 63 chunks
    assert found["seconds"] == pytest.approx(found["start_seconds"] + busiest * found["run_seconds"])
    assert not (desk / "s").exists()
    more = json.loads(run(capsys, "s.toml", "--path", "own", "--dry-run", "--workers", "40", "--json")[1])
    assert more["seconds"] == pytest.approx(more["start_seconds"] + 500 * more["run_seconds"])  # two cores share them


def test_a_dry_run_knows_the_disk(desk, capsys, in_this_process):
    found = json.loads(run(capsys, "s.toml", "--path", "own", "--dry-run", "--json")[1])
    run(capsys, "s.toml", "--path", "own")
    parts = [p for p in (desk / "s").rglob("*") if p.is_file() and p.name != "log.jsonl"]
    assert found["bytes"] == pytest.approx(sum(p.stat().st_size for p in parts), rel=0.25)


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_leaves_a_folder_to_go_on_in(desk):
    text = STUDY.replace("mine:left", "mine:slow").replace("samples = 6", "samples = 400\ncallback = true")
    (desk / "s.toml").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "linkwise", "sweep", "s.toml", "--path", "own", "--workers", "1"]
    path = os.pathsep.join([str(Path(lw.__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
    heeding = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # which a parent may have ignored
    given = {"cwd": desk, "stderr": subprocess.PIPE, "text": True, "env": {**os.environ, "PYTHONPATH": path}}
    with subprocess.Popen(command, preexec_fn=heeding, **given) as p:
        eventually(lambda: list(desk.glob("s/runs/**/*.parquet")) or p.poll() is not None)
        p.send_signal(signal.SIGINT)
        err = p.communicate(timeout=PATIENCE)[1]
    assert p.returncode == 130, err
    assert "linkwise sweep s.toml --resume --engine local --workers 1 --path own" in err
    kept = sum(lw.open_study(desk / "s").counts().values())
    assert 0 < kept < 400 and f"{kept} runs are kept" in err
