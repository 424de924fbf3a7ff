"""Kernels: compiled functions of arrays, batched over any leading dimensions."""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import InputError
from . import derivative
from .engine import MachineCode, compile_program
from .entry import quick_function
from .program import Program
from .scalar import Operations, Scalar

# Below this many states a thread costs more than it saves.
_STATES_PER_THREAD = 1024


class Kernel:
    """A program compiled for the CPU. Call it with arrays (..., n); batches broadcast, dtypes are kept.

    float32 inputs run in float32, everything else in float64. Code is compiled when a precision is first
    used, or taken from the disk cache.
    """

    target = "cpu"

    def __init__(self, program: Program) -> None:
        self.program = program
        self._codes: dict[str, MachineCode] = {}
        self.__name__ = program.name

    @property
    def operations(self) -> Operations:
        """Exact operation counts for one state."""
        return self.program.operations

    @cached_property
    def source(self) -> str:
        """The scalar program, one readable line per value."""
        return listing(self.program)

    def explain(self) -> str:
        """What the kernel takes, gives and costs."""
        inputs = ", ".join(f"{k} (..., {n})" for k, n in self.program.inputs.items())
        outputs = ", ".join(str(("...", *s)).replace("'", "") for s in self.program.shapes)
        code = self.code(np.float64)
        lines = [
            f"{self.program.name}: {inputs} -> {outputs}",
            f"  {self.operations} per state",
            f"  {code.vector.lanes} float64 or {2 * code.vector.lanes} float32 states at once",
        ]
        unused = self.program.unused_inputs
        if unused:
            lines.append("  does not depend on " + ", ".join(f"{k}[{i}]" for k, i in unused))
        return "\n".join(lines)

    def jacobian(self, wrt: str) -> Kernel:
        """A kernel for the exact derivatives with respect to one input, each (..., *output, length of wrt)."""
        return Kernel(derivative.jacobian(self.program, wrt))

    def jvp(self) -> Kernel:
        """A kernel for directional derivatives: takes the inputs, then one direction per input."""
        return Kernel(derivative.jvp(self.program))

    def vjp(self) -> Kernel:
        """A kernel for gradients of weighted outputs: takes inputs, then weights; gives one array per input."""
        return Kernel(derivative.vjp(self.program))

    def code(self, dtype: Any) -> MachineCode:
        """The machine code for a precision."""
        name = np.dtype(dtype).name
        if name not in self._codes:
            self._codes[name] = compile_program(self.program, dtype)
        return self._codes[name]

    @cached_property
    def quick(self) -> Any:
        """The same function with the least overhead for one float64 state; other calls go the checked way."""
        code = self.code(np.float64)
        if code.entry is None:
            return self.__call__
        function, keep = quick_function(code.entry, self.program.name, self.__call__)
        self._alive = (code, keep)
        return function

    def __call__(self, *arrays: Any, out: Any = None, threads: int | None = None) -> Any:
        """Run on arrays in the order of :attr:`Program.inputs`; ``out`` receives the result in place.

        ``threads`` splits large batches; the default is one thread per core for batches that deserve it.
        """
        inputs, dtype = self._checked(arrays)
        batch = self._batch(inputs)
        outputs = self._outputs(out, batch, dtype)
        count = math.prod(batch)
        flat_in = [_flattened(x, batch, n) for x, n in zip(inputs, self.program.inputs.values())]
        flat_out = [y.reshape(count, math.prod(s)) for y, s in zip(outputs, self.program.shapes)]
        self._run(self.code(dtype), count, [*flat_in, *flat_out], threads)
        return outputs[0] if self.program.single else tuple(outputs)

    def _checked(self, arrays: Sequence[Any]) -> tuple[list[np.ndarray], Any]:
        names = list(self.program.inputs)
        if len(arrays) != len(names):
            raise InputError(f"{self.program.name} takes {len(names)} arrays ({', '.join(names)}), got {len(arrays)}")
        found = [np.asarray(x) for x in arrays]
        for name, x in zip(names, found):
            if x.dtype.kind not in "fiub":
                raise InputError(f"{name} must hold real numbers, got dtype {x.dtype}")
            n = self.program.inputs[name]
            if x.ndim == 0 or x.shape[-1] != n:
                raise InputError(f"{name} must have shape (..., {n}), got {x.shape}")
        single = all(x.dtype == np.float32 for x in found)
        dtype = np.float32 if single else np.float64
        return [x if x.dtype == dtype and x.flags.aligned else x.astype(dtype) for x in found], dtype

    def _batch(self, inputs: list[np.ndarray]) -> tuple[int, ...]:
        shapes = {x.shape[:-1] for x in inputs}
        if len(shapes) == 1:
            return shapes.pop()
        try:
            return np.broadcast_shapes(*shapes)
        except ValueError:
            named = ", ".join(f"{k} {x.shape}" for k, x in zip(self.program.inputs, inputs))
            raise InputError(f"the batch dimensions do not fit together: {named}") from None

    def _outputs(self, out: Any, batch: tuple[int, ...], dtype: Any) -> list[np.ndarray]:
        shapes = [batch + s for s in self.program.shapes]
        if out is None:
            return [np.empty(s, dtype) for s in shapes]
        given = [out] if self.program.single else list(out)
        for y, s in zip(given, shapes, strict=True):
            if not isinstance(y, np.ndarray) or y.shape != s or y.dtype != dtype or not y.flags.c_contiguous:
                raise InputError(f"out must be a C-contiguous {np.dtype(dtype).name} array of shape {s}")
        return given

    def _run(self, code: MachineCode, count: int, arrays: list[np.ndarray], threads: int | None) -> None:
        if count == 0:
            return
        workers = _workers(count, threads)
        if workers == 1:
            _call(code, count, arrays)
            return
        lanes = code.vector.lanes
        share = -(-count // (workers * lanes)) * lanes
        starts = range(0, count, share)
        with ThreadPoolExecutor(workers) as pool:
            parts = [[x[s : s + share] for x in arrays] for s in starts]
            list(pool.map(lambda part: _call(code, len(part[-1]), part), parts))


def _workers(count: int, threads: int | None) -> int:
    if threads is not None:
        if threads < 1:
            raise InputError(f"threads must be at least 1, got {threads}")
        return min(threads, count)
    return max(1, min(os.cpu_count() or 1, count // _STATES_PER_THREAD))


def _flattened(x: np.ndarray, batch: tuple[int, ...], n: int) -> np.ndarray:
    """(states, n) without copying where strides allow; an input without a batch is read again for each state."""
    if x.shape[:-1] == batch and x.ndim == 2:
        return x
    if x.ndim == 1:
        return np.broadcast_to(x, (math.prod(batch), n))
    return np.broadcast_to(x, (*batch, n)).reshape(-1, n)


def _call(code: MachineCode, count: int, arrays: list[np.ndarray]) -> None:
    words = [w for x in arrays for w in (x.__array_interface__["data"][0], *x.strides)]
    table = (ctypes.c_int64 * len(words))(*words)
    scratch = ctypes.create_string_buffer(code.scratch_bytes + code.vector.alignment)
    start = ctypes.addressof(scratch)
    start += -start % code.vector.alignment
    code.function(count, ctypes.addressof(table), start)


def listing(program: Program) -> str:
    """A program as text: t7 = t3 * t5, and so on."""
    names: dict[int, str] = {}

    def value(x: Any) -> str:
        return names[id(x)] if isinstance(x, Scalar) else repr(x)

    lines: list[str] = []
    for node in program.nodes:
        if node.op == "input":
            names[id(node)] = f"{node.args[0]}[{node.args[1]}]"
            continue
        arguments = [value(a) for a in node.args]
        name = names[id(node)] = f"t{len(lines)}"
        symbol = {"add": "+", "sub": "-", "mul": "*"}.get(node.op)
        if symbol:
            right = f"{arguments[0]} {symbol} {arguments[1]}"
        else:
            right = {"neg": "-{}", "inv": "1 / {}"}.get(node.op, node.op + "({})").format(*arguments)
        lines.append(f"{name} = {right}")
    start = 0
    for k, shape in enumerate(program.shapes):
        size = int(np.prod(shape))
        label = "out" if program.single else f"out{k}"
        lines += [f"{label}[{i}] = {value(x)}" for i, x in enumerate(program.roots[start : start + size])]
        start += size
    return "\n".join(lines)
