"""What a robot is: a frozen, validated tree of bodies, with named frames and gravity."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from math import prod
from typing import Any, TypeVar

import numpy as np

from ..arguments import generator, shown, whole
from ..arguments import numbers as real_numbers
from ..errors import InputError, ModelError, UnknownNameError, did_you_mean
from ..properties import cached_property
from ..spatial import RigidInertia, Transform
from ..sweeps import BodyTree, Tree
from ..values import ByValue, digest, fixed, owned, value_of
from .body_order import refuse_duplicates, some, sorted_base_first
from .couplings import (
    Coupling,
    aggregates,
    check_couplings,
    per_freedom,
    reflected_limits,
    reflected_speeds,
)
from .flexible.members import expanded
from .flexible.structure import mass_points, on_node
from .inertia import Inertia, as_vector
from .joints.kinds import JointKind
from .joints.springs import Spring, spring_of
from .parts import WORLD, Body, Frame, Joint
from .random_configurations import random_configurations
from .visuals import Visual

MOST_NUMBERS = 10**8  # in a batch of random configurations
STANDARD_GRAVITY = (0.0, 0.0, -9.81)

Self = TypeVar("Self", bound="Model")


@dataclass(frozen=True, eq=False)
class BodyConstants(ByValue):
    """The numbers of one body as the algorithms read them. Symbols may stand in for any of them."""

    placement: Transform
    kind: JointKind
    M: RigidInertia
    reflected: Any = None  # (nv, nv) reflected rotor inertia Γ, or None
    spin: Any = None  # (3,) gear · inertia · axis of a gyroscopic rotor, in the parent's axes, or None
    spring: Spring | None = None  # what the joint does by itself: its spring and its damper
    load: Any = None  # (inertia [kg m²], mass [kg]) of the size that the joint carries, see :func:`_with_loads`

    def __post_init__(self) -> None:
        for name in ("placement", "M", "reflected", "spin"):
            given = getattr(self, name)
            mine = owned(given)
            if mine is not given:
                object.__setattr__(self, name, mine)

    def cast(self, dtype: Any) -> BodyConstants:
        def down(x: Any) -> Any:
            return None if x is None else x.astype(dtype)

        return BodyConstants(
            self.placement.cast(dtype),
            self.kind,
            self.M.cast(dtype),
            down(self.reflected),
            down(self.spin),
            None if self.spring is None else self.spring.cast(dtype),
            self.load,
        )


@dataclass(frozen=True, eq=False)
class Model(ByValue):
    """A tree of bodies. Bodies are numbered base first: a parent comes before its children.

    ``base`` is the inertia of the link bolted to the world; it matters only once the base floats. All numbers that a
    result depends on are fields: models are equal where they are, and copies, pickles and the keys of compiled code
    hold them all.
    """

    name: str
    bodies: tuple[Body, ...]
    extra_frames: tuple[Frame, ...] = ()
    gravity: Any = STANDARD_GRAVITY
    base: Inertia = field(default_factory=Inertia)
    base_name: str = "base"
    notes: tuple[str, ...] = ()  # what was odd about the file the robot came from
    visuals: tuple[Visual, ...] = ()  # what the bodies look like, where that is known
    couplings: tuple[Coupling, ...] = ()  # joints that follow others
    numbers: tuple[BodyConstants, ...] | None = None  # in place of those of the bodies; only with_constants gives them

    def __post_init__(self) -> None:
        if self.numbers is not None:
            raise ModelError(
                f"robot {self.name!r} has other numbers than its bodies' own (with_constants), so that changed bodies"
                " would not count; change the robot first, and give it other numbers then"
            )
        object.__setattr__(self, "gravity", as_vector(self.gravity, "gravity"))
        bodies, frames, shared = expanded(self.name, self.bodies, self.extra_frames)
        object.__setattr__(self, "bodies", sorted_base_first(self.name, bodies))
        object.__setattr__(self, "extra_frames", frames)
        object.__setattr__(self, "couplings", (*self.couplings, *shared))
        if WORLD not in (b.name for b in self.bodies):
            held = tuple(replace(f, body=None) if f.body == WORLD else f for f in self.extra_frames)
            object.__setattr__(self, "extra_frames", held)
        refuse_duplicates("joint", self.name, (b.joint.name for b in self.bodies))
        names = {b.name for b in self.bodies}
        refuse_duplicates("frame", self.name, [*names, *(f.name for f in self.extra_frames)])
        for f in self.extra_frames:
            if f.body is not None and f.body not in names:
                raise ModelError(f"robot {self.name!r}: frame {f.name!r} sits on body {f.body!r}, which does not exist")
        object.__setattr__(self, "visuals", tuple(self.visuals))
        for x in self.visuals:
            if not isinstance(x, Visual):
                raise InputError(f"robot {self.name!r}: visuals must be lw.Visual objects, got {x!r}")
            if x.body is not None and x.body not in names:
                raise ModelError(f"robot {self.name!r}: a visual sits on body {x.body!r}, which does not exist")
        self._refuse_heavy_rotors()
        if self.couplings:
            found = check_couplings(self.name, self.couplings, {b.joint.name: b.joint for b in self.bodies})
            object.__setattr__(self, "couplings", found)
            self._refuse_spinning_members()

    def _refuse_spinning_members(self) -> None:
        for group in self.aggregates:
            for k in group:
                rotor = self.joints[k].rotor
                if rotor is not None and rotor.axis is not None:
                    raise ModelError(
                        f"robot {self.name!r}: joint {self.joints[k].name!r} has a rotor with an axis and moves with"
                        " coupled joints; model that rotor as a body of its own, coupled by its gear ratio"
                    )

    def _refuse_heavy_rotors(self) -> None:
        """A rotor's locked inertia is part of its carrier's, so it cannot exceed it."""
        left = {b.name: b.inertia.tensor for b in self.bodies if b.inertia.mass}
        for b in self.bodies:
            rotor, p = b.joint.rotor, b.parent
            if rotor is None or rotor.axis is None or p not in left:
                continue
            left[p] = left[p] - rotor.inertia * np.outer(rotor.axis, rotor.axis)
            if np.linalg.eigvalsh(left[p])[0] < -1e-9 * np.abs(left[p]).max():
                raise ModelError(
                    f"robot {self.name!r}: the rotor of joint {b.joint.name!r} ({rotor.inertia:g} kg m²) has more"
                    f" inertia about its axis than body {p!r}, which carries it and whose inertia includes it"
                )

    # --- the tree ----------------------------------------------------------------------------------

    @cached_property
    def body_index(self) -> dict[str, int]:
        return {b.name: i for i, b in enumerate(self.bodies)}

    @cached_property
    def tree(self) -> Tree:
        """Who hangs on whom."""
        return BodyTree(tuple(-1 if b.parent is None else self.body_index[b.parent] for b in self.bodies))

    @property
    def parents(self) -> tuple[int, ...]:
        """The parent's index of every body; −1 for bodies held by the world."""
        return self.tree.parents

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The bodies that hang on every body."""
        return tuple(self.tree.children(k) for k in range(len(self.bodies)))

    @cached_property
    def _kept_structure(self) -> dict[Any, Any]:
        """What algorithms have found of the robot itself, in no state, kept for their next call."""
        return {}

    @cached_property
    def joints(self) -> tuple[Joint, ...]:
        """The joint of every body, in the order of the bodies."""
        return tuple(b.joint for b in self.bodies)

    @cached_property
    def nq(self) -> int:
        """How many numbers a configuration has; joints that follow others (couplings) have none of their own."""
        return sum(j.kind.nq for j, _, _ in self.coordinates)

    @cached_property
    def nv(self) -> int:
        """How many degrees of freedom, i.e. velocities and joint forces; dependent joints have none of their own."""
        return sum(j.kind.nv for j, _, _ in self.coordinates)

    @cached_property
    def q_slices(self) -> tuple[slice, ...]:
        """Where every joint's numbers are in q; nowhere (an empty slice) for joints that follow others."""
        return _slices(0 if k in self.dependents else j.kind.nq for k, j in enumerate(self.joints))

    @cached_property
    def v_slices(self) -> tuple[slice, ...]:
        """Where every joint's numbers are in v; nowhere (an empty slice) for joints that follow others."""
        return _slices(0 if k in self.dependents else j.kind.nv for k, j in enumerate(self.joints))

    @cached_property
    def coordinates(self) -> tuple[tuple[Joint, slice, slice], ...]:
        """(joint, its slice of q, its slice of v) of every joint that follows no other, in the order of the bodies."""
        everything = zip(self.joints, self.q_slices, self.v_slices)
        return tuple(x for k, x in enumerate(everything) if k not in self.dependents)

    # --- couplings ---------------------------------------------------------------------------------

    @cached_property
    def dependents(self) -> dict[int, Coupling]:
        """The couplings by the body whose joint follows others."""
        return {self.joint_index[c.dependent]: c for c in self.couplings}

    @cached_property
    def aggregates(self) -> tuple[tuple[int, ...], ...]:
        """The groups of bodies that couplings make move together, each one node of the tree."""
        index = self.joint_index
        return aggregates(self.tree, ([index[n] for n in (c.dependent, *c.independents)] for c in self.couplings))

    def path(self, body: int) -> list[int]:
        """The bodies from the base out to ``body``, both included; empty for the world (−1)."""
        return self.tree.path(whole(body, "the index of a body", least=-1, most=len(self.bodies) - 1))

    @property
    def is_chain(self) -> bool:
        """Whether every body has at most one child and only one is held by the world."""
        return self.tree.is_chain

    # --- names -------------------------------------------------------------------------------------

    @cached_property
    def frames(self) -> tuple[Frame, ...]:
        """Every named frame: the world's, one per body, and those added on bodies."""
        own = [Frame(b.name, b.name) for b in self.bodies]
        out = [*own, *self.extra_frames]
        if all(f.name != WORLD for f in out):
            out.insert(0, Frame(WORLD))
        return tuple(out)

    @cached_property
    def _frame_table(self) -> dict[str, Frame]:
        return {f.name: f for f in self.frames}

    def frame(self, frame: str | Frame) -> tuple[int, Transform]:
        """(body index or −1, pose on that body) of a frame given by name or as a :class:`Frame`."""
        if isinstance(frame, Frame):
            if frame.body in self.body_index:
                return on_node(self, self.body_index[frame.body], frame.pose, f"frame {frame.name!r}")
            if frame.body is not None and frame.body != WORLD:
                raise UnknownNameError(f"frame {frame.name!r} sits on body {frame.body!r}, which {self._has('bodies')}")
            return -1, frame.pose
        if not isinstance(frame, str):
            raise InputError(f"a frame is given by its name, got {shown(frame)}")
        if frame not in self._frame_table:
            raise UnknownNameError(f"no frame is named {frame!r}; {self._near(frame, self._frame_table)}")
        return self.frame(self._frame_table[frame])

    def body(self, name: str | int) -> int:
        """The index of a body given by name (or by index)."""
        if isinstance(name, (int, np.integer)):
            if not 0 <= name < len(self.bodies):
                raise UnknownNameError(f"no body has number {name}; robot {self.name!r} has {len(self.bodies)} bodies")
            return int(name)
        if not isinstance(name, str) or name not in self.body_index:
            raise UnknownNameError(f"no body is named {shown(name)}; {self._near(name, self.body_index)}")
        return self.body_index[name]

    @cached_property
    def joint_index(self) -> dict[str, int]:
        return {j.name: i for i, j in enumerate(self.joints)}

    def joint(self, name: str) -> int:
        """The index of a joint (and of the body it moves) given by name."""
        if not isinstance(name, str) or name not in self.joint_index:
            raise UnknownNameError(f"no joint is named {shown(name)}; {self._near(name, self.joint_index)}")
        return self.joint_index[name]

    def _near(self, name: Any, known: Collection[str]) -> str:
        """The name that was meant, where one is near, and those there are."""
        meant = did_you_mean(name, known) if isinstance(name, str) else ""
        return f"{meant} robot {self.name!r} has {some(known)}".lstrip()

    def _has(self, what: str) -> str:
        return f"robot {self.name!r} does not have; its {what} are {some(self.body_index)}"

    @cached_property
    def tips(self) -> tuple[str, ...]:
        """One frame per outermost body: the last one added on it, or the body's own. Mass points do not count."""
        last = {b.name: b.name for b in self.bodies}
        for f in self.extra_frames:
            if f.body is not None:
                last[f.body] = f.name
        points = mass_points(self)
        return tuple(
            last[b.name]
            for k, (b, c) in enumerate(zip(self.bodies, self.children))
            if k not in points and points.issuperset(c)
        )

    # --- data by degree of freedom -----------------------------------------------------------------
    # (Joints that follow one other by a constant ratio count with it; what others may do is in ``joints`` alone.)

    @cached_property
    def lower_limits(self) -> np.ndarray:
        """(nv,) lowest positions [rad, m]; −inf where unlimited."""
        return fixed(reflected_limits(self, self._limits(0), self._limits(1))[0])

    @cached_property
    def upper_limits(self) -> np.ndarray:
        """(nv,) highest positions [rad, m]; inf where unlimited."""
        return fixed(reflected_limits(self, self._limits(0), self._limits(1))[1])

    @cached_property
    def velocity_limits(self) -> np.ndarray:
        """(nv,) largest speeds [rad/s, m/s]; inf where unlimited."""
        return fixed(reflected_speeds(self, self._limits(2)))

    @cached_property
    def effort_limits(self) -> np.ndarray:
        """(nv,) largest joint forces [N m, N]; inf where unlimited."""
        return self._limits(3)

    def _limits(self, which: int) -> np.ndarray:
        return fixed(_joined(j.limits.arrays(j.kind.nv)[which] for j, _, _ in self.coordinates))

    @cached_property
    def stiffness(self) -> np.ndarray:
        """(nv,) stiffness of the joints' springs [N m/rad, N/m]."""
        return fixed(per_freedom(self, "stiffness", 2))

    @cached_property
    def damping(self) -> np.ndarray:
        """(nv,) viscous damping [N m s/rad, N s/m], whether it acts or is data (:class:`linkwise.Joint`)."""
        return fixed(per_freedom(self, "damping", 2))

    @cached_property
    def friction(self) -> np.ndarray:
        """(nv,) dry friction [N m, N], data only."""
        return fixed(per_freedom(self, "friction", 1))

    @cached_property
    def has_springs(self) -> bool:
        """Whether springs or dampers of joints act."""
        return any(c.spring is not None for c in self._constants)

    @cached_property
    def total_mass(self) -> float:
        """The mass of all bodies [kg] (without a base bolted to the world)."""
        if self.numbers is None:
            return float(sum(b.inertia.mass for b in self.bodies))
        return float(sum(c.M.m for c in self.numbers))

    # --- configurations ----------------------------------------------------------------------------

    def neutral(self) -> np.ndarray:
        """The configuration (nq,) with every joint at its zero."""
        return _joined(j.kind.neutral() for j, _, _ in self.coordinates)

    def random_configuration(
        self, rng: np.random.Generator | int | None = None, batch: int | tuple[int, ...] = ()
    ) -> np.ndarray:
        """Random configurations (*batch, nq), within joint limits; ``rng`` is a seed or a generator."""
        rng = generator(rng, "rng")
        shape = tuple(batch) if isinstance(batch, (tuple, list)) else (batch,)
        shape = tuple(whole(n, "a batch dimension") for n in shape)
        if prod(shape) * self.nq > MOST_NUMBERS:
            raise InputError(f"a batch {shape} of robot {self.name!r} has more than {MOST_NUMBERS:.0e} numbers")
        return random_configurations(self, rng, prod(shape)).reshape((*shape, self.nq))

    # --- constants ---------------------------------------------------------------------------------

    @cached_property
    def _constants(self) -> tuple[BodyConstants, ...]:
        if self.numbers is not None:
            return self.numbers
        return _with_loads(self.tree, [_body_constants(b) for b in self.bodies])

    @cached_property
    def _constants32(self) -> tuple[BodyConstants, ...]:
        return tuple(c.cast(np.float32) for c in self._constants)

    def with_constants(self: Self, constants: Iterable[BodyConstants], *, gravity: Any = None) -> Self:
        """This model with other numbers (or symbols) in place of its bodies' own, unchecked.

        ``gravity`` (3,) [m/s²] is unchecked too. Such a model cannot be edited further: its bodies no longer say what
        it is. What each joint carries (``load``) follows from the rest and is worked out anew.
        """
        numbers = _parts(constants, BodyConstants, "constants")
        if len(numbers) != len(self.bodies):
            raise InputError(f"robot {self.name!r} has {len(self.bodies)} bodies, got constants of {len(numbers)}")
        if gravity is not None:
            gravity = owned(gravity if hasattr(gravity, "shape") else real_numbers(gravity, "gravity"))
        return with_numbers(self, _with_loads(self.tree, numbers), gravity=gravity)

    def constants(self, *, dtype: Any = np.float64) -> tuple[BodyConstants, ...]:
        """The numbers of every body, in the precision of the inputs they will meet."""
        return self._constants32 if _is_float32(dtype) else self._constants

    @cached_property
    def fingerprint(self) -> str | None:
        """What results depend on, as a key that is the same in every process.

        None where it has none: a joint of a user's own class, whose name does not tell what it does.
        """
        counting = [f.name for f in fields(self) if f.compare and f.name not in ("notes", "visuals")]
        return digest((type(self), *((name, value_of(getattr(self, name))) for name in counting)))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}: {len(self.bodies)} bodies, nq={self.nq}, nv={self.nv}>"


def _body_constants(body: Body) -> BodyConstants:
    joint, rotor = body.joint, body.joint.rotor
    reflected = None if rotor is None or joint.kind.nv == 0 else rotor.reflected * np.eye(joint.kind.nv)
    spin = None
    if rotor is not None and rotor.axis is not None:
        spin = rotor.gear_ratio * rotor.inertia * rotor.axis
    return BodyConstants(joint.placement, joint.kind, body.inertia.spatial(), reflected, spin, spring_of(joint))


def refuse_other_numbers(model: Model, what: str) -> None:
    """Refuse what is done with a model's bodies, where these are not what it is."""
    if model.numbers is not None:
        raise ModelError(
            f"robot {model.name!r} has other numbers than its bodies' own (with_constants), which cannot be {what};"
            " robot.with_inertias or with_inertial_parameters give bodies that say what they are"
        )


def with_numbers(
    model: Self, numbers: Iterable[BodyConstants], *, gravity: Any = None, bodies: Sequence[Body] | None = None
) -> Self:
    """A model with other numbers, whose loads are right as they are, and ``bodies`` that stand in for its own."""
    changed = {"numbers": tuple(numbers), "bodies": model.bodies if bodies is None else tuple(bodies)}
    if gravity is not None:
        changed["gravity"] = gravity
    clone = type(model).__new__(type(model))
    clone.__dict__.update(model.__getstate__() | changed)
    return clone


def _with_loads(tree: Tree, constants: Sequence[BodyConstants]) -> tuple[BodyConstants, ...]:
    """The constants with the size of what each joint carries, its own body included: the mass of all bodies outboard,
    and what its moment of inertia may be, Σ tr J + m|l|² over them, with m the mass that hangs on an offset l.

    An inertia that is a rounding of that is none (:mod:`..singularity`).
    """

    def step(gathered: Any, c: BodyConstants) -> Any:
        inertia, mass = gathered[0] + c.M.J[0, 0] + c.M.J[1, 1] + c.M.J[2, 2], gathered[1] + c.M.m[()]
        l = c.placement.l
        return (inertia + mass * (l[0] * l[0] + l[1] * l[1] + l[2] * l[2]), mass), (inertia, mass)

    loads = tree.inward(step, (0.0, 0.0), constants)
    return tuple(replace(c, load=load) for c, load in zip(constants, loads))


def _is_float32(dtype: Any) -> bool:
    try:
        return bool(np.dtype(dtype) == np.float32)
    except (TypeError, ValueError):
        raise InputError(f"dtype must be one of NumPy's, got {shown(dtype)}") from None


def _parts(given: Any, kind: type, what: str) -> tuple[Any, ...]:
    if not isinstance(given, Iterable) or isinstance(given, np.ndarray):
        raise InputError(f"{what} must be a list, got {shown(given)}")
    parts = tuple(given)
    if not all(isinstance(x, kind) for x in parts):
        raise InputError(f"{what} must be a list of {kind.__name__}, got {shown(parts)}")
    return parts


def _slices(sizes: Iterable[int]) -> tuple[slice, ...]:
    out, start = [], 0
    for size in sizes:
        out.append(slice(start, start + size))
        start += size
    return tuple(out)


def _joined(parts: Iterable[Any]) -> np.ndarray:
    parts = list(parts)
    return np.concatenate(parts).astype(float) if parts else np.zeros(0)
