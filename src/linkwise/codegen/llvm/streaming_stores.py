"""Large outputs written past the caches.

A store to memory that is not in the cache first reads the line it is part of; a non-temporal store of a whole,
aligned line does not. An output of many states that is larger than the cache is therefore written line by line. Rows
of neighbouring states follow each other without gaps, so that lane s's row begins (b + s n) numbers past a line's
beginning, where b is where the array begins, and blocks with it: one version of the code for each b that allocators
give (:data:`STARTS`), chosen when it runs. A line that lies across two of the transposed tiles is put together from
both; what does not fill a line at a row's ends is stored the usual way, and so is an array that begins elsewhere: code
for every b would be most of a module, in all calls, for parts of arrays that users hand in.
"""

from __future__ import annotations

from ..thresholds import STREAMED_VECTORS
from .sine_cosine import VectorType
from .tiles import tile_of_places

NONTEMPORAL = "!0 = !{i32 1}"
STARTS = (0, 16)  # bytes past a line: arrays of our own (:mod:`.result_memory`), and those behind malloc's head


def is_streamed(n: int, t: VectorType) -> bool:
    """Whether an output of n numbers a state is long enough for this to pay."""
    return t.lanes > 1 and n >= STREAMED_VECTORS * t.lanes


def _starts(t: VectorType) -> list[int]:
    """The same in numbers, for lines of this type."""
    return sorted({start % (t.lanes * t.size) // t.size for start in STARTS})


def stream_ir(t: VectorType, n: int, k: int) -> str:
    """``i1 @lw_stream{k}(dst, src)``: a full block of states to contiguous memory; whether it begins where it must."""
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


def _version(t: VectorType, n: int, k: int, b: int) -> str:
    """The code for a block that begins b numbers past a line's beginning."""
    tiles, rest = divmod(n, t.lanes)
    leads = [-(b + s * n) % t.lanes for s in range(t.lanes)]  # numbers before each row's first line
    lines = [f"  %row{s} = getelementptr {t.scalar}, ptr %dst, i64 {s * n}" for s in range(t.lanes)]
    first, made = tile_of_places(t, k, "f", "0", t.lanes)
    lines += made
    for s, lead in enumerate(leads):
        if lead:
            lines += _masked(t, first[s], f"%row{s}", "0", lead, f"a{s}")
    lines += ["  br label %loop", "loop:"]
    lines.append(f"  %c = phi i64 [{t.lanes}, %entry], [%c_next, %loop]")
    lines += [f"  %prev{s} = phi {t.name} [{first[s]}, %entry], [%cur{s}, %loop]" for s in range(t.lanes)]
    current, made = tile_of_places(t, k, "l", "%c", t.lanes)
    lines += made
    lines += [f"  %cur{s} = {_same(t, x)}" for s, x in enumerate(current)]
    for s, lead in enumerate(leads):
        lines.append(f"  %c_{s} = add i64 %c, {lead - t.lanes}")
        lines += _line(t, f"%prev{s}", f"%cur{s}", lead, s, f"%c_{s}", f"i{s}")
    lines += [f"  %c_next = add i64 %c, {t.lanes}", f"  %more = icmp ult i64 %c_next, {tiles * t.lanes}"]
    lines += ["  br i1 %more, label %loop, label %tail", "tail:"]
    lines += _tail(t, k, tiles, rest, leads)
    body = "\n".join(lines)
    return f"define internal void @lw_stream{k}_{b}(ptr %dst, ptr %src) {{\nentry:\n{body}\n  ret void\n}}"


def _tail(t: VectorType, k: int, tiles: int, rest: int, leads: list[int]) -> list[str]:
    """The last whole line of each row, where there is one, and what is left of it."""
    lines: list[str] = []
    values = ["zeroinitializer"] * t.lanes
    if rest:
        values, lines = tile_of_places(t, k, "t", str(tiles * t.lanes), rest)
    for s, lead in enumerate(leads):
        start = lead + (tiles - 1) * t.lanes
        if lead <= rest:
            lines += _line(t, f"%cur{s}", values[s], lead, s, str(start), f"e{s}")
            if rest - lead:
                lines += _shifted(t, values[s], "zeroinitializer", lead, f"%z{s}")
                lines += _masked(t, f"%z{s}", f"%row{s}", str(start + t.lanes), rest - lead, f"z{s}")
        else:
            lines += _shifted(t, f"%cur{s}", values[s], lead, f"%z{s}")
            lines += _masked(t, f"%z{s}", f"%row{s}", str(start), t.lanes + rest - lead, f"z{s}")
    return lines


def _same(t: VectorType, x: str) -> str:
    """A value under another name."""
    picks = ", ".join(f"i32 {i}" for i in range(t.lanes))
    return f"shufflevector {t.name} {x}, {t.name} poison, <{t.lanes} x i32> <{picks}>"


def _shifted(t: VectorType, low: str, high: str, lead: int, name: str) -> list[str]:
    """``lead`` … ``lead`` + lanes − 1 of two vectors one after another."""
    picks = ", ".join(f"i32 {lead + i}" for i in range(t.lanes))
    return [f"  {name} = shufflevector {t.name} {low}, {t.name} {high}, <{t.lanes} x i32> <{picks}>"]


def _line(t: VectorType, low: str, high: str, lead: int, s: int, column: str, tag: str) -> list[str]:
    """One whole line of a row, past the caches."""
    size = t.lanes * t.size
    return [
        *_shifted(t, low, high, lead, f"%{tag}v"),
        f"  %{tag}p = getelementptr {t.scalar}, ptr %row{s}, i64 {column}",
        f"  store {t.name} %{tag}v, ptr %{tag}p, align {size}, !nontemporal !0",
    ]


def _masked(t: VectorType, value: str, row: str, column: str, count: int, tag: str) -> list[str]:
    """The first ``count`` numbers of a vector, stored the usual way."""
    bits = ", ".join(f"i1 {1 if i < count else 0}" for i in range(t.lanes))
    mask = f"<{t.lanes} x i1> <{bits}>"
    return [
        f"  %{tag}m = getelementptr {t.scalar}, ptr {row}, i64 {column}",
        f"  call void @llvm.masked.store.{t.mangled}.p0({t.name} {value}, ptr %{tag}m, i32 {t.size}, {mask})",
    ]
