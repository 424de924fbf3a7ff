"""Linearised models of closed robots, from the open tree's algorithms (math notes on closed chains 2.6).

With the loops' forces as external ones, fixed in body axes, the tree's inverse dynamics changes by 𝓜δβ̇ + A_Dδβ + B_Dδq;
what turns those forces adds to B_D, which makes B̂. With δ(Gβ̇ + Ġβ) = Gδβ̇ + c_vδβ + c_qδq,

    δβ̇ = PδT − (PA_D + 𝓜⁻¹G*X⁺c_v)δβ − (PB̂ + 𝓜⁻¹G*X⁺c_q)δq

which are the closed robot's equations with other right-hand sides. These are derivatives of β̇ as a function of all q
and β; a change that keeps the loops closed has Gδq = 0 and Gδβ + ∂(Gβ)/∂q δq = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ... import arrays
from ...arrays import Array
from ...model.loops import Loop
from ...model.model import Model
from ...spatial import cross_force, cross_motion
from ..inverse import split_forces
from ..linearized.frames import at_the_frame
from ..linearized.inertial_parameters import regressor_of
from ..linearized.inverse import algorithm_2
from ..linearized.variations import Motion, motion, velocity_terms
from ..links import at_rest, base_acceleration, evaluate
from ..referred_links import own_frames
from .closures import Closure, closures
from .elimination import Elimination
from .equations import factored, forward_dynamics


@dataclass(frozen=True, eq=False)
class End:
    """How a body moves at an end of a loop, in frame a's axes at its origin, and what δq and δβ change of that."""

    V: Array  # (..., 6, 1)
    A: Array
    J: Array  # (..., 6, nv): its displacement per δq, its ϑ = δ°V per δβ
    theta_q: Array
    lambda_v: Array  # of λ = δ°A + V × ϑ
    lambda_q: Array


def _end(m: Motion, closure: Closure, which: int) -> End:
    links, body, reach = m.links, closure.bodies[which], closure.reach[which]
    if body < 0:
        still, none = at_rest(links.q), arrays.zeros((6, links.nv), like=links.q)
        return End(still, still, none, none, none, none)
    columns = zip(*at_the_frame(m, body, reach))
    J, theta_q, lambda_v, lambda_q = (links.join_columns(list(x), 6) for x in columns)
    return End(reach.T @ m.rates.V[body], reach.T @ m.alpha[body], J, theta_q, lambda_v, lambda_q)


@dataclass(frozen=True, eq=False)
class LoopVariation:
    """What δq and δβ change of one loop: its rates, and the forces that it transmits."""

    closure: Closure
    a: End
    b: End

    @property
    def D(self) -> Array:
        """The displacement of b against a per δq, (..., 6, nv)."""
        return self.b.J - self.a.J

    def velocity_by_q(self) -> Array:
        """∂(Gβ)/∂q, (..., m, nv)."""
        a, b, D = self.a, self.b, self.D
        change = b.theta_q + cross_motion(D, b.V) - a.theta_q
        return self.closure.W.mT @ change + self.closure.moved_rows(D, b.V - a.V)

    def acceleration_by_v(self) -> Array:
        """c_v, (..., m, nv)."""
        a, b = self.a, self.b
        dA = (b.lambda_v - cross_motion(b.V, b.J)) - (a.lambda_v - cross_motion(a.V, a.J))
        dA = dA - cross_motion(a.J, b.V) - cross_motion(a.V, b.J)
        return self.closure.W.mT @ dA + self.closure.turning_change(b.V - a.V, b.J - a.J, None)

    def acceleration_by_q(self) -> Array:
        """c_q, (..., m, nv)."""
        a, b, D = self.a, self.b, self.D
        dV_b = b.theta_q + cross_motion(D, b.V)
        dA_b = b.lambda_q - cross_motion(b.V, b.theta_q) + cross_motion(D, b.A)
        dA_a = a.lambda_q - cross_motion(a.V, a.theta_q)
        dA = dA_b - dA_a - cross_motion(a.theta_q, b.V) - cross_motion(a.V, dV_b)
        c = self.closure.W.mT @ dA + self.closure.moved_rows(D, b.A - a.A - cross_motion(a.V, b.V))
        return c + self.closure.turning_change(b.V - a.V, dV_b - a.theta_q, D)

    def forces_by_q(self, lam: Array) -> Array:
        """−∂(G*λ)/∂q beyond what forces fixed in body axes do, (..., nv, nv), for λ (..., m, 1)."""
        D = self.D
        turned = self.b.J.mT @ cross_force(D, self.closure.W @ lam)
        return turned - D.mT @ self.closure.moved_forces(D, lam)


def variations(model: Model, q: Array, v: Array, a: Array, loops: Sequence[Loop]) -> list[LoopVariation]:
    """Those of every loop at a motion."""
    rates = velocity_terms(model, own_frames(evaluate(model, q)), v)
    m = motion(rates, rates.links.split(a), None, at_rest(q))  # without gravity, which moves nothing against the world
    return [LoopVariation(x, _end(m, x, 0), _end(m, x, 1)) for x in closures(model, rates.links, loops)]


def _stacked(parts: list[Array]) -> Array:
    return arrays.concatenate(parts, axis=-2)


# --- forward dynamics ------------------------------------------------------------------------------------------------


def linearize_forward(
    model: Model, q: Array, v: Array, tau: Array, external: Array | None, loops: Sequence[Loop]
) -> tuple[Array, Array, Array]:
    """∂β̇/∂T, ∂β̇/∂β, ∂β̇/∂q of the closed robot, each (..., nv, nv)."""
    a, lam, opened = forward_dynamics(model, q, v, tau, external, loops)
    changes = variations(model, q, v, a, loops)
    _, A_D, B = algorithm_2(_closed_motion(model, q, v, a, external, opened, lam))
    for x, part in zip(changes, opened.split(lam[..., None])):
        B = B + x.forces_by_q(part)
    c_v, c_q = (
        _stacked([f(x) for x in changes]) for f in (LoopVariation.acceleration_by_v, LoopVariation.acceleration_by_q)
    )
    n = model.nv
    Minv = opened.solve(arrays.eye(n, like=q), None, n)[0]
    return arrays.symmetric(Minv), opened.solve(-A_D, -c_v, n)[0], opened.solve(-B, -c_q, n)[0]


def sensitivity(model: Model, q: Array, v: Array, tau: Array, external: Array | None, loops: Sequence[Loop]) -> Array:
    """∂β̇/∂π of the closed robot, (..., nv, 10 bodies): P(−Y)."""
    a, lam, opened = forward_dynamics(model, q, v, tau, external, loops)
    Y = regressor_of(_closed_motion(model, q, v, a, external, opened, lam))
    return opened.solve(-Y, None, Y.shape[-1])[0]


def _closed_motion(
    model: Model, q: Array, v: Array, a: Array, external: Array | None, opened: Elimination, lam: Array
) -> Motion:
    """The motion with the loops' forces beside the external ones, in body axes."""
    rates = velocity_terms(model, own_frames(evaluate(model, q)), v)
    f = split_forces(external) or [at_rest(q) for _ in model.bodies]
    for x, part in zip(opened.loops, opened.split(lam[..., None])):
        for body, F in x.forces(part).items():
            f[body] = f[body] + F
    return motion(rates, rates.links.split(a), f, base_acceleration(model, q))


# --- states that stay closed -----------------------------------------------------------------------------------------


def projection(model: Model, q: Array, v: Array, loops: Sequence[Loop]) -> Array:
    """(..., 2nv, 2nv): what projection leaves of a change [δq; δβ] of a closed state.

    δq ← Nδq,  δβ ← Nδβ − 𝓜⁻¹G*X⁺ ∂(Gβ)/∂q Nδq,  with N = I − 𝓜⁻¹G*X⁺G; for δq, G without rows of rates alone.
    """
    opened = factored(model, q, loops)
    n = model.nv
    changes = variations(model, q, v, v * 0.0, loops)
    G, dG = _stacked([x.closure.W.mT @ x.D for x in changes]), _stacked([x.velocity_by_q() for x in changes])
    N = arrays.eye(n, like=q) - opened.solve(None, G, n)[0]
    held = [row for loop in loops for row in loop.holonomic_rows]
    N_q = N
    if not all(held):
        N_q = arrays.eye(n, like=q) - opened.solve(None, arrays.constant(np.array(held) * 1.0, q)[:, None] * G, n)[0]
    back = -opened.solve(None, dG @ N_q, n)[0]
    return arrays.block([[N_q, arrays.zeros((n, n), like=q)], [back, N]])
