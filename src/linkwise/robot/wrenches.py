"""Forces at frames as forces on bodies."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .. import arrays, inputs
from ..arguments import mapping
from ..arrays import SameKind
from ..dynamics import kinematics
from ..dynamics.links import evaluate
from .dispatch import compiled


def wrenches(robot: Any, q: Any, forces: Any, target: str | None) -> SameKind:
    """External forces (..., bodies, 6), body axes, from [moment; force] (..., 6) on frames, world axes."""
    frames = tuple(mapping(forces, "forces"))
    if not frames:
        q = inputs.configuration(robot, q)
        return arrays.zeros((*q.shape[:-1], len(robot.bodies), 6), like=q)
    on_frames = _stacked(robot, forces)
    options = {} if target is None else {"target": target}
    return _of(len(frames))(robot, q, on_frames, frames, **options)


def _stacked(robot: Any, forces: Any) -> SameKind:
    """The forces as (..., frames, 6)."""
    given = tuple(forces.values())
    if all(type(f) is np.ndarray and f.dtype == np.float64 and f.shape == (6,) for f in given):
        return given[0][None] if len(given) == 1 else np.concatenate(given).reshape(-1, 6)
    named = inputs.frame_forces(robot, forces)
    return arrays.stack(inputs.together(robot, **named)[1], axis=-2)


@cache
def _of(count: int) -> Callable[..., Any]:
    """The method for this many frames."""

    @compiled(q="nq", forces=(count, 6))
    def wrenches(self: Any, q: Any, forces: Any, frames: tuple[Any, ...]) -> SameKind:
        q = inputs.configuration(self, q)
        rows = inputs.shaped(self, forces, (count, 6), "forces")
        batch, (q, rows) = inputs.together(self, q=q, forces=rows)
        forces = rows.reshape((*rows.shape[:-1], count, 6))
        links = evaluate(self, q)
        per_body: list[Any] = [arrays.zeros((*batch, 6), like=q) for _ in self.bodies]
        for i, frame in enumerate(frames):
            body, tip = kinematics.tip_transform(self, links, frame)
            if body >= 0:
                per_body[body] = per_body[body] + (tip @ forces[..., i, :, None])[..., 0]
        return arrays.stack(per_body, axis=-2) if per_body else arrays.zeros((*batch, 0, 6), like=q)

    method: Any = wrenches
    found: Callable[..., Any] = method
    return found
