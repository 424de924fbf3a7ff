"""Long straight-line code as several functions, one after another, that hand values on through memory.

How a program is cut, and where in the frame what is handed on stands, is decided in :mod:`..program.pieces`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...symbols.operations import TRUTHS
from ...symbols.scalar import Scalar
from ..program.pieces import Pieces, pieces
from ..program.trace import Program
from .sine_cosine import ALIGNED_STACK, VectorType
from .straight_line import ProgramWriter

Load = Callable[[str, int, str], list[str]]


def block_in_pieces(
    program: Program, t: VectorType, load: Load, results: Mapping[int, int], constants: Sequence[str], frame: int
) -> str:
    """``@lw_block(in, out)``, which calls the pieces of the program one after another.

    ``load`` brings inputs in, ``results`` says which values go where in ``out``, and ``constants`` are the lines that
    store what depends on nothing; the frame begins ``frame`` vectors behind ``out``.
    """
    cut = pieces(program)
    writer = _PieceWriter(t, load, results, cut, program.fused)
    parts = [writer.function(i, part) for i, part in enumerate(cut.parts)]
    calls = [f"  call void @lw_piece{i}(ptr %in, ptr %out, ptr %frame)" for i in range(len(parts))]
    last = ProgramWriter(t, load, "g")
    for x in cut.guarded:
        writer.bring(last, x)
    bad = last.require(program.guards)
    room = f"  %frame = getelementptr i8, ptr %out, i64 {frame * t.lanes * t.size}"
    body = "\n".join([room, *constants, *calls, *last.lines])
    head = f"define internal i1 @lw_block(ptr noalias %in, ptr %out) noinline {ALIGNED_STACK}"
    return "\n".join([*parts, f"{head} {{\n{body}\n  ret i1 {bad}\n}}\n"])


@dataclass(frozen=True)
class _PieceWriter:
    t: VectorType
    load: Load
    results: Mapping[int, int]
    cut: Pieces
    fused: Mapping[int, int]

    def function(self, i: int, part: Sequence[Scalar]) -> str:
        writer = ProgramWriter(self.t, self.load, fused=self.fused)
        for x in part:
            for a in writer.operands(x):
                self.bring(writer, a)
            if x.op != "input":  # which are read where they are used
                writer.node(x)
            if id(x) in self.results:
                self.bring(writer, x)
                self._store(writer, x, "out", self.results[id(x)])
            if id(x) in self.cut.slots:
                self._store(writer, x, "frame", self.cut.slots[id(x)])
        body = "\n".join(writer.lines)
        arguments = "ptr noalias %in, ptr noalias %out, ptr noalias %frame"
        return f"define internal void @lw_piece{i}({arguments}) noinline {ALIGNED_STACK} {{\n{body}\n  ret void\n}}\n"

    def bring(self, writer: ProgramWriter, x: Any) -> None:
        """A value of an earlier piece, or an input, where it is not there yet."""
        if not isinstance(x, Scalar) or id(x) in writer.names:
            return
        if x.op == "input":
            writer.node(x)
            return
        name = writer.names[id(x)] = f"%{writer.prefix}h{len(writer.names)}"
        number = f"{name}n" if x.op in TRUTHS else name
        writer.lines += [
            f"  {name}p = getelementptr i8, ptr %frame, i64 {self.cut.slots[id(x)] * self.t.lanes * self.t.size}",
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
