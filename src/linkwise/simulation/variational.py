"""The variational step: a discrete action principle on the configuration manifold."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import arrays
from ..arrays import Array, SameKind
from ..robot.robot import Robot
from ..spatial import cross_motion_matrix
from .system import System

ITERATIONS = 6  # what is missing shrinks by about ½h × the largest rate with each
CONVERGED = 1e-3  # the largest change in the last of them, against 1 + |ξ|, that is taken


def variational(s: System, t: Any, q: Array, w: Array, h: Any) -> tuple[SameKind, SameKind]:
    """Stationary discrete action Σ h L(q ⊕ ½hξ, ξ), q' = q ⊕ hξ: symplectic, second order, keeps momenta.

    With p = 𝓜v, q̄ = q ⊕ ½hξ, μ = 𝓜(q̄)ξ and the rate ṗ(q̄, ξ) of :mod:`linkwise.dynamics.momentum_coordinates`, the
    variation of the action (Lagrange–d'Alembert, where forces act) is

        p + ½h ṗ = c(hξ)*μ + ½h tanh(¼ ad(hξ))*f,        p' = p + h ṗ,

    c(x) = ½ad(x) coth ½ad(x), f = ṗ − ad(ξ)*μ, where ad is that of each joint's group. It is zero for all joints but
    those with quaternions and planar ones: for the others this is the implicit midpoint rule in (q, p). ξ is found by
    a fixed number of iterations ξ ← 𝓜(q̄)⁻¹[…]; compiled code reports where they have not settled.
    """
    v = s.velocity(q, w)
    p = _mass_times(s, q, v)
    xi = before = v
    for _ in range(ITERATIONS):
        before = xi
        middle = s.robot.integrate(q, 0.5 * h * xi)
        rate, _ = _momentum_rate(s, t, middle, xi, h)
        mean = p + 0.5 * h * rate - _turning(s, middle, xi, rate, h)
        xi = _mass_solve(s, middle, mean)
    change, size = arrays.square_length(xi - before), arrays.square_length(xi)
    arrays.require_positive(CONVERGED**2 * (1.0 + size) - change, always=True)
    rate, powers = _momentum_rate(s, t, s.robot.integrate(q, 0.5 * h * xi), xi, h)
    q = s.robot.integrate(q, h * xi)
    v = _mass_solve(s, q, p + h * rate)
    if powers is None:
        return q, v
    return q, np.concatenate([v, w[..., s.robot.nv :] + h * powers], axis=-1)


def _mass_times(s: System, q: Array, v: Array) -> SameKind:
    return s.dynamics.mass_times(q, v, target=s.target)


def _mass_solve(s: System, q: Array, p: Array) -> SameKind:
    return s.dynamics.mass_solve(q, p, target=s.target)


def _momentum_rate(s: System, t: Any, q: Array, xi: Array, h: Any) -> tuple[SameKind, SameKind | None]:
    total, powers = s.forces(s.applied(t + 0.5 * h, q, xi), q, xi)
    return s.dynamics.momentum_force(q, xi, target=s.target) + total, powers


_COTH = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160)  # ½x coth ½x − 1, powers x², x⁴, …
_TANH = (1.0, -1 / 3, 2 / 15, -17 / 315, 62 / 2835)  # powers y, y³, …


def _turning(s: System, q: Array, xi: Array, rate: Array, h: Any) -> Any:
    """(c(hξ) − 1)*μ + ½h tanh(¼ ad(hξ))*f, (..., nv): what joints that do not commute add, to 1e-15 for h|ω| < 0.3."""
    if all(_commutes(joint.kind) for joint, _, _ in s.robot.coordinates):
        return 0.0
    mu = _mass_times(s, q, xi)
    parts = []
    for joint, _, where in s.robot.coordinates:
        kind = joint.kind
        if _commutes(kind):
            parts.append(0.0 * mu[..., where])
            continue
        basis = arrays.constant(kind.H_star, like=xi)
        ad = basis.T @ cross_motion_matrix(basis @ xi[..., where, None]) @ basis  # its columns are orthonormal
        dual = arrays.transpose(ad)
        m, r = mu[..., where, None], rate[..., where, None]
        f = r - dual @ m
        step = h * dual
        quarter = 0.25 * step
        first = _even_series(step, _COTH, step @ (step @ m))
        second = _even_series(quarter, _TANH, quarter @ f)
        parts.append((first + 0.5 * h * second)[..., 0])
    return np.concatenate(parts, axis=-1)


def _even_series(A: Array, coefficients: tuple[float, ...], start: Array) -> SameKind:
    """Σ c_k A^{2k} start."""
    total, term = coefficients[0] * start, start
    for c in coefficients[1:]:
        term = A @ (A @ term)
        total = total + c * term
    return total


def _commutes(kind: Any) -> bool:
    return kind.kind not in ("spherical", "planar", "free") and getattr(kind, "commutes", True)


def joint_without_group(robot: Robot) -> str | None:
    """The name of a joint that is no group, so that the variational step has no meaning; None where all are."""
    return next((j.name for j in robot.joints if not getattr(j.kind, "commutes", True)), None)
