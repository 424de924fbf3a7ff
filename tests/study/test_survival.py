"""Whatever dies on the way, nothing that was finished is lost, repeated or skipped, and no bit is another."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import numpy as np
import pytest
from patience import PATIENCE
from study_scenarios import contents, logged, pendulum, troubled

import linkwise as lw
from linkwise.study.places import Place
from linkwise.study.scenario_base import Prepared
from linkwise.study.study import Study

NUMBERED = {"k": lw.Grid(list(range(40))), "u": lw.Uniform(0, 1)}


def numbered(path, pause=0.0):
    return Study(pendulum(), logged(path), parameters={**NUMBERED, "pause": pause}, seed=3, chunk=7)


def lines(path):
    return Counter(path.read_text().split())


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A study that nothing has stopped, one run after another in this process."""
    folder = tmp_path_factory.mktemp("undisturbed")
    numbered(folder / "log").run(folder / "study", engine="serial")
    return contents(folder / "study")


def results_only(found):
    """Files by what they hold: those of two studies that differ in a constant differ in one column of parameters."""
    return {name.rpartition("-")[0]: data for name, data in found.items() if name.startswith("series")}


def test_every_run_has_its_own_end(tmp_path):
    study = lw.Study(pendulum(), troubled, parameters={"k": lw.Grid(list(range(8)))}, timeout=1.0, chunk=8)
    found = study.run(tmp_path / "s", workers=1)
    assert found.counts() == {"done": 3, "failed": 2, "timeout": 1, "crashed": 2}
    assert found.results().status.values.tolist() == [
        "done", "failed", "failed", "timeout", "crashed", "crashed", "done", "done",
    ]  # fmt: skip
    failures = found.failures()
    assert failures.loc[1, "error"] == "ValueError" and "one is too many" in failures.loc[1, "traceback"]
    assert failures.loc[1, "k"] == 1 and failures.loc[2, "error"] == "NotFinite"
    assert failures.loc[4, "error"] == "SIGSEGV" and failures.loc[5, "error"] == "exit code 7"
    with pytest.raises(ValueError, match="one is too many"):
        study.result(1)


def kill_workers(stop, log, times):
    """SIGKILL to one worker of this process after another, each time in the middle of its work."""
    choose, done = random.Random(1), 0
    while done < times and not stop.wait(0.02):
        made = sum(lines(log).values()) if log.exists() else 0
        found = subprocess.run(["pgrep", "-P", str(os.getpid()), "-f", "linkwise.study.worker"],
                               capture_output=True, text=True, check=False).stdout.split()  # fmt: skip
        if found and made >= 6 * (done + 1):
            os.kill(int(choose.choice(found)), signal.SIGKILL)
            done += 1
    return done


@pytest.mark.skipif(sys.platform != "linux", reason="finds its workers by pgrep")
def test_killed_workers_change_nothing(tmp_path, undisturbed):
    log, stop, killed = tmp_path / "log", threading.Event(), []
    killer = threading.Thread(target=lambda: killed.append(kill_workers(stop, log, 3)))
    killer.start()
    try:
        numbered(log, pause=0.05).run(tmp_path / "s", workers=2)
    finally:
        stop.set()
        killer.join()
    assert killed[0] >= 2
    assert results_only(contents(tmp_path / "s")) == results_only(undisturbed)
    made = lines(log)
    assert set(made) == {str(k) for k in range(40)}
    assert sum(made.values()) <= 40 + killed[0]  # only what was being made is made again


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_killed_driver_goes_on_where_it_was(tmp_path, undisturbed):
    log, folder = tmp_path / "log", tmp_path / "s"
    code = f"""
import sys
sys.path[:0] = {sys.path!r}
from study_scenarios import logged, pendulum
import linkwise as lw
parameters = {{"k": lw.Grid(list(range(40))), "u": lw.Uniform(0, 1), "pause": 0.05}}
lw.Study(pendulum(), logged({str(log)!r}), parameters=parameters, seed=3, chunk=7).run({str(folder)!r}, workers=1)
"""
    kills = 0
    for attempt in range(3):
        driver = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
        before = sum(lines(log).values()) if log.exists() else 0
        deadline = time.monotonic() + PATIENCE
        while driver.poll() is None and time.monotonic() < deadline:
            now = sum(lines(log).values()) if log.exists() else 0
            if attempt < 2 and now >= before + 5 + attempt:  # in the middle of its work
                driver.kill()
                kills += 1
                break
            time.sleep(0.02)
        said = driver.communicate()[1]
        if attempt < 2:
            assert driver.returncode == -signal.SIGKILL, said
            time.sleep(0.4)  # orphans end with their driver
    assert driver.returncode == 0, said
    assert kills == 2
    assert results_only(contents(folder)) == results_only(undisturbed)
    made = lines(log)
    assert set(made) == {str(k) for k in range(40)}
    assert sum(made.values()) <= 40 + kills  # what its worker was making
    assert not list(folder.rglob("*.part")) and not list((folder / "journal").rglob("*.*"))


def test_stopping_anywhere_equals_never_stopping(tmp_path, undisturbed):
    """A scenario that stops the study at one run after another; each time the same call goes on."""
    log = tmp_path / "log"
    study = numbered(log)
    for stop in (0, 1, 6, 7, 8, 20, 34, 39):
        with pytest.raises(KeyboardInterrupt):
            stopped_at(study, stop).run(tmp_path / "s", engine="serial")
    study.run(tmp_path / "s", engine="serial")
    assert lines(log) == {str(k): 1 for k in range(40)}  # none skipped, none made twice
    assert results_only(contents(tmp_path / "s")) == results_only(undisturbed)


def stopped_at(study, run):
    """The same study, in which Ctrl-C comes before a run."""
    again = Study(study.robot, study.scenario, study.parameters, study.samples, study.seed, chunk=7)
    inner = again.prepared

    class Interrupted(Prepared):
        in_processes = "it is stopped"

        def one(self, values, generator):
            if values["k"] == run:
                raise KeyboardInterrupt
            return inner.one(values, generator)

    again.__dict__["prepared"] = Interrupted()
    return again


@pytest.mark.parametrize("chunk", [3, 64, 1000])
def test_batches_of_any_size_give_the_same_bits(tmp_path, chunk):
    scenario = lw.scenarios.simulate(duration=0.05, step=0.005)
    parameters = {"q0": lw.Normal([0.3, -0.2], 0.1), "mass.lower": lw.Uniform(0.5, 2.0), "damping": lw.Uniform(0, 1)}
    study = lw.Study(pendulum(), scenario, parameters=parameters, samples=67, seed=4, chunk=chunk, keep=["q", "v_end"])
    assert study.prepared.in_processes is None
    found = study.run(tmp_path / "s", engine="serial").results()
    whole = study.prepared.batch(study.sampling.values(0, 67))[0]
    assert np.array_equal(found.q.values, whole["q"]) and np.array_equal(found.v_end.values, whole["v_end"])
    for k in (0, 64, 66):
        assert np.array_equal(study.replay(k).q, found.q.values[k])


def test_two_drivers_do_not_share_a_folder(tmp_path):
    from linkwise.study.drivers import held

    with held(Place(str(tmp_path / "s"))), pytest.raises(lw.InputError, match="by another process"):
        numbered(tmp_path / "log").run(tmp_path / "s", engine="serial")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 4}, "seed"),
        ({"samples": 20}, "samples"),
        ({"robot": lw.load("double_pendulum").with_gravity([0, 0, -1.6])}, "robot"),
        ({"parameters": {**NUMBERED, "pause": 0.0, "more": 1.0}}, "parameters: more"),
        ({"parameters": {**NUMBERED, "u": lw.Uniform(0, 2), "pause": 0.0}}, "parameters: u"),
        ({"keep": ["square"]}, "keep"),
    ],
)
def test_a_folder_of_another_study_is_refused(tmp_path, change, said):
    study = numbered(tmp_path / "log")
    study.run(tmp_path / "s", engine="serial")
    own = {"robot": study.robot, "parameters": study.parameters, "samples": 40, "seed": 3, "chunk": 7} | change
    robot = own.pop("robot")
    with pytest.raises(lw.InputError, match=f"another study: .*{said}"):
        lw.Study(robot, logged(tmp_path / "log"), **own).run(tmp_path / "s", engine="serial")


def test_another_function_is_refused(tmp_path):
    make = lambda power: lambda robot, p: p["u"] ** power
    options = {"parameters": {"u": lw.Uniform(0, 1)}, "samples": 4}
    lw.Study(pendulum(), make(2), **options).run(tmp_path / "s", engine="serial")
    with pytest.raises(lw.InputError, match=r"code: function: power \(2 then, 3 now\)"):
        lw.Study(pendulum(), make(3), **options).run(tmp_path / "s", engine="serial")


def test_damaged_files_are_seen_and_made_again(tmp_path, undisturbed):
    study = numbered(tmp_path / "log")
    study.run(tmp_path / "s", engine="serial")
    before = contents(tmp_path / "s")
    tables = sorted((tmp_path / "s" / "runs").rglob("*.parquet"))
    arrays = sorted((tmp_path / "s" / "series").rglob("*.zip"))
    damage = tables[1].read_bytes()
    tables[1].write_bytes(damage[:100] + b"x" + damage[101:])
    arrays[3].unlink()
    with pytest.raises(lw.FileError, match="is damaged"):
        lw.open_study(tmp_path / "s").results()
    with pytest.warns(lw.SimulationWarning, match="made again"):
        study.run(tmp_path / "s", engine="serial")
    assert contents(tmp_path / "s") == before
