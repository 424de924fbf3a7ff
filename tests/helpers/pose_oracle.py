"""Mechanics from poses alone: an oracle that shares nothing with linkwise but ``integrate`` and ``pose``.

A robot is moved along a curve q(t) with velocity v and acceleration a at t = 0. The poses of its bodies are
differentiated numerically (complex steps for velocities, differences of sixth order for accelerations), and
d'Alembert's principle in Kane's form gives the joint forces from Newton's and Euler's equations of each body,

    T_j = Σ m (c̈ − g) · ∂ċ/∂v_j + L̇ · ∂ω/∂v_j,

which holds for any joints, integrable or not. A rotor adds the momentum γIβ about its axis in the parent.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from trees import derivative

import linkwise as lw

_STEP = 1e-30


def _velocity_of(R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(R, ω) from a rotation whose imaginary part holds h Ṙ: ω̃ = Ṙ R*."""
    rate = (R.imag / _STEP) @ R.real.swapaxes(-1, -2)
    rate = rate - rate.swapaxes(-1, -2)
    return R.real, 0.5 * np.stack([rate[..., 2, 1], rate[..., 0, 2], rate[..., 1, 0]], axis=-1)


class Mechanics:
    """One robot at one state q (nq,), v, a (nv,)."""

    def __init__(self, robot: lw.Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> None:
        self.robot, self.q, self.v, self.a = robot, q, v, a

    def motion(self, t: float, direction: np.ndarray | None = None) -> list[tuple[np.ndarray, ...]]:
        """(R, ω, c, ċ) of every body at time t, world axes; with ``direction``, velocities along that v, or those."""
        if direction is None:
            s = t + 1j * _STEP
            q = self.robot.integrate(self.q, s * self.v + 0.5 * s * s * self.a)
        else:
            q = self.robot.integrate(
                np.broadcast_to(self.q, (*direction.shape[:-1], self.robot.nq)), 1j * _STEP * direction
            )
        out = []
        for body in self.robot.bodies:
            R, p = self.robot.pose(q, body.name)
            c = p + R @ body.inertia.com
            out.append((*_velocity_of(R), c.real, c.imag / _STEP))
        return out

    def momenta(self, t: float = 0.0) -> np.ndarray:
        """(bodies, 6): [angular about the body's centre of mass; linear], world axes, rotors included."""
        return self._momenta(self.motion(t), self.v + t * self.a)

    def _momenta(self, motion: list[tuple[np.ndarray, ...]], rates: np.ndarray) -> np.ndarray:
        out = []
        for body, (R, w, _, velocity) in zip(self.robot.bodies, motion):
            tensor = R @ body.inertia.tensor @ R.T
            out.append(np.concatenate([tensor @ w, body.inertia.mass * velocity]))
        for p, rotor, own in self._rotors():
            if rotor.axis is not None and p >= 0:
                spin = rotor.gear_ratio * rotor.inertia * rates[own][0]
                out[p][:3] += spin * (motion[p][0] @ rotor.axis)
        return np.array(out)

    def _rotors(self) -> list[tuple[int, lw.Rotor, slice]]:
        """(parent body, rotor, degrees of freedom) of every joint with a rotor."""
        rows = zip(self.robot.joints, self.robot.parents, self.robot.v_slices)
        return [(p, j.rotor, own) for j, p, own in rows if j.rotor is not None and j.kind.nv]

    @cached_property
    def partial_velocities(self) -> list[list[tuple[np.ndarray, ...]]]:
        """For every degree of freedom, (R, ω, c, ċ) of every body at unit velocity."""
        every = self.motion(0.0, np.eye(self.robot.nv))
        return [[tuple(x[j] for x in body) for body in every] for j in range(self.robot.nv)]

    def joint_forces(self) -> np.ndarray:
        """T (nv,) for the acceleration a."""
        rates = derivative(self.momenta)
        rates[:, 3:] -= np.array([b.inertia.mass * self.robot.gravity for b in self.robot.bodies])
        return self._projected(rates) + self._rotor_forces()

    def _projected(self, forces: np.ndarray) -> np.ndarray:
        """Joint forces equivalent to [moment; force at the centre of mass] (bodies, 6) on the bodies."""
        return np.array(
            [
                sum(f[:3] @ w + f[3:] @ velocity for f, (_, w, _, velocity) in zip(forces, row))
                for row in self.partial_velocities
            ]
        )

    def _rotor_forces(self) -> np.ndarray:
        """γI d/dt(γβ + axis·ω(parent)) at every joint with a rotor."""
        out = np.zeros(self.robot.nv)
        for p, rotor, own in self._rotors():
            out[own] += rotor.reflected * self.a[own]
            if rotor.axis is not None and p >= 0:
                out[own] += rotor.gear_ratio * rotor.inertia * derivative(self._axial_rate(p, rotor.axis))
        return out

    def _axial_rate(self, body: int, axis: np.ndarray):
        def rate(t: float) -> float:
            R, w, _, _ = self.motion(t)[body]
            return (R @ axis) @ w

        return rate

    def mass_matrix(self) -> np.ndarray:
        """∂momentum/∂v projected onto the joints: twice the kinetic energy is quadratic in v."""
        nv = self.robot.nv
        out = np.zeros((nv, nv))
        for j, e in enumerate(np.eye(nv)):
            out[:, j] = self._projected(self._momenta(self.partial_velocities[j], e))
            for p, rotor, own in self._rotors():
                out[own, j] += rotor.reflected * e[own]
                if rotor.axis is not None and p >= 0:
                    R, w, _, _ = self.partial_velocities[j][p]
                    out[own, j] += rotor.gear_ratio * rotor.inertia * ((R @ rotor.axis) @ w)
        return out

    def gravity_force(self) -> np.ndarray:
        """The gradient of the potential energy −Σ m g·c."""
        weights = np.zeros((len(self.robot.bodies), 6))
        weights[:, 3:] = [-b.inertia.mass * self.robot.gravity for b in self.robot.bodies]
        return self._projected(weights)

    def momentum(self) -> np.ndarray:
        """[angular about the world's origin; linear]."""
        total = np.zeros(6)
        for m, (_, _, c, _) in zip(self.momenta(), self.motion(0.0)):
            total += np.concatenate([m[:3] + np.cross(c, m[3:]), m[3:]])
        return total

    def center_of_mass(self) -> np.ndarray:
        masses = np.array([b.inertia.mass for b in self.robot.bodies])
        return masses @ np.array([x[2] for x in self.motion(0.0)]) / masses.sum()
