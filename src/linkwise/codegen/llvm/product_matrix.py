"""Matrices of chains made from sums of products, X(j, k) = h(j) · x(k) for j < k, X(k, j) = g(j) · y(k), row by row.

The sweeps leave h, x, g, y and the diagonal of a block of states as vectors, one state per lane. They are transposed
(that is O(n) numbers), and then a state's rows are vectors along its columns: j < k from y(k) and all g, j > k from
h(k) and all x; g is h and y is x where the matrix is symmetric. So the n² numbers go straight to where they are wanted,
past the caches where there are many, and no memory of that size is needed in between.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ..rolled.products import Terms, row_length
from .counted_loops import counted
from .sine_cosine import ALIGNED_STACK, VectorType
from .tiles import transposed


def product_out(t: VectorType, n: int, k: int, start: int, terms: Terms) -> str:
    """``@lw_out{k}`` as :func:`.module.transpose_out` has it; what the sweeps leave begins ``start`` vectors in."""
    v, s, L = t.name, t.scalar, t.lanes
    total = terms.numbers * row_length(n)
    load: list[str] = []
    for i in range(L):
        load += [
            f"  %c{i} = add i64 %c, {i}",
            f"  %e{i} = mul i64 %c{i}, {L * t.size}",
            f"  %p{i} = getelementptr i8, ptr %from, i64 %e{i}",
            f"  %x{i} = load {v}, ptr %p{i}, align {t.alignment}",
        ]
    names, shuffles = transposed([f"%x{i}" for i in range(L)], t, "t")
    store: list[str] = []
    each = total + L  # numbers from one state's to the next one's, which lie in a line as its matrix does
    for i, name in enumerate(names):
        store += [
            f"  %q{i} = getelementptr {s}, ptr %r{i}, i64 %c",
            f"  store {v} {name}, ptr %q{i}, align {t.size}",
        ]
    begin = ["  %dst_at = ptrtoint ptr %dst to i64"]
    for i in range(L):
        begin += [
            f"  %by{i} = mul i64 %between, {i}",
            f"  %dst{i} = add i64 %dst_at, %by{i}",
            f"  %in_line{i} = and i64 %dst{i}, {t.alignment - 1}",
            f"  %skip{i} = add i64 %in_line{i}, {i * each * t.size}",
            f"  %r{i} = getelementptr i8, ptr %rows, i64 %skip{i}",
        ]
    join = "\n".join
    rows = _rows(t, n, k, terms, past=False) + (_rows(t, n, k, terms, past=True) if n >= L else "")
    past = f"{k}_past" if n >= L else str(k)
    tile = join([*load, *shuffles, *store])
    lane = f"""  %move = mul i64 %lane, %between
  %to = getelementptr i8, ptr %dst, i64 %move
  %to_at = ptrtoint ptr %to to i64
  %in_line = and i64 %to_at, {t.alignment - 1}
  %lane_by = mul i64 %lane, {each * t.size}
  %skip = add i64 %lane_by, %in_line
  %own = getelementptr i8, ptr %rows, i64 %skip
  br i1 %large, label %past, label %through
past:
  %seams = getelementptr i8, ptr %rows, i64 {each * L * t.size}
  call void @lw_rows{past}(ptr %to, ptr %own, ptr %seams)
  br label %lane_end
through:
  call void @lw_rows{k}(ptr %to, ptr %own, ptr null)
  br label %lane_end
lane_end:"""
    return f"""{rows}
define internal void @lw_out{k}(ptr %dst, i64 %between, i64 %step, ptr %src, i64 %lanes, i1 %large) {ALIGNED_STACK} {{
entry:
  %from = getelementptr i8, ptr %src, i64 {start * L * t.size}
  %rows = getelementptr i8, ptr %from, i64 {total * L * t.size}
{join(begin)}
  br label %tile
{counted("tile", "c", total, tile, before="entry", after="lane_loop", by=L)}
{counted("lane_loop", "lane", "%lanes", lane, before="tile", after="done", last="lane_end")}
done:
  ret void
}}
"""


_TOGETHER = 4  # rows that share what they read: such as begin at the same place of a line


def _rows(t: VectorType, n: int, k: int, terms: Terms, past: bool) -> str:
    """``@lw_rows{k}(dst, own, seams)``: the matrix of one state from its numbers; ``past`` caches or not."""
    name = f"{k}_past" if past else str(k)
    apart = t.lanes // math.gcd(n, t.lanes)  # rows from one that begins at some place of a line to the next
    turn = _TOGETHER * apart
    banded = n - n % turn

    def band(count: int, row: str) -> str:
        return f"  call void @lw_band{name}_{count}(ptr %dst, ptr %own, i64 {row}, ptr %seams)"

    alike = f"  %row = add i64 %i, %a\n{band(_TOGETHER, '%row')}"
    together = f"""  br label %alike
{counted("alike", "a", apart, alike, before="turn", after="turn_end")}
turn_end:"""
    turns = counted("turn", "i", banded, together, before="entry", after="singles", by=turn, last="turn_end")
    return f"""{_band(t, n, name, terms, past, _TOGETHER, apart)}
{_band(t, n, name, terms, past, 1, 1)}
define internal void @lw_rows{name}(ptr %dst, ptr %own, ptr %seams) {{
entry:
  br label %{"turn" if banded else "singles"}
{turns if banded else ""}
singles:
  br label %{"single" if n % turn else "written"}
{_singles(band, banded, n) if n % turn else ""}
written:
{_seams(t, n) if past else "  ret void"}
}}
"""


def _singles(band: Callable[[int, str], str], first: int, n: int) -> str:
    """Rows one by one from ``first`` on."""
    body = f"  %r = add i64 %s, {first}\n{band(1, '%r')}"
    return counted("single", "s", n - first, body, before="singles", after="written")


def _seams(t: VectorType, n: int) -> str:
    """The lines in which one row ends and the next begins, gathered in ``seams``: whole to where they belong."""
    line, numbers = t.lanes * t.size, t.wide("i64")
    lanes = ", ".join(f"i64 {i}" for i in range(t.lanes))
    return f"""  %address = ptrtoint ptr %dst to i64
  %before = and i64 %address, {line - 1}
  %until = add i64 %address, {n * n * t.size}
  %after = and i64 %until, {line - 1}
  %before_n = udiv i64 %before, {t.size}
  %after_n = udiv i64 %after, {t.size}
  %b1 = insertelement {numbers} poison, i64 %before_n, i32 0
  %b2 = shufflevector {numbers} %b1, {numbers} poison, <{t.lanes} x i32> zeroinitializer
  %a1 = insertelement {numbers} poison, i64 %after_n, i32 0
  %a2 = shufflevector {numbers} %a1, {numbers} poison, <{t.lanes} x i32> zeroinitializer
  %not_first = icmp uge {numbers} <{lanes}>, %b2
  %not_last = icmp ult {numbers} <{lanes}>, %a2
  br label %seam
{counted("seam", "k", n + 1, _seam(t, n), before="written", after="done", last="seam_end")}
done:
  ret void"""


def _seam(t: VectorType, n: int) -> str:
    """The line in which row k begins. (Row n is the end of the last one; of both these lines a part is not ours.)"""
    v, line = t.name, t.lanes * t.size
    store = f"call void @llvm.masked.store.{t.mangled}.p0({v} %x, ptr %to, i32 {t.size}, {t.mask}"
    return f"""  %skip = mul i64 %k, {n * t.size}
  %row_at = add i64 %address, %skip
  %in_line = and i64 %row_at, {line - 1}
  %has_seam = icmp ne i64 %in_line, 0
  br i1 %has_seam, label %has, label %seam_end
has:
  %to_i = and i64 %row_at, {-line}
  %to = inttoptr i64 %to_i to ptr
  %held = mul i64 %k, {line}
  %from = getelementptr i8, ptr %seams, i64 %held
  %x = load {v}, ptr %from, align {t.alignment}
  switch i64 %k, label %inner [i64 0, label %outer_first i64 {n}, label %outer_last]
inner:
  store {v} %x, ptr %to, align {t.alignment}, !nontemporal !0
  br label %seam_end
outer_first:
  {store} %not_first)
  br label %seam_end
outer_last:
  {store} %not_last)
  br label %seam_end
seam_end:"""


def _band(t: VectorType, n: int, name: str, terms: Terms, past: bool, rows: int, apart: int) -> str:
    """``@lw_band{name}_{rows}(dst, own, k, seams)``: row k and others after it, each so many ``apart``.

    The first columns, up to where vectors lie as they like to, and the last ones are stored under a mask. Between them
    are vectors below the diagonal, across it and above. ``past`` the caches go whole lines; parts go to the seams.
    """
    how = f"align {t.alignment}, !nontemporal !0" if past else f"align {t.alignment}"
    writer, part = (_BandWriter(t, n, terms, x, rows, apart) for x in (how, "masked in seams" if past else "masked"))
    join, L = "\n".join, t.lanes
    head = f"define internal void @lw_band{name}_{rows}(ptr %dst, ptr %own, i64 %k, ptr %seams)"
    return f"""{head} noinline {ALIGNED_STACK} {{
entry:
{join(writer.head())}
  %last = add i64 %k, {(rows - 1) * apart}
  %address = ptrtoint ptr %row_0 to i64
  %ahead = sub i64 0, %address
  %short = and i64 %ahead, {t.alignment - 1}
  %ahead_of = udiv i64 %short, {t.size}
  %beyond = icmp ugt i64 %ahead_of, {n}
  %begin = select i1 %beyond, i64 {n}, i64 %ahead_of
  %odd = icmp ne i64 %begin, 0
{join(part.seams())}
  br i1 %odd, label %first, label %whole
first:
  %fj = add i64 0, 0
  %fcount = add i64 %begin, 0
  %flow = icmp ule i64 %begin, %k
  br i1 %flow, label %first_below, label %first_across
first_below:
{join(part.side("f", lower=True))}
  br label %whole
first_across:
  %gj = add i64 0, 0
  %gcount = add i64 %begin, 0
{join(part.across("g"))}
  br label %whole
whole:
  %room = sub i64 {n}, %begin
  %filled = and i64 %room, {-L}
  %end = add i64 %begin, %filled
  br label %below
below:
  %bj = phi i64 [%begin, %whole], [%bj_next, %one_below]
  %bj_next = add i64 %bj, {L}
  %low = icmp ule i64 %bj_next, %k
  %inside = icmp ule i64 %bj_next, %end
  %both_so = and i1 %low, %inside
  br i1 %both_so, label %one_below, label %middle
one_below:
{join(writer.side("b", lower=True))}
  br label %below
middle:
  %mj = phi i64 [%bj, %below], [%mj_next, %both]
  %holds = icmp ule i64 %mj, %last
  %fits = icmp ult i64 %mj, %end
  %mixed = and i1 %holds, %fits
  br i1 %mixed, label %both, label %above
both:
{join(writer.across("m"))}
  %mj_next = add i64 %mj, {L}
  br label %middle
above:
  %aj = phi i64 [%mj, %middle], [%aj_next, %one_above]
  %more = icmp ult i64 %aj, %end
  br i1 %more, label %one_above, label %rest
one_above:
{join(writer.side("a", lower=False))}
  %aj_next = add i64 %aj, {L}
  br label %above
rest:
  %rj = add i64 %end, 0
  %rcount = sub i64 {n}, %end
  %some = icmp ne i64 %rcount, 0
  br i1 %some, label %last_columns, label %done
last_columns:
  %high = icmp ugt i64 %end, %last
  br i1 %high, label %rest_above, label %rest_across
rest_above:
{join(part.side("r", lower=False))}
  br label %done
rest_across:
  %sj = add i64 %end, 0
  %scount = add i64 %rcount, 0
{join(part.across("s"))}
  br label %done
done:
  ret void
}}
"""


class _BandWriter:
    """Lines for some rows, from k on, of vectors that begin at column ``%{tag}j``."""

    def __init__(self, t: VectorType, n: int, terms: Terms, how: str, rows: int, apart: int) -> None:
        """``how`` is what vectors are stored with; "masked" stores ``%{tag}count`` of their numbers, or in seams."""
        self.t, self.n, self.terms, self.how, self.rows, self.apart = t, n, terms, how, rows, apart

    def seams(self) -> list[str]:
        """Where the first numbers of each row and the last ones are gathered with those of its neighbours."""
        if self.how != "masked in seams":
            return []
        lines, line = [f"  %in_line = and i64 %address, {self.t.alignment - 1}"], self.t.alignment
        for r in range(self.rows):
            lines += [
                f"  %seam_by{r} = mul i64 %k_{r}, {line}",
                f"  %seam{r} = getelementptr i8, ptr %seams, i64 %seam_by{r}",
                f"  %seam_first{r} = getelementptr i8, ptr %seam{r}, i64 %in_line",
                f"  %seam_last{r} = getelementptr i8, ptr %seam{r}, i64 {line}",
            ]
        return lines

    def head(self) -> list[str]:
        """The rows' own numbers in all lanes, and where the rows and all bodies' numbers begin."""
        t, lines, length = self.t, [], row_length(self.n)
        numbers = t.wide("i64")
        for i in range(self.terms.numbers):
            lines.append(f"  %n{i}p = getelementptr {t.scalar}, ptr %own, i64 {i * length}")
            lines.append(f"  %n{i}k = getelementptr {t.scalar}, ptr %n{i}p, i64 %k")
            for r in range(self.rows):
                lines += [
                    f"  %n{i}_{r}p = getelementptr {t.scalar}, ptr %n{i}k, i64 {r * self.apart}",
                    f"  %n{i}_{r}s = load {t.scalar}, ptr %n{i}_{r}p",
                    *t.spread(f"%n{i}_{r}s", f"%n{i}_{r}"),
                ]
        for r in range(self.rows):
            lines += [
                f"  %k_{r} = add i64 %k, {r * self.apart}",
                f"  %skip_{r} = mul i64 %k_{r}, {self.n}",
                f"  %row_{r} = getelementptr {t.scalar}, ptr %dst, i64 %skip_{r}",
                f"  %k1_{r} = insertelement {numbers} poison, i64 %k_{r}, i32 0",
                f"  %ks_{r} = shufflevector {numbers} %k1_{r}, {numbers} poison, <{t.lanes} x i32> zeroinitializer",
            ]
        return lines

    def side(self, tag: str, lower: bool) -> list[str]:
        """Entries that are all on one side of the diagonal."""
        names, lines = self._sums(tag, lower)
        for r, value in enumerate(names):
            lines += self._stored(tag, r, value)
        return lines

    def across(self, tag: str) -> list[str]:
        """Entries of both sides, and on the diagonal."""
        t, L = self.t, self.t.lanes
        numbers, truth = t.wide("i64"), t.wide("i1")
        counted = ", ".join(f"i64 {i}" for i in range(L))
        below, lines = self._sums(tag, lower=True)
        above, more = self._sums(tag, lower=False)
        lines += [
            *more,
            f"  %{tag}j1 = insertelement {numbers} poison, i64 %{tag}j, i32 0",
            f"  %{tag}j2 = shufflevector {numbers} %{tag}j1, {numbers} poison, <{L} x i32> zeroinitializer",
            f"  %{tag}at = add {numbers} %{tag}j2, <{counted}>",
        ]
        for r in range(self.rows):
            own = f"%n{self.terms.numbers - 1}_{r}"
            lines += [
                f"  %{tag}below{r} = icmp ult {numbers} %{tag}at, %ks_{r}",
                f"  %{tag}here{r} = icmp eq {numbers} %{tag}at, %ks_{r}",
                f"  %{tag}side{r} = select {truth} %{tag}below{r}, {t.name} {below[r]}, {t.name} {above[r]}",
                f"  %{tag}all{r} = select {truth} %{tag}here{r}, {t.name} {own}, {t.name} %{tag}side{r}",
                *self._stored(tag, r, f"%{tag}all{r}"),
            ]
        return lines

    def _sums(self, tag: str, lower: bool) -> tuple[list[str], list[str]]:
        """(one value per row, the lines that make them): y(k) with all g below the diagonal, h(k) with all x above."""
        t, lines, so_far = self.t, [], [""] * self.rows
        count, own, other = self.terms.below_the_diagonal if lower else (self.terms.above, 0, self.terms.above)
        for i in range(count):
            y = f"%{tag}{'l' if lower else 'u'}{i}"
            lines += [
                f"  {y}p = getelementptr {t.scalar}, ptr %n{other + i}p, i64 %{tag}j",
                f"  {y}x = load {t.name}, ptr {y}p, align {t.size}",
            ]
            for r in range(self.rows):
                if so_far[r]:  # fused wherever that is one instruction, so that all columns have the same digits
                    operands = f"{t.name} {y}x, {t.name} %n{own + i}_{r}, {t.name} {so_far[r]}"
                    lines.append(f"  {y}_{r} = call {t.name} @llvm.fmuladd.{t.mangled}({operands})")
                else:
                    lines.append(f"  {y}_{r} = fmul {t.name} {y}x, %n{own + i}_{r}")
                so_far[r] = f"{y}_{r}"
        return so_far, lines

    def _stored(self, tag: str, r: int, value: str) -> list[str]:
        t, to = self.t, f"%{tag}to{r}"
        place = f"  {to} = getelementptr {t.scalar}, ptr %row_{r}, i64 %{tag}j"
        if not self.how.startswith("masked"):
            return [place, f"  store {t.name} {value}, ptr {to}, {self.how}"]
        if self.how == "masked in seams":
            place = f"  {to} = getelementptr i8, ptr %seam_{'first' if tag in 'fg' else 'last'}{r}, i64 0"
        numbers = t.wide("i64")
        counted = ", ".join(f"i64 {i}" for i in range(t.lanes))
        return [
            place,
            f"  {to}c = insertelement {numbers} poison, i64 %{tag}count, i32 0",
            f"  {to}d = shufflevector {numbers} {to}c, {numbers} poison, <{t.lanes} x i32> zeroinitializer",
            f"  {to}m = icmp ult {numbers} <{counted}>, {to}d",
            f"  call void @llvm.masked.store.{t.mangled}.p0({t.name} {value}, ptr {to}, i32 {t.size}, {t.mask} {to}m)",
        ]
