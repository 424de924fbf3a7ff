"""Kinematics: poses by hand, velocities and accelerations as derivatives, Jacobians and their products."""

import numpy as np
import pytest
from trees import ALL, assert_close, derivative, moved, robot, state, times

import linkwise as lw

STEP = 1e-30


@pytest.fixture(params=ALL)
def case(request):
    """A robot, a state, and a frame: off-axis on the last body."""
    r = robot(request.param)
    return r, state(r), r.extra_frames[-1].name


def two_links():
    """Two links of 1 m and 2 m in the x–y plane, hinged about z."""
    inertia = lw.Inertia.box(1, (1, 1, 1))
    bodies = [
        lw.Body("upper", lw.Revolute("z"), inertia),
        lw.Body("lower", lw.Joint(lw.Revolute("z"), at=(1, 0, 0)), inertia, "upper"),
    ]
    return lw.assemble("two", bodies, [lw.Frame("hand", "lower", at=(2, 0, 0), rpy=(0, 0, np.pi / 2))])


# --- by hand -----------------------------------------------------------------------------------------


def test_two_links_by_hand():
    r = two_links()
    a, b = 0.3, 0.5
    q, v = [a, b], np.array([0.7, -0.2])
    R, p = r.pose(q, "hand")
    c, s = np.cos(a + b + np.pi / 2), np.sin(a + b + np.pi / 2)
    assert_close(R, [[c, -s, 0], [s, c, 0], [0, 0, 1]], 1e-14)
    assert_close(p, [np.cos(a) + 2 * np.cos(a + b), np.sin(a) + 2 * np.sin(a + b), 0], 1e-14)

    reach, side = 2 * np.sin(a + b), 2 * np.cos(a + b)
    J = np.zeros((6, 2))
    J[2] = 1
    J[3] = [-np.sin(a) - reach, -reach]
    J[4] = [np.cos(a) + side, side]
    assert_close(r.jacobian(q, "hand"), J, 1e-14)
    w1, w2 = v[0], v.sum()
    bias = np.zeros(6)
    bias[3:5] = -(w1**2) * np.array([np.cos(a), np.sin(a)]) - w2**2 * np.array([side, reach])
    assert_close(r.jacobian_dot_v(q, v, "hand"), bias, 1e-14)


def test_frames_of_the_world_and_of_bodies():
    r = two_links()
    q, v = [0.3, 0.5], [1.0, 2.0]
    assert_close(r.pose(q, "world")[0], np.eye(3), 0.0)
    assert_close(r.pose(q, "lower")[1], [np.cos(0.3), np.sin(0.3), 0], 1e-14)
    poses = r.poses(q)
    assert list(poses) == ["world", "upper", "lower", "hand"] == [f.name for f in r.frames]
    assert_close(poses["hand"][1], r.pose(q, "hand")[1], 0.0)
    for call in (
        r.velocity(q, v, "world"),
        r.acceleration(q, v, v, "world"),
        r.jacobian_dot_v(q, v, "world"),
    ):
        assert_close(call, np.zeros(6), 0.0)
    assert_close(r.jacobian(q, "world"), np.zeros((6, 2)), 0.0)
    assert_close(r.velocity(q, v, lw.Frame("ad hoc", "lower", at=(2, 0, 0))), r.velocity(q, v, "hand"), 1e-14)


# --- derivatives -------------------------------------------------------------------------------------


def test_velocity_is_the_rate_of_the_pose(case):
    r, s, frame = case
    R, p = r.pose(r.integrate(s.q, 1j * STEP * s.v), frame)
    spin = (R.imag / STEP) @ R.real.swapaxes(-1, -2)
    assert_close(spin, -spin.swapaxes(-1, -2), 1e-13)
    expected = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0], *(p.imag / STEP).T], axis=-1)
    assert_close(r.velocity(s.q, s.v, frame), expected, 1e-12)


def test_acceleration_is_the_rate_of_the_velocity(case):
    """Complex steps cannot reach the second order of integrate in both arguments; differences do."""
    r, s, frame = case
    expected = derivative(lambda t: r.velocity(*moved(r, s, t), frame))
    assert_close(r.acceleration(s.q, s.v, s.a, frame), expected, 1e-10)
    assert_close(r.jacobian_dot_v(s.q, s.v, frame), r.acceleration(s.q, s.v, 0 * s.a, frame), 1e-13)


def test_all_frames_at_once(case):
    r, s, _ = case
    velocities, accelerations = r.velocities(s.q, s.v), r.accelerations(s.q, s.v, s.a)
    assert list(velocities) == list(accelerations) == [f.name for f in r.frames]
    for f in velocities:
        assert_close(velocities[f], r.velocity(s.q, s.v, f), 1e-12)
        assert_close(accelerations[f], r.acceleration(s.q, s.v, s.a, f), 1e-12)


def test_local_axes_turn_the_same_vectors(case):
    r, s, frame = case
    R = r.pose(s.q, frame)[0].swapaxes(-1, -2)

    def turned(x):
        return np.concatenate([times(R, x[..., :3]), times(R, x[..., 3:])], axis=-1)

    assert_close(r.velocity(s.q, s.v, frame, axes="local"), turned(r.velocity(s.q, s.v, frame)), 1e-12)
    for spatial in (False, True):
        world = r.acceleration(s.q, s.v, s.a, frame, spatial=spatial)
        assert_close(r.acceleration(s.q, s.v, s.a, frame, axes="local", spatial=spatial), turned(world), 1e-12)
    bias = r.jacobian_dot_v(s.q, s.v, frame, axes="local")
    assert_close(bias, turned(r.jacobian_dot_v(s.q, s.v, frame)), 1e-12)


def test_spatial_acceleration_lacks_the_turning_of_the_velocity(case):
    """A = α − [0; ω × v]; in local axes it is the rate of the local components of V."""
    r, s, frame = case
    V = r.velocity(s.q, s.v, frame)
    difference = r.acceleration(s.q, s.v, s.a, frame) - r.acceleration(s.q, s.v, s.a, frame, spatial=True)
    assert_close(difference[:, :3], np.zeros((3, 3)), 0.0)
    assert_close(difference[:, 3:], np.cross(V[:, :3], V[:, 3:]), 1e-12)
    rate = derivative(lambda t: r.velocity(*moved(r, s, t), frame, axes="local"))
    assert_close(r.acceleration(s.q, s.v, s.a, frame, axes="local", spatial=True), rate, 1e-10)


# --- Jacobians ---------------------------------------------------------------------------------------


def test_jacobian_maps_velocities_and_forces(case):
    r, s, frame = case
    for axes in ("world", "local"):
        J = r.jacobian(s.q, frame, axes=axes)
        assert_close(times(J, s.v), r.velocity(s.q, s.v, frame, axes=axes), 1e-12)
    J = r.jacobian(s.q, frame)
    force = np.random.default_rng(0).normal(size=(3, 6))
    assert_close(r.jacobian_force(s.q, force, frame), times(J.swapaxes(-1, -2), force), 1e-12)
    total = times(J, s.a) + r.jacobian_dot_v(s.q, s.v, frame)
    assert_close(r.acceleration(s.q, s.v, s.a, frame), total, 1e-12)


def test_jacobian_products(case):
    r, s, frame = case
    J = r.jacobian(s.q, frame)
    assert_close(r.jacobian_outer(s.q, frame), J @ J.swapaxes(-1, -2), 1e-12)
    assert_close(r.jacobian_inner(s.q, frame), J.swapaxes(-1, -2) @ J, 1e-12)


@pytest.mark.parametrize("name", ["ur5", "chain6", "chain4", "chain1"])
def test_inverse_of_the_inner_product(name):
    r = robot(name)
    q = state(r, (5,)).q
    frame = r.tips[0]
    J = r.jacobian(q, frame)
    inner = J.swapaxes(-1, -2) @ J
    inverse = r.jacobian_inner_inverse(q, frame)
    one = np.broadcast_to(np.eye(r.nv), inner.shape)
    # The product is compared, scaled: cond (J*J) itself may reach 1e6.
    assert_close(inverse @ inner, one, 1e-14 * np.linalg.cond(inner).max() * r.nv)


def test_inner_product_of_a_floating_body_has_an_inverse():
    r = lw.random_tree(1, seed=0, joints=["free"])
    q = state(r, ()).q
    J = r.jacobian(q, r.tips[0])
    assert_close(r.jacobian_inner_inverse(q, r.tips[0]), np.linalg.inv(J.T @ J), 1e-10)


def test_inverse_of_the_inner_product_refuses_redundant_arms():
    r = robot("panda")
    with pytest.raises(lw.SingularError, match="7 joints drive 6"):
        r.jacobian_inner_inverse(r.neutral(), r.tips[0])


def test_inverse_of_the_inner_product_refuses_idle_joints_by_name():
    inertia = lw.Inertia.box(1, (1, 1, 1))
    bodies = [lw.Body("left", lw.Revolute("z"), inertia), lw.Body("right", lw.Revolute("z"), inertia)]
    r = lw.assemble("arms", bodies)
    with pytest.raises(lw.SingularError, match="'right'"):
        r.jacobian_inner_inverse([0.0, 0.0], "left")


def test_inverse_of_the_inner_product_refuses_singular_poses():
    r = two_links()
    parallel = lw.assemble(
        "slides",
        [
            lw.Body("a", lw.Prismatic("x"), lw.Inertia.box(1, (1, 1, 1))),
            lw.Body("b", lw.Prismatic("x"), lw.Inertia.box(1, (1, 1, 1)), "a"),
        ],
    )
    with pytest.raises(lw.SingularError, match="J\\*J of frame 'b'.*singular pose"):
        parallel.jacobian_inner_inverse([0.0, 0.0], "b")
    assert np.isfinite(r.jacobian_inner_inverse([0.0, 0.1], "hand")).all()
