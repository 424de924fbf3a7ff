"""The same robot in the frames and inertias that need the fewest operations.

Two changes that leave every joint-space result as it is (mass matrix, joint forces, joint accelerations):

*Frames.* A body's frame may be moved along with it: its z axis onto the joint's axis, its x axis onto the common
normal with the next axis, its origin to where the normal from the previous axis meets its own. A placement is then
two planar turns at most, and an offset has a zero (Denavit and Hartenberg's frames, for trees).

*Inertias.* What the joint does not feel may be moved to the parent: a part δ of M(k) with δH* = 0 that the joint's
motion leaves unchanged. About a hinge these are the mass, its first moment along the axis, and a moment of inertia
equal about x and y; along a slider all moments of inertia; about a point the mass. What remains are the base
parameters, the fewest that determine the joint forces (Gautier and Khalil's regrouping).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from .. import arrays
from ..arrays import Array
from ..spatial import RigidInertia, Transform, Turn, congruence, turn_about
from ..tolerances import FARTHEST_SLIDE, PARALLEL
from .joints.kinds import Cylindrical, Helical, JointKind, Prismatic, Revolute
from .model import BodyConstants, Model, with_numbers

M = TypeVar("M", bound=Model)

_ROUNDING = 2e-15
_AXIAL = ("revolute", "prismatic", "helical", "cylindrical")
_Z = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class Hinge(Revolute):
    """A revolute joint whose angle counts from another one, of which ``cosine`` and ``sine`` are given.

    The two angles are not added: where q is large, that would round the other one's digits off.
    """

    cosine: float = 1.0
    sine: float = 0.0

    def transform(self, q: Array) -> Transform:
        turned, across = arrays.cos(q[..., 0]), arrays.sin(q[..., 0])
        c, s = turned * self.cosine - across * self.sine, across * self.cosine + turned * self.sine
        R = arrays.matrix([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        return Transform(R, np.zeros(3), turn_about(_Z, c, s))


def _name(kind: JointKind) -> str:
    """The name of a kind of linkwise's own; empty for a user's class, which may move otherwise than the class it is of.

    Its frames and inertias stay as they are.
    """
    return kind.kind if type(kind).__module__.partition(".")[0] == __name__.partition(".")[0] else ""


def normal_form(model: M, slide: bool = True) -> tuple[M, list[Transform]]:
    """(the model in its normal form, the pose of every new frame in the user's frame of that body).

    Only joint-space functions may be asked of it. Its world is turned and shifted too, gravity with it. Without
    ``slide`` origins stay where they are, which suits links that are symmetric about planes.
    """
    kept: dict[Any, tuple[M, list[Transform]]] = model._kept_structure  # for the next function of the robot
    key = "normal form", slide
    if key not in kept:
        kept[key] = _reframed(model, _frames(model, slide))
    form, moved = kept[key]
    return form, list(moved)


def _reframed(model: M, moved: list[Transform]) -> tuple[M, list[Transform]]:
    world = _world(model, moved)
    constants = []
    for c, p, own in zip(model.constants(), model.parents, moved):
        outer = world if p < 0 else moved[p]
        spin = None if c.spin is None else _clean(outer.R.T @ c.spin)
        inertia = _clean_inertia(congruence(own.inverse(), c.M))
        placed = outer.inverse().compose(c.placement).compose(own)
        lengths = [np.abs(arrays.as_numpy(x.l)).max() for x in (outer, c.placement, own)]
        constants.append(_joined(placed, replace(c, M=inertia, spin=spin), max(lengths)))
    if all(p >= 0 or _name(c.kind) in _AXIAL for p, c in zip(model.parents, constants)):
        constants = [_at_origin(c) if p < 0 else c for c, p in zip(constants, model.parents)]
    gravity = _clean(world.R.T @ np.asarray(model.gravity))
    return with_numbers(model, _regrouped(model.parents, constants), gravity=gravity), moved


# --- frames ------------------------------------------------------------------------------------------


def _frames(model: Model, slide: bool) -> list[Transform]:
    """Where every body's new frame is, in its old one."""
    constants = model.constants()
    out: list[Transform] = []
    for k, (c, p) in enumerate(zip(constants, model.parents)):
        if _name(c.kind) == "fixed" and p >= 0:
            out.append(c.placement.inverse().compose(out[p]))  # one with the parent
        elif _name(c.kind) not in _AXIAL:
            out.append(Transform.identity())
        else:
            kind: Any = c.kind
            axis: np.ndarray = kind.axis
            x = _first_normal(axis, model, k, constants)
            R = _clean(np.column_stack([x, np.cross(axis, x), axis]))
            along = _slide(c, axis, None if p < 0 else (out[p], constants[p])) if slide else 0.0
            out.append(Transform(R, _clean(axis * along)))
    return out


def _first_normal(axis: np.ndarray, model: Model, k: int, constants: Any) -> np.ndarray:
    """The new x axis: along the common normal with the first child's axis, or towards the centre of mass."""
    for child in model.children[k]:
        c = constants[child]
        if _name(c.kind) in _AXIAL:
            normal = np.cross(axis, c.placement.R @ c.kind.axis)
            if np.linalg.norm(normal) > PARALLEL:
                return _unit(normal)
            return _across(axis, c.placement.l)
    return _across(axis, constants[k].M.h)


def _across(axis: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The unit vector across ``axis`` towards x; any that is near a coordinate axis where x is on it."""
    part = x - axis * (axis @ x)
    if np.linalg.norm(part) > 1e-9 * (np.linalg.norm(x) + 1e-300):
        return _unit(part)
    other = np.eye(3)[int(np.abs(axis).argmin())]
    return _unit(other - axis * (axis @ other))


def _slide(c: BodyConstants, axis: np.ndarray, parent: Any) -> float:
    """How far along its axis the new origin lies: at the foot of the normal from the parent's axis."""
    d, point = arrays.as_numpy(c.placement.R @ axis), arrays.as_numpy(c.placement.l)
    if parent is None or _name(parent[1].kind) not in _AXIAL:
        i = int(np.abs(d).argmax())  # no axis to stay close to: make the offset's entry along d zero
        return float(-point[i] / d[i])
    own, line = parent[0].R[:, 2], point - parent[0].l
    across = np.cross(own, d)
    square = float(across @ across)
    if square < PARALLEL**2:
        return float(-line @ d)
    slide = float(np.cross(own, line) @ across) / -square
    # The foot of the normal between axes that are nearly parallel lies far off, where inertias would cancel.
    return slide if abs(slide) <= FARTHEST_SLIDE * float(np.linalg.norm(line)) else 0.0


def _world(model: Model, moved: list[Transform]) -> Transform:
    """The new world frame in the old one: on the first joint of a fixed base, so that it is not turned."""
    if not model.bodies or _name(model.constants()[0].kind) not in _AXIAL:
        return Transform.identity()
    return Transform(model.constants()[0].placement.compose(moved[0]).R, np.zeros(3))


def _at_origin(c: BodyConstants) -> BodyConstants:
    """On a fixed base it does not matter where a root joint is."""
    return replace(c, placement=Transform(c.placement.R, np.zeros(3), c.placement.turns))


def _joined(placed: Transform, c: BodyConstants, size: float) -> BodyConstants:
    """A constant pose and the joint after it: as turns about z, x, z, the last one part of a hinge's angle.

    ``size`` is that of the lengths the pose was made from, to rounding of which its offset is known.
    """
    l = _clean(placed.l, size)
    if _name(c.kind) not in _AXIAL:
        return replace(c, placement=Transform(_clean(placed.R), l))
    first, middle, last = _zxz(arrays.as_numpy(placed.R))
    kind: JointKind
    if isinstance(c.kind, Revolute):
        right = last in _RIGHT
        kind = Revolute("z") if right else Hinge("z", *last)
        last = last if right else (1.0, 0.0)
    elif isinstance(c.kind, Helical):
        kind = Helical("z", c.kind.pitch)
    else:
        kind = Prismatic("z") if isinstance(c.kind, Prismatic) else Cylindrical("z")
    turns = tuple(Turn(i, *x) for i, x in ((2, first), (0, middle), (2, last)) if x != (1.0, 0.0))
    R = np.eye(3)
    for turn in reversed(turns):
        R = np.asarray(turn @ R, dtype=float)
    return replace(c, placement=Transform(R, l, turns), kind=kind)


_RIGHT = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))


def _zxz(R: np.ndarray) -> tuple[tuple[float, float], ...]:
    """(cos, sin) of three angles with R = Rz Rx Rz; the first is zero where the middle one is 0 or π.

    The first angle is known to rounding divided by the sine of the middle one. Where it may as well be 0 or π it is
    that; the others follow from what is left, so that their product is R to rounding all the same.
    """
    across = float(np.hypot(R[0, 2], R[1, 2]))
    first = (1.0, 0.0)
    if across > 8 * _ROUNDING:
        first = _angle(-float(R[1, 2]), float(R[0, 2]), 8 * _ROUNDING / across)
    left = np.asarray(Turn(2, *first).T @ R, dtype=float)
    middle = _angle(float(left[2, 2]), -float(left[1, 2]))
    left = np.asarray(Turn(0, *middle).T @ left, dtype=float)
    return first, middle, _angle(float(left[0, 0]), float(left[1, 0]))


def _angle(c: float, s: float, rounding: float = _ROUNDING) -> tuple[float, float]:
    size = float(np.hypot(c, s))
    c, s = c / size, s / size
    if abs(c) < rounding:
        return 0.0, float(np.sign(s))
    if abs(s) < rounding:
        return float(np.sign(c)), 0.0
    return c, s


# --- inertias ----------------------------------------------------------------------------------------


def _regrouped(parents: tuple[int, ...], constants: list[BodyConstants]) -> list[BodyConstants]:
    """What the joints do not feel, handed to the parents, from the tips inward."""
    out = list(constants)
    for k in range(len(out) - 1, -1, -1):
        part = _unfelt(out[k])
        if part is None:
            continue
        p, own = parents[k], out[k].M
        rest = RigidInertia(own.m - part.m, own.h - part.h, own.J - part.J)
        out[k] = replace(out[k], M=_clean_inertia(rest))
        if p >= 0:
            out[p] = replace(out[p], M=_clean_inertia(out[p].M + congruence(out[k].placement, part)))
    return out


def _unfelt(c: BodyConstants) -> RigidInertia | None:
    """The part δ of M that the joint neither feels (δH* = 0) nor changes."""
    M, kind = c.M, _name(c.kind)
    none, flat = np.zeros(3), np.zeros((3, 3))
    if kind in ("revolute", "hinge"):
        return RigidInertia(M.m, np.array([0.0, 0.0, M.h[2]]), np.diag([M.J[1, 1], M.J[1, 1], 0.0]))
    if kind == "prismatic":
        return RigidInertia(np.asarray(0.0), none, M.J)
    if kind in ("spherical", "universal"):
        return RigidInertia(M.m, none, flat)
    return M if kind == "fixed" else None


# --- rounding ----------------------------------------------------------------------------------------


def _unit(x: np.ndarray) -> np.ndarray:
    return _clean(x / np.linalg.norm(x))


def _clean(x: Array, size: float = 0.0) -> np.ndarray:
    """Entries that are zero but for rounding made zero, so that they cost nothing."""
    out = arrays.as_numpy(x).astype(float)
    out[np.abs(out) <= _ROUNDING * np.abs(out).max(initial=size)] = 0.0
    return out


def _clean_inertia(M: RigidInertia) -> RigidInertia:
    return RigidInertia(M.m, _clean(M.h), _clean(0.5 * (M.J + M.J.T)))
