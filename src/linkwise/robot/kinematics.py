"""The methods of a robot that tell where its frames are and how they move."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import arrays, inputs
from ..arguments import flag
from ..arrays import Array, ArrayLike, SameKind
from ..dynamics import kinematics
from ..dynamics.linearized import placements
from ..model.model import Model
from ..properties import cached_property
from .calls import Calls
from .dispatch import compiled
from .for_loops import AS_TREE, for_loops

if TYPE_CHECKING:
    from .inverse_kinematics import Reach


def _asked(target: str | None) -> dict[str, Any]:
    return {} if target is None else {"target": target}


def _parts(x: Any, tail: int) -> Iterable[SameKind]:
    """The entries of the axis before the last ``tail``."""
    if x.ndim == tail + 1:
        parts: Iterable[SameKind] = x  # it gives them one by one
        return parts
    rest = (slice(None),) * tail
    return [x[(..., i, *rest)] for i in range(x.shape[-1 - tail])]


def _inner_by_jacobian(robot: Any, q: ArrayLike, frame: Any) -> Array:
    """J*J as it says."""
    J: Array = robot.jacobian(q, frame)
    return arrays.symmetric(arrays.transpose(J) @ J)


@dataclass(frozen=True, eq=False, repr=False)
class Kinematics(Calls):
    """Poses, velocities and accelerations of frames, and their Jacobians."""

    @compiled(q="nq", loops=AS_TREE)
    def pose(self, q: ArrayLike, frame: Any) -> tuple[SameKind, SameKind]:
        """(R, p) of a frame in the world: R (..., 3, 3) takes frame axes to world axes, p (..., 3) [m]."""
        q = inputs.configuration(self, q)
        X = kinematics.pose(self, q, frame)
        return inputs.fit(X.R, q.shape[:-1], 2), inputs.fit(X.l, q.shape[:-1], 1)

    @compiled(q="nq", loops=AS_TREE)
    def frame_poses(self, q: ArrayLike) -> kinematics.FramePoses:
        """``.R`` (..., frames, 3, 3) and ``.p`` (..., frames, 3) [m] of all frames, in the order of ``robot.frames``.

        R takes frame axes to world axes. Two arrays, however many frames there are: the quickest way to all poses.
        """
        q = inputs.configuration(self, q)
        R, p = kinematics.frame_poses(self, q)
        return kinematics.FramePoses(inputs.fit(R, q.shape[:-1], 3), inputs.fit(p, q.shape[:-1], 2))

    @compiled(q="nq", v="nv", loops=AS_TREE)
    def frame_velocities(self, q: ArrayLike, v: ArrayLike) -> SameKind:
        """[ω; v] of all frames, in the order of ``robot.frames``, (..., frames, 6) [rad/s, m/s], world axes."""
        return self._call(kinematics.frame_motions, 2, q, v=v)

    @compiled(q="nq", v="nv", a="nv", loops=AS_TREE)
    def frame_accelerations(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> SameKind:
        """The classical acceleration [ω̇; v̇] of all frames, (..., frames, 6) [rad/s², m/s²], world axes."""
        return self._call(kinematics.frame_motions, 2, q, v=v, a=a)

    @for_loops(AS_TREE)
    def poses(self, q: ArrayLike, *, target: str | None = None) -> dict[str, tuple[SameKind, SameKind]]:
        """(R, p) of every named frame in the world, R (..., 3, 3), p (..., 3) [m]: parts of :meth:`frame_poses`."""
        R, p = self.frame_poses(q, **_asked(target))
        return dict(zip(self._frame_names, zip(_parts(R, 2), _parts(p, 1))))

    @for_loops(AS_TREE)
    def velocities(self, q: ArrayLike, v: ArrayLike, *, target: str | None = None) -> dict[str, SameKind]:
        """[ω; v] of every named frame, each (..., 6) [rad/s, m/s], world axes at its origin."""
        return dict(zip(self._frame_names, _parts(self.frame_velocities(q, v, **_asked(target)), 1)))

    @for_loops(AS_TREE)
    def accelerations(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, target: str | None = None
    ) -> dict[str, SameKind]:
        """The classical acceleration [ω̇; v̇] of every named frame, each (..., 6) [rad/s², m/s²], world axes."""
        return dict(zip(self._frame_names, _parts(self.frame_accelerations(q, v, a, **_asked(target)), 1)))

    @cached_property
    def _frame_names(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.frames)

    @compiled(q="nq", v="nv", loops=AS_TREE)
    def velocity(self, q: ArrayLike, v: ArrayLike, frame: Any, *, axes: str = "world") -> SameKind:
        """[ω; v] of a frame's origin, (..., 6) [rad/s, m/s], in world axes or, with axes="local", in its own."""
        return self._call(kinematics.frame_velocity, 1, q, frame, axes, v=v)

    @compiled(q="nq", v="nv", a="nv", loops=AS_TREE)
    def acceleration(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, frame: Any, *, axes: str = "world", spatial: bool = False
    ) -> SameKind:
        """[ω̇; v̇] of a frame's origin, (..., 6) [rad/s², m/s²]: its classical acceleration, or the spatial one.

        Without gravity; in world axes or, with axes="local", in the frame's own.
        """
        return self._call(kinematics.frame_acceleration, 1, q, frame, axes, flag(spatial, "spatial"), v=v, a=a)

    @compiled(q="nq", loops=AS_TREE)
    def jacobian(self, q: ArrayLike, frame: Any, *, axes: str = "world") -> SameKind:
        """J = B*φ*H*, (..., 6, nv), angular first, at the frame's origin: V(0) = J v (OA (2.1)).

        In world axes or, with axes="local", in the frame's own.
        """
        return self._call(kinematics.jacobian, 2, q, frame, axes)

    @compiled(q="nq", loops=AS_TREE)
    def placement_jacobian(self, q: ArrayLike, frame: Any, *, axes: str = "world") -> SameKind:
        """How a frame moves with where the joints are placed, (..., 6, 6 bodies), angular first, at its origin.

        Six columns a joint: the rotation vector [rad] and the displacement [m] of its placement, in the axes of the
        joint as it is placed, as :meth:`with_placements` takes them.
        """
        return self._call(placements.placement_jacobian, 2, q, frame, axes)

    @compiled(q="nq", v="nv", loops=AS_TREE)
    def jacobian_dot_v(self, q: ArrayLike, v: ArrayLike, frame: Any, *, axes: str = "world") -> SameKind:
        """J̇ v, (..., 6) [rad/s², m/s²]: the frame's classical acceleration while v̇ = 0 (JPL 88-11, after (3.17))."""

        def run(model: Model, q: Array, v: Array) -> Array:
            return kinematics.frame_acceleration(model, q, v, None, frame, axes)

        return self._call(run, 1, q, v=v)

    @compiled(q="nq", force=6, loops=AS_TREE)
    def jacobian_force(self, q: ArrayLike, force: ArrayLike, frame: Any) -> SameKind:
        """J* f, (..., nv) [N m, N]: the joint forces for a force f (..., 6) by the tip, world axes (OA (2.1))."""
        f = inputs.vector(force, 6, "force", self)
        q = inputs.configuration(self, q)
        batch, (q, f) = inputs.together(self, q=q, force=f)
        J = kinematics.jacobian(self, q, frame)
        return inputs.fit((arrays.transpose(J) @ f[..., None])[..., 0], batch, 1)

    @compiled(q="nq", loops=AS_TREE)
    def jacobian_outer(self, q: ArrayLike, frame: Any) -> SameKind:
        """J J*, (..., 6, 6), world axes, by an outward recursion (math notes 4)."""
        return self._call(kinematics.jacobian_outer, 2, q, frame)

    @compiled(q="nq", in_parts=_inner_by_jacobian, loops=AS_TREE)
    def jacobian_inner(self, q: ArrayLike, frame: Any) -> SameKind:
        """J* J, (..., nv, nv), as a mass matrix with all inertia at the tip (math notes 4)."""
        return self._call(kinematics.jacobian_inner, 2, q, frame)

    @compiled(q="nq", loops=AS_TREE)
    def jacobian_inner_inverse(self, q: ArrayLike, frame: Any) -> SameKind:
        """(J* J)⁻¹, (..., nv, nv), for arms without redundancy, by the innovations factorisation."""
        return self._call(kinematics.jacobian_inner_inverse, 2, q, frame)

    def inverse_kinematics(
        self,
        frame: Any,
        goal: Any,
        q0: ArrayLike | None = None,
        *,
        part: Any = "pose",
        rest: ArrayLike | Callable[..., Any] | None = None,
        tolerance: float = 1e-6,
        attempts: int = 30,
        seed: int = 0,
        target: str | None = None,
    ) -> Reach:
        """Configurations in which a frame is where it is wanted, within joint limits; for batches of goals at once.

        ``goal`` is a pose (R, p), R (..., 3, 3), p (..., 3) [m], as :meth:`pose` gives it. ``part`` asks for less:
        "position" (goal p), "rotation" (goal R) or "direction" (goal (..., 3): where the frame's z axis points, world
        axes). Several frames come as a list, with a goal for each, and a ``part`` for each or one for all. The search
        starts from ``q0`` (..., nq), by default from the middle of the limits, and then from random configurations
        (``seed``), ``attempts`` in all. ``rest`` (..., nq) is where the joints go as far as the goal leaves them free;
        as a function, ``rest(robot, q)`` is the velocity (nv,) that they have then, the way down of any objective.
        A goal is reached where its errors are at most ``tolerance`` [rad and m]. Robots with loops keep them closed.
        ``target="numpy"`` runs the steps as they are written, goal by goal.

        Returns a :class:`Reach`: ``q`` (..., nq), ``reached`` (...), ``error`` (...), and more.
        """
        from .inverse_kinematics import inverse_kinematics

        options: dict[str, Any] = {"tolerance": tolerance, "attempts": attempts, "seed": seed, "target": target}
        return inverse_kinematics(self, frame, goal, q0, part=part, rest=rest, **options)
