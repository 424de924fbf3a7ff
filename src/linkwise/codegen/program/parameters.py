"""A robot whose constants are symbols: inertial parameters and joint offsets as inputs of a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ... import arrays
from ...arguments import one_of
from ...errors import InputError
from ...model.model import BodyConstants, Model
from ...spatial import RigidInertia, Transform

_ROUNDING = 1e-6  # by which a moment of inertia may be short; numbers in float32 are
KINDS = {"inertial": 10, "offsets": 3}


def parameter_sizes(model: Model, parameters: Sequence[str]) -> dict[str, int]:
    """How many numbers each kind of parameter has."""
    for kind in parameters:
        one_of(kind, KINDS, "kind of parameters", error=InputError)
    return {kind: KINDS[kind] * len(model.bodies) for kind in parameters}


def with_symbols(model: Model, symbols: Mapping[str, np.ndarray]) -> Model:
    """The model with these parameters in place of its own numbers."""
    if not symbols:
        return model
    constants = list(model.constants())
    for kind, values in symbols.items():
        rows = values.reshape(len(constants), KINDS[kind])
        change = _inertial if kind == "inertial" else _offset
        constants = [change(c, row) for c, row in zip(constants, rows)]
    return model.with_constants(constants)


def _inertial(c: BodyConstants, p: np.ndarray) -> BodyConstants:
    m, hx, hy, hz, xx, xy, yy, xz, yz, zz = p
    _refuse_impossible(m, (hx, hy, hz), (xx, yy, zz))
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=object)
    return replace(c, M=RigidInertia(np.asarray(m, dtype=object), np.array([hx, hy, hz], dtype=object), J), load=None)


def _refuse_impossible(m: Any, h: Any, J: Any) -> None:
    """Have the program report a mass below zero, and a moment of inertia below that of the mass at its centre."""
    x, y, z = (a * a for a in h)
    for value in (m, *(m * j - (a + b) + _ROUNDING * m * j for j, a, b in zip(J, (y, x, x), (z, z, y)))):
        arrays.require_positive(arrays.where(arrays.less(np.asarray(value, dtype=object), 0.0), -1.0, 1.0), always=True)


def _offset(c: BodyConstants, l: np.ndarray) -> BodyConstants:
    return replace(c, placement=Transform(c.placement.R, l), load=None)


def parameter_values(model: Model, kind: str) -> Any:
    """The model's own numbers, in the order of the symbols."""
    if kind == "offsets":
        return np.concatenate([c.placement.l for c in model.constants()])
    from ...model.edit import inertial_parameters

    return inertial_parameters(model).ravel()
