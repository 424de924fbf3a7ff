"""Vectors as terms: θ̇, V, α, a, b, f, T of a state, typed into formulas beside the operators.

A vector is an operator from the numbers to a space, so that φ*(H*θ̈ + a) is built, printed, explained, simplified and
compiled as every formula is; its ``value`` is the array. They belong to operators made with ``robot.operators(q, v=…,
a=…)``. Accelerations are spatial ones, with gravity as the base's; the papers' classical ones are beside them.

    V = φ*H*θ̇        α = φ*(H*θ̈ + a + g)        f = φ(Mα + b)        T = Hf
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .. import arrays
from ..arrays import Array
from ..errors import InputError, NotAdmittedError
from .expression import Expression
from .motion import MotionLeaves
from .spaces import Space


class VectorLeaves(MotionLeaves):
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
        """T: the joint forces of this motion, T = Hf where no rotors add to it."""
        from ..dynamics.inverse import newton_euler

        return self._of_joints("T", lambda: newton_euler(self.model, self.values, self._velocity, self._acceleration))

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
        return self._of_bodies("coriolis", self._coriolis)

    def _coriolis(self) -> list[Array]:
        from ..dynamics.links import coriolis_accelerations

        self._refuse_nodes("a")
        return coriolis_accelerations(self.model, self.body_links, self._velocities, self._rates)

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
        return self._of_bodies("g", self._gravity)

    def _gravity(self) -> list[Array]:
        from ..dynamics.links import base_acceleration

        self._refuse_nodes("g")
        links, base = self.body_links, base_acceleration(self.model, self.values)
        return [
            phi.T @ base if links.tree.on_world(k) else arrays.zeros((6, 1), like=self.values)
            for k, phi in enumerate(links.phi)
        ]

    @cached_property
    def f(self) -> Expression:
        """f = φ(Mα + b): the forces that the links' joints carry, gravity in α."""
        return self._of_bodies("f", self._forces)

    def _forces(self) -> list[Array]:
        from ..dynamics.inverse import forces_of_motion
        from ..dynamics.links import base_acceleration, carried_outward

        self._refuse_nodes("f")
        links, alpha = self.body_links, self._accelerations
        spinning = any(s is not None for s in links.s)
        base = base_acceleration(self.model, self.values)
        carried: Any = carried_outward(links, alpha, base) if spinning else links.s
        beta_dot = links.accelerated(self._rates, self._acceleration)
        return forces_of_motion(links, beta_dot, alpha, carried, self._gyroscopic())[1]

    # --- the papers' classical accelerations -----------------------------------------------------------

    @cached_property
    def classical_coriolis(self) -> Expression:
        """a of classical accelerations, as JPL 88-11 (2.17) and UF (15) print it."""
        from ..dynamics.links import classical_coriolis

        def blocks() -> list[Array]:
            self._refuse_nodes("a")
            return classical_coriolis(self.model, self.body_links, self._velocities, self._rates)

        return self._of_bodies("classical_coriolis", blocks)

    @cached_property
    def classical_gyroscopic(self) -> Expression:
        """b of classical accelerations, as JPL 88-11 (2.18) and UF (16) print it."""
        from ..dynamics.links import classical_gyroscopic

        def blocks() -> list[Array]:
            links = self.body_links
            return [classical_gyroscopic(M, V) for M, V in zip(links.M, self._velocities)]

        return self._of_bodies("classical_gyroscopic", blocks)

    def _refuse_nodes(self, letter: str) -> None:
        """Inside a node bodies hand accelerations and forces on to each other, which these vectors leave out."""
        if self.nodes is not None:
            raise NotAdmittedError(
                f"{letter} of robot {self.model.name!r}, in which bodies move as one node, is not there; of free joints"
                " it is: robot.uncouple() or robot.opened"
            )
