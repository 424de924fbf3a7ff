"""Whatever a user's code does in one run is that run's own: it raises, exits, cannot say why, and the others go on."""

import importlib.util
import sys
import threading

import numpy as np
import pytest
from study_scenarios import contents, pendulum

import linkwise as lw
from linkwise.study.ways import BATCHES, NOT_DRAWN

GRID = {"k": lw.Grid([0, 1, 2, 3])}
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*runs failed"),
    pytest.mark.filterwarnings("ignore:runs of this study were made one at a time"),
]


class Mute(Exception):
    def __str__(self):
        return self.nothing_of_the_kind


def leaves(robot, p):
    if p["k"] == 1:
        sys.exit("no convergence")
    if p["k"] == 2:
        raise ValueError("no file \udc80.txt")
    if p["k"] == 3:
        raise Mute
    return 1.0


def test_exits_and_errors_that_no_file_holds_are_kept_with_their_runs(tmp_path):
    study = lw.Study(pendulum(), leaves, GRID, callback=True)
    failed = study.run(tmp_path / "s", engine="serial").failures()
    assert failed.error.tolist() == ["SystemExit", "ValueError", "Mute"]
    assert failed.message.tolist()[:2] == ["no convergence", "no file \\udc80.txt"]
    assert "__str__" in failed.message[3] and "raise Mute" in failed.traceback[3]
    assert study.run(tmp_path / "s", engine="serial").counts() == {"done": 1, "failed": 3}


def exits_always(robot, p):
    sys.exit("not here")


def test_a_function_that_exits_while_it_is_looked_at_ends_its_runs_alone(tmp_path):
    study = lw.Study(pendulum(), exits_always, {"x": lw.Uniform(0, 1)}, 3)
    assert study.run(tmp_path / "s", engine="serial").counts() == {"failed": 3}


# --- functions of what is kept ---------------------------------------------------------------------------------

MOTION = lw.scenarios.simulate(duration=0.02, step=0.01, method="midpoint")
START = {"q0": lw.Uniform([0.1, 0.0], [0.4, 0.0])}


def raises(motion):
    return float(motion.time[np.nonzero(motion.q[:, 0] > 0.25)[0][0]])


def lengths(motion):
    return motion.q[motion.q[:, 0] > 0.25, 0]


def nothing(motion):
    return None if motion.q[0, 0] > 0.25 else 1


def word(motion):
    return "left" if motion.q[0, 0] > 0.25 else "right"


@pytest.mark.parametrize(
    ("keep", "error"), [(raises, "IndexError"), (lengths, None), (nothing, "InputError"), (word, None)]
)
def test_functions_of_what_is_kept_are_called_run_by_run(tmp_path, keep, error):
    study = lw.Study(pendulum(), MOTION, START, 12, keep=["q_end", keep], chunk=5)
    found = study.run(tmp_path / "s", engine="serial")
    plain = lw.Study(pendulum(), MOTION, START, 12, keep=["q_end"]).run(tmp_path / "plain", engine="serial").results()
    failed = found.failures()
    assert (found.counts()["failed"] == len(failed) > 0) if error else found.counts() == {"done": 12}
    assert set(failed.error) == ({error} if error else set()) and found.ways() == {BATCHES: 12}
    assert all(keep.__name__ in text or "'nothing'" in text for text in failed.traceback)
    results = found.results()
    done = results.status.values == "done"
    assert np.array_equal(results.q_end.values[done], plain.q_end.values[done])
    for k in np.flatnonzero(done)[:2]:
        again, there = study.result(int(k))[keep.__name__], results[keep.__name__].values[k]
        assert np.array_equal(there[: len(again)] if np.ndim(again) else there, again)
    lw.Study(pendulum(), MOTION, START, 12, keep=["q_end", keep], chunk=5).run(tmp_path / "t", engine="serial")
    assert contents(tmp_path / "s") == contents(tmp_path / "t")


# --- parameters --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [["q_end"], ["q_end", word]])
def test_scenarios_without_parameters_run_as_often_as_they_are_asked(tmp_path, keep):
    study = lw.Study(pendulum(), MOTION, samples=5, keep=keep)
    for _ in range(2):
        assert study.run(tmp_path / "s", engine="serial").counts() == {"done": 5}
    assert not (tmp_path / "s" / "damaged").exists()


def draws_badly(generator):
    x = generator.uniform(0.1, 0.4)
    if x > 0.3:
        raise ValueError("bad draw")
    return [x, 0.0]


@pytest.mark.parametrize("scenario", [MOTION, lambda robot, p: float(p["q0"][0])], ids=["batched", "called"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_draw_that_raises_fails_its_run_alone(tmp_path, scenario, seed):
    """Whichever run it is: that of the first one as well."""
    drawn = {"q0": draws_badly, "twice": lambda generator, p: 2.0 * p["q0"][0]}
    drawn = drawn if not isinstance(scenario, lw.scenarios.simulate) else {"q0": draws_badly}
    study = lw.Study(pendulum(), scenario, drawn, 12, seed, chunk=5)
    found = study.run(tmp_path / "s", engine="serial")
    failed = found.failures()
    assert 0 < len(failed) < 12 and set(failed.message) == {"bad draw"} and found.ways()[NOT_DRAWN] == len(failed)
    assert all("draws_badly" in text for text in failed.traceback)
    q0 = found.results().q0.values
    for k in range(12):
        if k in failed.index:
            assert np.isnan(q0[k]).all()
            with pytest.raises(ValueError, match="bad draw"):
                study.draw(k)
        else:
            assert np.array_equal(q0[k], study.draw(k)["q0"])
    lw.Study(pendulum(), scenario, drawn, 12, seed, chunk=5).run(tmp_path / "t", engine="serial")
    assert contents(tmp_path / "s") == contents(tmp_path / "t")


def test_a_function_that_never_draws_is_refused_before_there_is_a_folder(tmp_path):
    def never(generator):
        raise ValueError("not today")

    study = lw.Study(pendulum(), lambda robot, p: 1.0, {"x": never}, 4)
    with pytest.raises(lw.InputError, match=r"functions draw \(x\).*ValueError: not today"):
        study.run(tmp_path / "s", engine="serial")
    assert not (tmp_path / "s").exists()


def test_what_a_draw_is_like_follows_from_the_study_and_from_no_chunk(tmp_path):
    def often_a_word(generator):
        return "none" if generator.uniform() < 0.4 else 3

    counts = []
    for chunk in (1, 20):
        study = lw.Study(pendulum(), lambda robot, p: p["x"] // 2, {"x": often_a_word}, 20, 1, chunk=chunk)
        counts.append(study.run(tmp_path / f"{chunk}", engine="serial").counts())
    assert counts[0] == counts[1] and set(counts[0]) == {"done", "failed"}


def test_what_no_other_process_can_be_sent_is_refused_before_there_is_a_folder(tmp_path):
    lock = threading.Lock()

    def locked(robot, p):
        with lock:
            return p["k"]

    def draws(generator):
        with lock:
            return 1.0

    own = tmp_path / "own_module.py"
    own.write_text(
        "import threading\nlock = threading.Lock()\ndef guarded(robot, p):\n    with lock:\n        return 1.0\n"
    )
    spec = importlib.util.spec_from_file_location("own_module", own)
    module = importlib.util.module_from_spec(spec)
    sys.modules["own_module"] = module
    spec.loader.exec_module(module)
    for scenario, parameters, said in [
        (locked, GRID, "function 'locked'"),
        (lambda robot, p: 1.0, {"x": draws}, "parameter x 'draws'"),
        (module.guarded, GRID, "function 'guarded'"),
    ]:
        study = lw.Study(pendulum(), scenario, parameters, 4, callback=True)
        with pytest.raises(lw.InputError, match=f"{said} cannot be sent to other processes.*lock.*engine='serial'"):
            study.run(tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_a_limit_of_time_that_nobody_keeps_is_said(tmp_path):
    study = lw.Study(pendulum(), lambda robot, p: p["x"], {"x": lw.Uniform(0, 1)}, 2, timeout=1.0)
    with pytest.warns(lw.SimulationWarning, match="none is stopped: timeout= is left out"):
        study.run(tmp_path / "s", engine="serial")


@pytest.mark.parametrize("scenario", [lw.scenarios.simulate, lw.scenarios.poles])
def test_frames_of_payloads_are_there(scenario):
    with pytest.raises(lw.UnknownNameError, match="nowhere"):
        lw.Study(pendulum(), scenario(payload_at="nowhere"), samples=2)


def test_parameters_that_would_be_one_column_are_refused():
    with pytest.raises(lw.InputError, match=r"'q' and 'q\[0\]' may be one column"):
        lw.Study(pendulum(), len, {"q": lw.Uniform([0, 0], [1, 1]), "q[0]": 1.0}, 3)
