"""Folders that a stranger sent: clear errors; nothing is executed, touched outside of them, or unpacked without limit.

``python tests/fuzz/run.py --only study`` and ``--only study.toml`` do the same with thousands of damaged ones.
"""

import hashlib
import io
import json
import os
import pickle
import shutil
import sys
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import linkwise as lw
from linkwise.study.parts import digest_of

sys.path.append(str(Path(__file__).parent.parent / "fuzz"))

import study_files


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound") / "study"
    study_files.whole(folder)
    return folder


@pytest.fixture
def sent(sound, tmp_path):
    """A copy of a sound folder, for a test to spoil."""
    return Path(shutil.copytree(sound, tmp_path / "sent"))


def forge(folder, table=None, arrays=None, about=None):
    """The first chunk with another table or other arrays, under names that fit."""
    old = min((folder / "runs").rglob("*.parquet"))
    found = pq.read_table(old) if table is None else table
    said = json.loads(pq.read_table(old).schema.metadata[b"linkwise"]) if about is None else about
    if arrays is not None:
        name = f"series/000000/000000000-{digest_of(arrays)}.zarr.zip"
        (folder / name).write_bytes(arrays)
        said["series"] = name
    out = io.BytesIO()
    pq.write_table(found.replace_schema_metadata({"linkwise": json.dumps(said)}), out, compression="zstd")
    old.unlink()
    old.with_name(f"000000000-{digest_of(out.getvalue())}.parquet").write_bytes(out.getvalue())


def first(folder):
    return pq.read_table(min((folder / "runs").rglob("*.parquet")))


def zipped(files, packing=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packing) as z:
        for name, data in files.items():
            z.writestr(name, data)
    return out.getvalue()


def array_files(shape=(4, 2), kind="float64", data=None, padded=(2, 2, 2, 2), **more):
    attributes = {"padded": list(padded), **more}
    about = {"shape": shape, "data_type": kind, "codecs": [{"name": "bytes"}], "attributes": attributes}
    data = np.ones(4 * 2).tobytes() if data is None else data
    return {"x/zarr.json": json.dumps(about), "x/c/0/0": data}


def test_a_sound_folder_is_read(sound):
    found = lw.open_study(sound).results()
    assert found.sizes["run"] == 10 and found.status.values.tolist().count("failed") == 1
    assert np.array_equal(found.x.values[8], study_files.study().result(8)["x"])


def test_forged_arrays_that_fit_are_read(sent):
    """So that those that are refused below are refused for what is wrong with them."""
    forge(sent, arrays=zipped(array_files()))
    assert np.array_equal(lw.open_study(sent).results(["x"]).x.values[:4], np.ones((4, 2)))
    forge(sent, arrays=zipped(array_files(flat=[[1, 2], [2, 1], [2], [2]])))
    x = lw.open_study(sent).results(["x"]).x.values[:4]
    assert x.shape == (4, 2, 2) and np.array_equal(x[0], [[1, 1], [np.nan, np.nan]], equal_nan=True)


ARRAYS = {
    "too many bytes": (array_files(shape=[4, 2**40]), "bytes; a larger limit= reads these"),
    "a size that overflows": (array_files(shape=[4, 1e999]), "OverflowError"),
    "negative sizes": (array_files(shape=[-4, -2]), "packed in another way"),
    "objects": (array_files(kind="object"), "packed in another way"),
    "too few bytes": (array_files(data=b"123"), "3 bytes in place of 64"),
    "of other runs": (array_files(shape=[5, 2]), "of 4 runs"),
    "lengths of other runs": (array_files(padded=[2]), "of 4 runs"),
    "shapes of other runs": (array_files(flat=[[1, 2]]), "not those of its runs"),
    "shapes of other numbers": (array_files(flat=[[3, 2]] * 4), "has 2 numbers"),
    "shapes that are none": (array_files(flat=[[2, True], "12", {}, [2] * 99]), "an array has shape"),
    "shapes that overflow": (array_files(flat=[[2**39, 0]] * 4, padded=[0] * 4), "holds no arrays|GiB in one array"),
    "shapes of what is not flat": (array_files(shape=(4, 2, 1), flat=[[1, 2]] * 4), "said to lie flat"),
    "a path": ({"../../x/zarr.json": "{}"}, "is named by a letter"),
    "no JSON": ({"x/zarr.json": "{"}, "holds no arrays"),
    "deep JSON": ({"x/zarr.json": "[" * 10**5}, "RecursionError|holds no arrays"),
}


@pytest.mark.parametrize("what", ARRAYS)
def test_arrays_that_are_none(sent, what):
    files, said = ARRAYS[what]
    forge(sent, arrays=zipped(files))
    with pytest.raises(lw.FileError, match=said):
        lw.open_study(sent).results()


def test_arrays_are_not_unpacked(sent):
    """A zip file of some kB would unpack to 30 MB."""
    files = array_files() | {"x/zarr.json": " " * 3 * 10**7}
    packed = zipped(files, zipfile.ZIP_DEFLATED)
    assert len(packed) < 10**6
    forge(sent, arrays=packed)
    with pytest.raises(lw.FileError, match="or is packed"):
        lw.open_study(sent).results()


TABLES = {
    "rows": (lambda t: t.take([0] * 10**5), "100000 rows in place of 4"),
    "runs of others": (lambda t: t.take([3, 2, 1, 0]), "its runs are not those from 0 to 3"),
    "a column less": (lambda t: t.drop_columns(["status"]), "columns are missing"),
    "a column twice": (lambda t: t.append_column("run", t["run"]), "there twice"),
    "a column of pickles": (lambda t: t.append_column("result/p", pa.array([pickle.dumps(print)] * 4)), "holds binary"),
    "a column of lists": (lambda t: t.append_column("result/l", pa.nulls(4, pa.list_(pa.int8(), 2))), "result/l holds"),
    "a name": (lambda t: t.append_column("result/run", t["run"]), "a column is named by"),
    "another name": (lambda t: t.append_column("result/../x", t["run"]), "a column is named by"),
    "no parameter": (lambda t: put(t, "parameter/k", pa.nulls(4, pa.int64())), "not there in every run"),
    "no run": (lambda t: put(t, "run", t["run"].cast(pa.float64())), "run holds double"),
    "no status": (lambda t: put(t, "status", pa.array(["fine"] * 4)), "no run ends as 'fine'"),
}


def put(table, name, column):
    return table.set_column(table.column_names.index(name), name, column)


@pytest.mark.parametrize("what", TABLES)
def test_tables_that_are_none(sent, what):
    change, said = TABLES[what]
    forge(sent, table=change(first(sent)))
    with pytest.raises(lw.FileError, match=said):
        lw.open_study(sent).results()


def test_what_a_table_says_of_itself_is_what_was_looked_at(sent):
    """Parquet files hold it twice, and readers of columns and of rows take one each."""
    (table,) = (sent / "runs").rglob("000000000-*.parquet")
    data = table.read_bytes()
    spoilt = data.replace(b'{"chunk": 0, "ways"', b'\xff\xfe"hunk": 0, "ways"', 1)
    assert spoilt != data and pq.read_schema(pa.BufferReader(spoilt)).metadata[b"linkwise"].startswith(b'{"chunk"')
    assert pq.ParquetFile(pa.BufferReader(spoilt)).read().schema.metadata[b"linkwise"].startswith(b"\xff")
    table.unlink()
    table.with_name(f"000000000-{digest_of(spoilt)}.parquet").write_bytes(spoilt)
    found = lw.open_study(sent)
    assert "x" in found.results() and sum(found.ways().values()) == 8  # two runs on record say nothing


def test_tables_are_not_unpacked_beyond_the_limit(sent):
    """One long word in many rows, and lists that are not there, take little on disk."""
    words = put(first(sent), "message", pa.array(["x" * 10**6] * 4))
    forge(sent, table=words)
    with pytest.raises(lw.FileError, match="its words unpack to 4 MiB; a larger limit= reads it"):
        lw.open_study(sent).results(limit=2 * 10**6)
    lists = first(sent).append_column("parameter/l", pa.nulls(4, pa.list_(pa.float64(), 10**6)))
    forge(sent, table=lists)
    with pytest.raises(lw.FileError, match="unpacks to 31 MiB; a larger limit= reads it"):
        lw.open_study(sent).results(limit=2 * 10**7)


@pytest.mark.parametrize("series", ["../../../etc/passwd", "/etc/passwd", "series/000000/../../../x", 3, ["a"]])
def test_tables_name_files_of_the_study_alone(sent, series):
    forge(sent, about={"chunk": 0, "series": series})
    with pytest.raises(lw.FileError, match="which is no such file"):
        lw.open_study(sent).results()


@pytest.mark.skipif(os.name == "nt", reason="links, and pipes with names")
@pytest.mark.parametrize("kind", ["runs", "series"])
def test_links_and_pipes_are_refused(sent, kind, tmp_path):
    victim = min((sent / kind).rglob("*-*"))
    outside = tmp_path / "outside"
    victim.rename(outside)
    victim.symlink_to(outside)
    with pytest.raises(lw.FileError, match="leads out of the folder"):
        lw.open_study(sent).results()
    victim.unlink()
    os.mkfifo(victim)
    with pytest.raises(lw.FileError, match="is no file"):
        lw.open_study(sent).results()


@pytest.mark.skipif(os.name == "nt", reason="links")
@pytest.mark.parametrize("name", ["runs", "series", "journal", "log.jsonl", "lock"])
def test_nothing_is_written_through_links(sent, tmp_path, name):
    outside = tmp_path / "outside"
    (sent / name).rename(outside) if name not in ("log.jsonl", "lock") else outside.write_text("mine")
    (sent / name).unlink(missing_ok=True)
    (sent / name).symlink_to(outside)
    before = {p: p.read_bytes() for p in (outside.rglob("*") if outside.is_dir() else [outside]) if p.is_file()}
    with pytest.raises(lw.FileError, match="leads out of the folder of the study"):
        study_files.study().run(sent, engine="serial")
        lw.open_study(sent).results()
    after = {p: p.read_bytes() for p in (outside.rglob("*") if outside.is_dir() else [outside]) if p.is_file()}
    assert after == before


RECORDS = [
    [True, "done", {}, None, None, None],
    [-1, "done", {}, None, None, None],
    [10**30, "done", {}, None, None, None],
    [8, "fine", {}, None, None, None],
    [8, "done", {"run": ["<f8", [], "AAAAAAAAAAA="]}, None, None, None],
    [8, "done", {"x": ["|O", [1], "gASVAA=="]}, None, None, None],
    [8, "done", {"x": ["<f8", [2**60], "AAAAAAAAAAA="]}, None, None, None],
    [8, "done", {"x": 3}, None, None, None],
    [8, "failed", {}, ["no", "text"], None, None],
    "text",
]


@pytest.mark.parametrize("said", RECORDS)
def test_records_that_are_none_are_left_out(sent, said):
    (file,) = (p for p in (sent / "journal").rglob("*") if p.is_file())
    study = hashlib.sha256((sent / "study.json").read_bytes()).hexdigest()  # whose records these are
    sound = [8, "done", {"x": ["<f8", [], "AAAAAAAAAAA="]}, None, None, None]
    for record, runs in ((sound, 9), (said, 8)):
        text = json.dumps([*record, []] if isinstance(record, list) else record).encode()
        file.write_bytes(b"%08x %s\n" % (zlib.crc32(text, zlib.crc32(study.encode())), text))
        assert lw.open_study(sent).results().sizes["run"] == runs
    (sent / "journal" / "²²²²²²²²²").mkdir()
    (sent / "journal" / "²²²²²²²²²" / "x").touch()
    (file.parent / ".nfs0001").touch()
    assert lw.open_study(sent).results().sizes["run"] == 8


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"parameters": {"k": 3}}, "parameter 'k' has no kind"),
        ({"parameters": {"../k": {"kind": "grid"}}}, "a parameter is named by"),
        ({"samples": 10**4000}, "samples is missing|no manifest|must be|most"),
        ({"chunk": 0}, "must be 1 or more"),
        ({"format": "linkwise-study-99"}, "another version"),
        ({"samples": True}, "samples is missing or of another kind"),
    ],
)
def test_manifests_that_are_none(sent, change, said):
    path = sent / "study.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(lw.LinkwiseError, match=said):
        lw.open_study(sent).results()


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 10**5, b'{"a":' * 10**5, b"1" * 10**5])
def test_manifests_that_are_no_json(sent, data):
    (sent / "study.json").write_bytes(data)
    with pytest.raises(lw.FileError, match="no manifest of a study"):
        lw.open_study(sent)


def test_forged_chunks_are_put_aside_and_made_again(sent, sound):
    forge(sent, table=first(sent).take([3, 2, 1, 0]))
    with pytest.warns(lw.SimulationWarning, match="is damaged; it is kept as damaged/"):
        study_files.study().run(sent, engine="serial")
    with pytest.warns(lw.SimulationWarning):
        study_files.study().run(sound.parent / "whole", engine="serial")
    a, b = (lw.open_study(x).results() for x in (sent, sound.parent / "whole"))
    assert a.equals(b) and a.sizes["run"] == 11
