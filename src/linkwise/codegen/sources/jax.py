"""JAX target: the same functions on JAX arrays, jitted. Needs the extra ``[jax]``.

Nothing is translated: the algorithms run on JAX arrays as they stand, so ``jit``, ``vmap``, ``grad``,
``jacfwd`` and any precision work on them. Import is lazy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...extras import require


def jitted(function: Callable[..., Any], robot: Any) -> Callable[..., Any]:
    """``jax.jit`` of ``function(robot, …)`` with the robot fixed."""
    jax = require("jax", "jax", 'target="jax"')

    def run(*arrays: Any) -> Any:
        return function(robot, *arrays)

    compiled = jax.jit(run)

    def call(*arrays: Any) -> Any:
        return compiled(*(jax.numpy.asarray(x) for x in arrays))

    call.__name__ = getattr(function, "__name__", "function")
    call.target = "jax"  # type: ignore[attr-defined]
    return call
