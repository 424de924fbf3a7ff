"""JAX target: the same functions on JAX arrays, jitted. Needs the extra ``[jax]``.

Nothing is translated: the algorithms run on JAX arrays as they stand, so ``jit``, ``vmap``, ``grad``,
``jacfwd`` and any precision work on them. Import is lazy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...arguments import unmasked
from ...errors import InputError
from ...extras import require
from ..runtime.remade import Remade


class JaxFunction(Remade):
    """``jax.jit`` of ``function(robot, …)`` with the robot fixed."""

    target = "jax"

    def __init__(self, function: Callable[..., Any], robot: Any) -> None:
        jax = require("jax", "jax", 'target="jax"')
        self.__name__ = getattr(function, "__name__", "function")
        self._asarray = jax.numpy.asarray
        self._jitted = jax.jit(lambda *arrays: function(robot, *arrays))

    def __call__(self, *arrays: Any) -> Any:
        for i, x in enumerate(arrays):
            what = f"argument {i + 1} of {self.__name__}"
            if isinstance(x, (np.ndarray, np.generic)) and x.dtype.char in "gG":  # JAX would round them
                raise InputError(f"{what} holds numbers of dtype {x.dtype}, which JAX does not have; round them")
            unmasked(x, what)
        return self._jitted(*map(self._asarray, arrays))
