"""∂𝓜/∂θ_i (DD Identity 6.3) against complex steps, and what follows from it."""

import numpy as np
import pytest
from trees import ALL, assert_close, robot, state, times

STEP = 1e-30


@pytest.fixture(params=[*ALL, "hinges", "arms", "panda"])
def case(request):
    r = robot(request.param)
    s = state(r, (2,))
    return r, s, r.mass_matrix_sensitivity(s.q)


def test_against_complex_steps_in_every_direction(case):
    r, s, dM = case
    ahead = r.integrate(s.q[:, None], 1j * STEP * np.eye(r.nv))
    assert_close(dM, r.mass_matrix(ahead).imag / STEP, 1e-12)


def test_rate_of_the_mass_matrix_is_that_of_its_factor(case):
    """Σ θ̇_i M_θi = ṁm* + mṁ*."""
    r, s, dM = case
    half = r.mass_factor_rate(s.q, s.v) @ r.mass_factor(s.q).mT
    assert_close(np.einsum("...ijk,...i->...jk", dM, s.v), half + half.mT, 1e-12)


@pytest.mark.parametrize("name", ["revolute", "prismatic", "helical", "custom_screw", "hinges", "panda"])
def test_coriolis_forces_of_one_dof_joints(name):
    """C = 𝓜̇θ̇ − ½ θ̇*M_θθ̇ ((2.1))."""
    r = robot(name)
    s = state(r)
    dM = r.mass_matrix_sensitivity(s.q)
    rate = np.einsum("...ijk,...i->...jk", dM, s.v)
    C = times(rate, s.v) - 0.5 * np.einsum("...ijk,...j,...k->...i", dM, s.v, s.v)
    assert_close(C, r.with_gravity((0, 0, 0)).bias_force(s.q, s.v), 1e-12)


def test_identity_6_3_in_operators():
    """M_θi = Hφ[𝓗ⁱφM + Mφ*𝓗ⁱ*]φ*H*: F at the unit velocity e_i is 𝓗ⁱ."""
    r = robot("panda")
    s = state(r, ())
    dM = r.mass_matrix_sensitivity(s.q)
    for i in range(r.nv):
        o = r.operators(s.q, v=np.eye(r.nv)[i])
        half = o.H @ o.phi @ o.F @ o.phi @ o.M @ o.phi.T @ o.H.T
        assert_close((half + half.T).dense(), dM[i], 1e-12)


def test_first_joint_of_a_fixed_base_does_not_matter():
    r = robot("chain6")
    s = state(r)
    assert not r.mass_matrix_sensitivity(s.q)[:, 0].any()
