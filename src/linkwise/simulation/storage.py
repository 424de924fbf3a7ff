"""Trajectories in files: .npz with NumPy alone, NetCDF and Zarr through xarray, Parquet through PyArrow.

Every file holds time, q, v, a, tau, the energies and external forces, and as JSON what is needed to go on: method,
step, passive forces, names, and a checksum of it all (:mod:`.storage_checks`). Files are written beside their place and
moved there, so that a file is whole or not there at all.
"""

from __future__ import annotations

import importlib
import json
import os
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments import file_path
from ..errors import FileError, LinkwiseError, SimulationWarning
from ..extras import require
from ..robot.robot import Robot
from ..whole_files import write_through
from .closing import LEFT, Closing
from .events import Crossing
from .joint_forces import PassiveForces
from .storage_checks import (
    allowed,
    as_it_moved,
    checksum,
    npz_size,
    refuse_misshapen,
    refuse_more_than,
    refuse_other_kinds,
    robot_parts,
    zarr_size,
)
from .system import EXCHANGED
from .trajectory import Settings, Trajectory, labels

FORMAT, VERSION = "linkwise-trajectory", 3
_VECTORS = {"q": "position", "v": "dof", "a": "dof", "tau": "dof"}  # name → the axis of its numbers
_ENERGIES = ("kinetic", "potential", *EXCHANGED)
_COST = "cost"
_WRENCHES, _AXES = "wrenches", ("mx", "my", "mz", "fx", "fy", "fz")  # external forces: moment and force, body axes


@dataclass(frozen=True, eq=False)
class Contents:
    """What a file holds: arrays (*batch, samples, …) and what is said about them."""

    arrays: dict[str, np.ndarray]
    about: dict[str, Any]


# --- names and units ------------------------------------------------------------------------------------------

_NUMBERS = {
    "inertial": ("mass", "hx", "hy", "hz", "Jxx", "Jxy", "Jyy", "Jxz", "Jyz", "Jzz"),
    "offsets": ("x", "y", "z"),
}
_OF_POSITION = {  # the unit of a position → those of v, a and tau, as UDUNITS has them
    "rad": ("rad s-1", "rad s-2", "N m"),
    "m": ("m s-1", "m s-2", "N"),
}


def _parameter_names(kind: str, t: Trajectory, count: int) -> list[str]:
    """Names of a robot's parameters, body by body."""
    each = _NUMBERS[kind]
    bodies = [str(i) for i in range(count // len(each))] if t.robot is None else [b.name for b in t.robot.bodies]
    return [f"{body}.{name}" for body in bodies for name in each]


def units(robot: Robot) -> tuple[list[str], list[str]]:
    """The units of the numbers of q, "1" of those of quaternions, and of the positions whose rates v are."""
    of_q: list[str] = []
    of_v: list[str] = []
    for joint, _, _ in robot.coordinates:
        kind = joint.kind
        turns = np.abs(np.asarray(kind.map(kind.neutral()))[:3]).sum(axis=0) > 0
        own = ["rad" if x else "m" for x in turns]
        of_v += own
        of_q += own if kind.nq == kind.nv else [*["m"] * (kind.nq - 4), *["1"] * 4]
    return of_q, of_v


def _unit_of(name: str, about: dict[str, Any]) -> dict[str, str]:
    """What xarray says of q, v, a or tau: its unit, or the unit of each of its numbers."""
    axis = _VECTORS[name]
    found = about.get(f"{axis}_units")
    if found is None:
        return {}
    row = {"v": 0, "a": 1, "tau": 2}.get(name)
    each = found if row is None else [_OF_POSITION[x][row] for x in found]
    return {"units": each[0]} if len({*each}) == 1 else {"units": ", ".join(each)} if each else {}


# --- trajectories and contents ----------------------------------------------------------------------------


def contents(t: Trajectory) -> Contents:
    """A trajectory as arrays and JSON."""
    account = t.energy
    arrays = {"time": t.time, **{name: getattr(t, name) for name in _VECTORS}}
    arrays |= {name: getattr(account, name) for name in _ENERGIES}
    arrays |= {f"parameter_{k}": x for k, x in t.parameters.items()}
    if t.external is not None:
        arrays[_WRENCHES] = t.external
    if t.cost is not None:
        arrays[_COST] = t.cost
    s = t.settings
    about = {
        "format": FORMAT,
        "version": VERSION,
        "robot": None if t.robot is None else t.robot.name,
        "robot_parts": None if t.robot is None else robot_parts(t.robot),
        "position_names": t.names[0],
        "dof_names": t.names[1],
        "body_names": None if t.robot is None else [b.name for b in t.robot.bodies],
        "position_units": None if t.robot is None else units(t.robot)[0],
        "dof_units": None if t.robot is None else units(t.robot)[1],
        "shared_parameters": sorted(k for k, x in t.parameters.items() if x.ndim == 1),
        "parameters": {k: _parameter_names(k, t, x.shape[-1]) for k, x in t.parameters.items()},
        "batch": t.batch,
        "samples": len(t),
        "exchanges": t.exchanged is not None,
        "method": s.method,
        "step": s.step,
        "every": s.every,
        "first": s.first,
        "hold": s.hold,
        "passive": s.passive.to_plain(),
        "tolerances": s.tolerances,
        "coordinates": s.coordinates,
        "functions": dict(s.functions),
        "closing": [s.closing.how, s.closing.rate, s.closing.repeated],
        "implicit": s.implicit,
        "events": [[e.event, e.time, e.state, e.q.tolist(), e.v.tolist()] for e in t.events],
    }
    return Contents(arrays, about | {"checksum": checksum(arrays, about)})


def trajectory(found: Contents, robot: Robot | None, path: Path) -> Trajectory:
    """The trajectory that a file holds."""
    x, about = found.arrays, found.about
    names = (tuple(about["position_names"]), tuple(about["dof_names"]))
    if robot is not None and labels(robot) != names:
        theirs, own = ", ".join(names[1]), ", ".join(labels(robot)[1])
        raise FileError(f"{path}: its joints are {theirs}; those of robot {robot.name!r} are {own}")
    if robot is not None:
        robot = as_it_moved(robot, about.get("robot_parts"))
        _warn_of_another(robot, about.get("robot_parts"), path)
    settings = Settings(
        about["method"],
        about["step"],
        about["every"],
        about["first"],
        about["hold"],
        PassiveForces.from_plain(about["passive"]),
        None if about["tolerances"] is None else tuple(about["tolerances"]),
        about["coordinates"],
        about["functions"],
        Closing(*about["closing"]) if "closing" in about else LEFT,
        about.get("implicit", False),  # of files that do not say, steps were explicit
    )
    dtype = x["q"].dtype
    events = tuple(
        Crossing(name, when, tuple(state), np.array(q, dtype), np.array(v, dtype))
        for name, when, state, q, v in about["events"]
    )
    exchanged = np.stack([x[name] for name in EXCHANGED], axis=-1).astype(dtype) if about["exchanges"] else None
    parameters = {k.removeprefix("parameter_"): y for k, y in x.items() if k.startswith("parameter_")}
    forces = x["tau"] if about["exchanges"] else None
    external = x.get(_WRENCHES)
    acted = (forces, exchanged, parameters, names, external, x.get(_COST))
    t = Trajectory(robot, x["time"], x["q"], x["v"], settings, events, *acted)
    t.__dict__.update(a=x["a"], tau=x["tau"], _energies=(x["kinetic"], x["potential"]))
    return t


def _warn_of_another(robot: Robot, before: dict[str, str | None] | None, path: Path) -> None:
    """Say where a robot is not the one that moved. (Files of earlier linkwise do not tell.)"""
    if before is None:
        return
    now = robot_parts(robot)
    unknown = {what for what in before.keys() & now.keys() if before[what] is None or now[what] is None}
    if other := [what for what in {**before, **now} if what not in unknown and before.get(what) != now.get(what)]:
        warnings.warn(
            f"{path} is the motion of another robot than {robot.name!r}: their {', '.join(other)} differ; poses,"
            " momenta and motions that go on will be those of the robot that was given",
            SimulationWarning,
            stacklevel=5,  # trajectory, load, Trajectory.load
        )


# --- files --------------------------------------------------------------------------------------------


def save(t: Trajectory, path: str | os.PathLike[str]) -> None:
    """Write a trajectory; the ending of the name says how."""
    where = file_path(path, "a trajectory")
    write = _format(where).write
    if not where.parent.is_dir():
        raise FileError(f"cannot write {where}: the folder {where.parent} does not exist; make it first")
    found = contents(t)
    write_through(where, lambda part: write(found, part))


def load(path: str | os.PathLike[str], *, robot: Robot | None = None, limit: float | None = None) -> Trajectory:
    """Read a trajectory; what is no such file, or only part of one, is refused.

    ``limit`` [bytes] is the most that it may unpack to, by default a thousand times its size, or 256 MiB.
    """
    where = file_path(path, "a trajectory")
    read = _format(where).read
    try:
        if not where.exists():
            raise FileError(f"cannot read {where}: there is no such file")
        found = read(where, allowed(where, limit))
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
    refuse_other_kinds(about, path)
    inner: dict[str, tuple[int, ...]] = {name: (len(about[f"{axis}_names"]),) for name, axis in _VECTORS.items()}
    inner |= dict.fromkeys(_ENERGIES, ())
    if _WRENCHES in found.arrays:
        inner[_WRENCHES] = (len(_body_names(found)), len(_AXES))
    if _COST in found.arrays:
        inner[_COST] = ()
    refuse_misshapen(found.arrays, about, inner, path)
    said = {k: x for k, x in about.items() if k != "checksum"}
    if checksum(found.arrays, said) != about["checksum"]:
        raise FileError(f"cannot read {path}: parts of it are missing or were changed; save it again")


def _short(e: Exception) -> str:
    text = " ".join(str(e).split())
    return f"{type(e).__name__}: {text[:120]}" if text else type(e).__name__


# --- .npz ---------------------------------------------------------------------------------------------


def _write_npz(found: Contents, path: Path) -> None:
    with open(path, "wb") as f:
        held: dict[str, Any] = {"about": np.array(json.dumps(found.about)), **found.arrays}
        np.savez(f, **held)


def _read_npz(path: Path, most: float) -> Contents:
    if not zipfile.is_zipfile(path):
        raise FileError(f"cannot read {path}: it is damaged, cut short, or no .npz file")
    refuse_more_than(most, npz_size(path), path)
    with np.load(path, allow_pickle=False) as z:
        if "about" not in z:
            raise FileError(f"cannot read {path}: it is no trajectory of linkwise")
        return Contents({k: z[k] for k in z.files if k != "about"}, json.loads(str(z["about"])))


# --- xarray: NetCDF and Zarr -------------------------------------------------------------------------------


def to_xarray(t: Trajectory) -> Any:
    """A dataset with named axes: batch axes, time, and the numbers of positions and of degrees of freedom."""
    return _dataset(contents(t))


def _dataset(found: Contents) -> Any:
    xarray = _needs("xarray")
    about = found.about
    rows = (*(f"batch_{i}" for i in range(len(about["batch"]))), "time")
    variables: dict[str, Any] = {}
    for name, x in found.arrays.items():
        if name in _VECTORS:
            variables[name] = ((*rows, _VECTORS[name]), x, _unit_of(name, about))
        elif name in _ENERGIES:
            variables[name] = (rows, x, {"units": "J"})
        elif name == _COST:
            variables[name] = (rows, x)
        elif name == _WRENCHES:
            variables[name] = ((*rows, "body", "wrench"), x)
        elif name.startswith("parameter_"):
            variables[name] = ((*rows[len(rows) - x.ndim : -1], f"{name}_number"), x)
    coordinates = {
        "time": ("time", found.arrays["time"], {"units": "s"}),
        "position": list(about["position_names"]),
        "dof": list(about["dof_names"]),
    }
    for k, names in about.get("parameters", {}).items():
        coordinates[f"parameter_{k}_number"] = list(names)
    if _WRENCHES in variables:
        coordinates |= {"body": _body_names(found), "wrench": list(_AXES)}
    return xarray.Dataset(variables, coordinates, {"about": json.dumps(about)})


def _body_names(found: Contents) -> list[str]:
    return found.about["body_names"] or [str(i) for i in range(found.arrays[_WRENCHES].shape[-2])]


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
    _needs("h5netcdf")
    _needs("h5py")
    return "h5netcdf"


def _read_netcdf(path: Path, most: float) -> Contents:
    xarray = _needs("xarray")
    with open(path, "rb") as f:
        classic = f.read(3) == b"CDF"
    if not classic:
        _needs("h5netcdf")
    with xarray.open_dataset(path, engine="scipy" if classic else "h5netcdf") as d:
        refuse_more_than(most, float(d.nbytes), path)
        d.load()
    return _from_dataset(d, path)


def _from_dataset(d: Any, path: Path) -> Contents:
    if "about" not in d.attrs:
        raise FileError(f"cannot read {path}: it is no trajectory of linkwise")
    arrays = {str(k): x.values for k, x in (("time", d["time"]), *d.data_vars.items())}
    native = {k: np.asarray(x, x.dtype.newbyteorder("=")) for k, x in arrays.items()}  # old NetCDF has the other
    return Contents(native, json.loads(d.attrs["about"]))


def _write_zarr(found: Contents, path: Path) -> None:
    """A folder of chunks, in version 2 of the format, which every reader of Zarr knows."""
    _needs("zarr")
    _dataset(found).to_zarr(path, mode="w", zarr_format=2, consolidated=True)


def _read_zarr(path: Path, most: float) -> Contents:
    xarray = _needs("xarray")
    _needs("zarr")
    refuse_more_than(most, zarr_size(path, most), path)
    with xarray.open_zarr(path, chunks=None, consolidated=True) as d:
        d.load()
    return _from_dataset(d, path)


# --- Parquet ------------------------------------------------------------------------------------------


def _write_parquet(found: Contents, path: Path) -> None:
    """One row per state and sample; the numbers of q, v, a and tau are columns such as ``q.shoulder``."""
    pyarrow = _needs("pyarrow")
    parquet = _needs("pyarrow.parquet")
    about = found.about
    table = pyarrow.table({k: pyarrow.array(np.ascontiguousarray(x)) for k, x in columns(found).items()})
    parquet.write_table(table.replace_schema_metadata({FORMAT: json.dumps(about)}), path)


def to_pandas(t: Trajectory) -> Any:
    """A data frame with the columns of a Parquet file."""
    return _needs("pandas").DataFrame(columns(contents(t)))


def columns(found: Contents) -> dict[str, np.ndarray]:
    """The numbers by name, each (states · samples,), state by state: those of q, v, a and tau such as ``q.shoulder``,
    and the robot's parameters such as ``inertial.forearm.mass``, the same in all rows of a state."""
    about = found.about
    count, samples = int(np.prod(about["batch"], dtype=int)), about["samples"]
    out: dict[str, np.ndarray] = {
        "state": np.repeat(np.arange(count), samples),
        "time": np.tile(found.arrays["time"], count),
    }
    for name, axis in _VECTORS.items():
        flat = found.arrays[name].reshape(count * samples, -1)
        out |= {f"{name}.{label}": flat[:, i] for i, label in enumerate(about[f"{axis}_names"])}
    out |= {name: found.arrays[name].reshape(-1) for name in _ENERGIES}
    if _COST in found.arrays:
        out[_COST] = found.arrays[_COST].reshape(-1)
    if _WRENCHES in found.arrays:
        flat = found.arrays[_WRENCHES].reshape(count * samples, -1)
        out |= {name: flat[:, i] for i, name in enumerate(_wrench_columns(_body_names(found)))}
    for kind, names in about["parameters"].items():
        x = found.arrays[f"parameter_{kind}"]
        wide = np.broadcast_to(x, (*about["batch"], x.shape[-1])).reshape(count, -1)
        out |= {f"{kind}.{label}": np.repeat(wide[:, i], samples) for i, label in enumerate(names)}
    return out


def _read_parquet(path: Path, most: float) -> Contents:
    file = _needs("pyarrow.parquet").ParquetFile(path)
    said = (file.schema_arrow.metadata or {}).get(FORMAT.encode())
    if said is None:
        raise FileError(f"cannot read {path}: it is no trajectory of linkwise")
    about = json.loads(said)
    rows = (*about["batch"], about["samples"])
    if not all(str(kind) in ("int64", "float", "double") for kind in file.schema_arrow.types):
        raise FileError(f"cannot read {path}: it has columns of other things than numbers; save it again")
    # Columns of one repeated number take no room in the file, whatever their length.
    refuse_more_than(most, 8.0 * file.metadata.num_rows * file.metadata.num_columns, path)
    table = file.read()

    def column(name: str) -> np.ndarray:
        numbers: np.ndarray = table[name].to_numpy()
        return numbers

    arrays = {"time": column("time")[: about["samples"]].copy()}
    dtype = (
        np.result_type(*(column(f"v.{label}").dtype for label in about["dof_names"])) if about["dof_names"] else float
    )
    for name, axis in _VECTORS.items():
        numbers = [column(f"{name}.{label}") for label in about[f"{axis}_names"]]
        flat = np.stack(numbers, axis=-1) if numbers else np.empty((int(np.prod(rows)), 0), dtype)
        arrays[name] = flat.reshape(*rows, len(numbers))
    arrays |= {name: column(name).reshape(rows).copy() for name in _ENERGIES}
    if _COST in table.column_names:
        arrays[_COST] = column(_COST).reshape(rows).copy()
    wrenches = [n for n in table.column_names if n.startswith(f"{_WRENCHES}.")]
    if wrenches:
        flat = np.stack([column(n) for n in wrenches], axis=-1)
        arrays[_WRENCHES] = flat.reshape(*rows, len(wrenches) // 6, 6)
    for kind, names in about.get("parameters", {}).items():
        own = np.stack([column(f"{kind}.{label}")[:: about["samples"]] for label in names], axis=-1)
        shape = (len(names),) if kind in about["shared_parameters"] else (*about["batch"], len(names))
        arrays[f"parameter_{kind}"] = (own[0] if kind in about["shared_parameters"] else own).reshape(shape)
    return Contents(arrays, about)


def _wrench_columns(bodies: list[str]) -> list[str]:
    return [f"{_WRENCHES}.{body}.{axis}" for body in bodies for axis in _AXES]


# --- formats and extras -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Format:
    write: Callable[[Contents, Path], None]
    read: Callable[[Path, float], Contents]  # the second is the most bytes to unpack to


FORMATS = {
    ".npz": _Format(_write_npz, _read_npz),
    ".nc": _Format(_write_netcdf, _read_netcdf),
    ".zarr": _Format(_write_zarr, _read_zarr),
    ".parquet": _Format(_write_parquet, _read_parquet),
}


def refuse_unknown_format(path: str | os.PathLike[str]) -> None:
    """Raise :class:`FileError` where the ending says nothing, or something that a missing package would write."""
    kind = Path(path).suffix.lower()
    _format(Path(path))
    for module in {".nc": ("xarray",), ".zarr": ("xarray", "zarr"), ".parquet": ("pyarrow.parquet",)}.get(kind, ()):
        _needs(module)


def _format(path: Path) -> _Format:
    chosen = FORMATS.get(path.suffix.lower())
    if chosen is None:
        raise FileError(f"{path}: trajectories are {', '.join(FORMATS)} files")
    return chosen


def _needs(module: str) -> Any:
    return require(module, "data", "such a file")
