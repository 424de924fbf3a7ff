"""A list of operations on matrices, run again and again by one function of machine code: its text as LLVM IR.

``i64 lw_tape(ops, count, first, steps, by)`` runs ``count`` operations for each of ``steps`` steps, the first, first +
by, …; it answers 0, or 1 where a matrix that is to be eliminated was not positive definite, and stops there. An
operation is a row of :data:`WORDS` words; matrices of a step lie ``…_step`` bytes after those of the step before, and 0
for those that all steps share. Columns come in whole vectors, all other strides are bytes:

    multiply     C ← βC + αAB        A by two strides, so that transposes cost nothing
    add          C ← βC + αB
    eliminate    of rows [R | S] of C, S at A:  R ← S⁻¹R  (S positive definite; S is used up)
    symmetrise   C and B ← ½(C + B*)  square, C and B the same or not overlapping

The code knows nothing of sizes, so that one module of some hundred lines serves every robot.
"""

from __future__ import annotations

from .counted_loops import by_bands, counted
from .sine_cosine import ALIGNED_STACK, VectorType

WORDS = (
    "kind",
    *("C", "C_step", "C_row"),
    *("A", "A_step", "A_row", "A_column"),
    *("B", "B_step", "B_row"),
    *("rows", "inner", "vectors"),
    *("alpha", "beta"),  # β is 0 or 1
)
KINDS = ("multiply", "add", "eliminate", "symmetrise")
_ROWS = (4, 1)  # of a tile of C that stays in registers


def tape_ir(t: VectorType) -> str:
    """The module's text, for vectors of this type."""
    widths = (4, 2, 1) if t.lanes >= 8 else (2, 1)  # as many as fit in 32 or in 16 registers
    tiles = [_tile(t, rows, width) for rows in _ROWS for width in widths]
    bands = [_band(t, rows, widths) for rows in _ROWS]
    return "\n".join([_head(t), *tiles, *bands, _MULTIPLY, _row_operation(t), _ADD, _ELIMINATE, _SYMMETRISE, _driver()])


def _head(t: VectorType) -> str:
    return f"declare {t.name} @llvm.fma.{t.mangled}({t.name}, {t.name}, {t.name})"


_PLACE = "ptr %c, i64 %c_row, ptr %a, i64 %a_row, i64 %a_column, ptr %b, i64 %b_row, i64 %inner"


def _tile(t: VectorType, rows: int, width: int) -> str:
    """``@lw_tile…``: some rows and vectors of C, which are summed up in registers."""
    v, size = t.name, t.lanes * t.size
    entries = [(i, j) for i in range(rows) for j in range(width)]
    phis = [f"  %s{i}_{j} = phi {v} [zeroinitializer, %entry], [%n{i}_{j}, %sum]" for i, j in entries]
    body, end = [], []
    for j in range(width):
        body += [
            f"  %bp{j} = getelementptr i8, ptr %bk, i64 {j * size}",
            f"  %b{j} = load {v}, ptr %bp{j}, align {t.size}",
        ]
    for i in range(rows):
        body += [
            f"  %am{i} = mul i64 %a_row, {i}",
            f"  %ap{i} = getelementptr i8, ptr %ak, i64 %am{i}",
            f"  %as{i} = load {t.scalar}, ptr %ap{i}, align {t.size}",
            *t.spread(f"%as{i}", f"%a{i}"),
        ]
    for i, j in entries:
        body.append(f"  %n{i}_{j} = call {v} @llvm.fma.{t.mangled}({v} %a{i}, {v} %b{j}, {v} %s{i}_{j})")
    for i, j in entries:
        end += [
            f"  %cm{i}_{j} = mul i64 %c_row, {i}",
            f"  %ct{i}_{j} = add i64 %cm{i}_{j}, {j * size}",
            f"  %cp{i}_{j} = getelementptr i8, ptr %c, i64 %ct{i}_{j}",
            f"  %o{i}_{j} = load {v}, ptr %cp{i}_{j}, align {t.size}",
            f"  %k{i}_{j} = select i1 %keep, {v} %o{i}_{j}, {v} zeroinitializer",
            f"  %f{i}_{j} = call {v} @llvm.fma.{t.mangled}({v} %n{i}_{j}, {v} %factor, {v} %k{i}_{j})",
            f"  store {v} %f{i}_{j}, ptr %cp{i}_{j}, align {t.size}",
        ]
    join = "\n".join
    return f"""define internal void @lw_tile{rows}x{width}({_PLACE}, {t.scalar} %alpha, i1 %keep) alwaysinline {{
entry:
{join(t.spread("%alpha", "%factor"))}
  br label %sum
sum:
  %k = phi i64 [0, %entry], [%k_next, %sum]
  %ak = phi ptr [%a, %entry], [%ak_next, %sum]
  %bk = phi ptr [%b, %entry], [%bk_next, %sum]
{join(phis)}
{join(body)}
  %ak_next = getelementptr i8, ptr %ak, i64 %a_column
  %bk_next = getelementptr i8, ptr %bk, i64 %b_row
  %k_next = add i64 %k, 1
  %more = icmp ult i64 %k_next, %inner
  br i1 %more, label %sum, label %done
done:
{join(end)}
  ret void
}}
"""


def _band(t: VectorType, rows: int, widths: tuple[int, ...]) -> str:
    """``@lw_band…``: some rows of C, in tiles from wide to narrow."""
    parts, before = [], "entry"
    size = t.lanes * t.size
    for n, width in enumerate(widths):
        after = f"wide{widths[n + 1]}" if n + 1 < len(widths) else "done"
        at = "0" if n == 0 else f"%j{widths[n - 1]}"
        call = (
            f"ptr %c{width}, i64 %c_row, ptr %a, i64 %a_row, i64 %a_column, ptr %b{width}, i64 %b_row, i64 %inner,"
            f" {t.scalar} %alpha, i1 %keep"
        )
        parts.append(f"""wide{width}:
  %j{width} = phi i64 [{at}, %{before}], [%next{width}, %tile{width}]
  %next{width} = add i64 %j{width}, {width}
  %fits{width} = icmp ule i64 %next{width}, %vectors
  br i1 %fits{width}, label %tile{width}, label %{after}
tile{width}:
  %off{width} = mul i64 %j{width}, {size}
  %c{width} = getelementptr i8, ptr %c, i64 %off{width}
  %b{width} = getelementptr i8, ptr %b, i64 %off{width}
  call void @lw_tile{rows}x{width}({call})
  br label %wide{width}""")
        before = f"wide{width}"
    body = "\n".join(parts)
    head = f"define internal void @lw_band{rows}({_PLACE}, i64 %vectors, {t.scalar} %alpha, i1 %keep) noinline"
    return f"{head} {ALIGNED_STACK} {{\nentry:\n  br label %wide{widths[0]}\n{body}\ndone:\n  ret void\n}}\n"


_BAND_CALL = (
    "i64 %c_row, ptr {a}, i64 %a_row, i64 %a_column, ptr %b, i64 %b_row, i64 %inner, i64 %vectors, double %alpha,"
    " i1 %keep"
)


def _some_rows(count: int, row: str) -> str:
    n = count
    return f"""  %c_by{n} = mul i64 {row}, %c_row
  %a_by{n} = mul i64 {row}, %a_row
  %c_at{n} = getelementptr i8, ptr %c, i64 %c_by{n}
  %a_at{n} = getelementptr i8, ptr %a, i64 %a_by{n}
  call void @lw_band{n}(ptr %c_at{n}, {_BAND_CALL.format(a=f"%a_at{n}")})"""


_MULTIPLY = f"""define internal void @lw_multiply({_PLACE}, i64 %rows, i64 %vectors, double %alpha, i1 %keep) {{
{by_bands(_ROWS[0], "%rows", _some_rows)}
}}
"""


def _row_operation(t: VectorType) -> str:
    """``@lw_row(c, b, vectors, alpha, keep)``: one row, C ← βC + αB."""
    v, size = t.name, t.lanes * t.size
    head = f"define internal void @lw_row(ptr %c, ptr %b, i64 %vectors, {t.scalar} %alpha, i1 %keep) alwaysinline"
    body = f"""  %off = mul i64 %j, {size}
  %cp = getelementptr i8, ptr %c, i64 %off
  %bp = getelementptr i8, ptr %b, i64 %off
  %x = load {v}, ptr %bp, align {t.size}
  %o = load {v}, ptr %cp, align {t.size}
  %k = select i1 %keep, {v} %o, {v} zeroinitializer
  %y = call {v} @llvm.fma.{t.mangled}({v} %x, {v} %factor, {v} %k)
  store {v} %y, ptr %cp, align {t.size}"""
    return f"""{head} {{
entry:
{chr(10).join(t.spread("%alpha", "%factor"))}
  br label %loop
{counted("loop", "j", "%vectors", body, before="entry", after="done")}
done:
  ret void
}}
"""


_ADD_ROW = """  %cm = mul i64 %i, %c_row
  %bm = mul i64 %i, %b_row
  %ci = getelementptr i8, ptr %c, i64 %cm
  %bi = getelementptr i8, ptr %b, i64 %bm
  call void @lw_row(ptr %ci, ptr %bi, i64 %vectors, double %alpha, i1 %keep)"""

_ADD = f"""define internal void @lw_add(ptr %c, i64 %c_row, ptr %b, i64 %b_row, i64 %rows, i64 %vectors,
    double %alpha, i1 %keep) {{
entry:
  br label %loop
{counted("loop", "i", "%rows", _ADD_ROW, before="entry", after="done")}
done:
  ret void
}}
"""

# Down, row k is taken from those below it; up, it is scaled to a pivot of one and taken from those above.
_ELIMINATE = """define internal i64 @lw_eliminate(ptr %c, i64 %row, ptr %s, i64 %rows, i64 %vectors) {
entry:
  br label %down
down:
  %k = phi i64 [0, %entry], [%k_next, %down_end]
  %dk = mul i64 %k, %row
  %ck = getelementptr i8, ptr %c, i64 %dk
  %srow = getelementptr i8, ptr %s, i64 %dk
  %pivot_p = getelementptr double, ptr %srow, i64 %k
  %pivot = load double, ptr %pivot_p
  %sound = fcmp ogt double %pivot, 0.0
  br i1 %sound, label %below, label %failed
below:
  %share = fdiv double -1.0, %pivot
  br label %rest
rest:
  %before = phi i64 [%k, %below], [%i, %one]
  %i = add i64 %before, 1
  %any = icmp ult i64 %i, %rows
  br i1 %any, label %one, label %down_end
one:
  %di = mul i64 %i, %row
  %ci = getelementptr i8, ptr %c, i64 %di
  %si = getelementptr i8, ptr %s, i64 %di
  %sik_p = getelementptr double, ptr %si, i64 %k
  %sik = load double, ptr %sik_p
  %factor = fmul double %sik, %share
  call void @lw_row(ptr %ci, ptr %ck, i64 %vectors, double %factor, i1 true)
  br label %rest
down_end:
  %k_next = add i64 %k, 1
  %more = icmp ult i64 %k_next, %rows
  br i1 %more, label %down, label %up
up:
  %u = phi i64 [%rows, %down_end], [%m, %up_end]
  %m = sub i64 %u, 1
  %dm = mul i64 %m, %row
  %cm = getelementptr i8, ptr %c, i64 %dm
  %sm = getelementptr i8, ptr %s, i64 %dm
  %last_p = getelementptr double, ptr %sm, i64 %m
  %last = load double, ptr %last_p
  %inverse = fdiv double 1.0, %last
  call void @lw_row(ptr %cm, ptr %cm, i64 %vectors, double %inverse, i1 false)
  br label %above
above:
  %j = phi i64 [0, %up], [%j_next, %over]
  %over_it = icmp ult i64 %j, %m
  br i1 %over_it, label %over, label %up_end
over:
  %dj = mul i64 %j, %row
  %cj = getelementptr i8, ptr %c, i64 %dj
  %sj = getelementptr i8, ptr %s, i64 %dj
  %sjm_p = getelementptr double, ptr %sj, i64 %m
  %sjm = load double, ptr %sjm_p
  %take = fneg double %sjm
  call void @lw_row(ptr %cj, ptr %cm, i64 %vectors, double %take, i1 true)
  %j_next = add i64 %j, 1
  br label %above
up_end:
  %first = icmp eq i64 %m, 0
  br i1 %first, label %done, label %up
done:
  ret i64 0
failed:
  ret i64 1
}
"""

_SYMMETRISE_ENTRY = """  %ci = mul i64 %i, %c_row
  %cr = getelementptr i8, ptr %c, i64 %ci
  %cp = getelementptr double, ptr %cr, i64 %j
  %bj = mul i64 %j, %b_row
  %br = getelementptr i8, ptr %b, i64 %bj
  %bp = getelementptr double, ptr %br, i64 %i
  %x = load double, ptr %cp
  %y = load double, ptr %bp
  %sum = fadd double %x, %y
  %mean = fmul double %sum, 0.5
  store double %mean, ptr %cp
  store double %mean, ptr %bp"""

_SYMMETRISE_ROW = f"""  br label %entry_of
{counted("entry_of", "j", "%rows", _SYMMETRISE_ENTRY, before="row", after="row_end")}
row_end:"""

_SYMMETRISE = f"""define internal void @lw_symmetrise(ptr %c, i64 %c_row, ptr %b, i64 %b_row, i64 %rows) {{
entry:
  br label %row
{counted("row", "i", "%rows", _SYMMETRISE_ROW, before="entry", after="done", last="row_end")}
done:
  ret void
}}
"""


def _driver() -> str:
    reads = []
    for n, word in enumerate(WORDS):
        kind = "ptr" if word in ("A", "B", "C") else "double" if word == "alpha" else "i64"
        reads += [f"  %{word}_p = getelementptr i64, ptr %op, i64 {n}", f"  %{word} = load {kind}, ptr %{word}_p"]
    for x in "ABC":
        reads += [f"  %{x}_d = mul i64 %{x}_step, %step", f"  %{x}_at = getelementptr i8, ptr %{x}, i64 %{x}_d"]
    cases = " ".join(f"i64 {n}, label %{name}" for n, name in enumerate(KINDS))
    reads_text = "\n".join(reads)
    operation = f"""  %here = mul i64 %n, {8 * len(WORDS)}
  %op = getelementptr i8, ptr %ops, i64 %here
{reads_text}
  %keep = icmp ne i64 %beta, 0
  switch i64 %kind, label %next [{cases}]
multiply:
  call void @lw_multiply(ptr %C_at, i64 %C_row, ptr %A_at, i64 %A_row, i64 %A_column, ptr %B_at, i64 %B_row,
    i64 %inner, i64 %rows, i64 %vectors, double %alpha, i1 %keep)
  br label %next
add:
  call void @lw_add(ptr %C_at, i64 %C_row, ptr %B_at, i64 %B_row, i64 %rows, i64 %vectors, double %alpha, i1 %keep)
  br label %next
eliminate:
  %bad = call i64 @lw_eliminate(ptr %C_at, i64 %C_row, ptr %A_at, i64 %rows, i64 %vectors)
  %stop = icmp ne i64 %bad, 0
  br i1 %stop, label %failed, label %next
symmetrise:
  call void @lw_symmetrise(ptr %C_at, i64 %C_row, ptr %B_at, i64 %B_row, i64 %rows)
  br label %next
next:"""
    turn = f"""  %ahead = mul i64 %t, %by
  %step = add i64 %first, %ahead
  br label %operation
{counted("operation", "n", "%count", operation, before="turn", after="turn_end", last="next")}
turn_end:"""
    return f"""define i64 @lw_tape(ptr %ops, i64 %count, i64 %first, i64 %steps, i64 %by) {ALIGNED_STACK} {{
entry:
  %none = icmp eq i64 %steps, 0
  br i1 %none, label %done, label %turn
{counted("turn", "t", "%steps", turn, before="entry", after="done", last="turn_end")}
done:
  ret i64 0
failed:
  ret i64 1
}}
"""
