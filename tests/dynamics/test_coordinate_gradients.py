"""Gradients in the numbers of q from those in its tangent space."""

import numpy as np
import pytest
from trees import KINDS, robot

import linkwise as lw
from linkwise.dynamics.coordinate_gradients import direction_in_tangent, gradient_in_numbers, has_orthogonal_rates


@pytest.mark.parametrize("name", [k for k in KINDS if has_orthogonal_rates(robot(k))])
def test_against_complex_steps_in_the_numbers(name):
    """The gradient of w · bias force in each number of q, quaternions not of unit length."""
    model = lw.random_tree(2, seed=3, joints=[KINDS[name]])
    rng = np.random.default_rng(0)
    q = 1.3 * model.random_configuration(rng)
    v, a, w = rng.normal(size=(3, model.nv))
    by_tangent = model.inverse_dynamics_vjp(q, v, a, w).dq
    steps = q + 1e-30j * np.eye(model.nq)
    exact = np.array([(model.inverse_dynamics(s, v, a, target="numpy") @ w).imag / 1e-30 for s in steps])
    assert np.allclose(gradient_in_numbers(model, q, by_tangent), exact, rtol=1e-10, atol=1e-10)
    dq = rng.normal(size=model.nq)
    assert np.isclose(direction_in_tangent(model, q, dq) @ by_tangent, exact @ dq, rtol=1e-10)


def test_joints_of_fewer_directions_than_numbers_are_told_apart():
    assert not has_orthogonal_rates(robot("custom_four"))
    assert has_orthogonal_rates(robot("free"))
