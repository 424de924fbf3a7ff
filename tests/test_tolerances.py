"""What counts as none stands in one file."""

import numpy as np
import pytest

from linkwise.tolerances import roundings
from snippets import ROOT

SOURCE = ROOT / "src" / "linkwise"
# Roundings of a precision are asked of linkwise.tolerances, but for these.
BESIDE = {
    "tolerances.py",
    "model/joints/quaternions.py",  # the largest and smallest numbers of a precision, for quaternions
    "spatial.py",  # rotations that are products of others
    "simulation/closing.py",  # how far a start may be open, by the square root of the precision
}


def test_roundings_are_counted_in_one_place():
    asking = {p.relative_to(SOURCE).as_posix() for p in SOURCE.rglob("*.py") if "finfo" in p.read_text("utf-8")}
    assert asking == BESIDE


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble, np.complex128])
def test_roundings(dtype):
    one = np.dtype(dtype).type(1)
    assert one + roundings(1, dtype) > one
    assert one + roundings(0.5, dtype) == one
