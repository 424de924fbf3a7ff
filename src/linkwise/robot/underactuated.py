"""The methods of a robot for joints that no motor drives: how they respond to the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..arguments import names
from ..arrays import ArrayLike, SameKind
from ..dynamics import underactuated
from ..errors import InputError
from ..model.joints.kinds import Free
from ..model.joints.modal import Modal
from ..model.model import Model
from .calls import Calls
from .dispatch import compiled
from .for_loops import CUT_ALONE


def driven_bodies(model: Model, fixed: Mapping[str, Any]) -> list[bool]:
    """Of every body whether its joint is driven, by the other arguments of the methods here."""
    driven = set(_driven(model, fixed.get("passive")))
    return [k in driven and bool(joint.kind.nv) for k, joint in enumerate(model.joints)]


@dataclass(frozen=True, eq=False, repr=False)
class Underactuated(Calls):
    """Disturbance maps and generalised Jacobians."""

    @compiled(
        q="nq",
        joint_space=True,
        rolls=True,
        per_pair=25,
        rolls_with=("passive",),
        driven=driven_bodies,
        loops=CUT_ALONE,
    )
    def disturbance_map(self, q: ArrayLike, *, passive: Iterable[str] | None = None) -> SameKind:
        """S = −𝓜_pp⁻¹𝓜_pa, (..., n_p, n_a): accelerations of the ``passive`` joints for unit ones of all others.

        At rest and without forces on the passive joints; times the rates of the others, also the rates of the passive
        ones while these have no momentum. Default for ``passive``: joints that no motor drives (free ones, modes of
        flexible bodies, those whose effort limit is zero); where there are none, S has no rows. Rows and columns in the
        order of v; O(n) each.
        """
        return self._call(underactuated.disturbance_map, 2, q, _driven(self, passive))

    @compiled(q="nq", rolls=True, rolls_with=("frame", "passive"), driven=driven_bodies, loops=CUT_ALONE)
    def generalized_jacobian(self, q: ArrayLike, frame: Any, *, passive: Iterable[str] | None = None) -> SameKind:
        """J_a + J_pS, (..., 6, n_a), world axes: [ω; v] of a frame for unit rates of the driven joints.

        The ``passive`` joints (see :meth:`disturbance_map`) give way. Where the base of a robot floats and nothing else
        is passive, that is its motion without momentum (Umetani and Yoshida's generalised Jacobian).
        """
        return self._call(underactuated.generalized_jacobian, 2, q, frame, _driven(self, passive))


def undriven_joints(model: Model) -> list[str]:
    """Joints that no motor drives: free ones, modes of flexible bodies, and those whose effort limit is zero."""
    out = []
    for joint, _, _ in model.coordinates:
        effort = joint.limits.arrays(joint.kind.nv)[3]
        if joint.kind.nv and (isinstance(joint.kind, (Free, Modal)) or (effort == 0).all()):
            out.append(joint.name)
    return out


def _driven(model: Model, passive: Iterable[str] | None) -> list[int]:
    """The bodies on joints that are not passive and follow no other."""
    given = undriven_joints(model) if passive is None else names(passive, "passive", "joint names")
    idle = {model.joint(name) for name in given}
    for k in idle & set(model.dependents):
        raise InputError(
            f"joint {model.joints[k].name!r} follows others and is driven by what drives those; it cannot be passive"
        )
    return [k for k in range(len(model.joints)) if k not in idle and k not in model.dependents]
