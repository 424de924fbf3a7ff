"""Universal Robots UR5 (CB3 series), six revolute joints, 18.4 kg.

Sources. Denavit–Hartenberg parameters, masses and centres of mass: Universal Robots, "DH parameters for
calculations of kinematics and dynamics" (support article on universal-robots.com), as also in
ur_description of UniversalRobots/Universal_Robots_ROS2_Description (BSD-3-Clause). Position and velocity
limits: UR5 user manual (CB3); torques: their article "Max. joint torques". Names of links, joints and
frames are those of ur_description.

What is not published: inertia tensors. Each link has that of a solid cylinder of the link's size (the
radii and lengths that ur_description uses), centred at its published centre of mass. The base weighs what
the links leave of the robot's published 18.4 kg. The elbow may turn ±360° by the manual; here ±180°, as in
ur_description, because the upper arm is in the way beyond that.

The world is the controller's base frame: poses of "tool0" are those that the teach pendant shows. The
ROS frame "base_link" is turned by 180° about z. Against ur5_robot.urdf of example-robot-data (an older
ur_description) the kinematics agree; there the forearm weighs 2.275 kg and the centres of mass are rounder.
"""

from __future__ import annotations

from math import pi
from typing import NamedTuple, TypeVar

import numpy as np

from ...spatial import Transform, rotation_from_rpy
from ..builders import assemble
from ..inertia import Inertia
from ..joints.kinds import Revolute
from ..model import Model
from ..parts import Body, Frame, Joint, Limits, make_pose

M = TypeVar("M", bound=Model)

TOTAL_MASS = 18.4  # [kg], data sheet


class Link(NamedTuple):
    """One row of the table: standard DH parameters; the centre of mass is in the DH frame after the link."""

    joint: str
    body: str
    a: float  # [m]
    d: float  # [m]
    alpha: float  # [rad]
    mass: float  # [kg]
    com: tuple[float, float, float]  # [m]
    along: int  # the body axis (0 = x, 2 = z, the joint's axis) that the cylinder lies along
    radius: float  # [m]
    length: float  # [m]
    reach: float  # largest angle, both ways [rad]
    effort: float  # [N m]


# fmt: off
LINKS = (
    Link("shoulder_pan_joint", "shoulder_link", 0, 0.089159, pi / 2,
         3.7, (0, -0.02561, 0.00193), 2, 0.075, 0.178, 2 * pi, 150),
    Link("shoulder_lift_joint", "upper_arm_link", -0.425, 0, 0,
         8.393, (0.2125, 0, 0.11336), 0, 0.06, 0.425, 2 * pi, 150),
    Link("elbow_joint", "forearm_link", -0.39225, 0, 0,
         2.33, (0.15, 0, 0.0265), 0, 0.06, 0.39225, pi, 150),
    Link("wrist_1_joint", "wrist_1_link", 0, 0.10915, pi / 2,
         1.219, (0, -0.0018, 0.01634), 2, 0.06, 0.095, 2 * pi, 28),
    Link("wrist_2_joint", "wrist_2_link", 0, 0.09465, -pi / 2,
         1.219, (0, 0.0018, 0.01634), 2, 0.06, 0.085, 2 * pi, 28),
    Link("wrist_3_joint", "wrist_3_link", 0, 0.0823, 0,
         0.1879, (0, 0, -0.001159), 2, 0.0375, 0.0305, 2 * pi, 28),
)
# fmt: on


def ur5(cls: type[M]) -> M:
    """The UR5, nq = nv = 6, with frames "base", "base_link", "flange" and "tool0"."""
    bodies: list[Body] = []
    pose = Transform.identity()  # of the next joint on the last body
    for row in LINKS:
        limits = Limits(-row.reach, row.reach, velocity=pi, effort=row.effort)
        joint = Joint(Revolute("z"), row.joint, at=pose.l, rotation=pose.R, limits=limits)
        # DH frame k = Rz(θ) · [Tz(d) Tx(a) Rx(α)], and the bracket is fixed on the body.
        pose = make_pose((row.a, 0, row.d), rotation=_about_x(row.alpha))
        bodies.append(Body(row.body, joint, _inertia(row, pose), bodies[-1].name if bodies else None))
    frames = [
        Frame("base"),
        Frame("base_link", rpy=(0, 0, pi)),
        # The same place: x points out of the flange (REP 199), z out of the tool.
        Frame.from_pose("flange", bodies[-1].name, pose.compose(make_pose(rpy=(0, -pi / 2, -pi / 2)))),
        Frame.from_pose("tool0", bodies[-1].name, pose),
    ]
    rest = TOTAL_MASS - sum(row.mass for row in LINKS)
    base = Inertia.cylinder(rest, 0.06, (0, 0, 0), (0, 0, 0.05))
    return assemble("ur5", bodies, frames, base=base, cls=cls)


def _about_x(angle: float) -> np.ndarray:
    """Rx(angle), exact at quarter turns, so that their zeros fold away in compiled code."""
    return np.round(rotation_from_rpy((angle, 0, 0)), 15) + 0.0


def _inertia(row: Link, after: Transform) -> Inertia:
    """A cylinder at the centre of mass, which is given in the frame after the link."""
    centre = after.apply(make_pose(row.com).l)
    half = [0.0, 0.0, 0.0]
    half[row.along] = 0.5 * row.length
    return Inertia.cylinder(row.mass, row.radius, centre - half, centre + half)
