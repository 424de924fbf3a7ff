"""Folders and files of studies, damaged and forged: digests and checksums fit where a stranger would make them fit."""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import linkwise as lw
from linkwise.cli.study_file import StudyFile
from linkwise.study.parts import digest_of

TOML = """[study]
robot = "double_pendulum"
scenario = "simulate"
samples = 100
seed = 1
sampling = "sobol"
keep = ["q_end", "position.lower", "energy_error"]
timeout = 10.0
chunk = 20

[scenario]
duration = 0.2
step = 0.01
payload_at = "lower"
q0 = [0.1, 0.2]
method = "midpoint"

[parameters]
"damping.shoulder" = 0.5
v0 = [1.0, 2.0]

[parameters.payload]
kind = "uniform"
lower = 0
upper = 2

[parameters."mass.lower"]
kind = "normal"
mean = 1.0
deviation = 0.1
lower = 0.5
"""


def scenario(robot: Any, p: dict[str, Any]) -> dict[str, Any]:
    if p["k"] == 3:
        raise ValueError("three")
    return {"square": p["k"] ** 2, "word": "odd" if p["k"] % 2 else "even", "x": p["y"] * p["k"], "zero": np.zeros(2)}


def study() -> lw.Study:
    parameters = {"k": lw.Grid(list(range(11))), "y": lw.Normal([0.0, 1.0], 1.0), "c": lw.Choice(["a", "b"])}
    return lw.Study(lw.load("double_pendulum"), scenario, parameters, seed=2, chunk=4)


def whole(path: Path) -> None:
    """A study of which two chunks are written and two runs of the third are on record."""
    from linkwise.study.columns import Record
    from linkwise.study.journal import Journal

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study().run(path, engine="serial")
    for kind in ("runs", "series"):
        sorted((path / kind).rglob("0*-*"))[-1].unlink()
    journal = Journal(lw.open_study(path).place, 2)
    for k in (8, 9):
        journal.add(Record(k, "done", study().result(k)))
    journal.close()


def read(path: Path) -> None:
    """All that is done with a folder that somebody sent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = lw.open_study(path)
        for look in (repr, *(getattr(lw.study.results.OpenStudy, n) for n in LOOKS)):
            try:
                look(found)
            except lw.LinkwiseError:
                continue  # each of them may refuse
        study().run(path, engine="serial")


LOOKS = ("counts", "ways", "results", "to_pandas", "failures", "errors", "first_failed")


def read_toml(path: Path) -> None:
    StudyFile(path).study()


# --- damage -----------------------------------------------------------------------------------------------


def damaged(path: Path, rng: Random, spoilt: Callable[[bytes, Random], bytes], value: Callable[[Random], Any]) -> None:
    """Change a sound folder; what it names stays what a reader will look at."""
    files = sorted(p for p in path.rglob("*") if p.is_file() and p.name not in ("lock", "log.jsonl"))
    victim = rng.choice(files)
    kind = rng.randrange(4)
    if kind == 0:
        _in_its_place(victim, rng)
    elif victim.name == "study.json":
        about = json.loads(victim.read_text())
        _change(about, rng, value)
        victim.write_bytes(json.dumps(about).encode() if kind < 3 else spoilt(victim.read_bytes(), rng))
    elif victim.suffix == ".parquet":
        _named_anew(victim, _table(victim, rng) if kind < 3 else spoilt(victim.read_bytes(), rng))
    elif victim.suffix == ".zip":
        _series_anew(path, victim, _arrays(victim, rng, value) if kind < 3 else spoilt(victim.read_bytes(), rng))
    else:
        victim.write_bytes(_lines(victim.read_bytes(), rng, value) if kind < 3 else spoilt(victim.read_bytes(), rng))


def _in_its_place(victim: Path, rng: Random) -> None:
    """Something that is no file of a study, under the name of one."""
    victim.unlink()
    kind = rng.randrange(5)
    if kind == 0:
        victim.symlink_to("/etc/passwd")
    elif kind == 1:
        victim.mkdir()
    elif kind == 2:
        os.mkfifo(victim)
    elif kind == 3:
        os.truncate(os.open(victim, os.O_CREAT | os.O_WRONLY), 2**40)  # holes
    else:
        victim.write_bytes(b"")


def _change(found: Any, rng: Random, value: Callable[[Random], Any]) -> None:
    """Change something deep in what JSON holds."""
    while isinstance(found, (dict, list)) and found:
        key = rng.choice(sorted(found)) if isinstance(found, dict) else rng.randrange(len(found))
        if rng.random() < 0.4 or not isinstance(found[key], (dict, list)) or not found[key]:
            found[key] = rng.choice((value(rng), 2**31, 2**63, float("inf"), "../../x", "/etc/passwd", [2**40, 2]))
            return
        found = found[key]


def _named_anew(victim: Path, data: bytes) -> Path:
    """Under the name that fits its bytes."""
    before, _, ending = victim.name.partition(".")
    victim.unlink()
    target = victim.with_name(f"{before.partition('-')[0]}-{digest_of(data)}.{ending}")
    target.write_bytes(data)
    return target


def _series_anew(path: Path, victim: Path, data: bytes) -> None:
    """The table names the arrays, so that it is written anew as well."""
    target = _named_anew(victim, data)
    (table,) = (path / "runs").rglob(f"{victim.name.partition('-')[0]}-*.parquet")
    found = pq.read_table(table)
    about = json.loads(found.schema.metadata[b"linkwise"]) | {"series": target.relative_to(path).as_posix()}
    _named_anew(table, _packed(found, about))


def _packed(table: Any, about: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({"linkwise": json.dumps(about)}), out, compression="zstd")
    return out.getvalue()


def _table(victim: Path, rng: Random) -> bytes:
    table = pq.read_table(victim)
    about: Any = json.loads(table.schema.metadata[b"linkwise"])
    at = rng.randrange(table.num_columns)
    name, rows = table.column_names[at], table.num_rows
    odd = [
        pa.nulls(rows),
        pa.array([None] * rows, pa.float64()),
        pa.array([2**62] * rows),
        pa.array(["x" * 10**5] * rows),
        pa.array([b"\xff\xfe"] * rows),
        pa.array([[1.0, 2.0, 3.0]] * rows, pa.list_(pa.float64(), 3)),
        pa.array([None] * rows, pa.list_(pa.float64(), 2**16)),
        pa.array([[1.0]] * (rows - 1) + [[]]),
        pa.array([{"a": 1}] * rows),
        pa.array([0.1] * rows, pa.float32()),
        pa.array([1.0 + i for i in range(rows)]),
        table["run"].combine_chunks(),
    ]
    kind = rng.randrange(7)
    if kind < 3:
        table = table.set_column(at, name, rng.choice(odd))
    elif kind == 3:
        table = table.remove_column(at)
    elif kind == 4:
        table = table.append_column(rng.choice((name, "result/run", "result/q/../x", "result/", "zzz", "result/x")),
                                    rng.choice(odd))  # fmt: skip
    elif kind == 5:
        table = rng.choice((table.slice(1), table.take([0] * 100000), table.slice(0, 0), table.take([0, 0, 2, 3])))
    else:
        odd_series = (
            "../../etc/passwd",
            "series/000000/../x",
            5,
            None,
            [],
            "series/000000/000000000-0123456789abcdef.zarr.zip",
        )
        odd_ways = (None, [], "x", {"a": -1}, {"a": True}, {"a": 2**70}, {"a": [1]}, {"\x1b[2J": 1}, {"x" * 10**6: 1})
        spoilt = {**about, "series": rng.choice(odd_series)}, {**about, "ways": rng.choice(odd_ways)}
        about = rng.choice((None, 3, [], {}, *spoilt))
    return _packed(table, about)


def _arrays(victim: Path, rng: Random, value: Callable[[Random], Any]) -> bytes:
    with zipfile.ZipFile(victim) as z:
        found = {name: z.read(name) for name in z.namelist()}
    name = rng.choice(sorted(found))
    packing = zipfile.ZIP_STORED
    if name.endswith("zarr.json") and rng.random() < 0.7:
        about = json.loads(found[name])
        if rng.random() < 0.5 and "shape" in about:
            about["shape"] = rng.choice(
                ([4, 2**40], [2**60, 2**60], [-4, -2], [4], [], [4, 0], [4, 2, 1], "42", [1e99])
            )
            about["data_type"] = rng.choice(
                ("float64", "float64", "object", "M8[ns]", "V99999999", "<U3", "i1", "f8,f8")
            )
        else:
            _change(about, rng, value)
        found[name] = json.dumps(about).encode()
    elif rng.random() < 0.3:
        packing, found[name] = zipfile.ZIP_DEFLATED, found[name] + bytes(10**8)
    elif rng.random() < 0.5:
        found[rng.choice(("../out", "/etc/x/zarr.json", "a/b/zarr.json", "run/zarr.json"))] = found.pop(name)
    else:
        found[name] = found[name][:-1]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packing) as z:
        for key, data in found.items():
            z.writestr(key, data)
    return out.getvalue()


def _lines(data: bytes, rng: Random, value: Callable[[Random], Any]) -> bytes:
    out = b""
    for line in data.splitlines():
        said = json.loads(line[9:])
        if rng.random() < 0.3:
            said[rng.randrange(len(said))] = rng.choice((value(rng), "../x", 2**70, -1))
        else:
            _change(said, rng, value)
        text = json.dumps(said).encode()
        out += b"%08x %s\n" % (zlib.crc32(text), text)
    return out
