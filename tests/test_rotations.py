"""Rotations and poses against SciPy's Rotation, in batches, where Euler angles lock, and on symbols."""

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

import linkwise as lw
from linkwise import rotations

ORDERS = [o for o in map("".join, itertools.product("xyz", repeat=3)) if o[0] != o[1] and o[1] != o[2]]


def some(n=6, seed=0):
    return Rotation.random(n, rng=np.random.default_rng(seed))


def test_vectors_quaternions_and_axes():
    R = some()
    vectors = R.as_rotvec()
    np.testing.assert_allclose(rotations.exp(vectors), R.as_matrix(), atol=1e-14)
    np.testing.assert_allclose(rotations.log(R.as_matrix()), vectors, atol=1e-13)
    np.testing.assert_allclose(rotations.from_quaternion(3.0 * R.as_quat()), R.as_matrix(), atol=1e-14)
    q = rotations.to_quaternion(R.as_matrix())
    np.testing.assert_allclose(q * np.sign((q * R.as_quat()).sum(-1, keepdims=True)), R.as_quat(), atol=1e-14)
    about = rotations.about([0, 2, 0], [0.3, -0.4])
    np.testing.assert_allclose(about, Rotation.from_euler("y", [[0.3], [-0.4]]).as_matrix(), atol=1e-15)
    assert np.array_equal(rotations.log(np.eye(3)), np.zeros(3))
    near = np.array([np.pi - 1e-9, 0, 0])
    np.testing.assert_allclose(rotations.log(rotations.exp(near)), near, atol=1e-12)


@pytest.mark.parametrize("order", [*ORDERS, *(o.upper() for o in ORDERS)])
def test_euler_angles(order):
    R = some(20, seed=1)
    angles = rotations.to_euler(order, R.as_matrix())
    np.testing.assert_allclose(angles, R.as_euler(order), atol=1e-12)
    np.testing.assert_allclose(rotations.from_euler(order, angles), R.as_matrix(), atol=1e-13)
    twice = order[0] == order[2]
    for middle in (0.0, np.pi) if twice else (np.pi / 2, -np.pi / 2):  # where two turns are one
        locked = Rotation.from_euler(order, [0.4, middle, 0.7]).as_matrix()
        np.testing.assert_allclose(rotations.from_euler(order, rotations.to_euler(order, locked)), locked, atol=1e-7)


def test_interpolation_is_slerp():
    R = some(2, seed=3)
    parts = np.linspace(0.0, 1.0, 5)
    expected = Slerp([0.0, 1.0], R)(parts).as_matrix()
    start, end = R.as_matrix()
    np.testing.assert_allclose(rotations.interpolate(start, end, parts), expected, atol=1e-14)


def test_poses():
    rng = np.random.default_rng(4)
    a, b = ((some(3, seed=k).as_matrix(), rng.normal(size=(3, 3))) for k in (5, 6))
    matrix = lambda x: np.block([[x[0], x[1][..., None]], [np.zeros((3, 1, 3)), np.ones((3, 1, 1))]])
    np.testing.assert_allclose(matrix(rotations.compose(a, b)), matrix(a) @ matrix(b), atol=1e-14)
    np.testing.assert_allclose(matrix(rotations.inverse(a)), np.linalg.inv(matrix(a)), atol=1e-14)
    twist = rotations.pose_log(a)
    for x, y in zip(rotations.pose_exp(twist), a):
        np.testing.assert_allclose(x, y, atol=1e-13)
    for x, y in zip(rotations.interpolate_pose(a, b, 1.0), b):
        np.testing.assert_allclose(x, y, atol=1e-12)
    half = rotations.interpolate_pose(a, b, np.full(3, 0.5))
    for x, y in zip(rotations.compose(half, rotations.compose(rotations.inverse(a), half)), b):
        np.testing.assert_allclose(x, y, atol=1e-12)  # twice the half


def test_they_run_on_symbols():
    robot = lw.load("ur5")
    goal = rotations.from_euler("xyz", [0.1, 0.2, 0.3])

    def error(robot, q):
        R, p = robot.pose(q, robot.tips[0])
        return np.concatenate([rotations.log(R.T @ goal), rotations.to_euler("ZYX", R), p])

    q = robot.random_configuration(1)
    np.testing.assert_allclose(lw.compile(error, robot)(q), error(robot, q), atol=1e-13)


def test_what_is_refused():
    for order in ("xxy", "xYz", "abc", "xy", 3):
        with pytest.raises(lw.InputError, match="Euler angles"):
            rotations.from_euler(order, [0, 0, 0])
    with pytest.raises(lw.InputError, match=r"shape \(\.\.\., 3, 3\)"):
        rotations.log(np.eye(4))
    with pytest.raises(lw.InputError, match="pair"):
        rotations.inverse(np.eye(4))
    with pytest.raises(lw.InputError, match="not zero"):
        rotations.about([0, 0, 0], 1.0)
