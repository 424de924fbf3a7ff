"""Equality constraints ``connect`` and ``weld`` of MJCF files as loops.

A connect holds a point of one body to one of another; a weld also keeps their relative pose, with ``relpose`` that of
the second body in the first and ``anchor`` the point of the second where it acts. Constraints between sites hold the
sites themselves together. MuJoCo's are soft (``solref``, ``solimp``); loops are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import as_numpy
from ...spatial import rotation_from_quaternion
from ..loops import Loop
from ..parts import Frame

if TYPE_CHECKING:
    from .mjcf import MjcfFile

KINDS = {"connect": "spherical", "weld": "weld"}


def loops_in(file: MjcfFile) -> tuple[dict[int, Loop], list[Frame]]:
    """The loops of a file by the number of their equality constraint, and the frames they need besides its sites."""
    m, mujoco = file.model, file.mujoco
    loops, frames = {}, []
    taken = {*file.bodies, *file.sites}
    for i in range(m.neq):
        kind = mujoco.mjtEq(m.eq_type[i]).name.removeprefix("mjEQ_").lower()
        if kind not in KINDS or not m.eq_active0[i]:
            continue
        name = file.given_name("equality", i) or f"equality{i}"
        ends = (int(m.eq_obj1id[i]), int(m.eq_obj2id[i]))
        if m.eq_objtype[i] == mujoco.mjtObj.mjOBJ_SITE:
            loops[i] = Loop(file.sites[ends[0]], file.sites[ends[1]], KINDS[kind], name=name)
            continue
        own = [
            _frame(file, body, f"{name}:{part}", pose, taken)
            for body, part, pose in zip(ends, "ab", _poses(kind, m.eq_data[i]))
        ]
        frames += own
        loops[i] = Loop(own[0].name, own[1].name, KINDS[kind], name=name)
    return loops, frames


def _poses(kind: str, data: Any) -> list[tuple[Any, Any]]:
    """(place, rotation) of the two frames on their bodies."""
    if kind == "connect":
        return [(data[0:3], np.eye(3)), (data[3:6], np.eye(3))]
    turned = as_numpy(rotation_from_quaternion(np.roll(np.asarray(data[6:10], dtype=float), -1)))
    return [(data[3:6], turned), (data[0:3], np.eye(3))]


def _frame(file: MjcfFile, body: int, name: str, pose: tuple[Any, Any], taken: set[str]) -> Frame:
    while name in taken:
        name += "_"
    taken.add(name)
    return Frame(name, None if body == 0 else file.bodies[body], at=np.array(pose[0]), rotation=pose[1])
