"""How runs were made is kept with the runs themselves: no death of a worker or of a driver loses count of it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from study_scenarios import contents, pendulum

import linkwise as lw
from linkwise.study.functions import CALLED
from linkwise.study.journal import Journal
from linkwise.study.places import Place
from linkwise.study.ways import is_way, worded

RUNS = 12
ASKED = f"as asked: {CALLED}"


class Murderous:
    """A scenario whose run 5 kills its worker and run 9 the driver, the first time that they are made."""

    def __init__(self, folder, armed):
        self.folder, self.armed = str(folder), armed

    def __reduce__(self):
        return Murderous, (self.folder, self.armed)

    def __call__(self, robot, p):
        for run, victim in ((5, os.getpid()), (9, os.getppid())) if self.armed else ():
            once = Path(self.folder) / f"killed-{run}"
            if p["k"] == run and not once.exists():
                once.touch()
                os.kill(victim, signal.SIGKILL)
                signal.pause()
        return {"square": p["k"] ** 2}


def deadly(folder, armed=True):
    grid = {"k": lw.Grid(list(range(RUNS)))}
    return lw.Study(pendulum(), Murderous(folder, armed), grid, chunk=4, callback=True)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_deaths_lose_no_count_of_how_runs_were_made(tmp_path):
    folder = tmp_path / "s"
    root = Path(__file__).parents[__name__.count(".")]
    code = f"import sys\nsys.path[:0] = {[str(root), *sys.path]!r}\nfrom {__name__} import deadly\n"
    code += f"deadly({str(tmp_path)!r}).run({str(folder)!r}, workers=1)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    assert (tmp_path / "killed-5").exists() and (tmp_path / "killed-9").exists()
    assert lw.open_study(folder).ways() == {ASKED: 9}  # two chunks, and what is on record of the third
    assert deadly(tmp_path).run(folder, engine="serial").ways() == {ASKED: RUNS}
    assert deadly(tmp_path, armed=False).run(tmp_path / "calm", engine="serial").ways() == {ASKED: RUNS}
    assert contents(folder) == contents(tmp_path / "calm")


def test_ways_are_known_behind_urls_and_of_scenarios_made_one_by_one():
    study = lw.Study(pendulum(), "poles", {"q0": lw.Normal([0.0, 0.0], 0.1)}, 3)
    found = study.run("memory://ways-of-poles", engine="serial")
    assert found.ways() == {"one by one: poles are found one robot at a time": 3}


class Unsymbolic:
    def __call__(self, robot, p):
        raise ValueError(f"{self!r}\n\x1b[2J is no number")


def test_words_are_the_same_in_every_process(tmp_path):
    with pytest.warns(lw.SimulationWarning), pytest.warns(lw.SlowPathWarning):
        found = lw.Study(pendulum(), Unsymbolic(), {"u": lw.Uniform(0, 1)}, 2).run(tmp_path / "s", engine="serial")
    (way,) = found.ways()
    assert "at 0x…>" in way and way.isprintable() and found.ways() == {way: 2}
    assert len(worded("x" * 10_000)) == 400 and not is_way("") and not is_way("\x1b") and not is_way(3)


@pytest.mark.parametrize("forged", [[3], ["\x1b[2J"], {"a": 1}, "words", ["x" * 500], None])
def test_a_journal_line_with_other_ways_is_not_trusted(tmp_path, monkeypatch, forged):
    from linkwise.study import journal
    from linkwise.study.columns import Record

    kept = Journal(Place.of(tmp_path), 0)
    kept.add(Record(0, "done", {"x": np.float64(1.0)}, ways=("alone: reasons",)))
    kept.add(Record(1, "done", {"x": np.float64(1.0)}, ways=forged))
    kept.close()
    assert {k: r.ways for k, r in journal.records(Place.of(tmp_path)).items()} == {0: ("alone: reasons",)}
