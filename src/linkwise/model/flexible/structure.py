"""Questions about a robot's flexible bodies: which points share modes, where their nodes are, what to call them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...arrays import as_numpy
from ...spatial import Transform
from ..joints.modal import Modal
from .members import node_at

if TYPE_CHECKING:
    from ..model import Model


def shared_modes(model: Model) -> dict[int, int]:
    """The points of flexible bodies by the one of the same body whose joint has their coordinates."""
    if not model.couplings:
        return {}
    known: dict[int, int] | None = model._kept_structure.get(shared_modes)
    if known is None:
        known = {
            k: model.joint_index[c.independents[0]]
            for k, c in model.dependents.items()
            if isinstance(model.joints[k].kind, Modal)
        }
        model._kept_structure[shared_modes] = known
    return known


def mass_points(model: Model) -> set[int]:
    """The bodies that are mass points of flexible ones, and no nodes."""
    return {k for k, j in enumerate(model.joints) if isinstance(j.kind, Modal) and not j.kind.carries}


def parts_of_flexible(model: Model) -> set[int]:
    """The bodies that are frames, mass points or nodes of flexible ones."""
    modal = {k for k, j in enumerate(model.joints) if isinstance(j.kind, Modal)}
    return modal | set(flexible_bodies(model))


def flexible_bodies(model: Model) -> dict[int, tuple[int, ...]]:
    """The flexible bodies, each by the body that is its frame, with those that are its nodes.

    One whose frame has become part of another body (fixed joints that were merged) is not among them.
    """
    known: dict[int, tuple[int, ...]] | None = model._kept_structure.get(flexible_bodies)
    if known is None:
        known = {}
        for k, (b, j, p) in enumerate(zip(model.bodies, model.joints, model.parents)):
            if p >= 0 and isinstance(j.kind, Modal) and b.name.startswith(f"{b.parent}."):
                known[p] = (*known.get(p, ()), k) if j.kind.carries else known.get(p, ())
        model._kept_structure[flexible_bodies] = known
    return known


def on_node(model: Model, body: int, pose: Transform, what: str) -> tuple[int, Transform]:
    """(body, pose) of what has this pose on a body: on a flexible one, the node that it is at."""
    if body < 0 or body not in flexible_bodies(model):
        return body, pose
    at = as_numpy(pose.l)
    if not at.any():
        return body, pose
    nodes = flexible_bodies(model)[body]
    placed = [(model.bodies[k].name, as_numpy(model.joints[k].placement.l)) for k in nodes]
    found = node_at(f"robot {model.name!r}: {what}", model.bodies[body].name, placed, at)
    return nodes[found], Transform(pose.R, np.zeros(3))


def grouped(model: Model) -> str:
    """What makes bodies of this robot move as one node, in words for messages."""
    shared = shared_modes(model)
    coupled = [k for k in model.dependents if k not in shared]
    if coupled:
        return f"coupled joints, such as {model.joints[coupled[0]].name!r}"
    points = [model.joints[k].name for k in shared.values()]
    return f"flexible bodies, whose points share modes, such as {points[0]!r}" if points else "neither"
