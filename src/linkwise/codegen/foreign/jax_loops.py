"""Loops on cards for arrays of JAX: motions, and their way back, as one kernel that XLA calls (:mod:`.jax_frame`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ...extras import require
from ..cuda.driver import current_device
from ..cuda.repeats import Turning
from ..cuda.turns import Lying
from ..program.repeat import Repeated
from .jax_calls import EXPORTED
from .jax_frame import Memory, handler
from .named import Named

_TARGET = "linkwise_loop"
_LOOPS: Named[Repeated] = Named(256, EXPORTED)  # which motions hold, and these are held


def call_loop(loop: Repeated, how: Turning, inputs: Sequence[Any], shapes: Sequence[tuple[int, ...] | None]) -> Any:
    """What is wanted of a loop's outputs on a card, None for the others, as XLA calls it: (rows, n, states) each, or
    (states, n) for that of the last turn. Inputs that are new at every turn are (turns, n, states) or (turns, n)."""
    jax = require("jax", "jax", "arrays of JAX")
    _target()
    dtype = inputs[0].dtype
    wanted = [k for k, shape in enumerate(shapes) if shape is not None]
    results = [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes if shape is not None]
    said = json.dumps({"loop": _LOOPS.named(loop).token, "how": how, "wanted": wanted})
    found = iter(jax.ffi.ffi_call(_TARGET, results)(*inputs, said=said))
    return [None if shape is None else next(found) for shape in shapes]


def _loop_on_cuda(said: str, inputs: list[Memory], outputs: list[Memory], stream: int) -> None:
    known = json.loads(said)
    loop, how = _LOOPS[known["loop"]], Turning(*known["how"])
    first = list(loop.signature.inputs).index(next(iter(loop.carried)))
    given = [_lying(x, name in loop.stepped) for name, x in zip(loop.signature.inputs, inputs)]
    found: list[Lying | None] = [None] * len(loop.signature.shapes)
    for k, y in zip(known["wanted"], outputs):
        found[k] = _lying(y, len(y.shape) == 3).with_rows
    states = inputs[first].shape[0]
    loop.on_device.run(states, how, given, found, inputs[0].dtype.name, current_device(), stream)


def _lying(x: Memory, stepped: bool) -> Lying:
    """(n,), (states, n), (turns, n) or (turns, n, states)."""
    n = x.shape[1] if stepped else x.shape[-1]
    if not stepped:
        return Lying(x.address, 0 if len(x.shape) == 1 else n)
    states = x.shape[2] if len(x.shape) == 3 else 1
    return Lying(x.address, int(len(x.shape) == 3), states, n * states)


@lru_cache(maxsize=1)
def _target() -> Any:
    """The handler by which XLA knows the target, of which it keeps the address."""
    jax, kept = require("jax", "jax", "arrays of JAX"), handler(_loop_on_cuda, True)
    if hasattr(jax, "ffi"):
        jax.ffi.register_ffi_target(_TARGET, jax.ffi.pycapsule(kept), platform="CUDA")
    return kept
