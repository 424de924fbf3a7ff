"""What a motion asks of the libraries that have arrays in a card's memory: CuPy and PyTorch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .. import array_kinds
from ..codegen.cuda.turns import Lying
from ..errors import InputError


def on_card(arrays: Iterable[Any]) -> bool:
    """Whether one of these is an array of CuPy or a tensor on a card."""
    kinds = [(array_kinds.library(x), x) for x in arrays]
    return any(kind == "cupy" or (kind == "torch" and x.device.type == "cuda") for kind, x in kinds)


def wants_gradients(arrays: Iterable[Any]) -> bool:
    """Whether torch is to follow what is made of one of these tensors: it differentiates, transforms or traces here."""
    tensors = [x for x in arrays if array_kinds.library(x) == "torch"]
    if not tensors:
        return False
    from ..codegen.foreign.torch_calls import is_followed

    return is_followed(tensors)


def as_numpy(x: Any) -> Any:
    """An array of any library as NumPy's."""
    kind = array_kinds.library(x)
    if kind == "cupy":
        return x.get()
    return x.numpy(force=True) if kind == "torch" else x


def as_its_kind(x: Any, like: Any) -> Any:
    """An array of NumPy as one of the library, device and precision of another."""
    kind = array_kinds.library(like)
    if array_kinds.library(x) == kind and kind is not None:
        return x
    if kind == "torch":
        import torch

        return torch.as_tensor(np.ascontiguousarray(x), dtype=like.dtype, device=like.device)
    if kind == "cupy":
        import cupy

        with like.device:
            return cupy.asarray(x, dtype=like.dtype)
    return np.asarray(x, dtype=like.dtype)


def card_at(device: str, dtype: str) -> Card:
    """The card that "cuda" (the first one) or "cuda:1", … names, by CuPy or PyTorch, whichever has it."""
    kind, colon, number = device.partition(":")
    if kind != "cuda" or (colon and not number.isdecimal()):
        raise InputError(f'device is "cuda", or "cuda:1" and so on for others than the first card, got {device!r}')
    index, said = int(number or 0), []
    for library, made in (("cupy", _of_cupy), ("torch", _of_torch)):
        try:
            return Card(made(index), dtype)
        except ImportError:
            said.append(f"{library} is not installed")
        except Exception as e:  # whatever a library raises that finds no card: the next one may
            said.append(f"{library}: {' '.join(str(e).split())[:200]}")
    raise InputError(f"no card {device!r} here ({'; '.join(said)}); leave device out to run on the processor")


def _of_cupy(index: int) -> Any:
    import cupy

    with cupy.cuda.Device(index):
        return cupy.zeros(1)


def _of_torch(index: int) -> Any:
    import torch

    return torch.zeros(1, device=f"cuda:{index}")


class Card:
    """One card, as the library of an array there sees it."""

    def __init__(self, like: Any, dtype: str) -> None:
        self.library = array_kinds.library(like)
        self.dtype, self.like = dtype, like
        self._kind = __import__("torch" if self.library == "torch" else "cupy")
        self.device: int = like.device.index if self.library == "torch" else like.device.id

    @property
    def name(self) -> str:
        """What it is, and by which library it is seen."""
        if self.library == "torch":
            called = str(self._kind.cuda.get_device_name(self.device))
        else:
            called = self._kind.cuda.runtime.getDeviceProperties(self.device)["name"].decode()
        return f"{called}, by {self._kind.__name__} {self._kind.__version__}"

    def array(self, x: Any) -> Any:
        """Anything as an array on the card, in the precision of the motion."""
        if self.library == "torch":
            return self._kind.as_tensor(x, dtype=getattr(self._kind, self.dtype), device=self.like.device).detach()
        with self.like.device:
            return self._kind.asarray(x, dtype=self.dtype)

    def zeros(self, shape: tuple[int, ...]) -> Any:
        if self.library == "torch":
            return self._kind.zeros(shape, dtype=getattr(self._kind, self.dtype), device=self.like.device)
        with self.like.device:
            return self._kind.zeros(shape, dtype=self.dtype)

    def empty(self, shape: tuple[int, ...]) -> Any:
        if self.library == "torch":
            return self._kind.empty(shape, dtype=getattr(self._kind, self.dtype), device=self.like.device)
        with self.like.device:
            return self._kind.empty(shape, dtype=self.dtype)

    def joined(self, parts: Sequence[Any], axis: int = -1) -> Any:
        """One after the other along an axis."""
        join = self._kind.cat if self.library == "torch" else self._kind.concatenate
        return join(list(parts), axis)

    def repeated(self, x: Any, times: int) -> Any:
        """Every row so many times, one after the other."""
        return x.repeat_interleave(times, dim=-2) if self.library == "torch" else self._kind.repeat(x, times, axis=-2)

    def spread(self, x: Any, shape: tuple[int, ...]) -> Any:
        return x.expand(shape) if self.library == "torch" else self._kind.broadcast_to(x, shape)

    def lost(self, x: Any) -> Any:
        """Which states of (states, n) are not finite, (states,), as NumPy has it."""
        return as_numpy(~self._kind.isfinite(x).all(-1))

    def lying(self, x: Any, rows: bool = False) -> Lying:
        """Where an array (states, n) or (n,) lies, or one with an axis of turns before the last."""
        strides = x.stride() if self.library == "torch" else tuple(s // x.dtype.itemsize for s in x.strides)
        address = x.data_ptr() if self.library == "torch" else x.data.ptr
        between = 0 if x.ndim == 1 + rows else strides[0]
        return Lying(address, between, strides[-1], strides[-2] if rows else None)

    @property
    def stream(self) -> int:
        """The library's current stream."""
        if self.library == "torch":
            return int(self._kind.cuda.current_stream(self.device).cuda_stream)
        with self.like.device:
            return int(self._kind.cuda.get_current_stream().ptr)
