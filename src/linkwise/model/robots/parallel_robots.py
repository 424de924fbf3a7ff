"""Robots whose platform is carried by several legs at once, of our own proportions, closed at zero.

delta    three arms of 0.25 m driven at the base ("arm1_motor" …), each with two parallel rods of 0.6 m to the platform,
         which can move in three directions and not turn: six spherical joints close what would be 21 degrees of freedom
         to 3. The base is above, gravity along −z.
stewart  six legs that slide ("leg1_slide" …) on universal joints carry a platform of 5 kg at spherical joints: 24
         degrees of freedom, of which 6 are left.
"""

from __future__ import annotations

from math import cos, pi, sin, sqrt
from typing import TypeVar

import numpy as np

from ..builders import assemble
from ..inertia import Inertia
from ..joints.kinds import Free, Prismatic, Revolute, Universal
from ..loops import Loop
from ..model import Model
from ..parts import Body, Frame, Joint, Limits

M = TypeVar("M", bound=Model)

# delta: radii of base and platform, lengths of arm and rods, half the distance between the two rods of an arm [m]
BASE_RADIUS, PLATFORM_RADIUS, ARM_LENGTH, ROD_LENGTH, HALF_GAP = 0.15, 0.05, 0.25, 0.6, 0.04
# Stewart platform: radii of base and platform, height at zero [m], half the angle between neighbouring feet [rad]
FEET_RADIUS, TOP_RADIUS, HEIGHT, HALF_ANGLE = 0.5, 0.3, 0.6, 0.2


def delta(cls: type[M]) -> M:
    """Joints "arm1_motor" … "arm3_motor", "arm1_left" … (universal), free joint "platform_joint"; frame "tool"."""
    across = BASE_RADIUS + ARM_LENGTH - PLATFORM_RADIUS
    down = sqrt(ROD_LENGTH**2 - across**2)
    motor = Limits(-1.2, 1.4, velocity=10.0, effort=20.0)
    plate = Inertia.cylinder(0.3, PLATFORM_RADIUS, (0, 0, -0.005), (0, 0, 0.005))
    bodies = [Body("platform", Joint(Free(), "platform_joint", at=(0, 0, -down)), plate)]
    frames = []
    for i in range(3):
        out = _turned_about_z(2 * pi * i / 3)
        rod_axes = np.array([[-across, 0, -down], [0, ROD_LENGTH, 0], [down, 0, -across]]).T / ROD_LENGTH
        hip = Joint(Revolute("y"), f"arm{i + 1}_motor", at=out @ (BASE_RADIUS, 0, 0), rotation=out, limits=motor)
        bodies.append(Body(f"arm{i + 1}", hip, Inertia.cylinder(0.4, 0.015, (0, 0, 0), (ARM_LENGTH, 0, 0))))
        for side, y in (("left", HALF_GAP), ("right", -HALF_GAP)):
            name = f"arm{i + 1}_{side}"
            elbow = Joint(Universal("y", "z"), name, at=(ARM_LENGTH, y, 0), rotation=rod_axes)
            rod = Inertia.cylinder(0.08, 0.006, (0, 0, 0), (ROD_LENGTH, 0, 0))
            bodies.append(Body(f"{name}_rod", elbow, rod, f"arm{i + 1}"))
            frames.append(Frame(f"{name}_end", f"{name}_rod", at=(ROD_LENGTH, 0, 0)))
            frames.append(Frame(f"{name}_seat", "platform", at=out @ (PLATFORM_RADIUS, y, 0)))
    frames.append(Frame("tool", "platform"))
    base = Inertia.cylinder(2.0, BASE_RADIUS, (0, 0, 0), (0, 0, 0.03))
    return assemble("delta", bodies, frames, base=base, cls=cls)


def delta_loops() -> tuple[Loop, ...]:
    """The spherical joints between rods and platform."""
    rods = [f"arm{i}_{side}" for i in (1, 2, 3) for side in ("left", "right")]
    return tuple(Loop(f"{rod}_seat", f"{rod}_end", "spherical", name=f"{rod}_ball") for rod in rods)


def stewart(cls: type[M]) -> M:
    """Joints "leg1_foot" … (universal), "leg1_slide" … [m], free joint "platform_joint"; frame "tool". nq = 25."""
    top = Inertia.cylinder(5.0, TOP_RADIUS, (0, 0, 0), (0, 0, 0.02))
    bodies = [Body("platform", Joint(Free(), "platform_joint", at=(0, 0, HEIGHT)), top)]
    frames = []
    for i, (foot, seat) in enumerate(_legs(), start=1):
        along = np.array([*seat, HEIGHT]) - (*foot, 0.0)
        length = float(np.linalg.norm(along))
        slide = Limits(-0.2, 0.25, velocity=0.5, effort=500.0)
        lower, upper = 0.55 * length, 0.5 * length  # they overlap inside the slide
        bodies += [
            Body(
                f"leg{i}_lower",
                Joint(Universal("y", "z"), f"leg{i}_foot", at=(*foot, 0.0), rotation=_axes_along(along / length)),
                Inertia.cylinder(0.8, 0.02, (0, 0, 0), (lower, 0, 0)),
            ),
            Body(
                f"leg{i}_upper",
                Joint(Prismatic("x"), f"leg{i}_slide", at=(length - upper, 0, 0), limits=slide),
                Inertia.cylinder(0.4, 0.012, (0, 0, 0), (upper, 0, 0)),
                f"leg{i}_lower",
            ),
        ]
        frames.append(Frame(f"leg{i}_end", f"leg{i}_upper", at=(upper, 0, 0)))
        frames.append(Frame(f"leg{i}_seat", "platform", at=(*seat, 0.0)))
    frames.append(Frame("tool", "platform", at=(0, 0, 0.02)))
    base = Inertia.cylinder(20.0, FEET_RADIUS, (0, 0, -0.03), (0, 0, 0))
    return assemble("stewart", bodies, frames, base=base, cls=cls)


def stewart_loops() -> tuple[Loop, ...]:
    """The spherical joints between legs and platform."""
    return tuple(Loop(f"leg{i}_seat", f"leg{i}_end", "spherical", name=f"leg{i}_ball") for i in range(1, 7))


def _legs() -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """(foot, seat) of every leg in the planes of base and platform: feet in pairs, seats in pairs between them."""
    out = []
    for pair in range(3):
        for side in (-1, 1):
            foot = 2 * pi * pair / 3 + side * HALF_ANGLE
            seat = 2 * pi * pair / 3 + side * (pi / 3 - HALF_ANGLE)
            on = [(r * cos(a), r * sin(a)) for r, a in ((FEET_RADIUS, foot), (TOP_RADIUS, seat))]
            out.append((on[0], on[1]))
    return out


def _turned_about_z(angle: float) -> np.ndarray:
    c, s = cos(angle), sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _axes_along(x: np.ndarray) -> np.ndarray:
    """Axes whose x is a direction, y level."""
    y = np.cross((0.0, 0.0, 1.0), x)
    y /= np.linalg.norm(y)
    return np.stack([x, y, np.cross(x, y)], axis=-1)
