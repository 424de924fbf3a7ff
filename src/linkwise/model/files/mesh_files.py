"""The files of meshes, found from the names that robot files give them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from ..visuals import Mesh
from .packages import ros_folders, within


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
