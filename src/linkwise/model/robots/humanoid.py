"""A humanoid of our own design in human proportions: 29 joints on a free base, 1.40 m, 40 kg.

Nobody's product: the lengths are the fractions of body height of Drillis and Contini ("Body segment
parameters", 1966, reproduced in Winter, *Biomechanics and Motor Control of Human Movement*), the masses the
male segment fractions of de Leva ("Adjustments to Zatsiorsky–Seluyanov's segment inertia parameters",
J. Biomechanics 29, 1996), each segment a simple solid, as it is drawn. Where several joints meet (hip, ankle, waist,
shoulder, wrist) the small links between them are balls that take a share of the segment's mass.

Layout: legs 2 × 6 (hip pitch, roll, yaw, knee, ankle pitch, roll), waist 3 (yaw, roll, pitch), arms 2 × 7
(shoulder pitch, roll, yaw, elbow, wrist yaw, pitch, roll); the head is part of the torso. At zero it stands
upright, arms hanging. x is forward, y left, z up. Right is the mirror image of left: a mirrored posture has
the same pitch angles and opposite rolls and yaws, and the limits follow.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from ..builders import assemble
from ..joints.kinds import Free, Revolute
from ..model import Model
from ..parts import Body, Frame, Joint, Limits
from ..visuals import Ball, Visual
from . import solid_parts as parts
from .solid_parts import Part

M = TypeVar("M", bound=Model)

HEIGHT, MASS = 1.40, 40.0  # [m], [kg]

# Fractions of the height (Drillis and Contini).
ANKLE, KNEE, HIP, SHOULDER, EYES = 0.039, 0.285, 0.530, 0.818, 0.936  # heights above the ground
HIP_SIDE, SHOULDER_SIDE = 0.0955, 0.129  # from the middle
UPPER_ARM, FOREARM, HAND = 0.186, 0.146, 0.108  # lengths
FOOT_LENGTH, FOOT_WIDTH = 0.152, 0.055
WAIST = 0.600  # our choice: the height of the waist's three axes
# Fractions of the mass (de Leva, men).
HEAD, UPPER_TRUNK, MIDDLE_TRUNK, PELVIS = 0.0694, 0.1596, 0.1633, 0.1117
THIGH_MASS, SHANK_MASS, FOOT_MASS = 0.1416, 0.0433, 0.0137
UPPER_ARM_MASS, FOREARM_MASS, HAND_MASS = 0.0271, 0.0162, 0.0061


class Link(NamedTuple):
    """A link and its joint: axis, joint's place on the previous link [heights], range, torque, solid."""

    joint: str
    body: str
    axis: str
    at: tuple[float, float, float]
    lower: float  # [rad]
    upper: float  # [rad]
    effort: float  # [N m]
    part: Part


VELOCITY = 12.0  # every joint [rad/s]


def _ball(share: float, radius: float) -> Part:
    """A ball at the joint; mass as a fraction of the robot's, radius as one of its height."""
    return parts.ball(share * MASS, radius * HEIGHT)


def _rod(share: float, radius: float, length: float, top: float = 0.0) -> Part:
    """A cylinder hanging down from ``top``."""
    start, end = _metres((0, 0, top)), _metres((0, 0, top - length))
    return parts.rod(share * MASS, radius * HEIGHT, start, end, rounded=True)


def _box(
    share: float,
    size: tuple[float, float, float],
    at: tuple[float, float, float],
    colour: parts.Colour = parts.SHELL,
) -> Part:
    return parts.box(share * MASS, _metres(size), _metres(at), colour=colour)


def _metres(fractions: tuple[float, float, float]) -> tuple[float, ...]:
    return tuple(x * HEIGHT for x in fractions)


# The left limbs; places are of the joint on the link before it.
# fmt: off
LEG = (
    Link("hip_pitch", "hip_pitch_link", "y", (0, HIP_SIDE, 0), -2.4, 1.0, 90, _ball(0.15 * THIGH_MASS, 0.04)),
    Link("hip_roll", "hip_roll_link", "x", (0, 0, 0), -0.5, 1.5, 90, _ball(0.15 * THIGH_MASS, 0.04)),
    Link("hip_yaw", "thigh", "z", (0, 0, 0), -1.2, 1.2, 60, _rod(0.70 * THIGH_MASS, 0.04, HIP - KNEE)),
    Link("knee", "shank", "y", (0, 0, KNEE - HIP), 0.0, 2.5, 110, _rod(SHANK_MASS, 0.03, KNEE - ANKLE)),
    Link("ankle_pitch", "ankle_link", "y", (0, 0, ANKLE - KNEE), -0.9, 0.6, 50,
         _ball(0.30 * FOOT_MASS, 0.02)),
    Link("ankle_roll", "foot", "x", (0, 0, 0), -0.4, 0.4, 30,
         _box(0.70 * FOOT_MASS, (FOOT_LENGTH, FOOT_WIDTH, 0.02), (0.25 * FOOT_LENGTH, 0, 0.01 - ANKLE), parts.RUBBER)),
)
ARM = (
    Link("shoulder_pitch", "shoulder_pitch_link", "y", (0, SHOULDER_SIDE, SHOULDER - WAIST), -3.0, 2.0, 40,
         _ball(0.20 * UPPER_ARM_MASS, 0.03)),
    Link("shoulder_roll", "shoulder_roll_link", "x", (0, 0, 0), -0.3, 2.6, 40,
         _ball(0.20 * UPPER_ARM_MASS, 0.03)),
    Link("shoulder_yaw", "upper_arm", "z", (0, 0, 0), -1.6, 1.6, 25,
         _rod(0.60 * UPPER_ARM_MASS, 0.025, UPPER_ARM)),
    Link("elbow", "forearm", "y", (0, 0, -UPPER_ARM), -2.4, 0.0, 25,
         _rod(0.60 * FOREARM_MASS, 0.02, 0.6 * FOREARM)),
    Link("wrist_yaw", "wrist_yaw_link", "z", (0, 0, -FOREARM), -1.9, 1.9, 10,
         _rod(0.30 * FOREARM_MASS, 0.02, 0.4 * FOREARM, top=0.4 * FOREARM)),
    Link("wrist_pitch", "wrist_pitch_link", "y", (0, 0, 0), -1.2, 1.2, 10, _ball(0.10 * FOREARM_MASS, 0.02)),
    Link("wrist_roll", "hand", "x", (0, 0, 0), -0.8, 0.8, 10,
         _box(HAND_MASS, (0.03, 0.02, HAND), (0, 0, -0.5 * HAND), parts.MOTOR)),
)
_CHEST = _box(UPPER_TRUNK + 0.60 * MIDDLE_TRUNK,
              (0.12, 0.20, SHOULDER - WAIST), (0, 0, 0.5 * (SHOULDER - WAIST)))
_HEAD = parts.ball(HEAD * MASS, 0.06 * HEIGHT, (0, 0, (EYES - WAIST) * HEIGHT), colour=parts.SHELL).dressed(
    parts.rod_look(0.028 * HEIGHT, _metres((0, 0, SHOULDER - WAIST)), _metres((0, 0, EYES - WAIST)), parts.MOTOR),
    Visual(Ball(0.047 * HEIGHT), at=_metres((0.018, 0, EYES - WAIST)), colour=parts.RUBBER),
    Visual(Ball(0.018 * HEIGHT), at=_metres((0.05, 0, 0.72 * (SHOULDER - WAIST))), colour=parts.ACCENT),
    parts.rod_look(0.03 * HEIGHT, _metres((0, -SHOULDER_SIDE, SHOULDER - WAIST)),
                   _metres((0, SHOULDER_SIDE, SHOULDER - WAIST)), parts.MOTOR),
)
TRUNK = (
    Link("waist_yaw", "waist_yaw_link", "z", (0, 0, WAIST - HIP), -2.0, 2.0, 80,
         _ball(0.20 * MIDDLE_TRUNK, 0.05)),
    Link("waist_roll", "waist_roll_link", "x", (0, 0, 0), -0.5, 0.5, 50, _ball(0.20 * MIDDLE_TRUNK, 0.05)),
    Link("waist_pitch", "torso", "y", (0, 0, 0), -0.5, 1.2, 50, _CHEST + _HEAD),
)
# fmt: on


def humanoid(cls: type[M]) -> M:
    """nq = 36, nv = 35; free joint "root_joint", frames "imu", "head", "left_sole", "left_palm", …"""
    pelvis = _box(PELVIS, (0.10, 0.18, 0.10), (0, 0, 0.02), parts.LIMB)
    bodies = [Body("pelvis", Joint(Free(), "root_joint"), pelvis.inertia), *_limb(TRUNK, "pelvis")]
    looks = [*pelvis.on("pelvis"), *_looks(TRUNK)]
    frames = [Frame("imu", "pelvis"), Frame("head", "torso", at=(0, 0, (EYES - WAIST) * HEIGHT))]
    for side, sign in (("left_", 1), ("right_", -1)):
        bodies += _limb(LEG, "pelvis", side, sign) + _limb(ARM, "torso", side, sign)
        looks += _looks(LEG, side) + _looks(ARM, side)
        frames.append(Frame(f"{side}sole", f"{side}foot", at=(0, 0, -ANKLE * HEIGHT)))
        frames.append(Frame(f"{side}palm", f"{side}hand", at=(0, 0, -0.5 * HAND * HEIGHT)))
    return assemble("humanoid", bodies, frames, visuals=looks, cls=cls)


def _looks(links: tuple[Link, ...], side: str = "") -> list[Visual]:
    """What a limb looks like; every solid of a limb is its own mirror image."""
    return [look for link in links for look in link.part.on(f"{side}{link.body}")]


def _limb(links: tuple[Link, ...], parent: str, side: str = "", sign: int = 1) -> list[Body]:
    """A limb as listed, or (sign −1) its mirror image in the plane y = 0; every solid is its own image."""
    out = []
    for link in links:
        x, y, z = _metres(link.at)
        lower, upper = link.lower, link.upper
        if sign < 0 and link.axis != "y":  # a mirror turns rolls and yaws round, not pitches
            lower, upper = -upper, -lower
        limits = Limits(lower, upper, velocity=VELOCITY, effort=link.effort)
        joint = Joint(Revolute(link.axis), f"{side}{link.joint}", at=(x, sign * y, z), limits=limits)
        out.append(Body(f"{side}{link.body}", joint, link.part.inertia, parent))
        parent = f"{side}{link.body}"
    return out
