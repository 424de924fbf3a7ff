"""Leaves that tie the bodies to the world: E of JPL 88-11, and the Linearized dynamics paper's one inertial frame.

LD refers all links to one point 𝓘, here the world's origin in world axes: the space ``inertial`` has six numbers there
for every body, and φ_I = diag φ(𝓘, k) leads to it. There the rigid propagation is made of identities alone,
Φ_I = (I − E_I)⁻¹ with E_I the plain shift (LD (2.17), (2.18)), and φ_I φ = Φ_I φ_I; H_I = Hφ_I⁻¹ and M_I = φ_IMφ_I*.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import arrays
from ..arrays import Array
from ..errors import NotAdmittedError
from ..properties import cached_property
from . import spaces
from .blocks import Unit
from .expression import Expression
from .kinds import BlockDiagonal, Entry, Propagation, Shift

if TYPE_CHECKING:
    from ..dynamics.links import Links
    from ..model.model import Model
    from .nodes import Nodes
    from .spaces import Space


class GroundLeaves:
    """The part of :class:`Leaves` that knows the world."""

    if TYPE_CHECKING:
        model: Model
        bodies: Space
        base: Space
        inertial: Space
        nodes: Nodes | None

        @cached_property
        def H(self) -> Expression: ...
        @property
        def M(self) -> Expression: ...
        @cached_property
        def links(self) -> Links: ...
        @cached_property
        def body_links(self) -> Links: ...
        @property
        def values(self) -> Array: ...

        _column: Callable[[str, Space, Callable[[], list[Array]]], Expression]

    @property
    def _self(self) -> Any:
        """This, which is a part of Leaves."""
        return self

    # --- the base ------------------------------------------------------------------------------------

    @cached_property
    def E(self) -> Expression:
        """E: what the base does, at the bodies that hang on it, φ*(0, k); V = φ*(H*θ̇ + EV(0)), g = Eα₀ (JPL (3.8))."""
        return Entry(self._self, "E", self.bodies, self.base, spaces.STRICTLY_ANTICAUSAL, self._from_base)

    def _from_base(self) -> list[Any]:
        links = self.links
        one = arrays.eye(6, like=self.values)
        return [phi.T @ one if links.tree.on_world(k) else None for k, phi in enumerate(links.phi)]

    @cached_property
    def alpha_base(self) -> Expression:
        """α₀ = [0; −g]: gravity as the base's acceleration, six numbers in world axes (JPL (3.21))."""

        def blocks() -> list[Array]:
            from ..dynamics.links import base_acceleration

            return [base_acceleration(self.model, self.values)]

        return self._column("alpha_base", self.base, blocks)

    # --- the inertial frame --------------------------------------------------------------------------

    def _poses(self) -> list[Any]:
        from ..dynamics.kinematics import body_poses

        return body_poses(self.body_links)

    def _refuse_nodes(self, name: str) -> None:
        if self.nodes is not None:
            raise NotAdmittedError(
                f"{name} refers every body to one inertial point, and bodies of robot {self.model.name!r} move as one"
                " node, which has one block together"
            )

    @cached_property
    def phi_I(self) -> Expression:
        """φ_I = diag φ(𝓘, k): forces of every body, referred to the world's origin in world axes (LD (2.3), (2.10))."""
        self._refuse_nodes("phi_I")
        return BlockDiagonal(self._self, "phi_I", self.inertial, self.bodies, spaces.MEMORYLESS, self._poses)

    @cached_property
    def phi_I_inverse(self) -> Expression:
        """φ_I⁻¹ = diag φ(k, 𝓘)."""
        self._refuse_nodes("phi_I_inverse")
        blocks = lambda: [x.inverse() for x in self._poses()]
        return BlockDiagonal(self._self, "phi_I_inverse", self.bodies, self.inertial, spaces.MEMORYLESS, blocks)

    def _units(self) -> list[Unit]:
        return [Unit(self.values, r) for r in self.inertial.sizes]

    @cached_property
    def E_I(self) -> Expression:
        """E of LD: the shift of identities, from every body to its parent, φ_I E_φ = E_I φ_I (LD (2.17))."""
        self._refuse_nodes("E_I")
        return Shift(self._self, "E_I", self.inertial, self.inertial, spaces.STRICTLY_CAUSAL, self._units)

    @cached_property
    def Phi_I(self) -> Expression:
        """Φ of LD: (I − E_I)⁻¹, all identities, φ_I φ = Φ_I φ_I (LD (2.17), (2.18))."""
        self._refuse_nodes("Phi_I")
        return Propagation(self._self, "Phi_I", self.inertial, self.inertial, spaces.CAUSAL, self._units)

    @property
    def H_I(self) -> Expression:
        """H of LD, at the inertial point: H_I = Hφ_I⁻¹ (LD (2.10))."""
        return self.H @ self.phi_I_inverse

    @property
    def M_I(self) -> Expression:
        """M of LD, about the inertial point: M_I = φ_I M φ_I* (LD (2.3))."""
        return self.phi_I @ self.M @ self.phi_I.T
