"""The parts a robot is assembled from: joints, rotors, limits, bodies, frames. Frozen, checked on entry."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np

from ..arguments import shown, unmasked
from ..errors import ModelError
from ..spatial import Transform, rotation_from_rpy
from ..values import ByValue, fixed
from .flexible.body import Flexible
from .inertia import Inertia, as_array, as_number, as_vector
from .joints.axes import unit_axis
from .joints.kinds import JointKind
from .joints.springs import check_spring

WORLD = "world"


def make_pose(at: Any = (0.0, 0.0, 0.0), rpy: Any = None, rotation: Any = None, what: str = "a pose") -> Transform:
    """A constant pose from an offset ``at`` [m] and either ``rpy`` angles [rad] or a rotation matrix."""
    offset = as_vector(at, f"the position of {what}")
    if rpy is not None and rotation is not None:
        raise ModelError(f"give {what} either rpy= or rotation=, not both")
    if rotation is None:
        R = np.eye(3) if rpy is None else rotation_from_rpy(as_vector(rpy, f"the rpy angles of {what}"))
        R[np.abs(R) < 1e-15] = 0.0  # cos(π/2) is 6e-17 in floats: quarter turns should have true zeros
    else:
        R = as_array(rotation, f"the rotation of {what} must be a 3×3 matrix of numbers")
        if R.shape != (3, 3) or not np.isfinite(R).all():
            raise ModelError(f"the rotation of {what} must be a finite 3×3 matrix")
        if np.abs(R).max() > 2.0 or np.abs(R @ R.T - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0:
            raise ModelError(f"the rotation of {what} is not a rotation matrix (R R* ≠ I or det R < 0)")
    return Transform(fixed(R), offset)


def set_pose(part: Any, name: str, what: str) -> None:
    """Give a part being made the pose that its ``at``, ``rpy`` and ``rotation`` say, and copies of these to keep."""
    pose = make_pose(part.at, part.rpy, part.rotation, what)
    kept = {"at": pose.l, "rpy": part.rpy, "rotation": part.rotation if part.rotation is None else pose.R, name: pose}
    if part.rpy is not None:
        kept["rpy"] = as_vector(part.rpy, f"the rpy angles of {what}")
    for field_name, value in kept.items():
        object.__setattr__(part, field_name, value)


def _kept(x: Any) -> Any:
    """Numbers given as a list or an array as a read-only copy; what is no number waits for the joint's checks."""
    if not isinstance(x, (list, tuple, np.ndarray)):
        return x
    unmasked(x, "what a joint or its limits are given", ModelError)
    try:
        return fixed(np.array(x, dtype=float))
    except (TypeError, ValueError):
        return x


@dataclass(frozen=True, eq=False)
class Limits(ByValue):
    """What a joint may do, kept as data: position, velocity [rad/s, m/s] and effort [N m, N] bounds.

    One number, or one per degree of freedom. None means unlimited. No algorithm enforces them.
    """

    lower: Any = None
    upper: Any = None
    _: KW_ONLY
    velocity: Any = None
    effort: Any = None

    def __post_init__(self) -> None:
        for label in ("lower", "upper", "velocity", "effort"):
            object.__setattr__(self, label, _kept(getattr(self, label)))

    def arrays(self, nv: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(lower, upper, velocity, effort), each (nv,), with ±inf for unlimited."""

        def expand(x: Any, default: float) -> np.ndarray:
            return np.broadcast_to(np.asarray(default if x is None else x, dtype=float), (nv,)).copy()

        return (
            expand(self.lower, -np.inf),
            expand(self.upper, np.inf),
            expand(self.velocity, np.inf),
            expand(self.effort, np.inf),
        )


@dataclass(frozen=True, eq=False)
class Rotor(ByValue):
    """A motor's rotor behind a gear: it spins ``gear_ratio`` times as fast as its joint.

    ``inertia`` [kg m²] is about the spin axis. Its reflected inertia gear_ratio² · inertia is added at
    the joint (math notes 12.6). Where ``axis`` is given (the spin axis, fixed in the *parent* body, in
    the parent's axes, or "x", "y", "z"), the rotor's gyroscopic and coupling effects on the parent are
    modelled in full; the rotor's mass and locked inertia then belong to the parent's own inertia.
    """

    inertia: float
    gear_ratio: float = 1.0
    _: KW_ONLY
    axis: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "inertia", as_number(self.inertia, "a rotor's inertia"))
        object.__setattr__(self, "gear_ratio", as_number(self.gear_ratio, "a gear ratio"))
        if self.inertia < 0:
            raise ModelError(f"a rotor's inertia must not be negative, got {self.inertia}")
        if self.axis is not None:
            object.__setattr__(self, "axis", unit_axis(self.axis, "the rotor's axis"))

    @property
    def reflected(self) -> float:
        """The inertia felt at the joint [kg m²]."""
        return self.gear_ratio**2 * self.inertia


@dataclass(frozen=True)
class Mimic:
    """This joint's file says: q = multiplier · q(joint) + offset. Loading a file imposes it (``Robot.couple``)."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class Joint(ByValue):
    """How a body moves in its parent: a kind, placed at ``at`` [m], ``rpy`` [rad] (or ``rotation``) there.

    ``rotor``, a spring of ``stiffness`` [N m/rad, N/m] that rests at ``rest`` (a configuration of the joint; default
    its zero), and ``damping`` [N m s/rad, N s/m] are part of the dynamics: all algorithms that have forces have theirs.
    Stiffness and damping are one number, or one per degree of freedom. With ``damping_acts=False`` damping is data, as
    ``limits``, ``friction`` and ``mimic`` are: for the user, and for simulations that are told to apply it.
    """

    kind: JointKind
    name: str = ""
    _: KW_ONLY
    at: Any = field(default=(0.0, 0.0, 0.0), compare=False)
    rpy: Any = field(default=None, compare=False)
    rotation: Any = field(default=None, compare=False)
    limits: Limits = field(default_factory=Limits)
    stiffness: Any = 0.0
    rest: Any = None
    damping: Any = 0.0
    damping_acts: bool = True
    friction: Any = 0.0
    rotor: Rotor | None = None
    mimic: Mimic | None = None
    placement: Transform = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ModelError(f"the name of a joint must be a text, got {shown(self.name)}")
        what = f"joint {self.name!r}" if self.name else "a joint"
        if not isinstance(self.kind, JointKind):
            raise ModelError(f"{what} needs a joint kind such as lw.Revolute('z'), got {self.kind!r}")
        set_pose(self, "placement", what)
        for label, kind, none in (("limits", Limits, False), ("rotor", Rotor, True), ("mimic", Mimic, True)):
            given = getattr(self, label)
            if not (isinstance(given, kind) or (none and given is None)):
                raise ModelError(f"{what}: {label} must be an lw.{kind.__name__}, got {shown(given)}")
        if self.rotor is not None and self.rotor.axis is not None and self.kind.nv != 1:
            raise ModelError(f"{what}: a rotor with an axis needs a joint of one degree of freedom")
        if not isinstance(self.damping_acts, bool):
            raise ModelError(f"{what}: damping_acts must be True or False, got {shown(self.damping_acts)}")
        for label in ("stiffness", "damping", "friction"):
            object.__setattr__(self, label, _kept(getattr(self, label)))
            value = as_array(getattr(self, label), f"{what}: {label} must be a number")
            if value.ndim > 1 or (value.ndim == 1 and value.shape != (self.kind.nv,)):
                raise ModelError(f"{what}: {label} must be one number or {self.kind.nv}, got shape {value.shape}")
            if not np.isfinite(value).all() or (value < 0).any():
                raise ModelError(f"{what}: {label} must be finite and not negative, got {value.tolist()}")
        object.__setattr__(self, "rest", check_spring(self.kind, self.stiffness, self.rest, what))
        try:
            lower, upper, velocity, effort = self.limits.arrays(self.kind.nv)
        except (TypeError, ValueError):
            raise ModelError(f"{what}: limits must be one number or one per degree of freedom") from None
        if np.isnan(lower).any() or np.isnan(upper).any() or (lower > upper).any():
            raise ModelError(f"{what}: the lower limit {lower} must not exceed the upper limit {upper}")
        for label, bound in (("velocity", velocity), ("effort", effort)):
            if np.isnan(bound).any() or (bound < 0).any():
                raise ModelError(f"{what}: the {label} limit must not be negative or NaN, got {bound.tolist()}")

    @property
    def damping_as_data(self) -> Any:
        """The damping that does not act in the dynamics."""
        return 0.0 if self.damping_acts else self.damping


@dataclass(frozen=True, eq=False)
class Body(ByValue):
    """A body and the joint that holds it: ``joint`` may be a bare kind such as ``lw.Revolute('y')``.

    With an :class:`linkwise.Flexible` in place of an inertia it bends. Other bodies then hang on its nodes, by the name
    of the node (``"arm.tip"``) or by the body's and a joint placed where the node is.
    """

    name: str
    joint: Any
    inertia: Any = field(default_factory=Inertia)
    parent: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ModelError(f"a body needs a name, got {self.name!r}")
        joint = Joint(self.joint) if isinstance(self.joint, JointKind) else self.joint
        if not isinstance(joint, Joint):
            raise ModelError(f"body {self.name!r} needs a joint (lw.Joint or a kind), got {self.joint!r}")
        if not joint.name:
            joint = replace(joint, name=f"{self.name}_joint")
        object.__setattr__(self, "joint", joint)
        if not isinstance(self.inertia, (Inertia, Flexible)):
            given = shown(self.inertia)
            raise ModelError(f"the inertia of body {self.name!r} must be an lw.Inertia or an lw.Flexible, got {given}")


@dataclass(frozen=True, eq=False)
class Frame(ByValue):
    """A named frame fixed on a body (``None``: on the world) at ``at`` [m], ``rpy`` [rad].

    Frames of the same name, body and pose are equal, however they were given.
    """

    name: str
    body: str | None = None
    _: KW_ONLY
    at: Any = field(default=(0.0, 0.0, 0.0), compare=False)
    rpy: Any = field(default=None, compare=False)
    rotation: Any = field(default=None, compare=False)
    pose: Transform = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ModelError(f"a frame needs a name, got {self.name!r}")
        set_pose(self, "pose", f"frame {self.name!r}")

    @staticmethod
    def from_pose(name: str, body: str | None, pose: Transform) -> Frame:
        return Frame(name, body, at=pose.l, rotation=pose.R)
