"""The group laws of rigid transforms, the cross products' identities, inertias and exponentials.

Every law is checked over batch shapes, in block form against the dense 6×6 matrices, and on numbers against
symbols (here: object arrays of floats, which take the same path as symbolic scalars).
"""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from linkwise.model.joints.exponential import screw_exp, screw_log
from linkwise.spatial import (
    RigidInertia,
    Transform,
    adjoint_congruence,
    congruence,
    cross,
    cross_force,
    cross_motion,
    cross_motion_matrix,
    quaternion_exp,
    quaternion_from_rotation,
    quaternion_log,
    quaternion_product,
    rotation_about,
    rotation_from_quaternion,
    rotation_from_rpy,
    skew,
)

BATCHES = [(), (1,), (4,), (2, 3)]
# Rotation angles where formulas switch or lose digits.
ANGLES = [0.0, 1e-300, 1e-12, 1e-8, 1e-5, 1e-4, 0.00999, 0.01, 0.0999, 0.1, 1.0, 3.0]
ANGLES += [np.pi - 1e-6, np.pi - 1e-9]
UNITS = np.vstack([np.eye(3), -np.eye(3), [[0.6, 0.0, -0.8], [1 / 3, -2 / 3, 2 / 3]]])


@pytest.fixture(params=BATCHES, ids=str)
def batch(request):
    return request.param


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def random_pose(rng, batch=()):
    return Transform(rotation_from_quaternion(rng.normal(size=(*batch, 4))), rng.normal(size=(*batch, 3)))


def random_inertia(rng, batch=()):
    """Of three points, so that it is a real body's."""
    m, p = rng.uniform(0.5, 2, (*batch, 3)), rng.normal(size=(*batch, 3, 3))
    tilde = skew(p)
    J = -(m[..., None, None] * (tilde @ tilde)).sum(axis=-3)
    return RigidInertia(m.sum(axis=-1), (m[..., None] * p).sum(axis=-2), J)


def column(rng, batch=(), rows=6, m=1):
    return rng.normal(size=(*batch, rows, m))


def close(a, b, tolerance=1e-13):
    np.testing.assert_allclose(np.asarray(a, dtype=float), np.asarray(b, dtype=float), rtol=0, atol=tolerance)


def objects(x):
    return np.asarray(x).astype(object)


# --- transforms ------------------------------------------------------------------------------------


def test_transforms_form_a_group(rng, batch):
    a, b, c = (random_pose(rng, batch) for _ in range(3))
    left, right = a.compose(b).compose(c), a.compose(b.compose(c))
    close(left.R, right.R), close(left.l, right.l)
    for one in (a.compose(a.inverse()), a.inverse().compose(a)):
        close(one.matrix, np.broadcast_to(np.eye(6), (*batch, 6, 6)))
    close(Transform.identity().compose(a).matrix, a.matrix)
    close(a.compose(b).inverse().matrix, b.inverse().compose(a.inverse()).matrix)


def test_matrix_represents_the_group(rng, batch):
    a, b = random_pose(rng, batch), random_pose(rng, batch)
    close(a.compose(b).matrix, a.matrix @ b.matrix)
    close(a.inverse().matrix, np.linalg.inv(a.matrix), 1e-12)
    zero = np.zeros((*batch, 3, 3))
    close(a.matrix, np.block([[a.R, skew(a.l) @ a.R], [zero, a.R]]))


@pytest.mark.parametrize("columns", [1, 3])
def test_transforms_act_as_their_matrix(rng, batch, columns):
    phi, x = random_pose(rng, batch), column(rng, batch, m=columns)
    symbolic = Transform(objects(phi.R), objects(phi.l))
    for f in (phi @ x, symbolic @ objects(x)):
        close(f, phi.matrix @ x)
    for V in (phi.T @ x, symbolic.T @ objects(x)):
        close(V, phi.matrix.swapaxes(-1, -2) @ x)


def test_power_does_not_depend_on_the_frame(rng, batch):
    phi, f, V = random_pose(rng, batch), column(rng, batch), column(rng, batch)
    close((V * (phi @ f)).sum(axis=(-1, -2)), ((phi.T @ V) * f).sum(axis=(-1, -2)))


def test_points_move_with_composition(rng, batch):
    a, b, x = random_pose(rng, batch), random_pose(rng, batch), rng.normal(size=(*batch, 3))
    close(a.compose(b).apply(x), a.apply(b.apply(x)))
    close(a.inverse().apply(a.apply(x)), x)


def test_velocity_of_the_carried_point():
    """φ* V: body k, 1 m along x from p, gains ω × l when p turns about z, in k's own axes."""
    phi = Transform(rotation_about(np.array([0.0, 0, 1]), np.float64(np.pi / 2)), np.array([1.0, 0, 0]))
    V = np.array([0, 0, 2.0, 0, 0, 0])[:, None]
    close((phi.T @ V)[:, 0], [0, 0, 2, 2, 0, 0])


@pytest.mark.parametrize("law", [congruence, adjoint_congruence])
def test_congruence_of_symmetric_matrices(rng, batch, law):
    phi, A = random_pose(rng, batch), column(rng, batch, m=6)
    P = A @ A.swapaxes(-1, -2)
    X = phi.matrix if law is congruence else phi.matrix.swapaxes(-1, -2)
    dense = X @ P @ X.swapaxes(-1, -2)
    close(law(phi, P), dense, 1e-11)
    close(law(Transform(objects(phi.R), objects(phi.l)), objects(P)), dense, 1e-11)


# --- inertias --------------------------------------------------------------------------------------


def test_rigid_inertia_is_its_matrix(rng, batch):
    M, V = random_inertia(rng, batch), column(rng, batch, m=2)
    close(M @ V, M.matrix @ V, 1e-12)
    symbolic = RigidInertia(objects(M.m), objects(M.h), objects(M.J))
    close(symbolic @ objects(V), M.matrix @ V, 1e-12)
    close(M.matrix, M.matrix.swapaxes(-1, -2))
    close(M.matrix[..., :3, 3:], skew(M.h))


def test_rigid_inertias_add_and_move_as_matrices(rng, batch):
    a, b, phi = random_inertia(rng, batch), random_inertia(rng, batch), random_pose(rng, batch)
    close((a + b).matrix, a.matrix + b.matrix)
    close(sum([a, b]).matrix, a.matrix + b.matrix)
    moved = congruence(phi, a)
    assert isinstance(moved, RigidInertia)
    close(moved.matrix, phi.matrix @ a.matrix @ phi.matrix.swapaxes(-1, -2), 1e-11)


def test_kinetic_energy_is_that_of_the_points(rng):
    m, p, V = rng.uniform(0.5, 2, 4), rng.normal(size=(4, 3)), column(rng)
    parts = [RigidInertia(np.float64(a), a * x, -a * skew(x) @ skew(x)) for a, x in zip(m, p)]
    energy = 0.5 * (V.T @ (sum(parts) @ V)).item()
    speeds = V[3:, 0] + np.cross(V[:3, 0], p)
    assert energy == pytest.approx(0.5 * (m * (speeds**2).sum(axis=1)).sum(), rel=1e-13)


# --- cross products --------------------------------------------------------------------------------


def test_skew_and_cross_agree_with_numpy(rng, batch):
    x, y = column(rng, batch, rows=3), column(rng, batch, rows=3)
    expected = np.cross(x[..., 0], y[..., 0])
    close(cross(x, y)[..., 0], expected)
    close((skew(x[..., 0]) @ y)[..., 0], expected)


def test_cross_motion_is_a_lie_bracket(rng, batch):
    X, Y, Z = (column(rng, batch) for _ in range(3))
    close(cross_motion(X, Y), cross_motion_matrix(X) @ Y)
    close(cross_motion(X, X), 0 * X)
    close(cross_motion(X, Y), -cross_motion(Y, X))
    jacobi = cross_motion(X, cross_motion(Y, Z)) + cross_motion(Y, cross_motion(Z, X))
    close(jacobi + cross_motion(Z, cross_motion(X, Y)), 0 * X, 1e-12)
    A, B = cross_motion_matrix(X), cross_motion_matrix(Y)
    close(cross_motion_matrix(cross_motion(X, Y)), A @ B - B @ A, 1e-12)


def test_cross_force_is_minus_the_adjoint(rng, batch):
    X, f = column(rng, batch), column(rng, batch)
    close(cross_force(X, f), -cross_motion_matrix(X).swapaxes(-1, -2) @ f)


def test_cross_products_are_equivariant(rng, batch):
    """Moving both factors moves the product: φ*(X × Y) = (φ*X) × (φ*Y), and likewise for forces."""
    phi, X, Y, f = random_pose(rng, batch), column(rng, batch), column(rng, batch), column(rng, batch)
    close(phi.T @ cross_motion(X, Y), cross_motion(phi.T @ X, phi.T @ Y), 1e-12)
    close(phi @ cross_force(phi.T @ X, f), cross_force(X, phi @ f), 1e-12)


# --- rotations -------------------------------------------------------------------------------------


def test_rotation_about_matches_scipy(rng):
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    angles = rng.uniform(-7, 7, (2, 5))
    expected = Rotation.from_rotvec(angles.reshape(-1, 1) * axis).as_matrix().reshape(2, 5, 3, 3)
    close(rotation_about(axis, angles), expected)


def test_rpy_is_urdf_order(rng):
    rpy = rng.uniform(-3, 3, 3)
    close(rotation_from_rpy(rpy), Rotation.from_euler("xyz", rpy).as_matrix())


def test_quaternions_match_scipy(rng, batch):
    p, q = rng.normal(size=(2, *batch, 4))
    flat = Rotation.from_quat(q.reshape(-1, 4)).as_matrix().reshape(*batch, 3, 3)
    close(rotation_from_quaternion(q), flat)
    product = rotation_from_quaternion(quaternion_product(p, q))
    close(product, rotation_from_quaternion(p) @ rotation_from_quaternion(q))


@pytest.mark.parametrize("angle", ANGLES)
def test_quaternion_exp_and_log_are_inverse(angle):
    w = angle * UNITS
    q = quaternion_exp(w)
    close((q * q).sum(axis=-1), 1.0, 1e-15)
    # Against the half-angle formulas in extended precision, to a relative 1e-15.
    half = np.longdouble(angle) / 2
    sinc = np.sin(half) / (2 * half) if angle else np.longdouble(0.5)
    np.testing.assert_allclose(q[:, :3], (w * sinc).astype(float), rtol=2e-15, atol=0)
    np.testing.assert_allclose(q[:, 3], float(np.cos(half)), rtol=0, atol=4e-16)
    np.testing.assert_allclose(quaternion_log(q), w, rtol=4e-15, atol=4e-16)
    np.testing.assert_allclose(quaternion_log(-q), w, rtol=4e-15, atol=4e-16)  # −q is the same rotation


def test_quaternion_log_ignores_length(rng):
    q = rng.normal(size=(20, 4))
    close(quaternion_log(3.0 * q), quaternion_log(q), 1e-14)


def test_quaternion_exp_stays_smooth_where_its_formula_switches():
    """Central differences across the switch at |w| = 1e-2 show no step."""
    t = np.linspace(0.0099, 0.0101, 41)
    q = quaternion_exp(t[:, None] * np.array([1.0, 0, 0]))[:, 0]
    slope = np.diff(q) / np.diff(t)
    close(slope, 0.5 * np.cos(0.25 * (t[1:] + t[:-1])), 1e-11)


@pytest.mark.parametrize("angle", ANGLES)
def test_quaternion_from_rotation_takes_any_rotation(angle):
    R = rotation_from_quaternion(quaternion_exp(angle * UNITS))
    q = quaternion_from_rotation(R)
    close((q * q).sum(axis=-1), 1.0, 1e-15)
    close(rotation_from_quaternion(q), R, 1e-15)


def test_quaternion_from_half_turns():
    for R in (np.diag([1.0, -1, -1]), np.diag([-1.0, 1, -1]), np.diag([-1.0, -1, 1])):
        close(rotation_from_quaternion(quaternion_from_rotation(R)), R, 0)
        close(np.linalg.norm(quaternion_log(quaternion_from_rotation(R))), np.pi, 1e-15)


# --- screws ----------------------------------------------------------------------------------------


def homogeneous(pose):
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = pose.R, pose.l
    return out


def generator(twist):
    out = np.zeros((4, 4))
    out[:3, :3], out[:3, 3] = skew(twist[:3]), twist[3:]
    return out


@pytest.mark.parametrize("angle", ANGLES)
def test_screw_exp_is_the_matrix_exponential(angle):
    for unit in UNITS:
        twist = np.concatenate([angle * unit, [0.3, -1.2, 0.7]])
        close(homogeneous(screw_exp(twist)), expm(generator(twist)), 2e-15)


@pytest.mark.parametrize("angle", ANGLES)
def test_screw_log_undoes_exp(angle):
    twist = np.concatenate([angle * UNITS, np.broadcast_to([0.3, -1.2, 0.7], UNITS.shape)], axis=-1)
    # A rotation matrix near a half turn still fixes the rotation vector to rounding.
    close(screw_log(screw_exp(twist)), twist, 2e-14)


def test_screws_of_one_axis_add_up(rng, batch):
    twist, s, t = rng.normal(size=(*batch, 6)), 0.3, 0.4
    close(screw_exp(s * twist).compose(screw_exp(t * twist)).matrix, screw_exp((s + t) * twist).matrix, 1e-12)


def test_screw_exp_is_equivariant(rng, batch):
    """φ exp(φ* ξ) φ⁻¹ = exp(ξ): a screw seen from another frame is the same motion."""
    phi, twist = random_pose(rng, batch), rng.normal(size=(*batch, 6))
    seen = (phi.T @ twist[..., None])[..., 0]
    close(phi.compose(screw_exp(seen)).compose(phi.inverse()).matrix, screw_exp(twist).matrix, 1e-12)


# --- precision -------------------------------------------------------------------------------------


def test_float32_stays_float32(rng):
    f32 = np.float32
    w, q = rng.normal(size=(5, 3)).astype(f32), rng.normal(size=(5, 4)).astype(f32)
    twist = rng.normal(size=(5, 6)).astype(f32)
    phi, M = random_pose(rng).cast(f32), random_inertia(rng).cast(f32)
    results = [
        skew(w),
        quaternion_exp(w),
        quaternion_log(q),
        quaternion_product(q, q),
        rotation_from_quaternion(q),
        quaternion_from_rotation(rotation_from_quaternion(q)),
        screw_exp(twist).R,
        screw_exp(twist).l,
        screw_log(screw_exp(twist)),
        phi @ twist[..., None],
        phi.T @ twist[..., None],
        M @ twist[..., None],
        congruence(phi, M).J,
        congruence(phi, M).h,
        congruence(phi, M.matrix),
        cross_motion_matrix(twist[..., None]),
    ]
    assert [x.dtype for x in results] == [np.dtype(f32)] * len(results)


def test_quaternion_log_takes_complex_steps(rng):
    """Its derivative along a quaternion's change, against central differences."""
    q, d = rng.normal(size=(2, 5, 4))
    h = 1e-5
    differences = (quaternion_log(q + h * d) - quaternion_log(q - h * d)) / (2 * h)
    close(quaternion_log(q + 1e-30j * d).imag / 1e-30, differences, 1e-7)
