"""Rows of matrices on their way past the caches: made in a small buffer, copied from it in whole lines.

A store past the caches (:mod:`.streaming_stores`) is of a whole line of the destination, and rows of a matrix begin
anywhere in one. So some rows, a *band*, are made one after another in a buffer in which they lie as they will in the
destination, lines included; whoever makes the next band, in a second buffer, copies a line of the first now and then,
so that the memory has something to do meanwhile. Of the first line and the last one a part is not ours.

``%lw_band`` is the state of that: where the lines end that are to be copied, here and there, how many are left; both
buffers, the next one first; where the next band begins, in its first line and in the destination; and how many numbers
of that line are not of the matrix.
"""

from __future__ import annotations

from .counted_loops import counted
from .sine_cosine import ALIGNED_STACK, VectorType

BAND = "%lw_band = type {ptr, ptr, i64, ptr, ptr, i64, ptr, i64}"
FROM, TO, LEFT, BUFFER, OTHER, AT, LINE, BEFORE = range(8)


def field(name: str, n: int) -> str:
    """Where a part of the state lies."""
    return f"  {name} = getelementptr %lw_band, ptr %band, i32 0, i32 {n}"


def bands_ir(t: VectorType, size: int) -> str:
    """``@lw_band_init(band, buffers)``; ``@lw_band_begin(band, dst)`` for every matrix, ``@lw_band_turn(band,
    numbers)`` when so many of it are made, ``@lw_band_end(band)``; and ``@lw_band_flush(band)`` at last. A buffer has
    ``size`` bytes."""
    return "\n".join([BAND, _flush(t), _part(t), _init(size), _begin(t), _turn(t), _end(t)])


def copied(t: VectorType, left: str, count: int, tag: str) -> list[str]:
    """Lines to their places, the next of those that are left; ``%from`` and ``%to`` are where they end."""
    lines = [
        f"  %{tag}back = mul i64 {left}, {-t.alignment}",
        f"  %{tag}from = getelementptr i8, ptr %from, i64 %{tag}back",
        f"  %{tag}to = getelementptr i8, ptr %to, i64 %{tag}back",
    ]
    for i in range(count):
        lines += [
            f"  %{tag}p{i} = getelementptr i8, ptr %{tag}from, i64 {i * t.alignment}",
            f"  %{tag}q{i} = getelementptr i8, ptr %{tag}to, i64 {i * t.alignment}",
            f"  %{tag}x{i} = load {t.name}, ptr %{tag}p{i}, align {t.alignment}",
            f"  store {t.name} %{tag}x{i}, ptr %{tag}q{i}, align {t.alignment}, !nontemporal !0",
        ]
    return lines


def _flush(t: VectorType) -> str:
    body = "\n".join(["  %now = sub i64 %left, %i", *copied(t, "%now", 1, "c")])
    return f"""define internal void @lw_band_flush(ptr %band) {{
entry:
{field("%fromp", FROM)}
{field("%top", TO)}
{field("%leftp", LEFT)}
  %from = load ptr, ptr %fromp
  %to = load ptr, ptr %top
  %left = load i64, ptr %leftp
  %none = icmp eq i64 %left, 0
  br i1 %none, label %done, label %line
{counted("line", "i", "%left", body, before="entry", after="copied")}
copied:
  store i64 0, ptr %leftp
  br label %done
done:
  ret void
}}
"""


def _part(t: VectorType) -> str:
    """``@lw_part(from, to, first, end)``: the numbers of a line from one place to another."""
    numbers = t.wide("i64")
    lanes = ", ".join(f"i64 {i}" for i in range(t.lanes))

    def spread(x: str) -> str:
        zeros = f"<{t.lanes} x i32> zeroinitializer"
        return (
            f"  %{x}1 = insertelement {numbers} poison, i64 %{x}, i32 0\n"
            f"  %{x}s = shufflevector {numbers} %{x}1, {numbers} poison, {zeros}"
        )

    store = f"void @llvm.masked.store.{t.mangled}.p0({t.name} %x, ptr %to, i32 {t.size}, {t.mask} %mask)"
    return f"""define internal void @lw_part(ptr %from, ptr %to, i64 %first, i64 %end) {{
{spread("first")}
{spread("end")}
  %after = icmp uge {numbers} <{lanes}>, %firsts
  %before = icmp ult {numbers} <{lanes}>, %ends
  %mask = and {t.mask} %after, %before
  %x = load {t.name}, ptr %from, align {t.alignment}
  call {store}
  ret void
}}
"""


def _stores(values: dict[int, str]) -> str:
    return "\n".join(f"{field(f'%f{n}', n)}\n  store {value}, ptr %f{n}" for n, value in values.items())


def _init(size: int) -> str:
    stores = _stores({LEFT: "i64 0", BUFFER: "ptr %buffers", OTHER: "ptr %other"})
    return f"""define internal void @lw_band_init(ptr %band, ptr %buffers) {{
  %other = getelementptr i8, ptr %buffers, i64 {size}
{stores}
  ret void
}}
"""


def _begin(t: VectorType) -> str:
    return f"""define internal void @lw_band_begin(ptr %band, ptr %dst) {{
  %address = ptrtoint ptr %dst to i64
  %in_line = and i64 %address, {t.alignment - 1}
  %ahead = udiv i64 %in_line, {t.size}
  %back = sub i64 0, %in_line
  %line = getelementptr i8, ptr %dst, i64 %back
{_stores({AT: "i64 %ahead", LINE: "ptr %line", BEFORE: "i64 %ahead"})}
  ret void
}}
"""


def _turn(t: VectorType) -> str:
    return f"""define internal void @lw_band_turn(ptr %band, i64 %numbers) {ALIGNED_STACK} {{
entry:
  call void @lw_band_flush(ptr %band)
{field("%bufferp", BUFFER)}
{field("%otherp", OTHER)}
{field("%atp", AT)}
{field("%linep", LINE)}
{field("%beforep", BEFORE)}
  %buffer = load ptr, ptr %bufferp
  %other = load ptr, ptr %otherp
  %at = load i64, ptr %atp
  %line = load ptr, ptr %linep
  %before = load i64, ptr %beforep
  %total = add i64 %at, %numbers
  %lines = udiv i64 %total, {t.lanes}
  %rest = urem i64 %total, {t.lanes}
  %bytes = mul i64 %lines, {t.alignment}
  %from = getelementptr i8, ptr %buffer, i64 %bytes
  %to = getelementptr i8, ptr %line, i64 %bytes
  %x = load {t.name}, ptr %from, align {t.alignment}
  store {t.name} %x, ptr %other, align {t.alignment}
{field("%fromp", FROM)}
{field("%top", TO)}
{field("%leftp", LEFT)}
  store ptr %from, ptr %fromp
  store ptr %to, ptr %top
  store ptr %other, ptr %bufferp
  store ptr %buffer, ptr %otherp
  store i64 %rest, ptr %atp
  store ptr %to, ptr %linep
  %some = icmp ne i64 %lines, 0
  %odd = icmp ne i64 %before, 0
  %partial = and i1 %some, %odd
  br i1 %partial, label %part, label %done
part:
  call void @lw_part(ptr %buffer, ptr %line, i64 %before, i64 {t.lanes})
  store i64 0, ptr %beforep
  br label %done
done:
  %less = zext i1 %partial to i64
  %left = sub i64 %lines, %less
  store i64 %left, ptr %leftp
  ret void
}}
"""


def _end(t: VectorType) -> str:
    return f"""define internal void @lw_band_end(ptr %band) {ALIGNED_STACK} {{
{field("%bufferp", BUFFER)}
{field("%atp", AT)}
{field("%linep", LINE)}
{field("%beforep", BEFORE)}
  %buffer = load ptr, ptr %bufferp
  %at = load i64, ptr %atp
  %line = load ptr, ptr %linep
  %before = load i64, ptr %beforep
  call void @lw_part(ptr %buffer, ptr %line, i64 %before, i64 %at)
  ret void
}}
"""
