"""Inverse dynamics with a reference velocity by inertial parameters: against the sweeps that have inertias."""

import numpy as np
import pytest
from coupled import coupled_robot
from trees import ALL, assert_close, robot, state


def samples(name, batch=(3,)):
    r = coupled_robot() if name == "coupled" else robot(name)
    x = state(r, batch, 1)
    return r, x, state(r, batch, 2).v


@pytest.mark.parametrize("name", [*ALL, "panda", "coupled"])
def test_linear_in_the_parameters(name):
    """Differences of inverse dynamics between two robots are Y times those of their parameters, rotors and all."""
    r, x, v_ref = samples(name)
    Y = r.regressor_with_reference(x.q, x.v, v_ref, x.a)
    rng = np.random.default_rng(0)
    other = r.with_inertial_parameters(r.inertial_parameters * rng.uniform(1.0, 1.5, (len(r.bodies), 1)))
    change = (other.inertial_parameters - r.inertial_parameters).ravel()
    expected, known = (y.inverse_dynamics_with_reference(x.q, x.v, v_ref, x.a) for y in (other, r))
    assert_close(known + Y @ change, expected)


@pytest.mark.parametrize("name", ["tree", "universal", "spherical", "free", "coupled"])
def test_every_column(name):
    """Each parameter by itself, also those that no real body could have alone."""
    from dataclasses import replace

    from linkwise.dynamics.reference_velocity import newton_euler_with_reference
    from linkwise.spatial import RigidInertia

    r, x, v_ref = samples(name, ())
    Y = r.regressor_with_reference(x.q, x.v, v_ref, x.a)
    known = newton_euler_with_reference(r, x.q, x.v, v_ref, x.a)
    k = len(r.bodies) - 1
    for i, e in enumerate(np.eye(10)):
        constants = list(r.constants())
        M = constants[k].M
        J = np.array([[e[4], e[5], e[7]], [e[5], e[6], e[8]], [e[7], e[8], e[9]]])
        constants[k] = replace(constants[k], M=RigidInertia(M.m + e[0], M.h + e[1:4], M.J + J), load=None)
        moved = newton_euler_with_reference(r.with_constants(constants), x.q, x.v, v_ref, x.a)
        assert_close(Y[:, 10 * k + i], moved - known, 1e-9)


@pytest.mark.parametrize("name", [*ALL, "coupled"])
def test_the_gradient_is_the_transpose(name):
    r, x, v_ref = samples(name)
    Y = r.regressor_with_reference(x.q, x.v, v_ref, x.a)
    expected = np.einsum("...ij,...i->...j", Y, x.tau).reshape(3, -1, 10)
    assert_close(r.parameter_gradient(x.q, x.v, v_ref, x.a, x.tau), expected)


@pytest.mark.parametrize("name", ["tree", "floating", "coupled"])
def test_with_one_velocity_it_is_the_regressor(name):
    r, x, _ = samples(name)
    assert_close(r.regressor_with_reference(x.q, x.v, x.v, x.a), r.inverse_dynamics_regressor(x.q, x.v, x.a))


def test_the_gradient_grows_with_the_bodies_and_the_regressor_with_their_square():
    count = lambda n, name: robot(f"chain{n}").compile(name).operations.total
    assert count(16, "parameter_gradient") < 2.3 * count(8, "parameter_gradient")
    assert count(16, "regressor_with_reference") > 3.0 * count(8, "regressor_with_reference")
    assert count(8, "parameter_gradient") < 0.3 * count(8, "regressor_with_reference")
