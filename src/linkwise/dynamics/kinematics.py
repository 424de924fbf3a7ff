"""Poses, velocities and accelerations of bodies and frames; Jacobians and their products.

Public results are in world axes at the frame's origin, angular part first, unless ``axes="local"``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import arrays
from ..arguments import one_of
from ..arrays import Array, SameKind
from ..errors import InputError, SingularError
from ..model.model import Model
from ..spatial import Transform, adjoint_congruence, congruence, cross
from .articulated import riccati
from .links import Links, accelerations, coriolis_accelerations, evaluate, identity, velocities


def body_poses(links: Links) -> list[Transform]:
    """The pose of every body in the world: φ(0, k) = φ(0, p) φ(p, k)."""
    return links.tree.outward(lambda outer, phi: outer.compose(phi), identity(links.q), links.phi)


def pose(model: Model, q: Array, frame: Any) -> Transform:
    """The pose (R, p) of a frame in the world."""
    links = evaluate(model, q)
    return _frame_pose(model, links, frame)


def _frame_pose(model: Model, links: Links, frame: Any) -> Transform:
    body, on_body = model.frame(frame)
    placed = arrays.constant(on_body, like=links.q)
    out = identity(links.q)
    for k in model.path(body):
        out = out.compose(links.phi[k])
    return out.compose(placed)


def tip_transform(model: Model, links: Links, frame: Any, axes: str = "world") -> tuple[int, Transform]:
    """The frame's body k and φ(k, tip): from the tip's point, in ``axes``, to the body's frame.

    With world axes this is the block φ(1, 0) of the operator B (Operator algebra paper (2.1)).
    """
    one_of(axes, ("world", "local"), "choice of axes", error=InputError)
    body, on_body = model.frame(frame)
    placed = arrays.constant(on_body, like=links.q)
    if axes == "local":
        return body, placed
    R = arrays.eye(3, like=links.q)
    if not links.tree.has_single_bodies:  # no path is known in loops
        R = body_poses(links)[body].R if body >= 0 else R
    else:
        for k in links.tree.path(body):
            R = R @ links.phi[k].R
    return body, Transform(arrays.transpose(R), placed.l)


def tip_transforms(model: Model, links: Links, frames: Sequence[Any]) -> list[Transform]:
    """φ(k, tip) of several frames, in world axes; one sweep gives all rotations (one path where there is one tip)."""
    if len(frames) <= 1:
        return [tip_transform(model, links, f)[1] for f in frames]
    rotations = [X.R for X in body_poses(links)]
    out = []
    for f in frames:
        body, on_body = model.frame(f)
        l = arrays.constant(on_body.l, like=links.q)
        out.append(Transform(arrays.transpose(rotations[body]) if body >= 0 else arrays.eye(3, like=links.q), l))
    return out


def frame_velocity(model: Model, q: Array, v: Array, frame: Any, axes: str = "world") -> Array:
    """V(0) = φ*(1,0) V(1), (..., 6) (Operator algebra paper §2)."""
    links = evaluate(model, q)
    body, tip = tip_transform(model, links, frame, axes)
    if body < 0:
        return arrays.zeros((6,), like=q)
    V = velocities(links, links.split(v))
    return (tip.T @ V[body])[..., 0]


def frame_acceleration(
    model: Model, q: Array, v: Array, a: Array | None, frame: Any, axes: str = "world", spatial: bool = False
) -> Array:
    """α(0) = J β̇ + J̇ β, (..., 6): the classical acceleration of the frame's point, without gravity.

    ``spatial`` gives A = α − [0; ω × v] instead. ``a=None`` means β̇ = 0, so that this is J̇ β
    (JPL 88-11, after (3.17)).
    """
    links = evaluate(model, q)
    body, tip = tip_transform(model, links, frame, axes)
    if body < 0:
        return arrays.zeros((6,), like=q)
    beta = links.split(v)
    V = velocities(links, beta)
    bias = coriolis_accelerations(model, links, V, beta)
    A = accelerations(links, links.accelerated(beta, a), bias, arrays.zeros((6, 1), like=q))
    A_tip, V_tip = tip.T @ A[body], tip.T @ V[body]
    return A_tip[..., 0] if spatial else classical(A_tip, V_tip)[..., 0]


def classical(A: Array, V: Array) -> Array:
    """α = A + [0; ω × v] (math notes 12.4)."""
    return arrays.concatenate([A[..., :3, :], A[..., 3:, :] + cross(V[..., :3, :], V[..., 3:, :])], axis=-2)


class FramePoses(NamedTuple):
    """Where frames are in the world: R (..., frames, 3, 3) takes frame axes to world axes, p (..., frames, 3) [m]."""

    R: SameKind
    p: SameKind


def frame_poses(model: Model, q: Array) -> FramePoses:
    """The pose of every frame, in the order of ``model.frames``, from one sweep."""
    links = evaluate(model, q)
    bodies = body_poses(links)
    found = []
    for f in model.frames:
        body, on_body = model.frame(f)
        placed = arrays.constant(on_body, like=q)
        found.append((identity(q) if body < 0 else bodies[body]).compose(placed))
    return FramePoses(arrays.stack([X.R for X in found], axis=-3), arrays.stack([X.l for X in found], axis=-2))


def frame_motions(model: Model, q: Array, v: Array, a: Array | None = None) -> Array:
    """[ω; v] of every frame or, given accelerations ``a``, its classical acceleration; world axes, (..., frames, 6)."""
    links = evaluate(model, q)
    beta = links.split(v)
    V = velocities(links, beta)
    A = None
    if a is not None:
        bias = coriolis_accelerations(model, links, V, beta)
        A = accelerations(links, links.accelerated(beta, a), bias, arrays.zeros((6, 1), like=q))
    rotations = [X.R for X in body_poses(links)]
    found = []
    for f in model.frames:
        body, on_body = model.frame(f)
        if body < 0:
            found.append(arrays.zeros((6,), like=q))
            continue
        tip = Transform(arrays.transpose(rotations[body]), arrays.constant(on_body.l, like=q))
        V_tip = tip.T @ V[body]
        found.append((V_tip if A is None else classical(tip.T @ A[body], V_tip))[..., 0])
    return arrays.stack(found, axis=-2)


# --- Jacobian ----------------------------------------------------------------------------------------


def jacobian(model: Model, q: Array, frame: Any, axes: str = "world") -> Array:
    """J = B*φ*H*, (..., 6, nv) (Operator algebra paper (2.1)); columns X H*(k) with X = φ*(k, 0)."""
    links = evaluate(model, q)
    body, tip = tip_transform(model, links, frame, axes)
    columns = [arrays.zeros((6, r), like=q) for r in links.sizes]
    if body >= 0:
        X = tip  # φ(k, 0)
        for k in links.tree.path(body)[::-1]:
            columns[k] = X.T @ links.H[k].mT
            X = links.phi[k].compose(X)
    return links.join_columns(columns, 6)


def jacobian_outer(model: Model, q: Array, frame: Any, axes: str = "world") -> Array:
    """J J*, (..., 6, 6), by the recursion Ω_J(k) = φ*Ω_Jφ + H*H from the base out (math notes 4)."""
    if model.couplings:  # β may move several joints of the path
        J = jacobian(model, q, frame, axes)
        return arrays.symmetric(J @ J.mT)
    links = evaluate(model, q)
    body, tip = tip_transform(model, links, frame, axes)
    Omega = arrays.zeros((6, 6), like=q)
    for k in model.path(body):
        Omega = adjoint_congruence(links.phi[k], Omega) + links.H[k].mT @ links.H[k]
    return adjoint_congruence(tip, Omega)


def jacobian_inner(model: Model, q: Array, frame: Any) -> Array:
    """J* J = H φ BB* φ* H*, (..., nv, nv): a mass matrix whose only inertia sits at the tip (math notes 4)."""
    links = evaluate(model, q)
    body, tip = tip_transform(model, links, frame)
    blocks: dict[tuple[int, int], Array] = {}
    R: Any = arrays.eye(6, like=q)
    move = tip
    path = [] if body < 0 else links.tree.path(body)[::-1]
    for i, k in enumerate(path):
        R = congruence(move, R)
        X = R @ links.H[k].mT
        blocks[k, k] = links.H[k] @ X
        for inner, j in zip(path[i:], path[i + 1 :]):
            X = links.phi[inner] @ X
            blocks[j, k] = links.H[j] @ X
            blocks[k, j] = arrays.transpose(blocks[j, k])
        move = links.phi[k]
    return links.from_blocks(blocks, like=q)


def jacobian_inner_inverse(model: Model, q: Array, frame: Any) -> Array:
    """(J* J)⁻¹, (..., nv, nv), for arms without redundancy, by the innovations factorisation.

    The Riccati recursion starts with the tip's unit inertia and no other; D(k) > 0 for every k exactly
    where J has full column rank (math notes 4).
    """
    bodies = evaluate(model, q)
    links = bodies.nodes
    body, tip = tip_transform(model, bodies, frame)
    on_path = {links.node(k) for k in model.path(body)}
    idle = [links.names[k] for k, r in enumerate(links.sizes) if r and k not in on_path]
    if links.nv > 6 or idle:
        why = f"joints such as that of {idle[0]!r} do not move it" if idle else f"{links.nv} joints drive 6 numbers"
        raise SingularError(f"(J*J)⁻¹ of frame {frame!r} does not exist: {why}; use jacobian_outer (J J*) instead")
    tip_inertia = congruence(tip, arrays.eye(6, like=q))
    X: list[Any] = [0.0 * arrays.eye(6, like=q) for _ in model.bodies]
    if body >= 0:
        X[body] = tip_inertia
    X = X if links.gathering is None else links.gathering.diagonal(X)
    what = f"J*J of frame {getattr(frame, 'name', frame)!r} (in a singular pose J loses rank, and J*J its inverse)"
    at_the_tip = riccati(links, X, rotors=False, what=what)
    return at_the_tip.solve(links, arrays.eye(links.nv, like=q))
