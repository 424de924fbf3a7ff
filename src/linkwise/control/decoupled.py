"""Control in diagonal coordinates: each working force ε(k) answers its own total rate ν(k).

Diagonalized dynamics paper (DD) §8.

ν̇ + C(θ, ν) = ε with ν*C = 0, so that d/dt ½ν*ν = ν*ε whatever the Coriolis term does: a gain per ν(k) damps, and no
model of C is needed. The papers leave gravity out; here it is compensated.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..arguments import number, numbers
from ..arrays import Array, SameKind
from ..errors import InputError
from ..spatial import cross
from .force_bounds import force_bounds, room
from .law import Law, damper_power, require_full_actuation, state, static_force, vector_gain


@dataclass(frozen=True, eq=False)
class RateFeedback(Law):
    """ε = −c ν: brings a robot to rest, wherever (DD Control 8.1, (8.4)).

    τ = −m c m*v + gravity, in O(n). The Lyapunov function ½ν*ν, the kinetic energy, falls at the rate ν*cν; with one
    number c it is ½|ν|² e^(−2ct), for every robot and every motion. ``gain`` c is one number or nv [1/s].

    ``bounds`` on |τ| are one number or nv [N m, N], or True for the robot's effort limits. What the bounds leave beside
    gravity scales ε as a whole, so that the energy still falls, at s ν*cν; where gravity alone exceeds them, s = 0.
    """

    gain: Any
    _: KW_ONLY
    bounds: Any = None
    base_forces: bool = False

    def __post_init__(self) -> None:
        require_full_actuation(self.robot, self, self.base_forces)
        self._set(gain=vector_gain(self.gain, self.robot.nv, "gain"))
        object.__setattr__(self, "bounds", force_bounds(self.robot, self.bounds))

    def forces(self, t: Any, q: Array, v: Array) -> SameKind:
        held, damping = static_force(self.robot, q), self._damping(q, v)
        return held + damping if self.bounds is None else held + room(self.bounds, held, damping)[..., None] * damping

    def _damping(self, q: Array, v: Array) -> SameKind:
        return self.robot.joint_forces(q, -self.gain * self.robot.total_rates(q, v))

    def share(self, t: Any, q: Any, v: Any) -> SameKind:
        """s, (...): how much of ε the bounds leave."""
        q, v = state(self.robot, q, v)
        if self.bounds is None:
            return 1.0 + 0.0 * v[..., 0]
        return room(self.bounds, static_force(self.robot, q), self._damping(q, v))

    def lyapunov(self, t: Any, q: Any, v: Any) -> SameKind:
        """½ν*ν, (...) [J]."""
        nu = self.robot.total_rates(q, v)
        return 0.5 * (nu * nu).sum(axis=-1)

    def lyapunov_rate(self, t: Any, q: Any, v: Any) -> SameKind:
        """−s ν*cν, and less by what dampers of joints take, (...)."""
        q, v = state(self.robot, q, v)
        nu = self.robot.total_rates(q, v)
        return -self.share(t, q, v) * (self.gain * nu * nu).sum(axis=-1) - damper_power(self.robot, q, v)


@dataclass(frozen=True, eq=False)
class ConfigurationControl(Law):
    """ε = −c₁ν + D^{−½}HψBWe: brings a frame to a pose (DD Control 8.2, (8.6), corrected as E18 in the errata).

    The output Y = [p; x; y; z] are the frame's origin and axes in the world, e = Ŷ − Y, W weighs positions with
    ``position_gain`` [N/m] and axes with ``orientation_gain`` [N m] (0: any orientation). In joint space
    τ = −m c₁m*v + J*f + gravity. ν*ν + e*We falls at the rate 2ν*c₁ν; by LaSalle the robot comes to rest where
    J*f = 0, which is the target if it can be reached and no other critical point attracts.

    Far from the target the pull may be too much for the motors. ``force_limit`` f [N] bounds it to
    k|e|/√(1 + k²|e|²/f²), k the position gain: still the gradient of a potential, so that a Lyapunov function remains.
    ``bounds`` on |τ| (:class:`RateFeedback`) scale the damping to what they leave beside gravity and this pull; where
    these two alone exceed them, there is no damping, and a smaller ``force_limit`` is needed.
    """

    frame: Any
    position: Any
    rotation: Any = None
    _: KW_ONLY
    damping: Any = 1.0
    position_gain: float = 1.0
    orientation_gain: float = 0.0
    force_limit: float | None = None
    bounds: Any = None
    base_forces: bool = False

    def __post_init__(self) -> None:
        require_full_actuation(self.robot, self, self.base_forces)
        self.robot.frame(self.frame)
        number(self.position_gain, "position_gain", least=0.0)
        if number(self.orientation_gain, "orientation_gain", least=0.0) > 0 and self.rotation is None:
            raise InputError("an orientation_gain needs the rotation (3, 3) that the frame is to have")
        if self.force_limit is not None:
            number(self.force_limit, "force_limit", above=0.0)
        object.__setattr__(self, "bounds", force_bounds(self.robot, self.bounds))
        self._set(
            damping=vector_gain(self.damping, self.robot.nv, "damping"),
            position=target_position(self.position),
            rotation=None if self.rotation is None else target_rotation(self.rotation),
        )

    def forces(self, t: Any, q: Array, v: Array) -> SameKind:
        held, damping = self._parts(q, v)
        return held + damping if self.bounds is None else held + room(self.bounds, held, damping)[..., None] * damping

    def _parts(self, q: Array, v: Array) -> tuple[Array, Array]:
        """(gravity and the pull to the target, the damping), each (..., nv)."""
        damping = self.robot.joint_forces(q, -self.damping * self.robot.total_rates(q, v))
        return self.robot.jacobian_force(q, self.force(q), self.frame) + static_force(self.robot, q), damping

    def share(self, t: Any, q: Any, v: Any) -> SameKind:
        """s, (...): how much of the damping the bounds leave."""
        q, v = state(self.robot, q, v)
        return 1.0 + 0.0 * v[..., 0] if self.bounds is None else room(self.bounds, *self._parts(q, v))

    def working_forces(self, t: Any, q: Any, v: Any) -> SameKind:
        """ε as (8.6) has it, (..., nv), without gravity's compensation."""
        pull = self.robot.working_forces(q, self.robot.jacobian_force(q, self.force(q), self.frame))
        return pull - self.share(t, q, v)[..., None] * self.damping * self.robot.total_rates(q, v)

    def force(self, q: Any) -> SameKind:
        """BWe as a [moment; force] (..., 6) on the frame's origin, world axes: Ẏ = [u; ω × y_i] (DD (8.5))."""
        p_error, axes, axis_errors = self._errors(q)
        moment = 0.0 * p_error[..., :, None]
        for y, e in zip(axes, axis_errors):
            moment = moment + self.orientation_gain * cross(y[..., :, None], e[..., :, None])
        pull = self.position_gain * p_error
        if self.force_limit is not None:
            pull = pull / self._stretched(p_error)[..., None]
        return arrays.namespace(p_error).concatenate([moment[..., 0], pull], axis=-1)

    def _stretched(self, p_error: Array) -> Any:
        """√(1 + |ke|²/f²)."""
        assert self.force_limit is not None
        share = self.position_gain / self.force_limit
        return arrays.sqrt(1.0 + share**2 * (p_error * p_error).sum(axis=-1))

    def _errors(self, q: Any) -> tuple[Array, list[Array], list[Array]]:
        R, p = self.robot.pose(q, self.frame)
        if self.orientation_gain == 0:
            return self.position - p, [], []
        axes = [R[..., :, i] for i in range(3)]
        return self.position - p, axes, [self.rotation[:, i] - y for i, y in enumerate(axes)]

    def lyapunov(self, t: Any, q: Any, v: Any) -> SameKind:
        """ν*ν + e*We, (...) [J]; with a ``force_limit`` f, 2(f²/k)(√(1 + k²|e|²/f²) − 1) for the part of positions."""
        nu = self.robot.total_rates(q, v)
        p_error, _, axis_errors = self._errors(q)
        apart = self.position_gain * (p_error * p_error).sum(axis=-1)
        if self.force_limit is not None:  # 2(f²/k)(√ − 1), without the difference of two near numbers
            apart = 2.0 * apart / (1.0 + self._stretched(p_error))
        total = (nu * nu).sum(axis=-1) + apart
        return total + sum(self.orientation_gain * (e * e).sum(axis=-1) for e in axis_errors)

    def lyapunov_rate(self, t: Any, q: Any, v: Any) -> SameKind:
        """−2s ν*c₁ν, and less by twice what dampers of joints take, (...)."""
        q, v = state(self.robot, q, v)
        nu = self.robot.total_rates(q, v)
        damped = self.share(t, q, v) * (self.damping * nu * nu).sum(axis=-1)
        return -2.0 * (damped + damper_power(self.robot, q, v))


def target_position(p: Any) -> np.ndarray:
    """A point (..., 3) [m]."""
    out = numbers(p, "a position [m]")
    if out.shape[-1:] != (3,) or not np.isfinite(out).all():
        raise InputError(f"a position must be finite numbers of shape (..., 3) [m], got {p!r}")
    return out


def target_rotation(R: Any) -> np.ndarray:
    """A rotation (3, 3), frame axes to world axes."""
    out = numbers(R, "a rotation")
    if out.shape != (3, 3) or np.abs(out.T @ out - np.eye(3)).max() > 1e-6 or np.linalg.det(out) < 0:
        raise InputError("a rotation must be a (3, 3) matrix with orthonormal columns and determinant 1")
    return out
