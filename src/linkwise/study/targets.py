"""What the names of parameters mean to the built-in scenarios: numbers of the robot, its start, forces, gains.

    q0, v0                        the state at the start; with .JOINT, that of one joint
    payload, payload.FRAME        a point mass [kg] at the scenario's frame, or at this one
    mass.BODY                     the mass of a body [kg], its inertia in proportion
    com.BODY                      where its centre of mass is (3,) [m], body axes
    inertial, inertial.BODY       its ten inertial parameters, those of all bodies (bodies, 10)
    damping, friction             of all joints, one number or nv; with .JOINT, of one
    lower, upper                  where joints have their stops; with .JOINT, one
    tau                           constant joint forces (nv,); with .JOINT, one
    force.FRAME                   a force (3,) [N], or [moment; force] (6,), world axes
    gravity                       (3,) [m/s²]
    loop.NAME                     by how much the first frame of a loop is shifted (3,) [m], in its own axes

All else is for the controller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import InputError, UnknownNameError, did_you_mean
from ..model.parts import Frame
from ..properties import cached_property
from ..robot.robot import Robot
from ..spatial import Transform

PER_JOINT = ("q0", "v0", "damping", "friction", "lower", "upper", "tau")
PASSIVE = ("damping", "friction", "lower", "upper")
ON_BODIES = ("mass", "com", "inertial")
WHOLE = (*PER_JOINT, "payload", "inertial", "gravity")
EDITS = ("gravity", "loop")  # what makes another robot, and no input of the machine code


@dataclass(frozen=True, eq=False)
class Targets:
    """Parameters ``names``: name → shape of one value, as numbers of this robot; ``payload_at`` names a frame."""

    robot: Robot
    names: Mapping[str, tuple[int, ...]]
    payload_at: str | None = None
    has_controller: bool = False

    def __post_init__(self) -> None:
        if self.payload_at is not None:
            self.robot.frame(self.payload_at)
        for name, shape in self.names.items():
            self._check(name, shape)

    # --- what each name is -----------------------------------------------------------------------------

    def kind(self, name: str) -> str:
        """The word before the dot, "gain" where it is none of ours."""
        word, dot, of = name.partition(".")
        if (not dot and word in WHOLE) or (of and word in (*PER_JOINT, *ON_BODIES, "payload", "force", "loop")):
            return word
        return "gain"

    def of(self, *kinds: str) -> list[str]:
        """The parameters of these kinds."""
        return [name for name in self.names if self.kind(name) in kinds]

    @property
    def edits(self) -> list[str]:
        """Parameters that make another robot of each run."""
        return self.of(*EDITS)

    @property
    def gains(self) -> list[str]:
        return self.of("gain")

    def _check(self, name: str, shape: tuple[int, ...]) -> None:
        kind, robot = self.kind(name), self.robot
        of = name.partition(".")[2]
        if kind == "gain":
            if not self.has_controller:
                meant = did_you_mean(name, [*WHOLE, "mass.BODY", "force.FRAME"])
                raise UnknownNameError(
                    f"parameter {name!r} is none of the robot's, and there is no controller to take it;"
                    f" {meant or 'choose from'} {', '.join(WHOLE)}, mass.BODY, com.BODY, inertial.BODY, payload.FRAME,"
                    " force.FRAME, loop.NAME, q0.JOINT, …"
                )
            return
        sizes: dict[str, list[tuple[int, ...]]] = {
            "payload": [()], "mass": [()], "com": [(3,)], "force": [(3,), (6,)], "gravity": [(3,)], "loop": [(3,)],
            "inertial": [(10,)] if of else [(len(robot.bodies), 10), (10 * len(robot.bodies),)],
        }  # fmt: skip
        if kind in PER_JOINT:
            numbers = self.columns(name).size
            sizes[kind] = [(numbers,)] + ([()] if kind not in ("q0", "v0") or numbers == 1 else [])
        elif kind in ON_BODIES and of:
            robot.body(of)
        elif kind in ("payload", "force"):
            robot.frame(self._frame(name))
        elif kind == "loop":
            self._loop(name)
        if shape not in sizes[kind]:
            wanted = " or ".join(str(s) if s else "one number" for s in sizes[kind])
            raise InputError(f"parameter {name!r} must have {wanted}, got shape {shape}")

    def columns(self, name: str) -> np.ndarray:
        """The numbers of q, or of v, that a parameter of joints is about."""
        kind, _, joint = name.partition(".")
        count = self.robot.nq if kind == "q0" else self.robot.nv
        if not joint:
            return np.arange(count)
        slices = self.robot.q_slices if kind == "q0" else self.robot.v_slices
        return np.arange(count)[slices[self.robot.joint(joint)]]

    def _frame(self, name: str) -> str:
        frame = name.partition(".")[2] or self.payload_at
        if frame is None:
            raise InputError(f"parameter {name!r}: where is the payload? Name its frame, as in payload.tcp")
        return frame

    def _loop(self, name: str) -> int:
        wanted = name.partition(".")[2]
        known = [x.name for x in self.robot.loops]
        if wanted not in known:
            raise UnknownNameError(
                f"no loop of robot {self.robot.name!r} is named {wanted!r}; it has {known or 'none'}"
            )
        return known.index(wanted)

    # --- what they make of many runs --------------------------------------------------------------------

    def at_joints(self, kind: str, values: Mapping[str, np.ndarray], base: np.ndarray, count: int) -> np.ndarray:
        """(runs, n), of ``count`` runs: the numbers of all joints, drawn ones in place of ``base`` (n,)."""
        out = np.broadcast_to(base, (count, *base.shape)).copy()
        for name in self.of(kind):
            columns, x = self.columns(name), values[name].astype(float)
            out[:, columns] = x.reshape(len(x), -1)
        return out

    def inertial(self, values: Mapping[str, np.ndarray]) -> np.ndarray | None:
        """(runs, bodies × 10), or None where no parameter is about inertias."""
        if not self.of("payload", *ON_BODIES):
            return None
        count = len(next(iter(values.values())))
        own = self._own_inertial
        out = np.broadcast_to(own, (count, *own.shape)).copy()
        for name in self.of("inertial"):
            of = name.partition(".")[2]
            if of:
                out[:, self.robot.body(of)] = values[name]
            else:
                out[:] = values[name].reshape(out.shape)
        for name in self.of("mass"):
            body = self.robot.body(name.partition(".")[2])
            out[:, body] *= (values[name] / out[:, body, 0])[:, None]
        for name in self.of("com"):
            body = self.robot.body(name.partition(".")[2])
            out[:, body] = _moved_centre(out[:, body], values[name])
        for name in self.of("payload"):
            body, place = self._payload_place(name)
            out[:, body] += values[name][:, None] * _point_mass(place)
        return out.reshape(count, -1)

    @cached_property
    def _own_inertial(self) -> np.ndarray:
        return self.robot.inertial_parameters

    def _payload_place(self, name: str) -> tuple[int, np.ndarray]:
        body, pose = self.robot.frame(self._frame(name))
        if body < 0:
            raise InputError(f"parameter {name!r}: frame {self._frame(name)!r} is on the base, which does not move")
        return body, np.asarray(pose.l, dtype=float)

    def frames(self) -> list[str]:
        """Frames that forces act on."""
        return [name.partition(".")[2] for name in self.of("force")]

    def forces(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """{frame: [moment; force] (..., 6)} from numbers or symbols."""
        found = {}
        for name in self.of("force"):
            x = values[name]
            found[name.partition(".")[2]] = x if x.shape[-1] == 6 else np.concatenate([0.0 * x, x], axis=-1)
        return found

    # --- another robot ------------------------------------------------------------------------------------

    def edited(self, values: Mapping[str, Any]) -> Robot:
        """The robot of one run: another gravity, loops closed elsewhere, other inertias."""
        robot = self.robot
        if "gravity" in self.names:
            robot = robot.with_gravity(values["gravity"])
        shifts = {self._loop(name): np.asarray(values[name], dtype=float) for name in self.of("loop")}
        if shifts:
            loops = [x if i not in shifts else _shifted(robot, x, shifts[i]) for i, x in enumerate(robot.loops)]
            robot = robot.opened.close(*loops)
        own = self.inertial({k: np.asarray(x)[None] for k, x in values.items()})
        return robot if own is None else robot.with_inertial_parameters(own.reshape(-1, 10))


def _shifted(robot: Robot, loop: Any, by: np.ndarray) -> Any:
    if isinstance(loop.frame_a, str) and loop.frame_a == "world":
        raise InputError(f"loop {loop.name!r} closes on the world; name a frame there that can be shifted")
    body, pose = robot.frame(loop.frame_a)
    name = loop.frame_a if isinstance(loop.frame_a, str) else loop.frame_a.name
    moved = pose.compose(Transform(np.eye(3), by))
    carrier = None if body < 0 else robot.bodies[body].name
    return replace(loop, frame_a=Frame.from_pose(f"{name}_shifted", carrier, moved))


def _point_mass(p: np.ndarray) -> np.ndarray:
    """The ten inertial parameters of 1 kg at p."""
    J = (p @ p) * np.eye(3) - np.outer(p, p)
    return np.array([1.0, *p, J[0, 0], J[0, 1], J[1, 1], J[0, 2], J[1, 2], J[2, 2]])


def _moved_centre(rows: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Inertial parameters (runs, 10) with the centre of mass elsewhere, the inertia about it kept."""
    before = rows[:, 1:4] / rows[:, :1]
    out = rows.copy()
    out[:, 1:4] = rows[:, :1] * centre
    out[:, 4:] += rows[:, :1] * (_squares(centre) - _squares(before))
    return out


def _squares(c: np.ndarray) -> np.ndarray:
    """c·c 1 − c cᵀ of (runs, 3), in the order of inertial parameters."""
    x, y, z = c.T
    return np.stack([y * y + z * z, -x * y, x * x + z * z, -x * z, -y * z, x * x + y * y], axis=1)
