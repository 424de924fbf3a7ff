"""How fast springs and dampers of joints can make a robot move, whatever its configuration: a bound from its bodies.

Motions die away and swing at rates λ with λ² + λδ + ω² = 0, where δ ≤ max λ(𝓜⁻¹d) and ω² ≤ max λ(𝓜⁻¹k), so that
|λ| ≤ max λ(𝓜⁻¹d) + √max λ(𝓜⁻¹k). The mass matrix depends on q, but not what it is at least. Of all motions of the
bodies by themselves with F*V = β, tied by nothing but the rates of these joints, the one with the least kinetic energy
has ½β*W⁻¹β (Gauss' principle; the joints tie them further, and so do loops and couplings):

    𝓜 ⪰ W⁻¹ + Γ,    W = Σ_b F_b* M_b⁻¹ F_b

where the columns of F_b are the forces ±f, H f = 1, that a joint exerts on the bodies at its two sides. A couple about
the axis of a hinge, and a force along that of a slider, stay what they are in both of them as joints move: W is a
matrix of numbers. (A body that hangs on the world by one such joint moves along H* alone, with H*(H M H*)⁻¹H for M⁻¹.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..model.joints.kinds import Helical, Prismatic, Revolute
from ..model.model import BodyConstants, Model

EXPLICIT_UP_TO = 1.0  # h|λ| up to which steps stay explicit; all of them are stable to 2 and more
KINDS = (Revolute, Prismatic, Helical)  # whose axis is the same line in both bodies
_ROUNDED = 1e-12  # share of an inertia below which it is taken for none


def highest_rate(model: Model, damping: Any, stiffness: Any) -> float:
    """A bound [1/s] of the rates that dampers and springs, of the joints and others beside, give a robot anywhere.

    ``damping`` and ``stiffness`` (nv,) are what acts beside. Infinite where no bound is known: of joints of more than
    one freedom, bodies that are points or have no mass, modes, and rotors with gyroscopic effects.
    """
    beside = [np.broadcast_to(np.asarray(x, dtype=float), (1, model.nv)) for x in (damping, stiffness)]
    return float(highest_rates(model, *beside)[0])


def highest_rates(model: Model, damping: np.ndarray, stiffness: np.ndarray) -> np.ndarray:
    """The same of many, (n, nv) → (n,); each as it is alone."""
    d, k = _at_joints(model, damping, stiffness)
    holds = (d != 0.0) | (k != 0.0)
    found = np.full(len(d), math.inf)
    constants = model.constants()
    if any(c.spin is not None for c in constants):
        return found
    for pattern in np.unique(holds, axis=0):  # which joints have dampers or springs
        held = np.flatnonzero(pattern).tolist()
        W = None if any(type(constants[j].kind) not in KINDS for j in held) else _relaxed(model, held)
        if W is not None:
            those = (holds == pattern).all(axis=1)
            scales = [np.sqrt(x[those][:, held]) for x in (d, k)]
            fastest = [_largest(W * (x[:, :, None] * x[:, None, :])) for x in scales]
            found[those] = fastest[0] + np.sqrt(fastest[1])
    return found


def _largest(A: np.ndarray) -> np.ndarray:
    """The largest eigenvalue of each of (n, k, k), none below 0."""
    return np.asarray(np.linalg.eigvalsh(A).max(axis=-1, initial=0.0))


def _at_joints(model: Model, damping: np.ndarray, stiffness: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(d, k) of every joint of the tree, (n, bodies) each, over its freedoms added up."""
    found = np.zeros((2, len(damping), len(model.bodies)))
    for j, c in enumerate(model.constants()):
        own: tuple[Any, Any] = (None, None) if c.spring is None else (c.spring.damping, c.spring.stiffness)
        for i, x in enumerate(own):
            given: Any = (damping, stiffness)[i][:, model.v_slices[j]].sum(axis=1) if c.kind.nv else 0.0
            found[i, :, j] = given + (0.0 if x is None else float(np.sum(x)))
    return found[0], found[1]


def _relaxed(model: Model, held: Sequence[int]) -> np.ndarray | None:
    """(W⁻¹ + Γ)⁻¹ over some joints; None where a body gives way without bounds."""
    constants, n = model.constants(), len(held)
    F = _forces(model, held)
    W = np.zeros((n, n))
    for j, c in enumerate(constants):
        if not F[j].any():
            continue
        gives = _gives_way(c, hangs=model.parents[j] < 0 and type(c.kind) in KINDS)
        if gives is None:
            return None
        W += F[j].T @ gives @ F[j]
    geared = np.diag([0.0 if constants[j].reflected is None else constants[j].reflected[0, 0] for j in held])
    return np.asarray(np.linalg.solve(np.eye(n) + W @ geared, W))


def _forces(model: Model, held: Sequence[int]) -> np.ndarray:
    """F_b of every body, (bodies, 6, n)."""
    constants = model.constants()
    F = np.zeros((len(constants), 6, len(held)))
    for column, j in enumerate(held):
        c, parent = constants[j], model.parents[j]
        H = c.kind.H_star[:, 0]
        f = H / (H @ H)
        F[j, :, column] += f
        if parent >= 0:
            at_rest = c.placement.compose(c.kind.transform(c.kind.neutral()))
            F[parent, :, column] -= np.asarray(at_rest.matrix) @ f
    return F


def _gives_way(c: BodyConstants, hangs: bool) -> np.ndarray | None:
    """M⁻¹ of a body, or what is left of it by one joint to the world; None where there is none."""
    M = np.asarray(c.M.matrix, dtype=float)
    if hangs:
        H = c.kind.H_star[:, 0]
        inertia = float(H @ M @ H)
        return np.outer(H, H) / inertia if inertia > 0.0 else None
    sizes = np.sqrt(np.diagonal(M).clip(0.0))
    if not sizes.all():
        return None
    least = np.linalg.eigvalsh(M / np.outer(sizes, sizes))[0]
    return np.linalg.inv(M) if least > _ROUNDED else None
