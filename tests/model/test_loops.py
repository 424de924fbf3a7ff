"""The numbers of a loop: any real number, and no other thing."""

import numpy as np
import pytest

import linkwise as lw


def loop(what, x):
    kind = {"length": "distance", "radius": "rolling"}.get(what, "weld")
    return lw.Loop("a", "b", kind, **{what: x})


@pytest.mark.parametrize("what", ["length", "radius", "stiffness", "damping"])
def test_numbers_of_a_loop(what):
    for x in (3, 3.0, np.int64(3), np.float32(3), np.float64(3)):
        found = getattr(loop(what, x), what)
        assert type(found) is float and found == 3.0
        assert loop(what, x) == loop(what, 3.0)
    for x in (True, np.True_, "3", [3.0], np.nan, np.inf, -1, 3j):
        with pytest.raises(lw.ModelError, match=f"{what}.*got"):
            loop(what, x)
