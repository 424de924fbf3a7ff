"""Robots and states that the tests of several folders share, and how results are compared."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

import linkwise as lw

_a, _b = np.array([0.6, 0.0, 0.8]), np.array([0.0, 1.0, 0.0])
_zero, _p = np.zeros(3), np.array([0.1, -0.2, 0.3])


def _custom(*columns: Any) -> lw.Custom:
    return lw.Custom(np.array([np.concatenate(c) for c in columns]).T)


# Every joint kind, and the user's own maps of every sort: commuting or not, integrable or not.
KINDS: dict[str, Any] = {
    "revolute": "revolute",
    "prismatic": "prismatic",
    "helical": "helical",
    "cylindrical": "cylindrical",
    "universal": "universal",
    "spherical": "spherical",
    "planar": "planar",
    "free": "free",
    "custom_screw": _custom((_a, 0.3 * _b)),
    "custom_line": _custom((_a, np.cross(_p, _a)), (_zero, _a)),
    "custom_slide": _custom((_zero, _a), (_zero, _b)),
    "custom_ball": _custom(*((e, np.cross(_p, e)) for e in np.eye(3))),
    "custom_skate": _custom((_zero, _a), (_b, _zero)),  # not integrable
    "custom_four": lw.Custom(np.linalg.qr(np.random.default_rng(5).normal(size=(6, 6)))[0][:, :4]),
}

# (bodies, seed, floating, rotors): mixed joints, branches, several bodies on the world where nothing floats.
_MIXED = {
    "tree": (8, 1, False, False),
    "tree_rotors": (12, 54, False, True),
    "floating": (8, 3, True, False),
    "floating_rotors": (8, 22, True, True),
    "big_floating_rotors": (12, 3, True, True),
}

TREES = tuple(_MIXED)
ALL = (*KINDS, *TREES)
ROTORS = tuple(name for name in TREES if _MIXED[name][3])
FLOATING = tuple(name for name in TREES if _MIXED[name][2])


@cache
def robot(name: str) -> lw.Robot:
    """One of :data:`ALL`, a built-in robot, "chain6" for a random chain of six hinges, "hinges", "code", …"""
    if name in KINDS:
        return lw.random_tree(4, seed=2, joints=[KINDS[name]], branching=0.7)
    if name in _MIXED:
        n, seed, floating, rotors = _MIXED[name]
        return lw.random_tree(n, seed=seed, floating=floating, rotors=rotors)
    if name.startswith("chain"):
        return lw.chain(int(name[5:]), seed=5)
    if name == "code":  # a bit of everything, small enough to be compiled for every operator
        return lw.random_tree(3, seed=15, joints=["universal", "revolute", "spherical"], rotors=True)
    if name == "small_floating":  # the same, on a floating base
        return lw.random_tree(2, seed=2, joints=["universal", "spherical"], floating=True, rotors=True)
    if name == "hinges":  # one-dof joints only, with rotors, in a tree
        return lw.random_tree(7, seed=6, joints=["revolute", "prismatic", "helical"], rotors=True)
    if name == "arms":  # two tips that move in all twelve directions, gyroscopic rotors
        kinds = ["spherical", "universal", "revolute", "helical", "planar"]
        return lw.random_tree(9, seed=5, joints=kinds, floating=True, rotors=True)
    return lw.load(name)


class State(NamedTuple):
    """A random state: q (*batch, nq); v, a, tau (*batch, nv); external (*batch, bodies, 6)."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    external: np.ndarray


def state(robot: lw.Robot, batch: tuple[int, ...] = (3,), seed: int = 0) -> State:
    rng = np.random.default_rng(seed)
    q = robot.random_configuration(rng, batch)
    v, a, tau = (rng.normal(size=(*batch, robot.nv)) for _ in range(3))
    return State(q, v, a, tau, rng.normal(size=(*batch, len(robot.bodies), 6)))


def error(x: Any, y: Any) -> float:
    """The largest difference, relative to the largest entry of y or to 1."""
    x, y = np.asarray(x), np.asarray(y)
    assert x.shape == y.shape, f"shapes differ: {x.shape} and {y.shape}"
    return float(np.abs(x - y).max(initial=0.0)) / max(1.0, float(np.abs(y).max(initial=0.0)))


def assert_close(x: Any, y: Any, tolerance: float = 1e-10, what: str = "") -> None:
    """x = y up to ``tolerance`` (NaN never passes)."""
    found = error(x, y)
    assert found <= tolerance, f"{what or 'the two'} differ by {found:.3g}, more than {tolerance:g}"


def times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Matrix times vector over batches."""
    return (matrix @ vector[..., None])[..., 0]


def derivative(function: Any, h: float = 2e-3) -> Any:
    """d function / dt at t = 0 by central differences of sixth order (error ∝ h⁶)."""
    weights = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
    return sum(w * (function(i * h) - function(-i * h)) for i, w in weights.items()) / h


def moved(robot: lw.Robot, s: State, t: Any) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) a time t along a motion with velocity v and acceleration a at t = 0, exact to t²."""
    return robot.integrate(s.q, t * s.v + 0.5 * t * t * s.a), s.v + t * s.a


def free_motion(robot: lw.Robot, q: Any, v: Any, tau: Any, duration: float, steps: int) -> tuple[Any, Any]:
    """(q, v) after a motion under constant joint forces: Runge–Kutta of fourth order on the manifold.

    Munthe-Kaas: stages live in the tangent space at the start of a step, where q(t) = q ⊕ u(t), and
    u̇ = v + ½[u, v] + … has to be integrated instead of u̇ = v. The commutator is taken from the robot
    itself, (q ⊕ u) ⊕ v dt ⊖ q, by differences, so that it needs nothing but integrate and difference.
    """
    h = duration / steps
    for _ in range(steps):
        u, w, slopes = 0.0 * v, v, []
        for c in (0.0, 0.5, 0.5, 1.0):
            if slopes:
                u, w = c * h * slopes[-1][0], v + c * h * slopes[-1][1]
            here = robot.integrate(q, u)
            slopes.append((_tangent_rate(robot, q, u, w), robot.forward_dynamics(here, w, tau)))
        du, dv = (sum(k * s[i] for k, s in zip((1, 2, 2, 1), slopes)) / 6 for i in range(2))
        q, v = robot.integrate(q, h * du), v + h * dv
    return q, v


def _tangent_rate(robot: lw.Robot, q: Any, u: Any, v: Any, h: float = 1e-3) -> Any:
    """u̇ of q ⊕ u(t) where the configuration q ⊕ u moves with velocity v."""
    if not np.any(u):
        return v
    here = robot.integrate(q, u)
    return derivative(lambda t: robot.difference(q, robot.integrate(here, t * v)), h)


def branches(parents: list[int]) -> lw.Robot:
    """A tree of hinges, of bodies on these parents (−1: the world)."""
    bodies = []
    for i, p in enumerate(parents):
        joint = lw.Joint(lw.Revolute("xyz"[i % 3]), at=(0.1, 0.2, 0.3), rpy=(0.3, 0.2 * i, 0.1))
        inertia = lw.Inertia(1.0 + 0.1 * i, com=(0.1, 0.02 * i, 0.2), tensor=np.diag([0.1, 0.2, 0.25]))
        bodies.append(lw.Body(f"b{i}", joint, inertia, None if p < 0 else f"b{p}"))
    return lw.assemble("branches", bodies)
