"""Steps of diagonal coordinates alone (Diagonalized dynamics paper §8): a turn of ν, and Algorithm 8.1 itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import arrays
from ..arrays import Array, SameKind
from ..dynamics import springs
from ..dynamics.articulated import articulated, smooth
from ..dynamics.diagonal.coordinates import DiagonalState, driven_rates
from ..dynamics.links import base_acceleration, evaluate
from ..robot.robot import Robot
from .system import System, with_powers


def rotation_midpoint(s: System, t: Any, q: Array, w: Array, h: Any) -> tuple[SameKind, SameKind]:
    """Second order, for total rates only: the Coriolis term turns ν, so it is integrated as a turn.

    At the midpoint C = Aν with the skew A = (Cν* − νC*)/ν*ν. Forces act as two half kicks around the Cayley turn
    (I + ½hA)⁻¹(I − ½hA): whatever h, what is not work of the forces leaves ½ν*ν as it is.
    """
    v, w_dot = s.derivative(t, q, w)
    q_mid, w_mid = s.moved(q, 0.5 * h * v), w + 0.5 * h * w_dot
    total, powers = s.acting(t + 0.5 * h, q_mid, w_mid)
    nu, nu_mid = s.rates(w), s.rates(w_mid)
    v_mid, nu_dot = s.accelerated(q_mid, nu_mid, total)
    kick = s.accelerated(q_mid, 0.0 * nu, total)[1]  # at rest there is no C
    nu = _turned(nu + 0.5 * h * kick, kick - nu_dot, nu_mid, h) + 0.5 * h * kick
    q = s.moved(q, h * v_mid)
    if powers is None:
        return q, nu
    return q, np.concatenate([nu, w[..., s.robot.nv :] + h * powers], axis=-1)


def _turned(w: Array, C: Array, nu: Array, h: Any) -> SameKind:
    """(I + ½hA)⁻¹(I − ½hA)w for A = (Cν* − νC*)/ν*ν with C ⊥ ν, a turn in their plane; w where ν = 0."""
    square = _dot(nu, nu)
    safe = arrays.where(arrays.less(-square, 0.0), square, 1.0 + 0.0 * square)
    C = C - nu * (_dot(nu, C) / safe)  # rounding aside, it is orthogonal already

    def A(x: Array) -> SameKind:
        return (C * _dot(nu, x) - nu * _dot(C, x)) / safe

    # A³ = −ω²A in the plane, ω² = |C|²/|ν|², so the Cayley transform is a quadratic in A.
    omega2 = _dot(C, C) / safe
    Aw = A(w)
    return w - (h * Aw - 0.5 * h * h * A(Aw)) / (1.0 + 0.25 * h * h * omega2)


def _dot(x: Array, y: Array) -> SameKind:
    """x · y, (..., 1)."""
    return (x * y).sum(axis=-1, keepdims=True)


def two_sweep(s: System, t: Any, q: Array, w: Array, h: Any) -> tuple[SameKind, SameKind]:
    """Algorithm 8.1 in the order it is printed: two sweeps a step, each from what the last one left.

    Inward at θ: P, D, G, P° and ξ̇, with the velocities V, θ̇ of the *last* step; ξ ← ξ + hξ̇; outward: θ̇, V from ξ
    with the G just made; θ ← θ ⊕ hθ̇. V is thus one step old where it is used, which costs an error of first order
    in h; semi-implicit Euler spends a third sweep to avoid it.
    """
    links = evaluate(s.robot, q)
    art = articulated(links)
    xi, v, V = s.rates(w), s.velocity(q, w), w[..., s.known + s.robot.nv :]
    total, powers = s.acting(t, q, w)
    before = [V[..., 6 * k : 6 * k + 6, None] for k in range(len(s.robot.bodies))]
    x = DiagonalState(s.robot, links, art, links.split(xi), links.split(v), before)
    T = springs.left(links.split(total), springs.forces(s.robot, links, x.beta))
    mu = driven_rates(x, x.rates(), T, base_acceleration(s.robot, q))
    rate = links.join([Di @ m for Di, m in zip(art.D_inverse, mu)])
    known = w[..., : s.known] + h * with_powers(rate, powers)
    beta, after = smooth(links, art, links.split(s.rates(known)))
    v = links.join(beta)
    return s.moved(q, h * v), np.concatenate([known, v, _flat(after)], axis=-1)


def velocities_to_remember(robot: Robot, q: Array, xi: Array) -> SameKind:
    """What :func:`two_sweep` remembers at the start, (..., nv + 6 bodies): θ̇ and V of ξ."""
    links = evaluate(robot, q)
    beta, V = smooth(links, articulated(links), links.split(xi))
    return np.concatenate([links.join(beta), _flat(V)], axis=-1)


def _flat(V: list[Array]) -> SameKind:
    return np.concatenate([x[..., 0] for x in V], axis=-1)
