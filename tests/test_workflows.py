"""The workflows call what there is: parts of .ci/run, on the systems and Pythons that the wheel names.

Their form, and what a stranger could do with them, is seen by the steps "schemas" and "workflows" of ``.ci/run lint``.
"""

import os
import re
import subprocess
import tomllib

import pytest

from snippets import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TEXT = "\n".join(p.read_text(encoding="utf-8") for p in WORKFLOWS)
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def parts():
    """What .ci/run can be asked for."""
    cases = re.search(r"^    case \$part in\n(.*?)^    esac", CI, re.MULTILINE | re.DOTALL)[1]
    found = {name for line in re.findall(r"^        ([a-z| ]+)\)", cases, re.MULTILINE) for name in line.split(" | ")}
    return found | {"release-version"}


def test_they_call_parts_that_there_are():
    called = re.findall(r"run: \.ci/run(.*)", TEXT)
    assert len(called) >= 8
    for words in called:
        named = words.split()
        assert not named or named[0] in parts(), words
        assert named[:1] == ["release-version"] or set(named) <= parts(), words
    assert {"environment", "lint", "types", "docs", "tests", "wheel", "alone"} <= {x for w in called for x in w.split()}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.stem)
def test_what_they_refer_to_is_there(path):
    """Values of a matrix, results of steps, jobs that are needed."""
    text = path.read_text(encoding="utf-8")
    jobs = set(re.findall(r"^  ([a-z]+):\n    (?:needs|runs-on|strategy)", text, re.MULTILINE))
    assert jobs
    assert set(re.findall(r"^    needs: (\w+)", text, re.MULTILINE)) <= jobs
    matrix = set(re.findall(r"^        (\w+): \[", text, re.MULTILINE))
    assert set(re.findall(r"\$\{\{ matrix\.(\w+) \}\}", text)) == matrix
    assert set(re.findall(r"steps\.(\w+)\.", text)) <= set(re.findall(r"- id: (\w+)", text))
    assert set(re.findall(r"\$\{\{ (\w+)\.", text)) <= {"github", "matrix", "steps"}
    for name in re.findall(r"uses: [\w./-]+@(\S+)", text):
        assert re.fullmatch("[0-9a-f]{40}", name), "an action by the digest of its commit, which cannot change"


def test_pythons_and_systems_are_those_that_the_wheel_names():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = {c.rpartition(" ")[2] for c in project["classifiers"] if re.search(r":: 3\.\d+$", c)}
    systems = {"ubuntu-latest": "POSIX :: Linux", "macos-latest": "MacOS", "windows-latest": "Microsoft :: Windows"}
    for listed in re.findall(r"python: \[(.*)\]", TEXT):
        assert set(re.findall(r'"([\d.]+)"', listed)) == versions
    for listed in re.findall(r"os: \[(.*)\]", TEXT):
        named = {f"Operating System :: {systems[x]}" for x in listed.split(", ")}
        assert named == {c for c in project["classifiers"] if c.startswith("Operating System")}
    assert project["requires-python"] == f">={min(versions, key=lambda v: int(v.partition('.')[2]))}"


@pytest.mark.skipif(os.name == "nt", reason="another bash may come first there")
def test_an_unknown_part_is_refused():
    done = subprocess.run(["bash", str(ROOT / ".ci" / "run"), "tetss"], capture_output=True, text=True)
    assert done.returncode == 2 and "no part is named 'tetss'" in done.stderr
