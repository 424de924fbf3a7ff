"""Simple solids of which built-in robots are made: the inertia of each together with what it looks like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..inertia import Inertia
from ..visuals import Ball, Box, Rod, Visual

Colour = tuple[float, float, float, float]

SHELL: Colour = (0.86, 0.88, 0.90, 1.0)  # covers
LIMB: Colour = (0.24, 0.48, 0.67, 1.0)
MOTOR: Colour = (0.22, 0.26, 0.31, 1.0)  # motors and joints
RUBBER: Colour = (0.13, 0.14, 0.16, 1.0)  # feet, wheels
ACCENT: Colour = (0.87, 0.44, 0.24, 1.0)


@dataclass(frozen=True)
class Part:
    """A rigid part: its inertia, and its looks in the axes of the body it will be on."""

    inertia: Inertia
    looks: tuple[Visual, ...]

    def __add__(self, other: Part) -> Part:
        return Part(self.inertia + other.inertia, (*self.looks, *other.looks))

    def dressed(self, *looks: Visual) -> Part:
        """The same part with looks that weigh nothing."""
        return Part(self.inertia, (*self.looks, *looks))

    def on(self, body: str) -> list[Visual]:
        """The looks, on this body."""
        return [Visual(x.shape, body, at=x.pose.l, rotation=x.pose.R, colour=x.colour) for x in self.looks]


def ball(mass: float, radius: float, at: Sequence[float] = (0, 0, 0), *, colour: Colour = MOTOR) -> Part:
    """A solid ball [kg, m] at ``at``."""
    return Part(Inertia.sphere(mass, radius, at), (Visual(Ball(radius), at=at, colour=colour),))


def box(mass: float, size: Sequence[float], at: Sequence[float] = (0, 0, 0), *, colour: Colour = SHELL) -> Part:
    """A solid box [kg, m] with its middle at ``at``."""
    return Part(Inertia.box(mass, size, at), (Visual(Box(size), at=at, colour=colour),))


def rod(
    mass: float,
    radius: float,
    start: Sequence[float],
    end: Sequence[float],
    *,
    colour: Colour = LIMB,
    rounded: bool = False,
    drawn: float | None = None,
) -> Part:
    """A solid cylinder [kg, m] from ``start`` to ``end``; one without thickness is drawn with the radius ``drawn``."""
    return Part(Inertia.cylinder(mass, radius, start, end), (rod_look(drawn or radius, start, end, colour, rounded),))


def rod_look(
    radius: float, start: Sequence[float], end: Sequence[float], colour: Colour = LIMB, rounded: bool = False
) -> Visual:
    """A cylinder from ``start`` to ``end``; a rounded one stays within the two."""
    a, b = np.asarray(start, float), np.asarray(end, float)
    length = float(np.linalg.norm(b - a))
    z = (b - a) / length
    x = np.eye(3)[np.argmin(np.abs(z))]
    x = (x - (x @ z) * z) / np.linalg.norm(x - (x @ z) * z)
    between = length - 2 * radius if rounded and length > 2.2 * radius else length
    shape = Rod(radius, between, rounded=between < length)
    return Visual(shape, at=0.5 * (a + b), rotation=np.stack([x, np.cross(z, x), z], axis=1), colour=colour)
