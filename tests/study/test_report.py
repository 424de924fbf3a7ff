"""The report is one file that needs no network, and says what the study found."""

import pytest
from study_scenarios import pendulum

import linkwise as lw


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
