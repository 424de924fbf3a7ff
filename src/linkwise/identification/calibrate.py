"""``lw.calibrate``: where the joints of a robot really are, from measured poses of a frame, with error bars.

Each joint's placement has six numbers (``Robot.with_placements``), and the frame that is measured six more. Poses
change with them by ``Robot.placement_jacobian``; Gauss–Newton steps on the manifold of placements, each a weighted
least-squares problem with its noise estimated per axis, lead to the poses that were measured. Numbers that poses cannot
tell apart (a hinge shifted along its own axis, and the next one) are found as combinations, from the rank of the
Jacobian at random configurations: for hinges with a tool, four a joint and six (Everett, Driels and Mooring 1987).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import inputs
from ..arguments import flag, names, numbers, one_of
from ..dynamics.inverse_kinematics import length_of
from ..dynamics.linearized.inertial_parameters import combinations
from ..errors import InputError, NotAdmittedError, SingularError
from ..model.edit import small_pose
from ..model.joints.modal import Modal
from ..model.parts import Frame
from ..robot.calls import refuse_other_than_robot
from ..robot.robot import Robot
from ..spatial import Transform, quaternion_from_rotation, quaternion_log
from .identify import combination_name
from .least_squares import Estimate, Reduced, estimate, finite
from .result import Combination

ENTRIES = ("rx", "ry", "rz", "x", "y", "z")  # rotation vector [rad], displacement [m]
_STEPS = 30
_SETTLED = 1e-10  # of a rotation, and of a displacement as a share of the robot's length
_FARTHEST = 1.0  # [rad, lengths] that a step may go: farther off, the model is not near the robot


@dataclass(frozen=True, eq=False)
class Calibration:
    """Placements found. ``changes`` (bodies, 6) [rad, m] are those of :meth:`Robot.with_placements` from the robot as
    given, ``tool_change`` (6,) that of the measured frame on its body. ``combinations`` are what poses tell apart, with
    ``covariance`` (combinations, combinations): of a combination of several numbers, the first has all of the change
    and the others none. ``noise`` (channels,) [rad, m] is that of the measured axes, world axes; ``residuals``
    (..., channels) are what is left. ``robot`` is the calibrated robot.
    """

    robot: Robot
    changes: np.ndarray
    tool_change: np.ndarray
    combinations: tuple[Combination, ...]
    estimate: Estimate
    residuals: np.ndarray
    samples: int

    @property
    def covariance(self) -> np.ndarray:
        """Of the combinations."""
        return self.estimate.covariance

    @property
    def noise(self) -> np.ndarray:
        """Standard deviations of what was measured, one for each component of a pose [rad, m]."""
        return self.estimate.noise

    @property
    def condition(self) -> float:
        """The condition number of the weighted equations, columns of unit length."""
        return self.estimate.condition

    def __repr__(self) -> str:
        return (
            f"<Calibration of {self.robot.name!r}: {len(self.combinations)} combinations from {self.samples} poses,"
            f" condition {self.condition:.3g}>"
        )

    def __str__(self) -> str:
        lines = [repr(self)[1:-1], f"{'found':>13}{'± 1 σ':>11}"]
        lines += [f"{c.value:>13.5g}{c.error:>11.2g} {c.name}" for c in self.combinations]
        return "\n".join(lines)


def calibrate(
    robot: Robot,
    q: Any,
    poses: Any,
    *,
    frame: Any = None,
    part: str = "pose",
    joints: Iterable[str] | None = None,
    tool: bool = False,
    noise: Any = None,
) -> Calibration:
    """Where the joints of a robot are, from measured poses of a frame at configurations q: a :class:`Calibration`.

    q (..., nq), any leading dimensions; ``poses`` are (R (..., 3, 3), p (..., 3)) in the world as :meth:`Robot.pose`
    gives them, or with ``part="position"`` p alone [m]. ``frame`` is what was measured (default: the only tip).
    Placements of ``joints`` (names; default all on the way to the frame) are unknown, and with ``tool`` the frame's own
    on its body. ``noise`` are standard deviations of the channels, rotations [rad] about the axes of the world and then
    positions [m] along them, one number or one each; by default they are estimated.
    """
    refuse_other_than_robot(robot, "calibrate")
    one_of(part, ("pose", "position"), "part of a pose", error=InputError)
    flag(tool, "tool")
    if robot.loops:
        raise NotAdmittedError(f"robot {robot.name!r} has loops, which other placements open; calibrate robot.opened")
    name = _frame(robot, frame, tool)
    unknowns = _Placements(robot, name, _joints(robot, name, joints), tool)
    data = _Poses(robot, q, poses, part)
    columns, projection = unknowns.told_apart(part)
    labels = [combination_name(row, int(i), unknowns.names, unknowns.scales) for i, row in zip(columns, projection)]
    return _solved(unknowns, data, columns, labels, _noise(noise, data.channels))


def _solved(
    unknowns: _Placements, data: _Poses, columns: np.ndarray, labels: list[str], noise: np.ndarray | None
) -> Calibration:
    """Gauss–Newton steps from the robot as given."""
    placed = unknowns.as_given()
    for _ in range(_STEPS):
        current = unknowns.robot_at(placed)
        residuals = data.residuals(current, unknowns.frame)
        reduced = Reduced(data.channels, len(columns))
        reduced.add(unknowns.jacobian(current, data.q, data.part)[..., columns], residuals)
        found = estimate(reduced, labels, noise)
        step = np.zeros(len(unknowns.names))
        step[columns] = found.values
        if np.abs(step / unknowns.scales).max() > _FARTHEST:
            raise SingularError(
                f"the poses are too far from those of robot {unknowns.robot.name!r}: a step of calibration would turn"
                " or move a joint by more than its size; check frame, units and the order of the poses"
            )
        placed = [x.compose(small_pose(d)) for x, d in zip(placed, step.reshape(-1, 6))]
        if np.abs(step / unknowns.scales).max() < _SETTLED:
            break
    else:
        raise SingularError(f"calibration did not settle within {_STEPS} steps; the poses tell too little")
    final = unknowns.robot_at(placed)
    change = np.array([_change(x, y) for x, y in zip(unknowns.as_given(), placed)])
    errors = found.errors(np.eye(len(columns)))
    told = tuple(Combination(*x) for x in zip(labels, change.ravel()[columns].tolist(), errors.tolist()))
    changes = np.zeros((len(final.bodies), 6))
    changes[list(unknowns.joints)] = change[: len(unknowns.joints)]
    tool = change[-1] if unknowns.tool else np.zeros(6)
    left = data.residuals(final, unknowns.frame).reshape(*data.batch, data.channels)
    return Calibration(final, changes, tool, told, found, left, len(data.q))


def _change(before: Transform, after: Transform) -> np.ndarray:
    """[rotation vector; displacement] that takes one placement to another."""
    relative = before.inverse().compose(after)
    turn = quaternion_log(quaternion_from_rotation(relative.R))
    return np.concatenate([np.asarray(turn), np.asarray(relative.l)])


# --- what is unknown -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Placements:
    """Placements of some joints, and of the frame where it is unknown too."""

    robot: Robot
    frame: str
    joints: tuple[int, ...]
    tool: bool

    @property
    def names(self) -> list[str]:
        owners = [self.robot.joints[k].name for k in self.joints] + [self.frame] * self.tool
        return [f"{owner}.{entry}" for owner in owners for entry in ENTRIES]

    @property
    def scales(self) -> np.ndarray:
        length = length_of(self.robot)
        return np.array([1.0, 1.0, 1.0, length, length, length] * (len(self.joints) + self.tool))

    def as_given(self) -> list[Transform]:
        placed = [self.robot.joints[k].placement for k in self.joints]
        return [*placed, self.robot.frame(self.frame)[1]] if self.tool else placed

    def robot_at(self, placed: list[Transform]) -> Robot:
        bodies = list(self.robot.bodies)
        for k, pose in zip(self.joints, placed):
            bodies[k] = replace(bodies[k], joint=replace(bodies[k].joint, at=pose.l, rpy=None, rotation=pose.R))
        frames = self.robot.extra_frames
        if self.tool:
            frames = tuple(Frame.from_pose(f.name, f.body, placed[-1]) if f.name == self.frame else f for f in frames)
        return replace(self.robot, bodies=tuple(bodies), extra_frames=frames)

    def jacobian(self, robot: Robot, q: np.ndarray, part: str) -> np.ndarray:
        """(samples, channels, unknowns), on NumPy: every step has a robot of its own."""
        J = robot.placement_jacobian(q, self.frame, target="numpy")
        blocks = [J[..., 6 * k : 6 * k + 6] for k in self.joints]
        if self.tool:
            R, _ = robot.pose(q, self.frame, target="numpy")
            none = np.zeros_like(R)
            blocks.append(np.block([[R, none], [none, R]]))
        whole = np.concatenate(blocks, axis=-1)
        return whole if part == "pose" else whole[..., 3:, :]

    def told_apart(self, part: str) -> tuple[np.ndarray, np.ndarray]:
        """(columns, projection), by the rank at random configurations; joints base first, shifts before turns."""
        q = self.robot.random_configuration(np.random.default_rng(0), 8 + 2 * len(self.names))
        J = self.jacobian(self.robot, q, part) * self.scales
        order = np.arange(len(self.names)).reshape(-1, 6)[:, [3, 4, 5, 0, 1, 2]].ravel()
        columns, scaled = combinations(J.reshape(-1, len(self.names)), order)
        return columns, scaled * self.scales[columns, None] / self.scales


def _frame(robot: Robot, frame: Any, tool: bool) -> str:
    if frame is None:
        if len(robot.tips) != 1:
            raise InputError(f"robot {robot.name!r} has {len(robot.tips)} tips; say which frame= was measured")
        frame = robot.tips[0]
    body, _ = robot.frame(frame)
    name = getattr(frame, "name", frame)
    if body < 0:
        raise InputError(f"frame {name!r} is fixed in the world, and tells nothing of the joints")
    if tool and all(f.name != name for f in robot.extra_frames):
        raise InputError(f"frame {name!r} is that of a body itself, and has no placement of its own: leave tool out")
    if isinstance(frame, Frame) and robot.frame(name)[1] is not frame.pose:
        raise InputError(f"frame {name!r} is to be one of the robot's own, by its name")
    return str(name)


def _joints(robot: Robot, frame: str, joints: Any) -> tuple[int, ...]:
    path = robot.path(robot.frame(frame)[0])
    modes = {k for k in path if isinstance(robot.joints[k].kind, Modal)}
    if joints is None:
        return tuple(k for k in path if k not in modes)
    chosen = [robot.joint(x) for x in names(joints, "joints", "joint names")]
    if not chosen or len(set(chosen)) != len(chosen):
        raise InputError(f"joints names the joints whose placements are unknown, each once; got {joints!r}")
    for k in chosen:
        if k in modes:
            raise NotAdmittedError(
                f"joint {robot.joints[k].name!r} is that of a flexible body's modes, whose shapes count as known"
            )
        if k not in path:
            raise InputError(f"joint {robot.joints[k].name!r} does not move frame {frame!r}: its poses do not tell it")
    return tuple(sorted(chosen))


def _noise(given: Any, channels: int) -> np.ndarray | None:
    if given is None:
        return None
    x = numbers(given, "noise")
    if x.shape not in ((), (channels,)) or not np.isfinite(x).all() or (x <= 0).any():
        raise InputError(f"noise must be one positive number or {channels}, one for each channel, got {given!r}")
    return np.broadcast_to(x, (channels,)).astype(float)


# --- what was measured -----------------------------------------------------------------------------------


class _Poses:
    """Configurations and measured poses, checked."""

    def __init__(self, robot: Robot, q: Any, poses: Any, part: str) -> None:
        q = numbers(inputs.configuration(robot, q), "q")
        R: np.ndarray | None = None
        if part == "pose":
            if not isinstance(poses, (list, tuple)) or len(poses) != 2:
                raise InputError('poses are a pair (R, p), as robot.pose gives them; p alone needs part="position"')
            R, poses = _shaped(poses[0], (3, 3), "R"), poses[1]
        p = _shaped(poses, (3,), "p")
        try:
            batch = np.broadcast_shapes(q.shape[:-1], p.shape[:-1], () if R is None else R.shape[:-2])
        except ValueError:
            raise InputError(f"q {q.shape} and the poses, p {p.shape}, do not fit together") from None
        self.part, self.batch, self.channels = part, batch, 6 if part == "pose" else 3
        self.q = np.broadcast_to(q, (*batch, robot.nq)).reshape(-1, robot.nq)
        self.p = np.broadcast_to(p, (*batch, 3)).reshape(-1, 3)
        finite(q=self.q, p=self.p)
        self.R = None if R is None else np.broadcast_to(R, (*batch, 3, 3)).reshape(-1, 3, 3)
        if self.R is not None:
            finite(R=self.R.reshape(-1, 9))
            off = np.abs(self.R @ self.R.swapaxes(-1, -2) - np.eye(3)).max(initial=0.0)
            if off > 1e-3 or np.any(np.linalg.det(self.R) < 0):
                raise InputError("R must hold rotation matrices (R Rᵀ = I to a thousandth, det R = 1)")

    def residuals(self, robot: Robot, frame: str) -> np.ndarray:
        """(samples, channels): the motion, world axes, that takes the frame to where it was measured."""
        R, p = robot.pose(self.q, frame, target="numpy")
        if self.R is None:
            return np.asarray(self.p - p)
        turn = quaternion_log(quaternion_from_rotation(self.R @ R.swapaxes(-1, -2)))
        return np.concatenate([turn, self.p - p], axis=-1)


def _shaped(given: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    x = numbers(given, what)
    if x.shape[-len(shape) :] != shape:
        raise InputError(f"{what} must have shape (..., {', '.join(map(str, shape))}), got {x.shape}")
    return x
