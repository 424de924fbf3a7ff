"""What bodies have for matrices, from one state per lane to state by state.

The sweeps and walks of a block of states leave a body's factors and its rows of own blocks (:mod:`..rolled.factors`)
one after the other, as vectors with one state per lane. Rows of matrices want them the other way round: of one state
a factor of all bodies in a row, and a body's row of an own block in a row.
"""

from __future__ import annotations

from ..rolled.factors import Factors
from .counted_loops import counted
from .sine_cosine import ALIGNED_STACK, VectorType
from .tiles import transposed


def state_bytes(factors: Factors, t: VectorType) -> int:
    """From one state's numbers to the next one's."""
    return factors.state_numbers * t.size


def own_block_bytes(factors: Factors, own: int, t: VectorType) -> int:
    """Where an own block of all bodies begins in a state's numbers."""
    return (len(factors.values) + own * factors.block) * factors.length * t.size


def by_state_ir(factors: Factors, t: VectorType) -> str:
    """``@lw_by_state(of_bodies, states)``."""
    count, L = len(factors.values), t.lanes
    factor = f"""  %fn = mul i64 %f, {factors.length * t.size}
  %gn = mul i64 %g, {t.size}
  %place = add i64 %fn, %gn
  %gv = mul i64 %g, {factors.width}
  %v = add i64 %gv, %f
{_tile(factors, t, "v", "place", factors.width, "a")}"""
    bodies = f"""  br label %factor
{counted("factor", "f", count, factor, before="body", after="body_end")}
body_end:"""
    text = counted("body", "g", factors.length, bodies, before="entry", after="own", by=L, last="body_end")
    return f"""define internal void @lw_by_state(ptr %of_bodies, ptr %states) {ALIGNED_STACK} {{
entry:
  br label %body
{text}
own:
{_own(factors, t)}
done:
  ret void
}}
"""


def _own(factors: Factors, t: VectorType) -> str:
    """The rows of own blocks."""
    if not factors.own_blocks:
        return "  br label %done"
    part = f"""  %cv = add i64 %kv, %c
  %cn = mul i64 %c, {t.size}
  %to = add i64 %kn, %cn
{_tile(factors, t, "cv", "to", 1, "b")}"""
    row = f"""  %ks = mul i64 %k, {factors.width}
  %ms = mul i64 %m, {factors.block}
  %kvm = add i64 %ks, %ms
  %kv = add i64 %kvm, {len(factors.values)}
  %kr = mul i64 %k, {factors.block * t.size}
  %mr = mul i64 %m, {own_block_bytes(factors, 1, t) - own_block_bytes(factors, 0, t)}
  %kmr = add i64 %kr, %mr
  %kn = add i64 %kmr, {own_block_bytes(factors, 0, t)}
  br label %part
{counted("part", "c", factors.block, part, before="row", after="row_end", by=t.lanes)}
row_end:"""
    matrix = f"""  br label %row
{counted("row", "k", factors.bodies, row, before="matrix", after="matrix_end", last="row_end")}
matrix_end:"""
    loop = counted("matrix", "m", factors.own_blocks, matrix, before="own", after="done", last="matrix_end")
    return f"  br label %matrix\n{loop}"


def _tile(factors: Factors, t: VectorType, first: str, place: str, by: int, tag: str) -> str:
    """A tile from vector ``first`` on, each ``by`` vectors after the other, to ``place`` bytes into each state."""
    lines = []
    for i in range(t.lanes):
        lines += [
            f"  %{tag}v{i} = add i64 %{first}, {i * by}",
            f"  %{tag}o{i} = mul i64 %{tag}v{i}, {t.alignment}",
            f"  %{tag}p{i} = getelementptr i8, ptr %of_bodies, i64 %{tag}o{i}",
            f"  %{tag}x{i} = load {t.name}, ptr %{tag}p{i}, align {t.alignment}",
        ]
    names, shuffles = transposed([f"%{tag}x{i}" for i in range(t.lanes)], t, f"{tag}t")
    lines += shuffles
    for s, name in enumerate(names):
        lines += [
            f"  %{tag}s{s} = add i64 %{place}, {s * state_bytes(factors, t)}",
            f"  %{tag}q{s} = getelementptr i8, ptr %states, i64 %{tag}s{s}",
            f"  store {t.name} {name}, ptr %{tag}q{s}, align {t.alignment}",
        ]
    return "\n".join(lines)
