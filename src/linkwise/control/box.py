"""The minimum of ½x*Hx + g*x in a box, by projected Newton steps (Tassa, Mansard and Todorov, ICRA 2014)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

ITERATIONS = 50


class BoxMinimum(NamedTuple):
    """x (m,), and which of its entries no bound holds."""

    x: np.ndarray
    free: np.ndarray


def minimise_in_box(H: np.ndarray, g: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> BoxMinimum | None:
    """None where H is not positive definite, or where the iteration does not settle."""
    try:
        np.linalg.cholesky(H)
    except np.linalg.LinAlgError:
        return None
    whole = -np.linalg.solve(H, g)
    if ((whole > lower) & (whole < upper)).all():
        return BoxMinimum(whole, np.ones(len(g), dtype=bool))
    x = np.clip(np.zeros_like(g), lower, upper)
    for _ in range(ITERATIONS):
        slope = H @ x + g
        held = ((x <= lower) & (slope > 0)) | ((x >= upper) & (slope < 0))
        free = ~held
        if np.abs(slope[free]).max(initial=0.0) <= 1e-10 * (1.0 + np.abs(g).max()):
            return BoxMinimum(x, free)
        direction = np.zeros_like(x)
        direction[free] = -np.linalg.solve(H[np.ix_(free, free)], slope[free])
        x = _lower_along(H, g, x, direction, slope, lower, upper)
    return BoxMinimum(x, free)


def _lower_along(
    H: np.ndarray,
    g: np.ndarray,
    x: np.ndarray,
    direction: np.ndarray,
    slope: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
) -> np.ndarray:
    """Armijo's rule along the projected path."""

    def value(x: np.ndarray) -> float:
        return float(0.5 * x @ H @ x + g @ x)

    size, here = 1.0, value(x)
    while size > 1e-12:
        moved = np.clip(x + size * direction, lower, upper)
        if value(moved) <= here + 0.1 * slope @ (moved - x):
            return moved
        size *= 0.5
    return x
