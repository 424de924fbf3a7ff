"""Flexible bodies for tests, and their equations of motion from mass points alone: T_i = Σ m ∂x/∂q_i · (ẍ − g).

The oracle knows no spatial algebra: it moves every mass point that was given (not the fewer ones that stand for them),
with ∂x/∂q by complex steps and ẍ by differences of complex-step velocities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import linkwise as lw

STEP = 1e-30
# f'(0) from f(±h), …, f(±4h)
_EIGHTH = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}


def random_flexible(
    rng: np.random.Generator, modes: int = 3, points: int = 9, bends: bool = False, size: float = 1.0
) -> lw.Flexible:
    """A body of scattered points with any mode shapes and coupled springs, and nodes "tip" and "side"."""

    def symmetric(*shape: int) -> np.ndarray:
        x = rng.normal(size=(*shape, modes, modes))
        return 0.5 * (x + np.swapaxes(x, -1, -2))

    root = rng.normal(size=(modes, modes))
    return lw.Flexible(
        rng.uniform(0.1, 0.4, points),
        rng.uniform(-0.2, 0.2, (points, 3)) + np.outer(np.linspace(0, size, points), [1, 0, 0]),
        0.3 * rng.normal(size=(points, 3, modes)),
        40.0 * root @ root.T,
        damping=0.2 * root @ root.T,
        bends=0.3 * symmetric(points, 3) if bends else None,
        nodes={
            name: lw.Node(
                at,
                0.3 * rng.normal(size=(3, modes)),
                0.3 * rng.normal(size=(3, modes)),
                bend=0.3 * symmetric(3) if bends else None,
            )
            for name, at in (("tip", (size, 0.05, 0)), ("side", (0.5 * size, 0.1, 0.1)))
        },
    )


def beam(modes=4, **options) -> lw.Flexible:
    """A thin beam of 1 m and 1.2 kg."""
    return lw.Flexible.beam(**({"length": 1.0, "mass": 1.2, "stiffness": 9.0, "modes": modes} | options))


def flexible_arm(links: int, flexible: lw.Flexible | None = None, **options) -> lw.Robot:
    """A chain of alike flexible links on hinges about y and z in turn, each on the tip of the one before."""
    flexible = beam() if flexible is None else flexible
    bodies = []
    for i in range(links):
        at = flexible.node("tip").at if i else (0, 0, 0)
        kind = lw.Revolute("yz"[i % 2])
        bodies.append(lw.Body(f"link{i + 1}", lw.Joint(kind, at=at), flexible, f"link{i}" if i else None))
    return lw.assemble(f"arm{links}", bodies, **options)


def flexible_tree(seed: int = 0, *, floating: bool = False, bends: bool = False) -> tuple[lw.Robot, list[lw.Body]]:
    """A tree of flexible and rigid bodies, with two children on one body, and what it was assembled from."""
    rng = np.random.default_rng(seed)
    box = lw.Inertia.box(0.7, (0.1, 0.2, 0.3), at=(0.05, 0.02, 0.1))

    def bending(modes: int, bends: bool = False) -> lw.Flexible:
        return random_flexible(rng, modes, bends=bends).normal_modes()

    bodies = [
        lw.Body("root", lw.Free() if floating else lw.Revolute("z"), bending(3, bends)),
        lw.Body("left", lw.Joint(lw.Revolute("y"), at=(1, 0.05, 0), rpy=(0.3, 0.2, 0.1)), box, "root"),
        lw.Body("right", lw.Joint(lw.Universal("x", "y"), rpy=(0.1, 0, 0.4)), bending(2), "root.side"),
        lw.Body("hand", lw.Joint(lw.Prismatic("x"), at=(0.05, 0, 0)), box, "right.tip"),
        lw.Body("last", lw.Joint(lw.Spherical(), at=(0, 0.1, 0)), bending(2, bends), "left"),
    ]
    return lw.assemble(f"flexible{seed}", bodies), bodies


# --- the oracle ----------------------------------------------------------------------------------------


def exp(theta: np.ndarray) -> np.ndarray:
    """exp(θ̃) by its series, of complex numbers too."""
    a, b, c = theta
    tilde = np.array([[0, -c, b], [c, 0, -a], [-b, a, 0]])
    total, term = np.eye(3, dtype=tilde.dtype), np.eye(3, dtype=tilde.dtype)
    for k in range(1, 40):
        term = term @ tilde / k
        total = total + term
    return total


def _displaced(at: np.ndarray, shape: np.ndarray, bend: np.ndarray | None, eta: np.ndarray) -> np.ndarray:
    moved = at + shape @ eta
    return moved if bend is None else moved + 0.5 * (bend @ eta) @ eta


def _rigid_points(x: lw.Inertia) -> tuple[np.ndarray, np.ndarray]:
    """Six points with the mass, centre and tensor of a rigid body."""
    spread, axes = np.linalg.eigh(0.5 * np.trace(x.tensor) * np.eye(3) - x.tensor)
    arms = axes * np.sqrt(3.0 * spread / x.mass)
    return np.full(6, x.mass / 6), np.array([x.com + s * arms[:, i] for i in range(3) for s in (1, -1)])


def point_positions(robot: lw.Robot, bodies: Sequence[lw.Body], q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(masses, positions (N, 3) in the world) of all mass points of what a robot was assembled from."""
    poses = {None: (np.eye(3), np.zeros(3))}
    masses, positions = [], []
    for b in bodies:
        eta = q[robot.q_slices[robot.joint(f"{b.name}.modes")]] if isinstance(b.inertia, lw.Flexible) else None
        parent, at = b.parent, b.joint.placement
        if parent in {x.name for x in bodies if isinstance(x.inertia, lw.Flexible)} and np.any(at.l):
            parent, at = f"{parent}.tip", type(at)(at.R, np.zeros(3))
        R, p = poses[parent]
        own = b.joint.kind.transform(q[robot.q_slices[robot.joint(b.joint.name)]])
        p, R = p + R @ (at.l + at.R @ own.l), R @ at.R @ own.R
        poses[b.name] = (R, p)
        if eta is None:
            m, places = _rigid_points(b.inertia)
        else:
            x, bends = b.inertia, b.inertia.bends
            m = x.masses
            pairs = zip(x.places, x.shapes, [None] * len(m) if bends is None else bends)
            places = np.array([_displaced(*given, eta) for given in pairs])
            for name, node in x.nodes:
                poses[f"{b.name}.{name}"] = (
                    R @ exp(node.turn @ eta),
                    p + R @ _displaced(node.at, node.shape, node.bend, eta),
                )
        masses.append(m)
        positions.append(p + places @ R.T)
    return np.concatenate(masses), np.concatenate(positions)


def moved(robot: lw.Robot, q: np.ndarray, dv: np.ndarray) -> np.ndarray:
    """q ⊕ dv of complex numbers too."""
    return np.concatenate([j.kind.integrate(q[..., a], dv[..., b]) for j, a, b in robot.coordinates], axis=-1)


def lagrangian_forces(
    robot: lw.Robot, bodies: Sequence[lw.Body], q: np.ndarray, v: np.ndarray, a: np.ndarray, step: float = 2e-3
) -> np.ndarray:
    """What the coordinates need to move so: Σ m ∂x/∂q_i · (ẍ − g), and Kη + Cη̇ of the modes."""

    def at(dv: np.ndarray) -> np.ndarray:
        return point_positions(robot, bodies, moved(robot, q, dv))[1]

    def velocity(t: float) -> np.ndarray:
        return at(v * t + 0.5 * a * t * t + 1j * STEP * (v + a * t)).imag / STEP

    acceleration = sum(w * (velocity(k * step) - velocity(-k * step)) for k, w in _EIGHTH.items()) / step
    masses = point_positions(robot, bodies, q)[0]
    columns = [at(1j * STEP * e).imag / STEP for e in np.eye(robot.nv)]
    load = masses[:, None] * (acceleration - np.asarray(robot.gravity))
    return np.array([np.sum(c * load) for c in columns]) + strain_forces(robot, bodies, q, v)


def strain_forces(robot: lw.Robot, bodies: Sequence[lw.Body], q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Kη + Cη̇ of the modes, (nv,)."""
    out = np.zeros(robot.nv)
    for b in bodies:
        if isinstance(b.inertia, lw.Flexible):
            k = robot.joint(f"{b.name}.modes")
            here = robot.v_slices[k]
            out[here] = b.inertia.stiffness * q[robot.q_slices[k]] + b.inertia.damping * v[here]
    return out


def strain_energy(robot: lw.Robot, bodies: Sequence[lw.Body], q: np.ndarray) -> float:
    """½η*Kη of all bodies."""
    held = strain_forces(robot, bodies, q, np.zeros(robot.nv))
    modal = [(robot.q_slices[k], robot.v_slices[k]) for k, j in enumerate(robot.joints) if j.name.endswith(".modes")]
    return float(sum(0.5 * q[a] @ held[b] for a, b in modal))


def kinetic_energy(robot: lw.Robot, bodies: Sequence[lw.Body], q: np.ndarray, v: np.ndarray) -> float:
    masses, x = point_positions(robot, bodies, moved(robot, q, 1j * STEP * v))
    return float(0.5 * masses @ np.sum((x.imag / STEP) ** 2, axis=1))


def columns_by_differences(f: Callable[[np.ndarray], np.ndarray], n: int, step: float = 1e-3) -> np.ndarray:
    """The derivative of f(dx) at 0, one column per entry of dx, by eighth-order differences."""
    return np.stack(
        [sum(w * (f(k * step * e) - f(-k * step * e)) for k, w in _EIGHTH.items()) / step for e in np.eye(n)], axis=-1
    )
