"""Whose an array is, told without importing anyone's library."""

import numpy as np
import pytest

from linkwise.array_kinds import among, common, library
from linkwise.errors import InputError


class _Of:
    """A stand-in for an array of a library."""

    shape, dtype = (2,), "float64"


def _array(module):
    return type("Array", (_Of,), {"__module__": module})()


@pytest.mark.parametrize(
    ("module", "name"), [("torch", "torch"), ("jaxlib._jax", "jax"), ("jax._src.core", "jax"), ("cupy", "cupy")]
)
def test_libraries_are_told_by_the_module(module, name):
    assert library(_array(module)) == name
    assert library(type("Own", (type(_array(module)),), {"__module__": "users"})()) == name
    assert common({"q": _array(module), "v": [1.0, 2.0], "tau": 0.0}) == name
    assert among([1.0, _array(module)])


def test_numpy_lists_and_things_that_are_no_arrays_are_not_foreign():
    assert library(np.zeros(2)) is None and library([1.0]) is None and library(np.float32(1)) is None
    assert library(type("Device", (), {"__module__": "torch"})()) is None
    assert not among([np.zeros(2), None, 1.0])


def test_mixtures_are_refused_by_name():
    with pytest.raises(InputError, match="q: torch, v: jax"):
        common({"q": _array("torch"), "v": _array("jaxlib")})
    with pytest.raises(InputError, match="q: torch, v: numpy"):
        common({"q": _array("torch"), "v": np.zeros(2)})
