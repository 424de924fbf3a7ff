"""The methods of a robot that are about coupled joints: making them, and where the joints are that follow others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from .. import arrays
from ..arrays import Array
from ..dynamics.links import Links, evaluate
from ..errors import InputError
from ..model import edit
from ..model.flexible.structure import shared_modes
from ..model.model import Model
from .calls import Calls
from .dispatch import compiled
from .for_loops import AS_TREE

R = TypeVar("R", bound="CoupledJoints")


def refuse_following(robot: Model, joints: Iterable[str], done: str, option: str) -> None:
    """Refuse joints that follow others where an ``option`` names joints, each to be "kept" or "driven" by itself."""
    for joint in joints:
        coupling = robot.dependents.get(robot.joint(joint))
        if coupling is not None:
            followed = ", ".join(map(repr, coupling.independents))
            raise InputError(
                f"joint {joint!r} follows {followed} and cannot be {done} by itself; name what it follows in"
                f" {option}=[…]"
            )


def _free(model: Model, x: Sequence[Any]) -> list[Any]:
    """What joints have, without the points of flexible bodies that share their modes with another one."""
    return [y for k, y in enumerate(x) if k not in shared_modes(model)]


def _stacked(model: Model, links: Links, blocks: Sequence[Array], width: int) -> Array:
    """Rows of those joints one below the other."""
    filled = [b for b in _free(model, blocks) if b.shape[-2]]
    return arrays.concatenate(filled, axis=-2) if filled else links.stack(blocks, width)


@dataclass(frozen=True, eq=False, repr=False)
class CoupledJoints(Calls):
    """Joints that follow others, exactly: mimic fingers, gears, differentials, racks and pinions, cams."""

    def couple(
        self: R,
        dependent: str,
        independents: str | Sequence[str],
        *,
        ratio: Any = None,
        offset: Any = None,
        relation: Callable[..., Any] | None = None,
    ) -> R:
        """This robot with the joint ``dependent`` where others say: q_dep = ratio · q + offset, 1 and 0 unless given.

        ``independents`` is a joint's name, or several with as many ratios. ``relation`` is any smooth function of their
        positions instead, such as ``lambda a, b: np.sin(a) * b``; it is traced once, and its derivatives are exact. A
        dependent joint has no entry in q, v or τ: ``nq`` and ``nv`` count independent coordinates, and all algorithms
        run in these. Joints of one degree of freedom only.
        """
        return edit.couple(self, dependent, independents, ratio, offset, relation)

    def uncouple(self: R, joints: Iterable[str] | None = None) -> R:
        """This robot with these dependent joints independent again; by default with all of them."""
        return edit.uncouple(self, joints)

    @compiled(q="nq", loops=AS_TREE)
    def joint_positions(self, q: Any) -> Array:
        """The positions of all joints, (..., nq of :meth:`uncouple`), those that follow others included [rad, m]."""

        def run(model: Model, q: Array) -> Array:
            theta = [x for x in _free(model, evaluate(model, q).theta) if x.shape[-1]]
            return arrays.concatenate([x[..., None] for x in theta], axis=-2)[..., 0] if theta else q

        return self._call(run, 1, q)

    @compiled(q="nq", v="nv", loops=AS_TREE)
    def joint_velocities(self, q: Any, v: Any) -> Array:
        """The rates of all joints, (..., nv of :meth:`uncouple`), those that follow others included [rad/s, m/s]."""

        def run(model: Model, q: Array, v: Array) -> Array:
            links = evaluate(model, q)
            return _stacked(model, links, links.split(v), 1)[..., 0]

        return self._call(run, 1, q, v=v)

    @compiled(q="nq", loops=AS_TREE)
    def coupling_jacobian(self, q: Any) -> Array:
        """X, (..., nv of :meth:`uncouple`, nv): the rates of all joints are X v, and τ = X* of what acts at them."""

        def run(model: Model, q: Array) -> Array:
            links = evaluate(model, q)
            return _stacked(model, links, links.split_rows(arrays.eye(model.nv, like=q)), model.nv)

        return self._call(run, 2, q)
