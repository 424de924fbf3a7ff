"""Robot files that other packages name or make: ``package://name/rest`` of ROS, robot_descriptions, and xacro."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import FileError, MissingExtraError, did_you_mean
from .xml import shortened

SCHEME = "package://"
_VARIABLES = ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH")


def ros_folders() -> Iterator[Path]:
    """The folders that ROS names as places of packages, in their order."""
    for variable in _VARIABLES:
        yield from (Path(f) for f in os.environ.get(variable, "").split(os.pathsep) if f)


def within(folder: Path, package: str, inside: str) -> list[Path]:
    """Where a file of a package may be below a folder of packages, or below the package itself."""
    found = [folder / package / inside, folder / "share" / package / inside]
    return [folder / inside, *found] if folder.name == package else found


def package_file(name: str) -> str:
    """The path of a file ``package://name/rest``; an error where ROS knows no such package or file."""
    package, _, inside = name.removeprefix(SCHEME).partition("/")
    folders = list(ros_folders())
    for folder in folders:
        for path in within(folder, package, inside):
            if path.is_file():
                return str(path)
    looked = ", ".join(map(str, folders)) if folders else f"nowhere, as {' and '.join(_VARIABLES)} are not set"
    raise FileError(
        f"no file {name}: package {package!r} was looked for in {looked}; source its workspace, or give a path"
    )


def described(name: str) -> str:
    """The file of a robot that the package robot_descriptions knows, as ``ur10e_description``."""
    module = _installed(f"robot_descriptions.{name}", f"the robot {name!r}")
    for kind in ("URDF_PATH", "MJCF_PATH"):
        if hasattr(module, kind):
            return str(getattr(module, kind))
    raise FileError(f"{name} of robot_descriptions names neither a URDF nor an MJCF file")


def expanded_xacro(path: str) -> str:
    """The URDF text of a xacro file, by the package xacro; its own errors as ours, with the file."""
    xacro = _installed("xacro", f"the file {path}")
    try:
        return str(xacro.process_file(path).toxml())
    except Exception as e:  # xacro raises classes of its own, and those of the XML library
        raise FileError(f"{path}: xacro cannot expand it ({type(e).__name__}: {e})") from e


def _installed(module: str, purpose: str) -> Any:
    """A module of a package that is the user's to install."""
    package, _, inner = module.partition(".")
    try:
        whole = importlib.import_module(package)
    except ModuleNotFoundError as e:
        if e.name != package:
            raise
        raise MissingExtraError(
            f"{purpose} needs {package}, which is not installed; this brings it: pip install {package}"
        ) from None
    try:
        return importlib.import_module(module) if inner else whole
    except ModuleNotFoundError as e:
        if e.name != module:
            raise
        hint = did_you_mean(inner, [x.name for x in pkgutil.iter_modules(whole.__path__)])
        raise FileError(f"{purpose} is none that {package} knows{hint and f'; {hint}'}") from None
    except Exception as e:  # importing such a module fetches files, and raises what git raises
        raise FileError(
            f"{purpose} could not be fetched by {package}, which needs the network the first time:"
            f" {shortened(' '.join(str(e).split()), 300)}"
        ) from e
