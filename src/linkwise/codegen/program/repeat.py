"""Programs that are applied again and again to each state, as the steps of an integrator are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...errors import InputError
from ...properties import cached_property
from ...symbols.operations import Operations
from ..cuda.repeats import DeviceRepeat
from ..llvm.repeat import repeat_ir, table_words
from ..llvm.sine_cosine import VectorType
from ..runtime.engine import MachineCode
from ..runtime.kernel import Kernel
from ..runtime.threads import crew, refuse_other_threads, usable_cores
from ..thresholds import STATES_PER_THREAD, STEPS_PER_STATE
from .trace import Program


class Repeated:
    """A program as machine code that loops over steps, many states at once.

    ``carried`` maps inputs to the outputs that take their place after each step; ``stepped`` names inputs that have
    another value at every step. Everything else is read once per state.
    """

    def __init__(
        self,
        make: Callable[[], Program],
        carried: Mapping[str, int],
        stepped: Sequence[str],
        request: str | None = None,
    ) -> None:
        self.carried, self.stepped = dict(carried), frozenset(stepped)
        assert not self.stepped & self.carried.keys(), "an input is carried, or stepped, or neither"
        self._code = _LoopingKernel.remembered(request, make)
        self._code.loops(self.carried, self.stepped)
        self.signature = self._code.signature

    @property
    def operations(self) -> Operations:
        """Exact operation counts for one step of one state."""
        return self._code.operations

    @property
    def fingerprint(self) -> str:
        """Differs between loops that compute different things."""
        return self._code.fingerprint

    @cached_property
    def token(self) -> str:
        """A name that no other loop has, in this process or in another."""
        return f"{self.signature.name}-{self.fingerprint}-{sorted(self.carried.items())}-{sorted(self.stepped)}"

    @cached_property
    def on_device(self) -> DeviceRepeat:
        """The loop as a kernel for graphics cards."""
        return DeviceRepeat(self._code, self.carried, self.stepped)

    def is_shorter_than(self, nodes: int) -> bool:
        """Whether its program is no longer than this; what is compiled already counts as short."""
        return self._code.is_remembered or len(self._code.program.nodes) <= nodes

    def run(
        self,
        inputs: Mapping[str, np.ndarray],
        steps: int,
        every: int = 1,
        threads: int | None = None,
        out: Sequence[np.ndarray] | None = None,
    ) -> tuple[list[np.ndarray], bool]:
        """(outputs (states, steps // every, …) after every ``every``-th step, whether all steps were sound).

        Inputs are (states, n), or (n,) for all states; stepped ones (states, steps, n) or (steps, n). All have one
        precision. Where a matrix that is inverted was singular the steps are not sound. ``out`` receives the outputs;
        its rows may have any strides.
        """
        if steps < 0 or every < 1:
            raise InputError(f"steps must not be negative and every at least 1, got {steps} and {every}")
        arrays = [np.asarray(inputs[name]) for name in self.signature.inputs]
        dtype = arrays[0].dtype
        count = self._states(arrays)
        wide = [self._wide(name, x, count, steps, dtype) for name, x in zip(self.signature.inputs, arrays)]
        outputs = self._outputs(out, (count, steps // every), dtype)
        code = self._code.code(dtype)
        workers = _workers(count, steps, threads) if count > code.vector.lanes else 1
        share = -(-count // (workers * code.vector.lanes)) * code.vector.lanes
        parts = [[x[s : s + share] for x in (*wide, *outputs)] for s in range(0, count, max(share, 1))]
        call = partial(_call, code, steps=steps, every=every)
        failed = list(map(call, parts)) if len(parts) < 2 else crew().map(call, parts)
        return outputs, not any(failed)

    def _outputs(self, out: Sequence[np.ndarray] | None, rows: tuple[int, int], dtype: Any) -> list[np.ndarray]:
        shapes = [(*rows, *s) for s in self.signature.shapes]
        if out is None:
            return [np.empty(shape, dtype) for shape in shapes]
        for x, shape in zip(out, shapes, strict=True):
            if x.shape != shape or x.dtype != dtype or (x.size and x.strides[-1] != x.itemsize):
                raise InputError(f"out must hold {np.dtype(dtype).name} arrays of shapes {shapes}, numbers packed")
        return list(out)

    def _states(self, arrays: Sequence[np.ndarray]) -> int:
        """How many states the inputs are for."""
        plain = [x.ndim - (name in self.stepped) for name, x in zip(self.signature.inputs, arrays)]
        counts = {len(x) for x, axes in zip(arrays, plain) if axes == 2}
        if len(counts) > 1 or any(axes not in (1, 2) for axes in plain):
            shown = ", ".join(f"{name} {x.shape}" for name, x in zip(self.signature.inputs, arrays))
            raise InputError(
                f"inputs of repeated steps are (n,) or (states, n), stepped ones have steps before n: {shown}"
            )
        return counts.pop() if counts else 1

    def _wide(self, name: str, x: np.ndarray, count: int, steps: int, dtype: Any) -> np.ndarray:
        n = self.signature.inputs[name]
        tail = (steps, n) if name in self.stepped else (n,)
        if x.shape[-len(tail) :] != tail:
            raise InputError(f"{name} must have shape (..., {', '.join(map(str, tail))}), got {x.shape}")
        if x.dtype != dtype or not x.flags.aligned:
            x = x.astype(dtype)
        return np.broadcast_to(x, (count, *tail))


class _LoopingKernel(Kernel):
    """A kernel with the loop over steps around its program; called by :class:`Repeated` alone."""

    def loops(self, carried: Mapping[str, int], stepped: frozenset[str]) -> None:
        self._carried, self._stepped = carried, stepped

    def ir(self, vector: VectorType) -> str:
        text = repeat_ir(self.program, vector, self._carried, self._stepped)
        self.program.forget_steps()
        return text


def _workers(count: int, steps: int, threads: int | None) -> int:
    """How many threads share this many states and steps."""
    if threads is not None:
        refuse_other_threads(threads)
        return min(int(threads), count)
    deserved = count * max(1, steps // STEPS_PER_STATE) // STATES_PER_THREAD
    return 1 if deserved < 2 else min(usable_cores(), deserved)  # (to ask for the cores takes longer than a state)


def _call(code: MachineCode, arrays: list[np.ndarray], steps: int, every: int) -> bool:
    """Run the machine code; whether a guard failed."""
    work = code.workspace(table_words(len(arrays)))
    work.table[:] = [steps, every, *(word for x in arrays for word in _words(x))]
    failed = code.function(len(arrays[0]), work.table_address, work.scratch_address)
    code.spare.append(work)
    return bool(failed)


def _words(x: np.ndarray) -> tuple[int, int, int, int]:
    """Address and strides of (states, n), (states, rows, n), or outputs of more or fewer axes, which are contiguous."""
    size = x.dtype.itemsize
    rows = x.strides[1] if x.ndim > 1 else 0
    numbers = x.strides[-1] if x.ndim in (2, 3) else size
    return x.ctypes.data, x.strides[0], numbers, rows
