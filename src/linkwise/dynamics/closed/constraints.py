"""What the loops of a robot ask of its joints: their error, Gβ, G and Gβ̇ + Ġβ."""

from __future__ import annotations

from collections.abc import Sequence

from ... import arrays
from ...arrays import Array
from ...model.loops import Loop
from ...model.model import Model
from ..links import Links, accelerations, at_rest, coriolis_accelerations, evaluate, velocities
from .closures import Closure, closures
from .elimination import common_ancestor


def stacked(parts: Sequence[Array], like: Array, width: int) -> Array:
    """Rows of several loops, (..., m, width), also where there are none."""
    return arrays.concatenate(parts, axis=-2) if parts else arrays.zeros((0, width), like=like)


def error(model: Model, q: Array, loops: Sequence[Loop]) -> Array:
    """How far the loops are from closing, (..., m) [rad, m]."""
    parts = [x.error[..., :, None] for x in closures(model, evaluate(model, q), loops)]
    return stacked(parts, q, 1)[..., 0]


def velocity(model: Model, q: Array, v: Array, loops: Sequence[Loop]) -> Array:
    """Gβ, (..., m) [rad/s, m/s]: how fast the loops come apart."""
    links = evaluate(model, q)
    V = velocities(links, links.split(v))
    return stacked([x.velocity(V) for x in closures(model, links, loops)], q, 1)[..., 0]


def jacobian(model: Model, q: Array, loops: Sequence[Loop]) -> Array:
    """G = 𝓑*φ*H*, (..., m, nv): the loops come apart at the rates Gβ."""
    links = evaluate(model, q)
    return jacobian_of(links, closures(model, links, loops))


def jacobian_of(links: Links, closed: Sequence[Closure]) -> Array:
    """G, row by row along the two branches of every loop."""
    widths = [x.loop.size for x in closed]
    whole = arrays.from_blocks(adjoint_blocks(links, closed), links.sizes, widths, like=links.q)
    return arrays.transpose(whole if links.lift is None else links.join_rows(links.unstack(whole), sum(widths)))


def adjoint_blocks(links: Links, closed: Sequence[Closure]) -> dict[tuple[int, int], Array]:
    """G* by body and loop: inboard of where the branches of a loop meet, its forces are in balance."""
    blocks: dict[tuple[int, int], Array] = {}
    for i, x in enumerate(closed):
        meet = common_ancestor(links, *x.bodies)
        for k, F in x.forces(arrays.eye(x.loop.size, like=links.q)).items():
            while k != meet:
                if links.sizes[k]:
                    blocks[k, i] = links.H[k] @ F
                F = links.phi[k] @ F
                k = links.tree.parent(k)
    return blocks


def acceleration(model: Model, links: Links, closed: Sequence[Closure], v: Array, a: Array) -> Array:
    """Gβ̇ + Ġβ, (..., m, 1)."""
    beta = links.split(v)
    V = velocities(links, beta)
    bias = coriolis_accelerations(model, links, V, beta)
    A = accelerations(links, links.accelerated(beta, a), bias, at_rest(links.q))
    return stacked([x.acceleration(V, A) for x in closed], links.q, 1)
