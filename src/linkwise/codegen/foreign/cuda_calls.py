"""Compiled functions on arrays in a card's memory: of CuPy, of PyTorch, and those that XLA hands over for JAX.

The work goes on the stream that is current for the library, in its context; nothing is copied where strides allow, and
nothing is waited for. So there is no look at the values either: where a matrix that is inverted is singular, or a
quaternion has no length, all results of that state are NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...errors import InputError
from ..cuda.driver import current_device
from ..cuda.launch import Placed, flat_strides
from .function import ArrayFunction
from .jax_frame import Memory


def run_torch(function: ArrayFunction, tensors: Sequence[Any]) -> list[Any]:
    """On tensors of one precision on one card, without gradients."""
    import torch

    device = tensors[0].device
    batch = tensors[0].shape[:-1]
    if all(x.shape[:-1] == batch and x.is_contiguous() for x in tensors):
        outputs = [torch.empty((*batch, *s), dtype=tensors[0].dtype, device=device) for s in function.signature.shapes]
        addresses = [x.data_ptr() for x in (*tensors, *outputs)]
        dtype = "float32" if tensors[0].dtype == torch.float32 else "float64"
        function.on_device.run_rows(addresses, math.prod(batch), dtype, device.index, _stream(device.index))
        return outputs
    batch = torch.broadcast_shapes(*(x.shape[:-1] for x in tensors))

    def spread(x: Any) -> Any:
        return x.expand((*batch, x.shape[-1])).contiguous()

    placed, kept = _placed([x.detach() for x in tensors], batch, lambda x: x.stride(), lambda x: x.data_ptr(), spread)

    def empty(shape: tuple[int, ...]) -> Any:
        return torch.empty(shape, dtype=tensors[0].dtype, device=device)

    outputs, out_placed = _outputs(function, batch, placed, empty, lambda x: x.data_ptr())
    dtype = "float32" if tensors[0].dtype == torch.float32 else "float64"
    function.on_device.run([*placed, *out_placed], math.prod(batch), dtype, device.index, _stream(device.index))
    del kept  # torch gives their memory to later work on this stream alone
    return outputs


def _stream(device: int) -> int:
    """Torch's current stream. (As torch's own compiler asks for it: in a tenth of the time.)"""
    import torch

    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return int(torch.cuda.current_stream(device).cuda_stream if raw is None else raw(device))


def alike(arrays: Sequence[Any]) -> list[Any]:
    """Arrays of CuPy, numbers and lists as arrays of CuPy in one precision, on one device."""
    import cupy

    given = [x for x in arrays if isinstance(x, cupy.ndarray)]
    devices = {x.device.id for x in given}
    if len(devices) > 1:
        raise InputError(f"arrays on several devices in one call ({sorted(devices)}); bring them to one")
    for x in given:
        refuse_other_numbers(x)
    dtype = "float32" if all(x.dtype.name == "float32" for x in given) else "float64"
    with cupy.cuda.Device(devices.pop()):
        return [cupy.asarray(x, dtype=dtype) for x in arrays]


def call_cupy(function: ArrayFunction, arrays: Sequence[Any]) -> list[Any]:
    """On arrays of CuPy (..., n), numbers and lists."""
    import cupy

    found = alike(arrays)
    dtype, device = found[0].dtype.name, found[0].device.id
    with cupy.cuda.Device(device):
        batch = function.batch([x.shape for x in found])
        if function.made_of_loops is not None:
            return function.made_of_loops(found)
        if all(x.shape[:-1] == batch and x.flags.c_contiguous for x in found):
            outputs = [cupy.empty((*batch, *s), dtype) for s in function.signature.shapes]
            addresses = [x.data.ptr for x in (*found, *outputs)]
            stream = cupy.cuda.get_current_stream().ptr
            function.on_device.run_rows(addresses, math.prod(batch), dtype, device, stream)
            return outputs
        size = found[0].dtype.itemsize

        def strides(x: Any) -> tuple[int, ...]:
            return tuple(s // size for s in x.strides)

        def spread(x: Any) -> Any:
            return cupy.ascontiguousarray(cupy.broadcast_to(x, (*batch, x.shape[-1])))

        placed, kept = _placed(found, batch, strides, lambda x: x.data.ptr, spread)
        outputs, out_placed = _outputs(
            function, batch, placed, lambda shape: cupy.empty(shape, dtype), lambda x: x.data.ptr
        )
        stream = cupy.cuda.get_current_stream().ptr
        function.on_device.run([*placed, *out_placed], math.prod(batch), dtype, device, stream)
    del kept
    return outputs


def refuse_other_numbers(x: Any) -> None:
    """Refuse an array of CuPy of a precision that no kernel has."""
    if x.dtype.kind == "c" or x.dtype.name == "float16":
        raise InputError(f"an array holds numbers of {x.dtype}; compiled code is for float64 and float32")


def run_memory(function: ArrayFunction, inputs: Sequence[Memory], outputs: Sequence[Memory], stream: int) -> None:
    """On memory that XLA names, of arrays one state after the other."""
    batch = inputs[0].shape[:-1]
    device, dtype = current_device(), inputs[0].dtype.name
    if all(x.shape[:-1] == batch for x in inputs):
        addresses = [x.address for x in (*inputs, *outputs)]
        function.on_device.run_rows(addresses, math.prod(batch), dtype, device, stream)
        return
    batch = function.batch([x.shape for x in inputs])
    placed = []
    for x in inputs:
        found = flat_strides(x.shape, [math.prod(x.shape[i + 1 :]) for i in range(len(x.shape))], batch)
        if found is None:
            raise InputError("batches that are spread over inner axes are for XLA to write out")
        placed.append(Placed(x.address, *found))
    placed += [Placed(y.address, math.prod(s), 1) for y, s in zip(outputs, function.signature.shapes)]
    function.on_device.run(placed, math.prod(batch), dtype, device, stream)


def _placed(
    arrays: Sequence[Any],
    batch: Sequence[int],
    strides: Callable[[Any], Sequence[int]],
    address: Callable[[Any], int],
    spread: Callable[[Any], Any],
) -> tuple[list[Placed], list[Any]]:
    """Where inputs lie, and those of them that had to be written out: batches that no one stride goes through."""
    placed, kept = [], []
    for x in arrays:
        found = flat_strides(tuple(x.shape), strides(x), batch)
        if found is None:
            x = spread(x)
            kept.append(x)
            found = (x.shape[-1], 1)
        placed.append(Placed(address(x), *found))
    return placed, kept


def _outputs(
    function: ArrayFunction,
    batch: Sequence[int],
    placed: Sequence[Placed],
    empty: Callable[[tuple[int, ...]], Any],
    address: Callable[[Any], int],
) -> tuple[list[Any], list[Placed]]:
    """New arrays for the results, which lie as the inputs do: one state after the other, or number by number."""
    count = math.prod(batch)
    moving = [x for x in placed if x.between]
    by_number = len(batch) == 1 and count > 1 and bool(moving) and all(x.between == 1 < x.within for x in moving)
    outputs, out_placed = [], []
    for shape in function.signature.shapes:
        n = math.prod(shape)
        if by_number and n > 1:
            y = empty((*shape, count))
            out_placed.append(Placed(address(y), 1, count))
            outputs.append(_first(y))
        else:
            y = empty((*batch, *shape))
            out_placed.append(Placed(address(y), n, 1))
            outputs.append(y)
    return outputs, out_placed


def _first(y: Any) -> Any:
    """A view with the last axis in front."""
    axes = (y.ndim - 1, *range(y.ndim - 1))
    return y.permute(axes) if hasattr(y, "permute") else y.transpose(axes)
