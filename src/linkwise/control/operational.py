"""Operational-space control: a frame follows a goal, and what is left of the joints follows a posture.

    τ = 𝓜a₀ + C + g + J*Λ(α − J̇v − Ja₀)

Khatib, "A unified approach for motion and force control of robot manipulators" (IEEE J. Robotics Automation 3, 1987):
J*Λ(α − J̇v) makes the frame accelerate by α, and the posture's 𝓜a₀ enters through the dynamically consistent null space
I − J*J̄*, written out here so that it costs one Newton–Euler run. Λ⁻¹ = J𝓜⁻¹J* comes in O(n) (OA (5.4)).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np

from .. import arrays
from ..arguments import numbers
from ..arrays import Array, SameKind
from ..dynamics.operational import inverse_compliance
from ..errors import InputError, NotAdmittedError
from ..spatial import quaternion_from_rotation, quaternion_log
from ..values import owned
from .computed_torque import critical_damping
from .decoupled import target_position, target_rotation
from .law import Law, require_full_actuation, vector_gain
from .tracking import as_reference, times, tracking


@dataclass(frozen=True, eq=False)
class FrameGoal:
    """Where a frame is to be: position (..., 3) [m], rotation (3, 3) or None, [ω; v] and [ω̇; v̇] (6,), world axes."""

    position: Any
    rotation: Any = None
    _: KW_ONLY
    velocity: Any = field(default_factory=lambda: np.zeros(6))
    acceleration: Any = field(default_factory=lambda: np.zeros(6))


def _checked(goal: FrameGoal) -> FrameGoal:
    """A goal with arrays of its own, whose parts have their shapes, and whose rotation is one."""
    parts: dict[str, Any] = {"position": target_position(goal.position)}
    if goal.rotation is not None:
        parts["rotation"] = target_rotation(goal.rotation)
    for name in ("velocity", "acceleration"):
        x = numbers(getattr(goal, name), f"a goal's {name}")
        if x.shape[-1:] != (6,) or not np.isfinite(x).all():
            raise InputError(f"a goal's {name} must be finite numbers of shape (..., 6), angular part first, got {x!r}")
        parts[name] = x
    checked: FrameGoal = owned(replace(goal, **parts))
    return checked


@dataclass(frozen=True, eq=False)
class OperationalSpace(Law):
    """A frame tracks a goal with unit inertia in every direction; the null space tracks a posture.

    ``goal`` is a :class:`FrameGoal` or a function t → FrameGoal. Without a rotation only the position is controlled,
    and the posture has the rest. ``stiffness`` [1/s²] and ``damping`` [1/s] (default: critical) act on the frame;
    ``posture`` (nq,), a configuration or a function t → (q, v, a), with ``posture_stiffness`` [1/s²] and
    ``posture_damping`` [1/s], on the joints. Near singular poses ``regularization`` ρ > 0 takes Λ = (J𝓜⁻¹J* + ρI)⁻¹,
    which gives up accuracy there; with 0 they are refused.
    """

    frame: Any
    goal: FrameGoal | Callable[[Any], FrameGoal]
    _: KW_ONLY
    stiffness: float = 100.0
    damping: float | None = None
    posture: Any = None
    posture_stiffness: Any = 10.0
    posture_damping: Any = None
    regularization: float = 0.0
    base_forces: bool = False

    def __post_init__(self) -> None:
        robot = self.robot
        require_full_actuation(robot, self, self.base_forces)
        n = robot.nv
        robot.frame(self.frame)
        soft = vector_gain(self.posture_stiffness, n, "posture_stiffness", positive=False)
        damping = critical_damping(soft) if self.posture_damping is None else self.posture_damping
        stiff = vector_gain(self.stiffness, 1, "stiffness", positive=False)[0]
        self._set(
            stiffness=stiff,
            damping=vector_gain(critical_damping(stiff) if self.damping is None else self.damping, 1, "damping")[0],
            posture=None if self.posture is None else as_reference(robot, self.posture),
            posture_stiffness=soft,
            posture_damping=vector_gain(damping, n, "posture_damping", positive=False),
            regularization=vector_gain(self.regularization, 1, "regularization", positive=False)[0],
        )
        goal = _checked(self._goal(0.0))
        if not callable(self.goal):
            self._set(goal=goal)
        rows = 3 if goal.rotation is None else 6
        if robot.nv < rows and not self.regularization:
            raise NotAdmittedError(
                f"robot {robot.name!r} has {robot.nv} degrees of freedom and cannot accelerate a frame in {rows}"
                " directions: leave the goal's rotation out, or set regularization > 0"
            )

    def _goal(self, t: Any) -> FrameGoal:
        goal = self.goal(t) if callable(self.goal) else self.goal
        if not isinstance(goal, FrameGoal):
            raise InputError(f"a goal is a FrameGoal or a function t → FrameGoal, got {type(goal).__name__}")
        return goal

    def forces(self, t: Any, q: Array, v: Array) -> SameKind:
        goal = self._goal(t)
        rows = slice(3, 6) if goal.rotation is None else slice(0, 6)
        J = self.robot.jacobian(q, self.frame)[..., rows, :]
        J_dot_v = self.robot.jacobian_dot_v(q, v, self.frame)[..., rows]
        a_0 = self._posture_acceleration(t, q, v)
        force = times(self._inertia(q, rows), self._acceleration(goal, q, v)[..., rows] - J_dot_v - times(J, a_0))
        return self.robot.inverse_dynamics(q, v, a_0) + times(arrays.transpose(J), force)

    def _acceleration(self, goal: FrameGoal, q: Array, v: Array) -> SameKind:
        """α = α_d + Kd(V_d − V) + Kp e, (..., 6)."""
        e = self.pose_error(goal, q)
        V = self.robot.velocity(q, v, self.frame)
        return goal.acceleration + self.damping * (goal.velocity - V) + self.stiffness * e

    def pose_error(self, goal: FrameGoal, q: Array) -> SameKind:
        """[rotation vector from here to the goal; position error], (..., 6), world axes."""
        R, p = self.robot.pose(q, self.frame)
        linear = np.asarray(goal.position) - p
        turn: Array = 0.0 * linear
        if goal.rotation is not None:
            turn = quaternion_log(quaternion_from_rotation(goal.rotation @ arrays.transpose(R)))
        return arrays.namespace(linear).concatenate([turn, linear], axis=-1)

    def _inertia(self, q: Array, rows: slice) -> SameKind:
        """Λ = (J𝓜⁻¹J* + ρI)⁻¹ of the rows that are controlled."""
        compliance = self.robot.operational_compliance(q, self.frame)[..., rows, rows]
        if self.regularization == 0:
            return inverse_compliance(self.robot, compliance, [self.frame])
        size = compliance.shape[-1]
        return inverse_compliance(
            self.robot, compliance + self.regularization * arrays.eye(size, like=compliance), [self.frame]
        )

    def _posture_acceleration(self, t: Any, q: Array, v: Array) -> SameKind:
        """a₀ = a_r − Kp e − Kd ε̇; without a posture the joints are only damped."""
        if self.posture is None:
            return -self.posture_damping * v
        x = tracking(self.robot, self.posture, t, q, v)
        return x.a_ref - x.pull(self.posture_stiffness) - self.posture_damping * x.rate
