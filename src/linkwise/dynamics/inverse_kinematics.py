"""One step towards a goal of frames: damped least squares within joint limits (OA §2, §5: J and J*J of the tips).

With e the motion that the frames still lack, J their Jacobian and W what counts of it, a step is

    dq = (J*WJ + μI)⁻¹ J*We + N w,   N = I − (J*WJ + μI)⁻¹J*WJ,

where w is what is wished of the null space, and μ falls with e*We (Sugihara's choice: a step is taken as it is, none is
tried and taken back). Degrees of freedom at a limit that the step would cross stay out of it, and it goes no further
than to the limits of joints that follow them. Positions count in lengths of the robot, so that its size does not
matter. No choice depends on numbers: the same step runs on numbers and on symbols.

J*WJ + μI = HφBWB*φ*H* + μI is the mass matrix of a robot that has inertia W at its tips alone and rotors of inertia μ
(math notes 4), so that it is inverted by the articulated-body recursion without being formed. That takes fewer
operations from :data:`SWEEP_FROM` degrees of freedom on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import Array
from ..model.joints.modal import Modal
from ..model.model import Model
from ..riccati import cross_joint
from ..spatial import Transform, congruence, cross, quaternion_from_rotation, quaternion_log
from ..sweeps import unzip
from .articulated import Articulated
from .following_limits import blocked, brought_back, following_limits, or_as_before, without
from .kinematics import tip_transforms
from .links import Links, evaluate

PARTS = {"pose": 12, "position": 3, "rotation": 9, "direction": 3}  # numbers that a goal of each has

# Degrees of freedom from which the recursion takes fewer operations than J*WJ, or about as many. × and +, recursion
# against J*WJ, poses of all tips: Panda (7) 1443, 1199; quadruped (18) 4810, 6799; humanoid (35) 8195, 26078; chains
# whose axes have any direction: 15 links 10325, 6987; 30 links 20930, 24727.
SWEEP_FROM = 16

_LEAST_DAMPING = 1e-10  # of J*WJ, whose entries are about one: below what a tolerance of a millionth asks for
_OPPOSED = 1e-16  # the square of the sine between directions that oppose to a hundred millionth
_AT_LIMIT = 1e-12  # [rad or m] from a limit


@dataclass(frozen=True)
class Task:
    """What is asked of a frame: its pose, its position, its rotation, or where its z axis points."""

    frame: Any
    part: str


@dataclass(frozen=True, eq=False)
class Lack:
    """The motion that a frame lacks, world axes: a rotation vector [rad] and a displacement [m], None where not asked.

    About ``spin``, a unit vector, it may turn as it likes.
    """

    turn: Any
    move: Any
    spin: Any = None


def length_of(model: Model) -> float:
    """A length that the robot reaches to: the sum of the offsets of its joints [m], at least a micrometre."""
    offsets = [np.linalg.norm(arrays.as_numpy(c.placement.l)) for c in model.constants()]
    return float(max(sum(offsets), 1e-6))


def lacking(robot: Any, q: Array, task: Task, goal: Array) -> Lack:
    """The motion that a frame lacks of its goal, a row of numbers (:data:`PARTS`)."""
    R, p = robot.pose(q, task.frame)
    if task.part == "position":
        return Lack(None, goal - p)
    if task.part == "direction":
        return Lack(_turn_between(R[:, 2], goal), None, R[:, 2])
    wanted = goal[:9].reshape((3, 3))
    turn = quaternion_log(quaternion_from_rotation(wanted @ R.T))
    return Lack(turn, goal[9:] - p if task.part == "pose" else None)


def _turn_between(z: Array, wanted: Array) -> Array:
    """The shortest rotation vector that takes one unit vector to another; half a turn about an axis across both where
    they oppose."""
    axis = _crossed(z, wanted)
    sine = arrays.sqrt(arrays.square_length(axis) + 1e-300)
    turn = axis * (arrays.arctan2(sine, z @ wanted) / sine)
    x, y = _crossed(z, np.array([1.0, 0.0, 0.0])), _crossed(z, np.array([0.0, 1.0, 0.0]))
    across = arrays.where(arrays.less(arrays.square_length(x), 0.5), y, x)
    half = across * (np.pi / arrays.sqrt(arrays.square_length(across) + 1e-300))
    opposed = arrays.where(arrays.less(z @ wanted, 0.0), arrays.square_length(axis), 1.0)
    return arrays.where(arrays.less(opposed, _OPPOSED), half, turn)


def _crossed(a: Array, b: Array) -> Array:
    return cross(a[..., None], b[..., None])[..., 0]


def step(robot: Any, q: Array, tasks: Sequence[Task], goals: Sequence[Array], wished: Array) -> tuple[Array, Array]:
    """(the configuration after a step, [largest rotation error, largest distance] before it).

    Where the goals leave it free the robot moves as is ``wished`` (nv,).
    """
    lacks = [lacking(robot, q, task, goal) for task, goal in zip(tasks, goals)]
    if by_sweep(robot):
        dq, opened = swept_step(robot, q, tasks, lacks, wished), None
    else:
        dq, opened = dense_step(robot, q, tasks, lacks, wished)
    turns = [_length(lack.turn) for lack in lacks if lack.turn is not None]
    moves = [_length(lack.move) for lack in lacks if lack.move is not None] + ([] if opened is None else [opened])
    return within(robot, robot.integrate(q, dq), q), arrays.stack([_largest(turns, q), _largest(moves, q)])


def by_sweep(robot: Any) -> bool:
    """Whether a step runs along the tree: not over loops and coupled joints, nor where there are few joints."""
    tree = not getattr(robot, "loops", ()) and not robot.couplings
    return tree and robot.nv >= SWEEP_FROM


# --- with the Jacobian ---------------------------------------------------------------------------------


def dense_step(robot: Any, q: Array, tasks: Sequence[Task], lacks: Sequence[Lack], wished: Array) -> tuple[Array, Any]:
    """(dq, by how much loops are open or None), from J and a factorisation of J*WJ + μI."""
    size = length_of(robot)
    rows, wanted = [], []
    opened = None
    for task, lack in zip(tasks, lacks):
        J = robot.jacobian(q, task.frame)
        if lack.turn is not None:
            rows.append(J[:3] if lack.spin is None else J[:3] - lack.spin[:, None] * (lack.spin @ J[:3])[None, :])
            wanted.append(lack.turn)
        if lack.move is not None:
            rows.append(J[3:] / size)
            wanted.append(lack.move / size)
    if getattr(robot, "loops", ()):
        rows.append(robot.loop_jacobian(q))
        error = robot.loop_error(q)
        wanted.append(-error)
        opened = arrays.sqrt(error @ error)
    J, e = arrays.concatenate(rows, axis=0), arrays.concatenate(wanted, axis=0)
    free = _free(robot, q, J.T @ e)
    J = J * free[None, :]
    damping = 0.25 * (e @ e) + _LEAST_DAMPING
    dq = _damped(J, e, damping, wished * free)
    limits = following_limits(robot, bent=True)
    if limits:
        held, fixed = blocked(limits, q, dq, free)
        dq = fixed + _damped(without(J, held), e - J @ fixed, damping, without(wished * free, held))
    return dq, opened


def _damped(J: Array, e: Array, damping: Array, wished: Array) -> Array:
    """(J*J + μI)⁻¹(J*e + μw): N = μ (J*WJ + μI)⁻¹."""
    solve = arrays.solver_spd(J.T @ J + np.eye(J.shape[-1]) * damping)
    return solve((J.T @ e)[:, None] + damping * wished[:, None])[:, 0]


# --- along the tree --------------------------------------------------------------------------------------


def swept_step(robot: Any, q: Array, tasks: Sequence[Task], lacks: Sequence[Lack], wished: Array) -> Array:
    """dq by the articulated-body recursion with W at the tips for inertia and μ for the joints' rotors."""
    size = length_of(robot)
    links = evaluate(robot, q)
    X: list[Any] = [arrays.zeros((6, 6), like=q) for _ in links.sizes]
    f: list[Any] = [arrays.zeros((6, 1), like=q) for _ in links.sizes]
    asked: Any = 0.0
    for task, lack, tip in zip(tasks, lacks, tip_transforms(robot, links, [t.frame for t in tasks])):
        W, We, squared = _counted(lack, size, q)
        asked = asked + squared
        body, _ = robot.frame(task.frame)
        if body >= 0:  # one that is fixed to the world cannot be moved
            X[body] = X[body] + congruence(tip, W)
            f[body] = f[body] + tip @ We[:, None]
    damping = 0.25 * asked + _LEAST_DAMPING
    pull = links.join(_gathered(links, f))
    free = _free(robot, q, pull)
    masked = replace(links, H=[H * mask for H, mask in zip(links.H, links.split(free))])
    art = _damped_bodies(masked, X, damping)
    return art.solve(masked, (free * (pull + damping * wished))[:, None])[:, 0]


def _counted(lack: Lack, size: float, q: Array) -> tuple[Array, Array, Any]:
    """W (6, 6), We (6,) and e*We of what a frame lacks; W² = W but for the unit of length."""
    nothing = arrays.zeros((3, 3), like=q)
    turning = arrays.eye(3, like=q) if lack.turn is not None else nothing
    if lack.spin is not None:
        turning = turning - lack.spin[:, None] * lack.spin[None, :]
    moving = arrays.eye(3, like=q) / size**2 if lack.move is not None else nothing
    W = arrays.concatenate(
        [arrays.concatenate([turning, nothing], axis=1), arrays.concatenate([nothing, moving], axis=1)], axis=0
    )
    turn = arrays.zeros((3,), like=q) if lack.turn is None else lack.turn
    move = arrays.zeros((3,), like=q) if lack.move is None else lack.move / size
    return W, arrays.concatenate([turn, move / size], axis=0), turn @ turn + move @ move


def _gathered(links: Links, f: list[Array]) -> list[Array]:
    """HφB f, inward: J* of all tips at once."""

    def inward(gathered: Any, phi: Transform, H: Array, f: Array) -> Any:
        z = gathered + f
        return phi @ z, H @ z

    return links.tree.inward(inward, 0, links.phi, links.H, f)


def _damped_bodies(links: Links, X: list[Array], damping: Array) -> Articulated:
    """The articulated-body recursion of X with D = HPH* + μI, which is never singular."""

    def inward(gathered: Any, phi: Transform, H: Array, X: Array, r: int) -> Any:
        kept = cross_joint(gathered + X, H, np.eye(r) * damping, None, arrays.inverse_spd)
        return congruence(phi, kept[-1]), kept

    return Articulated(*unzip(links.tree.inward(inward, 0, links.phi, links.H, X, links.sizes), 5))


# --- limits --------------------------------------------------------------------------------------------


def _free(robot: Any, q: Array, pull: Array) -> Array:
    """One where a degree of freedom may go where it is pulled, zero where its limit is in the way, or where it is no
    one's to choose: modes of flexible bodies and springs of elastic gears stay as they are."""
    out: list[Any] = [1.0 + 0.0 * pull[..., 0]] * robot.nv
    for _, where in yielding(robot):
        for j in range(where.start, where.stop):
            out[j] = 0.0 * pull[..., 0]
    for i, j, low, high in limited(robot):
        x, to = q[..., i], pull[..., j]
        if np.isfinite(low):
            stays = arrays.where(arrays.less(to, 0.0), 0.0, out[j])
            out[j] = arrays.where(arrays.less(x, low + _AT_LIMIT), stays, out[j])
        if np.isfinite(high):
            stays = arrays.where(arrays.less(-to, 0.0), 0.0, out[j])
            out[j] = arrays.where(arrays.less(-x, _AT_LIMIT - high), stays, out[j])
    return arrays.stack(out)


def within(robot: Any, q: Array, before: Array) -> Array:
    """The nearest configuration within the limits; joints whose follower finds no way back stay as ``before``."""
    limits = following_limits(robot, bent=True)
    q = _clipped(robot, q)
    return or_as_before(limits, _clipped(robot, brought_back(limits, q)), before) if limits else q


def _clipped(robot: Any, q: Array) -> Array:
    entries = [q[..., i] for i in range(robot.nq)]
    for i, _, low, high in limited(robot):
        x = entries[i]
        x = arrays.where(arrays.less(x, low), low, x) if np.isfinite(low) else x
        entries[i] = arrays.where(arrays.less(-x, -high), high, x) if np.isfinite(high) else x
    return arrays.stack(entries, axis=-1)


def yielding(robot: Any) -> list[tuple[slice, slice]]:
    """(slice of q, slice of v) of joints that give way instead of being moved: with a spring, and without a motor."""
    out = []
    for joint, of_q, of_v in robot.coordinates:
        sprung = joint.kind.nv and (np.asarray(joint.stiffness) != 0).any()
        motorless = sprung and (joint.limits.arrays(joint.kind.nv)[3] == 0).all()
        if isinstance(joint.kind, Modal) or motorless:
            out.append((of_q, of_v))
    return out


def limited(robot: Any) -> list[tuple[int, int, float, float]]:
    """(entry of q, entry of v, lowest, highest) of every degree of freedom that has a limit."""
    out = []
    lowest, highest = robot.lower_limits.tolist(), robot.upper_limits.tolist()
    for joint, of_q, of_v in robot.coordinates:
        if joint.kind.nq == joint.kind.nv:
            for i, j in zip(range(of_q.start, of_q.stop), range(of_v.start, of_v.stop)):
                low, high = lowest[j], highest[j]
                if isfinite(low) or isfinite(high):
                    out.append((i, j, low, high))
    return out


def _length(x: Array) -> Array:
    return arrays.sqrt(arrays.square_length(x))


def _largest(found: list[Any], like: Array) -> Any:
    out: Any = found[0] if found else 0.0 * like[..., 0]
    for x in found[1:]:
        out = arrays.where(arrays.less(out, x), x, out)
    return out
