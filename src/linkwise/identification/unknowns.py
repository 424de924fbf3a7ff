"""What is to be found of a robot: its unknown numbers, their names and units, and the columns they multiply.

Joint forces are linear in all of them (Linearized dynamics paper §1):

    T = Yπ + Γ v̇ + k (q − rest) + d v + f v/√(v² + s²) + o,

π the inertial parameters of the unknown bodies, Γ the rotors' inertias as their joints feel them, k the stiffness of
springs, d and f viscous and dry friction (that of :func:`linkwise.simulate`), o what a sensor shows at rest. Everything
else that the robot's inverse dynamics knows stays as it is: other bodies, springs, couplings, external forces.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arguments import names
from ..dynamics.inverse_kinematics import length_of
from ..errors import InputError, NotAdmittedError
from ..model.couplings import per_freedom
from ..model.edit import inertial_parameters
from ..model.flexible.structure import parts_of_flexible
from ..model.joints.kinds import Free
from ..model.joints.modal import Modal
from ..model.parts import Joint, Rotor
from ..properties import cached_property
from ..robot.coupled import refuse_following
from ..robot.robot import Robot
from ..simulation.joint_forces import FRICTION_SPEED

INERTIAL = ("m", "hx", "hy", "hz", "Jxx", "Jxy", "Jyy", "Jxz", "Jyz", "Jzz")
_INERTIAL_UNITS = ("kg", *["kg m"] * 3, *["kg m²"] * 6)


@dataclass(frozen=True)
class Rows:
    """What is measured at every sample: joint forces of these degrees of freedom, and the wrench on the base or not."""

    forces: tuple[int, ...]
    wrench: bool = False

    def __len__(self) -> int:
        return len(self.forces) + 6 * self.wrench


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Bodies with unknown inertias, joints with unknown rotors, and degrees of freedom with the rest unknown."""

    robot: Robot
    bodies: tuple[int, ...]
    rotors: tuple[int, ...] = ()
    springs: tuple[int, ...] = ()
    damping: tuple[int, ...] = ()
    friction: tuple[int, ...] = ()
    offsets: tuple[int, ...] = ()

    @cached_property
    def parts(self) -> dict[str, slice]:
        """Where in the vector of unknowns each sort is."""
        sizes = {"inertia": 10 * len(self.bodies)}
        sizes |= {name: len(getattr(self, name)) for name in ("rotors", "springs", "damping", "friction", "offsets")}
        ends = np.cumsum(list(sizes.values()))
        return {name: slice(int(end) - n, int(end)) for (name, n), end in zip(sizes.items(), ends)}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """One for each unknown, such as "hand.m" or "elbow.damping"."""
        joints = _of_each_rate(self.robot)
        out = [f"{self.robot.bodies[k].name}.{x}" for k in self.bodies for x in INERTIAL]
        out += [f"{self.robot.joints[k].name}.rotor" for k in self.rotors]
        for sort, word in (
            ("springs", "stiffness"),
            ("damping", "damping"),
            ("friction", "friction"),
            ("offsets", "offset"),
        ):
            out += [f"{joints[i]}.{word}" for i in getattr(self, sort)]
        return tuple(out)

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Of each unknown; of those at prismatic joints in metres for radians."""
        turns = _turns(self.robot)
        out = list(_INERTIAL_UNITS) * len(self.bodies)
        out += ["kg m²" if turns[self.robot.v_slices[k].start] else "kg" for k in self.rotors]
        out += ["N m/rad" if turns[i] else "N/m" for i in self.springs]
        out += ["N m s/rad" if turns[i] else "N s/m" for i in self.damping]
        return (*out, *("N m" if turns[i] else "N" for i in (*self.friction, *self.offsets)))

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def own(self) -> np.ndarray:
        """What the robot says of each, (unknowns,)."""
        rotors = [self.robot.joints[k].rotor for k in self.rotors]
        return np.concatenate(
            [
                self._own_inertias,
                [0.0 if x is None else x.reflected for x in rotors],
                spring_data(self.robot)[0][list(self.springs)],
                self.robot.damping[list(self.damping)],
                self.robot.friction[list(self.friction)],
                np.zeros(len(self.offsets)),
            ]
        )

    @property
    def _own_inertias(self) -> np.ndarray:
        return np.asarray(inertial_parameters(self.robot)[list(self.bodies)].ravel())

    @cached_property
    def included(self) -> np.ndarray:
        """What the robot's inverse dynamics has of each already, (unknowns,); of damping that which acts, and it knows
        no friction and no offsets."""
        out = self.own.copy()
        out[self.parts["damping"]] -= per_freedom(self.robot, "damping_as_data", 2)[list(self.damping)]
        for sort in ("friction", "offsets"):
            out[self.parts[sort]] = 0.0
        return out

    @cached_property
    def scales(self) -> np.ndarray:
        """About how large each is, (unknowns,): a mean mass and length of the robot's bodies, one of what is not."""
        count = max(1, len(self.robot.bodies))
        mass = max(self.robot.total_mass / count, 1e-9)
        length = length_of(self.robot) / count
        inertia = [mass, *[mass * length] * 3, *[mass * length**2] * 6]
        rest = len(self) - 10 * len(self.bodies) - len(self.rotors)
        return np.array(inertia * len(self.bodies) + [mass * length**2] * len(self.rotors) + [1.0] * rest)

    # --- columns -------------------------------------------------------------------------------------

    def columns(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, rows: Rows) -> np.ndarray:
        """X (samples, rows, unknowns): the measured forces are Xθ and what the robot knows besides."""
        chosen = list(rows.forces)
        parts = [self._joint_columns(self.robot, q, v, a)[:, chosen]]
        if rows.wrench:
            parts.append(self._wrench_columns(q, v, a))
        return np.concatenate(parts, axis=1)

    def _joint_columns(self, robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        X = np.zeros((len(q), robot.nv, len(self)))
        picked = [10 * k + i for k in self.bodies for i in range(10)]
        if picked:
            X[..., self.parts["inertia"]] = robot.inverse_dynamics_regressor(q, v, a)[..., picked]
        for j, k in zip(range(*self.parts["rotors"].indices(len(self))), self.rotors):
            X[..., j] = _rotor_column(robot, k, q, v, a)
        dry = v / np.sqrt(v * v + FRICTION_SPEED**2)
        bent = _deflections(robot, q) if self.springs else v
        for sort, x in (("springs", bent), ("damping", v), ("friction", dry), ("offsets", np.ones_like(v))):
            for j, i in zip(range(*self.parts[sort].indices(len(self))), getattr(self, sort)):
                X[:, i, j] = x[:, i]
        return X

    def _wrench_columns(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """What the world asks of the base, (samples, 6, unknowns): first rows of the robot on a free joint at rest.

        Friction and offsets are within the robot: no wrench shows them.
        """
        floating, state = afloat(self.robot, q, v, a)
        X = np.zeros((len(q), 6, len(self)))
        picked = [10 * (k + 1) + i for k in self.bodies for i in range(10)]
        if picked:
            X[..., self.parts["inertia"]] = floating.inverse_dynamics_regressor(*state)[:, :6][..., picked]
        for j, k in zip(range(*self.parts["rotors"].indices(len(self))), self.rotors):
            X[..., j] = _rotor_column(floating, k + 1, *state)[:, :6]
        return X

    def known(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, rows: Rows, external: Any) -> np.ndarray:
        """The measured forces of the robot as it is, (samples, rows)."""
        parts = [self.robot.inverse_dynamics(q, v, a, external=external)[:, list(rows.forces)]]
        if rows.wrench:
            floating, state = afloat(self.robot, q, v, a)
            if external is not None:
                external = np.concatenate([np.zeros_like(external[..., :1, :]), external], axis=-2)
            parts.append(floating.inverse_dynamics(*state, external=external)[:, :6])
        return np.concatenate(parts, axis=1)

    # --- the robot that they make -----------------------------------------------------------------------

    def full(self, theta: np.ndarray, known: np.ndarray) -> np.ndarray:
        """The inertial entries of θ put into (bodies, 10) numbers ``known``."""
        out = np.array(known, dtype=float)
        out[list(self.bodies)] = theta[self.parts["inertia"]].reshape(-1, 10)
        return out

    def by_rate(self, sort: str, theta: np.ndarray, known: np.ndarray) -> np.ndarray:
        """The entries of one sort put into numbers ``known`` (nv,)."""
        out = np.array(known, dtype=float)
        out[list(getattr(self, sort))] = theta[self.parts[sort]]
        return out

    def robot_with(self, theta: np.ndarray) -> Robot:
        """The robot with these numbers; refused where they are not those of real bodies."""
        robot = self.robot.with_inertial_parameters(self.full(theta, inertial_parameters(self.robot)))
        joints = dict(zip(self.rotors, theta[self.parts["rotors"]]))
        # Joints that follow others have friction too: changes go to the joint's own, not to what is felt there.
        changes = {x: self.by_rate(x, theta, getattr(robot, x)) - getattr(robot, x) for x in ("damping", "friction")}
        stiffness = spring_data(robot)[0]
        stiffness[list(self.springs)] = theta[self.parts["springs"]]
        bodies = []
        for k, b in enumerate(robot.bodies):
            joint, where = b.joint, robot.v_slices[k]
            if k in joints:
                joint = replace(joint, rotor=_with_inertia(joint.rotor, joints[k]))
            if set(range(*where.indices(robot.nv))) & set(self.springs):
                joint = replace(joint, stiffness=stiffness[where])
            for sort, change in changes.items():
                if set(range(*where.indices(robot.nv))) & set(getattr(self, sort)):
                    x = np.asarray(getattr(joint, sort), float) + change[where]
                    joint = replace(joint, **{sort: x if joint.kind.nv > 1 else float(x[0])})
            bodies.append(b if joint is b.joint else replace(b, joint=joint))
        return replace(robot, bodies=tuple(bodies))


def spring_data(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and rest of the joints' own springs, by degree of freedom, (nv,) each; of ordinary coordinates."""
    stiffness, rest = np.zeros(robot.nv), np.zeros(robot.nv)
    for joint, _, where in robot.coordinates:
        if has_ordinary_coordinates(joint):
            stiffness[where] = joint.stiffness
            rest[where] = 0.0 if joint.rest is None else joint.rest
    return stiffness, rest


def has_ordinary_coordinates(joint: Joint) -> bool:
    """Whether a joint's positions are numbers whose rates are its velocities."""
    return joint.kind.nq == joint.kind.nv and joint.kind.kind != "planar" and not isinstance(joint.kind, Modal)


def _deflections(robot: Robot, q: np.ndarray) -> np.ndarray:
    """q − rest, (samples, nv), of ordinary coordinates; zero of others."""
    out = np.zeros((len(q), robot.nv))
    for joint, of_q, of_v in robot.coordinates:
        if has_ordinary_coordinates(joint):
            out[:, of_v] = q[:, of_q]
    return np.asarray(out - spring_data(robot)[1])


def afloat(robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[Robot, tuple[np.ndarray, ...]]:
    """The robot with its base on a free joint, and the state in which that joint rests at the world's origin."""
    floating: Robot = robot.opened.floating(joint_name=_unused("base_wrench", robot))
    at = np.broadcast_to(floating.neutral()[:7], (len(q), 7))
    still = np.zeros((len(q), 6))
    return floating, (np.concatenate([at, q], -1), np.concatenate([still, v], -1), np.concatenate([still, a], -1))


def _unused(name: str, robot: Robot) -> str:
    while name in robot.joint_index:
        name += "_"
    return name


def _rotor_column(robot: Robot, k: int, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Joint forces per unit of a rotor's inertia as its joint feels it, (samples, nv)."""
    rotor = robot.joints[k].rotor
    if rotor is None or rotor.axis is None:
        out = np.zeros_like(v)
        out[:, robot.v_slices[k]] = a[:, robot.v_slices[k]]
        return out
    # Linear in the inertia, gyroscopic moments included: the difference of two is the column. (Once, so on NumPy.)
    with_rotor, without = (_spinning(robot, k, x * rotor.axis, x * rotor.gear_ratio) for x in (rotor.gear_ratio, 0.0))
    forces = [r.inverse_dynamics(q, v, a, target="numpy") for r in (with_rotor, without)]
    return np.asarray(forces[0] - forces[1]) / rotor.gear_ratio**2


def _spinning(robot: Robot, k: int, spin: np.ndarray, reflected: float) -> Robot:
    """The robot with other numbers for the rotor of joint k."""
    constants = list(robot.constants())
    constants[k] = replace(constants[k], spin=spin, reflected=reflected * np.eye(1))
    return robot.with_constants(constants)


def _with_inertia(rotor: Rotor | None, reflected: float) -> Rotor:
    """The rotor with this inertia at its joint; without a gear where none was known."""
    return Rotor(reflected) if rotor is None else replace(rotor, inertia=reflected / rotor.gear_ratio**2)


def _of_each_rate(robot: Robot) -> list[str]:
    """What each degree of freedom is called: its joint, numbered where that has several."""
    out = []
    for joint, _, where in robot.coordinates:
        n = where.stop - where.start
        out += [joint.name] if n == 1 else [f"{joint.name}[{i}]" for i in range(n)]
    return out


def _turns(robot: Robot) -> list[bool]:
    """Whether each degree of freedom is a rotation."""
    out: list[bool] = []
    for joint, _, _ in robot.coordinates:
        H = joint.kind.H_star
        out += [bool(np.any(H[:3, i])) for i in range(joint.kind.nv)]
    return out


# --- which are unknown -----------------------------------------------------------------------------------


def chosen_unknowns(
    robot: Robot, bodies: Any, rotors: Any, damping: Any, friction: Any, offsets: Any, springs: Any = False
) -> Unknowns:
    """The unknowns that options name; True means all that there are, False none."""
    if robot.loops:
        raise NotAdmittedError(
            f"robot {robot.name!r} has loops, whose forces no joint measures; robot.opened is the tree that is left"
            " when they are cut, and takes measured loop forces as external ones"
        )
    which = rigid_bodies(robot, bodies)
    if len(set(which)) != len(which):
        raise InputError(f"bodies names one twice: {bodies!r}")
    given = {"rotors": rotors, "springs": springs, "damping": damping, "friction": friction, "offsets": offsets}
    joints = {sort: _chosen_joints(robot, x, sort) for sort, x in given.items()}
    rates = {sort: _rates(robot, joints[sort]) for sort in ("springs", "damping", "friction", "offsets")}
    found = Unknowns(robot, tuple(sorted(which)), tuple(joints["rotors"]), **rates)
    if not len(found):
        raise InputError("nothing is unknown: name bodies, or set rotors, damping, friction or offsets")
    return found


def rigid_bodies(robot: Robot, bodies: Any) -> list[int]:
    """The bodies of these names, or all, without parts of flexible ones, whose modal data count as known."""
    flexible = parts_of_flexible(robot)
    if bodies is None:
        return [k for k in range(len(robot.bodies)) if k not in flexible]
    chosen = [robot.body(x) for x in names(bodies, "bodies", "names of bodies")]
    for k in chosen:
        if k in flexible:
            raise NotAdmittedError(
                f"body {robot.bodies[k].name!r} is flexible or a part of such a body: its inertia is modal data, which"
                " count as known; name rigid bodies"
            )
    return chosen


def _chosen_joints(robot: Robot, given: Any, option: str) -> list[int]:
    movable = [j.name for j, _, _ in robot.coordinates if j.kind.nv and not isinstance(j.kind, Free)]
    if given is False or given is None:
        return []
    if option == "springs":
        movable = [name for name in movable if has_ordinary_coordinates(robot.joints[robot.joint(name)])]
    chosen = movable if given is True else names(given, option, "joint names")
    if len(set(chosen)) != len(chosen):
        raise InputError(f"{option} names a joint twice: {', '.join(chosen)}")
    refuse_following(robot, chosen, "identified", option)
    for name in chosen:
        joint: Joint = robot.joints[robot.joint(name)]
        if not joint.kind.nv:
            raise InputError(f"joint {name!r} is fixed and has no {option}")
        if option == "springs" and not has_ordinary_coordinates(joint):
            raise InputError(f"joint {name!r} has no ordinary coordinates, and its spring is not found; name others")
    return sorted(robot.joint(name) for name in chosen)


def _rates(robot: Robot, joints: Iterable[int]) -> tuple[int, ...]:
    return tuple(i for k in joints for i in range(*robot.v_slices[k].indices(robot.nv)))


def measured_rows(robot: Robot, measured: Sequence[str] | None, has_tau: bool, wrench: bool) -> Rows:
    """Which rows of the equations are measured."""
    if not has_tau:
        if measured is not None:
            raise InputError("measured names joints whose forces are in tau, and tau is not given")
        return Rows((), wrench)
    if measured is None:
        return Rows(tuple(range(robot.nv)), wrench)
    chosen = names(measured, "measured", "joint names")
    refuse_following(robot, chosen, "measured", "measured")
    rates = _rates(robot, sorted({robot.joint(name) for name in chosen}))
    if not rates:
        raise InputError("measured names no joint that moves")
    return Rows(rates, wrench)
