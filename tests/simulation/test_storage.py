"""Saved trajectories, damaged or made up: refused, never other numbers, never more memory than they may take."""

import json
import shutil
import warnings
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import linkwise as lw
from linkwise.simulation import storage, storage_checks

NEEDS = {"npz": "numpy", "nc": "h5netcdf", "old.nc": "scipy.io", "zarr": "zarr", "parquet": "pyarrow"}
ARRAYS = ("time", "q", "v", "a", "tau")


def motion(batch=(), **options):
    r = lw.load("double_pendulum")
    q = np.random.default_rng(0).normal(size=(*batch, 2))
    return lw.simulate(r, q, duration=0.02, **options)


def saved(tmp_path, ending, t, monkeypatch):
    pytest.importorskip(NEEDS[ending])
    if ending == "old.nc":
        monkeypatch.setattr(storage, "_netcdf_engine", lambda: "scipy")
    path = tmp_path / f"run.{ending}"
    t.save(path)
    return path


def parts(path):
    """The files that make up a saved trajectory."""
    return sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]


def same(found, t):
    energy = ("kinetic", "potential", "work", "lost")
    return all(np.array_equal(getattr(found, k), getattr(t, k), equal_nan=True) for k in ARRAYS) and all(
        np.array_equal(getattr(found.energy, k), getattr(t.energy, k)) for k in energy if hasattr(t.energy, k)
    )


@pytest.mark.parametrize("ending", NEEDS)
def test_a_flipped_bit_never_gives_other_numbers(ending, tmp_path, monkeypatch):
    t = motion(damping=0.1)
    path = saved(tmp_path, ending, t, monkeypatch)
    assert same(lw.Trajectory.load(path), t)
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(20 if ending == "nc" else 40):  # HDF5 takes its time
        part = parts(path)[rng.integers(len(parts(path)))]
        data = part.read_bytes()
        bit = int(rng.integers(8 * len(data)))
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        part.write_bytes(flipped)
        try:
            found = lw.Trajectory.load(path)
        except lw.FileError as e:
            assert f"cannot read {path}" in str(e)
            refused += 1
        else:
            assert same(found, t), f"bit {bit} of {part}"
        part.write_bytes(data)
    assert refused > 5


@pytest.mark.parametrize("ending", NEEDS)
def test_signs_of_zero_and_numbers_that_are_none_come_back(ending, tmp_path, monkeypatch):
    t = motion()
    t.q[0], t.v[0] = -0.0, np.nan
    t.v[1, 0] = -t.v[0, 0]
    found = lw.Trajectory.load(saved(tmp_path, ending, t, monkeypatch))
    assert np.array_equal(found.q, t.q) and np.array_equal(np.signbit(found.q), np.signbit(t.q))
    assert np.array_equal(found.v, t.v, equal_nan=True) and found.q.dtype.isnative


@pytest.mark.parametrize("ending", ["npz", "nc", "zarr", "parquet"])
@pytest.mark.parametrize("change", ["words", "numbers", "width", "length", "missing", "dtype"])
def test_what_does_not_fit_is_refused(ending, change, tmp_path, monkeypatch):
    """Files written whole by a program that changes one thing on the way."""
    pytest.importorskip(NEEDS[ending])
    t = motion((2,))
    found = storage.contents(t)
    arrays, about = dict(found.arrays), dict(found.about)
    if change == "words":
        about["step"] = 0.5
    elif change == "numbers":
        arrays["tau"] = arrays["tau"] + 1e-12
    elif change == "width":
        about["dof_names"] = ("one",)
        arrays |= {k: arrays[k][..., :1] for k in ("v", "a")}
    elif change == "length":
        arrays["time"] = arrays["time"][:-1]
        arrays |= {k: x[:, :-1] for k, x in arrays.items() if k != "time"}
    elif change == "missing":
        del arrays["potential"]
    else:
        arrays["a"] = arrays["a"].astype(np.int64)
    path = tmp_path / f"run.{ending}"
    try:
        storage.FORMATS[path.suffix].write(storage.Contents(arrays, about), path)
    except (ValueError, KeyError):  # such a file cannot even be written
        return
    with pytest.raises(lw.FileError, match="cannot read"):
        lw.Trajectory.load(path)


# --- a few bytes that claim to be many ---------------------------------------------------------------------


def repacked(path, **arrays):
    """The .npz file with some of its arrays changed, packed."""
    with np.load(path) as z:
        held = {k: z[k] for k in z.files}
    np.savez_compressed(path, **(held | arrays))


def test_npz_bombs(tmp_path, monkeypatch):
    path = saved(tmp_path, "npz", motion(), monkeypatch)
    monkeypatch.setattr(storage_checks, "UNPACKED", 2**16)
    assert same(lw.Trajectory.load(path), motion())
    repacked(path, q=np.zeros((200_000, 10)))
    assert path.stat().st_size < 30_000
    with pytest.raises(lw.FileError, match=r"unpacks to 15 MiB.* limit="):
        lw.Trajectory.load(path, limit=2**23)
    with pytest.raises(lw.FileError, match="q has shape"):
        lw.Trajectory.load(path, limit=1e10)


def test_npz_headers_that_claim_much(tmp_path, monkeypatch):
    """The table of the archive is right, the array's own header is not."""
    path = saved(tmp_path, "npz", motion(), monkeypatch)
    with zipfile.ZipFile(path) as z:
        held = {n: z.read(n) for n in z.namelist()}
    huge = held["q.npy"].replace(b"(21, 2), }", b"(1000000000000, 2), }").replace(b" " * 11 + b"\n", b"\n")
    assert len(huge) == len(held["q.npy"])
    with zipfile.ZipFile(path, "w") as z:
        for name, data in (held | {"q.npy": huge}).items():
            z.writestr(name, data)
    with pytest.raises(lw.FileError, match="unpacks to 15,258,789 MiB"):
        lw.Trajectory.load(path)


def test_netcdf_bombs(tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    path = tmp_path / "run.nc"
    found = xarray.Dataset({"q": ("n", np.zeros(10))}, attrs={"about": "{}"})
    found.to_netcdf(path, engine="h5netcdf")
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "a") as f:  # never written, so that it takes no room
        f.create_dataset("v", shape=(2**40,), dtype="f8", chunks=(2**20,), compression="gzip")
    assert path.stat().st_size < 2**20
    with pytest.raises(lw.FileError, match="unpacks to 8,388,608 MiB"):
        lw.Trajectory.load(path)


def test_parquet_bombs(tmp_path):
    """Columns of one repeated number take nearly no room."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "run.parquet"
    n = 100_000
    table = pyarrow.table({f"q.{i}": pyarrow.array(np.zeros(n)) for i in range(400)})
    about = {"format": "linkwise-trajectory", "version": storage.VERSION, "batch": [], "samples": n}
    parquet.write_table(table.replace_schema_metadata({storage.FORMAT: json.dumps(about)}), path)
    assert path.stat().st_size < 500_000
    with pytest.raises(lw.FileError, match="unpacks to 305 MiB"):
        lw.Trajectory.load(path)
    words = pyarrow.table({"q.0": ["a"]}).replace_schema_metadata({storage.FORMAT: json.dumps(about)})
    parquet.write_table(words, path)
    with pytest.raises(lw.FileError, match="other things than numbers"):
        lw.Trajectory.load(path)


@pytest.mark.parametrize(
    ("described", "why"),
    [
        ({"shape": [10**12, 2], "chunks": [10**12, 2]}, "unpacks to"),
        ({"chunks": [10**12, 2]}, "unpacks to"),
        ({"shape": [10**7, 2], "chunks": [1, 2]}, "more than 10000 chunks"),
        ({"compressor": {"id": "zstd", "level": 3}}, "packed by 'zstd'"),
    ],
)
def test_zarr_bombs(described, why, tmp_path, monkeypatch):
    path = saved(tmp_path, "zarr", motion(), monkeypatch)
    file = path / ".zmetadata"
    about = json.loads(file.read_text())
    about["metadata"]["q/.zarray"] |= described
    file.write_text(json.dumps(about))
    with pytest.raises(lw.FileError, match=why):
        lw.Trajectory.load(path)


def test_zarr_chunks_that_unpack_to_much(tmp_path, monkeypatch):
    path = saved(tmp_path, "zarr", motion(), monkeypatch)
    chunk = path / "q" / "0.0"
    data = bytearray(chunk.read_bytes())
    data[4:8] = (2**31 - 32).to_bytes(4, "little")
    chunk.write_bytes(data)
    with pytest.raises(lw.FileError, match="unpacks to 2,048 MiB"):
        lw.Trajectory.load(path)


def test_limits_are_positive_numbers(tmp_path, monkeypatch):
    path = saved(tmp_path, "npz", motion(), monkeypatch)
    for bad in (0, -1, "much", float("nan"), True):
        with pytest.raises(lw.InputError, match="limit must be"):
            lw.Trajectory.load(path, limit=bad)


def test_links_and_folders_in_place_of_files(tmp_path, monkeypatch):
    path = saved(tmp_path, "npz", motion(), monkeypatch)
    (tmp_path / "folder.npz").mkdir()
    shutil.copy(path, tmp_path / "run.zarr")
    for name in ("folder.npz", "run.zarr"):
        with pytest.raises(lw.FileError, match=name):
            lw.Trajectory.load(tmp_path / name)
    with pytest.raises(lw.FileError):
        lw.Trajectory.load(Path(tmp_path, "x" * 300 + ".npz"))


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_a_robot_other_than_the_one_that_moved_is_named(ending, tmp_path, monkeypatch):
    r = lw.load("four_bar")
    t = lw.simulate(r, r.closed_configuration(r.neutral() + 0.3), duration=0.01, step=0.002)
    path = saved(tmp_path, ending, t, monkeypatch)
    lighter = [replace(b, inertia=lw.Inertia(0.5 * b.inertia.mass, b.inertia.com, b.inertia.tensor)) for b in r.bodies]
    others = {
        "gravity": r.with_gravity([0, 0, -1]),
        "loops": r.opened,
        "numbers": r.with_constants([replace(c, M=type(c.M)(2 * c.M.m, 2 * c.M.h, 2 * c.M.J)) for c in r.constants()]),
        "bodies, loops": lw.assemble("four_bar", lighter, r.extra_frames),
    }
    for what, other in others.items():
        with pytest.warns(lw.SimulationWarning, match=f"another robot than '.*': their {what} differ") as said:
            lw.Trajectory.load(path, robot=other)
        assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for same_robot in (r, lw.load("four_bar"), None):
            lw.Trajectory.load(path, robot=same_robot)


@pytest.mark.parametrize("damping", [0.3, False, [0.1, 0.2]])
def test_motions_with_damping_in_place_of_the_robots_go_on_from_their_file_as_they_were(damping, tmp_path):
    damped = {"joint1": {"stiffness": 3.0, "damping": 0.7}, "joint2": {"damping": 0.4}}
    r = lw.chain(2, seed=2).with_springs(damped, damping_acts=True)
    options = {"step": 0.01, "method": "midpoint", "damping": damping}
    half, whole = (lw.simulate(r, [0.3, -0.2], steps=n, **options) for n in (5, 10))
    half.save(tmp_path / "half.npz")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the robot is the one that was given to simulate
        found = lw.Trajectory.load(tmp_path / "half.npz", robot=r)
    assert same(found.resume(0.05), whole)


def test_files_that_do_not_tell_their_robot_load_as_before(tmp_path, monkeypatch, recwarn):
    t = motion()
    found = storage.contents(t)
    about = {k: x for k, x in found.about.items() if k not in ("robot_parts", "checksum")}
    about["checksum"] = storage_checks.checksum(found.arrays, about)
    storage._write_npz(storage.Contents(found.arrays, about), tmp_path / "old.npz")
    assert same(lw.Trajectory.load(tmp_path / "old.npz", robot=t.robot.with_gravity([0, 0, -1])), t)
    assert not recwarn


class OwnHinge(lw.Revolute):
    pass


def test_relations_are_compared_by_what_they_compute_and_classes_of_users_not_at_all(tmp_path):
    arm = lw.chain(3, seed=1)
    r, same_one, other = (arm.couple("joint3", "joint2", relation=lambda x, k=k: k * x * x) for k in (0.5, 0.5, 0.6))
    lw.simulate(r, [0.1, 0.2], duration=0.01).save(tmp_path / "run.npz")
    own = [
        lw.assemble("own", [lw.Body("a", lw.Joint(OwnHinge("z"), "j"), lw.Inertia(m, tensor=np.eye(3)))])
        for m in (1.0, 2.0)
    ]
    lw.simulate(own[0], [0.1], duration=0.01, target="numpy").save(tmp_path / "own.npz")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.Trajectory.load(tmp_path / "run.npz", robot=same_one)
        lw.Trajectory.load(tmp_path / "own.npz", robot=own[1])
    with pytest.warns(lw.SimulationWarning, match="their couplings differ"):
        lw.Trajectory.load(tmp_path / "run.npz", robot=other)
    with pytest.warns(lw.SimulationWarning, match="their gravity differ"):
        lw.Trajectory.load(tmp_path / "own.npz", robot=own[0].with_gravity([0, 0, -1]))


@pytest.mark.parametrize("path", [None, 3, b"run.npz", "run\0.npz"])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(lw.InputError, match="path"):
        motion().save(path)
    with pytest.raises(lw.InputError, match="path"):
        lw.Trajectory.load(path)


@pytest.mark.parametrize("ending", ["npz", "nc", "zarr", "parquet"])
def test_parameters_are_kept_by_every_format_and_named_in_tables(tmp_path, ending):
    r = lw.load("double_pendulum")
    masses = np.tile(r.inertial_parameters, (3, 1, 1)) * np.array([1.0, 1.1, 1.2])[:, None, None]
    q = np.tile([0.3, 0.2], (3, 1))
    for given in (masses, 1.5 * r.inertial_parameters):  # of each state, and of all
        t = lw.simulate(r, q, parameters={"inertial": given}, steps=4)
        t.save(tmp_path / f"motion.{ending}")
        again = lw.Trajectory.load(tmp_path / f"motion.{ending}", robot=r)
        assert np.array_equal(again.parameters["inertial"], t.parameters["inertial"])
        assert np.array_equal(again.q, t.q) and np.array_equal(again.energy.total, t.energy.total)
    table = lw.simulate(r, q, parameters={"inertial": masses}, steps=4).to_pandas()
    body = r.bodies[1].name
    found = table.groupby("state")[f"inertial.{body}.mass"].unique()
    assert [x.tolist() for x in found] == [[m] for m in masses[:, 1, 0]]
    assert len(table) == 15 and f"q.{r.joints[0].name}" in table


def test_xarray_has_units():
    d = lw.simulate(lw.load("ur5"), np.zeros(6), steps=1).to_xarray()
    assert [d[x].attrs["units"] for x in ("q", "v", "a", "tau")] == ["rad", "rad s-1", "rad s-2", "N m"]
    cart = lw.load("cartpole")
    d = lw.simulate(cart, cart.neutral(), steps=1).to_xarray()
    assert d["tau"].attrs["units"] == "N, N m" and d["q"].attrs["units"] == "m, rad"
    flying = lw.load("satellite")
    d = lw.simulate(flying, flying.neutral(), steps=1).to_xarray()
    assert d["q"].attrs["units"].split(", ").count("1") % 4 == 0
