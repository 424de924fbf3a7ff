"""Spatial vectors, rotations, rigid transforms φ and rigid inertias, over any array-likes.

Conventions. Spatial vectors are columns (..., 6, 1), angular part first: velocity [ω; v], force [N; F].
A transform φ(p, k) of a body k in its parent p holds the rotation R (k axes → p axes) and the offset l
(from O_p to O_k, in p axes):

    φ(p, k) = [[R, l̃R], [0, R]],    φ(p, k) f moves a force inward,    φ*(p, k) V a velocity outward.

(math notes 12.3; Operator algebra paper (2.2).) On plain numbers φ is applied as a 6×6 matrix; on
symbols it is applied by its blocks, which spares the operations on its zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from . import arrays
from .arrays import Array, block, is_numpy, is_symbolic, matrix, symmetric, transpose
from .properties import cached_property

_IDENTITY = np.eye(3)


def skew(x: Array) -> Array:
    """x̃, the (..., 3, 3) matrix with x̃ y = x × y, of a (..., 3) vector."""
    a, b, c = x[..., 0], x[..., 1], x[..., 2]
    if x.ndim == 1 and arrays.is_eager(x):  # of one vector of numbers, as files have many
        return np.array([[0.0, -c, b], [c, 0.0, -a], [-b, a, 0.0]], dtype=x.dtype)
    return matrix([[0.0, -c, b], [c, 0.0, -a], [-b, a, 0.0]])


def cross(x: Array, y: Array) -> Array:
    """x × y of two columns (..., 3, m), column by column."""
    a, b, c = x[..., 0:1, :], x[..., 1:2, :], x[..., 2:3, :]
    d, e, f = y[..., 0:1, :], y[..., 1:2, :], y[..., 2:3, :]
    return arrays.concatenate([b * f - c * e, c * d - a * f, a * e - b * d], axis=-2)


def cross_motion(x: Array, y: Array) -> Array:
    """X × Y = X̃ Y, the cross product of two motions, X̃ = [[ω̃, 0], [ṽ, ω̃]]."""
    w, v = x[..., :3, :], x[..., 3:, :]
    a, b = y[..., :3, :], y[..., 3:, :]
    return arrays.concatenate([cross(w, a), cross(v, a) + cross(w, b)], axis=-2)


def cross_force(x: Array, f: Array) -> Array:
    """S[X] f = −X̃* f, the cross product of a motion with a force, S[X] = [[ω̃, ṽ], [0, ω̃]]."""
    w, v = x[..., :3, :], x[..., 3:, :]
    n, g = f[..., :3, :], f[..., 3:, :]
    return arrays.concatenate([cross(w, n) + cross(v, g), cross(w, g)], axis=-2)


def cross_motion_matrix(x: Array) -> Array:
    """X̃ = [[ω̃, 0], [ṽ, ω̃]] as a (..., 6, 6) matrix, of a column (..., 6, 1)."""
    w, v = skew(x[..., :3, 0]), skew(x[..., 3:, 0])
    zero = w * 0.0
    return block([[w, zero], [v, w]])


# --- rotations -------------------------------------------------------------------------------------


def rotation_about(axis: Array, angle: Array) -> Array:
    """The rotation (..., 3, 3) by ``angle`` (...) about the unit vector ``axis`` (3,).

    R = aa* + cos q (I − aa*) + sin q ã. In this form the entries of a coordinate axis fold to 0, 1,
    cos q and ± sin q on symbols.
    """
    c, s = arrays.cos(angle), arrays.sin(angle)
    if axis.ndim == 1 and arrays.is_eager(axis) and not is_symbolic(c):
        return _rotation_of_numbers(axis, c, s)
    a = [axis[..., i] for i in range(3)]
    tilde = [[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]]
    rows = []
    for i in range(3):
        row = []
        for j in range(3):
            aa = a[i] * a[j]
            row.append(aa + c * ((1.0 if i == j else 0.0) - aa) + s * tilde[i][j])
        rows.append(row)
    return matrix(rows)


def _rotation_of_numbers(axis: np.ndarray, c: Array, s: Array) -> Array:
    """The same in three operations on arrays."""
    x, y, z = axis.tolist()
    tilde = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]], dtype=axis.dtype)
    along = axis[:, None] * axis
    across = _IDENTITY.astype(along.dtype, copy=False) - along
    constants: list[Array] = [along, across, tilde]
    if not is_numpy(c):
        constants = [arrays.namespace(c).asarray(x) for x in constants]
    turned: Array = constants[0] + c[..., None, None] * constants[1] + s[..., None, None] * constants[2]
    return turned


_LEAST_SQUARE = 4.0 * np.finfo(np.float64).tiny  # of a quaternion whose length can be divided out


def rotation_from_quaternion(q: Array) -> Array:
    """R (..., 3, 3) of a quaternion (..., 4), order (x, y, z, w). Its length divides out."""
    x, y, z, w = (q[..., i] for i in range(4))
    square = x * x + y * y + z * z + w * w
    arrays.require_positive(square - _LEAST_SQUARE, always=True)
    s = 2.0 / square
    arrays.require_positive(s)  # zero where the square is too large for a number
    return matrix(
        [
            [1.0 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)],
            [s * (x * y + z * w), 1.0 - s * (x * x + z * z), s * (y * z - x * w)],
            [s * (x * z - y * w), s * (y * z + x * w), 1.0 - s * (x * x + y * y)],
        ]
    )


def quaternion_product(p: Array, q: Array) -> Array:
    """p ∘ q, order (x, y, z, w): first turn by q, then by p."""
    px, py, pz, pw = (p[..., i] for i in range(4))
    qx, qy, qz, qw = (q[..., i] for i in range(4))
    return arrays.stack(
        [
            pw * qx + px * qw + py * qz - pz * qy,
            pw * qy - px * qz + py * qw + pz * qx,
            pw * qz + px * qy - py * qx + pz * qw,
            pw * qw - px * qx - py * qy - pz * qz,
        ]
    )


def quaternion_exp(w: Array) -> Array:
    """The unit quaternion (..., 4) of a rotation vector (..., 3), smooth at zero."""
    square = arrays.square_length(w)
    half_sinc, c = _half_angle(square)
    return arrays.concatenate([w[..., None, :] * half_sinc[..., None, None], c[..., None, None]], axis=-1)[..., 0, :]


def _half_angle(square: Array) -> tuple[Array, Array]:
    """sin(t/2)/t and cos(t/2) as functions of t², exact to rounding on both sides of the switch."""
    small = arrays.less(square, 1e-4)
    t = arrays.sqrt(arrays.where(small, 1.0, square))
    series = 0.5 - square / 48.0 + square * square / 3840.0 - square**3 / 645120.0
    cosine = 1.0 - square / 8.0 + square * square / 384.0 - square**3 / 46080.0
    return arrays.where(small, series, arrays.sin(0.5 * t) / t), arrays.where(small, cosine, arrays.cos(0.5 * t))


def quaternion_log(q: Array) -> Array:
    """The rotation vector (..., 3), of length ≤ π, of a quaternion (..., 4)."""
    flip = arrays.where(arrays.less(q[..., 3], 0.0), -1.0, 1.0).astype(q.dtype)
    e, w = q[..., :3] * flip[..., None], q[..., 3] * flip
    square = arrays.square_length(e)
    small = arrays.less(square, 1e-8 * w * w)
    n = arrays.sqrt(arrays.where(small, 1.0, square))
    w_safe = arrays.where(small, w, 1.0)
    near = 2.0 / w_safe * (1.0 - square / (3.0 * w_safe * w_safe))
    scale = arrays.where(small, near, 2.0 * arrays.arctan2(n, w) / n)
    return e * scale[..., None]


def quaternion_from_rotation(R: Array) -> Array:
    """A unit quaternion (..., 4) of a rotation matrix, by the best-conditioned of the four formulas."""
    m = R
    d = [m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]]
    squares = [1.0 + d[0] - d[1] - d[2], 1.0 - d[0] + d[1] - d[2], 1.0 - d[0] - d[1] + d[2], 1.0 + d[0] + d[1] + d[2]]
    xy, xz, yz = m[..., 0, 1] + m[..., 1, 0], m[..., 0, 2] + m[..., 2, 0], m[..., 1, 2] + m[..., 2, 1]
    wx, wy, wz = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    best, q = squares[0], arrays.stack([squares[0], xy, xz, wx])
    others = ([xy, squares[1], yz, wy], [xz, yz, squares[2], wz], [wx, wy, wz, squares[3]])
    for square, candidate in zip(squares[1:], others):
        larger = arrays.less(best, square)
        best = arrays.where(larger, square, best)
        q = arrays.where(larger[..., None], arrays.stack(candidate), q)
    return q / arrays.sqrt(arrays.square_length(q))[..., None]


def rotation_from_rpy(rpy: Any) -> np.ndarray:
    """Rz(yaw) Ry(pitch) Rx(roll), as URDF defines it."""
    turned = np.eye(3)
    for axis, angle in reversed(list(enumerate(rpy))):
        if angle:
            turned = turned @ arrays.as_numpy(rotation_about(_IDENTITY[axis], np.array(float(angle))))
    return turned


# --- planar turns ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Turn:
    """A rotation about a coordinate axis, cosine c and sine s. Joints are made of these."""

    axis: int
    c: Any
    s: Any

    @property
    def T(self) -> Turn:
        return Turn(self.axis, self.c, -self.s)

    @property
    def plane(self) -> tuple[int, int]:
        """The two other axes, in cyclic order."""
        return (self.axis + 1) % 3, (self.axis + 2) % 3

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        """R x of an object array (..., 3, m), in 4 multiplications a column."""
        j, k = self.plane
        out = x.astype(object)
        out[..., j, :] = self.c * x[..., j, :] - self.s * x[..., k, :]
        out[..., k, :] = self.s * x[..., j, :] + self.c * x[..., k, :]
        return out

    def both_sides(self, B: np.ndarray, symmetric: bool = False) -> np.ndarray:
        """R B R* of an object array (..., 3, 3).

        In the plane only w = s (B_jj − B_kk) + c (B_jk + B_kj) is needed: B_jj, B_kk lose and gain s w, and
        B_jk, B_kj become c w less each other. 12 multiplications; 8 where B is symmetric.
        """
        j, k = self.plane
        i, c, s = self.axis, self.c, self.s
        out = B.astype(object)
        w = s * (B[..., j, j] - B[..., k, k]) + c * (B[..., j, k] + B[..., k, j])
        out[..., j, j], out[..., k, k] = B[..., j, j] - s * w, B[..., k, k] + s * w
        out[..., j, k] = c * w - B[..., k, j]
        out[..., j, i] = c * B[..., j, i] - s * B[..., k, i]
        out[..., k, i] = s * B[..., j, i] + c * B[..., k, i]
        if symmetric:
            out[..., k, j], out[..., i, j], out[..., i, k] = out[..., j, k], out[..., j, i], out[..., k, i]
        else:
            out[..., k, j] = c * w - B[..., j, k]
            out[..., i, j] = c * B[..., i, j] - s * B[..., i, k]
            out[..., i, k] = s * B[..., i, j] + c * B[..., i, k]
        return out


@dataclass(frozen=True, eq=False)
class Rotation:
    """A rotation applied through its turns on symbols, through its matrix otherwise."""

    R: Array
    turns: tuple[Turn, ...] | None

    @property
    def T(self) -> Rotation:
        turns = None if self.turns is None else tuple(t.T for t in reversed(self.turns))
        return Rotation(transpose(self.R), turns)

    def _by_turns(self, x: Array) -> TypeGuard[np.ndarray]:
        return self.turns is not None and (is_symbolic(x) or is_symbolic(self.R))

    def __matmul__(self, x: Array) -> Array:
        if not self._by_turns(x):
            return self.R @ x
        for turn in reversed(self.turns or ()):
            x = turn @ x
        return x

    def both_sides(self, B: Array) -> Array:
        """R B R*."""
        if not self._by_turns(B):
            return self.R @ B @ transpose(self.R)
        for turn in reversed(self.turns or ()):
            B = turn.both_sides(B)
        return B

    def symmetric(self, S: Array) -> Array:
        """R S R* of a symmetric S."""
        if not self._by_turns(S):
            return symmetric(self.R @ S @ transpose(self.R))
        for turn in reversed(self.turns or ()):
            S = turn.both_sides(S, symmetric=True)
        return S


def turn_about(axis: Array, c: Array, s: Array) -> tuple[Turn, ...] | None:
    """The turn about a unit vector that is a coordinate axis or its opposite; None for any other."""
    values = np.asarray(axis)
    if values.dtype == object:  # of symbols, which may be any
        return None
    entries = values.tolist()  # (asked of every joint in every state: NumPy takes longer to look at three numbers)
    sizes = list(map(abs, entries))
    if sum(sizes) != 1.0 or max(sizes) != 1.0:
        return None
    i = sizes.index(1.0)
    return (Turn(i, c, s if entries[i] > 0 else -s),)


_ROUNDING = 4 * np.finfo(float).eps  # of the entries of a rotation that is a product of others
_RIGHT_ANGLES = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)]


def constant_turns(R: np.ndarray) -> tuple[Turn, ...] | None:
    """A constant rotation as planar turns: one where it leaves a coordinate axis alone, right angles otherwise.

    None where it is neither: its matrix is then as good.
    """
    if (np.eye(3) == R).all():
        return ()
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        # (R[i, i] = 1 alone does not do: a tilt of 1e-8 rad leaves it at 1.)
        if np.abs([R[i, j], R[i, k], R[j, i], R[k, i]]).max() <= _ROUNDING and R[i, i] > 0.0:
            return (Turn(i, float(R[j, j]), float(R[k, j])),)
    if set(np.abs(R).ravel().tolist()) <= {0.0, 1.0}:
        for a, b in ((0, 1), (1, 2), (2, 0), (1, 0), (2, 1), (0, 2)):
            for first in _RIGHT_ANGLES:
                for second in _RIGHT_ANGLES:
                    turns = (Turn(a, *first), Turn(b, *second))
                    if (turns[0] @ (turns[1] @ np.eye(3)) == R).all():
                        return turns
    return None


# --- rigid transforms ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Transform:
    """φ(p, k): the pose (R, l) of a frame k in a frame p, acting on forces (φ) and velocities (φ*).

    ``phi @ f`` is φ f, ``phi.T @ V`` is φ* V, for columns (..., 6, m); ``phi.compose(other)`` is φφ'.
    ``turns``, where known, are planar rotations whose product is R: on symbols they cost less than R.
    """

    R: Array  # (..., 3, 3)
    l: Array  # (..., 3)
    turns: tuple[Turn, ...] | None = None

    @property
    def rotation(self) -> Any:
        """R in the form that costs least on symbols; apply with ``@``, ``.T @`` and :func:`rotated`."""
        return Rotation(self.R, self.turns)

    @cached_property
    def matrix(self) -> Array:
        """φ as a (..., 6, 6) matrix."""
        zero = self.R * 0.0
        return block([[self.R, skew(self.l) @ self.R], [zero, self.R]])

    @property
    def T(self) -> AdjointTransform:
        return AdjointTransform(self)

    def __matmul__(self, f: Array) -> Array:
        if not is_symbolic(f) and not is_symbolic(self.R):
            return arrays.times(self.matrix, f)
        R = self.rotation
        force = R @ f[..., 3:, :]
        return arrays.concatenate([R @ f[..., :3, :] + skew(self.l) @ force, force], axis=-2)

    def compose(self, inner: Transform) -> Transform:
        """The pose of ``inner``'s frame in the outer frame: φ(p, k) φ(k, j) = φ(p, j)."""
        turns = None if self.turns is None or inner.turns is None else (*self.turns, *inner.turns)
        return Transform(self.R @ inner.R, self.l + (self.R @ inner.l[..., None])[..., 0], turns)

    def inverse(self) -> Transform:
        """φ⁻¹(p, k) = φ(k, p)."""
        Rt = transpose(self.R)
        return Transform(Rt, -(Rt @ self.l[..., None])[..., 0])

    def apply(self, point: Array) -> Array:
        """Coordinates in p of a point (..., 3) given in k."""
        return self.l + (self.R @ point[..., None])[..., 0]

    def by_turns(self) -> Transform:
        """This constant pose with its rotation also as planar turns, where that costs less."""
        if self.turns is None and arrays.is_eager(self.R):
            return Transform(self.R, self.l, constant_turns(self.R))
        return self

    def cast(self, dtype: Any) -> Transform:
        return Transform(self.R.astype(dtype), self.l.astype(dtype), self.turns)

    @staticmethod
    def identity() -> Transform:
        return Transform(np.eye(3), np.zeros(3), ())


@dataclass(frozen=True, eq=False)
class AdjointTransform:
    """φ*(p, k), which carries velocities and accelerations outward, from p to k."""

    phi: Transform

    def __matmul__(self, V: Array) -> Array:
        R, l = self.phi.R, self.phi.l
        if not is_symbolic(V) and not is_symbolic(R):
            return arrays.times(transpose(self.phi.matrix), V)
        w, Rt = V[..., :3, :], self.phi.rotation.T
        return arrays.concatenate([Rt @ w, Rt @ (V[..., 3:, :] - skew(l) @ w)], axis=-2)


def congruence(phi: Any, P: Any) -> Any:
    """φ P φ*: an inertia at k (rigid, or symmetric (..., 6, 6)) seen from p.

    What stands for φ at a node that is no rigid body brings its own (:mod:`linkwise.sweeps`).
    """
    if not isinstance(phi, Transform):
        return phi.congruence(P)
    if isinstance(P, RigidInertia):
        return _rigid_congruence(phi, P)
    if not is_symbolic(P) and not is_symbolic(phi.R):
        X = phi.matrix
        return X @ P @ transpose(X)
    R, tilde = phi.rotation, skew(phi.l)
    A, B, C = R.symmetric(P[..., :3, :3]), R.both_sides(P[..., :3, 3:]), R.symmetric(P[..., 3:, 3:])
    B_shifted = B + tilde @ C
    A_shifted = symmetric(A + tilde @ transpose(B) - B_shifted @ tilde)
    return block([[A_shifted, B_shifted], [transpose(B_shifted), C]])


def adjoint_congruence(phi: Any, U: Array) -> Array:
    """φ* U φ: a compliance at p (symmetric (..., 6, 6)) seen from k."""
    if not isinstance(phi, Transform):
        seen: Array = phi.adjoint_congruence(U)
        return seen
    if not is_symbolic(U) and not is_symbolic(phi.R):
        X = phi.matrix
        return transpose(X) @ U @ X
    Rt, tilde = phi.rotation.T, skew(phi.l)
    A, B, C = U[..., :3, :3], U[..., :3, 3:], U[..., 3:, 3:]
    B_shifted = B + A @ tilde
    C_shifted = symmetric(C + transpose(B) @ tilde - tilde @ B_shifted)
    side = Rt.both_sides(B_shifted)
    return block([[Rt.symmetric(A), side], [transpose(side), Rt.symmetric(C_shifted)]])


# --- inertias --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RigidInertia:
    """A rigid body's spatial inertia in ten numbers: mass m, first moment h = m p, inertia J about O.

    M = [[J, h̃], [−h̃, m I]] (math notes 1). ``M @ V`` applies it, ``M.matrix`` is the 6×6 matrix.
    """

    m: Any  # (...): an array, or one number or symbol
    h: Array  # (..., 3)
    J: Array  # (..., 3, 3), symmetric

    @cached_property
    def matrix(self) -> Array:
        tilde = skew(self.h)
        m = self.m
        diagonal = matrix([[m, 0.0, 0.0], [0.0, m, 0.0], [0.0, 0.0, m]])
        return block([[self.J, tilde], [-tilde, diagonal]])

    def __matmul__(self, V: Array) -> Array:
        if not is_symbolic(V) and not is_symbolic(self.J):
            return arrays.times(self.matrix, V)
        w, v = V[..., :3, :], V[..., 3:, :]
        tilde = skew(self.h)
        m = np.asarray(self.m)[..., None, None]
        return arrays.concatenate([self.J @ w + tilde @ v, m * v - tilde @ w], axis=-2)

    def __add__(self, other: Any) -> RigidInertia:
        if isinstance(other, RigidInertia):
            return RigidInertia(self.m + other.m, self.h + other.h, self.J + other.J)
        if isinstance(other, int) and other == 0:  # the empty sum over no children
            return self
        return NotImplemented

    __radd__ = __add__

    def cast(self, dtype: Any) -> RigidInertia:
        return RigidInertia(np.asarray(self.m).astype(dtype), self.h.astype(dtype), self.J.astype(dtype))


def _rigid_congruence(phi: Transform, M: RigidInertia) -> RigidInertia:
    """φ M φ* of a rigid inertia is a rigid inertia: mass kept, first moment and J moved (Steiner)."""
    R, l = phi.rotation, phi.l
    h = (R @ M.h[..., None])[..., 0]
    h_new = h + np.asarray(M.m)[..., None] * l if is_numpy(M.m) else h + M.m[..., None] * l
    J = R.symmetric(M.J)
    # −l̃h̃ − h̃l̃ − m l̃l̃ = −l̃h̃ − (h + m l)~ l̃
    if is_symbolic(h_new) or is_symbolic(J):
        return RigidInertia(M.m, h_new, _moved_tensor(J, l, h, h_new))
    J_new = symmetric(J - skew(l) @ skew(h) - skew(h_new) @ skew(l))
    return RigidInertia(M.m, h_new, J_new)


def _moved_tensor(J: Array, l: Array, h: Array, h_new: Array) -> Array:
    """The same entry by entry, with the fewest products: J + (l·p)I − hl* − lh_new*, p = h + h_new."""
    t = l * (h + h_new)
    rows: list[list[Any]] = [[0.0] * 3 for _ in range(3)]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        rows[i][i] = J[..., i, i] + (t[..., j] + t[..., k])
        for j in range(i):
            rows[i][j] = rows[j][i] = J[..., i, j] - (h[..., i] * l[..., j] + l[..., i] * h_new[..., j])
    return matrix(rows)
