"""Simulation runs compiled here; tests of the steps on arrays ask for NumPy."""

import pytest


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
