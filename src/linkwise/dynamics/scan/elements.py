"""The algebra of segments: what a run of bodies with closed joints does between its two ends (math notes 14.1–14.3).

A segment takes the force f_out that is asked at its port and the acceleration α_in of the body it hangs on, both in the
frame there, to the force it asks of that body and to the acceleration at its port:

    f_in = A f_out + C α_in + u,        α_out = A*α_in − J f_out + e

C is its inertia as seen from inboard and J its mobility as seen from the port, both symmetric and not negative. These
are the elements of a parallel Kalman filter (A, C, u its filter, J, e its information) with no measurement noise. That
of one body is formed with its own D alone, and two that meet (i outboard, j inboard) need I + C_iJ_j, whose
eigenvalues are all ≥ 1: nothing is divided by differences of articulated inertias, and no inverse inertia is formed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ... import arrays
from ...arrays import Array
from ...errors import SingularError
from ...singularity import inverse, not_a_number_where
from ...tolerances import PIVOT_ROUNDINGS
from ..articulated import singular_joint
from .levels import Closing, Level
from .stacked import Stacked, joined


@dataclass(frozen=True, eq=False)
class Segments:
    """A, C and J (..., m, 6, 6), u and e (..., m, 6, w) of m segments; the first one is none: A = I, the others 0."""

    A: Array
    C: Array
    J: Array
    u: Array
    e: Array

    def at(self, places: np.ndarray) -> Segments:
        """Those at these places."""
        return Segments(*(x[..., places, :, :] for x in self.parts))

    @property
    def parts(self) -> tuple[Array, ...]:
        return self.A, self.C, self.J, self.u, self.e

    def __len__(self) -> int:
        return self.A.shape[-3]


def none(width: int, like: Array) -> Segments:
    """No segment at all."""
    zero, column = arrays.zeros((1, 6, 6), like=like), arrays.zeros((1, 6, width), like=like)
    return Segments(arrays.eye(6, like=like)[None], zero, zero, column, column)


def side_by_side(parts: list[Segments]) -> Segments:
    """Segments one after another."""
    return Segments(*(joined(list(x)) for x in zip(*(s.parts for s in parts))))


# --- bodies that close ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Forces:
    """What acts: T (..., nv, w), and a and b (..., n, 6, w) of all bodies, or None for none."""

    T: Array
    a: Array | None
    b: Array | None


@dataclass(frozen=True, eq=False)
class Closed:
    """What a closing keeps for the way out."""

    closing: Closing
    phi: Array
    H: Array
    G: Array
    D_inverse: Array
    A: Array  # of the segment whose port stays open; the identity for none
    epsilon: Array  # T + s*a − Hb', b' with what the segments ask that fold in
    a: Array | None

    def outward(self, alpha_in: Array, f_out: Array) -> tuple[Array, Array]:
        """(β̇, α) of the bodies: β̇ = D⁻¹(ε − H A f_out) − G*(φ*α_in + a), α = φ*α_in + a + H*β̇."""
        moved = self.phi.mT @ alpha_in
        moved = moved if self.a is None else moved + self.a
        beta_dot = self.D_inverse @ (self.epsilon - self.H @ (self.A @ f_out)) - self.G.mT @ moved
        return beta_dot, moved + self.H.mT @ beta_dot


def close(x: Stacked, forces: Forces, closing: Closing, segments: Segments) -> tuple[Segments, Closed]:
    """Bodies as segments: one step of the Riccati recursion with P = M + ΣC (math notes 6.1, 14.5).

    D = HPH* + Γ,  G = (PH* + s)D⁻¹,  τ̄ = I − GH,  b' = b + Σu,  ε = T + s*a − Hb'
    A = φτ̄A_i,  C = φP⁺φ*,  J = J_i + A_i*H*D⁻¹HA_i,  u = φ(P⁺a + b' + Gε),  e = e_i + A_i*(τ̄*a + H*D⁻¹ε)
    """
    r, bodies = closing.size, closing.bodies
    rows = x.fixed.row[bodies]
    phi, H = x.phi_matrix[..., bodies, :, :], x.H[r][..., rows, :, :]
    s = None if x.s[r] is None else x.s[r][..., rows, :, :]
    folded = segments.C[..., closing.held, :, :].sum(axis=-3), segments.u[..., closing.held, :, :].sum(axis=-3)
    through = segments.at(closing.through)
    own = np.array([range(x.model.v_slices[k].start, x.model.v_slices[k].stop) for k in bodies], dtype=int)

    P = x.fixed.M[bodies] + folded[0]
    U = P @ H.mT if s is None else P @ H.mT + s
    D = arrays.symmetric(H @ (P @ H.mT)) + x.fixed.Gamma[r][rows]
    D_inverse = _pivots(x, D, closing, rows)
    G = U @ D_inverse
    P_plus = P - arrays.symmetric(G @ U.mT)
    b = folded[1] if forces.b is None else folded[1] + forces.b[..., bodies, :, :]
    epsilon = forces.T[..., own.reshape(len(bodies), r), :] - H @ b
    a = None if forces.a is None else forces.a[..., bodies, :, :]
    if a is not None and s is not None:
        epsilon = epsilon + s.mT @ a

    passed = b + G @ epsilon
    yielded = H.mT @ (D_inverse @ epsilon)
    if a is not None:
        passed = passed + P_plus @ a
        yielded = yielded + a - H.mT @ (G.mT @ a)
    HA = H @ through.A
    made = Segments(
        A=phi @ (through.A - G @ HA),
        C=arrays.symmetric(phi @ P_plus @ phi.mT),
        J=through.J + arrays.symmetric(HA.mT @ D_inverse @ HA),
        u=phi @ passed,
        e=through.e + through.A.mT @ yielded,
    )
    return made, Closed(closing, phi, H, G, D_inverse, through.A, epsilon, a)


def _pivots(x: Stacked, D: Array, closing: Closing, rows: np.ndarray) -> Array:
    """D⁻¹, or an error that names the body where D counts as singular."""
    carried, near = (loads[closing.size][rows] for loads in (x.fixed.carried, x.fixed.near))
    sizes = arrays.where(closing.is_open[:, None], near, carried)
    D_inverse, singular = inverse(D, sizes, PIVOT_ROUNDINGS)
    if arrays.is_eager(D) and np.any(singular):
        *_, which = np.argwhere(singular)[0] if np.ndim(singular) else [0]
        bad = D[..., which, :, :][singular[..., which]]
        raise SingularError(singular_joint(x.model.bodies[closing.bodies[which]].name, bad))
    return not_a_number_where(singular, D_inverse)


# --- segments that meet --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Met:
    """What two segments that have met keep for the way out."""

    outer: Segments
    inner: Segments
    W: Array  # (I + C_iJ_j)⁻¹

    def outward(self, alpha_in: Array, f_out: Array) -> tuple[Array, Array]:
        """(α, f) between them: α = (I + J_jC_i)⁻¹(A_j*α_in + e_j − J_j(A_if_out + u_i)), f = A_if_out + C_iα + u_i."""
        i, j = self.outer, self.inner
        asked = i.A @ f_out + i.u
        alpha = self.W.mT @ (j.A.mT @ alpha_in + j.e - j.J @ asked)
        return alpha, asked + i.C @ alpha


def meet(i: Segments, j: Segments) -> tuple[Segments, Met]:
    """Segments i, each at the port of one of j, as one (math notes 14.3); associative."""
    W = arrays.inverse(arrays.eye(6, like=i.C) + i.C @ j.J)
    WA, WC = W @ i.A, W @ i.C
    met = Segments(
        A=j.A @ WA,
        C=arrays.symmetric(j.C + j.A @ WC @ j.A.mT),
        J=arrays.symmetric(i.J + i.A.mT @ j.J @ WA),
        u=j.u + j.A @ (W @ (i.u + i.C @ j.e)),
        e=i.e + i.A.mT @ (W.mT @ (j.e - j.J @ i.u)),
    )
    return met, Met(i, j, W)


# --- one level -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Done:
    """A level that has been gone through inward."""

    level: Level
    closed: list[Closed]
    met: Met | None


def inward(x: Stacked, forces: Forces, level: Level, segments: Segments) -> tuple[Segments, Done]:
    """The segments after a level."""
    parts = [segments.at(np.concatenate([[0], level.kept]))]
    closed = []
    for closing in level.closings:
        made, kept = close(x, forces, closing, segments)
        parts.append(made)
        closed.append(kept)
    met = None
    if level.outer.size:
        made, met = meet(segments.at(level.outer), segments.at(level.inner))
        parts.append(made)
    return side_by_side(parts), Done(level, closed, met)


def outward(done: Done, alpha_in: Array, f_out: Array) -> tuple[Array, Array, list[tuple[Closed, Array, Array]]]:
    """(α_in, f_out) of the segments before a level from those after it, and (closing, β̇, α) of the bodies it closed.

    The place 0, no segment, is left out on both sides.
    """
    level = done.level
    m = len(level.kept)
    places, alphas, forces = [level.kept], [alpha_in[..., :m, :, :]], [f_out[..., :m, :, :]]
    found: list[tuple[Closed, Array, Array]] = []
    for x in done.closed:
        own = slice(m, m := m + len(x.closing.bodies))
        asked = f_out[..., own, :, :]
        beta_dot, alpha = x.outward(alpha_in[..., own, :, :], asked)
        found.append((x, beta_dot, alpha))
        body, column = np.nonzero(x.closing.held)
        held = x.closing.held[body, column]
        goes_on = (held == x.closing.through[body])[:, None, None]
        places.append(held)
        alphas.append(alpha[..., body, :, :])
        forces.append(arrays.where(goes_on, asked[..., body, :, :], 0.0))
    if done.met is not None:
        own = slice(m, None)
        alpha, between = done.met.outward(alpha_in[..., own, :, :], f_out[..., own, :, :])
        places += [level.inner, level.outer]
        alphas += [alpha_in[..., own, :, :], alpha]
        forces += [between, f_out[..., own, :, :]]
    order = np.argsort(np.concatenate(places))
    return joined(alphas)[..., order, :, :], joined(forces)[..., order, :, :], found
