"""Exponential and logarithm of rigid motions, smooth through zero."""

from __future__ import annotations

import numpy as np

from ... import arrays
from ...arrays import Array, namespace
from ...spatial import (
    Transform,
    quaternion_exp,
    quaternion_from_rotation,
    quaternion_log,
    rotation_from_quaternion,
    skew,
)


def screw_exp(twist: Array) -> Transform:
    """The pose exp([ω; v]) reached by a constant body velocity (..., 6), angular first, in unit time."""
    w, v = twist[..., :3], twist[..., 3:]
    square = arrays.square_length(w)
    b, c = _translation_series(square)
    tilde = skew(w)
    V = np.eye(3) + b[..., None, None] * tilde + c[..., None, None] * (tilde @ tilde)
    return Transform(rotation_from_quaternion(quaternion_exp(w)), (V.astype(twist.dtype) @ v[..., None])[..., 0])


def screw_log(pose: Transform) -> Array:
    """The constant body velocity (..., 6) that reaches ``pose`` from the identity in unit time."""
    w = quaternion_log(quaternion_from_rotation(pose.R))
    square = arrays.square_length(w)
    tilde = skew(w)
    d = inverse_series(square)
    V_inverse = np.eye(3) - 0.5 * tilde + d[..., None, None] * (tilde @ tilde)
    v = (V_inverse.astype(w.dtype) @ pose.l[..., None])[..., 0]
    return arrays.namespace(w).concatenate(namespace(w).broadcast_arrays(w, v), axis=-1)


def _translation_series(square: Array) -> tuple[Array, Array]:
    """(1 − cos t)/t² and (t − sin t)/t³ as functions of t²."""
    small = arrays.less(square, 1e-2)
    safe = arrays.where(small, 1.0, square)
    t = arrays.sqrt(safe)
    x = square
    b = 0.5 - x / 24 + x**2 / 720 - x**3 / 40320 + x**4 / 3628800
    c = 1 / 6 - x / 120 + x**2 / 5040 - x**3 / 362880 + x**4 / 39916800
    half = arrays.sin(0.5 * t)
    return arrays.where(small, b, 2.0 * half * half / safe), arrays.where(small, c, (t - arrays.sin(t)) / (safe * t))


def inverse_series(square: Array) -> Array:
    """1/t² − (1 + cos t)/(2 t sin t) as a function of t²."""
    small = arrays.less(square, 1e-2)
    safe = arrays.where(small, 1.0, square)
    t = arrays.sqrt(safe)
    x = square
    series = 1 / 12 + x / 720 + x**2 / 30240 + x**3 / 1209600 + x**4 / 47900160
    half = 0.5 * t
    return arrays.where(small, series, (1.0 - half * arrays.cos(half) / arrays.sin(half)) / safe)
