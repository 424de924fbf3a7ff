"""The methods of a robot that come from the Diagonalized dynamics paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import array_kinds, arrays, inputs
from ..arguments import flag, number
from ..arrays import Array, ArrayLike, SameKind
from ..dynamics.diagonal import articulated_rates, curvature
from ..dynamics.diagonal import as_printed as diagonal_printed
from ..dynamics.diagonal import coordinates as diagonal
from ..dynamics.diagonal import mass_sensitivity as sensitivity
from ..errors import InputError
from .calls import Calls, choose
from .dispatch import compiled, on_numpy
from .for_loops import NEEDS_INDEPENDENT, NEEDS_TREE, for_loops

if TYPE_CHECKING:
    from .flat_coordinates import FlatCoordinates

DIAGONAL_CORIOLIS_METHODS = {
    "general": diagonal.coriolis,
    "closed_form": diagonal_printed.closed_form,
    "recursive": diagonal_printed.recursive,
}

DIAGONAL_METHODS = {"general": diagonal.forward, "algorithm_8_1": diagonal_printed.algorithm_8_1}


def _sensitivity_by_rates(robot: Any, q: ArrayLike) -> Array:
    """∂𝓜/∂θ_i as the rate of 𝓜 at unit velocities, C + C*: d𝓜/dt − 2C is skew for every one of them."""
    foreign = array_kinds.library(q) is not None
    state: Any = q if foreign else inputs.configuration(robot, q)
    # Lists go with arrays of any library, in their precision.
    units: Any = np.eye(robot.nv).tolist() if foreign else arrays.eye(robot.nv, like=state)
    C: Array = robot.coriolis_matrix(state[..., None, :], units)
    return C + arrays.transpose(C)


@dataclass(frozen=True, eq=False, repr=False)
class Diagonalized(Calls):
    """Total rates, working forces, and dynamics in them."""

    # --- diagonalised dynamics ---------------------------------------------------------------------

    @compiled(q="nq", v="nv", joint_space=True, rolls=True, per_body=550, loops=NEEDS_INDEPENDENT)
    def total_rates(self, q: ArrayLike, v: ArrayLike, *, normalized: bool = True) -> SameKind:
        """ν = m*v, (..., nv) [√J]: ½ν*ν is the kinetic energy; or ξ = (I + HφK)*v (DD Table 2, (7.7))."""
        return self._call(diagonal.total_rates, 1, q, flag(normalized, "normalized"), v=v)

    @compiled(q="nq", nu="nv", joint_space=True, rolls=True, per_body=550, loops=NEEDS_INDEPENDENT)
    def joint_rates(self, q: ArrayLike, nu: ArrayLike, *, normalized: bool = True) -> SameKind:
        """v = ℓ*ν, (..., nv) [rad/s, m/s]: joint rates from total rates ν, or from ξ (DD Table 2)."""
        return self._call(diagonal.joint_rates, 1, q, flag(normalized, "normalized"), nu=nu)

    @compiled(q="nq", tau="nv", joint_space=True, rolls=True, per_body=550, loops=NEEDS_INDEPENDENT)
    def working_forces(self, q: ArrayLike, tau: ArrayLike, *, normalized: bool = True) -> SameKind:
        """ε = ℓτ, (..., nv) [√J/s]: the part of the joint forces that changes ν; or κ = (I − HψK)τ (DD Table 3)."""
        return self._call(diagonal.working_forces, 1, q, flag(normalized, "normalized"), tau=tau)

    @compiled(q="nq", eps="nv", joint_space=True, rolls=True, per_body=550, loops=NEEDS_INDEPENDENT)
    def joint_forces(self, q: ArrayLike, eps: ArrayLike, *, normalized: bool = True) -> SameKind:
        """τ = mε, (..., nv) [N m, N]: joint forces from working forces ε, or from κ (DD Table 3)."""
        return self._call(diagonal.joint_forces, 1, q, flag(normalized, "normalized"), eps=eps)

    @compiled(q="nq", nu="nv", joint_space=True, rolls=("general",), per_body=1400, loops=NEEDS_INDEPENDENT)
    def diagonal_coriolis(
        self, q: ArrayLike, nu: ArrayLike, *, method: str = "general", normalized: bool = True
    ) -> SameKind:
        """C(θ, ν), (..., nv), of ν̇ + C = ε: it does no work, ν*C = 0; or C(θ, ξ) of Dξ̇ + C = κ.

        ``method``: "general" (every robot), and for one-dof joints without rotors "closed_form" (DD Identity 7.1,
        Lemma 7.3) and "recursive" (DD Algorithm 7.1, (7.10)).
        """
        run = choose(DIAGONAL_CORIOLIS_METHODS, method, "method for the diagonal Coriolis term")
        return self._call(run, 1, q, flag(normalized, "normalized"), nu=nu)

    @compiled(
        q="nq",
        nu="nv",
        tau="nv",
        external=("bodies", 6),
        joint_space=True,
        rolls=("general",),
        per_body=1400,
        loops=NEEDS_INDEPENDENT,
    )
    def diagonal_dynamics(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        tau: ArrayLike,
        *,
        external: ArrayLike | None = None,
        method: str = "general",
        normalized: bool = True,
    ) -> tuple[SameKind, SameKind]:
        """(v, ν̇), each (..., nv): how the state (q, ν), or (q, ξ), moves under joint forces τ (DD Algorithm 8.1).

        ν̇ = ε − C(θ, ν), gravity and external forces included. ``method``: "general" (every robot) or
        "algorithm_8_1" (as printed, for one-dof joints without rotors).
        """
        run = choose(DIAGONAL_METHODS, method, "method of diagonalised forward dynamics")
        f = inputs.forces(self, external)
        checked = {"q": inputs.configuration(self, q)}
        checked |= {k: inputs.vector(x, self.nv, k, self) for k, x in (("nu", nu), ("tau", tau))}
        batch, values, f = self._joined_with(f, checked)
        v, rate = run(self, *values, flag(normalized, "normalized"), f)
        return inputs.fit(v, batch, 1), inputs.fit(rate, batch, 1)

    @compiled(q="nq", joint_space=True, rolls=True, per_pair=35, loops=NEEDS_INDEPENDENT)
    def mass_factor(self, q: ArrayLike) -> SameKind:
        """m = (I + HφK)D^{1/2}, (..., nv, nv), with 𝓜 = m m*; D^{1/2} is the Cholesky factor (DD (5.1))."""
        return self._call(articulated_rates.mass_factor, 2, q)

    @compiled(q="nq", v="nv", joint_space=True, rolls=True, per_pair=80, loops=NEEDS_INDEPENDENT)
    def mass_factor_rate(self, q: ArrayLike, v: ArrayLike) -> SameKind:
        """ṁ, (..., nv, nv), while the robot moves with v (DD Identity 6.1)."""
        return self._call(articulated_rates.mass_factor_rate, 2, q, v=v)

    @compiled(q="nq", loops=NEEDS_TREE)
    def articulated_inertias(self, q: ArrayLike) -> SameKind:
        """P(k), (..., bodies, 6, 6): the inertia of each body with the joints outboard free (DD Algorithm 4.1)."""
        return self._call(articulated_rates.articulated_inertias, 3, q)

    @compiled(q="nq", v="nv", loops=NEEDS_TREE)
    def articulated_inertia_rates(self, q: ArrayLike, v: ArrayLike) -> SameKind:
        """P°(k), (..., bodies, 6, 6): the rate of P(k) in body k's own axes (DD Algorithm 6.1)."""
        return self._call(articulated_rates.articulated_inertia_rates, 3, q, v=v)

    @compiled(q="nq", joint_space=True, in_parts=_sensitivity_by_rates, loops=NEEDS_INDEPENDENT)
    def mass_matrix_sensitivity(self, q: ArrayLike) -> SameKind:
        """∂𝓜/∂θ_i, (..., nv, nv, nv), i first: along each direction of the velocity (DD Identity 6.3)."""
        return self._call(sensitivity.mass_matrix_sensitivity, 3, q)

    @for_loops(NEEDS_INDEPENDENT)
    @on_numpy
    def curvature(self, q: ArrayLike) -> SameKind:
        """R_hijk, (..., nv, nv, nv, nv): the Riemann symbols of the mass metric, in the directions of v (DD (2.5))."""
        return self._call(curvature.curvature, 4, q)

    @for_loops(NEEDS_INDEPENDENT)
    @on_numpy
    def is_diagonalizable(self, q: ArrayLike | None = None, *, tolerance: float = 1e-8) -> bool:
        """Whether coordinates exist in which 𝓜 is the unit matrix everywhere (DD Lemma 2.2).

        The curvature must vanish, up to ``tolerance`` of its terms, at all configurations q (..., nq); by default at
        five random ones.
        """
        q = self.random_configuration(0, (5,)) if q is None else inputs.configuration(self, q)
        if not np.isfinite(q).all():
            raise InputError("q has entries that are not finite: there is no curvature to look at")
        return curvature.is_flat(self, q, number(tolerance, "tolerance", least=0.0))

    @for_loops(NEEDS_INDEPENDENT)
    def flat_coordinates(self, origin: ArrayLike | None = None) -> FlatCoordinates:
        """y = f(θ) in which 𝓜 is the unit matrix everywhere, where such coordinates exist (DD Lemmas 2.1, 2.2).

        ``y = f(q)`` (..., nv) is zero at ``origin`` (nq,), by default the neutral configuration; ``f.factor(q)`` is m,
        with m m* = 𝓜 and ẏ = m*v, ``f.configuration(y)`` the way back. ÿ = m⁻¹τ for joint forces τ: no Coriolis term.
        Robots whose 𝓜 has curvature are refused (:meth:`is_diagonalizable`). Needs SciPy.
        """
        from .flat_coordinates import flat_coordinates

        return flat_coordinates(self, origin)
