"""Robots with loops: the methods of a robot, for the closed robot where loops matter.

What is a function of positions and motions alone (poses, Jacobians, energies, 𝓜, inverse dynamics) is that of the tree
that is left when the loops are cut; ``q`` and ``v`` are that tree's, and ought to close. What loops change is here.
What has no meaning, or none yet, for a closed robot is refused by name: :mod:`.for_loops`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .. import arrays, inputs
from ..arguments import names, number, numbers, one_of
from ..arrays import Array, ArrayLike, SameKind
from ..dynamics import kinematics, operational
from ..dynamics.closed import constraints, directions, embedding, equations, linearized, projection, soft
from ..dynamics.closed.actuation import least_effort
from ..dynamics.closed.locality import Group, groups
from ..dynamics.closed.soft import soft_forces, with_springs
from ..dynamics.forward.methods import INVERSE_METHODS
from ..dynamics.linearized import models as linear
from ..errors import InputError, ModelError, NotAdmittedError
from ..model.loops import Loop
from ..model.model import Model, with_numbers
from ..properties import cached_property
from . import closed_parts
from .calls import as_frames, choose
from .closed_methods import METHODS, choice, explanation, refuse_scan, refuse_unfit
from .coupled import refuse_following
from .dispatch import compiled
from .embedded import EmbeddedLoops
from .for_loops import put_refusals, refuse_method
from .named_loops import check_loop, frame_name, with_names
from .robot import Robot


@dataclass(frozen=True, eq=False, repr=False)
class ClosedRobot(EmbeddedLoops):
    """A robot whose ``loops`` are closed. Make one with :meth:`Robot.close`; ``robot.opened`` is its tree.

    It runs by cutting its loops (Operator algebra paper §5, application 3): the free accelerations of the tree, then
    the forces that keep the loops closed, in O(n) and what the loops couple. Loops may be redundant: accelerations are
    unique all the same, and of the forces those of least norm are given, moments counted by the root mean square
    distance between neighbouring joints. Soft loops (with stiffness or damping) act in forward and inverse dynamics
    and in motions, whose energy account has what they hold and take; what is the tree's is without them: energy,
    bias_force, gravity_force. What holds a sprung robot still is :meth:`inverse_dynamics` at rest.
    """

    loops: tuple[Loop, ...] = ()

    def __post_init__(self) -> None:
        named, frames = with_names(self.loops, self.extra_frames)
        object.__setattr__(self, "loops", named)
        object.__setattr__(self, "extra_frames", frames)
        super().__post_init__()
        seen: set[str] = set()
        for loop in self.loops:
            check_loop(self, loop)
            if loop.name in seen:
                raise ModelError(f"robot {self.name!r}: two loops are named {loop.name!r}; give one another name=")
            seen.add(loop.name)
        _ = self.loop_groups  # joints that loops name must be on them

    @property
    def rigid_rows(self) -> np.ndarray:
        """(m,) of every motion that loops stop, whether they stop it for good."""
        return np.concatenate([np.full(x.size, not x.soft) for x in self.loops])

    @property
    def rigid_loops(self) -> tuple[Loop, ...]:
        """The loops that hold for good."""
        return tuple(x for x in self.loops if not x.soft)

    @property
    def soft_loops(self) -> tuple[Loop, ...]:
        """The loops that give: springs and dampers."""
        return tuple(x for x in self.loops if x.soft)

    @cached_property
    def loop_groups(self) -> tuple[Group, ...]:
        """The bodies that rigid loops make one node of the tree where they are embedded, and their joints."""
        return groups(self, self.rigid_loops)

    @property
    def default_method(self) -> str:
        """How forward dynamics closes the loops unless a ``method`` is named; :meth:`explain` says why."""
        return choice(self, self.loop_groups)[0]

    def explain(self, q: ArrayLike | None = None) -> str:
        """Which bodies the loops gather, which way they are closed and why, what each stops, and what that costs.

        With a configuration q (nq,), also the rank of the loops there, and which of them are redundant.
        """
        if q is not None:
            q = np.asarray(inputs.configuration(self, q), dtype=float)
            if q.ndim != 1:
                raise InputError(f"explain takes one configuration ({self.nq},), got shape {q.shape}")
        return explanation(self, q)

    @property
    def opened(self) -> Robot:
        """The tree that is left when the loops are cut."""
        given = {f.name: getattr(self, f.name) for f in fields(Robot) if f.name != "numbers"}
        tree = Robot(**given)
        return tree if self.numbers is None else with_numbers(tree, self.numbers)

    # --- closing --------------------------------------------------------------------------------------

    @compiled(q="nq")
    def loop_error(self, q: ArrayLike) -> SameKind:
        """How far the loops are from closing, (..., m) [rad, m]: the motions they stop, loop by loop."""
        return self._call(lambda m, q: constraints.error(m, q, self.loops), 1, q)

    @compiled(q="nq", v="nv")
    def loop_velocity(self, q: ArrayLike, v: ArrayLike) -> SameKind:
        """G v, (..., m) [rad/s, m/s]: how fast the loops come apart."""
        return self._call(lambda m, q, v: constraints.velocity(m, q, v, self.loops), 1, q, v=v)

    @compiled(q="nq")
    def loop_jacobian(self, q: ArrayLike) -> SameKind:
        """G, (..., m, nv): the loops come apart at the rates G v."""
        return self._call(lambda m, q: constraints.jacobian(m, q, self.loops), 2, q)

    @compiled(q="nq")
    def loop_projector(self, q: ArrayLike) -> SameKind:
        """N = I − 𝓜⁻¹G*(G𝓜⁻¹G*)⁺G, (..., nv, nv): N v is the closed velocity nearest to v in kinetic energy."""
        return self._call(lambda m, q: equations.projector(m, q, self.rigid_loops), 2, q)

    def mobility(self, q: ArrayLike) -> Any:
        """How many ways the closed robot can move at q: nv less the rank of G; an int, or (...) for a batch."""
        q = np.asarray(inputs.configuration(self, q))
        if not np.isfinite(q).all():
            raise InputError("mobility is that of a configuration of finite numbers")
        found = self.nv - projection.rank(self, q, self.rigid_loops)
        return int(found) if np.ndim(found) == 0 else found

    def closed_configuration(self, guess: ArrayLike, *, keep: Iterable[str] = ()) -> np.ndarray:
        """The closed configuration (..., nq) nearest to a guess (..., nq); joints named in ``keep`` stay as they are.

        By steps −𝓜⁻¹G*(G𝓜⁻¹G*)⁺g; an error names the loop that does not close.
        """
        q = np.asarray(inputs.configuration(self, guess))
        if q.dtype != np.float32 and not np.issubdtype(q.dtype, np.floating):
            raise InputError(f"a guess must be real numbers, got {q.dtype}")
        flat = q.reshape(-1, self.nq).astype(float)
        if not np.isfinite(flat).all():
            raise InputError("a guess must be finite numbers")
        chosen = names(keep, "keep", "joint names")
        refuse_following(self, chosen, "kept", "keep")
        kept = [self.joint(name) for name in chosen]
        tree: Any = self.opened

        def moved(q: np.ndarray, dv: np.ndarray) -> np.ndarray:
            return np.asarray(tree.integrate(q, dv, target="numpy"))

        found = projection.closed_configuration(self, flat, self.rigid_loops, kept, moved)
        return found.reshape(q.shape).astype(q.dtype)

    @compiled(q="nq")
    def closing_step(self, q: ArrayLike) -> SameKind:
        """−𝓜⁻¹G*(G𝓜⁻¹G*)⁺g, (..., nv): one step of :meth:`integrate` towards a closed configuration, for small g."""

        def run(m: Model, q: Array) -> Array:
            return -equations.velocity_change(m, q, constraints.error(m, q, self.rigid_loops), self.rigid_loops)

        return self._call(run, 1, q)

    @compiled(q="nq", v="nv")
    def closed_velocity(self, q: ArrayLike, v: ArrayLike) -> SameKind:
        """The closed velocity (..., nv) nearest to v (..., nv) in kinetic energy: v − 𝓜⁻¹G*(G𝓜⁻¹G*)⁺G v."""

        def run(m: Model, q: Array, v: Array) -> Array:
            opening = constraints.velocity(m, q, v, self.rigid_loops)
            return v - equations.velocity_change(m, q, opening, self.rigid_loops)

        return self._call(run, 1, q, v=v)

    @compiled(q="nq", chart="nq")
    def embedded_step(self, q: ArrayLike, chart: ArrayLike) -> SameKind:
        """−N(GN)⁻¹g, (..., nv): one step of :meth:`integrate` towards a closed configuration, by Newton, loop by loop.

        N are the directions in which joints that loops name as ``dependent`` move; elsewhere G* at the configuration
        ``chart`` (..., nq). What is across them, the coordinates of embedded loops, stays as it is.
        """
        refuse_unfit(self, self.loop_groups)
        return self._between(lambda m, q, chart: embedding.closing_step(m, q, chart, self.loop_groups), q, chart)

    @compiled(q="nq", v="nv", chart="nq")
    def embedded_velocity(self, q: ArrayLike, v: ArrayLike, chart: ArrayLike) -> SameKind:
        """v − N(GN)⁻¹Gv, (..., nv): the closed velocity with the same rates across N, as of :meth:`embedded_step`."""
        refuse_unfit(self, self.loop_groups)
        v = inputs.vector(v, self.nv, "v", self)
        run = lambda m, q, chart, v: embedding.closed_velocity(m, q, v, chart, self.loop_groups)
        return self._between(run, q, chart, v=v)

    def _between(self, run: Callable[..., Array], q: Any, chart: Any, **others: Any) -> Array:
        checked = {"q": inputs.configuration(self, q), "chart": inputs.configuration(self, chart)} | others
        batch, values = inputs.together(self, **checked)
        return inputs.fit(run(self, *values), batch, 1)

    @compiled(q="nq", v="nv")
    def velocity_after_closing(self, q: ArrayLike, v: ArrayLike, *, restitution: float = 0.0) -> SameKind:
        """v⁺, (..., nv), when all loops close at once at the velocity v: G v⁺ = −e G v, e the ``restitution``."""
        number(restitution, "restitution", least=0.0)

        def run(m: Model, q: Array, v: Array) -> Array:
            return v - (1.0 + restitution) * equations.velocity_change(
                m, q, constraints.velocity(m, q, v, self.rigid_loops), self.rigid_loops
            )

        return self._call(run, 1, q, v=v)

    # --- dynamics ------------------------------------------------------------------------------------

    @compiled(q="nq", v="nv", tau="nv", external=("bodies", 6))
    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        external: ArrayLike | None = None,
        method: str | None = None,
        closing_rate: float = 0.0,
    ) -> SameKind:
        """The joint accelerations (..., nv) [rad/s², m/s²] of the closed robot (OA (5.6)–(5.11)).

        ``method`` is "cut", "embedded" (the bodies of each loop as one node of the tree; loops that are not of full
        rank are refused), or any of :data:`linkwise.FORWARD_METHODS` but "scan": cut, with the free accelerations by
        it. The default is :attr:`default_method`. Loops that are open are left so, but with a ``closing_rate`` ω [1/s],
        by which their errors die away: ë + 2ωė + ω²e = 0 (Baumgarte).
        """
        number(closing_rate, "closing_rate", least=0.0)
        chosen = self.default_method if method is None else one_of(method, METHODS, "forward-dynamics method")
        refuse_scan(self, chosen)
        if chosen == "embedded":
            refuse_unfit(self, self.loop_groups)

        def run(m: Model, q: Array, v: Array, tau: Array, f: Array | None) -> Array:
            f = with_springs(m, q, v, f, self.soft_loops)
            if chosen == "embedded":
                return embedding.forward_dynamics(m, q, v, tau, f, self.loop_groups, closing_rate)
            own = equations.OWN_METHOD if chosen == "cut" else chosen
            return equations.accelerations(m, q, v, tau, f, self.rigid_loops, own, closing_rate)

        return self._with_forces(run, 1, external, q, v=v, tau=tau)

    @compiled(q="nq", v="nv", a="nv", external=("bodies", 6))
    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        external: ArrayLike | None = None,
        method: str = "newton_euler",
        actuated: Iterable[str] | None = None,
        effort_weights: Any = None,
    ) -> SameKind:
        """The joint forces T, (..., nv) [N m, N], for accelerations a (..., nv) that keep the loops closed.

        Without ``actuated`` those of the tree: every joint is driven, and the loops carry nothing. ``actuated`` names
        the joints that are; the others get none, the loops carry the rest, and where more joints are driven than can
        move independently, T is of the least Σ w T², with ``effort_weights`` w, one for each of their degrees of
        freedom (default 1). An error says what they cannot do.
        """
        run = choose(INVERSE_METHODS, method, "inverse-dynamics method")

        def tree(m: Model, q: Array, v: Array, a: Array, f: Array | None) -> Array:
            out: Array = run(m, q, v, a, with_springs(m, q, v, f, self.soft_loops))
            return out

        if actuated is None:
            if effort_weights is not None:
                raise InputError("effort_weights are for joints that actuated=[…] names")
            return self._with_forces(tree, 1, external, q, v=v, a=a)
        driven = self._driven(actuated)
        weights = np.ones(len(driven)) if effort_weights is None else numbers(effort_weights, "effort_weights")
        if weights.shape != (len(driven),) or not (weights > 0).all():
            raise InputError(f"effort_weights must be {len(driven)} positive numbers, got {effort_weights!r}")

        def least(m: Model, q: Array, v: Array, a: Array, f: Array | None) -> Array:
            return least_effort(m, q, tree(m, q, v, a, f), self.rigid_loops, driven, weights)

        return self._with_forces(least, 1, external, q, v=v, a=a)

    def _driven(self, actuated: Iterable[str]) -> list[int]:
        driven = names(actuated, "actuated", "joint names")
        refuse_following(self, driven, "driven", "actuated")
        columns = [i for x in driven for i in range(*self.v_slices[self.joint(x)].indices(self.nv))]
        if not columns or len(set(columns)) != len(columns):
            raise InputError("actuated must name joints that move, each once")
        return columns

    @compiled(q="nq", v="nv", tau="nv", external=("bodies", 6))
    def loop_forces(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, external: ArrayLike | None = None) -> SameKind:
        """What every loop does to its frame b, (..., loops, 6) [N m, N], in frame a's axes at frame a's origin.

        Its frame a feels the opposite. Where loops are redundant, of all such forces those of least norm.
        """

        def run(m: Model, q: Array, v: Array, tau: Array, f: Array | None) -> Array:
            springs = dict(zip(self.soft_loops, soft_forces(m, q, v, self.soft_loops)))
            f = with_springs(m, q, v, f, self.soft_loops)
            held = equations.forces(m, q, v, tau, f, self.rigid_loops) if self.rigid_loops else None
            rows = {x: held[..., i, :] for i, x in enumerate(self.rigid_loops)} if held is not None else {}
            return arrays.stack([(rows | springs)[x] for x in self.loops], axis=-2)

        return self._with_forces(run, 2, external, q, v=v, tau=tau)

    @compiled(q="nq")
    def spring_energy(self, q: ArrayLike) -> SameKind:
        """What the springs of soft loops hold, (...) [J]: it falls as their forces do work."""
        for loop in self.soft_loops:
            if loop.stiffness and not loop.holds_energy:
                raise NotAdmittedError(
                    f"robot {self.name!r}: the spring of loop {loop.name!r} holds no energy, as what its forces do"
                    " depends on the way; give constrains= rows that slide alone or turn alone, the latter at least two"
                    " and orthonormal"
                )
        return self._call(lambda m, q: soft.energy(m, q, [x for x in self.soft_loops if x.stiffness]), 0, q)

    @compiled(q="nq", v="nv")
    def damper_power(self, q: ArrayLike, v: ArrayLike) -> SameKind:
        """What the dampers of soft loops take, (...) [W]."""
        return self._call(lambda m, q, v: soft.dissipation(m, q, v, self.soft_loops), 0, q, v=v)

    @compiled(q="nq")
    def mass_matrix_inverse(self, q: ArrayLike, *, method: str | None = None) -> SameKind:
        """𝓜⁻¹ − 𝓜⁻¹G*(G𝓜⁻¹G*)⁺G𝓜⁻¹, (..., nv, nv): how the closed robot answers to joint forces.

        There is one ``method``; the names of those for trees are refused.
        """
        if method is not None:
            raise NotAdmittedError(f"the inverse mass matrix of a robot with loops has one method, not {method!r}")
        core = arrays.is_symbolic(q) and not self.couplings
        run = linearized.mass_inverse if core else equations.mass_inverse
        return self._call(lambda m, q: run(m, q, self.rigid_loops), 2, q)

    @compiled(q="nq", tau="nv")
    def mass_solve(self, q: ArrayLike, tau: ArrayLike, *, method: str | None = None) -> SameKind:
        """The accelerations (..., nv) that joint forces alone cause in the closed robot, in O(n), no matrix formed.

        There is one ``method``; the names of those for trees are refused.
        """
        refuse_method(self, "mass_solve", method)
        return self._call(lambda m, q, tau: equations.mass_solve(m, q, tau, self.rigid_loops), 1, q, tau=tau)

    # --- linearised models ---------------------------------------------------------------------------

    @compiled(q="nq", v="nv", tau="nv", external=("bodies", 6), in_parts=closed_parts.linearized, parts_last=True)
    def linearize_forward(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        external: ArrayLike | None = None,
        method: str | None = None,
    ) -> linear.ForwardLinearization:
        """δa = Minv δτ + dv δv + dq δq of the closed robot: ``.Minv``, ``.dv``, ``.dq``, each (..., nv, nv).

        From the tree's own linearised dynamics. Derivatives are those of a as a function of all q and v; a change that
        keeps the loops closed is one that :meth:`linearize_projection` leaves as it is. Along others, which open loops,
        overconstrained robots have those of damped equations, whose roundings are some 1e-4 of the largest.
        """
        refuse_method(self, "linearize_forward", method)
        batch, (q, v, tau), f = self._checked_state(external, q=q, v=v, tau=tau)
        found = linearized.linearize_forward(self, q, v, tau, f, self.rigid_loops, self.soft_loops)
        out = linear.ForwardLinearization(*(inputs.fit(x, batch, 2) for x in found))
        out.set_origin(self, v)
        return out

    @compiled(q="nq", v="nv")
    def linearize_projection(self, q: ArrayLike, v: ArrayLike) -> SameKind:
        """(..., 2nv, 2nv): what is left of a change [δq; δv] of a closed state once q and v are closed again."""
        return self._call(lambda m, q, v: linearized.projection(m, q, v, self.rigid_loops), 2, q, v=v)

    @compiled(q="nq", v="nv", tau="nv", dq="nv", dv="nv", dtau="nv", external=("bodies", 6))
    def forward_dynamics_jvp(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        dq: ArrayLike,
        dv: ArrayLike,
        dtau: ArrayLike,
        *,
        external: ArrayLike | None = None,
        method: str | None = None,
    ) -> SameKind:
        """δa, (..., nv), along δq (tangent), δv, δτ, of the closed robot.

        Of overconstrained robots it is that of :meth:`linearize_forward` to roundings along changes that keep the loops
        closed (:meth:`linearize_projection`), and to some 1e-4 of the largest along others.
        """
        refuse_method(self, "forward_dynamics_jvp", method)
        state = {"q": q, "v": v, "tau": tau, "dq": dq, "dv": dv, "dtau": dtau}
        batch, (q, v, tau, dq, dv, dtau), f = self._checked_state(external, **state)
        loops = self.rigid_loops, self.soft_loops
        return inputs.fit(directions.forward_change(self, (q, v, tau), (dq, dv, dtau), f, *loops), batch, 1)

    @compiled(q="nq", v="nv", tau="nv", weights="nv", external=("bodies", 6))
    def forward_dynamics_vjp(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, weights: ArrayLike, *, external: ArrayLike | None = None
    ) -> linear.ForwardGradient:
        """The gradients ``.dq`` (tangent), ``.dv``, ``.dtau`` of weights · a of the closed robot, each (..., nv).

        Of overconstrained robots those of q and v are :meth:`linearize_forward`'s to roundings along changes that keep
        the loops closed (:meth:`linearize_projection`), and to some 1e-4 of the largest along others.
        """
        batch, (q, v, tau, w), f = self._checked_state(external, q=q, v=v, tau=tau, weights=weights)
        parts = directions.forward_gradient(self, (q, v, tau), w, f, self.rigid_loops, self.soft_loops)
        return linear.ForwardGradient(*(inputs.fit(x, batch, 1) for x in parts))

    @compiled(q="nq", v="nv", tau="nv", external=("bodies", 6), in_parts=closed_parts.sensitivity, parts_last=True)
    def forward_dynamics_sensitivity(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        external: ArrayLike | None = None,
        of: str = "inertial",
    ) -> SameKind:
        """∂a/∂π of the closed robot, (..., nv, 10 bodies), with π = inertial_parameters.

        Placements are refused: other ones open the loops.
        """
        one_of(of, ("inertial", "placements"), "sort of parameters")
        if of == "placements":
            raise NotAdmittedError(
                f"robot {self.name!r} has loops, which other placements of its joints open: there is no derivative at a"
                " state that stays; robot.opened has it for the tree that is left when the loops are cut"
            )

        def run(m: Model, q: Array, v: Array, tau: Array, f: Array | None) -> Array:
            f = with_springs(m, q, v, f, self.soft_loops)
            return linearized.sensitivity(m, q, v, tau, f, self.rigid_loops)

        return self._with_forces(run, 2, external, q, v=v, tau=tau)

    # --- operational space ---------------------------------------------------------------------------

    inverse_kinematics = Robot.inverse_kinematics  # with the errors of the loops among the goals
    equilibrium, modes = Robot.equilibrium, Robot.modes  # which keep loops closed

    @compiled(q="nq")
    def closed_jacobian(self, q: ArrayLike, frame: Any, *, axes: str = "world") -> SameKind:
        """J N, (..., 6, nv): how a frame moves with what loops leave of any velocity; N is :meth:`loop_projector`."""

        def run(m: Model, q: Array) -> Array:
            return kinematics.jacobian(m, q, frame, axes) @ equations.projector(m, q, self.rigid_loops)

        return self._call(run, 2, q)

    @compiled(q="nq")
    def operational_compliance(self, q: ArrayLike, frame: Any) -> SameKind:
        """Λ⁻¹, (..., 6e, 6e), world axes: how the closed robot yields at one frame or several."""
        return self._call(lambda m, q: equations.compliance(m, q, as_frames(frame), self.rigid_loops), 2, q)

    @compiled(q="nq")
    def operational_inertia(self, q: ArrayLike, frame: Any) -> SameKind:
        """Λ of the closed robot, (..., 6e, 6e), world axes; an error where it does not exist."""

        def run(m: Model, q: Array) -> Array:
            inverse = equations.compliance(m, q, as_frames(frame), self.rigid_loops)
            return operational.inverse_compliance(m, inverse, as_frames(frame))

        return self._call(run, 2, q)

    # --- robots from robots --------------------------------------------------------------------------

    def subtree(self, root: str, *, floating: bool = False) -> Robot:
        """The part from a body outward, with the loops that lie within it; one that reaches out of it is an error."""
        found = self.opened.subtree(root, floating=floating)
        names = {f.name for f in found.frames} - {"world"}
        kept = []
        for loop in self.loops:
            inside = [frame_name(f) in names for f in (loop.frame_a, loop.frame_b)]
            if any(inside) and not all(inside):
                raise ModelError(f"robot {self.name!r}: loop {loop.name!r} joins the subtree of {root!r} to the rest")
            kept += [loop] if all(inside) else []
        return found.close(*kept) if kept else found


def close(robot: Robot, loops: Sequence[Loop]) -> ClosedRobot:
    """The robot with these loops closed besides those it has."""
    if not loops:
        raise InputError("name at least one loop to close: robot.close(lw.Loop(frame_a, frame_b, kind))")
    for loop in loops:
        if not isinstance(loop, Loop):
            raise InputError(f"close takes lw.Loop objects, got {loop!r}")
    given = {f.name: getattr(robot, f.name) for f in fields(Robot) if f.name != "numbers"}
    closed = ClosedRobot(**given, loops=(*robot.loops, *loops))
    return closed if robot.numbers is None else with_numbers(closed, robot.numbers)


put_refusals(ClosedRobot, EmbeddedLoops)
