"""Long straight-line code as several functions, one after another, that hand values on through memory.

LLVM takes more than twice as long for code of twice the length. In chunks, what a later chunk needs is stored once, in
a place that is free again after its last use; all else lives and dies in its chunk.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...symbols.operations import TRUTHS
from ...symbols.scalar import Scalar
from ..program.trace import Program
from ..thresholds import CHUNK
from .sine_cosine import ALIGNED_STACK, VectorType
from .straight_line import ProgramWriter

Load = Callable[[str, int, str], list[str]]


def chunked_block_ir(
    program: Program, t: VectorType, load: Load, results: Mapping[int, int], constants: Sequence[str]
) -> str:
    """``@lw_block(in, out)``, which calls one function for every so many values of the program.

    ``load`` brings inputs in, ``results`` says which values go where in ``out``, and ``constants`` are the lines that
    store what depends on nothing.
    """
    nodes = list(program.nodes)
    chunks = [nodes[i : i + CHUNK] for i in range(0, len(nodes), CHUNK)]
    guarded = [x for guard in program.guards for x in guard.nodes]
    handed, size = _handed_on([*chunks, guarded])
    writer = _ChunkWriter(t, load, results, handed)
    parts = [writer.function(i, chunk) for i, chunk in enumerate(chunks)]
    calls = [f"  call void @lw_chunk{i}(ptr %in, ptr %out, ptr %between)" for i in range(len(chunks))]
    last = ProgramWriter(t, load, "g")
    for x in guarded:
        writer.bring(last, x)
    bad = last.require(program.guards)
    room = f"  %between = alloca [{size * t.lanes} x {t.scalar}], align {t.alignment}"
    body = "\n".join([room, *constants, *calls, *last.lines])
    head = f"define internal i1 @lw_block(ptr noalias %in, ptr noalias %out) noinline {ALIGNED_STACK}"
    return "\n".join([*parts, f"{head} {{\n{body}\n  ret i1 {bad}\n}}\n"])


def _handed_on(chunks: Sequence[Sequence[Scalar]]) -> tuple[dict[int, int], int]:
    """By value that a later chunk uses, its place; and how many places there are. The last chunk is used up whole."""
    until: dict[int, int] = {}
    for i, chunk in enumerate(chunks):
        used = chunk if i == len(chunks) - 1 else [a for x in chunk for a in x.args if isinstance(a, Scalar)]
        until |= dict.fromkeys(map(id, used), i)
    places: dict[int, int] = {}
    free: list[int] = []
    read_last: dict[int, list[int]] = {}  # places by the chunk in which they are
    size = 0
    for i, chunk in enumerate(chunks[:-1]):
        for place in read_last.pop(i - 1, []):
            heapq.heappush(free, place)
        for x in chunk:
            if until.get(id(x), i) > i and x.op != "input":
                place = heapq.heappop(free) if free else size
                size = max(size, place + 1)
                places[id(x)] = place
                read_last.setdefault(until[id(x)], []).append(place)
    return places, size


@dataclass(frozen=True)
class _ChunkWriter:
    t: VectorType
    load: Load
    results: Mapping[int, int]
    handed: Mapping[int, int]

    def function(self, i: int, chunk: Sequence[Scalar]) -> str:
        writer = ProgramWriter(self.t, self.load)
        for x in chunk:
            for a in x.args:
                self.bring(writer, a)
            writer.node(x)
            if id(x) in self.results:
                self._store(writer, x, "out", self.results[id(x)])
            if id(x) in self.handed:
                self._store(writer, x, "between", self.handed[id(x)])
        body = "\n".join(writer.lines)
        arguments = "ptr noalias %in, ptr noalias %out, ptr noalias %between"
        return f"define internal void @lw_chunk{i}({arguments}) noinline {ALIGNED_STACK} {{\n{body}\n  ret void\n}}\n"

    def bring(self, writer: ProgramWriter, x: Any) -> None:
        """A value of an earlier chunk, or an input, where it is not there yet."""
        if not isinstance(x, Scalar) or id(x) in writer.names:
            return
        if x.op == "input":
            writer.node(x)
            return
        name = writer.names[id(x)] = f"%{writer.prefix}h{len(writer.names)}"
        number = f"{name}n" if x.op in TRUTHS else name
        writer.lines += [
            f"  {name}p = getelementptr i8, ptr %between, i64 {self.handed[id(x)] * self.t.lanes * self.t.size}",
            f"  {number} = load {self.t.name}, ptr {name}p, align {self.t.alignment}",
        ]
        if x.op in TRUTHS:
            writer.lines.append(f"  {name} = fcmp one {self.t.name} {number}, {self.t.splat(0.0)}")

    def _store(self, writer: ProgramWriter, x: Scalar, to: str, place: int) -> None:
        name = number = writer.value(x)
        if x.op in TRUTHS:  # handed on as 1 or 0
            number = f"{name}n"
            chosen = f"{self.t.name} {self.t.splat(1.0)}, {self.t.name} {self.t.splat(0.0)}"
            writer.lines.append(f"  {number} = select {self.t.mask} {name}, {chosen}")
        writer.lines += [
            f"  {name}{to} = getelementptr i8, ptr %{to}, i64 {place * self.t.lanes * self.t.size}",
            f"  store {self.t.name} {number}, ptr {name}{to}, align {self.t.alignment}",
        ]
