"""What walks have at the edges of blocks, for one state: X(i, B) of all bodies i that come to block B.

Bodies of the block before have it from their own walks (:attr:`..rolled.blocks.BlockedWalk.first`), those of blocks
before that have X(i, B−1) Ψ(B−1). In memory the blocks follow one another, in each the slots of the walk, in each all
bodies. Bodies are done as rows of matrices are, some at a time, just before rows are made of what they have.
"""

from __future__ import annotations

from ..rolled.blocks import BlockedWalk
from ..rolled.factors import Factors
from ..thresholds import LINE_PRODUCTS
from .factors_by_state import body_bytes
from .row_bands import FROM, LEFT, TO, copied, field
from .sine_cosine import ALIGNED_STACK, VectorType


def edge_bytes(factors: Factors, w: int, t: VectorType) -> int:
    """Where the edges of a walk begin among those of all."""
    return sum(factors.blocks * len(x.slots) * factors.length * t.size for x in factors.walks[:w])


def block_bytes(factors: Factors, walk: BlockedWalk, t: VectorType) -> int:
    """From one block to the next in its edges."""
    return len(walk.slots) * factors.length * t.size


def edges_ir(factors: Factors, w: int, t: VectorType) -> str:
    """``@lw_edges…(state, units, edges, k, band)``: of a vector of bodies from body k on; ``units`` are this state's,
    of this walk, in squares. Lines of rows that were made before are copied in between."""
    walk, block, slots = factors.walks[w], factors.block, range(len(factors.walks[w].slots))
    line, outward = factors.length * t.size, walk.walk.outward
    first, last, by = ("%own_next", factors.blocks - 1, 1) if outward else ("%own_before", 0, -1)
    begun = [
        f"  %at = mul i64 %k, {t.size}",
        f"  %mine_by = mul i64 %k, {body_bytes(factors, t)}",
        "  %mine = getelementptr i8, ptr %state, i64 %mine_by",
    ]
    for i in slots:
        begun += [
            f"  %fp{i} = getelementptr i8, ptr %mine, i64 {(walk.first + i) * t.alignment}",
            f"  %fx{i} = load {t.name}, ptr %fp{i}, align {t.alignment}",
        ]
    came = [f"  %x{i} = phi {t.name} [%fx{i}, %begin], [%y{i}, %on]" for i in walk.changing]
    stores = []
    for i in slots:
        value = f"%x{i}" if i in walk.changing else f"%fx{i}"
        stores += [
            f"  %r{i} = getelementptr i8, ptr %here, i64 {i * line}",
            f"  %s{i} = getelementptr i8, ptr %r{i}, i64 %at",
            f"  store {t.name} {value}, ptr %s{i}, align {t.alignment}",
        ]
    passing, copies, join = _passed(walk, t), len(walk.changing) ** 2 // LINE_PRODUCTS, "\n".join
    given = "ptr %state, ptr %units, ptr %edges, i64 %k, ptr %band"
    return f"""define internal void @lw_edges{w}({given}) noinline {ALIGNED_STACK} {{
entry:
{field("%fromp", FROM)}
{field("%top", TO)}
{field("%leftp", LEFT)}
  %from = load ptr, ptr %fromp
  %to = load ptr, ptr %top
  %left = load i64, ptr %leftp
  %own = udiv i64 %k, {block}
  %own_next = add i64 %own, 1
  %own_before = sub i64 %own, 1
  %none = icmp eq i64 %own, {last}
  br i1 %none, label %done, label %begin
begin:
{join(begun)}
  br label %block
block:
  %b = phi i64 [{first}, %begin], [%b_next, %on]
  %now = phi i64 [%left, %begin], [%after, %on]
{join(came)}
  %here_by = mul i64 %b, {block_bytes(factors, walk, t)}
  %here = getelementptr i8, ptr %edges, i64 %here_by
{join(stores)}
  %any = icmp uge i64 %now, {copies}
  br i1 %any, label %copy, label %copied
copy:
{join(copied(t, "%now", copies, "c"))}
  %less = sub i64 %now, {copies}
  br label %copied
copied:
  %after = phi i64 [%now, %block], [%less, %copy]
  %end = icmp eq i64 %b, {last}
  br i1 %end, label %stop, label %on
on:
  %b_next = add i64 %b, {by}
  %unit_by = mul i64 %b, {walk.unit_vectors * t.alignment}
  %psi = getelementptr i8, ptr %units, i64 %unit_by
{join(passing)}
  br label %block
stop:
  store i64 %after, ptr %leftp
  br label %done
done:
  ret void
}}
"""


def _passed(walk: BlockedWalk, t: VectorType) -> list[str]:
    """What goes on to the next block: Σ X(slot) Ψ(slot, into) for every slot that changes."""
    slots, changing, lines = len(walk.slots), walk.changing, []
    for j in changing:
        value = ""
        for n, i in enumerate(changing):
            u = f"%u{i}_{j}"
            square, place = divmod(i * slots + j, t.lanes)
            to = f"%y{j}" if i == changing[-1] else f"{u}y"
            lines += [
                f"  {u}p = getelementptr i8, ptr %psi, i64 {square * t.lanes * t.alignment + place * t.size}",
                f"  {u}s = load {t.scalar}, ptr {u}p, align {t.size}",
                *t.spread(f"{u}s", u),
            ]
            if n:
                operands = f"{t.name} %x{i}, {t.name} {u}, {t.name} {value}"
                lines.append(f"  {to} = call {t.name} @llvm.fmuladd.{t.mangled}({operands})")
            else:
                lines.append(f"  {to} = fmul {t.name} %x{i}, {u}")
            value = to
    return lines
