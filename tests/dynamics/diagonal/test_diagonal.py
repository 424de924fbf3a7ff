"""Diagonal coordinates: the tables, the Coriolis term and the forward dynamics, on every joint kind and with rotors."""

import numpy as np
import pytest
from trees import ALL, assert_close, error, robot, state, times

import linkwise as lw
from linkwise.errors import NotAdmittedError

STEP = 1e-30
HINGES = ["revolute", "prismatic", "helical", "custom_screw", "chain6", "panda"]


@pytest.fixture(params=[*ALL, "hinges", "arms", "chain6", "panda"])
def case(request):
    r = robot(request.param)
    return r, state(r)


def rate(r, s, function, acceleration=None):
    """d/dt of function(q, v) while the robot moves with v (and v̇): a complex step."""
    v = s.v if acceleration is None else s.v + 1j * STEP * acceleration
    return function(r.integrate(s.q, 1j * STEP * s.v), v).imag / STEP


# --- Tables 2 and 3 ------------------------------------------------------------------------------------


def test_factor_squares_to_the_mass_matrix(case):
    r, s = case
    m = r.mass_factor(s.q)
    assert_close(m @ m.mT, r.mass_matrix(s.q), 1e-12)
    factor, D = r.innovations_factors(s.q)
    assert_close(m, factor @ np.linalg.cholesky(D), 1e-12)


def test_total_rates_are_m_adjoint_times_joint_rates(case):
    r, s = case
    m = r.mass_factor(s.q)
    nu = r.total_rates(s.q, s.v)
    assert_close(nu, times(m.mT, s.v), 1e-12)
    assert_close(r.joint_rates(s.q, nu), s.v, 1e-11)
    assert_close(0.5 * (nu * nu).sum(-1), r.kinetic_energy(s.q, s.v), 1e-12)


def test_working_forces_are_ell_times_joint_forces(case):
    r, s = case
    m = r.mass_factor(s.q)
    eps = r.working_forces(s.q, s.tau)
    assert_close(times(m, eps), s.tau, 1e-11)
    assert_close(r.joint_forces(s.q, eps), s.tau, 1e-11)


def test_unnormalised_rates_and_forces(case):
    """ξ = (I + HφK)*v, κ = (I − HψK)T, kinetic energy ½ξ*Dξ, power κ*ξ = T*v."""
    r, s = case
    factor, D = r.innovations_factors(s.q)
    xi, kappa = r.total_rates(s.q, s.v, normalized=False), r.working_forces(s.q, s.tau, normalized=False)
    assert_close(xi, times(factor.mT, s.v), 1e-12)
    assert_close(times(factor, kappa), s.tau, 1e-11)
    assert_close(r.joint_rates(s.q, xi, normalized=False), s.v, 1e-11)
    assert_close(r.joint_forces(s.q, kappa, normalized=False), s.tau, 1e-11)
    assert_close(0.5 * (xi * times(D, xi)).sum(-1), r.kinetic_energy(s.q, s.v), 1e-12)
    assert_close((kappa * xi).sum(-1), (s.tau * s.v).sum(-1), 1e-11)
    nu, eps = r.total_rates(s.q, s.v), r.working_forces(s.q, s.tau)
    assert_close((eps * nu).sum(-1), (s.tau * s.v).sum(-1), 1e-11)


def test_a_joint_on_a_resting_link_has_its_own_rate_as_total_rate():
    """(5.3): ξ(k) = θ̇(k) where everything inboard of joint k is at rest; outboard joints do not matter."""
    r = robot("chain6")
    s = state(r, ())
    for k in range(6):
        v = np.where(np.arange(6) < k, 0.0, s.v)
        assert_close(r.total_rates(s.q, v, normalized=False)[k], v[k], 1e-14)


def test_working_forces_see_only_what_is_outboard():
    """(5.4): ε(k) depends on the forces at joint k and outboard of it."""
    r = robot("hinges")
    s = state(r, ())
    for k in range(r.nv):
        outboard = [j for j in range(r.nv) if j == k or k in r.path(j)]
        other = np.where(np.isin(np.arange(r.nv), outboard), s.tau, s.a)
        assert_close(r.working_forces(s.q, other)[k], r.working_forces(s.q, s.tau)[k], 1e-13)


# --- rates ---------------------------------------------------------------------------------------------


def test_rate_of_the_factor(case):
    r, s = case
    assert_close(r.mass_factor_rate(s.q, s.v), rate(r, s, lambda q, v: r.mass_factor(q)), 1e-12)


def test_rate_of_articulated_inertias(case):
    r, s = case
    measured = rate(r, s, lambda q, v: r.articulated_inertias(q))
    assert_close(r.articulated_inertia_rates(s.q, s.v), measured, 1e-12)


def test_articulated_inertias_are_those_of_the_algebra(case):
    r, s = case
    o = r.operators(s.q[0])
    assert_close(r.articulated_inertias(s.q)[0], np.stack(o.P.blocks), 1e-13)


# --- Coriolis term -------------------------------------------------------------------------------------


def test_coriolis_does_no_work(case):
    """ν*C = 0 (Lemma 7.1), also for rates that were not made from a motion."""
    r, s = case
    for nu in (r.total_rates(s.q, s.v), s.a):
        C = r.diagonal_coriolis(s.q, nu)
        assert_close((nu * C).sum(-1), np.zeros(3), 1e-12)
        assert_close(r.diagonal_coriolis(s.q, -2.0 * nu), 4.0 * C, 1e-12)


def test_coriolis_is_lemma_3_1(case):
    """C(θ, ν) = ℓC(θ, θ̇) − ṁ*θ̇."""
    r, s = case
    bias = r.with_gravity((0, 0, 0)).bias_force(s.q, s.v)
    expected = r.working_forces(s.q, bias) - times(r.mass_factor_rate(s.q, s.v).mT, s.v)
    assert_close(r.diagonal_coriolis(s.q, r.total_rates(s.q, s.v)), expected, 1e-11)


def test_unnormalised_coriolis(case):
    """C(θ, ξ) = L[C(θ, ν) + L°*ξ] (Lemma 7.3); it does not do without work: ξ*C = ½ξ*D°ξ."""
    r, s = case
    D_ring = rate(r, s, lambda q, v: r.innovations_factors(q)[1])
    xi = r.total_rates(s.q, s.v, normalized=False)
    C = r.diagonal_coriolis(s.q, xi, normalized=False)
    assert_close((xi * C).sum(-1), 0.5 * (xi * times(D_ring, xi)).sum(-1), 1e-11)
    L = np.linalg.cholesky(r.innovations_factors(s.q)[1])
    L_ring = rate(r, s, lambda q, v: _root(r, q))
    expected = times(L, r.diagonal_coriolis(s.q, r.total_rates(s.q, s.v)) + times(L_ring.mT, xi))
    assert_close(C, expected, 1e-11)


def _root(r, q):
    """D^{1/2} = (I − HψK) m."""
    return r.inverse_factors(q)[0] @ r.mass_factor(q)


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("name", HINGES)
def test_printed_forms_agree(name, normalized):
    """Identity 7.1 and Algorithm 7.1; Lemma 7.3 and (7.10); (8.3)."""
    r = robot(name)
    s = state(r)
    nu = r.total_rates(s.q, s.v, normalized=normalized)
    C = r.diagonal_coriolis(s.q, nu, normalized=normalized)
    for method in ("closed_form", "recursive"):
        assert_close(r.diagonal_coriolis(s.q, nu, method=method, normalized=normalized), C, 1e-12, method)
    for external in (None, s.external):
        general = r.diagonal_dynamics(s.q, nu, s.tau, external=external, normalized=normalized)
        printed = r.diagonal_dynamics(s.q, nu, s.tau, external=external, method="algorithm_8_1", normalized=normalized)
        for x, y in zip(printed, general, strict=True):
            assert_close(x, y, 1e-11)


@pytest.mark.parametrize(
    ("name", "culprit"), [("spherical", "3 degrees of freedom"), ("universal", "2 degrees"), ("hinges", "rotor")]
)
def test_printed_forms_say_whom_they_do_not_admit(name, culprit):
    r = robot(name)
    s = state(r, ())
    for method in ("closed_form", "recursive"):
        with pytest.raises(NotAdmittedError, match=f'joint .*{culprit}.*method="general"'):
            r.diagonal_coriolis(s.q, s.v, method=method)
    with pytest.raises(NotAdmittedError, match=f"Algorithm 8.1.*{culprit}"):
        r.diagonal_dynamics(s.q, s.v, s.tau, method="algorithm_8_1")


def test_unknown_methods():
    r = robot("panda")
    s = state(r, ())
    with pytest.raises(lw.UnknownNameError, match="choose from general, closed_form, recursive"):
        r.diagonal_coriolis(s.q, s.v, method="fast")
    with pytest.raises(lw.UnknownNameError, match="choose from general, algorithm_8_1"):
        r.diagonal_dynamics(s.q, s.v, s.tau, method="fast")


# --- forward dynamics ----------------------------------------------------------------------------------


@pytest.mark.parametrize("normalized", [True, False])
def test_forward_dynamics(case, normalized):
    """ν̇ is d/dt of m*v along the motion that robot.forward_dynamics gives."""
    r, s = case
    acceleration = r.forward_dynamics(s.q, s.v, s.tau, external=s.external)
    expected = rate(r, s, lambda q, v: r.total_rates(q, v, normalized=normalized), acceleration)
    nu = r.total_rates(s.q, s.v, normalized=normalized)
    v, nu_dot = r.diagonal_dynamics(s.q, nu, s.tau, external=s.external, normalized=normalized)
    assert_close(v, s.v, 1e-11)
    assert_close(nu_dot, expected, 1e-10)


def test_equation_of_motion_and_energy_rate(case):
    """ν̇ = ε − C − ℓT_g, and d/dt ½ν*ν is the power of what drives (Lemma 7.2)."""
    r, s = case
    nu = r.total_rates(s.q, s.v)
    eps = r.working_forces(s.q, s.tau - r.gravity_force(s.q))
    _, nu_dot = r.diagonal_dynamics(s.q, nu, s.tau)
    assert_close(nu_dot, eps - r.diagonal_coriolis(s.q, nu), 1e-11)
    assert_close((nu * nu_dot).sum(-1), ((s.tau - r.gravity_force(s.q)) * s.v).sum(-1), 1e-10)


def test_unnormalised_equation_of_motion(case):
    """Dξ̇ = κ − C(θ, ξ) − (I − HψK)T_g."""
    r, s = case
    xi = r.total_rates(s.q, s.v, normalized=False)
    kappa = r.working_forces(s.q, s.tau - r.gravity_force(s.q), normalized=False)
    _, xi_dot = r.diagonal_dynamics(s.q, xi, s.tau, normalized=False)
    D = r.innovations_factors(s.q)[1]
    assert_close(times(D, xi_dot), kappa - r.diagonal_coriolis(s.q, xi, normalized=False), 1e-11)


def test_sliders_have_no_coriolis_term():
    r = robot("prismatic")
    s = state(r)
    assert_close(r.diagonal_coriolis(s.q, s.v), np.zeros((3, r.nv)), 1e-13)


# --- compiled ------------------------------------------------------------------------------------------

COMPILED = {
    "total_rates": ("q", "v"),
    "joint_rates": ("q", "v"),
    "working_forces": ("q", "tau"),
    "joint_forces": ("q", "tau"),
    "diagonal_coriolis": ("q", "v"),
    "diagonal_dynamics": ("q", "v", "tau"),
}


@pytest.mark.parametrize(("name", "normalized"), [("floating_rotors", True), ("custom_four", False), ("hinges", True)])
def test_kernels_agree_with_numpy(name, normalized, tmp_path, monkeypatch):
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    r = robot(name)
    s = state(r, (5,))
    for function, reads in COMPILED.items():
        args = [getattr(s, k) for k in reads]
        found = r.compile(function, normalized=normalized)(*args)
        expected = getattr(r, function)(*args, normalized=normalized)
        pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
        for x, y in pairs:
            assert_close(x / np.abs(y).max(), y / np.abs(y).max(), 1e-12, function)


@pytest.mark.parametrize("name", ["panda", "chain6"])
def test_every_method_compiles(name, tmp_path, monkeypatch):
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    r = robot(name)
    s = state(r, (5,))
    for method in ("closed_form", "recursive"):
        found = r.compile("diagonal_coriolis", method=method)(s.q, s.v)
        assert error(found, r.diagonal_coriolis(s.q, s.v)) < 1e-12
    found = r.compile("diagonal_dynamics", method="algorithm_8_1")(s.q, s.v, s.tau)
    for x, y in zip(found, r.diagonal_dynamics(s.q, s.v, s.tau), strict=True):
        assert_close(x / np.abs(y).max(), y / np.abs(y).max(), 1e-12)


def test_the_general_form_costs_what_the_printed_one_does():
    r = robot("panda")
    general = r.compile("diagonal_dynamics", normalized=False).operations.total
    printed = r.compile("diagonal_dynamics", method="algorithm_8_1", normalized=False).operations.total
    assert general <= 1.01 * printed
    assert general <= 1.6 * r.compile("forward_dynamics").operations.total


def test_cost_grows_linearly():
    counts = [lw.chain(n, seed=1).compile("diagonal_dynamics").operations.total for n in (6, 9, 12, 15)]
    steps = np.diff(counts)
    assert np.ptp(steps) <= 0.05 * steps[0]


def test_kernels_with_symbolic_inertias_and_their_derivatives(tmp_path, monkeypatch):
    """Inertial parameters as inputs; C is quadratic, so ∂C/∂ν ν = 2C."""
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path))
    r = lw.load("ur5")
    s = state(r, (4,))
    kernel = r.compile("diagonal_dynamics", parameters=("inertial",))
    found = kernel(s.q, s.v, s.tau, r.inertial_parameters.ravel())
    for x, y in zip(found, r.diagonal_dynamics(s.q, s.v, s.tau), strict=True):
        assert_close(x / np.abs(y).max(), y / np.abs(y).max(), 1e-12)
    slope = r.compile("diagonal_coriolis").jacobian("nu")(s.q, s.v)
    assert_close(times(slope, s.v), 2.0 * r.diagonal_coriolis(s.q, s.v), 1e-12)


# --- robots that hardly are any ------------------------------------------------------------------------


@pytest.mark.parametrize("bodies", [[], [lw.Body("block", lw.Fixed(), lw.Inertia.box(1.0, (1, 1, 1)))]])
def test_robots_that_cannot_move(bodies):
    r = lw.assemble("still", bodies)
    x = np.zeros((2, 0))
    for name in ("total_rates", "joint_rates", "working_forces", "joint_forces", "diagonal_coriolis"):
        assert getattr(r, name)(x, x).shape == (2, 0)
    assert [y.shape for y in r.diagonal_dynamics(x, x, x)] == [(2, 0), (2, 0)]
    assert r.mass_factor(x).shape == r.mass_factor_rate(x, x).shape == (2, 0, 0)
    assert r.articulated_inertia_rates(x, x).shape == (2, len(bodies), 6, 6)
    assert r.mass_matrix_sensitivity(x).shape == (2, 0, 0, 0)
    assert r.curvature(x).shape == (2, 0, 0, 0, 0)
    assert r.is_diagonalizable()


def test_a_joint_that_nothing_resists():
    r = lw.assemble("thin", [lw.Body("thread", lw.Revolute())])
    with pytest.raises(lw.SingularError, match="nothing resists the joint of body 'thread'"):
        r.total_rates([0.0], [1.0])
