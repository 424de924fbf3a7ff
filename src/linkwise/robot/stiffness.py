"""What holds a robot still: the forces that are left at rest, and how they change, in all its coordinates.

At rest T(q) = inverse dynamics without motion has gravity, springs and loads in it. What is left of it beside the joint
forces τ is r = T − τ; where loops are closed they carry the part of r in the range of G*, and what is left is in the
directions N that they leave free. The stiffness is K = ∂r/∂q, the forces that loops carry turning with them (math notes
on closed chains 1.4, 𝒦); of a closed robot it is read from the linearised model, K = −𝓜 ∂a/∂q in those directions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays, inputs
from ..dynamics.closed import constraints
from ..errors import InputError

_RANK = 1e-9  # of the largest singular value of G, below which loops stop nothing


@dataclass(frozen=True, eq=False)
class Loads:
    """What acts on a batch of n configurations, flat: τ (n, nv), forces on bodies (n, bodies, 6) in body axes, and
    forces on frames (n, 6) in world axes."""

    tau: np.ndarray
    external: np.ndarray | None
    frames: Mapping[Any, np.ndarray]

    def some(self, rows: np.ndarray) -> Loads:
        """Those of some configurations."""
        external = None if self.external is None else self.external[rows]
        return Loads(self.tau[rows], external, {f: x[rows] for f, x in self.frames.items()})


@dataclass(frozen=True, eq=False)
class Held:
    """A batch of configurations at rest, flat: what is needed to hold them, and how it changes."""

    T: np.ndarray  # (n, nv), the forces of inverse dynamics
    left: np.ndarray  # (n, nv), T − τ less what loops carry
    free: np.ndarray  # (n, nv, nv), the projector on the velocities that loops leave
    mass: np.ndarray  # (n, nv, nv)
    stiffness: np.ndarray  # (n, nv, nv), K
    damping: np.ndarray  # (n, nv, nv), d


def asked(robot: Any, q: Any, tau: Any, external: Any) -> tuple[np.ndarray, Loads, tuple[int, ...]]:
    """The configurations (n, nq) of floats, what acts on them, and the shape of the batch they came in."""
    q = np.asarray(inputs.configuration(robot, q), dtype=float)
    tau = np.zeros(robot.nv) if tau is None else np.asarray(inputs.vector(tau, robot.nv, "tau", robot), dtype=float)
    frames: dict[Any, np.ndarray] = {}
    forces = None
    if isinstance(external, Mapping):
        inputs.frame_forces(robot, external)
        frames = {f: np.asarray(x, dtype=float) for f, x in external.items()}
    elif external is not None:
        forces = np.asarray(inputs.forces(robot, external), dtype=float)
    shapes = [q.shape[:-1], tau.shape[:-1], *(x.shape[:-1] for x in frames.values())]
    shapes += [] if forces is None else [forces.shape[:-2]]
    try:
        batch = np.broadcast_shapes(*shapes)
    except ValueError:
        raise InputError(f"q, tau and external come in batches of different shapes: {shapes}") from None
    for name, x in (("q", q), ("tau", tau), ("external", forces), *(("external", x) for x in frames.values())):
        if x is not None and not np.isfinite(x).all():
            raise InputError(f"{name} of a robot at rest must be finite numbers")
    n = int(np.prod(batch, dtype=int))

    def flat(x: np.ndarray, tail: int) -> np.ndarray:
        own = x.shape[x.ndim - tail :]
        return np.broadcast_to(x, (*batch, *own)).reshape((n, *own))

    loads = Loads(flat(tau, 1), None if forces is None else flat(forces, 2), {f: flat(x, 1) for f, x in frames.items()})
    return flat(q, 1), loads, batch


def held(robot: Any, q: np.ndarray, loads: Loads, target: str | None) -> Held:
    """The forces that are left at configurations (n, nq), and how they change."""
    still = np.zeros((len(q), robot.nv))
    external = loads.external
    if loads.frames:
        turned = np.asarray(robot.wrenches(q, loads.frames))
        external = turned if external is None else external + turned
    run = {"external": external, "target": target}
    if not robot.loops:
        model = robot.linearize_inverse(q, still, still, **run)
        T = arrays.as_numpy(robot.inverse_dynamics(q, still, still, **run))
        free = np.broadcast_to(np.eye(robot.nv), (len(q), robot.nv, robot.nv))
        mass, K, d = model.M, model.dq, model.dv
        return Held(T, T - loads.tau, free, mass, K + _turning(robot, q, loads, target), d)
    T = arrays.as_numpy(robot.inverse_dynamics(q, still, still, **run))
    free = _projector(robot, q)
    left = (free @ (T - loads.tau)[..., None])[..., 0]
    # with these joint forces it rests, its loops carrying what they do
    model = robot.linearize_forward(q, still, loads.tau + left, **run)
    mass = arrays.as_numpy(robot.mass_matrix(q, target=target))
    K, d = -(mass @ model.dq), -(mass @ model.dv)
    return Held(T, left, free, mass, K + _turning(robot, q, loads, target), d)


def _projector(robot: Any, q: np.ndarray) -> np.ndarray:
    """N = I − G⁺G, (n, nv, nv), of the loops that do not give."""
    eye = np.broadcast_to(np.eye(robot.nv), (len(q), robot.nv, robot.nv))
    if not robot.rigid_loops:
        return eye
    _, s, V = np.linalg.svd(arrays.as_numpy(constraints.jacobian(robot, q, robot.rigid_loops)), full_matrices=False)
    counted = V * (s > _RANK * s.max(axis=-1, keepdims=True, initial=1e-300))[..., None]
    return np.asarray(eye - np.swapaxes(counted, -1, -2) @ counted)


def _turning(robot: Any, q: np.ndarray, loads: Loads, target: str | None) -> Any:
    """How forces that keep their direction in the world turn in their bodies: J*[ω × n; ω × F] for every δq."""
    total: Any = 0.0
    for frame, wrench in loads.frames.items():
        R, _ = robot.pose(q, frame, target=target)
        J = arrays.as_numpy(robot.jacobian(q, frame, axes="local", target=target))
        w = np.swapaxes(J[..., :3, :], -1, -2)  # (n, nv, 3)
        halves = [np.einsum("nji,nj->ni", R, x)[:, None, :] for x in (wrench[:, :3], wrench[:, 3:])]
        swung = np.concatenate([np.cross(w, x) for x in halves], axis=-1)  # (n, nv, 6)
        total = total + np.swapaxes(J, -1, -2) @ np.swapaxes(swung, -1, -2)
    return total


def refuse_infinite(robot: Any, x: Held) -> None:
    """Refuse forces and configurations so large that nothing can be computed from them."""
    if not all(np.isfinite(y).all() for y in (x.left, x.mass, x.stiffness)):
        raise InputError(f"the forces on robot {robot.name!r} at rest are too large to be computed; give smaller ones")


def basis(x: Held, i: int) -> np.ndarray:
    """The directions (nv, m) that loops leave free at one configuration, orthonormal."""
    values, vectors = np.linalg.eigh(x.free[i])
    return np.asarray(vectors[:, values > 0.5])
