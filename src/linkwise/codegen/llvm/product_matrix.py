"""Matrices of chains made from sums of products, X(j, k) = h(j) · x(k) for j < k, X(k, j) = g(j) · y(k), row by row.

The sweeps leave h, x, g, y and the diagonal of a block of states as vectors, one state per lane. They are transposed
(that is O(n) numbers), and then a state's rows are vectors along its columns: j < k from y(k) and all g, j > k from
h(k) and all x; g is h and y is x where the matrix is symmetric. So the n² numbers go straight to where they are wanted,
past the caches where there are many, and no memory of that size is needed in between.
"""

from __future__ import annotations

from ..rolled.products import Terms, row_length
from .counted_loops import by_bands, counted
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
    for i, name in enumerate(names):
        store += [
            f"  %r{i} = getelementptr {s}, ptr %rows, i64 {i * total}",
            f"  %q{i} = getelementptr {s}, ptr %r{i}, i64 %c",
            f"  store {v} {name}, ptr %q{i}, align {t.alignment}",
        ]
    join = "\n".join
    rows = _rows(t, n, k, terms, past=False) + (_rows(t, n, k, terms, past=True) if n % L == 0 else _by_lines(t, n, k))
    tile = join([*load, *shuffles, *store])
    lane = f"""  %move = mul i64 %lane, %between
  %to = getelementptr i8, ptr %dst, i64 %move
  %skip = mul i64 %lane, {total}
  %own = getelementptr {s}, ptr %rows, i64 %skip
  br i1 %large, label %past, label %through
past:
  %spare = getelementptr i8, ptr %rows, i64 {total * L * t.size}
  call void @lw_rows{k}_past(ptr %to, ptr %own, ptr %spare)
  br label %lane_end
through:
  call void @lw_rows{k}(ptr %to, ptr %own, ptr null)
  br label %lane_end
lane_end:"""
    return f"""{rows}
define internal void @lw_out{k}(ptr %dst, i64 %between, i64 %step, ptr %src, i64 %lanes, i1 %large) {{
entry:
  %from = getelementptr i8, ptr %src, i64 {start * L * t.size}
  %rows = getelementptr i8, ptr %from, i64 {total * L * t.size}
  br label %tile
{counted("tile", "c", total, tile, before="entry", after="lane_loop", by=L)}
{counted("lane_loop", "lane", "%lanes", lane, before="tile", after="done", last="lane_end")}
done:
  ret void
}}
"""


_TOGETHER = 4  # rows that share what they read, where all rows begin alike


def _rows(t: VectorType, n: int, k: int, terms: Terms, past: bool) -> str:
    """``@lw_rows{k}(dst, own, spare)``: the matrix of one state from its numbers; ``past`` caches or not."""
    name = f"{k}_past" if past else str(k)
    together = n - n % _TOGETHER if n % t.lanes == 0 else 0

    def band(count: int, row: str) -> str:
        return f"  call void @lw_band{name}_{count}(ptr %dst, ptr %own, i64 {row})"

    return f"""{_band(t, n, name, terms, past, _TOGETHER)}
{_band(t, n, name, terms, past, 1)}
define internal void @lw_rows{name}(ptr %dst, ptr %own, ptr %spare) {{
{by_bands(_TOGETHER, together, n, band)}
}}
"""


def _by_lines(t: VectorType, n: int, k: int) -> str:
    """``@lw_rows{k}_past`` where rows end in the middle of a line: as many rows as fill lines, by way of ``spare``."""
    L, s, v = t.lanes, t.scalar, t.name
    line = f"""  %off = mul i64 %i, {L * t.size}
  %from_p = getelementptr i8, ptr %spare, i64 %off
  %to_p = getelementptr i8, ptr %to, i64 %off
  %x = load {v}, ptr %from_p, align {t.alignment}
  store {v} %x, ptr %to_p, align {t.alignment}, !nontemporal !0"""
    band = f"""  %skip = mul i64 %k, {n}
  %to = getelementptr {s}, ptr %dst, i64 %skip
  %back = sub i64 0, %skip
  %held = getelementptr {s}, ptr %spare, i64 %back
  %until_line = add i64 %k, {L}
  %full = icmp ule i64 %until_line, {n}
  %by_line = and i1 %full, %even
  %into = select i1 %by_line, ptr %held, ptr %dst
  %until = select i1 %full, i64 %until_line, i64 {n}
  br label %row
row:
  %r = phi i64 [%k, %band], [%r_next, %row]
  call void @lw_band{k}_1(ptr %into, ptr %own, i64 %r)
  %r_next = add i64 %r, 1
  %more_rows = icmp ult i64 %r_next, %until
  br i1 %more_rows, label %row, label %rows_end
rows_end:
  br i1 %by_line, label %line, label %band_end
{counted("line", "i", n, line, before="rows_end", after="band_end")}
band_end:"""
    return f"""define internal void @lw_rows{k}_past(ptr %dst, ptr %own, ptr %spare) {{
entry:
  %address = ptrtoint ptr %dst to i64
  %odd = and i64 %address, {t.alignment - 1}
  %even = icmp eq i64 %odd, 0
  br label %band
{counted("band", "k", n, band, before="entry", after="done", by=L, last="band_end")}
done:
  ret void
}}
"""


def _band(t: VectorType, n: int, name: str, terms: Terms, past: bool, rows: int) -> str:
    """``@lw_band{name}_{rows}(dst, own, k)``: rows from k on.

    The first columns, up to where vectors lie as they like to, and the last ones are stored under a mask. Between them
    are vectors below the diagonal, across it and above.
    """
    how = f"align {t.alignment}, !nontemporal !0" if past else f"align {t.alignment}"
    writer, part = (_BandWriter(t, n, terms, x, rows) for x in (how, "masked"))
    join, L = "\n".join, t.lanes
    return f"""define internal void @lw_band{name}_{rows}(ptr %dst, ptr %own, i64 %k) noinline {ALIGNED_STACK} {{
entry:
{join(writer.head())}
  %last = add i64 %k, {rows - 1}
  %address = ptrtoint ptr %row_0 to i64
  %ahead = sub i64 0, %address
  %short = and i64 %ahead, {t.alignment - 1}
  %ahead_of = udiv i64 %short, {t.size}
  %beyond = icmp ugt i64 %ahead_of, {n}
  %begin = select i1 %beyond, i64 {n}, i64 %ahead_of
  %odd = icmp ne i64 %begin, 0
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

    def __init__(self, t: VectorType, n: int, terms: Terms, how: str, rows: int) -> None:
        """``how`` is what vectors are stored with; "masked" stores ``%{tag}count`` of their numbers."""
        self.t, self.n, self.terms, self.how, self.rows = t, n, terms, how, rows

    def head(self) -> list[str]:
        """The rows' own numbers in all lanes, and where the rows and all bodies' numbers begin."""
        t, lines, length = self.t, [], row_length(self.n)
        numbers = t.wide("i64")
        for i in range(self.terms.numbers):
            lines.append(f"  %n{i}p = getelementptr {t.scalar}, ptr %own, i64 {i * length}")
            lines.append(f"  %n{i}k = getelementptr {t.scalar}, ptr %n{i}p, i64 %k")
            for r in range(self.rows):
                lines += [
                    f"  %n{i}_{r}p = getelementptr {t.scalar}, ptr %n{i}k, i64 {r}",
                    f"  %n{i}_{r}s = load {t.scalar}, ptr %n{i}_{r}p",
                    *t.spread(f"%n{i}_{r}s", f"%n{i}_{r}"),
                ]
        for r in range(self.rows):
            lines += [
                f"  %k_{r} = add i64 %k, {r}",
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
                product = f"{y}_{r}" if not so_far[r] else f"{y}_{r}m"
                lines.append(f"  {product} = fmul contract {t.name} {y}x, %n{own + i}_{r}")
                if so_far[r]:
                    lines.append(f"  {y}_{r} = fadd contract {t.name} {so_far[r]}, {product}")
                so_far[r] = f"{y}_{r}"
        return so_far, lines

    def _stored(self, tag: str, r: int, value: str) -> list[str]:
        t, to = self.t, f"%{tag}to{r}"
        place = f"  {to} = getelementptr {t.scalar}, ptr %row_{r}, i64 %{tag}j"
        if self.how != "masked":
            return [place, f"  store {t.name} {value}, ptr {to}, {self.how}"]
        numbers = t.wide("i64")
        counted = ", ".join(f"i64 {i}" for i in range(t.lanes))
        return [
            place,
            f"  {to}c = insertelement {numbers} poison, i64 %{tag}count, i32 0",
            f"  {to}d = shufflevector {numbers} {to}c, {numbers} poison, <{t.lanes} x i32> zeroinitializer",
            f"  {to}m = icmp ult {numbers} <{counted}>, {to}d",
            f"  call void @llvm.masked.store.{t.mangled}.p0({t.name} {value}, ptr {to}, i32 {t.size}, {t.mask} {to}m)",
        ]
