"""What to draw for a robot, as data: triangles fixed on its bodies, and arrows that follow its motion.

The looks of a robot come from its file (:mod:`.meshes`). A robot without them, or whose mesh files are not found, is
sketched: rods between the joints, a drum for each hinge, a block for each slider. The inertia of every body can be
shown as the box of uniform density that has it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arrays import as_numpy
from ..dynamics.kinematics import body_poses
from ..dynamics.links import evaluate
from ..errors import FileError
from ..model.files.mesh_files import find
from ..model.flexible.structure import mass_points
from ..model.inertia import Inertia
from ..model.joints.modal import Modal
from ..model.visuals import Ball, Box, Mesh, Rod, Surface, Visual
from ..properties import cached_property
from ..robot.robot import Robot
from ..spatial import Transform
from . import bending, meshes, solids
from .solids import Solid, Triangles

VISUALS, INERTIAS = "visuals", "inertias"

LINK, JOINT = (0.24, 0.48, 0.67, 1.0), (0.87, 0.44, 0.24, 1.0)
BASE, WEIGHT = (0.25, 0.29, 0.33, 1.0), (0.55, 0.36, 0.65, 0.45)
PLAIN = (0.75, 0.77, 0.79, 1.0)  # looks without a colour of their own


class Piece(NamedTuple):
    """Triangles of one colour (r, g, b, a), in the axes of the body they are fixed on (−1: the world's).

    Where simple solids look the same, ``solids`` are those.
    """

    body: int
    layer: str
    triangles: Triangles
    colour: tuple[float, float, float, float]
    solids: tuple[Solid, ...] = ()


class Poses(NamedTuple):
    """R (..., n, 3, 3) and p (..., n, 3) [m] in the world: of all bodies, then of the rods of flexible ones."""

    R: np.ndarray
    p: np.ndarray


class Arrows(NamedTuple):
    """Arrows from ``start`` to ``end``, each (..., n, 3) [m], world axes."""

    start: np.ndarray
    end: np.ndarray


@dataclass(frozen=True, eq=False)
class Scene:
    """A robot to draw. ``mesh_folders`` are further places to look for ``package://`` names."""

    robot: Robot
    mesh_folders: tuple[str | os.PathLike[str], ...] = ()
    meshes: bool = True

    # --- what is fixed on bodies -------------------------------------------------------------------

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """Everything that moves with a body: its looks, or its sketch, and its inertia box."""
        visuals = self._visuals[0] if self.meshes else []
        drawn = visuals or sketch(self.robot, self.size)
        bent = bent_rods(self._spans, len(self.robot.bodies), 0.012 * self.size)
        return (*drawn, *bent, *inertia_boxes(self.robot, 0.02 * self.size))

    @cached_property
    def _spans(self) -> list[bending.Span]:
        return bending.spans(self.robot)

    @property
    def missing(self) -> tuple[str, ...]:
        """The mesh files that were named but not found or not readable."""
        return tuple(self._visuals[1]) if self.meshes else ()

    @cached_property
    def _visuals(self) -> tuple[list[Piece], list[str]]:
        pieces, missing = [], []
        for visual in self.robot.visuals:
            body = -1 if visual.body is None else self.robot.body(visual.body)
            try:
                parts = _parts(visual, self.mesh_folders)
            except FileError as e:
                missing.append(str(e))
                continue
            simple = tuple(s.placed(visual.pose) for s in _solids(visual))
            for triangles, colour in parts:
                shown = visual.colour if visual.colour is not None else colour
                pieces.append(Piece(body, VISUALS, triangles.placed(visual.pose), _rgba(shown), simple))
        # A robot of which only a few scraps are found is better sketched whole.
        return (pieces if len(missing) <= 0.5 * len(self.robot.visuals) else []), missing

    # --- how large it is -----------------------------------------------------------------------------

    @cached_property
    def size(self) -> float:
        """A length [m] that everything drawn is scaled by: the diagonal of the neutral robot's joints and masses."""
        at = self.poses(self.robot.neutral())
        points = [np.zeros(3), *at.p, *self.tips(at)]
        points += [at.p[i] + at.R[i] @ b.inertia.com for i, b in enumerate(self.robot.bodies) if b.inertia.mass > 0]
        low, high = np.min(points, axis=0), np.max(points, axis=0)
        return max(float(np.linalg.norm(high - low)), 1e-3)

    # --- where things are ------------------------------------------------------------------------------

    def poses(self, q: Any) -> Poses:
        """Where the bodies are at configurations q (..., nq), and the rods of flexible ones."""
        q = np.asarray(q, float)
        found = body_poses(evaluate(self.robot, q))
        batch = q.shape[:-1]
        n = len(self.robot.bodies)
        R, p = np.empty((*batch, n, 3, 3)), np.empty((*batch, n, 3))
        for i, X in enumerate(found):
            R[..., i, :, :], p[..., i, :] = X.R, X.l
        if not self._spans:
            return Poses(R, p)
        turned, places = bending.rod_poses(self._spans, R, p)
        return Poses(np.concatenate([R, turned], axis=-3), np.concatenate([p, places], axis=-2))

    def frames(self, at: Poses) -> tuple[np.ndarray, np.ndarray]:
        """(R, p) of all frames but the world's: (..., frames, 3, 3), (..., frames, 3)."""
        return _on_bodies(at, [self.robot.frame(f) for f in self.robot.frames if f.name != "world"])

    def tips(self, at: Poses) -> np.ndarray:
        """Where the tips are, (..., tips, 3)."""
        return _on_bodies(at, [self.robot.frame(t) for t in self.robot.tips])[1]

    def center_of_mass(self, at: Poses) -> np.ndarray:
        """(..., 3); the world's origin for a robot without mass."""
        masses = np.array([b.inertia.mass for b in self.robot.bodies])
        if not masses.sum() > 0:
            return np.zeros((*at.p.shape[:-2], 3))
        own, n = np.array([b.inertia.com for b in self.robot.bodies]), len(masses)
        centers = at.p[..., :n, :] + np.einsum("...nij,nj->...ni", at.R[..., :n, :, :], own)
        center: np.ndarray = np.einsum("n,...ni->...i", masses / masses.sum(), centers)
        return center

    # --- arrows ----------------------------------------------------------------------------------------

    @cached_property
    def axes(self) -> tuple[np.ndarray, np.ndarray]:
        """Of every joint's degrees of freedom: the body (n,) and the direction (n, 3) in its axes, at neutral.

        The direction of turning, or of sliding where nothing turns. Free joints have none worth an arrow.
        """
        bodies, directions = [], []
        for i, joint in enumerate(self.robot.joints):
            if not _has_axes(joint.kind) or i in self.robot.dependents:
                continue
            for column in as_numpy(joint.kind.map(joint.kind.neutral())).T:
                turning = column[:3] if np.linalg.norm(column[:3]) > 0 else column[3:]
                bodies.append(i)
                directions.append(turning / np.linalg.norm(turning))
        return np.array(bodies, int), np.array(directions).reshape(-1, 3)

    @cached_property
    def _axis_dofs(self) -> np.ndarray:
        """The entry of v that each of the axes belongs to."""
        return np.array(
            [
                k
                for j, s in zip(self.robot.joints, self.robot.v_slices)
                if _has_axes(j.kind)
                for k in range(s.start, s.stop)
            ],
            int,
        )

    def axis_arrows(self, at: Poses, lengths: Any = None) -> Arrows:
        """Along every axis, centred at its joint; ``lengths`` (..., n) default to a sixth of the robot."""
        bodies, directions = self.axes
        along = np.einsum("...nij,nj->...ni", at.R[..., bodies, :, :], directions)
        length = self.size / 6.0 if lengths is None else np.asarray(lengths)[..., None]
        start = at.p[..., bodies, :] - (0.5 * length * along if lengths is None else 0.0)
        return Arrows(start, start + length * along)

    def force_arrows(self, at: Poses, tau: Any, largest: float) -> Arrows:
        """The joint forces τ (..., nv) along their axes, one that is ``largest`` a quarter of the robot long."""
        tau = np.asarray(tau, float)[..., self._axis_dofs]
        return self.axis_arrows(at, 0.25 * self.size * tau / largest if largest > 0 else 0 * tau)

    def wrench_arrows(self, at: Poses, wrenches: Any, largest: float, on_line: bool = False) -> Arrows:
        """The force parts of [moment; force] per body (..., bodies, 6), body axes, at the bodies' origins.

        With ``on_line`` an arrow lies on its force's line of action, at the point r = F × N / F² that is nearest to the
        origin; not for what is mostly a couple, whose line is far away.
        """
        n = len(self.robot.bodies)
        R, start = at.R[..., :n, :, :], at.p[..., :n, :]
        N, F = (np.einsum("...nij,...nj->...ni", R, x) for x in np.split(np.asarray(wrenches, float), 2, axis=-1))
        if on_line:
            square = (F * F).sum(axis=-1, keepdims=True)
            r = np.cross(F, N) / np.where(square > 0, square, 1.0)
            start = start + np.where(np.linalg.norm(r, axis=-1, keepdims=True) < 0.5 * self.size, r, 0.0)
        return Arrows(start, start + (0.25 * self.size / largest if largest > 0 else 0.0) * F)

    def loop_arrows(self, places: np.ndarray, forces: np.ndarray, largest: float) -> Arrows:
        """Forces of loops [moment; force] (..., loops, 6), world axes, at these places: on frame b, and back on a."""
        F = (0.25 * self.size / largest if largest > 0 else 0.0) * forces[..., 3:]
        return Arrows(np.concatenate([places] * 2, axis=-2), np.concatenate([places + F, places - F], axis=-2))

    def contact_arrows(
        self, places: np.ndarray, forces: np.ndarray, largest: float, pressed: np.ndarray | None = None
    ) -> Arrows:
        """Forces (..., contacts, 3) of hands on an object, from where they touch it.

        One that is ``largest`` is a quarter of the robot long. Those that press along normals ``pressed``
        (..., contacts, 3) point there from outside instead, and end a little short of it, so that the tip is seen.
        """
        F = (0.25 * self.size / largest if largest > 0 else 0.0) * forces
        if pressed is None:
            return Arrows(places, places + F)
        length = np.linalg.norm(F, axis=-1, keepdims=True)
        short = 0.03 * self.size * F / np.where(length > 0, length, 1.0)
        back = np.where((F * pressed).sum(axis=-1, keepdims=True) > 0, F + short, 0.0)
        return Arrows(places - back, places + F - back)


def _on_bodies(at: Poses, places: list[tuple[int, Transform]]) -> tuple[np.ndarray, np.ndarray]:
    """Poses fixed on bodies (−1: the world), in the world."""
    R, p = at
    turned, points = [], []
    for body, pose in places:
        if body < 0:
            turned.append(np.broadcast_to(as_numpy(pose.R), (*p.shape[:-2], 3, 3)))
            points.append(np.broadcast_to(as_numpy(pose.l), (*p.shape[:-2], 3)))
        else:
            turned.append(R[..., body, :, :] @ pose.R)
            points.append(p[..., body, :] + R[..., body, :, :] @ pose.l)
    if not places:
        return np.zeros((*p.shape[:-2], 0, 3, 3)), np.zeros((*p.shape[:-2], 0, 3))
    return np.stack(turned, axis=-3), np.stack(points, axis=-2)


# --- looks -------------------------------------------------------------------------------------------


def _parts(visual: Visual, folders: Sequence[str | os.PathLike[str]]) -> tuple[meshes.Part, ...]:
    shape = visual.shape
    if isinstance(shape, Box):
        return ((solids.box(shape.size), None),)
    if isinstance(shape, Ball):
        return ((solids.ball(shape.radius), None),)
    if isinstance(shape, Rod):
        return ((solids.rod(shape.radius, shape.length, shape.rounded), None),)
    if isinstance(shape, Surface):
        return ((solids.creased(Triangles(shape.vertices, shape.faces)), None),)
    assert isinstance(shape, Mesh)
    path = find(shape, folders)
    if path is None:
        raise FileError(f"{shape.file}: the mesh is not found; mesh_folders= names where packages lie")
    return tuple((solids.creased(Triangles(t.vertices * shape.scale, t.faces)), c) for t, c in meshes.load(path))


def _solids(visual: Visual) -> tuple[Solid, ...]:
    shape = visual.shape
    if isinstance(shape, Box):
        return solids.box_solid(shape.size)
    if isinstance(shape, Ball):
        return solids.ball_solid(shape.radius)
    return solids.rod_solids(shape.radius, shape.length, shape.rounded) if isinstance(shape, Rod) else ()


def _rgba(colour: Any) -> tuple[float, float, float, float]:
    r, g, b, a = PLAIN if colour is None else (float(x) for x in colour)
    return r, g, b, a if a > 0 else 1.0


# --- sketches ----------------------------------------------------------------------------------------


def sketch(robot: Robot, size: float) -> list[Piece]:
    """Rods from joints to the next ones outward, to loops, tips and centres of mass; a mark for each joint."""
    spans = _spans(robot)
    lengths = [np.linalg.norm(e - s) for _, s, e in spans]
    typical = float(np.median(lengths)) if lengths else size
    radius = min(0.022 * size, 0.16 * typical)
    pieces = []
    for body, start, end in spans:
        simple = solids.segment_solids(start, end, radius)
        pieces.append(Piece(body, VISUALS, solids.segment(start, end, radius), BASE if body < 0 else LINK, simple))
    for i, joint in enumerate(robot.joints):
        mark = _joint_mark(joint.kind, 1.6 * radius)
        if mark is not None:
            pieces.append(Piece(i, VISUALS, mark[0], JOINT, mark[1]))
    for body, end in _loop_ends(robot)[::2]:  # of each loop one: where it is closed, the other is there too
        at = Transform(np.eye(3), end)
        simple = tuple(s.placed(at) for s in solids.ball_solid(1.6 * radius))
        pieces.append(Piece(body, VISUALS, solids.ball(1.6 * radius).placed(at), JOINT, simple))
    if any(p < 0 and j.kind.nv < 6 for p, j in zip(robot.parents, robot.joints)):
        under = Transform(np.eye(3), np.array([0, 0, -0.3 * radius]))
        foot = solids.rod(2.4 * radius, 0.6 * radius).placed(under)
        simple = tuple(s.placed(under) for s in solids.rod_solids(2.4 * radius, 0.6 * radius))
        pieces.append(Piece(-1, VISUALS, foot, BASE, simple))
    return pieces


def _spans(robot: Robot) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """(body, start, end) of the rods of a sketch, in body axes."""
    origin = np.zeros(3)
    wanted: list[tuple[int, np.ndarray]] = []
    for i, (p, joint) in enumerate(zip(robot.parents, robot.joints)):
        if isinstance(joint.kind, Modal):  # bending has rods for these
            continue
        if p >= 0 or joint.kind.nv < 6:  # nothing ties a floating body to the world
            wanted.append((p, as_numpy(joint.placement.l)))
        if not robot.children[i]:
            tips = [as_numpy(pose.l) for body, pose in map(robot.frame, robot.tips) if body == i]
            ends = [x for x in tips if np.linalg.norm(x) > 1e-6] or [1.6 * robot.bodies[i].inertia.com]
            wanted += [(i, e) for e in ends]
    known = [(i, tuple(np.round(end, 9))) for i, end in wanted]
    for body, end in _loop_ends(robot):
        if body >= 0 and (body, tuple(np.round(end, 9))) not in known:
            wanted.append((body, end))
    return [(body, origin, end) for body, end in wanted if np.linalg.norm(end) > 1e-6]


def _loop_ends(robot: Robot) -> list[tuple[int, np.ndarray]]:
    """(body, place in its axes) of what loops hold together; −1 is the world."""
    frames = [robot.frame(f) for loop in robot.loops for f in (loop.frame_a, loop.frame_b)]
    return [(body, as_numpy(pose.l)) for body, pose in frames]


def _joint_mark(kind: Any, radius: float) -> tuple[Triangles, tuple[Solid, ...]] | None:
    """A drum along a hinge's axis, a block on a slider, a ball for what turns about several axes; as solids too."""
    if kind.nv == 0 or isinstance(kind, Modal):
        return None
    if kind.nv == 1:
        column = kind.map(kind.neutral())[:, 0]
        if np.linalg.norm(column[:3]) > 0:
            pose = Transform(solids.rotation_onto(column[:3]), np.zeros(3))
            drum = solids.rod_solids(radius, 2.2 * radius)
            return solids.rod(radius, 2.2 * radius).placed(pose), tuple(s.placed(pose) for s in drum)
        pose = Transform(solids.rotation_onto(column[3:]), np.zeros(3))
        block = 1.9 * radius * np.ones(3)
        return solids.box(block).placed(pose), tuple(s.placed(pose) for s in solids.box_solid(block))
    return solids.ball(1.2 * radius), solids.ball_solid(1.2 * radius)


def _has_axes(kind: Any) -> bool:
    """Whether a joint has directions worth an arrow."""
    return kind.nv <= 3 and not isinstance(kind, Modal)


def bent_rods(spans: Sequence[bending.Span], first: int, radius: float) -> list[Piece]:
    """The rods of flexible bodies, each a body of its own to those who draw, from the number ``first`` on."""
    out: list[Piece] = []
    for span in spans:
        length = float(np.linalg.norm(span.straight)) / bending.RODS
        rod, simple = solids.rod(radius, length, rounded=True), solids.rod_solids(radius, length, rounded=True)
        out += [Piece(first + len(out) + i, VISUALS, rod, LINK, simple) for i in range(bending.RODS)]
    return out


# --- inertias ----------------------------------------------------------------------------------------


def inertia_boxes(robot: Robot, thinnest: float) -> list[Piece]:
    """For every body with mass the box of uniform density that has its inertia, at its centre of mass."""
    out = []
    points = mass_points(robot)  # which stand for others, and are nowhere in particular
    for i, body in enumerate(robot.bodies):
        if body.inertia.mass > 0 and i not in points:
            sides, R = box_of_inertia(body.inertia)
            size, pose = np.maximum(sides, thinnest), Transform(R, body.inertia.com)
            simple = tuple(s.placed(pose) for s in solids.box_solid(size))
            out.append(Piece(i, INERTIAS, solids.box(size).placed(pose), WEIGHT, simple))
    return out


def box_of_inertia(inertia: Inertia) -> tuple[np.ndarray, np.ndarray]:
    """The sides (3,) of the uniform box with this mass and tensor, and the rotation (3, 3) of its axes.

    Its moments are m (b² + c²)/12 and so on, hence a² = 6 (I_b + I_c − I_a)/m.
    """
    moments, axes = np.linalg.eigh(inertia.tensor)
    squares = 6.0 * (moments.sum() - 2.0 * moments) / inertia.mass
    if np.linalg.det(axes) < 0:
        axes = axes * np.array([1.0, 1.0, -1.0])
    return np.sqrt(np.maximum(squares, 0.0)), axes
