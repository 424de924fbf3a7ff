"""Articulated-body inertias: the Riccati recursion, and the filters that factor and invert 𝓜.

    P(k) = φ(k,k−1) P⁺(k−1) φ*(k,k−1) + M(k),  D = HPH*,  G = PH*D⁻¹,  P⁺ = P − GDG*
    K(k+1,k) = φ(k+1,k) G(k),  ψ(k+1,k) = φ(k+1,k) τ̄(k),  τ̄ = I − GH

(Unified formulation paper (40)–(45), Operator algebra paper (4.1), (4.2), JPL 88-11 (4.4)–(4.8),
Linearized dynamics paper (4.3), Diagonalized dynamics paper Algorithm 4.1; math notes 7.)

Rotors enter as measurement noise. Their reflected inertia Γ adds to D (math notes 12.6). A rotor that
also turns with its parent couples joint k with the parent's motion through s(k), which is a correlation
between process and measurement noise: D = HPH* + Γ, G = (PH* + s) D⁻¹, and nothing else changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..aggregates import Members
from ..arrays import Array
from ..errors import NotAdmittedError, SingularError
from ..riccati import coordinate_axes, cross_joint
from ..singularity import inverse, not_a_number_where
from ..spatial import RigidInertia, Transform, adjoint_congruence, congruence
from ..sweeps import unzip
from ..tolerances import OPERATIONAL_ROUNDINGS, PIVOT_ROUNDINGS
from .coupled_links import Coordinates
from .links import Links

MASS = "the mass matrix"


@dataclass(frozen=True, eq=False)
class Articulated:
    """P(k), D(k), D⁻¹(k), G(k) and P⁺(k) of every body."""

    P: list[Array]
    D: list[Array]
    D_inverse: list[Array]
    G: list[Array]
    P_plus: list[Array]

    def solve(self, links: Links, T: Array) -> Array:
        """𝓜⁻¹ T = (I − HψK)* D⁻¹ (I − HψK) T for the columns of T (..., nv, m), in two sweeps."""
        epsilon = whiten(links, self, links.split_rows(T))
        nu = [Di @ e for Di, e in zip(self.D_inverse, epsilon)]
        return links.join_rows(smooth(links, self, nu)[0], T.shape[-1])


def riccati(links: Links, X: list[Any], rotors: bool = True, what: str = MASS) -> Articulated:
    """The recursion for any block-diagonal symmetric X in place of M; rotors are optional."""
    if isinstance(links.lift, Coordinates):
        raise NotAdmittedError(
            f"{what} of a robot with coupled joints or flexible bodies is factored over nodes, which this algorithm has"
            " not been written for; robot.uncouple() frees coupled joints"
        )
    none = [None] * len(X)
    Gamma, s = (links.Gamma, links.s) if rotors else (none, none)
    carried = links.carried if X is links.M else none

    def step(gathered: Any, phi: Transform, H: Array, M: Any, Gamma: Any, s: Any, name: str, carried: Any) -> Any:
        P = gathered + matrix_of(M)
        kept = riccati_step(P, H, Gamma, s, name, carried, what)
        return congruence(phi, kept[-1]), kept

    kept = links.tree.inward(step, 0, links.phi, links.H, X, Gamma, s, links.names, carried)
    return Articulated(*unzip(kept, 5))


def matrix_of(M: Any) -> Any:
    """An inertia as a matrix, or as one for every member of an aggregate."""
    return M.matrix if isinstance(M, RigidInertia) else M.matrices if isinstance(M, Members) else M


def riccati_step(
    P: Array, H: Array, Gamma: Any, s: Any, name: str, carried: Any, what: str = MASS
) -> tuple[Array, Array, Array, Array, Array]:
    """(P, D, D⁻¹, G, P⁺) of one body from its P. ``name`` is for the error where D counts as singular, against
    ``carried`` (r,), the size of what the joint carries, or, where that is None, against the trace of P."""
    roundings = PIVOT_ROUNDINGS
    if carried is None:
        carried, roundings = _along(P, H), OPERATIONAL_ROUNDINGS
    return cross_joint(P, H, Gamma, s, lambda D: pivot_inverse(D, name, carried, what, roundings))


def _along(P: Array, H: Array) -> Array:
    """(..., r) tr P for every direction of H, by the square of its length."""
    trace = P.trace if isinstance(P, Members) else arrays.total(P[..., i, i] for i in range(P.shape[-1]))
    rows = [H[..., i, :] for i in range(H.shape[-2])]
    return arrays.stack([(row * row).sum(axis=-1) * trace for row in rows]) if rows else trace


def articulated(links: Links) -> Articulated:
    """The articulated-body inertias of the robot at this configuration."""
    return riccati(links, links.M)


def pivot_inverse(
    D: Array, name: str, carried: Any = None, what: str = MASS, roundings: int = PIVOT_ROUNDINGS
) -> Array:
    """D⁻¹, or an error naming the body where D counts as singular against ``carried`` (NaN passes through as NaN)."""
    D_inverse, singular = inverse(D, carried, roundings)
    if arrays.is_eager(D) and np.any(singular):
        raise SingularError(singular_joint(name, D[singular] if np.ndim(singular) else D, what))
    return not_a_number_where(singular, D_inverse)


def singular_joint(name: str, D: np.ndarray, what: str = MASS) -> str:
    """What to say of a body whose D (..., r, r) counts as singular."""
    return _advice(name, what, float(np.min(_smallest_eigenvalue(D.real))))


def _advice(name: str, what: str, smallest: float) -> str:
    if what == MASS:
        return (
            f"{what} is singular: nothing resists the joint of body {name!r} (its articulated inertia D is"
            f" {smallest:.3g}). Give {name!r} or a body outboard of it inertia, give the joint a rotor, or lock it"
        )
    return f"{what} is not positive definite: at the joint of body {name!r} its pivot D is {smallest:.3g}"


def _smallest_eigenvalue(D: np.ndarray) -> np.ndarray:
    """Of each matrix of a batch; NaN where a matrix is not finite."""
    if D.shape[-1] == 1:
        return D[..., 0, 0]
    finite = np.isfinite(D).all(axis=(-2, -1))
    safe = np.where(finite[..., None, None], D, np.eye(D.shape[-1]))
    eigenvalues = np.linalg.eigvalsh(safe.astype(float) if safe.dtype == np.longdouble else safe)
    return np.where(finite, eigenvalues[..., 0], np.nan)


# --- filters -----------------------------------------------------------------------------------------


def colour(links: Links, art: Articulated, epsilon: list[Array]) -> list[Array]:
    """y = (I + HφK) ε, inward: z(k) = φ(k,k−1) [z(k−1) + G ε(k−1)], y = Hz + ε."""
    return links.tree.inward(_coloured, 0, epsilon, links.phi, links.H, art.G)


def coloured(links: Links, art: Articulated, blocks: Sequence[Array]) -> Array:
    """(I + HφK) X, (..., nv, nv), for X with these blocks (..., r, r) on its diagonal."""
    return links.of_columns(_coloured, lambda _: 0, [blocks], links.phi, links.H, art.G)


def _coloured(z: Any, epsilon: Array, phi: Transform, H: Array, G: Array) -> Any:
    return phi @ (z + G @ epsilon), _plus(epsilon, H, z)


def whiten(links: Links, art: Articulated, y: list[Array]) -> list[Array]:
    """ε = (I − HψK) y, inward, the Kalman whitening filter: ε = y − Hz, z⁺ = z + G ε."""
    return links.tree.inward(_whitened, 0, y, links.phi, links.H, art.G)


def whitened(links: Links, art: Articulated, blocks: Sequence[Array]) -> Array:
    """(I − HψK) X, (..., nv, nv), for X with these blocks (..., r, r) on its diagonal."""
    return links.of_columns(_whitened, lambda _: 0, [blocks], links.phi, links.H, art.G)


def _whitened(z: Any, y: Array, phi: Transform, H: Array, G: Array) -> Any:
    epsilon = _plus(y, -H, z)
    return phi @ (z + G @ epsilon), epsilon


def identities(links: Links) -> list[Array]:
    """I of every joint, (r, r)."""
    return [arrays.eye(r, like=links.q) for r in links.sizes]


def smooth(links: Links, art: Articulated, nu: list[Array]) -> tuple[list[Array], list[Array]]:
    """β̇ = (I − HψK)* ν and λ = ψ*H*ν, outward: β̇ = ν − G*φ*λ(k+1), λ = φ*λ(k+1) + H*β̇."""

    def step(outer: Any, phi: Transform, H: Array, G: Array, nu: Array) -> Any:
        carried = phi.T @ outer[1]
        beta_dot = nu - G.mT @ carried
        return beta_dot, carried + H.mT @ beta_dot

    width = nu[0].shape[-1] if nu else 1
    start = (None, arrays.zeros((6, width), like=links.q))
    values = links.tree.outward(step, start, links.phi, links.H, art.G, nu)
    return unzip(values, 2)


def _plus(x: Array, H: Array, z: Any) -> Array:
    """x + H z, where z is the integer 0 at a tip."""
    return x if isinstance(z, int) else x + H @ z


def past_joint(X: Array, H: Array, G: Array) -> Array:
    """τ̄X = X − GHX: forces on a body as they go on past its joint."""
    return X - G @ (H @ X)


def compliances(links: Links, art: Articulated) -> list[Array]:
    """Υ(k) = τ̄*Υ⁺τ̄ + H*D⁻¹H with Υ⁺ = φ*Υ(k+1)φ, outward: how a body yields to a force on it, (..., 6, 6).

    (Linearized dynamics paper (4.19); Ω(k) of the Operator algebra paper, §5, after (5.5).)
    """

    def step(outer: Array, phi: Transform, H: Array, G: Array, D_inverse: Array) -> Array:
        Upsilon_plus = adjoint_congruence(phi, outer)
        if coordinate_axes(H) is None:
            return _first_row(Upsilon_plus, H, G, D_inverse)[2]
        tau_bar = arrays.eye(H.shape[-1], like=G) - G @ H  # with exact zeros, as HG = I
        return arrays.symmetric(tau_bar.mT @ Upsilon_plus @ tau_bar + H.mT @ D_inverse @ H)

    return links.tree.outward(step, arrays.zeros((6, 6), like=links.q), links.phi, links.H, art.G, art.D_inverse)


def first_rows(
    links: Links, art: Articulated, base: Array | None = None
) -> tuple[list[Array], list[Array], list[Array]]:
    """L, U and Υ of every body, outward: 𝓜⁻¹(k,k), and where the row of k in (I − HψK)*D⁻¹Hψ starts (LD Lemma 4.9).

    ``base`` is the compliance (..., 6, 6) of what carries the bodies; without it, they are on the world.
    """

    def step(outer: Any, phi: Transform, H: Array, G: Array, D_inverse: Array) -> Any:
        return _first_row(adjoint_congruence(phi, outer[2]), H, G, D_inverse)

    start = (None, None, arrays.zeros((6, 6), like=links.q) if base is None else base)
    return unzip(links.tree.outward(step, start, links.phi, links.H, art.G, art.D_inverse), 3)


def _first_row(Upsilon_plus: Array, H: Array, G: Array, D_inverse: Array) -> tuple[Array, Array, Array]:
    """L = D⁻¹ + G*Υ⁺G,  U = LH − G*Υ⁺,  Υ = Υ⁺ + H*U − Υ⁺GH = τ̄*Υ⁺τ̄ + H*D⁻¹H."""
    Z = Upsilon_plus @ G
    L = arrays.symmetric(D_inverse + G.mT @ Z)
    U = L @ H - Z.mT
    return L, U, arrays.symmetric(Upsilon_plus + H.mT @ U - Z @ H)
