"""Elastic gears: joints that a motor drives through a spring (math notes on closed chains 5.5).

The joint becomes two in a row about the same axis: the motor's, whose coordinate θ is its angle behind the gear and
which carries the rotor's reflected inertia γ²J, and the spring's, whose coordinate δ = q − θ is how far the link is
ahead of it. So the link feels kδ + dδ̇, and all algorithms stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ..arguments import mapping, shown
from ..errors import InputError, ModelError
from ..values import ByValue
from .inertia import Inertia, as_number
from .joints.axes import unit_axis
from .joints.kinds import Helical, Prismatic, Revolute
from .model import Model
from .parts import Body, Joint, Limits, Rotor

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, eq=False)
class Gear(ByValue):
    """An elastic gear: ``stiffness`` k [N m/rad, N/m] and ``damping`` [N m s/rad, N s/m] between motor and link, as the
    link feels them, and the motor's ``rotor`` inertia [kg m²; kg for slides], which turns ``ratio`` times as fast.

    Without ``rotor`` that of the joint is taken (:class:`Rotor`). With ``axis`` (fixed in the body that carries the
    motor, in its axes, or "x", "y", "z") the rotor's gyroscopic effects on that body count too.
    """

    stiffness: float
    _: KW_ONLY
    ratio: float = 1.0
    rotor: float | None = None
    damping: float = 0.0
    axis: Any = None

    def __post_init__(self) -> None:
        for name in ("stiffness", "ratio", "damping"):
            object.__setattr__(self, name, as_number(getattr(self, name), f"the {name} of a gear"))
        if self.rotor is not None:
            object.__setattr__(self, "rotor", as_number(self.rotor, "the rotor inertia of a gear"))
        if self.stiffness <= 0 or self.damping < 0 or self.ratio == 0 or (self.rotor is not None and self.rotor <= 0):
            raise ModelError(
                "a gear has a positive stiffness and rotor inertia, a ratio other than zero and no negative damping,"
                f" got {self!r}"
            )
        if self.axis is not None:
            object.__setattr__(self, "axis", unit_axis(self.axis, "the axis of a gear's rotor"))


def with_elastic_joints(model: M, gears: Mapping[str, Gear]) -> M:
    """The robot with motors that drive these joints through springs."""
    found = {model.joint(name): gear for name, gear in mapping(gears, "gears").items()}
    followed = {name for c in model.couplings for name in (c.dependent, *c.independents)}
    bodies: list[Body] = []
    for k, body in enumerate(model.bodies):
        if k not in found:
            bodies.append(body)
            continue
        _refuse(body.joint, found[k], body.joint.name in followed)
        bodies += _in_a_row(body, found[k])
    return replace(model, bodies=tuple(bodies))


def _refuse(joint: Joint, gear: Any, coupled: bool) -> None:
    what = f"joint {joint.name!r}"
    if not isinstance(gear, Gear):
        raise InputError(f"the gear of {what} must be an lw.Gear, got {shown(gear)}")
    if not isinstance(joint.kind, (Revolute, Prismatic, Helical)):
        raise ModelError(f"{what} is {joint.kind.kind}; elastic gears drive joints of one degree of freedom")
    if coupled:
        raise ModelError(f"{what} is coupled with others; give the gear first, and couple the motors then")
    if np.any(np.asarray(joint.stiffness)):
        raise ModelError(
            f"{what} has a spring of its own between the two bodies; a gear has one between motor and link. Take one"
            f" away: robot.with_springs({{{joint.name!r}: {{'stiffness': 0.0}}}})"
        )
    if gear.rotor is None and (joint.rotor is None or joint.rotor.inertia == 0):
        raise ModelError(f"{what} has no rotor, so that nothing would resist its motor; give lw.Gear(…, rotor=)")


def _in_a_row(body: Body, gear: Gear) -> list[Body]:
    """What the motor moves, without mass, and the body on the spring behind it."""
    joint = body.joint
    rotor = joint.rotor if gear.rotor is None else Rotor(gear.rotor, gear.ratio, axis=gear.axis)
    motor = Body(f"{body.name}_motor", replace(joint, rotor=rotor), Inertia(), body.parent)
    motorless = Limits(effort=0.0)  # what is behind the spring has no motor of its own
    spring = Joint(joint.kind, f"{joint.name}_spring", limits=motorless, stiffness=gear.stiffness, damping=gear.damping)
    return [motor, replace(body, joint=spring, parent=motor.name)]
