"""The Coriolis matrix C(q, v) with 𝓒 = C v and 𝓜̇ − 2C skew.

    C = Hφ [M̂ φ*H* + M φ*Ḣ*],   M̂ = ½ (S[V]M − MṼ − Q[MV])

(Linearized dynamics paper (2.8), (2.20), (3.1): this is half its A_D for one-dof joints, hence the
matrix of Christoffel symbols there.) Q[x] = [[ã, b̃], [b̃, 0]] is skew, which makes 𝓜̇ − 2C skew for any
joints. Columns are carried inboard with composite sums as in Algorithm 2, in O(n²).
"""

from __future__ import annotations

from typing import Any

from .. import arrays
from ..arrays import Array
from ..model.model import Model
from ..spatial import Transform, cross, cross_motion
from .coupled_links import times
from .inertia_rate import InertiaRate, composite_rates, inertia_rate
from .inverse import composite_inertias
from .links import Links, evaluate, map_rates, spinning_rotors, velocities, wider
from .referred_links import Placed, in_one_frame, one_frame_pays, own_frames


def coriolis_matrix(model: Model, q: Array, v: Array) -> Array:
    """C(q, v), (..., nv, nv); C v is the bias force without gravity, and d𝓜/dt − 2C is skew."""
    links = evaluate(model, q)
    turned = all(s is None for s in links.s) and one_frame_pays(
        links
    )  # (rotors are in the axes of those who carry them)
    placed = in_one_frame(links) if turned else own_frames(links)
    links = placed.links
    beta = links.split(v)
    V = velocities(links, beta)
    rotors = spinning_rotors(model, links, V)
    H_dot = _map_rates(model, placed, V, beta)
    if links.lift is not None:
        return _of_nodes(links, H_dot, _inertia_rates(links, V, beta, rotors), rotors, beta, like=wider(q, v))
    R = composite_inertias(links)
    R_hat = composite_rates(links, _inertia_rates(links, V, beta, rotors))
    return _matrix(links, H_dot, R, R_hat, rotors, like=wider(q, v))


def _matrix(
    links: Links,
    H_dot: list[Array],
    R: list[Any],
    R_hat: list[Any],
    rotors: list[Any],
    like: Array,
    more: list[Any] | None = None,
) -> Array:
    """C from the composite sums of bodies or of nodes, with ``more`` in its diagonal blocks."""
    diagonal: list[Any] = []
    starts: list[Any] = []
    for k, r in enumerate(links.sizes):
        H_star = links.H[k].mT
        X = R[k] @ H_dot[k] + R_hat[k] @ H_star
        Y1, Y2 = R[k] @ H_star, R_hat[k].adjoint_times(H_star)
        sent = links.phi[k] @ arrays.concatenate([X, Y1, Y2], axis=-1)
        own = links.H[k] @ X if r else None
        diagonal.append(own if own is None or more is None else own + more[k])
        starts.append((sent if rotors[k] is None else sent + _asked_by_rotor(*rotors[k])) if r else None)

    kept, flipped = links.tree.inward_from_each(_step_inboard, starts, links.phi, links.H, H_dot).unzip(2)
    return links.matrix(diagonal, [kept], flipped, like=like)


def _of_nodes(
    links: Links, H_dot: list[Array], M_hat: list[Any], rotors: list[Any], beta: list[Array], like: Array
) -> Array:
    """C over nodes, whose H* changes by 𝔸*[Ḣ*X + H*Ẋ]; with X*ΓẊ of rotors where couplings are not linear."""
    nodes = links.nodes
    gathering = nodes.gathering
    assert gathering is not None
    X = gathering.joint_columns(links.q)
    X_dot = times(links.slope_rates(beta), X)
    turning = [Hd @ x if isinstance(y, int) else Hd @ x + H.mT @ y for Hd, H, x, y in zip(H_dot, links.H, X, X_dot)]
    singly = [rotors[held[0]] if inside is None else None for held, inside in zip(gathering.members, gathering.inside)]
    more = gathering.rotors_bent(links.Gamma, X, X_dot)
    R, R_hat = composite_inertias(nodes), composite_rates(nodes, gathering.diagonal(M_hat))
    return _matrix(nodes, gathering.spread(turning), R, R_hat, singly, like, more)


def _step_inboard(columns: Array, phi: Transform, H: Array, H_dot: Array) -> Any:
    """C(j,k) = H(j)φX and C(k,j) = (φY₁)*Ḣ*(j) + (φY₂)*H*(j) at a joint j inboard of k (LD (3.8))."""
    r = columns.shape[-1] // 3
    X, Y1, Y2 = (columns[..., i * r : (i + 1) * r] for i in range(3))
    return phi @ columns, (H @ X, Y1.mT @ H_dot + Y2.mT @ H.mT)


def _map_rates(model: Model, placed: Placed, V: list[Array], beta: list[Array]) -> list[Array]:
    """Ḣ* = V × H* (LD (2.13)), plus the joint's own turning where H* is not constant in the body."""
    links = placed.links
    turned = [cross_motion(x, H.mT) for x, H in zip(V, links.H)]
    own = map_rates(model, links, beta)
    return [x if y is None else x + placed.motion(k, y) for k, (x, y) in enumerate(zip(turned, own))]


def _inertia_rates(links: Links, V: list[Array], beta: list[Array], rotors: list[Any]) -> list[InertiaRate]:
    """M̂ of every body; the other half of what a spinning rotor asks of its carrier is in the column of its joint."""
    own = [None if rotor is None else rotor[0] * b for rotor, b in zip(rotors, beta)]
    momenta = links.tree.from_children(own)
    return [inertia_rate(M, x).with_rotors(h) for M, x, h in zip(links.M, V, momenta)]


def _asked_by_rotor(spin: Array, V: Array) -> Array:
    """[X, Y₁, Y₂] of a gyroscopic rotor s at its carrier p: ½ω × s, s and ½ω × s, pure moments, (..., 6, 3).

    Its joint feels s·ω̇ of the carrier, and the joints inboard feel ω × s of its spin. The halves make C(v)w symmetric
    in v and w, so that C stays the matrix of Christoffel symbols.
    """
    turning = 0.5 * cross(V[..., :3, :], spin + 0.0 * V[..., :3, :])
    moments = arrays.concatenate([turning, spin, turning], axis=-1)
    return arrays.concatenate([moments, moments * 0.0], axis=-2)
