"""The files of chunks, read as if a stranger had written them: nothing runs, nothing is larger than it may be.

A digest in a file's name tells accidents, and no forgery: whoever writes a file can compute it. So columns and arrays
are looked at before they are unpacked: how many rows, which types, which names, how many bytes.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import FileError, InputError
from ..extras import require
from .names import refuse_name
from .parts import ABOUT, FLAT, MOST_BYTES, PADDED, PARAMETER, RESULT, SERIES, STATUSES, intact, is_intact
from .places import Place
from .shapes import refuse_shapes, spread
from .ways import are_counts

_MOST_TEXT = 2**24  # bytes of the JSON that says what an array is: lengths of a chunk's runs are in it
_NUMBERS = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "halffloat",
    "float",
    "double",
)
_MALFORMED = (
    zipfile.BadZipFile, zlib.error, OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError,
    NotImplementedError, RecursionError, RuntimeError, EOFError, MemoryError,
)  # fmt: skip


# --- tables ---------------------------------------------------------------------------------------------


def read_table(place: Place, name: str, most: float, runs: tuple[int, int] | None = None) -> Any:
    """The Arrow table of a chunk, checked; its ``runs`` are those from the first to before the second."""
    data = intact(place, name, most)
    if data is None:
        raise FileError(
            f"{place}/{name} is damaged: its bytes are not those that were written; run the study again, which"
            " makes this chunk anew"
        )
    pa = require("pyarrow", "study", "a study's table")
    pq = require("pyarrow.parquet", "study", "a study's table")
    try:
        words = [field.name for field in pq.read_schema(pa.BufferReader(data)) if str(field.type) == "string"]
        file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=words)
        about = _refuse_layout(file, most, runs)
        # As it was looked at: a file may hold two of these, and which of them is read with its rows is not said.
        table = _with_words(pa, file.read(), words, most).replace_schema_metadata({"linkwise": json.dumps(about)})
        _refuse_rows(table, runs)
    except FileError:
        raise
    except (pa.ArrowException, *_MALFORMED) as e:
        raise FileError(f"{place}/{name} is no table of a study: {_first_line(e)}") from e
    return table


def _refuse_layout(file: Any, most: float, runs: tuple[int, int] | None) -> dict[str, Any]:
    """What it says of itself; columns that are none of a study's, and more bytes than may be, are refused before
    anything is unpacked."""
    rows, schema = file.metadata.num_rows, file.schema_arrow
    if runs is not None and rows != runs[1] - runs[0]:
        raise ValueError(f"it has {rows} rows in place of {runs[1] - runs[0]}")
    if len(set(schema.names)) < len(schema.names) or any(n not in schema.names for n in ABOUT):
        raise ValueError("columns are missing, or there twice")
    size = float(sum(file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups)))
    for field in schema:
        _refuse_column(field)
        size = max(size, float(rows) * 8.0 * _width(field.type))
    if size > most:
        raise ValueError(f"it unpacks to {size / 2**20:.0f} MiB; a larger limit= reads it")
    about = json.loads((schema.metadata or {}).get(b"linkwise", b"null"))
    if not isinstance(about, dict):
        raise ValueError("it does not say of which chunk it is")
    if not are_counts(about.get("ways", {}), rows):
        raise ValueError("it does not say how its runs were made")
    return about


def _refuse_column(field: Any) -> None:
    kind = field.type
    while str(kind).startswith("fixed_size_list"):
        kind = kind.value_type
    plain = str(kind).removeprefix("dictionary<values=").partition(",")[0]
    if field.name in ABOUT:
        wanted = "int64" if field.name == "run" else "string"
        if str(field.type) != wanted and plain != wanted:
            raise ValueError(f"{field.name} holds {field.type} and no {wanted}")
        return
    before = next((x for x in (PARAMETER, RESULT) if field.name.startswith(x)), None)
    if before is None:
        raise ValueError(f"{field.name!r:.80} is no column of a study")
    refuse_name(field.name.removeprefix(before), "a column")
    lists = kind is not field.type
    if plain not in (*_NUMBERS, *([] if lists else ["string"])) or (lists and before == RESULT):
        raise ValueError(f"{field.name} holds {field.type}")


def _width(kind: Any) -> float:
    """How many numbers a row has."""
    count = 1.0
    while str(kind).startswith("fixed_size_list"):
        count, kind = count * kind.list_size, kind.value_type
    return count


def _with_words(pa: Any, table: Any, words: Sequence[str], most: float) -> Any:
    """The table with columns of words as they are; a long word that stands in many rows is there once until then."""
    compute = require("pyarrow.compute", "study", "a study's table")
    size = 0.0
    for name in words:
        for part in table[name].chunks:
            lengths = compute.fill_null(compute.binary_length(part.dictionary), 0).to_numpy(zero_copy_only=False)
            indices = part.indices.drop_null().to_numpy(zero_copy_only=False)
            size += float(lengths[indices].sum(dtype=float)) if len(indices) else 0.0
    if size > most:
        raise ValueError(f"its words unpack to {size / 2**20:.0f} MiB; a larger limit= reads it")
    for name in words:
        at = table.column_names.index(name)
        table = table.set_column(at, name, table[name].cast(pa.string()))
    return table


def _refuse_rows(table: Any, runs: tuple[int, int] | None) -> None:
    for name in table.column_names:
        if name.startswith(PARAMETER) or name in ("run", "status"):
            column = table[name].combine_chunks()
            while hasattr(column, "values") and not column.null_count:
                column = column.flatten()
            if column.null_count:
                raise ValueError(f"{name} is not there in every run")
    if runs is not None and not np.array_equal(table["run"].to_numpy(), np.arange(*runs)):
        raise ValueError(f"its runs are not those from {runs[0]} to {runs[1] - 1}")
    other = set(table["status"].unique().to_pylist()) - set(STATUSES)
    if other:
        raise ValueError(f"no run ends as {other.pop()!r:.80}")


def whole_chunk(place: Place, name: str, runs: tuple[int, int]) -> Any:
    """The table of a chunk whose files are all what was written, None where one is not."""
    if not is_intact(place, name):
        return None
    try:
        table = read_table(place, name, MOST_BYTES, runs)
        series = series_of(table)
    except FileError:
        return None
    if series is not None and (not place.exists(series) or not is_intact(place, series)):
        return None
    return table


def ways_of(table: Any) -> dict[str, int]:
    """How a table's runs were made → how many."""
    found: dict[str, int] = json.loads(table.schema.metadata[b"linkwise"]).get("ways", {})
    return found


def series_of(table: Any) -> str | None:
    """The name of the file with a table's arrays, None where it has none."""
    about = json.loads(table.schema.metadata[b"linkwise"])
    name = about.get("series")
    if name is not None and not (isinstance(name, str) and SERIES.fullmatch(name.removeprefix("series/"))):
        raise FileError(f"a table of the study names {name!r:.80} as its arrays, which is no such file")
    return name


def arrays_of(table: Any) -> list[str] | None:
    """The names of a table's arrays; None where it does not say them."""
    about = json.loads(table.schema.metadata[b"linkwise"])
    if "series" not in about:
        return []
    found = about.get("arrays")
    return found if isinstance(found, list) and all(isinstance(x, str) for x in found) else None


# --- arrays ---------------------------------------------------------------------------------------------


def read_series(place: Place, name: str, most: float, wanted: Sequence[str] | None, runs: int) -> dict[str, Any]:
    """Arrays of a chunk of so many ``runs``, by name: (runs, …)."""
    data = intact(place, name, most)
    if data is None:
        raise FileError(f"{place}/{name} is damaged; run the study again, which makes this chunk anew")
    found = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as z:
            names = sorted({x.removesuffix("/zarr.json") for x in z.namelist() if x.endswith("/zarr.json")})
            for array in names:
                refuse_name(array, "an array")
            for array in names if wanted is None else [x for x in names if x in wanted]:
                found[array] = _array_of(z, array, most, runs)
    except _MALFORMED as e:
        raise FileError(f"{place}/{name} holds no arrays of a study: {_first_line(e)}") from e
    return found


def _array_of(z: zipfile.ZipFile, name: str, most: float, runs: int) -> np.ndarray:
    """One array as it was written: its bytes lie in the file as they are."""
    about = json.loads(_entry(z, f"{name}/zarr.json", _MOST_TEXT))
    shape, dtype = tuple(int(n) for n in about["shape"]), np.dtype(str(about["data_type"]))
    codecs = [c["name"] for c in about["codecs"]]
    size = float(np.prod([float(n) for n in shape])) * dtype.itemsize
    if codecs != ["bytes"] or dtype.kind not in "fiub" or not size <= most or min(shape, default=0) < 0:
        raise ValueError(f"{name} is packed in another way, or has {size:.3g} bytes; a larger limit= reads these")
    if not shape or shape[0] != runs or len(about["attributes"][PADDED]) != runs:
        raise ValueError(f"{name} has shape {shape} and is of {runs} runs")
    laid_flat = about["attributes"].get(FLAT)
    if laid_flat is not None and len(shape) != 2:
        raise ValueError(f"{name} is said to lie flat, and has shape {shape}")
    shapes = None if laid_flat is None else refuse_shapes(laid_flat, about["attributes"][PADDED], shape[1])
    key = f"{name}/c/" + "/".join("0" * len(shape))
    out = np.zeros(shape, dtype)  # empty, or all as the value to fill with
    if size and key in z.namelist():
        raw = _entry(z, key, size)
        if len(raw) != size:
            raise ValueError(f"{name} has {len(raw)} bytes in place of {size:.0f}")
        little = dtype.newbyteorder("<") if dtype.itemsize > 1 else dtype
        out = np.frombuffer(raw, little).reshape(shape).astype(dtype)
    return out if shapes is None else spread(out, shapes, most)


def _entry(z: zipfile.ZipFile, name: str, most: float) -> bytes:
    """A file within a zip file, which lies there as it is."""
    entry = z.getinfo(name)
    if entry.file_size > most or entry.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{name:.80} has {entry.file_size} bytes, or is packed")
    return z.read(entry)


def _first_line(e: BaseException) -> str:
    text = str(e).strip().partition("\n")[0] or type(e).__name__
    return text if isinstance(e, (ValueError, InputError)) and len(text) < 200 else f"{type(e).__name__}: {text:.160}"
