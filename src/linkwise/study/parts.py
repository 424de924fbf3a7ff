"""The files of a chunk: a Parquet table of its runs, and a Zarr group, zipped, of their arrays; how they are written.

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
from .drivers import refuse_if_ended
from .places import Place
from .shapes import Shape

STATUSES = ("done", "failed", "crashed", "timeout")
PARAMETER, RESULT = "parameter/", "result/"  # before the names of columns
ABOUT = ("run", "status", "error", "message", "traceback")
_TABLE = re.compile(r"\d{6}/(\d{9,12})-([0-9a-f]{16})\.parquet")
SERIES = re.compile(r"\d{6}/(\d{9,12})-([0-9a-f]{16})\.zarr\.zip")
_DIGITS = 16
MOST_BYTES = 2**31  # of one file that is read into memory, where nothing else is said
MOST_OF_ARRAYS = 2**36  # bytes of the arrays of a chunk, and of what is on record of one that is not written yet
PADDED, FLAT = "padded", "flat"  # attributes: how long each run's array is, and of which shape, where it is laid flat


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


def intact(place: Place, name: str, most: float) -> bytes | None:
    """The bytes of a file whose digest is that of its name, None where it is another."""
    data = place.read(name, most)
    return data if f"-{digest_of(data)}." in name else None


def is_intact(place: Place, name: str) -> bool:
    """Whether the digest of a file is that of its name; it may be larger than what is read into memory."""
    with place.opened(name, MOST_OF_ARRAYS) as file:
        return f"-{hashlib.file_digest(file, 'sha256').hexdigest()[:_DIGITS]}." in name


# --- writing ------------------------------------------------------------------------------------------


def write_chunk(
    place: Place, chunk: int, parameters: Mapping[str, np.ndarray], made: Columns, ways: Mapping[str, int]
) -> str:
    """Write the files of a chunk, with how its runs were made; gives the name of its table."""
    refuse_if_ended(place)
    about: dict[str, Any] = {"chunk": chunk, "ways": dict(ways)}
    if made.arrays:
        packed = zipped(made.arrays, made.lengths, made.shapes)
        if len(packed) > MOST_OF_ARRAYS:
            raise _too_large(chunk, "arrays", len(packed), MOST_OF_ARRAYS)
        about["arrays"] = list(made.arrays)
        about["series"] = f"series/{file_name(chunk, packed, 'zarr.zip')}"
        place.write(about["series"], packed)
    table = tabled(parameters, made, about)
    if len(table) > MOST_BYTES:
        raise _too_large(chunk, "tables", len(table), MOST_BYTES)
    name = f"runs/{file_name(chunk, table, 'parquet')}"
    place.write(name, table)
    return name


def _too_large(chunk: int, what: str, size: int, most: int) -> FileError:
    return FileError(
        f"chunk {chunk} has {what} of {size / 2**20:.0f} MiB, more than the {most / 2**20:.0f} MiB that are read again;"
        " keep less of each run, or make fewer together: a smaller chunk=, in another folder"
    )


def tabled(parameters: Mapping[str, np.ndarray], made: Columns, about: Mapping[str, Any]) -> bytes:
    """The runs as the bytes of a Parquet file."""
    pa = require("pyarrow", "study", "a study's table")
    pq = require("pyarrow.parquet", "study", "a study's table")
    columns: dict[str, Any] = {"run": _numbers(pa, np.asarray(made.run, dtype=np.int64))}
    for name in ABOUT[1:]:
        columns[name] = _words(pa, getattr(made, name))
    for name, x in parameters.items():
        columns[PARAMETER + name] = _arrow(pa, x)
    for name, numbers in made.numbers.items():
        columns[RESULT + name] = _scalars(pa, numbers)
    table = pa.Table.from_arrays(list(columns.values()), names=list(columns)).replace_schema_metadata(
        {"linkwise": json.dumps(dict(about))}
    )
    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd")
    return out.getvalue()


def _arrow(pa: Any, x: np.ndarray) -> Any:
    if x.ndim == 1:
        return _words(pa, x.tolist()) if x.dtype.kind == "U" else _numbers(pa, x)
    flat = _words(pa, x.ravel().tolist()) if x.dtype.kind == "U" else _numbers(pa, x.reshape(-1))
    for n in reversed(x.shape[1:]):
        flat = pa.FixedSizeListArray.from_arrays(flat, n)
    return flat


def _scalars(pa: Any, values: Any) -> Any:
    """A column of numbers or words; whole numbers stay whole, and what is missing is null."""
    if isinstance(values, np.ndarray):
        values = values.tolist() if values.dtype == np.uint64 else values
    if isinstance(values, np.ndarray):
        return _numbers(pa, values.astype(np.int64)) if values.dtype.kind in "iu" else _arrow(pa, values)
    there = [np.asarray(x) for x in values if x is not None]
    kinds = {x.dtype.kind for x in there}
    plain = [None if x is None else np.asarray(x).item() for x in values]
    if kinds <= {"U"}:
        return _words(pa, plain)
    if "U" in kinds:
        return _words(pa, [None if x is None else str(x) for x in plain])
    if kinds <= {"b"}:
        return _with_gaps(pa, plain, np.bool_)
    if kinds <= {"i", "u", "b"} and all(x is None or abs(x) < 2**63 for x in plain):
        return _with_gaps(pa, plain, np.int64)
    single = all(x.dtype == np.float32 for x in there)
    return _with_gaps(pa, plain, np.float32 if single else np.float64)


# Arrow's own constructor asks whether it is given something of pandas, and for that imports it: a second for every
# worker. So columns are made from their bytes.


def _numbers(pa: Any, x: np.ndarray, there: np.ndarray | None = None) -> Any:
    """A column of numbers; ``there`` says which are not missing."""
    data = np.packbits(x, bitorder="little") if x.dtype == bool else np.ascontiguousarray(x)
    return pa.Array.from_buffers(pa.from_numpy_dtype(x.dtype), len(x), [_gaps(pa, there), pa.py_buffer(data)])


def _with_gaps(pa: Any, values: Sequence[Any], dtype: Any) -> Any:
    there = np.array([x is not None for x in values], dtype=bool)
    return _numbers(pa, np.array([0 if x is None else x for x in values], dtype=dtype), there)


def _words(pa: Any, values: Sequence[str | None]) -> Any:
    """A column of words."""
    encoded = [b"" if x is None else x.encode(errors="backslashreplace") for x in values]  # as names of files have it
    ends = np.concatenate([[0], np.cumsum([len(x) for x in encoded])]).astype(np.int32)
    there = np.array([x is not None for x in values], dtype=bool)
    buffers = [_gaps(pa, there), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), buffers)


def _gaps(pa: Any, there: np.ndarray | None) -> Any:
    return None if there is None or there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))


def zipped(
    arrays: Mapping[str, np.ndarray], lengths: Mapping[str, Sequence[int]], shapes: Mapping[str, Sequence[Shape]]
) -> bytes:
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
        made.attrs[PADDED] = list(lengths[name])
        if name in shapes:
            made.attrs[FLAT] = [list(s) for s in shapes[name]]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as z:
        for key in sorted(files):
            z.writestr(zipfile.ZipInfo(key, (1980, 1, 1, 0, 0, 0)), files[key].to_bytes())
    return out.getvalue()
