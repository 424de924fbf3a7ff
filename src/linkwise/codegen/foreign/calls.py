"""A compiled function on arrays of one of the other libraries."""

from __future__ import annotations

from typing import Any

from ...errors import InputError
from .function import Function


def run_on(library: str, function: Function, arrays: list[Any]) -> list[Any]:
    """The outputs of a function on arrays of one library, as a flat list."""
    if library == "torch":
        from . import torch_calls

        return torch_calls.call(function, arrays)
    if library == "jax":
        from . import jax_calls

        return jax_calls.call(function, arrays)
    raise InputError("kernels take no arrays of CuPy; bring them to NumPy with cupy.asnumpy(x)")
