"""Checks of what users hand in: shapes, kinds and precision, with errors that say what to do."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

from . import array_kinds, arrays
from .arguments import mapping, unmasked
from .arrays import Array, SameKind
from .errors import InputError, UntraceableError
from .model.model import Model
from .symbols.scalar import Scalar


def as_array(x: Any, what: str) -> SameKind:
    """``x`` as an array of floats (float32 stays), complex numbers or symbols; JAX passes through."""
    if type(x) is not np.ndarray and array_kinds.library(x) in array_kinds.TO_NUMPY:
        raise array_kinds.refuse(x, what)
    if not arrays.is_numpy(x):
        other: Array = x
        return other
    unmasked(x, what)
    try:
        out = np.asarray(x)
    except (TypeError, ValueError):
        raise InputError(f"{what} must be an array of numbers, got {type(x).__name__}") from None
    if out.dtype.kind in "iub" or out.dtype == np.float16:
        return out.astype(float)
    if out.dtype == object:
        return _object_array(out, what)
    if out.dtype.kind not in "fc":
        raise InputError(f"{what} must hold numbers, got dtype {out.dtype}")
    return out


def _object_array(out: np.ndarray, what: str) -> np.ndarray:
    """Object arrays are symbols where their entries have arithmetic; anything else is a mistake."""
    if out.size and all(isinstance(x, Real) for x in out.flat):
        return out.astype(float)  # plain numbers, such as a column of a data frame
    if all(hasattr(x, "__add__") and not isinstance(x, (str, list, tuple, dict)) and x is not None for x in out.flat):
        return out
    raise InputError(f"{what} must be a regular array of numbers; its rows may differ in length")


def vector(x: Any, length: int, what: str, model: Model) -> SameKind:
    """``x`` as (..., length), or an error that names the robot and the length it wants."""
    out = as_array(x, what)
    if out.ndim == 0 or out.shape[-1] != length:
        hint = ""
        if out.ndim == 2 and out.shape[0] == length:
            hint = f"; batches come first: pass shape {out.shape[::-1]}"
        raise InputError(
            f"{what} must have shape (..., {length}) for robot {model.name!r} (nq={model.nq}, nv={model.nv}),"
            f" got {tuple(out.shape)}{hint}"
        )
    return out


def together(model: Model, **named: Array) -> tuple[tuple[int, ...], list[SameKind]]:
    """The common batch shape of several arrays (their last axes apart), and all in one precision."""
    arrays_in = list(named.values())
    try:
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays_in))
    except ValueError:
        shapes = ", ".join(f"{k} {tuple(x.shape)}" for k, x in named.items())
        raise InputError(f"the batch dimensions do not fit together: {shapes}") from None
    if arrays.is_numpy(*arrays_in):
        if any(_holds_symbols(x) for x in arrays_in):
            arrays_in = [_beside_symbols(x, name) for name, x in named.items()]
        dtype = np.result_type(*(x.dtype for x in arrays_in))
        arrays_in = [x if x.dtype == dtype else x.astype(dtype) for x in arrays_in]
    return batch, arrays_in


def _holds_symbols(x: np.ndarray) -> bool:
    return x.dtype == object and any(isinstance(entry, Scalar) for entry in x.flat)


def _beside_symbols(x: Any, what: str) -> np.ndarray:
    """An array that meets symbols in products of arrays, none of which may fail (:mod:`.symbols.products`)."""
    if x.dtype == object:
        return arrays.by_entry(lambda entry: _beside_symbol(entry, what), x)
    if x.dtype.kind == "c":
        _beside_symbol(1j, what)
    plain: np.ndarray = x.astype(float)
    return plain


def _beside_symbol(entry: Any, what: str) -> Scalar | float:
    if isinstance(entry, Scalar):
        return entry
    if isinstance(entry, Real):
        return float(entry)
    raise UntraceableError(f"{what} holds numbers of type {type(entry).__name__}, which do not go with symbols")


def configuration(model: Model, q: Any, what: str = "q") -> SameKind:
    """``q`` as (..., nq), its quaternions of non-zero length."""
    out = vector(q, model.nq, what, model)
    if arrays.is_eager(out) and not np.iscomplexobj(out):
        for joint, where, _ in model.coordinates:
            problem = joint.kind.error(out[..., where]) if joint.kind.nq != joint.kind.nv else None
            if problem:
                raise InputError(f"the configuration of joint {joint.name!r} {problem}")
    return out


def forces(model: Model, external: Any) -> SameKind | None:
    """External forces as (..., bodies, 6), or None."""
    if external is None:
        return None
    out = as_array(external, "external")
    if out.ndim < 2 or out.shape[-2:] != (len(model.bodies), 6):
        raise InputError(
            f"external must have shape (..., {len(model.bodies)}, 6), one [moment; force] per body in body axes,"
            f" got {tuple(out.shape)}; robot.wrenches builds it from forces at frames"
        )
    return out


def frame_forces(model: Model, forces: Any) -> dict[str, SameKind]:
    """Forces [moment; force] on frames, each (..., 6), by what to call them; names of frames may repeat."""
    given = mapping(forces, "forces").items()
    named = [(getattr(frame, "name", frame), f) for frame, f in given]
    return {f"the force on {n!r} ({i})": vector(f, 6, f"the force on {n!r}", model) for i, (n, f) in enumerate(named)}


def shaped(model: Model, x: Any, shape: tuple[str | int, ...], what: str) -> SameKind:
    """An argument of this shape for one state, checked as such; the numbers of several axes in a row, (..., n)."""
    if shape == ("nq",):
        return configuration(model, x, what)
    if shape == ("bodies", 6):
        out = forces(model, x)
        assert out is not None
        return out.reshape((*out.shape[:-2], out.shape[-2] * 6))
    known = sizes(model, shape)
    if len(known) == 1:
        return vector(x, known[0], what, model)
    out = as_array(x, what)
    if tuple(out.shape[-len(known) :]) != known:
        wanted = ", ".join(map(str, known))
        raise InputError(f"{what} must have shape (..., {wanted}) for robot {model.name!r}, got {tuple(out.shape)}")
    return out.reshape((*out.shape[: -len(known)], math.prod(known)))


def sizes(model: Model, shape: tuple[str | int, ...]) -> tuple[int, ...]:
    """A shape in numbers: "nq", "nv" and "bodies" are those of the robot."""
    return tuple(n if isinstance(n, int) else len(model.bodies) if n == "bodies" else getattr(model, n) for n in shape)


def fit(out: Array, batch: tuple[int, ...], tail: int) -> SameKind:
    """``out`` with the full batch shape in front of its last ``tail`` axes."""
    if not hasattr(out, "shape"):  # a single symbol
        out = np.asarray(out, dtype=object)
    shape = batch + (out.shape[-tail:] if tail else ())
    if out.shape == shape:
        return out
    wide = arrays.namespace(out).broadcast_to(out, shape)
    return wide.copy() if arrays.is_numpy(wide) else wide
