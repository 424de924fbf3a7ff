"""A last look at finished assembly: every place in memory that it names lies within what is its own.

Nothing else looks at it: LLVM takes the text as it is, and a write past the end of scratch memory is seen much later,
by somebody else. So whatever the text came from, the text itself is read here, each time one is made: 0.7 µs a line, a
fifteenth of what making it takes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .assembly import AHEAD, ARRAYS, Assembly
from .sine_cosine import VectorType

# Memory as the operand that is read, which comes first, or as the one that is written, behind a register.
_OPERAND = re.compile(r"(\S+) (?:\$\d+, )?(%\w+, )?(-?\d+)\(%(\w+)\)(\{1to\d+\})?(?:,|$| \{)")
_MASK = re.compile(r"\{%(k\d)\}")
_FARTHEST = 1 << 31  # bytes that an instruction can say


class Memory(NamedTuple):
    """How many vectors inputs and results have; the frame and the constants are those of the assembly.

    ``arrays`` is how many numbers each array has of which states are brought in.
    """

    inputs: int
    results: int
    arrays: Sequence[int] = ()


def check_bounds(assembly: Assembly, t: VectorType, memory: Memory, sines: int) -> None:
    """Raise where an operand, or one of the ``sines`` (vectors at the frame's start), is outside of its memory."""
    vector = t.alignment
    ahead = AHEAD * vector
    bounds = {
        "rdi": (0, memory.inputs * vector),
        "rsi": (0, memory.results * vector),
        "rdx": (-ahead, assembly.frame * vector - ahead),
        "rcx": (0, len(assembly.constants) * t.size),
    }
    if memory.arrays:
        bounds |= {"r8": bounds["rdi"]} | {name: (0, n * t.size) for name, n in zip(ARRAYS, memory.arrays)}
    slots = [x for segment in assembly.segments for x in segment.sines or ()]
    if max([sines - 1, *slots]) >= assembly.frame or min([0, *slots]) < 0:
        raise AssertionError(f"sines stand outside of a frame of {assembly.frame} vectors")
    for segment in assembly.segments:
        _check_lines(segment.lines, bounds, t, assembly.masks)


def _check_lines(
    lines: Sequence[str], bounds: dict[str, tuple[int, int]], t: VectorType, masks: Mapping[str, int]
) -> None:
    for line in lines:
        if "(" not in line:
            continue
        found = _OPERAND.match(line)
        if found is None or line.count("(") > 1:
            raise AssertionError(f"assembly names memory in a way that is not known: {line}")
        op, register, offset, base, spread = found.groups()
        is_constant, is_array = base == "rcx", base in ARRAYS
        mask = _MASK.search(line)
        size = masks[mask[1]] * t.size if mask else t.size if is_constant else t.alignment
        at = int(offset)
        first, end = bounds.get(base, (0, 0))
        if not first <= at <= end - size or at % (t.size if is_array else size) or not -_FARTHEST <= at < _FARTHEST:
            raise AssertionError(f"assembly reaches {size} bytes at {at} of {base}, which has {first} to {end}: {line}")
        if t.lanes > 1 and is_constant != (bool(spread) or op.startswith("vbroadcast")):
            raise AssertionError(f"assembly reads one number as a vector, or a vector as one number: {line}")
        if register and (is_array or base in ("rdi", "rcx")):
            raise AssertionError(f"assembly writes over what it is given: {line}")
