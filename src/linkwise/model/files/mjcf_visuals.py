"""The geoms of a compiled MJCF file → :class:`Visual`: what MuJoCo's own viewer shows of them at first.

Those are the geoms of groups 0 to 2; higher groups are by custom shapes for contacts. Planes and height fields are part
of the surroundings, and left out. A mesh keeps the name of its file where it has one; those made in the file itself,
and ellipsoids, become triangles.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import as_numpy
from ...spatial import Transform, rotation_from_quaternion
from ..visuals import Ball, Box, Mesh, Rod, Shape, Surface, Visual

if TYPE_CHECKING:
    from .mjcf import MjcfFile

SHOWN_GROUPS = (0, 1, 2)
_GREY = np.array([0.5, 0.5, 0.5, 1.0], dtype=np.float32)  # of a geom that says nothing: its material speaks then


def read_visuals(file: MjcfFile, source: Any) -> list[Visual]:
    """The looks of all bodies, in file order; those on the world sit on ``None``."""
    return [_visual(file, g, source) for g in shown_geoms(file)]


def shown_geoms(file: MjcfFile) -> Iterator[int]:
    m = file.model
    for g in range(m.ngeom):
        visible = m.geom_group[g] in SHOWN_GROUPS and _colour(file, g)[3] > 0
        if visible and _type(file, g) in ("sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh"):
            yield g


def _type(file: MjcfFile, geom: int) -> str:
    name: str = file.mujoco.mjtGeom(file.model.geom_type[geom]).name
    return name.removeprefix("mjGEOM_").lower()


def _visual(file: MjcfFile, g: int, source: Any) -> Visual:
    m, body = file.model, int(file.model.geom_bodyid[g])
    pose = Transform(_rotation(m.geom_quat[g]), np.array(m.geom_pos[g]))
    shape: Shape
    if _type(file, g) == "mesh":
        shape, pose = _mesh(file, int(m.geom_dataid[g]), pose, source)
    else:
        shape = _primitive(_type(file, g), np.array(m.geom_size[g], dtype=float))
    carrier = None if body == 0 else file.bodies[body]
    return Visual(shape, carrier, at=pose.l, rotation=pose.R, colour=_colour(file, g))


def _primitive(kind: str, size: np.ndarray) -> Shape:
    if kind == "sphere":
        return Ball(size[0])
    if kind == "box":
        return Box(2.0 * size)
    if kind == "ellipsoid":
        return _ellipsoid(size)
    return Rod(size[0], 2.0 * size[1], rounded=kind == "capsule")


def _ellipsoid(radii: np.ndarray, around: int = 24, along: int = 12) -> Surface:
    """A grid of latitudes and longitudes, its poles along z."""
    polar, turn = np.linspace(0, np.pi, along + 1)[1:-1], np.arange(around) * 2 * np.pi / around
    ring = [np.outer(np.sin(polar), np.cos(turn)), np.outer(np.sin(polar), np.sin(turn))]
    rows = np.stack([*ring, np.tile(np.cos(polar)[:, None], around)], axis=-1).reshape(-1, 3)
    vertices = np.concatenate([rows, [[0, 0, 1], [0, 0, -1]]]) * radii
    i, j = np.arange(around), (np.arange(around) + 1) % around
    top, bottom, last = len(rows), len(rows) + 1, len(rows) - around
    faces = [np.stack([np.full(around, top), i, j], 1), np.stack([np.full(around, bottom), last + j, last + i], 1)]
    for k in range(0, last, around):
        faces += [np.stack([k + i, k + around + i, k + j], 1), np.stack([k + j, k + around + i, k + around + j], 1)]
    return Surface(vertices, np.concatenate(faces))


def _mesh(file: MjcfFile, mesh: int, pose: Transform, source: Any) -> tuple[Shape, Transform]:
    """The mesh and its pose. MuJoCo moves vertices to the principal axes of their inertia; a file has them as given."""
    m = file.model
    path = _path(m, mesh)
    if path is not None and not file.moved_meshes(source)[mesh]:
        back = Transform(_rotation(m.mesh_quat[mesh]), np.array(m.mesh_pos[mesh])).inverse()
        return Mesh(path, folder=os.path.dirname(path), scale=np.array(m.mesh_scale[mesh])), pose.compose(back)
    first, count = m.mesh_vertadr[mesh], m.mesh_vertnum[mesh]
    vertices = np.array(m.mesh_vert[first : first + count], dtype=float)
    first, count = m.mesh_faceadr[mesh], m.mesh_facenum[mesh]
    return Surface(vertices, np.array(m.mesh_face[first : first + count])), pose


def _path(m: Any, mesh: int) -> str | None:
    """The file of a mesh, where it is one that is there and that viewers read."""
    at = int(m.mesh_pathadr[mesh])
    path = "" if at < 0 else os.path.abspath(m.paths[at:].split(b"\0", 1)[0].decode("utf-8", "replace"))
    return path if path.lower().endswith((".stl", ".obj")) and os.path.isfile(path) else None


def _colour(file: MjcfFile, g: int) -> np.ndarray:
    m = file.model
    own, material = np.array(m.geom_rgba[g]), int(m.geom_matid[g])
    return np.array(m.mat_rgba[material]) if material >= 0 and np.array_equal(own, _GREY) else own


def _rotation(wxyz: Any) -> np.ndarray:
    return as_numpy(rotation_from_quaternion(np.roll(np.asarray(wxyz, dtype=float), -1)))
