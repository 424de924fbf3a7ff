"""Tables of studies whose last chunk is not written yet, and results that are named as parameters are."""

import os

import numpy as np
import pytest
from study_scenarios import pendulum

import linkwise as lw


def stopped(robot, p):
    if p["k"] == 6:
        raise KeyboardInterrupt
    if p["k"] == 5:
        raise ValueError("five")
    return {"k": 10 * p["k"], "u": np.arange(3.0), "word": "w"}


def three(generator):
    return generator.normal(size=3)


@pytest.fixture
def found(tmp_path):
    """One chunk that is written, and two runs on record."""
    drawn = {"k": lw.Grid(list(range(8))), "u": lw.Uniform(0, 1), "three": three}
    with pytest.raises(KeyboardInterrupt):
        lw.Study(pendulum(), stopped, drawn, chunk=4, callback=True).run(tmp_path / "s", engine="serial")
    return lw.open_study(tmp_path / "s")


def test_results_named_as_parameters_are_in_every_table(found):
    table = found.to_pandas()
    assert table["k"].tolist() == [0, 1, 2, 3, 4, 5] and table["k_result"].tolist()[:5] == [0, 10, 20, 30, 40]
    assert found.results()["u_result"].shape == (6, 3) and set(found.results(["k_result", "u_result"])) == {
        "k_result",
        "u_result",
    }


def test_vectors_that_functions_draw_are_read_while_it_runs(found):
    drawn = found.results()["three"].values
    assert drawn.shape == (6, 3) and np.isfinite(drawn[:4]).all() and np.isnan(drawn[4:]).all()


def test_failures_on_record_have_their_parameters(found):
    failed = found.failures()
    assert failed.index.tolist() == [5] and failed.loc[5, "k"] == 5 and 0 < failed.loc[5, "u"] < 1
    assert os.path.isdir(found.place.path("journal"))  # they are on record, and in no table
