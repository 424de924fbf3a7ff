"""Rotations and poses: exponentials, logarithms, interpolation, quaternions, Euler angles and matrices.

Rotations are matrices R (..., 3, 3), poses pairs (R, p) with p (..., 3), as :meth:`.Robot.pose` gives them; every
function takes any leading batch dimensions, which broadcast, arrays of any library, and symbols (:func:`.compile`).
Quaternions are (x, y, z, w), rotation vectors and twists [ω; v] in the body's axes: R(t) = R exp(tω).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from . import arrays, inputs
from .arguments import shown, word
from .arrays import Array
from .errors import InputError
from .model.joints.exponential import screw_exp, screw_log
from .spatial import (
    Transform,
    quaternion_exp,
    quaternion_from_rotation,
    quaternion_log,
    rotation_about,
    rotation_from_quaternion,
)

Pose = tuple[Array, Array]

_LOCKED = 1e-7  # sine of the middle Euler angle, away from where the others are one turn


def exp(vector: Any) -> Array:
    """R (..., 3, 3) of rotation vectors (..., 3) [rad]: a turn about the vector's direction by its length."""
    return rotation_from_quaternion(quaternion_exp(_given(vector, (3,), "a rotation vector")))


def log(rotation: Any) -> Array:
    """Rotation vectors (..., 3) [rad], of length π at most, of R (..., 3, 3)."""
    return quaternion_log(to_quaternion(rotation))


def about(axis: Any, angle: Any) -> Array:
    """R (..., 3, 3) of a turn about an ``axis`` (3,) by angles (...) [rad]."""
    direction = np.asarray(_given(axis, (3,), "an axis"), dtype=float)
    length = float(np.linalg.norm(direction))
    if direction.ndim != 1 or not (np.isfinite(length) and length > 0.0):
        raise InputError(f"an axis is one direction (3,) that is not zero, got {shown(axis)}")
    return rotation_about(direction / length, _array(angle, "an angle"))


def from_quaternion(quaternion: Any) -> Array:
    """R (..., 3, 3) of quaternions (..., 4), order (x, y, z, w), of any length."""
    return rotation_from_quaternion(_given(quaternion, (4,), "a quaternion"))


def to_quaternion(rotation: Any) -> Array:
    """Unit quaternions (..., 4), order (x, y, z, w), of R (..., 3, 3); q and −q are one turn, and either may come."""
    return quaternion_from_rotation(_given(rotation, (3, 3), "a rotation"))


def from_euler(order: str, angles: Any) -> Array:
    """R (..., 3, 3) of Euler angles (..., 3) [rad] about three axes.

    ``order`` names them as SciPy does: "xyz" turns about axes that stay (roll, pitch, yaw of URDF), "ZYX" about those
    of the body, each as the turns before have left it.
    """
    axes, fixed = _axes(order)
    given = _given(angles, (3,), "Euler angles")
    turns = [rotation_about(np.eye(3)[i], given[..., k]) for k, i in enumerate(axes)]
    a, b, c = reversed(turns) if fixed else turns
    return a @ b @ c


def to_euler(order: str, rotation: Any) -> Array:
    """Euler angles (..., 3) [rad] of R (..., 3, 3) about the axes of ``order``, as :func:`from_euler` takes them.

    The middle angle is from −π/2 to π/2, or from 0 to π where the first axis comes twice. Where the first and the last
    turn are about one line (gimbal lock) the last angle about body axes is zero.
    """
    axes, fixed = _axes(order)
    R = _given(rotation, (3, 3), "a rotation")
    i, j, k = reversed(axes) if fixed else axes
    twice = i == k
    k = 3 - i - j if twice else k
    e = 1.0 if (j - i) % 3 == 1 else -1.0  # the sign of the permutation (i, j, k)

    def entry(row: int, column: int) -> Array:
        found: Array = R[..., row, column]
        return found

    across = arrays.sqrt(entry(i, j) * entry(i, j) + entry(i, k if twice else i) * entry(i, k if twice else i))
    if twice:
        middle = arrays.arctan2(across, entry(i, i))
        first = arrays.arctan2(entry(j, i), -e * entry(k, i))
        last = arrays.arctan2(entry(i, j), e * entry(i, k))
    else:
        middle = arrays.arctan2(e * entry(i, k), across)
        first = arrays.arctan2(-e * entry(j, k), entry(k, k))
        last = arrays.arctan2(-e * entry(i, j), entry(i, i))
    locked = arrays.less(across, _LOCKED)
    first = arrays.where(locked, arrays.arctan2(e * entry(k, j), entry(j, j)), first)
    last = arrays.where(locked, 0.0 * last, last)
    found = [first, middle, last]
    return arrays.stack(found[::-1] if fixed else found)


def interpolate(start: Any, end: Any, part: Any) -> Array:
    """R (..., 3, 3) on the way from one rotation to another, at ``part`` (...): 0 is the start, 1 the end.

    By the one turn that leads there, at constant speed (as slerp does with quaternions).
    """
    first, last = (_given(x, (3, 3), "a rotation") for x in (start, end))
    vector = log(arrays.transpose(first) @ last)
    return first @ exp(_array(part, "the part of the way")[..., None] * vector)


# --- poses -------------------------------------------------------------------------------------------------------


def compose(first: Any, second: Any) -> Pose:
    """The pose (R₁R₂, p₁ + R₁p₂) of what is at ``second`` as seen from ``first``."""
    a, b = _pose(first), _pose(second)
    return a.R @ b.R, a.l + (a.R @ b.l[..., None])[..., 0]


def inverse(pose: Any) -> Pose:
    """The pose (R*, −R*p) of the world as seen from a pose."""
    x = _pose(pose)
    turned = arrays.transpose(x.R)
    return turned, -(turned @ x.l[..., None])[..., 0]


def pose_exp(twist: Any) -> Pose:
    """The pose that a constant twist [ω; v] (..., 6) in body axes leads to in unit time."""
    found = screw_exp(_given(twist, (6,), "a twist"))
    return found.R, found.l


def pose_log(pose: Any) -> Array:
    """The constant twist [ω; v] (..., 6) in body axes that leads to a pose in unit time, |ω| ≤ π."""
    return screw_log(_pose(pose))


def interpolate_pose(start: Any, end: Any, part: Any) -> Pose:
    """The pose at ``part`` (...) of the way from one to another: by the one screw that leads there."""
    twist = pose_log(compose(inverse(start), end))
    return compose(start, pose_exp(_array(part, "the part of the way")[..., None] * twist))


# --- arguments ---------------------------------------------------------------------------------------------------


def _given(x: Any, shape: tuple[int, ...], what: str) -> Array:
    found = _array(x, what)
    if found.shape[-len(shape) :] != shape:
        raise InputError(f"{what} has shape (..., {', '.join(map(str, shape))}), got {tuple(found.shape)}")
    return found


def _array(x: Any, what: str) -> Array:
    return inputs.as_array(x, what)


def _pose(pose: Any) -> Transform:
    if isinstance(pose, Transform):
        return pose
    if not isinstance(pose, (tuple, list)) or len(pose) != 2:
        raise InputError(f"a pose is a pair (R, p), as robot.pose gives it, got {shown(pose)}")
    return Transform(_given(pose[0], (3, 3), "R of a pose"), _given(pose[1], (3,), "p of a pose"))


def _axes(order: str) -> tuple[list[int], bool]:
    """The three axes of an order of Euler angles, and whether they stay where they are."""
    name = word(order, "the order of Euler angles")
    fixed = name == name.lower()
    found = ["xyz".find(c) for c in name.lower()]
    same = any(a == b for a, b in pairwise(found))
    if len(found) != 3 or -1 in found or same or not (fixed or name == name.upper()):
        raise InputError(
            'the order of Euler angles names three axes, of which no two neighbours are alike: "xyz" about axes that'
            f' stay, "ZYX" about those of the body; got {shown(order)}'
        )
    return found, fixed
