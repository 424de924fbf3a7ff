"""How a closed robot answers to forces and to what its loops ask, as matrices: P, Z and X⁺.

    P = 𝓜⁻¹ − YZ,    Z = X⁺Y*,    Y = 𝓜⁻¹G*,    X = GY

so that y = PT + Z*b and λ = −ZT + X⁺b solve 𝓜y − G*λ = T and Gy = b (math notes on closed chains 2.2, 2.6).
:mod:`.elimination` solves the same equations in O(n) for a few columns; where matrices are asked for, products with P
and Z take fewer operations.

Loops may be redundant: X⁺ is :mod:`.damped_solver`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ... import arrays
from ...arrays import Array
from ...model.loops import Loop
from ...model.model import Model
from ...tolerances import ACCELERATION_DAMPING
from ..linearized.forward import joint_space_factors
from ..links import Links
from .damped_solver import damped_solver
from .scales import damping


@dataclass(frozen=True, eq=False)
class CutMatrices:
    """P (..., n, n), Z (..., m, n) and b ↦ X⁺b."""

    P: Array
    Z: Array
    solve: Callable[[Array], Array]

    def motions(self, T: Array, b: Array, through: Sequence[int] = ()) -> Array:
        """PT + Z*b, (..., n, c); ``through`` is of those that know how loops hold a base."""
        return self.P @ T + self.Z.mT @ b

    def forces(self, T: Array, b: Array) -> Array:
        """λ = −(ZT + X⁺b), (..., m, c), where the loops come apart by b if nothing holds them."""
        return -(self.Z @ T + self.solve(b))


@dataclass(frozen=True, eq=False)
class HeldCut(CutMatrices):
    """The same of a robot whose first six rates, of its base, are what welds to the world have in G = [I, J].

    The base follows the other joints l by the first weld, y_b = b − Jy_l, which leaves equations of the joints and of
    the other loops o. Forces T_b on the base are as good as −J*T_b on the joints of any such weld, PG* = 0, so that a
    column of T that is of a leg stays in it. Z (..., m, l) is of the joints.
    """

    P_l: Array
    J: list[tuple[int, Array]]  # of every such weld, its first row in G and J (..., 6, l)
    mass: Array
    G_o: Array  # G of the other loops
    Z_o: Array

    def motions(self, T: Array, b: Array, through: Sequence[int] = ()) -> Array:
        """PT + Z*b; ``through`` names by column of T the weld by which forces on the base go into the joints."""
        chosen = np.array(through or [0] * T.shape[-1])
        order = np.argsort(chosen, kind="stable")
        parts = [self._in_joints(T[..., :, np.flatnonzero(chosen == i)], i) for i in sorted(set(chosen.tolist()))]
        T_l = arrays.concatenate(parts, axis=-1)[..., :, np.argsort(order)]
        y = self.P_l @ T_l + self.Z.mT @ b
        row, J = self.J[0]
        return arrays.concatenate([b[..., row : row + 6, :] - J @ y, y], axis=-2)

    def _in_joints(self, T: Array, weld: int) -> Array:
        return T[..., 6:, :] - self.J[weld][1].mT @ T[..., :6, :]

    def forces(self, T: Array, b: Array) -> Array:
        """λ; what the other loops leave of the forces on the base is the first weld's."""
        (row, _), width = self.J[0], self.G_o.shape[-2]
        own = b[..., row : row + 6, :]
        others = arrays.concatenate([b[..., :row, :], b[..., row + 6 :, :]], axis=-2)
        lam = others
        if width:
            held = self._in_joints(T + self.mass[..., :, :6] @ own, 0)
            lam = -(self.Z_o @ held + self.solve(others - self.G_o[..., :, :6] @ own))
        first = self.mass[..., :6, :] @ self.motions(T, -b) - T[..., :6, :] - self.G_o[..., :, :6].mT @ lam
        return arrays.concatenate([lam[..., :row, :], first, lam[..., row:, :]], axis=-2)


def cut_by_factors(model: Model, loops: Sequence[Loop], links: Links, mass: Array, G: Array) -> CutMatrices:
    """From 𝓜 (..., n, n) of single bodies: with 𝓜⁻¹ = W*D⁻¹W, X = (WG*)*D⁻¹(WG*)."""
    W, D_inverse = joint_space_factors(links, mass)
    half = W @ arrays.transpose(G)
    weighted = D_inverse[..., :, None] * half
    X = arrays.symmetric(arrays.transpose(half) @ weighted)
    inverse = arrays.symmetric(arrays.transpose(W) @ (D_inverse[..., :, None] * W))
    return _cut(model, loops, inverse, arrays.transpose(W) @ weighted, X)


def cut_by_welds(
    model: Model, loops: Sequence[Loop], links: Links, mass: Array, G: Array, welds: Sequence[int]
) -> HeldCut:
    """From 𝓜 of a robot on a free base, of whose loops those in the rows of G from ``welds`` on hold it as [I, J].

    With S = [−J; I] of the first one, the joints ``links`` have the mass matrix S*𝓜S, and the other loops GS.
    """
    row = welds[0]
    J = [(first, G[..., first : first + 6, 6:]) for first in welds]
    held = J[0][1]
    G_o = arrays.concatenate([G[..., :row, :], G[..., row + 6 :, :]], axis=-2)
    beside = arrays.transpose(mass[..., :6, 6:]) - arrays.transpose(held) @ mass[..., :6, :6]  # S*𝓜 of the base
    own = mass[..., 6:, 6:] - arrays.transpose(held) @ mass[..., :6, 6:] - beside @ held
    W, D_inverse = joint_space_factors(links, arrays.symmetric(own))
    P = arrays.symmetric(arrays.transpose(W) @ (D_inverse[..., :, None] * W))
    solve: Callable[[Array], Array] = _as_it_is
    Z_o = G_o[..., :, 6:]
    if G_o.shape[-2]:
        starts = np.cumsum([0, *(x.size for x in loops)])
        half = W @ arrays.transpose(G_o[..., :, 6:] - G_o[..., :, :6] @ held)
        weighted = D_inverse[..., :, None] * half
        X = arrays.symmetric(arrays.transpose(half) @ weighted)
        solve = _solver(model, [x for x, start in zip(loops, starts) if start != row], X)
        Y = arrays.transpose(W) @ weighted
        Z_o = solve(arrays.transpose(Y))
        P = P - arrays.symmetric(Y @ Z_o)
    Z_held = -(arrays.transpose(beside) @ P) - arrays.transpose(G_o[..., :, :6]) @ Z_o
    Z = arrays.concatenate([Z_o[..., :row, :], Z_held, Z_o[..., row:, :]], axis=-2)
    by_base = -(held @ P)
    base = -arrays.symmetric(by_base @ arrays.transpose(held))
    whole = arrays.block([[base, by_base], [arrays.transpose(by_base), P]])
    return HeldCut(whole, Z, solve, P, J, mass, G_o, Z_o)


def _as_it_is(b: Array) -> Array:
    return b


def cut_by_inverse(model: Model, loops: Sequence[Loop], inverse: Array, G: Array) -> CutMatrices:
    """From 𝓜⁻¹ (..., n, n)."""
    Y = inverse @ arrays.transpose(G)
    return _cut(model, loops, inverse, Y, arrays.symmetric(G @ Y))


def _cut(model: Model, loops: Sequence[Loop], inverse: Array, Y: Array, X: Array) -> CutMatrices:
    if not loops:
        return CutMatrices(inverse, arrays.transpose(Y), _as_it_is)
    solve = _solver(model, loops, X)
    Z = solve(arrays.transpose(Y))
    return CutMatrices(inverse - arrays.symmetric(Y @ Z), Z, solve)


def _solver(model: Model, loops: Sequence[Loop], X: Array) -> Callable[[Array], Array]:
    return damped_solver(X, arrays.concatenate(damping(model, loops, X, ACCELERATION_DAMPING), axis=-1))
