"""A scene as nodes of a viser server: made once, then moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..spatial import quaternion_from_rotation
from . import solids
from .motion import Motion
from .pictures import (
    ARROWS,
    CONTACT_PARTS,
    FORCES,
    LAYERS,
    RED,
    YELLOW,
    Studio,
    checked_layers,
    contact_arrows,
    forces_shown,
    largest_force,
)
from .scene import VISUALS, Arrows, Piece, Poses, Scene


class Crowd:
    """All simple solids of a layer that are of one kind and colour, as one node."""

    def __init__(self, layer: str, kind: str, colour: tuple[float, ...]) -> None:
        self.layer, self.kind, self.colour = layer, kind, colour
        self._bodies: list[int] = []
        self._solids: list[solids.Solid] = []
        self.node: Any = None

    def add(self, piece: Piece, solid: solids.Solid) -> None:
        self._bodies.append(piece.body)
        self._solids.append(solid)

    def show(self, scene: Any, at: Poses, visible: bool) -> Any:
        """Make the node."""
        unit = solids.UNITS[self.kind]
        self._rotations = np.array([s.pose.R for s in self._solids])
        self._places = np.array([s.pose.l for s in self._solids])
        turns, points = self._placed(at)
        self.node = scene.add_batched_meshes_simple(
            f"/robot/{self.layer}_{self.kind}_{'_'.join(str(round(255 * x)) for x in self.colour)}",
            unit.vertices,
            unit.faces,
            turns,
            points,
            batched_scales=np.array([s.scale for s in self._solids], dtype=np.float32),
            batched_colors=_bytes(_linear(self.colour)),
            opacity=None if self.colour[3] > 0.999 else self.colour[3],
            lod="off",
            side="double",
            cast_shadow=self.layer == VISUALS,
            receive_shadow=False,
            visible=visible,
        )
        return self.node

    def move(self, at: Poses) -> None:
        """Everything to where the bodies are."""
        self.node.batched_wxyzs, self.node.batched_positions = self._placed(at)

    def _placed(self, at: Poses) -> tuple[np.ndarray, np.ndarray]:
        """Quaternions (n, 4), w first, and positions (n, 3) in the world; body −1 is the world itself."""
        R = np.concatenate([at.R, np.eye(3)[None]])[self._bodies]
        p = np.concatenate([at.p, np.zeros((1, 3))])[self._bodies]
        turns = _wxyz(R @ self._rotations)
        return turns.astype(np.float32), (p + (R @ self._places[..., None])[..., 0]).astype(np.float32)


class Nodes:
    """What a viser server shows of a scene. ``place`` moves everything to a state."""

    def __init__(self, server: Any, scene: Scene, motion: Motion, show: Sequence[str]) -> None:
        self.scene, self.motion, self._server = scene, motion, server
        self._visible = dict.fromkeys(LAYERS, False) | dict.fromkeys(checked_layers(show), True)
        self._layers: dict[str, list[Any]] = {name: [] for name in LAYERS}
        self._largest = {
            "joint_forces": 0.0 if motion.tau is None else float(np.abs(motion.tau).max()),
            "external": largest_force(motion.external),
            "reactions": largest_force(motion.reactions),
            "loop_forces": largest_force(motion.loop_forces),
        }
        self._set_up_world()
        self._crowds = self._add_crowds()
        self._bodies = self._add_bodies()
        self._signs = self._add_signs()

    @property
    def available(self) -> list[str]:
        """The layers there is something to show of."""
        missing = {*FORCES} - {*forces_shown(self.motion, FORCES)}
        return [n for n in LAYERS if n not in missing and not (n == "trace" and len(self.motion) < 2)]

    def is_shown(self, layer: str) -> bool:
        return self._visible[layer]

    def set_shown(self, layer: str, shown: bool) -> None:
        self._visible[layer] = shown
        for node in self._layers[layer]:
            node.visible = shown

    # --- making ----------------------------------------------------------------------------------------

    def _set_up_world(self) -> None:
        studio = Studio(self.scene, self.motion)
        low, high = studio.extent.min(axis=0), studio.extent.max(axis=0)
        reach = float(np.linalg.norm(high - low))
        cell = 10.0 ** np.floor(np.log10(max(reach, 1e-3)))
        scene = self._server.scene
        scene.set_up_direction("+z")
        middle = 0.5 * (low + high)
        if studio.floor is not None:
            self._add_floor(cell, reach, (middle[0], middle[1], studio.floor))
        camera = self._server.initial_camera
        camera.position = tuple(float(x) for x in studio.camera.eye)
        camera.look_at = tuple(float(x) for x in studio.camera.target)
        camera.up = (0.0, 0.0, 1.0)
        camera.fov = studio.camera.angle
        camera.near = 1e-3 * reach
        self._server.scene.configure_default_lights(enabled=True, cast_shadow=True)

    def _add_floor(self, cell: float, reach: float, middle: tuple[float, float, float]) -> None:
        """A grid of cells [m] on the floor, fading away at several times the reach of the motion [m]."""
        self._server.scene.add_grid(
            "/floor",
            width=20 * cell,
            height=20 * cell,
            cell_size=0.5 * cell,
            section_size=cell,
            cell_color=(232, 235, 238),
            section_color=(205, 210, 215),
            fade_distance=8 * reach,
            position=(round(middle[0] / cell) * cell, round(middle[1] / cell) * cell, middle[2]),
            shadow_opacity=0.12,
        )

    def _add_crowds(self) -> list[Crowd]:
        """Simple solids of one kind are one node: moving them is one message, drawing them one call."""
        found: dict[tuple[str, str, tuple[float, ...]], Crowd] = {}
        for piece in self.scene.pieces:
            for solid in piece.solids:
                key = (piece.layer, solid.kind, piece.colour)
                found.setdefault(key, Crowd(*key)).add(piece, solid)
        at = self.scene.poses(self.motion.q[0])
        for crowd in found.values():
            self._layers[crowd.layer].append(crowd.show(self._server.scene, at, self._visible[crowd.layer]))
        return list(found.values())

    def _add_bodies(self) -> dict[int, Any]:
        """Frames of the bodies that carry meshes, which move with them."""
        scene = self._server.scene
        meshed = [piece for piece in self.scene.pieces if not piece.solids]
        carriers = sorted({piece.body for piece in meshed if piece.body >= 0})
        bodies = {i: scene.add_frame(f"/robot/{i:03d}", show_axes=False) for i in carriers}
        for k, piece in enumerate(meshed):
            where = "/robot/world" if piece.body < 0 else f"/robot/{piece.body:03d}"
            node = scene.add_mesh_simple(
                f"{where}/{piece.layer}{k:03d}",
                piece.triangles.vertices,
                piece.triangles.faces,
                color=_bytes(piece.colour),
                opacity=None if piece.colour[3] > 0.999 else piece.colour[3],
                side="double",
                cast_shadow=piece.layer == VISUALS,
                receive_shadow=False,
                visible=self._visible[piece.layer],
            )
            self._layers[piece.layer].append(node)
        return bodies

    def _add_signs(self) -> dict[str, Any]:
        scene, size, robot = self._server.scene, self.scene.size, self.scene.robot
        out: dict[str, Any] = {}
        count = len([f for f in robot.frames if f.name != "world"])
        out["frames"] = scene.add_batched_axes(
            "/signs/frames",
            batched_wxyzs=np.tile([1.0, 0, 0, 0], (count, 1)),
            batched_positions=np.zeros((count, 3)),
            axes_length=0.07 * size,
            axes_radius=0.003 * size,
            visible=self._visible["frames"],
        )
        ball = solids.ball(0.02 * size)
        out["center_of_mass"] = scene.add_mesh_simple(
            "/signs/center_of_mass",
            ball.vertices,
            ball.faces,
            color=_bytes(YELLOW),
            visible=self._visible["center_of_mass"],
        )
        for name, colour in ARROWS.items():
            if name in self.available:
                out[name] = scene.add_arrows(
                    f"/signs/{name}",
                    self._points(self._arrows(name, 0, self.scene.poses(self.motion.q[0]))),
                    colors=np.array(_bytes(colour)),
                    shaft_radius=0.005 * size,
                    head_radius=0.012 * size,
                    head_length=0.03 * size,
                    visible=self._visible[name],
                )
        if "trace" in self.available:
            out["trace"] = self._add_trace()
        for name, node in out.items():
            self._layers[name].append(node)
        return out

    def _add_trace(self) -> Any:
        steps = np.unique(np.linspace(0, len(self.motion) - 1, 600).astype(int))
        paths = np.moveaxis(self.scene.tips(self.scene.poses(self.motion.q[steps])), 0, 1)
        points = np.stack([paths[:, :-1], paths[:, 1:]], axis=2).reshape(-1, 2, 3)
        return self._server.scene.add_line_segments(
            "/signs/trace",
            points,
            colors=np.array(_bytes(RED)),
            thickness=0.004 * self.scene.size,
            visible=self._visible["trace"],
        )

    # --- moving ----------------------------------------------------------------------------------------

    def place(self, q: np.ndarray, step: int | None) -> None:
        """Everything at a configuration (nq,); ``step`` of the motion it belongs to, or None for a pose of its own."""
        at = self.scene.poses(q)
        turns: Any = _wxyz(at.R) if self._bodies else ()
        with self._server.atomic():
            for i, node in self._bodies.items():
                node.wxyz, node.position = turns[i], at.p[i]
            for crowd in self._crowds:
                if self._visible[crowd.layer]:
                    crowd.move(at)
            if self._visible["frames"]:
                turned, points = self.scene.frames(at)
                self._signs["frames"].batched_wxyzs = _wxyz(turned).astype(np.float32)
                self._signs["frames"].batched_positions = points.astype(np.float32)
            if self._visible["center_of_mass"]:
                self._signs["center_of_mass"].position = self.scene.center_of_mass(at)
            for name in ARROWS:
                if self._visible[name] and name in self._signs:
                    self._signs[name].points = self._points(self._arrows(name, step, at))

    def _arrows(self, name: str, step: int | None, at: Poses) -> Arrows:
        """The arrows of a layer; forces of a motion are known at its own steps only."""
        motion, scene = self.motion, self.scene
        if name == "axes":
            return scene.axis_arrows(at)
        if name == "joint_forces":
            tau = np.zeros(scene.robot.nv) if step is None else motion.tau[step]
            return scene.force_arrows(at, tau, self._largest[name])
        if name == "loop_forces":
            assert motion.loop_forces is not None
            forces = motion.loop_forces[step or 0] * (step is not None)
            return scene.loop_arrows(motion.loop_places[step or 0], forces, self._largest[name])
        if name in CONTACT_PARTS:
            return contact_arrows(scene, motion, name, step)
        wrenches = motion.external if name == "external" else motion.reactions
        assert wrenches is not None
        known = np.zeros(wrenches.shape[1:]) if step is None else wrenches[step]
        return scene.wrench_arrows(at, known, self._largest[name], on_line=name == "external")

    def _points(self, arrows: Arrows) -> np.ndarray:
        """(n, 2, 3); arrows without length are kept as very short ones, as their number must not change."""
        least = 1e-4 * self.scene.size * np.array([0.0, 0.0, 1.0])
        short = np.linalg.norm(arrows.end - arrows.start, axis=-1, keepdims=True) < 1e-9 * self.scene.size
        return np.stack([arrows.start, np.where(short, arrows.start + least, arrows.end)], axis=1).astype(np.float32)


def _wxyz(R: np.ndarray) -> np.ndarray:
    """Unit quaternions (..., 4), w first, as viser wants them."""
    return np.roll(np.asarray(quaternion_from_rotation(R)), 1, axis=-1)


def _linear(colour: Sequence[float]) -> tuple[float, ...]:
    """A colour as light: viser 1.1 shows those of batches without the sRGB curve, so that they would look pale."""
    return tuple(x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in colour)


def _bytes(colour: Sequence[float]) -> tuple[int, int, int]:
    r, g, b = (round(255 * x) for x in colour[:3])
    return r, g, b
