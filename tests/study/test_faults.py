"""Killed writers, full disks and lost machines: going on after any of them equals never having been stopped."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from patience import PATIENCE
from study_scenarios import contents, logged, pendulum

import linkwise as lw
from linkwise.study.chunks import make_chunk
from linkwise.study.places import Place

RUNS = 9
SIZES = {"k": lw.Grid(list(range(RUNS))), "u": lw.Uniform(0, 1)}


def small(log):
    return lw.Study(pendulum(), logged(log), parameters=SIZES, seed=3, chunk=4)


def batched():
    scenario = lw.scenarios.simulate(duration=0.01, step=0.005)
    return lw.Study(pendulum(), scenario, {"q0": lw.Normal([0.3, 0.2], 0.1)}, 12, keep=["q", "energy_end"], chunk=5)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Folders of both studies that nothing has stopped."""
    folder = tmp_path_factory.mktemp("undisturbed")
    small(folder / "log").run(folder / "small", engine="serial")
    batched().run(folder / "batched", engine="serial")
    return {name: contents(folder / name) for name in ("small", "batched")}


# --- a process that dies at any point -----------------------------------------------------------------------


class Killed(BaseException):
    """Stands for SIGKILL in this process."""


class Disk:
    """What files see of a process that dies at its n-th step of writing: half a line, half a file, no clearing up."""

    STEPS = ("write", "fsync", "replace", "unlink", "rmdir")

    def __init__(self, dies_at):
        self.left, self.dead = dies_at, False

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        for name in self.STEPS:
            self.stack.enter_context(mock.patch.object(os, name, self.step(name, getattr(os, name))))
        return self

    def __exit__(self, *_):
        self.stack.close()

    def step(self, name, real):
        def call(*args, **options):
            if self.dead:
                raise OSError("nothing is done by the dead")
            self.left -= 1
            if self.left < 0:
                self.dead = True
                if name == "write":
                    real(args[0], args[1][: len(args[1]) // 2])
                raise Killed
            return real(*args, **options)

        return call


@pytest.mark.parametrize("kind", ["small", "batched"])
@settings(max_examples=8, deadline=None)
@given(deaths=st.lists(st.integers(0, 40), max_size=4))
def test_going_on_after_death_at_any_point_equals_never_having_died(undisturbed, kind, deaths):
    with tempfile.TemporaryDirectory() as name:
        log, folder, died = Path(name) / "log", Path(name) / "s", 0
        for at in deaths:
            study = small(log) if kind == "small" else batched()
            try:
                with Disk(at):
                    study.run(folder, engine="serial")
            except Killed:
                died += 1
        (small(log) if kind == "small" else batched()).run(folder, engine="serial")
        assert contents(folder) == undisturbed[kind]
        assert not list(folder.rglob("*.part")) and not any(x.is_file() for x in (folder / "journal").rglob("*"))
        if kind == "small":
            made = Counter(log.read_text().split())
            assert set(made) == {str(k) for k in range(RUNS)}
            assert sum(made.values()) <= RUNS + died  # of each death, the run that was being put on record


def test_a_chunk_that_is_written_is_not_made_again(tmp_path):
    """Its maker may have died before it could say so."""
    log, place = tmp_path / "log", Place(str(tmp_path / "s"))
    study = small(log)
    place = study.begin(place)
    first = make_chunk(study, place, 1)
    again = make_chunk(study, place, 1)
    assert Counter(log.read_text().split()) == {str(k): 1 for k in range(4, 8)}
    assert (again.statuses, again.sums, again.runs) == (first.statuses, first.sums, first.runs)
    assert first.sums["square"] == (4, 126.0, 4578.0)  # of 16, 25, 36, 49
    next((tmp_path / "s" / "series").rglob("*.zip")).unlink()
    make_chunk(study, place, 1)
    assert len(log.read_text().split()) == 8  # half of it was lost


def test_what_killed_writers_left_is_swept(tmp_path, undisturbed):
    small(tmp_path / "log").run(tmp_path / "s", engine="serial")
    left = tmp_path / "s" / "runs" / "000000" / ".000000001-0123456789abcdef.parquet.01234567.part"
    left.write_bytes(b"half of it")
    mine = tmp_path / "s" / ".notes.part"
    mine.write_text("a file of somebody else's")
    small(tmp_path / "log").run(tmp_path / "s", engine="serial")
    assert not left.exists()
    assert contents(tmp_path / "s") == undisturbed["small"] and mine.exists()


# --- a full disk ----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def small_disk(folder, size):
    """A file system in memory of that many bytes, where this system lets us have one."""
    folder.mkdir()
    asked = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
                           capture_output=True, text=True, check=False)  # fmt: skip
    if asked.returncode:
        pytest.skip(f"no small file system: {asked.stderr.strip()}")
    try:
        yield lambda more: subprocess.run(["mount", "-o", f"remount,size={more}", str(folder)], check=True)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def wide(robot, p):
    return {"square": p["k"] ** 2, "series": np.full(2000, p["u"])}


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("mount") is None, reason="mounts a tmpfs")
@pytest.mark.parametrize("engine", ["serial", "local"])
def test_a_full_disk_stops_it_and_room_lets_it_go_on(tmp_path, engine):
    study = lw.Study(pendulum(), wide, {"k": lw.Grid(list(range(24))), "u": lw.Uniform(0, 1)}, chunk=6)
    study.run(tmp_path / "undisturbed", engine="serial")
    with small_disk(tmp_path / "disk", 2**18) as make_room:
        folder = tmp_path / "disk" / "s"
        with pytest.raises(lw.FileError, match=r"(?i)no space left|disk is full"):
            study.run(folder, engine=engine, workers=1 if engine == "local" else None)
        kept = lw.open_study(folder).results()
        assert 0 < kept.sizes["run"] < 24
        assert np.array_equal(kept.square.values, kept.k.values**2)
        make_room(2**23)
        study.run(folder, engine="serial")
        assert contents(folder) == contents(tmp_path / "undisturbed")


def test_a_disk_without_room_for_one_file_says_so(tmp_path):
    """The same wherever tests may not mount anything: writing a file fails as on a full disk."""
    study = small(tmp_path / "log")
    real, room = os.fsync, [3]

    def full(fd):
        room[0] -= 1
        if room[0] < 0:
            raise OSError(28, "No space left on device")
        real(fd)

    with mock.patch.object(os, "fsync", full), pytest.raises(lw.FileError, match="(?i)no space left|disk is full"):
        study.run(tmp_path / "s", engine="serial")
    assert not list((tmp_path / "s").rglob("*.part"))  # whoever lives clears up
    study.run(tmp_path / "s", engine="serial")
    assert Counter((tmp_path / "log").read_text().split()) == {str(k): 1 for k in range(RUNS)}


# --- a cluster that loses machines ---------------------------------------------------------------------------


def crash_once(folder):
    """A scenario that brings down all of its machine, once, at runs 5 and 20; leaves a note before."""

    def scenario(robot, p):
        note = Path(folder) / f"{p['k']}"
        if p["k"] in (5, 20) and not note.exists():
            note.touch()
            os.kill(os.getppid(), signal.SIGKILL)  # the process of the cluster that looks after this one
            time.sleep(60.0)
        return {"square": p["k"] ** 2}

    return scenario


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_cluster_of_dask_loses_machines_and_nothing_else(tmp_path):
    distributed = pytest.importorskip("distributed")
    study = lw.Study(pendulum(), crash_once(tmp_path), {"k": lw.Grid(list(range(30)))}, chunk=5)
    for k in (5, 20):
        (tmp_path / str(k)).touch()
    study.run(tmp_path / "undisturbed", engine="serial")
    for k in (5, 20):
        (tmp_path / str(k)).unlink()
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": "127.0.0.1:0"}
    blamed = pytest.importorskip("dask").config.set({"distributed.scheduler.allowed-failures": 0})  # at the first death
    with blamed, distributed.LocalCluster(**options) as cluster:
        found = study.run(tmp_path / "s", engine="dask", address=cluster.scheduler_address)
        assert found.counts() == {"done": 30}
        assert contents(tmp_path / "s") == contents(tmp_path / "undisturbed")
        with pytest.raises(lw.InputError, match="the cluster at address has its own"):
            study.run(tmp_path / "t", engine="dask", address=cluster.scheduler_address, workers=2)


def test_a_cluster_that_is_not_there_is_said_so(tmp_path):
    dask = pytest.importorskip("dask")
    pytest.importorskip("distributed")
    soon = dask.config.set({"distributed.comm.timeouts.connect": "300ms"})
    with soon, pytest.raises(lw.SimulationError, match=r"the cluster at tcp://127\.0\.0\.1:9 does not answer"):
        small(tmp_path / "log").run(tmp_path / "s", engine="dask", address="tcp://127.0.0.1:9")


def test_workers_of_a_cluster_end_when_nobody_wants_them(tmp_path, monkeypatch):
    from linkwise.study import clusters
    from linkwise.study.frames import packed

    study = small(tmp_path / "log")
    place = study.begin(Place(str(tmp_path / "s")))
    payload = packed(study)
    monkeypatch.setattr(clusters, "_IDLE", 0.2)
    assert clusters.made_on_cluster(payload, place, None, 0).runs == 4
    (supervisor,) = clusters._SUPERVISORS.values()
    process = supervisor._process
    process.wait(PATIENCE)  # whoever asked asks no more
    assert not clusters._SUPERVISORS
    monkeypatch.setattr(clusters, "_IDLE", 3600.0)
    assert clusters.made_on_cluster(payload, place, None, 1).runs == 4
    (supervisor,) = clusters._SUPERVISORS.values()
    process = supervisor._process
    clusters.stop_on_cluster(clusters.study_key(payload, place))
    assert process.wait(PATIENCE) is not None and not clusters._SUPERVISORS
    assert clusters.made_on_cluster(payload, place, None, 2).runs == 1  # the next call finds it as new
    clusters.stop_on_cluster(clusters.study_key(payload, place))
