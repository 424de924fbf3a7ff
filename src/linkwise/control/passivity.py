"""Tracking laws that rest on 𝓜̇ − 2C being skew, and on no cancellation of dynamics.

    τ = 𝓜(q)a_r + C(q, ·)v_r + g(q) − Kp e − Kd ε̇

Wen and Bayard, "New class of control laws for robotic manipulators" (Int. J. Control 47, 1988) is the family: it asks
which of the actual and the reference velocity stands where, and what the proof then needs of the gains. Each law is one
run of ``robot.inverse_dynamics_with_reference`` or of the Newton–Euler sweeps, O(n). Errors are those of
:mod:`.tracking`, so that the Lyapunov functions hold with quaternions too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import arrays
from ..arrays import Array, SameKind
from ..robot.robot import Robot
from .law import damper_power, state, static_force
from .tracking import Tracking, TrackingLaw, times


class _EnergyOfTheError:
    """The Lyapunov function that the laws of the family share."""

    robot: Robot
    Kp: Any
    Kd: Any
    errors: Any

    def lyapunov(self, t: Any, q: Any, v: Any) -> SameKind:
        """½ε̇*𝓜ε̇ + ½e*Kp e, (...) [J]."""
        x = self.errors(t, *state(self.robot, q, v))
        return self.robot.kinetic_energy(q, x.rate) + x.potential(self.Kp)

    def lyapunov_rate(self, t: Any, q: Any, v: Any) -> SameKind:
        """−ε̇*Kd ε̇, (...)."""
        x = self.errors(t, *state(self.robot, q, v))
        return -(self.Kd * x.rate * x.rate).sum(axis=-1)


@dataclass(frozen=True, eq=False)
class PDGravity(_EnergyOfTheError, TrackingLaw):
    """τ = g(q) − Kp e − Kd ε̇: virtual springs and dampers, and gravity.

    (Takegaki and Arimoto 1981; Wen and Bayard's set-point law.) g(q) holds the springs of joints too.

    For references that rest: ½v*𝓜v + ½e*Kp e falls at the rate v*Kd v.
    """

    def feedforward(self, q: Array, v: Array, x: Tracking) -> SameKind:
        return static_force(self.robot, q)

    def lyapunov_rate(self, t: Any, q: Any, v: Any) -> SameKind:
        """−v*Kd v, and less by what dampers of joints take, (...)."""
        q, v = state(self.robot, q, v)
        return super().lyapunov_rate(t, q, v) - damper_power(self.robot, q, v)


@dataclass(frozen=True, eq=False)
class PDPlus(_EnergyOfTheError, TrackingLaw):
    """τ = 𝓜(q)a_r + C(q, v)v_r + g(q) − Kp e − Kd ε̇ (Wen and Bayard 1988; Paden and Panja's "PD+", 1988).

    ½ε̇*𝓜ε̇ + ½e*Kp e falls at the rate ε̇*Kd ε̇, whatever the gains and the reference.
    """

    def feedforward(self, q: Array, v: Array, x: Tracking) -> SameKind:
        return self.robot.inverse_dynamics_with_reference(q, v, x.v_ref, x.a_ref)


@dataclass(frozen=True, eq=False)
class ReferenceCoriolis(_EnergyOfTheError, TrackingLaw):
    """τ = 𝓜(q)a_r + C(q, v_r)v_r + g(q) − Kp e − Kd ε̇ (Wen and Bayard 1988): no measured velocity in the Coriolis term.

    Its Lyapunov function falls where Kd outweighs C(q, ·)v_r, so for references that are slow enough for the gain.
    """

    def feedforward(self, q: Array, v: Array, x: Tracking) -> SameKind:
        return self.robot.inverse_dynamics(q, x.v_ref, x.a_ref)

    def lyapunov_rate(self, t: Any, q: Any, v: Any) -> SameKind:
        """−ε̇*(Kd ε̇ + C(q, ε̇)v_r), (...)."""
        x = self.errors(t, *state(self.robot, q, v))
        turning = self.robot.inverse_dynamics_with_reference(q, x.rate, x.v_ref, 0.0 * x.rate)
        turning = turning - static_force(self.robot, q)
        return -(x.rate * (self.Kd * x.rate + turning)).sum(axis=-1)


@dataclass(frozen=True, eq=False)
class ReferenceFeedforward(TrackingLaw):
    """τ = 𝓜(q_d)a_d + C(q_d, v_d)v_d + g(q_d) − Kp e − Kd ε̇ (Wen and Bayard 1988): all of the model ahead of time.

    The cheapest at run time, where the feedforward is tabulated. Stable for gains that outweigh how much the dynamics
    change between q_d and q; no Lyapunov function holds for all gains.
    """

    def forces(self, t: Any, q: Array, v: Array) -> SameKind:
        x = self.errors(t, q, v)
        ahead = self.robot.inverse_dynamics(*self.reference(t))
        if x.Y is not None:  # forces seen from the axes of q: they do the same work on v_r as on v_d
            ahead = times(arrays.transpose(arrays.inverse(x.Y)), ahead)
        return ahead - x.pull(self.Kp) - self.Kd * x.rate


@dataclass(frozen=True, eq=False)
class SlidingTracking(TrackingLaw):
    """τ = 𝓜(q)a_s + C(q, v)v_s + g(q) − Kd s,  s = v − v_s,  v_s = v_r − Λe (Slotine and Li, 1987).

    The reference velocity is bent towards the reference, so that s → 0 takes e → 0 with the rates Λ. ½s*𝓜s falls at the
    rate s*Kd s. ``Kp`` is Λ [1/s] here.
    """

    def forces(self, t: Any, q: Array, v: Array) -> SameKind:
        x = self.errors(t, q, v)
        v_s, a_s = x.v_ref - self.Kp * x.e, x.a_ref - self.Kp * x.e_dot
        return self.robot.inverse_dynamics_with_reference(q, v, v_s, a_s) - self.Kd * (v - v_s)

    def surface(self, t: Any, q: Any, v: Any) -> SameKind:
        """s = ε̇ + Λe, (..., nv)."""
        x = self.errors(t, *state(self.robot, q, v))
        return x.rate + self.Kp * x.e

    def lyapunov(self, t: Any, q: Any, v: Any) -> SameKind:
        """½s*𝓜s, (...) [J]."""
        return self.robot.kinetic_energy(q, self.surface(t, q, v))

    def lyapunov_rate(self, t: Any, q: Any, v: Any) -> SameKind:
        """−s*Kd s, (...)."""
        s = self.surface(t, q, v)
        return -(self.Kd * s * s).sum(axis=-1)
