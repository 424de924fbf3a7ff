"""Code for some states between whose instructions the states after them are brought in.

Transposing waits for other parts of the processor than products do: one after the other, each leaves idle what the
other needs. So one turn of a loop computes the results of some states from vectors that are there, and meanwhile makes
vectors of the next states. Each number is computed by the same instructions in the same order as without, so that
results are the same to the last digit. (Results are not written in the same way: stores that wait for far memory would
hold up those to near memory behind them. The arm's mass matrix, 4,096 states, 10.3 ns without and 11.4 ns with it.)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...symbols.scalar import Scalar
from .. import thresholds
from .instructions import TRUTHS, Instruction, Instructions
from .paired_blocks import key_count
from .places import input_starts
from .tile_moves import brought_in, widths
from .trace import Program

MOST_ARRAYS = 4  # each has a register for its address
_MOST_WIDTHS = 4  # each has a mask
_MOST_TRUTHS = 2  # that wait in masks at a time, which leaves those for widths


class Overlapped(NamedTuple):
    """The instructions, and how many numbers tiles have that are not full."""

    code: Instructions
    widths: list[int]


def overlaps(program: Program, code: Instructions, lanes: int) -> bool:
    """Whether this can be done, and the code is so short that it is quicker."""
    sizes = moved_sizes(program)
    if not sizes or len(sizes) > MOST_ARRAYS or len(widths(sizes, lanes)) > _MOST_WIDTHS:
        return False
    return 0 < len(code.code) <= thresholds.OVERLAPPED_UP_TO and all(_has_masks_left(x) for x in code.code)


def _has_masks_left(x: Instruction) -> bool:
    """Whether an instruction lets masks of widths be: calls do not, nor choices for which many truths wait."""
    waiting = most = 0
    for truth in x.signs if x.op == "select" else ():
        waiting += {"not": 0, "and": -1, "or": -1}.get(TRUTHS[truth], 1)
        most = max(most, waiting)
    return x.op != "sines" and most <= _MOST_TRUTHS


def moved_sizes(program: Program) -> list[int]:
    """How many numbers each input has that has any."""
    return [n for n in program.inputs.values() if n]


def used_numbers(program: Program) -> dict[str, set[int]]:
    """By input, which of its numbers the program reads."""
    used: dict[str, set[int]] = {name: set() for name in program.inputs}
    for x in itertools.chain(program.nodes, program.roots):
        for y in (x, *x.args) if isinstance(x, Scalar) else ():
            if isinstance(y, Scalar) and y.op == "input":
                used[y.args[0]].add(y.args[1])
    return used


def overlapped(program: Program, code: Instructions, blocks: int, lanes: int) -> Overlapped:
    """The code of so many blocks of states with that which brings in as many of the next between."""
    keys, arrays = itertools.count(key_count(code)), itertools.count()
    starts, used = input_starts(program), used_numbers(program)
    total = sum(program.inputs.values())
    moves: list[Instruction] = []
    for name, size in program.inputs.items():
        if size:
            array = next(arrays)
            for block in range(blocks):
                moves += brought_in(array, size, block * lanes, block * total + starts[name], used[name], keys, lanes)
    return Overlapped(code._replace(code=list(_spread(code.code, moves))), widths(moved_sizes(program), lanes))


def _spread(code: Sequence[Instruction], moves: Sequence[Instruction]) -> Iterator[Instruction]:
    """Both in their orders, evenly."""
    done = 0
    for i, x in enumerate(code, 1):
        yield x
        until = i * len(moves) // len(code)
        yield from moves[done:until]
        done = until
