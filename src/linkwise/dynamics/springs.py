"""Springs and dampers of joints, in the forces: T = 𝓜β̇ + 𝓒 + ∂U/∂θ + dβ.

They act in each joint of the tree by itself, those of joints that follow others included: joint space has X* of that.
Linearised, they add K = ∂²U/∂θ² to B_D and d to A_D, each joint in its own block; so the forward models have 𝓜⁻¹K and
𝓜⁻¹d more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import Array
from ..model.joints import springs as joint_springs
from ..model.joints.springs import Spring
from ..model.model import BodyConstants, Model, with_numbers
from .links import Links, evaluate


def forces(model: Model, links: Links, beta: list[Array]) -> list[Any]:
    """What springs and dampers ask of every joint, ∂U/∂θ + dβ, (..., r, 1); None where there is neither."""
    return [_force(c, x, b) for c, x, b in zip(model.constants(dtype=links.q.dtype), links.theta, beta)]


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
    for c, theta in zip(model.constants(dtype=links.q.dtype), links.theta):
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
        for c, x in zip(model.constants(dtype=q.dtype), theta)
        if c.spring is not None and c.spring.stiffness is not None
    ]
    return arrays.total([0.0 * q[..., 0], *held]) if held else arrays.zeros(q.shape[:-1], like=q)


def dissipation(model: Model, q: Array, v: Array, along: Array | None = None) -> Array:
    """What the dampers of all joints take at velocities v, Σ d β², (...) [W]; or ``along`` others, Σ d β β'."""
    links = evaluate(model, q) if model.couplings else None
    beta, other = (
        links.split(x) if links is not None else [x[..., s, None] for s in model.v_slices]
        for x in (v, v if along is None else along)
    )
    taken = [
        (c.spring.damping * b[..., 0] * b_other[..., 0]).sum(axis=-1)
        for c, b, b_other in zip(model.constants(dtype=q.dtype), beta, other)
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


# --- where a step ends ------------------------------------------------------------------------------------------------


def taken_at_end(model: Any, h: Any, damping: Any, stiffness: Any) -> Any:
    """The model whose forward dynamics take its springs and dampers at the end of a step of h, and forces beside, whose
    slopes (..., nv) are given."""
    constants = model.constants()
    own = [_own_slopes(c, h) for c in constants]
    extra = h * damping + h * h * stiffness
    numbers = []
    for k, (c, (gamma, spring)) in enumerate(zip(constants, own)):
        where = model.v_slices[k]
        if c.kind.nv and where.stop > where.start:
            gamma = gamma + extra[..., where]
        numbers.append(replace(c, reflected=_with_diagonal(c, gamma), spring=spring))
    return with_numbers(model, numbers)


def _own_slopes(c: BodyConstants, h: Any) -> tuple[Any, Spring | None]:
    """(hd + h²k, the spring and damper d + hk) of a joint."""
    if c.spring is None:
        return 0.0, None
    k = 0.0 if c.spring.stiffness is None else c.spring.stiffness
    d = 0.0 if c.spring.damping is None else c.spring.damping
    damping = c.spring.damping if c.spring.stiffness is None else d + h * k
    return h * d + h * h * k, replace(c.spring, damping=damping)


def _with_diagonal(c: BodyConstants, gamma: Any) -> Any:
    """Γ with more on its diagonal."""
    if isinstance(gamma, float):
        return c.reflected
    added = gamma[..., :, None] * np.eye(c.kind.nv)
    return added if c.reflected is None else c.reflected + added
