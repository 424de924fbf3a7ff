"""A scalar program as LLVM IR: straight-line SIMD code over the batch, one state per lane.

The kernel is ``i64 lw_kernel(i64 count, ptr arrays, ptr scratch)``; it answers 1 where a guard of the program was
not positive in some state, otherwise 0. ``count`` is how many states it is given and, in the bits from
:data:`PART_BITS` on, how many times as many the whole call has, less one. ``arrays`` holds three words for each
input and output, {address, bytes from state to state, bytes from number to number}. For each block of lanes
the inputs are transposed into ``scratch`` (one vector per number), the program runs on vectors, and the
results are transposed back. A last block that is not full repeats its last state and stores only what is real.
"""

from __future__ import annotations

from ..program.pieces import is_long, pieces
from ..program.places import computed_places, input_starts, output_count, output_slots
from ..program.signature import Signature
from ..program.trace import Program
from .assembled_block import assembled_block, frame_size, is_assembled, is_overlapped, is_paired, overlapped_block
from .driver import Turns, driver_ir, size_of
from .moving_states import transpose_in, transpose_out
from .one_state import has_scalar_code, one_ir, scalar_type
from .pieces import block_in_pieces
from .python_entry import DATA, STRIDES, field
from .sine_cosine import VectorType, declarations, sincos_ir
from .straight_line import ProgramWriter
from .streaming_stores import streaming_head


def kernel_ir(program: Program, t: VectorType) -> str:
    """The module's text: the batch kernel and, in double precision, code for one state."""
    scalar = t.bits == 64 and has_scalar_code(program)
    one = [scalar_type(program, t)] if scalar else []
    parts = block_parts(program, t, [t, *one], scratch_size(program, t))
    in_pair = None
    if is_paired(program, t):
        parts.append(assembled_block(program, t, "lw_pair", blocks=2))
        in_pair = output_count(program)
    turns = None
    if is_overlapped(program, t):
        blocks = 1 if in_pair is None else 2
        like = "lw_block" if in_pair is None else "lw_pair"
        parts.append(overlapped_block(program, t, "lw_turn", like, blocks))
        turns = Turns(blocks, scratch_size(program, t) - blocks * sum(program.inputs.values()) * t.alignment)
    parts += [driver_ir(program.signature, t, results_in_pair=in_pair, turns=turns), objects_ir(program.signature, t)]
    return "\n".join([*parts, *(one_ir(program, x) for x in one)])


def block_parts(program: Program, t: VectorType, types: list[VectorType], scratch: int) -> list[str]:
    """What any driver needs: the program on one block of states, and how states get in and out of it."""
    parts = [declarations(types), *(sincos_ir(x) for x in types)]
    parts.append(f"@lw_scratch_bytes = constant i64 {scratch}\n{streaming_head(t)}")
    parts += [transpose_in(t, n, k) for k, n in enumerate(program.inputs.values()) if n]
    return [*parts, *_transposes_out(program, t), _block_ir(program, t)]


def block_scratch(program: Program, t: VectorType) -> int:
    """How many bytes of scratch code for one block needs: inputs, outputs, what long code keeps in between."""
    vectors = sum(program.inputs.values()) + output_count(program)
    if is_assembled(program, t):
        vectors += frame_size(program, t)
    elif is_long(program):
        vectors += pieces(program).size
    return vectors * t.alignment


def scratch_size(program: Program, t: VectorType) -> int:
    """The same for all code of a kernel: for one block, for two, and for turns with the inputs of the next."""
    if not is_assembled(program, t):
        return block_scratch(program, t)
    inputs, blocks = sum(program.inputs.values()), 1
    frames = [frame_size(program, t)]
    if is_paired(program, t):
        blocks = 2
        frames.append(frame_size(program, t, blocks))
    vectors = blocks * (inputs + output_count(program))
    if is_overlapped(program, t):
        frames.append(frame_size(program, t, blocks, moving=True))
        vectors += blocks * inputs
    return (vectors + max(frames)) * t.alignment


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
