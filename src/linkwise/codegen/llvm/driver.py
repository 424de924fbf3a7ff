"""The loop over blocks of states, around code for one block of them and, where there is any, code for two.

``@lw_block(in, out)`` and ``@lw_pair(in, out)`` find their inputs as vectors, one block's after the other's, and leave
their results so; what stands before and after a call of them brings states there and back. ``@lw_turn(in, out,
next, arrays…)`` brings in the next states while it computes.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

from ..program.signature import Signature
from ..thresholds import FETCHED_AHEAD, STREAMED_BYTES, STREAMED_ROWS
from .python_entry import PART_BITS
from .sine_cosine import ALIGNED_STACK, VectorType
from .streaming_stores import crowds, is_streamed


def size_of(shape: tuple[int, ...]) -> int:
    """How many numbers an array of this shape has."""
    out = 1
    for n in shape:
        out *= n
    return out


def call_out(k: int, to: str, between: str, step: str, results: str, lanes: str, large: str = "false") -> str:
    """The line that writes output k of a block. (LLVM takes any call of it, right or wrong: so in one place.)"""
    return f"  call void @lw_out{k}(ptr {to}, i64 {between}, i64 {step}, ptr {results}, i64 {lanes}, i1 {large})"


class Turns(NamedTuple):
    """How many blocks of states ``@lw_turn`` does at a time, and at which byte of scratch other inputs can be."""

    blocks: int
    other_inputs: int


def driver_ir(
    signature: Signature,
    t: VectorType,
    in_rows: Container[int] = (),
    writing_rows: Sequence[str] = (),
    results_in_pair: int | None = None,
    turns: Turns | None = None,
) -> str:
    """The loop; outputs ``in_rows`` are written row by row of one state, by other lines.

    ``results_in_pair`` is after how many vectors the second block's results stand, where two blocks are done at a time.
    Where there are ``turns``, they come first, and do all whole blocks of states that lie without gaps.
    """
    outputs = [size_of(shape) for shape in signature.shapes]
    blocks = 1 if results_in_pair is None else 2
    header = [
        f"  %count = and i64 %given, {(1 << PART_BITS) - 1}",
        f"  %times_less = lshr i64 %given, {PART_BITS}",
        "  %times = add i64 %times_less, 1",
        "  %whole = mul i64 %count, %times",
        f"  %bytes = mul i64 %whole, {sum(outputs) * t.size}",
    ]
    for n in range(len(signature.inputs) + len(outputs)):
        for word, kind in ((0, "ptr"), (1, "i64"), (2, "i64")):
            header.append(f"  %w{n}_{word}p = getelementptr i64, ptr %arrays, i64 {3 * n + word}")
            header.append(f"  %w{n}_{word} = load {kind}, ptr %w{n}_{word}p")
    for i, size in enumerate(outputs):
        enough = STREAMED_ROWS if i in in_rows else 0 if crowds(size, t) else STREAMED_BYTES
        if size:
            header.append(f"  %large{i} = icmp ugt i64 %bytes, {enough if is_streamed(size, t) else -1}")
    written = [size > 0 and i not in in_rows for i, size in enumerate(outputs)]
    ways = [_way(signature, t, written, [_alone(t)], writing_rows)]
    choice = ["  br label %one"]
    if results_in_pair is not None:
        ways.append(_way(signature, t, written, _two(signature, t, results_in_pair), ()))
        choice = [f"  %both = icmp ugt i64 %left, {t.lanes}", "  br i1 %both, label %two, label %one"]
    ends = ["one", "two"][:blocks]
    begin = _turning(signature, t, written, turns, results_in_pair or 0) if turns else ["  br label %loop"]
    before = ["turned", "begin"] if turns else ["begin"]
    start = ", ".join(f"[{'%i_turn' if x == 'turned' else '0'}, %{x}]" for x in before)
    bad = ", ".join(f"[{'%bad_turn' if x == 'turned' else 'false'}, %{x}]" for x in before)
    ended = [f"[%bad_{x}, %{x}_run]" for x in ends] + (["[%bad_turn, %turned]"] if turns else [])
    join = "\n".join
    return f"""define i64 @lw_kernel(i64 %given, ptr %arrays, ptr noalias %scratch) {ALIGNED_STACK} {{
entry:
{join(header)}
  %results = getelementptr i8, ptr %scratch, i64 {sum(signature.inputs.values()) * blocks * t.alignment}
  %none = icmp eq i64 %count, 0
  br i1 %none, label %done, label %begin
begin:
{join(begin)}
loop:
  %i = phi i64 {start}, {", ".join(f"[%i_{x}, %{x}_run]" for x in ends)}
  %bad = phi i1 {bad}, {", ".join(f"[%bad_{x}, %{x}_run]" for x in ends)}
  %left = sub i64 %count, %i
{join(choice)}
{join(line for way in ways for line in way)}
done:
  %any = phi i1 [false, %entry], {", ".join(ended)}
  fence seq_cst
  %answer = zext i1 %any to i64
  ret i64 %answer
}}
"""


def _turning(
    signature: Signature, t: VectorType, written: Sequence[bool], turns: Turns, results_in_pair: int
) -> list[str]:
    """Turns over whole blocks: each computes from inputs that the turn before has brought in, and brings in the next.

    The last brings in its own once more.
    """
    inputs = list(signature.inputs.values())
    states, vectors = turns.blocks * t.lanes, sum(inputs)
    first = [_full(f"f{b}", str(b * t.lanes), b * vectors, b * results_in_pair, t) for b in range(turns.blocks)]
    these = [_full(f"t{b}", f"%i_t{b}", b * vectors, b * results_in_pair, t) for b in range(turns.blocks)]
    lines, gapless = [], "true"
    for n, size in enumerate(inputs):
        if size:
            lines += [
                f"  %packed{n} = icmp eq i64 %w{n}_2, {t.size}",
                f"  %close{n} = icmp eq i64 %w{n}_1, {size * t.size}",
                f"  %both{n} = and i1 %packed{n}, %close{n}",
                f"  %gapless{n} = and i1 {gapless}, %both{n}",
            ]
            gapless = f"%gapless{n}"
    lines += [
        f"  %turns = udiv i64 %count, {states}",
        "  %several = icmp ugt i64 %turns, 1",
        f"  %turning = and i1 {gapless}, %several",
        f"  %other = getelementptr i8, ptr %scratch, i64 {turns.other_inputs}",
        f"  %end = mul i64 %turns, {states}",
        f"  %last_turn = sub i64 %end, {states}",
        "  br i1 %turning, label %begin_turns, label %loop",
        "begin_turns:",
        *(line for block in first for line in _moves_in(block, inputs, t)),
        "  br label %turn",
        "turn:",
        "  %i_now = phi i64 [0, %begin_turns], [%i_turn, %turn]",
        "  %bad_before = phi i1 [false, %begin_turns], [%bad_turn, %turn]",
        "  %in_now = phi ptr [%scratch, %begin_turns], [%in_next, %turn]",
        "  %in_next = phi ptr [%other, %begin_turns], [%in_now, %turn]",
        f"  %i_turn = add i64 %i_now, {states}",
        "  %more_turns = icmp ult i64 %i_turn, %end",
        "  %i_next = select i1 %more_turns, i64 %i_turn, i64 %last_turn",
        *(f"  %i_t{b} = add i64 %i_now, {b * t.lanes}" for b in range(turns.blocks)),
    ]
    given = []
    for n, size in enumerate(inputs):
        if size:
            lines.append(f"  %by{n} = mul i64 %i_next, {size * t.size}")
            lines.append(f"  %of{n} = getelementptr i8, ptr %w{n}_0, i64 %by{n}")
            given.append(f"ptr %of{n}")
    return [
        *lines,
        f"  %bad_now = call i1 @lw_turn(ptr %in_now, ptr %results, ptr %in_next, {', '.join(given)})",
        "  %bad_turn = or i1 %bad_before, %bad_now",
        *(line for block in these for line in (*block.lines, *_moves_out(block, len(inputs), written, t))),
        "  br i1 %more_turns, label %turn, label %turned",
        "turned:",
        "  %all_done = icmp eq i64 %i_turn, %count",
        "  br i1 %all_done, label %done, label %loop",
    ]


class _Block(NamedTuple):
    """One block of states of those that are done at a time: what its names begin with, and where it is."""

    tag: str
    start: str  # its first state
    inputs: int  # after how many vectors its inputs stand
    results: int
    lines: list[str]  # that make %lanes and %last of it: how many states it has, and the last of them


def _alone(t: VectorType) -> _Block:
    return _Block("", "%i", 0, 0, _lanes("", "%left", t))


def _two(signature: Signature, t: VectorType, results: int) -> list[_Block]:
    inputs = sum(signature.inputs.values())
    beyond = [f"  %start = add i64 %i, {t.lanes}", f"  %left_over = sub i64 %left, {t.lanes}"]
    first = _Block("p", "%i", 0, 0, _lanes("p", "%left", t))
    return [first, _Block("q", "%start", inputs, results, [*beyond, *_lanes("q", "%left_over", t)])]


def _full(tag: str, start: str, inputs: int, results: int, t: VectorType) -> _Block:
    """One that has as many states as there are lanes."""
    lines = [f"  %{tag}lanes = add i64 0, {t.lanes}", f"  %{tag}last = add i64 0, {t.lanes - 1}"]
    return _Block(tag, start, inputs, results, lines)


def _lanes(tag: str, left: str, t: VectorType) -> list[str]:
    return [
        f"  %{tag}short = icmp ult i64 {left}, {t.lanes}",
        f"  %{tag}lanes = select i1 %{tag}short, i64 {left}, i64 {t.lanes}",
        f"  %{tag}last = sub i64 %{tag}lanes, 1",
    ]


def _way(
    signature: Signature, t: VectorType, written: Sequence[bool], blocks: Sequence[_Block], writing_rows: Sequence[str]
) -> list[str]:
    """What the loop does with so many blocks, the last of which may not be full."""
    name, function = ("one", "@lw_block") if len(blocks) == 1 else ("two", "@lw_pair")
    inputs, states = list(signature.inputs.values()), len(blocks) * t.lanes
    return [
        f"{name}:",
        *(line for block in blocks for line in _moves_in(block, inputs, t)),
        f"  %soon_{name} = add i64 %i, {states}",
        f"  %again_{name} = icmp ult i64 %soon_{name}, %count",
        f"  br i1 %again_{name}, label %{name}_ahead, label %{name}_run",
        f"{name}_ahead:",
        *(line for n, size in enumerate(inputs) for line in _fetched_ahead(blocks[-1], n, size, len(blocks), t)),
        f"  br label %{name}_run",
        f"{name}_run:",
        f"  %bad_of_{name} = call i1 {function}(ptr %scratch, ptr %results)",
        f"  %bad_{name} = or i1 %bad, %bad_of_{name}",
        *(line for block in blocks for line in _moves_out(block, len(inputs), written, t)),
        *writing_rows,
        f"  %i_{name} = add i64 %i, {states}",
        f"  %more_{name} = icmp ult i64 %i_{name}, %count",
        f"  br i1 %more_{name}, label %loop, label %done",
    ]


def _moves_in(block: _Block, inputs: Sequence[int], t: VectorType) -> list[str]:
    tag, lines, start = block.tag, list(block.lines), block.inputs
    for n, size in enumerate(inputs):
        lines += _place(block, n)
        if size:
            lines += [
                f"  %{tag}b{n} = getelementptr i8, ptr %scratch, i64 {start * t.alignment}",
                f"  call void @lw_in{n}(ptr %{tag}a{n}, i64 %w{n}_1, i64 %w{n}_2, ptr %{tag}b{n}, i64 %{tag}last)",
            ]
        start += size
    return lines


def _moves_out(block: _Block, inputs: int, written: Sequence[bool], t: VectorType) -> list[str]:
    tag = block.tag
    lines = [f"  %{tag}results = getelementptr i8, ptr %results, i64 {block.results * t.alignment}"] if tag else []
    for i, is_written in enumerate(written):
        n = inputs + i
        lines += _place(block, n)
        if is_written:
            to = (f"%{tag}a{n}", f"%w{n}_1", f"%w{n}_2")
            lines.append(call_out(i, *to, f"%{tag}results", f"%{tag}lanes", f"%large{i}"))
    return lines


def _place(block: _Block, n: int) -> list[str]:
    """Where the block's states are in array n."""
    tag = block.tag
    return [
        f"  %{tag}s{n} = mul i64 {block.start}, %w{n}_1",
        f"  %{tag}a{n} = getelementptr i8, ptr %w{n}_0, i64 %{tag}s{n}",
    ]


def _fetched_ahead(last: _Block, n: int, size: int, blocks: int, t: VectorType) -> list[str]:
    """Input n of the next states is brought into the cache while these are computed, where that is not much."""
    if not 0 < size <= FETCHED_AHEAD:
        return []
    tag = last.tag
    lines = [
        f"  %{tag}m{n} = mul i64 %w{n}_1, {t.lanes}",
        f"  %{tag}n{n} = getelementptr i8, ptr %{tag}a{n}, i64 %{tag}m{n}",
    ]
    for k in range(0, size * t.alignment * blocks, 64):
        lines.append(f"  %{tag}n{n}_{k} = getelementptr i8, ptr %{tag}n{n}, i64 {k}")
        lines.append(f"  call void @llvm.prefetch.p0(ptr %{tag}n{n}_{k}, i32 0, i32 3, i32 1)")
    return lines
