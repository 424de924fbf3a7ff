"""Several arms on one object: a closed robot that knows its arms, its object and its contacts.

The arms and the object, a free body or a tree of its own, are one tree, and the contacts are its loops (math notes on
closed chains 3.5): every call of a robot with loops works on a grasp as it is. What only a grasp has is here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from .. import arrays, inputs
from ..arguments import names, number, numbers, one_of, word
from ..arrays import Array, ArrayLike, SameKind
from ..dynamics.closed import grasps
from ..dynamics.closed.scales import force_scales
from ..dynamics.closed.soft import with_springs
from ..dynamics.closed.squeeze import cone_margins, least_squeeze
from ..errors import InputError, ModelError, NotAdmittedError, SingularError, UnknownNameError
from ..model.contacts import Contact
from ..model.loops import Loop
from ..model.model import Model, with_numbers
from ..properties import cached_property
from ..tolerances import RANK
from .closed import ClosedRobot
from .dispatch import compiled, on_numpy
from .grasp_report import GraspReport, Squeeze
from .robot import Robot


@dataclass(frozen=True, eq=False, repr=False)
class Grasp(ClosedRobot):
    """Arms that hold an object. Make one with :func:`linkwise.grasp`.

    Coordinates are those of the arms, one after the other, and then the object's: ``team.arm_q("arm_1")`` and
    ``team.object_q`` are their slices of q, ``arm_v`` and ``object_v`` those of v. λ, (..., m), are the forces of all
    hands on the object, contact by contact, as many as each transmits; a rigid object's coordinates are its [ω; v], in
    its axes at its origin.
    """

    arms: tuple[str, ...] = ()
    contacts: tuple[Contact, ...] = ()

    def __post_init__(self) -> None:
        own = [x.loop for x in self.contacts]
        others = list(self.loops)
        for loop in own:
            if loop in others:
                others.remove(loop)
        object.__setattr__(self, "loops", (*others, *own))
        super().__post_init__()
        if not self.contacts:
            raise ModelError(f"grasp {self.name!r} has no contact: nothing holds the object")
        if not self.layout.object_columns:
            raise ModelError(f"grasp {self.name!r}: its object cannot move; leave one of its joints free")
        for x in self.contacts:
            if self._owner(x.object_frame) is not None:
                raise ModelError(f"contact {x.name!r}: {x.object_frame!r} is no frame of the object")

    # --- whose is what -------------------------------------------------------------------------------

    def _owner(self, frame: Any) -> str | None:
        """The arm that a frame belongs to; None for the object."""
        name = frame if isinstance(frame, str) else frame.name
        return next((arm for arm in self.arms if name.startswith(f"{arm}/")), None)

    def _bodies_of(self, arm: str | None) -> list[int]:
        if arm is not None and word(arm, "an arm's name") not in self.arms:
            raise UnknownNameError(f"no arm is named {arm!r}; grasp {self.name!r} has {', '.join(self.arms)}")
        return [i for i, b in enumerate(self.bodies) if self._owner(b.name) == arm]

    def _span(self, arm: str | None, slices: Sequence[slice]) -> slice:
        own = [slices[i] for i in self._bodies_of(arm)]
        return slice(own[0].start, own[-1].stop) if own else slice(0, 0)

    def arm_q(self, arm: str) -> slice:
        """Where an arm's configuration is in q."""
        return self._span(arm, self.q_slices)

    def arm_v(self, arm: str) -> slice:
        """Where an arm's velocities, accelerations and joint forces are in v."""
        return self._span(arm, self.v_slices)

    @property
    def object_q(self) -> slice:
        """Where the object's configuration is in q."""
        return self._span(None, self.q_slices)

    @property
    def object_v(self) -> slice:
        """Where the object's velocity is in v: for a rigid body [ω; v], in its axes."""
        return self._span(None, self.v_slices)

    @property
    def object_size(self) -> int:
        """n_o, the object's degrees of freedom."""
        return len(self.layout.object_columns)

    @property
    def object_bodies(self) -> tuple[str, ...]:
        """The names of the object's bodies, its root first."""
        return tuple(self.bodies[i].name for i in self._bodies_of(None))

    @property
    def contact_rows(self) -> int:
        """m, how many forces the contacts transmit in all."""
        return self.layout.rows

    @cached_property
    def layout(self) -> grasps.Layout:
        """Which coordinates and rows are whose."""
        span, own = self.object_v, {x.name for x in self.contacts}
        start, rows = 0, dict[str, list[int]]()
        for x in self.contacts:
            rows.setdefault(self._owner(x.hand_frame) or "", []).extend(range(start, start + x.size))
            start += x.size
        return grasps.Layout(
            self.contacts,
            tuple(x for x in self.rigid_loops if x.name not in own),
            tuple(range(*span.indices(self.nv))),
            tuple((arm, tuple(r)) for arm, r in rows.items()),
        )

    @property
    def object_loops(self) -> tuple[Loop, ...]:
        """Loops of the object with itself or with the world: what it touches."""
        own = set(self._bodies_of(None))
        ends = ((x, [self.frame(f)[0] for f in (x.frame_a, x.frame_b)]) for x in self.layout.others)
        return tuple(x for x, bodies in ends if own & set(bodies))

    @property
    def touching_rows(self) -> int:
        """k, how many motions :attr:`object_loops` stop."""
        return sum(x.size for x in self.object_loops)

    def _refuse_object_loops(self, call: str) -> None:
        if self.object_loops:
            raise NotAdmittedError(
                f"{call} of grasp {self.name!r}: loop {self.object_loops[0].name!r} holds its object besides the hands;"
                " forward_dynamics, contact_forces and operational_inertia of the whole hold for that"
            )

    def _short_arms(self) -> list[str]:
        """Arms with fewer degrees of freedom than their contacts stop: they are singular wherever they are."""
        spans = {arm: self.arm_v(arm) for arm, _ in self.layout.arm_rows}
        return [arm for arm, rows in self.layout.arm_rows if spans[arm].stop - spans[arm].start < len(rows)]

    # --- at the contacts -----------------------------------------------------------------------------

    @compiled(q="nq")
    def grasp_map(self, q: ArrayLike) -> SameKind:
        """A, (..., n_o, m): Aλ is what forces λ of the hands do to the object's coordinates; [N; F] on a rigid body."""
        return self._call(lambda m, q: grasps.grasp_map(m, q, self.layout), 2, q)

    @compiled(q="nq")
    def wrench_basis(self, q: ArrayLike) -> SameKind:
        """W of all contacts side by side, (..., 6, m): Wλ is the force on the object, at and in each contact frame."""
        return self._call(lambda m, q: grasps.wrench_bases(m, q, self.layout), 2, q)

    @compiled(q="nq", v="nv")
    def wrench_basis_rate(self, q: ArrayLike, v: ArrayLike) -> SameKind:
        """dW/dt of all contacts side by side, (..., 6, m), as seen from the contact frames: not 0 where hands slide."""
        return self._call(lambda m, q, v: grasps.wrench_basis_rates(m, q, v, self.layout), 2, q, v=v)

    @compiled(q="nq", forces="contact_rows")
    def contact_joint_forces(self, q: ArrayLike, forces: ArrayLike) -> SameKind:
        """J*Wλ, (..., nv) [N m, N]: the joint forces of the arms behind forces λ (..., m) on the object.

        Added to any joint forces, an internal λ changes the contact forces by λ and no acceleration.
        """
        batch, (q, lam) = self._with_components(q, forces, self.contact_rows)
        return inputs.fit(grasps.joint_forces(self, q, lam, self.layout), batch, 1)

    def _with_components(self, q: Any, forces: Any, length: int) -> tuple[tuple[int, ...], list[Array]]:
        checked = {"q": inputs.configuration(self, q), "forces": inputs.vector(forces, length, "forces", self)}
        return inputs.together(self, **checked)

    # --- what the object feels -----------------------------------------------------------------------

    @compiled(q="nq")
    def effective_inertia(self, q: ArrayLike) -> SameKind:
        """M_o + Σ φ_iΛ_iφ_i*, (..., n_o, n_o): the object's inertia with that of the arms, in O(n) + O(arms).

        In the object's coordinates (of a rigid body: its axes, at its origin). An arm that is singular, or has fewer
        joints than its contacts hold, has no finite inertia: an error names it.
        """
        self._refuse_object_loops("effective_inertia")
        return self._call(lambda m, q: grasps.effective_inertia(m, q, self.layout), 2, q)

    @compiled(q="nq")
    def arm_inertia(self, q: ArrayLike, arm: str) -> SameKind:
        """φ_iΛ_iφ_i*, (..., n_o, n_o): what one arm adds to the effective inertia."""
        self._bodies_of(arm)
        if arm not in dict(self.layout.arm_rows):
            raise InputError(f"{arm} of grasp {self.name!r} holds nothing, and adds no inertia to the object")
        return self._call(lambda m, q: grasps.arm_inertia(m, q, self.layout, arm), 2, q)

    @compiled(q="nq", v="nv", tau="nv", external=("bodies", 6))
    def object_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, external: ArrayLike | None = None
    ) -> tuple[SameKind, SameKind, SameKind]:
        """(M, h, F) of the object's own equation M ẏ + h = F, (..., n_o, n_o), (..., n_o), (..., n_o).

        M is the effective inertia, h all that velocities, gravity and external forces do, arms included, F what the
        joint forces τ (..., nv) do, in the object's coordinates y; ẏ is forward_dynamics(…)[team.object_v].
        """
        self._refuse_object_loops("object_dynamics")
        batch, (q, v, tau), f = self._checked_state(external, q=q, v=v, tau=tau)
        f = with_springs(self, q, v, f, self.soft_loops)
        M, h, F = grasps.object_dynamics(self, q, v, tau, f, self.layout)
        return inputs.fit(M, batch, 2), inputs.fit(h, batch, 1), inputs.fit(F, batch, 1)

    @compiled(q="nq", v="nv", tau="nv", external=("bodies", 6))
    def object_motion(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        external: ArrayLike | None = None,
        kept: Iterable[str] | None = None,
    ) -> tuple[SameKind, SameKind]:
        """(ẏ, λ), (..., n_o) and (..., m): the object's acceleration and the forces of the hands on it.

        In the mixed form: arms named in ``kept`` may be singular, their forces are kept as unknowns; the others are
        eliminated as inertias, at less cost. By default those are kept that have fewer joints than their contacts hold.
        """
        self._refuse_object_loops("object_motion")
        held = self._short_arms() if kept is None else names(kept, "kept", "arms")
        for arm in held:
            self._bodies_of(arm)
        held = [arm for arm, _ in self.layout.arm_rows if arm in held]
        batch, (q, v, tau), f = self._checked_state(external, q=q, v=v, tau=tau)
        f = with_springs(self, q, v, f, self.soft_loops)
        y, lam = grasps.object_motion(self, q, v, tau, f, self.layout, held)
        return inputs.fit(y, batch, 1), inputs.fit(lam, batch, 1)

    @compiled(
        q="nq",
        v="nv",
        acceleration="object_size",
        squeeze="contact_rows",
        arm_acceleration="nv",
        push="touching_rows",
        external=("bodies", 6),
    )
    def object_inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        acceleration: ArrayLike,
        *,
        squeeze: ArrayLike | None = None,
        arm_acceleration: ArrayLike | None = None,
        push: ArrayLike | None = None,
        weights: Any = None,
        external: ArrayLike | None = None,
    ) -> SameKind:
        """The joint forces (..., nv) of the arms with which the object accelerates by ẏ (..., n_o) (math notes 13.8).

        Its load is shared as :meth:`share_load` does, by ``weights``, and what is internal of ``squeeze`` λ (..., m) is
        kept up besides; redundant arms do within themselves what they can of ``arm_acceleration`` (..., nv). Where
        loops hold the object besides the hands (``team.object_loops``), ẏ is what they let be of it, and ``push``
        (..., k), one number for each motion that they stop, is what they do to their frames b. Nothing drives the
        object itself. Arms must not be singular, or have loops of their own.
        """
        within = [x.name for x in self.layout.others if x not in self.object_loops]
        if within:
            raise NotAdmittedError(
                f"object_inverse_dynamics of grasp {self.name!r} is for arms without loops of their own, and there is"
                f" {within[0]!r}"
            )
        shares = None if weights is None else arm_weights(self.layout, weights, "weights")
        optional = {
            "squeeze": (squeeze, self.contact_rows),
            "arm_acceleration": (arm_acceleration, self.nv),
            "push": (push, self.touching_rows),
        }
        checked = {"q": inputs.configuration(self, q), "v": inputs.vector(v, self.nv, "v", self)}
        checked["acceleration"] = inputs.vector(acceleration, self.object_size, "acceleration", self)
        for name, (x, n) in optional.items():
            like = checked["q"]
            checked[name] = arrays.zeros((n,), like=like) if x is None else inputs.vector(x, n, name, self)
        batch, (q, v, y_dot, lam, a_0, mu), f = self._joined_with(inputs.forces(self, external), checked)
        f = with_springs(self, q, v, f, self.soft_loops)
        found = grasps.inverse_dynamics(self, q, v, y_dot, lam, a_0, mu, f, self.layout, self.object_loops, shares)
        return inputs.fit(found, batch, 1)

    # --- forces at the contacts ----------------------------------------------------------------------

    @compiled(q="nq", v="nv", tau="nv", external=("bodies", 6))
    def contact_components(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, external: ArrayLike | None = None, part: str = "all"
    ) -> SameKind:
        """λ, (..., m) [N m, N]: the forces of the hands on the object, contact by contact.

        Or a ``part`` of them: that of its "motion", A⁺Aλ, or the "internal" one, the squeeze, which has Aλ = 0. Of
        least norm where they are not unique.
        """
        one_of(part, grasps.PARTS, "part of contact forces")

        def run(m: Model, q: Array, v: Array, tau: Array, f: Array | None) -> Array:
            f = with_springs(m, q, v, f, self.soft_loops)
            return grasps.forces(m, q, v, tau, f, self.layout, part)

        return self._with_forces(run, 1, external, q, v=v, tau=tau)

    @compiled(q="nq", v="nv", tau="nv", external=("bodies", 6))
    def contact_forces(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, external: ArrayLike | None = None, part: str = "all"
    ) -> SameKind:
        """[moment; force] of every hand on the object, (..., contacts, 6) [N m, N].

        Where they touch, in the axes of the object's contact frames: z presses. ``part`` is "all", "motion" (what
        moves and carries the object) or "internal" (what only squeezes it). The parts are those of least norm, moments
        counted by the root mean square distance between neighbouring joints.
        """
        one_of(part, grasps.PARTS, "part of contact forces")

        def run(m: Model, q: Array, v: Array, tau: Array, f: Array | None) -> Array:
            f = with_springs(m, q, v, f, self.soft_loops)
            lam = grasps.forces(m, q, v, tau, f, self.layout, part)
            return grasps.at_the_contacts(m, q, lam, self.layout)

        return self._with_forces(run, 2, external, q, v=v, tau=tau)

    @compiled(q="nq", force="object_size")
    def share_load(self, q: ArrayLike, force: ArrayLike, *, weights: Any = None) -> SameKind:
        """λ, (..., m): forces of the hands that do ``force`` (..., n_o) to the object and squeeze as little as can be.

        Of least Σ (λ/s)²/w, s being 1 for forces and a length of the robot for moments; ``weights`` w, one positive
        number for each arm that holds (in the order of team.arms), say how much each should bear (default: alike).
        """
        shares = None if weights is None else arm_weights(self.layout, weights, "weights")
        batch, (q, F) = self._with_components(q, force, self.object_size)
        return inputs.fit(grasps.shared(self, q, F, self.layout, shares), batch, 1)

    @on_numpy
    def internal_basis(self, q: ArrayLike) -> np.ndarray:
        """(..., m, k): forces of the hands that the object does not feel; k is m less the rank of A.

        Orthonormal, moments counted by a length of the robot. All states of a batch must have the same k.
        """
        scale = force_scales(self, self.layout.loops)
        A = arrays.as_numpy(self.grasp_map(q, target="numpy"))
        if A.dtype.kind != "f" or not np.isfinite(A).all():
            raise InputError("internal forces are those at configurations of finite real numbers")
        _, values, right = np.linalg.svd(A * scale)
        rank = (values > RANK * values[..., :1]).sum(axis=-1)
        if np.ndim(rank) and len(np.unique(rank)) > 1:
            raise InputError(
                f"the states differ in how many internal forces grasp {self.name!r} has ({self.contact_rows} less"
                f" {rank.min()} to {rank.max()}); ask for them one by one"
            )
        k = int(np.max(rank, initial=0))
        return np.asarray(scale[:, None] * right[..., k:, :].swapaxes(-1, -2))

    # --- friction ------------------------------------------------------------------------------------

    def friction_margins(self, forces: ArrayLike) -> np.ndarray:
        """F_z − √((F_x² + F_y²)/μ² + N_z²/γ²) of every contact, (..., contacts) [N]: positive where friction holds.

        ``forces`` (..., contacts, 6) are those of :meth:`contact_forces`. A contact that was given no ``friction`` must
        only press; one that holds whatever comes ("rigid", "sliding") has an infinite margin.
        """
        f = numbers(forces, "forces")
        if f.ndim < 2 or f.shape[-2:] != (len(self.contacts), 6):
            raise InputError(f"forces must have shape (..., {len(self.contacts)}, 6), got {f.shape}")
        return cone_margins(f, self.contacts)

    def squeeze(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, margin: float = 0.0, external: Any = None
    ) -> Squeeze:
        """The least internal forces with which friction holds at q (nq,), v, τ (nv,), and the joint forces that make

        them: ``.internal`` (m,), ``.tau`` (nv,), ``.forces`` (contacts, 6) and their ``.margins`` (contacts,) [N]. The
        object moves as with τ alone. ``margin`` [N] is what every normal force shall have to spare; an error says
        where no squeeze will do.
        """
        number(margin, "margin [N]", least=0.0)
        f = inputs.forces(self, external)
        vectors = {"v": inputs.vector(v, self.nv, "v", self), "tau": inputs.vector(tau, self.nv, "tau", self)}
        q, v, tau = _one_state(q=inputs.configuration(self, q), **vectors)
        if f is not None:
            _one_state(external=f[..., 0, 0, None])
        given: dict[str, Any] = {"external": f, "target": "numpy"}
        lam = self.contact_components(q, v, tau, **given)
        motion = self.contact_components(q, v, tau, part="motion", **given)
        wanted = least_squeeze(motion, self.internal_basis(q), self.contacts, margin)
        extra = self.contact_joint_forces(q, wanted - (lam - motion), target="numpy")
        forces = arrays.as_numpy(grasps.at_the_contacts(self, q, motion + wanted, self.layout))
        return Squeeze(wanted, tau + extra, forces, self.friction_margins(forces))

    # --- well-posedness ------------------------------------------------------------------------------

    def grasp_report(self, q: ArrayLike) -> GraspReport:
        """Whether motions and contact forces of the grasp are determined at q (nq,), and what is lacking if not."""
        (q,) = _one_state(q=inputs.configuration(self, q))
        scale = force_scales(self, self.layout.loops)
        every = force_scales(self, self.rigid_loops)
        G = arrays.as_numpy(self.loop_jacobian(q, target="numpy"))[self.rigid_rows]
        A = arrays.as_numpy(self.grasp_map(q, target="numpy"))
        felt = grasps.felt(self, q, self.layout)
        singular = [arm for arm, X in felt.X.items() if self._is_singular(felt, arm)]
        return GraspReport(
            self.name,
            mobility=self.mobility(q),
            forces=self.contact_rows,
            undetermined=len(G) - int(grasps.ranks(G, every)),
            internal=self.contact_rows - int(grasps.ranks(A.T, scale)),
            uncontrolled=self.object_size - int(grasps.ranks(A.T, scale)),
            singular_arms=tuple(singular),
            open_by=float(np.abs(self.loop_error(q, target="numpy")).max()),
        )

    def _is_singular(self, felt: grasps.Felt, arm: str) -> bool:
        try:
            grasps.stiffness(self, felt, arm)
        except SingularError:
            return True
        return False

    # --- grasps from grasps --------------------------------------------------------------------------

    def with_arm(
        self, arm: Any, contacts: Contact | Sequence[Contact], *, base: Any = None, name: str | None = None
    ) -> Grasp:
        """This grasp with one more arm on its object, held by these contacts; see :func:`linkwise.grasp`."""
        from .grasping import with_arm

        return with_arm(self, arm, contacts, base=base, name=name)

    def without_arm(self, arm: str) -> Grasp:
        """This grasp without an arm and its contacts; the other arms keep their names."""
        from .grasping import without_arm

        return without_arm(self, arm)

    def close(self, *loops: Loop) -> Grasp:
        """This grasp with more loops closed."""
        if not loops or not all(isinstance(x, Loop) for x in loops):
            raise InputError("name loops to close: team.close(lw.Loop(frame_a, frame_b, kind))")
        grown = replace(self, numbers=None, loops=(*self.loops, *loops))
        return grown if self.numbers is None else with_numbers(grown, self.numbers)

    def floating(self, *, joint_name: str = "root_joint") -> NoReturn:
        """Refused: arms float each by itself, ``lw.grasp([arm.floating(), …], …)``, and the object does already."""
        raise NotAdmittedError(
            f"grasp {self.name!r} has no base that could float: its arms stand on the world, each by itself. Let them"
            " float before they grasp: lw.grasp([arm.floating(), …], object, contacts)"
        )

    @property
    def object_alone(self) -> Robot:
        """The object as a robot of its own, under the same names; its q is q[object_q], its v is v[object_v].

        Its loops are those between bodies of the object, or between them and the world.
        """
        from .grasping import object_alone

        return object_alone(self)


def _one_state(**given: Any) -> list[np.ndarray]:
    """Vectors of one state, of finite real numbers."""
    out = []
    for name, x in given.items():
        found = numbers(x, name)
        if found.ndim != 1:
            raise InputError(f"this takes one state at a time, got {name} of shape {found.shape}")
        if not np.isfinite(found).all():
            raise InputError(f"{name} must be finite")
        out.append(found)
    return out


def arm_weights(layout: grasps.Layout, weights: Any, what: str) -> np.ndarray:
    """(m,) from one positive number for each arm that holds."""
    given = numbers(weights, what)
    arms = [arm for arm, _ in layout.arm_rows]
    if given.shape != (len(arms),) or not np.isfinite(given).all() or not (given > 0).all():
        raise InputError(f"{what} must be {len(arms)} positive numbers, one for each of {', '.join(arms)}")
    out = np.zeros(layout.rows)
    for w, (_, rows) in zip(given, layout.arm_rows):
        out[list(rows)] = w
    return out
