"""Trajectories in files: .npz with NumPy alone, NetCDF through xarray, Parquet through PyArrow.

Every file holds time, q, v, a, tau and the energies, and as JSON what is needed to go on: method, step, passive forces,
names. Files are written under another name and moved into place, so that a file is whole or not there at all.
"""

from __future__ import annotations

import importlib
import json
import os
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError, InputError, LinkwiseError, MissingExtraError
from ..robot import Robot
from .events import Crossing
from .forces import Passive
from .integrators import BOOKS
from .trajectory import Settings, Trajectory, labels

FORMAT, VERSION = "linkwise-trajectory", 1
_VECTORS = {"q": "position", "v": "dof", "a": "dof", "tau": "dof"}  # name → the axis of its numbers
_ENERGIES = ("kinetic", "potential", *BOOKS)
_UNITS = {"time": "s", **dict.fromkeys(_ENERGIES, "J")}


@dataclass(frozen=True, eq=False)
class Contents:
    """What a file holds: arrays (*batch, samples, …) and what is said about them."""

    arrays: dict[str, np.ndarray]
    about: dict[str, Any]


# --- trajectories and contents ----------------------------------------------------------------------------


def contents(t: Trajectory) -> Contents:
    """A trajectory as arrays and JSON."""
    books = t.energy
    arrays = {"time": t.time, **{name: getattr(t, name) for name in _VECTORS}}
    arrays |= {name: getattr(books, name) for name in _ENERGIES}
    arrays |= {f"parameter_{k}": x for k, x in t.parameters.items()}
    s = t.settings
    about = {
        "format": FORMAT,
        "version": VERSION,
        "robot": None if t.robot is None else t.robot.name,
        "position_names": t.names[0],
        "dof_names": t.names[1],
        "batch": t.batch,
        "samples": len(t),
        "keeps_books": t.exchanged is not None,
        "method": s.method,
        "step": s.step,
        "every": s.every,
        "first": s.first,
        "hold": s.hold,
        "passive": s.passive.to_plain(),
        "tolerances": s.tolerances,
        "events": [[e.event, e.time, e.state, e.q.tolist(), e.v.tolist()] for e in t.events],
    }
    return Contents(arrays, about)


def trajectory(found: Contents, robot: Robot | None, path: Path) -> Trajectory:
    """The trajectory that a file holds."""
    x, about = found.arrays, found.about
    names = (tuple(about["position_names"]), tuple(about["dof_names"]))
    if robot is not None and labels(robot) != names:
        theirs, own = ", ".join(names[1]), ", ".join(labels(robot)[1])
        raise FileError(f"{path}: its joints are {theirs}; those of robot {robot.name!r} are {own}")
    settings = Settings(
        about["method"],
        about["step"],
        about["every"],
        about["first"],
        about["hold"],
        Passive.from_plain(about["passive"]),
        None if about["tolerances"] is None else tuple(about["tolerances"]),
    )
    dtype = x["q"].dtype
    events = tuple(
        Crossing(name, when, tuple(state), np.array(q, dtype), np.array(v, dtype))
        for name, when, state, q, v in about["events"]
    )
    exchanged = np.stack([x[name] for name in BOOKS], axis=-1).astype(dtype) if about["keeps_books"] else None
    parameters = {k.removeprefix("parameter_"): y for k, y in x.items() if k.startswith("parameter_")}
    forces = x["tau"] if about["keeps_books"] else None
    t = Trajectory(robot, x["time"], x["q"], x["v"], settings, events, forces, exchanged, parameters, names)
    t.__dict__.update(a=x["a"], tau=x["tau"], _energies=(x["kinetic"], x["potential"]))
    return t


# --- files --------------------------------------------------------------------------------------------


def save(t: Trajectory, path: str | os.PathLike[str]) -> None:
    """Write a trajectory; the ending of the name says how."""
    where = Path(path)
    write = _format(where).write
    if not where.parent.is_dir():
        raise FileError(f"cannot write {where}: the folder {where.parent} does not exist; make it first")
    found = contents(t)
    try:
        _atomically(where, lambda part: write(found, part))
    except OSError as e:
        raise FileError(f"cannot write {where}: {e.strerror or e}; choose another place, or make room") from e


def _atomically(where: Path, write: Callable[[Path], None]) -> None:
    """Write beside the place, then move there: a process that dies leaves the old file, or the new one, whole."""
    handle, name = tempfile.mkstemp(dir=where.parent, prefix=f".{where.name}.", suffix=f".part{where.suffix}")
    os.close(handle)
    part = Path(name)
    try:
        write(part)
        with open(part, "rb+") as f:
            os.fsync(f.fileno())
        os.chmod(part, 0o666 & ~_umask())
        os.replace(part, where)
    finally:
        part.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def load(path: str | os.PathLike[str], robot: Robot | None = None) -> Trajectory:
    """Read a trajectory; what is no such file, or only part of one, is refused."""
    where = Path(path)
    read = _format(where).read
    if not where.is_file():
        raise FileError(f"cannot read {where}: there is no such file")
    try:
        found = read(where)
        _check(found, where)
        return trajectory(found, robot, where)
    except LinkwiseError:
        raise
    except Exception as e:  # readers of three libraries raise whatever they like on broken files
        raise FileError(
            f"cannot read {where}: it is damaged, cut short, or no trajectory of linkwise ({_short(e)}); save it again"
        ) from e


def _check(found: Contents, path: Path) -> None:
    about = found.about
    if about.get("format") != FORMAT:
        raise FileError(f"cannot read {path}: it is no trajectory of linkwise")
    if about["version"] != VERSION:
        raise FileError(
            f"cannot read {path}: it has version {about['version']} of the format, this linkwise reads {VERSION}"
        )
    rows = (*about["batch"], about["samples"])
    for name in (*_VECTORS, *_ENERGIES):
        if found.arrays[name].shape[: len(rows)] != rows:
            raise FileError(
                f"cannot read {path}: {name} has shape {found.arrays[name].shape} in place of {(*rows, '…')}"
            )


def _short(e: Exception) -> str:
    text = " ".join(str(e).split())
    return f"{type(e).__name__}: {text[:120]}" if text else type(e).__name__


# --- .npz ---------------------------------------------------------------------------------------------


def _write_npz(found: Contents, path: Path) -> None:
    with open(path, "wb") as f:
        np.savez(f, about=np.array(json.dumps(found.about)), **found.arrays)  # type: ignore[arg-type]


def _read_npz(path: Path) -> Contents:
    if not zipfile.is_zipfile(path):
        raise FileError(f"cannot read {path}: it is damaged, cut short, or no .npz file")
    with np.load(path, allow_pickle=False) as z:
        if "about" not in z:
            raise FileError(f"cannot read {path}: it is no trajectory of linkwise")
        return Contents({k: z[k] for k in z.files if k != "about"}, json.loads(str(z["about"])))


# --- xarray and NetCDF -----------------------------------------------------------------------------------


def to_xarray(t: Trajectory) -> Any:
    """A dataset with named axes: batch axes, time, and the numbers of positions and of degrees of freedom."""
    return _dataset(contents(t))


def _dataset(found: Contents) -> Any:
    xarray = _needs("xarray", "data")
    about = found.about
    rows = (*(f"batch_{i}" for i in range(len(about["batch"]))), "time")
    variables: dict[str, Any] = {}
    for name, x in found.arrays.items():
        if name in _VECTORS:
            variables[name] = ((*rows, _VECTORS[name]), x)
        elif name in _ENERGIES:
            variables[name] = (rows, x, {"units": _UNITS[name]})
        elif name.startswith("parameter_"):
            variables[name] = ((*rows[len(rows) - x.ndim : -1], f"{name}_number"), x)
    coordinates = {
        "time": ("time", found.arrays["time"], {"units": "s"}),
        "position": list(about["position_names"]),
        "dof": list(about["dof_names"]),
    }
    return xarray.Dataset(variables, coordinates, {"about": json.dumps(about)})


def _write_netcdf(found: Contents, path: Path) -> None:
    _dataset(found).to_netcdf(path, engine=_netcdf_engine())


def _netcdf_engine() -> str:
    """HDF5 where h5netcdf is there, else the old format that SciPy writes."""
    for modules, engine in ((("h5netcdf", "h5py"), "h5netcdf"), (("scipy.io",), "scipy")):
        try:
            for module in modules:  # h5netcdf does not bring h5py itself
                importlib.import_module(module)
            return engine
        except ImportError:
            continue
    raise _missing("h5netcdf", "data")


def _read_netcdf(path: Path) -> Contents:
    xarray = _needs("xarray", "data")
    classic = path.read_bytes()[:3] == b"CDF"
    if not classic:
        _needs("h5netcdf", "data")
    with xarray.open_dataset(path, engine="scipy" if classic else "h5netcdf") as d:
        d.load()
    if "about" not in d.attrs:
        raise FileError(f"cannot read {path}: it is no trajectory of linkwise")
    arrays = {str(k): np.asarray(x.values) for k, x in d.data_vars.items()}
    return Contents({"time": np.asarray(d["time"].values), **arrays}, json.loads(d.attrs["about"]))


# --- Parquet ------------------------------------------------------------------------------------------


def _write_parquet(found: Contents, path: Path) -> None:
    """One row per state and sample; the numbers of q, v, a and tau are columns such as ``q.shoulder``."""
    pyarrow = _needs("pyarrow", "data")
    parquet = _needs("pyarrow.parquet", "data")
    about = found.about
    if any(k.startswith("parameter_") for k in found.arrays):
        raise InputError("a Parquet file has no place for parameters per state; save as .npz or .nc")
    count, samples = int(np.prod(about["batch"], dtype=int)), about["samples"]
    columns: dict[str, np.ndarray] = {
        "state": np.repeat(np.arange(count), samples),
        "time": np.tile(found.arrays["time"], count),
    }
    for name, axis in _VECTORS.items():
        flat = found.arrays[name].reshape(count * samples, -1)
        columns |= {f"{name}.{label}": flat[:, i] for i, label in enumerate(about[f"{axis}_names"])}
    columns |= {name: found.arrays[name].reshape(-1) for name in _ENERGIES}
    table = pyarrow.table({k: pyarrow.array(np.ascontiguousarray(x)) for k, x in columns.items()})
    parquet.write_table(table.replace_schema_metadata({FORMAT: json.dumps(about)}), path)


def _read_parquet(path: Path) -> Contents:
    table = _needs("pyarrow.parquet", "data").read_table(path)
    said = (table.schema.metadata or {}).get(FORMAT.encode())
    if said is None:
        raise FileError(f"cannot read {path}: it is no trajectory of linkwise")
    about = json.loads(said)
    rows = (*about["batch"], about["samples"])

    def column(name: str) -> np.ndarray:
        return table[name].to_numpy()

    arrays = {"time": column("time")[: about["samples"]].copy()}
    dtype = (
        np.result_type(*(column(f"v.{label}").dtype for label in about["dof_names"])) if about["dof_names"] else float
    )
    for name, axis in _VECTORS.items():
        numbers = [column(f"{name}.{label}") for label in about[f"{axis}_names"]]
        flat = np.stack(numbers, axis=-1) if numbers else np.empty((int(np.prod(rows)), 0), dtype)
        arrays[name] = flat.reshape(*rows, len(numbers))
    return Contents(arrays | {name: column(name).reshape(rows).copy() for name in _ENERGIES}, about)


# --- formats and extras -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Format:
    write: Callable[[Contents, Path], None]
    read: Callable[[Path], Contents]


FORMATS = {
    ".npz": _Format(_write_npz, _read_npz),
    ".nc": _Format(_write_netcdf, _read_netcdf),
    ".parquet": _Format(_write_parquet, _read_parquet),
}


def _format(path: Path) -> _Format:
    chosen = FORMATS.get(path.suffix.lower())
    if chosen is None:
        raise FileError(f"{path}: trajectories are {', '.join(FORMATS)} files")
    return chosen


def _needs(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise _missing(module.partition(".")[0], extra) from None


def _missing(package: str, extra: str) -> MissingExtraError:
    return MissingExtraError(f'{package} is not installed; this brings it: pip install "linkwise[{extra}]"')
