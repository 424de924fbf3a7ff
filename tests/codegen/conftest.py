"""Shared by the tests of code: of many cases of one test, some have the code that users have."""

from collections import Counter
from functools import cache

import pytest

MANY = 12  # cases from which it is one in three, and of very many so many
QUICKLY = ("rolled", "runtime")  # where cases differ in calls and robots, which is no matter of LLVM's


@cache
def cases_in(session: pytest.Session) -> Counter:
    """How many cases each test has."""
    return Counter((x.path, getattr(x, "originalname", None)) for x in session.items)


@pytest.fixture(autouse=True)
def quick_code_for_most_cases(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a test with many cases two in three or more have code that LLVM makes quickly."""
    case = getattr(request.node, "callspec", None)
    if case is None or request.path.parent.name not in QUICKLY:
        return
    cases = cases_in(request.session)[request.path, request.node.originalname]
    if cases >= MANY and sum(case.indices.values()) % max(3, cases // MANY):
        monkeypatch.setenv("LINKWISE_LLVM_LEVEL", "0")
