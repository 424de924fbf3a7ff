"""Energies, momentum and centroidal quantities of the whole robot, in world axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import arrays
from ..arrays import Array
from ..errors import ModelError
from ..model.model import Model
from ..spatial import RigidInertia, Transform, congruence
from . import springs
from .inverse import composite_inertias
from .kinematics import body_poses
from .links import (
    Links,
    accelerations,
    coriolis_accelerations,
    evaluate,
    gyroscopic_forces,
    spinning_rotors,
    velocities,
)


def kinetic_energy(model: Model, q: Array, v: Array) -> Array:
    """½ β*𝓜β = ½ Σ V*MV, rotors included, (...) [J]."""
    links = evaluate(model, q)
    beta = links.split(v)
    V = velocities(links, beta)
    rotors = spinning_rotors(model, links, V)
    total = arrays.zeros(q.shape[:-1], like=q)
    for k, (M, x) in enumerate(zip(links.M, V)):
        total = total + 0.5 * (x.mT @ (M @ x))[..., 0, 0]
        if links.Gamma[k] is not None:
            total = total + 0.5 * (beta[k].mT @ (links.Gamma[k] @ beta[k]))[..., 0, 0]
        if rotors[k] is not None:
            carried = links.phi[k].T @ rotors[k][1]
            total = total + (links.s[k].mT @ carried @ beta[k])[..., 0, 0]
    return total


def potential_energy(model: Model, q: Array) -> Array:
    """−Σ m g·c + ½ Σ k δ², (...) [J]: zero with the centre of mass at the world's origin and springs at rest."""
    R = total_inertia(evaluate(model, q))
    lifted: Array = -(R.h @ arrays.constant(np.asarray(model.gravity), like=q))
    return lifted + springs.energy(model, q) if model.has_springs else lifted


def total_inertia(links: Links) -> RigidInertia:
    """The inertia of the whole robot about the world's origin, frozen in this pose."""
    q = links.q
    total = RigidInertia(*(arrays.zeros(q.shape[:-1] + tail, like=q) for tail in ((), (3,), (3, 3))))
    for X, M in zip(body_poses(links), links.M):
        total = total + congruence(X, M)
    return total


def center_of_mass(model: Model, q: Array) -> Array:
    """The position (..., 3) [m] of the centre of mass of all bodies."""
    return _center(model, total_inertia(evaluate(model, q)))


def _center(model: Model, R: RigidInertia) -> Array:
    _mass(model, R.m)
    center: Array = R.h / arrays.stack([R.m])  # (the mass may be one symbol)
    return center


def _mass(model: Model, like: Array) -> Any:
    """The mass of all bodies, of symbols where the model's numbers are; none is an error."""
    masses = [c.M.m[()] for c in model.constants(dtype=like.dtype)]
    total = sum(masses)
    if isinstance(total, (int, float, np.floating)) and total == 0:
        raise ModelError(f"robot {model.name!r} has no mass, so no centre of mass")
    return total


def momentum_matrix(model: Model, q: Array) -> Array:
    """A with A β the spatial momentum about the world's origin, (..., 6, nv): columns φ(0,k) R(k) H*(k)."""
    links = evaluate(model, q)
    return _momentum_matrix(links)


def _momentum_matrix(links: Links) -> Array:
    poses = body_poses(links)
    columns = []
    for k, R in enumerate(composite_inertias(links)):
        column = R @ links.H[k].mT
        if links.s[k] is not None and not links.tree.on_world(k):  # s is a pure moment: its point does not matter
            column = column + links.s[k]
        columns.append(poses[k] @ column)
    return links.join_columns(columns, 6)


def momentum(model: Model, q: Array, v: Array) -> Array:
    """Σ φ(0,k) M(k) V(k): angular about the world's origin, then linear, (..., 6)."""
    return (momentum_matrix(model, q) @ v[..., None])[..., 0]


def centroidal_matrix(model: Model, q: Array) -> Array:
    """A_G with A_G β the momentum about the centre of mass, (..., 6, nv), world axes."""
    links = evaluate(model, q)
    return _to_center(model, links) @ _momentum_matrix(links)


def _to_center(model: Model, links: Links) -> Transform:
    """φ(c, 0): forces and momenta from the world's origin to the centre of mass, axes kept."""
    c = _center(model, total_inertia(links))
    return Transform(arrays.eye(3, like=links.q), -c)


def centroidal_momentum(model: Model, q: Array, v: Array) -> Array:
    """Angular momentum about the centre of mass, then linear momentum, (..., 6), world axes."""
    return (centroidal_matrix(model, q) @ v[..., None])[..., 0]


def centroidal_bias(model: Model, q: Array, v: Array) -> Array:
    """Ȧ_G β, (..., 6): the rate of the centroidal momentum while β̇ = 0."""
    links = evaluate(model, q)
    beta = links.split(v)
    V = velocities(links, beta)
    a = coriolis_accelerations(model, links, V, beta)
    b = gyroscopic_forces(model, links, V, beta, None)
    alpha = accelerations(links, links.accelerated(beta, None), a, arrays.zeros((6, 1), like=q))
    rate: Any = 0
    for X, M, A, c in zip(body_poses(links), links.M, alpha, b):
        rate = rate + X @ (M @ A + c)
    # About the moving centre: its velocity is parallel to the momentum, so no further term arises.
    about_center: Array = (_to_center(model, links) @ rate)[..., 0]
    return about_center


def center_of_mass_jacobian(model: Model, q: Array) -> Array:
    """(..., 3, nv), world axes: its product with v is the velocity of the centre of mass."""
    jacobian: Array = momentum_matrix(model, q)[..., 3:, :] / _mass(model, q)
    return jacobian
