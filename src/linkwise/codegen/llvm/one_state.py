"""The program on one state with scalar instructions: what calls with single states run.

``i64 lw_one(table, out)`` reads addresses and last strides of the kernel's table of arrays, and answers 1 where a guard
of the program was not positive.
"""

from __future__ import annotations

from ...symbols.scalar import Scalar
from ..program.trace import Program
from ..thresholds import ENTRY_NODES
from .python_entry import field
from .sine_cosine import VectorType
from .straight_line import ProgramWriter


def has_scalar_code(program: Program) -> bool:
    """Whether the program gets code for one state of its own: one output, and not too long.

    All others run the code for a block of states on one; it takes about as long, and longer to write results out.
    """
    return program.single and len(program.nodes) <= ENTRY_NODES


def one_ir(program: Program) -> str:
    """The text of ``@lw_one``."""
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

    writer = ProgramWriter(VectorType("double", 1), load)
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
    return (
        f"define internal i1 @lw_state(ptr %table, ptr %out) {{\n{body}\n  ret i1 {bad}\n}}\n"
        "define i64 @lw_one(ptr %table, ptr %out) {\n  %bad = call i1 @lw_state(ptr %table, ptr %out)\n"
        "  %answer = zext i1 %bad to i64\n  ret i64 %answer\n}\n"
    )


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
