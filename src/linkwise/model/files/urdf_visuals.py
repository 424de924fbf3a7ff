"""The <visual> elements of a URDF file → :class:`Visual`. One that cannot be read is noted and left out.

Looks play no part in the motion, so nothing wrong with them refuses a file. Materials may stand in the visual or
be named there and defined anywhere in the file; textures are not kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from ...errors import ModelError
from ...spatial import Transform
from ..visuals import Ball, Box, Mesh, Rod, Shape, Visual
from .xml import Element, Notes

SHAPES = ("mesh", "box", "cylinder", "sphere", "capsule")


def read_visuals(
    robot: Element, links: Mapping[str, Element], root: str, pose: Callable[[Element], Transform], odd: Notes
) -> list[Visual]:
    """The looks of all links, in file order; those of the root link sit on the world. ``pose`` reads an <origin>."""
    named = _named_colours(robot)
    out = []
    for name, link in links.items():
        body = None if name == root else name
        for element in link.all("visual"):
            try:
                placed = pose(element)
                shape = _shape(element)
                colour = _colour(element.only("material"), named)
                out.append(Visual(shape, body, at=placed.l, rotation=placed.R, colour=colour))
            except ModelError as e:
                reason = str(e).removeprefix(f"{element.where()}: ")
                odd.add(element, f"will not be drawn, as it cannot be read: {reason}")
    return out


def _shape(visual: Element) -> Shape:
    geometry = visual.only("geometry")
    if geometry is None:
        raise visual.error("has no <geometry>")
    for tag in SHAPES:
        given = geometry.only(tag)
        if given is not None:
            return _READERS[tag](given)
    raise geometry.error(f"holds none of {', '.join(f'<{s}>' for s in SHAPES)}")


def _mesh(element: Element) -> Mesh:
    scale = element.attributes.get("scale", "")
    numbers = [element.number("scale")] * 3 if len(scale.split()) == 1 else element.numbers("scale", 3, (1, 1, 1))
    folder = os.path.dirname(os.path.abspath(element.source)) if os.path.isfile(element.source) else ""
    return Mesh(element.text("filename").strip(), folder=folder, scale=numbers)


_READERS: dict[str, Callable[[Element], Shape]] = {
    "mesh": _mesh,
    "box": lambda e: Box(e.numbers("size", 3)),
    "cylinder": lambda e: Rod(e.number("radius"), e.number("length")),
    "sphere": lambda e: Ball(e.number("radius")),
    "capsule": lambda e: Rod(e.number("radius"), e.number("length"), rounded=True),
}


def _named_colours(robot: Element) -> dict[str, Element]:
    """Every <material> with a colour, by name: the robot's own and those defined in some visual."""
    materials = [*robot.all("material")]
    for link in robot.all("link"):
        for visual in link.all("visual"):
            materials += visual.all("material")
    return {m.attributes.get("name", ""): m for m in reversed(materials) if m.all("color")}


def _colour(material: Element | None, named: Mapping[str, Element]) -> list[float] | None:
    if material is None:
        return None
    given = material.only("color")
    if given is None:
        holder = named.get(material.attributes.get("name", ""))
        given = None if holder is None else holder.only("color")
    if given is None or "rgba" not in given.attributes:
        return None
    entries = given.attributes["rgba"].split()
    return [*given.numbers("rgba", len(entries)), 1.0, 1.0, 1.0, 1.0][:4] if len(entries) in (3, 4) else None
