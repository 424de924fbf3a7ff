"""Vectors as terms: θ̇, V, α, a, b, f, T of a state, typed into formulas beside the operators.

A vector is an operator from the numbers to a space, so that φ*(H*θ̈ + a) is built, printed, explained, simplified and
compiled as every formula is; its ``value`` is the array. They belong to operators made with ``robot.operators(q, v=…,
a=…)``. Accelerations are spatial ones, with gravity as the base's; the papers' classical ones are beside them.

    V = φ*H*θ̇        α = φ*(H*θ̈ + a + g)        f = φ(Mα + b)        T = Hf

So they read where bodies move as one node too (:mod:`.nodes`): a is then what the joints of its members do to all of
them, 𝔸*(a + H*ẋ), and f what each member carries from outside the node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import arrays
from ..arrays import Array
from ..errors import InputError
from ..properties import cached_property
from ..spatial import cross
from .expression import Expression
from .rate_leaves import RateLeaves
from .spaces import Space


class VectorLeaves(RateLeaves):
    """The part of :class:`Leaves` that has the vectors of a moving robot."""

    if TYPE_CHECKING:
        _column: Callable[[str, Space, Callable[[], list[Array]]], Expression]

    def _of_bodies(self, name: str, blocks: Callable[[], list[Array]]) -> Expression:
        """A vector of the body space."""

        return self._column(name, self.bodies, lambda: self.bodies.split(arrays.concatenate(blocks(), axis=-2)))

    def _of_joints(self, name: str, x: Callable[[], Array]) -> Expression:
        """A vector of joint space, from its array (..., nv)."""
        return self._column(name, self.joints, lambda: self.joints.split(x()[..., None]))

    @property
    def _acceleration(self) -> Array:
        if self.a is None:
            raise InputError("this vector needs an acceleration: use robot.operators(q, v=v, a=a)")
        return self.a

    # --- joint space ---------------------------------------------------------------------------------

    @cached_property
    def theta_dot(self) -> Expression:
        """θ̇: the joint velocities v that the operators were made with."""
        return self._of_joints("theta_dot", lambda: self._velocity)

    @cached_property
    def theta_ddot(self) -> Expression:
        """θ̈: the joint accelerations a that the operators were made with."""
        return self._of_joints("theta_ddot", lambda: self._acceleration)

    @cached_property
    def T(self) -> Expression:
        """T: the joint forces that move the bodies, T = Hf where no rotors add to it.

        Those of inverse dynamics are more by what springs and dampers of joints ask (``robot.spring_force``).
        """
        return self._of_joints("T", self._joint_forces)

    def _joint_forces(self) -> Array:
        from ..dynamics.inverse import inertia_forces, newton_euler
        from ..dynamics.links import base_acceleration, coriolis_accelerations

        if not self.groups:
            return newton_euler(self.model, self.values, self._velocity, self._acceleration, sprung=False)
        links, V, beta = self.body_links, self._velocities, self._rates
        bias = coriolis_accelerations(self.model, links, V, beta)
        beta_dot, base = links.accelerated(beta, self._acceleration), base_acceleration(self.model, self.values)
        return links.join(inertia_forces(links, beta_dot, bias, self._gyroscopic(), base)[0])

    @property
    def _velocity(self) -> Array:
        if self.v is None:
            raise InputError("this vector needs a velocity: make the operators with robot.operators(q, v=v)")
        return self.v

    # --- bodies --------------------------------------------------------------------------------------

    @cached_property
    def V(self) -> Expression:
        """V = φ*H*θ̇: the links' spatial velocities, [ω; v], body axes at their joints."""
        return self._of_bodies("V", lambda: self._velocities)

    @cached_property
    def alpha(self) -> Expression:
        """α = φ*(H*θ̈ + a + g): the links' spatial accelerations, gravity as the base's."""
        return self._of_bodies("alpha", lambda: self._accelerations)

    @cached_property
    def coriolis(self) -> Expression:
        """a(k) = V(k) × H*(k)θ̇(k): the Coriolis accelerations."""
        from ..dynamics.links import coriolis_accelerations

        def blocks() -> list[Array]:
            found = coriolis_accelerations(self.model, self.body_links, self._velocities, self._rates)
            return self._of_joints_inside(found)

        return self._column("coriolis", self.bodies, blocks)

    def _of_joints_inside(self, a: list[Array]) -> list[Array]:
        """What accelerations a(k) that joints add to their own bodies are of nodes: 𝔸*(a + H*ẋ)."""
        gathering, links = self.links.gathering, self.body_links
        if gathering is None:
            return a
        drift = links.drift(self._rates)
        return gathering.spread([x if isinstance(y, int) else x + H.mT @ y for x, y, H in zip(a, drift, links.H)])

    @cached_property
    def gyroscopic(self) -> Expression:
        """b(k) = V(k) ×* M(k)V(k): the gyroscopic forces (with what rotors add)."""
        return self._of_bodies("gyroscopic", self._gyroscopic)

    def _gyroscopic(self) -> list[Array]:
        from ..dynamics.links import gyroscopic_forces

        return gyroscopic_forces(self.model, self.body_links, self._velocities, self._rates, None)

    @cached_property
    def g(self) -> Expression:
        """g: gravity as the base's acceleration, at the bodies that hang on the world: E g of JPL 88-11 (3.8)."""
        return self._column("g", self.bodies, self._gravity)

    def _gravity(self) -> list[Array]:
        from ..dynamics.links import base_acceleration

        links, base = self.links, base_acceleration(self.model, self.values)
        return [
            phi.T @ base if links.tree.on_world(k) else arrays.zeros((r, 1), like=self.values)
            for k, (phi, r) in enumerate(zip(links.phi, self.bodies.sizes))
        ]

    @cached_property
    def f(self) -> Expression:
        """f = φ(Mα + b): the forces that the links' joints carry, gravity in α."""
        return self._column("f", self.bodies, self._forces)

    def _forces(self) -> list[Array]:
        from ..dynamics.inverse import forces_of_motion
        from ..dynamics.links import base_acceleration, carried_outward

        links, alpha = self.links, self._by_members(self._accelerations)
        spinning = any(s is not None for s in links.s)
        base = base_acceleration(self.model, self.values)
        carried: Any = carried_outward(links, alpha, base) if spinning else links.s
        beta_dot, b = links.split(self._acceleration), self._by_members(self._gyroscopic())
        return forces_of_motion(links, beta_dot, alpha, carried, b)[1]

    def _by_members(self, x: list[Array]) -> list[Array]:
        """Columns of bodies as those of nodes, members one below the other."""
        return x if self.links.gathering is None else self.links.gathering.stacked(x)

    # --- the papers' classical accelerations -----------------------------------------------------------

    @cached_property
    def classical_coriolis(self) -> Expression:
        """a of classical accelerations, as JPL 88-11 (2.17) and UF (15) print it."""
        from ..dynamics.links import classical_coriolis

        def blocks() -> list[Array]:
            found = classical_coriolis(self.model, self.body_links, self._velocities, self._rates)
            return self._of_joints_inside(found)

        return self._column("classical_coriolis", self.bodies, blocks)

    @cached_property
    def classical_alpha(self) -> Expression:
        """α of classical accelerations, α + [0; ω × v] = φ*(H*θ̈ + a_c + g), as JPL 88-11 (3.14) and UF (21) have it."""

        def blocks() -> list[Array]:
            return [x + _turned_point(V) for x, V in zip(self._accelerations, self._velocities)]

        return self._of_bodies("classical_alpha", blocks)

    @cached_property
    def classical_gyroscopic(self) -> Expression:
        """b of classical accelerations, as JPL 88-11 (2.18) and UF (16) print it (with what rotors add)."""
        from ..dynamics.links import applied_forces, classical_gyroscopic

        def blocks() -> list[Array]:
            links, V = self.body_links, self._velocities
            b = [classical_gyroscopic(M, x) for M, x in zip(links.M, V)]
            return applied_forces(self.model, links, V, self._rates, b, None)

        return self._of_bodies("classical_gyroscopic", blocks)


def _turned_point(V: Array) -> Array:
    """[0; ω × v]: what the classical acceleration of a point of a body has beside the spatial one (math notes 12.4)."""
    w, v = V[..., :3, :], V[..., 3:, :]
    return arrays.concatenate([0.0 * w, cross(w, v)], axis=-2)
