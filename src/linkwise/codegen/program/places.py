"""Where in memory the inputs and results of a block of states stand: one vector for each number."""

from __future__ import annotations

from ...symbols.scalar import Scalar
from .trace import Program


def input_starts(program: Program) -> dict[str, int]:
    """At which vector each input begins."""
    starts, start = {}, 0
    for name, size in program.inputs.items():
        starts[name] = start
        start += size
    return starts


def output_slots(program: Program) -> list[int]:
    """Where each number of the outputs is: numbers that are the same (symmetric matrices) share a place.

    Constants are so by their digits: 0 and −0 are equal.
    """
    places: dict[int | str, int] = {}
    keys = [x.serial if isinstance(x, Scalar) else x.hex() for x in program.roots]
    return [places.setdefault(key, len(places)) for key in keys]


def output_count(program: Program) -> int:
    """How many vectors the outputs take."""
    return len(set(output_slots(program)))


def computed_places(program: Program) -> tuple[dict[int, int], dict[int, float]]:
    """(by id of a value that is a result, its place; by place, a number that is one)."""
    found = dict(zip(output_slots(program), program.roots))
    values = {id(x): slot for slot, x in found.items() if isinstance(x, Scalar)}
    return values, {slot: x for slot, x in found.items() if not isinstance(x, Scalar)}
