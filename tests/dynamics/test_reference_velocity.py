"""Inverse dynamics with a reference velocity: T = 𝓜 a_r + C(q, v) v_r + gravity, against the Coriolis matrix."""

import numpy as np
import pytest
from trees import ALL, assert_close, robot, state, times

import linkwise as lw

STEP = 1e-30


@pytest.fixture(params=[*ALL, "hinges", "chain6"])
def case(request):
    r = robot(request.param)
    return r, state(r), state(r, seed=7).v


def test_against_the_coriolis_matrix(case):
    r, s, v_ref = case
    dense = times(r.mass_matrix(s.q), s.a) + times(r.coriolis_matrix(s.q, s.v), v_ref) + r.gravity_force(s.q)
    assert_close(r.inverse_dynamics_with_reference(s.q, s.v, v_ref, s.a), dense, 1e-12)


def test_is_inverse_dynamics_where_the_velocities_agree(case):
    r, s, _ = case
    found = r.inverse_dynamics_with_reference(s.q, s.v, s.v, s.a, external=s.external)
    assert_close(found, r.inverse_dynamics(s.q, s.v, s.a, external=s.external), 1e-12)


def test_mass_rate_less_twice_C_does_no_work(case):
    """x*(𝓜̇ − 2C)x = 0 for every x, with 𝓜̇ by a complex step along v."""
    r, s, x = case
    still = r.with_gravity((0, 0, 0))
    Cx = still.inverse_dynamics_with_reference(s.q, s.v, x, np.zeros(r.nv))
    M_dot_x = r.mass_times(r.integrate(s.q, 1j * STEP * s.v), x).imag / STEP
    work = (x * (M_dot_x - 2 * Cx)).sum(axis=-1)
    assert np.abs(work).max() < 1e-12 * max(1.0, np.abs(x * Cx).sum(axis=-1).max())


def test_linear_in_each_velocity(case):
    r, s, v_ref = case
    none = np.zeros(r.nv)
    still = r.with_gravity((0, 0, 0))

    def coriolis(v, w):
        return still.inverse_dynamics_with_reference(s.q, v, w, none)

    assert_close(coriolis(s.v + 2 * s.a, v_ref), coriolis(s.v, v_ref) + 2 * coriolis(s.a, v_ref), 1e-11)
    assert_close(coriolis(s.v, v_ref - 3 * s.a), coriolis(s.v, v_ref) - 3 * coriolis(s.v, s.a), 1e-11)


@pytest.mark.parametrize("name", ["panda", "floating_rotors"])
def test_compiled(name):
    r = robot(name)
    s, v_ref = state(r, (5,)), state(r, (5,), seed=7).v
    plain = r.inverse_dynamics_with_reference(s.q, s.v, v_ref, s.a, target="numpy")
    assert_close(r.inverse_dynamics_with_reference(s.q, s.v, v_ref, s.a, target="cpu"), plain, 1e-11)


def test_cost_is_linear_in_the_number_of_bodies():
    counts = [lw.chain(n, seed=1).compile("inverse_dynamics_with_reference").operations.total for n in (6, 9, 12)]
    assert counts[2] - counts[1] == pytest.approx(counts[1] - counts[0], rel=0.02)
    assert counts[0] < 1.15 * lw.chain(6, seed=1).compile("inverse_dynamics").operations.total
