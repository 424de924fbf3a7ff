"""What bodies look like: shapes placed on them. Data for those who draw; no algorithm reads it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from ..errors import ModelError
from ..spatial import Transform
from ..values import ByValue, fixed
from .inertia import as_array, as_number, as_vector
from .parts import set_pose


@dataclass(frozen=True, eq=False)
class Shape(ByValue):
    """A shape in its own axes. One of Box, Ball, Rod, Mesh, Surface."""


def _positive(value: Any, what: str) -> float:
    number = as_number(value, what)
    if number <= 0:
        raise ModelError(f"{what} must be positive, got {number:g}")
    return number


@dataclass(frozen=True, eq=False)
class Box(Shape):
    """A box with sides ``size`` (3,) [m]."""

    size: Any

    def __post_init__(self) -> None:
        size = as_vector(self.size, "the size of a box")
        if (size <= 0).any():
            raise ModelError(f"the sides of a box must be positive, got {size.tolist()}")
        object.__setattr__(self, "size", size)


@dataclass(frozen=True, eq=False)
class Ball(Shape):
    """A ball of this ``radius`` [m]."""

    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _positive(self.radius, "the radius of a ball"))


@dataclass(frozen=True, eq=False)
class Rod(Shape):
    """A cylinder along z, ``length`` [m] between its flat ends, or between the centres of its round ones."""

    radius: float
    length: float
    _: KW_ONLY
    rounded: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _positive(self.radius, "the radius of a rod"))
        object.__setattr__(self, "length", _positive(self.length, "the length of a rod"))


@dataclass(frozen=True, eq=False)
class Mesh(Shape):
    """Triangles in a file, named as the robot's file names it (``package://…`` too), seen from ``folder``."""

    file: str
    _: KW_ONLY
    folder: str = ""
    scale: Any = (1.0, 1.0, 1.0)

    def __post_init__(self) -> None:
        if not isinstance(self.file, str) or not self.file.strip():
            raise ModelError(f"a mesh is given by the name of its file, got {self.file!r}")
        object.__setattr__(self, "scale", as_vector(self.scale, "the scale of a mesh"))


@dataclass(frozen=True, eq=False)
class Surface(Shape):
    """Triangles of no file: ``vertices`` (n, 3) [m] and, as indices of them, ``faces`` (m, 3)."""

    vertices: Any
    faces: Any

    def __post_init__(self) -> None:
        vertices = as_array(self.vertices, "the vertices of a surface are numbers")
        as_array(self.faces, "the faces of a surface are whole numbers")
        faces = np.array(self.faces)
        if vertices.ndim != 2 or vertices.shape[1] != 3 or not np.isfinite(vertices).all():
            raise ModelError(f"the vertices of a surface are finite numbers (n, 3), got shape {vertices.shape}")
        if faces.ndim != 2 or faces.shape[1] != 3 or faces.dtype.kind not in "iu" or not len(faces):
            raise ModelError(f"the faces of a surface are whole numbers (m, 3), got shape {faces.shape}")
        if faces.min() < 0 or faces.max() >= len(vertices):
            raise ModelError(f"the faces of a surface count its {len(vertices)} vertices from 0")
        object.__setattr__(self, "vertices", fixed(vertices))
        object.__setattr__(self, "faces", fixed(faces.astype(int)))


@dataclass(frozen=True, eq=False)
class Visual(ByValue):
    """A shape on a body (``None``: on the world) at ``at`` [m], ``rpy`` [rad]; ``colour`` is (r, g, b, a), 0 to 1."""

    shape: Shape
    body: str | None = None
    _: KW_ONLY
    at: Any = field(default=(0.0, 0.0, 0.0), compare=False)
    rpy: Any = field(default=None, compare=False)
    rotation: Any = field(default=None, compare=False)
    colour: Any = None
    pose: Transform = field(init=False, repr=False)

    def __post_init__(self) -> None:
        what = "a visual" if self.body is None else f"a visual on body {self.body!r}"
        if not isinstance(self.shape, Shape):
            raise ModelError(f"{what} needs a shape such as lw.Box((1, 1, 1)), got {self.shape!r}")
        set_pose(self, "pose", what)
        if self.colour is not None:
            given = as_vector(self.colour, f"the colour of {what}", 4)
            object.__setattr__(self, "colour", fixed(np.clip(given, 0.0, 1.0)))

    def moved(self, body: str | None, pose: Transform) -> Visual:
        """The same look on another body, in which its present body has this pose."""
        placed = pose.compose(self.pose)
        return Visual(self.shape, body, at=placed.l, rotation=placed.R, colour=self.colour)
