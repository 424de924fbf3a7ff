"""Where a robot rests under gravity, springs and loads: Newton's method on its statics, with exact derivatives.

A step solves (K*K + μI)δ = −K*r in coordinates in which all joints weigh alike (Levenberg and Marquardt), which leads
to equilibria of all sorts near by. Where steps no longer lower what is left, the robot is let fall: down its energy, by
steps −(|K| + μ)⁻¹r, until it rests in a stable one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arguments import number, one_of, whole
from ..array_kinds import refuse_all_but_numpy
from ..dynamics.closed import constraints
from ..errors import InputError
from .dispatch import TARGETS
from .modes import eigenvalues
from .stiffness import Held, Loads, asked, held, refuse_infinite

_LONGEST = 0.7  # [rad, m] that a joint moves in a step
_PATIENCE = 6  # steps of Newton's that do not help, before the robot is let fall
_LAST = 3  # steps that refine what is reached
_FLAT = 1e-9  # of the largest eigenvalue, below which nothing bends
_NOISE = 1e-13  # of the largest joint force, which sums along chains are known to
_CLOSING = 8  # steps of Newton's that close loops after one
_CLOSED = 1e-13  # [rad, m] by which loops are open then
_STILL_CLOSED = 1e-10  # and may be


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """What :meth:`Robot.equilibrium` found: ``q`` (..., nq), and whether each is ``reached`` (...).

    ``residual`` (...) [N m, N] is the largest joint force that is left there, of ``unbalanced`` (..., nv): where
    nothing balances, ``q`` is the configuration with the least that was found. ``lowest`` (...) [1/s²] is the smallest
    eigenvalue of 𝓜⁻¹K, the square of the lowest frequency: the equilibrium is ``stable`` (...) where it is positive, by
    more than roundings.
    """

    q: np.ndarray
    reached: np.ndarray
    residual: np.ndarray
    unbalanced: np.ndarray
    lowest: np.ndarray
    stable: np.ndarray
    steps: np.ndarray

    def __repr__(self) -> str:
        count = int(np.sum(self.reached))
        left = "" if self.reached.all() else f", up to {float(np.max(self.residual)):.3g} left"
        firm = int(np.sum(self.stable & self.reached))
        return f"<Equilibrium: {count} of {self.reached.size} reached{left}; {firm} stable>"


def equilibrium(
    robot: Any,
    q0: Any = None,
    tau: Any = None,
    *,
    external: Any = None,
    tolerance: float = 1e-10,
    steps: int = 200,
    target: str | None = None,
) -> Equilibrium:
    """See :meth:`.statics.Statics.equilibrium`."""
    refuse_all_but_numpy(q0=q0, tau=tau, external=external)
    number(tolerance, "tolerance", above=0.0)
    whole(steps, "steps", least=1)
    if target is not None:
        one_of(target, TARGETS, "target", error=InputError)
    q, loads, batch = asked(robot, robot.neutral() if q0 is None else q0, tau, external)
    if robot.loops:
        q = np.asarray(robot.closed_configuration(q))
    found = _Search(robot, loads, tolerance, target).run(q, steps)
    return _shaped(found, batch)


@dataclass(frozen=True, eq=False)
class _Search:
    robot: Any
    loads: Loads
    tolerance: float
    target: str | None

    def run(self, q: np.ndarray, steps: int) -> Equilibrium:
        """From configurations (n, nq), each by itself until it is reached or its steps are spent."""
        q = q.copy()
        x = self._held(q, np.arange(len(q)))
        refuse_infinite(self.robot, x)
        weights = 1.0 / np.sqrt(np.maximum(np.einsum("nii->ni", x.mass), 1e-12))
        best, least = q.copy(), _size(x, weights)
        mu, taken = np.full(len(q), 1e-6), np.zeros(len(q), int)
        failed = np.zeros(len(q), int)  # steps of Newton's in a row; after some it falls, to the end
        for _ in range(steps):
            open_ = np.flatnonzero(~self._reached(x))
            if not open_.size:
                break
            here, w, falls = _some(x, open_), weights[open_], failed[open_] >= _PATIENCE
            step = np.where(falls[:, None], _fall(here, w, mu[open_]), _newton(here, w, mu[open_]))
            moved, closed = self._moved(q[open_], step)
            after = self._held(moved, open_)
            size = _size(after, w)
            down = (after.left * step).sum(-1) <= 0.5 * np.abs((here.left * step).sum(-1))  # not far past the bottom
            closed = closed & np.isfinite(after.left).all(-1) & np.isfinite(after.stiffness).all((-1, -2))
            good = closed & np.where(falls, down, size < _size(here, w) * (1 - 1e-12))
            mu[open_] = np.where(good, mu[open_] * 0.1, np.minimum(mu[open_] * 10.0, 1e8))
            failed[open_] = np.where(good & ~falls, 0, failed[open_] + ~falls)
            mu[open_[(failed[open_] == _PATIENCE) & ~falls]] = 1e-6
            taken[open_] += 1
            q[open_[good]] = moved[good]
            nearer = open_[good & (size < least[open_])]
            best[nearer], least[nearer] = q[nearer], size[good & (size < least[open_])]
            x = _merged(x, after, open_, good)
        q = np.where(self._reached(x)[:, None], q, best)
        q, x = self._refined(q, weights)
        return _told(q, x, self._reached(x), taken)

    def _refined(self, q: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, Held]:
        """Where it is reached, last steps without damping, kept where they help."""
        rows = np.arange(len(q))
        x = self._held(q, rows)
        for _ in range(_LAST):
            moved, closed = self._moved(q, _newton(x, weights, np.full(len(q), 1e-15)))
            after = self._held(moved, rows)
            better = self._reached(x) & closed & (_size(after, weights) < 0.5 * _size(x, weights))
            q, x = np.where(better[:, None], moved, q), _merged(x, after, rows, better)
            if not better.any():
                break
        return q, x

    def _held(self, q: np.ndarray, rows: np.ndarray) -> Held:
        return held(self.robot, q, self.loads.some(rows), self.target)

    def _reached(self, x: Held) -> np.ndarray:
        """Whether what is left at each joint is a rounding of what balances there, or of what 1 rad or m would make.

        (Not of the stiffest joint's: beside a stiff one, a soft one would count as balanced anywhere.)
        """
        size = np.maximum(np.abs(x.T), np.abs(x.stiffness).sum(-1))
        noise = _NOISE * np.abs(x.T).max(-1, keepdims=True, initial=0.0)
        return np.asarray((np.abs(x.left) <= self.tolerance * size + noise).all(-1))

    def _moved(self, q: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q ⊕ step with its loops closed, and whether that went well."""
        robot = self.robot
        q = np.asarray(robot.integrate(q, step))
        if not robot.loops or not robot.rigid_loops:
            return q, np.isfinite(q).all(-1)
        for _ in range(_CLOSING):
            error = np.abs(np.asarray(constraints.error(robot, q, robot.rigid_loops))).max(-1)
            if (error < _CLOSED).all():
                break
            q = np.asarray(robot.integrate(q, robot.closing_step(q, target=self.target)))
        return q, np.isfinite(q).all(-1) & (error < _STILL_CLOSED)


def _newton(x: Held, w: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """δ with (A*A + μ|A|²)Wδ' = −A*Wr, A = WNKNW, no joint moved by more than :data:`_LONGEST`."""
    scale = w[:, :, None] * w[:, None, :]
    U, s, V = np.linalg.svd(scale * (x.free @ x.stiffness @ x.free))
    damped = s * s + mu[:, None] * np.maximum(s.max(-1, keepdims=True, initial=0.0), 1e-300) ** 2
    r = np.einsum("nji,nj->ni", U, w * x.left)
    step = -np.einsum("nji,nj->ni", V, s / damped * r)
    return _bounded((x.free @ (w * step)[..., None])[..., 0], _LONGEST)


def _fall(x: Held, w: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """−(|A| + μ)⁻¹r, A the symmetric part of WNKNW: down the energy, away from saddles, Newton's near the bottom."""
    scale = w[:, :, None] * w[:, None, :]
    A = scale * (x.free @ x.stiffness @ x.free)
    values, Q = np.linalg.eigh(0.5 * (A + np.swapaxes(A, -1, -2)))
    size = np.abs(values)
    largest = np.maximum(size.max(-1, keepdims=True, initial=0.0), 1e-300)
    r = np.einsum("nji,nj->ni", Q, w * x.left)
    step = -np.einsum("nij,nj->ni", Q, r / (size + (mu[:, None] + _FLAT) * largest))
    return _bounded((x.free @ (w * step)[..., None])[..., 0], _LONGEST)


def _bounded(step: np.ndarray, longest: float) -> np.ndarray:
    largest = np.abs(step).max(-1, keepdims=True, initial=0.0)
    return np.asarray(step * np.minimum(1.0, longest / np.maximum(largest, 1e-300)))


def _size(x: Held, w: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.norm(w * x.left, axis=-1))


def _some(x: Held, rows: np.ndarray) -> Held:
    return Held(*(getattr(x, name)[rows] for name in x.__dataclass_fields__))


def _merged(x: Held, after: Held, rows: np.ndarray, accepted: np.ndarray) -> Held:
    """x with the rows that were accepted replaced."""
    changed = {}
    for name in x.__dataclass_fields__:
        whole_ = np.array(getattr(x, name))
        whole_[rows[accepted]] = getattr(after, name)[accepted]
        changed[name] = whole_
    return replace(x, **changed)


def _told(q: np.ndarray, x: Held, reached: np.ndarray, steps: np.ndarray) -> Equilibrium:
    lowest, stable = np.zeros(len(q)), np.zeros(len(q), bool)
    for i in range(len(q)):
        squares, firm = eigenvalues(x, i)
        lowest[i], stable[i] = (squares.real.min(initial=np.inf), firm) if squares.size else (np.inf, True)
    return Equilibrium(q, reached, np.abs(x.left).max(-1, initial=0.0), x.left, lowest, stable & reached, steps)


def _shaped(found: Equilibrium, batch: tuple[int, ...]) -> Equilibrium:
    """The results in the batch's shape."""
    shaped = {}
    for name in found.__dataclass_fields__:
        x = getattr(found, name)
        shaped[name] = x.reshape((*batch, *x.shape[1:]))
    return Equilibrium(**shaped)
