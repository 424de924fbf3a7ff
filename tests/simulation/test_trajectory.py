"""Trajectories: parts, quantities on demand, files, and going on from them."""

import copy
import dataclasses
import pickle
import shutil
import subprocess
import sys
import time
from functools import lru_cache

import numpy as np
import pytest

import linkwise as lw
from linkwise import control
from linkwise.codegen.runtime.kernel import Kernel
from linkwise.progress import Progress
from linkwise.simulation import storage


def law(robot, t, q, v):
    return -robot.mass_times(q, 3.0 * v)


def example(batch=(), controller=law, robot="ur5", **options):
    r = lw.load(robot)
    rng = np.random.default_rng(0)
    q, v = r.random_configuration(rng, batch), rng.normal(size=(*batch, r.nv))
    return lw.simulate(r, q, v, controller, **({"duration": 0.1, "every": 5} | options))


def test_sizes_and_parts():
    t = example((2,))
    assert len(t) == 21 and t.batch == (2,) and t.duration == pytest.approx(0.1)
    assert t.q.shape == t.v.shape == t.a.shape == t.tau.shape == (2, 21, 6)
    sample = t[-1]
    assert sample.time == pytest.approx(0.1) and sample.q.shape == (2, 6)
    assert np.array_equal(sample.a, t.a[:, -1])
    part = t[4:15:2]
    assert len(part) == 6 and np.array_equal(part.time, t.time[4:15:2])
    for name in ("q", "v", "a", "tau"):
        assert np.array_equal(getattr(part, name), getattr(t, name)[:, 4:15:2])
    assert np.allclose(part.energy.drift, t.energy.drift[:, 4:15:2] - t.energy.drift[:, 4:5])
    one = t.state(1)
    assert one.batch == () and np.array_equal(one.a, t.a[1])
    for bad in (slice(3, 3), slice(None, None, -1), "x"):
        with pytest.raises(lw.InputError):
            t[bad]
    with pytest.raises(IndexError):
        t[21]
    with pytest.raises(lw.InputError, match="needs 1 number"):
        t.state()
    assert "21 samples" in repr(t) and "batch (2,)" in repr(t)


MOVED_BY = {
    "a function": {"controller": lambda t, q, v: -2.0 * v, "external": lambda t, q, v: {"world": 1e-3 * np.ones(6)}},
    "a law": {"controller": control.PDGravity(lw.load("double_pendulum"), np.zeros(2), 1.0, 1.0)},
    "what is called back": {"controller": lambda t, q, v: -2.0 * v, "callback": True, "hold": True},
    "tables": {"tau": np.ones((20, 2)), "external": {"tip": np.ones(6)}, "controller": None},
    "nothing": {"controller": None},
}


@pytest.mark.parametrize("moved_by", MOVED_BY)
@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_copies_hold_what_functions_gave_and_not_the_functions(moved_by, way):
    """Functions made on the spot do not pickle; what a pool of processes sends back are motions."""
    options = {"controller": None, "robot": "double_pendulum", "steps": 20, "duration": None, "every": 2}
    t = example((3,), **(options | MOVED_BY[moved_by]))
    first, again = way(t), way(t[2:].state(1))
    for name in ("time", "q", "v", "tau", "a", "external"):
        one, other = getattr(first, name), getattr(t, name)
        assert (one is other is None) or np.array_equal(one, other)
    assert np.array_equal(again.tau, t.tau[1, 2:]) and np.array_equal(again.energy.total, t.energy.total[1, 2:])
    assert first.robot == t.robot and first.settings.functions == t.settings.functions
    assert np.array_equal(first.resume(0.01).q, t.resume(0.01).q)


def test_what_follows_from_the_states():
    t = example()
    r = t.robot
    assert np.allclose(t.tau, -(r.mass_matrix(t.q) @ (3.0 * t.v)[..., None])[..., 0])
    assert np.allclose(t.a, r.forward_dynamics(t.q, t.v, t.tau))
    for x, y in zip(t.pose("tool0" if "tool0" in [f.name for f in r.frames] else r.tips[0]), r.pose(t.q, r.tips[0])):
        assert np.array_equal(x, y)
    assert np.array_equal(t.velocity(r.tips[0]), r.velocity(t.q, t.v, r.tips[0]))
    assert np.allclose(t.momentum, r.momentum(t.q, t.v))
    account = t.energy
    assert np.array_equal(account.total, sum(r.energy(t.q, t.v)))
    assert account.work[-1] < 0 and np.abs(account.drift).max() < 1e-6
    assert "drift" in str(account)


@lru_cache
def with_events(batch, dtype):
    """A motion with events, made once."""
    r = lw.load("quadruped")
    q = r.random_configuration(0, batch).astype(dtype)
    event = lambda r, t, q, v: q[..., 2] - q[..., 0]
    return lw.simulate(r, q, np.ones(r.nv, dtype), duration=0.02, damping=0.1, events=event)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("batch", [(), (2, 3)])
@pytest.mark.parametrize("ending", ["npz", "nc", "zarr", "parquet"])
def test_saved_and_loaded(ending, batch, dtype, tmp_path):
    if ending != "npz":
        pytest.importorskip({"nc": "h5netcdf", "zarr": "zarr", "parquet": "pyarrow"}[ending])
    t = with_events(batch, dtype)
    r = t.robot
    path = tmp_path / f"run.{ending}"
    t.save(path)
    for found in (lw.Trajectory.load(path, robot=r), lw.Trajectory.load(path)):
        for name in ("time", "q", "v", "a", "tau"):
            x, y = getattr(found, name), getattr(t, name)
            assert x.dtype == y.dtype and np.array_equal(x, y)
        assert np.array_equal(found.energy.drift, t.energy.drift)
        assert found.names == t.names and found.settings.method == "runge_kutta_4"
        assert [(e.event, e.time, e.state) for e in found.events] == [(e.event, e.time, e.state) for e in t.events]
        assert all(np.array_equal(a.q, b.q) for a, b in zip(found.events, t.events))
    with pytest.raises(lw.InputError, match="robot=robot"):
        lw.Trajectory.load(path).pose("world")
    assert list(tmp_path.iterdir()) == [path]


def test_dataset():
    pytest.importorskip("xarray")
    t = example((2,))
    d = t.to_xarray()
    assert d["q"].dims == ("batch_0", "time", "position") and d["kinetic"].dims == ("batch_0", "time")
    first = d["v"].sel(dof="shoulder_pan_joint").isel(batch_0=1)
    assert np.array_equal(first.values, t.v[1, :, 0])
    assert d["time"].attrs["units"] == "s"


@pytest.mark.parametrize(
    ("method", "ending"),
    [
        ("semi_implicit_euler", None),
        ("runge_kutta_4", "npz"),
        ("variational", "nc"),
        ("semi_implicit_euler", "zarr"),
        ("runge_kutta_4", "parquet"),
        ("variational", None),
    ],
)
def test_resumed_is_uninterrupted(method, ending, tmp_path):
    if ending not in (None, "npz"):
        pytest.importorskip({"nc": "h5netcdf", "zarr": "zarr", "parquet": "pyarrow"}[ending])
    options = {"robot": "double_pendulum", "method": method, "damping": 0.01}
    whole, half = (example((3,), duration=duration, **options) for duration in (0.2, 0.1))
    if ending:
        half.save(tmp_path / f"half.{ending}")
        half = lw.Trajectory.load(tmp_path / f"half.{ending}", robot=half.robot)
    both = half.resume(0.1, controller=law)
    assert np.array_equal(both.time, whole.time)
    for name in ("q", "v", "exchanged"):
        assert np.array_equal(getattr(both, name), getattr(whole, name))
    assert np.allclose(both.tau, whole.tau, rtol=1e-12, atol=1e-12)
    assert np.array_equal(both.resume(0.05, controller=law).q[:, : len(both)], both.q)


def test_resumed_with_a_table_and_adaptive():
    r = lw.load("double_pendulum")
    tau = np.random.default_rng(0).normal(size=(40, 2))
    whole = lw.rollout(r, [1.0, 0.5], tau=tau)
    both = lw.rollout(r, [1.0, 0.5], tau=tau[:30]).resume(0.01, tau=tau[30:])
    assert np.array_equal(whole.q, both.q) and np.array_equal(whole.tau[:-1], both.tau[:-1])
    t = lw.simulate(r, [1.0, 0.5], duration=1.0, step=0.1, method="dop853").resume(0.5)
    exact = lw.simulate(r, [1.0, 0.5], duration=1.5, step=0.1, method="dop853")
    assert np.abs(t.q - exact.q).max() < 1e-8 and np.allclose(t.time, exact.time)
    with pytest.raises(lw.InputError, match="not step"):
        t.resume(1.0, step=0.5)


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_forces_of_a_table_at_the_samples_are_those_of_the_steps_that_these_start(target):
    r = lw.chain(1)
    tau = np.arange(1.0, 7.0)[:, None]
    held = {every: lw.rollout(r, [0.1], tau=tau, every=every, target=target) for every in (1, 2, 3, 6)}
    for every, t in held.items():
        assert np.array_equal(t.tau[:, 0], [*tau[::every, 0], 6.0])  # the last one holds to the end
        assert np.abs(t.a - held[1].a[::every]).max() < 1e-12
    passes = lw.Event(lambda t, q, v: t - 0.0033, stop=True)
    for every in (1, 2, 3):
        t = lw.rollout(r, [0.1], tau=tau, every=every, target=target, events=passes)
        assert t.time[-1] == pytest.approx(0.0033) and t.tau[-1] == tau[3]
    with pytest.raises(lw.InputError, match="no rows"):
        lw.rollout(r, [0.1], tau=tau[:0], target=target)


# --- broken files, missing packages, folders that cannot be written ------------------------------------------


@lru_cache
def long_motion():
    return example(duration=1.0, every=1)


@pytest.mark.parametrize("ending", ["npz", "nc", "parquet"])
@pytest.mark.parametrize("kept", [0.0, 0.3, 0.7, 0.98])
def test_cut_files_are_refused(ending, kept, tmp_path):
    if ending != "npz":
        pytest.importorskip({"nc": "h5netcdf", "zarr": "zarr", "parquet": "pyarrow"}[ending])
    path = tmp_path / f"run.{ending}"
    long_motion().save(path)
    data = path.read_bytes()
    path.write_bytes(data[: int(kept * len(data))])
    with pytest.raises(lw.FileError, match=f"cannot read .*run.{ending}"):
        lw.Trajectory.load(path)


def test_cut_zarr_folders_are_refused(tmp_path):
    pytest.importorskip("zarr")
    path = tmp_path / "run.zarr"
    t = example(duration=0.1)
    t.save(path)
    for name in ("q", "time", "q/0.0", ".zmetadata"):
        t.save(path)  # over what is broken
        assert np.array_equal(lw.Trajectory.load(path).q, t.q)
        part = path / name
        if part.is_dir():
            shutil.rmtree(part)
        else:
            part.write_bytes(b"")
        with pytest.raises(lw.FileError, match=r"cannot read .*run\.zarr"):
            lw.Trajectory.load(path)
    assert [p.name for p in tmp_path.iterdir()] == ["run.zarr"]
    (tmp_path / "empty.zarr").mkdir()
    with pytest.raises(lw.FileError, match="cannot read"):
        lw.Trajectory.load(tmp_path / "empty.zarr")


def test_foreign_files_are_refused(tmp_path):
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    (tmp_path / "text.npz").write_text("time,q\n")
    for name in ("other.npz", "text.npz"):
        with pytest.raises(lw.FileError, match=name):
            lw.Trajectory.load(tmp_path / name)
    with pytest.raises(lw.FileError, match="no such file"):
        lw.Trajectory.load(tmp_path / "none.npz")
    with pytest.raises(lw.FileError, match=r"\.npz, \.nc, \.zarr, \.parquet"):
        lw.Trajectory.load(tmp_path / "run.csv")
    example().save(tmp_path / "run.npz")
    with pytest.raises(lw.FileError, match="its joints are"):
        lw.Trajectory.load(tmp_path / "run.npz", robot=lw.load("panda"))


def test_foreign_netcdf_and_parquet(tmp_path):
    xarray, pyarrow = pytest.importorskip("xarray"), pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("h5netcdf")
    xarray.Dataset({"x": ("n", np.zeros(3))}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    parquet.write_table(pyarrow.table({"x": [1.0]}), tmp_path / "other.parquet")
    for name in ("other.nc", "other.parquet"):
        with pytest.raises(lw.FileError, match="no trajectory of linkwise"):
            lw.Trajectory.load(tmp_path / name)


def test_old_netcdf_through_scipy(tmp_path, monkeypatch):
    pytest.importorskip("xarray")
    monkeypatch.setattr(storage, "_netcdf_engine", lambda: "scipy")
    t = example()
    t.save(tmp_path / "old.nc")
    assert (tmp_path / "old.nc").read_bytes()[:3] == b"CDF"
    assert np.array_equal(lw.Trajectory.load(tmp_path / "old.nc").q, t.q)


@pytest.mark.parametrize(
    "module, ending", [("xarray", "nc"), ("xarray", "zarr"), ("zarr", "zarr"), ("pyarrow", "parquet")]
)
def test_a_missing_package_is_named_with_the_command_that_brings_it(module, ending, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    t = example()
    with pytest.raises(lw.MissingExtraError, match=r'pip install "linkwise\[data\]"'):
        t.save(tmp_path / f"run.{ending}")
    assert not list(tmp_path.iterdir())
    if module == "xarray":
        with pytest.raises(lw.MissingExtraError, match=r"linkwise\[data\]"):
            t.to_xarray()


def test_adaptive_without_scipy(monkeypatch):
    for name in ("scipy", "scipy.integrate"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(lw.MissingExtraError, match=r"linkwise\[adaptive\]"):
        example(method="dop853")


def test_places_that_cannot_be_written(tmp_path, monkeypatch):
    t = example()
    with pytest.raises(lw.FileError, match="does not exist"):
        t.save(tmp_path / "no" / "run.npz")

    def full(found, path):
        raise OSError(28, "No space left on device")

    (tmp_path / "run.npz").write_bytes(b"before")
    monkeypatch.setitem(storage.FORMATS, ".npz", storage._Format(full, storage._read_npz))
    with pytest.raises(lw.FileError, match="No space left"):
        t.save(tmp_path / "run.npz")
    assert (tmp_path / "run.npz").read_bytes() == b"before"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_killed_process_leaves_whole_files(tmp_path):
    """Saves over and over while it is killed: what is under the name can always be read."""
    path = tmp_path / "run.npz"
    script = f"""
import numpy as np, linkwise as lw
t = lw.simulate(lw.load("double_pendulum"), [1.0, 1.0], duration=20.0, target="cpu")
t.save({str(path)!r})
print("saved", flush=True)
while True:
    t.save({str(path)!r})
"""
    for delay in (0.005, 0.02, 0.05):
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
            assert process.stdout.readline().strip() == b"saved"
            time.sleep(delay)
            process.kill()
        assert len(lw.Trajectory.load(path)) == 20_001


# --- progress -----------------------------------------------------------------------------------------


class Terminal:
    def __init__(self, terminal):
        self.text, self._terminal = "", terminal

    def isatty(self):
        return self._terminal

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def test_progress_is_quiet_unless_on_a_terminal():
    for terminal, show, expected in (
        (False, None, False),
        (True, True, True),
        (True, None, False),
        (True, False, False),
    ):
        stream = Terminal(terminal)
        with Progress(100, "steps", show, stream) as bar:
            for _ in range(10):
                bar.advance(10)
        assert bool(stream.text) == expected
    assert "100 %" not in stream.text
    stream = Terminal(True)
    with Progress(4, "steps", True, stream) as bar:
        bar.advance(4)
    assert "100 %" in stream.text and "4/4 steps" in stream.text and stream.text.endswith("\n")


def test_simulation_writes_nothing_by_itself(capsys):
    example()
    assert capsys.readouterr() == ("", "")
    example(progress=True)
    assert "steps" in capsys.readouterr().err


@pytest.mark.parametrize("index", ["first", 2, -3, 0.0, [1, [2]], None])
def test_states_of_a_batch_are_picked_by_whole_numbers(index):
    t = lw.simulate(lw.chain(2), np.zeros((2, 2)), steps=1, target="numpy")
    assert np.array_equal(t.state(-1).q, t.state(np.int64(1)).q)
    with pytest.raises(lw.InputError, match="state of the batch must be a whole number"):
        t.state(index)


def test_options_and_settings_are_what_they_hold(monkeypatch):
    """Made anew they are equal, and what was compiled for them serves again."""
    made, start = [], Kernel._start

    def counted(kernel, *args, **named):
        made.append(kernel)
        return start(kernel, *args, **named)

    monkeypatch.setattr(Kernel, "_start", counted)
    robot = lw.chain(2, seed=1)

    def settings(force=0.1, step=0.01):
        options = {"friction": lw.Friction(force), "limits": lw.Stops(-1.0, [1.0, 2.0])}
        return lw.simulate(robot, [0.1, 0.2], duration=0.05, step=step, method="midpoint", **options).settings

    first, count = settings(), len(made)
    assert settings() == first and hash(settings()) == hash(first) and len(made) == count > 0
    assert first != settings(0.2) and first != settings(step=0.005)
    assert pickle.loads(pickle.dumps(first)) == first == copy.copy(first)
    assert dataclasses.replace(first, functions={"cost": "compiled"}) != first
    assert lw.Stops(-1.0, stiffness=np.ones(2)) == lw.Stops(-1.0, stiffness=np.ones(2)) != lw.Stops(-1.0)
    assert lw.Friction() == lw.Friction() != lw.Friction(speed=0.1)
