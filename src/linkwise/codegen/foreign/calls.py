"""A compiled function on arrays of one of the other libraries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .function import ArrayFunction


def run_on(library: str, function: ArrayFunction, arrays: list[Any]) -> list[Any]:
    """The outputs of a function on arrays of one library, as a flat list."""
    if library == "torch":
        from . import torch_calls

        return torch_calls.call(function, arrays)
    if library == "jax":
        from . import jax_calls

        return jax_calls.call(function, arrays)
    from . import cuda_calls

    return cuda_calls.call_cupy(function, arrays)


def quick_rows(library: str, function: ArrayFunction) -> Callable[[Sequence[Any]], Any] | None:
    """What runs a function with one result on plain arrays in a card's memory with the least to do before.

    It gives None for whatever is not so simple. There is none for other libraries.
    """
    if library != "torch" or not function.signature.single:
        return None
    from . import torch_calls

    return torch_calls.quick_rows(function)
