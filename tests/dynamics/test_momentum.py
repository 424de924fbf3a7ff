"""Momentum and centroidal quantities: their matrices, their derivatives, their relation to each other."""

import numpy as np
import pytest
from trees import ALL, ROTORS, assert_close, derivative, robot, state, times

import linkwise as lw

STEP = 1e-30


@pytest.fixture(params=ALL)
def case(request):
    r = robot(request.param)
    return r, state(r)


def test_matrices_give_the_momenta(case):
    r, s = case
    assert_close(times(r.momentum_matrix(s.q), s.v), r.momentum(s.q, s.v), 1e-12)
    assert_close(times(r.centroidal_matrix(s.q), s.v), r.centroidal_momentum(s.q, s.v), 1e-12)


def test_centroidal_momentum_is_the_momentum_about_the_center_of_mass(case):
    r, s = case
    h, c = r.momentum(s.q, s.v), r.center_of_mass(s.q)
    expected = np.concatenate([h[:, :3] - np.cross(c, h[:, 3:]), h[:, 3:]], axis=-1)
    assert_close(r.centroidal_momentum(s.q, s.v), expected, 1e-12)


def test_linear_momentum_moves_the_center_of_mass(case):
    r, s = case
    rate = r.center_of_mass(r.integrate(s.q, 1j * STEP * s.v)).imag / STEP
    assert_close(times(r.center_of_mass_jacobian(s.q), s.v), rate, 1e-12)
    assert_close(r.momentum(s.q, s.v)[:, 3:], r.total_mass * rate, 1e-12)


def test_centroidal_bias_is_the_rate_at_constant_velocity(case):
    r, s = case
    rate = derivative(lambda t: r.centroidal_momentum(r.integrate(s.q, t * s.v), s.v))
    assert_close(r.centroidal_bias(s.q, s.v), rate, 1e-10)


def test_center_of_mass_is_the_mean_of_the_bodies(case):
    r, s = case
    total = np.zeros((3, 3))
    for body in r.bodies:
        R, p = r.pose(s.q, body.name)
        total += body.inertia.mass * (p + R @ body.inertia.com)
    assert_close(r.center_of_mass(s.q), total / r.total_mass, 1e-12)


def test_energy_is_both_energies(case):
    r, s = case
    q, v = (x.astype(np.longdouble) for x in (s.q, s.v))  # products that no library may order in ways of its own
    kinetic, potential = r.energy(q, v)
    assert_close(kinetic, r.kinetic_energy(q, v), 0.0)
    assert_close(potential, r.potential_energy(q), 0.0)
    assert_close(potential, -r.total_mass * r.center_of_mass(s.q) @ r.gravity, 1e-12)


def test_gravity_force_is_the_gradient_of_the_potential(case):
    r, s = case
    power = r.potential_energy(r.integrate(s.q, 1j * STEP * s.v)).imag / STEP
    assert_close((r.gravity_force(s.q) * s.v).sum(axis=-1), power, 1e-11)


def test_rigid_motion_of_a_floating_robot():
    """With only the base moving, the robot is one body: ½ momentum · velocity is the energy."""
    r = robot("humanoid")
    s = state(r)
    v = s.v.copy()
    v[:, 6:] = 0
    R, p = r.pose(s.q, r.bodies[0].name)
    twist = np.concatenate([times(R, v[:, :3]), times(R, v[:, 3:6])], axis=-1)  # at the base's origin
    twist[:, 3:] -= np.cross(twist[:, :3], p)  # at the world's origin
    energy = 0.5 * (r.momentum(s.q, v) * twist).sum(axis=-1)
    assert_close(energy, r.kinetic_energy(s.q, v), 1e-12)


def test_a_spinning_rotor_carries_angular_momentum():
    """γI β about the rotor's axis, fixed in the parent, on top of what the bodies carry."""
    rotor = lw.Rotor(2e-3, 10.0, axis="x")
    bodies = [
        lw.Body("base", lw.Free(), lw.Inertia.box(3, (1, 2, 3))),
        lw.Body("arm", lw.Joint(lw.Revolute("y"), rotor=rotor, at=(1, 0, 0)), lw.Inertia.box(1, (1, 1, 1)), "base"),
    ]
    with_rotor = lw.assemble("r", bodies)
    plain = lw.assemble(
        "p", [bodies[0], lw.Body("arm", lw.Joint(lw.Revolute("y"), at=(1, 0, 0)), bodies[1].inertia, "base")]
    )
    s = state(with_rotor, ())
    extra = with_rotor.momentum(s.q, s.v) - plain.momentum(s.q, s.v)
    R = with_rotor.pose(s.q, "base")[0]
    assert_close(extra, [*(2e-2 * s.v[6] * R[:, 0]), 0, 0, 0], 1e-13)


def test_gyroscopic_rotors_are_among_the_cases():
    assert any(j.rotor is not None and j.rotor.axis is not None for name in ROTORS for j in robot(name).joints)


def test_massless_robot_has_no_center_of_mass():
    r = lw.assemble("ghost", [lw.Body("a", lw.Revolute("z"))])
    for call in (r.center_of_mass, r.center_of_mass_jacobian, r.centroidal_matrix):
        with pytest.raises(lw.ModelError, match="no mass"):
            call([0.0])
    assert_close(r.momentum([0.0], [1.0]), np.zeros(6), 0.0)
    assert r.energy([0.0], [1.0]) == (0.0, 0.0)
