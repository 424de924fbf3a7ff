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
from ..spatial import RigidInertia, Transform, cross_motion, cross_motion_matrix, skew
from .inverse import composite_inertias
from .links import Links, evaluate, velocities


def momentum_matrix_Q(x: Array) -> Array:
    """Q[X] = [[ã, b̃], [b̃, 0]] of a column [a; b], with Q[X] Y = −S[Y] X (LD (1.6))."""
    a, b = skew(x[..., :3, 0]), skew(x[..., 3:, 0])
    return arrays.block([[a, b], [b, b * 0.0]])


def inertia_rate(M: RigidInertia, V: Array) -> Array:
    """M̂ = ½ (Ṁ − Q[MV]) with Ṁ = S[V]M − MṼ, (..., 6, 6), not symmetric (LD (2.6), (2.8))."""
    tilde = cross_motion_matrix(V)
    dense = M.matrix
    return 0.5 * (-(tilde.mT @ dense) - dense @ tilde - momentum_matrix_Q(M @ V))


def coriolis_matrix(model: Model, q: Array, v: Array) -> Array:
    """C(q, v), (..., nv, nv); C v is the bias force without gravity, and d𝓜/dt − 2C is skew."""
    links = evaluate(model, q)
    beta = links.split(v)
    V = velocities(links, beta)
    H_dot = _map_rates(model, links, V, beta)
    M_hat = _rates_with_rotors(model, links, V, beta)
    R = composite_inertias(links)
    R_hat = _composite(links, M_hat)

    blocks: dict[tuple[int, int], Array] = {}
    for k, r in enumerate(links.sizes):
        if r:
            H_star = links.H[k].mT
            X = R[k] @ H_dot[k] + R_hat[k] @ H_star
            Y1, Y2 = R[k] @ H_star, R_hat[k].mT @ H_star
            blocks[k, k] = links.H[k] @ X
            _walk(links, blocks, k, H_dot, X, Y1, Y2)
    _rotor_rows(model, links, blocks, V, H_dot)
    return arrays.from_blocks(blocks, links.sizes, links.sizes, like=_wider(q, v))


def _wider(q: Array, v: Array) -> Array:
    return q if q.ndim >= v.ndim else arrays.namespace(q).broadcast_to(q, v.shape[:-1] + q.shape[-1:])


def _map_rates(model: Model, links: Links, V: list[Array], beta: list[Array]) -> list[Array]:
    """Ḣ* = V × H* (LD (2.13)), plus the joint's own turning where H* is not constant in the body."""
    out = []
    for k, c in enumerate(model.constants(links.q.dtype)):
        rate = _cross_columns(V[k], links.H[k].mT)
        own = c.kind.map_derivative(links.q[..., model.q_slices[k]], beta[k])
        out.append(rate if own is None else rate + own)
    return out


def _cross_columns(V: Array, columns: Array) -> Array:
    return cross_motion_matrix(V) @ columns if columns.shape[-1] != 1 else cross_motion(V, columns)


def _rates_with_rotors(model: Model, links: Links, V: list[Array], beta: list[Array]) -> list[Array]:
    """M̂ of every body; a spinning rotor adds −½β s̃ to the angular block of the body that carries it."""
    out = [inertia_rate(M, v) for M, v in zip(links.M, V)]
    for k, c in enumerate(model.constants(links.q.dtype)):
        p = links.tree.parent(k)
        if c.spin is not None and p >= 0:
            gyro = -0.5 * skew(c.spin) * beta[k]  # its other half is in the column of joint k
            zero = gyro * 0.0
            out[p] = out[p] + arrays.block([[gyro, zero], [zero, zero]])
    return out


def _composite(links: Links, X: list[Array]) -> list[Array]:
    """R̂(k) = Σ φ R̂ φ* + M̂(k) (LD (3.7)); not symmetric, so carried as a full matrix."""

    def step(gathered: Any, phi: Transform, x: Array) -> Any:
        total = gathered + x
        return phi @ arrays.transpose(phi @ arrays.transpose(total)), total

    return links.tree.inward(step, 0, links.phi, X)


def _walk(
    links: Links, blocks: dict[tuple[int, int], Array], k: int, H_dot: list[Array], X: Array, Y1: Array, Y2: Array
) -> None:
    """C(j,k) = H(j)φX and C(k,j) = (φY₁)*Ḣ*(j) + (φY₂)*H*(j) for every j inboard of k (LD (3.8))."""
    outer = k
    for j in links.tree.inboard(k):
        X, Y1, Y2 = links.phi[outer] @ X, links.phi[outer] @ Y1, links.phi[outer] @ Y2
        if links.sizes[j]:
            blocks[j, k] = links.H[j] @ X
            blocks[k, j] = Y1.mT @ H_dot[j] + Y2.mT @ links.H[j].mT
        outer = j


def _rotor_rows(
    model: Model, links: Links, blocks: dict[tuple[int, int], Array], V: list[Array], H_dot: list[Array]
) -> None:
    """The joint of a gyroscopic rotor feels s·ω̇ of its parent, and the joints inboard feel ω × s of its spin.

    C(k,j) += s*Ḣ*(j) + ½(ω×s)*H*(j) and C(j,k) += ½H(j)(ω×s) along the path to p. The halves make C(v)w
    symmetric in v and w, so that C stays the matrix of Christoffel symbols.
    """
    for k, c in enumerate(model.constants(links.q.dtype)):
        p = links.tree.parent(k)
        if c.spin is None or p < 0:
            continue
        zero = arrays.zeros((3, 1), like=links.q)
        spin = arrays.concatenate([c.spin[..., :, None], zero], axis=-2)
        turning = arrays.concatenate([0.5 * skew(V[p][..., :3, 0]) @ c.spin[..., :, None], zero], axis=-2)
        outer = -1
        for j in links.tree.path(p)[::-1]:
            if outer >= 0:
                spin, turning = links.phi[outer] @ spin, links.phi[outer] @ turning
            if links.sizes[j]:
                blocks[k, j] = blocks[k, j] + spin.mT @ H_dot[j] + turning.mT @ links.H[j].mT
                blocks[j, k] = blocks[j, k] + links.H[j] @ turning
            outer = j
