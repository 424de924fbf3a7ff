"""Inverse dynamics: its two algorithms, the equation of motion, external forces, link forces."""

import numpy as np
import pytest
from trees import ALL, ROTORS, TREES, assert_close, derivative, robot, state, times

import linkwise as lw


@pytest.fixture(params=ALL)
def case(request):
    r = robot(request.param)
    return r, state(r)


def test_composite_body_equals_newton_euler(case):
    r, s = case
    newton_euler = r.inverse_dynamics(s.q, s.v, s.a, external=s.external)
    assert_close(r.inverse_dynamics(s.q, s.v, s.a, external=s.external, method="composite_body"), newton_euler)


def test_equation_of_motion(case):
    """T = 𝓜a + bias."""
    r, s = case
    T = times(r.mass_matrix(s.q), s.a) + r.bias_force(s.q, s.v)
    assert_close(r.inverse_dynamics(s.q, s.v, s.a), T)


def test_bias_is_quadratic_in_the_velocity_above_gravity(case):
    r, s = case
    gravity = r.gravity_force(s.q)
    once, twice = (r.bias_force(s.q, c * s.v) - gravity for c in (1.0, 2.0))
    assert_close(twice, 4 * once)
    assert_close(r.bias_force(s.q, 0 * s.v), gravity)
    assert_close(r.bias_force(s.q, -s.v) - gravity, once)


def test_gravity_is_an_acceleration_of_the_base(case):
    """Without gravity there is no gravity force; half the gravity gives half the force."""
    r, s = case
    assert_close(r.with_gravity((0, 0, 0)).gravity_force(s.q), 0 * s.v)
    assert_close(r.with_gravity(0.5 * r.gravity).gravity_force(s.q), 0.5 * r.gravity_force(s.q))


def test_external_forces_enter_by_the_jacobian(case):
    """T(f) = T − Σ J*f with f in body axes at the bodies' origins."""
    r, s = case
    expected = r.inverse_dynamics(s.q, s.v, s.a)
    for k, body in enumerate(r.bodies):
        J = r.jacobian(s.q, body.name, axes="local")
        expected = expected - times(J.swapaxes(-1, -2), s.external[:, k])
    assert_close(r.inverse_dynamics(s.q, s.v, s.a, external=s.external), expected)
    assert_close(r.bias_force(s.q, s.v, external=s.external), expected - times(r.mass_matrix(s.q), s.a))


@pytest.mark.parametrize("name", TREES)
def test_wrenches_bring_forces_at_frames_to_the_bodies(name):
    r = robot(name)
    s = state(r)
    rng = np.random.default_rng(2)
    frames = [f.name for f in r.frames]
    forces = {f: rng.normal(size=(3, 6)) for f in frames}
    expected = r.inverse_dynamics(s.q, s.v, s.a)
    for f in frames:
        expected = expected - r.jacobian_force(s.q, forces[f], f)
    external = r.wrenches(s.q, forces)
    assert external.shape == (3, len(r.bodies), 6)
    assert_close(r.inverse_dynamics(s.q, s.v, s.a, external=external), expected)


def test_wrenches_by_hand():
    """A force on a frame off the body's origin, both turned by 90° about z."""
    body = lw.Body("arm", lw.Revolute("z"), lw.Inertia.box(1, (1, 1, 1)))
    r = lw.assemble("one", [body], [lw.Frame("end", "arm", at=(2, 0, 0))])
    external = r.wrenches([np.pi / 2], {"end": [0, 0, 0, 3, 0, 0]})  # 3 N along the world's x, at (0, 2, 0)
    assert_close(external, [[0, 0, -6, 0, -3, 0]], 1e-12)
    assert_close(r.bias_force([np.pi / 2], [0.0], external=external), [6.0], 1e-12)


def test_forces_on_the_world_frame_do_nothing():
    r = robot("floating")
    assert not r.wrenches(state(r).q, {"world": np.ones(6)}).any()


# --- link forces -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in ALL if name not in ROTORS])
def test_link_forces_project_onto_the_joint_forces(name):
    """T(k) = H(k) f(k), where no rotor adds a moment of its own."""
    r = robot(name)
    s = state(r)
    f = r.link_forces(s.q, s.v, s.a, external=s.external)
    T = r.inverse_dynamics(s.q, s.v, s.a, external=s.external)
    for k, (joint, own_q, own_v) in enumerate(zip(r.joints, r.q_slices, r.v_slices)):
        H = np.swapaxes(joint.kind.map(s.q[:, own_q]), -1, -2)
        assert_close(times(H, f[:, k]), T[:, own_v])


@pytest.mark.parametrize("name", TREES)
def test_link_forces_of_the_base_balance_the_whole_robot(name):
    """What the world exerts on the robot, and its weight, change its momentum."""
    r = robot(name)
    s = state(r, (), seed=3)
    f = r.link_forces(s.q, s.v, s.a)
    total = np.zeros(6)
    for k, (body, p) in enumerate(zip(r.bodies, r.parents)):
        R, x = r.pose(s.q, body.name)
        if p < 0:
            moment, force = R @ f[k, :3], R @ f[k, 3:]
            total += np.concatenate([moment + np.cross(x, force), force])
        weight = body.inertia.mass * r.gravity
        total += np.concatenate([np.cross(x + R @ body.inertia.com, weight), weight])
    rate = times(r.momentum_matrix(s.q), s.a) + _momentum_bias(r, s)
    assert_close(total, rate, 1e-9)


def _momentum_bias(r, s):
    return derivative(lambda t: r.momentum(r.integrate(s.q, t * s.v), s.v))


def test_link_force_of_a_hanging_pendulum():
    """At rest, hanging, the joint carries the weight; swinging through, also the centripetal force."""
    rod = lw.Inertia.point(2.0, (0, 0, -0.5)) + lw.Inertia.sphere(0.0, 0.1)
    r = lw.assemble("pendulum", [lw.Body("rod", lw.Revolute("y"), rod)])
    assert_close(r.link_forces([0.0], [0.0], [0.0]), [[0, 0, 0, 0, 0, 2 * 9.81]], 1e-12)
    assert_close(r.link_forces([0.0], [3.0], [0.0]), [[0, 0, 0, 0, 0, 2 * 9.81 + 2 * 0.5 * 9]], 1e-12)
