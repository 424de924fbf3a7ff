"""Functions that give numbers alone are compiled where they can be, and are what they are called by hand."""

import contextlib
import os
import signal

import numpy as np
import pytest
from study_scenarios import contents, pendulum

import linkwise as lw
from linkwise.study.compiled import TRACING
from linkwise.study.ways import BATCHES

DRAWN = {"q": lw.Normal([0.3, -0.4], 0.2), "m": lw.Uniform(0.5, 2.0)}
SEEN = []
STREAM = np.random.default_rng(0)


def many(robot, p):
    x = robot.pose(p["q"], "lower")[1]
    near = robot.linearize_forward(p["q"], p["m"] * p["q"], robot.gravity_force(p["q"]))
    return {"x": x, "M": robot.mass_matrix(p["q"]), "dq": near.dq, "size": np.sqrt(p["m"]), "n": 3, "word": p["name"]}


def writes(robot, p):
    with open(os.environ["A_FILE"], "a") as f:
        f.write("x")
    return p["m"]


def remembers(robot, p):
    SEEN.append(p["m"])
    return p["m"] * len(SEEN)


def inverted(robot, p):
    return np.linalg.inv(np.array([[p["m"], 1.0], [1.0, 1.0]]))


def caught(robot, p):
    """Which for no number is caught, and for symbols would be whatever comes then."""
    with contextlib.suppress(Exception):
        if p["m"] > 1.5:
            return 2.0 * p["m"]
    return p["m"]


def test_runs_are_those_called_by_hand(tmp_path):
    study = lw.Study(pendulum(), many, {**DRAWN, "name": "arm"}, 40, seed=2, chunk=9)
    found = study.run(tmp_path / "s", engine="serial")
    assert found.ways() == {BATCHES: 40} and found.counts() == {"done": 40}
    table = found.results()
    for k in (0, 17, 39):
        wanted, again = many(pendulum(), study.draw(k)), study.result(k)
        for name, x in wanted.items():
            assert np.array_equal(table[name].values[k], again[name]), name  # bit for bit
            if name != "word":
                assert np.allclose(again[name], x, rtol=0, atol=1e-11 * (1.0 + np.abs(x).max())), name
    assert table.n.dtype.kind == "i" and (table.word.values == "arm").all()
    other = lw.Study(pendulum(), many, {**DRAWN, "name": "arm"}, 40, seed=2, chunk=9)
    other.run(tmp_path / "t", workers=1)
    assert contents(tmp_path / "s") == contents(tmp_path / "t")


CALLED = {
    "a choice by numbers": (lambda robot, p: p["m"] if p["m"] > 1 else -p["m"], "neither true nor false"),
    "a choice that catches errors": (caught, "neither true nor false"),
    "a choice that differs later": (lambda robot, p: p["m"] * (2.0 if (p["m"] > 1.5) is True else 1.0), "other"),
    "text": (lambda robot, p: {"r": p["m"], "said": f"{p['m']:.3f}"}, "text|format"),
    "a file": (writes, "writes a file"),
    "random numbers": (lambda robot, p: p["m"] * STREAM.normal(), "STREAM"),
    "a memory": (remembers, "SEEN"),
    "eigenvalues": (lambda robot, p: np.linalg.eigvalsh(robot.mass_matrix(p["q"])), "eigvalsh"),
    "nothing drawn in it": (lambda robot, p: 3.0, "does not depend"),
    "another number than on symbols": (lambda robot, p: p["m"] * (2.0 if isinstance(p["m"], float) else 3.0), "other"),
    "what fails": (lambda robot, p: p["q"] @ np.ones(3), "symbols|operands|does not run"),
}


@pytest.mark.parametrize("case", CALLED)
@pytest.mark.filterwarnings("ignore::linkwise.SimulationWarning")
def test_what_cannot_be_compiled_is_called_and_said(case, tmp_path, monkeypatch):
    monkeypatch.setenv("A_FILE", str(tmp_path / "file"))
    function, said = CALLED[case]
    SEEN.clear()
    study = lw.Study(pendulum(), function, DRAWN, 3, seed=1, chunk=3)
    assert study.draw(0)["m"] < 1.5 < study.draw(2)["m"]  # so that those that choose do so
    with pytest.warns(lw.SlowPathWarning, match=said):
        found = study.run(tmp_path / "s", engine="serial")
    (way,) = found.ways()
    assert way.startswith("alone: ") and sum(found.counts().values()) == 3
    if case.startswith("a choice that"):
        table = found.to_pandas()
        assert (table["result"] == table["m"] * np.where(table["m"] > 1.5, 2.0, 1.0)).all()
    if case == "a file":
        assert (tmp_path / "file").read_text() == "xxx"  # once for each run, and never for looking
    if case == "what fails":
        assert found.counts() == {"failed": 3}


def test_whole_numbers_choose_and_are_called(tmp_path):
    study = lw.Study(pendulum(), lambda robot, p: np.arange(p["k"]).sum() * p["m"], {**DRAWN, "k": lw.Grid([1, 2])}, 4)
    with pytest.warns(lw.SlowPathWarning, match="'k' is no real number"):
        study.run(tmp_path / "s", engine="serial")


def test_being_called_can_be_asked_for(tmp_path, recwarn):
    study = lw.Study(pendulum(), lambda robot, p: p["m"], DRAWN, 3, callback=True)
    assert list(study.run(tmp_path / "s", engine="serial").ways()) == ["as asked: its function is called"]
    assert not [w for w in recwarn if issubclass(w.category, lw.SlowPathWarning)]
    with pytest.raises(lw.InputError, match="another study"):
        lw.Study(pendulum(), lambda robot, p: p["m"], DRAWN, 3).run(tmp_path / "s", engine="serial")
    with pytest.raises(lw.InputError, match="for functions"):
        lw.Study(pendulum(), "simulate", {"mass.lower": lw.Uniform(1, 2)}, 3, callback=True)


def test_a_singular_run_fails_as_it_does_by_hand(tmp_path):
    study = lw.Study(pendulum(), inverted, {"m": lw.Grid([2.0, 1.0, 3.0])}, chunk=3)
    with pytest.warns(lw.SlowPathWarning, match="1 as what machine code gives is not finite"):
        found = study.run(tmp_path / "s", engine="serial")
    assert found.failures().error.tolist() == ["LinAlgError"]
    assert np.allclose(found.results().result.values[2], np.linalg.inv([[3.0, 1.0], [1.0, 1.0]]))
    with pytest.raises(np.linalg.LinAlgError):
        study.result(1)


def crashes_on_symbols(robot, p):
    if not isinstance(p["m"], float):
        os.kill(os.getpid(), signal.SIGSEGV)
    return p["m"] * 2.0


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_function_that_cannot_even_be_looked_at_is_called(tmp_path):
    study = lw.Study(pendulum(), crashes_on_symbols, {"m": lw.Uniform(0.5, 2.0)}, 6, chunk=2, timeout=50.0)
    with pytest.warns(lw.SlowPathWarning, match="could not be looked at"):
        found = study.run(tmp_path / "s", workers=1)
    assert found.counts() == {"done": 6}
    assert np.array_equal(found.results().result.values, [2.0 * study.draw(k)["m"] for k in range(6)])


def test_looking_has_no_run_of_its_own(tmp_path):
    told = []
    study = lw.Study(pendulum(), lambda robot, p: p["m"], DRAWN, 2, chunk=2)
    own = [(k, study.draw(k)) for k in range(2)]
    ended = list(study.prepared.each(own, study.generator, lambda what, run: told.append((what, run))))
    assert [x.run for x in ended] == [0, 1] and told == [("start", TRACING), ("end", TRACING)]
