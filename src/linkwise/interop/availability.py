"""Whether another library is there, and takes a robot: :class:`NotHere` says why not."""

from __future__ import annotations

import importlib
from typing import Any

from ..model.flexible.structure import grouped
from ..model.model import Model, refuse_other_numbers


class NotHere(Exception):
    """Why a library is left out of a case: not installed, or it has no such function or joint."""


def needs(module: str, distribution: str) -> Any:
    """A module, or :class:`NotHere` that names the distribution to install."""
    try:
        return importlib.import_module(module)
    except ImportError as e:
        missing = isinstance(e, ModuleNotFoundError) and module.startswith((e.name or "").partition(".")[0])
        why = "not installed" if missing else f"cannot be imported ({e})"
        raise NotHere(f"{why}; pip install {distribution}") from None


def needs_joints(robot: Model, *kinds: str, free_base_only: bool = True) -> None:
    """Refuse joints of other kinds, rotors, and (unless told otherwise) free joints beyond one root's."""
    refuse_other_numbers(robot, "handed to other libraries")
    if robot.couplings:
        raise NotHere(f"no counterpart of {grouped(robot)}")
    for k, joint in enumerate(robot.joints):
        if joint.kind.kind not in kinds:
            raise NotHere(f"no counterpart of the {joint.kind.kind} joint {joint.name!r}")
        if joint.rotor is not None:
            raise NotHere(f"no counterpart of the rotor of joint {joint.name!r}")
        if free_base_only and joint.kind.kind == "free" and (k > 0 or robot.parents.count(-1) > 1):
            raise NotHere(f"a free joint only at the one root, not {joint.name!r}")
