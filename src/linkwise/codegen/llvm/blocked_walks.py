"""Walks in blocks as LLVM IR: all that come to a body take their step there, those of bodies of its block and those of
unit vectors.

What walks carry lies in memory, that of bodies among their factors and that of unit vectors in the rows of Ψ. So at the
end of a block it is what the edges of blocks need (:mod:`.block_edges`); and the steps of one body, which do not wait
for each other, share what they read of the body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .rolled_body import BodyCode, row_lines
from .sine_cosine import VectorType

if TYPE_CHECKING:
    from ..rolled.blocks import BlockedWalk
    from ..rolled.program import RolledProgram
    from ..rolled.work import Work


def blocked_walks(program: RolledProgram, t: VectorType) -> list[str]:
    """All of them. They begin in the block before and end in an open block of their own."""
    lines, start = [], 0
    for w, walk in enumerate(program.factors.walks):
        lines += _walk(program, f"w{w}", walk, start, t)
        start += program.factors.blocks * walk.unit_vectors
    return lines


def _walk(program: RolledProgram, at: str, walk: BlockedWalk, start: int, t: VectorType) -> list[str]:
    """Over the bodies in the direction of the walk; what units have begins ``start`` vectors in."""
    n, block, slots, outward = program.factors.bodies, program.factors.block, len(walk.slots), walk.walk.outward
    first, last, by = (0, n - 1, 1) if outward else (n - 1, 0, -1)
    lines = [
        f"  br label %{at}before",
        f"{at}before:",
        f"  br label %{at}loop",
        f"{at}loop:",
        f"  %k{at} = phi i64 [{first}, %{at}before], [%next{at}, %{at}latch]",
        *row_lines(program, at),
        f"  %{at}in_block = urem i64 %k{at}, {block}",
        f"  %{at}b = udiv i64 %k{at}, {block}",
        f"  %{at}start_of = sub i64 %k{at}, %{at}in_block",
    ]
    if outward:
        lines += [
            f"  %{at}first = add i64 %{at}start_of, 0",
            f"  %{at}count = add i64 %{at}in_block, 0",
            f"  %{at}begins = icmp eq i64 %{at}in_block, 0",
        ]
    else:
        lines += [
            f"  %{at}full = add i64 %{at}start_of, {block}",
            f"  %{at}beyond = icmp ugt i64 %{at}full, {n}",
            f"  %{at}end_of = select i1 %{at}beyond, i64 {n}, i64 %{at}full",
            f"  %{at}first = add i64 %k{at}, 1",
            f"  %{at}count = sub i64 %{at}end_of, %{at}first",
            f"  %{at}begins = icmp eq i64 %{at}count, 0",
        ]
    lines += [
        f"  %{at}units_by = mul i64 %{at}b, {walk.unit_vectors * t.alignment}",
        f"  %{at}units_at = getelementptr i8, ptr %units, i64 {start * t.alignment}",
        f"  %{at}units = getelementptr i8, ptr %{at}units_at, i64 %{at}units_by",
        f"  br i1 %{at}begins, label %{at}begin, label %{at}go",
        f"{at}begin:",
    ]
    for i in range(slots * slots):
        value = t.splat(1.0 if i // slots == i % slots else 0.0)
        lines += [
            f"  %{at}unit{i} = getelementptr i8, ptr %{at}units, i64 {i * t.alignment}",
            f"  store {t.name} {value}, ptr %{at}unit{i}, align {t.alignment}",
        ]
    targets = " ".join(f"i64 {c}, label %{at}c{c}" for c in range(1, len(walk.steps)))
    lines += [f"  br label %{at}go", f"{at}go:", f"  switch i64 %class{at}, label %{at}c0 [{targets}]"]
    for c in range(len(walk.steps)):
        lines += [
            f"{at}c{c}:",
            *_of_bodies(program, at, c, walk, t),
            *_of_units(program, at, c, walk, t),
            f"  br label %{at}latch",
        ]
    return [
        *lines,
        f"{at}latch:",
        f"  %next{at} = add i64 %k{at}, {by}",
        f"  %{at}all = icmp eq i64 %k{at}, {last}",
        f"  br i1 %{at}all, label %{at}after, label %{at}loop",
        f"{at}after:",
    ]


def _of_bodies(program: RolledProgram, at: str, c: int, walk: BlockedWalk, t: VectorType) -> list[str]:
    """The steps of walks that began in this block."""
    name = f"{at}o{c}"
    where = [
        f"  %k{name} = add i64 %{at}first, %{name}i",
        f"  %{name}by = mul i64 %k{name}, {program.factors.width * t.alignment}",
        f"  %{name}body = getelementptr i8, ptr %factors, i64 %{name}by",
        f"  %{name}carried = getelementptr i8, ptr %{name}body, i64 {walk.first * t.alignment}",
    ]
    every = list(range(len(walk.slots)))
    return _steps(program, at, name, c, walk, walk.steps[c], every, where, f"%{at}count", t)


def _of_units(program: RolledProgram, at: str, c: int, walk: BlockedWalk, t: VectorType) -> list[str]:
    """The steps of unit vectors, which are numbered by the slot in which they were sent."""
    name, changing = f"{at}u{c}", walk.changing
    if not changing:
        return []
    where = [
        f"  %k{name} = add i64 {changing[0]}, %{name}i",
        f"  %{name}by = mul i64 %k{name}, {len(walk.slots) * t.alignment}",
        f"  %{name}carried = getelementptr i8, ptr %{at}units, i64 %{name}by",
    ]
    count = str(changing[-1] - changing[0] + 1)
    return _steps(program, at, name, c, walk, walk.units[c], changing, where, count, t)


def _steps(
    program: RolledProgram,
    at: str,
    name: str,
    c: int,
    walk: BlockedWalk,
    work: Work,
    changing: list[int],
    where: list[str],
    count: str,
    t: VectorType,
) -> list[str]:
    """``count`` steps at one body; ``where`` says where a step finds what is carried, and leaves it."""
    index, slots = walk.walk.index, range(len(walk.slots))
    registers = [f"%{name}x{i}" for i in slots]
    body = BodyCode(program, at, c, work, t, origin=name, registers={index: registers}, name=name)
    before, step = body.parts()
    then = body.carried(index)
    lines = [
        *before,
        f"  br label %{name}start",
        f"{name}start:",
        f"  %{name}none = icmp eq i64 {count}, 0",
        f"  br i1 %{name}none, label %{name}done, label %{name}loop",
        f"{name}loop:",
        f"  %{name}i = phi i64 [0, %{name}start], [%{name}next, %{name}loop]",
        *where,
    ]
    for i in slots:
        lines += [
            f"  {registers[i]}p = getelementptr i8, ptr %{name}carried, i64 {i * t.alignment}",
            f"  {registers[i]} = load {t.name}, ptr {registers[i]}p, align {t.alignment}",
        ]
    lines += step
    lines += [f"  store {t.name} {then[i]}, ptr {registers[i]}p, align {t.alignment}" for i in changing]
    return [
        *lines,
        f"  %{name}next = add i64 %{name}i, 1",
        f"  %{name}more = icmp ult i64 %{name}next, {count}",
        f"  br i1 %{name}more, label %{name}loop, label %{name}done",
        f"{name}done:",
    ]
