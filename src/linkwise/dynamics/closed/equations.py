"""The equations of motion of a closed robot: those of the open tree and of the forces that close its loops.

Operator algebra paper §5, application 3, for any number of loops on any tree. With G the Jacobian of all loops and the
mass matrix 𝓜 of the tree (math notes on closed chains 2.2):

    𝓜β̇ + 𝓒 = T + G*λ        Gβ̇ + Ġβ = 0        P = 𝓜⁻¹ − 𝓜⁻¹G*(G𝓜⁻¹G*)⁺G𝓜⁻¹

Each function poses such equations; :mod:`.elimination` solves them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import arrays
from ...arrays import Array
from ...model.loops import Loop
from ...model.model import Model
from ..forward.methods import FORWARD_METHODS
from ..inverse import bias_force
from ..links import evaluate
from . import constraints
from .accelerations import accelerations as from_bodies
from .accelerations import is_covered
from .closures import closures, in_body_axes
from .elimination import ACCELERATIONS, FORCES, Elimination, Precision, eliminate

OWN_METHOD = "articulated_body"


def factored(
    model: Model,
    q: Array,
    loops: Sequence[Loop],
    precision: Precision = ACCELERATIONS,
    frames: Sequence[Any] = (),
) -> Elimination:
    """The closed robot's equations at a configuration."""
    links = evaluate(model, q)
    return eliminate(model, links, closures(model, links, loops), precision, frames)


def factored_for_motions(model: Model, q: Array, loops: Sequence[Loop], frames: Sequence[Any] = ()) -> Elimination:
    """The same where nobody asks for λ: its rows are in the axes that suit best."""
    links = evaluate(model, q)
    return eliminate(model, links, [in_body_axes(x) for x in closures(model, links, loops)], frames=frames)


# --- forward dynamics ------------------------------------------------------------------------------------------------


def forward_dynamics(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    external: Array | None,
    loops: Sequence[Loop],
    method: str = OWN_METHOD,
    precision: Precision = ACCELERATIONS,
    rate: float = 0.0,
) -> tuple[Array, Array, Elimination]:
    """(β̇, λ) of the closed robot, (..., nv) and (..., m): OA (5.6)–(5.11) for any tree and any loops.

    With "articulated_body", in one elimination; with any other ``method`` first the free accelerations by it, and then
    what the loops change. Where loops are open, their errors g are asked to die away at ``rate`` ω [1/s], by
    Gβ̇ + Ġβ + 2ωGβ + ω²g = 0 (Baumgarte; math notes 13.7).
    """
    opened = factored(model, q, loops, precision)
    y, lam = _solved(model, opened, q, v, tau, external, method, (rate, loops))
    return y, lam, opened


def accelerations(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    external: Array | None,
    loops: Sequence[Loop],
    method: str = OWN_METHOD,
    rate: float = 0.0,
) -> Array:
    """β̇ of :func:`forward_dynamics`; where no errors are to die away, with rows in any axes."""
    if method == OWN_METHOD and not rate and is_covered(model, q):
        return from_bodies(model, q, v, tau, external, loops)
    opened = factored(model, q, loops) if rate else factored_for_motions(model, q, loops)
    return _solved(model, opened, q, v, tau, external, method, (rate, loops))[0]


def _solved(
    model: Model,
    opened: Elimination,
    q: Array,
    v: Array,
    tau: Array,
    external: Array | None,
    method: str,
    closing: tuple[float, Sequence[Loop]],
) -> tuple[Array, Array]:
    """(β̇, λ) in the rows of ``opened``; errors of the loops ``closing`` die away at its rate."""
    rate, loops = closing
    if method == OWN_METHOD:
        free, T = v * 0.0, (tau - bias_force(model, q, v, external))[..., None]
    else:
        free, T = FORWARD_METHODS[method](model, q, v, tau, external).acceleration, None
    b = -constraints.acceleration(model, opened.links, opened.loops, v, free)
    if rate:
        g, G_beta = constraints.error(model, q, loops), constraints.velocity(model, q, v, loops)
        b = b - (2.0 * rate * G_beta + rate * rate * g)[..., None]
    y, lam = opened.solve(T, b)
    return (y[..., 0] if T is not None else free + y[..., 0]), lam[..., 0]


def loop_forces(opened: Elimination, lam: Array) -> Array:
    """Wλ, (..., loops, 6): what each loop does to its frame b, in frame a's axes at its origin."""
    out, start = [], 0
    for x in opened.loops:
        out.append((x.W @ lam[..., start : start + x.loop.size, None])[..., 0])
        start += x.loop.size
    return arrays.stack(out, axis=-2)


def forces(model: Model, q: Array, v: Array, tau: Array, external: Array | None, loops: Sequence[Loop]) -> Array:
    """What each loop does to its frame b, (..., loops, 6)."""
    _, lam, opened = forward_dynamics(model, q, v, tau, external, loops, precision=FORCES)
    return loop_forces(opened, lam)


# --- what the loops leave --------------------------------------------------------------------------------------------


def velocity_change(model: Model, q: Array, wanted: Array, loops: Sequence[Loop]) -> Array:
    """δβ = 𝓜⁻¹G*λ, (..., nv), with Gδβ = ``wanted`` (..., m): of all, the least in kinetic energy (math notes 2.5)."""
    return factored(model, q, loops).solve(None, wanted[..., None])[0][..., 0]


def projector(model: Model, q: Array, loops: Sequence[Loop]) -> Array:
    """N = I − 𝓜⁻¹G*X⁺G, (..., nv, nv): the velocities that loops leave of any, the nearest in kinetic energy."""
    opened = factored_for_motions(model, q, loops)
    G = constraints.jacobian_of(opened.links, opened.loops)
    return arrays.eye(model.nv, like=q) - opened.solve(None, G, model.nv)[0]


def mass_inverse(model: Model, q: Array, loops: Sequence[Loop]) -> Array:
    """P = 𝓜⁻¹ − 𝓜⁻¹G*X⁺G𝓜⁻¹, (..., nv, nv): how the closed robot answers to joint forces."""
    return arrays.symmetric(
        factored_for_motions(model, q, loops).solve(arrays.eye(model.nv, like=q), None, model.nv)[0]
    )


def mass_solve(model: Model, q: Array, tau: Array, loops: Sequence[Loop]) -> Array:
    """Pτ, (..., nv), in O(n): the accelerations from joint forces alone, at rest and without gravity."""
    return factored_for_motions(model, q, loops).solve(tau[..., None], None)[0][..., 0]


def compliance(model: Model, q: Array, frames: Sequence[Any], loops: Sequence[Loop]) -> Array:
    """Λ⁻¹ = J P J*, (..., 6e, 6e): how the tips of the closed robot yield, from one inward sweep."""
    found: Array = factored_for_motions(model, q, loops, frames).compliance
    return found
