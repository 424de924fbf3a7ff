"""Loops over bodies on arrays in a card's memory: the code does not grow with a robot, and works in memory of its own.

The memory is taken and given back in the order of the stream's work, so that streams do not meet in it and nothing is
waited for. A launch has as many threads as run at a time, and each takes one state after the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..thresholds import CUDA_LOOPS_BYTES
from ..thresholds import CUDA_THREADS as THREADS
from .driver import Loaded, enter, memory_in_order, multiprocessors
from .launch import Placed, squeezed
from .loop_text import DeviceLoopText

if TYPE_CHECKING:
    from ..runtime.rolled_kernel import RolledKernel

_WORD = 0xFFFFFFFFFFFFFFFF


class DeviceLoops:
    """The machine code of a function with loops, for the precisions and devices that were asked for so far."""

    def __init__(self, kernel: RolledKernel) -> None:
        self._kernel = kernel
        self._sizes = [*kernel.signature.inputs.values(), *(math.prod(s) for s in kernel.signature.shapes)]
        self._loaded: dict[tuple[str, int], tuple[Loaded, DeviceLoopText]] = {}

    def text(self, dtype: str) -> DeviceLoopText:
        """The text for a precision."""
        program: Any = self._kernel.whole_walks
        return DeviceLoopText(program, "device", dtype, self._kernel.tables)

    def loaded(self, dtype: str, device: int) -> tuple[Loaded, DeviceLoopText]:
        """The kernel for a precision on a device."""
        key = dtype, device
        if key not in self._loaded:
            self._loaded[key] = squeezed(self.text(dtype), device)
        return self._loaded[key]

    def run(self, arrays: Sequence[Placed], count: int, dtype: str, device: int, stream: int) -> None:
        """Put the work on a stream: inputs, then outputs."""
        if count == 0:
            return
        kernel, text = self.loaded(dtype, device)
        words = [count]
        for x in arrays:
            words += [x.address, x.between & _WORD, x.within & _WORD]
        enter(device)
        threads, blocks = shares(count, kernel.resident(THREADS, 0), multiprocessors(device))
        each = threads * max(text.scratch, 1) * np.dtype(dtype).itemsize  # bytes of a block
        blocks = max(min(blocks, CUDA_LOOPS_BYTES // each), 1)
        with memory_in_order(each, blocks, device, stream) as (address, fit):
            kernel.launch(fit, threads, 0, stream, [*words, address])

    def run_rows(self, addresses: Sequence[int], count: int, dtype: str, device: int, stream: int) -> None:
        """The same for arrays that all lie row by row."""
        self.run([Placed(x, n, 1) for x, n in zip(addresses, self._sizes)], count, dtype, device, stream)


def shares(count: int, resident: int, multiprocessors: int) -> tuple[int, int]:
    """(threads of a block, blocks): few states are spread over all multiprocessors, a warp each."""
    threads = THREADS if count >= 2 * THREADS * multiprocessors else 32
    most = resident * multiprocessors * (THREADS // threads)
    return threads, min(-(-count // threads), most)
