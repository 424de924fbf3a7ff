"""A compiled function on arrays in a card's memory, whichever library they are of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ..program.trace import Program
from ..thresholds import (
    CUDA_ENOUGH,
    CUDA_KEPT,
    CUDA_LIMBS,
    CUDA_LIMBS_KEPT,
    CUDA_LIMBS_SPILL,
    CUDA_SPILL,
    CUDA_SQUEEZE,
    CUDA_WAVES,
)
from ..thresholds import CUDA_THREADS as THREADS
from .compiler import machine_code
from .driver import Loaded, architecture, enter, multiprocessors, shared_bytes
from .limb_text import LimbText, divided
from .loop_text import DeviceLoopText
from .text import KERNEL, ROWS, STRIDED, DeviceText
from .turns_text import TurnsText

Text = TypeVar("Text", bound=DeviceText | TurnsText | DeviceLoopText)
_REGISTERS = 65536  # of a multiprocessor
_WORD = 0xFFFFFFFFFFFFFFFF
_MOST_BLOCKS = 0x7FFFFFFF  # of a grid; beyond it the threads loop


@dataclass(frozen=True)
class Placed:
    """An array of states in a card's memory; strides are in numbers, not bytes."""

    address: int
    between: int  # states
    within: int  # a state

    def layout(self, n: int) -> str:
        """Whether states lie one after the other, their numbers side by side."""
        return ROWS if self.within == 1 and self.between == n else STRIDED


def flat_strides(shape: Sequence[int], strides: Sequence[int], batch: Sequence[int]) -> tuple[int, int] | None:
    """(between states, within a state) of an array (..., n) that is spread over a batch; None where no two will do.

    The strides of axes of length one do not count.
    """
    own = [0] * (len(batch) - len(shape) + 1) + [0 if n == 1 else s for n, s in zip(shape[:-1], strides[:-1])]
    within = strides[-1] if shape[-1] != 1 else 1
    between: int | None = None
    inner = 1  # states in the axes that were looked at
    for n, stride in zip(reversed(list(batch)), reversed(own)):
        if n == 1:
            continue
        if between is None:
            between = stride
        elif stride != between * inner:
            return None
        inner *= n
    return 0 if between is None else between, within


class DeviceFunction:
    """The machine code of one function, for the precisions, layouts and devices that were asked for so far."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._sizes = [*kernel.signature.inputs.values(), *(math.prod(s) for s in kernel.signature.shapes)]
        self._loaded: dict[tuple[str, str, int], tuple[Loaded, DeviceText]] = {}
        self._rows: dict[tuple[str, int], tuple[Loaded, DeviceText, list[bool]]] = {}

    def loaded(self, dtype: str, layouts: str, device: int) -> tuple[Loaded, DeviceText]:
        """The kernel for arrays that lie so."""
        key = dtype, layouts, device
        if key not in self._loaded:
            self._loaded[key] = self._made(dtype, layouts, device)
        return self._loaded[key]

    def _made(self, dtype: str, layouts: str, device: int) -> tuple[Loaded, DeviceText]:
        program, room = self._kernel.program, shared_bytes(device)
        divided = by_limbs(program, dtype, layouts, room)
        if divided is not None:
            return _crowded(divided, device)
        text = DeviceText(program, "device", dtype, layouts, registers=CUDA_KEPT[dtype]).fitted(room)
        return squeezed(text, device)

    def run(self, arrays: Sequence[Placed], count: int, dtype: str, device: int, stream: int) -> None:
        """Put the work on a stream: inputs, then outputs."""
        if count == 0:
            return
        layouts = "".join(x.layout(n) for x, n in zip(arrays, self._sizes))
        kernel, text = self.loaded(dtype, layouts, device)
        words = [count]
        for x, layout in zip(arrays, text.layouts):
            words.append(x.address)
            if layout != ROWS:
                words += [x.between & _WORD, x.within & _WORD]
        launch(kernel, text, words, stream)

    def run_rows(self, addresses: Sequence[int], count: int, dtype: str, device: int, stream: int) -> None:
        """The same for arrays that all lie row by row, with the least to do before the launch."""
        if count == 0:
            return
        try:
            kernel, text, strided = self._rows[dtype, device]
        except KeyError:
            kernel, text = self.loaded(dtype, ROWS * len(self._sizes), device)
            strided = [layout != ROWS for layout in text.layouts]
            self._rows[dtype, device] = kernel, text, strided
        words = [count]
        for address, is_strided, n in zip(addresses, strided, self._sizes):
            words.append(address)
            if is_strided:
                words += [n, 1]
        launch(kernel, text, words, stream)


def launch(kernel: Loaded, text: DeviceText | TurnsText, words: list[int], stream: int) -> None:
    """Few states are spread over all multiprocessors, a warp each; of many, warps take one lot after the other."""
    enter(kernel.device)
    count, warp_bytes = words[0], text.warp_bytes
    if isinstance(text, LimbText):
        kernel.launch(min(-(-count // 32), _MOST_BLOCKS), text.threads, warp_bytes, stream, words)
        return
    threads = _most_threads(warp_bytes, kernel.device) if count >= 2 * THREADS * multiprocessors(kernel.device) else 32
    room = warp_bytes * threads // 32
    blocks = -(-count // threads)
    if text.ahead:
        blocks = min(blocks, CUDA_WAVES * kernel.resident(threads, room) * multiprocessors(kernel.device))
    kernel.launch(min(blocks, _MOST_BLOCKS), threads, room, stream, words)


def _most_threads(warp_bytes: int, device: int) -> int:
    """The threads of a block, whose warps have so much shared memory each."""
    return THREADS if warp_bytes * THREADS <= 32 * shared_bytes(device) else 32 * (shared_bytes(device) // warp_bytes)


def by_limbs(program: Program, dtype: str, layouts: str, room: int) -> LimbText | None:
    """The text for several threads a state, where that pays and a block's ``room`` has place for it."""
    if not program.limbs:
        return None
    tried: tuple[int, ...] = ()
    for least, workers in CUDA_LIMBS[dtype]:
        tried = workers if program.length >= least else tried
    for count in tried:
        shares = divided(program, dtype, count)
        text = LimbText(program, "device", dtype, layouts, workers=count, shares=shares)
        for registers in CUDA_LIMBS_KEPT[dtype] if shares is not None else ():
            found = replace(text, registers=registers)
            if found.warp_bytes <= room // 2 - 1024:  # a block has 1 KiB beside its own
                return found
    return None


def _crowded(text: LimbText, device: int) -> tuple[Loaded, LimbText]:
    """As many blocks on a multiprocessor as have room there without much spilling."""
    fit = shared_bytes(device) // (text.warp_bytes + 1024)
    least = _REGISTERS // (text.threads * 255)
    found, kept = loaded(replace(text, blocks=least), device), replace(text, blocks=least)
    for blocks in range(least + 1, fit + 1):
        tighter = replace(text, blocks=blocks)
        tried = loaded(tighter, device)
        if tried.local_bytes > max(CUDA_LIMBS_SPILL, found.local_bytes):
            break
        found, kept = tried, tighter
    return found, kept


def squeezed(text: Text, device: int) -> tuple[Loaded, Text]:
    """The kernel as it comes, or with fewer registers a thread, where more blocks then run at a time."""
    plain = loaded(text, device)
    now, most = (int(_REGISTERS / (part * THREADS * plain.registers)) for part in (1.0, CUDA_SQUEEZE))
    for blocks in range(most, now, -1) if plain.local_bytes <= CUDA_SPILL and now < CUDA_ENOUGH else ():
        tighter = replace(text, blocks=blocks)
        found = loaded(tighter, device)
        if found.local_bytes <= CUDA_SPILL:
            return found, tighter
    return plain, text


def loaded(text: DeviceText | TurnsText | DeviceLoopText, device: int) -> Loaded:
    """The machine code of a text on a device."""
    code = machine_code(text.source, architecture(device))
    warps = 1 if text.workers > 1 else _most_threads(text.warp_bytes, device) // 32
    return Loaded(code, KERNEL, device, text.warp_bytes * warps)
