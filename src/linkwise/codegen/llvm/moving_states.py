"""Blocks of states out of the caller's arrays into vectors, one for each number, and results back.

Rows of numbers are transposed tile by tile; what is batch-last has the vectors in memory as they are needed; everything
else is brought number by number.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from .sine_cosine import ALIGNED_STACK, VectorType
from .streaming_stores import is_streamed, stream_ir
from .tiles import tile_of_places, transposed


def transpose_in(t: VectorType, n: int, k: int) -> str:
    """``@lw_in{k}(src, between, step, dst, last)``: n numbers of each lane's state, as n vectors."""
    s, width = t.scalar, t.lanes
    singles = [f"  %e0 = mul i64 %j, {width}"] + [f"  %e{i} = add i64 %e0, {i}" for i in range(1, width)]
    for i in range(width):
        singles += [
            f"  %g{i} = getelementptr i8, ptr %row{i}, i64 %skip",
            f"  %y{i} = load {s}, ptr %g{i}, align {t.size}",
            f"  %k{i} = getelementptr {s}, ptr %dst, i64 %e{i}",
            f"  store {s} %y{i}, ptr %k{i}, align {t.size}",
        ]
    join = "\n".join
    return f"""define internal void @lw_in{k}(ptr %src, i64 %between, i64 %step, ptr %dst, i64 %last) {ALIGNED_STACK} {{
entry:
  %packed = icmp eq i64 %step, {t.size}
  %filled = icmp eq i64 %last, {width - 1}
  %beside = icmp eq i64 %between, {t.size}
  %in_columns = and i1 %beside, %filled
  br i1 %in_columns, label %columns, label %general
columns:
  %c = phi i64 [0, %entry], [%c_next, %columns]
  %c_by = mul i64 %c, %step
  %c_at = getelementptr i8, ptr %src, i64 %c_by
  %c_x = load {t.name}, ptr %c_at, align {t.size}
  %c_moved = mul i64 %c, {t.alignment}
  %c_to = getelementptr i8, ptr %dst, i64 %c_moved
  store {t.name} %c_x, ptr %c_to, align {t.alignment}
  %c_next = add i64 %c, 1
  %c_more = icmp ult i64 %c_next, {n}
  br i1 %c_more, label %columns, label %done
general:
{join(_lane_pointers(t, "%src"))}
  br i1 %packed, label %tiles, label %singles
{join(_tiles(t, n, _load_tile))}
singles:
  %j = phi i64 [0, %general], [%j_next, %singles]
  %skip = mul i64 %j, %step
{join(singles)}
  %j_next = add i64 %j, 1
  %again = icmp ult i64 %j_next, {n}
  br i1 %again, label %singles, label %done
done:
  ret void
}}
"""


def transpose_out(t: VectorType, n: int, k: int) -> str:
    """``@lw_out{k}(dst, between, step, src, lanes, large)``: n vectors to each real lane's state."""
    s, width = t.scalar, t.lanes
    join = "\n".join
    streamed = is_streamed(n, t)
    stream = f"  %all = call i1 @lw_stream{k}(ptr %dst, ptr %src)" if streamed else "  %all = or i1 false, false"
    before = stream_ir(t, n, k) if streamed else ""
    return f"""{before}
define internal void @lw_out{k}(ptr %dst, i64 %between, i64 %step, ptr %src, i64 %lanes, i1 %large) {ALIGNED_STACK} {{
entry:
  %packed = icmp eq i64 %step, {t.size}
  %filled = icmp eq i64 %lanes, {width}
  %quick = and i1 %packed, %filled
  %dense = icmp eq i64 %between, {n * t.size}
  %past = and i1 %dense, %large
  %streamed = and i1 %past, %quick
  br i1 %streamed, label %stream, label %usual
stream:
{stream}
  br i1 %all, label %done, label %usual
usual:
  br i1 %quick, label %tiles, label %lanes_loop
{join(_tiles(t, n, partial(_store_tile, k=k)))}
lanes_loop:
  %lane = phi i64 [0, %usual], [%lane_next, %lane_end]
  %move = mul i64 %lane, %between
  %row = getelementptr i8, ptr %dst, i64 %move
  br label %singles
singles:
  %j = phi i64 [0, %lanes_loop], [%j_next, %singles]
  %skip = mul i64 %j, %step
  %to = getelementptr i8, ptr %row, i64 %skip
  %place = getelementptr i64, ptr @lw_places{k}, i64 %j
  %e = load i64, ptr %place
  %f = add i64 %e, %lane
  %at = getelementptr {s}, ptr %src, i64 %f
  %y = load {s}, ptr %at, align {t.size}
  store {s} %y, ptr %to, align {t.size}
  %j_next = add i64 %j, 1
  %again = icmp ult i64 %j_next, {n}
  br i1 %again, label %singles, label %lane_end
lane_end:
  %lane_next = add i64 %lane, 1
  %more_lanes = icmp ult i64 %lane_next, %lanes
  br i1 %more_lanes, label %lanes_loop, label %done
done:
  ret void
}}
"""


def _lane_pointers(t: VectorType, base: str) -> list[str]:
    """Pointers to each lane's state; lanes past the last real state point to that state."""
    lines = []
    for lane in range(t.lanes):
        lines += [
            f"  %over{lane} = icmp ugt i64 {lane}, %last",
            f"  %lane{lane} = select i1 %over{lane}, i64 %last, i64 {lane}",
            f"  %move{lane} = mul i64 %lane{lane}, %between",
            f"  %row{lane} = getelementptr i8, ptr {base}, i64 %move{lane}",
        ]
    return lines


def _mask(t: VectorType, columns: int) -> str:
    bits = ", ".join(f"i1 {1 if i < columns else 0}" for i in range(t.lanes))
    return f"<{t.lanes} x i1> <{bits}>"


def _load_tile(t: VectorType, columns: int, tag: str) -> list[str]:
    """Rows %row0… at column %c as vectors, transposed, stored to %dst; only ``columns`` of them are real."""
    v, s = t.name, t.scalar
    lines = []
    for i in range(t.lanes):
        lines.append(f"  %{tag}at{i} = getelementptr {s}, ptr %row{i}, i64 %{tag}c")
        if columns == t.lanes:
            lines.append(f"  %{tag}x{i} = load {v}, ptr %{tag}at{i}, align {t.size}")
        else:
            call = f"(ptr %{tag}at{i}, i32 {t.size}, {_mask(t, columns)}, {v} zeroinitializer)"
            lines.append(f"  %{tag}x{i} = call {v} @llvm.masked.load.{t.mangled}.p0{call}")
    names, shuffles = transposed([f"%{tag}x{i}" for i in range(t.lanes)], t, f"{tag}t")
    lines += shuffles
    for i, name in enumerate(names[:columns]):
        lines += [
            f"  %{tag}c{i} = add i64 %{tag}c, {i}",
            f"  %{tag}d{i} = mul i64 %{tag}c{i}, {t.lanes}",
            f"  %{tag}to{i} = getelementptr {s}, ptr %dst, i64 %{tag}d{i}",
            f"  store {v} {name}, ptr %{tag}to{i}, align {t.alignment}",
        ]
    return lines


def _store_tile(t: VectorType, columns: int, tag: str, k: int = 0) -> list[str]:
    """The vectors of columns %c… of %src, transposed, stored to the rows of %dst."""
    v, s = t.name, t.scalar
    names, lines = tile_of_places(t, k, tag, f"%{tag}c", columns)
    for i, name in enumerate(names):
        lines += [
            f"  %{tag}m{i} = mul i64 %between, {i}",
            f"  %{tag}row{i} = getelementptr i8, ptr %dst, i64 %{tag}m{i}",
            f"  %{tag}at{i} = getelementptr {s}, ptr %{tag}row{i}, i64 %{tag}c",
        ]
        if columns == t.lanes:
            lines.append(f"  store {v} {name}, ptr %{tag}at{i}, align {t.size}")
        else:
            call = f"({v} {name}, ptr %{tag}at{i}, i32 {t.size}, {_mask(t, columns)})"
            lines.append(f"  call void @llvm.masked.store.{t.mangled}.p0{call}")
    return lines


def _tiles(t: VectorType, n: int, tile: Any) -> list[str]:
    """Whole tiles in a loop, then the last columns under a mask; falls through to %done."""
    full, rest = n - n % t.lanes, n % t.lanes
    lines = ["tiles:"]
    if full:
        lines += ["  br label %tile", "tile:", "  %fc = phi i64 [0, %tiles], [%fc_next, %tile]"]
        lines += tile(t, t.lanes, "f")
        lines += [f"  %fc_next = add i64 %fc, {t.lanes}", f"  %fmore = icmp ult i64 %fc_next, {full}"]
        lines += ["  br i1 %fmore, label %tile, label %tail", "tail:"]
    if rest:
        lines += [f"  %rc = add i64 0, {full}", *tile(t, rest, "r")]
    return [*lines, "  br label %done"]
