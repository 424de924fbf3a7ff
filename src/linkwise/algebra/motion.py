"""Leaves that also need velocities (and accelerations): the operators of the derivative identities.

Where bodies move as one node (:mod:`.nodes`), what they have of body space stands member by member, and the maps from
joints are 𝔸*(H*X) and its derivatives: Ḣ* = 𝔸*(Ḣ*X + H*Ẋ), Ψ̇ = 𝔸*(Ψ̇X + H*Ẋ), Ψ̈ = 𝔸*(Ψ̈X + (Ḣ* + Ψ̇)Ẋ + H*Ẍ), with
those of single bodies on the right.

They belong to operators made with ``robot.operators(q, v=…, a=…)``. Everything is in link frames; ° is the
derivative of a body's quantities as seen from that body (Diagonalized dynamics paper §6, math notes III.3).
Accelerations are spatial ones with gravity as the base's acceleration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..arrays import Array
from ..errors import InputError
from ..properties import cached_property
from ..spatial import cross_force, cross_motion, cross_motion_matrix
from . import spaces
from .expression import Expression
from .nodes import SlopeRows, edge_maps, node_stiffness, slope_rows, spread, stacked_maps

if TYPE_CHECKING:
    from ..dynamics.articulated import Articulated
    from ..dynamics.links import Links
    from ..model.model import Model
    from .nodes import Nodes
    from .spaces import Space


class MotionLeaves:
    """The part of :class:`Leaves` that knows how the robot moves."""

    if TYPE_CHECKING:
        model: Model
        bodies: Space
        joints: Space
        moving: tuple[bool, bool]

        nodes: Nodes | None
        groups: tuple[Any, ...]

        @property
        def is_default(self) -> bool: ...
        @cached_property
        def links(self) -> Links: ...
        @cached_property
        def body_links(self) -> Links: ...
        @property
        def values(self) -> Array: ...
        @property
        def has_coupling(self) -> bool: ...
        @cached_property
        def articulated(self) -> Articulated: ...
        @cached_property
        def H(self) -> Expression: ...

        _diagonal: Callable[..., Expression]
        recursion: Callable[..., Expression]
        lyapunov: Callable[..., Expression]
        blocks_of: Callable[..., list[Any]]

    v: Array | None = None
    a: Array | None = None

    @property
    def has_motion(self) -> bool:
        """Whether a velocity was given."""
        return self.moving[0]

    @cached_property
    def _rates(self) -> list[Array]:
        if self.v is None:
            raise InputError("this operator needs a velocity: make the operators with robot.operators(q, v=v)")
        return self.body_links.split(self.v)

    @cached_property
    def _velocities(self) -> list[Array]:
        from ..dynamics.links import velocities

        return velocities(self.body_links, self._rates)

    @cached_property
    def _accelerations(self) -> list[Array]:
        from ..dynamics.links import accelerations, base_acceleration, coriolis_accelerations

        if self.a is None:
            raise InputError("this operator needs an acceleration: use robot.operators(q, v=v, a=a)")
        links = self.body_links
        bias = coriolis_accelerations(self.model, links, self._velocities, self._rates)
        beta_dot = links.accelerated(self._rates, self.a)
        return accelerations(links, beta_dot, bias, base_acceleration(self.model, self.values))

    # --- from bodies to nodes ------------------------------------------------------------------------

    def _by_nodes(self, blocks: list[Any]) -> list[Any]:
        """Block diagonals of bodies, member by member where they move as one node."""
        gathering = self.links.gathering
        return blocks if gathering is None else gathering.diagonal(blocks)

    def _maps(self, own: list[Array], *bent: tuple[str, Callable[[], list[Array]]]) -> list[Array]:
        """𝔸*(BX + B₁Ẋ + …) of every node from the maps B(k), B₁(k), … of every body's joint, each with its Ẋ."""
        if self.links.gathering is None:
            return own
        slopes = self._slope_rows
        terms = [(own, slopes.X), *((B(), getattr(slopes, name)) for name, B in bent)]
        return spread(self.links.gathering, self.links, terms)

    @cached_property
    def _slope_rows(self) -> SlopeRows:
        """X and its derivatives."""
        return slope_rows(self.body_links, self.links, self._rates, self.a)

    # --- Diagonalized dynamics paper ---------------------------------------------------------------

    @cached_property
    def V_tilde(self) -> Expression:
        """Ṽ = diag{V(k) ×}: the cross product with each body's velocity (DD (5.5))."""

        def blocks() -> list[Any]:
            return self._by_nodes([cross_motion_matrix(V) for V in self._velocities])

        return self._diagonal("V_tilde", self.bodies, self.bodies, blocks)

    @cached_property
    def F(self) -> Expression:
        """F = diag S[H*β]: how the edge maps change, E_φ° = E_φF (DD Table 4; for hinges the paper's Ω̃_δ)."""
        return self._diagonal("F", self.bodies, self.bodies, self._joint_turns)

    def _joint_turns(self) -> list[Any]:
        """S[H*β] of every body; of a member of a node, of its velocity against the body that the node hangs on."""
        gathering = self.links.gathering
        if gathering is None:
            return [-cross_motion_matrix(H.mT @ b).mT for H, b in zip(self.links.H, self._rates)]
        own = gathering.spread([H.mT @ b for H, b in zip(self.body_links.H, self._rates)])
        moved = [gathering.on_body(own, k) for k in range(len(self._rates))]
        return gathering.diagonal([-cross_motion_matrix(x).mT for x in moved])

    @cached_property
    def H_ring(self) -> Expression:
        """H°*: the rate of the joint map, seen from its own body, from joints to bodies; zero where it is constant.

        That of a node is not: what its members' joints do turns those outboard of them.
        """
        return self._diagonal("H_ring", self.bodies, self.joints, self._turning_maps)

    def _turning_maps(self) -> list[Array]:
        from ..dynamics.links import map_rates

        own = self._own_maps()
        turning = map_rates(self.model, self.body_links, self._rates)
        if self.links.gathering is None:
            return [0.0 * H if x is None else x for x, H in zip(turning, own)]
        whole = [x if y is None else x + y for x, y in zip(self._map_rates(), turning)]
        moved = self._maps(whole, ("by_time", self._own_maps))
        carried = self.blocks_of(self.V_tilde)
        return [x - V @ H.mT for x, V, H in zip(moved, carried, self.links.H)]

    # --- Linearized dynamics paper -----------------------------------------------------------------

    @cached_property
    def H_dot(self) -> Expression:
        """Ḣ* = diag{V(k) × H*(k)} (LD (2.13)), from joints to bodies."""
        return self._diagonal(
            "H_dot", self.bodies, self.joints, lambda: self._maps(self._map_rates(), ("by_time", self._own_maps))
        )

    def _own_maps(self) -> list[Array]:
        return [H.mT for H in self.body_links.H]

    def _map_rates(self) -> list[Array]:
        return [cross_motion(V, H.mT) for V, H in zip(self._velocities, self.body_links.H)]

    @cached_property
    def H_ddot(self) -> Expression:
        """Ḧ* = diag{α(k) × H*(k) + V(k) × Ḣ*(k)} (LD Algorithm 1), with the gravity-loaded α."""

        def blocks() -> list[Array]:
            data = zip(self._accelerations, self._velocities, self.body_links.H, self._map_rates())
            found = [cross_motion(A, H.mT) + cross_motion(V, rate) for A, V, H, rate in data]
            twice = lambda: [2.0 * x for x in self._map_rates()]
            return self._maps(found, ("by_place", twice), ("second", self._own_maps))

        return self._diagonal("H_ddot", self.bodies, self.joints, blocks)

    @cached_property
    def Psi_dot(self) -> Expression:
        """Ψ̇ = diag{V⁺(k) × H*(k)}, V⁺ the parent's velocity; Ḣ* for one-dof joints."""
        return self._diagonal(
            "Psi_dot", self.bodies, self.joints, lambda: self._maps(self._parent_rates(), ("by_place", self._own_maps))
        )

    def _parent_rates(self) -> list[Array]:
        links, own = self.body_links, self._velocities
        carried = [own[k] - links.H[k].mT @ b for k, b in enumerate(self._rates)]
        return [cross_motion(V, H.mT) for V, H in zip(carried, links.H)]

    @cached_property
    def Psi_ddot(self) -> Expression:
        """Ψ̈ = diag{α⁺(k) × H*(k) + V⁺(k) × Ψ̇(k)}, α⁺ the parent's acceleration; Ḧ* for one-dof joints."""

        def blocks() -> list[Array]:
            from ..dynamics.links import base_acceleration, carried_outward

            links, alpha, own = self.body_links, self._accelerations, self._velocities
            base = base_acceleration(self.model, self.values)
            V_plus = [V - H.mT @ b for V, H, b in zip(own, links.H, self._rates)]
            carried = carried_outward(links, alpha, base)
            data = zip(carried, links.H, V_plus, self._parent_rates())
            found = [cross_motion(A, H.mT) + cross_motion(V, rate) for A, H, V, rate in data]
            both = lambda: [x + y for x, y in zip(self._map_rates(), self._parent_rates())]
            return self._maps(found, ("by_place", both), ("second", self._own_maps))

        return self._diagonal("Psi_ddot", self.bodies, self.joints, blocks)

    @cached_property
    def M_hat(self) -> Expression:
        """M̂ = ½ (Ṁ − Q[MV]) (LD (2.8)); not symmetric."""
        from ..dynamics.inertia_rate import inertia_rate

        def blocks() -> list[Array]:
            return self._by_nodes([inertia_rate(M, V).matrix for M, V in zip(self.body_links.M, self._velocities)])

        return self._diagonal("M_hat", self.bodies, self.bodies, blocks)

    @cached_property
    def F_script(self) -> Expression:
        """𝓕 = diag{S[H*(k)] f(k)} with the link forces f (LD Lemma 3.1), from joints to bodies."""

        def blocks() -> list[Array]:
            own = self._turned_forces()
            if self.links.gathering is None:
                return own
            return stacked_maps(self.links.gathering, own, self._slope_rows.X)

        return self._diagonal("F_script", self.bodies, self.joints, blocks)

    def _turned_forces(self) -> list[Array]:
        self._accelerations  # noqa: B018  says what is missing where no acceleration was given
        return [cross_force(H.mT, f) for H, f in zip(self.body_links.H, self._link_forces())]

    @cached_property
    def stiffness(self) -> Expression:
        """𝒦, joint space, with which B_D = Hφ[𝓕 + 2M̂φ*Ψ̇ + Mφ*Ψ̈] + 𝒦: what couplings that are not linear make of the
        joint forces τ they carry, Σ τ ∂²g, less H𝓕 of joints with several degrees of freedom."""

        def blocks() -> list[Array]:
            own = [-(H @ x) for H, x in zip(self.body_links.H, self._turned_forces())]
            if self.links.gathering is None:
                return own
            loads = [H @ f for H, f in zip(self.body_links.H, self._link_forces())]
            return node_stiffness(self.links.gathering, own, loads, self._slope_rows)

        return self._diagonal("stiffness", self.joints, self.joints, blocks)

    def _link_forces(self) -> list[Array]:
        """f of the Newton–Euler sweeps at this motion."""
        from ..dynamics.inverse import inertia_forces
        from ..dynamics.links import base_acceleration, coriolis_accelerations, gyroscopic_forces

        assert self.a is not None
        V, beta, links = self._velocities, self._rates, self.body_links
        bias = coriolis_accelerations(self.model, links, V, beta)
        b = gyroscopic_forces(self.model, links, V, beta, None)
        beta_dot = links.accelerated(beta, self.a)
        return inertia_forces(links, beta_dot, bias, b, base_acceleration(self.model, self.values))[1]

    @property
    def R_hat(self) -> Expression:
        """R̂: the composite sums of M̂ (LD (3.7))."""
        return self.recursion(self.M_hat, "φφ", "R̂")

    @property
    def P_hat(self) -> Expression:
        """P̂(k) = Σ ψ P̂ φ* + M̂(k) (LD (4.12))."""
        return self.recursion(self.M_hat, "ψφ", "P̂")

    @cached_property
    def G_hat(self) -> Expression:
        """Ĝ = P̂*H*D⁻¹ (LD (4.12), corrected)."""
        return self._diagonal("G_hat", self.bodies, self.joints, self._hat_gains)

    def _hat_gains(self) -> list[Array]:
        P_hat = self.blocks_of(self.P_hat)
        return [P.mT @ H.mT @ D for P, H, D in zip(P_hat, self.links.H, self.articulated.D_inverse)]

    @cached_property
    def K_hat(self) -> Expression:
        """K̂ = E_φĜ (LD (4.12))."""
        from .blocks import Edge
        from .kinds import Shift

        def blocks() -> list[Any]:
            return [Edge(phi, G) for phi, G in zip(edge_maps(self.links), self._hat_gains())]

        leaves: Any = self  # (this is a part of Leaves)
        return Shift(leaves, "K_hat", self.bodies, self.joints, spaces.STRICTLY_CAUSAL, blocks)

    @property
    def J_hat(self) -> Expression:
        """Ĵ(k) = ψ* Ĵ(p) φ⁻* + (ĜH)* (LD Lemma 4.9, in link frames)."""
        return self.recursion(self.H.T @ self.G_hat.T, "ψ*φ⁻*", "Ĵ")
