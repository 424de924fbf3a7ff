"""A flexible body as bodies of a tree: its frame, its mass points and its nodes, whose joints share the modes.

The frame is a body without mass on the joint of the flexible body. On it hang the mass points, as few as have the same
second moments, and the nodes, without mass, each on a :class:`.Modal` joint. All of these have the same coordinates η,
so that they move as one node of the tree, an aggregate (:mod:`..couplings`): the modes are eliminated there, and the
joint of the body after them, as Jain and Rodriguez do (math notes 5.2). Other bodies hang on nodes, as on any body.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...arrays import as_numpy
from ...errors import ModelError
from ..couplings import Coupling
from ..inertia import Inertia
from ..joints.modal import Modal
from ..parts import Body, Frame, Joint
from ..relations import Relation
from .body import Flexible

_NEAR = 1e-9  # of its distance: what is placed as near to a node, is at the node


def node_name(body: str, node: str) -> str:
    """The name of a node's frame and body."""
    return f"{body}.{node}"


def modes_name(body: str) -> str:
    """The name of the joint whose coordinates are a flexible body's modes."""
    return f"{body}.modes"


def expanded(
    robot: str, bodies: Iterable[Body], frames: Iterable[Frame]
) -> tuple[tuple[Body, ...], tuple[Frame, ...], tuple[Coupling, ...]]:
    """Bodies, frames and couplings in which flexible bodies are what the algorithms know."""
    given = tuple(bodies)
    flexible = {b.name: b.inertia for b in given if isinstance(b, Body) and isinstance(b.inertia, Flexible)}
    if not flexible:
        return given, tuple(frames), ()
    out: list[Body] = []
    couplings: list[Coupling] = []
    for b in given:
        held = _held(robot, b, flexible)
        if b.name not in flexible:
            out.append(held)
            continue
        out.append(replace(held, inertia=Inertia()))
        _refuse_coupled_modes(robot, b.name, flexible[b.name])
        members, shared = _members(b.name, flexible[b.name])
        out += members
        couplings += shared
    return tuple(out), tuple(_on_node(robot, f, flexible) for f in frames), tuple(couplings)


def _members(name: str, x: Flexible) -> tuple[list[Body], list[Coupling]]:
    """The mass points and nodes, and that their joints have the coordinates of the first one's."""
    points = x.points
    bends = [None] * len(points.masses) if points.bends is None else points.bends
    bodies = []
    for i, (mass, at, shape, bend) in enumerate(zip(points.masses, points.places, points.shapes, bends)):
        kind = Modal(shape, None, bend, x.amplitude, carries=False)
        held = {} if i else {"stiffness": x.stiffness, "damping": x.damping}
        joint = f"{name}.mass_{i + 1}_modes" if i else modes_name(name)
        bodies.append(Body(f"{name}.mass_{i + 1}", Joint(kind, joint, at=at, **held), Inertia.point(mass), name))
    for node, place in x.nodes:
        kind = Modal(place.shape, place.turn, place.bend, x.amplitude)
        own = node_name(name, node)
        bodies.append(Body(own, Joint(kind, f"{own}_modes", at=place.at), Inertia(), name))
    same = Relation.linear([1.0], 0.0)
    return bodies, [Coupling(b.joint.name, (modes_name(name),), same) for b in bodies[1:]]


def _refuse_coupled_modes(robot: str, name: str, x: Flexible) -> None:
    for what in ("stiffness", "damping"):
        if getattr(x, what).ndim == 2:
            raise ModelError(
                f"robot {robot!r}: the {what} of the flexible body {name!r} couples its modes, and the springs and"
                " dampers of a robot have one number per coordinate; flexible.normal_modes() is the same body in modes"
                " that are not coupled"
            )


# --- what hangs on flexible bodies ---------------------------------------------------------------------


def _held(robot: str, b: Body, flexible: Mapping[str, Flexible]) -> Body:
    """A body on the node that it is placed at, where it hangs on a flexible one."""
    if b.parent is None or b.parent not in flexible:
        return b
    at = as_numpy(b.joint.placement.l)
    found = _place(robot, f"body {b.name!r}", b.parent, flexible[b.parent], at)
    if found is None:
        return b
    node, left = found
    joint = replace(b.joint, at=left, rpy=None, rotation=b.joint.placement.R)
    return replace(b, parent=node_name(b.parent, node), joint=joint)


def _on_node(robot: str, f: Frame, flexible: Mapping[str, Flexible]) -> Frame:
    if f.body is None or f.body not in flexible:
        return f
    found = _place(robot, f"frame {f.name!r}", f.body, flexible[f.body], as_numpy(f.pose.l))
    if found is None:
        return f
    return Frame(f.name, node_name(f.body, found[0]), at=found[1], rotation=f.pose.R)


def _place(robot: str, what: str, name: str, x: Flexible, at: np.ndarray) -> tuple[str, np.ndarray] | None:
    """(node, offset from it) of what is placed at a node of a flexible body; None at the body's own frame."""
    if not at.any():
        return None
    found = node_at(f"robot {robot!r}: {what}", name, [(node_name(name, n), node.at) for n, node in x.nodes], at)
    return x.nodes[found][0], np.zeros(3)


def node_at(what: str, body: str, nodes: Sequence[tuple[str, np.ndarray]], at: np.ndarray) -> int:
    """Which of the nodes of a flexible body, by name and place, is where something is placed, or an error."""
    for i, (_, place) in enumerate(nodes):
        if np.abs(place - at).max() <= _NEAR * np.abs(place).max():
            return i
    known = ", ".join(f"{name!r} at {place.tolist()}" for name, place in nodes) or "none"
    raise ModelError(
        f"{what} sits on the flexible body {body!r} at {at.tolist()}, which bends, and where it has no node to say how:"
        f" give the body one (nodes=), or place it on one of those it has, {known}"
    )
