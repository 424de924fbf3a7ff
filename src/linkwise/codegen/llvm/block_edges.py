"""What walks have at the edges of blocks, for one state: X(i, B) of all bodies i that come to block B.

Bodies of the block before have it from their own walks (:attr:`..rolled.blocks.BlockedWalk.first`), those of blocks
before that have X(i, B−1) Ψ(B−1). In memory the blocks follow one another, in each the slots of the walk, in each all
bodies.
"""

from __future__ import annotations

from ..rolled.blocks import BlockedWalk
from ..rolled.factors import Factors
from .counted_loops import counted
from .sine_cosine import ALIGNED_STACK, VectorType


def edge_bytes(factors: Factors, w: int, t: VectorType) -> int:
    """Where the edges of a walk begin among those of all."""
    return sum(factors.blocks * len(x.slots) * factors.length * t.size for x in factors.walks[:w])


def block_bytes(factors: Factors, walk: BlockedWalk, t: VectorType) -> int:
    """From one block to the next in its edges."""
    return len(walk.slots) * factors.length * t.size


def edges_ir(factors: Factors, w: int, t: VectorType) -> str:
    """``@lw_edges…(state, units, edges)``; ``units`` are this state's, of this walk, each a vector after the last."""
    walk, block, length = factors.walks[w], factors.block, factors.length
    line, slots = length * t.size, len(walk.slots)
    fresh = []
    for i in range(slots):
        fresh += [
            f"  %fp{i} = getelementptr i8, ptr %state, i64 %fresh_at",
            f"  %fq{i} = getelementptr i8, ptr %fp{i}, i64 {(walk.first + i) * line}",
            f"  %fx{i} = load {t.name}, ptr %fq{i}, align {t.alignment}",
            f"  %fr{i} = getelementptr i8, ptr %here, i64 {i * line}",
            f"  %fs{i} = getelementptr i8, ptr %fr{i}, i64 %fresh_at",
            f"  store {t.name} %fx{i}, ptr %fs{i}, align {t.alignment}",
        ]
    fresh_text = "\n".join(["  %fi = add i64 %fresh, %f", f"  %fresh_at = mul i64 %fi, {t.size}", *fresh])
    which = (
        "  %b = add i64 %turn, 1\n  %last = add i64 %turn, 0\n  %first = add i64 0, 0\n"
        f"  %count = mul i64 %last, {block}\n  %fresh = mul i64 %last, {block}"
        if walk.walk.outward
        else f"  %b = sub i64 {factors.blocks - 2}, %turn\n  %last = add i64 %b, 1\n"
        f"  %fresh = mul i64 %last, {block}\n  %first = add i64 %fresh, {block}\n"
        f"  %beyond = icmp ugt i64 %first, {length}\n  %rest = sub i64 {length}, %first\n"
        "  %count = select i1 %beyond, i64 0, i64 %rest"
    )
    body = f"""{which}
  %here_by = mul i64 %b, {block_bytes(factors, walk, t)}
  %here = getelementptr i8, ptr %edges, i64 %here_by
  %before_by = mul i64 %last, {block_bytes(factors, walk, t)}
  %before = getelementptr i8, ptr %edges, i64 %before_by
  %unit_by = mul i64 %last, {slots * slots * t.alignment}
  %psi = getelementptr i8, ptr %units, i64 %unit_by
  br label %begun
{counted("begun", "f", block, fresh_text, before="block", after="others", by=t.lanes)}
others:
  %none = icmp eq i64 %count, 0
  br i1 %none, label %block_end, label %passed
{counted("passed", "p", "%count", _passed(factors, walk, t), before="others", after="block_end", by=t.lanes)}
block_end:"""
    head = f"define internal void @lw_edges{w}(ptr %state, ptr %units, ptr %edges) {ALIGNED_STACK}"
    if factors.blocks < 2:
        return f"{head} {{\n  ret void\n}}\n"
    return f"""{head} {{
entry:
  br label %block
{counted("block", "turn", factors.blocks - 1, body, before="entry", after="done", last="block_end")}
done:
  ret void
}}
"""


def _passed(factors: Factors, walk: BlockedWalk, t: VectorType) -> str:
    """Some bodies of blocks farther away: Σ X(slot) Ψ(slot, into) for every slot that changes."""
    line, slots, changing = factors.length * t.size, len(walk.slots), walk.changing
    lines = ["  %pi = add i64 %first, %p", f"  %at = mul i64 %pi, {t.size}"]
    for i in range(slots):
        lines += [
            f"  %pp{i} = getelementptr i8, ptr %before, i64 {i * line}",
            f"  %pq{i} = getelementptr i8, ptr %pp{i}, i64 %at",
            f"  %px{i} = load {t.name}, ptr %pq{i}, align {t.alignment}",
        ]
    for j in range(slots):
        value = f"%px{j}"
        for n, i in enumerate(changing if j in changing else ()):
            u = f"%u{i}_{j}"
            lines += [
                f"  {u}p = getelementptr i8, ptr %psi, i64 {(i * slots + j) * t.alignment}",
                f"  {u}s = load {t.scalar}, ptr {u}p, align {t.size}",
                *t.spread(f"{u}s", u),
            ]
            operands = f"{t.name} %px{i}, {t.name} {u}"
            if n:
                lines.append(f"  {u}y = call {t.name} @llvm.fmuladd.{t.mangled}({operands}, {t.name} {value})")
            else:
                lines.append(f"  {u}y = fmul {t.name} %px{i}, {u}")
            value = f"{u}y"
        lines += [
            f"  %pr{j} = getelementptr i8, ptr %here, i64 {j * line}",
            f"  %ps{j} = getelementptr i8, ptr %pr{j}, i64 %at",
            f"  store {t.name} {value}, ptr %ps{j}, align {t.alignment}",
        ]
    return "\n".join(lines)
