"""Hybrid dynamics against a dense partitioned solve."""

import numpy as np
import pytest
from trees import ALL, TREES, assert_close, robot, state, times

import linkwise as lw


def partitioned(r, s, mask):
    """β̇ and T from 𝓜β̇ + bias = T, with β̇ known where ``mask`` and T known elsewhere."""
    M, bias = r.mass_matrix(s.q), r.bias_force(s.q, s.v, external=s.external)
    free = ~mask
    a = np.where(mask, s.a, 0.0)
    right = (s.tau - bias - times(M, a))[:, free]
    a[:, free] = np.linalg.solve(M[:, free][:, :, free], right[..., None])[..., 0]
    T = np.where(mask, times(M, a) + bias, s.tau)
    return a, T


def masked(r, names):
    mask = np.zeros(r.nv, dtype=bool)
    for name in names:
        mask[r.v_slices[r.joint(name)]] = True
    return mask


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("every", [2, 3])
def test_equals_the_dense_solve(name, every):
    r = robot(name)
    s = state(r)
    names = [j.name for j in r.joints][::every]
    mask = masked(r, names)
    a, T = r.hybrid_dynamics(s.q, s.v, s.a, s.tau, names, external=s.external)
    expected_a, expected_T = partitioned(r, s, mask)
    assert_close(a, expected_a, 1e-9)
    assert_close(T, expected_T, 1e-9)


@pytest.mark.parametrize("name", TREES)
def test_limits_are_forward_and_inverse_dynamics(name):
    r = robot(name)
    s = state(r)
    a, T = r.hybrid_dynamics(s.q, s.v, s.a, s.tau, [], external=s.external)
    assert_close(a, r.forward_dynamics(s.q, s.v, s.tau, external=s.external), 1e-10)
    assert_close(T, s.tau, 0.0)
    a, T = r.hybrid_dynamics(s.q, s.v, s.a, s.tau, [j.name for j in r.joints], external=s.external)
    assert_close(a, s.a, 0.0)
    assert_close(T, r.inverse_dynamics(s.q, s.v, s.a, external=s.external), 1e-10)


def test_ignores_what_is_not_given():
    """Accelerations of free joints and forces of driven ones do not matter, not even as NaN."""
    r = robot("floating_rotors")
    s = state(r)
    names = [r.joints[2].name, r.joints[0].name]
    mask = masked(r, names)
    expected = r.hybrid_dynamics(s.q, s.v, s.a, s.tau, names)
    found = r.hybrid_dynamics(s.q, s.v, np.where(mask, s.a, np.nan), np.where(mask, np.nan, s.tau), names)
    assert_close(found[0], expected[0], 0.0)
    assert_close(found[1], expected[1], 0.0)


def test_prescribed_base_carries_the_rest():
    """A cart driven with acceleration a: the pendulum on it swings as if gravity were tilted."""
    rod = lw.Inertia.point(1.0, (0, 0, -1.0))
    bodies = [
        lw.Body("cart", lw.Prismatic("x"), lw.Inertia.box(3.0, (1, 1, 1))),
        lw.Body("rod", lw.Revolute("y"), rod, "cart"),
    ]
    r = lw.assemble("cart_pole", bodies)
    a, T = r.hybrid_dynamics([0.0, 0.3], [0.0, 0.0], [2.0, 0.0], [0.0, 0.0], ["cart_joint"])
    swing = -9.81 * np.sin(0.3) + 2.0 * np.cos(0.3)  # x(rod) = x − sin θ, z = −cos θ
    assert_close(a, [2.0, swing], 1e-12)
    assert_close(T[0], 4.0 * 2.0 - swing * np.cos(0.3), 1e-12)
    assert T[1] == 0.0
