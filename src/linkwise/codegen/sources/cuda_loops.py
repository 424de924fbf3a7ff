"""Rolled programs as CUDA text: loops over the bodies, so that the text does not grow with a chain.

The functions are those of :mod:`.cuda`, with scratch memory besides. One thread works on one state; what differs from
body to body stands in two tables of the text, ``lw_integers`` and ``lw_numbers`` (:mod:`..rolled.tables`). What bodies
hand on and save lies in the scratch memory, number i of a thread at ``[i * lw_gap]``, so that the threads of a warp
read and write side by side; what walks carry is in registers, but for those that branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...properties import cached_property
from ...symbols.outputs import reachable
from ..rolled.tables import (
    CLASS,
    FIRST,
    IN_OWN,
    IN_PARENT,
    INPUTS,
    LAST_OUTBOARD,
    NUMBER_FROM_BASE,
    NUMBERS,
    OUT_OWN,
    OUT_PARENT,
    OUTPUT,
    PARENT,
    areas,
    columns,
    in_memory,
    saved,
)
from ..thresholds import CUDA_THREADS as THREADS
from .cuda import CudaSource, functions_of
from .source import Expressions

if TYPE_CHECKING:
    from ..rolled.factors import Terms
    from ..rolled.plan import PlannedLoop
    from ..rolled.walk_recorder import Walk
    from ..rolled.work import Place, Work

_SCRATCH = "lw_scratch"

# Memory of a thread; what bodies save is read once, and long after, so that it need not stay in a cache.
MEMORY = """#define LW_WORK(i) lw_work[(size_t)(i) * lw_gap]
#ifdef __CUDA_ARCH__
#define LW_SAVED(i) __ldcs(&LW_WORK(i))
#define LW_SAVE(i, x) __stcs(&LW_WORK(i), x)
#else
#define LW_SAVED(i) LW_WORK(i)
#define LW_SAVE(i, x) LW_WORK(i) = x
#endif
"""


@dataclass(frozen=True, eq=False, repr=False)
class CudaLoopSource(CudaSource):
    """A rolled function as CUDA source. ``scratch`` is how many numbers of memory each thread works in."""

    of_bodies: tuple[np.ndarray, np.ndarray] = (np.zeros((0, 0), int), np.zeros(0))  # the tables

    @property
    def _rolled(self) -> Any:
        return self.program

    @cached_property
    def _areas(self) -> tuple[dict[str, int], int]:
        """(where the carries of sweeps and walks, and the numbers that matrices are products of, begin; the end)."""
        found, end = areas(self._rolled)
        found["factors"] = end
        return found, end + self._rolled.factors.bodies * len(self._rolled.factors.values)

    @property
    def scratch(self) -> int:
        return self._areas[1]

    @property
    def prototype(self) -> str:
        memory = f"{self.number} *{_SCRATCH}, size_t lw_threads"
        return f"cudaError_t {self.name}(size_t batch, {self._parameters()}, {memory}, cudaStream_t stream)"

    @cached_property
    def header(self) -> str:
        note = f"""{self.program.name} of {self.robot} for many states on a CUDA device; {self.operations} per state.

   All arrays are of {self.number} and in device memory. Element i of state s lies at [i * batch + s].
   Inputs, outputs and scratch must not overlap.
{self._lengths()}
     {_SCRATCH}: {self.scratch} x lw_threads numbers, in which so many threads work

   {self.name} launches at most lw_threads threads on the stream and does not wait for them; states
   beyond are taken one after the other. It returns what the launch returns. Where a matrix that is inverted is
   singular, all results of that state are NaN. NVRTC compiles the file as it is, without this header."""
        return self._header(note, "#include <stddef.h>\n#include <cuda_runtime_api.h>\n")

    @cached_property
    def source(self) -> str:
        body = "\n".join(self._body())
        arrays = self._parameters("__restrict__ ")
        return (
            f"/* {self.name}.h says what is here. */\n"
            f'#ifndef __CUDACC_RTC__\n#include "{self.name}.h"\n#endif\n{functions_of(self.number, body)}\n'
            f"{self._tables()}\n{MEMORY}"
            f"static __device__ void {self.state}(size_t stride, {arrays}, {self.number} *lw_work, size_t lw_gap)\n"
            f"{{\n{body}\n}}\n\n{self._kernel()}\n{self._launcher()}"
        )

    def _tables(self) -> str:
        integers, numbers = self.of_bodies
        values = Expressions(self.dtype)
        listed = [", ".join(map(str, row)) for row in integers.tolist()]
        constants = [values[float(x)] for x in numbers] or ["0"]
        rows = [", ".join(constants[i : i + 6]) for i in range(0, len(constants), 6)]
        return (
            f"static __device__ const int lw_integers[] = {{\n    {_lines(listed)}}};\n"
            f"static __device__ const {self.number} lw_numbers[] = {{\n    {_lines(rows)}}};\n"
        )

    def _kernel(self) -> str:
        arrays = ", ".join(f"{name} + state" for name in self._all_arguments())
        return f"""extern "C" __global__ void __launch_bounds__({THREADS}, 1)
{self.kernel}(size_t batch, {self._parameters("__restrict__ ")}, {self.number} *{_SCRATCH})
{{
    const size_t step = (size_t)gridDim.x * blockDim.x, first = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (size_t state = first; state < batch; state += step)
        {self.state}(batch, {arrays}, {_SCRATCH} + first, step);
}}
"""

    def _launcher(self) -> str:
        pointers = ", ".join(f"&{name}" for name in (*self._all_arguments(), _SCRATCH))
        return f"""#ifndef __CUDACC_RTC__
extern "C" {self.prototype}
{{
    if (batch == 0 || lw_threads == 0)
        return cudaSuccess;
    const size_t block = lw_threads < {THREADS} ? lw_threads : {THREADS};
    const size_t needed = (batch - 1) / block + 1, fit = lw_threads / block, blocks = needed < fit ? needed : fit;
    void *arguments[] = {{&batch, {pointers}}};
    return cudaLaunchKernel({self.kernel}, dim3((unsigned)blocks), dim3((unsigned)block), arguments, 0, stream);
}}
#endif
"""

    # --- one state ---------------------------------------------------------------------------------------

    def _body(self) -> list[str]:
        program, values = self._rolled, Expressions(self.dtype)
        n = len(program.parents)
        lines = [f"    (void){name};" for name in self._arguments().values()] + ["    int lw_bad = 0;"]
        for sweep in program.sweeps:
            at = self._areas[0][f"area{sweep.index}"]
            lines += [f"    LW_WORK({at + i}) = {values[x]};" for i, x in enumerate(sweep.start)]
        if program.one_sided or (program.loops and not program.is_chain):
            # bodies of which neither is inboard of the other may have no block, and those of one side have none
            lines += self._filled("0")
        for p, works in enumerate(program.phases):
            if any(w.sinks for w in works):
                loop = f"int k = 0; k < {n}; k++" if p % 2 == 0 else f"int k = {n - 1}; k >= 0; k--"
                lines += [f"    for ({loop}) {{", *self._classes(dict(enumerate(works)), "k", ""), "    }"]
        for loop in program.loops:
            lines += self._walks(loop)
        for k in program.factors.products:
            lines += self._product(k)
        return [*lines, "    if (lw_bad) {", *self._filled("NAN"), "    }"]

    def _filled(self, value: str) -> list[str]:
        found = []
        for name, shape in self._outputs().items():
            size = 1
            for m in shape:
                size *= m
            found += [f"    for (size_t i = 0; i < {size}; i++)", f"        {self.element(name, 'i')} = {value};"]
        return found

    def element(self, name: str, at: str) -> str:
        """Number ``at`` of a state in an array."""
        return f"{name}[(size_t)({at}) * stride]"

    def _classes(self, works: dict[int, Work], k: str, origin: str, other: str = "break") -> list[str]:
        """What the class of body ``k`` does; the body that a walk comes from is ``origin``."""
        row = f"lw_row_{k}"
        lines = [
            f"        const int *const {row} = lw_integers + {k} * {columns(self._rolled)};",
            f"        switch ({row}[{CLASS}]) {{",
        ]
        for c, work in works.items():
            lines += [
                f"        case {c}: {{",
                *_Body(self, c, work, k, origin).lines(),
                "            break;",
                "        }",
            ]
        return [*lines, f"        default: {other};", "        }"]

    # --- walks -------------------------------------------------------------------------------------------

    def _walks(self, loop: PlannedLoop) -> list[str]:
        program = self._rolled
        n, lines = len(program.parents), []
        held: list[str] = []
        for walk in loop.walks:
            width = len(walk.handed[0])
            if in_memory(program, walk):
                at = self._areas[0][f"walk{walk.index}"] + n * width
                lines += [f"    LW_WORK({at + i}) = 0;" for i in range(width)]  # nothing at the world
            else:
                held += [f"lw_walk{walk.index}_{i} = 0" for i in range(width)]
        lines.append(f"    for (int o = 0; o < {n}; o++) {{")
        lines += [f"        {self.number} {', '.join(held)};"] if held else []
        lines += self._classes(loop.begin, "o", "o", other="continue")
        for walk, works in zip(loop.walks, loop.steps):
            lines += self._walk(walk, works)
        return [*lines, "    }"]

    def _walk(self, walk: Walk, works: Sequence[Work]) -> list[str]:
        program, across = self._rolled, columns(self._rolled)
        n, skip = len(program.parents), []
        if not walk.outward:
            loop = f"int k = lw_row_o[{PARENT}]; k >= 0; k = lw_integers[k * {across} + {PARENT}]"
        elif program.is_chain:
            loop = f"int k = o + 1; k < {n}; k++"
        else:
            loop = f"int k = 0; k < {n}; k++"
            number, last = (f"lw_integers[k * {across} + {x}]" for x in (NUMBER_FROM_BASE, LAST_OUTBOARD))
            own = f"lw_row_o[{NUMBER_FROM_BASE}]"  # inboard of the origin, or it: its number lies among theirs
            skip = [f"        if ({own} >= {number} && {own} <= {last})", "            continue;"]
        return [f"    for ({loop}) {{", *skip, *self._classes(dict(enumerate(works)), "k", "o"), "    }"]

    def _product(self, k: int) -> list[str]:
        """A matrix whose entries are sums of products of the bodies' numbers."""
        factors, n = self._rolled.factors, self._rolled.shapes[k][0]
        matrix, name = factors.products[k], list(self._outputs())[k]

        def factor(i: int, body: str) -> str:
            return f"LW_WORK({self._areas[0]['factors'] + i} + {body} * {len(factors.values)})"

        def entries(terms: Terms) -> str:
            return " + ".join(f"{factor(i, 'r')} * {factor(j, 'c')}" for i, j in zip(terms.row, terms.column)) or "0"

        return [
            f"    for (int r = 0; r < {n}; r++)",
            f"        for (int c = 0; c < {n}; c++)",
            f"            {self.element(name, f'r * {n} + c')} =",
            f"                r < c ? {entries(matrix.above)} : r > c ? {entries(matrix.below)}",
            f"                : {factor(matrix.diagonal, 'r')};",
        ]


class _Body:
    """The statements of one class of bodies in one loop."""

    def __init__(self, text: CudaLoopSource, c: int, work: Work, k: str, origin: str) -> None:
        self.text, self.program, self.work, self.k, self.origin = text, text._rolled, work, k, origin
        self.row, self.starts = f"lw_row_{k}", text._rolled.classes[c].starts
        self.values = Expressions(text.dtype)
        self.walks = {w.index: w for loop in self.program.loops for w in loop.walks}

    def lines(self) -> list[str]:
        values, number = self.values, self.text.number
        nodes, found = reachable(self.work.sinks, stop=self.work.loads), []
        for node in nodes:
            if id(node) in self.work.loads:
                right = f"LW_SAVED({self._saved(self.work.loads[id(node)])})"
            elif node.op == "input":
                right = self._read(*node.args)
            elif node.op in ("sin", "cos"):
                if node not in values:
                    own = {x.op: x for x in nodes if x.op in ("sin", "cos") and x.args[0] is node.args[0]}
                    known = {op: x for op, x in own.items() if id(x) not in self.work.loads}
                    found += self.text._sine_and_cosine(values, node.args[0], known.get("sin"), known.get("cos"))
                continue
            else:
                right = values.right_side(node)
            found.append(f"    const {number} {values.variable(node)} = {right};")
        found += [f"    {to} = {adds.format(values[x])};" for x, to, adds in self._sinks()]
        found += [f"    LW_SAVE({self._saved(place)}, {values[x]});" for place, x in self.work.saves.items()]
        if self.work.guards:
            found.append(f"    lw_bad |= {values.singular(self.work.guards)};")
        return [f"        {x}" for x in found]

    def _sinks(self) -> list[tuple[Any, str, str]]:
        """(value, where it goes, what is written there) of everything this body writes."""
        out: list[tuple[Any, str, str]] = []
        for sweep, slots in self.work.hands:
            column = OUT_OWN if sweep.outward else IN_PARENT
            for i, x in enumerate(slots):
                to = self._slot(sweep.index, len(sweep.start), column, i)
                adds = not sweep.outward and self.program.has_forks
                out.append((x, to, f"{self.row}[{FIRST}] ? {{0}} : {to} + {{0}}" if adds else "{0}"))
        for walk, slots in (*self.work.carries.items(), *self.work.forks.items()):
            out += [(x, self._carried(walk, i), "{0}") for i, x in enumerate(slots)]
        return out + [(x, self._output(place, i), "{0}") for place, i, x in self.work.outputs]

    def _saved(self, place: int) -> str:
        return f"{self.k} * {saved(self.program)} + {place}"

    def _slot(self, sweep: int, width: int, column: int, i: int) -> str:
        return f"LW_WORK({self.text._areas[0][f'area{sweep}'] + i} + {self.row}[{column}] * {width})"

    def _carried(self, walk: int, i: int, body: str = "") -> str:
        if not in_memory(self.program, self.walks[walk]):
            return f"lw_walk{walk}_{i}"
        width = len(self.walks[walk].handed[0])
        return f"LW_WORK({self.text._areas[0][f'walk{walk}'] + i} + {body or self.k} * {width})"

    def _read(self, source: str, i: int) -> str:
        kind, _, which = source.partition(":")
        if kind == "table" and which:
            return f"lw_numbers[{self.row}[{NUMBERS}] + {i}]"
        if kind == "carry" and which:
            sweep = next(s for s in self.program.sweeps if s.index == int(which))
            return self._slot(sweep.index, len(sweep.start), OUT_PARENT if sweep.outward else IN_OWN, i)
        if kind == "pair" and which:
            up = f"{self.row}[{PARENT}]"
            return self._carried(int(which), i, f"({up} < 0 ? {len(self.program.parents)} : {up})")
        names = list(self.program.inputs)
        before = sum(list(self.program.inputs.values())[: names.index(source)])
        at = f"{self.row}[{INPUTS + names.index(source)}] + {i - self.starts[source] - before}"
        return self.text.element(self.text._arguments()[source], at)

    def _output(self, place: Place, index: int) -> str:
        """Where a result goes, which is counted from the first of all; or a factor of matrices."""
        if place.where == "factor":
            width = len(self.program.factors.values)
            return f"LW_WORK({self.text._areas[0]['factors'] + index} + {self.k} * {width})"
        k = 0
        while index >= self.program.held(k):
            index -= self.program.held(k)
            k += 1
        row = f"lw_row_{self.origin}" if place.where == "there" else self.row
        at = f"{row}[{OUTPUT}]"
        if place.columns:
            other, name = (f"lw_row_{self.origin}", self.origin) if place.where == "here" else (self.row, self.k)
            across = f"{name} * {place.width}" if place.width else f"{other}[{OUTPUT}]"
            at = f"{at} * {place.columns} + {across}"
        return self.text.element(list(self.text._outputs())[k], f"{index} + {at}")


def _lines(rows: Sequence[str]) -> str:
    return ",\n    ".join(rows)
