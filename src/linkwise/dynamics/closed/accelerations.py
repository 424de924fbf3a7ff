"""β̇ of a closed robot in one elimination, from the forces that bodies ask for while no joint accelerates.

These forces, Mα₀ + b of every body, go inward with the elimination itself. Where a loop holds a body of a floating
robot to the world, the tree grows from there (:mod:`.held_root`), and α₀ starts with what the loop leaves that body.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import arrays
from ...arrays import Array
from ...model.loops import Loop
from ...model.model import Model
from ...spatial import cross
from .. import springs
from ..inverse import split_forces
from ..links import (
    Links,
    applied_forces,
    base_acceleration,
    classical_coriolis,
    classical_gyroscopic,
    evaluate,
    velocities,
)
from .closures import Closure, closures, in_motion_axes
from .elimination import eliminate
from .held_root import HeldRoot, best_to_hold, held_root


def is_covered(model: Model, q: Array) -> bool:
    """Whether bodies are single and no rotor turns with its carrier."""
    return not model.couplings and all(c.spin is None for c in model.constants(dtype=q.dtype))


def accelerations(model: Model, q: Array, v: Array, tau: Array, external: Array | None, loops: Sequence[Loop]) -> Array:
    """β̇, (..., nv), with rows of loops in any axes."""
    links = evaluate(model, q)
    closed = [in_motion_axes(x) for x in closures(model, links, loops)]
    beta = links.split(v)
    V = velocities(links, beta)
    a = classical_coriolis(model, links, V, beta)
    own = [classical_gyroscopic(M, x) for M, x in zip(links.M, V)]
    b = applied_forces(model, links, V, beta, own, split_forces(external))
    T = springs.left(links.split(tau), springs.forces(model, links, beta))
    g = links.tree.outward(lambda inboard, phi: phi.T @ inboard, base_acceleration(model, q), links.phi)
    # what a body has that a loop to the world holds, classical: [0; ω × v] beside gravity
    turning = {k: _turning(V[k]) for x in closed for k in x.bodies if k >= 0}

    chosen = best_to_hold(model, links, closed)
    if chosen is None:
        a = [x + g[k] if links.tree.on_world(k) else x for k, x in enumerate(a)]
        alpha = _at_rest(links, a)
        loads = [M @ x + y for M, x, y in zip(links.M, alpha, b)]
        asked = _asked(closed, V, alpha, g, turning)
        y, _, _ = eliminate(model, links, closed).solve_nodes(T, asked, loads=loads)
        return links.join(y)
    grown = held_root(links, closed[chosen])
    others = [x for i, x in enumerate(closed) if i != chosen]
    alpha = _grown_at_rest(links, grown, a, g, turning)
    loads = [M @ x + y for M, x, y in zip(links.M, alpha, b)]
    loads[grown.base] = loads[grown.base] - T[grown.base]
    asked = _asked(others, V, alpha, g, turning)
    opened = eliminate(model, grown.links, [grown.closure(x) for x in others])
    y, moved, _ = opened.solve_nodes(grown.at_hinges(T), asked, loads=grown.at_places(loads))
    k = grown.base
    return links.join(grown.of_joints(y, alpha[k] + moved[grown.place[k]] - a[k] - g[k]))


def _turning(V: Array) -> Array:
    """[0; ω × v], by which classical accelerations are more than spatial ones."""
    w, v = V[..., :3, :], V[..., 3:, :]
    return arrays.concatenate([0.0 * w, cross(w, v)], axis=-2)


def _at_rest(links: Links, a: Sequence[Array]) -> list[Array]:
    """α = φ*a, where no joint accelerates."""
    nothing = arrays.zeros((6, 1), like=links.q)
    return links.tree.outward(lambda inboard, phi, own: phi.T @ inboard + own, nothing, links.phi, a)


def _grown_at_rest(
    links: Links, grown: HeldRoot, a: list[Array], g: list[Array], turning: dict[int, Array]
) -> list[Array]:
    """α of every body where no joint accelerates and the root does what its loop leaves it."""
    nothing = arrays.zeros((6, 1), like=links.q)
    own: list[Any] = [nothing] * len(grown.links.sizes)
    for k, x in enumerate(grown.at_hinges(a)[node] if node >= 0 else None for k, node in enumerate(grown.hinge)):
        if x is not None:
            own[grown.hinge[k]] = x + g[k] if links.tree.on_world(k) else x
    root = grown.place[grown.root]
    own[root] = g[grown.root] + turning[grown.root]
    found = _at_rest(grown.links, own)
    return [found[node] for node in grown.place]


def _asked(
    loops: Sequence[Closure], V: list[Array], alpha: list[Array], g: list[Array], turning: dict[int, Array]
) -> list[Array]:
    """By loop −(Gβ̇ + Ġβ) where no joint accelerates, (..., m, 1); gravity is in both ends, or in neither."""
    out = []
    for x in loops:
        spatial = {k: alpha[k] - turning[k] for k in x.bodies if k >= 0}
        if min(x.bodies) < 0:
            spatial = {k: A - g[k] for k, A in spatial.items()}
        out.append(-x.acceleration(V, spatial))
    return out
