"""Matrices over nodes (bodies that move as one) against complex steps, dense inverses and other algorithms."""

import numpy as np
import pytest

import linkwise as lw
from helpers.complex_steps import accelerations_by_state
from helpers.flexible_bodies import beam, flexible_arm, flexible_tree
from helpers.node_robots import alternating, bend, fingers, on_two_ports, stages

ROBOTS = {
    "flexible arm": lambda: flexible_arm(3, beam(2)),
    "flexible tree": lambda: flexible_tree(1)[0],
    "floating flexible tree with bends": lambda: flexible_tree(2, floating=True, bends=True)[0],
    "rigid links between": alternating,
    "two ports": on_two_ports,
    "differentials": lambda: stages(3),
    "cams with rotors": lambda: stages(2, bend, lw.Rotor(0.02, 3.0)),
    "fingers": fingers,
}


def relative(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


@pytest.fixture(params=ROBOTS)
def robot(request):
    return ROBOTS[request.param]()


def numpy_only(method):
    return lambda *x, **options: method(*x, target="numpy", **options)


def test_linearised_forward_dynamics_is_the_derivative(robot, rng):
    q, (v, tau) = robot.random_configuration(rng), rng.normal(size=(2, robot.nv))
    expected = accelerations_by_state(robot, numpy_only(robot.forward_dynamics), q, v, tau)
    for method in ("algorithm_6", "algorithm_4"):
        found = robot.linearize_forward(q, v, tau, method=method, target="numpy")
        assert max(map(relative, found, expected)) < 1e-12


def test_algorithm_6_in_batches_and_with_forces_on_bodies(robot, rng):
    q, (v, tau) = robot.random_configuration(rng, (3,)), rng.normal(size=(2, 3, robot.nv))
    external = rng.normal(size=(3, len(robot.bodies), 6))
    ways = [
        robot.linearize_forward(q, v, tau, external=external, method=m, target="numpy")
        for m in ("algorithm_6", "algorithm_3")
    ]
    assert max(map(relative, *ways)) < 1e-12


def test_mass_matrices_and_their_inverses(robot, rng):
    q = robot.random_configuration(rng)
    times, solve = numpy_only(robot.mass_times), numpy_only(robot.mass_solve)
    columns = np.transpose([times(q, x) for x in np.eye(robot.nv)])
    inverse = np.transpose([solve(q, x) for x in np.eye(robot.nv)])
    assert relative(robot.mass_matrix(q, target="numpy"), columns) < 1e-14
    for method in ("rows", "paths"):
        found = robot.mass_matrix_inverse(q, method=method, target="numpy")
        assert relative(found, inverse) < 1e-13
        assert np.abs(found @ columns - np.eye(robot.nv)).max() < 1e-9


def test_coriolis_matrix_and_the_rate_of_the_mass_matrix(robot, rng):
    """C v is the Coriolis force, and 𝓜̇ − 2C is skew."""
    q, v = robot.random_configuration(rng), rng.normal(size=robot.nv)
    C = robot.coriolis_matrix(q, v, target="numpy")
    bias = numpy_only(robot.bias_force)(q, v) - robot.bias_force(q, 0 * v, target="numpy")
    damped = robot.spring_force(q, v, target="numpy") - robot.spring_force(q, 0 * v, target="numpy")
    assert relative(C @ v, bias - damped) < 1e-12
    rates = robot.configuration_rate(q, v, target="numpy")
    M_dot = robot.mass_matrix(q + 1e-30j * rates, target="numpy").imag / 1e-30
    assert np.abs(M_dot - C - C.T).max() < 1e-12 * np.abs(M_dot).max()


def test_rate_of_the_factor(robot, rng):
    """ṁ, and ν̇ = ṁ*v + m*a, by complex steps."""
    q, (v, tau) = robot.random_configuration(rng), rng.normal(size=(2, robot.nv))
    moved = q + 1e-30j * robot.configuration_rate(q, v, target="numpy")
    slope = numpy_only(robot.mass_factor)(moved).imag / 1e-30
    assert relative(robot.mass_factor_rate(q, v, target="numpy"), slope) < 1e-12
    nu = robot.total_rates(q, v, target="numpy")
    a = robot.forward_dynamics(q, v, tau, target="numpy")
    expected = slope.T @ v + robot.total_rates(q, a, target="numpy")
    rates, change = robot.diagonal_dynamics(q, nu, tau, target="numpy")
    assert relative(rates, v) < 1e-12 and relative(change, expected) < 1e-11
    swung = robot.total_rates(moved, v + 0j, target="numpy", normalized=False).imag / 1e-30
    factor, D = robot.innovations_factors(q, target="numpy")
    still = robot.bias_force(q, v, target="numpy") - robot.bias_force(q, 0 * v, target="numpy")
    still = still - robot.spring_force(q, v, target="numpy") + robot.spring_force(q, 0 * v, target="numpy")
    xi = robot.total_rates(q, v, normalized=False, target="numpy")
    found = robot.diagonal_coriolis(q, xi, normalized=False, target="numpy")
    assert relative(found, np.linalg.solve(factor, still) - D @ swung) < 1e-11


def test_sensitivities(robot, rng):
    """∂T/∂π and ∂a/∂π = −𝓜⁻¹∂T/∂π."""
    q, (v, tau) = robot.random_configuration(rng), rng.normal(size=(2, robot.nv))
    a = robot.forward_dynamics(q, v, tau, target="numpy")
    Y = robot.inverse_dynamics_regressor(q, v, a, target="numpy")
    change = robot.inertial_parameters * rng.uniform(0.0, 0.1, (len(robot.bodies), 1))
    heavier = robot.with_inertial_parameters(robot.inertial_parameters + change) if _is_free(robot) else None
    if heavier is not None:
        more = heavier.inverse_dynamics(q, v, a, target="numpy") - robot.inverse_dynamics(q, v, a, target="numpy")
        assert relative(Y @ change.ravel(), more) < 1e-10
    expected = -robot.mass_solve(np.tile(q, (Y.shape[1], 1)), Y.T, target="numpy").T
    assert relative(robot.forward_dynamics_sensitivity(q, v, tau, target="numpy"), expected) < 1e-11


def _is_free(robot):
    """Whether bodies may have any inertial parameters: mass points of flexible bodies may not."""
    return all(joint.kind.kind != "modal" for joint in robot.joints)
