"""The report is one file that needs no network, and says what the study found."""

import json

import numpy as np
import pytest
from study_scenarios import pendulum

import linkwise as lw
from linkwise.study.report import Report
from linkwise.view.style import new_figure


def weighed(robot, p):
    if p["a"] > 0.95:
        raise ValueError("<too heavy>")
    return {"load": 3.0 * p["a"] + p["b"] ** 2, "other": p["b"]}


@pytest.mark.parametrize(
    ("sampling", "said", "pictures"),
    [("random", "order statistics", 5), ("saltelli", "first two runs of each row", 5), ("morris", "no intervals", 3)],
)
def test_a_report_holds_all_it_shows(tmp_path, sampling, said, pictures):
    study = lw.Study(
        pendulum(), weighed, {"a": lw.Uniform(0, 1), "b": lw.Normal(0, 1)}, 96, seed=1, sampling=sampling, chunk=96
    )
    found = study.run(tmp_path / "s", engine="serial")
    text = found.report(worst_of="load").read_text(encoding="utf-8")
    assert "http" not in text and "<script" not in text
    assert text.count("data:image/png;base64") == pictures
    assert said in text and ("runs that are not done are in none" in text) == (found.counts() != {"done": 96})
    load = found.to_pandas()["load"]
    assert any(f"study.replay({run})" in text for run in load.index[load == load.max()])
    failed = found.counts().get("failed", 0)
    assert ("&lt;too heavy&gt;" in text) == (failed > 0) and "<too heavy>" not in text
    with pytest.raises(lw.UnknownNameError, match="load"):
        found.report(worst_of="lod")


def test_a_report_shows_worst_cases_moving(tmp_path, monkeypatch):
    monkeypatch.setattr("linkwise.study.report._FRAMES", 4)
    scenario = lw.scenarios.simulate(duration=0.1, step=0.01)
    study = lw.Study(pendulum(), scenario, {"q0": lw.Normal([1, 1], 0.1)}, 45, keep=["speed_max"])
    text = (
        study.run(tmp_path / "s", engine="serial").report(tmp_path / "r.html", study=study).read_text(encoding="utf-8")
    )
    assert text.count("data:image/gif;base64") == 3


def test_a_report_of_few_runs_leaves_ends_open(tmp_path):
    study = lw.Study(pendulum(), lambda robot, p: {"y": p["b"]}, {"b": lw.Normal(0, 1)}, 100, chunk=100)
    text = study.run(tmp_path / "s", engine="serial").report().read_text(encoding="utf-8")
    assert "[‥, " in text and ", ‥]" in text  # of the 1 and 99 % quantiles
    assert "no moving picture" in text and "study.replay(" in text


@pytest.mark.parametrize("samples", [1, 2, 12])
def test_a_report_of_next_to_nothing_is_one(tmp_path, samples):
    study = lw.Study(pendulum(), lambda robot, p: {"y": p["b"], "same": 3.0}, {"b": lw.Normal(0, 1)}, samples)
    text = study.run(tmp_path / "s", engine="serial").report().read_text(encoding="utf-8")
    assert f"{samples} of {samples} runs" in text and ("Worst cases" in text) == (samples > 1)


def test_numbers_in_brackets_are_of_parameters_where_these_are_named_so(tmp_path):
    gained = lambda robot, p: {"y": p["gain[0]"] + 2 * p["gain[1]"], "v[0]": p["v"][1]}
    drawn = {"gain[0]": lw.Uniform(0, 1), "gain[1]": lw.Uniform(0, 1), "v": lw.Uniform([0, 0], [1, 1])}
    found = lw.Study(pendulum(), gained, drawn, 20).run(tmp_path / "s", engine="serial")
    report = Report(found.still())
    assert list(report.inputs) == ["gain[0]", "gain[1]", "v[0]", "v[1]"]
    assert list(report.results) == ["y", "v[0]_result"]
    assert np.array_equal(report.results["v[0]_result"], report.inputs["v[1]"])


def test_words_and_results_of_few_runs_leave_sensitivities_as_they_are(tmp_path, monkeypatch):
    def braked(robot, p):
        found = {"way": {"soft": 3.0, "hard": 1.0}[p["kind"]] + p["wet"]}
        return found | ({"slid": p["u"]} if p["u"] > 0.98 else {})

    drawn = {"kind": lw.Choice(["soft", "hard"]), "wet": lw.Choice([True, False]), "u": lw.Uniform(0, 1)}
    found = lw.Study(pendulum(), braked, drawn, 1000, seed=3, callback=True).run(tmp_path / "s", engine="serial")
    report, seen = Report(found.still()), {}
    assert list(report.results) == ["way", "slid"] and list(report.words) == ["kind"]
    drawn_as = {"sensitivities": lambda found, said: seen.update(found), "correlations": lambda x, y: seen.update(r=y)}
    for name, look in drawn_as.items():
        monkeypatch.setattr(f"linkwise.study.figures.{name}", lambda *a, look=look: look(*a) or new_figure(1, 1, ""))
    report.text()
    (shares,) = seen["way"]
    assert shares.names == ["wet", "u", "kind"] and np.allclose(shares.values, [0.2, 0.0, 0.8], atol=0.08)
    assert "slid" not in seen and list(seen["r"]) == ["way"]


@pytest.mark.filterwarnings("error")
def test_a_report_of_numbers_near_the_largest_is_drawn(tmp_path):
    huge = lambda robot, p: {"y": 1.7e308 * (2 * p["x"] - 1)}
    study = lw.Study(pendulum(), huge, {"x": lw.Uniform(0, 1)}, 12, callback=True)
    text = study.run(tmp_path / "s", engine="serial").report(worst_of="y").read_text(encoding="utf-8")
    assert "y / 1e308" in text and "inf" not in text.split("data:image")[0]


@pytest.mark.parametrize("sampling", ["saltelli", "morris"])
def test_sensitivities_look_at_runs_that_are_there_and_at_no_others(tmp_path, sampling):
    """A stranger's manifest may speak of any number of them."""
    drawn = {"a": lw.Uniform(0, 1), "b": lw.Normal(0, 1)}
    study = lw.Study(pendulum(), weighed, drawn, 48, seed=1, sampling=sampling, chunk=12, callback=True)
    found = study.run(tmp_path / "s", engine="serial")
    before = Report(found.still())._sensitivities()
    about = tmp_path / "s" / "study.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"samples": 3 * 10**11}))
    assert Report(lw.open_study(tmp_path / "s").still())._sensitivities() == before and "<img" in before
    next((tmp_path / "s" / "runs").rglob("000000001-*")).unlink()
    assert "<img" in Report(lw.open_study(tmp_path / "s").still())._sensitivities()
