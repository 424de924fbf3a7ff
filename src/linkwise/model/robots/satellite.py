"""A servicing satellite of our own design: a free-flying base of 500 kg with two seven-joint arms.

Nobody's product: a cubic bus with two solar panels along y, and on its front face (x) two equal arms of
2 m, each a chain of cylinders whose axes alternate roll (x) and pitch (y), with shoulder, elbow and wrist as
in a human arm. At zero both arms reach straight ahead.

Its gravity is (0, 0, 0): in orbit base and arms fall together, and in the frame that falls with them nothing
weighs anything. (Tidal terms, about 1e-6 of a weight over these few metres, are left out.) So total momentum
is conserved and moving an arm moves the base, which is what this robot is for.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from ..builders import assemble
from ..inertia import Inertia
from ..joints.kinds import Free, Revolute
from ..model import Model
from ..parts import Body, Frame, Joint, Limits

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


def satellite(cls: type[M]) -> M:
    """nq = 21, nv = 20; free joint "root_joint", frames "left_tool", "right_tool" and "docking_port"."""
    bodies = [Body("bus", Joint(Free(), "root_joint"), _bus())]
    frames = [Frame("docking_port", "bus", at=(-0.5 * BUS_SIZE, 0, 0))]
    for side, sign in (("left", 1), ("right", -1)):
        at: tuple[float, ...] = (0.5 * BUS_SIZE, sign * SHOULDER_SIDE, 0)
        parent = "bus"
        for i, link in enumerate(ARM, start=1):
            limits = Limits(-link.reach, link.reach, velocity=VELOCITY, effort=link.effort)
            joint = Joint(Revolute(link.axis), f"{side}_joint{i}", at=at, limits=limits)
            at = (link.length, 0, 0)
            bodies.append(Body(f"{side}_link{i}", joint, _cylinder(link), parent))
            parent = f"{side}_link{i}"
        frames.append(Frame(f"{side}_tool", parent, at=at))
    return assemble("satellite", bodies, frames, gravity=(0, 0, 0), cls=cls)


def _bus() -> Inertia:
    reach = 0.5 * BUS_SIZE + PANEL_GAP + 0.5 * PANEL_SIZE[1]
    panels = [Inertia.box(PANEL_MASS, PANEL_SIZE, at=(0, side * reach, 0)) for side in (1, -1)]
    return Inertia.box(BUS_MASS, (BUS_SIZE,) * 3) + panels[0] + panels[1]


def _cylinder(link: Link) -> Inertia:
    return Inertia.cylinder(link.mass, link.radius, (0, 0, 0), (link.length, 0, 0))
