"""Springs and dampers in joints: what a joint of each kind holds, asks to be held by, and how that changes with q.

A spring of stiffness k that rests at q₀ holds ½ k δ², where δ is how far the joint is from its rest:

- joints with ordinary coordinates: δ = q − q₀, one stiffness per degree of freedom;
- planar: x, y and the angle in the placement's axes, one stiffness each;
- spherical: the turn φ = log(q₀⁻¹ q), the same stiffness in all directions (all others would pick axes that no turn
  keeps); it jumps where the joint is half a turn from its rest;
- free: that of a spherical joint (the first three numbers), and the position (the last three), alike in all directions.

Forces and their derivatives are in the joint's velocity coordinates, as H*'s columns are. The papers have no springs:
T = 𝓜β̇ + 𝓒 + ∂U/∂q + dβ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import arrays
from ...arguments import unmasked
from ...arrays import Array
from ...errors import ModelError
from ...spatial import quaternion_log, quaternion_product, rotation_from_quaternion, skew
from ...values import ByValue, fixed, owned
from ..inertia import as_array
from .exponential import inverse_series
from .kinds import Custom, Free, JointKind, Planar, Spherical
from .quaternions import conjugate


@dataclass(frozen=True, eq=False)
class Spring(ByValue):
    """The numbers of one joint's spring and damper, as algorithms read them; symbols may stand for any of them.

    ``stiffness`` (nv,) with ``rest`` (nq,), and ``damping`` (nv,); None where there is none.
    """

    stiffness: Any = None
    rest: Any = None
    damping: Any = None

    def __post_init__(self) -> None:
        for name in ("stiffness", "rest", "damping"):
            object.__setattr__(self, name, owned(getattr(self, name)))

    def cast(self, dtype: Any) -> Spring:
        """The same in another precision."""
        return Spring(*(None if x is None else x.astype(dtype) for x in (self.stiffness, self.rest, self.damping)))


def spring_of(joint: Any) -> Spring | None:
    """The spring and the damper that act in a joint, or None."""
    kind: JointKind = joint.kind
    k, d = (np.broadcast_to(np.asarray(x, float), (kind.nv,)) for x in (joint.stiffness, joint.damping))
    springs, damps = bool(k.any()), bool(d.any()) and joint.damping_acts
    if not (springs or damps):
        return None
    rest = kind.neutral() if joint.rest is None else np.broadcast_to(np.asarray(joint.rest, float), (kind.nq,))
    return Spring(k.copy() if springs else None, rest.copy() if springs else None, d.copy() if damps else None)


# --- checks ------------------------------------------------------------------------------------------------


def check_spring(kind: JointKind, stiffness: Any, rest: Any, what: str) -> Any:
    """Refuse a spring that a joint of this kind cannot have; ``rest`` as it stays, quaternions of unit length."""
    k = np.broadcast_to(as_array(stiffness, f"{what}: stiffness must be a number"), (kind.nv,))
    if k.any() and not _has_springs(kind):
        raise ModelError(
            f"{what}: a {kind.kind} joint has no spring, as there is no telling how far it is from its rest; springs go"
            " with joints whose velocities are the rates of their coordinates, and with spherical, planar and free ones"
        )
    alike = {Spherical: (k,), Free: (k[:3], k[3:])}.get(type(kind), ())
    if any(np.ptp(part) > 0 for part in alike):
        raise ModelError(
            f"{what}: the spring of a {kind.kind} joint is as stiff in all directions; give stiffness= one number"
            f"{' for turns and positions, or three equal ones for each' if isinstance(kind, Free) else ''}"
        )
    if rest is None:
        return None
    unmasked(rest, f"{what}: rest", ModelError)
    given = as_array(rest, f"{what}: rest must be numbers, a configuration of the joint")
    if given.ndim > 1 or (given.ndim == 1 and given.shape != (kind.nq,)) or (given.ndim == 0 and kind.nq != 1):
        raise ModelError(f"{what}: rest is a configuration of the joint, {kind.nq} numbers, got shape {given.shape}")
    if not np.isfinite(given).all():
        raise ModelError(f"{what}: rest must be finite, got {given.tolist()}")
    problem = kind.error(np.atleast_1d(given))
    if problem:
        raise ModelError(f"{what}: rest {problem}")
    if isinstance(kind, (Spherical, Free)):
        given = np.concatenate([given[:-4], given[-4:] / np.linalg.norm(given[-4:])])
    return fixed(np.array(given, dtype=float)) if given.ndim else float(given)


def _has_springs(kind: JointKind) -> bool:
    if isinstance(kind, (Spherical, Free, Planar)):
        return True
    if isinstance(kind, Custom):
        return kind.commutes
    plain = type(kind).rate is JointKind.rate and type(kind).difference is JointKind.difference
    return plain and kind.nq == kind.nv


# --- what a spring holds, and asks -------------------------------------------------------------------------


def energy(kind: JointKind, q: Array, spring: Spring) -> Array:
    """½ Σ k δ², (...) [J]."""
    delta = _deflection(kind, q, spring.rest)
    held: Array = 0.5 * (spring.stiffness * delta * delta).sum(axis=-1)
    return held


def force(kind: JointKind, q: Array, spring: Spring) -> Array:
    """∂U/∂q, (..., nv) [N m, N]: the joint force that holds the spring."""
    pull: Array = spring.stiffness * _deflection(kind, q, spring.rest)
    if isinstance(kind, Planar):  # what pulls along the placement's axes, seen from the body
        c, s = arrays.cos(q[..., 2]), arrays.sin(q[..., 2])
        x, y = pull[..., 0], pull[..., 1]
        return arrays.stack([c * x + s * y, c * y - s * x, pull[..., 2]])
    if isinstance(kind, Free):
        turned = arrays.transpose(rotation_from_quaternion(q[..., 3:])) @ pull[..., 3:, None]
        return arrays.concatenate([pull[..., :3], turned[..., 0]], axis=-1)
    return pull


def slope(kind: JointKind, q: Array, spring: Spring) -> Array:
    """∂(force)/∂q, (..., nv, nv), δq a tangent vector: its columns are along the joint's velocities."""
    k = spring.stiffness
    if isinstance(kind, Planar):
        c, s = arrays.cos(q[..., 2]), arrays.sin(q[..., 2])
        x, y = (k[i] * (q[..., i] - spring.rest[i]) for i in (0, 1))
        cc, ss, cs = c * c, s * s, c * s
        return arrays.matrix(
            [
                [k[0] * cc + k[1] * ss, (k[1] - k[0]) * cs, c * y - s * x],
                [(k[1] - k[0]) * cs, k[0] * ss + k[1] * cc, -(c * x + s * y)],
                [0.0, 0.0, k[2]],
            ]
        )
    if isinstance(kind, Spherical):
        turned: Array = k[0] * _turn_slope(_turned_from(q, spring.rest))
        return turned
    if isinstance(kind, Free):
        R = rotation_from_quaternion(q[..., 3:])
        turning = k[0] * _turn_slope(_turned_from(q[..., 3:], spring.rest[3:]))
        away = arrays.transpose(R) @ (q[..., :3, None] - spring.rest[:3, None])
        none = 0.0 * turning
        # seen from the body, what it is away by turns backwards: −δω × u = u × δω
        moving = arrays.concatenate([k[3] * skew(away[..., 0]), none + k[3] * arrays.eye(3, like=q)], axis=-1)
        return arrays.concatenate([arrays.concatenate([turning, none], axis=-1), moving], axis=-2)
    stiff: Array = k[:, None] * np.eye(kind.nv, dtype=arrays.precision(q))
    return stiff


def _deflection(kind: JointKind, q: Array, rest: Array) -> Array:
    """δ, (..., nv): in the placement's axes where it is a displacement."""
    if isinstance(kind, Spherical):
        return _turned_from(q, rest)
    if isinstance(kind, Free):
        return arrays.concatenate([_turned_from(q[..., 3:], rest[3:]), q[..., :3] - rest[:3]], axis=-1)
    return q - rest


def _turned_from(q: Array, rest: Array) -> Array:
    return quaternion_log(quaternion_product(conjugate(rest + 0.0 * q), q))


def _turn_slope(phi: Array) -> Array:
    """∂ log(exp(φ) exp(δ))/∂δ at δ = 0, the inverse of the right Jacobian: I + ½φ̃ + (1/t² − (1 + cos t)/2t sin t)φ̃²."""
    tilde = skew(phi)
    d = inverse_series(arrays.square_length(phi))
    return arrays.eye(3, like=phi) + 0.5 * tilde + d[..., None, None] * (tilde @ tilde)
