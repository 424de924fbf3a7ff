"""A straight-line program as assembly within an LLVM module, with its constants and its sines.

Sines and cosines of inputs come first, in a loop, and stand in the frame; those of computed angles are calls between
segments of the assembly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...symbols.scalar import Scalar
from ..program.instructions import MASKS, Instructions, instructions, is_known
from ..program.overlap import moved_sizes, overlapped, overlaps
from ..program.paired_blocks import in_turn, key_count, pays
from ..program.places import computed_places, input_starts, output_count
from ..program.trace import Program
from .assembly import AHEAD, ARRAYS, REGISTERS, Assembly, assembled
from .assembly_bounds import Memory, check_bounds
from .sine_cosine import ALIGNED_STACK, VectorType, all_lanes, sincos_name, sincos_type
from .straight_line import ProgramWriter

WIDEST = 64  # bytes of vectors of four quarters

# What the assembly gives, takes and changes.
_CHANGED = [
    *(f"zmm{i}" for i in range(REGISTERS)),
    *(f"k{i}" for i in range(1, MASKS + 2)),
    "memory",
    "dirflag",
    "fpsr",
    "flags",
]


def _rules(moved: int) -> str:
    """Which registers hold the arguments, of which so many are for moving states, and which are changed."""
    given = ["rdi", "rsi", "rdx", "rcx", *("r8", *ARRAYS)[:moved]]
    return ",".join(["={rax}", *(f"{{{x}}}" for x in given), *(f"~{{{x}}}" for x in _CHANGED)])


def is_assembled(program: Program, t: VectorType) -> bool:
    """Whether a program becomes assembly: the processor is one that it is for, and it has all the operations."""
    return t.assembled and is_known(program)


def is_paired(program: Program, t: VectorType) -> bool:
    """Whether a program becomes code for two blocks of states as well (:mod:`..program.paired_blocks`)."""
    return is_assembled(program, t) and t.lanes > 1 and pays(_made(program, t, 1).code)


def frame_size(program: Program, t: VectorType, blocks: int = 1, moving: bool = False) -> int:
    """How many vectors of memory the code has beside inputs and results, behind which they stand."""
    return _made(program, t, blocks, moving).assembly.frame


def instruction_count(program: Program, t: VectorType) -> int:
    """How many instructions the code has, those that move values included."""
    return sum(len(segment.lines) for segment in _made(program, t, 1).assembly.segments)


def assembled_block(program: Program, t: VectorType, name: str, blocks: int = 1) -> str:
    """``@name(in, out)``, which answers whether a guard failed, for one block of states or two."""
    made = _made(program, t, blocks)
    parts, sines = _sines_of_inputs(made, t, name)
    lines = [*_before(program, made, t, blocks), *sines, *_sums(program, made, t), *_code(made.assembly, t, name)]
    body = "\n".join(lines)
    return f"""{_pool(made, t, name)}
{parts}
define internal i1 @{name}(ptr %in, ptr %out) noinline {ALIGNED_STACK} {{
{body}
  ret i1 %bad
}}
"""


def _before(program: Program, made: _Made, t: VectorType, blocks: int) -> list[str]:
    """Where the frame is, and results that are numbers."""
    results = output_count(program)
    lines = [f"  %frame = getelementptr i8, ptr %out, i64 {blocks * results * t.alignment}"]
    return [*lines, *(line for block in range(blocks) for line in _constant_results(program, t, block * results))]


def _sums(program: Program, made: _Made, t: VectorType) -> list[str]:
    return [x for angle, first, place in made.sums for x in _sine_of_sum(program, angle, first, place, t)]


def is_overlapped(program: Program, t: VectorType) -> bool:
    """Whether states are moved between the instructions of others as well (:mod:`..program.overlap`)."""
    return is_assembled(program, t) and t.alignment == WIDEST and overlaps(program, _made(program, t, 1).code, t.lanes)


def overlapped_block(program: Program, t: VectorType, name: str, like: str, blocks: int) -> str:
    """``@name(in, out, next, arrays…)``: like ``@like``, of which it has the sines, and brings in the next states."""
    made = _made(program, t, blocks, moving=True)
    arrays = [f"ptr %array{i}" for i in range(len(moved_sizes(program)))]
    lines = [*_before(program, made, t, blocks), *_sines_of_inputs(made, t, like)[1], *_sums(program, made, t)]
    lines += _code(made.assembly, t, name, ["ptr %next", *arrays])
    head = f"define internal i1 @{name}(ptr %in, ptr %out, ptr %next, {', '.join(arrays)}) noinline {ALIGNED_STACK}"
    body = "\n".join(lines)
    return f"{_pool(made, t, name)}\n{head} {{\n{body}\n  ret i1 %bad\n}}\n"


def _pool(made: _Made, t: VectorType, name: str) -> str:
    numbers = ", ".join(f"{t.scalar} {t.literal(x)}" for x in made.assembly.constants)
    return f"@{name}_constants = internal constant [{len(made.assembly.constants)} x {t.scalar}] [{numbers}], align 64"


def _constant_results(program: Program, t: VectorType, start: int) -> list[str]:
    lines = []
    for slot, x in computed_places(program)[1].items():
        place = start + slot
        lines.append(f"  %o{place} = getelementptr i8, ptr %out, i64 {place * t.alignment}")
        lines.append(f"  store {t.name} {t.splat(x)}, ptr %o{place}, align {t.alignment}")
    return lines


class _Made(NamedTuple):
    code: Instructions
    assembly: Assembly
    looped: list[int]  # at which vectors the angles are that are inputs, in the order of their places in the frame
    sums: list[tuple[Scalar, int, int]]  # other angles: each, where the inputs begin it is of, and its place


def _made(program: Program, t: VectorType, blocks: int, moving: bool = False) -> _Made:
    """Asked for once for the module's text and again for its memory."""
    return program.once(_make, t, blocks, moving)


def _make(program: Program, t: VectorType, blocks: int, moving: bool) -> _Made:
    code = instructions(program, computed_places(program)[0])
    starts = input_starts(program)
    inputs, results, keys = sum(program.inputs.values()), output_count(program), key_count(code)
    found = {id(angle): angle for angle, _ in code.sines.values()}
    read, summed = ([x for x in found.values() if (x.op == "input") == is_input] for is_input in (True, False))
    order = [(x, block) for angles in (read, summed) for block in range(blocks) for x in angles]
    place = {(id(x), block): k for k, (x, block) in enumerate(order)}
    looped = [block * inputs + starts[x.args[0]] + x.args[1] for x, block in order if x.op == "input"]
    sums = [(x, block * inputs, place[id(x), block]) for x, block in order if x.op != "input"]
    sines = {
        key + block * keys: 2 * place[id(angle), block] + is_cosine
        for key, (angle, is_cosine) in code.sines.items()
        for block in range(blocks)
    }
    if blocks == 2:
        code = in_turn(code, inputs, results)
    widths: list[int] = []
    if moving:
        code, widths = overlapped(program, code, blocks, t.lanes)
    made = assembled(code, t, starts, sines, program.guards, widths)
    moved = [blocks * t.lanes * n for n in moved_sizes(program)] if moving else []
    check_bounds(made, t, Memory(blocks * inputs, blocks * results, moved), 2 * len(order))
    return _Made(code, made, looped, sums)


def _sines_of_inputs(made: _Made, t: VectorType, name: str) -> tuple[str, list[str]]:
    """(functions that compute them in a loop, the lines that call them).

    The loop calls nothing, so that registers hold all constants; where an angle is huge it is done again with calls.
    """
    if not made.looped:
        return "", []
    v, three, both = t.name, sincos_type(t), f"{{{t.name}, {t.name}}}"
    places = ", ".join(f"i64 {k * t.alignment}" for k in made.looped)
    table = f"@{name}_angles = internal constant [{len(made.looped)} x i64] [{places}]\n"
    quick = [
        f"  %all = phi {t.mask} [{t.all_true}, %entry], [%still, %loop]",
        f"  %both = call {three} {sincos_name(t)}_quick({v} %x)",
        f"  %fits = extractvalue {three} %both, 2",
        f"  %still = and {t.mask} %all, %fits",
    ]
    slow = [f"  %both = call {both} {sincos_name(t)}({v} %x)"]
    end = [*all_lanes("%good", "%still", t), "  ret i1 %good"]
    text = [
        _loop(f"i1 @{name}_sines", name, len(made.looped), t, quick, three, end),
        _loop(f"void @{name}_far_sines", name, len(made.looped), t, slow, both, ["  ret void"]),
    ]
    lines = [
        f"  %near = call i1 @{name}_sines(ptr %in, ptr %frame)",
        "  br i1 %near, label %begin, label %far",
        "far:",
        f"  call void @{name}_far_sines(ptr %in, ptr %frame)",
        "  br label %begin",
        "begin:",
    ]
    return table + "".join(text), lines


def _loop(head: str, name: str, count: int, t: VectorType, lines: list[str], kind: str, end: list[str]) -> str:
    """A function that has sines and cosines of all angles computed by ``lines``, which make %both of %x."""
    v, first = t.name, [x for x in lines if " phi " in x]
    others = [x for x in lines if " phi " not in x]
    join = "\n".join
    return f"""define internal {head}(ptr noalias %in, ptr noalias %frame) noinline {ALIGNED_STACK} {{
entry:
  br label %loop
loop:
  %n = phi i64 [0, %entry], [%next, %loop]
{join(first)}
  %where = getelementptr i64, ptr @{name}_angles, i64 %n
  %offset = load i64, ptr %where
  %at = getelementptr i8, ptr %in, i64 %offset
  %x = load {v}, ptr %at, align {t.alignment}
{join(others)}
  %s = extractvalue {kind} %both, 0
  %c = extractvalue {kind} %both, 1
  %to = mul i64 %n, {2 * t.alignment}
  %sp = getelementptr i8, ptr %frame, i64 %to
  %cp = getelementptr i8, ptr %sp, i64 {t.alignment}
  store {v} %s, ptr %sp, align {t.alignment}
  store {v} %c, ptr %cp, align {t.alignment}
  %next = add i64 %n, 1
  %more = icmp ult i64 %next, {count}
  br i1 %more, label %loop, label %done
done:
{join(end)}
}}
"""


def _sine_of_sum(program: Program, angle: Scalar, first: int, n: int, t: VectorType) -> list[str]:
    """The sine and cosine, in place n, of an angle of constants and of inputs that begin at vector ``first``."""
    starts = input_starts(program)

    def load(name: str, index: int, to: str) -> list[str]:
        place = f"  {to}p = getelementptr i8, ptr %in, i64 {(first + starts[name] + index) * t.alignment}"
        return [place, f"  {to} = load {t.name}, ptr {to}p, align {t.alignment}"]

    writer = ProgramWriter(t, load, f"a{n}", {})
    for x in {id(a): a for a in angle.args if isinstance(a, Scalar)}.values():
        writer.node(x)
    writer.node(angle)
    return [*writer.lines, *_sine_lines(writer.value(angle), (2 * n, 2 * n + 1), t, f"a{n}")]


def _code(assembly: Assembly, t: VectorType, name: str, moved: Sequence[str] = ()) -> list[str]:
    """The lines that run the code; %bad is whether a guard failed."""
    arguments = ", ".join(["ptr %in", "ptr %out", "ptr %ahead", f"ptr @{name}_constants", *moved])
    rules = _rules(len(moved))
    lines = [f"  %ahead = getelementptr i8, ptr %frame, i64 {AHEAD * t.alignment}"]
    failed = "0"
    for n, segment in enumerate(assembly.segments):
        text = "\\0A".join(["kxorw %k1, %k1, %k1", *segment.lines, "kmovw %k1, %eax"]).replace("$", "$$")
        lines.append(f'  %bits{n} = call i64 asm sideeffect "{text}", "{rules}"({arguments})')
        lines.append(f"  %failed{n} = or i64 {failed}, %bits{n}")
        failed = f"%failed{n}"
        if segment.sines is not None:
            angle, *both = segment.sines
            lines.append(f"  %y{n}at = getelementptr i8, ptr %frame, i64 {angle * t.alignment}")
            lines.append(f"  %y{n} = load {t.name}, ptr %y{n}at, align {t.alignment}")
            lines += _sine_lines(f"%y{n}", (both[0], both[1]), t, f"y{n}")
    return [*lines, f"  %bad = icmp ne i64 {failed}, 0"]


def _sine_lines(angle: str, slots: tuple[int, int], t: VectorType, tag: str) -> list[str]:
    """Sine and cosine of a vector, to two slots of the frame."""
    v = t.name
    lines = [f"  %{tag}both = call {{{v}, {v}}} {sincos_name(t)}({v} {angle})"]
    for k, slot in enumerate(slots):
        lines += [
            f"  %{tag}r{k} = extractvalue {{{v}, {v}}} %{tag}both, {k}",
            f"  %{tag}at{k} = getelementptr i8, ptr %frame, i64 {slot * t.alignment}",
            f"  store {v} %{tag}r{k}, ptr %{tag}at{k}, align {t.alignment}",
        ]
    return lines
