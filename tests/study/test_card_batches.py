"""Batches of a study on a graphics card are those of the processor; the kernel's text runs on the host here.

tests/study/test_on_device.py does the same on a card.
"""

import json

import numpy as np
import pytest
from card_studies import CASES, study_of
from device_text import needs_compiler
from host_card import use_host_card
from study_scenarios import contents, pendulum

import linkwise as lw
from linkwise.study.ways import BATCHES, ON_CARD


@needs_compiler
@pytest.mark.parametrize("case", CASES)
def test_a_card_makes_what_the_processor_makes(case, tmp_path, monkeypatch):
    study = study_of(case)
    launches = use_host_card(monkeypatch, tmp_path)
    values = study.sampling.values(0, study.samples)
    wanted, sound = study.prepared.batch(values)
    found, also = study.prepared.batch(values, "cuda")
    assert launches == ([2, 4] if case == "dampers, slow and stiff" else [study.samples])  # explicit steps, and others
    assert np.array_equal(sound, also)
    for name, x in wanted.items():
        assert np.allclose(found[name][sound], x[sound], rtol=0, atol=1e-10 * (1.0 + np.abs(x[sound]).max())), name


@needs_compiler
def test_a_folder_is_gone_on_with_where_it_was_begun(tmp_path, monkeypatch):
    study = study_of("a payload")
    use_host_card(monkeypatch, tmp_path)
    found = study.run(tmp_path / "card", engine="serial", device="cuda")
    assert json.loads((tmp_path / "card" / "study.json").read_text())["device"] == "cuda"
    assert found.counts() == {"done": study.samples}
    assert found.ways() == {ON_CARD: study.samples} and found.manifest["how"] == ON_CARD
    assert found.manifest["made_by"]["card"] == "a host, by ctypes"
    said = found.report().read_text(encoding="utf-8")
    assert f"{study.samples} {ON_CARD}" in said and "card a host, by ctypes" in said
    assert ON_CARD in (tmp_path / "card" / "log.jsonl").read_text()
    with pytest.raises(lw.InputError, match="device"):
        study_of("a payload").run(tmp_path / "card", engine="serial")
    before = contents(tmp_path / "card")
    study_of("a payload").run(tmp_path / "card", engine="serial", device="cuda:1")
    assert contents(tmp_path / "card") == before
    here = study_of("a payload").run(tmp_path / "here", engine="serial")
    assert here.ways() == {BATCHES: study.samples} and here.manifest["made_by"]["card"] is None
    with pytest.raises(lw.InputError, match="device"):
        study_of("a payload").run(tmp_path / "here", engine="serial", device="cuda")
    assert study.device is None and np.allclose(study.result(1)["q_end"], found.results().q_end.values[1], atol=1e-9)


def test_what_no_card_can_make_is_refused(tmp_path):
    plain = lw.Study(pendulum(), lambda robot, p: p["x"], {"x": lw.Uniform(0, 1)}, 2)
    edited = lw.Study(pendulum(), "simulate", {"gravity": lw.Normal([0.0, 0.0, -9.0], 1.0)}, 2)
    for study, device, said in (
        (plain, "cuda", "on a card; here"),
        (edited, "cuda", "makes another robot"),
        (study_of("a payload"), "gpu", 'device is "cuda"'),
        (study_of("a payload"), 0, "device"),
    ):
        with pytest.raises(lw.InputError, match=said):
            study.run(tmp_path / "s", device=device)
    assert not (tmp_path / "s").exists()


def test_a_machine_without_a_card_says_so(tmp_path):
    from linkwise.simulation.cards import card_at

    with pytest.raises(lw.InputError, match=r"no card 'cuda:99' here \(.*leave device out"):
        card_at("cuda:99", "float64")
    for engine in ("serial", "local"):  # before there is a folder, which could not be gone on with here
        with pytest.raises(lw.InputError, match="no card"):
            study_of("a payload").run(tmp_path / "s", engine=engine, device="cuda:99")
    assert not (tmp_path / "s").exists()
