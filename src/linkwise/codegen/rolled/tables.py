"""The tables of a rolled program: what differs from body to body, for whoever writes its loops.

One row of integers per body (its class, the slots it reads and writes, where its inputs and outputs lie) and the
numbers of all bodies. A slot is where a body hands something to its children or its parent; it is free again once
that has been read, so that a chain needs two of them however long it is. Slot 0 is the world (or the empty sum), slot 1
is for nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .program import RolledProgram
    from .walk_recorder import Walk

# The columns of the table of integers: one row per body, and after these where its inputs begin.
(
    CLASS,
    OUT_OWN,
    OUT_PARENT,
    IN_OWN,
    IN_PARENT,
    FIRST,
    NUMBERS,
    OUTPUT,
    PARENT,
    NUMBER_FROM_BASE,
    LAST_OUTBOARD,
    INPUTS,
) = range(12)


def columns(program: RolledProgram) -> int:
    """How many integers a body has."""
    return INPUTS + len(program.signature.inputs) + program.nodes.is_grouped


def first_body(program: RolledProgram) -> int:
    """The column, of nodes, in which their first body stands."""
    return columns(program) - 1


def first_of(slices: Sequence[slice], held: Sequence[int]) -> int:
    """Where the numbers of bodies begin that lie together; anywhere where there are none."""
    own = [slices[k] for k in held if slices[k].stop > slices[k].start]
    first = own[0] if own else slices[held[0]]
    return int(first.start)


def saved(program: RolledProgram) -> int:
    """How many values a body saves."""
    return max((1 + place for works in program.phases for w in works for place in w.saves), default=0)


def tables(program: RolledProgram, model: Any) -> tuple[np.ndarray, np.ndarray]:
    """(integers (bodies, columns), numbers) of a robot."""
    names = list(program.signature.inputs)
    starts = np.concatenate(([0], np.cumsum(list(program.signature.inputs.values()))))
    out = np.zeros((len(program.parents), columns(program)), dtype=np.int64)
    numbers: list[np.ndarray] = []
    position = 0
    for c, kind in enumerate(program.classes):
        for row, k in zip(kind.table, kind.members):
            out[k, CLASS], out[k, NUMBERS] = c, position
            numbers.append(row)
            position += len(row)
    for k, held in enumerate(program.nodes.members):
        q, v = (first_of(slices, held) for slices in (model.q_slices, model.v_slices))
        out[k, OUTPUT] = v if program.places is None else program.places[k]
        for j, name in enumerate(names):
            out[k, INPUTS + j] = starts[j] + (q if name == "q" else v)
        if program.nodes.is_grouped:
            out[k, first_body(program)] = held[0]
    out[:, OUT_OWN], out[:, OUT_PARENT] = outward_slots(program.parents)[:2]
    out[:, IN_OWN], out[:, IN_PARENT], out[:, FIRST] = inward_slots(program.parents)[:3]
    out[:, PARENT] = program.parents
    out[:, NUMBER_FROM_BASE], out[:, LAST_OUTBOARD] = _branch_by_branch(program.parents)
    return out, np.concatenate(numbers) if numbers else np.zeros(0)


def _branch_by_branch(parents: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """Numbers of the bodies such that those outboard of a body follow it, and the last of them: a body is inboard of
    another, or is it, where the other's number lies between the two."""
    n = len(parents)
    outboard = [1] * n  # itself and all outboard
    for k in range(n - 1, -1, -1):
        if parents[k] >= 0:
            outboard[parents[k]] += outboard[k]
    number, free = [0] * n, [0] * n
    roots = 0
    for k, p in enumerate(parents):
        number[k] = roots if p < 0 else free[p]
        if p < 0:
            roots += outboard[k]
        else:
            free[p] += outboard[k]
        free[k] = number[k] + 1
    return number, [first + size - 1 for first, size in zip(number, outboard)]


def outward_slots(parents: tuple[int, ...]) -> tuple[list[int], list[int], int]:
    """(own slot, parent's slot, how many slots) of values that children will read."""
    waiting = np.bincount([p for p in parents if p >= 0], minlength=len(parents)).tolist()
    own: list[int] = []
    of_parent: list[int] = []
    free: list[int] = []
    used = 2
    for k, p in enumerate(parents):
        of_parent.append(0 if p < 0 else own[p])
        if not waiting[k]:
            own.append(1)
        elif free:
            own.append(free.pop())
        else:
            own.append(used)
            used += 1
        if p >= 0:
            waiting[p] -= 1
            if not waiting[p]:
                free.append(own[p])
    return own, of_parent, used


def inward_slots(parents: tuple[int, ...]) -> tuple[list[int], list[int], list[int], int]:
    """(own slot, parent's slot, whether the first to add to it, how many slots) of sums over children."""
    n = len(parents)
    own, of_parent, first = [0] * n, [1] * n, [1] * n
    free: list[int] = []
    used = 2
    for k in range(n - 1, -1, -1):
        p = parents[k]
        if p >= 0:
            first[k] = int(own[p] == 0)
            if first[k]:
                if not free:
                    free.append(used)
                    used += 1
                own[p] = free.pop()
            of_parent[k] = own[p]
        if own[k]:
            free.append(own[k])
    return own, of_parent, first, used


def slot_counts(program: RolledProgram) -> tuple[int, int]:
    """How many slots sweeps have, outward and inward."""
    return outward_slots(program.parents)[2], inward_slots(program.parents)[3]


# --- memory ------------------------------------------------------------------------------------------


def pair_slots(program: RolledProgram, walk: Walk) -> int:
    """How many vectors of memory a walk needs."""
    return (len(program.parents) + 1) * len(walk.handed[0]) if in_memory(program, walk) else 0


def in_memory(program: RolledProgram, walk: Walk) -> bool:
    """Whether a walk keeps what it carries at every body: outward on trees, where it branches."""
    return walk.outward and not program.is_chain


def areas(program: RolledProgram) -> tuple[dict[str, int], int]:
    """(where the carries of each sweep and walk begin, where all end), in vectors from the start of the work area."""
    position = saved(program) * len(program.parents)
    outward, inward = slot_counts(program)
    found: dict[str, int] = {}
    for sweep in program.sweeps:
        found[f"area{sweep.index}"] = position
        position += (outward if sweep.outward else inward) * len(sweep.start)
    for loop in program.loops:
        for walk in loop.walks:
            found[f"walk{walk.index}"] = position
            position += pair_slots(program, walk)
    return found, position


def before_work(program: RolledProgram) -> int:
    """Vectors of memory from the outputs to the work area: these, and what bodies and unit vectors have."""
    factors = program.factors
    return program.all_held + factors.length * factors.width + factors.unit_vectors


def scratch_vectors(program: RolledProgram, lanes: int) -> int:
    """How many vectors of memory one run works in: inputs, outputs, and saved values and carries or, when those have
    served, what rows of matrices are made with."""
    moved = sum(program.signature.inputs.values()) + before_work(program)
    return moved + max(areas(program)[1], by_row(program, lanes)[-1])


def by_row(program: RolledProgram, lanes: int) -> tuple[int, int]:
    """(where lines to be written begin, where they end), in vectors from the start of the work area; first, there, are
    one state's numbers at the edges of blocks."""
    factors = program.factors
    if not factors.matrices:
        return 0, 0
    edges = -(-factors.edge_numbers // lanes)
    return edges, edges + 2 * (factors.bodies + 2)
