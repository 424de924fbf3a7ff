"""A servicing satellite of our own design: a free-flying base of 500 kg with two seven-joint arms.

Nobody's product: a cubic bus with two solar panels along y, and on its front face (x) two equal arms of
2 m, each a chain of cylinders whose axes alternate roll (x) and pitch (y), with shoulder, elbow and wrist as
in a human arm. At zero both arms reach straight ahead.

Its gravity is (0, 0, 0): in orbit base and arms fall together, and in the frame that falls with them nothing
weighs anything. (Tidal terms, about 1e-6 of a weight over these few metres, are left out.) So total momentum
is conserved and moving an arm moves the base, which is what this robot is for.

satellite_pair is the same with another satellite, of 150 kg, welded to both its hands: at zero the arms are bent
outwards and hold it ahead of them.
"""

from __future__ import annotations

from math import pi
from typing import NamedTuple, TypeVar

from ...arrays import as_numpy
from ...spatial import Transform
from ..builders import assemble
from ..inertia import Inertia
from ..joints.kinds import Free, Revolute
from ..loops import Loop
from ..model import Model
from ..parts import Body, Frame, Joint, Limits, make_pose
from ..visuals import Ball, Box, Rod, Visual
from . import solid_parts as parts

M = TypeVar("M", bound=Model)

BUS_MASS, BUS_SIZE = 450.0, 1.4  # [kg], side of the cube [m]
PANEL_MASS, PANEL_SIZE = 25.0, (0.03, 3.0, 1.2)  # each of two [kg], [m]
PANEL_GAP = 0.3  # from bus to panel [m]
SHOULDER_SIDE = 0.45  # from the middle of the front face [m]


class Link(NamedTuple):
    """A cylinder along x from its joint to the next: axis, length, radius, mass, range, torque."""

    axis: str
    length: float  # [m]
    radius: float  # [m]
    mass: float  # [kg]
    reach: float  # largest angle, both ways [rad]
    effort: float  # [N m]


VELOCITY = 0.5  # every joint [rad/s]
ARM = (
    Link("x", 0.20, 0.09, 7.0, 3.0, 80.0),  # shoulder
    Link("y", 0.35, 0.08, 7.0, 2.0, 80.0),
    Link("x", 0.40, 0.07, 6.0, 3.0, 60.0),
    Link("y", 0.35, 0.07, 5.0, 2.4, 60.0),  # elbow
    Link("x", 0.40, 0.06, 4.0, 3.0, 30.0),
    Link("y", 0.15, 0.06, 3.0, 2.0, 30.0),  # wrist
    Link("x", 0.15, 0.06, 2.0, 3.0, 30.0),
)


# satellite_pair: the arms' angles where it has its zero (those of the left arm; rolls of the right one are opposite)
HOLDING = (pi / 2, 0.7, 0.0, -1.4, 0.0, 0.7, 0.0)  # [rad]
HELD_MASS, HELD_SIZE = 150.0, (1.0, 1.2, 1.0)  # [kg], [m]
BUS_COLOUR, PANEL_COLOUR, HELD_COLOUR = (0.82, 0.7, 0.4, 1.0), (0.16, 0.26, 0.5, 1.0), (0.6, 0.63, 0.66, 1.0)


def satellite(cls: type[M]) -> M:
    """nq = 21, nv = 20; free joint "root_joint", frames "left_tool", "right_tool" and "docking_port"."""
    bodies, frames, _ = _with_arms((0.0,) * len(ARM))
    return assemble("satellite", bodies, frames, gravity=(0, 0, 0), visuals=_looks(), cls=cls)


def satellite_pair(cls: type[M]) -> M:
    """nq = 28, nv = 26; free joints "root_joint" and "held_joint"; beside those above, frames "left_handle", …"""
    bodies, frames, tools = _with_arms(HOLDING)
    at = (float(as_numpy(tools["left"].l)[0]) + 0.5 * HELD_SIZE[0], 0.0, 0.0)
    bodies.append(Body("held", Joint(Free(), "held_joint", at=at), Inertia.box(HELD_MASS, HELD_SIZE)))
    for side, tool in tools.items():
        frames.append(Frame(f"{side}_handle", "held", at=tool.l - at, rotation=tool.R))
    looks = [*_looks(), Visual(Box(HELD_SIZE), "held", colour=HELD_COLOUR)]
    return assemble("satellite_pair", bodies, frames, gravity=(0, 0, 0), visuals=looks, cls=cls)


def satellite_pair_loops() -> tuple[Loop, ...]:
    """The hands, welded to the handles."""
    return tuple(Loop(f"{side}_handle", f"{side}_tool", "weld", name=f"{side} hand") for side in ("left", "right"))


def _with_arms(angles: tuple[float, ...]) -> tuple[list[Body], list[Frame], dict[str, Transform]]:
    """Bus and arms with their zero at these angles, and where the tools are then."""
    bodies = [Body("bus", Joint(Free(), "root_joint"), _bus())]
    frames = [Frame("docking_port", "bus", at=(-0.5 * BUS_SIZE, 0, 0))]
    tools = {}
    for side, sign in (("left", 1), ("right", -1)):
        at: tuple[float, ...] = (0.5 * BUS_SIZE, sign * SHOULDER_SIDE, 0)
        parent, tool = "bus", make_pose()
        for i, (link, given) in enumerate(zip(ARM, angles), start=1):
            angle = sign * given if link.axis == "x" else given  # the right arm is the left one in a mirror
            limits = Limits(-link.reach - angle, link.reach - angle, velocity=VELOCITY, effort=link.effort)
            rpy = (angle, 0, 0) if link.axis == "x" else (0, angle, 0)
            joint = Joint(Revolute(link.axis), f"{side}_joint{i}", at=at, rpy=rpy, limits=limits)
            tool = tool.compose(joint.placement)
            at = (link.length, 0, 0)
            bodies.append(Body(f"{side}_link{i}", joint, _cylinder(link), parent))
            parent = f"{side}_link{i}"
        frames.append(Frame(f"{side}_tool", parent, at=at))
        tools[side] = tool.compose(make_pose(at))
    return bodies, frames, tools


def _bus() -> Inertia:
    panels = [Inertia.box(PANEL_MASS, PANEL_SIZE, at=at) for at in _panel_places()]
    return Inertia.box(BUS_MASS, (BUS_SIZE,) * 3) + panels[0] + panels[1]


def _panel_places() -> list[tuple[float, float, float]]:
    reach = 0.5 * BUS_SIZE + PANEL_GAP + 0.5 * PANEL_SIZE[1]
    return [(0.0, side * reach, 0.0) for side in (1, -1)]


def _looks() -> list[Visual]:
    """The solids that the inertias are those of; what marks panels, joints and hands weighs nothing."""
    panels = [Visual(Box(PANEL_SIZE), "bus", at=at, colour=PANEL_COLOUR) for at in _panel_places()]
    reach = 0.5 * BUS_SIZE + PANEL_GAP
    booms = [parts.rod_look(0.04, (0, s * 0.5 * BUS_SIZE, 0), (0, s * reach, 0), parts.SHELL) for s in (1, -1)]
    cells = [
        Visual(Box((0.04, 0.02, PANEL_SIZE[2])), at=(0, s * (reach + k * PANEL_SIZE[1] / 5), 0), colour=parts.SHELL)
        for s in (1, -1)
        for k in range(6)
    ]
    dish = parts.rod_look(0.32, (0, 0, 0.5 * BUS_SIZE), (0, 0, 0.5 * BUS_SIZE + 0.08), parts.SHELL)
    return [
        Visual(Box((BUS_SIZE,) * 3), "bus", colour=BUS_COLOUR),
        *panels,
        *parts.Part(_bus(), (*booms, *cells, dish)).on("bus"),
        *(look for side in ("left", "right") for look in _arm_looks(side)),
    ]


def _arm_looks(side: str) -> list[Visual]:
    """Cylinders, a dark motor across each pitch joint, and a hand."""
    looks: list[Visual] = []
    for i, link in enumerate(ARM, start=1):
        body = f"{side}_link{i}"
        looks.append(Visual(Rod(link.radius, link.length), body, at=(0.5 * link.length, 0, 0), rpy=(0, pi / 2, 0)))
        if link.axis == "y":
            half = 1.35 * link.radius
            motor = Rod(1.15 * link.radius, 2 * half)
            looks.append(Visual(motor, body, rpy=(pi / 2, 0, 0), colour=parts.MOTOR))
    hand = Visual(Ball(1.2 * ARM[-1].radius), f"{side}_link{len(ARM)}", at=(ARM[-1].length, 0, 0), colour=parts.ACCENT)
    return [*looks, hand]


def _cylinder(link: Link) -> Inertia:
    return Inertia.cylinder(link.mass, link.radius, (0, 0, 0), (link.length, 0, 0))
