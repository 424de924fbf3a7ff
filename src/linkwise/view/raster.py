"""A small renderer: triangles → pixels, with a depth buffer, soft light and a shadow on the floor. NumPy alone.

Pictures made by it need no screen and no graphics card, and are the same everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..properties import cached_property

SKY, FLOOR, LINES = np.array([0.965, 0.972, 0.98]), np.array([0.925, 0.935, 0.945]), np.array([0.84, 0.86, 0.88])
LIGHT = np.array([0.35, -0.45, 0.82]) / np.linalg.norm([0.35, -0.45, 0.82])
MOST_FRAGMENTS = 4_000_000  # pixels of triangles that are looked at in one go


@dataclass(frozen=True)
class Camera:
    """Looks from ``eye`` to ``target`` (3,) [m], z up; ``angle`` [rad] is what it sees from top to bottom."""

    eye: np.ndarray
    target: np.ndarray
    angle: float = 0.6

    def axes(self) -> np.ndarray:
        """(3, 3): rows are right, up and forward."""
        forward = (self.target - self.eye) / np.linalg.norm(self.target - self.eye)
        up = np.array([0.0, 0.0, 1.0])
        right = np.cross(forward, up)
        right = right / np.linalg.norm(right)
        return np.stack([right, np.cross(right, forward), forward])

    def project(self, points: np.ndarray, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
        """Pixels (..., 2) and depths (...) of world points (..., 3)."""
        x = (points - self.eye) @ self.axes().T
        depth = np.maximum(x[..., 2], 1e-9)
        focal = 0.5 * height / np.tan(0.5 * self.angle)
        column = 0.5 * width + focal * x[..., 0] / depth
        row = 0.5 * height - focal * x[..., 1] / depth
        return np.stack([column, row], axis=-1), x[..., 2]


def around(
    points: np.ndarray, azimuth: float = -0.95, elevation: float = 0.32, angle: float = 0.6, aspect: float = 1.0
) -> Camera:
    """A camera as near as it can be with all points (n, 3) in view; azimuth and elevation [rad] say from where.

    ``aspect`` is the width of its pictures over their height.
    """
    flat = np.cos(elevation)
    way = np.array([flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(elevation)])
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    right, up, forward = Camera(middle + way, middle).axes()
    x = points - middle
    aside = np.maximum(np.abs(x @ right) / aspect, np.abs(x @ up))
    # A point is in view where it is no farther aside than its depth times the tangent; a tenth is left free.
    distance = float((aside / (0.9 * np.tan(0.5 * angle)) - x @ forward).max())
    return Camera(middle + max(distance, 1e-2) * way, middle, angle)


@dataclass(frozen=True, eq=False)
class Soup:
    """Triangles in the world: corners (n, 3, 3), normals at them (n, 3, 3), one colour (r, g, b, a) each (n, 4)."""

    corners: np.ndarray
    normals: np.ndarray
    colours: np.ndarray

    def where(self, chosen: np.ndarray) -> Soup:
        return Soup(self.corners[chosen], self.normals[chosen], self.colours[chosen])

    def faded(self, opacity: float) -> Soup:
        return Soup(self.corners, self.normals, self.colours * np.array([1.0, 1.0, 1.0, opacity]))


@dataclass(frozen=True, eq=False)
class Stage:
    """A camera, the size of its pictures in pixels, and the height of the floor [m]; None: there is none."""

    camera: Camera
    width: int
    height: int
    floor: float | None
    sharpness: int = 2  # this many pixels a side are averaged into one

    @cached_property
    def backdrop(self) -> np.ndarray:
        """The empty stage, (h, w, 3), before averaging."""
        return _backdrop(self.camera, self.sharpness * self.width, self.sharpness * self.height, self.floor)

    def render(self, bodies: Soup, signs: Soup) -> np.ndarray:
        """The picture (height, width, 3), uint8. Signs shine through the bodies that hide them."""
        image = _with_shadow(self.backdrop, bodies, self.camera, self.floor)
        solid = bodies.colours[:, 3] > 0.999
        far = np.full(image.shape[0] * image.shape[1], np.inf)
        image, depth = _drawn(image, far, bodies.where(solid), self.camera)
        image, _ = _drawn(image, depth, bodies.where(~solid), self.camera)
        image, _ = _drawn(image, far, signs.faded(0.45), self.camera)
        image, _ = _drawn(image, depth, signs, self.camera)
        blocks = image.reshape(self.height, self.sharpness, self.width, self.sharpness, 3).mean(axis=(1, 3))
        pixels: np.ndarray = (255.0 * np.clip(blocks, 0, 1) + 0.5).astype(np.uint8)
        return pixels


# --- the ground --------------------------------------------------------------------------------------


def _backdrop(camera: Camera, w: int, h: int, floor: float | None) -> np.ndarray:
    """A floor with lines, fading into the sky; (h, w, 3)."""
    if floor is None:
        return np.broadcast_to(SKY, (h, w, 3))
    hit, point, distance = _floor_points(camera, w, h, floor)
    reach = float(np.linalg.norm(camera.eye - camera.target))
    spacing = 10.0 ** np.floor(np.log10(0.45 * reach))
    spacing *= 5.0 if 0.45 * reach / spacing >= 5 else 2.0 if 0.45 * reach / spacing >= 2 else 1.0
    off = np.abs((point[..., :2] / spacing + 0.5) % 1.0 - 0.5) * spacing
    pixel = np.maximum(distance, 1e-9 * reach) * 2.0 * np.tan(0.5 * camera.angle) / h
    slant = np.maximum(np.abs((camera.eye[2] - floor) / np.maximum(distance, 1e-9)), 1e-3)
    line = np.clip(1.6 - off.min(axis=-1) / (pixel / np.sqrt(slant)), 0, 1)
    near = np.exp(-np.maximum(distance / reach - 1.0, 0.0) / 0.9)[..., None]
    ground = FLOOR + (LINES - FLOOR) * line[..., None]
    return np.where(hit[..., None], SKY + (ground - SKY) * near, SKY)


def _floor_points(camera: Camera, w: int, h: int, floor: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For every pixel whether its ray meets the floor, where, and how far away."""
    tangent = np.tan(0.5 * camera.angle)
    x = (np.arange(w) + 0.5 - 0.5 * w) * 2 * tangent / h
    y = (0.5 * h - np.arange(h) - 0.5) * 2 * tangent / h
    right, up, forward = camera.axes()
    ray = forward + x[None, :, None] * right + y[:, None, None] * up
    down = floor - camera.eye[2]
    steep = np.where(np.abs(ray[..., 2]) > 1e-12, ray[..., 2], 1e-12)
    along = down / steep
    hit = along > 0
    along = np.where(hit, along, 0.0)
    return hit, camera.eye + along[..., None] * ray, along * np.linalg.norm(ray, axis=-1)


def _with_shadow(image: np.ndarray, soup: Soup, camera: Camera, floor: float | None) -> np.ndarray:
    """Where the light does not reach the floor, it is darker."""
    if floor is None or camera.eye[2] <= floor or not len(soup.corners):
        return image
    above = soup.corners[..., 2:] - floor
    fallen = soup.corners - np.maximum(above, 0.0) * LIGHT / LIGHT[2]
    h, w, _ = image.shape
    pixels, _, _, _ = _fragments(fallen[soup.colours[:, 3] > 0.999], camera, w, h)
    shade = np.ones(h * w)
    shade[pixels] = 0.86
    return image * shade.reshape(h, w, 1)


# --- triangles ---------------------------------------------------------------------------------------


def _drawn(image: np.ndarray, depth: np.ndarray, soup: Soup, camera: Camera) -> tuple[np.ndarray, np.ndarray]:
    """The picture with these triangles in it, and the depth buffer (h·w,) they leave."""
    h, w, _ = image.shape
    pixels, which, weights, far = _fragments(soup.corners, camera, w, h)
    seen = far < depth[pixels]
    pixels, which, weights, far = pixels[seen], which[seen], weights[seen], far[seen]
    order = np.argsort(-far, kind="stable")  # the nearest is written last and stays
    pixels, which, weights, far = pixels[order], which[order], weights[order], far[order]
    last = np.zeros(h * w, int)
    last[pixels] = np.arange(len(pixels))
    top = last[pixels] == np.arange(len(pixels))
    pixels, which, weights, far = pixels[top], which[top], weights[top], far[top]
    normals = np.einsum("fk,fkc->fc", weights, soup.normals[which])
    positions = np.einsum("fk,fkc->fc", weights, soup.corners[which])
    colours = soup.colours[which]
    lit = colours[:, :3] * _light(normals, camera.eye - positions)[:, None]
    flat = image.reshape(-1, 3).copy()
    opacity = colours[:, 3:]
    flat[pixels] = opacity * lit + (1.0 - opacity) * flat[pixels]
    depth = depth.copy()
    depth[pixels] = far
    return flat.reshape(h, w, 3), depth


def _light(normals: np.ndarray, to_eye: np.ndarray) -> np.ndarray:
    """How bright a surface is (n,): the light, some from the sky and from the camera; both sides are lit."""
    n = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    e = to_eye / np.maximum(np.linalg.norm(to_eye, axis=1, keepdims=True), 1e-12)
    facing = np.einsum("ij,ij->i", n, e)
    n = np.where(facing[:, None] < 0, -n, n)
    bright: np.ndarray = 0.52 + 0.42 * np.maximum(n @ LIGHT, 0.0) + 0.12 * n[:, 2] + 0.12 * np.abs(facing)
    return bright


def _fragments(
    corners: np.ndarray, camera: Camera, w: int, h: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Every (pixel, triangle) with the pixel's middle inside: pixel index, triangle, weights (f, 3), depth."""
    at, depth = camera.project(corners, w, h)
    low = np.clip(np.floor(at.min(axis=1)), 0, [w, h]).astype(int)
    high = np.clip(np.ceil(at.max(axis=1)), 0, [w, h]).astype(int)
    sides = np.maximum(high - low, 0)
    a, b, c = at[:, 0], at[:, 1], at[:, 2]
    area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    visible = (depth.min(axis=1) > 1e-6) & (np.abs(area) > 1e-12) & (sides.prod(axis=1) > 0)
    chosen = np.flatnonzero(visible)
    counts = sides[chosen].prod(axis=1)
    found = []
    for part in _portions(chosen, counts):
        found.append(_fragments_of(part, at, depth, area, low, sides, w))
    if not found:
        return np.zeros(0, int), np.zeros(0, int), np.zeros((0, 3)), np.zeros(0)
    pixels, which, weights, far = (np.concatenate(x) for x in zip(*found))
    return pixels, which, weights, far


def _portions(chosen: np.ndarray, counts: np.ndarray) -> list[np.ndarray]:
    """The triangles in portions that fit in memory."""
    if not len(chosen):
        return []
    edges = np.searchsorted(np.cumsum(counts), np.arange(MOST_FRAGMENTS, counts.sum(), MOST_FRAGMENTS))
    return [p for p in np.split(chosen, np.unique(edges)) if len(p)]


def _fragments_of(
    which: np.ndarray, at: np.ndarray, depth: np.ndarray, area: np.ndarray, low: np.ndarray, sides: np.ndarray, w: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    counts = sides[which].prod(axis=1)
    owner = np.repeat(which, counts)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    across = sides[owner, 0]
    down = number // across
    column, row = low[owner, 0] + (number - down * across), low[owner, 1] + down
    x, y = column + 0.5, row + 0.5
    shares: list[np.ndarray] = []
    for i, j in ((1, 2), (2, 0), (0, 1)):  # what one edge leaves out the next need not look at
        start, edge = at[:, i], at[:, j] - at[:, i]
        share = (edge[owner, 0] * (y - start[owner, 1]) - edge[owner, 1] * (x - start[owner, 0])) / area[owner]
        inside = share >= 0
        owner, column, row, x, y = (item[inside] for item in (owner, column, row, x, y))
        shares = [item[inside] for item in (*shares, share)]
    share = np.stack(shares, axis=1)
    nearness = share / depth[owner]  # 1/z is linear on the screen
    total = nearness.sum(axis=1)
    return row * w + column, owner, nearness / total[:, None], 1.0 / total
