"""Some rows and columns of a matrix whose entries are sums of products, X(j, k) = Σ own(j) other(k).

What columns have stays in registers while one row after the other takes its own numbers, each in all lanes. After every
row lines of rows that were made before are copied past the caches, where there are any (:mod:`.row_bands`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .row_bands import FROM, LEFT, TO, copied, field
from .sine_cosine import ALIGNED_STACK, VectorType


class Tile(NamedTuple):
    """Where the terms of an entry lie, in bytes from what rows have and from what columns have, with ``step`` bytes for
    each column. Every ``block`` columns rows have others, ``stride`` bytes on; with 0 they have the same for all."""

    name: str
    own: Sequence[int]
    other: Sequence[int]
    step: int = 0
    block: int = 0
    stride: int = 0


def tile_ir(t: VectorType, n: int, tile: Tile) -> str:
    """``@lw_tile…(dst, rows, own, other, columns, band)``: rows of ``dst`` have ``n`` numbers; ``columns`` end with
    those, or in whole vectors."""
    widths = [w for w in (2, 1) if w == 1 or (t.alignment == 64 and tile.block % (w * t.lanes) == 0)]
    groups = [(w, False) for w in widths] + [(1, True)] * (n % t.lanes > 0)
    parts, before, column, left = [], "entry", "0", "%left"
    for i, (width, masked) in enumerate(groups):
        parts.append(_group(t, n, tile, i, width, masked, before, column, left))
        before, column, left = f"g{i}", f"%c{i}", f"%left{i}"
    text = "\n".join(parts)
    head = (
        f"define internal void @lw_tile{tile.name}(ptr %dst, i64 %rows, ptr %own, ptr %other, i64 %columns, ptr %band)"
    )
    return f"""{head} noinline {ALIGNED_STACK} {{
entry:
{field("%fromp", FROM)}
{field("%top", TO)}
{field("%leftp", LEFT)}
  %from = load ptr, ptr %fromp
  %to = load ptr, ptr %top
  %left = load i64, ptr %leftp
  br label %g0
{text}
g{len(groups)}:
  store i64 {left}, ptr %leftp
  ret void
}}
"""


def _group(
    t: VectorType, n: int, tile: Tile, g: int, width: int, masked: bool, before: str, column: str, left: str
) -> str:
    """Columns so many vectors at a time, all rows of each; or what columns are left, under a mask."""
    step = width * t.lanes
    fits = f"icmp ult i64 %c{g}, %columns" if masked else f"icmp ule i64 %n{g}, %columns"
    load = [
        f"  %b{g} = mul i64 %c{g}, {t.size}",
        f"  %o{g} = mul i64 %c{g}, {tile.step}",
        f"  %other{g} = getelementptr i8, ptr %other, i64 %o{g}",
    ]
    for i, at in enumerate(tile.other):
        for j in range(width):
            load += [
                f"  %y{g}_{i}_{j}p = getelementptr i8, ptr %other{g}, i64 {at + j * t.lanes * tile.step}",
                f"  %y{g}_{i}_{j} = load {t.name}, ptr %y{g}_{i}_{j}p, align {t.size}",
            ]
    if tile.stride:
        load += [
            f"  %block{g} = udiv i64 %c{g}, {tile.block}",
            f"  %on{g} = mul i64 %block{g}, {tile.stride}",
            f"  %own{g} = getelementptr i8, ptr %own, i64 %on{g}",
        ]
    else:
        load.append(f"  %own{g} = getelementptr i8, ptr %own, i64 0")
    join = "\n".join
    return f"""g{g}:
  %c{g} = phi i64 [{column}, %{before}], [%n{g}, %x{g}]
  %left{g} = phi i64 [{left}, %{before}], [%after{g}, %x{g}]
  %n{g} = add i64 %c{g}, {step}
  %fits{g} = {fits}
  br i1 %fits{g}, label %l{g}, label %g{g + 1}
l{g}:
{join(load)}
  br label %r{g}
r{g}:
  %i{g} = phi i64 [0, %l{g}], [%i_next{g}, %e{g}]
  %now{g} = phi i64 [%left{g}, %l{g}], [%after{g}, %e{g}]
{join(_row(t, n, tile, g, width, masked))}
  %any{g} = icmp uge i64 %now{g}, {width}
  br i1 %any{g}, label %k{g}, label %e{g}
k{g}:
{join(copied(t, f"%now{g}", width, f"k{g}_"))}
  %less{g} = sub i64 %now{g}, {width}
  br label %e{g}
e{g}:
  %after{g} = phi i64 [%now{g}, %r{g}], [%less{g}, %k{g}]
  %i_next{g} = add i64 %i{g}, 1
  %more{g} = icmp ult i64 %i_next{g}, %rows
  br i1 %more{g}, label %r{g}, label %x{g}
x{g}:
  br label %g{g}"""


def _row(t: VectorType, n: int, tile: Tile, g: int, width: int, masked: bool) -> list[str]:
    """The entries of one row."""
    v, lines = (
        t.name,
        [f"  %ib{g} = mul i64 %i{g}, {t.size}", f"  %mine{g} = getelementptr i8, ptr %own{g}, i64 %ib{g}"],
    )
    sums = ["zeroinitializer"] * width
    for i, at in enumerate(tile.own):
        x = f"%x{g}_{i}"
        lines += [
            f"  {x}p = getelementptr i8, ptr %mine{g}, i64 {at}",
            f"  {x}s = load {t.scalar}, ptr {x}p, align {t.size}",
            *t.spread(f"{x}s", x),
        ]
        for j in range(width):
            name, y = f"%s{g}_{i}_{j}", f"%y{g}_{i}_{j}"
            if i:  # fused wherever that is one instruction, so that all columns have the same digits
                lines.append(f"  {name} = call {v} @llvm.fmuladd.{t.mangled}({v} {x}, {v} {y}, {v} {sums[j]})")
            else:
                lines.append(f"  {name} = fmul {v} {x}, {y}")
            sums[j] = name
    lines += [
        f"  %row{g} = mul i64 %i{g}, {n * t.size}",
        f"  %at{g} = add i64 %row{g}, %b{g}",
        f"  %to{g} = getelementptr i8, ptr %dst, i64 %at{g}",
    ]
    for j, value in enumerate(sums):
        lines.append(f"  %to{g}_{j} = getelementptr i8, ptr %to{g}, i64 {j * t.alignment}")
        if masked:
            lanes = ", ".join(f"i1 {int(lane < n % t.lanes)}" for lane in range(t.lanes))
            call = f"@llvm.masked.store.{t.mangled}.p0({v} {value}, ptr %to{g}_{j}, i32 {t.size}, {t.mask} <{lanes}>)"
            lines.append(f"  call void {call}")
        else:
            lines.append(f"  store {v} {value}, ptr %to{g}_{j}, align {t.size}")
    return lines
