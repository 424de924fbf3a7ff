"""Flexible bodies in pictures: a row of short rods from a body's frame through its nodes, bent as these have turned.

Between two neighbours the line is the cubic that starts and ends in their places and directions: what Euler and
Bernoulli's beam does between loads at its ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import as_numpy
from ..model.flexible.structure import flexible_bodies
from ..robot.robot import Robot
from . import solids

RODS = 8  # in one span


class Span(NamedTuple):
    """From one body (a flexible body's frame, or a node of it) to another, a node; ``straight`` (3,) is the way there
    while the body is not deformed, in its axes."""

    start: int
    end: int
    straight: np.ndarray


def spans(robot: Robot) -> list[Span]:
    """Every node of every flexible body with the nearest of those that are nearer to the body's frame, or the frame."""
    out = []
    for frame, nodes in flexible_bodies(robot).items():
        places = {frame: np.zeros(3)} | {k: as_numpy(robot.joints[k].placement.l) for k in nodes}
        order = sorted(places, key=lambda k: float(np.linalg.norm(places[k])))
        for i, k in enumerate(order):
            if i and np.linalg.norm(places[k]) > 0:
                near = min(order[:i], key=lambda j: float(np.linalg.norm(places[j] - places[k])))
                out.append(Span(near, k, places[k] - places[near]))
    return out


def rod_poses(found: list[Span], R: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(R, p) of the rods, along their z axes, (..., rods, 3, 3) and (..., rods, 3), from the poses of bodies."""
    s = np.linspace(0.0, 1.0, RODS + 1)[:, None]
    weights = (2 * s**3 - 3 * s**2 + 1, s**3 - 2 * s**2 + s, 3 * s**2 - 2 * s**3, s**3 - s**2)
    turned, places = [], []
    for start, end, straight in found:
        ends = (p[..., start, :], R[..., start, :, :] @ straight, p[..., end, :], R[..., end, :, :] @ straight)
        points = sum(w * x[..., None, :] for w, x in zip(weights, ends))
        places.append(0.5 * (points[..., 1:, :] + points[..., :-1, :]))
        turned.append(_onto(np.diff(points, axis=-2)))
    return np.concatenate(turned, axis=-3), np.concatenate(places, axis=-2)


def _onto(direction: np.ndarray) -> np.ndarray:
    """Rotations (..., 3, 3) that take z to these directions (..., 3)."""
    flat = direction.reshape(-1, 3)
    return np.array([solids.rotation_onto(x) for x in flat]).reshape((*direction.shape, 3))
