"""PyTorch tensors: compiled functions as differentiable functions of torch.

Tensors on the CPU are read and written where they lie. Gradients in reverse and in forward mode, of any order, are
kernels too (:mod:`.function`); ``torch.func`` (``vmap``, ``grad``, ``jacrev``, …) takes them. Inside
``torch.compile`` a call is one operator, ``linkwise::call``, that the compiler leaves as it is, and so is each of its
derivatives.

Only who has a tensor comes here, and so torch is imported at once: what torch is told must be told before
``torch.compile`` looks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad

from ...array_kinds import as_arrays
from ...errors import InputError
from .calls import AT_ONCE
from .function import IN_GRAPHS, ArrayFunction

_WHOLE = (torch.float64, torch.float32)


def call(function: ArrayFunction, arrays: Sequence[Any]) -> list[Any]:
    """The outputs of a function on tensors (..., n), numbers and lists; all in one precision, on one device."""
    tensors = alike(list(function.signature.inputs), arrays)
    function.batch([tuple(x.shape) for x in tensors])
    if torch.compiler.is_compiling() or _TRACED() is not None:
        return _as_operator(function, tensors)
    if any(map(_IN_OLD_VMAP, tensors)):
        return _call_in_old_vmap(function, tensors)
    if _is_plain(tensors):
        return _run(function, tensors)
    return list(_Differentiable.apply(function, *tensors))


def quick(function: ArrayFunction) -> Callable[[Sequence[Any]], Any]:
    """The function on plain tensors, outside of what transforms functions, with the least to do before; else None."""
    on_card = _rows_on_card(function) if function.signature.single else lambda _: None
    from_numpy, single, result = torch.from_numpy, function.signature.single, function.signature.result
    is_compiling, on_numpy, asarray = torch.compiler.is_compiling, function.on_numpy, np.asarray
    tensor, (float64, float32) = torch.Tensor, _WHOLE

    def run(tensors: Sequence[Any]) -> Any:
        if is_compiling() or forward_ad._current_level >= 0 or _TRANSFORMED() or _WATCHERS() or _TRACED() is not None:
            return None
        for x in tensors:
            if not isinstance(x, tensor) or (x.dtype is not float64 and x.dtype is not float32):
                return None
        if tensors[0].is_cuda:
            return on_card(tensors)
        try:
            arrays = [x.numpy() for x in tensors]
        except (RuntimeError, TypeError):  # one wants gradients, or is not simply numbers in the computer's memory
            return None
        if single:
            return from_numpy(asarray(on_numpy(*arrays)))
        return result([from_numpy(x) for x in function.run(arrays)])

    return run


def _rows_on_card(function: ArrayFunction) -> Callable[[Sequence[Any]], Any]:
    """The same for contiguous tensors (states, n) of one card, of a function with one result."""
    sizes, (shape,) = function.sizes, function.signature.shapes
    empty, stream, is_enabled = torch.empty, getattr(torch._C, "_cuda_getCurrentRawStream", None), torch.is_grad_enabled
    names = {torch.float32: "float32", torch.float64: "float64"}

    def run(tensors: Sequence[Any]) -> Any:
        first = tensors[0]
        if stream is None or first.ndim != 2:
            return None
        count, dtype, device, graded, addresses = first.shape[0], first.dtype, first.get_device(), False, []
        for x, n in zip(tensors, sizes):
            if x.shape != (count, n) or x.dtype != dtype or x.get_device() != device or dtype not in _WHOLE:
                return None
            if x.layout != torch.strided or not x.is_contiguous() or x.is_neg():
                return None
            graded = graded or x.requires_grad
            addresses.append(x.data_ptr())
        if graded and is_enabled():
            return _Differentiable.apply(function, *tensors)[0]
        out = empty((count, *shape), dtype=dtype, device=first.device)
        addresses.append(out.data_ptr())
        function.on_device.run_rows(addresses, count, names[dtype], device, stream(device))
        return out

    return run


def _is_plain(tensors: Sequence[Any]) -> bool:
    """Whether nobody asks for derivatives, in which case torch need not hear of the call."""
    if forward_ad._current_level >= 0 or _TRANSFORMED():
        return False
    return not torch.is_grad_enabled() or not any(x.requires_grad for x in tensors)


_TRANSFORMED: Callable[[], bool] = getattr(torch._C, "_are_functorch_transforms_active", lambda: True)
# How many modes see every operator (make_fx, which torch.func.linearize is made of; FakeTensorMode), and what
# torch.jit.trace writes: to all of them numbers that no operator made are constants.
_WATCHERS: Callable[[], int] = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 0)
_TRACED: Callable[[], Any] = getattr(torch._C, "_get_tracing_state", lambda: None)


# ``torch.autograd`` has a vmap of its own (``is_grads_batched=True``, ``vectorize=True``), which is older than that of
# ``torch.func``, knows no rules, and says nothing of its levels but how many there are.
_IN_OLD_VMAP: Callable[[Any], bool] = getattr(torch._C._functorch, "is_legacy_batchedtensor", lambda x: False)


def _call_in_old_vmap(function: ArrayFunction, tensors: Sequence[Any]) -> list[Any]:
    """The outputs at the innermost level that a tensor has, from those without it.

    It comes before autograd, as in PyTorch's own operators, for what is recorded in it sums over the level.
    """
    levels = torch._C._vmapmode_increment_nesting() - 1
    torch._C._vmapmode_decrement_nesting()
    for level in range(levels, 0, -1):
        # What has not this level comes as no tensors at all.
        found = [torch._remove_batch_dim(x, level, 0, 0) if _IN_OLD_VMAP(x) else x for x in tensors]
        dims = [0 if _IN_OLD_VMAP(x) and len(y) else None for x, y in zip(tensors, found)]
        if any(d is not None for d in dims):
            plain = _aligned([x if d is None else y for x, y, d in zip(tensors, found, dims)], dims)
            return [torch._add_batch_dim(y, 0, level) for y in call(function, plain)]
    raise InputError(f"{function.signature.name} within a batch of no gradients")


def is_followed(tensors: Sequence[Any]) -> bool:
    """Whether PyTorch is to hear of what is made of these tensors: it differentiates, transforms or traces here."""
    return not _is_plain(tensors) or _WATCHERS() > 0 or _TRACED() is not None or any(map(_IN_OLD_VMAP, tensors))


def alike(names: Sequence[str], arrays: Sequence[Any]) -> list[Any]:
    """The arrays as tensors of one precision on one device; torch itself follows the changes of precision."""
    if not torch.compiler.is_compiling():
        arrays = as_arrays("torch", names, arrays)
    given = [x for x in arrays if isinstance(x, torch.Tensor)]
    device, single = given[0].device, True
    for x in given:
        single = single and x.dtype == torch.float32
        if x.device != device:
            named = zip(names, arrays)
            places = ", ".join(f"{n}: {t.device}" for n, t in named if isinstance(t, torch.Tensor))
            raise InputError(f"tensors on several devices in one call ({places}); bring them to one with x.to(device)")
        if x.dtype not in _WHOLE and (x.is_complex() or x.is_floating_point() or x.is_quantized):
            raise InputError(f"a tensor holds numbers of {x.dtype}; compiled code is for torch.float64 and float32")
        if x.layout != torch.strided:
            raise InputError(f"a tensor has the layout {x.layout}; compiled code is for dense ones: x.to_dense()")
    dtype = torch.float32 if single else torch.float64
    return [
        x.to(dtype) if isinstance(x, torch.Tensor) else torch.as_tensor(x, dtype=dtype, device=device) for x in arrays
    ]


for _method in AT_ONCE:
    torch.compiler.assume_constant_result(_method)


def _run(function: ArrayFunction, tensors: Sequence[Any]) -> list[Any]:
    """The outputs, where no gradient is wanted."""
    if _WATCHERS():
        return _as_operator(function, tensors)
    tensors = [x.resolve_neg() for x in tensors]  # views that torch has not yet taken the negative of
    where = tensors[0].device.type if tensors else "cpu"
    if where == "cuda":
        return function.run_on_card(tensors)
    if where != "cpu":
        raise InputError(f"tensors on {tensors[0].device} have no compiled code; those on cpu and cuda have")
    return [torch.from_numpy(x) for x in function.run([x.detach().numpy() for x in tensors])]


# --- derivatives ---------------------------------------------------------------------------------------


def _gradients(function: ArrayFunction, tensors: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
    """The gradient in each input, in the input's own shape: where it served several states, their sum."""
    if function.is_constant:
        return [torch.zeros_like(x) for x in tensors]
    batch = tensors[0].shape[:-1]
    alike = all(x.shape[:-1] == batch for x in tensors)
    if not alike:
        batch = torch.broadcast_shapes(*(x.shape[:-1] for x in tensors))
    shapes = function.signature.shapes
    flat = [w if len(s) == 1 else w.reshape((*batch, math.prod(s))) for w, s in zip(weights, shapes)]
    given = [*tensors, *flat]
    quick = not torch.is_grad_enabled() and not torch.compiler.is_compiling() and _is_plain(given)
    quick = quick and not any(map(_IN_OLD_VMAP, given))
    found = _run(function.vjp, given) if quick else call(function.vjp, given)
    return found if alike else [g.sum_to_size(x.shape) for g, x in zip(found, tensors)]


def _derivatives(function: ArrayFunction, tensors: Sequence[Any], directions: Sequence[Any]) -> list[Any]:
    """The outputs' derivatives along a direction for each input; None is none."""
    if function.is_constant:
        batch = torch.broadcast_shapes(*(x.shape[:-1] for x in tensors))
        return [tensors[0].new_zeros((*batch, *s)) for s in function.signature.shapes]
    along = [torch.zeros_like(x) if d is None else d for x, d in zip(tensors, directions)]
    return call(function.jvp, [*tensors, *along])


def _aligned(arrays: Sequence[Any], dims: Sequence[int | None]) -> list[Any]:
    """Arrays of a vmap with its axis in front, before as many axes as the longest has."""
    axes = max(x.ndim - (d is not None) for x, d in zip(arrays, dims))
    out = []
    for x, d in zip(arrays, dims):
        if d is not None:
            x = x.movedim(d, 0)
            x = x.reshape((x.shape[0], *(1,) * (axes + 1 - x.ndim), *x.shape[1:]))
        out.append(x)
    return out


# --- what torch is told: an autograd function -----------------------------------------------------------


def _forward(function: ArrayFunction, *tensors: Any) -> Any:
    return tuple(_run(function, tensors))


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.function = inputs[0]
    ctx.save_for_backward(*inputs[1:])
    ctx.save_for_forward(*inputs[1:])


def _backward(ctx: Any, *weights: Any) -> Any:
    return None, *_gradients(ctx.function, ctx.saved_tensors, weights)


def _jvp(ctx: Any, _: Any, *directions: Any) -> Any:
    return tuple(_derivatives(ctx.function, ctx.saved_tensors, directions))


def _vmap(info: Any, dims: Any, function: ArrayFunction, *tensors: Any) -> Any:
    found = _Differentiable.apply(function, *_aligned(tensors, dims[1:]))
    return found, (0,) * len(found)


_RULES: dict[str, Callable[..., Any]] = {
    "forward": _forward,
    "setup_context": _keep,
    "backward": _backward,
    "jvp": _jvp,
    "vmap": _vmap,
}
# (Where torch.compile leaves a transformed call to Python, it would still look into what that calls.)
_Differentiable: Any = type(
    "Differentiable",
    (torch.autograd.Function,),
    {name: staticmethod(torch.compiler.disable(rule)) for name, rule in _RULES.items()},
)


# --- what torch is told: an operator, for graphs --------------------------------------------------------


def _as_operator(function: ArrayFunction, tensors: Sequence[Any]) -> list[Any]:
    """The call as the operator that graphs have."""
    function.register()
    return list(_operator(function.token, list(tensors)))


def _called(function: str, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    return [x.contiguous() for x in _run(IN_GRAPHS[function], tensors)]  # as graphs are told that they lie


def _shapes(function: str, tensors: Any) -> Any:
    batch = torch.broadcast_shapes(*(x.shape[:-1] for x in tensors))
    return [tensors[0].new_empty((*batch, *s)) for s in IN_GRAPHS[function].signature.shapes]


def _operator_vmap(info: Any, dims: Any, function: str, tensors: Any) -> Any:
    found = _operator(function, _aligned(tensors, dims[1]))
    return found, [0] * len(found)


def _operator_forward(keys: Any, function: str, *tensors: Any) -> Any:
    """The operator below autograd: the next level of ``torch.func``, where there is one, may well differentiate."""
    with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True), torch._C._AutoDispatchBelowAutograd():
        return tuple(_operator.redispatch(keys & torch._C._after_autograd_keyset, function, list(tensors)))


def _operator_keep(ctx: Any, inputs: Any, output: Any) -> None:
    _keep(ctx, (IN_GRAPHS[inputs[1]], *inputs[2:]), output)


def _operator_backward(ctx: Any, *weights: Any) -> Any:
    return None, *_backward(ctx, *weights)


def _operator_jvp(ctx: Any, _: Any, *directions: Any) -> Any:
    return _jvp(ctx, *directions)


# Of one level: where levels of ``torch.func`` are nested, the operator comes to each of them by itself. (What
# ``torch.library.custom_op`` makes of a backward pass knows no levels and no forward mode, which it takes for zero.)
_OfOneLevel: Any = type(
    "LinkwiseCall",
    (torch.autograd.function._SingleLevelFunction,),
    {
        "forward": staticmethod(_operator_forward),
        "setup_context": staticmethod(_operator_keep),
        "backward": staticmethod(_operator_backward),
        "jvp": staticmethod(_operator_jvp),
    },
)


def _operator_in_autograd(keys: Any, function: str, tensors: Any) -> Any:
    with enable_single_level_autograd_function():
        return list(_OfOneLevel.apply(keys, function, *tensors))


_LIBRARY = torch.library.Library("linkwise", "DEF")  # the operator is there as long as this is
_LIBRARY.define("call(str function, Tensor[] tensors) -> Tensor[]", tags=(torch.Tag.pt2_compliant_tag,))
_operator: Any = torch.ops.linkwise.call.default
_LIBRARY.impl("call", _called, "CompositeExplicitAutograd")
_LIBRARY.impl("call", _operator_in_autograd, "Autograd", with_keyset=True)
_LIBRARY.impl("call", lambda function, tensors: _call_in_old_vmap(IN_GRAPHS[function], tensors), "Batched")
torch.library.register_fake("linkwise::call", _shapes, lib=_LIBRARY)
torch.library.register_vmap("linkwise::call", _operator_vmap, lib=_LIBRARY)
