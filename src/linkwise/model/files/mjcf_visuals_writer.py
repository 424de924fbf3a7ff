"""The looks of a :class:`Model` as geoms of an MJCF file: without mass, touching nothing, in the group that is shown.

Boxes, balls and rods are written as they are, triangles of no file as they stand, meshes by the name of their file
where MuJoCo reads it (STL and OBJ).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from ...arrays import as_numpy
from ...properties import cached_property
from ...spatial import Transform, quaternion_from_rotation
from ..visuals import Ball, Box, Mesh, Rod, Surface, Visual
from .mesh_files import find
from .urdf_writer import number, text

GROUP = "2"  # of geoms that are looked at


class MjcfLooks:
    """Writes the looks of bodies, and the meshes that they are of."""

    def __init__(self, visuals: Sequence[Visual], folder: str | None) -> None:
        self.visuals, self.folder = tuple(visuals), folder

    @cached_property
    def _assets(self) -> dict[int, tuple[str, dict[str, str]]]:
        """Of every look that is a mesh that can be written: its name and the attributes of the mesh."""
        found: dict[int, tuple[str, dict[str, str]]] = {}
        for i, visual in enumerate(self.visuals):
            shape = visual.shape
            if isinstance(shape, Surface):
                faces = " ".join(str(int(x)) for x in np.ravel(shape.faces))
                found[i] = f"look{i}", {"vertex": text(np.ravel(shape.vertices)), "face": faces}
            elif isinstance(shape, Mesh) and (path := self._file(shape)) is not None:
                found[i] = f"look{i}", {"file": path, "scale": text(shape.scale)}
        return found

    @property
    def lost(self) -> list[str]:
        """What is not written, in words."""
        gone = [x.shape for i, x in enumerate(self.visuals) if isinstance(x.shape, Mesh) and i not in self._assets]
        missing = [x.file for x in gone if find(x) is None]
        foreign = [x.file for x in gone if find(x) is not None]
        said = []
        if missing:
            said.append(f"{_listed(missing)} not written: there is no such file")
        if foreign:
            said.append(f"{_listed(foreign)} not written: MuJoCo reads .stl and .obj, so convert them")
        return said

    def write_assets(self, top: Element) -> None:
        """The <asset> of all meshes."""
        if not self._assets:
            return
        assets = SubElement(top, "asset")
        for name, said in self._assets.values():
            SubElement(assets, "mesh", {"name": name, "inertia": "shell", **said})

    def write(self, element: Element, body: str | None, back: Transform | None = None) -> None:
        """The looks of a body, whose pose in the element's axes is ``back``."""
        for i, visual in enumerate(self.visuals):
            if visual.body != body:
                continue
            said = self._said(i, visual)
            if said is None:
                continue
            pose = visual.pose if back is None else back.compose(visual.pose)
            x, y, z, w = as_numpy(quaternion_from_rotation(np.asarray(pose.R, dtype=float)))
            said |= {"pos": text(pose.l), "quat": text([w, x, y, z])}
            if visual.colour is not None:
                said["rgba"] = text(visual.colour)
            SubElement(element, "geom", said | {"contype": "0", "conaffinity": "0", "group": GROUP, "mass": "0"})

    def _said(self, i: int, visual: Visual) -> dict[str, str] | None:
        shape = visual.shape
        if isinstance(shape, Box):
            return {"type": "box", "size": text(0.5 * shape.size)}
        if isinstance(shape, Ball):
            return {"type": "sphere", "size": number(shape.radius)}
        if isinstance(shape, Rod):
            kind = "capsule" if shape.rounded else "cylinder"
            return {"type": kind, "size": text([shape.radius, 0.5 * shape.length])}
        return {"type": "mesh", "mesh": self._assets[i][0]} if i in self._assets else None

    def _file(self, mesh: Mesh) -> str | None:
        """The file of a mesh as MuJoCo finds it, None where it does not."""
        found = find(mesh)
        if found is None or found.suffix.lower() not in (".stl", ".obj"):
            return None
        path = os.path.abspath(found)
        try:
            return path if self.folder is None else os.path.relpath(path, self.folder)
        except ValueError:  # on another drive of Windows
            return path


def _listed(files: Sequence[str]) -> str:
    one = len(files) == 1
    return f"the mesh {files[0]} is" if one else f"{len(files)} meshes ({files[0]}, …) are"
