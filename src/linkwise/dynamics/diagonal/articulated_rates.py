"""How the articulated-body quantities change while the robot moves: P°, D°, G° and the rate ṁ of the factor.

° is the derivative of a body's quantity in that body's own axes (Diagonalized dynamics paper §6; Table 4,
Algorithm 6.1). With Δ = H*β the joint's own velocity, F = S[Δ], and E_φ° = E_φF,

    U = PH* + s,    U° = P°H* + PH°* − Fs,    D° = HP°H* + H°PH* + HPH°*
    G° = (U° − GD°)D⁻¹,    P⁺° = P° − U°G* − GU°* + GD°G*,    P°(p) = Σ φ[P⁺° + FP⁺ + P⁺F*]φ*

This is the derivative of the Riccati recursion term by term, so it holds for every joint and with rotors: H°
is the rate of a map that turns in its own body, s a gyroscopic rotor's coupling, fixed in the parent. For
one-dof joints without rotors it is Algorithm 6.1, P⁺° + FP⁺ + P⁺F* = τ̄Π̇τ̄* with Π̇ = P° + FP + PF*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import arrays
from ...arrays import Array
from ...model.model import Model
from ...riccati import coordinate_axes, without_axes
from ...spatial import Transform, congruence, cross_force
from ...sweeps import unzip
from ..articulated import Articulated, articulated, coloured
from ..links import Links, evaluate, map_rates
from .node_rates import factor_rate, node_rates


@dataclass(frozen=True, eq=False)
class ArticulatedRates:
    """P°(k), D°(k) and G°(k) of every body."""

    P: list[Array]
    D: list[Array]
    G: list[Array]


def joint_velocities(links: Links, beta: list[Array]) -> list[Array]:
    """Δ(k) = H*(k) β(k): the velocity of each body against its parent."""
    return [H.mT @ b for H, b in zip(links.H, beta)]


def riccati_rates(
    links: Links,
    art: Articulated,
    Delta: list[Array],
    H_ring: Sequence[Array | None],
    s: Sequence[Any],
    X_ring: Sequence[Array] | None = None,
    Gamma_ring: Sequence[Array] | None = None,
) -> ArticulatedRates:
    """P°, D° and G° by one inward sweep; ``s`` are the gyroscopic couplings that ``art`` was made with.

    ``X_ring`` and ``Gamma_ring`` are the rates of the inertia in place of M and of what D holds beside HPH*, where
    these change.
    """

    def step(P_ring: Array, phi: Transform, H: Array, *rest: Any) -> Any:
        P, D_inverse, G, P_plus, s, Delta, H_ring, X_ring, Gamma_ring = rest
        P_ring = P_ring if X_ring is None else P_ring + X_ring
        U_ring = P_ring @ H.mT
        D_ring = arrays.symmetric(H @ U_ring)
        if H_ring is not None:
            moved = P @ H_ring
            U_ring, half = U_ring + moved, H @ moved
            D_ring = D_ring + half + half.mT
        if Gamma_ring is not None:
            D_ring = D_ring + Gamma_ring
        if s is not None:
            U_ring = U_ring - cross_force(Delta, s)
        half_update = (U_ring - 0.5 * (G @ D_ring)) @ G.mT
        P_plus_ring = arrays.symmetric(P_ring - half_update - half_update.mT)
        P_plus_ring = _with_exact_zeros(H, P_plus, P_plus_ring)
        turned = cross_force(Delta, P_plus)
        passed = congruence(phi, P_plus_ring + turned + turned.mT)
        return passed, (P_ring, D_ring, (U_ring - G @ D_ring) @ D_inverse)

    zero = arrays.zeros((*links.q.shape[:-1], 6, 6), like=links.q)
    none = [None] * len(links.sizes)
    data: Any = (links.phi, links.H, art.P, art.D_inverse, art.G, art.P_plus, s, Delta, H_ring)
    data = (*data, X_ring or none, Gamma_ring or none)
    return ArticulatedRates(*unzip(links.tree.inward(step, zero, *data), 3))


def _with_exact_zeros(H: Array, P_plus: Array, P_plus_ring: Array) -> Array:
    """Where symbols hold HP⁺ = 0 as exact zeros, HP⁺° = 0 too."""
    if not arrays.is_symbolic(P_plus):
        return P_plus_ring
    axes = coordinate_axes(H)
    if axes is None or any(not isinstance(x, float) or x != 0.0 for x in P_plus[..., axes, :].flat):
        return P_plus_ring
    return without_axes(P_plus_ring, axes)


def rates(model: Model, links: Links, art: Articulated, beta: list[Array]) -> ArticulatedRates:
    """The rates of the robot's own articulated quantities at joint velocities β."""
    return riccati_rates(links, art, joint_velocities(links, beta), map_rates(model, links, beta), links.s)


def articulated_inertias(model: Model, q: Array) -> Array:
    """P(k), (..., bodies, 6, 6), body axes (Diagonalized dynamics paper Algorithm 4.1)."""
    links = evaluate(model, q).nodes
    P = articulated(links).P
    return _stacked(links, P if links.gathering is None else links.gathering.members_of(P))


def articulated_inertia_rates(model: Model, q: Array, v: Array) -> Array:
    """P°(k), (..., bodies, 6, 6), in the axes of each body (Diagonalized dynamics paper Algorithm 6.1)."""
    links = evaluate(model, q)
    if links.lift is not None:
        change = node_rates(model, links, articulated(links.nodes), links.split(v))
        assert links.nodes.gathering is not None
        return _stacked(links, links.nodes.gathering.members_of(change.P))
    return _stacked(links, rates(model, links, articulated(links), links.split(v)).P)


def _stacked(links: Links, blocks: list[Array]) -> Array:
    return arrays.stack(blocks, axis=-3) if blocks else arrays.zeros((*links.q.shape[:-1], 0, 6, 6), like=links.q)


# --- square roots of D ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Roots:
    """D^{1/2}(k): the lower triangular Cholesky factor L of D(k) = L L*, and L⁻¹, of every joint."""

    L: list[Array]
    L_inverse: list[Array]

    def rates(self, D_ring: list[Array]) -> list[Array]:
        """L° = L low½(L⁻¹ D° L⁻*), where low½ keeps the lower triangle and half of the diagonal (math notes III.4)."""
        return [L @ _lower_half(Li @ D @ Li.mT) for L, Li, D in zip(self.L, self.L_inverse, D_ring)]


def roots(art: Articulated) -> Roots:
    """The Cholesky factors of every D(k); for one degree of freedom the square root."""
    L = [arrays.cholesky(D) for D in art.D]
    return Roots(L, [_inverse_lower(x) for x in L])


def _inverse_lower(L: Array) -> Array:
    return 1.0 / L if L.shape[-1] == 1 else arrays.solve_lower(L, arrays.eye(L.shape[-1], like=L))


def _lower_half(X: Array) -> Array:
    mask = np.tril(np.ones(X.shape[-2:])) - 0.5 * np.eye(X.shape[-1])
    return X * arrays.constant(mask, like=X)


# --- the factor m and its rate -------------------------------------------------------------------------


def mass_factor(model: Model, q: Array) -> Array:
    """m = (I + HφK) D^{1/2}, (..., nv, nv), with 𝓜 = m m* (Diagonalized dynamics paper (5.1))."""
    links = evaluate(model, q).nodes
    art = articulated(links)
    return coloured(links, art, roots(art).L)


def mass_factor_rate(model: Model, q: Array, v: Array) -> Array:
    """ṁ, (..., nv, nv), along the velocity v (Diagonalized dynamics paper Identity 6.1, here for every joint).

    The inward sweep of m, differentiated: z = Σ φ(z + GLε), y = Lε + Hz for the columns ε of I.
    """
    links = evaluate(model, q)
    if links.lift is not None:
        nodes = articulated(links.nodes)
        moving, of_nodes = node_rates(model, links, nodes, links.split(v)), roots(nodes)
        return factor_rate(moving, of_nodes.L, of_nodes.rates(moving.D))
    beta, art = links.split(v), articulated(links)
    change, root = rates(model, links, art, beta), roots(art)

    def step(gathered: Any, own: Array, own_ring: Array, phi: Transform, H: Array, *rest: Any) -> Any:
        G, G_ring, Delta, H_ring = rest
        z, z_ring = gathered
        y_ring = own_ring + H @ z_ring
        if H_ring is not None:
            y_ring = y_ring + H_ring.mT @ z
        inside = z + G @ own
        inside_ring = z_ring + G_ring @ own + G @ own_ring + cross_force(Delta, inside)
        return (phi @ inside, phi @ inside_ring), y_ring

    def nothing(width: int) -> tuple[Array, Array]:
        zero = arrays.zeros((6, width), like=links.q)
        return zero, zero

    turning = (joint_velocities(links, beta), map_rates(model, links, beta))
    own = (root.L, root.rates(change.D))
    return links.of_columns(step, nothing, own, links.phi, links.H, art.G, change.G, *turning)
