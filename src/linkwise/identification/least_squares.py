"""Weighted least squares with a noise of its own in every channel, and what the error bars are.

The data are reduced once, channel by channel, to triangles R_c of [X | y] (a QR factorisation in chunks), so that all
that follows is independent of how many samples there are:

    θ̂ = argmin Σ_c ‖y_c − X_cθ‖²/σ_c²,    σ_c² = ‖y_c − X_cθ̂‖²/(N_c − h_c),    cov θ̂ = (Σ_c X_c*X_c/σ_c²)⁻¹,

h_c the sum of the leverages of channel c, which makes σ_c² unbiased; the three are repeated until they agree. Normal
noise, independent between samples, is what the error bars rest on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from ..errors import InputError, SingularError
from ..tolerances import EXCITED, roundings

_LEAST_NOISE = 1e-6  # of the largest of all channels: below, weights would cost more digits than they bring
_ROUNDING = 1e-13  # of the measured forces: what their own arithmetic leaves
_ROUNDS = 50


class Reduced:
    """Data of several channels, as the triangles that they leave."""

    def __init__(self, channels: int, unknowns: int) -> None:
        self.R: list[np.ndarray] = [np.zeros((0, unknowns + 1)) for _ in range(channels)]
        self.samples = 0

    def add(self, X: np.ndarray, y: np.ndarray) -> None:
        """Samples more: X (samples, channels, unknowns), y (samples, channels)."""
        self.samples += len(y)
        for c, before in enumerate(self.R):
            rows = np.concatenate([before, np.concatenate([X[:, c], y[:, c, None]], axis=1)])
            self.R[c] = np.asarray(np.linalg.qr(rows, mode="r")) if len(rows) > rows.shape[1] else rows

    def combined(self, columns: np.ndarray) -> Reduced:
        """The same data with some of the columns, each standing for a combination."""
        out = Reduced(0, 0)
        out.R, out.samples = [R[:, [*columns, -1]] for R in self.R], self.samples
        return out


@dataclass(frozen=True, eq=False)
class Estimate:
    """What least squares found: values (n,), covariance (n, n), noise (channels,), and what they rest on."""

    values: np.ndarray
    covariance: np.ndarray
    noise: np.ndarray
    condition: float  # of the weighted columns, each of unit length
    shares: np.ndarray  # (channels, n, n) of the covariance by the channels, whose sum it is
    left: np.ndarray  # (channels,) N_c − h_c, what each channel's noise rests on; infinite where it is given

    def errors(self, C: np.ndarray) -> np.ndarray:
        """Standard errors of combinations Cβ, C (m, n)."""
        return np.asarray(np.sqrt(np.einsum("ij,jk,ik->i", C, self.covariance, C)))

    def freedoms(self, C: np.ndarray) -> np.ndarray:
        """Degrees of freedom that the errors of Cβ rest on, (m,): Satterthwaite's, from the share of each channel."""
        shares = np.einsum("ij,cjk,ik->ci", C, self.shares, C)
        with np.errstate(divide="ignore"):
            return np.asarray(shares.sum(axis=0) ** 2 / np.sum(shares**2 / self.left[:, None], axis=0))


def estimate(data: Reduced, names: Sequence[str], noise: np.ndarray | None = None) -> Estimate:
    """The estimate, with the standard deviations ``noise`` (channels,) of the measurements, or with those it finds."""
    n, count = len(names), data.samples * len(data.R)
    if count <= n:
        raise InputError(
            f"{data.samples} samples of {len(data.R)} numbers each are too few for {n} unknown combinations; give more"
            " samples, or name fewer unknowns"
        )
    floor = max(_rounding(R, data.samples) for R in data.R) + 1e-300
    sigma = np.ones(len(data.R)) if noise is None else np.maximum(noise, floor)
    for _ in range(1 if noise is not None else _ROUNDS):
        values, covariance, condition = _solved(data, sigma, names)
        if noise is not None:
            break
        found = _noise(data, values, _leverages(data, covariance, sigma), floor)
        settled = bool(np.all(np.abs(found - sigma) < 1e-9 * found))
        sigma = found
        if settled:
            break
    left = np.full(len(sigma), np.inf) if noise is not None else data.samples - _leverages(data, covariance, sigma)
    shares = [covariance @ (R[:, :-1].T @ R[:, :-1]) @ covariance / s**2 for R, s in zip(data.R, sigma)]
    return Estimate(values, covariance, sigma, condition, np.array(shares), left)


def _rounding(R: np.ndarray, samples: int) -> float:
    """What arithmetic leaves of a channel: a share of its measurements, and a rounding of its columns."""
    sizes = np.sqrt(np.sum(R**2, axis=0) / samples)
    return float(_ROUNDING * sizes[-1] + roundings(1, float) * sizes[:-1].max())


def _solved(data: Reduced, sigma: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray, float]:
    """(values, covariance, condition) at these standard deviations of the channels."""
    stacked = np.concatenate([R / s for R, s in zip(data.R, sigma)])
    if not np.isfinite(stacked).all() or not np.isfinite(np.sum(stacked**2)):
        raise InputError("the measured motion is too large to be meant: its forces overflow; use SI units")
    X, y = stacked[:, :-1], stacked[:, -1]
    lengths = np.linalg.norm(X, axis=0)
    U, S, Vt = np.linalg.svd(X / np.where(lengths > 0, lengths, 1.0), full_matrices=False)
    refuse_unexcited(S, Vt, X.shape[1], names)
    values: np.ndarray = Vt.T @ ((U.T @ y) / S) / lengths
    root = Vt.T / S / lengths[:, None]
    return values, root @ root.T, float(S[0] / S[-1])


def refuse_unexcited(S: np.ndarray, Vt: np.ndarray, n: int, names: Sequence[str]) -> None:
    """Refuse data whose columns, of unit length, are dependent; the error names what they do not tell apart."""
    if len(S) == n and S[-1] > EXCITED * S[0]:
        return
    weights = np.abs(Vt[-1]) if len(S) == n else np.ones(n)
    worst = [names[i] for i in np.argsort(-weights)[:3] if weights[i] > 0.1 * weights.max()]
    raise SingularError(
        f"the motion does not excite {' and '.join(worst)}: its columns are dependent to within {EXCITED:g}. Give data"
        " of a richer motion (lw.excitation makes one), or name fewer unknowns"
    )


def _leverages(data: Reduced, covariance: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """h_c (channels,): how many of the unknowns each channel has to tell."""
    return np.array([np.sum((R[:, :-1] @ covariance) * R[:, :-1]) / s**2 for R, s in zip(data.R, sigma)])


def _noise(data: Reduced, values: np.ndarray, leverages: np.ndarray, floor: float) -> np.ndarray:
    """The standard deviation of every channel from what is left of it."""
    left = np.array([np.sum((R[:, -1] - R[:, :-1] @ values) ** 2) for R in data.R])
    out: np.ndarray = np.sqrt(left / np.maximum(data.samples - leverages, 1e-3 * data.samples))
    return np.asarray(np.maximum(out, max(floor, _LEAST_NOISE * out.max())))


def quantile(level: float, freedoms: np.ndarray) -> np.ndarray:
    """How many standard errors hold a share ``level`` of normal errors whose σ is estimated: that of Student's t.

    By the expansion in 1/freedoms about the normal quantile (Abramowitz and Stegun 26.7.5), to four digits from ten on.
    """
    x, f = NormalDist().inv_cdf(0.5 + 0.5 * level), np.asarray(freedoms, dtype=float)
    first, second = (x**3 + x) / 4, (5 * x**5 + 16 * x**3 + 3 * x) / 96
    third = (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384
    return np.asarray(x + first / f + second / f**2 + third / f**3)


def finite(**named: Any) -> None:
    """Refuse measurements with NaN or infinity; the error says where the first is."""
    for name, x in named.items():
        if x is not None and not np.isfinite(x).all():
            where = tuple(int(i) for i in np.argwhere(~np.isfinite(x))[0][:-1])
            raise InputError(f"{name} holds NaN or infinity, first in sample {where}; leave such samples out")
