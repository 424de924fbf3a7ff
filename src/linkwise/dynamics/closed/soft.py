"""Loops that give: springs and dampers between two frames, λ = −(k g + d Gβ), as forces on bodies; their energy."""

from __future__ import annotations

from collections.abc import Sequence

from ... import arrays
from ...arrays import Array
from ...model.loops import Loop
from ...model.model import Model
from ..links import evaluate, velocities
from .closures import Closure, closures
from .loop_errors import spring_energy


def _multipliers(closure: Closure, V: list[Array]) -> Array:
    """λ, (..., m, 1)."""
    loop = closure.loop
    out = -(loop.stiffness or 0.0) * closure.error[..., :, None]
    return out - loop.damping * closure.velocity(V) if loop.damping else out


def energy(model: Model, q: Array, loops: Sequence[Loop]) -> Array:
    """What the springs of soft loops hold, (...) [J]."""
    found = closures(model, evaluate(model, q), loops)
    return arrays.total([0.0 * q[..., 0], *(spring_energy(x.loop, x.E, x.d) for x in found)])


def dissipation(model: Model, q: Array, v: Array, loops: Sequence[Loop]) -> Array:
    """What the dampers of soft loops take, Σ d|Gβ|², (...) [W]."""
    links = evaluate(model, q)
    V = velocities(links, links.split(v))
    taken = []
    for x in closures(model, links, [loop for loop in loops if loop.damping]):
        rate = x.velocity(V)
        taken.append((x.loop.damping * (rate * rate).sum(axis=-2))[..., 0])
    return arrays.total([0.0 * v[..., 0], *taken])


def soft_forces(model: Model, q: Array, v: Array, loops: Sequence[Loop]) -> list[Array]:
    """Wλ of every loop, (..., 6), what it does to its frame b, in frame a's axes at its origin."""
    links = evaluate(model, q)
    V = velocities(links, links.split(v))
    return [(x.W @ _multipliers(x, V))[..., 0] for x in closures(model, links, loops)]


def with_springs(model: Model, q: Array, v: Array, external: Array | None, loops: Sequence[Loop]) -> Array | None:
    """External forces (..., bodies, 6) and those of soft loops beside them, in body axes."""
    if not loops:
        return external
    links = evaluate(model, q)
    V = velocities(links, links.split(v))
    per_body: list[Array] = [arrays.zeros((6, 1), like=q) for _ in links.sizes]
    for x in closures(model, links, loops):
        for body, F in x.forces(_multipliers(x, V)).items():
            per_body[body] = per_body[body] + F
    springs = arrays.stack([x[..., 0] for x in per_body], axis=-2)
    return springs if external is None else external + springs
