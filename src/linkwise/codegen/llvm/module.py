"""A scalar program as LLVM IR: straight-line SIMD code over the batch, one state per lane.

The kernel is ``i64 lw_kernel(i64 count, ptr arrays, ptr scratch)``; it answers 1 where a guard of the program was
not positive in some state, otherwise 0. ``count`` is how many states it is given and, in the bits from
:data:`PART_BITS` on, how many times as many the whole call has, less one. ``arrays`` holds three words for each
input and output, {address, bytes from state to state, bytes from number to number}. For each block of lanes
the inputs are transposed into ``scratch`` (one vector per number), the program runs on vectors, and the
results are transposed back. A last block that is not full repeats its last state and stores only what is real.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ..program.pieces import is_long, pieces
from ..program.places import computed_places, input_starts, output_count, output_slots
from ..program.signature import Signature
from ..program.trace import Program
from .assembled_block import assembled_block, frame_size, is_assembled, is_paired
from .driver import driver_ir, size_of
from .one_state import has_scalar_code, one_ir, scalar_type
from .pieces import block_in_pieces
from .python_entry import DATA, STRIDES, field
from .sine_cosine import ALIGNED_STACK, VectorType, declarations, sincos_ir
from .straight_line import ProgramWriter
from .streaming_stores import is_streamed, stream_ir, streaming_head
from .tiles import tile_of_places, transposed


def kernel_ir(program: Program, t: VectorType) -> str:
    """The module's text: the batch kernel and, in double precision, code for one state."""
    scalar = t.bits == 64 and has_scalar_code(program)
    one = [scalar_type(program, t)] if scalar else []
    parts = block_parts(program, t, [t, *one])
    in_pair = None
    if is_paired(program, t):
        parts.append(assembled_block(program, t, "lw_pair", blocks=2))
        in_pair = output_count(program)
    parts += [driver_ir(program.signature, t, results_in_pair=in_pair), objects_ir(program.signature, t)]
    return "\n".join([*parts, *(one_ir(program, x) for x in one)])


def block_parts(program: Program, t: VectorType, types: list[VectorType]) -> list[str]:
    """What any driver needs: the program on one block of states, and how states get in and out of it."""
    parts = [declarations(types), *(sincos_ir(x) for x in types)]
    parts.append(f"@lw_scratch_bytes = constant i64 {scratch_size(program, t)}\n{streaming_head(t)}")
    parts += [transpose_in(t, n, k) for k, n in enumerate(program.inputs.values()) if n]
    return [*parts, *_transposes_out(program, t), _block_ir(program, t)]


def scratch_size(program: Program, t: VectorType) -> int:
    """How many bytes of scratch one run needs: inputs, outputs, and what long code keeps in memory in between."""
    vectors = sum(program.inputs.values()) + output_count(program)
    if is_paired(program, t):
        vectors = 2 * vectors + max(frame_size(program, t), frame_size(program, t, blocks=2))
    elif is_assembled(program, t):
        vectors += frame_size(program, t)
    elif is_long(program):
        vectors += pieces(program).size
    return vectors * t.alignment


def identity_places(t: VectorType, size: int, k: int, start: int) -> str:
    """The table of places of an output whose numbers lie one after another from ``start``."""
    places = ", ".join(f"i64 {(start + i) * t.lanes}" for i in range(size))
    return f"@lw_places{k} = internal constant [{size} x i64] [{places}]"


def _transposes_out(program: Program, t: VectorType) -> list[str]:
    """One function per output, with the table of its numbers' places."""
    slots, parts, start = output_slots(program), [], 0
    for k, shape in enumerate(program.shapes):
        size = size_of(shape)
        if size:
            places = ", ".join(f"i64 {slot * t.lanes}" for slot in slots[start : start + size])
            parts.append(f"@lw_places{k} = internal constant [{size} x i64] [{places}]")
            parts.append(transpose_out(t, size, k))
        start += size
    return parts


# --- the program -------------------------------------------------------------------------------------


def _block_ir(program: Program, t: VectorType) -> str:
    """``@lw_block(in, out)``: one block of states, inputs and outputs as vectors in memory."""
    starts = input_starts(program)
    step = t.lanes * t.size

    def load(name: str, index: int, to: str) -> list[str]:
        place = f"  {to}p = getelementptr i8, ptr %in, i64 {(starts[name] + index) * step}"
        return [place, f"  {to} = load {t.name}, ptr {to}p, align {t.alignment}"]

    if is_assembled(program, t):
        return assembled_block(program, t, "lw_block")
    writer = ProgramWriter(t, load, fused=program.fused)
    places, constants = computed_places(program)
    for slot, x in constants.items():
        writer.lines += _store(t, writer.value(x), slot)
    if is_long(program):
        return block_in_pieces(program, t, load, places, writer.lines, output_count(program))
    for node in program.nodes:
        writer.node(node)
        if id(node) in places:  # at once, so that no register holds it for long
            writer.lines += _store(t, writer.value(node), places[id(node)])
    bad = writer.require(program.guards)
    body = "\n".join(writer.lines)
    head = "define internal i1 @lw_block(ptr noalias %in, ptr noalias %out) alwaysinline"
    return f"{head} {{\n{body}\n  ret i1 {bad}\n}}\n"


def _store(t: VectorType, value: str, slot: int) -> list[str]:
    place = f"  %o{slot} = getelementptr i8, ptr %out, i64 {slot * t.lanes * t.size}"
    return [place, f"  store {t.name} {value}, ptr %o{slot}, align {t.alignment}"]


# --- moving states in and out ------------------------------------------------------------------------


def _lane_pointers(t: VectorType, base: str) -> list[str]:
    """Pointers to each lane's state; lanes past the last real state point to that state."""
    lines = []
    for lane in range(t.lanes):
        lines += [
            f"  %over{lane} = icmp ugt i64 {lane}, %last",
            f"  %lane{lane} = select i1 %over{lane}, i64 %last, i64 {lane}",
            f"  %move{lane} = mul i64 %lane{lane}, %between",
            f"  %row{lane} = getelementptr i8, ptr {base}, i64 %move{lane}",
        ]
    return lines


def _mask(t: VectorType, columns: int) -> str:
    bits = ", ".join(f"i1 {1 if i < columns else 0}" for i in range(t.lanes))
    return f"<{t.lanes} x i1> <{bits}>"


def _load_tile(t: VectorType, columns: int, tag: str) -> list[str]:
    """Rows %row0… at column %c as vectors, transposed, stored to %dst; only ``columns`` of them are real."""
    v, s = t.name, t.scalar
    lines = []
    for i in range(t.lanes):
        lines.append(f"  %{tag}at{i} = getelementptr {s}, ptr %row{i}, i64 %{tag}c")
        if columns == t.lanes:
            lines.append(f"  %{tag}x{i} = load {v}, ptr %{tag}at{i}, align {t.size}")
        else:
            call = f"(ptr %{tag}at{i}, i32 {t.size}, {_mask(t, columns)}, {v} zeroinitializer)"
            lines.append(f"  %{tag}x{i} = call {v} @llvm.masked.load.{t.mangled}.p0{call}")
    names, shuffles = transposed([f"%{tag}x{i}" for i in range(t.lanes)], t, f"{tag}t")
    lines += shuffles
    for i, name in enumerate(names[:columns]):
        lines += [
            f"  %{tag}c{i} = add i64 %{tag}c, {i}",
            f"  %{tag}d{i} = mul i64 %{tag}c{i}, {t.lanes}",
            f"  %{tag}to{i} = getelementptr {s}, ptr %dst, i64 %{tag}d{i}",
            f"  store {v} {name}, ptr %{tag}to{i}, align {t.alignment}",
        ]
    return lines


def _store_tile(t: VectorType, columns: int, tag: str, k: int = 0) -> list[str]:
    """The vectors of columns %c… of %src, transposed, stored to the rows of %dst."""
    v, s = t.name, t.scalar
    names, lines = tile_of_places(t, k, tag, f"%{tag}c", columns)
    for i, name in enumerate(names):
        lines += [
            f"  %{tag}m{i} = mul i64 %between, {i}",
            f"  %{tag}row{i} = getelementptr i8, ptr %dst, i64 %{tag}m{i}",
            f"  %{tag}at{i} = getelementptr {s}, ptr %{tag}row{i}, i64 %{tag}c",
        ]
        if columns == t.lanes:
            lines.append(f"  store {v} {name}, ptr %{tag}at{i}, align {t.size}")
        else:
            call = f"({v} {name}, ptr %{tag}at{i}, i32 {t.size}, {_mask(t, columns)})"
            lines.append(f"  call void @llvm.masked.store.{t.mangled}.p0{call}")
    return lines


def _tiles(t: VectorType, n: int, tile: Any) -> list[str]:
    """Whole tiles in a loop, then the last columns under a mask; falls through to %done."""
    full, rest = n - n % t.lanes, n % t.lanes
    lines = ["tiles:"]
    if full:
        lines += ["  br label %tile", "tile:", "  %fc = phi i64 [0, %tiles], [%fc_next, %tile]"]
        lines += tile(t, t.lanes, "f")
        lines += [f"  %fc_next = add i64 %fc, {t.lanes}", f"  %fmore = icmp ult i64 %fc_next, {full}"]
        lines += ["  br i1 %fmore, label %tile, label %tail", "tail:"]
    if rest:
        lines += [f"  %rc = add i64 0, {full}", *tile(t, rest, "r")]
    return [*lines, "  br label %done"]


def transpose_in(t: VectorType, n: int, k: int) -> str:
    """``@lw_in{k}(src, between, step, dst, last)``: n numbers of each lane's state, as n vectors."""
    s, width = t.scalar, t.lanes
    rows = _lane_pointers(t, "%src")
    singles = [f"  %e0 = mul i64 %j, {width}"] + [f"  %e{i} = add i64 %e0, {i}" for i in range(1, width)]
    for i in range(width):
        singles += [
            f"  %g{i} = getelementptr i8, ptr %row{i}, i64 %skip",
            f"  %y{i} = load {s}, ptr %g{i}, align {t.size}",
            f"  %k{i} = getelementptr {s}, ptr %dst, i64 %e{i}",
            f"  store {s} %y{i}, ptr %k{i}, align {t.size}",
        ]
    join = "\n".join
    return f"""define internal void @lw_in{k}(ptr %src, i64 %between, i64 %step, ptr %dst, i64 %last) {ALIGNED_STACK} {{
entry:
{join(rows)}
  %packed = icmp eq i64 %step, {t.size}
  br i1 %packed, label %tiles, label %singles
{join(_tiles(t, n, _load_tile))}
singles:
  %j = phi i64 [0, %entry], [%j_next, %singles]
  %skip = mul i64 %j, %step
{join(singles)}
  %j_next = add i64 %j, 1
  %again = icmp ult i64 %j_next, {n}
  br i1 %again, label %singles, label %done
done:
  ret void
}}
"""


def transpose_out(t: VectorType, n: int, k: int) -> str:
    """``@lw_out{k}(dst, between, step, src, lanes, large)``: n vectors to each real lane's state."""
    s, width = t.scalar, t.lanes
    join = "\n".join
    streamed = is_streamed(n, t)
    stream = f"  %all = call i1 @lw_stream{k}(ptr %dst, ptr %src)" if streamed else "  %all = or i1 false, false"
    before = stream_ir(t, n, k) if streamed else ""
    return f"""{before}
define internal void @lw_out{k}(ptr %dst, i64 %between, i64 %step, ptr %src, i64 %lanes, i1 %large) {ALIGNED_STACK} {{
entry:
  %packed = icmp eq i64 %step, {t.size}
  %filled = icmp eq i64 %lanes, {width}
  %quick = and i1 %packed, %filled
  %dense = icmp eq i64 %between, {n * t.size}
  %past = and i1 %dense, %large
  %streamed = and i1 %past, %quick
  br i1 %streamed, label %stream, label %usual
stream:
{stream}
  br i1 %all, label %done, label %usual
usual:
  br i1 %quick, label %tiles, label %lanes_loop
{join(_tiles(t, n, partial(_store_tile, k=k)))}
lanes_loop:
  %lane = phi i64 [0, %usual], [%lane_next, %lane_end]
  %move = mul i64 %lane, %between
  %row = getelementptr i8, ptr %dst, i64 %move
  br label %singles
singles:
  %j = phi i64 [0, %lanes_loop], [%j_next, %singles]
  %skip = mul i64 %j, %step
  %to = getelementptr i8, ptr %row, i64 %skip
  %place = getelementptr i64, ptr @lw_places{k}, i64 %j
  %e = load i64, ptr %place
  %f = add i64 %e, %lane
  %at = getelementptr {s}, ptr %src, i64 %f
  %y = load {s}, ptr %at, align {t.size}
  store {s} %y, ptr %to, align {t.size}
  %j_next = add i64 %j, 1
  %again = icmp ult i64 %j_next, {n}
  br i1 %again, label %singles, label %lane_end
lane_end:
  %lane_next = add i64 %lane, 1
  %more_lanes = icmp ult i64 %lane_next, %lanes
  br i1 %more_lanes, label %lanes_loop, label %done
done:
  ret void
}}
"""


def objects_ir(signature: Signature, t: VectorType) -> str:
    """``@lw_objects(count, objects, scratch)``: the kernel on NumPy array objects, addresses of which are given.

    Inputs have two axes; of outputs, which are contiguous, the first stride is read.
    """
    inputs, total = len(signature.inputs), len(signature.inputs) + len(signature.shapes)
    lines = [f"  %table = alloca [{3 * total} x i64]"]
    for n in range(total):
        step = f"%y{n}" if n < inputs else str(t.size)
        lines += [
            f"  %slot{n} = getelementptr ptr, ptr %objects, i64 {n}",
            f"  %array{n} = load ptr, ptr %slot{n}",
            *field(f"%data{n}", f"%array{n}", DATA, "i64"),
            *field(f"%strides{n}", f"%array{n}", STRIDES, "ptr"),
            f"  %x{n} = load i64, ptr %strides{n}",
        ]
        if n < inputs:
            lines += field(f"%y{n}", f"%strides{n}", 8, "i64")
        for word, value in enumerate((f"%data{n}", f"%x{n}", step)):
            lines.append(f"  %to{n}_{word} = getelementptr i64, ptr %table, i64 {3 * n + word}")
            lines.append(f"  store i64 {value}, ptr %to{n}_{word}")
    body = "\n".join(lines)
    return (
        f"define i64 @lw_objects(i64 %count, ptr %objects, ptr %scratch) {{\n{body}\n"
        "  %answer = call i64 @lw_kernel(i64 %count, ptr %table, ptr %scratch)\n  ret i64 %answer\n}\n"
    )
