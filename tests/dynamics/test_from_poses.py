"""The dynamics of every joint kind against an oracle that only differentiates the bodies' poses."""

import pytest
from pose_oracle import Mechanics
from trees import ALL, assert_close, robot, state


@pytest.fixture(params=ALL, scope="module")
def case(request):
    r = robot(request.param)
    s = state(r, (), seed=8)
    return r, s, Mechanics(r, s.q, s.v, s.a)


def test_mass_matrix(case):
    r, s, oracle = case
    assert_close(r.mass_matrix(s.q), oracle.mass_matrix(), 1e-12)


def test_gravity_force(case):
    r, s, oracle = case
    assert_close(r.gravity_force(s.q), oracle.gravity_force(), 1e-12)


def test_inverse_dynamics(case):
    """Newton and Euler for every body, projected on the joints; rotors with their gyroscopic moments."""
    r, s, oracle = case
    assert_close(r.inverse_dynamics(s.q, s.v, s.a), oracle.joint_forces(), 1e-9)


def test_momentum_and_center_of_mass(case):
    r, s, oracle = case
    assert_close(r.momentum(s.q, s.v), oracle.momentum(), 1e-12)
    assert_close(r.center_of_mass(s.q), oracle.center_of_mass(), 1e-12)


def test_kinetic_energy(case):
    """½ v·(generalised momentum), with the momentum from poses."""
    r, s, oracle = case
    assert_close(r.kinetic_energy(s.q, s.v), 0.5 * s.v @ oracle.mass_matrix() @ s.v, 1e-12)


def test_potential_energy(case):
    r, s, oracle = case
    expected = -r.total_mass * (r.gravity @ oracle.center_of_mass())
    assert_close(r.potential_energy(s.q), expected, 1e-12)
