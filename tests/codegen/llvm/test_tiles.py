"""Square tiles of numbers: their transposes, shuffle by shuffle."""

import re

import numpy as np
import pytest

from linkwise.codegen.llvm.sine_cosine import VectorType
from linkwise.codegen.llvm.tiles import transposed


@pytest.mark.parametrize(
    "t",
    [VectorType("double", n) for n in (1, 2, 4, 8)] + [VectorType("float", n) for n in (1, 4, 8, 16)],
    ids=lambda t: t.name,
)
def test_shuffles_transpose(t: VectorType) -> None:
    square = np.arange(t.lanes * t.lanes).reshape(t.lanes, t.lanes)
    known = {f"%row{i}": row for i, row in enumerate(square)}
    columns, lines = transposed(list(known), t, "t")
    for line in lines:
        name, a, b, picks = re.fullmatch(r"  (%t\d+) = shufflevector .*?(%\w+), .*?(%\w+), <.*?> <(.*)>", line).groups()
        places = [int(p.removeprefix("i32 ")) for p in picks.split(", ")]
        assert name not in known
        known[name] = np.concatenate([known[a], known[b]])[places]
    assert np.array_equal([known[name] for name in columns], square.T)
    assert len(lines) == t.lanes * (t.lanes.bit_length() - 1)  # each round as many as there are rows


def test_first_round_takes_numbers_of_two_rows_in_turns_within_16_bytes() -> None:
    """For which processors have instructions."""
    _, lines = transposed([f"%r{i}" for i in range(16)], VectorType("float", 16), "t")
    first = [quarter + at + row for quarter in (0, 4, 8, 12) for at in (0, 1) for row in (0, 16)]
    for line, half in zip(lines, (0, 2)):
        assert line.endswith("<" + ", ".join(f"i32 {x + half}" for x in first) + ">")
