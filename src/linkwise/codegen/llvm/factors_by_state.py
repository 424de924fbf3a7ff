"""What bodies have for matrices, from one state per lane to state by state, where it lies.

The sweeps and walks of a block of states leave a body's factors and its rows of own blocks (:mod:`..rolled.factors`)
one after the other, as vectors with one state per lane; after all bodies come the numbers of Ψ
(:mod:`..rolled.blocks`). What makes rows of matrices works on one state at a time and reads many bodies or columns at
once, so it wants vectors of one state each. They are made in place, by transposing squares of as many vectors as a
vector has lanes:

- a factor of so many bodies in a row: afterwards the first of these bodies holds the first state's factor of all of
  them, the second body the second state's, and so on;
- so many columns of a body's row of an own block, likewise;
- so many numbers of Ψ, likewise.
"""

from __future__ import annotations

from ..rolled.factors import Factors
from .counted_loops import counted
from .sine_cosine import ALIGNED_STACK, VectorType
from .tiles import transposed


def body_bytes(factors: Factors, t: VectorType) -> int:
    """From one body to the next, and so, of the factors of some, from one state to the next."""
    return factors.width * t.alignment


def own_block_bytes(factors: Factors, own: int, t: VectorType) -> int:
    """Where a body's row of an own block begins."""
    return (len(factors.values) + own * factors.block) * t.alignment


def by_state_ir(factors: Factors, t: VectorType) -> str:
    """``@lw_by_state(of_bodies)``."""
    count, L = len(factors.values), t.lanes
    factor = f"""  %gv = mul i64 %g, {factors.width}
  %v = add i64 %gv, %f
{_square(t, "v", factors.width, "a")}"""
    bodies = f"""  br label %factor
{counted("factor", "f", count, factor, before="body", after="body_end")}
body_end:"""
    text = counted("body", "g", factors.length, bodies, before="entry", after="own", by=L, last="body_end")
    return f"""define internal void @lw_by_state(ptr %of_bodies) {ALIGNED_STACK} {{
entry:
  br label %body
{text}
own:
{_own(factors, t)}
units:
{_units(factors, t)}
done:
  ret void
}}
"""


def _units(factors: Factors, t: VectorType) -> str:
    """What walks make of unit vectors."""
    if not factors.unit_vectors:
        return "  br label %done"
    text = f"  %uv = add i64 %u, {factors.length * factors.width}\n{_square(t, 'uv', 1, 'c')}"
    loop = counted("unit", "u", factors.unit_vectors, text, before="units", after="done", by=t.lanes)
    return f"  br label %unit\n{loop}"


def _own(factors: Factors, t: VectorType) -> str:
    """The rows of own blocks, which follow one another in a body."""
    if not factors.own_blocks:
        return "  br label %units"
    part = f"""  %cv = add i64 %kv, %c
{_square(t, "cv", 1, "b")}"""
    row = f"""  %ks = mul i64 %k, {factors.width}
  %kv = add i64 %ks, {len(factors.values)}
  br label %part
{counted("part", "c", factors.own_blocks * factors.block, part, before="row", after="row_end", by=t.lanes)}
row_end:"""
    loop = counted("row", "k", factors.bodies, row, before="own", after="units", last="row_end")
    return f"  br label %row\n{loop}"


def _square(t: VectorType, first: str, by: int, tag: str) -> str:
    """Vectors from ``first`` on, each ``by`` after the other, as many as there are lanes."""
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
    lines += [f"  store {t.name} {x}, ptr %{tag}p{s}, align {t.alignment}" for s, x in enumerate(names)]
    return "\n".join(lines)
