"""Walks from each body as LLVM IR: loops within a loop over the bodies they start from.

What a walk carries stays in registers, but for outward walks on trees, which branch: those keep it in memory at every
body, ``%walk{index}``, with a place for the world after the last body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..rolled.tables import LAST_OUTBOARD, NUMBER_FROM_BASE, PARENT, in_memory
from .rolled_body import BodyCode, integer, row_lines
from .sine_cosine import VectorType

if TYPE_CHECKING:
    from ..rolled.plan import PlannedLoop
    from ..rolled.program import RolledProgram

Registers = dict[int, list[str]]


def pair_loop(program: RolledProgram, i: int, loop: PlannedLoop, t: VectorType) -> list[str]:
    """One loop over bodies that start walks. It begins in the block before it and ends in an open block of its own."""
    at, n = f"x{i}", len(program.parents)
    lines = [*_nothing_at_world(program, loop, t), f"  br label %{at}before", f"{at}before:", f"  br label %{at}loop"]
    lines += [f"{at}loop:", f"  %k{at} = phi i64 [0, %{at}before], [%next{at}, %{at}latch]", *row_lines(program, at)]
    targets = " ".join(f"i64 {c}, label %{at}c{c}" for c in loop.origins)
    lines.append(f"  switch i64 %class{at}, label %{at}latch [{targets}]")
    registers, begun = _begin(program, at, loop, t)
    lines += begun
    for w, walk in enumerate(loop.walks):
        steps = _Steps(program, at, f"{at}w{w}", loop, w, t, registers.get(walk.index, []))
        lines += steps.outward_lines() if walk.outward else steps.inward_lines()
    return [
        *lines,
        f"  br label %{at}latch",
        f"{at}latch:",
        f"  %next{at} = add i64 %k{at}, 1",
        f"  %end{at} = icmp eq i64 %next{at}, {n}",
        f"  br i1 %end{at}, label %{at}after, label %{at}loop",
        f"{at}after:",
    ]


def _nothing_at_world(program: RolledProgram, loop: PlannedLoop, t: VectorType) -> list[str]:
    """Walks in memory find nothing at the world."""
    lines, step = [], t.lanes * t.size
    for walk in loop.walks:
        width = len(walk.handed[0])
        if in_memory(program, walk):
            for i in range(width):
                name, place = f"%world{walk.index}_{i}", (len(program.parents) * width + i) * step
                lines.append(f"  {name} = getelementptr i8, ptr %walk{walk.index}, i64 {place}")
                lines.append(f"  store {t.name} {t.splat(0.0)}, ptr {name}, align {t.alignment}")
    return lines


def _begin(program: RolledProgram, at: str, loop: PlannedLoop, t: VectorType) -> tuple[Registers, list[str]]:
    """(what each walk carries first, in registers; the code of each class that starts)."""
    held: Registers = {w.index: [] for w in loop.walks if not in_memory(program, w)}
    values: dict[int, dict[int, list[str]]] = {walk: {} for walk in held}
    lines = []
    for c, work in loop.begin.items():
        body = BodyCode(program, at, c, work, t, origin=at, registers=held)
        lines += [f"{at}c{c}:", *body.lines(), f"  br label %{at}begun"]
        for walk in held:
            values[walk][c] = body.carried(walk)
    lines.append(f"{at}begun:")
    registers: Registers = {}
    for walk, found in values.items():
        registers[walk] = [f"%{at}first{walk}_{i}" for i in range(len(next(iter(found.values()))))]
        for i, name in enumerate(registers[walk]):
            sources = ", ".join(f"[{x[i]}, %{at}c{c}]" for c, x in found.items())
            lines.append(f"  {name} = phi {t.name} {sources}")
    return registers, lines


class _Steps:
    """The loop of one walk: over the bodies inboard of the origin, or over all that are not."""

    def __init__(
        self, program: RolledProgram, origin: str, at: str, loop: PlannedLoop, w: int, t: VectorType, first: list[str]
    ) -> None:
        self.program, self.origin, self.at, self.t = program, origin, at, t
        self.walk, self.works, self.first = loop.walks[w], loop.steps[w], first
        self.now = [f"%{at}now{i}" for i in range(len(first))]

    def inward_lines(self) -> list[str]:
        """From the origin's parent to the base."""
        at = self.at
        return [
            f"  br label %{at}start",
            f"{at}start:",
            *integer(f"%{at}first", self.origin, PARENT),
            f"  %{at}none = icmp slt i64 %{at}first, 0",
            f"  br i1 %{at}none, label %{at}done, label %{at}loop",
            *self._loop_head(f"%{at}first"),
            *self._classes(),
            f"{at}latch:",
            *self._taken_on(),
            *integer(f"%{at}following", at, PARENT),
            f"  %{at}end = icmp slt i64 %{at}following, 0",
            f"  br i1 %{at}end, label %{at}done, label %{at}loop",
            f"{at}done:",
        ]

    def outward_lines(self) -> list[str]:
        """On a chain from the body after the origin to the tip; on a tree over all that are not inboard."""
        at, n, chain = self.at, len(self.program.parents), self.program.is_chain
        first = [f"  %{at}first = add i64 %k{self.origin}, 1"] if chain else [f"  %{at}first = add i64 0, 0"]
        return [
            f"  br label %{at}start",
            f"{at}start:",
            *first,
            f"  %{at}none = icmp eq i64 %{at}first, {n}",
            f"  br i1 %{at}none, label %{at}done, label %{at}loop",
            *self._loop_head(f"%{at}first"),
            *([] if chain else self._unless_inboard()),
            *self._classes(),
            f"{at}latch:",
            *self._taken_on(),
            f"  %{at}following = add i64 %k{at}, 1",
            f"  %{at}end = icmp eq i64 %{at}following, {n}",
            f"  br i1 %{at}end, label %{at}done, label %{at}loop",
            f"{at}done:",
        ]

    def _loop_head(self, first: str) -> list[str]:
        at, v = self.at, self.t.name
        lines = [f"{at}loop:", f"  %k{at} = phi i64 [{first}, %{at}start], [%{at}following, %{at}latch]"]
        for i, (now, start) in enumerate(zip(self.now, self.first)):
            lines.append(f"  {now} = phi {v} [{start}, %{at}start], [%{at}then{i}, %{at}latch]")
        return [*lines, *row_lines(self.program, at)]

    def _unless_inboard(self) -> list[str]:
        """Bodies inboard of the origin, and itself, are left out: the origin's number lies among theirs."""
        at, origin = self.at, self.origin
        return [
            *integer(f"%{at}own", origin, NUMBER_FROM_BASE),
            *integer(f"%{at}from", at, NUMBER_FROM_BASE),
            *integer(f"%{at}to", at, LAST_OUTBOARD),
            f"  %{at}after = icmp sge i64 %{at}own, %{at}from",
            f"  %{at}before = icmp sle i64 %{at}own, %{at}to",
            f"  %{at}inboard = and i1 %{at}after, %{at}before",
            f"  br i1 %{at}inboard, label %{at}latch, label %{at}choose",
            f"{at}choose:",
        ]

    def _classes(self) -> list[str]:
        at = self.at
        targets = " ".join(f"i64 {c}, label %{at}c{c}" for c in range(1, len(self.works)))
        lines = [f"  switch i64 %class{at}, label %{at}c0 [{targets}]"]
        self.then: list[list[str]] = []
        registers = {self.walk.index: self.now} if self.now else {}
        for c, work in enumerate(self.works):
            body = BodyCode(self.program, at, c, work, self.t, origin=self.origin, registers=registers)
            lines += [f"{at}c{c}:", *body.lines(), f"  br label %{at}latch"]
            self.then.append(body.carried(self.walk.index) if self.now else [])
        return lines

    def _taken_on(self) -> list[str]:
        """What the walk carries on, from whichever class it came to."""
        lines = []
        for i in range(len(self.now)):
            sources = ", ".join(f"[{values[i]}, %{self.at}c{c}]" for c, values in enumerate(self.then))
            lines.append(f"  %{self.at}then{i} = phi {self.t.name} {sources}")
        return lines
