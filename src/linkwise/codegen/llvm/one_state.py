"""The program on one state with scalar instructions: what calls with single states run.

``i64 lw_one(table, out)`` reads addresses and last strides of the kernel's table of arrays, and answers 1 where a guard
of the program was not positive.
"""

from __future__ import annotations

from dataclasses import replace

from ...symbols.scalar import Scalar
from ..program.places import input_starts, output_count, output_slots
from ..program.trace import Program
from ..thresholds import ENTRY_NODES, STACK_NUMBERS
from .assembled_block import assembled_block, frame_size, is_assembled
from .python_entry import field
from .sine_cosine import VectorType
from .straight_line import ProgramWriter


def has_scalar_code(program: Program) -> bool:
    """Whether the program gets code for one state of its own: one output, and not too long.

    All others run the code for a block of states on one; it takes about as long, and longer to write results out.
    """
    return program.single and len(program.nodes) <= ENTRY_NODES


def scalar_type(program: Program, t: VectorType) -> VectorType:
    """The type that code for one state is written for, where that for blocks is written for t.

    Assembly works in memory of the stack, which many inputs or results would not fit on: LLVM's code needs none.
    """
    one = VectorType("double", 1, t.assembled)
    is_in_assembly = is_assembled(program, one) and room(program, one) <= STACK_NUMBERS
    return replace(one, assembled=is_in_assembly)


def room(program: Program, t: VectorType) -> int:
    """How many numbers inputs, results and frame are together."""
    return sum(program.inputs.values()) + output_count(program) + frame_size(program, t)


def one_ir(program: Program, t: VectorType) -> str:
    """The text of ``@lw_one``, with code for numbers of this type."""
    if is_assembled(program, t):
        return _in_assembly(program, t) + _ENTRY
    order = {name: k for k, name in enumerate(program.inputs)}
    lines = []
    for k in order.values():
        lines += field(f"%data{k}", "%table", 24 * k, "ptr")
        lines += field(f"%step{k}", "%table", 24 * k + 16, "i64")

    def load(name: str, index: int, to: str) -> list[str]:
        k = order[name]
        return [
            f"  {to}m = mul i64 %step{k}, {index}",
            f"  {to}p = getelementptr i8, ptr %data{k}, i64 {to}m",
            f"  {to} = load double, ptr {to}p, align 8",
        ]

    writer = ProgramWriter(t, load, fused=program.fused)
    if len(program.shapes[0]) > 1:
        _compute_and_store(program, writer)
    else:
        for node in program.nodes:
            writer.node(node)
        for j, root in enumerate(program.roots):
            writer.lines += _store(j, writer.value(root))
    bad = writer.require(program.guards)
    lines += writer.lines
    body = "\n".join(lines)
    return f"define internal i1 @lw_state(ptr %table, ptr %out) {{\n{body}\n  ret i1 {bad}\n}}\n{_ENTRY}"


_ENTRY = """define i64 @lw_one(ptr %table, ptr %out) {
  %bad = call i1 @lw_state(ptr %table, ptr %out)
  %answer = zext i1 %bad to i64
  ret i64 %answer
}
"""


def _in_assembly(program: Program, t: VectorType) -> str:
    """``@lw_state``: inputs are copied before the program runs, and results, which may be written over them, after."""
    starts, slots = input_starts(program), output_slots(program)
    results = sum(program.inputs.values())
    lines = [f"  %room = alloca [{room(program, t)} x {t.scalar}], align 64", "  br label %copy0", "copy0:"]
    for k, (name, size) in enumerate(program.inputs.items()):
        lines += field(f"%data{k}", "%table", 24 * k, "ptr") + field(f"%step{k}", "%table", 24 * k + 16, "i64")
        if not size:
            lines += [f"  br label %copy{k + 1}", f"copy{k + 1}:"]
            continue
        lines += [
            f"  br label %in{k}",
            f"in{k}:",
            f"  %i{k} = phi i64 [0, %copy{k}], [%n{k}, %in{k}]",
            f"  %m{k} = mul i64 %i{k}, %step{k}",
            f"  %f{k} = getelementptr i8, ptr %data{k}, i64 %m{k}",
            f"  %x{k} = load {t.scalar}, ptr %f{k}, align {t.size}",
            f"  %s{k} = add i64 %i{k}, {starts[name]}",
            f"  %t{k} = getelementptr {t.scalar}, ptr %room, i64 %s{k}",
            f"  store {t.scalar} %x{k}, ptr %t{k}, align {t.size}",
            f"  %n{k} = add i64 %i{k}, 1",
            f"  %more{k} = icmp ult i64 %n{k}, {size}",
            f"  br i1 %more{k}, label %in{k}, label %copy{k + 1}",
            f"copy{k + 1}:",
        ]
    end = f"copy{len(program.inputs)}"
    lines += [
        f"  %results = getelementptr {t.scalar}, ptr %room, i64 {results}",
        "  %bad = call i1 @lw_single(ptr %room, ptr %results)",
    ]
    if slots:
        lines += [
            "  br label %out_loop",
            "out_loop:",
            f"  %j = phi i64 [0, %{end}], [%j_next, %out_loop]",
            "  %where = getelementptr i64, ptr @lw_single_places, i64 %j",
            "  %slot = load i64, ptr %where",
            f"  %from = getelementptr {t.scalar}, ptr %results, i64 %slot",
            f"  %y = load {t.scalar}, ptr %from, align {t.size}",
            f"  %to = getelementptr {t.scalar}, ptr %out, i64 %j",
            f"  store {t.scalar} %y, ptr %to, align {t.size}",
            "  %j_next = add i64 %j, 1",
            f"  %again = icmp ult i64 %j_next, {len(slots)}",
            "  br i1 %again, label %out_loop, label %done",
            "done:",
        ]
    places = ", ".join(f"i64 {slot}" for slot in slots)
    table = f"@lw_single_places = internal constant [{len(slots)} x i64] [{places}]"
    body = "\n".join(lines)
    block = assembled_block(program, t, "lw_single")
    return f"{table}\n{block}\ndefine internal i1 @lw_state(ptr %table, ptr %out) {{\n{body}\n  ret i1 %bad\n}}\n"


def _compute_and_store(program: Program, writer: ProgramWriter) -> None:
    """The program with each entry of its matrix stored as soon as it is known.

    "volatile" keeps LLVM from comparing every store with every other, to merge them: a humanoid's mass matrix compiles
    in 0.8 s instead of 1.9 s, and one state takes 0.68 µs instead of 0.84 µs. Zeros and other constants are worth
    merging. As a result may be written over an input, all inputs are read first.
    """
    places: dict[int, list[int]] = {}
    for j, root in enumerate(program.roots):
        places.setdefault(id(root), []).append(j)
    for node in program.nodes:
        if node.op == "input":
            writer.node(node)
    for node in program.nodes:
        if node.op != "input":
            writer.node(node)
        for j in places.get(id(node), ()):
            writer.lines += _store(j, writer.value(node), "volatile ")
    for j, root in enumerate(program.roots):
        if not isinstance(root, Scalar):
            writer.lines += _store(j, writer.value(root))


def _store(j: int, value: str, how: str = "") -> list[str]:
    return [f"  %o{j} = getelementptr double, ptr %out, i64 {j}", f"  store {how}double {value}, ptr %o{j}, align 8"]
