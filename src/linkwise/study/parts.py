"""The files of a chunk: a Parquet table of its runs, and a Zarr group, zipped, of their arrays.

Both carry a digest of their bytes in their names, and the table is written last: where it is, the chunk is whole. The
bytes follow from the runs alone, so that a chunk that was made twice is one file.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import FileError
from ..extras import require
from .columns import Columns
from .places import Place

STATUSES = ("done", "failed", "crashed", "timeout")
PARAMETER, RESULT = "parameter/", "result/"  # before the names of columns
_ABOUT = ("run", "status", "error", "message", "traceback")
_TABLE = re.compile(r"\d{6}/(\d{9,12})-([0-9a-f]{16})\.parquet")
_SERIES = re.compile(r"\d{6}/(\d{9,12})-([0-9a-f]{16})\.zarr\.zip")
_DIGITS = 16
MOST_BYTES = 2**31  # of one file that is read
_PADDED = "padded"  # the attribute with how long each run's array is


# --- names --------------------------------------------------------------------------------------------


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_DIGITS]


def file_name(chunk: int, data: bytes, ending: str) -> str:
    return f"{chunk // 1000:06d}/{chunk:09d}-{digest_of(data)}.{ending}"


def chunks_there(place: Place) -> dict[int, str]:
    """The chunks whose tables are there: number → name of the table."""
    found: dict[int, str] = {}
    for name in place.names("runs"):
        match = _TABLE.fullmatch(name)
        if match:
            found.setdefault(int(match[1]), f"runs/{name}")
    return found


def table_of(place: Place, chunk: int) -> str | None:
    """The name of a chunk's table, None where it is not there."""
    folder = f"runs/{chunk // 1000:06d}"
    return next((f"{folder}/{x}" for x in place.names(folder) if x.startswith(f"{chunk:09d}-") and _is_table(x)), None)


def _is_table(name: str) -> bool:
    return _TABLE.fullmatch(f"000000/{name}") is not None


def intact(place: Place, name: str, most: float = MOST_BYTES) -> bytes | None:
    """The bytes of a file whose digest is that of its name, None where it is another."""
    data = place.read(name, most)
    return data if f"-{digest_of(data)}." in name else None


# --- writing ------------------------------------------------------------------------------------------


def write_chunk(place: Place, chunk: int, parameters: Mapping[str, np.ndarray], made: Columns) -> str:
    """Write the files of a chunk; gives the name of its table."""
    about: dict[str, Any] = {"chunk": chunk}
    if made.arrays:
        packed = zipped(made.arrays, made.lengths)
        about["series"] = f"series/{file_name(chunk, packed, 'zarr.zip')}"
        place.write(about["series"], packed)
    table = tabled(parameters, made, about)
    name = f"runs/{file_name(chunk, table, 'parquet')}"
    place.write(name, table)
    return name


def tabled(parameters: Mapping[str, np.ndarray], made: Columns, about: Mapping[str, Any]) -> bytes:
    """The runs as the bytes of a Parquet file."""
    pa = require("pyarrow", "study", "a study's table")
    pq = require("pyarrow.parquet", "study", "a study's table")
    columns: dict[str, Any] = {"run": pa.array(made.run, pa.int64())}
    for name in _ABOUT[1:]:
        columns[name] = pa.array(getattr(made, name), pa.string())
    for name, x in parameters.items():
        columns[PARAMETER + name] = _arrow(pa, x)
    for name, numbers in made.numbers.items():
        columns[RESULT + name] = _scalars(pa, numbers)
    table = pa.table(columns).replace_schema_metadata({"linkwise": json.dumps(dict(about))})
    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd")
    return out.getvalue()


def _arrow(pa: Any, x: np.ndarray) -> Any:
    if x.ndim == 1:
        return pa.array(x.tolist()) if x.dtype.kind == "U" else pa.array(x)
    flat = pa.array(x.reshape(-1))
    for n in reversed(x.shape[1:]):
        flat = pa.FixedSizeListArray.from_arrays(flat, n)
    return flat


def _scalars(pa: Any, values: Any) -> Any:
    """A column of numbers or words; whole numbers stay whole, and what is missing is null."""
    if isinstance(values, np.ndarray):
        return pa.array(values.astype(np.int64)) if values.dtype.kind in "iu" else _arrow(pa, values)
    there = [np.asarray(x) for x in values if x is not None]
    kinds = {x.dtype.kind for x in there}
    plain = [None if x is None else np.asarray(x).item() for x in values]
    if kinds <= {"U"}:
        return pa.array(plain, pa.string())
    if "U" in kinds:
        return pa.array([None if x is None else str(x) for x in plain], pa.string())
    if kinds <= {"b"}:
        return pa.array(plain, pa.bool_())
    if kinds <= {"i", "u", "b"}:
        return pa.array([None if x is None else int(x) for x in plain], pa.int64())
    single = all(x.dtype == np.float32 for x in there)
    return pa.array([None if x is None else float(x) for x in plain], pa.float32() if single else pa.float64())


def zipped(arrays: Mapping[str, np.ndarray], lengths: Mapping[str, Sequence[int]]) -> bytes:
    """A Zarr group as the bytes of a zip file; they depend on the numbers alone, and not on the time of day."""
    zarr = require("zarr", "study", "a study's arrays")
    files: dict[str, Any] = {}
    group = zarr.create_group(store=zarr.storage.MemoryStore(files), zarr_format=3)
    for name, x in arrays.items():
        made = group.create_array(
            name, shape=x.shape, chunks=tuple(max(n, 1) for n in x.shape), dtype=x.dtype, compressors=None,
            filters=None, fill_value=0,
        )  # fmt: skip
        made[...] = x
        made.attrs[_PADDED] = list(lengths[name])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as z:
        for key in sorted(files):
            z.writestr(zipfile.ZipInfo(key, (1980, 1, 1, 0, 0, 0)), files[key].to_bytes())
    return out.getvalue()


# --- reading ------------------------------------------------------------------------------------------


def read_table(place: Place, name: str, most: float) -> Any:
    """The Arrow table of a chunk, checked."""
    data = intact(place, name, most)
    if data is None:
        raise FileError(
            f"{place.url}/{name} is damaged: its bytes are not those that were written; run the study again, which"
            " makes this chunk anew"
        )
    pa = require("pyarrow", "study", "a study's table")
    pq = require("pyarrow.parquet", "study", "a study's table")
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        size = sum(file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups))
        if size > most or file.metadata.num_rows > most:
            raise FileError(f"{place.url}/{name} unpacks to {size / 2**20:.0f} MiB; a larger limit= reads it")
        table = file.read()
        about = json.loads((table.schema.metadata or {}).get(b"linkwise", b"null"))
    except (pa.ArrowException, OSError, ValueError, KeyError, UnicodeDecodeError) as e:
        raise FileError(f"{place.url}/{name} is no table of a study ({type(e).__name__})") from e
    if not isinstance(about, dict) or any(n not in table.column_names for n in _ABOUT):
        raise FileError(f"{place.url}/{name} is no table of a study: columns are missing")
    return table


def whole_chunk(place: Place, name: str) -> Any:
    """The table of a chunk whose files are all what was written, None where one is not."""
    if intact(place, name) is None:
        return None
    table = read_table(place, name, MOST_BYTES)
    series = series_of(table)
    if series is not None and (not place.exists(series) or intact(place, series) is None):
        return None
    return table


def series_of(table: Any) -> str | None:
    """The name of the file with a table's arrays, None where it has none."""
    about = json.loads(table.schema.metadata[b"linkwise"])
    name = about.get("series")
    if name is not None and not (isinstance(name, str) and _SERIES.fullmatch(name.removeprefix("series/"))):
        raise FileError(f"a table of the study names {name!r:.80} as its arrays, which is no such file")
    return name


def read_series(place: Place, name: str, most: float, wanted: Sequence[str] | None) -> dict[str, Any]:
    """Arrays of a chunk by name: (array (runs, …), how long each run's is)."""
    data = intact(place, name, most)
    if data is None:
        raise FileError(f"{place.url}/{name} is damaged; run the study again, which makes this chunk anew")
    found = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as z:
            names = sorted(x.removesuffix("/zarr.json") for x in z.namelist() if x.endswith("/zarr.json"))
            for array in names if wanted is None else [x for x in names if x in wanted]:
                found[array] = _array_of(z, array, most)
    except (zipfile.BadZipFile, OSError, ValueError, KeyError, TypeError, AttributeError, NotImplementedError) as e:
        raise FileError(f"{place.url}/{name} holds no arrays of a study ({type(e).__name__}: {e})") from e
    return found


def _array_of(z: zipfile.ZipFile, name: str, most: float) -> tuple[np.ndarray, list[int]]:
    """One array that :func:`zipped` wrote; its bytes lie in the file as they are."""
    about = json.loads(z.read(f"{name}/zarr.json"))
    shape, dtype = tuple(int(n) for n in about["shape"]), np.dtype(str(about["data_type"]))
    codecs = [c["name"] for c in about["codecs"]]
    size = float(np.prod([float(n) for n in shape])) * dtype.itemsize
    if codecs != ["bytes"] or dtype.kind not in "fiub" or size > most or min(shape, default=0) < 0:
        raise ValueError(f"{name} is packed in another way, or has {size:.3g} bytes")
    key = f"{name}/c/" + "/".join("0" * len(shape))
    if not size:
        raw = b""
    elif key not in z.namelist():  # all as the value to fill with
        raw = bytes(int(size))
    else:
        entry = z.getinfo(key)
        if entry.file_size != size or entry.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{name} has {entry.file_size} bytes in place of {size:.0f}")
        raw = z.read(key)
    lengths = [int(n) for n in about["attributes"][_PADDED]]
    little = dtype.newbyteorder("<") if dtype.itemsize > 1 else dtype
    return np.frombuffer(raw, little).reshape(shape).astype(dtype), lengths
