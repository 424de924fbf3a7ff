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

from typing import TYPE_CHECKING, Any

import numpy as np

from .module import driver_ir, identity_places, objects_ir, size_of, transpose_in, transpose_out
from .product_matrix import product_out
from .rolled_body import (
    CLASS,
    FIRST,
    IN_OWN,
    IN_PARENT,
    INPUTS,
    LAST_OUTBOARD,
    NUMBER_FROM_BASE,
    NUMBERS,
    OUT_OWN,
    OUT_PARENT,
    OUTPUT,
    PARENT,
    BodyCode,
    columns,
    row_lines,
    saved,
)
from .rolled_walks import pair_loop, pair_slots
from .sine_cosine import ALIGNED_STACK, VectorType, declarations, sincos_ir
from .streaming_stores import streaming_head

if TYPE_CHECKING:
    from ..rolled.program import RolledProgram


def rolled_ir(program: RolledProgram, t: VectorType) -> str:
    """The module's text."""
    signature = program.signature
    parts = [declarations([t]), sincos_ir(t)]
    parts += [f"@{name} = global ptr null" for name in ("lw_integers", "lw_numbers")]
    parts.append(f"@lw_scratch_bytes = constant i64 {scratch_vectors(program) * t.lanes * t.size}\n{streaming_head(t)}")
    parts += [transpose_in(t, n, k) for k, n in enumerate(signature.inputs.values())]
    start = 0
    for k, shape in enumerate(signature.shapes):
        if k in program.terms:
            parts.append(product_out(t, shape[0], k, start, program.terms[k]))
        else:
            parts += [identity_places(t, size_of(shape), k, start), transpose_out(t, size_of(shape), k)]
        start += program.held(k)
    parts += [_block_ir(program, t), driver_ir(signature, t, program.terms), objects_ir(signature, t)]
    return "\n".join(parts)


# --- tables ------------------------------------------------------------------------------------------


def tables(program: RolledProgram, model: Any) -> tuple[np.ndarray, np.ndarray]:
    """(integers (bodies, columns), numbers) of a robot."""
    names = list(program.signature.inputs)
    starts = np.concatenate(([0], np.cumsum(list(program.signature.inputs.values()))))
    out = np.zeros((len(program.parents), columns(program)), dtype=np.int64)
    numbers: list[np.ndarray] = []
    position = 0
    for c, kind in enumerate(program.classes):
        for row, k in zip(kind.table, kind.members):
            out[k, CLASS], out[k, NUMBERS] = c, position
            numbers.append(row)
            position += len(row)
    for k, (q, v) in enumerate(zip(model.q_slices, model.v_slices)):
        out[k, OUTPUT] = v.start
        for j, name in enumerate(names):
            out[k, INPUTS + j] = starts[j] + (q.start if name == "q" else v.start)
    out[:, OUT_OWN], out[:, OUT_PARENT] = _outward_slots(program.parents)[:2]
    out[:, IN_OWN], out[:, IN_PARENT], out[:, FIRST] = _inward_slots(program.parents)[:3]
    out[:, PARENT] = program.parents
    out[:, NUMBER_FROM_BASE], out[:, LAST_OUTBOARD] = _branch_by_branch(program.parents)
    return out, np.concatenate(numbers) if numbers else np.zeros(0)


def _branch_by_branch(parents: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """Numbers of the bodies such that those outboard of a body follow it, and the last of them: a body is inboard of
    another, or is it, where the other's number lies between the two."""
    n = len(parents)
    outboard = [1] * n  # itself and all outboard
    for k in range(n - 1, -1, -1):
        if parents[k] >= 0:
            outboard[parents[k]] += outboard[k]
    number, free = [0] * n, [0] * n
    roots = 0
    for k, p in enumerate(parents):
        number[k] = roots if p < 0 else free[p]
        if p < 0:
            roots += outboard[k]
        else:
            free[p] += outboard[k]
        free[k] = number[k] + 1
    return number, [first + size - 1 for first, size in zip(number, outboard)]


def _outward_slots(parents: tuple[int, ...]) -> tuple[list[int], list[int], int]:
    """(own slot, parent's slot, how many slots) of values that children will read."""
    waiting = np.bincount([p for p in parents if p >= 0], minlength=len(parents)).tolist()
    own: list[int] = []
    of_parent: list[int] = []
    free: list[int] = []
    used = 2
    for k, p in enumerate(parents):
        of_parent.append(0 if p < 0 else own[p])
        if not waiting[k]:
            own.append(1)
        elif free:
            own.append(free.pop())
        else:
            own.append(used)
            used += 1
        if p >= 0:
            waiting[p] -= 1
            if not waiting[p]:
                free.append(own[p])
    return own, of_parent, used


def _inward_slots(parents: tuple[int, ...]) -> tuple[list[int], list[int], list[int], int]:
    """(own slot, parent's slot, whether the first to add to it, how many slots) of sums over children."""
    n = len(parents)
    own, of_parent, first = [0] * n, [1] * n, [1] * n
    free: list[int] = []
    used = 2
    for k in range(n - 1, -1, -1):
        p = parents[k]
        if p >= 0:
            first[k] = int(own[p] == 0)
            if first[k]:
                if not free:
                    free.append(used)
                    used += 1
                own[p] = free.pop()
            of_parent[k] = own[p]
        if own[k]:
            free.append(own[k])
    return own, of_parent, first, used


# --- memory ------------------------------------------------------------------------------------------


def _areas(program: RolledProgram) -> tuple[dict[str, int], int]:
    """(where the carries of each sweep and walk begin, where all end), in vectors from the start of the work area."""
    position = saved(program) * len(program.parents)
    outward, inward = _outward_slots(program.parents)[2], _inward_slots(program.parents)[3]
    areas = {}
    for sweep in program.sweeps:
        areas[f"%area{sweep.index}"] = position
        position += (outward if sweep.outward else inward) * len(sweep.start)
    for loop in program.loops:
        for walk in loop.walks:
            areas[f"%walk{walk.index}"] = position
            position += pair_slots(program, walk)
    return areas, position


def scratch_vectors(program: RolledProgram) -> int:
    """How many vectors of memory one run works in: inputs, outputs, saved values and carries."""
    signature = program.signature
    moved = sum(signature.inputs.values()) + sum(map(program.held, range(len(signature.shapes))))
    return moved + _areas(program)[1]


# --- code --------------------------------------------------------------------------------------------


def _block_ir(program: RolledProgram, t: VectorType) -> str:
    """``@lw_block(in, out)``: all phases for one block of states."""
    step = t.lanes * t.size
    outputs = sum(map(program.held, range(len(program.signature.shapes))))
    areas, _ = _areas(program)
    lines = [
        "  %flag = alloca i1",
        "  store i1 false, ptr %flag",
        "  %integers = load ptr, ptr @lw_integers",
        "  %numbers = load ptr, ptr @lw_numbers",
        f"  %work = getelementptr i8, ptr %out, i64 {outputs * step}",
    ]
    lines += [f"  {name} = getelementptr i8, ptr %work, i64 {place * step}" for name, place in areas.items()]
    for sweep in program.sweeps:
        for i, value in enumerate(sweep.start):
            place = f"%start{sweep.index}_{i}"
            lines.append(f"  {place} = getelementptr i8, ptr %area{sweep.index}, i64 {i * step}")
            lines.append(f"  store {t.name} {t.splat(value)}, ptr {place}, align {t.alignment}")
    if program.one_sided or (program.loops and not program.is_chain):
        # bodies of which neither is inboard of the other may have no block, and those of one side have none
        lines.append(f"  call void @llvm.memset.p0.i64(ptr %out, i8 0, i64 {outputs * step}, i1 false)")
    lines.append("  br label %phase0")
    for p in range(len(program.phases)):
        lines += _phase(program, p, t)
    lines.append(f"phase{len(program.phases)}:")
    for i, loop in enumerate(program.loops):
        lines += pair_loop(program, i, loop, t)
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
