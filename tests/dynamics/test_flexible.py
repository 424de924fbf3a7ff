"""The dynamics of trees with flexible bodies, against mass points whose kinetic energy is differentiated."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from flexible_bodies import (
    STEP,
    flexible_arm,
    flexible_tree,
    kinetic_energy,
    lagrangian_forces,
    moved,
    point_positions,
    strain_energy,
    strain_forces,
)
from methods import CALLS, Inputs, inputs

import linkwise as lw

WAYS = [(False, False), (False, True), (True, False), (True, True)]  # floating, with displacements of second order


@cache
def case(floating: bool = False, bends: bool = False):
    """(robot, what it was assembled from, a state whose bodies are bent a great deal)."""
    robot, bodies = flexible_tree(3, floating=floating, bends=bends)
    x = inputs(robot, seed=2)
    rng = np.random.default_rng(1)
    for joint, where, _ in robot.coordinates:
        if joint.name.endswith(".modes"):
            x.q[where] = 0.5 * rng.normal(size=where.stop - where.start)
    return robot, bodies, x


def slope(f, robot: lw.Robot, q: np.ndarray) -> np.ndarray:
    """The derivative of f(q) along δq of joint space, by complex steps."""
    return np.moveaxis(f(moved(robot, np.tile(q, (robot.nv, 1)), 1j * STEP * np.eye(robot.nv))).imag / STEP, 0, -1)


@pytest.mark.parametrize(("floating", "bends"), WAYS)
def test_forces_are_lagranges(floating, bends):
    robot, bodies, x = case(floating, bends)
    expected = lagrangian_forces(robot, bodies, x.q, x.v, x.a)
    for method in ("newton_euler", "composite_body"):
        found = robot.inverse_dynamics(x.q, x.v, x.a, method=method)
        np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize(("floating", "bends"), WAYS)
def test_energies_are_those_of_the_points(floating, bends):
    robot, bodies, x = case(floating, bends)
    kinetic, potential = robot.energy(x.q, x.v)
    assert kinetic == pytest.approx(kinetic_energy(robot, bodies, x.q, x.v), rel=1e-13)
    assert 0.5 * x.v @ robot.mass_matrix(x.q) @ x.v == pytest.approx(kinetic, rel=1e-13)
    masses, places = point_positions(robot, bodies, x.q)
    strain = strain_energy(robot, bodies, x.q)
    assert strain > 1.0
    assert potential == pytest.approx(strain - masses @ places @ robot.gravity, rel=1e-12)
    np.testing.assert_allclose(robot.center_of_mass(x.q), masses @ places / masses.sum(), atol=1e-13)
    assert robot.total_mass == pytest.approx(masses.sum(), rel=1e-14)


@pytest.mark.parametrize("floating", [False, True])
def test_momentum_is_that_of_the_points(floating):
    robot, bodies, x = case(floating)
    masses, places = point_positions(robot, bodies, moved(robot, x.q, 1j * STEP * x.v))
    p = masses[:, None] * places.imag / STEP
    expected = [*np.cross(places.real, p).sum(axis=0), *p.sum(axis=0)]
    np.testing.assert_allclose(robot.momentum(x.q, x.v), expected, atol=1e-12)
    np.testing.assert_allclose(robot.momentum_matrix(x.q) @ x.v, expected, atol=1e-12)


@pytest.mark.parametrize("method", [m for m in lw.FORWARD_METHODS if m not in ("armstrong", "scan")])
def test_forward_dynamics_by_all_methods(method):
    robot, _, x = case(True, True)
    tau = robot.inverse_dynamics(x.q, x.v, x.a, external=x.external)
    found = robot.forward_dynamics(x.q, x.v, tau, external=x.external, method=method)
    np.testing.assert_allclose(found, x.a, atol=1e-9)


@pytest.mark.parametrize("method", ["armstrong", "scan"])
def test_methods_that_do_not_take_flexible_bodies_say_so(method):
    robot, _, x = case()
    with pytest.raises(lw.NotAdmittedError, match="modes"):
        robot.forward_dynamics(x.q, x.v, x.tau, method=method)


@pytest.mark.parametrize(("floating", "bends"), WAYS)
def test_factors(floating, bends):
    robot, _, x = case(floating, bends)
    mass = robot.mass_matrix(x.q)
    unit, D = robot.innovations_factors(x.q)
    np.testing.assert_allclose(unit @ D @ unit.T, mass, atol=1e-12)
    np.testing.assert_allclose(robot.mass_matrix_inverse(x.q) @ mass, np.eye(robot.nv), atol=1e-10)
    np.testing.assert_allclose(robot.mass_solve(x.q, x.tau), np.linalg.solve(mass, x.tau), rtol=1e-9)
    assert robot.log_det_mass(x.q) == pytest.approx(np.linalg.slogdet(mass)[1], rel=1e-12)


# --- derivatives -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("floating", "bends"), WAYS)
@pytest.mark.parametrize("method", ["algorithm_1", "algorithm_2"])
def test_linearized_inverse_dynamics(method, floating, bends):
    robot, _, x = case(floating, bends)
    found = robot.linearize_inverse(x.q, x.v, x.a, method=method)
    by_q = slope(lambda q: robot.inverse_dynamics(q, x.v + 0j, x.a + 0j), robot, x.q)
    by_v = robot.inverse_dynamics(x.q + 0j, x.v + 1j * STEP * np.eye(robot.nv), x.a + 0j).imag
    np.testing.assert_allclose(found.dq, by_q, atol=1e-11 * np.abs(by_q).max())
    np.testing.assert_allclose(found.dv, by_v.T / STEP, atol=1e-11 * np.abs(by_v / STEP).max())
    np.testing.assert_allclose(found.M, robot.mass_matrix(x.q), atol=1e-12)


@pytest.mark.parametrize("method", [None, "algorithm_3", "algorithm_4", "algorithm_5_ii"])
def test_linearized_forward_dynamics(method):
    robot, _, x = case(True, True)
    tau = robot.inverse_dynamics(x.q, x.v, x.a)
    found, inverse = robot.linearize_forward(x.q, x.v, tau, method=method), robot.linearize_inverse(x.q, x.v, x.a)
    for a, b in ((found.dq, inverse.dq), (found.dv, inverse.dv)):
        expected = -np.linalg.solve(inverse.M, b)
        np.testing.assert_allclose(a, expected, atol=1e-9 * np.abs(expected).max())


def test_other_derivatives():
    robot, bodies, x = case(True, True)
    sensitivity = np.moveaxis(slope(lambda q: robot.mass_matrix(q), robot, x.q), -1, 0)
    np.testing.assert_allclose(robot.mass_matrix_sensitivity(x.q), sensitivity, atol=1e-11)
    rate = np.einsum("i,ijk->jk", x.v, sensitivity)
    coriolis = robot.coriolis_matrix(x.q, x.v)
    np.testing.assert_allclose(coriolis + coriolis.T, rate, atol=1e-11)
    still = robot.bias_force(x.q, x.v) - robot.bias_force(x.q, 0 * x.v) - strain_forces(robot, bodies, 0 * x.q, x.v)
    np.testing.assert_allclose(coriolis @ x.v, still, atol=1e-10)
    m, m_rate = robot.mass_factor(x.q), robot.mass_factor_rate(x.q, x.v)
    np.testing.assert_allclose(m_rate @ m.T + m @ m_rate.T, rate, atol=1e-10)
    regressor = robot.inverse_dynamics_regressor(x.q, x.v, x.a)
    np.testing.assert_allclose(
        regressor @ robot.inertial_parameters.ravel() + strain_forces(robot, bodies, x.q, x.v),
        robot.inverse_dynamics(x.q, x.v, x.a),
        atol=1e-10,
    )


# --- frames that move with modes -------------------------------------------------------------------------


@pytest.mark.parametrize(("floating", "bends"), WAYS)
def test_frames_on_bending_bodies(floating, bends):
    """Poses by the oracle's own kinematics: a mass point put at the node; velocities and accelerations by theirs."""
    robot, bodies, x = case(floating, bends)
    frame = "root.side"
    node = next(b.inertia for b in bodies if b.name == "root").node("side")

    def position(q):
        eta, R = q[robot.q_slices[robot.joint("root.modes")]], None
        own = bodies[0].joint.kind.transform(q[robot.q_slices[0]])
        R = own.R
        at = node.at + node.shape @ eta
        at = at if node.bend is None else at + 0.5 * (node.bend @ eta) @ eta
        return own.l + R @ at

    _, p = robot.pose(x.q, frame)
    np.testing.assert_allclose(p, position(x.q), atol=1e-14)
    J = robot.jacobian(x.q, frame)
    np.testing.assert_allclose(J[3:], slope(np.vectorize(position, signature="(n)->(m)"), robot, x.q), atol=1e-13)
    np.testing.assert_allclose(robot.velocity(x.q, x.v, frame), J @ x.v, atol=1e-13)
    R = robot.pose(x.q, frame)[0]
    spun = slope(lambda q: robot.pose(q, frame)[0] + 0j, robot, x.q)
    for i in range(robot.nv):
        spin = spun[..., i] @ R.T
        np.testing.assert_allclose(J[:3, i], [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-13)
    drift = slope(lambda q: robot.jacobian(q, frame) @ (x.v + 0j), robot, x.q) @ x.v
    np.testing.assert_allclose(robot.jacobian_dot_v(x.q, x.v, frame), drift, atol=1e-11)
    Lambda = robot.operational_inertia(x.q, "hand")
    tip = robot.jacobian(x.q, "hand")
    np.testing.assert_allclose(Lambda @ tip @ np.linalg.solve(robot.mass_matrix(x.q), tip.T), np.eye(6), atol=1e-8)


# --- compiled --------------------------------------------------------------------------------------------

COMPILED = [
    "inverse_dynamics",
    "forward_dynamics (articulated_body)",
    "mass_matrix (composite)",
    "mass_matrix_inverse",
    "jacobian",
    "energy",
    "momentum",
    "linearize_forward (None)",
    "diagonal_dynamics",
    "operators (mass.inv)",
]


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_code_gives_what_numpy_gives(name, monkeypatch):
    robot = flexible_arm(2)
    x = inputs(robot, (3,), seed=4)
    expected = CALLS[name](robot, x)
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    found = CALLS[name](robot, x)
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, atol=1e-8 * (1 + np.abs(b).max()))
    if name.startswith("forward"):
        single = CALLS[name](robot, Inputs(*(np.asarray(getattr(x, f), np.float32) for f in vars(x))))[0]
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, expected[0], atol=2e-2 * np.abs(expected[0]).max())


def test_operations_grow_by_the_same_with_every_link():
    """O(n): from the third link on, every one costs what the one before did."""
    counts = [np.array(_operations(flexible_arm(n))) for n in (3, 4, 5, 6)]
    steps = [b - a for a, b in pairwise(counts)]
    assert (steps[1] == steps[2]).all() and np.abs(steps[1] - steps[0]).max() <= 12
    assert steps[0].sum() < 3400


def _operations(robot: lw.Robot) -> list[int]:
    found = robot.compile("forward_dynamics").operations
    return [found.multiplications, found.additions]
