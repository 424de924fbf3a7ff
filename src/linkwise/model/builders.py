"""Robots without a file: assembled by hand, serial chains of any length, random trees."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

import numpy as np

from ..arguments import generator, number, one_of, shown, whole
from ..arrays import as_numpy
from ..errors import InputError, ModelError
from ..spatial import Transform, rotation_from_quaternion
from ..values import fixed
from .flexible.members import expanded
from .inertia import Inertia
from .joints.kinds import (
    Custom,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    JointKind,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from .model import STANDARD_GRAVITY, Model
from .parts import WORLD, Body, Frame, Joint, Limits, Rotor
from .visuals import Visual

M = TypeVar("M", bound=Model)

MOST_BODIES = 10_000_000  # some ten gigabytes
LINK_LENGTH, LINK_RADIUS, LINK_MASS = 1.0, 0.1, 1.0  # a link of a regular chain [m, m, kg]


# --- by hand ---------------------------------------------------------------------------------------


def assemble(
    name: str,
    bodies: Iterable[Body],
    frames: Iterable[Frame] = (),
    gravity: Any = STANDARD_GRAVITY,
    base: Inertia | None = None,
    base_name: str = "base",
    visuals: Iterable[Visual] = (),
    *,
    cls: type[M],
) -> M:
    """A robot from its bodies, strictly: inertias that no real body has are refused.

    ``bodies`` may come in any order; each names its parent body (None or "world": the world). ``base`` is
    the link bolted to the world, which matters once the robot floats. ``gravity`` is (3,) [m/s²], world axes.
    """
    bodies, frames = _listed(name, "bodies", bodies, Body), _listed(name, "frames", frames, Frame)
    bodies, frames, shared = expanded(name, bodies, frames)
    base = Inertia() if base is None else base
    if not isinstance(base, Inertia):
        raise InputError(f"robot {name!r}: base must be an lw.Inertia, got {shown(base)}")
    names = {b.name: None for b in bodies}
    for b in bodies:
        _must_exist(name, f"body {b.name!r} hangs on", b.parent, names)
        b.inertia.check(f"robot {name!r}: the inertia tensor of body {b.name!r}")
    for f in frames:
        _must_exist(name, f"frame {f.name!r} sits on", f.body, names)
    base.check(f"robot {name!r}: the inertia tensor of the base {base_name!r}")
    drawn = tuple(_listed(name, "visuals", visuals, Visual))
    return cls(name, bodies, frames, gravity, base, base_name, visuals=drawn, couplings=shared)


def _listed(robot: str, what: str, items: Any, kind: type) -> list[Any]:
    if isinstance(items, (kind, str, np.ndarray)) or not isinstance(items, Iterable):
        raise InputError(f"robot {robot!r}: {what} must be a list of lw.{kind.__name__}, got {shown(items)}")
    out = list(items)
    for x in out:
        if not isinstance(x, kind):
            raise InputError(f"robot {robot!r}: {what} must be a list of lw.{kind.__name__}, but has {x!r}")
    return out


def _must_exist(robot: str, who: str, parent: Any, names: dict[str, None]) -> None:
    if parent is None:
        return
    if not isinstance(parent, str):
        raise ModelError(f"robot {robot!r}: {who} {parent!r}; give the name of a body, or None for the world")
    if parent in names or parent == WORLD:
        return
    close = difflib.get_close_matches(parent, names, n=1)
    listed = ", ".join(map(repr, list(names)[:20]))
    hint = f"did you mean {close[0]!r}?" if close else f"the bodies are {listed}"
    raise ModelError(f"robot {robot!r}: {who} {parent!r}, which does not exist; {hint}")


# --- serial chains ---------------------------------------------------------------------------------

# What holds link i of a regular chain: axes a, b alternate y, z from link to link.
_REGULAR: dict[str, Callable[[str, str], JointKind]] = {
    "revolute": lambda a, b: Revolute(a),
    "prismatic": lambda a, b: Prismatic(a),
    "helical": lambda a, b: Helical(a),
    "cylindrical": lambda a, b: Cylindrical(a),
    "universal": lambda a, b: Universal(a, b),
    "spherical": lambda a, b: Spherical(),
    "planar": lambda a, b: Planar(a),
    "free": lambda a, b: Free(),
}
# A free joint holds nothing, so a mixed chain leaves it out.
_MIXED = ("revolute", "universal", "prismatic", "spherical", "helical", "planar", "cylindrical")


def chain(
    n: int,
    joint: str | JointKind = "revolute",
    seed: int | np.random.Generator | None = None,
    *,
    cls: type[M],
) -> M:
    """A serial chain of n links, link1 … linkn on joint1 … jointn, with a frame "tip" at its end.

    Without ``seed`` the chain is regular: every link is a uniform rod of 1 kg, 1 m long along its own x
    axis and 0.1 m in radius, its joint at one end; axes alternate y, z, so that the chain moves in space
    and, at zero, lies straight along the world's x axis, across gravity. With ``seed`` the offsets, axes
    and full inertias are random (the ranges of :func:`random_tree`).

    ``joint`` is "revolute", "prismatic", "helical", "cylindrical", "universal", "spherical", "planar",
    "free", "mixed" (all of these but free, in turn), or a joint kind that every link gets. Time and
    memory grow as n; 100,000 links take about half a second, random ones about three.
    """
    n = _count(n, "n, the number of links,")
    names = [f"link{i + 1}" for i in range(n)]
    if seed is None:
        joints, inertias = _regular_links(n, joint)
        tip = Frame("tip", names[-1], at=(LINK_LENGTH, 0, 0))
    else:
        rng = generator(seed)
        joints, inertias = _random_links(n, joint, rng)
        tip = Frame("tip", names[-1], at=_offsets(rng, 1)[0], rotation=_rotations(rng, 1)[0])
    parents = [None, *names[:-1]]
    bodies = tuple(Body(*row) for row in zip(names, joints, inertias, parents))
    base = Inertia.box(5.0 * LINK_MASS, (0.5, 0.5, 0.5))
    return cls(f"chain{n}", bodies, (tip,), base=base)


def _regular_links(n: int, joint: str | JointKind) -> tuple[list[Joint], list[Inertia]]:
    """Links that share their numbers: one joint per pattern, copied under other names."""
    cycle = _regular_cycle(joint)
    first = [Joint(kind) for kind in cycle]
    later = [Joint(kind, at=(LINK_LENGTH, 0, 0)) for kind in cycle]
    rod = Inertia.cylinder(LINK_MASS, LINK_RADIUS, (0, 0, 0), (LINK_LENGTH, 0, 0))
    joints = [_copy((later if i else first)[i % len(cycle)], name=f"joint{i + 1}") for i in range(n)]
    return joints, [rod] * n


def _regular_cycle(joint: str | JointKind) -> list[JointKind]:
    """The joint kinds of a regular chain until they repeat."""
    if isinstance(joint, JointKind):
        return [joint]
    names = _MIXED if isinstance(joint, str) and joint == "mixed" else (_kind_name(joint, (*_REGULAR, "mixed")),)
    axes = (("y", "z"), ("z", "y"))
    return [_REGULAR[name](*axes[i % 2]) for i, name in enumerate(names * 2)]


def _random_links(n: int, joint: str | JointKind, rng: np.random.Generator) -> tuple[list[Joint], list[Inertia]]:
    if isinstance(joint, JointKind):
        kinds = [joint] * n
    else:
        names = _MIXED if isinstance(joint, str) and joint == "mixed" else (_kind_name(joint, (*_REGULAR, "mixed")),)
        kinds = [_RANDOM[names[i % len(names)]](rng) for i in range(n)]
    placements = zip(_offsets(rng, n), _rotations(rng, n))
    template = Joint(Fixed())
    joints = [
        _copy(template, kind=kind, name=f"joint{i + 1}", at=l, rotation=R, placement=Transform(R, l))
        for i, (kind, (l, R)) in enumerate(zip(kinds, placements))
    ]
    return joints, _inertias(rng, n)


# --- random trees ----------------------------------------------------------------------------------


def random_tree(
    n: int,
    seed: int | np.random.Generator = 0,
    joints: str | JointKind | Iterable[str | JointKind] | None = None,
    floating: bool = False,
    branching: float = 0.5,
    rotors: bool = False,
    *,
    cls: type[M],
) -> M:
    """A random tree of n bodies, body1 … bodyn, the same for the same seed.

    Masses are 0.5 … 2 kg, inertias those of turned boxes with sides of 0.2 … 0.6 m, offsets 0.2 … 0.6 m.
    All ten joint kinds occur (fixed and free ones seldom); ``joints`` restricts them to some names or
    kinds. With ``floating`` body1 moves on a free joint "root_joint" and carries all others. ``branching``
    is the chance, 0 … 1, that a body hangs on any earlier one (or on the world) instead of the last one:
    0 gives a chain. With ``rotors`` half of the joints get one, some with a spin axis in their parent.
    Half of the joints have limits; a frame "frameᵢ" sits on about every third body and on the last.
    """
    n = _count(n, "n, the number of bodies,")
    if not 0.0 <= number(branching, "branching") <= 1.0:
        raise InputError(f"branching must be from 0 (a chain) to 1, got {branching}")
    allowed = _allowed_kinds(joints)
    rng = generator(seed)
    names = [f"body{i + 1}" for i in range(n)]
    rows = zip(names, _inertias(rng, n), _offsets(rng, n), _rotations(rng, n))
    bodies, frames = [], []
    for i, (name, inertia, at, rotation) in enumerate(rows):
        if i == 0 and floating:
            bodies.append(Body(name, Joint(Free(), "root_joint"), inertia))
        else:
            kind = _random_kind(rng, allowed, movable=i == 0)
            limits, rotor = _random_limits(rng, kind), _random_rotor(rng, kind) if rotors else None
            held = Joint(kind, f"joint{i + 1}", at=at, rotation=rotation, limits=limits, rotor=rotor)
            parent = _random_parent(rng, i, branching, floating)
            bodies.append(Body(name, held, inertia, None if parent < 0 else names[parent]))
        if i == n - 1 or rng.random() < 1 / 3:
            pose = {"at": _offsets(rng, 1)[0], "rotation": _rotations(rng, 1)[0]}
            frames.append(Frame(f"frame{i + 1}", name, **pose))
    return cls(f"random_tree{n}", tuple(bodies), tuple(frames), base=_inertias(rng, 1)[0])


def _allowed_kinds(joints: Any) -> list[tuple[str | JointKind, float]] | None:
    """The kinds to choose from, each with its weight."""
    if joints is None:
        return [(name, _SELDOM.get(name, 1.0)) for name in _RANDOM]
    listed = [joints] if isinstance(joints, (str, JointKind)) else list(joints)
    if not listed:
        raise InputError("joints must name at least one joint kind")
    return [(x if isinstance(x, JointKind) else _kind_name(x, _RANDOM), 1.0) for x in listed]


def _random_kind(rng: np.random.Generator, allowed: Any, movable: bool) -> JointKind:
    """One of the allowed kinds; ``movable`` passes over fixed joints where there is a choice."""
    if movable:
        allowed = [(x, w) for x, w in allowed if x != "fixed" and not isinstance(x, Fixed)] or allowed
    weights = np.array([w for _, w in allowed])
    chosen = allowed[rng.choice(len(allowed), p=weights / weights.sum())][0]
    return chosen if isinstance(chosen, JointKind) else _RANDOM[chosen](rng)


def _random_parent(rng: np.random.Generator, i: int, branching: float, floating: bool) -> int:
    """The number of a body before body i, or −1 for the world."""
    return int(rng.integers(0 if floating else -1, i)) if rng.random() < branching else i - 1


def _random_limits(rng: np.random.Generator, kind: JointKind) -> Limits:
    if kind.nv == 0 or rng.random() < 0.5:
        return Limits()
    ranges = ((-2, -0.5), (0.5, 2), (1, 5), (10, 100))
    low, high, speed, force = (rng.uniform(a, b, kind.nv) for a, b in ranges)
    # Position bounds mean nothing to a quaternion.
    return (
        Limits(low, high, velocity=speed, effort=force) if kind.nq == kind.nv else Limits(velocity=speed, effort=force)
    )


def _random_rotor(rng: np.random.Generator, kind: JointKind) -> Rotor | None:
    """A small rotor: its parent's principal moments exceed 3e-3 kg m², so may well contain its own."""
    if kind.nv == 0 or isinstance(kind, Free) or rng.random() < 0.5:
        return None
    axis = _direction(rng) if kind.nv == 1 and rng.random() < 0.5 else None
    return Rotor(rng.uniform(2e-5, 2e-4), rng.uniform(5, 50), axis=axis)


# --- random parts ----------------------------------------------------------------------------------


def _direction(rng: np.random.Generator) -> np.ndarray:
    x = rng.normal(size=3)
    return x / np.linalg.norm(x)


def _oblique_pair(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two directions, at 60° or more to each other."""
    Q = _rotations(rng, 1)[0]
    tilt = rng.uniform(-np.pi / 6, np.pi / 6)
    return Q[:, 0], np.cos(tilt) * Q[:, 1] + np.sin(tilt) * Q[:, 0]


def _random_custom(rng: np.random.Generator) -> Custom:
    """A user's own map, with columns that commute (the first three) or do not."""
    a, b = _oblique_pair(rng)
    zero, p = np.zeros(3), rng.uniform(-0.3, 0.3, 3)
    maps = [
        [[*a, *b]],  # a screw
        [[*a, *np.cross(p, a)], [*zero, *a]],  # turning about and sliding along a line through p
        [[*zero, *a], [*zero, *b]],  # sliding in an oblique plane
        [[*zero, *a], [*b, *zero]],  # a skate: forward along a, turning about b
        np.linalg.qr(rng.normal(size=(6, 6)))[0][:, : rng.integers(2, 7)].T,  # anything
    ]
    return Custom(np.array(maps[rng.integers(len(maps))]).T)


_RANDOM: dict[str, Callable[[np.random.Generator], JointKind]] = {
    "revolute": lambda rng: Revolute(_direction(rng)),
    "prismatic": lambda rng: Prismatic(_direction(rng)),
    "helical": lambda rng: Helical(_direction(rng), rng.choice([-1, 1]) * rng.uniform(0.05, 0.3)),
    "cylindrical": lambda rng: Cylindrical(_direction(rng)),
    "universal": lambda rng: Universal(*_oblique_pair(rng)),
    "spherical": lambda rng: Spherical(),
    "planar": lambda rng: Planar(_direction(rng)),
    "free": lambda rng: Free(),
    "custom": _random_custom,
    "fixed": lambda rng: Fixed(),
}
_SELDOM = {"free": 0.4, "fixed": 0.25}  # weights beside 1 for the other kinds


def _rotations(rng: np.random.Generator, n: int) -> np.ndarray:
    """(n, 3, 3) rotations, uniform over all."""
    return fixed(as_numpy(rotation_from_quaternion(rng.normal(size=(n, 4)))))


def _offsets(rng: np.random.Generator, n: int) -> np.ndarray:
    """(n, 3) offsets of 0.2 … 0.6 m in any direction."""
    x = rng.normal(size=(n, 3))
    return fixed(x * (rng.uniform(0.2, 0.6, n) / np.linalg.norm(x, axis=1))[:, None])


def _inertias(rng: np.random.Generator, n: int) -> list[Inertia]:
    """n turned boxes of 0.5 … 2 kg with sides of 0.2 … 0.6 m, their centres up to 0.2 m off each way."""
    mass, squares = rng.uniform(0.5, 2.0, n), rng.uniform(0.2, 0.6, (n, 3)) ** 2
    com, R = fixed(rng.uniform(-0.2, 0.2, (n, 3))), _rotations(rng, n)
    moments = mass[:, None] / 12.0 * (squares.sum(axis=1)[:, None] - squares)
    tensor = (R * moments[:, None, :]) @ R.swapaxes(-1, -2)
    tensor = fixed(0.5 * (tensor + tensor.swapaxes(-1, -2)))
    template = Inertia()
    return [_copy(template, mass=m, com=c, tensor=t) for m, c, t in zip(mass.tolist(), com, tensor)]


# --- helpers ---------------------------------------------------------------------------------------

P = TypeVar("P")


def _copy(part: P, **changes: Any) -> P:
    """A part with other field values, unchecked: for values right by construction, in great numbers.

    (``dataclasses.replace`` would check each again, at some 40 µs a joint.)
    """
    out = object.__new__(type(part))
    out.__dict__.update(part.__dict__, **changes)
    return out


def _count(n: Any, what: str) -> int:
    return whole(n, what, least=1, most=MOST_BODIES)


def _kind_name(name: Any, known: Collection[str]) -> str:
    if not isinstance(name, str):
        raise InputError(f"a joint is the name of a kind, or a kind such as lw.Revolute('y'), got {name!r}")
    return one_of(name, known, "joint kind")
