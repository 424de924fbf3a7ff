"""The integrals by which modal bodies are exchanged, as second moments of their mass points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...arguments import mapping
from ...errors import ModelError
from ..inertia import as_array

_NEEDED = ("m", "h0", "J0", "h", "N", "NN")


def moments_of(integrals: Mapping[str, Any]) -> tuple[np.ndarray, int]:
    """(𝒢, n): the second moments (4 + 3n, 4 + 3n) of 1, r and Φ, ordered as :class:`.Points` orders features."""
    given = {k: as_array(x, f"the integral {k!r} must be numbers") for k, x in mapping(integrals, "integrals").items()}
    missing = [k for k in _NEEDED if k not in given]
    if missing:
        raise ModelError(f"the integral {missing[0]!r} of a flexible body is missing; it needs {', '.join(_NEEDED)}")
    n = len(given["h"]) if given["h"].ndim == 2 else 0
    shapes = {"m": (), "h0": (3,), "J0": (3, 3), "h": (n, 3), "N": (n, 3, 3), "NN": (n, n, 3, 3)}
    shapes |= {"c": (n, 3), "d": (n, n, 3), "M": (n, n)}
    for k, x in given.items():
        if k not in shapes:
            raise ModelError(f"no integral of a flexible body is named {k!r}; there are {', '.join(shapes)}")
        if x.shape != shapes[k] or not np.isfinite(x).all() or not n:
            raise ModelError(f"the integral {k!r} must be finite, of shape {shapes[k]}, got shape {x.shape}")
    if not given["m"] > 0:
        raise ModelError(f"the mass of a flexible body must be positive, got {given['m']:g}")
    first = np.concatenate([given["h0"][None], given["h"]])  # Σm of r and of every Φ_i
    second = np.empty((n + 1, n + 1, 3, 3))  # Σm x y* of these
    second[0, 0] = _outer(given["J0"])
    for i in range(n):
        second[0, i + 1] = _outer(given["N"][i])
        second[i + 1, 0] = second[0, i + 1].T
        for j in range(n):
            second[i + 1, j + 1] = _outer(given["NN"][i, j])
    _check(given, second)
    axes = [[second[a, b] for b in range(n + 1)] for a in range(n + 1)]
    inner = _by_axis_and_mode(np.block(axes), n)
    column = _by_axis_and_mode(np.concatenate(first), n)
    G = np.block([[np.atleast_2d(given["m"]), column[None]], [column[:, None], inner]])
    if np.abs(G - G.T).max() > 1e-9 * np.abs(G).max():
        raise ModelError("the integral 'NN' must have NN[i, j] = NN[j, i]* and 'J0' be symmetric")
    return 0.5 * (G + G.T), n


def _outer(N: np.ndarray) -> np.ndarray:
    """S = Σm x y* from −Σm x̃ỹ = tr S I − S*: half its trace is that of S."""
    return np.asarray(0.5 * np.trace(N) * np.eye(3) - N.T)


def _by_axis_and_mode(x: np.ndarray, n: int) -> np.ndarray:
    """Entries (r, then every Φ_i with its three axes) with Φ by axis first, along every axis of x."""
    order = [*range(3), *(3 + 3 * i + a for a in range(3) for i in range(n))]
    return np.asarray(x[np.ix_(*[order] * x.ndim)])


def _check(given: Mapping[str, np.ndarray], second: np.ndarray) -> None:
    """c, d and M follow from the others."""
    follow = {
        "c": _vee(second[0, 1:]),
        "d": _vee(second[1:, 1:]),
        "M": np.trace(second[1:, 1:], axis1=-2, axis2=-1),
    }
    for k, x in follow.items():
        if k in given and np.abs(given[k] - x).max() > 1e-6 * np.abs(second).max():
            raise ModelError(f"the integral {k!r} of a flexible body contradicts 'N' and 'NN', of which it follows")


def _vee(S: np.ndarray) -> np.ndarray:
    """Σm x × y from S = Σm x y*."""
    return np.stack([S[..., (a + 1) % 3, (a + 2) % 3] - S[..., (a + 2) % 3, (a + 1) % 3] for a in range(3)], axis=-1)
