"""Runs that give arrays of other shapes, numbers in place of arrays, and more bytes than are read at once."""

import os

import numpy as np
import pytest
from study_scenarios import contents, pendulum

import linkwise as lw
from linkwise.study import chunks, journal, parts, reading

RUNS = 6
GRID = {"k": lw.Grid(list(range(RUNS)))}


def shapely(robot, p):
    k = p["k"]
    return {
        "tails": np.full((2, 2) if k < 4 else (1, 3), float(k)),
        "lengths": np.arange(k),
        "either": 7 if k in (1, 2) else np.array([k, 1.0]),
        "said": "lost" if k == 3 else k,
        "beside": "lost" if k == 3 else np.ones(2),
        "huge": np.uint64(2**63),
        **({"seldom": np.eye(2)} if k == 5 else {}),
    }


def stopped(robot, p):
    if p["k"] == 5:
        raise KeyboardInterrupt
    return shapely(robot, p)


@pytest.mark.parametrize("chunk", [1, 2, 4, RUNS])
def test_what_results_are_does_not_depend_on_how_runs_are_cut_into_chunks(tmp_path, chunk):
    study = lw.Study(pendulum(), shapely, GRID, chunk=chunk, callback=True)
    found = study.run(tmp_path / "s", engine="serial")
    assert found.counts() == {"done": RUNS}
    x = found.results()
    assert x.tails.shape == (RUNS, 2, 3) and np.isnan(x.tails.values[0, :, 2]).all()
    assert np.array_equal(x.tails.values[5], [[5.0] * 3, [np.nan] * 3], equal_nan=True)
    assert np.array_equal(x.lengths.values[3], [0, 1, 2, np.nan, np.nan], equal_nan=True)
    assert x.either.values[:, 0].tolist() == [0, 7, 7, 3, 4, 5] and np.isnan(x.either.values[1:3, 1]).all()
    assert x.said.values.tolist() == ["0", "1", "2", "lost", "4", "5"] and (x.huge.values == 2.0**63).all()
    assert x.beside_word.values.tolist() == ["", "", "", "lost", "", ""] and np.isnan(x.beside.values[3]).all()
    assert np.isnan(x.seldom.values[:5]).all() and np.array_equal(x.seldom.values[5], np.eye(2))
    for name in ("either", "tails"):
        assert np.array_equal(found.results([name])[name], x[name], equal_nan=True)
    assert np.array_equal(found.results(["beside_word"]).beside_word, x.beside_word)
    assert {"either[0]", "either[1]", "said", "huge"} <= set(found.to_pandas())
    assert found.arrays[:2] == ["tails", "lengths"]
    assert found.record(2).values["either"] == 7 and np.array_equal(found.record(4).values["either"], [4.0, 1.0])


def test_results_on_record_are_those_of_the_chunk_that_comes_of_them(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        lw.Study(pendulum(), stopped, GRID, callback=True).run(tmp_path / "s", engine="serial")
    lw.Study(pendulum(), shapely, GRID, callback=True).run(tmp_path / "whole", engine="serial")
    loose, whole = (lw.open_study(tmp_path / x).results() for x in ("s", "whole"))
    assert loose.sizes["run"] == 5
    for name in ("either", "said", "beside", "beside_word"):
        assert np.array_equal(loose[name], whole[name][:5], equal_nan=whole[name].dtype.kind == "f")


def test_shapes_that_fill_more_than_the_limit_are_refused_by_name(tmp_path):
    wide = lambda robot, p: {"x": np.ones((1, 999) if p["k"] else (999, 1)), "y": 1.0}
    for chunk in (1, RUNS):
        found = lw.Study(pendulum(), wide, GRID, chunk=chunk, callback=True).run(tmp_path / f"{chunk}", engine="serial")
        with pytest.raises(lw.FileError, match=r"several shapes, \(1, 999\), \(999, 1\).*larger limit="):
            found.results(limit=2**20)
        assert found.results(["y"], limit=2**20).sizes["run"] == RUNS


# --- more than is read at once ------------------------------------------------------------------------------


def image(robot, p):
    if p["k"] == RUNS - 1 and "STOPS" in os.environ:
        raise KeyboardInterrupt
    return {"image": np.full(1000, float(p["k"]))}


def test_arrays_and_records_larger_than_what_is_read_at_once_are_gone_on_with(tmp_path, monkeypatch):
    for module in (parts, reading):
        monkeypatch.setattr(module, "MOST_BYTES", 2**14)
    study = lw.Study(pendulum(), image, GRID, chunk=RUNS, callback=True)
    monkeypatch.setenv("STOPS", "")
    with pytest.raises(KeyboardInterrupt):
        study.run(tmp_path / "s", engine="serial")
    (on_record,) = (x for x in (tmp_path / "s" / "journal").rglob("*") if x.is_file())
    assert on_record.stat().st_size > 2**14
    monkeypatch.delenv("STOPS")
    for _ in range(2):
        found = study.run(tmp_path / "s", engine="serial")
        assert found.counts() == {"done": RUNS} and (found.results().image.values[:, 0] == range(RUNS)).all()
    assert not (tmp_path / "s" / "damaged").exists()
    assert found.record(3).values["image"].shape == (1000,)


@pytest.mark.parametrize(("most", "what"), [("MOST_OF_ARRAYS", "arrays"), ("MOST_BYTES", "tables")])
def test_a_chunk_that_could_not_be_read_again_is_not_written(tmp_path, monkeypatch, most, what):
    monkeypatch.setattr(parts, most, 2**10)
    with pytest.raises(lw.FileError, match=f"chunk 0 has {what} of .* a smaller chunk="):
        lw.Study(pendulum(), image, GRID, chunk=RUNS, callback=True).run(tmp_path / "s", engine="serial")
    assert not contents(tmp_path / "s").keys() - {"series"} or what == "tables"


@pytest.mark.filterwarnings("ignore:.*runs failed")
def test_a_run_that_gives_more_than_can_be_on_record_has_failed(tmp_path, monkeypatch):
    monkeypatch.setattr(chunks, "MOST_OF_A_RUN", 2**10)
    assert journal.MOST_OF_A_RUN == 2**30
    found = lw.Study(pendulum(), image, GRID, callback=True).run(tmp_path / "s", engine="serial")
    assert found.counts() == {"failed": RUNS} and "keep less" in found.failures().message[0]
