"""A compiled function on arrays of one of the other libraries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from .function import ArrayFunction

Method = TypeVar("Method", bound=Callable[..., None])
AT_ONCE: list[Callable[..., None]] = []  # what torch is told of when it is first used here


def at_once_for_torch(method: Method) -> Method:
    """Mark a method without a result, which torch.compile is to call at once where it comes to it, and not to trace.

    It makes what the lines after it find. Nothing that it could give would do: torch.compile keeps that for good,
    whatever object's method it is. (A function will not do either: PyTorch 2.11 hands objects to methods alone.)
    """
    AT_ONCE.append(method)
    return method


def prepare(library: str) -> None:
    """Tell the library what it must know before it comes to it."""
    if library == "torch":
        from . import torch_calls  # noqa: F401


def run_on(library: str, function: ArrayFunction, arrays: list[Any]) -> list[Any]:
    """The outputs of a function on arrays of one library, as a flat list."""
    if library == "torch":
        from . import torch_calls

        return torch_calls.call(function, arrays)
    if library == "jax":
        from . import jax_calls

        return jax_calls.call(function, arrays)
    if library == "numpy":
        return function.run(arrays)
    from . import cuda_calls

    return cuda_calls.call_cupy(function, arrays)


def alike(library: str, names: Sequence[str], arrays: Sequence[Any]) -> list[Any]:
    """Arrays of one library, numbers and lists as arrays of that library in one precision."""
    if library == "torch":
        from . import torch_calls

        return torch_calls.alike(names, arrays)
    if library == "jax":
        from . import jax_calls

        return jax_calls.alike(names, arrays)
    from . import cuda_calls

    return cuda_calls.alike(arrays)


def quick(library: str, function: ArrayFunction) -> Callable[[Sequence[Any]], Any] | None:
    """What runs a function on plain arrays with the least to do before, and gives its result.

    It gives None for whatever is not so simple. There is none for CuPy's.
    """
    if library == "torch":
        from . import torch_calls

        return torch_calls.quick(function)
    if library == "jax":
        from . import jax_calls

        return jax_calls.quick(function)
    return None
