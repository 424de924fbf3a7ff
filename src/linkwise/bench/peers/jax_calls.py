"""What the libraries on JAX have in common: 64-bit numbers, arrays on the device, waiting until results are ready."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...interop.availability import needs
from ..cases import Case
from ..peer import Work


def jax_module() -> Any:
    """JAX with 64-bit numbers, on the CPU."""
    jax = needs("jax", "jax")
    jax.config.update("jax_enable_x64", True)
    return jax


def prepared(
    case: Case,
    make: Callable[[], Any],
    arguments: list[np.ndarray],
    result: Callable[[np.ndarray], np.ndarray] = np.asarray,
) -> Work:
    """A function over batches, jitted; it has compiled before it is timed."""
    jax = jax_module()
    cpu = jax.devices("cpu")[0]
    call = jax.jit(make())
    device = [jax.device_put(x, cpu) for x in arguments]
    jax.block_until_ready(call(*device))
    return Work(lambda: jax.block_until_ready(call(*device)), lambda y: result(np.asarray(y)))
