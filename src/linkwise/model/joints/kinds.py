"""Joint kinds: one entry each with its map H*, its transform, and its configuration manifold.

A joint moves its body's frame relative to its placement in the parent body. The relative spatial
velocity, in the body's axes at its origin, is H*(q) v. All kinds but ``Universal`` have a constant H*.
Configurations may live on a manifold (quaternions): ``integrate`` and ``difference`` are the exponential
and logarithm steps, with tangent vectors in the joint's own velocity coordinates v.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ... import arrays
from ...arguments import unmasked
from ...arrays import Array
from ...errors import ModelError
from ...spatial import (
    Transform,
    cross_motion,
    quaternion_exp,
    quaternion_from_rotation,
    quaternion_log,
    quaternion_product,
    rotation_about,
    rotation_from_quaternion,
    turn_about,
)
from ...values import ByValue, fixed
from ..inertia import as_number
from .axes import columns_commute, turn_from_z, unit_axis
from .exponential import screw_exp, screw_log
from .quaternions import conjugate, normalised, quaternion_error, quaternion_rate


def _columns(*columns: Any) -> np.ndarray:
    out = np.array(columns, dtype=float).reshape(len(columns), 6).T
    out.setflags(write=False)
    return out


class Later(Sequence[list[Array]]):
    """So many rows, each worked out when it is first looked at: second derivatives of maps with many coordinates."""

    def __init__(self, count: int, row: Callable[[int], list[Array]]) -> None:
        self._count, self._row = count, row
        self._known: dict[int, list[Array]] = {}

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, i: Any) -> Any:
        if i not in range(self._count):
            raise IndexError(i)
        if i not in self._known:
            self._known[i] = self._row(i)
        return self._known[i]

    def mapped(self, function: Callable[[Array], Array]) -> Later:
        """A function of every entry, as late."""
        return Later(self._count, lambda i: [function(x) for x in self[i]])


@dataclass(frozen=True, eq=False)
class JointKind(ByValue):
    """What a kind of joint is. ``nq`` configuration numbers, ``nv`` velocities, constant map H* (6, nv)."""

    nq: int = field(init=False, default=0)
    nv: int = field(init=False, default=0)
    H_star: np.ndarray = field(init=False, repr=False, default_factory=lambda: np.zeros((6, 0)))

    def _set(self, nq: int, H_star: np.ndarray) -> None:
        object.__setattr__(self, "nq", nq)
        object.__setattr__(self, "nv", H_star.shape[1])
        object.__setattr__(self, "H_star", H_star)

    @property
    def of_numbers(self) -> JointKind:
        """The kind itself, or one of those it stands for where its numbers are symbols."""
        found: JointKind = self.__dict__.get("stands_for", self)
        return found

    @property
    def kind(self) -> str:
        """The kind's name in lower case, as in "revolute"."""
        return type(self).__name__.lower()

    def transform(self, q: Array) -> Transform:
        """The pose of the body in the joint's placement frame; q is (..., nq)."""
        raise NotImplementedError

    def map(self, q: Array) -> Array:
        """H*(q), (..., 6, nv), in body axes."""
        return arrays.constant(self.H_star, like=q)

    def map_derivative(self, q: Array, v: Array) -> Array | None:
        """dH*/dt in body axes, (..., 6, nv), for a velocity column v (..., nv, 1); None where H* is constant."""
        return None

    def map_rate(self, q: Array, v: Array) -> Array | None:
        """dH*/dt v, a column (..., 6, 1), or None where H* is constant."""
        rate = self.map_derivative(q, v)
        return None if rate is None else rate @ v

    def map_partials(self, q: Array) -> tuple[list[Array], Sequence[list[Array]]] | None:
        """∂H*/∂q_i and ∂²H*/∂q_i∂q_j, each (..., 6, nv); None where H* is constant."""
        return None

    def neutral(self) -> np.ndarray:
        return np.zeros(self.nq)

    def ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """(lowest, highest) of every number of a configuration that :meth:`random` draws, evenly between them."""
        return np.full(self.nq, -np.pi), np.full(self.nq, np.pi)

    def random(self, rng: np.random.Generator) -> np.ndarray:
        return rng.uniform(*self.ranges())

    def integrate(self, q: Array, dv: Array) -> Array:
        """q ⊕ dv: the configuration reached by moving with the constant velocity dv for unit time."""
        return q + dv

    def difference(self, q0: Array, q1: Array) -> Array:
        """q1 ⊖ q0: the dv with q0 ⊕ dv = q1."""
        return q1 - q0

    def rate(self, q: Array, v: Array) -> Array:
        """q̇ (..., nq) for the velocity v (..., nv): the derivative of q ⊕ tv at t = 0."""
        return v

    def error(self, q: np.ndarray) -> str | None:
        """Why q is no configuration of this joint (a quaternion without length), or None."""
        return None


@dataclass(frozen=True, eq=False)
class Revolute(JointKind):
    """A hinge: one angle [rad] about ``axis``."""

    axis: Any = "z"

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))
        self._set(1, _columns([*self.axis, 0, 0, 0]))

    def transform(self, q: Array) -> Transform:
        return _turned(arrays.constant(self.axis, like=q), q[..., 0], np.zeros(3, arrays.precision(q)))


@dataclass(frozen=True, eq=False)
class Prismatic(JointKind):
    """A slider: one displacement [m] along ``axis``."""

    axis: Any = "z"

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))
        self._set(1, _columns([0, 0, 0, *self.axis]))

    def transform(self, q: Array) -> Transform:
        return Transform(np.eye(3, dtype=arrays.precision(q)), q * arrays.constant(self.axis, like=q), ())

    def ranges(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([-1.0]), np.array([1.0])


@dataclass(frozen=True, eq=False)
class Helical(JointKind):
    """A screw: one angle [rad] about ``axis``, advancing ``pitch`` [m/rad] along it."""

    axis: Any = "z"
    pitch: float = 0.1

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))
        object.__setattr__(self, "pitch", as_number(self.pitch, "the pitch of a helical joint"))
        self._set(1, _columns([*self.axis, *(self.pitch * self.axis)]))

    def transform(self, q: Array) -> Transform:
        axis = arrays.constant(self.axis, like=q)
        return _turned(axis, q[..., 0], q * arrays.constant(self.pitch * axis, like=q))


@dataclass(frozen=True, eq=False)
class Cylindrical(JointKind):
    """An angle [rad] about ``axis`` and a displacement [m] along it, independent of each other."""

    axis: Any = "z"

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))
        self._set(2, _columns([*self.axis, 0, 0, 0], [0, 0, 0, *self.axis]))

    def transform(self, q: Array) -> Transform:
        axis = arrays.constant(self.axis, like=q)
        return _turned(axis, q[..., 0], q[..., 1:2] * axis)

    def ranges(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([-np.pi, -1.0]), np.array([np.pi, 1.0])


@dataclass(frozen=True, eq=False)
class Universal(JointKind):
    """A Cardan joint: an angle about ``first`` (fixed in the parent), then one about ``second`` (in the body).

    Its map depends on the second angle: H* = [R₂*(q₂) first, second].
    """

    first: Any = "x"
    second: Any = "y"

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", unit_axis(self.first, "the first axis"))
        object.__setattr__(self, "second", unit_axis(self.second, "the second axis"))
        if np.linalg.norm(np.cross(self.first, self.second)) < 1e-9:
            raise ModelError("the two axes of a universal joint are parallel; use a revolute joint")
        self._set(2, _columns([*self.first, 0, 0, 0], [*self.second, 0, 0, 0]))

    def transform(self, q: Array) -> Transform:
        at = np.zeros(3, arrays.precision(q))
        first = _turned(arrays.constant(self.first, like=q), q[..., 0], at)
        return first.compose(_turned(arrays.constant(self.second, like=q), q[..., 1], at))

    def map(self, q: Array) -> Array:
        second = arrays.constant(self.second, like=q)
        first = arrays.transpose(rotation_about(second, q[..., 1])) @ arrays.constant(self.first, like=q)
        columns = [[first[..., i], second[i]] for i in range(3)]
        return arrays.matrix(columns + [[0.0, 0.0]] * 3)

    def map_derivative(self, q: Array, v: Array) -> Array:
        """Seen from the body, the first axis turns backwards: −(second v₂) × (R₂* first)."""
        H = self.map(q)
        first = -cross_motion(H[..., :, 1:2], H[..., :, 0:1]) * v[..., 1:2, :]
        return arrays.concatenate([first, first * 0.0], axis=-1)

    def map_partials(self, q: Array) -> tuple[list[Array], list[list[Array]]]:
        """Only the first column moves, and only with the second angle: ∂h/∂q₂ = −second × h."""
        H = self.map(q)
        first, second = H[..., :, 0:1], H[..., :, 1:2]
        once = -cross_motion(second, first)
        zero = once * 0.0
        none = arrays.concatenate([zero, zero], axis=-1)
        d = arrays.concatenate([once, zero], axis=-1)
        dd = arrays.concatenate([-cross_motion(second, once), zero], axis=-1)
        return [none, d], [[none, none], [none, dd]]


@dataclass(frozen=True, eq=False)
class Spherical(JointKind):
    """A ball joint: a unit quaternion (x, y, z, w), velocity = angular velocity in body axes."""

    def __post_init__(self) -> None:
        self._set(4, _columns(*np.eye(6)[:3]))

    def transform(self, q: Array) -> Transform:
        return Transform(rotation_from_quaternion(q), np.zeros(3, arrays.precision(q)))

    def neutral(self) -> np.ndarray:
        return np.array([0.0, 0.0, 0.0, 1.0])

    def random(self, rng: np.random.Generator) -> np.ndarray:
        q = rng.normal(size=4)
        return q / np.linalg.norm(q)

    def integrate(self, q: Array, dv: Array) -> Array:
        return normalised(quaternion_product(q, quaternion_exp(dv)))

    def rate(self, q: Array, v: Array) -> Array:
        return quaternion_rate(q, v)

    def difference(self, q0: Array, q1: Array) -> Array:
        return quaternion_log(quaternion_product(conjugate(q0), q1))

    def error(self, q: np.ndarray) -> str | None:
        return quaternion_error(q)


@dataclass(frozen=True, eq=False)
class Planar(JointKind):
    """Motion in a plane: q = (x, y, angle) in the placement's axes, v = (vx, vy, ω) in body axes.

    ``normal`` is the plane's normal; x and y are the images of the placement's x and y axes under the
    smallest turn that takes z to the normal.
    """

    normal: Any = "z"
    basis: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        n = unit_axis(self.normal, "the normal of a planar joint")
        object.__setattr__(self, "normal", n)
        object.__setattr__(self, "basis", fixed(turn_from_z(n)))
        ex, ey, ez = self.basis.T
        self._set(3, _columns([0, 0, 0, *ex], [0, 0, 0, *ey], [*ez, 0, 0, 0]))

    def transform(self, q: Array) -> Transform:
        basis = arrays.constant(self.basis, like=q)
        offset = q[..., 0:1] * basis[:, 0] + q[..., 1:2] * basis[:, 1]
        return _turned(basis[:, 2], q[..., 2], offset)

    def ranges(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([-1.0, -1.0, -np.pi]), np.array([1.0, 1.0, np.pi])

    def integrate(self, q: Array, dv: Array) -> Array:
        twist = _planar_twist(dv)
        step = screw_exp(twist)
        c, s = arrays.cos(q[..., 2]), arrays.sin(q[..., 2])
        x, y = step.l[..., 0], step.l[..., 1]
        return arrays.stack([q[..., 0] + c * x - s * y, q[..., 1] + s * x + c * y, q[..., 2] + dv[..., 2]])

    def rate(self, q: Array, v: Array) -> Array:
        c, s = arrays.cos(q[..., 2]), arrays.sin(q[..., 2])
        return arrays.stack([c * v[..., 0] - s * v[..., 1], s * v[..., 0] + c * v[..., 1], v[..., 2]])

    def difference(self, q0: Array, q1: Array) -> Array:
        c, s = arrays.cos(q0[..., 2]), arrays.sin(q0[..., 2])
        dx, dy, turn = q1[..., 0] - q0[..., 0], q1[..., 1] - q0[..., 1], q1[..., 2] - q0[..., 2]
        x, y = c * dx + s * dy, -s * dx + c * dy
        # The chord (x, y) of an arc that turns by `turn`: its tangent is V⁻¹(turn) (x, y), with
        # V⁻¹ = [[k, turn/2], [−turn/2, k]], k = (turn/2) cot(turn/2).
        half = 0.5 * turn
        small = arrays.less(half * half, 1e-8)
        safe = arrays.where(small, 1.0, half)
        k = arrays.where(small, 1.0 - half * half / 3.0, safe * arrays.cos(safe) / arrays.sin(safe))
        return arrays.stack([k * x + half * y, k * y - half * x, turn])


@dataclass(frozen=True, eq=False)
class Free(JointKind):
    """A floating base: q = (x, y, z, quaternion xyzw), v = [ω; v] in body axes. H* = I₆."""

    def __post_init__(self) -> None:
        self._set(7, _columns(*np.eye(6)))

    def transform(self, q: Array) -> Transform:
        return Transform(rotation_from_quaternion(q[..., 3:]), q[..., :3])

    def neutral(self) -> np.ndarray:
        return np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])

    def random(self, rng: np.random.Generator) -> np.ndarray:
        return np.concatenate([rng.uniform(-1, 1, 3), Spherical().random(rng)])

    def integrate(self, q: Array, dv: Array) -> Array:
        return _pose_numbers(self.transform(q).compose(screw_exp(dv)), q[..., 3:], dv[..., :3])

    def rate(self, q: Array, v: Array) -> Array:
        moved = (rotation_from_quaternion(q[..., 3:]) @ v[..., 3:, None])[..., 0]
        turned = quaternion_rate(q[..., 3:], v[..., :3])
        return arrays.stack([moved[..., i] for i in range(3)] + [turned[..., i] for i in range(4)])

    def difference(self, q0: Array, q1: Array) -> Array:
        return screw_log(self.transform(q0).inverse().compose(self.transform(q1)))

    def error(self, q: np.ndarray) -> str | None:
        return quaternion_error(q[..., 3:])


@dataclass(frozen=True, eq=False)
class Fixed(JointKind):
    """No motion at all."""

    def __post_init__(self) -> None:
        self._set(0, np.zeros((6, 0)))

    def transform(self, q: Array) -> Transform:
        return Transform(np.eye(3, dtype=arrays.precision(q)), np.zeros(3, arrays.precision(q)), ())


@dataclass(frozen=True, eq=False)
class Custom(JointKind):
    """A user's own constant map H* (6, r), angular part first, in body axes.

    Where the columns commute (one column; independent translations; …) the configuration is r numbers
    and the transform exp(H* q). Otherwise it is a pose, seven numbers as for :class:`Free`, that moves
    by q ← q exp(H* v dt): the motion is then whatever the columns and their brackets generate, and if
    they do not close under brackets the joint is non-holonomic (a skate, a rolling wheel).
    """

    H: Any = None
    commutes: bool = field(init=False, default=True)

    def __post_init__(self) -> None:
        unmasked(self.H, "a joint map", ModelError)
        try:
            H = np.array(self.H, dtype=float)
        except (TypeError, ValueError):
            raise ModelError(f"a joint map must be a 6×r matrix of numbers, got {self.H!r}") from None
        if H.ndim != 2 or H.shape[0] != 6 or not 1 <= H.shape[1] <= 6:
            raise ModelError(f"a joint map H* must be 6×r with r from 1 to 6, got shape {H.shape}")
        if not np.isfinite(H).all():
            raise ModelError("a joint map must be finite")
        if np.linalg.matrix_rank(H) < H.shape[1]:
            raise ModelError("the columns of a joint map must be linearly independent")
        H.setflags(write=False)
        object.__setattr__(self, "H", H)
        object.__setattr__(self, "commutes", columns_commute(H))
        self._set(H.shape[1] if self.commutes else 7, H)

    def transform(self, q: Array) -> Transform:
        if not self.commutes:
            return Transform(rotation_from_quaternion(q[..., 3:]), q[..., :3])
        out = _screw(self.H[:, 0], q[..., 0:1])
        for i in range(1, self.nv):
            out = out.compose(_screw(self.H[:, i], q[..., i : i + 1]))
        return out

    def neutral(self) -> np.ndarray:
        return np.zeros(self.nq) if self.commutes else Free().neutral()

    def random(self, rng: np.random.Generator) -> np.ndarray:
        dv = rng.uniform(-1, 1, self.nv)
        return arrays.as_numpy(self.integrate(self.neutral(), dv))

    def integrate(self, q: Array, dv: Array) -> Array:
        return q + dv if self.commutes else Free().integrate(q, self._twist(dv))

    def rate(self, q: Array, v: Array) -> Array:
        return v if self.commutes else Free().rate(q, self._twist(v))

    def difference(self, q0: Array, q1: Array) -> Array:
        if self.commutes:
            return q1 - q0
        # The least-squares velocity: exact where the two poses are joined by one constant-velocity motion.
        inverse = np.linalg.pinv(self.H).astype(arrays.precision(q0))
        v: Array = (inverse @ Free().difference(q0, q1)[..., None])[..., 0]
        return v

    def _twist(self, dv: Array) -> Array:
        twist: Array = (self.H.astype(arrays.precision(dv)) @ dv[..., None])[..., 0]
        return twist

    def error(self, q: np.ndarray) -> str | None:
        return None if self.commutes else quaternion_error(q[..., 3:])


def _screw(column: np.ndarray, q: Array) -> Transform:
    """exp(h q) of one constant screw h = [w; v]: a turn by |w| q about its line, advancing along it."""
    p = arrays.precision(q)
    w, v = column[:3], column[3:]
    rate = float(np.linalg.norm(w))
    if rate == 0:
        return Transform(np.eye(3, dtype=p), q * v.astype(p))
    u = w / rate
    off_axis = np.cross(u, v) / rate
    R = rotation_about(u.astype(p), q[..., 0] * rate)
    slide = (u * (u @ v)).astype(p)
    return Transform(R, off_axis.astype(p) - R @ off_axis.astype(p) + q * slide)


def _turned(axis: Array, angle: Array, l: Array) -> Transform:
    """The pose turned by ``angle`` about ``axis`` at the place l."""
    c, s = arrays.cos(angle), arrays.sin(angle)
    return Transform(rotation_about(axis, angle), l, turn_about(axis, c, s))


def _planar_twist(dv: Array) -> Array:
    zero = dv[..., 0] * 0.0
    return arrays.stack([zero, zero, dv[..., 2], dv[..., 0], dv[..., 1], zero])


def _pose_numbers(pose: Transform, old: Array, turn: Array) -> Array:
    """A pose as seven numbers, its quaternion reached continuously from ``old`` by the turn."""
    quaternion = normalised(quaternion_product(old, quaternion_exp(turn)))
    return arrays.namespace(pose.l).concatenate([pose.l, quaternion], axis=-1)


def pose_from_transform(pose: Transform) -> np.ndarray:
    """The seven numbers (x, y, z, quaternion) of a constant pose."""
    return np.concatenate([pose.l, quaternion_from_rotation(pose.R)])
