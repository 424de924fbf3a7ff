"""Franka Emika Panda: a seven-joint arm with its two-finger hand.

Sources. Kinematics (DH parameters in Craig's convention), joint limits and torques: Franka Emika, Franka
Control Interface documentation, "Robot and interface specifications". Dynamic parameters (masses, centres
of mass, inertia tensors): identified by C. Gaz, M. Cognetti, A. Oliva, P. Robuffo Giordano and A. De Luca,
"Dynamic Identification of the Franka Emika Panda Robot With Retrieval of Feasible Parameters Using
Penalty-Based Optimization", IEEE Robotics and Automation Letters 4(4), 2019; the link-by-link figures, and
the hand's, are those of franka_description in frankaemika/franka_ros (Apache-2.0). They reproduce measured
torques; single links are not what a scale would show (link 1: 5.0 kg, link 2: 0.65 kg).

Names are those of franka_description; "flange", "hand" and "tcp" are short for "panda_link8", "panda_hand"
and "panda_hand_tcp". ``panda`` has the fingers closed and fixed; in ``panda_gripper`` they slide. Zero lies
outside the limits of joint 4, as on the real robot.
"""

from __future__ import annotations

from math import pi
from typing import NamedTuple, TypeVar

import numpy as np

from ...spatial import rotation_from_rpy
from .. import edit
from ..builders import assemble
from ..inertia import Inertia
from ..joints.kinds import Prismatic, Revolute
from ..model import Model
from ..parts import Body, Frame, Joint, Limits, Mimic, make_pose

M = TypeVar("M", bound=Model)


class Axis(NamedTuple):
    """One joint: a and α lie before it, d along it (Craig's DH); limits of angle, speed and torque."""

    a: float  # [m]
    d: float  # [m]
    alpha: float  # [rad]
    lower: float  # [rad]
    upper: float  # [rad]
    velocity: float  # [rad/s]
    effort: float  # [N m]


class Link(NamedTuple):
    """Mass [kg], centre of mass [m], tensor there (xx, yy, zz, xy, xz, yz) [kg m²], in the link's axes."""

    mass: float
    com: tuple[float, float, float]
    tensor: tuple[float, float, float, float, float, float]


AXES = (
    Axis(0, 0.333, 0, -2.8973, 2.8973, 2.175, 87),
    Axis(0, 0, -pi / 2, -1.7628, 1.7628, 2.175, 87),
    Axis(0, 0.316, pi / 2, -2.8973, 2.8973, 2.175, 87),
    Axis(0.0825, 0, pi / 2, -3.0718, -0.0698, 2.175, 87),
    Axis(-0.0825, 0.384, -pi / 2, -2.8973, 2.8973, 2.61, 12),
    Axis(0, 0, pi / 2, -0.0175, 3.7525, 2.61, 12),
    Axis(0.088, 0, pi / 2, -2.8973, 2.8973, 2.61, 12),
)
FLANGE, HAND_TURN, TCP, FINGERS = 0.107, -pi / 4, 0.1034, 0.0584  # along z [m], about z [rad]

# fmt: off
LINKS = (  # link 0, bolted to the world, to link 7
    Link(0.629769, (-0.041018, -0.00014, 0.049974),
         (0.00315, 0.00388, 0.004285, 8.2904e-07, 0.00015, 8.2299e-06)),
    Link(4.970684, (0.003875, 0.002081, -0.04762),
         (0.70337, 0.70661, 0.009117, -0.000139, 0.006772, 0.019169)),
    Link(0.646926, (-0.003141, -0.02872, 0.003495),
         (0.007962, 0.02811, 0.025995, -0.003925, 0.010254, 0.000704)),
    Link(3.228604, (0.027518, 0.039252, -0.066502),
         (0.037242, 0.036155, 0.01083, -0.004761, -0.011396, -0.012805)),
    Link(3.587895, (-0.05317, 0.104419, 0.027454),
         (0.025853, 0.019552, 0.028323, 0.007796, -0.001332, 0.008641)),
    Link(1.225946, (-0.011953, 0.041065, -0.038437),
         (0.035549, 0.029474, 0.008627, -0.002117, -0.004037, 0.000229)),
    Link(1.666555, (0.060149, -0.014117, -0.010517),
         (0.001964, 0.004354, 0.005433, 0.000109, -0.001158, 0.000341)),
    Link(0.735522, (0.010517, -0.004252, 0.061597),
         (0.012516, 0.010027, 0.004815, -0.000428, -0.001196, -0.000741)),
)
# fmt: on
HAND = Link(0.73, (-0.01, 0, 0.03), (0.001, 0.0025, 0.0017, 0, 0, 0))
FINGER = Link(0.015, (0, 0, 0), (2.375e-06, 2.375e-06, 7.5e-07, 0, 0, 0))


def panda(cls: type[M]) -> M:
    """The arm with its hand, fingers closed and fixed: nq = nv = 7."""
    return edit.lock(panda_gripper(cls, name="panda"), ["panda_finger_joint1", "panda_finger_joint2"])


def panda_gripper(cls: type[M], name: str = "panda_gripper") -> M:
    """The arm with a hand whose two fingers slide, each on its own joint: nq = nv = 9."""
    bodies = [_link(i) for i in range(1, 8)]
    flange = make_pose((0, 0, FLANGE))
    hand = flange.compose(make_pose(rpy=(0, 0, HAND_TURN)))
    last = bodies[-1]
    bodies[-1] = Body(last.name, last.joint, last.inertia + _inertia(HAND).moved(hand), last.parent)
    for finger, axis, side in ((1, "y", "left"), (2, "-y", "right")):
        grip = hand.compose(make_pose((0, 0, FINGERS)))
        joint = Joint(
            Prismatic(axis),
            f"panda_finger_joint{finger}",
            at=grip.l,
            rotation=grip.R,
            limits=Limits(0.0, 0.04, velocity=0.2, effort=100.0),
            mimic=Mimic("panda_finger_joint1") if finger == 2 else None,
        )
        bodies.append(Body(f"panda_{side}finger", joint, _inertia(FINGER), last.name))
    tcp = hand.compose(make_pose((0, 0, TCP)))
    poses = {"flange": flange, "hand": hand, "tcp": tcp}
    poses |= {"panda_link8": flange, "panda_hand": hand, "panda_hand_tcp": tcp}
    frames = [Frame("panda_link0"), *(Frame.from_pose(f, last.name, pose) for f, pose in poses.items())]
    return assemble(name, bodies, frames, base=_inertia(LINKS[0]), base_name="panda_link0", cls=cls)


def _link(i: int) -> Body:
    """Link i on joint i: Tx(a) Rx(α) Tz(d), then the turn about z (Craig's convention)."""
    x = AXES[i - 1]
    # Exact at quarter turns, so that their zeros fold away in compiled code.
    R = np.round(rotation_from_rpy((x.alpha, 0, 0)), 15) + 0.0
    limits = Limits(x.lower, x.upper, velocity=x.velocity, effort=x.effort)
    joint = Joint(Revolute("z"), f"panda_joint{i}", at=R @ (x.a, 0, x.d), rotation=R, limits=limits)
    return Body(f"panda_link{i}", joint, _inertia(LINKS[i]), f"panda_link{i - 1}" if i > 1 else None)


def _inertia(link: Link) -> Inertia:
    xx, yy, zz, xy, xz, yz = link.tensor
    return Inertia(link.mass, link.com, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
