"""φ⁻¹, which carries forces outward and motions inward, in the operations of φ* and φ."""

from __future__ import annotations

from dataclasses import dataclass

from ... import arrays
from ...arrays import Array
from ...spatial import Transform, adjoint_congruence


@dataclass(frozen=True, eq=False)
class Backward:
    """φ⁻¹(p, k), which carries forces at p to k: φ* with moments and forces in each other's places."""

    phi: Transform

    def __matmul__(self, f: Array) -> Array:
        return _swapped(self.phi.T @ _swapped(f))

    @property
    def T(self) -> BackwardAdjoint:
        return BackwardAdjoint(self.phi)

    def congruence(self, P: Array) -> Array:
        """φ⁻¹ P φ⁻*."""
        return _swapped(_swapped(adjoint_congruence(self.phi, _swapped(_swapped(P).mT).mT)).mT).mT


@dataclass(frozen=True, eq=False)
class BackwardAdjoint:
    """φ⁻*(p, k), which carries motions at k to p."""

    phi: Transform

    def __matmul__(self, V: Array) -> Array:
        return _swapped(self.phi @ _swapped(V))


def _swapped(x: Array) -> Array:
    """(..., 6, m) with its halves exchanged."""
    return arrays.concatenate([x[..., 3:, :], x[..., :3, :]], axis=-2)
