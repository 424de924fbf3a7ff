"""Triangles of simple solids, centred at the origin. Vertices are shared only across edges that look round."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..spatial import Transform

SIDES = 20  # of round things


class Triangles(NamedTuple):
    """Vertices (V, 3) [m] and faces (F, 3), indices of vertices, anticlockwise seen from outside."""

    vertices: np.ndarray
    faces: np.ndarray

    def placed(self, pose: Transform) -> Triangles:
        """The same triangles in the axes in which theirs have this pose."""
        return Triangles(self.vertices @ pose.R.T + pose.l, self.faces)

    def normals(self) -> np.ndarray:
        """(V, 3): unit normals at the vertices, faces weighted by their areas."""
        a, b, c = (self.vertices[self.faces[:, i]] for i in range(3))
        n = np.cross(b - a, c - a)
        out = np.zeros_like(self.vertices)
        for i in range(3):
            np.add.at(out, self.faces[:, i], n)
        length = np.linalg.norm(out, axis=1, keepdims=True)
        return out / np.where(length > 0, length, 1.0)


def creased(triangles: Triangles, angle: float = np.deg2rad(40.0)) -> Triangles:
    """The same, faces that stand off their neighbours by more than an angle on vertices of their own: edges remain."""
    corners = triangles.vertices[triangles.faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-300)
    along = np.einsum("fi,fci->fc", across, triangles.normals()[triangles.faces])
    sharp = (along < np.cos(angle)).any(axis=1)
    faces = triangles.faces.copy()
    faces[sharp] = len(triangles.vertices) + np.arange(3 * sharp.sum()).reshape(-1, 3)
    return Triangles(np.concatenate([triangles.vertices, corners[sharp].reshape(-1, 3)]), faces)


def joined(*parts: Triangles) -> Triangles:
    """Several solids as one."""
    starts = np.cumsum([0, *(len(p.vertices) for p in parts[:-1])])
    faces = np.concatenate([p.faces + s for p, s in zip(parts, starts)])
    return Triangles(np.concatenate([p.vertices for p in parts]), faces)


def box(size: np.ndarray) -> Triangles:
    """A box with sides ``size`` (3,)."""
    vertices: list[np.ndarray] = []
    faces: list[tuple[int, int, int]] = []
    for axis in range(3):
        for sign in (1.0, -1.0):
            u, v = np.roll(np.eye(3)[[1, 2]], axis, axis=1)  # u × v is the axis
            outward = sign * np.roll(np.eye(3)[0], axis)
            corners = [outward + s * u + t * v for s, t in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            k = len(vertices)
            vertices += corners
            faces += [(k, k + 1, k + 2), (k, k + 2, k + 3)] if sign > 0 else [(k, k + 2, k + 1), (k, k + 3, k + 2)]
    return Triangles(np.array(vertices) * (0.5 * np.asarray(size, float)), np.array(faces))


def _turned_profile(radii: np.ndarray, heights: np.ndarray) -> Triangles:
    """A profile from low z to high z turned about z; each step between two of its points is a band."""
    angle = np.linspace(0, 2 * np.pi, SIDES, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    vertices = np.concatenate([np.column_stack([r * ring, np.full(SIDES, h)]) for r, h in zip(radii, heights)])
    i, j = np.arange(SIDES), (np.arange(SIDES) + 1) % SIDES
    faces = []
    for k in range(len(radii) - 1):
        low, high = k * SIDES, (k + 1) * SIDES
        if radii[k] > 0:
            faces.append(np.column_stack([low + i, low + j, high + j]))
        if radii[k + 1] > 0:
            faces.append(np.column_stack([low + i, high + j, high + i]))
    return Triangles(vertices, np.concatenate(faces))


def ball(radius: float) -> Triangles:
    """A ball."""
    latitude = np.linspace(-np.pi / 2, np.pi / 2, SIDES // 2 + 1)
    radii = radius * np.cos(latitude)
    radii[[0, -1]] = 0.0
    return _turned_profile(radii, radius * np.sin(latitude))


def rod(radius: float, length: float, rounded: bool = False) -> Triangles:
    """A cylinder along z; with round ends, ``length`` is between their centres."""
    half = 0.5 * length
    if rounded:
        latitude = np.linspace(0, np.pi / 2, SIDES // 4 + 1)
        radii, rise = radius * np.cos(latitude), radius * np.sin(latitude)
        radii[-1] = 0.0
        return _turned_profile(np.r_[radii[::-1], radii], np.r_[-half - rise[::-1], half + rise])
    side = _turned_profile(np.array([radius, radius]), np.array([-half, half]))
    lower = _turned_profile(np.array([0.0, radius]), np.array([-half, -half]))
    upper = _turned_profile(np.array([radius, 0.0]), np.array([half, half]))
    return joined(side, lower, upper)


def arrow(start: np.ndarray, end: np.ndarray, radius: float) -> Triangles:
    """A shaft with a head, from one point to another; the head is never longer than half the arrow."""
    length = float(np.linalg.norm(end - start))
    head = min(5.0 * radius, 0.5 * length)
    shaft = rod(radius, length - head)
    cone = joined(
        _turned_profile(np.array([2.2 * radius, 0.0]), np.array([0.0, head])),
        _turned_profile(np.array([0.0, 2.2 * radius]), np.array([0.0, 0.0])),
    )
    up = np.eye(3)
    whole = joined(
        shaft.placed(Transform(up, np.array([0, 0, 0.5 * (length - head)]))),
        cone.placed(Transform(up, np.array([0, 0, length - head]))),
    )
    return whole.placed(Transform(rotation_onto(end - start), np.asarray(start, float)))


def segment(start: np.ndarray, end: np.ndarray, radius: float) -> Triangles:
    """A rod with round ends from one point to another."""
    length = max(float(np.linalg.norm(end - start)), 1e-9)
    return rod(radius, length, rounded=True).placed(Transform(rotation_onto(end - start), 0.5 * (start + end)))


class Solid(NamedTuple):
    """One of :data:`UNITS`, its axes stretched by ``scale`` (3,) and then placed. Viewers draw a kind at once."""

    kind: str
    scale: np.ndarray
    pose: Transform

    def placed(self, pose: Transform) -> Solid:
        """The same solid in the axes in which its own have this pose."""
        return Solid(self.kind, self.scale, pose.compose(self.pose))


def box_solid(size: np.ndarray) -> tuple[Solid, ...]:
    """A box as solids."""
    return (Solid("box", np.array(size, float), Transform.identity()),)


def ball_solid(radius: float) -> tuple[Solid, ...]:
    """A ball as solids."""
    return (Solid("ball", np.full(3, float(radius)), Transform.identity()),)


def rod_solids(radius: float, length: float, rounded: bool = False) -> tuple[Solid, ...]:
    """A cylinder along z as solids, with balls for round ends."""
    whole = Solid("rod", np.array([radius, radius, length], float), Transform.identity())
    if not rounded:
        return (whole,)
    ends = [Transform(np.eye(3), np.array([0.0, 0.0, z])) for z in (-0.5 * length, 0.5 * length)]
    return (whole, *(ball_solid(radius)[0].placed(end) for end in ends))


UNITS = {"box": box(np.ones(3)), "ball": ball(1.0), "rod": rod(1.0, 1.0)}


def segment_solids(start: np.ndarray, end: np.ndarray, radius: float) -> tuple[Solid, ...]:
    """A rod with round ends from one point to another, as solids."""
    length = max(float(np.linalg.norm(end - start)), 1e-9)
    pose = Transform(rotation_onto(end - start), 0.5 * (start + end))
    return tuple(s.placed(pose) for s in rod_solids(radius, length, rounded=True))


def rotation_onto(direction: np.ndarray) -> np.ndarray:
    """A rotation (3, 3) that takes z to this direction; the identity where it has no length."""
    length = float(np.linalg.norm(direction))
    if length == 0:
        return np.eye(3)
    z = np.asarray(direction, float) / length
    other = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = np.cross(other, z)
    x = x / np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])
