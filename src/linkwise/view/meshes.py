"""Mesh files: read as triangles with their colours."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from ..errors import FileError
from ..extras import require
from .solids import Triangles

Part = tuple[Triangles, tuple[float, ...] | None]  # triangles and their colour (r, g, b, a), where the file has one


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
