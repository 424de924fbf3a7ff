"""A rolled program as LLVM IR: one loop over the bodies per phase, SIMD over the batch as in unrolled code.

What differs from body to body stands in two tables that are handed over when the code is loaded, ``lw_integers``
(one row per body: its class, the slots it reads and writes, where its inputs and outputs lie) and ``lw_numbers``
(the constants of all bodies). Besides inputs and outputs a block of states uses memory for

* carries: what a body hands to its children or its parent. A slot is free again once it has been read, so that a
  chain needs two of them however long it is. Slot 0 is the world (or the empty sum), slot 1 is for nobody;
* saved values, per body, from one phase to later ones;
* on trees, what a walk outward has at every body (:mod:`.rolled_walks`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..rolled.tables import areas, before_work, scratch_vectors
from .blocked_walks import blocked_walks
from .driver import driver_ir, size_of
from .module import identity_places, objects_ir
from .moving_states import transpose_in, transpose_out
from .product_matrix import call_matrices, matrices_ir
from .rolled_body import BodyCode, row_lines
from .rolled_walks import pair_loop
from .sine_cosine import ALIGNED_STACK, VectorType, declarations, sincos_ir
from .streaming_stores import streaming_head

if TYPE_CHECKING:
    from ..rolled.program import RolledProgram


def rolled_ir(program: RolledProgram, t: VectorType) -> str:
    """The module's text."""
    signature = program.signature
    parts = [declarations([t]), sincos_ir(t)]
    parts += [f"@{name} = global ptr null" for name in ("lw_integers", "lw_numbers")]
    scratch = scratch_vectors(program, max(t.alignment // 8, 1)) * t.alignment  # in every precision as much
    parts.append(f"@lw_scratch_bytes = constant i64 {scratch}\n{streaming_head(t)}")
    parts += [transpose_in(t, n, k) for k, n in enumerate(signature.inputs.values())]
    start = 0
    for k, shape in enumerate(signature.shapes):
        if k not in program.factors.matrices:
            parts += [identity_places(t, size_of(shape), k, start), transpose_out(t, size_of(shape), k)]
        start += program.held(k)
    driver = driver_ir(signature, t, program.factors.matrices, call_matrices(program))
    parts += [_block_ir(program, t), matrices_ir(program, t), driver, objects_ir(signature, t)]
    return "\n".join(parts)


# --- code --------------------------------------------------------------------------------------------


def _block_ir(program: RolledProgram, t: VectorType) -> str:
    """``@lw_block(in, out)``: all phases for one block of states."""
    step = t.lanes * t.size
    factors, places = program.factors, areas(program)[0]
    of_bodies = factors.length * factors.width
    lines = [
        "  %flag = alloca i1",
        "  store i1 false, ptr %flag",
        "  %integers = load ptr, ptr @lw_integers",
        "  %numbers = load ptr, ptr @lw_numbers",
        f"  %factors = getelementptr i8, ptr %out, i64 {program.all_held * step}",
        f"  %units = getelementptr i8, ptr %factors, i64 {of_bodies * step}",
        f"  %work = getelementptr i8, ptr %out, i64 {before_work(program) * step}",
    ]
    lines += [f"  %{name} = getelementptr i8, ptr %work, i64 {place * step}" for name, place in places.items()]
    for sweep in program.sweeps:
        for i, value in enumerate(sweep.start):
            place = f"%start{sweep.index}_{i}"
            lines.append(f"  {place} = getelementptr i8, ptr %area{sweep.index}, i64 {i * step}")
            lines.append(f"  store {t.name} {t.splat(value)}, ptr {place}, align {t.alignment}")
    if program.one_sided or (program.loops and not program.is_chain):
        # bodies of which neither is inboard of the other may have no block, and those of one side have none
        lines.append(f"  call void @llvm.memset.p0.i64(ptr %out, i8 0, i64 {program.all_held * step}, i1 false)")
    if factors.has_gaps:
        lines.append(f"  call void @llvm.memset.p0.i64(ptr %factors, i8 0, i64 {of_bodies * step}, i1 false)")
    lines.append("  br label %phase0")
    for p in range(len(program.phases)):
        lines += _phase(program, p, t)
    lines.append(f"phase{len(program.phases)}:")
    for i, loop in enumerate(program.loops):
        lines += pair_loop(program, i, loop, t)
    lines += blocked_walks(program, t)
    lines += ["  %bad = load i1, ptr %flag", "  ret i1 %bad"]
    body = "\n".join(lines)
    memset = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"
    head = f"define internal i1 @lw_block(ptr noalias %in, ptr noalias %out) {ALIGNED_STACK}"
    return f"{memset}{head} {{\nentry:\n{body}\n}}\n"


def _phase(program: RolledProgram, p: int, t: VectorType) -> list[str]:
    """One loop over the bodies, with a branch for each class."""
    n = len(program.parents)
    first, last, by = (0, n - 1, 1) if p % 2 == 0 else (n - 1, 0, -1)
    works = program.phases[p]
    if not any(w.sinks for w in works):
        return [f"phase{p}:", f"  br label %phase{p + 1}"]
    lines = [
        f"phase{p}:",
        f"  br label %loop{p}",
        f"loop{p}:",
        f"  %k{p} = phi i64 [{first}, %phase{p}], [%next{p}, %latch{p}]",
        *row_lines(program, str(p)),
    ]
    targets = " ".join(f"i64 {c}, label %p{p}c{c}" for c in range(1, len(works)))
    lines.append(f"  switch i64 %class{p}, label %p{p}c0 [{targets}]")
    for c, work in enumerate(works):
        lines += [f"p{p}c{c}:", *BodyCode(program, str(p), c, work, t).lines(), f"  br label %latch{p}"]
    return [
        *lines,
        f"latch{p}:",
        f"  %next{p} = add i64 %k{p}, {by}",
        f"  %end{p} = icmp eq i64 %k{p}, {last}",
        f"  br i1 %end{p}, label %phase{p + 1}, label %loop{p}",
    ]
