"""Quick ways in for one state: CPython functions emitted beside the kernel.

``lw_call(self, args, nargs, kwnames)`` speaks CPython's fast call. Where every argument is a plain, aligned
float64 NumPy vector of the right length it runs the scalar program on their memory, whatever their strides,
and returns a new array; in every other case it hands the call to ``self``, the Python function that checks
and explains. It does so too where a guard of the program is not positive. The fields of NumPy's array object
are read directly: their order is part of NumPy's public C interface;
:mod:`..runtime.python_functions` checks it against a live array before this code is used.

``lw_bound(self, nothing)`` takes no arguments: ``self`` is an int64 array with the addresses of arrays bound to
it beforehand, {states (−1: a single one), scratch, output, the kernel's table}. It returns whether the result is sound.

``lw_context`` is filled in when the code is loaded: addresses of the ndarray type, the float64 descriptor,
``PyArray_New``, ``PyObject_Vectorcall``, ``Py_DecRef``, ``PyBool_FromLong``.
"""

from __future__ import annotations

from ...symbols.scalar import Scalar
from ..program.trace import Program
from ..thresholds import ENTRY_NODES
from .sine_cosine import VectorType
from .straight_line import ProgramWriter

# Offsets in PyObject and PyArrayObject_fields on 64-bit platforms.
TYPE, DATA, NDIM, SHAPE, STRIDES, DESCR, FLAGS = 8, 16, 24, 32, 40, 56, 64
ALIGNED = 0x0100
NPY_DOUBLE = 12


def has_entry(program: Program) -> bool:
    """Whether the program gets a quick entry: one output with at least one axis, and not too long."""
    return program.single and len(program.shapes[0]) > 0 and len(program.nodes) <= ENTRY_NODES


def entry_ir(program: Program) -> str:
    """The text of ``@lw_call`` and what it needs."""
    lines, slow = [], "label %python"
    names = list(program.inputs)
    lines += [
        f"  %enough = icmp eq i64 %nargs, {len(names)}",
        "  %no_names = icmp eq ptr %kwnames, null",
        "  %simple = and i1 %enough, %no_names",
        f"  br i1 %simple, label %types, {slow}",
        "types:",
        "  %context = load ptr, ptr @lw_context",
        "  %ndarray = load ptr, ptr %context",
        "  %descrp = getelementptr i8, ptr %context, i64 8",
        "  %float64 = load ptr, ptr %descrp",
    ]
    ok = "true"
    for k in range(len(names)):
        lines += [
            f"  %argp{k} = getelementptr ptr, ptr %args, i64 {k}",
            f"  %arg{k} = load ptr, ptr %argp{k}",
            *field(f"%type{k}", f"%arg{k}", TYPE, "ptr"),
            f"  %is{k} = icmp eq ptr %type{k}, %ndarray",
            f"  %types{k} = and i1 {ok}, %is{k}",
        ]
        ok = f"%types{k}"
    lines += [f"  br i1 {ok}, label %shapes, {slow}", "shapes:"]
    ok = "true"
    for k in range(len(names)):
        lines += [
            *field(f"%nd{k}", f"%arg{k}", NDIM, "i32"),
            f"  %one{k} = icmp eq i32 %nd{k}, 1",
            *field(f"%dtype{k}", f"%arg{k}", DESCR, "ptr"),
            f"  %f64{k} = icmp eq ptr %dtype{k}, %float64",
            *field(f"%flags{k}", f"%arg{k}", FLAGS, "i32"),
            f"  %bits{k} = and i32 %flags{k}, {ALIGNED}",
            f"  %aligned{k} = icmp ne i32 %bits{k}, 0",
            f"  %ok{k}a = and i1 {ok}, %one{k}",
            f"  %ok{k}b = and i1 %ok{k}a, %f64{k}",
            f"  %ok{k}c = and i1 %ok{k}b, %aligned{k}",
        ]
        ok = f"%ok{k}c"
    lines += [f"  br i1 {ok}, label %lengths, {slow}", "lengths:"]
    ok = "true"
    for k, name in enumerate(names):
        lines += [
            *field(f"%dims{k}", f"%arg{k}", SHAPE, "ptr"),
            f"  %len{k} = load i64, ptr %dims{k}",
            f"  %fits{k} = icmp eq i64 %len{k}, {program.inputs[name]}",
            f"  %good{k} = and i1 {ok}, %fits{k}",
        ]
        ok = f"%good{k}"
    lines += [f"  br i1 {ok}, label %run, {slow}", "run:"]
    lines += _run(program)
    lines += [
        "python:",
        "  %context2 = load ptr, ptr @lw_context",
        "  %callp = getelementptr i8, ptr %context2, i64 24",
        "  %call = load ptr, ptr %callp",
        "  %answer = call ptr %call(ptr %self, ptr %args, i64 %nargs, ptr %kwnames)",
        "  ret ptr %answer",
    ]
    shape = program.shapes[0]
    dims = ", ".join(f"i64 {n}" for n in shape)
    body = "\n".join(lines)
    return (
        f"@lw_context = global ptr null\n@lw_dims = internal constant [{len(shape)} x i64] [{dims}]\n"
        f"{_one_ir(program)}{_bound_ir()}"
        f"define ptr @lw_call(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) {{\nentry:\n{body}\n}}\n"
    )


def field(name: str, base: str, offset: int, kind: str) -> list[str]:
    """Read a field of a C structure."""
    return [f"  {name}_p = getelementptr i8, ptr {base}, i64 {offset}", f"  {name} = load {kind}, ptr {name}_p"]


def _run(program: Program) -> list[str]:
    """Make the output array, run the program, return."""
    shape = program.shapes[0]
    lines = [
        "  %newp = getelementptr i8, ptr %context, i64 16",
        "  %new = load ptr, ptr %newp",
        f"  %array = call ptr %new(ptr %ndarray, i32 {len(shape)}, ptr @lw_dims, i32 {NPY_DOUBLE}, ptr null, ptr null,"
        " i32 0, i32 0, ptr null)",
        "  %failed = icmp eq ptr %array, null",
        "  br i1 %failed, label %error, label %compute",
        "error:",
        "  ret ptr null",
        "compute:",
        *field("%out", "%array", DATA, "ptr"),
        f"  %table = alloca [{3 * len(program.inputs)} x i64]",
    ]
    for k in range(len(program.inputs)):
        lines += field(f"%data{k}", f"%arg{k}", DATA, "i64")
        lines += field(f"%strides{k}", f"%arg{k}", STRIDES, "ptr")
        lines.append(f"  %step{k} = load i64, ptr %strides{k}")
        for word, value in ((0, f"%data{k}"), (2, f"%step{k}")):
            lines.append(f"  %to{k}_{word} = getelementptr i64, ptr %table, i64 {3 * k + word}")
            lines.append(f"  store i64 {value}, ptr %to{k}_{word}")
    return [
        *lines,
        "  %bad = call i1 @lw_one(ptr %table, ptr %out)",
        "  br i1 %bad, label %unsound, label %sound",
        "unsound:",
        "  %dropp = getelementptr i8, ptr %context, i64 32",
        "  %drop = load ptr, ptr %dropp",
        "  call void %drop(ptr %array)",
        "  br label %python",
        "sound:",
        "  ret ptr %array",
    ]


def _one_ir(program: Program) -> str:
    """``@lw_one(table, out)``: one state; the table is the kernel's, of which it reads addresses and last strides."""
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
    return f"define internal i1 @lw_one(ptr %table, ptr %out) {{\n{body}\n  ret i1 {bad}\n}}\n"


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


def _bound_ir() -> str:
    return f"""define ptr @lw_bound(ptr %self, ptr %nothing) {{
entry:
  %words_p = getelementptr i8, ptr %self, i64 {DATA}
  %words = load ptr, ptr %words_p
  %count = load i64, ptr %words
  %scratch_p = getelementptr i64, ptr %words, i64 1
  %scratch = load ptr, ptr %scratch_p
  %out_p = getelementptr i64, ptr %words, i64 2
  %out = load ptr, ptr %out_p
  %table = getelementptr i64, ptr %words, i64 3
  %single = icmp eq i64 %count, -1
  br i1 %single, label %one, label %many
one:
  %bad = call i1 @lw_one(ptr %table, ptr %out)
  %bad_one = zext i1 %bad to i64
  br label %done
many:
  %bad_many = call i64 @lw_kernel(i64 %count, ptr %table, ptr %scratch)
  br label %done
done:
  %any = phi i64 [%bad_one, %one], [%bad_many, %many]
  %sound = xor i64 %any, 1
  %context = load ptr, ptr @lw_context
  %truthp = getelementptr i8, ptr %context, i64 40
  %truth = load ptr, ptr %truthp
  %answer = call ptr %truth(i64 %sound)
  ret ptr %answer
}}
"""
