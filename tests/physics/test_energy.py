"""Energy: its rate is the power of the joint forces and of what pushes from outside."""

import numpy as np
import pytest
from trees import ALL, TREES, assert_close, derivative, free_motion, moved, robot, state

import linkwise as lw

HOLONOMIC = [name for name in TREES if name in ("tree", "floating_rotors")] + ["arms", "panda"]


def energy(r, q, v):
    return sum(r.energy(q, v))


@pytest.mark.parametrize("name", ALL)
def test_rate_is_the_power_of_the_joint_forces(name):
    """d(kinetic + potential)/dt = τ·v along the motion that τ causes."""
    r = robot(name)
    s = state(r)
    s = s._replace(a=r.forward_dynamics(s.q, s.v, s.tau))
    rate = derivative(lambda t: energy(r, *moved(r, s, t)), h=2e-4)
    scale = np.abs(s.v * s.tau).sum(axis=-1) + r.kinetic_energy(s.q, s.v)
    assert_close(rate / scale, (s.tau * s.v).sum(axis=-1) / scale, 1e-9)


@pytest.mark.parametrize("name", ALL)
def test_rate_counts_the_power_of_external_forces(name):
    """… + Σ f·V over the bodies, both in body axes."""
    r = robot(name)
    s = state(r)
    s = s._replace(a=r.forward_dynamics(s.q, s.v, s.tau, external=s.external))
    rate = derivative(lambda t: energy(r, *moved(r, s, t)), h=2e-4)
    power = (s.tau * s.v).sum(axis=-1)
    for k, body in enumerate(r.bodies):
        power = power + (s.external[:, k] * r.velocity(s.q, s.v, body.name, axes="local")).sum(axis=-1)
    scale = np.abs(power) + r.kinetic_energy(s.q, s.v)
    assert_close(rate / scale, power / scale, 1e-9)


@pytest.mark.parametrize("name", ALL)
def test_instantaneous_balance_is_exact(name):
    """τ·v = v·𝓜a + v·bias, and v·bias = ½ v·𝓜̇v + v·g: to rounding, by complex steps."""
    r = robot(name)
    s = state(r)
    h = 1e-30
    ahead = r.integrate(s.q, 1j * h * s.v)
    M_dot = r.mass_matrix(ahead).imag / h
    climbing = r.potential_energy(ahead).imag / h
    quadratic = 0.5 * np.einsum("bi,bij,bj->b", s.v, M_dot, s.v)
    assert_close((r.bias_force(s.q, s.v) * s.v).sum(axis=-1), quadratic + climbing, 1e-11)


@pytest.mark.parametrize("name", HOLONOMIC)
def test_energy_is_kept_along_a_free_motion(name):
    r = robot(name)
    s = state(r, (), seed=2)
    before = energy(r, s.q, s.v)
    q, v = free_motion(r, s.q, s.v, 0 * s.tau, duration=0.02, steps=8)
    assert abs(energy(r, q, v) - before) < 1e-7 * max(1.0, r.kinetic_energy(s.q, s.v))
    assert abs(r.kinetic_energy(q, v) - r.kinetic_energy(s.q, s.v)) > 1e-4  # the two kinds do trade


@pytest.mark.parametrize("name", HOLONOMIC)
def test_energy_error_falls_with_the_fourth_power_of_the_step(name):
    """So that what remains is the integrator's, not the dynamics'."""
    r = robot(name)
    s = state(r, (), seed=2)
    before = energy(r, s.q, s.v)

    def drift(steps):
        return abs(energy(r, *free_motion(r, s.q, s.v, 0 * s.tau, 0.04, steps)) - before)

    assert drift(2) / drift(4) > 10


def test_a_spinning_top_keeps_its_energy_and_its_vertical_angular_momentum():
    """A heavy symmetric top on a ball joint: also its angular momentum about its own axis is kept."""
    top = lw.assemble("top", [lw.Body("top", lw.Spherical(), lw.Inertia(1.5, (0, 0, 0.4), (0.05, 0.05, 0.02)))])
    q, v = np.array([0.2, 0.1, 0.0, 0.97]), np.array([0.3, -0.2, 25.0])
    q1, v1 = free_motion(top, q, v, np.zeros(3), duration=0.2, steps=200)
    assert abs(energy(top, q1, v1) - energy(top, q, v)) < 1e-8
    vertical = [top.momentum(*x)[2] for x in ((q, v), (q1, v1))]
    assert abs(vertical[1] - vertical[0]) < 1e-8
    assert abs(v1[2] - v[2]) < 1e-9
    assert np.abs(q1 - q).max() > 0.1
