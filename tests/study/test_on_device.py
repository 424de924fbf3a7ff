"""Batches of a study on a graphics card beside those of the processor.

Runs where there is a card and CuPy, or PyTorch: python -m pytest tests/study/test_on_device.py. The packages of the
extra ``study`` are needed for the last test alone. The kernel's text runs on the host in test_card_batches.py.
"""

import time

import numpy as np
import pytest
from card_studies import CASES, study_of

import linkwise as lw
from linkwise.simulation.cards import card_at
from linkwise.study.ways import ON_CARD

try:
    card_at("cuda", "float64")
except lw.InputError as e:
    pytest.skip(str(e), allow_module_level=True)


@pytest.fixture(autouse=True)
def as_users_have_it(monkeypatch):
    monkeypatch.delenv("LINKWISE_TARGET", raising=False)


@pytest.mark.parametrize("case", CASES)
def test_a_card_makes_what_the_processor_makes(case):
    pytest.importorskip("llvmlite", reason="batches of the processor are machine code")
    study = study_of(case, 100)
    values = study.sampling.values(0, study.samples)
    wanted, sound = study.prepared.batch(values)
    found, also = study.prepared.batch(values, "cuda")
    assert np.array_equal(sound, also)
    for name, x in wanted.items():
        assert np.allclose(found[name][sound], x[sound], rtol=0, atol=1e-9 * (1.0 + np.abs(x[sound]).max())), name
    part = {name: x[10:43] for name, x in values.items()}
    few, _ = study.prepared.batch(part, "cuda")
    for name, x in few.items():  # a run is the same whatever is made beside it
        assert np.array_equal(x, found[name][10:43], equal_nan=True), name


def test_the_arm_at_a_cards_pace(capsys):
    pytest.importorskip("llvmlite", reason="what is kept of a motion is worked out by machine code")
    robot = lw.load("panda")
    drawn = {"payload": lw.Uniform(0, 2), "q0": lw.Normal(robot.random_configuration(0), 0.1)}
    scenario = lw.scenarios.simulate(duration=1.0, step=1e-3, payload_at="tcp")
    study = lw.Study(robot, scenario, drawn, 100_000, seed=1, keep=["q_end", "speed_end.tcp"]).on("cuda")
    values = study.sampling.values(0, study.samples)
    study.prepared.batch({name: x[:64] for name, x in values.items()}, "cuda")  # compiled
    begun = time.monotonic()
    found, sound = study.prepared.batch(values, "cuda")
    spent = time.monotonic() - begun
    with capsys.disabled():
        print(f"\n{study.samples} one-second motions of the arm in {spent:.2f} s, {study.samples / spent:.3g} a second")
    assert sound.all()
    here, _ = study.prepared.batch({name: x[:50] for name, x in values.items()})
    assert np.abs(found["q_end"][:50] - here["q_end"]).max() < 1e-6


def test_a_whole_study_on_a_card(tmp_path):
    for package in ("pyarrow", "xarray", "zarr", "cloudpickle", "scipy", "llvmlite"):
        pytest.importorskip(package, reason=f"needs {package}, of the extra study")
    study = study_of("a law", 500)
    found = study.run(tmp_path / "s", device="cuda", workers=2)
    assert found.counts() == {"done": 500} and found.ways() == {ON_CARD: 500}
    assert ", by " in found.manifest["made_by"]["card"] and found.manifest["how"] == ON_CARD
    with pytest.raises(lw.InputError, match="device"):
        study_of("a law", 500).run(tmp_path / "s")
    assert np.allclose(study.result(7)["q_end"], found.results().q_end.values[7], atol=1e-9)
