"""Odd arguments and damaged files: only linkwise's own errors, promptly, in bounded memory. A short run of the fuzz.

``python tests/fuzz/run.py --cases 20000 --seed 1`` runs a longer one.
"""

import os
import re
import sys
import warnings
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

import calls
import run

pytestmark = pytest.mark.skipif(os.name == "nt", reason="memory and time cannot be limited")
CASES = {"calls": 300, "files": 50}


@pytest.mark.parametrize("only", CASES)
def test_only_our_own_errors_come_out(only):
    found = run.troubles(CASES[only], seed=0, only=only)
    assert not found, "\n".join(f"case {x['case']}: {x['what']}\n    {x['wrong']}" for x in found)


def test_every_public_call_has_good_arguments():
    """A new parameter is given a good value in good_arguments.py: with good values every call goes through."""
    known = calls.public_calls()
    assert len(known) > 150
    for call in known:
        needed = {p: call.good[p] for p in (*call.required, "target") if p != "target" or p in call.optional}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call.function(**needed)
        missing = [p for p in call.optional if p not in call.good and p != "method"]
        assert not missing, f"{call.name}: {', '.join(missing)} in good_arguments.py"


def test_cases_are_the_same_in_every_run(tmp_path):
    said = [[run.case(i, 0, None, tmp_path)[0] for i in range(30)] for _ in range(2)]
    assert [re.sub("0x[0-9a-f]+", "", x) for x in said[0]] == [re.sub("0x[0-9a-f]+", "", x) for x in said[1]]


# --- the fuzz itself can fail ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bug", "said"),
    [
        ("raise ValueError('of its own')", "ValueError: of its own"),
        ("import os; os.abort()", "the process ended: signal 6"),
        ("x = bytearray(8 << 30)", "MemoryError"),
        ("import time\nwhile time.process_time() < 1e9: pass", "the process ended: signal"),
    ],
)
def test_a_bug_is_seen(bug, said, tmp_path, monkeypatch):
    """The same process runs a case that goes wrong as the bug does."""
    (tmp_path / "calls.py").write_text("public_calls = lambda: ()\n")
    (tmp_path / "files.py").write_text(f"import pathlib\ndef bad(path):\n    {bug!r}\n    exec({bug!r})\n"
                                       "READERS = {'x': bad}\ndamaged = lambda *_: pathlib.Path('x')\n")  # fmt: skip
    (tmp_path / "run.py").write_text(Path(run.__file__).read_text().replace("HANGS = 20.0, 120.0", "HANGS = 0.5, 1.0"))
    monkeypatch.setattr(run, "HERE", tmp_path)
    (found,) = run.troubles(1, only="files")
    assert found["case"] == 0 and said in found["wrong"]
