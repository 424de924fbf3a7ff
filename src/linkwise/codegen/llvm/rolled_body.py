"""The code of one class of bodies in a loop over bodies: what it loads, computes and stores.

A loop ``at`` has the body's number in ``%k{at}`` and its row of integers in ``%row{at}``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakMethod

from ...symbols.outputs import reachable
from ...symbols.scalar import Scalar
from ..rolled.tables import (
    CLASS,
    FIRST,
    IN_OWN,
    IN_PARENT,
    INPUTS,
    NUMBERS,
    OUT_OWN,
    OUT_PARENT,
    OUTPUT,
    PARENT,
    columns,
    first_body,
    saved,
)
from .sine_cosine import VectorType
from .straight_line import ProgramWriter

if TYPE_CHECKING:
    from ..rolled.program import RolledProgram
    from ..rolled.recorder import Sweep
    from ..rolled.work import Place, Work


def integer(name: str, at: str, column: int) -> list[str]:
    """A number of the body's row."""
    return [f"  {name}p = getelementptr i64, ptr %row{at}, i64 {column}", f"  {name} = load i64, ptr {name}p"]


def row_lines(program: RolledProgram, at: str) -> list[str]:
    """The body's row and class."""
    return [
        f"  %rowi{at} = mul i64 %k{at}, {columns(program)}",
        f"  %row{at} = getelementptr i64, ptr %integers, i64 %rowi{at}",
        *integer(f"%class{at}", at, CLASS),
    ]


_OF_ORIGINS = ("unit", "own_here", "own_there")


class BodyCode:
    """The code of one class in one loop; walks also know the loop of the body they come from, ``origin``.

    ``registers`` names the values that a walk carries, where it does so in registers.
    """

    def __init__(
        self,
        program: RolledProgram,
        at: str,
        c: int,
        work: Work,
        t: VectorType,
        origin: str = "",
        registers: Any = None,
        name: str = "",
    ) -> None:
        self.program, self.at, self.c, self.work, self.t, self.origin = program, at, c, work, t, origin
        self.registers = registers or {}
        self.step = t.lanes * t.size
        self.places = {place.name: place for place, *_ in work.outputs if place.columns}
        self.tag = f"b{name or at}_{c}_"
        self.head: list[str] = []
        self.within: list[str] = []  # the same of places that the walk's origin is part of
        self.pointers: dict[str, str] = {}
        load = WeakMethod(self._load)  # what this holds does not hold it
        self.writer = ProgramWriter(t, lambda *given: load()(*given), prefix=self.tag)  # type: ignore[misc]

    def lines(self) -> list[str]:
        before, within = self.parts()
        return [*before, *within]

    def parts(self) -> tuple[list[str], list[str]]:
        """(what depends on this body alone, what depends on what a walk carries to it)."""
        work, writer = self.work, self.writer
        before, within, walked = writer.lines, list[str](), set[int]()
        stores = self._stores()
        nodes = reachable(work.sinks, stop=work.loads)
        # What is read from where this body saves something comes first.
        nodes.sort(key=lambda node: work.loads.get(id(node)) not in work.saves)
        for node in nodes:
            is_walked = self._held(node) is not None or any(id(a) in walked for a in node.args)
            if id(node) not in work.loads and is_walked:
                walked.add(id(node))
            writer.lines = within if id(node) in walked else before
            if id(node) in work.loads:
                name = writer.names[id(node)] = f"%{self.tag}saved{work.loads[id(node)]}"
                writer.lines += self._read("saved", work.loads[id(node)], name)
            elif (held := self._held(node)) is not None:
                writer.names[id(node)] = held
            else:
                writer.node(node)
            for pointer, index, adds in stores.get(id(node), []):
                writer.lines = within if id(node) in walked or pointer in _OF_ORIGINS else before
                self._write(pointer, index, writer.value(node), adds)
        writer.lines = within
        for pointer, index, adds, value in self._constants():
            self._write(pointer, index, self.t.splat(value), adds)
        if work.guards:
            bad = writer.require(work.guards)
            writer.lines += [
                f"  %{self.tag}before = load i1, ptr %flag",
                f"  %{self.tag}after = or i1 %{self.tag}before, {bad}",
                f"  store i1 %{self.tag}after, ptr %flag",
            ]
        return [*self.head, *before], [*self.within, *within]

    def carried(self, walk: int) -> list[str]:
        """The values that a walk takes on from here, once the lines are written."""
        return [self.writer.value(x) for x in self.work.carries[walk]]

    def _held(self, node: Scalar) -> str | None:
        """The register of a value that a walk carries."""
        if node.op != "input" or not str(node.args[0]).startswith("pair:"):
            return None
        walk = int(node.args[0][5:])
        return self.registers[walk][node.args[1]] if walk in self.registers else None

    def _sinks(self) -> list[tuple[Any, str, int, bool]]:
        """(value, pointer, vectors from there, whether it is added) of everything this body writes."""
        out: list[tuple[Any, str, int, bool]] = []
        for sweep, slots in self.work.hands:
            out += [(x, f"to{sweep.index}", i, not sweep.outward) for i, x in enumerate(slots)]
        in_memory = {w: slots for w, slots in self.work.carries.items() if w not in self.registers}
        for walk, slots in [*in_memory.items(), *self.work.forks.items()]:
            out += [(x, f"walk{walk}", i, False) for i, x in enumerate(slots)]
        out += [(x, place.name, j, False) for place, j, x in self.work.outputs]
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
            lines = self._pointer_lines(what, name)
            if what in _OF_ORIGINS:
                self.within += lines
            else:
                self.head += lines
        return self.pointers[what]

    def _pointer_lines(self, what: str, name: str) -> list[str]:
        at, step = self.at, self.step
        if what == "saved":
            width = saved(self.program) * step
            return [f"  {name}o = mul i64 %k{at}, {width}", f"  {name} = getelementptr i8, ptr %work, i64 {name}o"]
        if what == "numbers":
            return [
                *integer(f"{name}i", at, NUMBERS),
                f"  {name} = getelementptr {self.t.scalar}, ptr %numbers, i64 {name}i",
            ]
        if what == "vector":
            return [*integer(f"{name}i", at, OUTPUT), *_offset(name, "%out", step)]
        if what in ("factor", "unit", "own_diagonal", "own_here", "own_there"):
            return self._factor_lines(what, name)
        if what in self.places:
            return self._block_lines(self.places[what], name)
        if what.startswith("walk"):
            width = len(self._slots(int(what[4:]))) * step
            return [f"  {name}i = add i64 %k{at}, 0", *_offset(name, f"%{what}", width)]
        if what.startswith("parent"):
            width = len(self._slots(int(what[6:]))) * step
            world = len(self.program.parents)
            return [
                *integer(f"{name}j", at, PARENT),
                f"  {name}w = icmp slt i64 {name}j, 0",
                f"  {name}i = select i1 {name}w, i64 {world}, i64 {name}j",
                *_offset(name, f"%walk{what[6:]}", width),
            ]
        if what.startswith("input:"):
            column = INPUTS + list(self.program.signature.inputs).index(what[6:])
            return [*integer(f"{name}i", at, column), *_offset(name, "%in", step)]
        sweep = self._sweep(what)
        reads = what.startswith("from")
        column = (OUT_PARENT if reads else OUT_OWN) if sweep.outward else (IN_OWN if reads else IN_PARENT)
        return [*integer(f"{name}i", at, column), *_offset(name, f"%area{sweep.index}", len(sweep.start) * step)]

    def _slots(self, walk: int) -> list[Any]:
        """What a walk carries, at any body."""
        return next(w.handed[0] for loop in self.program.loops for w in loop.walks if w.index == walk)

    def _block_lines(self, place: Place, name: str) -> list[str]:
        """Where a block of a matrix begins: in the rows of this body ("here") or of the walk's origin ("there")."""
        row = self.origin if place.where == "there" else self.at
        column = self.origin if place.where == "here" else self.at
        if place.width and self.program.nodes.is_grouped:
            first = integer(f"{name}c", column, first_body(self.program))
            across = [*first, f"  {name}b = mul i64 {name}c, {place.width}"]
        elif place.width:
            across = [f"  {name}b = mul i64 %k{column}, {place.width}"]
        else:
            across = integer(f"{name}b", column, OUTPUT)
        return [
            *integer(f"{name}a", row, OUTPUT),
            *across,
            f"  {name}r = mul i64 {name}a, {place.columns}",
            f"  {name}i = add i64 {name}r, {name}b",
            *_offset(name, "%out", self.step),
        ]

    def _factor_lines(self, what: str, name: str) -> list[str]:
        """What a body has for matrices; or, of a row of its own block, the column of the body on the other end."""
        factors, row = self.program.factors, self.origin if what == "own_there" else self.at
        lines = [f"  {name}i = mul i64 %k{row}, {factors.width}"]
        if what == "unit":
            lines += [f"  {name}j = add i64 {name}i, %k{self.origin}", *_offset(name, "%factors", self.step, "j")]
        elif what == "factor":
            lines += _offset(name, "%factors", self.step)
        else:
            column = self.origin if what == "own_here" else self.at
            lines += [
                f"  {name}c = urem i64 %k{column}, {factors.block}",
                f"  {name}d = add i64 {name}i, {name}c",
                f"  {name}j = add i64 {name}d, {len(factors.values)}",
                *_offset(name, "%factors", self.step, "j"),
            ]
        return lines

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
            return self._read("from" + source.split(":")[1], index, name)
        if source.startswith("pair:"):
            return self._read("parent" + source[5:], index, name)
        return self._read(f"input:{source}", index - self.program.classes[self.c].starts[source], name)

    def _read(self, what: str, index: int, name: str) -> list[str]:
        place = f"  {name}p = getelementptr i8, ptr {self._pointer(what)}, i64 {index * self.step}"
        return [place, f"  {name} = load {self.t.name}, ptr {name}p, align {self.t.alignment}"]

    def _write(self, what: str, index: int, value: str, adds: bool) -> None:
        t, lines = self.t, self.writer.lines
        name = f"%{self.tag}{what}_{index}w"
        lines.append(f"  {name} = getelementptr i8, ptr {self._pointer(what)}, i64 {index * self.step}")
        if adds and self.program.has_forks:
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
            self.head += [*integer(f"{name}i", self.at, FIRST), f"  {name} = icmp ne i64 {name}i, 0"]
        return name


def _offset(name: str, base: str, width: int, index: str = "i") -> list[str]:
    return [f"  {name}o = mul i64 {name}{index}, {width}", f"  {name} = getelementptr i8, ptr {base}, i64 {name}o"]
