"""A four-legged robot of our own design, the size of a small dog: 17 kg, 12 joints on a free base.

Nobody's product: simple solids in proportions that such robots share, drawn as they are. The trunk is a box
that carries half of the mass; each leg is a hip (roll) and a thigh (pitch) that hold their motors, as short
cylinders, and a light calf (pitch) with a small ball as its foot, thigh and calf of equal length. At zero the legs are
straight down. x is forward, y left, z up; left and right, front and rear are mirror images.
"""

from __future__ import annotations

from typing import TypeVar

from ..builders import assemble
from ..inertia import Inertia
from ..joints.kinds import Free, Revolute
from ..model import Model
from ..parts import Body, Frame, Joint, Limits
from ..visuals import Box, Visual
from . import solid_parts as parts
from .solid_parts import Part

M = TypeVar("M", bound=Model)

TRUNK_MASS, TRUNK_SIZE = 8.5, (0.50, 0.18, 0.12)  # [kg], [m]
HIP = (0.22, 0.06)  # the hips' axes from the trunk's centre, forward and sideways [m]
THIGH_OFFSET = 0.09  # from hip to thigh, sideways [m]
SHANK = 0.22  # length of thigh and of calf [m]
MOTOR_RADIUS, MOTOR_WIDTH = 0.045, 0.06  # [m]
HIP_MASS, THIGH_MOTOR, THIGH_ROD, CALF_ROD, FOOT_MASS = 0.75, 0.75, 0.35, 0.20, 0.05  # [kg]
FOOT_RADIUS = 0.02  # [m]

LEGS = {"FL": (1, 1), "FR": (1, -1), "RL": (-1, 1), "RR": (-1, -1)}  # front or rear, left or right

# joint: lower, upper [rad], velocity [rad/s], effort [N m]. The knees bend backward.
LIMITS = {
    "hip": Limits(-0.9, 0.9, velocity=20.0, effort=25.0),
    "thigh": Limits(-1.6, 3.2, velocity=20.0, effort=25.0),
    "calf": Limits(-2.7, 0.0, velocity=15.0, effort=35.0),
}


def quadruped(cls: type[M]) -> M:
    """nq = 19, nv = 18; free joint "root_joint", frames "FL_foot", "FR_foot", "RL_foot", "RR_foot", "imu"."""
    trunk = Part(Inertia.box(TRUNK_MASS, TRUNK_SIZE), _trunk_looks())
    bodies, looks = [Body("trunk", Joint(Free(), "root_joint"), trunk.inertia)], trunk.on("trunk")
    frames = [Frame("imu", "trunk")]
    for leg, (front, left) in LEGS.items():
        for link, part in _leg(leg, front, left):
            bodies.append(link)
            looks += part.on(link.name)
        frames.append(Frame(f"{leg}_foot", f"{leg}_calf", at=(0, 0, -SHANK)))
    return assemble("quadruped", bodies, frames, visuals=looks, cls=cls)


def _trunk_looks() -> tuple[Visual, ...]:
    """The box, from which the hips' motors look out, a dark back, and a face that shows where the front is."""
    length, width, height = TRUNK_SIZE
    return (
        Visual(Box((0.94 * length, width, height)), colour=parts.SHELL),
        Visual(Box((0.66 * length, 0.6 * width, 0.02)), at=(0, 0, 0.5 * height), colour=parts.MOTOR),
        Visual(Box((0.04, 0.5 * width, 0.6 * height)), at=(0.47 * length, 0, 0.15 * height), colour=parts.RUBBER),
        Visual(Box((0.012, 0.3 * width, 0.014)), at=(0.47 * length + 0.016, 0, 0.3 * height), colour=parts.ACCENT),
    )


def _leg(leg: str, front: int, left: int) -> list[tuple[Body, Part]]:
    half = 0.5 * MOTOR_WIDTH
    hip_motor = parts.rod(HIP_MASS, MOTOR_RADIUS, (-half, 0, 0), (half, 0, 0), colour=parts.MOTOR)
    thigh_motor = parts.rod(THIGH_MOTOR, MOTOR_RADIUS, (0, -half, 0), (0, half, 0), colour=parts.MOTOR)
    thigh_rod = parts.rod(THIGH_ROD, 0.02, (0, 0, 0), (0, 0, -SHANK), rounded=True)
    calf_rod = parts.rod(CALF_ROD, 0.01, (0, 0, 0), (0, 0, -SHANK), colour=parts.SHELL)
    foot = parts.ball(FOOT_MASS, FOOT_RADIUS, (0, 0, -SHANK), colour=parts.RUBBER)
    return [
        _link(leg, "hip", "x", (front * HIP[0], left * HIP[1], 0), hip_motor, "trunk"),
        _link(leg, "thigh", "y", (0, left * THIGH_OFFSET, 0), thigh_motor + thigh_rod, f"{leg}_hip"),
        _link(leg, "calf", "y", (0, 0, -SHANK), calf_rod + foot, f"{leg}_thigh"),
    ]


def _link(leg: str, name: str, axis: str, at: tuple[float, ...], part: Part, parent: str) -> tuple[Body, Part]:
    joint = Joint(Revolute(axis), f"{leg}_{name}_joint", at=at, limits=LIMITS[name])
    return Body(f"{leg}_{name}", joint, part.inertia, parent), part
