"""Shared by the tests of a robot's calls."""

import pytest

from linkwise.robot import dispatch


@pytest.fixture
def checked_calls(monkeypatch):
    """The calls that were checked in Python, and those of methods that NumPy runs."""
    seen = []
    real = dispatch._arrays
    monkeypatch.setattr(dispatch, "_arrays", lambda given, names: seen.append(given) or real(given, names))
    return seen
