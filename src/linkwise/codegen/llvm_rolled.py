"""A rolled program as LLVM IR: one loop over the bodies per phase, SIMD over the batch as in unrolled code.

What differs from body to body stands in two tables that are handed over when the code is loaded, ``lw_integers``
(one row per body: its class, the slots it reads and writes, where its inputs and outputs lie) and ``lw_numbers``
(the constants of all bodies). Besides inputs and outputs a block of states uses memory for

* carries: what a body hands to its children or its parent. A slot is free again once it has been read, so that a
  chain needs two of them however long it is. Slot 0 is the world (or the empty sum), slot 1 is for nobody;
* saved values, per body, from one phase to later ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .llvm import driver_ir, identity_places, objects_ir, size_of, transpose_in, transpose_out
from .llvm_math import VectorType, declarations, sincos_ir
from .llvm_program import ProgramWriter
from .llvm_stream import NONTEMPORAL
from .rolled import RolledProgram, Sweep, Work
from .scalar import Scalar, reachable

CLASS, OUT_OWN, OUT_PARENT, IN_OWN, IN_PARENT, FIRST, NUMBERS, OUTPUT, INPUTS = range(9)


def rolled_ir(program: RolledProgram, t: VectorType) -> str:
    """The module's text."""
    signature = program.signature
    parts = [declarations([t]), sincos_ir(t)]
    parts += [f"@{name} = global ptr null" for name in ("lw_integers", "lw_numbers")]
    parts.append(f"@lw_scratch_bytes = constant i64 {_scratch(program) * t.lanes * t.size}\n{NONTEMPORAL}")
    parts += [transpose_in(t, n, k) for k, n in enumerate(signature.inputs.values())]
    start = 0
    for k, shape in enumerate(signature.shapes):
        parts += [identity_places(t, size_of(shape), k, start), transpose_out(t, size_of(shape), k)]
        start += size_of(shape)
    parts += [_block_ir(program, t), driver_ir(signature, t), objects_ir(signature, t)]
    return "\n".join(parts)


# --- tables ------------------------------------------------------------------------------------------


def tables(program: RolledProgram, model: Any) -> tuple[np.ndarray, np.ndarray]:
    """(integers (bodies, columns), numbers) of a robot."""
    names = list(program.signature.inputs)
    starts = np.concatenate(([0], np.cumsum(list(program.signature.inputs.values()))))
    out = np.zeros((len(program.parents), INPUTS + len(names)), dtype=np.int64)
    numbers: list[np.ndarray] = []
    position = 0
    for c, kind in enumerate(program.classes):
        for row, k in zip(kind.table, kind.members):
            out[k, CLASS], out[k, NUMBERS] = c, position
            numbers.append(row)
            position += len(row)
    for k, (q, v) in enumerate(zip(model.q_slices, model.v_slices)):
        out[k, OUTPUT] = v.start
        for j, name in enumerate(names):
            out[k, INPUTS + j] = starts[j] + (q.start if name == "q" else v.start)
    out[:, OUT_OWN], out[:, OUT_PARENT] = _outward_slots(program.parents)[:2]
    out[:, IN_OWN], out[:, IN_PARENT], out[:, FIRST] = _inward_slots(program.parents)[:3]
    return out, np.concatenate(numbers) if numbers else np.zeros(0)


def _outward_slots(parents: tuple[int, ...]) -> tuple[list[int], list[int], int]:
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


def _inward_slots(parents: tuple[int, ...]) -> tuple[list[int], list[int], list[int], int]:
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


# --- memory ------------------------------------------------------------------------------------------


def _saved(program: RolledProgram) -> int:
    """How many values a body saves."""
    return max((1 + place for works in program.phases for w in works for place in w.saves), default=0)


def _areas(program: RolledProgram) -> tuple[dict[int, int], int]:
    """(where each sweep's carries begin, where all end), in vectors from the start of the work area."""
    position = _saved(program) * len(program.parents)
    outward, inward = _outward_slots(program.parents)[2], _inward_slots(program.parents)[3]
    areas = {}
    for sweep in program.sweeps:
        areas[sweep.index] = position
        position += (outward if sweep.outward else inward) * len(sweep.start)
    return areas, position


def _scratch(program: RolledProgram) -> int:
    signature = program.signature
    moved = sum(signature.inputs.values()) + sum(map(size_of, signature.shapes))
    return moved + _areas(program)[1]


# --- code --------------------------------------------------------------------------------------------


def _block_ir(program: RolledProgram, t: VectorType) -> str:
    """``@lw_block(in, out)``: all phases for one block of states."""
    step = t.lanes * t.size
    outputs = sum(map(size_of, program.signature.shapes))
    areas, _ = _areas(program)
    lines = [
        "  %flag = alloca i1",
        "  store i1 false, ptr %flag",
        "  %integers = load ptr, ptr @lw_integers",
        "  %numbers = load ptr, ptr @lw_numbers",
        f"  %work = getelementptr i8, ptr %out, i64 {outputs * step}",
    ]
    for sweep in program.sweeps:
        lines.append(f"  %area{sweep.index} = getelementptr i8, ptr %work, i64 {areas[sweep.index] * step}")
        for i, value in enumerate(sweep.start):
            place = f"%start{sweep.index}_{i}"
            lines.append(f"  {place} = getelementptr i8, ptr %area{sweep.index}, i64 {i * step}")
            lines.append(f"  store {t.name} {t.splat(value)}, ptr {place}, align {t.alignment}")
    lines.append("  br label %phase0")
    for p in range(len(program.phases)):
        lines += _phase(program, p, t)
    lines += [f"phase{len(program.phases)}:", "  %bad = load i1, ptr %flag", "  ret i1 %bad"]
    body = "\n".join(lines)
    return f"define internal i1 @lw_block(ptr noalias %in, ptr noalias %out) {{\nentry:\n{body}\n}}\n"


def _phase(program: RolledProgram, p: int, t: VectorType) -> list[str]:
    """One loop over the bodies, with a branch for each class."""
    n, columns = len(program.parents), INPUTS + len(program.signature.inputs)
    outward = p % 2 == 0
    first, last, by = (0, n - 1, 1) if outward else (n - 1, 0, -1)
    works = program.phases[p]
    if not any(w.sinks for w in works):
        return [f"phase{p}:", f"  br label %phase{p + 1}"]
    before = f"phase{p}"
    lines = [
        f"phase{p}:",
        f"  br label %loop{p}",
        f"loop{p}:",
        f"  %k{p} = phi i64 [{first}, %{before}], [%next{p}, %latch{p}]",
        f"  %rowi{p} = mul i64 %k{p}, {columns}",
        f"  %row{p} = getelementptr i64, ptr %integers, i64 %rowi{p}",
        *_integer(f"%class{p}", p, CLASS),
    ]
    targets = " ".join(f"i64 {c}, label %p{p}c{c}" for c in range(1, len(works)))
    lines.append(f"  switch i64 %class{p}, label %p{p}c0 [{targets}]")
    for c, work in enumerate(works):
        lines += [f"p{p}c{c}:", *_Body(program, p, c, work, t).lines(), f"  br label %latch{p}"]
    return [
        *lines,
        f"latch{p}:",
        f"  %next{p} = add i64 %k{p}, {by}",
        f"  %end{p} = icmp eq i64 %k{p}, {last}",
        f"  br i1 %end{p}, label %phase{p + 1}, label %loop{p}",
    ]


def _integer(name: str, p: int, column: int) -> list[str]:
    return [f"  {name}p = getelementptr i64, ptr %row{p}, i64 {column}", f"  {name} = load i64, ptr {name}p"]


class _Body:
    """The code of one class in one phase."""

    def __init__(self, program: RolledProgram, p: int, c: int, work: Work, t: VectorType) -> None:
        self.program, self.p, self.c, self.work, self.t = program, p, c, work, t
        self.step = t.lanes * t.size
        self.tag = f"b{p}_{c}_"
        self.head: list[str] = []
        self.pointers: dict[str, str] = {}
        self.writer = ProgramWriter(t, self._load, prefix=self.tag)

    def lines(self) -> list[str]:
        work, writer = self.work, self.writer
        stores = self._stores()
        for node in reachable(work.sinks, stop=work.loads):
            if id(node) in work.loads:
                name = writer.names[id(node)] = f"%{self.tag}saved{work.loads[id(node)]}"
                writer.lines += self._read("saved", work.loads[id(node)], name)
            else:
                writer.node(node)
            for pointer, index, adds in stores.get(id(node), []):
                self._write(pointer, index, writer.value(node), adds)
        for pointer, index, adds, value in self._constants():
            self._write(pointer, index, self.t.splat(value), adds)
        if work.guards:
            bad = writer.require_positive([writer.value(x) for x in work.guards])
            writer.lines += [
                f"  %{self.tag}before = load i1, ptr %flag",
                f"  %{self.tag}after = or i1 %{self.tag}before, {bad}",
                f"  store i1 %{self.tag}after, ptr %flag",
            ]
        return [*self.head, *writer.lines]

    def _sinks(self) -> list[tuple[Any, str, int, bool]]:
        """(value, pointer, vectors from there, whether it is added) of everything this body writes."""
        out: list[tuple[Any, str, int, bool]] = []
        for sweep, slots in self.work.hands:
            pointer = f"to{sweep.index}"
            out += [(x, pointer, i, not sweep.outward) for i, x in enumerate(slots)]
        total = 0
        for i, shape in enumerate(self.program.signature.shapes):
            out += [(x, "output", total + j, False) for k, j, x in self.work.outputs if k == i]
            total += size_of(shape)
        return out + [(x, "saved", place, False) for place, x in self.work.saves.items()]

    def _stores(self) -> dict[int, list[tuple[str, int, bool]]]:
        found: dict[int, list[tuple[str, int, bool]]] = {}
        for value, pointer, index, adds in self._sinks():
            if isinstance(value, Scalar):
                found.setdefault(id(value), []).append((pointer, index, adds))
        return found

    def _constants(self) -> list[tuple[str, int, bool, float]]:
        return [(p, i, adds, float(x)) for x, p, i, adds in self._sinks() if not isinstance(x, Scalar)]

    # Memory: pointers are made at the head of the block when first asked for.

    def _pointer(self, what: str) -> str:
        if what not in self.pointers:
            name = self.pointers[what] = f"%{self.tag}{what.replace(':', '_')}"
            self.head += self._pointer_lines(what, name)
        return self.pointers[what]

    def _pointer_lines(self, what: str, name: str) -> list[str]:
        p, step = self.p, self.step
        if what == "saved":
            width = _saved(self.program) * step
            return [f"  {name}o = mul i64 %k{p}, {width}", f"  {name} = getelementptr i8, ptr %work, i64 {name}o"]
        if what == "numbers":
            return [
                *_integer(f"{name}i", p, NUMBERS),
                f"  {name} = getelementptr {self.t.scalar}, ptr %numbers, i64 {name}i",
            ]
        if what == "output":
            return [*_integer(f"{name}i", p, OUTPUT), *_offset(name, "%out", step)]
        if what.startswith("input:"):
            column = INPUTS + list(self.program.signature.inputs).index(what[6:])
            return [*_integer(f"{name}i", p, column), *_offset(name, "%in", step)]
        sweep = self._sweep(what)
        reads = what.startswith("from")
        column = (OUT_PARENT if reads else OUT_OWN) if sweep.outward else (IN_OWN if reads else IN_PARENT)
        return [*_integer(f"{name}i", p, column), *_offset(name, f"%area{sweep.index}", len(sweep.start) * step)]

    def _sweep(self, what: str) -> Sweep:
        index = int(what.removeprefix("from").removeprefix("to"))
        return next(s for s in self.program.sweeps if s.index == index)

    def _load(self, source: str, index: int, name: str) -> list[str]:
        if source.startswith("table:"):
            s = self.t.scalar
            pointer = self._pointer("numbers")
            lines = [f"  {name}p = getelementptr {s}, ptr {pointer}, i64 {index}", f"  {name}s = load {s}, ptr {name}p"]
            return lines + self.t.spread(f"{name}s", name)
        if source.startswith("carry:"):
            return self._read("from" + source[6:], index, name)
        return self._read(f"input:{source}", index - self.program.classes[self.c].starts[source], name)

    def _read(self, what: str, index: int, name: str) -> list[str]:
        place = f"  {name}p = getelementptr i8, ptr {self._pointer(what)}, i64 {index * self.step}"
        return [place, f"  {name} = load {self.t.name}, ptr {name}p, align {self.t.alignment}"]

    def _write(self, what: str, index: int, value: str, adds: bool) -> None:
        t, lines = self.t, self.writer.lines
        name = f"%{self.tag}{what}_{index}w"
        lines.append(f"  {name} = getelementptr i8, ptr {self._pointer(what)}, i64 {index * self.step}")
        if adds and not self.program.is_chain:
            lines += [
                f"  {name}old = load {t.name}, ptr {name}, align {t.alignment}",
                f"  {name}sum = fadd {t.name} {name}old, {value}",
                f"  {name}new = select i1 {self._first()}, {t.name} {value}, {t.name} {name}sum",
            ]
            value = f"{name}new"
        lines.append(f"  store {t.name} {value}, ptr {name}, align {t.alignment}")

    def _first(self) -> str:
        name = f"%{self.tag}first"
        if "first" not in self.pointers:
            self.pointers["first"] = name
            self.head += [*_integer(f"{name}i", self.p, FIRST), f"  {name} = icmp ne i64 {name}i, 0"]
        return name


def _offset(name: str, base: str, width: int) -> list[str]:
    return [f"  {name}o = mul i64 {name}i, {width}", f"  {name} = getelementptr i8, ptr {base}, i64 {name}o"]
