"""Errors between a motion and its reference, in tangent coordinates, so that quaternions need no care.

    e = q ⊖ q_d,    ε̇ = v − v_r,    v_r = Ad(−e) v_d,    ė = Z⁻¹(e) ε̇

At joints with ordinary coordinates v_r = v_d and Z = 1. At joints with quaternions the reference's velocity has to be
seen from the axes in which v is (Ad), and e is not the integral of the velocity error (Z, the derivative of the
exponential). With the two, Lyapunov functions of e hold as they do for hinges. :class:`TrackingLaw` is what laws with a
reference have in common.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np

from .. import arrays, inputs
from ..arrays import Array, SameKind
from ..dynamics.tangent import commutes, step_maps, transport
from ..errors import InputError
from ..robot.calls import refuse_other_than_robot
from ..robot.robot import Robot
from ..values import owned
from .law import Law, require_full_actuation, vector_gain

Reference = Callable[[Any], tuple[Any, Any, Any]]  # t → (q_d, v_d, a_d)


def hold(robot: Robot, q: Any) -> Reference:
    """The reference that stays at q."""
    refuse_other_than_robot(robot, "a reference")
    return partial(_staying, q=owned(inputs.configuration(robot, q)), still=owned(np.zeros(robot.nv)))


def _staying(t: Any, q: Array, still: Array) -> tuple[Array, Array, Array]:
    """Where it is at any time, as a function that can be pickled."""
    return q, still, still


def as_reference(robot: Robot, reference: Any) -> Reference:
    """A function of time, or a configuration to stay at."""
    return reference if callable(reference) else hold(robot, reference)


@dataclass(frozen=True, eq=False)
class Tracking:
    """Where a motion is, relative to its reference."""

    e: Array  # q ⊖ q_d, (..., nv)
    rate: Array  # v − v_r, (..., nv)
    v_ref: Array  # the reference's velocity and
    a_ref: Array  # acceleration, as seen from here
    Z: Array | None  # rate = Z ė; None where it is the identity
    Y: Array | None  # v_ref = Y v_d; likewise

    @property
    def e_dot(self) -> SameKind:
        return self.rate if self.Z is None else times(arrays.inverse(self.Z), self.rate)

    def pull(self, gain: Array) -> SameKind:
        """Z⁻*Kp e, (..., nv): the force whose power on ``rate`` is d/dt ½e*Kp e."""
        force = gain * self.e
        return force if self.Z is None else times(arrays.transpose(arrays.inverse(self.Z)), force)

    def potential(self, gain: Array) -> SameKind:
        """½ e*Kp e, (...)."""
        return 0.5 * (gain * self.e * self.e).sum(axis=-1)


def tracking(robot: Robot, reference: Reference, t: Any, q: Array, v: Array) -> Tracking:
    """The errors of a state (q, v) at the time t."""
    q_d, v_d, a_d = _at(robot, reference, t)
    e = robot.difference(q_d, q)
    if commutes(robot):
        return Tracking(e, v - v_d, v_d, a_d, None, None)
    Y, Z = step_maps(robot, e)
    v_ref = times(Y, v_d)
    rate = v - v_ref
    a_ref = times(Y, a_d) + times(transport(robot, rate), v_ref)
    return Tracking(e, rate, v_ref, a_ref, Z, Y)


def _at(robot: Robot, reference: Reference, t: Any) -> tuple[Array, Array, Array]:
    given = reference(t)
    try:
        q, v, a = given
    except (TypeError, ValueError) as error:
        raise InputError(f"a reference is a function t → (q, v, a) of robot {robot.name!r}: {error}") from error
    q = inputs.configuration(robot, q)
    v, a = (inputs.vector(x, robot.nv, f"the reference's {what}", robot) for x, what in ((v, "v"), (a, "a")))
    return q, v, a


def times(X: Array, x: Array) -> SameKind:
    """A matrix (..., n, m) times a vector (..., m)."""
    return (X @ x[..., None])[..., 0]


@dataclass(frozen=True, eq=False)
class TrackingLaw(Law):
    """A law with a reference t → (q_d, v_d, a_d), or a configuration to hold, and gains per joint velocity.

    ``Kp`` [N m/rad, N/m] and ``Kd`` [N m s/rad, N s/m] are one number or nv; ``base_forces`` admits free
    bases with thrusters.
    """

    reference: Any
    Kp: Any
    Kd: Any
    _: KW_ONLY
    base_forces: bool = False

    def __post_init__(self) -> None:
        require_full_actuation(self.robot, self, self.base_forces)
        commutes(self.robot)  # refuses non-holonomic joints, whose errors are not nv numbers
        n = self.robot.nv
        self._set(
            reference=as_reference(self.robot, self.reference),
            Kp=vector_gain(self.Kp, n, "Kp", positive=False),
            Kd=vector_gain(self.Kd, n, "Kd"),
        )

    def errors(self, t: Any, q: Array, v: Array) -> Tracking:
        """e, ε̇ and the reference as seen from here."""
        return tracking(self.robot, self.reference, t, q, v)

    def forces(self, t: Any, q: Array, v: Array) -> SameKind:
        x = self.errors(t, q, v)
        return self.feedforward(q, v, x) - x.pull(self.Kp) - self.Kd * x.rate

    def feedforward(self, q: Array, v: Array, x: Tracking) -> SameKind:
        """What the law adds to springs and dampers."""
        raise NotImplementedError
