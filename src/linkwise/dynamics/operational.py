"""Operational space: how the tips respond to forces, in O(n), for one frame or several.

    Λ⁻¹ = J𝓜⁻¹J* = B*ψ*H*D⁻¹HψB = Ω(0)          (Operator algebra paper (5.4), (5.5))

Forces and accelerations are in world axes at the frames' origins, angular part first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import arrays, singularity, tolerances
from ..aggregates import AtPorts, at_interface, whole, without_port
from ..arrays import Array
from ..errors import SingularError
from ..model.model import Model
from ..spatial import Transform
from ..sweeps import unzip
from .articulated import Articulated, articulated, compliances, past_joint, smooth
from .forward.articulated_body import articulated_body
from .kinematics import frame_acceleration, tip_transform
from .links import Links, evaluate
from .node_rows import at_ports, carried_past, member_map, node_rows, on_member


def compliance(model: Model, q: Array, frames: Sequence[Any]) -> Array:
    """Λ⁻¹ = J𝓜⁻¹J*, (..., 6e, 6e), for e frames, with the cross terms J_i𝓜⁻¹J_j* between them.

    Block (i, j) is φ*(l_i) ψ*(c,i) Ω(c) ψ(c,j) φ(l_j) with c the nearest common ancestor of the two
    bodies, and zero where they have none (math notes 12.9).
    """
    bodies = evaluate(model, q)
    links = bodies.nodes
    art = articulated(links)
    if links.gathering is not None:
        return _compliance_over_nodes(model, bodies, art, frames)
    Omega = compliances(links, art)
    reach = [_carried_inboard(model, bodies, art, frame) for frame in frames]
    blocks: dict[tuple[int, int], Array] = {}
    for i, (path_i, X_i) in enumerate(reach):
        for j, (_, X_j) in enumerate(reach[: i + 1]):
            common = next((k for k in path_i if k in X_j), None)
            if common is not None:
                blocks[i, j] = X_i[common].mT @ Omega[common] @ X_j[common]
                blocks[j, i] = arrays.transpose(blocks[i, j])
    sizes = [6] * len(reach)
    return arrays.symmetric(arrays.from_blocks(blocks, sizes, sizes, like=q))


def _carried_inboard(model: Model, bodies: Links, art: Articulated, frame: Any) -> tuple[list[int], dict[int, Array]]:
    """ψ(a, k) φ(l) for the node k of the frame's body and every node a inboard of it, nearest first."""
    body, tip = tip_transform(model, bodies, frame)
    links = bodies.nodes
    out: dict[int, Array] = {}
    if body < 0:
        return [], out
    path = links.tree.path(links.node(body))[::-1]
    X = links.at_body(tip @ arrays.eye(6, like=links.q), body)
    for k in path:
        out[k] = X
        X = whole(links.phi[k] @ past_joint(X, links.H[k], art.G[k]))  # ψ(p,k) X = φ(p,k) τ̄(k) X
    return path, out


def _compliance_over_nodes(model: Model, bodies: Links, art: Articulated, frames: Sequence[Any]) -> Array:
    """The same where bodies move as one (:mod:`.node_rows`)."""
    links = bodies.nodes
    gathering = links.gathering
    assert gathering is not None
    placed = [tip_transform(model, bodies, frame) for frame in frames]
    at = [set(ports) for ports in links.ports]
    for body, _ in placed:
        if body >= 0:
            node, member = gathering.node_of[body]
            at[node].add(member)
    x = node_rows(links, art, [tuple(sorted(members)) for members in at])
    reach: list[dict[int, Any]] = []
    for body, tip in placed:
        out: dict[int, Any] = {}
        if body >= 0:
            node, member = gathering.node_of[body]
            X: Any = at_ports({member: tip @ arrays.eye(6, like=links.q)}, links.H[node])
            for k in links.tree.path(node)[::-1]:
                out[k] = X
                X = carried_past(X, links.phi[k], links.H[k], x.g[k])
        reach.append(out)
    blocks: dict[tuple[int, int], Array] = {}
    for i, X_i in enumerate(reach):
        for j, X_j in enumerate(reach[: i + 1]):
            common = next((k for k in X_i if k in X_j), None)
            if common is not None:
                blocks[i, j] = x.between(common, X_i[common], X_j[common])
                blocks[j, i] = arrays.transpose(blocks[i, j])
    sizes = [6] * len(reach)
    return arrays.symmetric(arrays.from_blocks(blocks, sizes, sizes, like=links.q))


def inertia(model: Model, q: Array, frames: Sequence[Any]) -> Array:
    """Λ = (J𝓜⁻¹J*)⁻¹, (..., 6e, 6e); an error where J has not the rank for it to exist."""
    return inverse_compliance(model, compliance(model, q, frames), frames)


def inverse_compliance(model: Model, compliance: Array, frames: Sequence[Any]) -> Array:
    """Λ from Λ⁻¹ (..., 6e, 6e), or an error that says in how many states it does not exist."""
    Lambda, bad = singularity.inverse(compliance, roundings=tolerances.OPERATIONAL_ROUNDINGS)
    if arrays.is_eager(compliance) and np.any(bad):
        names = _names(frames)
        raise SingularError(
            f"the operational inertia of {names} does not exist in {int(np.sum(bad))} of {np.size(bad)} states:"
            f" robot {model.name!r} cannot accelerate there in all {Lambda.shape[-1]} directions (too few joints, or a"
            f" singular pose), to the rounding of {compliance.dtype}. Use operational_compliance, which needs no rank"
        )
    return singularity.not_a_number_where(bad, Lambda)


def still_frames(model: Model, frames: Sequence[Any]) -> SingularError:
    """The error for frames that are all of the world: Λ exists in no state."""
    return SingularError(
        f"the operational inertia of {_names(frames)} does not exist: no joint of robot {model.name!r} moves frames of"
        " the world. Use operational_compliance, which needs no rank"
    )


def _names(frames: Sequence[Any]) -> str:
    return ", ".join(repr(getattr(f, "name", f)) for f in frames)


def tip_force_correction(model: Model, q: Array, frame: Any, force: Array) -> tuple[Array, Array]:
    """(Δβ̇, Δα(0)) caused by a force f(0) that the tip exerts on its environment (OA (5.2), (5.3)).

    Δβ̇ = −𝓜⁻¹J*f(0) = −(I − HψK)* D⁻¹ HψB f(0), (..., nv);  Δα(0) = −Ω(0) f(0), (..., 6).
    """
    bodies = evaluate(model, q)
    links = bodies.nodes
    art = articulated(links)
    body, tip = tip_transform(model, bodies, frame)
    if body < 0:
        return arrays.zeros((model.nv,), like=q), arrays.zeros((6,), like=q)
    if links.gathering is not None:
        return _correction_over_nodes(bodies, art, body, tip, force)
    at_tip: list[Any] = [0] * len(links.tree)
    at_tip[links.node(body)] = links.at_body(tip @ force[..., None], body)

    def step(gathered: Any, phi: Transform, H: Array, G: Array, D_inverse: Array, f: Any) -> Any:
        z = whole(gathered + f)
        if isinstance(z, int):  # nothing outboard feels the force
            return 0, arrays.zeros((H.shape[-2], 1), like=links.q)
        return phi @ past_joint(z, H, G), -(D_inverse @ (H @ z))

    nu = links.tree.inward(step, 0, links.phi, links.H, art.G, art.D_inverse, at_tip)
    delta, lam = smooth(links, art, nu)
    return links.join(delta), (tip.T @ links.on_body(lam, body))[..., 0]


def _correction_over_nodes(bodies: Links, art: Articulated, body: int, tip: Any, force: Array) -> tuple[Array, Array]:
    """The same where bodies move as one."""
    links = bodies.nodes
    gathering = links.gathering
    assert gathering is not None
    node, member = gathering.node_of[body]
    g = [without_port(phi) @ G for phi, G in zip(links.phi, art.G)]
    pushed: list[Any] = [0] * len(links.tree)
    pushed[node] = at_ports({member: tip @ force[..., None]}, links.H[node])
    ports = [{*own, member} if k == node else own for k, own in enumerate(links.ports)]

    def inward(gathered: Any, phi: Any, H: Array, g: Array, D_inverse: Array, f: Any) -> Any:
        z = gathered + f
        if isinstance(z, int):  # nothing outboard feels the force
            return 0, arrays.zeros((H.shape[-2], 1), like=links.q)
        return carried_past(z, phi, H, g), -(D_inverse @ (H @ z))

    nu = links.tree.inward(inward, 0, links.phi, links.H, g, art.D_inverse, pushed)

    def outward(outer: Any, phi: Any, H: Array, g: Array, nu: Array, ports: Any) -> Any:
        inner, felt = at_interface(phi, outer[0])
        beta_dot = nu - g.mT @ felt
        moved = {t: on_member(inner, t, felt) + member_map(H, t) @ beta_dot for t in ports}
        return at_ports(moved, H), beta_dot

    start = (arrays.zeros((6, 1), like=links.q), None)
    lam, delta = unzip(links.tree.outward(outward, start, links.phi, links.H, g, nu, ports), 2)
    own = lam[node].held[member] if isinstance(lam[node], AtPorts) else lam[node]
    return links.join(delta), (tip.T @ own)[..., 0]


def bias(model: Model, q: Array, v: Array, frames: Sequence[Any]) -> tuple[Array, Array]:
    """(μ, p), each (..., 6e), with Λ α(0) + μ + p = F_c − f(0) for joint forces T = J*F_c (math notes 10.2).

    μ is the Coriolis term and p that of gravity; both from free accelerations of the tips with T = 0.
    """
    Lambda = inertia(model, q, frames)
    rest, none = v * 0.0, arrays.zeros((model.nv,), like=q)
    total = _free_tip_acceleration(model, q, v, none, frames)
    falling = _free_tip_acceleration(model, q, rest, none, frames)
    p = -(Lambda @ falling)[..., 0]
    return -(Lambda @ total)[..., 0] - p, p


def _free_tip_acceleration(model: Model, q: Array, v: Array, tau: Array, frames: Sequence[Any]) -> Array:
    a = articulated_body(model, q, v, tau).acceleration
    tips = [frame_acceleration(model, q, v, a, f)[..., :, None] for f in frames]
    return arrays.concatenate(tips, axis=-2)


def consistent_inverse(model: Model, q: Array, frames: Sequence[Any]) -> Array:
    """J̄ = 𝓜⁻¹J*Λ, (..., nv, 6e): the inverse of J that is weighted by the mass matrix."""
    Lambda = inertia(model, q, frames)
    basis = arrays.eye(6, like=q)
    columns = []
    for frame in frames:
        for i in range(6):
            columns.append(-tip_force_correction(model, q, frame, basis[i])[0][..., None])
    return arrays.concatenate(columns, axis=-1) @ Lambda
