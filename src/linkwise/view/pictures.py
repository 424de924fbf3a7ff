"""Pictures of a robot in space: a still, an animation, written by the renderer of :mod:`.raster`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from ..arguments import one_of
from ..errors import InputError
from ..properties import cached_property
from ..spatial import Transform
from . import raster, solids
from .motion import Motion
from .scene import VISUALS, Arrows, Piece, Scene
from .solids import Triangles

RED, GREEN, BLUE = (0.84, 0.22, 0.22, 1.0), (0.27, 0.63, 0.30, 1.0), (0.22, 0.40, 0.82, 1.0)
YELLOW, PURPLE, TEAL = (0.95, 0.72, 0.10, 1.0), (0.56, 0.29, 0.65, 1.0), (0.10, 0.58, 0.60, 1.0)
NAVY, MAGENTA = (0.10, 0.18, 0.52, 1.0), (0.91, 0.16, 0.55, 1.0)

#: What can be shown, and in which words.
LAYERS = {
    "visuals": "the robot's looks, or its sketch",
    "inertias": "boxes of uniform density with the bodies' inertias",
    "frames": "the axes of all frames",
    "center_of_mass": "the centre of mass of all bodies",
    "axes": "the axes of the joints",
    "joint_forces": "joint forces τ along their axes",
    "external": "external forces on bodies",
    "reactions": "forces on bodies by their inboard neighbours",
    "loop_forces": "forces by which loops hold their frames together",
    "motion_forces": "forces of hands that carry and move an object",
    "squeeze": "forces of hands that only squeeze an object",
    "trace": "the paths of the tips",
}

#: Layers of arrows, and their colours.
ARROWS = {
    "axes": TEAL,
    "joint_forces": PURPLE,
    "external": RED,
    "reactions": GREEN,
    "loop_forces": RED,
    "motion_forces": NAVY,
    "squeeze": MAGENTA,
}
FORCES = tuple(name for name in ARROWS if name != "axes")
CONTACT_PARTS = {"motion_forces": "motion", "squeeze": "internal"}


def checked_layers(show: Sequence[str]) -> tuple[str, ...]:
    """The names, or an error that lists those there are."""
    names = (show,) if isinstance(show, str) else tuple(show)
    return tuple(one_of(name, LAYERS, "layer of a picture", error=InputError) for name in names)


@dataclass(frozen=True, eq=False)
class Studio:
    """A motion, what of it is shown, and a camera that has all of it in view in pictures of this ``aspect``."""

    scene: Scene
    motion: Motion
    show: tuple[str, ...] = ("visuals",)
    aspect: float = 1.0
    camera: raster.Camera = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "show", checked_layers(self.show))
        object.__setattr__(self, "camera", raster.around(self.extent, aspect=self.aspect))

    @cached_property
    def extent(self) -> np.ndarray:
        """(n, 3): the corners of boxes around everything fixed on bodies, over the whole motion."""
        steps = np.unique(np.linspace(0, len(self.motion) - 1, 40).astype(int))
        return self._corners(self.motion.q[steps])

    @cached_property
    def floor(self) -> float | None:
        """The height [m] of the floor: where a robot's base stands, or the lowest point of what hangs or moves freely.

        None where nothing weighs anything. A base stands where its robot, at its neutral configuration, is above it.
        """
        robot = self.scene.robot
        if not np.any(robot.gravity):
            return None
        lowest = float(self.extent[:, 2].min())
        if any(p < 0 and j.kind.nv == 6 for p, j in zip(robot.parents, robot.joints)):
            return lowest
        of_base = [float(x.triangles.vertices[:, 2].min()) for x in self.scene.pieces if x.body < 0]
        base = min(of_base, default=0.0)
        neutral = float(self._corners(robot.neutral()[None])[:, 2].min())
        return min(base, neutral) if neutral > base - 0.05 * self.scene.size else lowest

    def _corners(self, q: np.ndarray) -> np.ndarray:
        """(n, 3): the corners of boxes around everything fixed on bodies at configurations q (steps, nq)."""
        R, p = self.scene.poses(q)
        found = []
        for piece in self.scene.pieces:
            if piece.layer not in self.show and piece.layer != VISUALS:
                continue
            low, high = piece.triangles.vertices.min(axis=0), piece.triangles.vertices.max(axis=0)
            corners = np.array(np.meshgrid(*zip(low, high))).reshape(3, -1).T
            if piece.body >= 0:
                corners = np.einsum("sij,kj->ski", R[:, piece.body], corners) + p[:, piece.body, None, :]
            found.append(corners.reshape(-1, 3))
        return np.concatenate(found) if found else np.array([[-0.5, -0.5, -0.5], [0.5, 0.5, 0.5]])

    @property
    def key(self) -> dict[str, Any]:
        """Words → colour for the sorts of forces that are drawn, where there are several."""
        shown = forces_shown(self.motion, self.show)
        return {name.replace("_", " "): ARROWS[name] for name in shown} if len(shown) > 1 else {}

    def pictures(self, steps: Iterable[int], width: int, height: int, sharpness: int = 2) -> Iterator[np.ndarray]:
        """(height, width, 3), uint8, for each of these steps of the motion; ``sharpness`` smooths edges."""
        stage = raster.Stage(self.camera, width, height, self.floor, sharpness)
        for step in steps:
            yield stage.render(self._bodies(step), self._signs(step))

    # --- triangles -------------------------------------------------------------------------------------

    @cached_property
    def _pieces(self) -> list[tuple[Piece, np.ndarray, np.ndarray]]:
        """What is fixed on bodies, with positions and normals at the corners of its faces."""
        return [(x, *_at_corners(x.triangles)) for x in self.scene.pieces if x.layer in self.show]

    def _bodies(self, step: int) -> raster.Soup:
        R, p = self.scene.poses(self.motion.q[step])
        parts: list[tuple[np.ndarray, np.ndarray, Any]] = []
        for piece, corners, normals in self._pieces:
            if piece.body >= 0:
                turn, at = R[piece.body], p[piece.body]
                corners, normals = corners @ turn.T + at, normals @ turn.T
            parts.append((corners, normals, piece.colour))
        return _soup(parts)

    def _signs(self, step: int) -> raster.Soup:
        return _soup([(*_at_corners(triangles), colour) for triangles, colour in self._sign_list(step)])

    def _sign_list(self, step: int) -> list[tuple[Triangles, Any]]:
        """What is shown besides the bodies: frames, arrows, points, paths."""
        motion, scene, out = self.motion, self.scene, []
        at, thin = scene.poses(motion.q[step]), 0.005 * scene.size
        if "frames" in self.show:
            for R, p in zip(*scene.frames(at)):
                for column, colour in zip(R.T, (RED, GREEN, BLUE)):
                    out.append((solids.arrow(p, p + 0.07 * scene.size * column, 0.6 * thin), colour))
        if "center_of_mass" in self.show:
            c = scene.center_of_mass(at)
            out.append((solids.ball(4 * thin).placed(Transform(np.eye(3), c)), YELLOW))
        if "axes" in self.show:
            out += _arrows(scene.axis_arrows(at), thin, ARROWS["axes"])
        if "joint_forces" in self.show and motion.tau is not None:
            largest = float(np.abs(motion.tau).max())
            out += _arrows(scene.force_arrows(at, motion.tau[step], largest), 1.2 * thin, ARROWS["joint_forces"])
        for name, wrenches in (("external", motion.external), ("reactions", motion.reactions)):
            if name in self.show and wrenches is not None:
                arrows = scene.wrench_arrows(at, wrenches[step], largest_force(wrenches), on_line=name == "external")
                out += _arrows(arrows, 1.2 * thin, ARROWS[name])
        if "loop_forces" in self.show and motion.loop_forces is not None:
            largest = largest_force(motion.loop_forces)
            arrows = scene.loop_arrows(motion.loop_places[step], motion.loop_forces[step], largest)
            out += _arrows(arrows, 1.2 * thin, ARROWS["loop_forces"])
        for name in CONTACT_PARTS:
            if name in self.show and motion.contact_forces is not None:
                out += _arrows(contact_arrows(scene, motion, name, step), 1.2 * thin, ARROWS[name])
        if "trace" in self.show and step > 0:
            steps = np.unique(np.linspace(0, step, min(step + 1, 200)).astype(int))
            paths = np.moveaxis(scene.tips(scene.poses(motion.q[steps])), 0, 1)
            for path in paths:
                out += [(solids.segment(a, b, 0.5 * thin), RED) for a, b in pairwise(path) if (a != b).any()]
        return out


def contact_arrows(scene: Scene, motion: Motion, layer: str, step: int | None) -> Arrows:
    """The forces of a layer at a step (None: none are known); both layers have one scale."""
    assert motion.contact_forces is not None
    forces = motion.contact_forces[CONTACT_PARTS[layer]][step or 0] * (step is not None)
    largest = max(float(np.linalg.norm(x, axis=-1).max(initial=0.0)) for x in motion.contact_forces.values())
    pressed = motion.contact_normals[step or 0] if layer == "squeeze" else None
    return scene.contact_arrows(motion.contact_places[step or 0], forces, largest, pressed)


def forces_shown(motion: Motion, show: Sequence[str]) -> list[str]:
    """The layers of forces that are shown and known."""
    where = {"joint_forces": "tau", **dict.fromkeys(CONTACT_PARTS, "contact_forces")}
    return [name for name in FORCES if name in show and getattr(motion, where.get(name, name)) is not None]


def largest_force(wrenches: Any) -> float:
    """The largest force of [moment; force] (..., 6); 0 where nothing is known."""
    return 0.0 if wrenches is None else float(np.linalg.norm(wrenches[..., 3:], axis=-1).max(initial=0.0))


def _arrows(arrows: Arrows, radius: float, colour: Any) -> list[tuple[Triangles, Any]]:
    long = np.linalg.norm(arrows.end - arrows.start, axis=-1) > radius
    return [(solids.arrow(s, e, radius), colour) for s, e in zip(arrows.start[long], arrows.end[long])]


def _soup(parts: list[tuple[np.ndarray, np.ndarray, Any]]) -> raster.Soup:
    """Corners, normals and a colour of several things as one soup."""
    if not parts:
        return raster.Soup(np.zeros((0, 3, 3)), np.zeros((0, 3, 3)), np.zeros((0, 4)))
    colours = np.concatenate([np.broadcast_to(np.array(c), (len(v), 4)) for v, _, c in parts])
    return raster.Soup(np.concatenate([v for v, _, _ in parts]), np.concatenate([n for _, n, _ in parts]), colours)


def _at_corners(triangles: Triangles) -> tuple[np.ndarray, np.ndarray]:
    """Positions and normals at the corners of all faces, each (F, 3, 3)."""
    return triangles.vertices[triangles.faces], triangles.normals()[triangles.faces]
