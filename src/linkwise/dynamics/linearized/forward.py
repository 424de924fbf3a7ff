"""Linearised forward dynamics: δβ̇ = 𝓜⁻¹δT − A_C δβ − B_C δq (Linearized dynamics paper §4).

Algorithms 3 and 4 are the conventional O(n³) routes through the mass matrix, Algorithm 5 gives δβ̇ in O(n) and
Algorithm 6 the three matrices in O(n²), both without forming or inverting 𝓜. The motion handed in must be the one
that the joint forces cause (LD Lemma 4.1).
"""

from __future__ import annotations

from typing import Any

from ... import arrays
from ...arrays import Array
from ...errors import NotAdmittedError
from ...spatial import Transform, cross_force
from ...sweeps import unzip
from .. import springs
from ..articulated import Articulated, pivot_inverse
from ..forward.articulated_body import filter_and_smooth
from ..links import Links, at_rest
from ..mass import composite_of
from .inverse import algorithm_1, algorithm_2, carried_out, known_joint_force, own_changes, soft_change
from .variations import (
    Motion,
    Velocities,
    inertia_forces_of_velocity,
    joint_variations,
    motion,
    turned_forces,
    with_free_bases,
    without_free_bases,
)

# --- through the mass matrix ---------------------------------------------------------------------------


def eliminate(links: Links, mass: Array) -> tuple[list[Array], list[Array]]:
    """𝓜 = U D U*, eliminated from the tips inward, one degree of freedom after the other.

    The columns of the unit upper triangular U = I + HφK above its diagonal (OA Lemma 4.1), and D⁻¹, each (..., 1, 1).
    Zeros between unrelated joints stay zeros.
    """
    n = mass.shape[-1]
    owner = [name for name, r in zip(links.names, links.sizes) for _ in range(r)]
    known = links.carried
    sizes = [None if known[k] is None else known[k][j : j + 1] for k, r in enumerate(links.sizes) for j in range(r)]
    columns, pivots = [mass] * n, [mass] * n  # written from the last one on
    left = mass
    for i in range(n - 1, -1, -1):
        w, d = left[..., :i, i : i + 1], left[..., i : i + 1, i : i + 1]
        pivots[i] = pivot_inverse(d, owner[i], sizes[i])
        columns[i] = w * pivots[i]
        left = left[..., :i, :i] - arrays.symmetric(columns[i] @ w.mT)
    return columns, pivots


def joint_space_factors(links: Links, mass: Array) -> tuple[Array, Array]:
    """(I − HψK, D⁻¹) of 𝓜⁻¹ = (I − HψK)* D⁻¹ (I − HψK), from the entries of 𝓜: (..., nv, nv) and (..., nv)."""
    columns, pivots = eliminate(links, mass)
    if not pivots:
        return mass, mass[..., 0, :]
    return _inverse_of_unit_upper(columns, mass), arrays.concatenate(pivots, axis=-2)[..., 0]


def solve_by_elimination(links: Links, mass: Array, X: Array) -> Array:
    """𝓜⁻¹X for columns X (..., nv, m) by substitution, inward and back outward."""
    columns, pivots = eliminate(links, mass)
    left, scaled = X, [X] * len(columns)  # written from the last one on
    for i in range(len(columns) - 1, -1, -1):
        last = left[..., i : i + 1, :]
        left = left[..., :i, :] - columns[i] @ last
        scaled[i] = last * pivots[i]
    found: list[Array] = []
    for u, x in zip(columns, scaled):
        found.append(x - u.mT @ arrays.concatenate(found, axis=-2) if found else x)
    return arrays.concatenate(found, axis=-2) if found else X


def _inverse_of_unit_upper(columns: list[Array], similar: Array) -> Array:
    """U⁻¹ column by column, from the base out: [[U, u], [0, 1]]⁻¹ = [[U⁻¹, −U⁻¹u], [0, 1]]."""
    out = similar[..., :0, :0]
    for i, u in enumerate(columns):
        one = arrays.eye(1, like=similar)
        zero = arrays.zeros((1, i), like=similar)
        out = arrays.block([[out, -(out @ u)], [zero, one]]) if i else one
    return out


def solve_by_factors(W: Array, D_inverse: Array, X: Array) -> Array:
    """𝓜⁻¹X = W* D⁻¹ W X for columns X (..., nv, m)."""
    return arrays.transpose(W) @ (D_inverse[..., :, None] * (W @ X))


def accelerations_by_mass(
    rates: Velocities, tau: list[Array], external: list[Array] | None, base: Array
) -> tuple[list[Array], tuple[Array, Array]]:
    """β̇ = 𝓜⁻¹(T − 𝓒), and the factors of 𝓜 that gave it."""
    links = rates.links
    W, D_inverse = joint_space_factors(links, composite_of(links))
    rest = [arrays.zeros((r, 1), like=links.q) for r in links.sizes]
    bias = motion(rates, rest, external, base).T
    left = links.join([t - c for t, c in zip(tau, bias)])
    return links.split(solve_by_factors(W, D_inverse, left[..., None])[..., 0]), (W, D_inverse)


def algorithm_3(m: Motion, dq: list[Array], dv: list[Array], dtau: list[Array]) -> list[Array]:
    """δβ̇ in O(n³): ρ = A_Dδβ + B_Dδq by Algorithm 1, then 𝓜δβ̇ = δT − ρ by elimination (LD Algorithm 3)."""
    links = m.links
    rho = algorithm_1(m, dq, dv, None)
    left = links.join_rows([t - r for t, r in zip(dtau, rho)], dtau[0].shape[-1] if dtau else 1)
    return links.split_rows(solve_by_elimination(links, composite_of(links), left))


def algorithm_4(m: Motion, factors: tuple[Array, Array] | None = None) -> tuple[Array, Array, Array]:
    """(𝓜⁻¹, A_C, B_C) in O(n³): Algorithm 2, invert, multiply (LD Lemma 4.1, Algorithm 4)."""
    variations, answers = without_free_bases(m, joint_variations(m))
    mass, A_D, B_D = algorithm_2(m, variations)
    W, D_inverse = joint_space_factors(m.links, mass) if factors is None else factors
    weighted = D_inverse[..., :, None] * W
    mass_inverse = arrays.symmetric(arrays.transpose(W) @ weighted)
    A_C, B_C = (arrays.transpose(weighted) @ (W @ X) for X in (A_D, B_D))
    return mass_inverse, *with_free_bases(m.links, answers, A_C, B_C)


# --- along a direction, without the mass matrix --------------------------------------------------------


def algorithm_5_ii(m: Motion, art: Articulated, dq: list[Array], dv: list[Array], dtau: list[Array]) -> list[Array]:
    """δβ̇ in O(n) by one pass of the articulated-body algorithm (LD Lemma 4.6; math notes I.4, variant 5-ii).

    outward  ϑ = φ*ϑ(p) + H*δβ + Ψ̇δq,  b = (Ḣ* + Ψ̇)δβ + Ψ̈δq
    inward   z = Σ φ[z⁺ + S[H*δq]f] + 2M̂ϑ,  ε = δT − Hz,  z⁺ = z + Gε + P⁺b
    outward  δβ̇ = D⁻¹ε − G*(λ⁺ + b),  λ = λ⁺ + H*δβ̇ + b
    """
    links = m.links
    eta, own_theta, b = own_changes(m, dq, dv)
    theta_plus, theta = carried_out(links, own_theta)
    x = [M_hat @ (2.0 * t) for M_hat, t in zip(m.rates.M_hat, theta)]
    T = [_less(t, known_joint_force(m, k, dq[k], dv[k], theta_plus[k])) for k, t in enumerate(dtau)]
    passed = [_passed(m, k, eta[k], dv[k]) for k in range(len(dq))]
    return filter_and_smooth(links, art, b, x, T, at_rest(links.q), passed).beta_dot


def _less(x: Array, y: Any) -> Array:
    return x if y is None else x - y


def _passed(m: Motion, k: int, eta: Array, dv: Array) -> Array:
    """What joint k's change puts on its parent past the joint: S[H*δq]f, and uδβ of a spinning rotor."""
    turned, u = cross_force(eta, m.f[k]), m.rates.turning[k]
    return turned if u is None else turned + u @ dv


def accelerations_by_articulation(
    rates: Velocities, art: Articulated, tau: list[Array], external: list[Array] | None, base: Array
) -> list[Array]:
    """β̇ by the articulated-body algorithm, from the velocity terms that the linearisation needs anyway."""
    b = inertia_forces_of_velocity(rates, external)
    return filter_and_smooth(rates.links, art, rates.a, b, springs.left(tau, rates.springs), base).beta_dot


def refuse_spinning_rotors(links: Links, what: str, instead: str) -> None:
    """Algorithms 5 and 6 as printed know nothing of rotors that turn with their parent."""
    for name, s in zip(links.names, links.s):
        if s is not None:
            raise NotAdmittedError(
                f"{what} does not admit the spinning rotor at the joint of body {name!r} (a rotor with an axis);"
                f" use method={instead!r}"
            )


def hat_quantities(m: Motion, art: Articulated) -> tuple[list[Array], list[Array]]:
    """P̂(k) = Σ ψP̂φ* + M̂(k), as its left half (..., 6, 3), and HP̂ = DĜ*, (..., r, 3) (LD (4.12), corrected)."""
    links = m.links

    def step(gathered: Any, phi: Transform, H: Array, G: Array, M_hat: Any) -> Any:
        P_hat = gathered + M_hat.columns
        HP_hat = H @ P_hat
        return phi @ ((P_hat - G @ HP_hat) @ arrays.transpose(phi.R)), (P_hat, HP_hat)

    data = (links.phi, links.H, art.G, m.rates.M_hat)
    return unzip(links.tree.inward(step, 0, *data), 2)


def algorithm_5(m: Motion, art: Articulated, dq: list[Array], dv: list[Array], dtau: list[Array]) -> list[Array]:
    """δβ̇ in O(n) (LD Lemma 4.7 (4.15), Algorithm 5, corrected).

    inward   z = Σ φz⁺ + Y_A δβ + (Y_B + 𝓕)δq,  ε = δT − Hz,  z⁺ = z + Gε
    outward  ν = D⁻¹ε − 2Ĝ*ϑ⁺ = D⁻¹(ε − 2HP̂ϑ⁺),  δβ̇ = ν − G*λ⁺

    Y_A δβ + Y_B δq = 2P̂(H*δβ + Ψ̇δq) + Pb with b = (Ḣ* + Ψ̇)δβ + Ψ̈δq, and of Pb the passes need P⁺b and G*b alone.
    """
    links = m.links
    refuse_spinning_rotors(links, "Algorithm 5", "algorithm_5_ii")
    P_hat, HP_hat = hat_quantities(m, art)
    variations = joint_variations(m)
    script_F, own = turned_forces(m, variations)
    own_theta = [H.mT @ v + x.vartheta_q @ q for H, x, v, q in zip(links.H, variations, dv, dq)]
    theta_plus, _ = carried_out(links, own_theta)
    b = [x.lambda_v @ v + x.lambda_q @ q for x, v, q in zip(variations, dv, dq)]
    x = [hat @ (2.0 * t[..., :3, :]) for hat, t in zip(P_hat, own_theta)]
    x = [y if F is None else y + F @ q for y, F, q in zip(x, script_F, dq)]
    T = [t if C is None else t - C @ q for t, C, q in zip(dtau, own, dq)]
    T = [arrays.total([t, *(-x for x in soft_change(m, k, dq[k], dv[k]))]) for k, t in enumerate(T)]
    less = [HP @ (2.0 * t[..., :3, :]) for HP, t in zip(HP_hat, theta_plus)]
    return filter_and_smooth(links, art, b, x, T, at_rest(links.q), epsilon_less=less).beta_dot


def articulated_columns(
    m: Motion, art: Articulated, P_hat: list[Array], variations: list[Any]
) -> tuple[list[Array], list[Array]]:
    """Y_A = 2P̂H* + P(Ḣ* + Ψ̇) and Y_B = 2P̂Ψ̇ + PΨ̈, without 𝓕 (LD Lemma 4.7; math notes III.4)."""
    Y_A, Y_B = [], []
    for H, P, hat, x in zip(m.links.H, art.P, P_hat, variations):
        Y_A.append(hat @ (2.0 * H.mT[..., :3, :]) + P @ x.lambda_v)
        Y_B.append(hat @ (2.0 * x.vartheta_q[..., :3, :]) + P @ x.lambda_q)
    return Y_A, Y_B
