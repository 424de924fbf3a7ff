"""The <visual> elements of an SDF file → :class:`Visual`. One that cannot be read is noted and left out.

Looks play no part in the motion, so nothing wrong with them refuses a file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...errors import ModelError
from ..visuals import Ball, Box, Mesh, Rod, Shape, Visual
from .sdf_frames import Name, read_pose
from .xml import Element

if TYPE_CHECKING:
    from .sdf import SdfFile


def read_visuals(file: SdfFile) -> list[Visual]:
    """The looks of all links, in file order."""
    out = []
    for link, holder in file.links.items():
        scope = link.rpartition("::")[0]
        for element in holder.all("visual"):
            try:
                pose, base = read_pose(element)
                if base:
                    pose = file.frames.pose(link, file.frames.find(element, Name(scope, base))).compose(pose)
                shape = _shape(element)
                if shape is not None:
                    out.append(Visual(shape, link, at=pose.l, rotation=pose.R, colour=_colour(element)))
            except ModelError as e:
                reason = str(e).removeprefix(f"{element.where()}: ")
                file.moving.add(element, f"will not be drawn, as it cannot be read: {reason}")
    return out


def _shape(visual: Element) -> Shape | None:
    """The shape; None for those that are not drawn (planes, height maps, ellipsoids …)."""
    geometry = visual.only("geometry")
    if geometry is None:
        raise visual.error("has no <geometry>")
    for tag, read in _READERS.items():
        given = geometry.only(tag)
        if given is not None:
            return read(given)
    return None


def _vector(element: Element, tag: str, default: tuple[float, float, float]) -> object:
    given = element.only(tag)
    return default if given is None else given.content_numbers(3)


def _mesh(element: Element) -> Mesh:
    folder = os.path.dirname(os.path.abspath(element.source)) if os.path.isfile(element.source) else ""
    name = element.child_text("uri").removeprefix("file://")
    return Mesh(name.replace("model://", "package://", 1), folder=folder, scale=_vector(element, "scale", (1, 1, 1)))


_READERS: dict[str, Callable[[Element], Shape]] = {
    "mesh": _mesh,
    "box": lambda e: Box(_vector(e, "size", (1, 1, 1))),
    "cylinder": lambda e: Rod(e.child_number("radius", 1.0), e.child_number("length", 1.0)),
    "sphere": lambda e: Ball(e.child_number("radius", 1.0)),
    "capsule": lambda e: Rod(e.child_number("radius", 0.5), e.child_number("length", 1.0), rounded=True),
}


def _colour(visual: Element) -> list[float] | None:
    material = visual.only("material")
    given = None if material is None else material.only("diffuse") or material.only("ambient")
    if given is None:
        return None
    count = len(given.content.split())
    return [*given.content_numbers(count), 1.0][:4] if count in (3, 4) else None
