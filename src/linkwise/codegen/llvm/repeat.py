"""A program run over and over on each state: the loop over steps in machine code.

The kernel is ``i64 lw_kernel(i64 count, ptr arrays, ptr scratch)``, as in :mod:`.module`. ``arrays`` starts with two
words, {steps, every}, and then holds four for each input and output: {address, bytes from state to state, bytes from
number to number, bytes from row to row}. A block of lanes stays in scratch for all its steps: carried inputs are read
once and then take the place of the outputs that they are, stepped inputs are read anew before every step, all others
once. After every ``every``-th step the outputs are written, one row after another.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..program.places import output_slots
from ..program.trace import Program
from .driver import call_out, size_of
from .module import block_parts, block_scratch
from .sine_cosine import ALIGNED_STACK, VectorType

_HEAD, _WORDS = 2, 4


def table_words(arrays: int) -> int:
    """How many words the table has for this many arrays."""
    return _HEAD + _WORDS * arrays


def repeat_ir(program: Program, t: VectorType, carried: Mapping[str, int], stepped: Collection[str]) -> str:
    """The module's text. ``carried`` says which output each carried input becomes after a step."""
    return "\n".join([*block_parts(program, t, [t], block_scratch(program, t)), _driver(program, t, carried, stepped)])


def _driver(program: Program, t: VectorType, carried: Mapping[str, int], stepped: Collection[str]) -> str:
    names, sizes = list(program.inputs), list(program.inputs.values())
    outputs = [size_of(shape) for shape in program.shapes]
    starts = [sum(sizes[:n]) for n in range(len(sizes))]
    vector = t.lanes * t.size
    total = len(sizes) + len(outputs)
    header = [line for n in range(total) for line in _words(n)]
    places = [line for n in range(total) for line in _place(n)]
    reads: list[str] = []
    rereads: list[str] = []
    writes: list[str] = []
    for n, (name, size, start) in enumerate(zip(names, sizes, starts)):
        if size:
            reads.append(f"  %b{n} = getelementptr i8, ptr %scratch, i64 {start * vector}")
            again = rereads if name in stepped else reads
            again += _read(n, "%step_number" if name in stepped else None)
    for i, size in enumerate(outputs):
        if size:
            writes += _write(i, len(sizes) + i)
    join = "\n".join
    return f"""define i64 @lw_kernel(i64 %count, ptr %arrays, ptr noalias %scratch) {ALIGNED_STACK} {{
entry:
  %steps = load i64, ptr %arrays
  %everyp = getelementptr i64, ptr %arrays, i64 1
  %every = load i64, ptr %everyp
{join(header)}
  %results = getelementptr i8, ptr %scratch, i64 {sum(sizes) * vector}
  %no_states = icmp eq i64 %count, 0
  %no_steps = icmp eq i64 %steps, 0
  %none = or i1 %no_states, %no_steps
  br i1 %none, label %done, label %block
block:
  %i = phi i64 [0, %entry], [%i_next, %block_end]
  %bad = phi i1 [false, %entry], [%bad_next, %block_end]
  %left = sub i64 %count, %i
  %short = icmp ult i64 %left, {t.lanes}
  %lanes = select i1 %short, i64 %left, i64 {t.lanes}
  %last = sub i64 %lanes, 1
{join(places)}
{join(reads)}
  br label %step
step:
  %step_number = phi i64 [0, %block], [%step_next, %step_end]
  %since = phi i64 [0, %block], [%since_kept, %step_end]
  %row = phi i64 [0, %block], [%row_kept, %step_end]
  %bad_before = phi i1 [%bad, %block], [%bad_next, %step_end]
{join(rereads)}
  %bad_step = call i1 @lw_block(ptr %scratch, ptr %results)
  %bad_next = or i1 %bad_before, %bad_step
{join(_carry(program, t, carried, starts))}
  %since_next = add i64 %since, 1
  %full = icmp eq i64 %since_next, %every
  br i1 %full, label %write, label %step_end
write:
{join(writes)}
  %row_next = add i64 %row, 1
  br label %step_end
step_end:
  %since_kept = phi i64 [0, %write], [%since_next, %step]
  %row_kept = phi i64 [%row_next, %write], [%row, %step]
  %step_next = add i64 %step_number, 1
  %more_steps = icmp ult i64 %step_next, %steps
  br i1 %more_steps, label %step, label %block_end
block_end:
  %i_next = add i64 %i, {t.lanes}
  %more = icmp ult i64 %i_next, %count
  br i1 %more, label %block, label %done
done:
  %any = phi i1 [false, %entry], [%bad_next, %block_end]
  %answer = zext i1 %any to i64
  ret i64 %answer
}}
"""


def _words(n: int) -> list[str]:
    lines = []
    for word, kind in enumerate(("ptr", "i64", "i64", "i64")):
        lines.append(f"  %w{n}_{word}p = getelementptr i64, ptr %arrays, i64 {_HEAD + _WORDS * n + word}")
        lines.append(f"  %w{n}_{word} = load {kind}, ptr %w{n}_{word}p")
    return lines


def _place(n: int) -> list[str]:
    """Where the block's states are in array n."""
    return [f"  %s{n} = mul i64 %i, %w{n}_1", f"  %a{n} = getelementptr i8, ptr %w{n}_0, i64 %s{n}"]


def _read(n: int, row: str | None) -> list[str]:
    lines, source = [], f"%a{n}"
    if row is not None:
        source = f"%ra{n}"
        lines = [f"  %r{n} = mul i64 {row}, %w{n}_3", f"  {source} = getelementptr i8, ptr %a{n}, i64 %r{n}"]
    return [*lines, f"  call void @lw_in{n}(ptr {source}, i64 %w{n}_1, i64 %w{n}_2, ptr %b{n}, i64 %last)"]


def _write(output: int, n: int) -> list[str]:
    return [
        f"  %r{n} = mul i64 %row, %w{n}_3",
        f"  %ra{n} = getelementptr i8, ptr %a{n}, i64 %r{n}",
        call_out(output, f"%ra{n}", f"%w{n}_1", f"%w{n}_2", "%results", "%lanes"),
    ]


def _carry(program: Program, t: VectorType, carried: Mapping[str, int], starts: list[int]) -> list[str]:
    """Copies of outputs to where the carried inputs are; the outputs lie apart from the inputs."""
    slots, sizes = output_slots(program), [size_of(shape) for shape in program.shapes]
    lines, vector = [], t.lanes * t.size
    for name, output in carried.items():
        to = starts[list(program.inputs).index(name)]
        first = sum(sizes[:output])
        for k in range(sizes[output]):
            tag = f"%c{to + k}"
            lines += [
                f"  {tag}f = getelementptr i8, ptr %results, i64 {slots[first + k] * vector}",
                f"  {tag} = load {t.name}, ptr {tag}f, align {t.alignment}",
                f"  {tag}t = getelementptr i8, ptr %scratch, i64 {(to + k) * vector}",
                f"  store {t.name} {tag}, ptr {tag}t, align {t.alignment}",
            ]
    return lines
