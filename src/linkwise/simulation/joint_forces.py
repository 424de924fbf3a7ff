"""Forces that joints exert by themselves: viscous damping, dry friction, and stops at their limits."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any

import numpy as np

from .. import arrays
from ..arguments import shown, unmasked
from ..arrays import Array, SameKind
from ..dynamics import springs
from ..errors import InputError, NotAdmittedError
from ..model.couplings import per_freedom
from ..model.edit import with_springs
from ..model.joints.modal import Modal
from ..robot.robot import Robot
from ..values import ByValue, owned

STOP_FREQUENCY = 100.0  # [rad/s] of a joint's own inertia on its stop, where no stiffness is given
CREEP = 3.0  # times that speed, below which friction counts as creep
FRICTION_SPEED = 1e-3  # [rad/s, m/s] below which dry friction goes over into creep


@dataclass(frozen=True, eq=False)
class Friction(ByValue):
    """Dry friction of the joints, ``force`` [N m, N]: one number or nv, or True for the robot's own.

    Below ``speed`` [rad/s, m/s] it goes over into creep.
    """

    force: Any = True
    _: KW_ONLY
    speed: float = FRICTION_SPEED

    def __post_init__(self) -> None:
        _own(self)


@dataclass(frozen=True, eq=False)
class Stops(ByValue):
    """Stops at the joints' limits: springs with dampers, which push back beyond a limit and never pull.

    ``lower`` and ``upper`` [rad, m] are numbers or nv, by default the robot's own. Without ``stiffness`` [N m/rad, N/m]
    a stop holds the joint's own inertia (at the neutral configuration, the others free) at 100 rad/s; without
    ``damping`` [N m s/rad, N s/m] it is critically damped.
    """

    lower: Any = None
    upper: Any = None
    _: KW_ONLY
    stiffness: Any = None
    damping: Any = None

    def __post_init__(self) -> None:
        _own(self)


def _own(options: Friction | Stops) -> None:
    """Take copies, which whoever gave the numbers cannot change."""
    for name, value in vars(options).items():
        try:
            mine = deepcopy(value)
        except TypeError:
            what = f"{name} of lw.{type(options).__name__}"
            raise InputError(f"{what} must be numbers, got {shown(value)}") from None
        object.__setattr__(options, name, owned(mine))


@dataclass(frozen=True, eq=False)
class PassiveForces(ByValue):
    """What the joints do by themselves; each array (nv,), or None where it is switched off.

    Damping: −d v. Dry friction: −F v / √(v² + s²), Coulomb's law smoothed below the speed s, so that a joint held by
    friction creeps. Stops: beyond a limit by δ a spring and a damper push back, k δ + c δ̇, and never pull.
    """

    damping: np.ndarray | None = None
    friction: np.ndarray | None = None
    friction_speed: float = FRICTION_SPEED
    lower: np.ndarray | None = None
    upper: np.ndarray | None = None
    stiffness: np.ndarray | None = None
    stop_damping: np.ndarray | None = None

    @property
    def active(self) -> bool:
        """Whether there is any such force."""
        return any(x is not None for x in (self.damping, self.friction, self.lower))

    def resistance(self, v: Array) -> SameKind:
        """Damping and dry friction, (..., nv)."""
        force: Any = 0.0 * v
        if self.damping is not None:
            force = force - arrays.constant(self.damping, v) * v
        if self.friction is not None:
            size = arrays.sqrt(v * v + arrays.constant(np.full(v.shape[-1], self.friction_speed**2), v))
            force = force - arrays.constant(self.friction, v) * v / size
        return force

    def stops(self, robot: Robot, q: Array, v: Array) -> SameKind:
        """What the stops exert, (..., nv)."""
        none = v[..., 0] * 0.0
        if self.lower is None or self.upper is None or self.stiffness is None or self.stop_damping is None:
            return arrays.stack([none] * robot.nv) if robot.nv else v
        columns = []
        for i, place in enumerate(_positions(robot)):
            force = none
            if place is not None and _stops_at(self.lower[i]):
                force = force + self._push(i, q[..., place] - self.lower[i], v[..., i], none)
            if place is not None and _stops_at(self.upper[i]):
                force = force - self._push(i, self.upper[i] - q[..., place], -v[..., i], none)
            columns.append(force)
        return arrays.stack(columns)

    def _push(self, i: int, gap: Array, opening: Array, none: Array) -> SameKind:
        """The force of one stop that opens the gap, for a gap that is negative beyond the limit."""
        assert self.stiffness is not None and self.stop_damping is not None
        force = -_plain(self.stiffness[i]) * gap - _plain(self.stop_damping[i]) * opening
        gap, force = np.asarray(gap), np.asarray(force)
        pushing = arrays.where(arrays.less(force, 0.0), none, force)
        return arrays.where(arrays.less(gap, 0.0), pushing, none)

    # --- how they fall with the motion of their joints ------------------------------------------------

    def resistance_slopes(self, v: Array) -> Any:
        """d with the resistance −d v, (..., nv): of friction the secant F/√(v² + s²), which never pushes."""
        d: Any = 0.0
        if self.damping is not None:
            d = d + arrays.constant(self.damping, v)
        if self.friction is not None:
            size = arrays.sqrt(v * v + arrays.constant(np.full(v.shape[-1], self.friction_speed**2), v))
            d = d + arrays.constant(self.friction, v) / size
        return d

    def stop_slopes(self, robot: Robot, q: Array, v: Array) -> tuple[Any, Any]:
        """(c, k) of the stops that push, (..., nv) each; zero elsewhere."""
        if self.stiffness is None or self.stop_damping is None:
            return 0.0, 0.0
        pushes = self._pushes(robot, q, v)
        return pushes * arrays.constant(self.stop_damping, v), pushes * arrays.constant(self.stiffness, v)

    def _pushes(self, robot: Robot, q: Array, v: Array) -> Any:
        """1 where a stop pushes, and 0 elsewhere, (..., nv)."""
        none = 0.0 * v
        return arrays.where(arrays.less(-abs(np.asarray(self.stops(robot, q, v))), 0.0), none + 1.0, none)

    def breaks(self, robot: Robot, before: tuple[Array, Array], after: tuple[Array, Array]) -> Any:
        """More than 0 where forces do not change smoothly from one state (q, v) to another, (..., 1); None: nowhere.

        Where a stop begins or ends to push, and where friction goes over into creep, or out of it, in one leap.
        """
        found: list[Any] = []
        if self.lower is not None:
            found.append(abs(self._pushes(robot, *before) - self._pushes(robot, *after)))
        if self.friction is not None:
            v, w = np.asarray(before[1]), np.asarray(after[1])
            speed, none = self.friction_speed, 0.0 * v
            leaps = arrays.where(arrays.less(speed - abs(w - v), 0.0), none + 1.0, none)
            near = sum(arrays.where(arrays.less(abs(x) - CREEP * speed, 0.0), none + 1.0, none) for x in (v, w))
            opposite = arrays.where(arrays.less(v * w, 0.0), none + 1.0, none)
            found.append(arrays.constant(1.0 * (self.friction > 0), v) * leaps * (near + opposite))
        return sum(x.sum(axis=-1, keepdims=True) for x in found) if found else None

    @property
    def falls_as_it_is(self) -> bool:
        """Whether its slopes are the same in every state."""
        return self.friction is None and self.lower is None

    @property
    def kinds(self) -> list[Any]:
        """Which forces there are, whatever their numbers: by joint, those that are finite."""
        found = [(f.name, getattr(self, f.name)) for f in fields(self)]
        return [(k, np.isfinite(x).tolist() if isinstance(x, np.ndarray) else x) for k, x in found if x is not None]

    def to_plain(self) -> dict[str, Any]:
        """As lists and numbers, for files; what is switched off is left out."""
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        return {k: x.tolist() if isinstance(x, np.ndarray) else x for k, x in found.items() if x is not None}

    @staticmethod
    def from_plain(found: Mapping[str, Any]) -> PassiveForces:
        known: dict[str, Any] = {k: np.asarray(x, dtype=float) for k, x in found.items()}
        return PassiveForces(**known | {"friction_speed": float(found["friction_speed"])})


def _stops_at(limit: Any) -> bool:
    """Whether there is a stop: at a symbol there is, at infinity there is none."""
    return not isinstance(limit, (float, np.floating)) or bool(np.isfinite(limit))


def _plain(x: Any) -> Any:
    """A number of NumPy's as Python's, which leaves the precision of arrays; symbols as they are."""
    return float(x) if isinstance(x, np.floating) else x


def passive_forces(robot: Robot, damping: Any = False, friction: Any = False, limits: Any = False) -> PassiveForces:
    """The passive forces of a robot: True takes its own numbers, an array (nv,) or a number others.

    Damping that acts in the robot's own dynamics is not among them. ``friction`` may be a :class:`Friction`, and
    ``limits`` a pair (lower, upper) or :class:`Stops`.
    """
    dry = friction if isinstance(friction, Friction) else Friction(friction)
    for given, what in ((damping, "damping_as_data"), (dry.force, "friction")):
        if given is True:
            _refuse_unreflected(robot, what)
    if damping is not None and _is_one(damping):
        structural = _structural(robot)
        damping = _numbers(robot, damping, np.zeros(robot.nv), "damping", default=True)
        for k in structural:
            damping[robot.v_slices[k]] = 0.0
    chosen: dict[str, Any] = {
        "damping": _numbers(robot, damping, per_freedom(robot, "damping_as_data", 2), "damping"),
        "friction": _numbers(robot, dry.force, robot.friction, "friction"),
        "friction_speed": _speed(dry.speed),
    }
    if limits is not False and limits is not None:
        chosen |= _stops(robot, _as_stops(limits))
    return PassiveForces(**chosen)


def with_other_damping(robot: Robot, damping: Any) -> Robot:
    """The robot that moves where ``damping`` is asked for: with its own dampers, or without where others take their
    place, or none (False). One number is the joints', and leaves modes and the springs of gears what they have."""
    kept = damping is None or damping is True or not springs.any_dampers(robot)
    return (
        robot if kept else with_springs(robot, damping_acts=False, but=_structural(robot) if _is_one(damping) else ())
    )


def _is_one(damping: Any) -> bool:
    """Whether damping is one number for all joints."""
    return not isinstance(damping, (bool, np.bool_)) and np.ndim(damping) == 0


def _structural(robot: Robot) -> list[int]:
    """The joints that are no joints of the robot's: modes of flexible bodies, and springs that motors drive through."""
    found = []
    for k, joint in enumerate(robot.joints):
        effort = joint.limits.arrays(joint.kind.nv)[3]
        sprung = bool(np.any(np.asarray(joint.stiffness))) and len(effort) > 0 and bool((effort == 0).all())
        if isinstance(joint.kind, Modal) or sprung:
            found.append(k)
    return found


def _refuse_unreflected(robot: Robot, what: str) -> None:
    """Of a joint that follows others by no constant ratio, damping and friction are no constants of theirs."""
    for k, c in robot.dependents.items():
        if c.ratio is None and np.any(np.asarray(getattr(robot.joints[k], what))):
            said = what.removesuffix("_as_data")
            raise NotAdmittedError(
                f"joint {c.dependent!r} has {said} and follows {', '.join(map(repr, c.independents))} by no constant"
                f" ratio, so that it is no constant at those; give {said}= {robot.nv} numbers of your own"
            )


def _as_stops(limits: Any) -> Stops:
    if isinstance(limits, Stops):
        return limits
    if limits is True:
        return Stops()
    try:
        lower, upper = limits
    except (TypeError, ValueError):
        raise InputError(f"limits must be True, False, (lower, upper) or lw.Stops, got {limits!r}") from None
    return Stops(lower, upper)


def _stops(robot: Robot, stops: Stops) -> dict[str, Any]:
    own = (robot.lower_limits, robot.upper_limits)
    lower, upper = _pair(robot, [x if given is None else given for given, x in zip((stops.lower, stops.upper), own)])
    _refuse_limits_without_position(robot, lower, upper)
    if not (np.isfinite(lower).any() or np.isfinite(upper).any()):
        return {}
    inertia = 1.0 / np.diagonal(robot.mass_matrix_inverse(robot.neutral(), target="numpy"))
    k = _numbers(robot, stops.stiffness, inertia * STOP_FREQUENCY**2, "the stiffness of stops", default=True)
    c = _numbers(robot, stops.damping, 2.0 * np.sqrt(k * inertia), "the damping of stops", default=True)
    return {"lower": lower, "upper": upper, "stiffness": k, "stop_damping": c}


def _speed(speed: Any) -> float:
    try:
        value = float(speed)
    except (TypeError, ValueError):
        raise InputError(f"the speed of friction must be a number, got {speed!r}") from None
    if not 0 < value <= math.sqrt(sys.float_info.max):
        raise InputError(f"the speed of friction must be positive, and its square finite, got {speed!r}")
    return value


def _numbers(robot: Robot, given: Any, own: np.ndarray, what: str, default: bool = False) -> Any:
    """(nv,) numbers that are not negative; None where switched off or all zero."""
    if given is None and default:
        given = True
    if given is False or given is None:
        return None
    unmasked(given, what)
    try:
        out = np.broadcast_to(np.asarray(own if given is True else given, dtype=float), (robot.nv,)).copy()
    except (TypeError, ValueError):
        raise InputError(f"{what} must be True, False, a number or {robot.nv} numbers, got {given!r}") from None
    if not (np.isfinite(out).all() and (out >= 0).all()):
        raise InputError(f"{what} must be finite and not negative, got {out.tolist()}")
    return out if out.any() or default else None


def _pair(robot: Robot, limits: Any) -> list[np.ndarray]:
    unmasked(limits, "limits")
    try:
        lower, upper = (np.broadcast_to(np.asarray(x, dtype=float), (robot.nv,)).copy() for x in limits)
    except (TypeError, ValueError):
        raise InputError(f"limits must be numbers, or {robot.nv} of them each, lower and upper") from None
    if np.isnan(lower).any() or np.isnan(upper).any() or (lower > upper).any():
        raise InputError("limits: no lower limit may exceed its upper limit, and none may be NaN")
    return [lower, upper]


def _positions(robot: Robot) -> list[int | None]:
    """Where in q the position of each degree of freedom is; None for joints whose velocity is not its rate."""
    places: list[int | None] = []
    for joint, a, _ in robot.coordinates:
        plain = joint.kind.nq == joint.kind.nv and joint.kind.kind != "planar"
        places += [a.start + i if plain else None for i in range(joint.kind.nv)]
    return places


def _refuse_limits_without_position(robot: Robot, lower: np.ndarray, upper: np.ndarray) -> None:
    names = [joint.name for joint, _, _ in robot.coordinates for _ in range(joint.kind.nv)]
    for i, place in enumerate(_positions(robot)):
        if place is None and (np.isfinite(lower[i]) or np.isfinite(upper[i])):
            raise NotAdmittedError(
                f"joint {names[i]!r} has limits, but no positions of its own to stop at; limits=False, or limits of"
                " your own, (lower, upper), leave them out"
            )
