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


@pytest.fixture(scope="module")
def jax_on_the_cpu():
    """Also where there is a card."""
    jax = pytest.importorskip("jax")
    before = jax.config.jax_default_device
    jax.config.update("jax_default_device", jax.devices("cpu")[0])
    yield
    jax.config.update("jax_default_device", before)
