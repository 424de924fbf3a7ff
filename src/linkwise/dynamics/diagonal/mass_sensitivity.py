"""How the mass matrix depends on the configuration: M_θi, one matrix per direction of motion."""

from __future__ import annotations

from typing import Any

from ... import arrays
from ...arrays import Array
from ...model.model import Model
from ...spatial import cross_force
from ..coupled_links import adjoint_times
from ..inverse import inertia_forces
from ..links import Links, evaluate
from ..referred_links import Placed, in_one_frame, one_frame_pays, own_frames


def mass_matrix_sensitivity(model: Model, q: Array) -> Array:
    """∂𝓜/∂θ_i, (..., nv, nv, nv), i first: the derivative of 𝓜 along the i-th direction of the velocity.

    M_θi = Hφ[𝓗ⁱφM + Mφ*𝓗ⁱ*]φ*H* (Diagonalized dynamics paper Identity 6.3), with 𝓗ⁱ = S[h_i] at the body that
    direction i moves. For joints of several degrees of freedom the first φ is φ̃ (a joint's own map does not see its
    motion), a map that turns in its body adds H°, and rotors turn with what carries them.
    """
    links = evaluate(model, q)
    placed = in_one_frame(links) if one_frame_pays(links) else own_frames(links)
    links = placed.links
    T, f = _unit_forces(links)
    if model.couplings:
        return _coupled(model, placed, T, f)
    out: list[Array] = []
    for k, r in enumerate(links.sizes):
        for i in range(r):
            half = _half(model, placed, k, i, f[k])
            out.append(half + half.mT)
    return arrays.stack(out, axis=-3) if out else arrays.zeros((*q.shape[:-1], 0, 0, 0), like=q)


def _unit_forces(links: Links) -> tuple[list[Array], list[Array]]:
    """𝓜 and φMφ*H* (and what rotors add), (..., r, nv) and (..., 6, nv) per body: the forces of unit accelerations."""
    columns = links.split_rows(arrays.eye(links.nv, like=links.q))
    still = arrays.zeros((6, links.nv), like=links.q)
    return inertia_forces(links, columns, [still] * len(columns), None, still)


def _coupled(model: Model, placed: Placed, T: list[Array], f: list[Array]) -> Array:
    """∂_i(X*𝓜X): the tree's sensitivities along X e_i, and ∂_iX*𝓜X of couplings that are not linear."""
    links = placed.links
    moved = links.split_rows(arrays.eye(links.nv, like=links.q))
    half: list[Any] = [0] * links.nv
    for k, r in enumerate(links.sizes):
        for i in range(r):
            own = _half(model, placed, k, i, f[k])
            for column in range(links.nv):
                half[column] = half[column] + moved[k][..., i : i + 1, column : column + 1] * own
    for column in range(links.nv):
        bending = links.slope_rates([x[..., column : column + 1] for x in moved])
        if bending:
            none = [arrays.zeros((r, links.nv), like=links.q) for r in links.sizes]
            swung = [x + y for x, y in zip(none, adjoint_times(bending, T))]
            half[column] = half[column] + links.join_rows(swung, links.nv)
    return arrays.stack([x + arrays.transpose(x) for x in half], axis=-3)


def _half(model: Model, placed: Placed, k: int, i: int, f: Array) -> Array:
    """Hφ̃𝓗ⁱφMφ*H* + H°φMφ*H*: rows of the joints inboard of body k, and of joint k where its map turns."""
    links = placed.links
    direction = arrays.eye(links.sizes[k], like=links.q)[:, i : i + 1]
    blocks: dict[tuple[int, int], Array] = {}
    kind = model.constants(dtype=links.q.dtype)[k].kind
    H_ring = kind.map_derivative(links.theta[k], direction)
    if H_ring is not None:
        blocks[k, 0] = placed.motion(k, H_ring).mT @ f
    x, outer = cross_force(links.H[k].mT @ direction, f), k
    for j in links.tree.inboard(k):
        x = links.phi[outer] @ x
        if links.sizes[j]:
            blocks[j, 0] = links.H[j] @ x
        outer = j
    rows = arrays.from_blocks(blocks, links.sizes, [links.nv], like=links.q)
    return rows if links.lift is None else links.join_rows(links.unstack(rows), links.nv)
