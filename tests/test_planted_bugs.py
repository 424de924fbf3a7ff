"""Bugs and faults that are planted by hand (planted_bugs.py, gates.py) still fit what they are planted in."""

import re

import pytest

import gates
import planted_bugs
from snippets import ROOT


def places(file, old):
    return (ROOT / "src" / "linkwise" / file).read_text(encoding="utf-8").count(old)


BUGS = [*planted_bugs.BUGS, *(bug[:4] for bug in planted_bugs.CODE_BUGS)]


@pytest.mark.parametrize(("what", "file", "old", "new"), BUGS, ids=[bug[0] for bug in BUGS])
def test_a_bug_has_one_place(what, file, old, new):
    assert places(file, old) == 1 and old != new, f"{what}: {file} has {old!r} {places(file, old)} times, mend this bug"


def test_tests_that_must_see_them_are_there():
    named = {planted_bugs.LAWS, *planted_bugs.BESIDE, *(bug[4] for bug in planted_bugs.CODE_BUGS)}
    assert not [path for path in named if not (ROOT / path).exists()]


@pytest.mark.parametrize("fault", gates.FAULTS, ids=lambda fault: fault.name)
def test_a_fault_has_a_place_and_a_step(fault):
    """Its text is there to be broken, and so is the step of .ci/run that must see it."""
    steps = re.findall(r'step "([^"]+)" ', (ROOT / ".ci" / "run").read_text(encoding="utf-8"))
    assert fault.step in steps or fault.step == fault.part  # a part that is one step has its name
    for edit in (fault.prepare, fault.plant):
        if isinstance(edit, gates.Edit):
            before = (ROOT / edit.path).read_text(encoding="utf-8") if (ROOT / edit.path).exists() else ""
            if fault.part == gates.RELEASE and edit.path == gates.DATED.path:
                before = gates.DATED.of(before)
            assert edit.of(before) != before
