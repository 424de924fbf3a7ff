"""SciPy's explicit adaptive methods ("rk23", "rk45", "dop853") for many states at once, each with steps of its own.

The coefficients are SciPy's, and so is what decides how long a step is (Hairer, Nørsett, Wanner, Solving Ordinary
Differential Equations I, II.4): every state goes the way that ``solve_ivp`` would go with it alone. A stage is one call
of machine code for all states that are not at their end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import SimulationError
from ..extras import require
from ..progress import Progress
from ..tolerances import roundings
from .methods import SOLVERS

EXPLICIT = ("rk23", "rk45", "dop853")
SAFETY, SHRINK, GROW = 0.9, 0.2, 10.0  # how much of a step that would do is taken, and by what one may change

Rate = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # (t (n,), y (n, m), which (n,)) → ẏ (n, m)


@dataclass(eq=False)
class Batch:
    """The states on their way."""

    rate: Rate
    method: str
    times: np.ndarray  # (samples,), of what is kept
    tolerances: tuple[float, float]
    y: np.ndarray  # (states, m)
    kept: np.ndarray = field(init=False)  # (states, samples, m)

    def __post_init__(self) -> None:
        self.coefficients: Any = getattr(require("scipy.integrate", "adaptive", f"method={self.method!r}"), self._name)
        count = len(self.y)
        self.relative = max(self.tolerances[0], roundings(100, float))
        self.t = np.full(count, self.times[0])
        self.kept = np.empty((count, len(self.times), self.y.shape[1]))
        self.kept[:, 0] = self.y
        self.next = np.ones(count, dtype=int)  # the sample of each state that comes next
        self.f = self.rate(self.t, self.y, np.arange(count))
        self.h = self._first_steps()

    @property
    def _name(self) -> str:
        return SOLVERS[self.method]

    def run(self, bar: Progress) -> np.ndarray:
        """All samples, (states, samples, m)."""
        end = self.times[-1]
        rejected = np.zeros(len(self.y), dtype=bool)
        while len(which := np.flatnonzero(self.t < end)):
            least = 10 * np.abs(np.nextafter(self.t[which], np.inf) - self.t[which])
            self._refuse_lost(which, rejected, least)
            h = np.minimum(np.maximum(self.h[which], least), end - self.t[which])
            K, after = self._stages(which, h)
            size = self._error(K, h, self._scale(self.y[which], after))
            sound = size < 1.0
            with np.errstate(divide="ignore", invalid="ignore"):
                change = SAFETY * size ** (-1.0 / (self.coefficients.error_estimator_order + 1))
            grown = np.where(size == 0.0, GROW, np.minimum(GROW, change))
            grown = np.where(rejected[which], np.minimum(1.0, grown), grown)
            self.h[which] = h * np.where(sound, grown, np.fmax(SHRINK, change))
            rejected[which] = ~sound
            self._accept(which[sound], K[:, sound], h[sound], after[sound])
            bar.advance(max(0, int(1000 * (self.t - self.times[0]).sum()) - bar.done))
        return self.kept

    def _refuse_lost(self, which: np.ndarray, rejected: np.ndarray, least: np.ndarray) -> None:
        """SciPy's rule: a step that was refused may not be shorter than the time can tell."""
        lost = np.flatnonzero(rejected[which] & ~(self.h[which] >= least))
        if len(lost):
            state = which[lost[0]]
            raise SimulationError(
                f"{self.method} gave up after t = {self.t[state]:g} s in state {state} of the batch: required step size"
                " is less than spacing between numbers. Look at the forces there, or try another method"
            )

    # --- one step --------------------------------------------------------------------------------------

    def _stages(self, which: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """K (stages + 1, n, m) and where the step leads (n, m)."""
        c, y, t = self.coefficients, self.y[which], self.t[which]
        K = np.empty((c.n_stages + 1, *y.shape))
        K[0] = self.f[which]
        for s in range(1, c.n_stages):
            K[s] = self.rate(t + c.C[s] * h, y + h[:, None] * np.tensordot(c.A[s, :s], K[:s], 1), which)
        after = y + h[:, None] * np.tensordot(c.B, K[:-1], 1)
        K[-1] = self.rate(t + h, after, which)
        return K, after

    def _scale(self, *states: np.ndarray) -> np.ndarray:
        return np.asarray(self.tolerances[1] + self.relative * np.maximum.reduce([np.abs(x) for x in states]))

    def _error(self, K: np.ndarray, h: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """How large the error of a step is, 1 what is allowed."""
        c = self.coefficients
        if self.method != "dop853":
            return np.asarray(_norm(h[:, None] * np.tensordot(c.E, K, 1) / scale))
        fifth, third = ((np.square(np.tensordot(E, K, 1) / scale)).sum(axis=-1) for E in (c.E5, c.E3))
        below = np.sqrt((fifth + 0.01 * third) * scale.shape[-1])
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(below == 0.0, 0.0, h * fifth / below))

    def _accept(self, which: np.ndarray, K: np.ndarray, h: np.ndarray, after: np.ndarray) -> None:
        if not len(which):
            return
        before, t = self.y[which], self.t[which]
        arrived = np.minimum(t + h, self.times[-1])
        arrived = np.where(self.times[-1] - arrived < np.spacing(self.times[-1]), self.times[-1], arrived)
        stop = np.searchsorted(self.times, arrived, side="right")
        counts = stop - self.next[which]
        if counts.any():
            self._sample(which, K, h, before, after, counts)
        self.next[which], self.t[which], self.y[which], self.f[which] = stop, arrived, after, K[-1]

    def _sample(
        self, which: np.ndarray, K: np.ndarray, h: np.ndarray, before: np.ndarray, after: np.ndarray, counts: np.ndarray
    ) -> None:
        """The samples within steps, by the interpolants of the method."""
        some = counts > 0
        which, K, h, before, after, counts = which[some], K[:, some], h[some], before[some], after[some], counts[some]
        row = np.repeat(np.arange(len(which)), counts)
        within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        sample = self.next[which][row] + within
        x = ((self.times[sample] - self.t[which][row]) / h[row])[:, None]
        if self.method == "dop853":
            found = _by_alternating(self._terms(which, K, h, before, after)[:, row], x)
        else:
            P = np.tensordot(self.coefficients.P.T, K, 1)[:, row]  # (powers, samples, m)
            found = h[row, None] * x * sum(p * x**i for i, p in enumerate(P))
        self.kept[which[row], sample] = before[row] + found

    def _terms(
        self, which: np.ndarray, K: np.ndarray, h: np.ndarray, before: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """The terms of the interpolant of "dop853", (7, n, m), with three more stages."""
        c, t = self.coefficients, self.t[which]
        stages = list(K)
        for a, part in zip(c.A_EXTRA, c.C_EXTRA):
            known = np.stack(stages)
            y = before + h[:, None] * np.tensordot(a[: len(stages)], known, 1)
            stages.append(self.rate(t + part * h, y, which))
        step, length = after - before, h[:, None]
        first = [step, length * K[0] - step, 2.0 * step - length * (K[-1] + K[0])]
        return np.concatenate([first, length * np.tensordot(c.D, np.stack(stages), 1)])

    # --- the first step --------------------------------------------------------------------------------

    def _first_steps(self) -> np.ndarray:
        """How long the first step of every state may be (Hairer et al., II.4)."""
        span, order = self.times[-1] - self.times[0], self.coefficients.error_estimator_order
        scale = self._scale(self.y)
        d0, d1 = _norm(self.y / scale), _norm(self.f / scale)
        with np.errstate(divide="ignore", invalid="ignore"):
            h0 = np.minimum(np.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / d1), span)
            there = self.rate(self.t + h0, self.y + h0[:, None] * self.f, np.arange(len(h0)))
            d2 = _norm((there - self.f) / scale) / h0
            known = (0.01 / np.maximum(d1, d2)) ** (1.0 / (order + 1))
        h1 = np.where((d1 <= 1e-15) & (d2 <= 1e-15), np.maximum(1e-6, h0 * 1e-3), known)
        return np.asarray(np.minimum.reduce([100 * h0, h1, np.full_like(h0, span)]))


def _norm(x: np.ndarray) -> np.ndarray:
    """Root mean squares over the last axis."""
    return np.asarray(np.sqrt(np.square(x).mean(axis=-1)))


def _by_alternating(F: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The polynomial of Dop853 with these terms: ((F₆x + F₅)(1 − x) + F₄)x …"""
    y: np.ndarray = np.zeros_like(F[0])
    for i, f in enumerate(F[::-1]):
        y = (y + f) * (x if i % 2 == 0 else 1.0 - x)
    return y
