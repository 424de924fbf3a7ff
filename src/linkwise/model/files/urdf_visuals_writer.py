"""The looks of a :class:`Model` as <visual> elements of a URDF file.

Boxes, balls and cylinders are written as they are, a rod with round ends as a cylinder and two balls. Meshes are
written by the name of their file: ``package://…`` as it stands, others from the folder that the URDF will lie in.
Triangles of no file cannot be said.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from ...spatial import Transform
from ..visuals import Ball, Box, Mesh, Rod, Shape, Surface, Visual

Write = Callable[[Element, Transform], None]  # an <origin>


def write_visuals(
    link: Element, visuals: Sequence[Visual], write_origin: Write, number: Callable[[float], str], folder: str | None
) -> None:
    """The <visual> elements of one link."""
    for visual in visuals:
        for shape, pose in _sayable(visual.shape):
            element = SubElement(link, "visual")
            write_origin(element, visual.pose.compose(pose))
            geometry = SubElement(element, "geometry")
            tag, attributes = _said(shape, number, folder)
            SubElement(geometry, tag, attributes)
            if visual.colour is not None:
                rgba = " ".join(number(x) for x in visual.colour)
                material = SubElement(element, "material", name=f"rgba {rgba}")
                SubElement(material, "color", rgba=rgba)


def unsayable(visuals: Sequence[Visual]) -> dict[str, int]:
    """Bodies (the world as "world") whose looks include triangles of no file, and how many such."""
    found: dict[str, int] = {}
    for visual in visuals:
        if isinstance(visual.shape, Surface):
            name = visual.body or "world"
            found[name] = found.get(name, 0) + 1
    return found


def _sayable(shape: Shape) -> Iterator[tuple[Shape, Transform]]:
    """The shape as shapes that the format has, each with its pose in the axes of the whole."""
    if isinstance(shape, Surface):
        return
    if isinstance(shape, Rod) and shape.rounded:
        yield Rod(shape.radius, shape.length), Transform.identity()
        for z in (-0.5 * shape.length, 0.5 * shape.length):
            yield Ball(shape.radius), Transform(np.eye(3), np.array([0.0, 0.0, z]))
        return
    yield shape, Transform.identity()


def _said(shape: Shape, number: Callable[[float], str], folder: str | None) -> tuple[str, dict[str, str]]:
    """Tag and attributes of a shape."""
    if isinstance(shape, Box):
        return "box", {"size": " ".join(number(x) for x in shape.size)}
    if isinstance(shape, Ball):
        return "sphere", {"radius": number(shape.radius)}
    if isinstance(shape, Rod):
        return "cylinder", {"radius": number(shape.radius), "length": number(shape.length)}
    assert isinstance(shape, Mesh)
    scale = {} if (shape.scale == 1.0).all() else {"scale": " ".join(number(x) for x in shape.scale)}
    return "mesh", {"filename": _file(shape, folder), **scale}


def _file(mesh: Mesh, folder: str | None) -> str:
    """The name of a mesh's file as the URDF should have it: seen from ``folder``; without one, its full path."""
    if "://" in mesh.file or (not mesh.folder and not os.path.isabs(mesh.file)):
        return mesh.file
    path = os.path.abspath(os.path.join(mesh.folder, mesh.file))
    if folder is not None:
        with contextlib.suppress(ValueError):  # on another drive of Windows it stays a full path
            path = os.path.relpath(path, folder)
    return Path(path).as_posix()
