"""The leaves of the articulated family: P, D, G, K, ψ, …, of the robot's own inertia or of any other.

They come from the Riccati recursion (:mod:`linkwise.dynamics.articulated`), when one of them is first applied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import arrays
from ..arrays import Array
from ..properties import cached_property
from . import spaces
from .blocks import Edge, Gain, Projection
from .expression import Expression
from .kinds import BlockDiagonal, Propagation, Shift, StrictPropagation
from .nodes import edge_maps, inertia, interface_maps

if TYPE_CHECKING:
    from ..dynamics.links import Links
    from .nodes import Nodes
    from .spaces import Space


class ArticulatedLeaves:
    """The part of :class:`Leaves` that depends on the inertia."""

    if TYPE_CHECKING:
        bodies: Space
        joints: Space
        edges: Space
        nodes: Nodes | None
        _measurement: tuple[Expression | None, Expression | None]

        @cached_property
        def S(self) -> Expression: ...
        @property
        def M(self) -> Expression: ...
        @property
        def is_default(self) -> bool: ...
        @cached_property
        def links(self) -> Links: ...
        @property
        def values(self) -> Array: ...

        _diagonal: Callable[..., Expression]
        lyapunov: Callable[..., Expression]
        blocks_of: Callable[..., list[Any]]

    @property
    def _leaves(self) -> Any:
        """This, which is a part of Leaves."""
        return self

    @cached_property
    def articulated(self) -> Any:
        """P, D, G, … by the Riccati recursion (math notes 7)."""
        from dataclasses import replace

        from ..dynamics.articulated import articulated, riccati

        if self._leaves.still is not self:
            return self._leaves.still.articulated
        if self.is_default:
            return articulated(self.links)
        none = [None] * len(self.links.tree)
        Gamma, coupling = self._measurement
        links = replace(
            self.links,
            Gamma=none if Gamma is None else [x if x.shape[-1] else None for x in self.blocks_of(Gamma)],
            s=none if coupling is None else self.links.s,
        )
        blocks = [inertia(x) for x in self.blocks_of(self.M)]
        return riccati(links, blocks, what=f"H φ ({self.M}) φ* H*")

    @cached_property
    def P(self) -> Expression:
        """The articulated-body inertias P(k)."""
        return self._diagonal("P", self.bodies, self.bodies, lambda: self.articulated.P)

    @cached_property
    def P_plus(self) -> Expression:
        """P⁺ = P − GDG*: the articulated inertia seen from across the joint."""
        return self._diagonal("P_plus", self.bodies, self.bodies, lambda: self.articulated.P_plus)

    @cached_property
    def D(self) -> Expression:
        """D = HPH*: the articulated inertia about the joint."""
        return self._diagonal("D", self.joints, self.joints, lambda: self.articulated.D)

    @cached_property
    def D_inverse(self) -> Expression:
        """D⁻¹."""
        return self._diagonal("D_inverse", self.joints, self.joints, lambda: self.articulated.D_inverse)

    @cached_property
    def _roots(self) -> Any:
        from ..dynamics.diagonal.articulated_rates import roots

        if self._leaves.still is not self:
            return self._leaves.still._roots
        return roots(self.articulated)

    @cached_property
    def D_root(self) -> Expression:
        """D^{1/2}: the lower triangular Cholesky factors L of D = L L* (DD (5.1))."""
        return self._diagonal("D_root", self.joints, self.joints, lambda: self._roots.L)

    @cached_property
    def D_root_inverse(self) -> Expression:
        """D^{-1/2} = L⁻¹."""
        return self._diagonal("D_root_inverse", self.joints, self.joints, lambda: self._roots.L_inverse)

    @cached_property
    def G(self) -> Expression:
        """The Kalman gain G = PH*D⁻¹."""
        return self._diagonal("G", self.bodies, self.joints, lambda: self.articulated.G)

    @cached_property
    def tau(self) -> Expression:
        """τ = GH."""
        form = Gain if self.nodes is not None else (lambda G, H: G @ H)
        return self._diagonal("tau", self.bodies, self.bodies, lambda: [form(g, h) for g, h in self._gains()])

    @cached_property
    def tau_bar(self) -> Expression:
        """τ̄ = I − GH."""
        return self._diagonal("tau_bar", self.bodies, self.bodies, lambda: [Projection(g, h) for g, h in self._gains()])

    def _gains(self) -> Any:
        return zip(self.articulated.G, self.links.H)

    def _articulated_edges(self) -> list[Edge]:
        return [Edge(phi, Projection(g, h)) for phi, (g, h) in zip(edge_maps(self.links), self._gains())]

    @cached_property
    def K(self) -> Expression:
        """K = E_φG: block φ(p, k)G(k) at (parent, child)."""
        relations = spaces.STRICTLY_CAUSAL
        return Shift(self._leaves, "K", self.bodies, self.joints, relations, self._gain_edges)

    def _gain_edges(self) -> list[Edge]:
        return [Edge(phi, g) for phi, g in zip(edge_maps(self.links), self.articulated.G)]

    @cached_property
    def E_psi(self) -> Expression:
        """E_ψ = E_φτ̄."""
        return Shift(self._leaves, "E_psi", self.bodies, self.bodies, spaces.STRICTLY_CAUSAL, self._articulated_edges)

    @cached_property
    def psi(self) -> Expression:
        """ψ = (I − E_ψ)⁻¹: articulated force propagation."""
        return Propagation(self._leaves, "psi", self.bodies, self.bodies, spaces.CAUSAL, self._articulated_edges)

    @cached_property
    def psi_tilde(self) -> Expression:
        """ψ̃ = ψ − I."""
        relations = spaces.STRICTLY_CAUSAL
        return StrictPropagation(
            self._leaves, "psi_tilde", self.bodies, self.bodies, relations, self._articulated_edges
        )

    @cached_property
    def L(self) -> Expression:
        """JPL 88-11's L(k) = φ(p, k)G(k), diagonal from joints to edges; K = SL."""

        def blocks() -> list[Edge]:
            return [Edge(phi, g) for phi, g in zip(interface_maps(self.links), self.articulated.G)]

        return BlockDiagonal(self._leaves, "L", self.edges, self.joints, spaces.STRICTLY_CAUSAL, blocks)

    @cached_property
    def Delta_psi(self) -> Expression:
        """Δψ = diag ψ(p, k)."""
        relations = spaces.STRICTLY_CAUSAL

        def blocks() -> list[Edge]:
            return [Edge(phi, Projection(g, h)) for phi, (g, h) in zip(interface_maps(self.links), self._gains())]

        return BlockDiagonal(self._leaves, "Delta_psi", self.edges, self.bodies, relations, blocks)

    @property
    def Psi(self) -> Expression:
        """JPL 88-11's Ψ = ψS."""
        return self.psi @ self.S

    @cached_property
    def R(self) -> Expression:
        """The composite-body inertias R(k)."""
        return self.lyapunov(self.M, "R")

    @cached_property
    def Upsilon(self) -> Expression:
        """Υ (Ω of the Operator algebra paper): the compliance seen at each link, Υ = ψ*Υψ + H*D⁻¹H."""
        from ..dynamics.articulated import compliances

        return self._diagonal("Upsilon", self.bodies, self.bodies, lambda: compliances(self.links, self.articulated))

    @property
    def Omega(self) -> Expression:
        """The Operator algebra paper's name for Υ."""
        return self.Upsilon

    @cached_property
    def Upsilon_plus(self) -> Expression:
        """Υ⁺(k) = φ*(p, k) Υ(p) φ(p, k): the parent's compliance seen from k."""
        return self._diagonal("Upsilon_plus", self.bodies, self.bodies, self._carried_compliances)

    def _carried_compliances(self) -> list[Array]:
        from ..spatial import adjoint_congruence

        zero = arrays.zeros((6, 6), like=self.values)
        inner = self.blocks_of(self.Upsilon)
        return [adjoint_congruence(x, U) for x, U in zip(self.links.phi, self.links.tree.at_parents(inner, zero))]
