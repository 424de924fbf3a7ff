"""CUDA target: one self-contained .cu file and a header for each function.

Three functions, from the inside out, with T double (or float):

``__device__ void NAME_state(size_t stride, const T *in1, …, T *out1, …)``: one state, all values in registers;
element i of each array lies at ``[i * stride]``.

``__global__ void NAME_kernel(size_t batch, …)``: one thread per state, in a loop with the grid's stride. Element i of
state s lies at ``[i * batch + s]``, so that the threads of a warp read and write neighbouring numbers.

``cudaError_t NAME_cuda(size_t batch, …, cudaStream_t stream)``: launches the kernel; the header declares it for C and
C++. Nothing is allocated, copied or waited for, nothing but the CUDA runtime is needed. NVRTC leaves this one out and
needs no file beside the source.

Comparisons, choices and functions are those of the C target, but for sines, cosines and reciprocals
(:mod:`.cuda_functions`).
Inputs and outputs must not overlap. Where a matrix that is inverted is singular (:mod:`...singularity`), all results
of that state are NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Any

from ...properties import cached_property
from ...symbols.scalar import Scalar
from ..program.registers import Kept, kept
from ..program.schedule import schedule_for_threads
from ..thresholds import CUDA_REGISTERS
from ..thresholds import CUDA_THREADS as THREADS
from .cuda_functions import RECIPROCAL, sine_and_cosine
from .source import Expressions, Source, argument

_MOST_BLOCKS = 0x7FFFFFFF  # of a grid; beyond it the threads loop

OWN_NAMES = frozenset(
    """room rows lane count first begin shared once
    stride batch state step blocks arguments stream size_t dim3 threadIdx blockIdx blockDim gridDim warpSize
    cudaError_t cudaStream_t cudaSuccess cudaLaunchKernel""".split()  # noqa: SIM905
)

# NVRTC has no <math.h>; only programs with such constants, as the limits of a joint without any, get these lines.
_NOT_FINITE = """#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fc00000)
#endif
"""


@dataclass(frozen=True, eq=False, repr=False)
class CudaSource(Source):
    """A function as CUDA source: ``source`` and ``header`` are texts, :meth:`write` puts them into a folder.

    ``kernel`` names the kernel, which takes at most :data:`THREADS` threads per block.
    """

    target = "cuda"
    ending = ".cu"

    @property
    def name(self) -> str:
        """The launcher's name; other than the C target's, so that one program can have both."""
        return f"{super().name}_cuda"

    @property
    def kernel(self) -> str:
        """The name of the batch kernel."""
        return f"{super().name}_kernel"

    @property
    def state(self) -> str:
        """The name of the device function for one state."""
        return f"{super().name}_state"

    @property
    def prototype(self) -> str:
        return f"cudaError_t {self.name}(size_t batch, {self._parameters()}, cudaStream_t stream)"

    @cached_property
    def header(self) -> str:
        note = f"""{self.program.name} of {self.robot} for many states on a CUDA device; {self.operations} per state.

   All arrays are of {self.number} and in device memory. Element i of state s lies at [i * batch + s].
   Inputs and outputs must not overlap.
{self._lengths()}

   {self.name} launches the work on the stream and does not wait for it. It returns what the launch
   returns; errors of the run itself show at the next call that waits. Batches of 0 states are nothing to do.
   Nothing is allocated. Where a matrix that is inverted is singular, all results of that state are NaN.

   For kernels of your own, {self.name}.cu also has
     {self.kernel}(batch, arrays): the __global__ function behind it,
       at most {THREADS} threads per block, any number of blocks;
     {self.state}(stride, arrays): the __device__ function for one state,
       element i at [i * stride].
   NVRTC compiles the file as it is, without this header."""
        return self._header(note, "#include <stddef.h>\n#include <cuda_runtime_api.h>\n")

    def _lengths(self) -> str:
        names = self._arguments()
        lines = [f"     {names[name]}: {n} x batch numbers" for name, n in self.program.inputs.items()]
        for name, shape in self._outputs().items():
            lines.append(f"     {name}: {' x '.join(map(str, shape or (1,)))} x batch numbers, row by row, written")
        return "\n".join(lines)

    @cached_property
    def source(self) -> str:
        body = "\n".join(self._strided())
        return (
            f"/* {self.name}.h says what is here. */\n"
            f'#ifndef __CUDACC_RTC__\n#include "{self.name}.h"\n#endif\n{self._functions(body)}\n'
            f"__device__ __forceinline__ void {self.state}(size_t stride, {self._parameters('__restrict__ ')})\n"
            f"{{\n{body}\n}}\n\n{self._kernel()}\n{self._launcher()}"
        )

    def _kernel(self) -> str:
        arrays = ", ".join(f"{name} + state" for name in self._all_arguments())
        # "1" block per multiprocessor suffices: without it ptxas gives long programs 32 registers and spills the rest.
        return f"""extern "C" __global__ void __launch_bounds__({THREADS}, 1)
{self.kernel}(size_t batch, {self._parameters("__restrict__ ")})
{{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t state = (size_t)blockIdx.x * blockDim.x + threadIdx.x; state < batch; state += step)
        {self.state}(batch, {arrays});
}}
"""

    def _launcher(self) -> str:
        pointers = ", ".join(f"&{name}" for name in self._all_arguments())
        return f"""#ifndef __CUDACC_RTC__
extern "C" {self.prototype}
{{
    if (batch == 0)
        return cudaSuccess;
    const size_t blocks = (batch - 1) / {THREADS} + 1;
    void *arguments[] = {{&batch, {pointers}}};
    return cudaLaunchKernel({self.kernel}, dim3((unsigned)(blocks < {_MOST_BLOCKS} ? blocks : {_MOST_BLOCKS})),
                            dim3({THREADS}), arguments, 0, stream);
}}
#endif
"""

    def _arguments(self) -> dict[str, str]:
        """What each input is called in the code."""
        return {name: argument(name, OWN_NAMES) for name in self.program.inputs}

    def _all_arguments(self) -> list[str]:
        return [*self._arguments().values(), *self._outputs()]

    def _parameters(self, qualifier: str = "") -> str:
        inputs = [f"const {self.number} *{qualifier}{name}" for name in self._arguments().values()]
        outputs = [f"{self.number} *{qualifier}{name}" for name in self._outputs()]
        return ", ".join([*inputs, *outputs])

    def _functions(self, body: str) -> str:
        return functions_of(self.number, body)

    @cached_property
    def _order(self) -> list[Scalar]:
        """The program's values in the order in which they are computed."""
        needed = [*self.program.roots, *(x for g in self.program.guards for x in g.nodes)]
        return schedule_for_threads(needed, CUDA_REGISTERS[self.dtype])

    def _strided(self) -> list[str]:
        """One state whose element i of each array lies at ``[i * stride]``."""
        lines = self._statements(lambda name, i: f"{name}[{_place(i)}]")
        return lines if any("stride]" in line for line in lines) else ["    (void)stride;", *lines]

    def _statements(self, place: Callable[[str, int], str]) -> list[str]:
        """One state. A result is written as soon as it is known, which frees its register.

        ``place`` says where element i of an array is.
        """
        values = Expressions(self.dtype)
        guards, nodes = self.program.guards, self._order
        places = Places(place)
        constants: list[str] = []
        for name, i, x in self._entries():
            if isinstance(x, Scalar):
                places.add(x, name, i)
            else:
                constants.append(f"    {place(name, i)} = {values[x]};")
        names, used = self._arguments(), {node.args[0] for node in nodes if node.op == "input"}
        lines = [f"    (void){names[name]};" for name in names if name not in used]
        plan, readable = self._plan(places)
        for now, node in enumerate(nodes):
            lines += self._computed(values, node, now, nodes, plan, readable, places)
        lines += [
            f"    const {self.number} {values.variable(x)} = {self._read(x, plan)};"
            for x in plan.reads.get(len(nodes), ())
        ]
        lines += constants
        if guards:
            blank = [f"        {place(name, i)} = NAN;" for name, i, _ in self._entries()]
            lines += [f"    if ({values.singular(guards)}) {{", *blank, "    }"]
        return lines

    def _computed(
        self,
        values: Expressions,
        node: Scalar,
        now: int,
        nodes: Sequence[Scalar],
        plan: Kept,
        readable: Container[int],
        places: Places,
    ) -> list[str]:
        """The value at one place of an order: what is read before it, the value, and where it goes."""
        if id(node) in self._only_angles or id(node) in readable:
            return []
        lines = [
            f"    const {self.number} {values.variable(x)} = {self._read(x, plan)};" for x in plan.reads.get(now, ())
        ]
        if node.op == "input":
            name, i = node.args
            lines.append(f"    const {self.number} {values.variable(node)} = {places.of(self._arguments()[name], i)};")
        elif node.op in ("sin", "cos"):
            if node not in values:
                lines += self._sine_and_cosine(values, node.args[0], *_of_angle(nodes, node.args[0]))
        else:
            right = values.right_side(node)
            if node.op == "inv" and self.dtype == "float32":
                right = f"lw_inverse({values[node.args[0]]})"
            lines.append(f"    const {self.number} {values.variable(node)} = {right};")
        lines += [f"    {at} = {values[node]};" for at in places.written(node)]
        return lines + [f"    {self._keep(slot, values[x])}" for x, slot in plan.writes.get(now, ())]

    def _keep(self, slot: int, value: str) -> str:
        """A value to where it waits."""
        return f"lw_kept[{slot}] = {value};"

    @property
    def _only_angles(self) -> frozenset[int]:
        """Inputs (ids) of which sines and cosines alone are needed, and made elsewhere."""
        return frozenset()

    def _read_again(self, x: Any) -> str | None:
        """Where a value is kept besides its variable; None where it is not."""
        return None

    def _plan(self, written: Container[int]) -> tuple[Kept, frozenset[int]]:
        """What leaves the registers, and the values (ids) that are read where they are first needed."""
        return kept(self._order, math.inf, ()), frozenset()

    def _read(self, x: Scalar, plan: Kept) -> str:
        """A value that is not in a register."""
        found = self._read_again(x)
        return f"((const volatile {self.number} *)lw_kept)[{plan.slot_of[id(x)]}]" if found is None else found

    def _sine_and_cosine(
        self, values: Expressions, angle: Any, sine: Scalar | None, cosine: Scalar | None
    ) -> list[str]:
        """Both at once, in two new variables; what is not needed the compiler leaves out."""
        s, c = (values.spare() if x is None else values.variable(x) for x in (sine, cosine))
        return [f"    {self.number} {s}, {c};", f"    lw_sincos{values.suffix}({values[angle]}, &{s}, &{c});"]


class Places:
    """Where numbers of arrays are in the text, and which of them a value is written to."""

    def __init__(self, of: Callable[[str, int], str]) -> None:
        self.of = of
        self._written: dict[int, list[str]] = {}

    def add(self, x: Scalar, name: str, i: int) -> None:
        self._written.setdefault(id(x), []).append(self.of(name, i))

    def written(self, x: Scalar) -> list[str]:
        return self._written.get(id(x), [])

    def __contains__(self, key: object) -> bool:
        return key in self._written


def _of_angle(nodes: Sequence[Scalar], angle: Any) -> tuple[Scalar | None, Scalar | None]:
    """The sine and the cosine of an angle among these values."""
    found = {x.op: x for x in nodes if x.op in ("sin", "cos") and x.args[0] is angle}
    return found.get("sin"), found.get("cos")


def functions_of(number: str, body: str) -> str:
    """What statements call and name, where they do."""
    found = _NOT_FINITE if "INFINITY" in body or "NAN" in body else ""
    if "lw_sincos" in body:
        found += sine_and_cosine(number)
    return found + RECIPROCAL if "lw_inverse" in body else found


def _place(i: int) -> str:
    """Where element i lies."""
    return "0" if i == 0 else "stride" if i == 1 else f"{i} * stride"
