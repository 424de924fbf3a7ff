"""A robot and the forces on it, as the state (q, w) that steps move.

w are rates, then the energies exchanged since the start where any force acts, then what a method remembers of its
last step. The rates are the joint rates v, the total rates ν, or their un-normalised form ξ (Diagonalized dynamics
paper §8).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import arrays
from ..arrays import Array, SameKind
from ..dynamics import springs
from ..model.joints.kinds import JointKind
from ..robot.robot import Robot
from .closing import LEFT, Closing
from .joint_forces import PassiveForces

EXCHANGED = ("work", "dissipated", "stops", "external")  # [J]: by joint forces, resistance, stops, external forces
COORDINATES = ("joint", "total", "unnormalized")  # the rates v, ν, ξ


def has_dampers(robot: Robot) -> bool:
    """Whether dampers in joints or in loops of a robot take energy."""
    return springs.any_dampers(robot) or any(x.damping for x in robot.loops)


class Applied(NamedTuple):
    """Joint forces (..., nv) of the controller, and those of external forces, None where there are none."""

    tau: Array
    external: Array | None


@dataclass(frozen=True, eq=False)
class System:
    """A robot and the forces on it. ``dynamics`` is the same robot in frames that suit joint-space programs best."""

    robot: Robot
    dynamics: Robot
    force: Callable[[Any, Array, Array], Array] | None  # τ(t, q, v), (..., nv)
    passive: PassiveForces
    target: str | None = None  # of the robot's methods, where the step runs on arrays
    external: Callable[[Any, Array, Array], Array] | None = None  # what external forces do to the joints, (..., nv)
    coordinates: str = "joint"
    remembers: bool = False  # whether w ends with the velocities of the last step, those of the joints first
    closing: Closing = LEFT
    start: Array | None = None  # the configuration at the start of the step, closed, and a chart of embedded loops
    slopes: tuple[np.ndarray, np.ndarray] | None = None  # (nv,) by which τ falls with v and q of its own joints
    accounts: bool = True  # whether w holds the energies that forces exchange

    # --- the parts of w ------------------------------------------------------------------------------

    @property
    def is_pushed(self) -> bool:
        """Whether any force works on the robot."""
        return self.force is not None or self.external is not None or self.passive.active or has_dampers(self.robot)

    @property
    def exchanges(self) -> bool:
        """Whether the energies :data:`EXCHANGED` are part of w: where a force works on the robot."""
        return self.accounts and self.is_pushed

    @property
    def known(self) -> int:
        """How many numbers of w are rates and energies."""
        return self.robot.nv + (len(EXCHANGED) if self.exchanges else 0)

    def rates(self, w: Array) -> SameKind:
        return w[..., : self.robot.nv]

    def velocity(self, q: Array, w: Array) -> SameKind:
        """Joint rates (..., nv)."""
        if self.remembers:
            return w[..., self.known : self.known + self.robot.nv]
        if self.coordinates == "joint":
            return self.rates(w)
        return self.robot.joint_rates(q, self.rates(w), normalized=self._normalized, target=self.target)

    def from_velocity(self, q: Array, v: Array) -> SameKind:
        """The rates of these coordinates (..., nv)."""
        if self.coordinates == "joint":
            return v
        return self.robot.total_rates(q, v, normalized=self._normalized, target=self.target)

    @property
    def _normalized(self) -> bool:
        return self.coordinates == "total"

    # --- forces --------------------------------------------------------------------------------------

    def applied(self, t: Any, q: Array, v: Array) -> Applied:
        tau = 0.0 * v if self.force is None else self.force(t, q, v)
        return Applied(tau, None if self.external is None else self.external(t, q, v))

    def forces(self, applied: Applied, q: Array, v: Array) -> tuple[SameKind, SameKind | None]:
        """(all joint forces (..., nv), the powers of :data:`EXCHANGED` (..., 4), None where nothing is exchanged)."""
        tau, external = applied
        if not self.is_pushed:
            return tau, None
        resistance, stops = self.passive.resistance(v), self.passive.stops(self.robot, q, v)
        total = tau + resistance + stops
        if external is not None:
            total = total + external
        if not self.exchanges:
            return total, None
        pushed = 0.0 * v[..., 0] if external is None else (external * v).sum(axis=-1)
        dissipated = -(resistance * v).sum(axis=-1)
        if springs.any_dampers(self.robot):
            dissipated = dissipated + springs.dissipation(self.robot, q, v)
        if any(x.damping for x in self.robot.loops):
            closed: Any = self.robot
            dissipated = dissipated + closed.damper_power(q, v, target=self.target)
        powers = [(tau * v).sum(axis=-1), dissipated, -(stops * v).sum(axis=-1), pushed]
        return total, arrays.stack([_array(p, v) for p in powers])

    def acting(self, t: Any, q: Array, w: Array) -> tuple[SameKind, SameKind | None]:
        """:meth:`forces` at a state; the joint rates are worked out only where a force asks for them."""
        v = self.velocity(q, w) if self.is_pushed else self.rates(w)
        return self.forces(self.applied(t, q, v), q, v)

    # --- motion --------------------------------------------------------------------------------------

    def derivative(self, t: Any, q: Array, w: Array) -> tuple[SameKind, SameKind]:
        """(v, ẇ) of w = [rates; energies], at the state that embedded loops make of (q, w)."""
        if self.start is not None and q is not self.start:
            q, w = self.closing.at_stage(self.robot, q, w, self.start, self.target)
        total, powers = self.acting(t, q, w)
        v, rate = self.accelerated(q, self.rates(w), total)
        return v, with_powers(rate, powers)

    def accelerated(self, q: Array, rates: Array, total: Array) -> tuple[SameKind, SameKind]:
        """(v, the rate of the rates), each (..., nv), under joint forces."""
        if self.coordinates == "joint":
            return rates, self.acceleration(self.dynamics, q, rates, total)
        return self.dynamics.diagonal_dynamics(q, rates, total, normalized=self._normalized, target=self.target)

    def acceleration(self, model: Any, q: Array, v: Array, total: Array) -> SameKind:
        """β̇ (..., nv) of a model, the dynamics as they are or as they are at the end of a step, under joint forces."""
        found: SameKind = model.forward_dynamics(q, v, total, target=self.target, **self.closing.options)
        return found

    def taken_at_end(self, h: Any, damping: Array, stiffness: Array) -> Any:
        """The robot whose accelerations have what resists as it is at the end of a step (:func:`.taken_at_end`)."""
        return springs.taken_at_end(self.dynamics, h, damping, stiffness)

    def moved(self, q: Array, d: Array) -> SameKind:
        return self.robot.integrate(q, d, target=self.target)

    def difference(self, q0: Array, q1: Array) -> SameKind:
        """q1 ⊖ q0."""
        return self.robot.difference(q0, q1)

    def gone(self, line: Any, w: Array, h: Any) -> Any:
        """How far parts of a step have come, the last of h that ends at w: the sum of their increments, (..., nv)."""
        return line + h * self.rates(w)

    def come(self, q0: Array, q1: Array, line: Any) -> SameKind:
        return come_along(self.robot, q0, q1, line)

    def breaks(self, before: tuple[Array, Array], after: tuple[Array, Array]) -> Any:
        """Where forces break off between two states (q, w) (:meth:`PassiveForces.breaks`)."""
        return self.passive.breaks(self.robot, *((q, self.rates(w)) for q, w in (before, after)))


def come_along(robot: Robot, q0: Array, q1: Array, line: Any) -> SameKind:
    """q1 ⊖ q0 of parts of a step whose increments are together ``line``, (..., nv).

    Where joints' coordinates add up it is ``line``: the difference of positions has lost digits that they round away.
    """
    if robot.loops:  # whose closing moves q as well
        return robot.difference(q0, q1)
    adding = [type(j.kind).integrate is JointKind.integrate for j, _, _ in robot.coordinates]
    if all(adding):
        found: SameKind = line
        return found
    between = robot.difference(q0, q1)
    pieces = [(line if adds else between)[..., v] for adds, (_, _, v) in zip(adding, robot.coordinates)]
    return np.concatenate(pieces, axis=-1)


def with_powers(rate: Array, powers: Array | None) -> SameKind:
    """ẇ from the rate of the rates and the powers exchanged."""
    return rate if powers is None else np.concatenate([rate, powers], axis=-1)


def _array(x: Any, like: Array) -> SameKind:
    return np.asarray(x, dtype=object) if arrays.is_symbolic(like) else x
