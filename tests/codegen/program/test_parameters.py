"""Kernels with inertial parameters: what no body can have gives no number."""

from functools import partial

import numpy as np
import pytest

import linkwise as lw


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "gravity_force"])
def test_impossible_bodies_give_nan_in_their_state_alone(name, dtype, rng):
    robot = lw.load("panda")
    kernel = robot.compile(name, parameters=("inertial",))
    count = len(kernel.signature.inputs) - 1
    states = [x.astype(dtype) for x in rng.normal(size=(count, 6, 7))]
    parameters = np.tile(robot.inertial_parameters, (6, 1, 1)).astype(dtype)
    clean = kernel(*states, parameters.reshape(6, -1))
    assert np.isfinite(clean).all()
    parameters[1, 2, 0] *= -1  # a mass
    parameters[3, 5, 4] = -1e-3  # a moment of inertia
    parameters[4, 0, 1:4] = (10.0, 10.0, 10.0)  # a centre of mass further off than the moments allow
    found = kernel(*states, parameters.reshape(6, -1))
    assert np.isnan(found[[1, 3, 4]]).all()
    assert np.array_equal(found[[0, 2, 5]], clean[[0, 2, 5]])


def test_bodies_without_mass_are_possible(rng):
    robot = lw.load("double_pendulum")
    parameters = robot.inertial_parameters
    parameters[0] = 0.0
    q = rng.normal(size=2)
    found = robot.compile("gravity_force", parameters=("inertial",))(q, parameters.ravel())
    assert np.allclose(found, robot.with_inertial_parameters(parameters).gravity_force(q), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("target", ["numpy", "jax"])
def test_targets_without_parameters_refuse_them(target):
    robot = lw.load("double_pendulum")
    double = lambda robot, q: 2.0 * robot.gravity_force(q)
    for compiled in (partial(robot.compile, "gravity_force"), partial(lw.compile, double, robot)):
        with pytest.raises(lw.InputError, match="leave parameters= out"):
            compiled(parameters=("inertial",), target=target)


CENTRES = ["center_of_mass", "center_of_mass_jacobian", "centroidal_matrix", "centroidal_momentum", "centroidal_bias"]


@pytest.mark.parametrize("name", CENTRES)
def test_centres_of_mass_of_masses_that_are_inputs(name, rng):
    robot = lw.random_tree(3, seed=2, floating=True)
    parameters = robot.inertial_parameters.copy()
    parameters[-1] *= 1.7
    heavier = robot.with_inertial_parameters(parameters)
    states = [robot.random_configuration(rng, 2), rng.normal(size=(2, robot.nv))][: 1 + name.endswith(("tum", "bias"))]
    found = robot.compile(name, parameters=("inertial",))(*states, parameters.ravel())
    assert np.allclose(found, getattr(heavier, name)(*states, target="numpy"), rtol=1e-12, atol=1e-12)
