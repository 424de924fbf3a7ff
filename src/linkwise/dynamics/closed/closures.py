"""What a loop demands: how far it is from closing, which forces it transmits, what it asks of motions.

Of frames a and b, with everything in frame a's axes at its origin, E = R_a*R_b and d = R_a*(x_b − x_a):

    W*(V_b − V_a) = 0 = Gβ          W*(A_b − A_a − V_a × V_b) + W̊*(V_b − V_a) = 0 = Gβ̇ + Ġβ

with the forces Wλ that act on b, and −Wλ on a; accelerations are spatial (math notes on closed chains 2.1). The world
neither moves nor accelerates; gravity is in both A_a and A_b or in neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ... import arrays
from ...arrays import Array
from ...model.loops import AT_FRAME_B, TRANSMITTED, Loop
from ...model.model import Model
from ...spatial import Transform, cross, cross_motion, skew
from ..kinematics import body_poses
from ..links import Links, identity
from .backward import Backward
from .loop_errors import TURNING_MOMENTS, error

Motions = Sequence[Array] | Mapping[int, Array]  # by body


@dataclass(frozen=True, eq=False)
class Closure:
    """A loop at a configuration."""

    loop: Loop
    bodies: tuple[int, int]  # of frames a and b; −1 is the world
    reach: tuple[Any, Any]  # φ(body, frame a): forces at frame a's origin in its axes → forces on the body
    E: Array  # (..., 3, 3), b's axes in a's
    d: Array  # (..., 3), b's origin seen from a
    W: Array  # (..., 6, m)
    on_b: Transform  # frame b on its body
    seen: Mapping[int, Any] | None = (
        None  # by body on the way in from b, what carries forces at frame a there, if known
    )

    @property
    def error(self) -> Array:
        """How far the loop is from closing, (..., m) [rad, m]: zero where it is closed, with the rate Gβ there."""
        return error(self.loop, self.E, self.d)

    def relative(self, x: Motions, base: Array | None = None) -> tuple[Array, Array]:
        """What frames a and b have of body motions x, at frame a's origin in its axes, (..., 6, m) each.

        ``base`` is the motion of the world, where it has one (gravity as an acceleration).
        """
        still = arrays.zeros((6, 1), like=self.d)
        a, b = (
            (still if base is None else X.T @ base) if k < 0 else X.T @ x[k] for k, X in zip(self.bodies, self.reach)
        )
        return a, b

    def velocity(self, V: Motions) -> Array:
        """W*(V_b − V_a), (..., m, 1): how fast the loop comes apart."""
        V_a, V_b = self.relative(V)
        return self.W.mT @ (V_b - V_a)

    def acceleration(self, V: Motions, A: Motions, base: Array | None = None) -> Array:
        """W*(A_b − A_a − V_a × V_b) + W̊*(V_b − V_a), (..., m, 1): the rate of :meth:`velocity`.

        ``base`` is the world's acceleration, where those of the bodies are counted with it.
        """
        V_a, V_b = self.relative(V)
        A_a, A_b = self.relative(A, base)
        return self.W.mT @ (A_b - A_a - cross_motion(V_a, V_b)) + self.moved_rows(V_b - V_a, V_b - V_a)

    @property
    def point(self) -> Array:
        """Where it touches, (..., 3), seen from a: b's origin, a's, or the foot of a ball about b's origin."""
        return _point(self.loop, self.d)

    def wrench_rate(self, Delta: Array) -> Array:
        """W̊, (..., 6, m), of b moving against a by Δ (..., 6, 1): how its directions turn and wander in frame a."""
        units = arrays.eye(self.loop.size, like=Delta)
        return arrays.concatenate(
            [self.moved_forces(Delta, units[:, i : i + 1]) for i in range(self.loop.size)], axis=-1
        )

    # --- changes with the displacement D (..., 6, n) of b against a, at a's origin in its axes ---------------------

    def _origin_change(self, D: Array) -> Array:
        """δd = D_v + D_ω × d."""
        return D[..., 3:, :] + cross(D[..., :3, :], self.d[..., :, None])

    def moved_rows(self, D: Array, y: Array) -> Array:
        """δW*y, (..., m, n), for a motion y (..., 6, 1); W̊*Δ for D = y = Δ, the motion of b against a."""
        w, kind = y[..., :3, :], self.loop.kind
        out: Array = arrays.zeros((self.loop.size, D.shape[-1]), like=D)
        if kind in TURNING_MOMENTS:
            out = _first_of(self.loop, (self._moment_change(D) * w).sum(axis=-2)[..., None, :])
        if kind not in AT_FRAME_B:
            return out
        d, moved = self.d[..., :, None], self._origin_change(D)
        if kind == "distance":
            u = y[..., 3:, :] + cross(w, d)
            return ((moved * u + d * cross(w, moved)) / self.loop.length).sum(axis=-2)[..., None, :]
        return out + _rows(self.loop, D)[:, 3:] @ cross(w, moved)

    def turning_change(self, Delta: Array, change: Array, D: Array | None) -> Array:
        """δ(W̊*Δ), (..., m, n), with Δ (..., 6, 1) changing by ``change`` (..., 6, n), and b moving by D, if at all."""
        w, dw, kind = Delta[..., :3, :], change[..., :3, :], self.loop.kind
        out: Array = arrays.zeros((self.loop.size, change.shape[-1]), like=change)
        if kind in TURNING_MOMENTS:
            x = self.E[..., :, 0:1]
            turned = cross(dw, x) if D is None else cross(dw, x) + cross(w, cross(D[..., :3, :], x))
            both = _moment(self.loop, turned) * w + _moment(self.loop, cross(w, x)) * dw
            out = _first_of(self.loop, both.sum(axis=-2)[..., None, :])
        if kind not in AT_FRAME_B:
            return out
        d = self.d[..., :, None]
        moved = 0.0 * dw if D is None else self._origin_change(D)
        u = Delta[..., 3:, :] + cross(w, d)
        du = change[..., 3:, :] + cross(dw, d) + cross(w, moved)
        swept = cross(dw, u) + cross(w, du)
        if kind == "distance":
            parts = moved * cross(w, u) + d * swept + 2.0 * u * du
            return (parts / self.loop.length).sum(axis=-2)[..., None, :]
        return out + _rows(self.loop, change)[:, 3:] @ swept

    def moved_forces(self, D: Array, lam: Array) -> Array:
        """δWλ, (..., 6, n), for λ (..., m, 1)."""
        kind, none = self.loop.kind, 0.0 * D[..., :3, :]
        moment: Array = none
        if kind in TURNING_MOMENTS:
            moment = self._moment_change(D) * lam[..., 0:1, :]
        if kind in AT_FRAME_B:
            moved = self._origin_change(D)
            if kind == "distance":  # the force stays along d
                return arrays.concatenate([none, moved * (lam / self.loop.length)], axis=-2)
            moment = moment + cross(moved, _rows(self.loop, D).mT[3:] @ lam)
        return arrays.concatenate([moment, none], axis=-2)

    def _moment_change(self, D: Array) -> Array:
        """δ(x_b × e) of a loop whose moment turns with b."""
        return _moment(self.loop, cross(D[..., :3, :], self.E[..., :, 0:1]))

    def forces(self, lam: Array) -> dict[int, Array]:
        """By body, what the forces Wλ (..., m, c) of the loop do to it, in body axes at its origin."""
        F = self.W @ lam
        a, b = self.bodies
        out = {} if a < 0 else {a: -(self.reach[0] @ F)}
        if b >= 0:
            out[b] = self.reach[1] @ F
        return out


def in_body_axes(x: Closure) -> Closure:
    """A weld of a body to the world, with the world's frame moved to where the body's is now, as a; else the loop.

    It stops all motions, whatever the axes and the point: other rows, and λ, but the same motions. In the body's axes
    the rows are constant, and nothing needs to know where the body is. As the world's frame stays there while the body
    moves on, derivatives are those of the loop too.
    """
    (a, b), between = x.bodies, Transform(x.E, x.d)
    if x.loop.kind != "weld" or min(a, b) >= 0 or max(a, b) < 0:
        return x
    body, own = (b, x.on_b) if a < 0 else (a, x.reach[0])
    there = x.reach[0].compose(between) if a < 0 else x.on_b.compose(between.inverse())
    turn, d = arrays.eye(3, like=x.d), arrays.zeros((3,), like=x.d)
    return Closure(x.loop, (-1, body), (there, own), turn, d, transmitted(x.loop, turn, d), own)


def in_motion_axes(x: Closure) -> Closure:
    """:func:`in_body_axes`, and of a body that a ball joint holds to the world, frame a, the rows in the body's axes.

    They are at the world's point, wherever that is on the body: the same accelerations, but not their derivatives by
    the formulas for loops.
    """
    if x.loop.kind != "spherical" or not x.bodies[0] < 0 <= x.bodies[1]:
        return in_body_axes(x)
    turn, X = arrays.eye(3, like=x.d), x.reach[1]
    on_body = Transform(turn, X.l)
    return replace(
        x, bodies=x.bodies[::-1], reach=(on_body, x.reach[0].compose(Transform(arrays.transpose(X.R), 0.0 * X.l)))
    )


def in_base_axes(links: Links, x: Closure) -> Closure:
    """A weld of :func:`in_body_axes` seen from the root of its body, in axes and at the origin that the root has now.

    Where that root is free to move, the weld's rows there are those of the identity.
    """
    root, *path = links.tree.path(x.bodies[1])
    seen: dict[int, Any] = {root: identity(links.q)}
    pose: Transform | None = None
    for k in path:
        pose = links.phi[k] if pose is None else pose.compose(links.phi[k])
        seen[k] = Backward(Transform(pose.R, pose.l))
    return replace(x, reach=(links.phi[root], seen[x.bodies[1]]), seen=seen)


def inward_reaches(links: Links, x: Closure, side: int) -> Iterator[tuple[int, Any]]:
    """By body from an end of a loop to the root, what carries forces at frame a there."""
    X = x.reach[side]
    for k in links.tree.path(x.bodies[side])[::-1] if x.bodies[side] >= 0 else ():
        if side == 1 and x.seen is not None:
            yield k, x.seen[k]
            continue
        yield k, X
        X = links.phi[k].compose(X)


def closures(
    model: Model, links: Links, loops: Sequence[Loop], poses: Mapping[int, Transform] | None = None
) -> list[Closure]:
    """Every loop at a configuration; ``poses`` of the bodies that they join, in any one frame (default: the world)."""
    if poses is None:
        poses = dict(enumerate(body_poses(links)))
    return [_closure(model, links, loop, poses) for loop in loops]


def _closure(model: Model, links: Links, loop: Loop, poses: Mapping[int, Transform]) -> Closure:
    (a, on_a), (b, on_b) = model.frame(loop.frame_a), model.frame(loop.frame_b)
    on_a, on_b = (arrays.constant(x, like=links.q) for x in (on_a, on_b))
    X_a = on_a if a < 0 else poses[a].compose(on_a)
    X_b = on_b if b < 0 else poses[b].compose(on_b)
    between = X_a.inverse().compose(X_b)
    reach_b = X_a if b < 0 else poses[b].inverse().compose(X_a)
    E, d = between.R, between.l
    return Closure(loop, (a, b), (on_a, reach_b), E, d, transmitted(loop, E, d), on_b)


def transmitted(loop: Loop, E: Array, d: Array) -> Array:
    """W, (..., 6, m)."""
    S = _rows(loop, d).mT
    moment, force = S[:3], S[3:]
    if loop.kind in TURNING_MOMENTS:
        moment = arrays.concatenate([_moment(loop, E[..., :, 0:1]), moment[:, 1:]], axis=-1)
    if loop.kind == "distance":
        moment, force = 0.0 * d[..., :, None], d[..., :, None] / loop.length
    if loop.kind in AT_FRAME_B:
        moment = moment + skew(_point(loop, d)) @ force  # φ(d)S
    return arrays.concatenate([moment, force], axis=-2)


def _point(loop: Loop, d: Array) -> Array:
    """Where forces act, seen from a."""
    if loop.kind == "rolling":
        return arrays.stack([d[..., 0], d[..., 1], d[..., 2] + loop.radius], axis=-1)
    return d if loop.kind in AT_FRAME_B else 0.0 * d


def _moment(loop: Loop, x: Array) -> Array:
    """s (x × e), (..., 3, n), of a loop whose moment turns with b, for a vector x (..., 3, n) fixed on b."""
    sign, e = TURNING_MOMENTS[loop.kind]
    return sign * cross(x, _unit(e, x))


def _rows(loop: Loop, like: Array) -> Array:
    """S*, (m, 6): the rows of a loop whose directions do not move in frame a."""
    if loop.kind == "constrains":
        rows: Array = arrays.constant(loop.constrains, like=like)
        return rows
    return arrays.eye(6, like=like)[list(TRANSMITTED[loop.kind]), :]


def _first_of(loop: Loop, row: Array) -> Array:
    """(..., m, n) with ``row`` (..., 1, n) first and zeros below."""
    return arrays.concatenate([row, arrays.zeros((loop.size - 1, row.shape[-1]), like=row)], axis=-2)


def _unit(i: int, like: Array) -> Array:
    return arrays.eye(3, like=like)[:, i : i + 1]
