"""The inertial data of a body as people give it: mass, centre of mass, inertia tensor about it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arguments import shown, unmasked
from ..errors import ModelError
from ..spatial import RigidInertia, Transform, skew
from ..values import ByValue

LARGEST = 1e100  # beyond this, products of a few numbers overflow


def as_array(value: Any, what: str) -> np.ndarray:
    """``value`` as an array of real floats, or an error that says what ``what`` must be."""
    unmasked(value, what.partition(" must")[0], ModelError)
    try:
        given = np.asarray(value)
        if given.dtype.kind in "fiubO":
            return np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ModelError(f"{what}, got {shown(value)}")


def as_vector(value: Any, what: str, length: int = 3, *, most: float = LARGEST) -> np.ndarray:
    """``value`` as ``length`` finite floats, or an error that names ``what``."""
    out = as_array(value, f"{what} must be {length} numbers")
    if out.shape != (length,):
        raise ModelError(f"{what} must be {length} numbers, got an array of shape {out.shape}")
    values = out.tolist()  # (a few numbers are looked at sooner than an array of them)
    if not all(map(math.isfinite, values)):
        raise ModelError(f"{what} must be finite, got {values}")
    if max(map(abs, values)) > most:
        raise ModelError(f"{what} is too large to be meant, got {values}; use SI units")
    out.setflags(write=False)
    return out


def as_number(value: Any, what: str) -> float:
    """``value`` as a finite float, or an error that names ``what``."""
    out = as_array(value, f"{what} must be a number")
    if out.shape != ():
        raise ModelError(f"{what} must be a number, got {shown(value)}")
    if not np.isfinite(out):
        raise ModelError(f"{what} must be finite, got {out}")
    if abs(out) > LARGEST:
        raise ModelError(f"{what} is too large to be meant, got {out}; use SI units")
    return float(out)


def triangle_excess(tensor: np.ndarray) -> float:
    """By how much the largest principal moment exceeds the sum of the others (≤ 0 for a real body).

    A negative principal moment implies a positive excess, so this one number decides physicality.
    """
    a, b, c = np.linalg.eigvalsh(tensor)
    return float(max(c - a - b, -2.0 * a))


@dataclass(frozen=True, eq=False)
class Inertia(ByValue):
    """Mass [kg], centre of mass (3,) [m] and inertia tensor (3, 3) [kg m²] about the centre of mass.

    Position and tensor are in the axes of the body (its joint's frame). The tensor may also be given as
    three principal moments. Values that no real body has are refused: see :meth:`check`.
    """

    mass: float = 0.0
    com: Any = field(default_factory=lambda: np.zeros(3))
    tensor: Any = field(default_factory=lambda: np.zeros((3, 3)))

    def __post_init__(self) -> None:
        tensor = as_array(self.tensor, "an inertia tensor must hold numbers")
        if tensor.shape == (3,):
            tensor = np.diag(tensor)
        if tensor.shape != (3, 3):
            raise ModelError(f"an inertia tensor is (3, 3) or three principal moments, got shape {tensor.shape}")
        if not np.isfinite(tensor).all():
            raise ModelError(f"the inertia tensor must be finite, got {tensor.tolist()}")
        if np.abs(tensor).max() > LARGEST:
            raise ModelError(f"the inertia tensor is too large to be meant, got {tensor.tolist()}; use SI units")
        if np.abs(tensor - tensor.T).max() > 1e-9 * np.abs(tensor).max():
            raise ModelError(f"the inertia tensor must be symmetric, got {tensor.tolist()}")
        tensor = 0.5 * (tensor + tensor.T)
        tensor.setflags(write=False)
        mass = as_number(self.mass, "the mass")
        if mass < 0:
            raise ModelError(f"the mass must not be negative, got {mass} kg")
        object.__setattr__(self, "mass", mass)
        object.__setattr__(self, "com", as_vector(self.com, "the centre of mass"))
        object.__setattr__(self, "tensor", tensor)

    def check(self, what: str = "the inertia tensor") -> None:
        """Raise :class:`ModelError` unless the principal moments are those of some real body."""
        excess = triangle_excess(self.tensor)
        if excess > self._tolerance():
            moments = ", ".join(f"{x:.6g}" for x in np.linalg.eigvalsh(self.tensor))
            raise ModelError(
                f"{what} is not that of a real body: its principal moments ({moments}) kg m² must be"
                " non-negative and none may exceed the sum of the other two"
            )

    def excess(self) -> float:
        """How far the tensor is beyond what a real body can have [kg m²]; 0 where it is not."""
        excess = triangle_excess(self.tensor)
        return excess if excess > self._tolerance() else 0.0

    def _tolerance(self) -> float:
        return 1e-9 * float(np.abs(self.tensor).max()) + 1e-12 * self.mass

    def spatial(self) -> RigidInertia:
        """The spatial inertia about the body's origin: J(O) = J(C) − m p̃p̃ (math notes 1)."""
        tilde = skew(self.com)
        return RigidInertia(np.float64(self.mass), self.mass * self.com, self.tensor - self.mass * tilde @ tilde)

    def moved(self, pose: Transform) -> Inertia:
        """The same body seen from a frame in which its own frame has this pose."""
        return Inertia(self.mass, pose.apply(self.com), pose.R @ self.tensor @ pose.R.T)

    def __add__(self, other: Inertia) -> Inertia:
        """Two bodies welded together, both given in the same axes."""
        mass = self.mass + other.mass
        if mass == 0:
            return Inertia(0.0, self.com, self.tensor + other.tensor)
        com = (self.mass * self.com + other.mass * other.com) / mass
        tensor = np.zeros((3, 3))
        for part in (self, other):
            tilde = skew(part.com - com)
            tensor = tensor + part.tensor - part.mass * tilde @ tilde
        return Inertia(mass, com, tensor)

    # --- solids of uniform density -----------------------------------------------------------------

    @staticmethod
    def point(mass: float, at: Any = (0, 0, 0)) -> Inertia:
        """A point mass at ``at``."""
        return Inertia(mass, at)

    @staticmethod
    def box(mass: float, size: Any, at: Any = (0, 0, 0)) -> Inertia:
        """A solid box with sides ``size`` (3,) [m], centred at ``at``."""
        x, y, z = as_vector(size, "the size of a box")
        mass = as_number(mass, "the mass")
        return Inertia(mass, at, mass / 12.0 * np.array([y * y + z * z, x * x + z * z, x * x + y * y]))

    @staticmethod
    def sphere(mass: float, radius: float, at: Any = (0, 0, 0)) -> Inertia:
        """A solid ball centred at ``at``."""
        mass, radius = as_number(mass, "the mass"), _radius(radius)
        return Inertia(mass, at, 0.4 * mass * radius * radius * np.ones(3))

    @staticmethod
    def cylinder(mass: float, radius: float, start: Any, end: Any) -> Inertia:
        """A solid cylinder along the segment from ``start`` to ``end``; radius 0 is a thin rod."""
        a, b = as_vector(start, "the start of a cylinder"), as_vector(end, "the end of a cylinder")
        mass, radius = as_number(mass, "the mass"), _radius(radius)
        length = float(np.linalg.norm(b - a))
        if length == 0:
            raise ModelError("a cylinder needs a start and an end that differ; for a ball use Inertia.sphere")
        u = (b - a) / length
        axial, across = 0.5 * mass * radius * radius, mass * (3 * radius * radius + length * length) / 12.0
        return Inertia(mass, 0.5 * (a + b), across * np.eye(3) + (axial - across) * np.outer(u, u))


def _radius(x: Any) -> float:
    radius = as_number(x, "the radius")
    if radius < 0:
        raise ModelError(f"a radius must not be negative, got {radius} m")
    return radius
