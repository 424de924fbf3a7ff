"""Which values of a program leave the registers, when there are only so many, and when they are read again."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from ...symbols.scalar import Scalar


@dataclass(frozen=True, eq=False)
class Kept:
    """What is done at each place of an order: values to read before it, and values to write into slots after it.

    ``slots`` is how many places memory has for them. Values that are somewhere anyhow are read, and never written.
    """

    reads: dict[int, list[Scalar]]
    writes: dict[int, list[tuple[Scalar, int]]]
    slot_of: dict[int, int]  # at the end of the plan: by id
    slots: int


def kept(
    order: Sequence[Scalar],
    registers: float,
    readable: Container[int],
    at_end: Iterable[Scalar] = (),
    written: Container[int] = (),
) -> Kept:
    """A plan for so many registers, as well as can be: what is used again latest makes room (Belady).

    ``readable`` are ids of values that memory has anyhow, which are read where they are first needed; ``written`` of
    those that it has once they are computed; ``at_end`` are needed after the last place.
    """
    uses: dict[int, list[int]] = {}
    for i, x in enumerate(order):
        for a in x.args if id(x) not in readable else ():
            if isinstance(a, Scalar):
                uses.setdefault(id(a), []).append(i)
    for x in at_end:
        uses.setdefault(id(x), []).append(len(order))
    for places in uses.values():
        places.reverse()
    nodes = {id(x): x for x in order}
    held: dict[int, None] = {}  # in the order in which they came, so that plans do not depend on where values lie
    slot_of: dict[int, int] = {}
    free: list[int] = []
    reads: dict[int, list[Scalar]] = {}
    writes: dict[int, list[tuple[Scalar, int]]] = {}
    slots = 0

    def used(i: int, found: Iterable[Scalar]) -> None:
        for a in found:
            if id(a) not in held:
                held[id(a)] = None
                reads.setdefault(i, []).append(a)
        for a in found:
            uses[id(a)].pop()
            if not uses[id(a)]:
                held.pop(id(a), None)
                if id(a) in slot_of:
                    free.append(slot_of[id(a)])

    for i, x in enumerate(order):
        if id(x) in readable:
            continue
        used(i, [a for a in x.args if isinstance(a, Scalar)])
        if uses.get(id(x)):
            held[id(x)] = None
        while len(held) > registers:
            latest = max(reversed(held), key=lambda key: uses[key][-1])
            del held[latest]
            if latest not in slot_of and latest not in readable and latest not in written:
                if not free:
                    free.append(slots)
                    slots += 1
                slot_of[latest] = free.pop()
                writes.setdefault(i, []).append((nodes[latest], slot_of[latest]))
    used(len(order), list(at_end))
    return Kept(reads, writes, slot_of, slots)
