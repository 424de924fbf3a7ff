"""Motion in momenta: p = 𝓜β, and how it changes.

    ṗ = 𝓜̇β − 𝓒 − gravity − what springs and dampers ask + T

In the papers' terms p = Hh, where h = φMV holds the momenta of what is outboard of each joint. The inertial rate of
h(k) is the force across joint k plus the weight outboard; seen from body k it is less S[V]h. So, without T,

    ṗ = −H [S[V]h + φM a_g] + (dH/dt) h,      a_g the acceleration of gravity as the base's (math notes 3),

which takes one sweep outward and one inward, and no accelerations.
"""

from __future__ import annotations

from typing import Any

from .. import arrays
from ..arrays import Array
from ..model.model import Model
from ..spatial import RigidInertia, Transform, cross_force
from . import springs
from .coupled_links import adjoint_times
from .links import Links, base_acceleration, evaluate, map_rates, velocities


def momentum_force(model: Model, q: Array, v: Array) -> Array:
    """ṗ − T, (..., nv): how fast 𝓜v changes where no joint forces act."""
    links = evaluate(model, q)
    beta = links.split(v)
    V = velocities(links, beta)
    gravity = links.tree.outward(lambda above, phi: phi.T @ above, base_acceleration(model, q), links.phi)

    outboard = _outboard(links, V, beta, gravity)
    rates = []
    for H, x, (h, weight), turning in zip(links.H, V, outboard, map_rates(model, links, beta)):
        rate = -(H @ (cross_force(x, h) + weight))
        rates.append(rate if turning is None else rate + turning.mT @ h)
    bending = links.slope_rates(beta)
    if bending:  # d(X*p)/dt has Ẋ*p of the tree's momenta too
        p = [H @ h for H, (h, _) in zip(links.H, outboard)]
        p = [x if g is None else x + g @ b for x, g, b in zip(p, links.Gamma, beta)]
        rates = [x + y for x, y in zip(rates, adjoint_times(bending, p))]
    return links.join(springs.left(rates, springs.forces(model, links, beta)))


def _outboard(links: Links, V: list[Array], beta: list[Array], gravity: list[Array]) -> list[tuple[Array, Array]]:
    """h(k) = Σ φ(h + sβ) + MV with the rotors' momenta sβ, and Σ φM a_g, over all that is outboard of each joint."""

    def step(inner: Any, phi: Transform, M: RigidInertia, V: Array, a: Array, spun: Any) -> Any:
        h, z = inner[0] + M @ V, inner[1] + M @ a
        return (phi @ (h if spun is None else h + spun), phi @ z), (h, z)

    spinning = [None if s is None else s @ b for s, b in zip(links.s, beta)]
    nothing = arrays.zeros((6, 1), like=links.q)
    return links.tree.inward(step, (nothing, nothing), links.phi, links.M, V, gravity, spinning)
