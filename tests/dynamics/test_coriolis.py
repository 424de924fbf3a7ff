"""The Coriolis matrix: C v is the bias, 𝓜̇ − 2C is skew, and for hinges C holds Christoffel symbols."""

import numpy as np
import pytest
from trees import ALL, assert_close, robot, state, times

STEP = 1e-30


@pytest.fixture(params=[*ALL, "hinges", "chain6"])
def case(request):
    r = robot(request.param)
    s = state(r)
    return r, s, r.coriolis_matrix(s.q, s.v)


def test_product_with_the_velocity_is_the_bias_without_gravity(case):
    r, s, C = case
    assert_close(times(C, s.v), r.with_gravity((0, 0, 0)).bias_force(s.q, s.v), 1e-12)


def test_mass_rate_less_twice_C_is_skew(case):
    """𝓜̇ by a complex step along v, exact to rounding."""
    r, s, C = case
    M_dot = r.mass_matrix(r.integrate(s.q, 1j * STEP * s.v)).imag / STEP
    S = M_dot - 2 * C
    assert_close(S, -S.swapaxes(-1, -2), 1e-12)
    assert np.abs(M_dot).max() > 1e-3 or r is robot("prismatic") or r is robot("custom_slide")


def test_linear_in_the_velocity(case):
    r, s, C = case
    assert_close(r.coriolis_matrix(s.q, 3 * s.v), 3 * C, 1e-12)
    assert_close(r.coriolis_matrix(s.q, s.v + s.a), C + r.coriolis_matrix(s.q, s.a), 1e-12)


@pytest.mark.parametrize("name", ["revolute", "prismatic", "helical", "custom_screw", "hinges", "chain6"])
def test_christoffel_symbols_for_one_dof_joints(name):
    """C(i, j) = ½ Σ_k (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i) v_k."""
    r = robot(name)
    s = state(r, ())
    assert r.nq == r.nv == len(r.bodies)
    steps = s.q + 1j * STEP * np.eye(r.nv)
    dM = r.mass_matrix(steps).imag / STEP  # dM[k] = ∂𝓜/∂q_k
    C = 0.5 * (np.einsum("kij,k->ij", dM, s.v) + np.einsum("jik,k->ij", dM, s.v) - np.einsum("ijk,k->ij", dM, s.v))
    assert_close(r.coriolis_matrix(s.q, s.v), C, 1e-12)


def test_vanishes_at_rest_and_for_sliders_in_line():
    r = robot("floating_rotors")
    assert not r.coriolis_matrix(state(r).q, np.zeros(r.nv)).any()
    slides = robot("prismatic")
    s = state(slides)
    assert_close(slides.coriolis_matrix(s.q, s.v), np.zeros((3, slides.nv, slides.nv)), 1e-13)
