"""What a saved trajectory must pass before its numbers are believed: its size, its lengths and widths, its checksum.

The formats do not see to it themselves: NetCDF and Parquet files give other numbers for one flipped bit, a chunk that
a Zarr folder has lost reads as zeros, and a few bytes of any of them may claim to hold terabytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import fields
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError, InputError
from ..robot.robot import Robot
from ..values import digest, value_of
from .joint_forces import with_other_damping

UNPACKED = 2**28  # bytes that any file may unpack to
UNPACKED_PER_BYTE = 1000  # or so many for each of its own; deflate reaches that where all numbers are the same
MAX_CHUNKS = 10_000  # of one array in a Zarr folder; linkwise writes chunks of many megabytes
_BLOSC_HEADER = 16  # bytes, of which the second four say what the chunk unpacks to


# --- size ---------------------------------------------------------------------------------------------


def allowed(path: Path, limit: float | None) -> float:
    """How many bytes a file may unpack to: ``limit``, or what its own size allows."""
    if limit is not None:
        if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not limit > 0:
            raise InputError(f"limit must be a positive number of bytes, got {limit!r}")
        return float(limit)
    files = [p for p in path.rglob("*") if p.is_file()] if path.is_dir() else [path]
    return max(UNPACKED, UNPACKED_PER_BYTE * sum(p.stat().st_size for p in files))


def refuse_more_than(most: float, claimed: float, path: Path) -> None:
    if not claimed <= most:
        raise FileError(
            f"cannot read {path}: it says that it unpacks to {claimed / 2**20:,.0f} MiB, which is more than the"
            f" {most / 2**20:,.0f} MiB that a file of its size may; if that is right, load it with limit= bytes"
        )


def npz_size(path: Path) -> float:
    """Bytes that the arrays of a .npz file unpack to, by its table and by their headers, whichever says more."""
    total = 0.0
    with zipfile.ZipFile(path) as z:
        for entry in z.infolist():
            with z.open(entry) as f:
                version = np.lib.format.read_magic(f)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                shape, _, dtype = read(f)
            total += max(float(entry.file_size), prod(map(float, shape)) * dtype.itemsize)
    return total


def zarr_size(path: Path, most: float) -> float:
    """Bytes that the arrays of a Zarr folder unpack to, by their descriptions and by the headers of their chunks."""
    total = 0.0
    described: dict[str, Any] = json.loads((path / ".zmetadata").read_bytes())["metadata"]
    for key, about in described.items():
        if not key.endswith("/.zarray"):
            continue
        item, shape, chunks = np.dtype(about["dtype"]).itemsize, about["shape"], about["chunks"]
        codec = (about["compressor"] or {"id": "blosc"})["id"]
        if codec != "blosc":
            raise FileError(f"cannot read {path}: {key} is packed by {codec!r}; linkwise reads what blosc has packed")
        if prod(-(-int(n) // int(c)) for n, c in zip(shape, chunks)) > MAX_CHUNKS:
            raise FileError(f"cannot read {path}: {key} says that it has more than {MAX_CHUNKS} chunks; save it again")
        one = prod(map(float, chunks)) * item
        if about["compressor"]:
            one = max([one, *(_unpacked_chunk(p) for p in _chunks(path / key.removesuffix("/.zarray")))])
        total += max(one, prod(map(float, shape)) * item)
        refuse_more_than(most, total, path)
    return total


def _chunks(folder: Path) -> list[Path]:
    return [Path(p.path) for p in os.scandir(folder) if p.name[0] != "." and p.is_file()] if folder.is_dir() else []


def _unpacked_chunk(chunk: Path) -> float:
    with open(chunk, "rb") as f:
        return float(int.from_bytes(f.read(_BLOSC_HEADER)[4:8], "little"))


# --- lengths and widths ---------------------------------------------------------------------------------


def refuse_misshapen(
    arrays: Mapping[str, np.ndarray], about: Mapping[str, Any], inner: Mapping[str, Sequence[int]], path: Path
) -> None:
    """``inner``: name → what an array has for each sample. Every one must be there, and hold real numbers."""
    rows = (*about["batch"], about["samples"])
    expected = {"time": (about["samples"],), **{name: (*rows, *numbers) for name, numbers in inner.items()}}
    for name, shape in expected.items():
        if name not in arrays:
            raise FileError(f"cannot read {path}: {name} is missing; save it again")
        if arrays[name].shape != shape:
            raise FileError(f"cannot read {path}: {name} has shape {arrays[name].shape} in place of {shape}")
    for name, x in arrays.items():
        if x.dtype.kind != "f":
            raise FileError(f"cannot read {path}: {name} holds {x.dtype}, no real numbers; save it again")


# --- words ----------------------------------------------------------------------------------------------


def refuse_other_kinds(about: Mapping[str, Any], path: Path) -> None:
    """What a file says of itself must be words where words are needed, and numbers where numbers are."""
    functions = about["functions"]
    named = isinstance(functions, dict) and all(map(_is_list, (about["position_names"], about["dof_names"])))
    words = [about["method"], about["coordinates"]]
    if named:
        words += [*about["position_names"], *about["dof_names"], *functions.values()]
    counts = (about["samples"], about["every"], about["first"])
    sound = {
        "names": named and all(isinstance(x, str) for x in words),
        "counts": all(type(n) is int and n >= 0 for n in counts),
        "step": isinstance(about["step"], (int, float)) and about["step"] > 0,
        "hold": isinstance(about["hold"], bool),
    }
    for what, fits in sound.items():
        if not fits:
            raise FileError(f"cannot read {path}: what it says of its {what} is of another kind; save it again")


def _is_list(x: Any) -> bool:
    return isinstance(x, (list, tuple))


# --- the robot ------------------------------------------------------------------------------------------

_SAID_ELSEWHERE = ("name", "base_name", "notes", "visuals")  # no motion depends on these


def robot_parts(robot: Robot) -> dict[str, str | None]:
    """What a robot's motion depends on, by name, each as a digest; None where another process cannot know it."""
    counting = [f.name for f in fields(robot) if f.compare and f.name not in _SAID_ELSEWHERE]
    return {name.removeprefix("extra_"): digest(value_of(getattr(robot, name))) for name in counting}


def as_it_moved(robot: Robot, before: Mapping[str, str | None] | None) -> Robot:
    """The robot without its dampers, where that is the one of a motion in which ``damping=`` took their place."""
    without = (with_other_damping(robot, damping) for damping in (0.0, False))
    return next((r for r in without if r is not robot and robot_parts(r) == before), robot)


# --- checksum -----------------------------------------------------------------------------------------


def checksum(arrays: Mapping[str, np.ndarray], about: Mapping[str, Any]) -> str:
    """A digest of every number, name, shape and word; the sign of a NaN counts for nothing, as some formats drop it."""
    found = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name in sorted(arrays):
        x = np.ascontiguousarray(arrays[name])
        found.update(f"\0{name}{x.dtype.str}{x.shape}".encode())
        if np.isnan(x).any():
            x = np.where(np.isnan(x), np.array(np.nan, x.dtype), x)
        found.update(x.data)
    return found.hexdigest()
