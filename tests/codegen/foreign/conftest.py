"""What tests of other libraries' arrays share."""

import pytest


@pytest.fixture
def as_users_have_it(monkeypatch):
    """Calls are compiled, and JAX has double precision."""
    jax = pytest.importorskip("jax")
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)
