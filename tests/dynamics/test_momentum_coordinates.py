"""Momenta p = 𝓜v and their rate, and rates of configurations."""

import pytest
from trees import ALL, assert_close, robot, state

STEP = 1e-30


@pytest.mark.parametrize("name", ALL)
def test_momentum_force_is_the_rate_of_the_mass_matrix_less_the_bias_force(name):
    r, s = robot(name), state(robot(name), (3,))
    M_dot = r.mass_matrix(r.integrate(s.q, 1j * STEP * s.v)).imag / STEP
    expected = (M_dot @ s.v[..., None])[..., 0] - r.bias_force(s.q, s.v)
    assert_close(r.momentum_force(s.q, s.v), expected, 1e-11)


@pytest.mark.parametrize("name", ALL)
def test_configuration_rate_is_how_integrate_leaves(name):
    r, s = robot(name), state(robot(name), (3,))
    assert_close(r.configuration_rate(s.q, s.v), r.integrate(s.q, 1j * STEP * s.v).imag / STEP, 1e-13)
