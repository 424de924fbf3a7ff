"""A robot with coupled joints of every sort, and what its free tree makes of a state: the dense side of the tests.

θ = θ(q), θ̇ = Xβ and θ̈ = Xβ̇ + ẋ are written by hand here, with NumPy, for complex steps too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import linkwise as lw

RATIO, OFFSET = -1.7, 0.2
STEP = 1e-30


def _body(rng: np.random.Generator, name: str, parent: str | None, kind: Any, **joint: Any) -> lw.Body:
    tensor = rng.normal(size=(3, 3)) * 0.2
    inertia = lw.Inertia(1.0 + rng.random(), com=rng.normal(size=3) * 0.2, tensor=tensor @ tensor.T + 0.4 * np.eye(3))
    placed = lw.Joint(kind, at=rng.normal(size=3) * 0.4, rpy=rng.normal(size=3), **joint)
    return lw.Body(name, placed, inertia, parent)


@cache
def free_tree() -> lw.Robot:
    """Eleven bodies on a free base: hinges, a slider, a screw, a ball, rotors, springs and dampers."""
    rng = np.random.default_rng(7)
    motor = lw.Rotor(0.02, 3.0)
    kinds = [
        ("b0", None, lw.Free(), {"stiffness": 0.7, "damping": 0.2}),
        ("b1", "b0", lw.Revolute("z"), {"stiffness": 2.0, "rest": 0.4, "damping": 0.3}),
        ("b2", "b1", lw.Revolute("x"), {}),
        ("b3", "b1", lw.Spherical(), {"stiffness": 1.5, "rest": (0.1, -0.2, 0.3, 0.9)}),
        ("b4", "b0", lw.Prismatic("y"), {"stiffness": 3.0, "rest": -0.2, "damping": 0.5}),
        ("b5", "b4", lw.Revolute("y"), {"rotor": motor}),
        ("b6", "b2", lw.Revolute((0.6, 0.0, 0.8)), {}),
        ("b7", "b3", lw.Revolute("z"), {"rotor": lw.Rotor(0.01, 4.0, axis="x")}),
        ("b8", "b5", lw.Helical("x", 0.1), {"rotor": motor}),
        ("b9", "b8", lw.Revolute("z"), {}),
        ("b10", "b9", lw.Revolute("y"), {}),
    ]
    bodies = [_body(rng, name, parent, kind, **joint) for name, parent, kind, joint in kinds]
    return lw.assemble("free_tree", bodies, [lw.Frame("tip", "b10", at=(0.1, 0.2, -0.1), rpy=(0.3, -0.2, 0.5))])


def bend(a: Any, b: Any) -> Any:
    """How b8 follows b5 and b6."""
    return np.sin(a) * b + 0.3 * a


def bow(a: Any) -> Any:
    """How b10 follows b9."""
    return np.arctan2(a, 2.0) + 0.5 * a * a


@cache
def coupled_robot() -> lw.Robot:
    """b4 follows b1, and b8 follows b5 and b6: one node of six bodies. b10 follows b9: a node on one of them."""
    robot = free_tree().couple("b4_joint", "b1_joint", ratio=RATIO, offset=OFFSET)
    robot = robot.couple("b8_joint", ("b5_joint", "b6_joint"), relation=bend)
    return robot.couple("b10_joint", "b9_joint", relation=bow)


# --- the lift by hand -----------------------------------------------------------------------------------
# q = [b0 (7), b1, b2, b3 (4), b5, b6, b7, b9],      v = [b0 (6), b1, b2, b3 (3), b5, b6, b7, b9]
# θ = [b0 (7), b1, b2, b3 (4), b4, b5, b6, b7, b8, b9, b10], and so θ̇


def lifted(q: np.ndarray) -> np.ndarray:
    """θ (..., 20) of q (..., 17)."""
    b1, b5, b6, b9 = q[..., 7:8], q[..., 13:14], q[..., 14:15], q[..., 16:17]
    bowed = np.arctan(b9 / 2.0) + 0.5 * b9 * b9  # np.arctan2 takes no complex numbers
    return np.concatenate([q[..., :13], RATIO * b1 + OFFSET, q[..., 13:16], bend(b5, b6), b9, bowed], axis=-1)


def slopes(q: np.ndarray) -> np.ndarray:
    """X (18, 15), at one configuration."""
    b5, b6, b9 = q[13], q[14], q[16]
    X = np.zeros((18, 15), dtype=q.dtype)
    X[np.r_[:11, 12:15, 16], np.arange(15)] = 1.0
    X[11, 6] = RATIO
    X[15, 11:13] = np.cos(b5) * b6 + 0.3, np.sin(b5)
    X[17, 14] = 2.0 / (4.0 + b9 * b9) + b9
    return X


def drift(q: np.ndarray, v: np.ndarray, other: np.ndarray | None = None) -> np.ndarray:
    """ẋ (18,) = Ẋv, or Ẋ(v) other."""
    w = v if other is None else other
    b5, b6, b9 = q[13], q[14], q[16]
    out = np.zeros(18, dtype=np.result_type(q, v, w))
    out[15] = -np.sin(b5) * b6 * v[11] * w[11] + np.cos(b5) * (v[11] * w[12] + v[12] * w[11])
    out[17] = (1.0 - 4.0 * b9 / (4.0 + b9 * b9) ** 2) * v[14] * w[14]
    return out


class Dense:
    """Dynamics of the coupled robot from those of its free tree, by X: dense, on NumPy, for complex numbers too."""

    def __init__(self, q: np.ndarray, external: np.ndarray | None = None) -> None:
        self.q, self.external, self.free = q, external, free_tree()
        self.theta, self.X = lifted(q), slopes(q)

    def rates(self, v: np.ndarray) -> np.ndarray:
        return self.X @ v

    def accelerations(self, v: np.ndarray, a: np.ndarray | None) -> np.ndarray:
        return drift(self.q, v) + (0.0 if a is None else self.X @ a)

    def moving(self, v: np.ndarray, a: np.ndarray | None) -> tuple[np.ndarray, ...]:
        """θ, θ̇, θ̈."""
        return self.theta, self.rates(v), self.accelerations(v, a)

    @property
    def mass(self) -> np.ndarray:
        return self.X.T @ self.free.mass_matrix(self.theta, target="numpy") @ self.X

    def forces(self, v: np.ndarray, a: np.ndarray | None, **options: Any) -> np.ndarray:
        """T of inverse dynamics."""
        motion = self.moving(v, a)
        return self.X.T @ self.free.inverse_dynamics(*motion, external=self.external, target="numpy", **options)

    def solution(self, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """a of forward dynamics."""
        return np.linalg.solve(self.mass, tau - self.forces(v, None))

    def jacobian(self, frame: str, **options: Any) -> np.ndarray:
        return self.free.jacobian(self.theta, frame, target="numpy", **options) @ self.X


def slope(function: Callable[[np.ndarray], Any], q: np.ndarray) -> np.ndarray:
    """The derivatives of an array along every direction of the velocity, last axis, by complex steps q ⊕ i h e."""
    robot = coupled_robot()
    moved = [robot.integrate(q + 0j, 1j * STEP * e, target="numpy") for e in np.eye(robot.nv)]
    return np.stack([np.asarray(function(x)).imag / STEP for x in moved], axis=-1)


def slope_of_vector(function: Callable[[np.ndarray], Any], v: np.ndarray) -> np.ndarray:
    """The same of a function of a vector."""
    return np.stack([np.asarray(function(v + 1j * STEP * e)).imag / STEP for e in np.eye(v.size)], axis=-1)
