"""CUDA text of a loop over turns (:mod:`...program.turns`): each thread takes its state through all of them.

What a thread carries from turn to turn, the arguments and results of calls, and the sines and cosines that a call
needs are in a row of the thread's own in shared memory (or in local memory, where the rows are too long for it), so
that the registers are for the call. The code of the call is there once. States are written after every so many turns,
in any strides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ...properties import cached_property
from ..program.trace import Program
from ..program.turns import LENGTH, Turns, result
from ..sources.cuda import CudaSource, functions_of
from ..thresholds import CUDA_ROOM
from ..thresholds import CUDA_THREADS as THREADS
from .random import normal_numbers
from .text import KERNEL, ROWS, STRIDED, DeviceText, padded
from .thread_row import LANES_AND_ROOM, copied, strides_of, thread_row


@dataclass(frozen=True, eq=False)
class _Call(DeviceText):
    """The program that is called: its arguments and its result are in the thread's row."""

    before: int = 0  # what of the row comes before values that wait

    @property
    def _turns_at(self) -> str:
        return "lw_sines"

    @property
    def _kept_at(self) -> str:
        return "lw_row + " + str(self.before)

    @property
    def sines(self) -> int:
        """How many numbers of the row its sines and cosines take."""
        return 2 * len(self._angles)

    def statements(self) -> list[str]:
        body = [line for line in self._statements(self._at) if not line.lstrip().startswith("(void)")]
        return [*self._sines(), *self._waiting(), *(f"        {line}" for line in body)]

    @property
    def waiting(self) -> int:
        """How many numbers of the row are for values that wait."""
        return self._planned[0].slots


class _Between(CudaSource):
    """A program before, between or after the calls."""

    def statements(self, place: Callable[[str, int], str]) -> list[str]:
        return [f"        {line}" for line in self._statements(place)]

    def names(self) -> dict[str, str]:
        """Inputs by what they are called in the text."""
        return {v: k for k, v in self._arguments().items()}


@dataclass(frozen=True, eq=False)
class TurnsText:
    """The text for one precision. ``table`` and ``noise`` say whether joint forces come from a table, and whether
    random ones are added."""

    turns: Turns
    dtype: str
    table: bool = False
    noise: bool = False
    registers: float = math.inf
    blocks: int = 1  # that a multiprocessor shall have room for, by which threads have fewer registers

    workers: ClassVar[int] = 1  # threads of a state
    ahead: ClassVar[bool] = False

    @property
    def number(self) -> str:
        return "double" if self.dtype == "float64" else "float"

    # --- a thread's row --------------------------------------------------------------------------------

    @cached_property
    def _call(self) -> _Call | None:
        t = self.turns
        if t.inner is None:
            return None
        layouts = "".join(STRIDED if name in t.constants else ROWS for name in t.inner.inputs)
        found = _Call(t.inner, "device", self.dtype, layouts + ROWS * len(t.inner.shapes), registers=self.registers)
        return replace(found, before=sum(self._sizes(found).values()) - found.waiting)

    @cached_property
    def _row(self) -> dict[str, int]:
        """Where in a thread's row each thing begins."""
        found, at = {}, 0
        for name, n in self._sizes(self._call).items():
            found[name] = at
            at += n
        return {**found, "": padded(at)}

    def _sizes(self, call: _Call | None) -> dict[str, int]:
        """What a row holds, in order, and how many numbers of each."""
        t = self.turns
        sizes = {**t.carried, **t.stepped, LENGTH: 1, **t.arguments}
        if call is not None:
            sizes |= {"out": t.results * (max(t.slots) + 1), "sines": call.sines, "waiting": call.waiting}
        return sizes

    @property
    def _in_shared(self) -> bool:
        return 32 * self._row[""] * np.dtype(self.dtype).itemsize <= CUDA_ROOM

    @property
    def warp_bytes(self) -> int:
        """Shared memory of a warp."""
        return 32 * self._row[""] * np.dtype(self.dtype).itemsize if self._in_shared else 0

    # --- the text --------------------------------------------------------------------------------------

    @cached_property
    def source(self) -> str:
        body = self._turn()
        text = "\n".join(body)
        random = normal_numbers(self.number) if self.noise else ""
        found = functions_of(self.number, text + random) + random
        return f"{found}{LANES_AND_ROOM}{self._head()}{self._around(body)}"

    def _head(self) -> str:
        number, t = self.number, self.turns
        parameters = ["size_t batch", "long long steps", "long long every", "long long begun", "double length"]
        for name in (*t.carried, *t.constants):
            parameters += [f"const {number} *__restrict__ {name}", *strides_of(name)]
        if self.table:
            parameters += [f"const {number} *__restrict__ table", *strides_of("table"), "long long lw_rows_table"]
        if self.noise:
            parameters += ["unsigned long long seed", f"const {number} *__restrict__ scale"]
        for name in t.carried:
            out = f"out_{name}"
            parameters += [f"{number} *__restrict__ {out}", *strides_of(out), f"long long lw_rows_{out}"]
        bounds = f"__launch_bounds__({THREADS}, {self.blocks})"
        return f'extern "C" __global__ void {bounds}\n{KERNEL}({", ".join(parameters)})\n'

    def _around(self, body: list[str]) -> str:
        number, t, row = self.number, self.turns, self._row
        size = row[""]
        shared, own = thread_row(number, size, self._in_shared)
        own += [f"{number} *const lw_{name} = lw_row + {at};" for name, at in row.items() if name not in ("", "out")]
        own += [f"(void)lw_{name};" for name in row if name not in ("", "out")]
        for name in t.constants:
            own += [
                f"const {number} *__restrict__ const lw_{name} = {name} + (long long)state * lw_between_{name};",
                f"(void)lw_{name}; (void)lw_within_{name};",
            ]
        own += [f"lw_{LENGTH}[0] = ({number})length;"]
        start = [copied(f"lw_{name}[j]", f"{name}[(long long)state * lw_between_{name} + j * lw_within_{name}]", n)
                 for name, n in t.carried.items()]  # fmt: skip
        places = [
            f"{number} *lw_to_{name} = out_{name} + (long long)state * lw_between_out_{name};" for name in t.carried
        ]
        write = [
            line
            for name, n in t.carried.items()
            for line in (
                copied(f"lw_to_{name}[j * lw_within_out_{name}]", f"lw_{name}[j]", n),
                f"lw_to_{name} += lw_rows_out_{name};",
            )
        ]
        turn = [
            *self._stepped(),
            *body,
            "if (--lw_left == 0) {",
            *(f"    {x}" for x in ("lw_left = every;", *write)),
            "}",
        ]
        lines = [
            "(void)begun;",
            *shared,
            "const size_t step = (size_t)gridDim.x * blockDim.x, begin = (size_t)blockIdx.x * blockDim.x;",
            "for (size_t first = begin + (threadIdx.x & ~31u); first < batch; first += step) {",
            "    const unsigned count = batch - first < 32 ? (unsigned)(batch - first) : 32u;",
            "    LW_EACH_LANE(lane) if (lane < count) {",
            *(f"        {x}" for x in ("const size_t state = first + lane;", *own, *start, *places, *write)),
            "        long long lw_left = every;",
            "#pragma unroll 1",
            "        for (long long turn = 0; turn < steps; turn++) {",
            *(f"            {x}" if not x.startswith("#") else x for x in turn),
            "        }",
            "    }",
            "}",
        ]
        return "{\n" + "\n".join(x if x.startswith("#") else f"    {x}" for x in lines) + "\n}\n"

    def _stepped(self) -> list[str]:
        """The time, and the joint forces of a turn."""
        number, stepped = self.number, self.turns.stepped
        lines = []
        if "t" in stepped:
            lines.append(f"lw_t[0] = ({number})((double)(begun + turn) * length);")
        if "tau" in stepped:
            n = stepped["tau"]
            at = "table[(long long)state * lw_between_table + turn * lw_rows_table + j * lw_within_table]"
            lines.append(copied("lw_tau[j]", at if self.table else "0", n))
            if self.noise:
                lines += [
                    f"for (unsigned block = 0; block < {-(-n // 4)}; block++) {{",
                    f"    {number} x[4];",
                    "    lw_normals(seed, state, (unsigned)(begun + turn), block, x);",
                    f"    for (unsigned j = 0; j < 4 && 4 * block + j < {n}; j++)",
                    "        lw_tau[4 * block + j] += scale[4 * block + j] * x[j];",
                    "}",
                ]
        return lines

    def _turn(self) -> list[str]:
        """The calls of a turn, each after what comes before it, and its end."""
        t, lines = self.turns, []
        if self._call is not None:
            n = t.results
            lines += ["#pragma unroll 1", f"for (int call = 0; call < {len(t.before)}; call++) {{"]
            lines += [f"    {self.number} *lw_out = lw_row + {self._row['out']};", "    switch (call) {"]
            for k, program in enumerate(t.before):
                label = f"    case {k}: {{" if k + 1 < len(t.before) else "    default: {"
                lines += [label, *self._between(program, list(t.arguments.items()))]
                lines += [f"        lw_out += {n * t.slots[k]};", "        break;", "    }"]
            lines += ["    }", "    {", *self._call.statements(), "    }", "}"]
        carried = [(f"new_{name}", n) for name, n in t.carried.items()]
        fresh = ", ".join(f"lw_new_{name}_{i}" for name, n in t.carried.items() for i in range(n))
        lines += ["{", f"        {self.number} {fresh};", *self._between(t.end, carried)]
        lines += [f"        lw_{name}[{i}] = lw_new_{name}_{i};" for name, n in t.carried.items() for i in range(n)]
        return [*lines, "}"]

    def _between(self, program: Program, outputs: list[tuple[str, int]]) -> list[str]:
        """Statements of a program that writes these, one output each."""
        part = _Between(program, "device", self.dtype)
        inputs = part.names()
        written = dict(zip(part._outputs(), outputs))

        def place(name: str, i: int) -> str:
            if name in written:
                out = written[name][0]
                return f"lw_{out}_{i}" if out.startswith("new_") else f"lw_{out}[{i}]"
            return self._read(inputs[name], i)

        return part.statements(place)

    def _read(self, name: str, i: int) -> str:
        """Where input i of what is between calls lies."""
        t = self.turns
        for k, slot in enumerate(t.slots):
            if name == result(k):
                return f"lw_row[{self._row['out'] + slot * t.results + i}]"
        return f"lw_{name}[{i} * lw_within_{name}]" if name in t.constants else f"lw_{name}[{i}]"
