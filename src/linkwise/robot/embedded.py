"""The methods of a closed robot in the rates that its loops leave, where these name the joints that follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import arrays, inputs
from ..arguments import flag
from ..arrays import Array, ArrayLike, SameKind
from ..dynamics import mass
from ..dynamics.closed import independent, linearized
from ..dynamics.closed.locality import Group, independent_entries
from ..dynamics.linearized import models as linear
from ..errors import NotAdmittedError
from ..model.model import Model
from . import closed_parts
from .closed_methods import refuse_unfit
from .dispatch import compiled
from .robot import Robot

if TYPE_CHECKING:
    from ..algebra.operators import Operators
    from ..model.loops import Loop


@dataclass(frozen=True, eq=False, repr=False)
class EmbeddedLoops(Robot):
    """Minimal coordinates of loops that are embedded: β, the rates of the joints that follow no other, θ̇ = Xβ."""

    if TYPE_CHECKING:

        @property
        def loop_groups(self) -> tuple[Group, ...]: ...
        @property
        def rigid_loops(self) -> tuple[Loop, ...]: ...
        @property
        def soft_loops(self) -> tuple[Loop, ...]: ...

    # --- minimal coordinates -------------------------------------------------------------------------

    @property
    def independent_joints(self) -> tuple[str, ...]:
        """The joints that no loop names as ``dependent``, in the order of v; those of β, where all loops name some."""
        kept = set(independent_entries(self, self.loop_groups))
        slices = zip(self.joints, self.v_slices)
        return tuple(j.name for j, where in slices if any(i in kept for i in range(where.start, where.stop)))

    @compiled(q="nq")
    def embedded_basis(self, q: ArrayLike) -> SameKind:
        """X = [−G_dep⁻¹G_ind; I], (..., nv, r): the rates of all joints of the closed robot are X β."""
        groups = self._following("embedded_basis")
        return self._call(lambda m, q: independent.basis(m, q, groups), 2, q)

    @compiled(q="nq")
    def embedded_mass_matrix(self, q: ArrayLike) -> SameKind:
        """X*𝓜X, (..., r, r), over the independent joints."""
        groups = self._following("embedded_mass_matrix")
        return self._call(lambda m, q: mass.composite_of(independent.followed_links(m, q, groups)), 2, q)

    @compiled(q="nq")
    def embedded_mass_inverse(self, q: ArrayLike) -> SameKind:
        """(X*𝓜X)⁻¹, (..., r, r), over nodes: no mass matrix is formed or inverted."""
        groups = self._following("embedded_mass_inverse")

        def run(m: Model, q: Array) -> Array:
            nodes = independent.followed_links(m, q, groups).nodes
            return arrays.symmetric(mass.solve_of(nodes, arrays.eye(nodes.nv, like=q)))

        return self._call(run, 2, q)

    @compiled(q="nq", tau="nv")
    def embedded_mass_solve(self, q: ArrayLike, tau: ArrayLike) -> SameKind:
        """(X*𝓜X)⁻¹X*τ, (..., r), in O(n): how the independent joints accelerate by joint forces τ (..., nv) alone."""
        groups = self._following("embedded_mass_solve")

        def run(m: Model, q: Array, tau: Array) -> Array:
            links = independent.followed_links(m, q, groups)
            T = arrays.concatenate(links.lift.contract(links.unstack(tau[..., None])), axis=-2)
            return mass.solve_of(links.nodes, T)[..., 0]

        return self._call(run, 1, q, tau=tau)

    @compiled(q="nq")
    def embedded_log_det_mass(self, q: ArrayLike) -> SameKind:
        """log det X*𝓜X = Σ log det D over nodes, (...)."""
        groups = self._following("embedded_log_det_mass")
        return self._call(lambda m, q: mass.log_determinant_of(independent.followed_links(m, q, groups).nodes), 0, q)

    @compiled(
        q="nq",
        v="nv",
        tau="nv",
        external=("bodies", 6),
        in_parts=closed_parts.linearized_in_independent_rates,
        parts_last=True,
    )
    def embedded_linearize_forward(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, external: ArrayLike | None = None
    ) -> linear.ForwardLinearization:
        """δβ̇ = Minv δτ + dv δβ + dq δq of the independent joints alone, each (..., r, r); the others follow.

        At a closed q; of v (..., nv) the independent entries count. δτ are forces at the independent joints.
        """
        groups = self._following("embedded_linearize_forward")
        batch, (q, v, tau), f = self._checked_state(external, q=q, v=v, tau=tau)
        X, entries = independent.basis(self, q, groups), independent_entries(self, groups)
        v = (X @ v[..., entries, None])[..., 0]
        found = linearized.linearize_forward(self, q, v, tau, f, self.rigid_loops, self.soft_loops)
        found = linearized.in_independent_rates(self, q, v, found, X, entries, self.rigid_loops)
        return linear.ForwardLinearization(*(inputs.fit(x, batch, 2) for x in found))

    def operators(
        self,
        q: ArrayLike,
        *,
        frames: Any = None,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        embedded: bool = False,
    ) -> Operators:
        """The leaf operators H, φ, M, … of the tree that is left when the loops are cut, or with these embedded.

        ``embedded``: the bodies of each loop are one node, and joint space is that of the independent joints, whose
        entries alone of v and a (..., nv) count; the other joints follow. ``frames`` and the rest as for trees.
        """
        groups = self._following("operators(embedded=True)") if flag(embedded, "embedded") else ()
        return self._operators(q, frames, v, a, groups)

    def _following(self, name: str) -> tuple[Group, ...]:
        """The groups of all loops, each of which names the joints that follow; or a refusal."""
        refuse_unfit(self, self.loop_groups)
        for group in self.loop_groups:
            if group.dependent is None:
                raise NotAdmittedError(
                    f"{name} of robot {self.name!r} is in the rates of independent joints, and loop {group.named} does"
                    " not say which joints follow the others: lw.Loop(…, dependent=[…])"
                )
        if not self.loop_groups:
            raise NotAdmittedError(
                f"{name} of robot {self.name!r}: no loop holds for good, so that all joints are independent;"
                " robot.opened has it"
            )
        return self.loop_groups
