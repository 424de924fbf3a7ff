"""The Coriolis matrix: C v is the bias, 𝓜̇ − 2C is skew, and for hinges C holds Christoffel symbols."""

import numpy as np
import pytest
from trees import ALL, assert_close, robot, state, times

import linkwise as lw
from linkwise.dynamics import coriolis
from linkwise.dynamics.diagonal import mass_sensitivity
from linkwise.dynamics.inertia_rate import inertia_rate
from linkwise.spatial import cross_force, cross_motion_matrix, skew

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


def test_inertia_rate_is_half_of_what_changes(rng):
    """M̂ = ½(S[V]M − MṼ − Q[MV]) (LD (2.6), (2.8)), M̂V = S[V]MV, and sums of it under φ·φ* are the dense ones."""

    M = lw.Inertia(1.3, com=rng.normal(size=3), tensor=np.diag([0.3, 0.4, 0.5])).spatial()
    V = rng.normal(size=(6, 1))
    a, b = (skew(x) for x in np.split((M @ V)[:, 0], 2))
    tilde = cross_motion_matrix(V)
    dense = 0.5 * (-tilde.T @ M.matrix - M.matrix @ tilde - np.block([[a, b], [b, np.zeros((3, 3))]]))
    rate = inertia_rate(M, V)
    assert_close(rate.matrix, dense, 1e-13)
    assert_close(rate @ V, cross_force(V, M @ V), 1e-13)
    X = rng.normal(size=(6, 2))
    assert_close(rate @ X, dense @ X, 1e-13)
    assert_close(rate.adjoint_times(X), dense.T @ X, 1e-13)
    phi = lw.Joint(lw.Fixed(), at=rng.normal(size=3), rpy=rng.normal(size=3)).placement
    assert_close((rate.moved(phi) + rate).matrix, phi.matrix @ dense @ phi.matrix.T + dense, 1e-12)


@pytest.mark.parametrize("name", [*ALL, "panda"])
def test_one_frame_for_all_bodies_gives_the_same(name, monkeypatch):
    """As compiled code has it where axes are general; ∂𝓜/∂q as well, which is C + C* along every direction."""
    r = robot(name)
    s = state(r, (2,), seed=3)
    C, dM = r.coriolis_matrix(s.q, s.v, target="numpy"), r.mass_matrix_sensitivity(s.q, target="numpy")
    for module in (coriolis, mass_sensitivity):
        monkeypatch.setattr(module, "one_frame_pays", lambda links: True)
    assert_close(r.coriolis_matrix(s.q, s.v, target="numpy"), C, 1e-12)
    assert_close(r.mass_matrix_sensitivity(s.q, target="numpy"), dM, 1e-12)
    along = r.coriolis_matrix(s.q[:, None], np.eye(r.nv), target="numpy")
    assert_close(along + np.swapaxes(along, -1, -2), dM, 1e-12)


def test_general_axes_take_fewer_operations_in_one_frame(monkeypatch):
    """Counted."""
    monkeypatch.setenv("LINKWISE_CACHE", "off")
    found = {}
    for pays in (True, False):
        for module in (coriolis, mass_sensitivity):
            monkeypatch.setattr(module, "one_frame_pays", lambda links, pays=pays: pays)
        calls = ("coriolis_matrix", "mass_matrix_sensitivity")
        found[pays] = [robot("chain8").compile(name, rolled=False).operations.total for name in calls]
    assert all(one < share * own for one, own, share in zip(found[True], found[False], (0.92, 0.7)))
