"""The joint of a point of a flexible body: it moves with the modes of the body, by shapes that are linear in them.

In the frame of the undeformed point, modal coordinates η (n,) move the point to (exp(θ̃), s),

    θ = Φʳη,    s = Φη + ½η*Qη,        H* = [J_r(θ)Φʳ; R*(Φ + Qη)]

with Φ (3, n) displacements, Φʳ (3, n) turns, and Q (3, n, n) displacements of second order (foreshortening). J_r is
the right Jacobian of the rotations (closed chains and flexible bodies, math notes 5.1). Points of one body share η.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import factorial
from typing import Any

import numpy as np

from ... import arrays
from ...arrays import Array
from ...errors import ModelError
from ...properties import cached_property
from ...spatial import Transform, cross, rotation_about, skew, turn_about
from ...values import fixed
from ..inertia import as_array
from .kinds import JointKind, Later


@dataclass(frozen=True, eq=False)
class Modal(JointKind):
    """A point that moves with n modes: ``shape`` Φ (3, n) [m], ``turn`` Φʳ (3, n) [rad], ``bend`` Q (3, n, n) [m].

    ``amplitude`` (n,) is the size of the modal coordinates that random configurations have, and ``carries`` whether the
    point is a node, where other bodies may hang, or a mass point. Robots are given such joints by their flexible bodies
    (:class:`linkwise.Flexible`).
    """

    shape: Any = None
    turn: Any = None
    bend: Any = None
    amplitude: Any = None
    carries: bool = True
    axis: np.ndarray | None = field(init=False, repr=False, default=None, compare=False)

    def __post_init__(self) -> None:
        shape = as_array(self.shape, "the displacements of a modal point must be a 3×n matrix of numbers")
        if shape.ndim != 2 or shape.shape[0] != 3 or not shape.shape[1]:
            raise ModelError(f"the displacements of a modal point must be 3×n, got shape {shape.shape}")
        n = shape.shape[1]
        turn = np.zeros((3, n)) if self.turn is None else as_array(self.turn, "turns must be a 3×n matrix of numbers")
        bend = None if self.bend is None else as_array(self.bend, "displacements of second order must be numbers")
        size = np.ones(n) if self.amplitude is None else as_array(self.amplitude, "amplitudes must be n numbers")
        for label, x, wanted in (("turn", turn, (3, n)), ("bend", bend, (3, n, n)), ("amplitude", size, (n,))):
            if x is not None and (x.shape != wanted or not np.isfinite(x).all()):
                raise ModelError(f"a modal point of {n} modes: {label} must be finite, of shape {wanted}")
        object.__setattr__(self, "shape", fixed(shape))
        object.__setattr__(self, "turn", fixed(turn) if turn.any() else None)
        object.__setattr__(self, "bend", None if bend is None or not bend.any() else fixed(bend))
        object.__setattr__(self, "amplitude", fixed(size))
        object.__setattr__(self, "axis", _common_axis(turn))
        self._set(n, fixed(np.vstack([turn, shape])))

    @property
    def is_constant(self) -> bool:
        """Whether H* is."""
        return self.turn is None and self.bend is None

    def transform(self, q: Array) -> Transform:
        p, eta = arrays.precision(q), q[..., :, None]
        s = self.shape.astype(p) @ eta
        if self.bend is not None:
            s = s + 0.5 * (_bent(self.bend.astype(p), q) @ eta)
        if self.turn is None:
            return Transform(np.eye(3, dtype=p), s[..., 0], ())
        if self.axis is not None:
            axis, angle = self.axis.astype(p), ((self.axis @ self.turn).astype(p) @ eta)[..., 0]
            return Transform(
                rotation_about(axis, angle), s[..., 0], turn_about(axis, arrays.cos(angle), arrays.sin(angle))
            )
        return Transform(_Turned(self._theta(q)).rotation, s[..., 0])

    def map(self, q: Array) -> Array:
        return arrays.constant(self.H_star, like=q) if self.is_constant else _Map(self, q).H

    def map_derivative(self, q: Array, v: Array) -> Array | None:
        return None if self.is_constant else _Map(self, q).along(v)

    def map_rate(self, q: Array, v: Array) -> Array | None:
        return None if self.is_constant else _Map(self, q).rate(v)

    def map_partials(self, q: Array) -> tuple[list[Array], Sequence[list[Array]]] | None:
        if self.is_constant:
            return None
        at = _Map(self, q)
        return at.partials, Later(self.nv, lambda i: [at.second(i, j) for j in range(self.nv)])

    def random(self, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(rng.uniform(-1, 1, self.nq) * self.amplitude)

    def _theta(self, q: Array) -> Array:
        """θ = Φʳη, (..., 3)."""
        found: Array = (self.turn.astype(arrays.precision(q)) @ q[..., :, None])[..., 0]
        return found


def _common_axis(turn: np.ndarray) -> np.ndarray | None:
    """The unit vector about which all modes turn a point, where they do about one."""
    sizes = np.linalg.norm(turn, axis=0)
    if not sizes.any():
        return None
    axis = turn[:, int(sizes.argmax())] / sizes.max()
    axis = np.where(np.abs(axis) == np.abs(axis).sum(), np.sign(axis), axis)  # coordinate axes are exactly that
    return fixed(axis) if (turn == np.outer(axis, axis @ turn)).all() else None


def _bent(bend: np.ndarray, q: Array) -> Array:
    """Qη, (..., 3, n)."""
    return arrays.total(bend[:, :, i] * q[..., i, None, None] for i in range(bend.shape[-1]))


class _Turned:
    """Functions of a rotation vector θ (..., 3): R = exp(θ̃), J_r(θ) and its derivatives.

    With c_k(t²) = Σ (−t²)ⁱ/(2i+k)!, R = I + c₁θ̃ + c₂θ̃² and J_r = I − c₂θ̃ + c₃θ̃². As c_k = 1/k! − t²c_{k+2},
    all follow from two of them, and dc_k/d(t²) = ½(k c_{k+2} − c_{k+1}).
    """

    def __init__(self, theta: Array) -> None:
        self.theta = theta
        self.tilde = skew(theta)
        self.square = self.tilde @ self.tilde
        self.t2 = arrays.square_length(theta)

    @cached_property
    def _c(self) -> list[Array]:
        """c₀ … c₇, (..., 1, 1): by series for small angles, from sine and cosine for others."""
        s = self.t2
        small = arrays.less(s, _SERIES_UP_TO)
        near = _downward(s, _series(s, 6), _series(s, 7))
        t2 = arrays.where(small, 1.0, s)
        t = arrays.sqrt(t2)
        far = [arrays.cos(t), arrays.sin(t) / t]
        for k in range(6):
            far.append((1.0 / factorial(k) - far[k]) / t2)
        return [arrays.where(small, a, b)[..., None, None] for a, b in zip(near, far)]

    @property
    def rotation(self) -> Array:
        return self._one + (self._c[1] * self.tilde + self._c[2] * self.square)

    @property
    def jacobian(self) -> Array:
        """J_r, (..., 3, 3)."""
        return self._one + (self._c[3] * self.square - self._c[2] * self.tilde)

    @property
    def _one(self) -> Array:
        return np.eye(3, dtype=arrays.precision(self.theta))

    def _slope(self, k: int) -> Array:
        """dc_k/d(t²)."""
        return 0.5 * (k * self._c[k + 2] - self._c[k + 1])

    def _bend(self, k: int) -> Array:
        """d²c_k/d(t²)²."""
        return 0.25 * (k * (k + 2) * self._c[k + 4] - (2 * k + 1) * self._c[k + 3] + self._c[k + 2])

    def along(self, x: Array) -> Array:
        """DJ_r[x], for a column x (..., 3, 1)."""
        X = skew(x[..., 0])
        rate = 2.0 * self._dot(x)
        both = X @ self.tilde + self.tilde @ X
        return rate * (self._slope(3) * self.square - self._slope(2) * self.tilde) - self._c[2] * X + self._c[3] * both

    def along_itself(self, x: Array) -> Array:
        """DJ_r[x]x, (..., 3, 1), of a column x (..., 3, 1)."""
        theta = self.theta[..., :, None]
        across = cross(theta, x)
        rate = 2.0 * self._dot(x)
        turned = self._slope(3) * cross(theta, across) - self._slope(2) * across
        return rate * turned + self._c[3] * cross(x, across)

    def along_both(self, x: Array, y: Array) -> Array:
        """D²J_r[x, y], for columns (..., 3, 1)."""
        X, Y = skew(x[..., 0]), skew(y[..., 0])
        of_x, of_y, joint = 2.0 * self._dot(x), 2.0 * self._dot(y), 2.0 * _inner(x, y)
        out = of_x * of_y * (self._bend(3) * self.square - self._bend(2) * self.tilde)
        out = out + joint * (self._slope(3) * self.square - self._slope(2) * self.tilde)
        for rate, Z in ((of_x, Y), (of_y, X)):
            out = out + rate * (self._slope(3) * (Z @ self.tilde + self.tilde @ Z) - self._slope(2) * Z)
        return out + self._c[3] * (X @ Y + Y @ X)

    def _dot(self, x: Array) -> Array:
        return _inner(self.theta[..., :, None], x)


_SERIES_UP_TO = 1.0  # of t²: nine terms are exact to rounding there, and no digit is lost beyond
_TERMS = 9


def _series(s: Array, k: int) -> Array:
    out: Any = 1.0 / factorial(2 * _TERMS + k)
    for i in range(_TERMS - 1, -1, -1):
        out = 1.0 / factorial(2 * i + k) - s * out
    found: Array = out
    return found


def _downward(s: Array, even: Array, odd: Array) -> list[Array]:
    """c₀ … c₇ from c₆ and c₇."""
    c = {6: even, 7: odd}
    for k in range(5, -1, -1):
        c[k] = 1.0 / factorial(k) - s * c[k + 2]
    return [c[k] for k in range(8)]


def _inner(x: Array, y: Array) -> Array:
    """x · y of two columns, (..., 1, 1)."""
    return arrays.transpose(x) @ y


class _Map:
    """H* = [ω; u] with ω = J_rΦʳ and u = R*(Φ + Qη) at a configuration, and its derivatives."""

    def __init__(self, kind: Modal, q: Array) -> None:
        p = arrays.precision(q)
        self.kind, self.q = kind, q
        self.turn = None if kind.turn is None else kind.turn.astype(p)
        self.bend = None if kind.bend is None else kind.bend.astype(p)
        moved = kind.shape.astype(p)
        if self.bend is not None:
            moved = moved + _bent(self.bend, q)
        self.u: Array = moved
        self.omega: Array = np.zeros((3, kind.nv), p)
        self.Rt: Array | None = None
        self.turned: _Turned | None = None
        if self.turn is None:
            return
        self.omega = self.turn
        if kind.axis is None:
            self.turned = _Turned(kind._theta(q))
            self.omega = self.turned.jacobian @ self.turn
        back = kind.transform(q).rotation.T
        self.Rt = back
        self.u = back @ moved

    @property
    def H(self) -> Array:
        return arrays.concatenate([self.omega, self.u], axis=-2)

    def _curved(self, i: int) -> Array:
        """R*Q_i, (..., 3, n), or zeros."""
        if self.bend is None:
            return np.zeros((3, self.kind.nv), arrays.precision(self.q))
        Q: Array = self.bend[:, :, i]
        return Q if self.Rt is None else self.Rt @ Q

    def _spun(self, i: int) -> Array:
        """∂_iω, (..., 3, n): zero where all modes turn about one axis."""
        if self.turned is None or self.turn is None:
            return 0.0 * self.omega
        spun: Array = self.turned.along(self.turn[:, i, None]) @ self.turn
        return spun

    @cached_property
    def partials(self) -> list[Array]:
        """∂H*/∂η_i: ∂_iR* = −ω̃_iR*."""
        out = []
        for i in range(self.kind.nv):
            du = self._curved(i) - cross(self.omega[..., :, i : i + 1], self.u)
            out.append(arrays.concatenate([self._spun(i), du], axis=-2))
        return out

    def second(self, i: int, j: int) -> Array:
        """∂²H*/∂η_i∂η_j."""
        spun = 0.0 * self.omega
        if self.turned is not None and self.turn is not None:
            spun = self.turned.along_both(self.turn[:, i, None], self.turn[:, j, None]) @ self.turn
        w_i, w_j = self.omega[..., :, i : i + 1], self.omega[..., :, j : j + 1]
        own = self._spun(j)[..., :, i : i + 1]
        du = -cross(own, self.u) - cross(w_i, self.partials[j][..., 3:, :]) - cross(w_j, self._curved(i))
        return arrays.concatenate([spun, du], axis=-2)

    def rate(self, v: Array) -> Array:
        """dH*/dt v for rates v (..., n, 1)."""
        spun = 0.0 * (self.omega @ v)
        if self.turned is not None and self.turn is not None:
            spun = self.turned.along_itself(self.turn @ v)
        du = -cross(self.omega @ v, self.u @ v)
        if self.bend is not None:
            twice = _bent(self.bend, v[..., 0]) @ v
            du = du + (twice if self.Rt is None else self.Rt @ twice)
        return arrays.concatenate([spun, du], axis=-2)

    def along(self, v: Array) -> Array:
        """dH*/dt for rates v (..., n, 1)."""
        w = self.omega @ v
        spun = 0.0 * self.omega
        if self.turned is not None and self.turn is not None:
            spun = self.turned.along(self.turn @ v) @ self.turn
        du = -cross(w, self.u)
        if self.bend is not None:
            rate = _bent(self.bend, v[..., 0])
            du = du + (rate if self.Rt is None else self.Rt @ rate)
        return arrays.concatenate([spun, du], axis=-2)
