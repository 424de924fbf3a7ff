"""The least squeeze with which friction holds an object: a small convex problem, solved by a barrier method.

Contact forces λ = λ₀ + N z move the object alike for every z, N spanning the internal ones. Of all z for which each
contact stays in its cone with some normal force to spare,

    n_i − margin ≥ ‖(t_i / c_i)‖,        n_i its normal force, t_i what friction holds, c_i the coefficients,

the shortest is sought, by Newton steps on ½‖z‖² t − Σ log((n_i − margin)² − ‖t_i/c_i‖²) with t growing; a start within
the cones is found in the same way, with a force s added to all normals and made small. On numbers only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...errors import ClosureError
from ...model.contacts import NORMAL, Contact
from ...tolerances import SQUEEZE_BOUND, SQUEEZE_DECREMENT, SQUEEZE_GAP

GROWTH = 20.0  # of t from one centre to the next
MOST_STEPS = 300  # Newton steps to a centre; ten are usual


class Cone(NamedTuple):
    """n = n₀ + a z ≥ ‖t₀ + B z‖ of one contact, its tangential forces counted by their coefficients."""

    name: str
    n: float
    a: np.ndarray  # (k,)
    t: np.ndarray  # (j,), j = 0 for contacts without friction
    B: np.ndarray  # (j, k)

    def rest(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        return float(self.n + self.a @ z), self.t + self.B @ z


def least_squeeze(lam: np.ndarray, N: np.ndarray, contacts: Sequence[Contact], margin: float) -> np.ndarray:
    """N z, (m,), the least in ‖z‖ with which λ + N z (m,) has each contact in its cone; N (m, k)."""
    size = max(float(np.abs(lam).max(initial=0.0)), margin, 1e-9)
    cones = _cones(lam / size, N, contacts, margin / size)
    if not cones:
        return np.zeros_like(lam)
    z = _start(cones, N.shape[1])
    t, bound = 1.0, 2.0 * len(cones)
    while True:
        z = _centre(cones, z, t * np.eye(len(z)), np.zeros(len(z)))
        if bound / t <= SQUEEZE_GAP * max(1.0, float(z @ z)):
            return np.asarray(size * (N @ z))
        t *= GROWTH


def cone_margins(forces: np.ndarray, contacts: Sequence[Contact]) -> np.ndarray:
    """By how much normal force each contact is within its cone, (..., contacts) [N]; infinite where it has none.

    ``forces`` (..., contacts, 6) are [moment; force] at the points of touch, in the contact frames' axes.
    """
    out = []
    for i, x in enumerate(contacts):
        f = forces[..., i, :]
        if not x.presses:
            out.append(np.full(f.shape[:-1], np.inf))
            continue
        held = [f[..., x.transmitted[row]] / c for row, c in x.tangents.items()]
        out.append(f[..., NORMAL] - np.sqrt(sum((h * h for h in held), np.zeros(f.shape[:-1]))))
    return np.stack(out, axis=-1)


def _cones(lam: np.ndarray, N: np.ndarray, contacts: Sequence[Contact], margin: float) -> list[Cone]:
    cones, start = [], 0
    for x in contacts:
        rows = slice(start, start + x.size)
        start += x.size
        if x.presses:
            n, (own, basis) = x.transmitted.index(NORMAL), (lam[rows], N[rows])
            held = list(x.tangents)
            c = np.array([x.tangents[i] for i in held])
            cones.append(Cone(x.name, own[n] - margin, basis[n], own[held] / c, basis[held] / c[:, None]))
    return cones


def _start(cones: list[Cone], k: int) -> np.ndarray:
    """A z strictly within all cones, or an error that names the contact that is worst off."""
    z = np.zeros(k)
    lack = max(float(np.linalg.norm(c.t)) - c.n for c in cones)
    if lack < 0:
        return z
    wide = [Cone(c.name, c.n, np.append(c.a, 1.0), c.t, np.pad(c.B, ((0, 0), (0, 1)))) for c in cones]
    x, t, bound = np.append(z, lack + 1.0), 1.0, 2.0 * len(cones)
    weights = np.append(np.full(k, SQUEEZE_BOUND), 0.0)
    while bound / t > SQUEEZE_BOUND:
        x = _centre(wide, x, t * np.diag(weights), np.append(np.zeros(k), t), lambda x: x[-1] < 0)
        if x[-1] < 0:
            return x[:-1]
        t *= GROWTH
    worst = min(cones, key=lambda c: c.rest(x[:-1])[0] - np.linalg.norm(c.rest(x[:-1])[1]))
    raise ClosureError(
        f"no squeeze makes these contacts hold: at best contact {worst.name!r} is outside its friction cone, or pulls."
        " Place hands so that internal forces press on every contact (opposite each other), give a higher friction=, a"
        " smaller margin=, or another motion of the object"
    )


def _centre(
    cones: list[Cone],
    x: np.ndarray,
    Q: np.ndarray,
    g: np.ndarray,
    enough: Callable[[np.ndarray], bool] = lambda x: False,
) -> np.ndarray:
    """The minimum of ½x*Qx + g x − Σ log of the cones, from an x within them, by damped Newton steps.

    Or where ``enough`` says so on the way.
    """
    for _ in range(MOST_STEPS):
        if enough(x):
            return x
        gradient, hessian = Q @ x + g, Q.copy()
        for c in cones:
            n, t = c.rest(x)
            r = n * n - float(t @ t) if len(t) else n
            slope = 2.0 * (n * c.a - c.B.T @ t) if len(t) else c.a
            gradient = gradient - slope / r
            hessian = hessian + np.outer(slope, slope) / r**2
            if len(t):
                hessian = hessian - 2.0 * (np.outer(c.a, c.a) - c.B.T @ c.B) / r
        hessian = hessian + 1e-14 * np.trace(hessian) / len(x) * np.eye(len(x))
        step = -np.linalg.solve(hessian, gradient)
        decrement = float(-gradient @ step)
        if decrement < SQUEEZE_DECREMENT:
            return x
        length, value = 1.0, _value(cones, x, Q, g)
        while not _value(cones, x + length * step, Q, g) <= value - 0.1 * length * decrement:
            length *= 0.5
            if length < 1e-9:  # no further to the roundings of the value
                return x
        x = x + length * step
    return x


def _value(cones: list[Cone], x: np.ndarray, Q: np.ndarray, g: np.ndarray) -> float:
    """½x*Qx + g x − Σ log of the cones; infinite outside of them."""
    total = float(0.5 * x @ Q @ x + g @ x)
    for c in cones:
        n, t = c.rest(x)
        r = n * n - float(t @ t) if len(t) else n
        if n <= 0 or r <= 0:
            return np.inf
        total -= float(np.log(r))
    return total
