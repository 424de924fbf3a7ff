"""Control of a held object: its motion, how hands share its load and squeeze it, and how it presses on the world.

Joint forces τ = τ₀ + J*Wλ_c of the arms do to the object what forces Aλ_c would (math notes on closed chains 3.2, 3.4),
so that laws are written in the object's coordinates y, with its errors e and rates as those of :mod:`.tracking`.

    motion     λ_d = A⁺(M_oẏ_d + c_o − G_e*μ_d) + λ_int          ẏ_d = a_r − Kp e − Kd ε̇
               λ_c = λ_d − X⁻¹(u − A*ẏ_d)                       which makes ẏ = ẏ_d, λ = λ_d and μ = μ_d
    passive    λ_c = A⁺(g_o − Kp e − Kd y) + λ_int               V = ½v*𝓜v + ½e*Kp e,  V̇ = −y*Kd y − v*Dv

A⁺ shares the load, λ_int is the squeeze (Aλ_int = 0), G_e*μ the force of the world on an object that touches it, X the
arms' compliance at the contacts, and u how hands would leave an object whose ẏ is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any

import numpy as np

from .. import arrays
from ..arguments import flag, mapping, numbers, shown
from ..arrays import Array, SameKind
from ..dynamics.tangent import commutes
from ..errors import InputError, NotAdmittedError, UnknownNameError
from ..model.joints.kinds import Free
from ..robot.grasp import Grasp, arm_weights
from ..robot.robot import Robot
from ..values import owned
from .computed_torque import error_dissipation, error_energy
from .law import Law, damper_power, driven_joints, state, static_force, vector_gain
from .tracking import Tracking, as_reference, times, tracking


@dataclass(frozen=True, eq=False)
class ObjectLaw(Law):
    """What laws for a held object share: a reference of the object, gains, the squeeze and the shares of the load.

    ``robot`` is a :class:`Grasp`. ``reference`` is the object's: t → (q_o, y, ẏ) in the coordinates of
    ``team.object_alone``, or a configuration of it to stay at. ``Kp`` and ``Kd`` are one number or n_o. ``squeeze`` is
    the internal force λ (m,) that the hands keep up, or a function t → λ; what of it would move the object is left out.
    ``shares`` are positive numbers, one for each arm that holds: how much of the load each bears. ``base_forces`` says
    that arms on free joints have thrusters.
    """

    robot: Grasp
    reference: Any
    Kp: Any
    Kd: Any
    _: KW_ONLY
    squeeze: Any = None
    shares: Any = None
    base_forces: bool = False
    alone: Robot = field(init=False, repr=False)

    def __post_init__(self) -> None:
        team = self.robot
        if not isinstance(team, Grasp):
            raise InputError(f"{type(self).__name__} is for arms that hold an object (lw.grasp), got {shown(team)}")
        _refuse_idle_arms(team, self, flag(self.base_forces, "base_forces"))
        alone, n = team.object_alone, team.object_size
        commutes(alone)
        self._set(
            alone=alone,
            reference=as_reference(alone, self.reference),
            Kp=vector_gain(self.Kp, n, "Kp", positive=False),
            Kd=vector_gain(self.Kd, n, "Kd"),
            squeeze=self._checked_squeeze(),
            shares=self._checked_shares(),
        )

    def _checked_squeeze(self) -> Callable[[Any], Any]:
        given: Any = self.squeeze
        if callable(given):
            function: Callable[[Any], Any] = given
            return function
        lam = np.zeros(self.robot.contact_rows) if given is None else numbers(given, "squeeze")
        if lam.shape != (self.robot.contact_rows,) or not np.isfinite(lam).all():
            raise InputError(
                f"squeeze must be {self.robot.contact_rows} finite numbers, the forces of the contacts in turn, or a"
                f" function of time that gives them, got shape {lam.shape}"
            )
        return partial(_at_all_times, owned(lam))

    def _checked_shares(self) -> tuple[float, ...] | None:
        if self.shares is None:
            return None
        arm_weights(self.robot.layout, self.shares, "shares")
        return tuple(float(x) for x in numbers(self.shares, "shares"))

    def errors(self, t: Any, q: Array, v: Array) -> Tracking:
        """The object's e, ε̇, and its reference as seen from where it is."""
        team = self.robot
        return tracking(self.alone, self.reference, t, q[..., team.object_q], v[..., team.object_v])

    def internal(self, t: Any, q: Array) -> Array:
        """The squeeze that is asked for at a time, (..., m)."""
        lam: Array = arrays.constant(np.asarray(self.squeeze(t)), like=q) + 0.0 * q[..., :1]
        return lam


def _at_all_times(value: np.ndarray, t: Any) -> np.ndarray:
    """What does not change, as a function of time that can be pickled."""
    return value


def _refuse_idle_arms(team: Grasp, law: Law, base_forces: bool) -> None:
    """Refuse arms with joints that nothing drives."""
    driven = set(driven_joints(team))
    for i, j in enumerate(team.joints):
        of_an_arm = team.bodies[i].name not in team.object_bodies
        thrusters = base_forces and isinstance(j.kind, Free)
        if of_an_arm and j.kind.nv and j.name not in driven and not thrusters:
            raise NotAdmittedError(
                f"{type(law).__name__} needs forces at every joint of the arms, and nothing drives {j.name!r} of grasp"
                f" {team.name!r}; for a free base with thrusters set base_forces=True"
            )


@dataclass(frozen=True, eq=False)
class ObjectMotion(ObjectLaw):
    """The object follows its reference as if it were free of the arms, squeezed as asked: ε̈ + Kd ε̇ + Kp e = 0.

    Object motion and internal forces are controlled exactly and apart, by cancelling all dynamics (math notes 13.8):
    gains are Kp [1/s²] and Kd [1/s]. Where the object touches the world (a loop of it with the world), the law is
    hybrid: along what the loop stops force is controlled, and along all else motion. ``push`` has, by the names of
    such loops, what the loop shall do to its frame b [N m, N], one number for each motion that it stops (default 0).
    Joints of redundant arms are damped within themselves by ``damping`` [1/s]. Arms must not be singular.

    ½ε̇*ε̇ + ½e*Kp e falls at the rate ε̇*Kd ε̇, where it touches the world for references that keep to it.
    """

    _: KW_ONLY
    push: Mapping[str, Any] | None = None
    damping: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        team = self.robot
        known = {x.name: x for x in team.object_loops}
        push = {} if self.push is None else dict(mapping(self.push, "push"))
        for name, force in push.items():
            if name not in known:
                there = ", ".join(map(repr, known)) or "none"
                raise UnknownNameError(f"no loop {name!r} holds the object of grasp {team.name!r}; there are: {there}")
            given = numbers(force, f"push[{name!r}]")
            if given.shape != (known[name].size,) or not np.isfinite(given).all():
                raise InputError(f"push[{name!r}] must be {known[name].size} finite numbers, got {shown(force)}")
            push[name] = owned(given)
        within = [x.name for x in team.layout.others if x.name not in known]
        if within:
            raise NotAdmittedError(f"ObjectMotion is for arms without loops of their own, and there is {within[0]!r}")
        self._set(push=push, damping=vector_gain(self.damping, 1, "damping", positive=False)[0])

    def forces(self, t: Any, q: Array, v: Array) -> SameKind:
        team, x = self.robot, self.errors(t, q, v)
        options: dict[str, Any] = {"squeeze": self.internal(t, q), "arm_acceleration": -self.damping * v}
        if team.object_loops:
            parts = [(self.push or {}).get(loop.name, np.zeros(loop.size)) for loop in team.object_loops]
            options["push"] = arrays.constant(np.concatenate(parts), like=q) + 0.0 * q[..., :1]
        y_dot = x.a_ref - x.pull(self.Kp) - self.Kd * x.rate
        return team.object_inverse_dynamics(q, v, y_dot, weights=self.shares, **options)

    def lyapunov(self, t: Any, q: Any, v: Any) -> SameKind:
        """½ε̇*ε̇ + ½e*Kp e of the object, (...)."""
        return error_energy(self.errors(t, *state(self.robot, q, v)), self.Kp)

    def lyapunov_rate(self, t: Any, q: Any, v: Any) -> SameKind:
        """−ε̇*Kd ε̇, (...)."""
        return -error_dissipation(self.errors(t, *state(self.robot, q, v)), self.Kd)


@dataclass(frozen=True, eq=False)
class ObjectPDGravity(ObjectLaw):
    """Springs and dampers on the object, gravity of all carried, a squeeze: stable for any gains, and inverts nothing.

    τ = g + J*W(A⁺(g_o − Kp e − Kd y) + λ_int) − D v at the arms, for references that rest: forces of the hands do the
    same work on arms and object, so that ½v*𝓜v + ½e*Kp e of all bodies falls at the rate y*Kd y + v*D v, whatever the
    squeeze. ``Kp`` [N m/rad, N/m], ``Kd`` [N m s/rad, N s/m], ``joint_damping`` D [N m s/rad, N s/m] of the arms'
    joints (one number, or nv of which the object's do not count). Contacts must be able to drive the object in every
    direction (``team.grasp_report(q).uncontrolled`` is 0); arms may be singular.
    """

    _: KW_ONLY
    joint_damping: Any = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        D = vector_gain(self.joint_damping, self.robot.nv, "joint_damping", positive=False)
        self._set(joint_damping=D * self._arms)

    @property
    def _arms(self) -> np.ndarray:
        """(nv,), 1 at the arms' coordinates and 0 at the object's."""
        out = np.ones(self.robot.nv)
        out[self.robot.object_v] = 0.0
        return out

    def forces(self, t: Any, q: Array, v: Array) -> SameKind:
        team, x, squeeze = self.robot, self.errors(t, q, v), self.internal(t, q)
        gravity = static_force(team, q)
        force = gravity[..., team.object_v] - x.pull(self.Kp) - self.Kd * x.rate
        force = force - times(team.grasp_map(q), squeeze)  # what of the squeeze would move the object
        hands = team.contact_joint_forces(q, team.share_load(q, force, weights=self.shares) + squeeze)
        return gravity * self._arms + hands - self.joint_damping * v

    def lyapunov(self, t: Any, q: Any, v: Any) -> SameKind:
        """½v*𝓜v of arms and object + ½e*Kp e, (...) [J]."""
        q, v = state(self.robot, q, v)
        return self.robot.kinetic_energy(q, v) + self.errors(t, q, v).potential(self.Kp)

    def lyapunov_rate(self, t: Any, q: Any, v: Any) -> SameKind:
        """−y*Kd y − v*D v, and less by what dampers of joints take, (...) [W]."""
        q, v = state(self.robot, q, v)
        y = v[..., self.robot.object_v]
        taken = (self.joint_damping * v * v).sum(axis=-1) + damper_power(self.robot, q, v)
        return -(self.Kd * y * y).sum(axis=-1) - taken
