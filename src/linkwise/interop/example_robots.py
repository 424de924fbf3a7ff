"""The URDF files of the package example-robot-data, where it is installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from .availability import NotHere


def example_files() -> list[Path]:
    """All of them by name, those of equal names once; none where the package is not there."""
    folders: list[Path] = []
    for module in ("example_robot_data", "pinocchio"):  # its own module, or its neighbour among cmeel's packages
        found = importlib.util.find_spec(module)
        if found is not None and found.origin is not None:
            folders += [p / "share" / "example-robot-data" / "robots" for p in Path(found.origin).parents]
    paths = sorted(path for folder in dict.fromkeys(folders) if folder.is_dir() for path in folder.rglob("*.urdf"))
    return list({path.name: path for path in reversed(paths)}.values())[::-1]


def example_file(name: str) -> Path:
    """One of them."""
    for path in example_files():
        if path.name == name:
            return path
    raise NotHere(f"{name} is not there; pip install example-robot-data")
