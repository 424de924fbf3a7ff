"""Textbook mechanisms with a loop, all from simple solids, closed at zero.

four_bar      crank 0.3 m, coupler 0.8 m and rocker 0.6 m on a ground of 1 m, in the plane y = 0, gravity along −z. The
              crank is the shortest link and, with the longest, shorter than the other two together: it turns round and
              round (Grashof). At zero it leans 1.3 rad from the ground.
slider_crank  a crank of 0.15 m, a connecting rod of 0.5 m and a slider of 1.4 kg along x. At zero the crank is at
              0.7 rad.
gripper       two fingers on parallel linkages that one motor closes: three joints follow "left_knuckle", so that the
              finger tips move in and out and stay parallel.
governor      Watt's: two balls of 2 kg on arms of 0.25 m that swing out as a spindle about z turns, and by two links
              lift a sleeve along it. All four bars are equally long and hinged on the axis, as a rhombus. At zero the
              arms are 0.6 rad from hanging down.
"""

from __future__ import annotations

from math import asin, atan2, cos, hypot, pi, sin
from typing import TypeVar

import numpy as np

from ..builders import assemble
from ..edit import couple
from ..inertia import Inertia
from ..joints.kinds import Prismatic, Revolute
from ..loops import Loop
from ..model import Model
from ..parts import Body, Frame, Joint, Limits
from ..visuals import Ball, Rod, Visual

M = TypeVar("M", bound=Model)

GROUND, CRANK, COUPLER, ROCKER = 1.0, 0.3, 0.8, 0.6  # four-bar [m]
CRANK_ANGLE = 1.3  # of the four-bar at zero [rad]
ROD_RADIUS = 0.01  # of all bars [m]
MASSES = {"crank": 0.5, "coupler": 0.9, "rocker": 0.7}  # [kg]
THROW, ROD, SLIDER_ANGLE = 0.15, 0.5, 0.7  # slider-crank [m, m, rad]
KNUCKLE, TIP, PALM = 0.06, 0.05, 0.04  # gripper: lengths [m], half the distance between the knuckles [m]
SWING = Limits(0.0, 0.8, velocity=2.0, effort=5.0)  # of a knuckle
BAR, BALL_RADIUS, BALL_ANGLE = 0.25, 0.04, 0.6  # governor [m, m, rad]
GOVERNOR_MASSES = {"arm": 0.3, "ball": 2.0, "link": 0.2, "sleeve": 1.5, "spindle": 1.0}  # [kg]
STEEL, BRASS = (0.35, 0.39, 0.43, 1.0), (0.85, 0.65, 0.25, 1.0)


def four_bar(cls: type[M]) -> M:
    """Hinges "crank_hinge", "coupler_hinge" and "rocker_hinge" about −y; frames "coupler_end", "rocker_end". nv = 3."""
    end = (CRANK * cos(CRANK_ANGLE), CRANK * sin(CRANK_ANGLE))
    coupler, rocker = _triangle(end)
    bodies = [
        Body("crank", _hinge("crank_hinge", (0, 0, 0), CRANK_ANGLE), _rod(CRANK, MASSES["crank"])),
        Body(
            "coupler",
            _hinge("coupler_hinge", (CRANK, 0, 0), coupler - CRANK_ANGLE),
            _rod(COUPLER, MASSES["coupler"]),
            "crank",
        ),
        Body("rocker", _hinge("rocker_hinge", (GROUND, 0, 0), rocker), _rod(ROCKER, MASSES["rocker"])),
    ]
    # Their z is the hinge that joins them.
    frames = [
        Frame("coupler_end", "coupler", at=(COUPLER, 0, 0), rotation=_HINGE),
        Frame("rocker_end", "rocker", at=(ROCKER, 0, 0), rotation=_HINGE),
    ]
    return assemble("four_bar", bodies, frames, cls=cls)


def four_bar_loops() -> tuple[Loop, ...]:
    """The hinge between rocker and coupler."""
    return (Loop("rocker_end", "coupler_end", "revolute", name="rocker and coupler"),)


def slider_crank(cls: type[M]) -> M:
    """Hinges "crank_hinge" and "rod_hinge" about −y, slider "slide" along x; frames "rod_end", "pin". nv = 3."""
    lean = -asin(THROW * sin(SLIDER_ANGLE) / ROD)
    reach = THROW * cos(SLIDER_ANGLE) + ROD * cos(lean)
    bodies = [
        Body("crank", _hinge("crank_hinge", (0, 0, 0), SLIDER_ANGLE), _rod(THROW, 0.9)),
        Body("rod", _hinge("rod_hinge", (THROW, 0, 0), lean - SLIDER_ANGLE), _rod(ROD, 0.6), "crank"),
        Body("slider", Joint(Prismatic("x"), "slide", at=(reach, 0, 0)), Inertia.box(1.4, (0.12, 0.1, 0.08))),
    ]
    frames = [
        Frame("rod_end", "rod", at=(ROD, 0, 0), rotation=_HINGE),
        Frame("pin", "slider", rotation=_HINGE),
    ]
    return assemble("slider_crank", bodies, frames, cls=cls)


def slider_crank_loops() -> tuple[Loop, ...]:
    """The hinge between slider and connecting rod."""
    return (Loop("pin", "rod_end", "revolute", name="slider and rod"),)


def gripper(cls: type[M]) -> M:
    """Joint "left_knuckle" moves four bodies: fingers open as it grows. Frames "left_pad", "right_pad". nv = 1."""
    bodies, frames = [], []
    for side, sign in (("left", 1.0), ("right", -1.0)):
        axis = (-sign, 0, 0)  # both knuckles swing outwards as their angles grow
        knuckle = Joint(Revolute(axis), f"{side}_knuckle", at=(0, sign * PALM, 0), limits=SWING)
        tip = Joint(Revolute(axis), f"{side}_tip", at=(0, 0, KNUCKLE))
        bodies += [
            Body(f"{side}_finger", knuckle, Inertia.cylinder(0.06, 0.008, (0, 0, 0), (0, 0, KNUCKLE))),
            Body(f"{side}_fingertip", tip, Inertia.box(0.03, (0.02, 0.01, TIP), at=(0, 0, TIP / 2)), f"{side}_finger"),
        ]
        frames.append(Frame(f"{side}_pad", f"{side}_fingertip", at=(0, 0, TIP)))
    palm = Inertia.box(0.4, (0.06, 0.14, 0.05), at=(0, 0, -0.025))
    robot = assemble("gripper", bodies, frames, base=palm, base_name="palm", cls=cls)
    for dependent, ratio in (("right_knuckle", 1.0), ("left_tip", -1.0), ("right_tip", -1.0)):
        robot = couple(robot, dependent, "left_knuckle", ratio, 0.0)
    return robot


def governor(cls: type[M]) -> M:
    """Joints "spindle_joint", "left_swing", "left_link_hinge", "right_…", "sleeve_slide" [m]; frames "left_ball", …"""
    m, drop = GOVERNOR_MASSES, 2 * BAR * cos(BALL_ANGLE)
    spindle = Inertia.cylinder(m["spindle"], 0.015, (0, 0, 0), (0, 0, -2 * BAR))
    sleeve = Inertia.cylinder(m["sleeve"], 0.04, (0, 0, -0.03), (0, 0, 0.03))
    ball = Inertia.sphere(m["ball"], BALL_RADIUS, at=(BAR, 0, 0))
    bodies = [
        Body("spindle", Joint(Revolute("z"), "spindle_joint"), spindle),
        Body("sleeve", Joint(Prismatic("z"), "sleeve_slide", at=(0, 0, -drop)), sleeve, "spindle"),
    ]
    looks = [
        Visual(Rod(0.015, 2 * BAR), "spindle", at=(0, 0, -BAR), colour=STEEL),
        Visual(Rod(0.04, 0.06), "sleeve", colour=BRASS),
    ]
    frames = []
    for side, turn in _SIDES.items():
        swing = _hinge(f"{side}_swing", (0, 0, 0), BALL_ANGLE - pi / 2, turn)
        knee = _hinge(f"{side}_link_hinge", (BAR, 0, 0), -2 * BALL_ANGLE)
        bodies += [
            Body(f"{side}_arm", swing, _rod(BAR, m["arm"]) + ball, "spindle"),
            Body(f"{side}_link", knee, _rod(BAR, m["link"]), f"{side}_arm"),
        ]
        frames += [
            Frame(f"{side}_ball", f"{side}_arm", at=(BAR, 0, 0)),
            Frame(f"{side}_link_end", f"{side}_link", at=(BAR, 0, 0), rotation=_HINGE),
            Frame(f"{side}_pin", "sleeve", rotation=turn @ _HINGE),
        ]
        bars = [Visual(Rod(ROD_RADIUS, BAR), f"{side}_{x}", at=(BAR / 2, 0, 0), rpy=(0, pi / 2, 0)) for x in _BARS]
        looks += [*bars, Visual(Ball(BALL_RADIUS), f"{side}_arm", at=(BAR, 0, 0), colour=BRASS)]
    return assemble("governor", bodies, frames, visuals=looks, cls=cls)


def governor_loops() -> tuple[Loop, ...]:
    """The hinges between the links and the sleeve."""
    return tuple(Loop(f"{side}_pin", f"{side}_link_end", "revolute", name=f"{side} link and sleeve") for side in _SIDES)


# Axes of a hinge about −y, along which angles in the plane of x and z grow from x to z.
_HINGE = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
_BARS = ("arm", "link")
# The second side of a mechanism is the first one, turned by half a turn about z.
_SIDES = {"left": np.eye(3), "right": np.diag([-1.0, -1.0, 1.0])}


def _hinge(name: str, at: tuple[float, ...], angle: float, turn: np.ndarray | None = None) -> Joint:
    """A hinge about −y whose zero is at an angle from the x axis of what carries it (turned first) towards z."""
    c, s = cos(angle), sin(angle)
    rotation = np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]])
    return Joint(Revolute((0, -1, 0)), name, at=at, rotation=rotation if turn is None else turn @ rotation)


def _rod(length: float, mass: float) -> Inertia:
    return Inertia.cylinder(mass, ROD_RADIUS, (0, 0, 0), (length, 0, 0))


def _triangle(end: tuple[float, float]) -> tuple[float, float]:
    """The angles of coupler and rocker (open branch) where the crank ends at a point of the plane."""
    dx, dz = GROUND - end[0], -end[1]
    d = hypot(dx, dz)
    along = (COUPLER**2 - ROCKER**2 + d**2) / (2 * d)
    up = (COUPLER**2 - along**2) ** 0.5
    meet = (end[0] + (along * dx - up * dz) / d, end[1] + (along * dz + up * dx) / d)
    return atan2(meet[1] - end[1], meet[0] - end[0]), atan2(meet[1], meet[0] - GROUND)
