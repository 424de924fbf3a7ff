"""A flexible body as bodies of a tree: its frame, its mass points and its nodes, whose joints share the modes.

The frame is a body without mass on the joint of the flexible body. On it hang the mass points, as few as have the same
second moments, and the nodes, without mass, each on a :class:`.Modal` joint. All of these have the same coordinates η,
so that they move as one node of the tree, an aggregate (:mod:`..couplings`): the modes are eliminated there, and the
joint of the body after them, as Jain and Rodriguez do (math notes 5.2). Other bodies hang on nodes, as on any body.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import ModelError
from ..couplings import Coupling
from ..inertia import Inertia
from ..joints.modal import Modal
from ..parts import Body, Frame, Joint
from ..relations import Relation
from .body import Flexible, Node

_NEAR = 1e-9  # of a body's size: what is placed there, is at the node


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
        members, shared = _members(b.name, flexible[b.name])
        out += members
        couplings += shared
    return tuple(out), tuple(_on_node(robot, f, flexible) for f in frames), tuple(couplings)


def _members(name: str, x: Flexible) -> tuple[list[Body], list[Coupling]]:
    """The mass points and nodes, and that their joints have the coordinates of the first one's."""
    points = x.points
    bends = [None] * len(points.masses) if points.bends is None else points.bends
    first = Modal(points.shapes[0], None, bends[0], x.amplitude)
    held = modes_name(name)
    bodies = [_body(f"{name}.mass_1", held, points.places[0], first, name, points.masses[0], x)]
    for i in range(1, len(points.masses)):
        kind = Modal(points.shapes[i], None, bends[i], x.amplitude)
        bodies.append(_body(f"{name}.mass_{i + 1}", "", points.places[i], kind, name, points.masses[i]))
    for node, at in x.nodes:
        kind = Modal(at.shape, at.turn, at.bend, x.amplitude)
        bodies.append(_body(node_name(name, node), "", at.at, kind, name))
    same = Relation.linear([1.0], 0.0)
    return bodies, [Coupling(b.joint.name, (held,), same) for b in bodies[1:]]


def _body(name: str, joint: str, at: Any, kind: Modal, parent: str, mass: float = 0.0, x: Any = None) -> Body:
    return Body(name, Joint(kind, joint or f"{name}_modes", at=at), Inertia.point(mass), parent)


# --- what hangs on flexible bodies ---------------------------------------------------------------------


def _held(robot: str, b: Body, flexible: Mapping[str, Flexible]) -> Body:
    """A body on the node that it is placed at, where it hangs on a flexible one."""
    if b.parent not in flexible:
        return b
    at = b.joint.placement.l
    found = _place(robot, f"body {b.name!r}", b.parent, flexible[b.parent], at)
    if found is None:
        return b
    node, left = found
    joint = replace(b.joint, at=left, rpy=None, rotation=b.joint.placement.R)
    return replace(b, parent=node_name(b.parent, node), joint=joint)


def _on_node(robot: str, f: Frame, flexible: Mapping[str, Flexible]) -> Frame:
    if f.body not in flexible:
        return f
    found = _place(robot, f"frame {f.name!r}", f.body, flexible[f.body], f.pose.l)
    if found is None:
        return f
    return Frame(f.name, node_name(f.body, found[0]), at=found[1], rotation=f.pose.R)


def _place(robot: str, what: str, name: str, x: Flexible, at: np.ndarray) -> tuple[str, np.ndarray] | None:
    """(node, offset from it) of what is placed at a node of a flexible body; None at the body's own frame."""
    size = _NEAR * max(float(np.abs(x.places).max()), 1e-300)
    if np.abs(at).max() <= size:
        return None
    nodes: list[tuple[str, Node]] = [(n, node) for n, node in x.nodes if np.abs(node.at - at).max() <= size]
    if not nodes:
        known = ", ".join(f"{n!r} at {node.at.tolist()}" for n, node in x.nodes) or "none"
        raise ModelError(
            f"robot {robot!r}: {what} sits on the flexible body {name!r} at {at.tolist()}, where it has no node: give"
            f" it one (nodes=), or name the node, as in {name!r} + '.tip'. Its nodes are {known}"
        )
    return nodes[0][0], np.zeros(3)
