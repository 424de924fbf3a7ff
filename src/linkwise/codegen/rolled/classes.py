"""Bodies that share their code in loops: those of one joint kind, or nodes of coupled bodies that are alike.

Numbers on which all bodies of a class agree are constants of its code, the others stand in a table.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ...arrays import as_numpy
from ...dynamics.coupled_links import nodes_of
from ...errors import UnrollableError
from ...model.joints.kinds import Cylindrical, Helical, JointKind, Planar, Prismatic, Revolute, Universal
from ...model.joints.springs import Spring
from ...model.model import BodyConstants, Model
from ...model.normal_form import Hinge, normal_form
from ...spatial import RigidInertia, Transform, Turn
from ...sweeps import BodyTree, Nodes
from ...symbols.scalar import Graph
from .recorded_nodes import NodeShape

MOST_PORTS = 4


@dataclass(eq=False)
class Class:
    """Bodies that share their code: a representative's constants, and the numbers of every member.

    Where bodies are coupled, members are nodes, by number, and constants those of all bodies of one.
    """

    members: list[int]
    constants: list[BodyConstants]
    table: np.ndarray  # (members, numbers)
    shape: NodeShape
    starts: dict[str, int] = field(default_factory=dict)  # where the inputs of the representative begin


class NodeTree(NamedTuple):
    """The nodes of a robot, each body one of its own where none are coupled."""

    members: tuple[tuple[int, ...], ...]
    tree: BodyTree
    found: Nodes | None  # where they hang on each other; None where every node is one body

    @property
    def is_grouped(self) -> bool:
        return self.found is not None


def node_tree(model: Model) -> NodeTree:
    """The nodes of a robot, or an error where their numbers do not lie together in q and v."""
    bodies = len(model.bodies)
    if not model.couplings:
        return NodeTree(tuple((k,) for k in range(bodies)), _body_tree(model), None)
    members = nodes_of(bodies, model.aggregates)
    found = model.tree.of_nodes(members, [len(held) > 1 for held in members])
    assert isinstance(found.tree, BodyTree)
    if max(map(len, found.ports)) > MOST_PORTS:
        raise UnrollableError(f"a node that carries others at more than {MOST_PORTS} of its bodies cannot be rolled")
    for held in members:
        for slices in (model.q_slices, model.v_slices):
            own = [slices[k] for k in held if slices[k].stop > slices[k].start]
            if any(a.stop != b.start for a, b in pairwise(own)):
                raise UnrollableError(
                    f"the coordinates of bodies that move as one, such as {model.bodies[held[0]].name!r}, have those of"
                    " others between them: they cannot be rolled"
                )
    return NodeTree(members, found.tree, found)


def _body_tree(model: Model) -> BodyTree:
    assert isinstance(model.tree, BodyTree)
    return model.tree


def frames_among(fixed: Mapping[str, Any]) -> list[Any]:
    """The frames that other arguments of a function name."""
    found = [fixed[name] for name in ("frame", "frames") if fixed.get(name) is not None]
    return [one for x in found for one in (x if isinstance(x, tuple) else (x,))]


def classes_of(
    model: Model, nodes: NodeTree, graph: Graph, alone: Collection[int] = (), driven: Sequence[bool] | None = None
) -> list[Class]:
    """Nodes that are alike; those that hold one of the bodies ``alone`` are like no others, and those on ``driven``
    joints like no passive ones.

    Numbers on which all members agree are constants, the others symbols ``table:c``.
    """
    forms, classes = _members(model, nodes, alone, driven)
    ports = [_ports(nodes, members) for members in classes]
    places = {k: own for members, own in zip(classes, ports) for k in members}
    most = max(map(len, ports))
    out = []
    for c, (members, own) in enumerate(zip(classes, ports)):
        rows = [[*(x for form in forms[k] for x in form[1]), *_hangs_on(nodes, places, k, most)] for k in members]
        numbers = np.array(rows)
        varies = np.flatnonzero((numbers != numbers[0]).any(axis=0))
        values: list[Any] = [float(x) for x in numbers[0]]
        for column, symbol in zip(varies, graph.inputs(f"table:{c}", len(varies))):
            values[column] = symbol
        constants, start = [], 0
        for _, given, make in forms[members[0]]:
            constants.append(make(values[start : start + len(given)]))
            start += len(given)
        inside = model.tree.within(nodes.members[members[0]]) if nodes.is_grouped else BodyTree((-1,))
        shape = NodeShape(inside, own, tuple(values[start:]) or (1.0,))
        out.append(Class(members, constants, numbers[:, varies], shape))
    return out


def _ports(nodes: NodeTree, members: Sequence[int]) -> tuple[int, ...]:
    """Which bodies of these nodes others hang on, in one of them or another."""
    if nodes.found is None:
        return (0,)
    return tuple(sorted({t for k in members for t in nodes.found.ports[k]})) or (0,)


def _hangs_on(nodes: NodeTree, places: dict[int, tuple[int, ...]], k: int, most: int) -> list[float]:
    """For each port that a parent may have, whether node k hangs on it; nothing where there is but one."""
    if nodes.found is None or most == 1:
        return []
    p, on = nodes.tree.parents[k], nodes.found.hangs_on[k]
    own = 0 if p < 0 or on is None else places[p].index(on[0])
    return [float(i == own) for i in range(most)]


def _members(
    model: Model, nodes: NodeTree, alone: Collection[int] = (), driven: Sequence[bool] | None = None
) -> tuple[list[list[Any]], list[list[int]]]:
    """(the forms of the bodies of each node, the nodes of each class)."""
    given = [_form(c) for c in model.constants()]
    forms = [[given[k] for k in held] for held in nodes.members]
    members: dict[Any, list[int]] = {}
    for i, (own, held) in enumerate(zip(forms, nodes.members)):
        # a free base is treated by itself
        is_base = len(held) == 1 and model.parents[held[0]] < 0 and model.joints[held[0]].kind.nv > 1
        together = _together(model, held) if len(held) > 1 else None
        single = i if any(k in alone for k in held) else None
        moved = None if driven is None else tuple(driven[k] for k in held)
        members.setdefault((tuple(key for key, *_ in own), is_base, together, single, moved), []).append(i)
    return forms, list(members.values())


def _together(model: Model, held: tuple[int, ...]) -> Hashable:
    """How the bodies of a node hang on each other, and how their joints follow each other."""
    place = {k: i for i, k in enumerate(held)}
    follows = tuple(
        (place[k], tuple(place[model.joint_index[n]] for n in c.independents), c.relation)
        for k, c in model.dependents.items()
        if k in place
    )
    return model.tree.within(held).parents, follows


def _form(c: BodyConstants) -> tuple[Any, list[float], Callable[[list[Any]], BodyConstants]]:
    """(class key, the body's numbers, how to make constants from such numbers)."""
    l, h, J = as_numpy(c.placement.l), as_numpy(c.M.h), as_numpy(c.M.J)
    inertia = [float(c.M.m), *h, *J[np.tril_indices(3)]]
    rotor = [] if c.reflected is None else [float(c.reflected[0, 0])]
    spin = [] if c.spin is None else [float(x) for x in as_numpy(c.spin)]
    soft = _numbers_of_spring(c)
    own = [float(x) for numbers in _numbers_of_kind(c.kind).values() for x in numbers.flat]
    kind_key = type(c.kind) if own else _kind_key(c.kind)
    if c.placement.turns is None:
        place = [*as_numpy(c.placement.R).ravel(), *l]
        key: Any = (kind_key, len(rotor), len(spin), tuple(soft), "matrix")
    else:
        place = [x for cs in _three_turns(c) for x in cs] + [*l]
        if isinstance(c.kind, Revolute):  # the last turn is part of the angle
            (a, b), (x, y) = place[4:6], (getattr(c.kind, "cosine", 1.0), getattr(c.kind, "sine", 0.0))
            place = [*place[:4], a * x - b * y, a * y + b * x, *place[6:]]
        key = ("revolute" if isinstance(c.kind, Revolute) else kind_key, len(rotor), len(spin), tuple(soft), "turns")

    def make(x: list[Any]) -> BodyConstants:
        kind = c.kind
        if c.placement.turns is None:
            R, rest = np.array(x[:9], dtype=object).reshape(3, 3), x[9:]
            turns: Any = None
        else:
            turns, rest = (Turn(2, x[0], x[1]), Turn(0, x[2], x[3])), x[4:]
            if isinstance(c.kind, Revolute):
                kind, rest = Hinge("z", rest[0], rest[1]), rest[2:]
            else:
                turns, rest = (*turns, Turn(2, rest[0], rest[1])), rest[2:]
            R = np.eye(3)
            for turn in reversed(turns):
                R = turn @ R
        l, (m, hx, hy, hz, xx, xy, yy, xz, yz, zz, *load) = np.array(rest[:3], dtype=object), rest[3:]
        J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=object)
        M = RigidInertia(np.asarray(m, dtype=object), np.array([hx, hy, hz], dtype=object), J)
        reflected = load[2] * np.eye(c.kind.nv) if rotor else None
        turning = np.array(load[2 + len(rotor) :][: len(spin)], dtype=object) if spin else None
        spring, start = {}, 2 + len(rotor) + len(spin)
        for name, numbers in soft.items():
            spring[name] = np.array(load[start : start + len(numbers)], dtype=object)
            start += len(numbers)
        held = Spring(**spring) if soft else None
        kind = _with_numbers_of_kind(kind, load[start:]) if own else kind
        return BodyConstants(Transform(R, l, turns), kind, M, reflected, turning, held, (load[0], load[1]))

    rest = [*rotor, *spin, *(x for numbers in soft.values() for x in numbers), *own]
    return key, [*place, *inertia, *c.load, *rest], make


# What the kinds of joints are made of, beside their maps: bodies that differ in these alone share their code.
_MADE_OF: dict[type[JointKind], tuple[str, ...]] = {
    Revolute: ("axis",),
    Prismatic: ("axis",),
    Cylindrical: ("axis",),
    Helical: ("axis", "pitch"),
    Universal: ("first", "second"),
    Planar: ("normal", "basis"),
}


def _numbers_of_kind(kind: JointKind) -> dict[str, np.ndarray]:
    """What is different in joints of one kind, by its name. Joints of one degree of freedom along a coordinate axis,
    which have zeros of their own, are a kind by themselves."""
    names = _MADE_OF.get(type(kind), ())
    if names == ("axis",) and np.count_nonzero(getattr(kind, "axis")) == 1:  # noqa: B009  (not of every kind)
        return {}
    return {name: np.asarray(getattr(kind, name), dtype=float) for name in (*names, "H_star")} if names else {}


def _with_numbers_of_kind(kind: JointKind, values: Sequence[Any]) -> JointKind:
    """A kind with these numbers and symbols in place of its own."""
    out, start = copy(kind), 0
    object.__setattr__(out, "stands_for", kind)
    for name, own in _numbers_of_kind(kind).items():
        x = np.array(values[start : start + own.size], dtype=object).reshape(own.shape)
        start += own.size
        if not all(isinstance(y, float) for y in x.flat):
            object.__setattr__(out, name, x if own.ndim else x.item())
    return out


def _numbers_of_spring(c: BodyConstants) -> dict[str, list[float]]:
    """The numbers of a joint's spring and damper, by what they are; only those there are."""
    if c.spring is None:
        return {}
    found = {name: getattr(c.spring, name) for name in ("stiffness", "rest", "damping")}
    return {name: [float(y) for y in as_numpy(x)] for name, x in found.items() if x is not None}


def _kind_key(kind: JointKind) -> Any:
    """The same for kinds that do the same. A kind of a user's own that cannot be pickled is like no other."""
    try:
        return pickle.dumps(kind)
    except (pickle.PicklingError, AttributeError, TypeError):
        return id(kind)


def class_sizes(model: Any, in_own_frames: bool = False) -> list[int]:
    """The degrees of freedom of each class of bodies, in the frames in which loops have them."""
    nodes = node_tree(model)
    classes = _members(model if in_own_frames else normal_form(model)[0], nodes)[1]
    held = [nodes.members[members[0]] for members in classes]
    return [sum(model.v_slices[k].stop - model.v_slices[k].start for k in bodies) for bodies in held]


def is_aligned(model: Any) -> bool:
    """Whether bodies are placed by right angles, most of them: straight-line code has half the operations then."""
    placed = [c for k, c in enumerate(normal_form(model)[0].constants()) if not model.tree.on_world(k)]
    bent = [c for c in placed if any(t.axis == 0 and abs(t.c * t.s) > 1e-9 for t in c.placement.turns or ())]
    return 2 * len(bent) < len(placed)


def _three_turns(c: BodyConstants) -> list[tuple[float, float]]:
    """(cos, sin) of a placement's turns about z, x, z, those that are not there included."""
    out = [(1.0, 0.0)] * 3
    turns = c.placement.turns or ()
    bend = next((i for i, t in enumerate(turns) if t.axis == 0), None)
    for i, t in enumerate(turns):
        out[1 if i == bend else 0 if bend is not None and i < bend else 2] = (float(t.c), float(t.s))
    return out
