"""Momentum: kept by floating robots, changed by gravity and by what pushes from outside as Newton says."""

import numpy as np
import pytest
from trees import FLOATING, assert_close, derivative, free_motion, moved, robot, state

ROBOTS = [*FLOATING, "arms", "humanoid", "satellite"]
# Integrable joints, so that ⊖ undoes ⊕, and for how long: light hands are quick.
INTEGRATED = {"floating_rotors": 0.03, "arms": 0.03, "humanoid": 0.003}


def internal(r, tau):
    """Joint forces without any on the free base: nothing from outside."""
    out = tau.copy()
    out[..., :6] = 0.0
    return out


@pytest.mark.parametrize("name", ROBOTS)
def test_internal_forces_leave_the_momentum_alone(name):
    r = robot(name).with_gravity((0, 0, 0))
    s = state(r)
    s = s._replace(a=r.forward_dynamics(s.q, s.v, internal(r, s.tau)))
    rate = derivative(lambda t: r.momentum(*moved(r, s, t)), h=2e-4)
    assert_close(rate / np.abs(s.a).max(), np.zeros((3, 6)), 1e-10)


@pytest.mark.parametrize("name", ROBOTS)
def test_gravity_changes_the_momentum_by_the_weight(name):
    """ḣ = [c × m g; m g]."""
    r = robot(name)
    s = state(r)
    s = s._replace(a=r.forward_dynamics(s.q, s.v, internal(r, s.tau)))
    rate = derivative(lambda t: r.momentum(*moved(r, s, t)), h=2e-4)
    weight = r.total_mass * r.gravity
    expected = np.concatenate([np.cross(r.center_of_mass(s.q), weight), np.broadcast_to(weight, (3, 3))], axis=-1)
    size = np.abs(s.a).max()
    assert_close(rate / size, expected / size, 1e-10)


@pytest.mark.parametrize("name", ROBOTS)
def test_momentum_rate_equals_the_external_forces_at_once(name):
    """Without differences: A_G β̇ + Ȧ_G v is the sum of all outer forces about the centre of mass."""
    r = robot(name)
    s = state(r)
    a = r.forward_dynamics(s.q, s.v, internal(r, s.tau), external=s.external)
    rate = (r.centroidal_matrix(s.q) @ a[..., None])[..., 0] + r.centroidal_bias(s.q, s.v)
    expected = np.zeros((3, 6))
    expected[:, 3:] += r.total_mass * r.gravity
    c = r.center_of_mass(s.q)
    for k, body in enumerate(r.bodies):
        R, p = r.pose(s.q, body.name)
        moment, force = (np.einsum("bij,bj->bi", R, x) for x in (s.external[:, k, :3], s.external[:, k, 3:]))
        expected += np.concatenate([moment + np.cross(p - c, force), force], axis=-1)
    assert_close(rate, expected, 1e-9)


@pytest.mark.parametrize("name", INTEGRATED)
def test_momentum_is_kept_along_a_motion(name):
    """Runge–Kutta on the manifold: what it loses falls with the fourth power of the step."""
    r = robot(name).with_gravity((0, 0, 0))
    s = state(r, (), seed=5)
    tau = internal(r, s.tau)
    before = r.momentum(s.q, s.v)

    def lost(steps):
        return np.abs(r.momentum(*free_motion(r, s.q, s.v, tau, INTEGRATED[name], steps)) - before).max()

    assert lost(8) < 1e-7 * max(1.0, np.abs(before).max())
    assert lost(2) / lost(4) > 9


@pytest.mark.parametrize("name", INTEGRATED)
def test_the_center_of_mass_flies_a_parabola(name):
    r = robot(name)
    s = state(r, (), seed=5)
    T = INTEGRATED[name]
    q, _ = free_motion(r, s.q, s.v, internal(r, s.tau), T, 8)
    v0 = r.center_of_mass_jacobian(s.q) @ s.v
    assert_close(r.center_of_mass(q), r.center_of_mass(s.q) + T * v0 + 0.5 * T * T * r.gravity, 1e-8)


def test_a_fixed_base_does_not_keep_momentum():
    """The tests above can fail."""
    r = robot("panda").with_gravity((0, 0, 0))
    s = state(r)
    s = s._replace(a=r.forward_dynamics(s.q, s.v, 0 * s.tau))
    assert np.abs(derivative(lambda t: r.momentum(*moved(r, s, t)), h=2e-4)).max() > 1e-2
