"""The methods of a robot that give its energies, its momenta and its centre of mass."""

from __future__ import annotations

from dataclasses import dataclass

from .. import inputs
from ..arrays import ArrayLike, SameKind
from ..dynamics import momentum
from .calls import Calls
from .dispatch import compiled
from .for_loops import AS_TREE


@dataclass(frozen=True, eq=False, repr=False)
class Momenta(Calls):
    """Energies, momenta about the world's origin and about the centre of mass, and the matrices behind them."""

    @compiled(q="nq", v="nv", loops=AS_TREE)
    def energy(self, q: ArrayLike, v: ArrayLike) -> tuple[SameKind, SameKind]:
        """(kinetic, potential) energies, each (...) [J]."""
        q, v, batch = self._pair(inputs.configuration(self, q), inputs.vector(v, self.nv, "v", self), "q", "v")
        potential = inputs.fit(self.potential_energy(q, target="numpy"), batch, 0)
        return self.kinetic_energy(q, v, target="numpy"), potential

    @compiled(q="nq", v="nv", joint_space=True, loops=AS_TREE)
    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> SameKind:
        """½ v*𝓜v, (...) [J]."""
        return self._call(momentum.kinetic_energy, 0, q, v=v)

    @compiled(q="nq", loops=AS_TREE)
    def potential_energy(self, q: ArrayLike) -> SameKind:
        """−Σ m g·c, and what the springs of joints hold, (...) [J]."""
        return self._call(momentum.potential_energy, 0, q)

    @compiled(q="nq", loops=AS_TREE)
    def center_of_mass(self, q: ArrayLike) -> SameKind:
        """The centre of mass of all bodies, (..., 3) [m], in the world."""
        return self._call(momentum.center_of_mass, 1, q)

    @compiled(q="nq", loops=AS_TREE)
    def center_of_mass_jacobian(self, q: ArrayLike) -> SameKind:
        """(..., 3, nv): times v it is the velocity of the centre of mass [m/s], world axes."""
        return self._call(momentum.center_of_mass_jacobian, 2, q)

    @compiled(q="nq", v="nv", loops=AS_TREE)
    def momentum(self, q: ArrayLike, v: ArrayLike) -> SameKind:
        """[angular about the world's origin; linear], (..., 6) [N m s, N s], world axes."""
        return self._call(momentum.momentum, 1, q, v=v)

    @compiled(q="nq", loops=AS_TREE)
    def momentum_matrix(self, q: ArrayLike) -> SameKind:
        """(..., 6, nv), world axes: times v it is the momentum about the world's origin."""
        return self._call(momentum.momentum_matrix, 2, q)

    @compiled(q="nq", v="nv", loops=AS_TREE)
    def centroidal_momentum(self, q: ArrayLike, v: ArrayLike) -> SameKind:
        """[angular about the centre of mass; linear], (..., 6) [N m s, N s], world axes."""
        return self._call(momentum.centroidal_momentum, 1, q, v=v)

    @compiled(q="nq", loops=AS_TREE)
    def centroidal_matrix(self, q: ArrayLike) -> SameKind:
        """A_G, (..., 6, nv), world axes: times v it is the centroidal momentum."""
        return self._call(momentum.centroidal_matrix, 2, q)

    @compiled(q="nq", v="nv", loops=AS_TREE)
    def centroidal_bias(self, q: ArrayLike, v: ArrayLike) -> SameKind:
        """Ȧ_G v, (..., 6) [N m, N], world axes: the rate of the centroidal momentum while v̇ = 0."""
        return self._call(momentum.centroidal_bias, 1, q, v=v)
