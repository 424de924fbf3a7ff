"""Inertial parameters of a batch with which no motion can be computed: whose they are, of which body."""

from __future__ import annotations

import numpy as np

from ..errors import LinkwiseError, SimulationError
from ..robot.robot import Robot

_MOST = 100  # sets that are looked at closely: each takes milliseconds


def refuse_odd(robot: Robot, inertial: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
    """Raise where a set of inertial parameters, (bodies · 10,) or (states, bodies · 10), is no robot's that moves.

    Sets with a body that none can be come first: then the error names it; otherwise it names the joint that no inertia
    resists at its state q (states, nq), v (states, nv).
    """
    sets = np.asarray(inertial, float).reshape(-1, len(robot.bodies), 10)
    order = np.argsort(lowest(sets).min(axis=-1), kind="stable")[:_MOST]
    for k in order:
        at = min(int(k), len(q) - 1)
        which = f"set {k} of the inertial parameters: " if len(sets) > 1 else "the inertial parameters: "
        try:
            varied = robot.with_inertial_parameters(sets[k])
            varied.forward_dynamics(
                np.asarray(q[at], float), np.asarray(v[at], float), np.zeros(robot.nv), target="numpy"
            )
        except LinkwiseError as e:
            raise SimulationError(f"{which}{e}") from None


def lowest(sets: np.ndarray) -> np.ndarray:
    """The least eigenvalue of the pseudo-inertia of each body, (..., bodies) of (..., bodies, 10), beside its largest.

    It is negative exactly for what is no body's: there is negative mass somewhere.
    """
    m, h = sets[..., 0], sets[..., 1:4]
    J = sets[..., [4, 5, 7, 5, 6, 8, 7, 8, 9]].reshape(*sets.shape[:-1], 3, 3)
    pseudo = np.zeros((*sets.shape[:-1], 4, 4))
    pseudo[..., :3, :3] = 0.5 * np.trace(J, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - J
    pseudo[..., :3, 3] = pseudo[..., 3, :3] = h
    pseudo[..., 3, 3] = m
    found: np.ndarray = np.linalg.eigvalsh(pseudo)
    largest = np.abs(found).max(axis=-1)
    return found[..., 0] / np.where(largest > 0.0, largest, 1.0)
