"""Springs and dampers of joints, in the forces: T = 𝓜β̇ + 𝓒 + ∂U/∂θ + dβ.

They act in each joint of the tree by itself, those of joints that follow others included: joint space has X* of that.
Linearised, they add K = ∂²U/∂θ² to B_D and d to A_D, each joint in its own block; so the forward models have 𝓜⁻¹K and
𝓜⁻¹d more.
"""

from __future__ import annotations

from typing import Any

from .. import arrays
from ..arrays import Array
from ..model.joints import springs as joint_springs
from ..model.model import Model
from .links import Links, evaluate


def forces(model: Model, links: Links, beta: list[Array]) -> list[Any]:
    """What springs and dampers ask of every joint, ∂U/∂θ + dβ, (..., r, 1); None where there is neither."""
    return [_force(c, x, b) for c, x, b in zip(model.constants(links.q.dtype), links.theta, beta)]


def _force(c: Any, theta: Array, beta: Array) -> Any:
    if c.spring is None:
        return None
    held = None if c.spring.stiffness is None else joint_springs.force(c.kind, theta, c.spring)[..., None]
    if c.spring.damping is None:
        return held
    damped = c.spring.damping[:, None] * beta
    return damped if held is None else held + damped


def added(T: list[Array], forces: list[Any]) -> list[Array]:
    """Joint forces T with what springs and dampers ask beside."""
    return [t if f is None else t + f for t, f in zip(T, forces)]


def left(T: list[Array], forces: list[Any]) -> list[Array]:
    """What is left of joint forces T for motion."""
    return [t if f is None else t - f for t, f in zip(T, forces)]


def slopes(model: Model, links: Links) -> list[Any]:
    """(K, d) of every joint, (..., r, r) each or None; None where it has neither."""
    found: list[Any] = []
    for c, theta in zip(model.constants(links.q.dtype), links.theta):
        if c.spring is None:
            found.append(None)
            continue
        K = None if c.spring.stiffness is None else joint_springs.slope(c.kind, theta, c.spring)
        d = c.spring.damping
        found.append((K, None if d is None else d[:, None] * arrays.eye(len(d), like=links.q)))
    return found


def energy(model: Model, q: Array) -> Array:
    """What the springs of all joints hold, (...) [J]."""
    theta = evaluate(model, q).theta
    held = [
        joint_springs.energy(c.kind, x, c.spring)
        for c, x in zip(model.constants(q.dtype), theta)
        if c.spring is not None and c.spring.stiffness is not None
    ]
    return arrays.total([0.0 * q[..., 0], *held]) if held else arrays.zeros(q.shape[:-1], like=q)


def dissipation(model: Model, q: Array, v: Array) -> Array:
    """What the dampers of all joints take, Σ d β², (...) [W]."""
    beta = evaluate(model, q).split(v) if model.couplings else [v[..., s, None] for s in model.v_slices]
    taken = [
        (c.spring.damping * b[..., 0] * b[..., 0]).sum(axis=-1)
        for c, b in zip(model.constants(q.dtype), beta)
        if c.spring is not None and c.spring.damping is not None
    ]
    return arrays.total([0.0 * v[..., 0], *taken])


def any_dampers(model: Model) -> bool:
    """Whether dampers of joints take energy."""
    return any(c.spring is not None and c.spring.damping is not None for c in model.constants())


def joint_forces(model: Model, q: Array, v: Array) -> Array:
    """What springs and dampers ask of the joints, (..., nv)."""
    links = evaluate(model, q)
    beta = links.split(v)
    none = 0.0 * q[..., :1, None] if model.nq else 0.0  # of the batch of q, and not a number where q is none
    return links.join(added([0.0 * b + none for b in beta], forces(model, links, beta)))


def joint_space_slopes(links: Links, softness: list[Any]) -> tuple[Array, Array]:
    """(K, d) over joint space, (..., nv, nv) each, from those of every joint; couplings must be linear."""
    found = []
    for which in (0, 1):
        own = {(k, k): x[which] for k, x in enumerate(softness) if x is not None and x[which] is not None}
        found.append(links.from_blocks(own, links.q))
    return found[0], found[1]


def softened(links: Links, softness: list[Any], Minv: Array, A_C: Array, B_C: Array) -> tuple[Array, Array, Array]:
    """𝓜⁻¹, A_C + 𝓜⁻¹d and B_C + 𝓜⁻¹K, from those of the bodies alone; K and d by joint."""
    if all(x is None for x in softness):
        return Minv, A_C, B_C
    K, d = joint_space_slopes(links, softness)
    return Minv, A_C + Minv @ d, B_C + Minv @ K
