"""Forward dynamics in O(N³) and O(N²): Cholesky of 𝓜, conjugate gradients, triangularised equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import arrays
from ...arrays import Array, Namespace
from ...errors import SingularError, UntraceableError
from ...model.model import Model
from ...tolerances import PIVOT_ROUNDINGS, roundings
from .. import mass
from ..articulated import articulated, colour, pivot_inverse
from ..inverse import composite_inertias, mass_times
from ..links import Links
from .articulated_body import Forward, State, bias_free_forces, prepare


def composite_cholesky(model: Model, q: Array, v: Array, tau: Array, external: Array | None = None) -> Forward:
    """O(N³): 𝓜 from composite bodies, 𝓜 = LL*, then two triangular solves (UF §3)."""
    x = prepare(model, q, v, tau, external)
    right = _stacked(x)
    lower = _cholesky(mass.composite(model, q))
    half = arrays.solve_lower(lower, right)
    solution = _solve_upper(arrays.transpose(lower), half)
    return Forward(x.links, x.links.split_rows(solution))


def _cholesky(M: Array) -> Array:
    message = "the mass matrix is singular: some joint moves without resistance; method='articulated_body' names it"
    try:
        lower = arrays.cholesky(M)
    except np.linalg.LinAlgError:
        raise SingularError(message) from None
    if arrays.is_eager(lower):
        pivots, sizes = (np.diagonal(arrays.as_numpy(x).real, axis1=-2, axis2=-1) for x in (lower, M))
        if (pivots**2 <= roundings(PIVOT_ROUNDINGS, sizes.dtype) * sizes).any():
            raise SingularError(message)
    return lower


def conjugate_gradient(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    external: Array | None = None,
    preconditioned: bool = False,
    tolerance: float = 1e-14,
) -> Forward:
    """O(N²): conjugate gradients on 𝓜β̇ = T', with 𝓜p by one Newton–Euler pass (UF §4, (30) corrected).

    ``preconditioned`` uses Ξ = HRH*, the diagonal blocks of 𝓜, from the composite bodies. In exact
    arithmetic N steps suffice; rounding may ask for more, so up to 10 N + 20 are taken, until the residual
    falls below ``tolerance`` times the right-hand side.
    """
    x = prepare(model, q, v, tau, external)
    links = x.links
    right = _stacked(x)
    xp = arrays.namespace(right)
    precondition = _block_preconditioner(x) if preconditioned else (lambda r: r)

    if arrays.is_symbolic(right):
        raise UntraceableError(
            'conjugate gradients go on until they have converged, which depends on the state: use target="numpy"'
        )
    solution, r, p = right * 0.0, right, right * 0.0
    rho_old: Any = None
    scale = _dot(right, right)
    steps = 10 * links.nv + 20
    for _ in range(steps):
        z = precondition(r)
        rho = _dot(z, r)
        gamma = 0.0 if rho_old is None else rho / _non_zero(xp, rho_old)
        p = z + gamma * p
        w = mass_times(links, p)
        s = rho / _non_zero(xp, _dot(p, w))
        solution = solution + s * p
        r = r - s * w
        rho_old = rho
        if arrays.is_eager(r) and not (_dot(r, r) > tolerance**2 * scale).any():
            break
    _refuse_unsolved(links, solution, right, scale)
    return Forward(links, links.split_rows(solution))


def preconditioned_conjugate_gradient(
    model: Model, q: Array, v: Array, tau: Array, external: Array | None = None
) -> Forward:
    """Conjugate gradients with the preconditioner Ξ = HRH* (UF §4)."""
    return conjugate_gradient(model, q, v, tau, external, preconditioned=True)


def _refuse_unsolved(links: Links, solution: Array, right: Array, scale: Array) -> None:
    """An error where the iteration did not get there (NaN in a state passes through)."""
    if arrays.is_eager(solution) and links.nv:
        residual = right - mass_times(links, solution)
        given = np.isfinite(arrays.as_numpy(scale))
        if (given & ~(_dot(residual, residual) <= 1e-12 * scale)).any():
            raise SingularError(
                "conjugate gradients did not converge: the mass matrix is singular or very badly conditioned;"
                " method='articulated_body' tells which joint moves without resistance"
            )


def _block_preconditioner(x: State) -> Any:
    links = x.links
    blocks = []
    for R, H, Gamma, name, carried in zip(composite_inertias(links), links.H, links.Gamma, links.names, links.carried):
        D = arrays.symmetric(H @ (R @ H.mT))
        blocks.append(pivot_inverse(D if Gamma is None else D + Gamma, name, carried))

    def apply(r: Array) -> Array:
        return links.join_rows([B @ y for B, y in zip(blocks, links.split_rows(r))], 1)

    return apply


def triangular(model: Model, q: Array, v: Array, tau: Array, external: Array | None = None) -> Forward:
    """O(N²): solve (I + HφK) D x = T', then (I + HφK)* β̇ = x, with the explicit factor (UF §4, Lemma 6.2).

    For one-dof joints this is Gaussian elimination of 𝓜 from the tips inward, with pivots D(k).
    """
    x = prepare(model, q, v, tau, external)
    links = x.links
    art = articulated(links)
    identity = arrays.eye(links.nv, like=q)
    # Triangular in the order of the nodes, which need not be that of joint space where joints are coupled.
    factor = links.stack(colour(links, art, links.unstack(identity)), links.nv)
    epsilon = _solve_upper(factor, links.stack(links.split_rows(_stacked(x)), 1))
    nu = links.stack([Di @ e for Di, e in zip(art.D_inverse, links.unstack(epsilon))], 1)
    solution = arrays.solve_lower(arrays.transpose(factor), nu)
    return Forward(links, links.unstack(solution), {"D": art.D, "epsilon": links.unstack(epsilon)})


def _stacked(x: State) -> Array:
    stacked = x.links.join_rows(bias_free_forces(x), 1)
    batch = np.broadcast_shapes(stacked.shape[:-2], x.links.q.shape[:-1])
    return arrays.namespace(stacked).broadcast_to(stacked, (*batch, x.links.nv, 1))


def _solve_upper(upper: Array, b: Array) -> Array:
    """x with U x = b, as the lower triangular system seen from the other end."""
    return arrays.solve_lower(upper[..., ::-1, ::-1], b[..., ::-1, :])[..., ::-1, :]


def _dot(x: Array, y: Array) -> Array:
    return (x * y).sum(axis=(-2, -1))[..., None, None]


def _non_zero(xp: Namespace, x: Array) -> Array:
    """x, or 1 where x is exactly zero: there the residual has vanished and the step does not matter."""
    zero: Any = 0
    return xp.where(x == zero, 1.0, x)
