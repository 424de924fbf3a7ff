"""Mesh files: found from the names that robot files give them, read as triangles with their colours."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from ..errors import FileError
from ..extras import require
from ..model.files.packages import ros_folders, within
from ..model.visuals import Mesh
from .solids import Triangles

Part = tuple[Triangles, tuple[float, ...] | None]  # triangles and their colour (r, g, b, a), where the file has one


def find(mesh: Mesh, folders: Sequence[str | os.PathLike[str]] = ()) -> Path | None:
    """The file of a mesh, or None where there is none.

    ``package://name/rest`` (and ``model://``) is looked for in ``folders``, in the folders above the robot's own
    file, and in those that ROS_PACKAGE_PATH and AMENT_PREFIX_PATH name; other names from the robot's folder.
    """
    scheme, separator, rest = mesh.file.partition("://")
    if separator and scheme == "file":
        return _if_file(Path(unquote(rest)))
    if not separator:
        return _if_file(Path(mesh.folder) / mesh.file)
    package, _, inside = rest.partition("/")
    above = [Path(mesh.folder), *Path(mesh.folder).parents] if mesh.folder else []
    candidates = [Path(f) / inside for f in folders]  # a folder given may be the package itself
    for folder in (*map(Path, folders), *above, *ros_folders()):
        candidates += within(folder, package, inside)
    return next((c for c in candidates if c.is_file()), None)


def _if_file(path: Path) -> Path | None:
    return path if path.is_file() else None


@lru_cache(maxsize=256)
def load(path: Path) -> tuple[Part, ...]:
    """The parts of a mesh file, each with one colour. Raises :class:`FileError` where it cannot be read."""
    trimesh = require("trimesh", "view", "reading mesh files")
    try:
        scene = trimesh.load_scene(str(path))
        geometries = [g for g in scene.dump() if hasattr(g, "faces") and len(g.faces)]
    except Exception as e:  # whatever a broken file makes the reader raise
        raise FileError(f"{path}: the mesh cannot be read ({type(e).__name__}: {e})") from None
    if not geometries:
        raise FileError(f"{path}: the mesh holds no triangles")
    return tuple((Triangles(np.array(g.vertices, float), np.array(g.faces)), _colour(g)) for g in geometries)


def _colour(geometry: object) -> tuple[float, ...] | None:
    """The main colour of a geometry, or None where its file gives none."""
    visual = getattr(geometry, "visual", None)
    if visual is None or not getattr(visual, "defined", False):
        return None
    material = getattr(visual, "material", None)
    rgba = getattr(material, "main_color", None) if material is not None else getattr(visual, "main_color", None)
    if rgba is None:
        return None
    shade = np.asarray(rgba, float).ravel()[:4] / 255.0
    return tuple(float(x) for x in np.r_[shade, np.ones(4 - len(shade))])
