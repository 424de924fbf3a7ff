"""Xλ = b for a positive semidefinite X of any rank: the λ of least norm, without a choice that depends on numbers.

Redundant loops make X singular; accelerations are unique all the same, and so is the λ of least norm once its units are
said: moments are measured in forces at a typical length of the robot. Damped and corrected,

    λ ← λ + (X + εI)⁻¹(b − Xλ),

converges to it (math notes on closed chains 2.3, 2.4); a direction with eigenvalue μ is left wrong by (ε/(μ + ε))^k.
The same few steps run on numbers, symbols and JAX arrays.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import arrays
from ...arrays import Array
from ...model.loops import TRANSMITTED, Loop
from ...model.model import Model

DAMPING = 1e-9  # of the mean eigenvalue of X
CORRECTIONS = 3


def least_norm(X: Array, b: Array, scales: Array) -> Array:
    """λ (..., m, c) with Xλ = b as nearly as X allows, and of all these the least in the norm of λ/scales."""
    scales = scales.astype(np.float32) if b.dtype == np.float32 else scales
    scaled = X * (scales[:, None] * scales)
    right = b * scales[:, None]
    m = X.shape[-1]
    mean = sum(scaled[..., i : i + 1, i : i + 1] for i in range(m)) / m
    damping = DAMPING if b.dtype != np.float32 else 1e-5
    damped = scaled + damping * mean * arrays.eye(m, like=X)
    inverse = arrays.inverse_spd(damped)
    lam = inverse @ right
    for _ in range(CORRECTIONS):
        lam = lam + inverse @ (right - scaled @ lam)
    return lam * scales[:, None]


def force_scales(model: Model, loops: Sequence[Loop]) -> np.ndarray:
    """By row of λ, what one unit of force is worth: a moment counts by a typical length of the robot [m]."""
    length = typical_length(model)
    rows: list[float] = []
    for loop in loops:
        if loop.kind == "constrains":
            turns = np.abs(loop.constrains[:, :3]).max(axis=1) > np.abs(loop.constrains[:, 3:]).max(axis=1)
        else:
            turns = np.array(TRANSMITTED[loop.kind]) < 3
        rows += [length if turn else 1.0 for turn in turns]
    return np.array(rows)


def typical_length(model: Model) -> float:
    """The mean distance between neighbouring joints that do not coincide [m], or 1 where all do."""
    found = [float(np.linalg.norm(c.placement.l)) for c in model.constants()]
    apart = [x for x in found if x > 0]
    return sum(apart) / len(apart) if apart else 1.0
