"""What operators do not take is named."""

import numpy as np
import pytest

import linkwise as lw

MASS = lw.chain(2, seed=1).operators(np.zeros(2), v=np.zeros(2)).mass


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: MASS.time_derivative(axes=["x"]), lw.InputError, "no axes is named"),
        (lambda: MASS.time_derivative(formal=[True]), lw.InputError, "formal must be True or False"),
        (lambda: MASS * np.array("text"), lw.SpaceError, "finite real number"),
        (lambda: MASS / np.array("text"), lw.SpaceError, "finite real number"),
        (lambda: MASS * np.array("2020-01-01", "datetime64"), lw.SpaceError, "finite real number"),
        (lambda: MASS * np.array(object()), lw.SpaceError, "finite real number"),
        (lambda: MASS * 2j, lw.SpaceError, "finite real number"),
    ],
)
def test_what_operators_do_not_take_is_named(call, error, said):
    with pytest.raises(error, match=said):
        call()
    assert np.array_equal((MASS * np.float32(2)).dense(), (2 * MASS).dense())
    assert np.array_equal((MASS * np.array(2)).dense(), (MASS * 2).dense())
