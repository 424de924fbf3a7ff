"""Closed chains by cutting them: the open tree's free accelerations, then the forces that keep the loops closed.

Operator algebra paper §5, application 3, for any number of loops on any tree. With 𝓑λ the forces of all loops on the
bodies, G = 𝓑*φ*H*:

    X = G𝓜⁻¹G* = (Hψ𝓑)* D⁻¹ (Hψ𝓑)       Xλ = −(Gβ̇_f + Ġβ)       β̇ = β̇_f + 𝓜⁻¹G*λ = β̇_f + (I − HψK)* D⁻¹ Hψ𝓑 λ

(math notes on closed chains 2.2). One inward sweep carries the columns 𝓑 to the base, so that this is O(n) in bodies;
what loops really couple is the size of X.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import arrays
from ...arrays import Array
from ...model.loops import Loop
from ...model.model import Model
from ...spatial import Transform
from ..articulated import Articulated, articulated, smooth
from ..forward.methods import FORWARD_METHODS
from ..kinematics import tip_transform
from ..links import Links, accelerations, at_rest, coriolis_accelerations, evaluate, velocities
from .closures import Closure, closures
from .least_norm import force_scales, least_norm


@dataclass(frozen=True, eq=False)
class Cut:
    """The loops of a robot at a configuration, and how the open tree answers to forces on them and on some frames."""

    model: Model
    links: Links
    art: Articulated
    loops: list[Closure]
    nu: list[Array]  # D⁻¹Hψ[𝓑, B], (..., r, m + 6e) per joint
    X: Array  # [𝓑, B]*φ*H* 𝓜⁻¹ Hφ[𝓑, B], (..., m + 6e, m + 6e)

    @property
    def size(self) -> int:
        """m, how many motions the loops stop."""
        return sum(x.loop.size for x in self.loops)

    def multipliers(self, wanted: Array) -> Array:
        """λ (..., m, c) with Xλ = ``wanted`` (..., m, c), of least norm where loops are redundant."""
        m = self.size
        return least_norm(self.X[..., :m, :m], wanted, force_scales(self.model, [x.loop for x in self.loops]))

    def answer(self, lam: Array) -> Array:
        """𝓜⁻¹G*λ, (..., nv, c), for multipliers (..., m, c): one outward sweep."""
        nu = [x[..., : self.size] @ lam for x in self.nu]
        return self.links.join_rows(smooth(self.links, self.art, nu)[0], lam.shape[-1])


def cut(model: Model, q: Array, loops: Sequence[Loop], frames: Sequence[Any] = ()) -> Cut:
    """The loops at q with X = G𝓜⁻¹G*, and beside them the tips of ``frames``, in world axes."""
    links = evaluate(model, q)
    art = articulated(links)
    closed = closures(model, links, loops)
    columns = _force_columns(model, links, closed, frames)

    def step(gathered: Any, phi: Transform, H: Array, G: Array, own: Any) -> Any:
        z = gathered + own
        if isinstance(z, int):  # no loop is felt here
            return 0, None
        Hz = H @ z
        return phi @ (z - G @ Hz), Hz

    width = sum(x.loop.size for x in closed) + 6 * len(frames)
    Hz = links.tree.inward(step, 0, links.phi, links.H, art.G, columns)
    felt = [arrays.zeros((r, width), like=q) if x is None else x for x, r in zip(Hz, links.sizes)]
    nu = [D_inverse @ x for D_inverse, x in zip(art.D_inverse, felt)]
    X: Any = arrays.zeros((width, width), like=q)
    for x, y in zip(felt, nu):
        if x.shape[-2]:
            X = X + x.mT @ y
    return Cut(model, links, art, closed, nu, arrays.symmetric(X))


def _force_columns(model: Model, links: Links, closed: list[Closure], frames: Sequence[Any]) -> list[Any]:
    """[𝓑, B] by body: (..., 6, m + 6e) where a loop or a tip is, otherwise 0."""
    sizes = [x.loop.size for x in closed] + [6] * len(frames)
    attached = [x.forces(arrays.eye(x.loop.size, like=links.q)) for x in closed]
    for frame in frames:
        body, tip = tip_transform(model, links, frame)
        attached.append({} if body < 0 else {body: tip @ arrays.eye(6, like=links.q)})
    out: list[Any] = [0] * len(links.sizes)
    for i, forces in enumerate(attached):
        for body, F in forces.items():
            parts = [arrays.zeros((6, s), like=links.q) for s in sizes]
            parts[i] = F
            out[body] = out[body] + arrays.concatenate(parts, axis=-1)
    return out


# --- forward dynamics ------------------------------------------------------------------------------------------------


def forward_dynamics(
    model: Model, q: Array, v: Array, tau: Array, external: Array | None, loops: Sequence[Loop], method: str
) -> tuple[Array, Array]:
    """(β̇, λ) of the closed robot, (..., nv) and (..., m): OA (5.6)–(5.11) for any tree and any loops.

    ``method`` is that of the free accelerations, by name.
    """
    free = FORWARD_METHODS[method](model, q, v, tau, external).acceleration
    opened = cut(model, q, loops)
    lam = opened.multipliers(-_acceleration(opened, v, free))
    return free + opened.answer(lam)[..., 0], lam[..., 0]


def _acceleration(opened: Cut, v: Array, a: Array) -> Array:
    """Gβ̇ + Ġβ, (..., m, 1)."""
    links = opened.links
    beta = links.split(v)
    V = velocities(links, beta)
    bias = coriolis_accelerations(opened.model, links, V, beta)
    A = accelerations(links, links.split(a), bias, at_rest(links.q))
    return arrays.concatenate([x.acceleration(V, A) for x in opened.loops], axis=-2)


def loop_forces(opened: Cut, lam: Array) -> Array:
    """Wλ, (..., loops, 6): what each loop does to its frame b, in frame a's axes at its origin."""
    out, start = [], 0
    for x in opened.loops:
        out.append((x.W @ lam[..., start : start + x.loop.size, None])[..., 0])
        start += x.loop.size
    return arrays.stack(out, axis=-2)


# --- what the loops leave --------------------------------------------------------------------------------------------


def error(model: Model, q: Array, loops: Sequence[Loop]) -> Array:
    """How far the loops are from closing, (..., m) [rad, m]."""
    parts = [x.error[..., :, None] for x in closures(model, evaluate(model, q), loops)]
    return arrays.concatenate(parts, axis=-2)[..., 0]


def velocity(model: Model, q: Array, v: Array, loops: Sequence[Loop]) -> Array:
    """Gβ, (..., m) [rad/s, m/s]: how fast the loops come apart."""
    links = evaluate(model, q)
    V = velocities(links, links.split(v))
    return arrays.concatenate([x.velocity(V) for x in closures(model, links, loops)], axis=-2)[..., 0]


def jacobian(model: Model, q: Array, loops: Sequence[Loop]) -> Array:
    """G = 𝓑*φ*H*, (..., m, nv): the loops come apart at the rates Gβ."""
    links = evaluate(model, q)

    def step(gathered: Any, phi: Transform, H: Array, own: Any) -> Any:
        total = gathered + own
        return (0, None) if isinstance(total, int) else (phi @ total, H @ total)

    columns = _force_columns(model, links, closures(model, links, loops), ())
    felt = links.tree.inward(step, 0, links.phi, links.H, columns)
    m = sum(loop.size for loop in loops)
    rows = [arrays.zeros((r, m), like=q) if x is None else x for x, r in zip(felt, links.sizes)]
    return arrays.transpose(links.join_rows(rows, m))


def velocity_change(model: Model, q: Array, wanted: Array, loops: Sequence[Loop]) -> Array:
    """δβ = 𝓜⁻¹G*λ, (..., nv), with Gδβ = ``wanted`` (..., m): of all, the least in kinetic energy (math notes 2.5)."""
    opened = cut(model, q, loops)
    return opened.answer(opened.multipliers(wanted[..., None]))[..., 0]


def projector(model: Model, q: Array, loops: Sequence[Loop]) -> Array:
    """N = I − 𝓜⁻¹G*X⁺G, (..., nv, nv): the velocities that loops leave of any, the nearest in kinetic energy."""
    opened = cut(model, q, loops)
    return arrays.eye(model.nv, like=q) - opened.answer(opened.multipliers(jacobian(model, q, loops)))


def mass_inverse(model: Model, q: Array, loops: Sequence[Loop]) -> Array:
    """P = 𝓜⁻¹ − 𝓜⁻¹G*X⁺G𝓜⁻¹, (..., nv, nv): how the closed robot answers to joint forces."""
    opened = cut(model, q, loops)
    unit = arrays.eye(model.nv, like=q)
    free = opened.art.solve(opened.links, unit)
    Y = arrays.transpose(opened.answer(arrays.eye(opened.size, like=q)))  # G𝓜⁻¹
    return arrays.symmetric(free - opened.answer(opened.multipliers(Y)))


def mass_solve(model: Model, q: Array, tau: Array, loops: Sequence[Loop]) -> Array:
    """Pτ, (..., nv), in O(n): the accelerations from joint forces alone, at rest and without gravity."""
    opened = cut(model, q, loops)
    free = opened.art.solve(opened.links, tau[..., None])
    G_free = jacobian(model, q, loops) @ free
    return (free - opened.answer(opened.multipliers(G_free)))[..., 0]


def compliance(model: Model, q: Array, frames: Sequence[Any], loops: Sequence[Loop]) -> Array:
    """Λ⁻¹ = J P J*, (..., 6e, 6e): how the tips of the closed robot yield, X_ee − X_el X_ll⁺ X_le of one sweep."""
    opened = cut(model, q, loops, frames)
    m = opened.size
    return arrays.symmetric(opened.X[..., m:, m:] - opened.X[..., m:, :m] @ opened.multipliers(opened.X[..., :m, m:]))
