"""JAX arrays: compiled functions as primitives of JAX, under ``jit``, ``vmap``, ``grad``, ``jacfwd``, ``scan``.

XLA calls the machine code through its foreign-function interface (:mod:`.jax_frame`) and hands it its own memory. Two
primitives: a call, and its derivative along a direction, which is linear in the direction and so has a transpose; both
are differentiated by kernels (:mod:`.function`), to any order. Functions that JAX traces itself (:mod:`.jax_traced`)
are the same primitives, with their own code in place of the foreign call. Results of states in which a matrix that is
inverted is singular are NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...array_kinds import as_arrays
from ...errors import InputError
from ...extras import require
from ..cuda.launch import flat_strides
from .function import ArrayFunction, summed_to
from .jax_entry import XlaEntry, may_be
from .jax_frame import Memory, handler
from .jax_traced import TracedFunction
from .named import Named

_TARGET = "linkwise_call"
# What programs of XLA name. Those that are compiled here hold what they call. Of those that are exported or loaded, and
# of what still runs as its program is let go, nobody knows: what was named last is held.
EXPORTED = "programs of JAX that were exported or loaded have the 256 functions that were used last"
_IN_PROGRAMS: Named[ArrayFunction] = Named(256, EXPORTED, lambda token: _entry is not None and _entry.take_used(token))
_entry: XlaEntry | None = None  # by which XLA calls machine code, once there are the primitives


def call(function: ArrayFunction, arrays: Sequence[Any]) -> list[Any]:
    """The outputs of a function on arrays (..., n), traced or not; all in one precision."""
    found = alike(list(function.signature.inputs), arrays)
    function.batch([tuple(x.shape) for x in found])
    return list(_primitives().call.bind(*found, function=_registered(function)))


def alike(names: Sequence[str], arrays: Sequence[Any]) -> list[Any]:
    """Arrays, numbers and lists as arrays of JAX in one precision."""
    jax = require("jax", "jax", "arrays of JAX")
    numpy = jax.numpy
    arrays = as_arrays("jax", names, arrays)
    for name, x in zip(names, arrays):
        if hasattr(x, "dtype") and (numpy.issubdtype(x.dtype, numpy.complexfloating) or x.dtype in _SHORT):
            raise InputError(f"{name} holds numbers of {x.dtype}; compiled code is for float64 and float32")
    dtype = numpy.result_type(*(x.dtype for x in arrays if hasattr(x, "dtype") and _is_jax(jax, x)))
    dtype = np.float32 if dtype == np.float32 else numpy.result_type(float)
    return [numpy.asarray(x, dtype) for x in arrays]


def quick(function: ArrayFunction) -> Callable[[Sequence[Any]], Any] | None:
    """The function on arrays in memory, outside of what JAX traces, with the least to do before; else None."""
    jax = require("jax", "jax", "arrays of JAX")
    try:
        from jax._src.core import trace_state_clean as is_clean
    except ImportError:  # no part of what JAX promises
        return None
    if not hasattr(jax, "ffi") or isinstance(function, TracedFunction) or function.made_of_loops is not None:
        return None
    with jax.ensure_compile_time_eval():  # JAX may be tracing where this is made
        held = type(jax.numpy.zeros(()))
    config, result = jax.config, function.signature.result
    known: set[tuple[tuple[int, ...], ...]] = set()  # shapes that fit
    count, tails = len(function.sizes), function.signature.shapes

    def run(arrays: Sequence[Any]) -> Any:
        if len(arrays) != count or not is_clean() or config.jax_disable_jit:
            return None
        kind = arrays[0].dtype if type(arrays[0]) is held else None
        if kind not in _WHOLE:
            return None
        for x in arrays:
            if type(x) is not held or x.dtype != kind:
                return None
        shapes = tuple([x.shape for x in arrays])
        if shapes not in known:
            function.batch(shapes)
            if len(known) > 1000:
                known.clear()
            known.add(shapes)
        _primitives()  # by which XLA knows the target
        return result(list(_jitted_by_name(_registered(function).token, tails)(*arrays)))

    return run if count else None


_WHOLE = (np.dtype(np.float64), np.dtype(np.float32))
_SHORT = ("float16", "bfloat16")


def _is_jax(jax: Any, x: Any) -> bool:
    return isinstance(x, jax.Array)


def call_traced(function: TracedFunction, arrays: Sequence[Any]) -> list[Any]:
    """The outputs of a function that JAX traces on its arrays (..., n), in the precision that these have together."""
    jax = require("jax", "jax", 'target="jax"')
    dtype = jax.numpy.result_type(*arrays)
    if not jax.numpy.issubdtype(dtype, jax.numpy.inexact):
        dtype = jax.numpy.result_type(float)
    found = [x.astype(dtype) for x in arrays]
    function.batch([tuple(x.shape) for x in found])
    return list(_primitives().call.bind(*found, function=_registered(function)))


def _registered(function: ArrayFunction) -> ArrayFunction:
    _held_weakly().add(type(function))
    if isinstance(function, TracedFunction):  # which XLA does not call
        return function
    return _IN_PROGRAMS.named(function)


@lru_cache(maxsize=1)
def _held_weakly() -> set[type]:
    """JAX remembers shapes under what its calls are given, 2,048 of them; it forgets those of these kinds that nobody
    has. (That is no part of what JAX promises: where there is no such set it holds so many and no more.)"""
    try:
        from jax._src.util import weakref_cache_key_types
    except ImportError:
        return set()
    kinds: set[type] = weakref_cache_key_types
    return kinds


def _on_cpu(token: str, inputs: list[Memory], outputs: list[Memory], stream: int) -> None:
    function = _IN_PROGRAMS[token]
    results = [y.on_cpu() for y in outputs]
    if all(math.prod(y.shape[: len(y.shape) - len(s)]) for y, s in zip(outputs, function.signature.shapes)):
        function.run_into([x.on_cpu() for x in inputs], results)
        if _entry is not None:
            _entry.offer(token, function, inputs[0].dtype.name)


def _cpu_handler() -> Any:
    """The handler in machine code, which hands what it does not do to the one in Python; or this one alone."""
    global _entry
    in_python = handler(_on_cpu, False)
    if not may_be():
        return in_python
    _entry = XlaEntry(in_python)
    return _entry.handler


def _on_cuda(token: str, inputs: list[Memory], outputs: list[Memory], stream: int) -> None:
    from .cuda_calls import run_memory

    run_memory(_IN_PROGRAMS[token], inputs, outputs, stream)


class _Primitives:
    """The two primitives, with their rules."""

    def __init__(self, jax: Any) -> None:
        from jax.extend.core import Primitive
        from jax.interpreters import ad, batching, mlir

        self._jax: Any = jax
        self._ad: Any = ad
        # XLA keeps their addresses.
        self._handlers = {"cpu": _cpu_handler(), "CUDA": handler(_on_cuda, True)} if hasattr(jax, "ffi") else {}
        for platform, function in self._handlers.items():
            jax.ffi.register_ffi_target(_TARGET, jax.ffi.pycapsule(function), platform=platform)

        self.call: Any = Primitive(_TARGET)
        self.along: Any = Primitive("linkwise_along")
        lowerings: dict[Any, Any] = {self.call: self._foreign, self.along: self._as_call}
        for primitive, lowering in lowerings.items():
            primitive.multiple_results = True
            primitive.def_impl(self._eager(primitive))
            primitive.def_abstract_eval(lambda *x, function: self._shapes(function, x))
            mlir.register_lowering(primitive, _holding(mlir.lower_fun(lowering, multiple_results=True)))
            batching.primitive_batchers[primitive] = self._batched(primitive)
        on_cards = mlir.lower_fun(self._foreign_on_cards, multiple_results=True)
        mlir.register_lowering(self.call, _holding(on_cards), platform="cuda")
        ad.primitive_jvps[self.call] = self._call_jvp
        ad.primitive_jvps[self.along] = self._along_jvp
        ad.primitive_transposes[self.along] = self._along_transpose

    def _shapes(self, function: ArrayFunction, avals: Sequence[Any]) -> list[Any]:
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in avals))
        return [self._jax.core.ShapedArray((*batch, *s), avals[0].dtype) for s in function.signature.shapes]

    def _eager(self, primitive: Any) -> Any:
        def run(*x: Any, function: ArrayFunction) -> Any:
            called = function if primitive is self.call else function.jvp
            if not isinstance(called, TracedFunction) and called.made_of_loops is None:
                jitted = _jitted_by_name(_registered(called).token, called.signature.shapes)
            elif isinstance(called, TracedFunction) and self._jax.config.jax_disable_jit:
                return called.traced(*x)
            else:
                jitted = _jitted(primitive, function)
            if not self._jax.config.jax_disable_jit:
                return jitted(*x)
            with self._jax.disable_jit(False):  # there is nothing in a foreign call to go through step by step
                return jitted(*x)

        return run

    def _foreign(self, *arrays: Any, function: ArrayFunction) -> Any:
        if isinstance(function, TracedFunction):
            return function.traced(*arrays)
        return self.by_name(_registered(function).token, function.signature.shapes, arrays)

    def by_name(self, token: str, tails: Sequence[tuple[int, ...]], arrays: Sequence[Any]) -> Any:
        """The call of what has this token, with results (..., *tail)."""
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
        arrays = tuple(self._spread(x, batch) for x in arrays)
        shapes = [self._jax.ShapeDtypeStruct((*batch, *tail), arrays[0].dtype) for tail in tails]
        return self._jax.ffi.ffi_call(_TARGET, shapes)(*arrays, function=token)

    def _foreign_on_cards(self, *arrays: Any, function: ArrayFunction) -> Any:
        if function.made_of_loops is not None:
            return function.made_of_loops(arrays)
        return self._foreign(*arrays, function=function)

    def _spread(self, x: Any, batch: tuple[int, ...]) -> Any:
        """An array that no one stride takes through the batch, written out; others stay as they are."""
        strides = [math.prod(x.shape[i + 1 :]) for i in range(len(x.shape))]
        if flat_strides(x.shape, strides, batch) is not None:
            return x
        return self._jax.numpy.broadcast_to(x, (*batch, x.shape[-1]))

    def _as_call(self, *arrays: Any, function: ArrayFunction) -> Any:
        return self.call.bind(*arrays, function=_registered(function.jvp))

    def _call_jvp(self, primals: Any, tangents: Any, *, function: ArrayFunction) -> Any:
        out = self.call.bind(*primals, function=function)
        return out, self._derivative(function, primals, tangents, out)

    def _along_jvp(self, primals: Any, tangents: Any, *, function: ArrayFunction) -> Any:
        out = self.along.bind(*primals, function=function)
        return out, self._derivative(function.jvp, primals, tangents, out)

    def _derivative(self, function: ArrayFunction, primals: Any, tangents: Any, out: Any) -> Any:
        if function.is_constant:
            return [self._jax.numpy.zeros_like(y) for y in out]
        full = [self._ad.instantiate_zeros(t) for t in tangents]
        return self.along.bind(*primals, *full, function=function)

    def _along_transpose(self, weights: Any, *arrays: Any, function: ArrayFunction) -> Any:
        n = len(arrays) // 2
        primals, directions = arrays[:n], arrays[n:]
        undefined = self._ad.is_undefined_primal
        shapes = [d.aval.shape if undefined(d) else d.shape for d in directions]  # vmap may batch those alone
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in primals), *(s[:-1] for s in shapes))
        flat = [
            self._ad.instantiate_zeros(w).reshape((*batch, math.prod(s)))
            for w, s in zip(weights, function.signature.shapes)
        ]
        found = self.call.bind(*primals, *flat, function=_registered(function.vjp))
        sums = [summed_to(g, s) if undefined(d) else None for g, s, d in zip(found, shapes, directions)]
        return [None] * n + sums

    def _batched(self, primitive: Any) -> Any:
        def rule(arrays: Any, dims: Any, *, function: ArrayFunction) -> Any:
            axes = max(x.ndim - (d is not None) for x, d in zip(arrays, dims))
            moved = []
            for x, d in zip(arrays, dims):
                if d is not None:
                    x = self._jax.numpy.moveaxis(x, d, 0)
                    x = x.reshape((x.shape[0], *(1,) * (axes + 1 - x.ndim), *x.shape[1:]))
                moved.append(x)
            found = primitive.bind(*moved, function=function)
            return found, [0] * len(found)

        return rule


@lru_cache(maxsize=1)
def _primitives() -> _Primitives:
    return _Primitives(require("jax", "jax", "arrays of JAX"))


def _holding(lowering: Any) -> Any:
    """A rule by which the program that is made holds the function that it names."""

    def lower(context: Any, *arrays: Any, function: ArrayFunction) -> Any:
        module = context.module_context
        is_exported = getattr(module.lowering_parameters, "for_export", False)  # which JAX does not do with what holds
        if not isinstance(function, TracedFunction) and not is_exported:
            module.add_keepalive(_Held(function.token, function))
        return lowering(context, *arrays, function=function)

    return lower


class _Held:
    """What a program of XLA holds of a function. With a program that is kept on disk goes the function's name."""

    def __init__(self, token: str, function: ArrayFunction | None) -> None:
        self._token, self._function = token, function

    def __reduce__(self) -> tuple[Any, ...]:
        return _held, (self._token,)


def _held(token: str) -> _Held:
    """What a program holds that is loaded: the function, where it is there; else a call of the program says so."""
    try:
        return _Held(token, _IN_PROGRAMS[token])
    except InputError:
        return _Held(token, None)


@lru_cache(maxsize=256)
def _jitted_by_name(token: str, tails: tuple[tuple[int, ...], ...]) -> Any:
    """A call as a program that holds a name alone: JAX keeps programs, and what they hold, for long. (1.5 MB each.)"""
    import jax

    return jax.jit(lambda *x: _primitives().by_name(token, tails, x))


@lru_cache(maxsize=64)
def _jitted(primitive: Any, function: ArrayFunction) -> Any:
    import jax

    return jax.jit(lambda *x: primitive.bind(*x, function=function))
