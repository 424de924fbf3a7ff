"""The rates of the articulated family: P°, D°, G°, τ̄°, E_ψ° (DD Table 4), and what turns them into inertial axes.

° is the derivative of the numbers that a body's quantity has in that body's own axes. In common inertial axes, at the
same moving points, it is turned by Ω̃ = diag{[ω(k); 0] ×}: Ṗ = P° + Ω̃P − PΩ̃ (DD (6.6)); those rates are given in
the axes of the bodies.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import matmul
from typing import TYPE_CHECKING, Any

from .. import arrays
from ..aggregates import Members
from ..arrays import Array
from ..errors import NotAdmittedError
from ..properties import cached_property
from ..spatial import cross_motion_matrix
from . import spaces
from .blocks import Edge, dense_block
from .expression import Expression, Zero
from .kinds import BlockDiagonal, Shift
from .motion import MotionLeaves
from .nodes import edge_maps

if TYPE_CHECKING:
    from ..dynamics.diagonal.articulated_rates import ArticulatedRates


class RateLeaves(MotionLeaves):
    """The part of :class:`Leaves` that knows how the articulated family changes while the robot moves."""

    @property
    def _whole(self) -> Any:
        """This, which is a part of Leaves."""
        return self

    # --- P°, D°, G° ----------------------------------------------------------------------------------

    @cached_property
    def _riccati_rates(self) -> ArticulatedRates:
        """P°, D° and G° (DD Algorithm 6.1, and for every joint and rotor)."""
        from ..dynamics.diagonal.articulated_rates import joint_velocities, riccati_rates
        from ..dynamics.links import map_rates

        if self.nodes is not None:
            return self._node_rates()
        art, beta = self.articulated, self._rates
        coupled = self.links.s if self.has_coupling else [None] * len(beta)
        own_maps = map_rates(self.model, self.links, beta)
        changing = self._inertia_rates()
        return riccati_rates(self.links, art, joint_velocities(self.links, beta), own_maps, coupled, *changing)

    def _inertia_rates(self) -> tuple[list[Array] | None, list[Array] | None]:
        """The rates of X in place of M and of Γ, of a family that is not the robot's own; None where they are zero."""
        from .derivative import derivative, direction_of

        if self.is_default:
            return None, None
        whole = self._whole
        noise = whole.joint_noise
        changes = [None if x is None else derivative(x, direction_of(whole)) for x in (whole.M, noise)]
        found = [
            None if x is None or isinstance(x, Zero) else list(map(dense_block, self.blocks_of(x))) for x in changes
        ]
        return found[0], found[1]

    def _node_rates(self) -> ArticulatedRates:
        """The same by the exact derivative of P along the motion, where bodies move as one node."""
        from ..dynamics.closed.independent import inertia_rates
        from ..dynamics.diagonal.articulated_rates import ArticulatedRates, articulated_inertia_rates

        if not self.is_default:
            raise NotAdmittedError(
                "P_ring and Pi_dot of another inertia than the robot's own are for trees of single bodies, and robot"
                f" {self.model.name!r} has nodes of several"
            )
        self._rates  # noqa: B018  says what is missing where no velocity was given
        assert self.v is not None
        if self.groups:
            rates = inertia_rates(self.model, self.values, self.body_links, self._rates, self.groups)
        else:
            rates = articulated_inertia_rates(self.model, self.values, self.v)
        P_ring = self._by_nodes([rates[..., k, :, :] for k in range(rates.shape[-3])])
        return ArticulatedRates(P_ring, [], [])  # (those of its joints: :meth:`_gain_rates`)

    @cached_property
    def P_ring(self) -> Expression:
        """P°: the rate of the articulated inertias, each seen from its own body (DD Algorithm 6.1)."""
        return self._diagonal("P_ring", self.bodies, self.bodies, lambda: self._riccati_rates.P)

    @cached_property
    def Pi_dot(self) -> Expression:
        """Π̇ = P° + FP + PF* (DD Algorithm 6.1)."""

        def blocks() -> list[Any]:
            inertias: list[Any] = self.articulated.P
            pairs = zip(self._joint_turns(), inertias)
            X = [F.mapped(matmul, P.parts) if isinstance(F, Members) else F @ P for F, P in pairs]
            return [P + x + x.mT for P, x in zip(self._riccati_rates.P, X)]

        return self._diagonal("Pi_dot", self.bodies, self.bodies, blocks)

    @cached_property
    def _gain_rates(self) -> tuple[list[Array], list[Array]]:
        """D° = HP°H* + H°PH* + HPH°* and G° = (P°H* + PH°* − GD°)D⁻¹."""
        found = self._riccati_rates
        if self.nodes is None:
            return found.D, found.G
        o, art = self._whole, self.articulated
        half = o.P @ o.H_ring
        U_ring = self.blocks_of(o.P_ring @ o.H.T + half)
        if o.has_coupling:  # U = PH* + s
            turning = zip(U_ring, self._joint_turns(), self.links.s)
            U_ring = [U if s is None else U - dense_block(F) @ s for U, F, s in turning]
        D_ring = self.blocks_of(o.H @ o.P_ring @ o.H.T + o.H @ half + half.T @ o.H.T)
        if o.has_rotors:
            D_ring = [x + y for x, y in zip(D_ring, self._rotor_rates())]
        G_ring = [(U - G @ D) @ Di for U, G, D, Di in zip(U_ring, art.G, D_ring, art.D_inverse)]
        return D_ring, G_ring

    def _rotor_rates(self) -> list[Any]:
        """Γ° of nodes, whose couplings need not be linear."""
        from ..dynamics.linearized.second_derivatives import along_motion
        from ..dynamics.links import evaluate

        if self.groups:
            raise NotAdmittedError(
                f"D_ring and G_ring are for embedded loops without rotors, and robot {self.model.name!r} has some"
            )
        assert self.v is not None
        q, v, model = self.values, self.v, self.model

        def reflected(k: int) -> Callable[[Array], Any]:
            return lambda at: evaluate(model, at).nodes.Gamma[k]

        own = enumerate(self.links.Gamma)
        return [0.0 if Gamma is None else along_motion(model, reflected(k), q, v) for k, Gamma in own]

    @cached_property
    def D_ring(self) -> Expression:
        """D° = HP°H*: the rate of the articulated inertias about the joints (DD Table 4)."""
        return self._diagonal("D_ring", self.joints, self.joints, lambda: self._gain_rates[0])

    @cached_property
    def G_ring(self) -> Expression:
        """G° = τ̄P°H*D⁻¹: the rate of the Kalman gain, seen from its body (DD Table 4)."""
        return self._diagonal("G_ring", self.bodies, self.joints, lambda: self._gain_rates[1])

    @cached_property
    def D_root_ring(self) -> Expression:
        """(D^{1/2})°: the rate of the Cholesky factors, ½D°D^{-1/2} where D(k) is a number (DD Identity 6.1)."""
        whole = self._whole
        return self._diagonal("D_root_ring", self.joints, self.joints, lambda: whole._roots.rates(self._gain_rates[0]))

    @cached_property
    def tau_bar_ring(self) -> Expression:
        """τ̄° = −G°H: the rate of the articulation, seen from its body (DD Table 4)."""
        return self._diagonal("tau_bar_ring", self.bodies, self.bodies, self._articulation_rates)

    def _articulation_rates(self) -> list[Array]:
        out = [-(G @ H) for G, H in zip(self._gain_rates[1], self.links.H)]
        if not self._whole.has_turning_maps:
            return out
        turning = zip(out, self.articulated.G, self.blocks_of(self.H_ring))
        return [x - G @ H.mT for x, G, H in turning]

    @cached_property
    def E_psi_ring(self) -> Expression:
        """E_ψ° = E_φ(Fτ̄ + τ̄°): the rate of the articulated shift, seen from the bodies (DD Table 4)."""

        def blocks() -> list[Any]:
            gains = zip(self._joint_turns(), self.articulated.G, self.links.H, self._articulation_rates())
            local = [(F := dense_block(turn)) - (F @ G) @ H + x for turn, G, H, x in gains]
            return [Edge(phi, x) for phi, x in zip(edge_maps(self.links), local)]

        return Shift(self._whole, "E_psi_ring", self.bodies, self.bodies, spaces.STRICTLY_CAUSAL, blocks)

    @cached_property
    def H_ring_ring(self) -> Expression:
        """H°°*: what H°* changes by in its body while θ̇ stays, ΣΣ ∂²H*/∂θᵢ∂θⱼ θ̇ᵢθ̇ⱼ; zero where maps are constant."""

        def blocks() -> list[Array]:
            links = self.body_links
            kinds = [c.kind for c in self.model.constants(dtype=links.q.dtype)]
            parts = zip(kinds, links.theta, self._rates, links.H)
            return [_second(kind.map_partials(theta), beta, 0.0 * H.mT) for kind, theta, beta, H in parts]

        if self.nodes is not None:
            raise NotAdmittedError(
                f"H_ring_ring is of single bodies, and robot {self.model.name!r} has nodes of several"
            )
        return self._diagonal("H_ring_ring", self.bodies, self.joints, blocks)

    # --- inertial axes -------------------------------------------------------------------------------

    @cached_property
    def Omega_tilde(self) -> Expression:
        """Ω̃ = diag{[ω(k); 0] ×}: what turns with the bodies' axes; Ṗ = P° + Ω̃P − PΩ̃ (DD (6.2), (6.6))."""

        def blocks() -> list[Any]:
            return self._by_nodes([_turning(V[..., :3, :]) for V in self._velocities])

        return self._diagonal("Omega_tilde", self.bodies, self.bodies, blocks)

    @cached_property
    def Omega_tips(self) -> Expression:
        """Ω̃ of the tips' bodies in world axes, on tips: B° = −BΩ̃_t, as a tip's axes are the world's."""
        whole = self._whole

        def blocks() -> list[Any]:
            from ..dynamics.kinematics import tip_transforms

            out = []
            for frame, phi in zip(whole.frames, tip_transforms(self.model, self.body_links, whole.frames)):
                body, still = self.model.frame(frame)[0], arrays.zeros((6, 6), like=self.values)
                out.append(still if body < 0 else _turning(phi.R.mT @ self._velocities[body][..., :3, :]))
            return out

        return BlockDiagonal(whole, "Omega_tips", whole.tips, whole.tips, spaces.MEMORYLESS, blocks)

    def _inertial(self, name: str) -> Expression:
        from .derivative import inertial, time_derivative

        x: Expression = self._whole.leaf(name)
        return inertial(x, time_derivative(x))

    @property
    def E_phi_dot(self) -> Expression:
        """Ė_φ = E_φ° + Ω̃E_φ − E_φΩ̃: in common inertial axes (DD Table 4)."""
        return self._inertial("E_phi")

    @property
    def phi_dot(self) -> Expression:
        """φ̇ = φ° + Ω̃φ − φΩ̃: in common inertial axes (DD Table 4)."""
        return self._inertial("phi")

    @property
    def M_dot(self) -> Expression:
        """Ṁ = Ω̃M − MΩ̃: in common inertial axes (DD Table 4)."""
        return self._inertial("M")

    @property
    def P_dot(self) -> Expression:
        """Ṗ = P° + Ω̃P − PΩ̃: in common inertial axes (DD (6.6))."""
        return self._inertial("P")

    @property
    def D_dot(self) -> Expression:
        """Ḋ = D°: in common inertial axes (DD Table 4)."""
        return self._inertial("D")

    @property
    def G_dot(self) -> Expression:
        """Ġ = G° + Ω̃G: in common inertial axes (DD Table 4)."""
        return self._inertial("G")

    @property
    def tau_bar_dot(self) -> Expression:
        """dτ̄/dt = τ̄° + Ω̃τ̄ − τ̄Ω̃: in common inertial axes (DD Table 4)."""
        return self._inertial("tau_bar")

    @property
    def psi_dot(self) -> Expression:
        """ψ̇ = ψ° + Ω̃ψ − ψΩ̃: in common inertial axes."""
        return self._inertial("psi")

    @property
    def K_dot(self) -> Expression:
        """K̇ = K° + Ω̃K: in common inertial axes."""
        return self._inertial("K")

    @property
    def mass_dot(self) -> Expression:
        """𝓜̇: the rate of the mass matrix."""
        return self._inertial("mass")

    @property
    def m_dot(self) -> Expression:
        """ṁ: the rate of the mass matrix' factor m (DD Identity 6.1)."""
        return self._inertial("m")

    @property
    def ell_dot(self) -> Expression:
        """ℓ̇ = −ℓṁℓ: the rate of ℓ = m⁻¹."""
        return self._inertial("ell")

    @property
    def E_psi_dot(self) -> Expression:
        """Ė_ψ = E_ψ° + Ω̃E_ψ − E_ψΩ̃: in common inertial axes (DD Table 4)."""
        return self._inertial("E_psi")


def _turning(w: Array) -> Array:
    """[ω; 0] × as a matrix (..., 6, 6)."""
    return cross_motion_matrix(arrays.concatenate([w, 0.0 * w], axis=-2))


def _second(partials: Any, beta: Array, zero: Array) -> Array:
    """ΣΣ ∂²H*/∂θᵢ∂θⱼ βᵢβⱼ of one joint."""
    if partials is None:
        return zero
    rates = [beta[..., i : i + 1, :] for i in range(len(partials[0]))]
    return arrays.total([zero, *(H * x * y for row, x in zip(partials[1], rates) for H, y in zip(row, rates))])
