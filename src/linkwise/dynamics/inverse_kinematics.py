"""One step towards a goal of frames: damped least squares within joint limits (OA §2, §5: J and J*J of the tips).

With e the motion that each frame still lacks and J its Jacobian, a step is

    dq = (J*J + μI)⁻¹ J*e + N κ (q_rest ⊖ q),   N = I − (J*J + μI)⁻¹J*J,

where μ falls with e*e (Sugihara's choice: a step is taken as it is, none is tried and taken back). Degrees of freedom
at a limit that the step would cross stay out of it. Positions count in lengths of the robot, so that its size does not
matter. No choice depends on numbers: the same step runs on numbers and on symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import Array
from ..model.model import Model
from ..spatial import quaternion_from_rotation, quaternion_log

PARTS = {"pose": 12, "position": 3, "rotation": 9, "direction": 3}  # numbers that a goal of each has
_LEAST_DAMPING = 1e-10  # of J*J, whose entries are about one: below what a tolerance of a millionth asks for
_AT_LIMIT = 1e-12  # [rad or m] from a limit


@dataclass(frozen=True)
class Task:
    """What is asked of a frame: its pose, its position, its rotation, or where its z axis points."""

    frame: Any
    part: str


def length_of(model: Model) -> float:
    """A length that the robot reaches to: the sum of the offsets of its joints [m], at least a micrometre."""
    offsets = [np.linalg.norm(arrays.as_numpy(c.placement.l)) for c in model.constants()]
    return float(max(sum(offsets), 1e-6))


def lacking(robot: Any, q: Array, tasks: Sequence[Task], goals: Sequence[Array]) -> list[tuple[Array, Array]]:
    """For every task (rotation vector or None, displacement or None) that the frame lacks, world axes [rad], [m]."""
    return [_lack(robot, q, task, goal) for task, goal in zip(tasks, goals)]


def _lack(robot: Any, q: Array, task: Task, goal: Array) -> tuple[Any, Any]:
    R, p = robot.pose(q, task.frame)
    if task.part == "position":
        return None, goal - p
    if task.part == "direction":
        return _turn_between(R[:, 2], goal), None
    wanted = goal[:9].reshape((3, 3))
    turn = quaternion_log(quaternion_from_rotation(wanted @ R.T))
    return turn, goal[9:] - p if task.part == "pose" else None


def _turn_between(z: Array, wanted: Array) -> Array:
    """The shortest rotation vector that takes one unit vector to another (about any axis across where they oppose)."""
    axis = arrays.stack(
        [
            z[..., 1] * wanted[..., 2] - z[..., 2] * wanted[..., 1],
            z[..., 2] * wanted[..., 0] - z[..., 0] * wanted[..., 2],
            z[..., 0] * wanted[..., 1] - z[..., 1] * wanted[..., 0],
        ]
    )
    sine = arrays.sqrt(arrays.square_length(axis) + 1e-300)
    return axis * (arrays.arctan2(sine, z @ wanted) / sine)


def step(
    robot: Any, q: Array, tasks: Sequence[Task], goals: Sequence[Array], rest: Array, pull: Array
) -> tuple[Array, Array]:
    """(the configuration after a step, [largest rotation error, largest distance] before it)."""
    size = length_of(robot)
    rows, lacks, turns, moves = [], [], [], []
    for task, (turn, move) in zip(tasks, lacking(robot, q, tasks, goals)):
        J = robot.jacobian(q, task.frame)
        if turn is not None:
            rows.append(J[:3])
            lacks.append(turn)
            turns.append(arrays.sqrt(arrays.square_length(turn)))
        if move is not None:
            rows.append(J[3:] / size)
            lacks.append(move / size)
            moves.append(arrays.sqrt(arrays.square_length(move)))
    if getattr(robot, "loops", ()):
        rows.append(robot.loop_jacobian(q))
        opened = robot.loop_error(q)
        lacks.append(-opened)
        moves.append(arrays.sqrt(opened @ opened))
    J, e = arrays.concatenate(rows, axis=0), arrays.concatenate(lacks, axis=0)
    dq = _damped(robot, q, J, e, pull * robot.difference(q, rest))
    return _within(robot, robot.integrate(q, dq)), arrays.stack([_largest(turns, e), _largest(moves, e)])


def _damped(robot: Any, q: Array, J: Array, e: Array, towards_rest: Array) -> Array:
    pull = J.T @ e
    free = _free(robot, q, pull)
    J = J * free[None, :]
    JJ = J.T @ J
    damping = 0.25 * (e @ e) + _LEAST_DAMPING
    solve = arrays.solver_spd(JJ + np.eye(len(free)) * damping)
    rest = (towards_rest * free)[:, None]
    steps = solve((J.T @ e)[:, None] + damping * rest)  # N = μ (J*J + μI)⁻¹
    return steps[:, 0]


def _free(robot: Any, q: Array, pull: Array) -> Array:
    """One where a degree of freedom may go where it is pulled, zero where its limit is in the way."""
    out: list[Any] = [1.0 + 0.0 * pull[..., 0]] * robot.nv
    for i, j, low, high in limited(robot):
        x, to = q[..., i], pull[..., j]
        if np.isfinite(low):
            stays = arrays.where(arrays.less(to, 0.0), 0.0, out[j])
            out[j] = arrays.where(arrays.less(x, low + _AT_LIMIT), stays, out[j])
        if np.isfinite(high):
            stays = arrays.where(arrays.less(-to, 0.0), 0.0, out[j])
            out[j] = arrays.where(arrays.less(-x, _AT_LIMIT - high), stays, out[j])
    return arrays.stack(out)


def _within(robot: Any, q: Array) -> Array:
    entries = [q[..., i] for i in range(robot.nq)]
    for i, _, low, high in limited(robot):
        x = entries[i]
        x = arrays.where(arrays.less(x, low), low, x) if np.isfinite(low) else x
        entries[i] = arrays.where(arrays.less(-x, -high), high, x) if np.isfinite(high) else x
    return arrays.stack(entries)


def limited(robot: Any) -> list[tuple[int, int, float, float]]:
    """(entry of q, entry of v, lowest, highest) of every degree of freedom that has a limit."""
    out = []
    for joint, of_q, of_v in robot.coordinates:
        if joint.kind.nq == joint.kind.nv:
            for i, j in zip(range(of_q.start, of_q.stop), range(of_v.start, of_v.stop)):
                low, high = float(robot.lower_limits[j]), float(robot.upper_limits[j])
                if np.isfinite(low) or np.isfinite(high):
                    out.append((i, j, low, high))
    return out


def _largest(found: list[Any], like: Array) -> Any:
    out: Any = found[0] if found else 0.0 * like[..., 0]
    for x in found[1:]:
        out = arrays.where(arrays.less(out, x), x, out)
    return out
