"""CUDA text of a program that is repeated (:mod:`...program.repeat`): each thread takes its state through all turns.

What a thread carries from turn to turn is in a row of its own, in shared memory (or in local memory, where rows are too
long for it), at two places: those that a turn reads, and those that it writes, which change places after it. Beside
them are sines and cosines of inputs, and values that wait. What is new at every turn is read where it lies, and what a
turn gives is written in any strides after every so many turns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ...properties import cached_property
from ..program.trace import Program
from ..thresholds import CUDA_ROOM, CUDA_TURNS_ROOM
from ..thresholds import CUDA_THREADS as THREADS
from .text import KERNEL, ROWS, STRIDED, DeviceText, padded
from .thread_row import LANES_AND_ROOM, copied, strides_of, thread_row


@dataclass(frozen=True, eq=False, repr=False)
class RepeatText(DeviceText):
    """The text for one precision. ``carried`` are inputs by the outputs that take their place after a turn, ``stepped``
    are those that are new at every turn; ``room`` are the bytes of shared memory that a warp may have."""

    carried: Mapping[str, int] = field(default_factory=dict)
    stepped: frozenset[str] = frozenset()
    room: int = CUDA_ROOM

    # --- a thread's row --------------------------------------------------------------------------------

    @cached_property
    def _numbers(self) -> list[int]:
        """How many numbers each output has."""
        return [math.prod(shape) for shape in self.program.shapes]

    @cached_property
    def _places(self) -> tuple[list[int], int, int]:
        """(where each output begins, the ones that are carried first; numbers of these; numbers of the row)."""
        kept, found, at = set(self.carried.values()), dict[int, int](), 0
        for k in sorted(range(len(self._numbers)), key=lambda k: k not in kept):
            found[k] = at
            at += self._numbers[k]
        doubled = sum(self._numbers[k] for k in kept)
        whole = doubled + at + 2 * len(self._angles) + self._planned[0].slots
        return [found[k] for k in range(len(found))], doubled, padded(whole)

    @property
    def _in_shared(self) -> bool:
        return 32 * self._places[2] * np.dtype(self.dtype).itemsize <= self.room

    @cached_property
    def warp_bytes(self) -> int:
        """Shared memory of a warp."""
        return 32 * self._places[2] * np.dtype(self.dtype).itemsize if self._in_shared else 0

    @property
    def _turns_at(self) -> str:
        doubled = self._places[1]
        return f"lw_row + {doubled + sum(self._numbers)}"

    @property
    def _kept_at(self) -> str:
        return f"{self._turns_at} + {2 * len(self._angles)}"

    # --- the text --------------------------------------------------------------------------------------

    @cached_property
    def source(self) -> str:
        body = [f"    {line}" for line in self._statements(self._at)]
        turn = [line for x in (self._sines(), self._waiting(), body) for line in x]
        functions = self._functions("\n".join(turn))
        return f"{functions}{LANES_AND_ROOM}{self._head()}{self._around([x.removeprefix('        ') for x in turn])}"

    def _head(self) -> str:
        number, names = self.number, self._arguments()
        parameters = ["size_t batch", "long long lw_count", "long long lw_every", "long long lw_begins"]
        for name, called in names.items():
            rows = [f"long long lw_rows_{called}"] if name in self.stepped else []
            parameters += [f"const {number} *__restrict__ {called}", *strides_of(called), *rows]
        for out in self._outputs():
            parameters += [f"{number} *__restrict__ {out}", *strides_of(out), f"long long lw_rows_{out}"]
        bounds = f"__launch_bounds__({THREADS}, {self.blocks})"
        return f'extern "C" __global__ void {bounds}\n{KERNEL}({", ".join(parameters)})\n'

    def _around(self, turn: list[str]) -> str:
        """The loop over states and turns: ``turn`` reads lw_‹input› and writes lw_‹output›."""
        number, names, outputs = self.number, self._arguments(), list(self._outputs())
        places, doubled, size = self._places
        shared, own = thread_row(number, size, self._in_shared)
        own += [f"{number} *lw_now = lw_row, *lw_next = lw_row + {doubled};"]
        inside: list[str] = []
        for name, called in names.items():
            here = f"{called} + (long long)state * lw_between_{called}"
            if name in self.carried:
                k, n = self.carried[name], self.program.inputs[name]
                begun = f"lw_now[{places[k]} + j]"
                own += [copied(begun, f"({here})[j * lw_within_{called}]", n)]
                inside += [f"const {number} *const lw_{called} = lw_now + {places[k]};"]
            elif name in self.stepped:
                own += [f"const {number} *__restrict__ lw_all_{called} = {here};"]
                inside += [
                    f"const {number} *__restrict__ const lw_{called} = lw_all_{called};",
                    f"lw_all_{called} += lw_rows_{called};",
                    f"(void)lw_{called}; (void)lw_within_{called};",
                ]
            else:
                own += [f"const {number} *__restrict__ const lw_{called} = {here};"]
                own += [f"(void)lw_{called}; (void)lw_within_{called};"]
        kept, written = set(self.carried.values()), list[str]()
        for k, out in enumerate(outputs):
            own.append(f"{number} *lw_to_{out} = {out} + (long long)state * lw_between_{out};")
            at = f"lw_next + {places[k]}" if k in kept else f"lw_row + {doubled + places[k]}"
            inside.append(f"{number} *const lw_{out} = {at};")
            to = copied(f"lw_to_{out}[j * lw_within_{out}]", f"lw_{out}[j]", self._numbers[k])
            written += [
                f"if ({out} && (lw_rows_{out} ? lw_left == 0 : turn + 1 == lw_count)) {{",
                f"    {to}",
                f"    lw_to_{out} += lw_rows_{out};",
                "}",
            ]
            if k in kept:
                start = copied(f"lw_to_{out}[j * lw_within_{out}]", f"lw_now[{places[k]} + j]", self._numbers[k])
                own += [f"if (lw_begins && {out} && lw_rows_{out}) {{ {start} lw_to_{out} += lw_rows_{out}; }}"]
        swap = f"{{ {number} *const lw_other = lw_now; lw_now = lw_next; lw_next = lw_other; }}"
        loop = [
            *inside,
            *turn,
            "lw_left--;",
            *written,
            "if (lw_left == 0) lw_left = lw_every;",
            swap,
        ]
        lines = [
            *shared,
            "const size_t step = (size_t)gridDim.x * blockDim.x, begin = (size_t)blockIdx.x * blockDim.x;",
            "for (size_t first = begin + (threadIdx.x & ~31u); first < batch; first += step) {",
            "    const unsigned count = batch - first < 32 ? (unsigned)(batch - first) : 32u;",
            "    LW_EACH_LANE(lane) if (lane < count) {",
            *(f"        {x}" for x in ("const size_t state = first + lane;", *own)),
            "        long long lw_left = lw_every;",
            "#pragma unroll 1",
            "        for (long long turn = 0; turn < lw_count; turn++) {",
            *(f"            {x}" if not x.startswith("#") else x for x in loop),
            "        }",
            "    }",
            "}",
        ]
        return "{\n" + "\n".join(x if x.startswith("#") else f"    {x}" for x in lines) + "\n}\n"


def repeat_text(
    program: Program, dtype: str, carried: Mapping[str, int], stepped: frozenset[str], registers: float, room: int
) -> RepeatText:
    """The text whose values have so many registers by plan, and wait in shared memory, of which a block has ``room``,
    where that has place for them."""
    layouts = "".join(ROWS if name in carried else STRIDED for name in program.inputs) + ROWS * len(program.shapes)
    found = RepeatText(program, "device", dtype, layouts, carried=carried, stepped=stepped)
    waiting = replace(found, registers=registers, room=min(CUDA_TURNS_ROOM, room))
    return waiting if waiting.warp_bytes else found
