"""Quaternions (..., 4) as joints have them in their configurations, order (x, y, z, w)."""

from __future__ import annotations

import numpy as np

from ... import arrays
from ...arrays import Array
from ...spatial import quaternion_product


def conjugate(q: Array) -> Array:
    """The turn back, of a unit quaternion."""
    return q * np.array([-1.0, -1.0, -1.0, 1.0], dtype=arrays.precision(q))


def normalised(q: Array) -> Array:
    """The quaternion of length one that turns alike."""
    return q / arrays.sqrt(arrays.square_length(q))[..., None]


def quaternion_rate(q: Array, w: Array) -> Array:
    """q̇ = ½ q ∘ (ω, 0), for a quaternion of any length."""
    return 0.5 * quaternion_product(q, arrays.stack([w[..., 0], w[..., 1], w[..., 2], 0.0 * w[..., 0]]))


def quaternion_error(q: np.ndarray) -> str | None:
    """What is wrong with quaternions of numbers (..., 4), if anything: a length that cannot be divided out."""
    largest = np.abs(q).max(axis=-1)
    if (largest == 0).any():
        return "has a quaternion of zero length; a unit quaternion is (x, y, z, w) = (0, 0, 0, 1), say"
    limits = np.finfo(q.dtype)
    odd = (largest < 2.0 * np.sqrt(limits.tiny)) | ((largest > 0.25 * np.sqrt(limits.max)) & np.isfinite(largest))
    if odd.any():
        return f"has a quaternion of length about {largest[odd].flat[0]:.0e}, too far from 1; divide it by its length"
    return None
