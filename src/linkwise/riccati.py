"""The step of the Riccati recursion across one joint, and what is known of its results without computing them.

    D = HPH* + Γ,    G = (PH* + s)D⁻¹,    P⁺ = P − GDG*

(Unified formulation paper (40)–(42), Operator algebra paper (4.1); rotors: :mod:`linkwise.dynamics.articulated`.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import arrays
from .arrays import Array


def cross_joint(
    P: Array, H: Array, Gamma: Any, s: Any, invert: Callable[[Array], Array]
) -> tuple[Array, Array, Array, Array, Array]:
    """(P, D, D⁻¹, G, P⁺) of one body from its P (..., d, d) and H (..., r, d); ``invert`` gives D⁻¹.

    Γ (r, r) is the inertia of a rotor and s (..., d, r) its coupling with the parent's motion, or None.
    """
    U = P @ H.mT
    D = arrays.symmetric(H @ U)
    if Gamma is not None:
        D = D + Gamma
    if s is not None:
        U = U + s
    D_inverse = invert(D)
    G = U @ D_inverse
    if hasattr(P, "reduced"):  # an aggregate's: GU* would fill it with 6m×6m numbers
        return P, D, D_inverse, G, P.reduced(G, U, D_inverse)
    P_plus = P - arrays.symmetric(G @ U.mT)
    if Gamma is None and s is None and arrays.is_symbolic(P):
        G, P_plus = _with_exact_entries(H, G, P_plus)
    return P, D, D_inverse, G, P_plus


def _with_exact_entries(H: Array, G: Array, P_plus: Array) -> tuple[Array, Array]:
    """HG = I and HP⁺ = 0 hold exactly; where H picks coordinate axes, put these ones and zeros in.

    On symbols this spares the operations that would compute them (and all that follow from them).
    """
    axes = coordinate_axes(H)
    if axes is None:
        return G, P_plus
    return with_exact_rows(H, G, np.eye(len(H))), without_axes(P_plus, axes)


def coordinate_axes(H: Array) -> list[int] | None:
    """The coordinates that the rows of H pick, or None where H is not made of coordinate axes."""
    if not arrays.is_eager(H) or H.ndim != 2 or not ((np.abs(H).sum(axis=1) == 1) & (np.abs(H).max(axis=1) == 1)).all():
        return None
    return [int(axis) for axis in np.abs(H).argmax(axis=1)]


def without_axes(X: Array, axes: list[int]) -> Array:
    """A symmetric X (..., 6, 6) whose rows and columns at ``axes`` are known to vanish, with exact zeros there."""
    out = arrays.as_numpy(X).copy()
    out[..., axes, :] = 0.0
    out[..., :, axes] = 0.0
    return out


def with_exact_rows(H: Array, x: Array, known: Array) -> Array:
    """x (..., 6, m) with those of its rows replaced that Hx = ``known`` (..., r, m) gives; on symbols only."""
    axes = coordinate_axes(H) if arrays.is_symbolic(x) else None
    if axes is None:
        return x
    out = arrays.as_numpy(x).copy()
    for row, axis in enumerate(axes):
        out[..., axis, :] = known[..., row, :] * H[row, axis]
    return out
