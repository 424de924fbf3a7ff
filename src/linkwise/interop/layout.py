"""From linkwise's order and axes to another library's, and back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import as_numpy
from ..model.model import Model
from ..properties import cached_property
from ..spatial import rotation_from_quaternion

_AS_FREE = np.arange(7)
# Functions whose results have spatial vectors in world axes, and along which axes of an array these lie.
_IN_WORLD_AXES = {
    "jacobian": (-2,),
    "centroidal_matrix": (-2,),
    "jacobian_dot_v": (-1,),
    "operational_inertia": (-2, -1),
}


def depth_first(robot: Model) -> list[int]:
    """The bodies in depth-first order."""
    order: list[int] = []
    waiting = [k for k, p in enumerate(robot.parents) if p < 0][::-1]
    while waiting:
        k = waiting.pop()
        order.append(k)
        waiting.extend(reversed(robot.children[k]))
    return order


@dataclass(frozen=True, eq=False)
class Layout:
    """How a peer lays out q, v and forces.

    ``order`` is the peer's order of the bodies. A free joint's velocity is linear or angular part first; its
    parts are in the axes of the world or of the body. ``free_q`` says where the seven numbers of a free
    joint (x, y, z, quaternion xyzw) go. World axes are for a free base at the root only.
    """

    robot: Model
    order: list[int]
    linear_first: bool = True
    linear_in_world: bool = False
    angular_in_world: bool = False
    free_q: Any = field(default_factory=lambda: _AS_FREE)

    @cached_property
    def of_q(self) -> np.ndarray:
        """Which entry of linkwise's q each entry of the peer's is."""
        parts = []
        for k in self.order:
            entries = _entries(self.robot.q_slices[k])
            parts.append(entries[self.free_q] if self._is_free(k) else entries)
        return np.concatenate(parts)

    @cached_property
    def of_v(self) -> np.ndarray:
        """Which entry of linkwise's v each entry of the peer's is."""
        parts = []
        for k in self.order:
            entries = _entries(self.robot.v_slices[k])
            parts.append(np.roll(entries, -3) if self._is_free(k) and self.linear_first else entries)
        return np.concatenate(parts)

    def arguments(self, function: str, arrays: list[np.ndarray]) -> list[np.ndarray]:
        """The arguments of a function in the peer's layout, C-contiguous."""
        q, *rest = arrays
        if function == "inverse_dynamics":
            rest[1] = rest[1] + self._drift(q, rest[0])
        moved = [q[..., self.of_q], *(self._turned(q, x)[..., self.of_v] for x in rest)]
        return [np.ascontiguousarray(x) for x in moved]

    def result(self, function: str, arrays: list[np.ndarray], found: np.ndarray) -> np.ndarray:
        """The peer's result in linkwise's layout."""
        q, back = arrays[0], np.argsort(self.of_v)
        if function in _IN_WORLD_AXES:
            assert self._stays
            out = found[..., back] if function in ("jacobian", "centroidal_matrix") else found
            for axis in _IN_WORLD_AXES[function] if self.linear_first else ():
                out = np.roll(out, 3, axis)
            return out
        if function == "coriolis_matrix":
            assert self._stays
            return found[..., back, :][..., :, back]
        if function.startswith("mass_matrix"):
            half = self._turned(q, found[..., back, :][..., :, back], inverse=True)
            return np.swapaxes(self._turned(q, np.swapaxes(half, -1, -2), inverse=True), -1, -2)
        out = self._turned(q, found[..., back], inverse=True)
        return out - self._drift(q, arrays[1]) if function == "forward_dynamics" else out

    def linearized(self, matrix: np.ndarray, by_v: np.ndarray, by_q: np.ndarray) -> np.ndarray:
        """A linearised model in linkwise's order, its matrices below each other; ``matrix`` has an upper triangle.

        For peers whose velocities are in the axes of their bodies.
        """
        assert self._stays
        back = np.argsort(self.of_v)
        return np.concatenate([x[..., back, :][..., :, back] for x in (full(matrix), by_v, by_q)], axis=-2)

    def _is_free(self, k: int) -> bool:
        return self.robot.joints[k].kind.kind == "free"

    @property
    def _stays(self) -> bool:
        """Whether every velocity is in the axes of its body, as linkwise's are."""
        return not (self.linear_in_world or self.angular_in_world) or not self._is_free(0)

    def _turned(self, q: np.ndarray, x: np.ndarray, inverse: bool = False) -> np.ndarray:
        """The base's parts of x (batch, ..., nv) turned into the peer's axes, or back."""
        if self._stays:
            return x
        R = as_numpy(rotation_from_quaternion(q[:, 3:7]))
        R = np.swapaxes(R, -1, -2) if inverse else R
        out = x.copy()
        for start, turns in ((0, self.angular_in_world), (3, self.linear_in_world)):
            if turns:
                out[..., start : start + 3] = np.einsum("nij,n...j->n...i", R, x[..., start : start + 3])
        return out

    def _drift(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """What the peer's base acceleration has beyond linkwise's: ω × v, where its velocity is in world axes."""
        out = np.zeros_like(v)
        if not self._stays and self.linear_in_world:
            out[:, 3:6] = np.cross(v[:, 0:3], v[:, 3:6])
        return out


def full(upper: np.ndarray) -> np.ndarray:
    """Symmetric matrices from their upper triangles."""
    both: np.ndarray = np.triu(upper) + np.swapaxes(np.triu(upper, 1), -1, -2)
    return both


def _entries(where: slice) -> np.ndarray:
    return np.arange(where.start, where.stop)
