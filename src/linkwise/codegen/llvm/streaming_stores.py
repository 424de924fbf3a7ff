"""Large outputs written past the caches.

A store to memory that is not in the cache first reads the line it is part of; a non-temporal store of a whole,
aligned line does not. An output of many states that is larger than the cache is therefore written line by line. Rows
of neighbouring states follow each other without gaps, so that lane s's row begins (b + s n) numbers past a line's
beginning, where b is where the array begins, and blocks with it. A line that lies across two of the transposed tiles is
put together from both, and so is a line in which one row ends and the next begins; what does not fill a line at a
block's ends is stored the usual way. (Each such store waits for its line to be read.) Where all rows are of whole
lines and the first begins with one, as results do that linkwise makes, tiles are written as they are (𝓜 of 32 degrees
of freedom, 4,096 states: 180 → 149 ns in float64, 112 → 86 ns in float32).

Processors with vectors of 64 bytes have an instruction that takes any numbers of two vectors, so that b is found when
the code runs (:class:`_FoundLeads`). For others there is a version for each b that allocators give (:data:`STARTS`),
and an array that begins elsewhere is written the usual way.
"""

from __future__ import annotations

from math import gcd

from ..thresholds import ROWS_AT_A_PLACE, STREAMED_VECTORS
from .sine_cosine import ALIGNED_STACK, VectorType
from .tiles import tile_of_places

_PAGE = 4096  # bytes after which lines have the same places in the first cache
STARTS = (0, 16)  # bytes past a line: what malloc gives, where lines are 32 bytes


def streaming_head(t: VectorType) -> str:
    """What a module that writes past the caches declares, once."""
    declared = f"declare {t.name} {_permute(t)}({t.name}, {t.wide(f'i{t.bits}')}, {t.name})"
    return "!0 = !{i32 1}" + (f"\n{declared}" if t.alignment == 64 else "")


def is_streamed(n: int, t: VectorType) -> bool:
    """Whether an output of n numbers a state is long enough for this to pay."""
    return t.lanes > 1 and n >= STREAMED_VECTORS * t.lanes


def crowds(n: int, t: VectorType) -> bool:
    """Whether so many rows of a block begin at the same place of a page that the first cache cannot hold them all.

    A line that two tiles write a part of is then gone in between, and is fetched again.
    """
    places = _PAGE // gcd(n * t.size, _PAGE)
    return t.lanes > ROWS_AT_A_PLACE * places


def _starts(t: VectorType) -> list[int]:
    """The same in numbers, for lines of this type."""
    return sorted({start % (t.lanes * t.size) // t.size for start in STARTS})


def stream_ir(t: VectorType, n: int, k: int) -> str:
    """``i1 @lw_stream{k}(dst, src)``: a full block of states to contiguous memory; whether it begins where it must."""
    if t.alignment == 64:
        head = f"define internal i1 @lw_stream{k}(ptr %dst, ptr %src) {ALIGNED_STACK}"
        found = f"{_body(t, n, k, _FoundLeads(t, n))}\n  ret i1 true"
        return f"{head} {{\n{_whole_lines(t, n, k)}entry:\n{found}\n}}\n"
    starts = _starts(t)
    versions = "\n".join(_version(t, n, k, b) for b in starts)
    cases = " ".join(f"i64 {b * t.size}, label %b{b}" for b in starts)
    calls = "\n".join(f"b{b}:\n  call void @lw_stream{k}_{b}(ptr %dst, ptr %src)\n  ret i1 true" for b in starts)
    return f"""{versions}
define internal i1 @lw_stream{k}(ptr %dst, ptr %src) {{
entry:
  %address = ptrtoint ptr %dst to i64
  %past_line = and i64 %address, {t.lanes * t.size - 1}
  switch i64 %past_line, label %elsewhere [{cases}]
{calls}
elsewhere:
  ret i1 false
}}
"""


def _whole_lines(t: VectorType, n: int, k: int) -> str:
    """What is looked at first where a row fills whole lines: whether the block begins with one, to be written so."""
    if n % t.lanes:
        return ""
    rows, made = tile_of_places(t, k, "w", "%wc", t.lanes)
    for s, row in enumerate(rows):
        made.append(f"  %wrow{s} = getelementptr {t.scalar}, ptr %dst, i64 {s * n}")
        made += _line(t, row, f"%wrow{s}", "%wc", f"w{s}")
    return f"""before:
  %where = ptrtoint ptr %dst to i64
  %past_line = and i64 %where, {t.alignment - 1}
  %begins = icmp eq i64 %past_line, 0
  br i1 %begins, label %whole, label %entry
whole:
  %wc = phi i64 [0, %before], [%wc_next, %whole]
{chr(10).join(made)}
  %wc_next = add i64 %wc, {t.lanes}
  %wmore = icmp ult i64 %wc_next, {n}
  br i1 %wmore, label %whole, label %written
written:
  ret i1 true
"""


def _version(t: VectorType, n: int, k: int, b: int) -> str:
    """The code for a block that begins b numbers past a line's beginning."""
    body = _body(t, n, k, _KnownLeads(t, n, b))
    head = f"define internal void @lw_stream{k}_{b}(ptr %dst, ptr %src) {ALIGNED_STACK}"
    return f"{head} {{\nentry:\n{body}\n  ret void\n}}"


def _body(t: VectorType, n: int, k: int, leads: _KnownLeads | _FoundLeads) -> str:
    """All lines of a block, with the numbers before each row's first whole line as they are known or found."""
    tiles, rest = divmod(n, t.lanes)
    lines = [f"  %row{s} = getelementptr {t.scalar}, ptr %dst, i64 {s * n}" for s in range(t.lanes)]
    lines += leads.head()
    first, made = tile_of_places(t, k, "f", "0", t.lanes)
    lines += [*made, *leads.before(0, first[0])]
    lines += ["  br label %loop", "loop:"]
    lines.append(f"  %c = phi i64 [{t.lanes}, %entry], [%c_next, %loop]")
    lines += [f"  %prev{s} = phi {t.name} [{first[s]}, %entry], [%cur{s}, %loop]" for s in range(t.lanes)]
    current, made = tile_of_places(t, k, "l", "%c", t.lanes)
    lines += made
    lines += [f"  %cur{s} = {_same(t, x)}" for s, x in enumerate(current)]
    for s in range(t.lanes):
        lines.append(f"  %c_{s} = add i64 %c, {leads.less(s)}")
        lines += leads.joined(s, f"%prev{s}", f"%cur{s}", f"%i{s}v")
        lines += _line(t, f"%i{s}v", f"%row{s}", f"%c_{s}", f"i{s}")
    lines += [f"  %c_next = add i64 %c, {t.lanes}", f"  %more = icmp ult i64 %c_next, {tiles * t.lanes}"]
    lines += ["  br i1 %more, label %loop, label %tail", "tail:"]
    values = ["zeroinitializer"] * t.lanes
    if rest:
        values, made = tile_of_places(t, k, "t", str(tiles * t.lanes), rest)
        lines += made
    last = [f"%cur{s}" for s in range(t.lanes)]
    if rest:
        last, made = tile_of_places(t, k, "g", str(n - t.lanes), t.lanes)
        lines += made
    for s in range(t.lanes):
        lines += leads.end(s, tiles, rest, values[s])
        if s + 1 < t.lanes:
            lines.append(f"  %b{s}at = add i64 {n}, {leads.less(s + 1)}")
            lines += leads.joined(s + 1, last[s], first[s + 1], f"%b{s}v")
            lines += _line(t, f"%b{s}v", f"%row{s}", f"%b{s}at", f"b{s}")
    lines += leads.after(tiles, rest, values[-1])
    return "\n".join(lines)


class _KnownLeads:
    """How many numbers each row has before its first whole line, where it is known in which place the block begins."""

    def __init__(self, t: VectorType, n: int, b: int) -> None:
        self.t, self.leads = t, [-(b + s * n) % t.lanes for s in range(t.lanes)]

    def head(self) -> list[str]:
        return []

    def less(self, s: int) -> str:
        """From the first column of a tile to where its line begins that ends in it."""
        return str(self.leads[s] - self.t.lanes)

    def before(self, s: int, first: str) -> list[str]:
        """What a row has before its first whole line."""
        lead = self.leads[s]
        return _masked(self.t, first, f"%row{s}", "0", _up_to(self.t, lead), f"a{s}") if lead else []

    def joined(self, s: int, low: str, high: str, name: str) -> list[str]:
        """A line of row s from two tiles."""
        picks = ", ".join(f"i32 {self.leads[s] + i}" for i in range(self.t.lanes))
        v = self.t.name
        return [f"  {name} = shufflevector {v} {low}, {v} {high}, <{self.t.lanes} x i32> <{picks}>"]

    def end(self, s: int, tiles: int, rest: int, values: str) -> list[str]:
        """The last whole line of row s, where there is one that the loop has not written."""
        lead = self.leads[s]
        if lead > rest:
            return []
        start = str(lead + (tiles - 1) * self.t.lanes)
        return [*self.joined(s, f"%cur{s}", values, f"%e{s}v"), *_line(self.t, f"%e{s}v", f"%row{s}", start, f"e{s}")]

    def after(self, tiles: int, rest: int, values: str) -> list[str]:
        """What the last row has after its last whole line."""
        t, s = self.t, self.t.lanes - 1
        left, cur = rest - self.leads[s], f"%cur{s}"
        if not left:
            return []
        low, high = (values, "zeroinitializer") if left > 0 else (cur, values)
        start = self.leads[s] + (tiles - (left < 0)) * t.lanes
        return [
            *self.joined(s, low, high, "%zv"),
            *_masked(t, "%zv", f"%row{s}", str(start), _up_to(t, left % t.lanes), "z"),
        ]


class _FoundLeads:
    """The same where it is found when the code runs, for vectors of 64 bytes."""

    def __init__(self, t: VectorType, n: int) -> None:
        self.t, self.n = t, n
        self.places = t.wide(f"i{t.bits}")
        self.numbers = "<" + ", ".join(f"i{t.bits} {i}" for i in range(t.lanes)) + ">"

    def head(self) -> list[str]:
        t = self.t
        lines = ["  %address = ptrtoint ptr %dst to i64", f"  %b = udiv i64 %address, {t.size}"]
        for s in range(t.lanes):
            lines += [
                f"  %ahead{s} = sub i64 {-s * self.n}, %b",
                f"  %lead{s} = and i64 %ahead{s}, {t.lanes - 1}",
                f"  %less{s} = sub i64 %lead{s}, {t.lanes}",
                f"  %short{s} = trunc i64 %lead{s} to i32" if t.bits == 32 else f"  %short{s} = add i64 %lead{s}, 0",
                *self._spread(f"%short{s}", f"%leads{s}"),
                f"  %picks{s} = add {self.places} %leads{s}, {self.numbers}",
            ]
        return lines

    def less(self, s: int) -> str:
        return f"%less{s}"

    def before(self, s: int, first: str) -> list[str]:
        mask = f"  %before{s} = icmp ult {self.places} {self.numbers}, %leads{s}"
        return [mask, *_masked(self.t, first, f"%row{s}", "0", f"{self.t.mask} %before{s}", f"a{s}")]

    def joined(self, s: int, low: str, high: str, name: str) -> list[str]:
        v = self.t.name
        return [f"  {name} = call {v} {_permute(self.t)}({v} {low}, {self.places} %picks{s}, {v} {high})"]

    def end(self, s: int, tiles: int, rest: int, values: str) -> list[str]:
        t = self.t
        v = f"i{t.bits}"
        return [
            *self.joined(s, f"%cur{s}", values, f"%e{s}v"),
            f"  %start{s} = add i64 %less{s}, {tiles * t.lanes}",
            f"  %left{s} = sub {v} {rest}, %short{s}",
            f"  %is_whole{s} = icmp sge {v} %left{s}, 0",
            f"  br i1 %is_whole{s}, label %whole{s}, label %ended{s}",
            f"whole{s}:",
            *_line(t, f"%e{s}v", f"%row{s}", f"%start{s}", f"e{s}"),
            f"  br label %ended{s}",
            f"ended{s}:",
        ]

    def after(self, tiles: int, rest: int, values: str) -> list[str]:
        t, s = self.t, self.t.lanes - 1
        places = f"{self.t.mask} %is_left"
        return [
            *self.joined(s, values, "zeroinitializer", "%beyond"),
            f"  %after = add i64 %start{s}, {t.lanes}",
            f"  %z = select i1 %is_whole{s}, {t.name} %beyond, {t.name} %e{s}v",
            f"  %at = select i1 %is_whole{s}, i64 %after, i64 %start{s}",
            *self._spread(f"%left{s}", "%lefts"),
            f"  %left_of_line = and {self.places} %lefts, {self._all(t.lanes - 1)}",
            f"  %is_left = icmp slt {self.places} {self.numbers}, %left_of_line",
            *_masked(t, "%z", f"%row{s}", "%at", places, "z"),
        ]

    def _all(self, number: int) -> str:
        return "<" + ", ".join([f"i{self.t.bits} {number}"] * self.t.lanes) + ">"

    def _spread(self, number: str, name: str) -> list[str]:
        one = f"insertelement {self.places} poison, i{self.t.bits} {number}, i32 0"
        zeros = f"<{self.t.lanes} x i32> zeroinitializer"
        return [f"  {name}o = {one}", f"  {name} = shufflevector {self.places} {name}o, {self.places} poison, {zeros}"]


def _permute(t: VectorType) -> str:
    """The instruction that takes any numbers of two vectors of 64 bytes."""
    return f"@llvm.x86.avx512.vpermi2var.{'pd' if t.bits == 64 else 'ps'}.512"


def _same(t: VectorType, x: str) -> str:
    """A value under another name."""
    picks = ", ".join(f"i32 {i}" for i in range(t.lanes))
    return f"shufflevector {t.name} {x}, {t.name} poison, <{t.lanes} x i32> <{picks}>"


def _line(t: VectorType, value: str, row: str, column: str, tag: str) -> list[str]:
    """One whole line of a row, past the caches."""
    return [
        f"  %{tag}p = getelementptr {t.scalar}, ptr {row}, i64 {column}",
        f"  store {t.name} {value}, ptr %{tag}p, align {t.alignment}, !nontemporal !0",
    ]


def _up_to(t: VectorType, count: int) -> str:
    """The mask of the first ``count`` lanes."""
    bits = ", ".join(f"i1 {1 if i < count else 0}" for i in range(t.lanes))
    return f"{t.mask} <{bits}>"


def _masked(t: VectorType, value: str, row: str, column: str, mask: str, tag: str) -> list[str]:
    """Some numbers of a vector, stored the usual way."""
    return [
        f"  %{tag}m = getelementptr {t.scalar}, ptr {row}, i64 {column}",
        f"  call void @llvm.masked.store.{t.mangled}.p0({t.name} {value}, ptr %{tag}m, i32 {t.size}, {mask})",
    ]
