"""The methods of a robot that give another robot: joints locked, payloads, other inertias, another gravity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ..model import edit, elastic
from ..model.elastic import Gear
from ..model.inertia import Inertia
from .calls import Calls

R = TypeVar("R", bound="Edited")


@dataclass(frozen=True, eq=False, repr=False)
class Edited(Calls):
    """Robots made from a robot, which stays as it is."""

    # --- other robots from this one ------------------------------------------------------------------

    def lock(self: R, joints: Iterable[str] | Mapping[str, Any], *, q: Any = None) -> R:
        """This robot with some joints locked: a mapping joint → value, or names and a full q."""
        return edit.lock(self, joints, q)

    def weld(
        self: R, body: str, payload: Inertia, *, at: Any = (0, 0, 0), rpy: Any = None, frame: str | None = None
    ) -> R:
        """This robot with a payload fixed on a body (or frame)."""
        return edit.weld(self, body, payload, at, rpy, frame)

    def floating(self: R, *, joint_name: str = "root_joint") -> R:
        """This robot with its base link on a free joint."""
        return edit.float_base(self, joint_name)

    def merge_fixed(self: R) -> R:
        """This robot with bodies on fixed joints made part of their parents."""
        return edit.merge_fixed(self)

    def with_inertias(self: R, inertias: Mapping[str, Inertia]) -> R:
        """This robot with new inertias for some bodies."""
        return edit.with_inertias(self, inertias)

    @property
    def inertial_parameters(self) -> np.ndarray:
        """(bodies, 10): m, first moment (3), Jxx, Jxy, Jyy, Jxz, Jyz, Jzz about each body's origin.

        [kg, kg m, kg m²], body axes.
        """
        return edit.inertial_parameters(self)

    def with_inertial_parameters(self: R, parameters: Any) -> R:
        """This robot with the ten inertial parameters (bodies, 10) of every body replaced."""
        return edit.with_inertial_parameters(self, parameters)

    def with_placements(self: R, changes: Any) -> R:
        """This robot with its joints placed elsewhere: changes (bodies, 6), [rotation vector; displacement] [rad, m].

        Each is in the axes of the joint as it is placed; what is on the bodies goes with them. The axes of spinning
        rotors stay with the bodies that carry them.
        """
        return edit.with_placements(self, changes)

    def with_springs(
        self: R, springs: Mapping[str, Mapping[str, Any]] | None = None, *, damping_acts: bool | None = None
    ) -> R:
        """This robot with other springs and dampers in some joints: ``{"elbow": {"stiffness": 30.0, "rest": 0.2}}``.

        ``stiffness`` [N m/rad, N/m], ``rest`` and ``damping`` [N m s/rad, N s/m] as :class:`linkwise.Joint` takes them;
        what is not named stays as it is, and damping that is named acts. ``damping_acts`` has the damping of all joints
        act in the dynamics (that of URDF files does not), or be data.
        """
        return edit.with_springs(self, springs, damping_acts)

    def with_elastic_joints(self: R, gears: Mapping[str, Gear]) -> R:
        """This robot with motors that drive some joints through springs: ``{"elbow": lw.Gear(5e3, ratio=100, …)}``.

        Each such joint becomes two: the motor's under its name, with coordinate θ [rad or m, behind the gear] and the
        joint force, and ``elbow_spring`` with the link's lead δ = q − θ. The link's position is the sum of both.
        """
        return elastic.with_elastic_joints(self, gears)

    def with_gravity(self: R, gravity: Any) -> R:
        """This robot under another gravity (3,) [m/s²]."""
        return edit.with_gravity(self, gravity)
