"""What is seen of a study that others are adding to: each run once, and all that is said at a time goes together."""

import io
import os
import shutil
from collections import Counter

import pytest
from study_scenarios import pendulum

import linkwise as lw
from linkwise.study.chunks import left_to_do
from linkwise.study.places import Place
from linkwise.study.progress import StudyProgress

RUNS = 12


def third_fails(robot, p):
    if os.environ.get("STOPPED_AT") == str(p["k"]):
        raise KeyboardInterrupt
    if p["k"] % 3 == 0:
        raise ValueError("three")
    return {"square": p["k"] ** 2, "both": [p["k"], 1.0]}


def study():
    return lw.Study(pendulum(), third_fails, {"k": lw.Grid(list(range(RUNS)))}, chunk=4, callback=True)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A study that was stopped within its second chunk, and the whole of it."""
    folder = tmp_path_factory.mktemp("looking_on")
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setenv("STOPPED_AT", "7")
        study().run(folder / "stopped", engine="serial")
    with pytest.warns(lw.SimulationWarning, match="4 of 12 runs failed"):
        study().run(folder / "whole", engine="serial")
    return folder


LOOKS = {
    "counts": lambda found: sum(found.counts().values()),
    "results": lambda found: len(set(found.results().run.values.tolist())),
    "rows": lambda found: len(found.to_pandas()),
    "failures": lambda found: len(set(found.failures().index)),
    "errors": lambda found: sum(found.errors().values()),
}


@pytest.mark.parametrize("what", LOOKS)
def test_a_chunk_that_is_written_while_one_looks_is_lost_to_no_count(folders, tmp_path, monkeypatch, what):
    look, seen = LOOKS[what], Counter()
    some, everything = look(lw.open_study(folders / "stopped")), look(lw.open_study(folders / "whole"))
    assert some < everything
    for at in range(30):
        folder = tmp_path / str(at)
        shutil.copytree(folders / "stopped", folder)
        found, left = lw.open_study(folder), [at]

        def soon(real, folder=folder, left=left):
            def call(*given):
                left[0] -= 1
                if left[0] == -1:  # the study is finished by somebody else before this look
                    shutil.copytree(folders / "whole", folder, dirs_exist_ok=True)
                    shutil.rmtree(folder / "journal")
                return real(*given)

            return call

        with monkeypatch.context() as patch:
            for name in ("read", "names"):
                patch.setattr(Place, name, soon(getattr(Place, name)))
            seen[look(found)] += 1
        if left[0] >= 0:
            break
    assert set(seen) == {some, everything}


def test_what_is_said_of_a_moment_goes_together(folders, tmp_path):
    shutil.copytree(folders / "stopped", tmp_path / "s")
    found = lw.open_study(tmp_path / "s").still()
    with pytest.warns(lw.SimulationWarning, match=r"os\.environ \(the environment .* cannot be compared|4 of 12"):
        study().run(tmp_path / "s", engine="serial")
    assert found.counts() == {"failed": 3, "done": 4} and found.errors() == {"ValueError: three": 3}
    assert found.results().sizes["run"] == 7 and not found.finished


def test_the_study_file_is_kept_from_the_first_run_on(folders, tmp_path):
    """A driver that is killed has no end at which it could be written; the reports of such folders move too."""
    begun = study()
    begun.file = b"[study]"
    begun.begin(Place(str(tmp_path / "s")))
    assert lw.open_study(tmp_path / "s").has_file and (tmp_path / "s" / "study.toml").read_bytes() == b"[study]"


def test_progress_counts_what_was_there_before(folders):
    place, known = Place(str(folders / "stopped")), []
    todo = left_to_do(study(), place, pytest.fail, known.append)
    shown = StudyProgress(study(), place, todo, True, known, stream=io.StringIO())
    assert todo == [1, 2] and shown.failed == 2  # runs 0 and 3
    assert "4/12 runs  2 failed" in shown.line() and "square 2.5 ± 2.1" in shown.line()
